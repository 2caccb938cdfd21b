"""Rows in the columns that a trainer reads, with a card that says what they are; and back.

    formats.py    the table of formats, one row a trainer
    schema.py     the shape that a row must have
    card.py       the dataset card
    features.py   the columns' types in it

`export` and `read_export` also take a `Format` that is in no table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from ..dataset import parquet
from ..dataset.ground_truth import unpack
from ..dataset.rows import Row, id_of, put_down, read, sample_of
from ..errors import StoreError, UsageError, look_up
from ..files.atomic import atomic_folder
from ..verification.self_consistency import default_system_prompt
from .card import CARD, MARK, About, Statistics, card, not_passed
from .formats import FORMATS, Format, Found, Item
from .schema import ANY, TEXT, fault_of

__all__ = [
    "FORMATS",
    "About",
    "Format",
    "Item",
    "Statistics",
    "export",
    "format_named",
    "read_export",
]

_SPLIT = re.compile(r"[a-z][a-z0-9_]*")
_OURS = re.compile(rf"{_SPLIT.pattern}\.(jsonl|parquet)|{re.escape(CARD)}")
_TASK = {"type": TEXT, "prompt": TEXT, "answer": str, "response": str, "language": str}
_MOST_SPLITS = 50  # more are no splits, but some other column


def export(
    rows: Iterable[Mapping[str, Any]],
    to: str | Format,
    folder: str | Path,
    *,
    split: str = "train",
    system: str | None = None,
    plain: bool = False,
    failed: bool = False,
    about: About | None = None,
    overwrite: bool = False,
) -> Statistics:
    """Write rows into a new folder in the format `to`, one file a split, with a dataset card.

    `to` is a name of `FORMATS`, or a `Format` of your own. A row belongs to the split that its
    column `split` names, else to `split`. `system` are the instructions that come before each task;
    None stands for the form of an answer, by the row's type, and "" for none. `plain` gives texts
    in the place of messages. Where a model learns from the responses, rows whose `status` says that
    theirs did not pass are left out, unless `failed`. All rows are checked first: where one cannot
    be exported, nothing is written. Memory does not grow with the rows.

    Raises:
        UsageError: there is no such format, no row, or a row that cannot be exported (it is named);
            or there is something at `folder` that is not to be replaced.
        StoreError: the folder cannot be written.
    """
    format_, folder = format_named(to), Path(folder).absolute()
    if plain and not format_.plain:
        others = ", ".join(each.name for each in FORMATS.values() if each.plain)
        raise UsageError(f"{format_.name} takes messages; texts in their place go with {others}")
    check_target(folder, overwrite=overwrite)
    statistics = Statistics()
    try:
        with atomic_folder(folder) as draft:
            lines = _lines(rows, format_, split, system, statistics, plain=plain, failed=failed)
            _write(lines, format_, draft)
            text = card(format_, statistics, about or About(folder.name))
            (draft / CARD).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {folder}: {error.strerror or error}") from None
    return statistics


def read_export(
    folder: str | Path, to: str | Format, *, system: str | None = None
) -> Iterator[Row]:
    """The rows of an export, of each split or of one file: as `export` got them where it had been
    given no column but those of a sample, `id` and `split`.

    `system` is what `export` was given.

    Raises:
        UsageError: it is no export in that format; the message names the row.
        StoreError: a file is damaged.
    """
    format_, folder = format_named(to), Path(folder)
    files = [folder] if folder.is_file() else sorted(folder.glob(f"*.{format_.ending}"))
    if not files:
        raise UsageError(f"there is no .{format_.ending} file in {folder}")
    for path in files:
        for number, row in enumerate(read(path), 1):
            if fault := fault_of(row, format_.schema):
                raise UsageError(
                    f"{path} is no export for {format_.name}: in row {number}, {fault}"
                )
            yield _found(format_.find(row), system, path.stem) if format_.find else row


def format_named(name: str | Format) -> Format:
    """The format of that name, or itself. Raises UnknownName where there is none."""
    return name if isinstance(name, Format) else look_up("format", name, FORMATS)


def check_target(folder: Path, *, overwrite: bool) -> None:
    """See that an export may be put there. Raises UsageError where it may not."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir() or folder.is_symlink():
        raise UsageError(f"{folder} is there, and is no folder")
    files = list(folder.iterdir())
    ours = all(path.is_file() and _OURS.fullmatch(path.name) for path in files)
    carded = ours and folder / CARD in files
    if files and not (carded and MARK in (folder / CARD).read_text("utf-8", "replace")):
        raise UsageError(f"{folder} holds more than an export: choose another folder")
    if files and not overwrite:
        raise UsageError(f"{folder} holds an export already: --overwrite replaces it")


