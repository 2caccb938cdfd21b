"""Files of rows: read once, or followed while another process appends to them."""

import csv
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from ..dataset.rows import Row, kind_of, read
from ..errors import UsageError
from ..files.logs import Later, damaged, is_header, read_lines, read_rows_from
from ..report.statistics import KEPT, OUTCOME
from ..store import (
    DATASET,
    DATASET_COLUMNS,
    DATASET_LATER,
    FAILED,
    FAILED_COLUMNS,
    FAILED_LATER,
    JOURNAL,
    RUN_FILES,
    SHARDS,
)
from ..types import REASONS

ROWS, REJECTED = "rows", "rejected"  # names of feeds


class Feed(Protocol):
    """Rows of one source. `name` tells the rows of a run from those that it rejected."""

    name: str

    def new(self) -> Iterator[Row]:
        """Yield the rows since the last call, up to the present end. Raises StoreError."""


class Once:
    """Rows that are read once, whatever holds them."""

    name = ROWS

    def __init__(self, source: str | Path) -> None:
        self._source: str | Path | None = source

    def new(self) -> Iterator[Row]:
        """Yield all rows at the first call, and none after."""
        source, self._source = self._source, None
        if source is not None:
            yield from read(source)


class JsonLines:
    """A file of JSON lines that may grow, or be missing yet. Half a line at its end waits.

    Each line is an object with the keys `needed`.
    """

    name = ROWS

    def __init__(self, path: Path, needed: Collection[str] = ()) -> None:
        self._path, self._needed, self._end = path, needed, 0

    def new(self) -> Iterator[Row]:
        """Yield the rows behind those that were read. Raises StoreError for a line without one."""
        if not self._path.is_file():
            return
        for end, line in read_lines(self._path, self._end):
            row = None
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    if not line.endswith(b"\n"):
                        return
                    raise damaged(self._path, end, str(error)) from None
                if not isinstance(row, dict):
                    raise damaged(self._path, end, "a line is no object")
                for name in self._needed:
                    if name not in row:
                        raise damaged(self._path, end, f"a line has no {name!r}")
            self._end = end
            if row is not None:
                yield row


class RunCsv:
    """A CSV file of a run, which may be missing yet. With `outcomes`, rows say how they ended."""

    def __init__(
        self, name: str, path: Path, columns: Sequence[str], later: Later, *, outcomes: bool = False
    ) -> None:
        self.name, self._path, self._outcomes = name, path, outcomes
        self._columns, self._later, self._end = columns, later, 0

    def new(self) -> Iterator[Row]:
        """Yield the whole rows behind those that were read. Raises StoreError."""
        if not self._path.is_file() or not self._path.stat().st_size:
            return
        for row, end in read_rows_from(self._path, self._columns, self._later, self._end):
            self._end = end
            yield {OUTCOME: self._outcome(row), **row} if self._outcomes else dict(row)

    def _outcome(self, row: Row) -> str:
        if self.name == ROWS:
            return KEPT
        reason: str = row["error_msg"].partition(":")[0]
        return reason if reason and reason in REASONS else REJECTED


class Run:
    """The folder of a run: its rows, and with `rejected` what it and its shards rejected."""

    def __init__(self, folder: Path, *, rejected: bool) -> None:
        self._folder, self._rejected = folder, rejected
        dataset = folder / DATASET
        feed = RunCsv(ROWS, dataset, DATASET_COLUMNS, DATASET_LATER, outcomes=rejected)
        self._feeds = {dataset: feed}

    def feeds(self) -> list[RunCsv]:
        """The files that are there now."""
        shards = sorted(self._folder.glob(f"{SHARDS}/*/{FAILED}"))
        for path in (self._folder / FAILED, *shards) if self._rejected else ():
            if path not in self._feeds:
                feed = RunCsv(REJECTED, path, FAILED_COLUMNS, FAILED_LATER, outcomes=True)
                self._feeds[path] = feed
        return list(self._feeds.values())


def is_run(path: Path) -> bool:
    """Whether a path is the folder of a run, be it one without a row yet."""
    return any((path / name).is_file() for name in (DATASET, JOURNAL))


def feeds_of(source: Path, *, rejected: bool) -> Callable[[], Sequence[Feed]]:
    """Return what gives the present feeds of a source; those of a run may become more.

    With `rejected`, those of a run include what it rejected. Raises UsageError if there is no
    such source.
    """
    if is_run(source):
        return Run(source, rejected=rejected).feeds
    feed = _feed_of(source)
    return lambda: [feed]


def _feed_of(path: Path) -> Feed:
    if not path.exists():
        raise UsageError(f"there is no {path}")
    if path.is_file() and kind_of(path) == "jsonl":
        return JsonLines(path)
    if path.is_file() and kind_of(path) == "csv":
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            header = next(csv.reader(file), [])
        for columns, later in RUN_FILES:
            if is_header(header, columns, later):
                return RunCsv(ROWS, path, columns, later)
    return Once(path)
