"""Rows in Parquet files, whose columns have one type each. Needs the extra `data`.

Parquet holds UTF-8, which has no half of a surrogate pair; JSON has, so a model's text may. Such a
half, U+D800 to U+DFFF, is written as U+10F8FF and the character 0x800 above it (U+E000 to U+E7FF,
of the private use area), and U+10F8FF itself is written twice. `read` undoes that in files with
the metadata `infinite_rl.escape`; other readers see two private characters in its place.

`dataset.parquet` is the copy of a run's rows with typed columns, beside the log `dataset.csv`. The
log has only texts, whose types other readers guess: pandas takes "NA", "null" and "" for missing
values. In the copy a text is a text, "" too; a number is a number, and null where the log has "".
A column of numbers stays a column of texts if one of its fields is no number that is written back
as the same text, so the log can be made of the copy. The copy is made when a run ends. It records
the size of the log that it was made of, with which `is_current` compares the log: after a kill the
copy lacks the newest rows until the next run ends.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError, UsageError, import_extra
from ..files.atomic import atomic_file
from ..files.logs import read_rows_from
from ..store import DATASET, DATASET_COLUMNS, DATASET_LATER
from .spill import SpillList

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

METADATA: Mapping[bytes, bytes] = {b"infinite_rl.escape": b"1"}
_BATCH = 1_000  # rows
_ESCAPE, _ABOVE = "\U0010f8ff", 0x800
_HALF = re.compile(f"[\ud800-\udfff{_ESCAPE}]")
_WRITTEN = re.compile(f"{_ESCAPE}([\ue000-\ue7ff{_ESCAPE}])")


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file; an empty file has none. Raises StoreError if it is damaged."""
    pyarrow, parquet = libraries()
    with path.open("rb") as opened:
        if not opened.read(1):
            return
    try:
        with parquet.ParquetFile(path) as file:
            escapes = _escapes(file.schema_arrow)
            for batch in file.iter_batches(_BATCH):
                rows = batch.to_pylist()
                yield from (_mapped(row, _unescaped) for row in rows) if escapes else rows
    except (OSError, pyarrow.ArrowException) as error:
        raise StoreError(f"{path} is damaged: {error}") from None


def read_columns(path: Path) -> dict[str, npt.NDArray[np.object_]]:
    """The columns of a file as arrays of objects, many times faster than row by row.

    Raises StoreError if it is damaged.
    """
    pyarrow, parquet = libraries()
    columns = {}
    try:
        table = parquet.read_table(path)
        escapes = _escapes(table.schema)
        for name in table.column_names:
            column = table.column(name)
            if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
                values = column.to_numpy(zero_copy_only=False)  # objects; None for null
                compute = pyarrow.compute
                if escapes and compute.any(compute.match_substring(column, _ESCAPE)).as_py():
                    values = _objects([_mapped(value, _unescaped) for value in values])
            else:
                values = _objects(column.to_pylist())
                if escapes and pyarrow.types.is_nested(column.type):
                    values = _objects([_mapped(value, _unescaped) for value in values])
            columns[name] = values
    except (OSError, pyarrow.ArrowException) as error:
        raise StoreError(f"{path} is damaged: {error}") from None
    return columns


def write(files: Mapping[Path, SpillList], columns: Sequence[str]) -> None:
    """Write these columns of all rows, with the same types in each of the files.

    A column that a row lacks is null.

    Raises:
        UsageError: a value has no type, or none in common with others of its column; it is named.
    """
    pyarrow, parquet = libraries()
    faults = (pyarrow.ArrowException, UnicodeEncodeError, OverflowError)
    try:
        schema = pyarrow.schema([])
        for batch in _batches(files.values(), columns):
            schema = _widened(schema, batch)
        schema = schema.with_metadata(METADATA)
        for path, rows in files.items():
            with parquet.ParquetWriter(path, schema) as writer:
                for batch in _batches([rows], columns):
                    writer.write_table(pyarrow.Table.from_pylist(batch, schema))
    except faults as error:
        misfits = (_misfit(files.values(), column, faults) for column in columns)
        reason = next(filter(None, misfits), str(error))
        message = f"these rows cannot be written as Parquet, but as .jsonl: {reason}"
        raise UsageError(message) from None


def libraries() -> tuple[Any, Any]:
    """Pyarrow and its module for Parquet. Raises UsageError if they are not installed."""
    parquet = import_extra("pyarrow.parquet", "Parquet needs", "data")
    import_module("pyarrow.compute")
    return import_module("pyarrow"), parquet


def escaped(text: str) -> str:
    """A text as UTF-8 can hold it."""
    if text.isascii() or not _HALF.search(text):
        return text
    return _HALF.sub(lambda half: _ESCAPE + _moved(half[0], _ABOVE), text)


def _unescaped(text: str) -> str:
    if text.isascii() or _ESCAPE not in text:
        return text
    return _WRITTEN.sub(lambda pair: _moved(pair[1], -_ABOVE), text)


def _moved(character: str, by: int) -> str:
    return character if character == _ESCAPE else chr(ord(character) + by)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A value with all its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(each, change) for each in value]
    if isinstance(value, dict):
        return {name: _mapped(each, change) for name, each in value.items()}
    return value


def _escapes(schema: Any) -> bool:
    return METADATA.items() <= (schema.metadata or {}).items()


