"""Read and write rows: CSV, JSON, JSON lines, Parquet, folders of these, `datasets` objects.

A row is a flat mapping of columns. Those of a `Sample` have its names (type, prompt, answer,
response, language, id); all others are kept. Files are streamed, so a long one takes no more memory
than a short one.

    .csv (.gz)   exact strings    .jsonl (.gz)   JSON values, one object a line
    .json  a list of objects      .parquet       typed columns (needs the extra `data`)
"""

import csv
import gzip
import io
import json
import logging
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

from ..certificates import CERTIFICATES
from ..errors import NoColumn, StoreError, UsageError, import_extra, reason_of, store_errors
from ..files.atomic import atomic_file
from ..files.logs import csv_line, is_header, read_rows
from ..manifest import MANIFEST
from ..store import BATCH, DATASET, FAILED, JOURNAL, RUN_FILES, SOLUTIONS, sample_of
from . import parquet
from .parquet import COPY
from .spill import SpillList, to_line

__all__ = ["Row", "Source", "id_of", "kind_of", "read", "read_some", "sample_of", "write"]

Row: TypeAlias = "dict[str, Any]"
_Rows: TypeAlias = "Iterable[Mapping[str, Any]]"
Source: TypeAlias = "str | Path | Iterable[Mapping[str, Any]] | Mapping[str, Any]"

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
PINS = "pinned.json"  # the manifest of pinned rows, beside them
# The files of a run's folder; its rows are in the first alone.
_OF_RUNS = {DATASET, COPY, FAILED, CERTIFICATES, JOURNAL, SOLUTIONS, MANIFEST, BATCH}
_NO_ROWS = {PINS, MANIFEST, BATCH}
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"

logger = logging.getLogger(__name__)


def read(source: Source) -> Iterator[Row]:
    """Read the rows of a file, a folder, a `datasets` object or an iterable of mappings.

    A folder is that of a run (its `dataset.csv`), or one of data files and of such folders, which
    are read in the order of their names; a model's answers (`rated.jsonl.calls`) are no rows. Or it
    is one of `save_to_disk` of the library `datasets`. The name of a subfolder such as `level=3` is
    a column with that text (a Hive partition). Of a mapping of splits, such as a `DatasetDict`,
    each row gets the column `split`.

    Raises:
        UsageError: there is no such file, or its kind is unknown.
        StoreError: it cannot be read, or is damaged; the message names the line.
    """
    if isinstance(source, str) and not source:  # as a path it would be the working directory
        raise UsageError("the name of the rows is empty")
    if isinstance(source, str | Path) and _is_saved(Path(source)):
        yield from _saved(Path(source))
    elif isinstance(source, str | Path):
        for path in _files(Path(source)):
            partition = _partition(path.relative_to(source).parts[:-1])
            with store_errors(f"cannot read {path}"):
                rows = _KINDS[kind_of(path)].read(path)
                yield from ({**partition, **row} for row in rows) if partition else rows
    elif isinstance(source, Mapping):
        for split, rows in source.items():
            yield from ({**row, "split": split} for row in rows)
    else:
        yield from map(dict, source)


def read_some(source: Source) -> Iterator[Row]:
    """As `read`, but a source without any row is an error.

    Raises:
        UsageError, StoreError: as `read`; there is no row.
    """
    rows = read(source)
    first = next(rows, None)
    if first is None:
        where = source if isinstance(source, str | Path) else "what is given"
        raise UsageError(f"there is no row in {where}")
    yield first
    yield from rows


def with_names(
    rows: Iterable[Mapping[str, Any]], names: Mapping[str, str], kind: str = ""
) -> Iterator[Row]:
    """Yield rows that also have the columns of a `Sample`, under its names.

    `names` maps such a name to the column that holds it, as {"answer": "gold"}; "" is the name
    itself. `kind` is the `type` of all rows. Raises NoColumn for a row without one of the columns.
    """
    used = {name: column for name, column in names.items() if column}
    types = {"type": kind} if kind else {}
    for number, row in enumerate(rows, 1):
        if missing := [column for column in used.values() if column not in row]:
            raise NoColumn(missing, row, f"row {number}")
        yield {**row, **{name: row[column] for name, column in used.items()}, **types}


def write(rows: Iterable[Mapping[str, Any]], path: str | Path, columns: Sequence[str] = ()) -> int:
    """Write rows to a file atomically. Returns their number.

    The columns are those of all rows; those of a CSV begin with `columns`, even without any row. In
    a CSV, None is "" and lists and mappings are JSON.

    Raises:
        UsageError: the kind of file is unknown, or a row cannot be written in it.
        StoreError: the file cannot be written.
    """
    path = Path(path)
    writer = _KINDS[kind_of(path)].write
    with atomic_file(path) as unfinished:
        return writer(rows, unfinished, columns)


