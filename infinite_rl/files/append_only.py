"""Append-only files of whole records: one process writes, any process reads."""

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
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_BUFFER = 2**20  # bytes; with a smaller one, reading a long file takes twice as long


class DiskFull(StoreError):
    """There is no space for a record."""


class AppendOnlyFile:
    """A file to which records are appended, each of them whole or not at all.

    Raises:
        StoreError: the file cannot be written.
    """

    recovery_hint = "the records before are complete"  # a part of the error of a failed write

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("ab", buffering=0)  # a record reaches the system at once
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from None

    def sync(self) -> None:
        """Force the records to the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, and unlock it even if a forked process holds a copy of it."""
        if not self._file.closed:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()

    def _lock_file(self) -> None:
        """Become the one process that writes the file. Raises StoreError if another is."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"another process is writing {self.path}") from None

    def _drop_torn_line(self) -> None:
        """Remove half a line at the end, whose writer was killed."""
        end = max((end for end, _ in whole_lines(self.path)), default=0)
        if end < self.path.stat().st_size:
            self._file.truncate(end)

    def _write(self, record: bytes) -> int:
        """Append a record, and return its offset.

        Raises:
            StoreError: the write failed (`DiskFull`: no space); the file is as it was before.
        """
        try:
            start = os.fstat(self._file.fileno()).st_size
            try:
                while record:
                    record = record[self._file.write(record) :]
            except OSError:
                self._file.truncate(start)
                raise
        except OSError as error:
            kind = DiskFull if error.errno in _NO_SPACE else StoreError
            message = f"cannot write {self.path}: {error.strerror}; {self.recovery_hint}"
            raise kind(message) from None
        return start


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
            self._lock_file()
            self._drop_torn_line()
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
    """Yield the offset of each line's end, and the line; the last one may be torn."""
    end = 0
    with path.open("rb", _BUFFER) as file:
        for line in file:
            end += len(line)
            yield end, line


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield as `read_lines`, without a torn line at the end."""
    return ((end, line) for end, line in read_lines(path) if line.endswith(b"\n"))


def damaged(path: Path, end: int | None, what: str) -> StoreError:
    """The error for a file with a malformed line, which ends at the offset `end` if it is known."""
    where = ""
    if end is not None:
        where = f" at line {sum(reached <= end for reached, _ in read_lines(path))}"
    return StoreError(
        f"{path} is damaged{where} ({what}). "
        "Repair it, move it away or choose another output folder; it was not changed."
    )
