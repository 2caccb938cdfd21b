"""`dataset.parquet`: a run's rows with typed columns, beside the log `dataset.csv`.

The log has texts alone, which other readers guess at: pandas takes "NA", "null" and "" for missing
values. Here a text is a text, "" too; a number is a number, and null where the log has "". A
column of numbers stays a column of texts if one of its fields is no number that is written back as
the same text, so the log can be made of the copy. Half a surrogate pair is escaped (see `parquet`).

The copy is made when a run ends. It records the size of the log that it was made of, with which
`is_current` compares the log: after a kill the copy lacks the newest rows until the next run ends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import StoreError, UsageError
from ..files.atomic import atomic_file
from ..files.logs import read_rows_from
from ..store import DATASET, DATASET_COLUMNS, DATASET_LATER
from . import parquet

COPY = "dataset.parquet"
_BATCH = 10_000  # rows
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
        parquet.libraries()
    except UsageError as error:
        logger.debug("no %s: %s", COPY, error)
        return None
    numbers: dict[str, Callable[[str], Any]] = {
        **dict.fromkeys(_REAL, _real),
        **dict.fromkeys(_WHOLE, _whole),
    }
    while True:
        try:
            return path if _write(folder / DATASET, path, numbers) else None
        except _NoNumber as error:  # from the beginning, with this column as text
            del numbers[str(error)]


def is_current(folder: Path) -> bool:
    """Whether the copy in a run's folder has all rows of the log."""
    try:
        _, pyarrow_parquet = parquet.libraries()
        with pyarrow_parquet.ParquetFile(folder / COPY) as file:
            recorded = (file.metadata.metadata or {}).get(_SIZE)
        return bool(recorded == str((folder / DATASET).stat().st_size).encode())
    except (OSError, ValueError, UsageError):  # missing, damaged; no pyarrow
        return False


def _write(log: Path, path: Path, numbers: Mapping[str, Callable[[str], Any]]) -> int:
    """Write the copy and return its number of rows; of an empty log there is no copy."""
    pyarrow, pyarrow_parquet = parquet.libraries()
    kinds = {name: pyarrow.float64() for name in _REAL} | dict.fromkeys(_WHOLE, pyarrow.int64())
    schema = pyarrow.schema(
        [(name, kinds[name] if name in numbers else pyarrow.string()) for name in DATASET_COLUMNS],
        parquet.METADATA,
    )
    rows = read_rows_from(log, DATASET_COLUMNS, DATASET_LATER, 0)
    count = end = 0
    with atomic_file(path) as draft:
        try:
            with pyarrow_parquet.ParquetWriter(draft, schema) as writer:
                while batch := list(islice(rows, _BATCH)):
                    count, end = count + len(batch), batch[-1][1]
                    columns = list(_columns([row for row, _ in batch], numbers))
                    writer.write_table(pyarrow.Table.from_pydict(dict(columns), schema))
                writer.add_key_value_metadata({_SIZE: str(end).encode()})
        except (OSError, pyarrow.ArrowException) as error:
            raise StoreError(f"cannot write {path}: {error}") from None
    if not count:
        path.unlink()
    return count


def _columns(
    rows: list[dict[str, str]], numbers: Mapping[str, Callable[[str], Any]]
) -> Iterator[tuple[str, list[Any]]]:
    for name in DATASET_COLUMNS:
        if convert := numbers.get(name):
            try:
                yield name, [convert(row[name]) if row[name] else None for row in rows]
            except ValueError:
                raise _NoNumber(name) from None
        else:
            yield name, [parquet.escaped(row[name]) for row in rows]


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