def id_of(row: Mapping[str, Any]) -> str:
    """The row's `id`, or else the hash of its content."""
    own_id = row.get("id")
    return sample_of(row).id if own_id in (None, "") else str(own_id)


def unused_name(name: str, used: Counter[str]) -> str:
    """The name, or the first unused one of name#2, name#3, ...; it is used from now on."""
    unused = name
    while unused in used:
        used[name] += 1
        unused = f"{name}#{used[name]}"
    used[unused] += 1
    return unused


def as_number(value: Any) -> float | None:
    """A value as a finite number; None if it is none. A text must be in plain ASCII digits."""
    if isinstance(value, bool | bytes):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def number_of(row: Mapping[str, Any], column: str, where: str) -> float:
    """A row's number in a column, which may be text. Raises UsageError if it has none."""
    if column not in row:
        raise NoColumn(column, row, where)
    number = as_number(row[column])
    if number is None:
        raise UsageError(f"{where} holds {repr(row[column])[:80]}, no number, in {column!r}")
    return number


def kind_of(path: Path) -> str:
    """The kind of a file by its name: a key of `_KINDS`."""
    if ending := ending_of(path.name):
        return "jsonl" if ending == ".ndjson" else ending[1:]
    raise UsageError(
        f"{path} is of no known kind: name it .csv, .csv.gz, .jsonl, .jsonl.gz, .json, .parquet"
    )


def ending_of(name: str) -> str:
    """The ending of a name by which the kind of file is known, such as ".jsonl.gz"; else ""."""
    endings = (f".{kind}" for kind in (*_KINDS, "ndjson"))
    return next((ending for ending in endings if name.lower().endswith(ending)), "")


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        is_uri = re.match(r"(s3|hf):", str(path))
        fetch = ": `infinite-rl storage fetch` brings it to this machine" if is_uri else ""
        raise UsageError(f"there is no {path}{fetch}")
    if not (files := list(_within(path))):
        raise UsageError(f"there is no data file in {path}")
    return files


def _is_saved(folder: Path) -> bool:
    """Whether a folder is one of `save_to_disk`, of a data set with or without splits."""
    names = ("state.json", "dataset_info.json")
    return (folder / "dataset_dict.json").is_file() or all(
        (folder / name).is_file() for name in names
    )


def _saved(folder: Path) -> Iterator[Row]:
    datasets = import_extra("datasets", f"{folder} needs the library", "data")
    try:
        yield from read(datasets.load_from_disk(str(folder)).with_format(None))
    except Exception as error:  # its files can be wrong in any way, and pyarrow has its own errors
        reason = f"{type(error).__name__}: {reason_of(error)}"
        raise StoreError(f"cannot read {folder}: {reason}") from None


def _partition(folders: Iterable[str]) -> dict[str, str | None]:
    """The columns that the names of folders hold, as NAME=VALUE; Hive escapes them as URLs do."""
    pairs = [folder.partition("=") for folder in folders if "=" in folder]
    return {
        unquote(name): None if value == _HIVE_NULL else unquote(value) for name, _, value in pairs
    }


def files_hidden_by_a_run(folder: Path) -> list[str]:
    """The names of a folder's row files that no reader sees once a run has its rows there."""
    names = (path.name for path in folder.iterdir() if path.is_file())
    return sorted(name for name in names if ending_of(name) and name not in _OF_RUNS)


@lru_cache(maxsize=64)  # a verb may read its rows twice
def _warn_once(message: str) -> None:
    logger.warning("%s", message)


def _within(folder: Path) -> Iterator[Path]:
    """The data files in a folder: of a run only its rows, of a model's answers none.

    A warning names the files of rows that lie unread in the folder of a run.
    """
    names = {path.name for path in folder.iterdir()}
    if DATASET in names:
        if unread := files_hidden_by_a_run(folder):
            more = f" and {len(unread) - 5} more" if len(unread) > 5 else ""
            shown = ", ".join(unread[:5])
            _warn_once(f"{folder}: only {DATASET} is read, not {shown}{more}")
        yield folder / DATASET
    elif JOURNAL not in names:
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                yield from _within(path)
            elif path.is_file() and ending_of(path.name) and path.name not in _NO_ROWS:
                yield path


# --- reading -------------------------------------------------------------------------------------


