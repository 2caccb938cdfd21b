"""Files that only grow, by whole records: written by one process, read back by any."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from ..errors import StoreError

T = TypeVar("T")
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_READ_AT_ONCE = 2**20  # bytes; with less, reading a long file back takes twice as long


class DiskFull(StoreError):
    """There is no room for a record."""


class AppendOnlyFile:
    """A file to which records are appended, each of them whole or not at all.

    Raises:
        StoreError: the file cannot be written.
    """

    recovery_hint = "what was kept is whole"  # said of a write that failed

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("ab", buffering=0)  # a record is with the system at once
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from None

    def sync(self) -> None:
        """Force what was appended to the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; what was appended is with the system.

        Another may write it at once, also where a process that is only being started, or was
        forked, holds a copy of what is open here.
        """
        if not self._file.closed:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()

    def _claim(self) -> None:
        """Be the one process that writes the file. Raises StoreError where another is."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"another process is writing {self.path}") from None

    def _drop_half_line(self) -> None:
        """Drop half a line at the end, whose writer was killed."""
        end = max((end for end, _ in whole_lines(self.path)), default=0)
        if end < self.path.stat().st_size:
            self._file.truncate(end)

    def _write(self, record: bytes) -> int:
        """Append a record; where it begins.

        Raises:
            StoreError: that failed, `DiskFull` for want of room; the file is as it was before.
        """
        try:
            return self._write_whole(record)
        except OSError as error:
            kind = DiskFull if error.errno in _NO_SPACE else StoreError
            message = f"cannot write {self.path}: {error.strerror}; {self.recovery_hint}"
            raise kind(message) from None

    def _write_whole(self, record: bytes) -> int:
        place = os.fstat(self._file.fileno()).st_size
        try:
            while record:
                record = record[self._file.write(record) :]
        except OSError:
            self._file.truncate(place)  # no half record
            raise
        return place


class JsonlLog(AppendOnlyFile):
    """An append-only file of JSON lines with one writer; a torn last line is dropped.

    Raises:
        StoreError: another process writes the file, or it is not writable.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from None
        super().__init__(path)
        with ExitStack() as on_error:
            on_error.callback(self._file.close)
            self._claim()
            self._drop_half_line()
            on_error.pop_all()

    def append(self, record: object) -> int:
        """Append one record as JSON and return its offset."""
        return self._write(json.dumps(record).encode("ascii") + b"\n")


def read_jsonl(path: Path, parse: Callable[[Any], T]) -> Iterator[tuple[int, T]]:
    """Yield the offset and the parsed JSON value of each whole line.

    Raises:
        StoreError: a line is no JSON, or `parse` raises TypeError or ValueError.
    """
    for end, line in whole_lines(path):
        try:
            yield end - len(line), parse(json.loads(line))
        except (TypeError, ValueError) as error:
            raise damaged(path, end, str(error)) from None


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Each line with the offset of its end, in bytes; the last one may be torn."""
    end = 0
    with path.open("rb", _READ_AT_ONCE) as file:
        for line in file:
            end += len(line)
            yield end, line


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Each line as `read_lines`, without one at the end that is torn."""
    return ((end, line) for end, line in read_lines(path) if line.endswith(b"\n"))


def damaged(path: Path, end: int | None, what: str) -> StoreError:
    """The error for a file that does not hold what was appended to it.

    `end` is the offset of the end of the line that is not as it should be, where there is one.
    """
    where = ""
    if end is not None:
        where = f" at line {sum(reached <= end for reached, _ in read_lines(path))}"
    return StoreError(
        f"{path} is damaged{where} ({what}). "
        "Mend it, move it away or choose another output folder; it was left as it is."
    )
