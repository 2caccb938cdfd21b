"""Export: rows in the columns that a trainer reads, with a dataset card; and back.

    formats.py   the table of formats, one row a trainer, and the shape of their rows
    card.py      the dataset card, `card.md` filled in, with the columns' types
    packages.py  the files around the rows in a folder that a hub runs: `hubs/FORMAT/`, filled in
    own_rewards.py  rewards of one's own that go along, each as one file

`export` and `read_export` also take a `Format` that is in no table.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from ..dataset import parquet
from ..dataset.ground_truth import unpack
from ..dataset.rows import Row, id_of, read, sample_of, spill
from ..errors import UsageError, look_up, shown, store_errors
from ..files.atomic import atomic_folder
from ..reward_functions import REWARDS
from ..reward_functions.exported import LIST, listed
from ..solver_prompts import default_system_prompt
from .card import CARD, MARK, About, Statistics, card, exported_as, not_passed
from .formats import ANY, FORMATS, TEXT, Format, Item, fault_of
from .own_rewards import FOLDER, OwnReward, read_rewards, reward_files, rewards_beside
from .packages import TASK_FILES, at, package_files, task_name

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
_ROWS = re.compile(rf"{_SPLIT.pattern}\.(jsonl|parquet)")
_TASK = rf"{_SPLIT.pattern}/[0-9]{{6,}}[a-z0-9-]*"
_TASK_FILE = re.compile(rf"{_TASK}/({'|'.join(map(re.escape, TASK_FILES))})")
_TASK_REWARDS = re.compile(rf"{_TASK}/tests/{FOLDER}")
_PARTS = {"type": TEXT, "prompt": TEXT, "answer": str, "response": str, "language": str}
_MAX_SPLITS = 50  # a column with more values is no split


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
    rewards: Iterable[str] = (),
) -> Statistics:
    """Write rows into a new folder in the format `to`, one file a split, with a dataset card.

    For a hub of environments the folder is a package that runs there (`hubs/`), with the rows
    inside; it is named after the folder, or `about`.
    `to` is a name of `FORMATS`, or a `Format` of your own. A row belongs to the split that its
    column `split` names, else to `split`. `system` is the system prompt of each task; None means
    the instructions of the row's type, "" none. `plain` writes texts instead of messages. If a
    model trains on the responses, rows whose `status` is not passed are dropped, unless `failed`.
    `rewards` are of your own, each as "NAME=FILE.py:CLASS" by the `type` of its rows: the files go
    along, for the hub or the adapter to import. They are imported here, too, as by `own_rewards`.
    All rows are checked first: if one cannot be exported, nothing is written. Memory does not grow
    with the rows.

    Raises:
        UsageError: there is no such format, no row, or a row that cannot be exported (it is named),
            such as one for a hub whose reward is neither of this package nor in `rewards`; a
            reward whose file would not run alone; or `folder` exists and may not be replaced.
        StoreError: the folder cannot be written.
    """
    format_, folder = format_named(to), Path(folder).absolute()
    if plain and not format_.plain:
        others = ", ".join(each.name for each in FORMATS.values() if each.plain)
        raise UsageError(f"{format_.name} takes messages; texts in their place go with {others}")
    own = read_rewards(rewards)
    if own and (format_.learns or not format_.make):
        raise UsageError(f"no reward judges the rows of {format_.name}, so it takes none of yours")
    about = about or About(folder.name)
    inside = at(format_.rows, about.name)
    surrounding = dict(package_files(format_.name, about.name, about.license, own))
    check_target(folder, {*surrounding}, inside, overwrite=overwrite)
    statistics = Statistics(own={each.name: each for each in own})
    with store_errors(f"cannot write {folder}"), atomic_folder(folder) as draft:
        lines = _lines(rows, format_, split, system, statistics, plain=plain, failed=failed)
        _write(lines, format_, draft / inside, own)
        text = card(format_, statistics, about, inside)
        _write_files(draft, {**surrounding, CARD: text, **reward_files(own, beside=inside)})
    return statistics


def read_export(
    folder: str | Path, to: str | Format, *, system: str | None = None
) -> Iterator[Row]:
    """Read an export back, of all splits or of one file: the columns of a sample, `id` and `split`.

    `system` is the same as for `export`.

    Raises:
        UsageError: the folder is no export in that format; the message names the row.
        StoreError: a file is damaged.
    """
    format_, folder = format_named(to), Path(folder)
    files = [folder] if folder.is_file() else sorted(folder.rglob(f"*.{format_.ending}"))
    if not files:
        raise UsageError(f"there is no .{format_.ending} file in {folder}")
    for path in files:
        for number, row in enumerate(read(path), 1):
            if fault := fault_of(row, format_.schema):
                raise UsageError(
                    f"{path} is no export for {format_.name}: in row {number}, {fault}"
                )
            split = path.stem if not format_.tree else path.relative_to(folder).parts[0]
            yield _parsed(row, format_, system, split)


def format_named(name: str | Format) -> Format:
    """The format of that name, or itself. Raises UnknownName if there is none."""
    return name if isinstance(name, Format) else look_up("format", name, FORMATS)


def check_target(
    folder: Path, surrounding: Iterable[str] = (), inside: str = "", *, overwrite: bool
) -> None:
    """Check that an export may be written there, with files around the rows, which are `inside`.

    Raises:
        UsageError: the folder holds other files, or an export that may not be replaced.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir() or folder.is_symlink():
        raise UsageError(f"{folder} is there, and is no folder")
    paths = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    readme = folder / CARD
    carded = readme.is_file() and not readme.is_symlink()
    text = readme.read_text("utf-8", "replace") if carded else ""
    files, rows_in = {*surrounding}, {folder / inside}
    to, name = exported_as(text)  # the export that is there may have another name or format
    if to in FORMATS:
        files |= dict(package_files(to, name)).keys()
        rows_in.add(folder / at(FORMATS[to].rows, name))
    written = {folder / each for each in (CARD, *files)}
    own = {folder / rewards_beside(each.relative_to(folder).as_posix()) for each in rows_in}
    for path in paths:
        where = path.parent
        if path.name == LIST and (
            where in own or _TASK_REWARDS.fullmatch(where.relative_to(folder).as_posix())
        ):
            written |= {path, *(where / each["file"] for each in listed(where).values())}
    ours = all(
        path in written
        or (path.parent in rows_in and _ROWS.fullmatch(path.name))
        or _TASK_FILE.fullmatch(path.relative_to(folder).as_posix())
        for path in paths
    )
    if paths and not (ours and MARK in text):
        raise UsageError(f"{folder} holds more than an export: choose another folder")
    if paths and not overwrite:
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
    """Each row's split, and the exported row as JSON."""
    for number, row in enumerate(rows, 1):
        if format_.learns and not failed and not_passed(row):
            statistics.left_out += 1
            continue
        try:
            name = row.get("split") or split
            # `datasets` reserves "all". Lower case: some disks ignore the case.
            if not isinstance(name, str) or not _SPLIT.fullmatch(name) or name == "all":
                raise UsageError(
                    f"{name!r} is no name for a split: lower-case letters, digits and _"
                )
            exported = dict(row)
            if format_.make:
                sample = sample_of(row)
                if fault := fault_of(vars(sample), _PARTS):  # before instructions or JSON hide it
                    raise UsageError(fault)
                own = sample.type in statistics.own
                if format_.runs and not own and sample.type not in REWARDS:
                    raise UsageError(
                        f"this package has no reward {shown(sample.type)} (its type), so the "
                        "folder would not run: --rewards TYPE=FILE.py:CLASS takes yours along"
                    )
                instructions = default_system_prompt(sample) if system is None else system
                index = statistics.splits[name]
                item = Item(sample, id_of(row), name, index, instructions, plain, own)
                exported = format_.make(item)
            if fault := fault_of(exported, format_.schema) or fault_of(exported, ANY):
                raise UsageError(fault)
            line = json.dumps(exported)
        # A UsageError is a ValueError; json raises all three for what it cannot write.
        except (ValueError, TypeError, RecursionError) as error:
            called = f" ({row['id']})" if row.get("id") not in (None, "") else ""
            raise UsageError(f"row {number}{called} cannot be exported: {error}") from None
        statistics.add(row, name, exported)
        if len(statistics.splits) > _MAX_SPLITS:
            raise UsageError(f"the column 'split' names more than {_MAX_SPLITS} splits")
        yield name, line