# --- writing -------------------------------------------------------------------------------------


def _lines(
    rows: Iterable[Mapping[str, Any]],
    format_: Format,
    split: str,
    system: str | None,
    statistics: Statistics,
    *,
    plain: bool,
    failed: bool,
) -> Iterator[tuple[str, str]]:
    """Each row in its new form, as JSON, with its split."""
    for number, row in enumerate(rows, 1):
        if format_.learns and not failed and not_passed(row):
            statistics.left_out += 1
            continue
        try:
            place = _split_of(row, split)
            index = statistics.splits[place]
            made = _converted(row, format_, place, index, system, plain=plain)
            if fault := fault_of(made, format_.schema) or fault_of(made, ANY):
                raise UsageError(fault)
            line = json.dumps(made)
        # A UsageError is a ValueError; json raises all three of what it cannot write.
        except (ValueError, TypeError, RecursionError) as error:
            called = f" ({row['id']})" if row.get("id") not in (None, "") else ""
            raise UsageError(f"row {number}{called} cannot be exported: {error}") from None
        statistics.add(row, place, made)
        if len(statistics.splits) > _MOST_SPLITS:
            raise UsageError(f"the column 'split' names more than {_MOST_SPLITS} splits")
        yield place, line


def _split_of(row: Mapping[str, Any], split: str) -> str:
    place = row.get("split") or split
    # `datasets` keeps "all" for the union of the splits. Lower case: not all disks tell it apart.
    if not isinstance(place, str) or not _SPLIT.fullmatch(place) or place == "all":
        raise UsageError(f"{place!r} is no name for a split: lower-case letters, digits and _")
    return place


def _converted(
    row: Mapping[str, Any],
    format_: Format,
    place: str,
    index: int,
    system: str | None,
    *,
    plain: bool,
) -> Row:
    if not format_.make:
        return dict(row)
    sample = sample_of(row)
    if fault := fault_of(vars(sample), _TASK):  # before instructions or JSON hide it
        raise UsageError(fault)
    told = default_system_prompt(sample) if system is None else system
    return format_.make(Item(sample, id_of(row), place, index, told, plain))


def _write(lines: Iterable[tuple[str, str]], format_: Format, draft: Path) -> None:
    """Make a folder with a file for each split."""
    draft.mkdir()
    _write_lines(lines, draft)
    if format_.ending == "jsonl":
        return
    spools = sorted(draft.iterdir())
    parts = {path: put_down(read(path)) for path in spools}
    columns = list(dict.fromkeys(name for _, names in parts.values() for name in names))
    shelves = {path.with_suffix(".parquet"): shelf for path, (shelf, _) in parts.items()}
    parquet.write(shelves, columns)  # all at once: `datasets` wants the same columns in all splits
    for path in spools:
        path.unlink()


def _write_lines(lines: Iterable[tuple[str, str]], folder: Path) -> None:
    """Put each line into the file of its split."""
    files: dict[str, IO[str]] = {}
    with ExitStack() as opened:
        for place, line in lines:
            if place not in files:
                path = folder / f"{place}.jsonl"
                files[place] = opened.enter_context(path.open("w", encoding="ascii"))
            files[place].write(line + "\n")
    if not files:
        raise UsageError("there is no row to export")


# --- reading back --------------------------------------------------------------------------------


def _found(found: Found, system: str | None, split: str) -> Row:
    sample = unpack(found.truth)
    told = default_system_prompt(sample) if system is None else system
    if isinstance(found.task, str):
        prompt = found.task.removeprefix(f"{told}\n\n") if told else found.task
    else:
        prompt = found.task[-1]["content"]
    return {
        "type": sample.type,
        "prompt": prompt,
        "answer": sample.answer,
        "response": found.more.get("response", ""),
        "language": sample.language,
        "id": found.more.get("id", ""),
        "split": split,
    }