def _objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    import numpy as np

    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _batches(files: Iterable[SpillList], columns: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    rows = chain.from_iterable(map(_escaped_rows, files))
    while batch := list(islice(rows, _BATCH)):
        yield [{column: row.get(column) for column in columns} for row in batch]


def _escaped_rows(rows: SpillList) -> Iterator[dict[str, Any]]:
    for index in range(len(rows)):
        line = rows.piece(index)
        row = json.loads(line)
        # In ASCII JSON, what may need an escape is written so.
        yield _mapped(row, escaped) if b"\\ud" in line else row


def _widened(schema: Any, batch: Sequence[dict[str, Any]]) -> Any:
    """The schema, widened to hold these rows as well."""
    pyarrow, _ = libraries()
    needed = pyarrow.Table.from_pylist(batch).schema
    return pyarrow.unify_schemas([schema, needed], promote_options="permissive")


def _misfit(files: Iterable[SpillList], column: str, faults: tuple[type[Exception], ...]) -> str:
    """The first value that has no type in common with those above it, and why; "" if all have."""
    pyarrow, _ = libraries()
    schema, number = pyarrow.schema([]), 0
    for batch in _batches(files, [column]):
        try:
            schema = _widened(schema, batch)
            number += len(batch)
            continue
        except faults:
            pass  # it is one of these rows
        for row in batch:
            number += 1
            try:
                schema = _widened(schema, [row])
            except faults as error:
                return f"row {number} holds {repr(row[column])[:80]} in {column!r} ({error})"
    return ""


# --- the copy of a run's rows ---------------------------------------------------------------------

COPY = "dataset.parquet"
_COPY_BATCH = 10_000  # rows
_SIZE = b"infinite_rl.csv_bytes"
_REAL = (
    *("quality_score", "format_score", "correctness_score", "aux_score", "cost"),
    *("verifier_recall", "agreement", "solve_rate", "pass_rate", "pass_rate_low", "pass_rate_high"),
)
_WHOLE = ("seed", "mutants", "repairs", "inputs_compared", "fuel", "attempts", "solved")
_INT64 = 2**63

logger = logging.getLogger(__name__)


class _NoNumber(Exception):
    """A field is no number that is written back as the same text."""


def keep_copy(folder: Path) -> Path | None:
    """Update the copy of a run's folder if the log has other rows. Returns its path.

    None if there is no row, or pyarrow is not installed: the log is whole without the copy.

    Raises StoreError if the log is damaged, or the copy cannot be written.
    """
    path = folder / COPY
    if not (folder / DATASET).is_file() or is_current(folder):
        return path if path.is_file() else None
    try:
        libraries()
    except UsageError as error:
        logger.debug("no %s: %s", COPY, error)
        return None
    numbers: dict[str, Callable[[str], Any]] = {
        **dict.fromkeys(_REAL, _real),
        **dict.fromkeys(_WHOLE, _whole),
    }
    while True:
        try:
            return path if _write_copy(folder / DATASET, path, numbers) else None
        except _NoNumber as error:  # from the beginning, with this column as text
            del numbers[str(error)]


def is_current(folder: Path) -> bool:
    """Whether the copy in a run's folder has all rows of the log."""
    try:
        _, pyarrow_parquet = libraries()
        with pyarrow_parquet.ParquetFile(folder / COPY) as file:
            recorded = (file.metadata.metadata or {}).get(_SIZE)
        return bool(recorded == str((folder / DATASET).stat().st_size).encode())
    except (OSError, ValueError, UsageError):  # missing, damaged; no pyarrow
        return False


def _write_copy(log: Path, path: Path, numbers: Mapping[str, Callable[[str], Any]]) -> int:
    """Write the copy and return its number of rows; of an empty log there is no copy."""
    pyarrow, pyarrow_parquet = libraries()
    kinds = {name: pyarrow.float64() for name in _REAL} | dict.fromkeys(_WHOLE, pyarrow.int64())
    schema = pyarrow.schema(
        [(name, kinds[name] if name in numbers else pyarrow.string()) for name in DATASET_COLUMNS],
        METADATA,
    )
    rows = read_rows_from(log, DATASET_COLUMNS, DATASET_LATER, 0)
    count = end = 0
    with atomic_file(path) as draft:
        try:
            with pyarrow_parquet.ParquetWriter(draft, schema) as writer:
                while batch := list(islice(rows, _COPY_BATCH)):
                    count, end = count + len(batch), batch[-1][1]
                    columns = list(_typed_columns([row for row, _ in batch], numbers))
                    writer.write_table(pyarrow.Table.from_pydict(dict(columns), schema))
                writer.add_key_value_metadata({_SIZE: str(end).encode()})
        except (OSError, pyarrow.ArrowException) as error:
            raise StoreError(f"cannot write {path}: {error}") from None
    if not count:
        path.unlink()
    return count


def _typed_columns(
    rows: list[dict[str, str]], numbers: Mapping[str, Callable[[str], Any]]
) -> Iterator[tuple[str, list[Any]]]:
    for name in DATASET_COLUMNS:
        if convert := numbers.get(name):
            try:
                yield name, [convert(row[name]) if row[name] else None for row in rows]
            except ValueError:
                raise _NoNumber(name) from None
        else:
            yield name, [escaped(row[name]) for row in rows]


def _real(text: str) -> float:
    number = float(text)
    if repr(number) != text:
        raise ValueError(text)
    return number


def _whole(text: str) -> int:
    number = int(text)
    if str(number) != text or not -_INT64 <= number < _INT64:
        raise ValueError(text)
    return number