def _write(
    lines: Iterable[tuple[str, str]], format_: Format, draft: Path, own: Sequence[OwnReward]
) -> None:
    """Make a folder with a file for each split."""
    draft.mkdir(parents=True)
    files: dict[str, IO[str]] = {}
    with ExitStack() as opened:
        for split, line in lines:
            if split not in files:
                path = draft / f"{split}.jsonl"
                files[split] = opened.enter_context(path.open("w", encoding="ascii"))
            files[split].write(line + "\n")
    if not files:
        raise UsageError("there is no row to export")
    if format_.tree:
        for path in sorted(draft.iterdir()):
            for number, row in enumerate(read(path), 1):
                name = task_name(number, row["id"])
                _write_files(path.with_suffix("") / name, format_.tree(row, name, own))
            path.unlink()
        return
    if format_.ending == "jsonl":
        return
    spools = sorted(draft.iterdir())
    parts = {path: spill(read(path)) for path in spools}
    columns = list(dict.fromkeys(name for _, names in parts.values() for name in names))
    tables = {path.with_suffix(".parquet"): rows for path, (rows, _) in parts.items()}
    parquet.write(tables, columns)  # all at once: `datasets` wants the same columns in all splits
    for path in spools:
        path.unlink()


def _write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)


def _parsed(row: Row, format_: Format, system: str | None, split: str) -> Row:
    if not format_.find:
        return row
    task, truth, more = format_.find(row)
    sample = unpack(truth)
    system = default_system_prompt(sample) if system is None else system
    if isinstance(task, str):
        prompt = task.removeprefix(f"{system}\n\n") if system else task
    else:
        prompt = task[-1]["content"]
    return {
        "type": sample.type,
        "prompt": prompt,
        "answer": sample.answer,
        "response": more.get("response", ""),
        "language": sample.language,
        "id": more.get("id", ""),
        "split": split,
    }