def _read_csv(path: Path) -> Iterator[Row]:
    csv.field_size_limit(2**31 - 1)
    is_zipped = path.suffix == ".gz"
    text: dict[str, Any] = {"encoding": "utf-8-sig", "errors": "surrogatepass", "newline": ""}
    with gzip.open(path, "rt", **text) if is_zipped else path.open(**text) as file:
        lines = csv.reader(file, strict=True)
        try:
            header = next(lines, [])
            for columns, later in () if is_zipped else RUN_FILES:
                if is_header(header, columns, later):  # a last row may just be being written
                    yield from read_rows(path, columns, later)
                    return
            if twice := [name for name in header if header.count(name) > 1]:
                raise csv.Error(f"two columns are named {twice[0]!r}")
            for fields in lines:
                if not fields and header:
                    continue  # a blank line, as at the end of files from elsewhere
                if len(fields) != len(header):
                    raise csv.Error(f"{len(fields)} fields instead of {len(header)}")
                yield dict(zip(header, fields, strict=True))
        except csv.Error as error:
            raise StoreError(f"{path} is damaged at line {lines.line_num}: {error}") from None
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise StoreError(f"{path} is not UTF-8: byte {byte:#x}, {error.reason}") from None
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise StoreError(f"{path} is damaged at line {lines.line_num + 1}: {error}") from None


def _read_jsonl(path: Path) -> Iterator[Row]:
    number = 1
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        try:
            for line in file:
                if line.strip():
                    yield _object(json.loads(line))
                number += 1
        except json.JSONDecodeError as error:  # it counts lines within this one
            what = f"{error.msg} (character {error.pos + 1})"
            raise StoreError(f"{path} is damaged at line {number}: {what}") from None
        except (OSError, EOFError, ValueError, RecursionError) as error:
            raise StoreError(f"{path} is damaged at line {number}: {error}") from None


def _read_json(path: Path) -> Iterator[Row]:
    try:
        rows = json.loads(path.read_bytes())
        if not isinstance(rows, list):
            raise ValueError("it is no list of objects")
        yield from map(_object, rows)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged: {error}") from None


def _object(value: Any) -> Row:
    if not isinstance(value, dict):
        raise ValueError(f"{json.dumps(value)[:80]} is no object")
    return value


# --- writing -------------------------------------------------------------------------------------


@contextmanager
def _binary(path: Path, *, zipped: bool) -> Iterator[gzip.GzipFile | io.BufferedWriter]:
    """Open a file to write it. Without a name and a time, the same rows give the same bytes."""
    with path.open("wb") as plain:
        if zipped:
            with gzip.GzipFile("", "wb", 9, plain, 0) as file:
                yield file
        else:
            yield plain


def _write_jsonl(rows: _Rows, path: Path, _: Sequence[str], *, zipped: bool = False) -> int:
    count = 0
    with _binary(path, zipped=zipped) as file:
        for count, row in enumerate(rows, 1):
            file.write(to_line(row, count))
    return count


def _write_json(rows: _Rows, path: Path, _: Sequence[str]) -> int:
    count = 0
    with path.open("w", encoding="ascii") as file:
        file.write("[")
        for count, row in enumerate(rows, 1):
            line = to_line(row, count).decode("ascii").rstrip("\n")
            file.write((",\n" if count > 1 else "\n") + line)
        file.write("\n]\n")
    return count


def _write_csv(rows: _Rows, path: Path, columns: Sequence[str], *, zipped: bool = False) -> int:
    spilled, names = spill(rows, columns)
    text: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogatepass", "newline": ""}
    with _binary(path, zipped=zipped) as binary, io.TextIOWrapper(binary, **text) as file:
        file.write(csv_line(names, "\n"))
        for row in spilled:
            file.write(csv_line([_field(row.get(name)) for name in names], "\n"))
    return len(spilled)


def _write_parquet(rows: _Rows, path: Path, columns: Sequence[str]) -> int:
    spilled, names = spill(rows, columns)
    parquet.write({path: spilled}, names)
    return len(spilled)


def _field(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def spill(rows: _Rows, columns: Sequence[str] = ()) -> tuple[SpillList, list[str]]:
    """The rows as a list on disk; these columns, and all others of the rows."""
    spilled, names = SpillList(), dict.fromkeys(columns)
    for row in rows:
        names.update(dict.fromkeys(row))
        spilled.add(row)
    return spilled, list(names)


class _Kind(NamedTuple):
    """How files of a kind are read, and written: the rows, the file, and its first columns."""

    read: Callable[[Path], Iterator[Row]]
    write: Callable[[_Rows, Path, Sequence[str]], int]


# One row a kind of file, by the ending of its name.
_KINDS: Mapping[str, _Kind] = {
    "csv": _Kind(_read_csv, _write_csv),
    "csv.gz": _Kind(_read_csv, partial(_write_csv, zipped=True)),
    "jsonl": _Kind(_read_jsonl, _write_jsonl),
    "jsonl.gz": _Kind(_read_jsonl, partial(_write_jsonl, zipped=True)),
    "json": _Kind(_read_json, _write_json),
    "parquet": _Kind(parquet.read, _write_parquet),
}
