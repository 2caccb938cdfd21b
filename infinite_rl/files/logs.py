"""Append-only files of records, and of CSV rows: one process writes, any process reads.

A record is written whole or not at all. A row is read back as exact strings.
"""

import csv
import fcntl
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ..errors import StoreError, store_error, store_errors
from .atomic import atomic_file

T = TypeVar("T")
_BUFFER = 2**20  # bytes; with a smaller one, reading a long file takes twice as long


class AppendOnlyFile:
    """A file to which records are appended, each of them whole or not at all.

    Raises:
        StoreError: the file cannot be written.
    """

    recovery_hint = "the records before are complete"  # a part of the error of a failed write

    def __init__(self, path: Path) -> None:
        self.path = path
        with store_errors(f"cannot write {path}"):
            self._file = path.open("ab", buffering=0)  # a record reaches the system at once

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
            failure = store_error(f"cannot write {self.path}", error)
            failure.args = (f"{failure}; {self.recovery_hint}",)
            raise failure from None
        return start


class JsonlLog(AppendOnlyFile):
    """An append-only file of JSON lines with one writer; a torn last line is dropped.

    Raises:
        StoreError: another process writes the file, or it is not writable.
    """

    def __init__(self, path: Path) -> None:
        with store_errors(f"cannot write {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
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


def read_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the offset of each line's end, and the line, from the offset `start` on.

    The last line may be torn.
    """
    end = start
    with path.open("rb", _BUFFER) as file:
        file.seek(start)
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


logger = logging.getLogger(__name__)

# Columns that an earlier version's file may lack, each with the name that it had there, or "".
Later: TypeAlias = Mapping[str, str] | None

# UTF-8 cannot hold half a surrogate pair, but a model's JSON can: such text must survive as well.
ENCODING, ERRORS = "utf-8", "surrogatepass"
_QUOTED = re.compile(r'[",\r\n]')


def read_rows(
    path: Path, columns: Sequence[str] | None = None, later: Later = None
) -> Iterator[dict[str, str]]:
    """Yield the whole rows of a CSV file as exact strings; a torn last one is skipped, and logged.

    A file of an earlier version may lack `later` columns, which are "" in its rows, or have them by
    their earlier names.

    Raises:
        StoreError: the header is not `columns`, if they are given, or the file is damaged.
    """
    size, rows = path.stat().st_size, _scan(path, columns, later)
    header, end = next(rows, ([], 0))
    lacking = dict.fromkeys(set(columns or ()).difference(header), "")
    for fields, end in rows:  # noqa: B007 -- used below
        yield dict(zip(header, fields)) | lacking  # noqa: B905 -- as many of each
    if 0 < end < size:  # a file that has grown meanwhile ends past its old size
        logger.warning("%s ends in half a row, which is skipped", path)


def read_rows_from(
    path: Path, columns: Sequence[str], later: Later, start: int
) -> Iterator[tuple[dict[str, str], int]]:
    """Yield the whole rows after the offset `start`, each with the offset of its end.

    `start` is 0 or the offset of a row's end. Raises StoreError as `read_rows`.
    """
    rows = _scan(path, columns, later, start)
    header, _ = next(rows, ([], 0))
    lacking = dict.fromkeys(set(columns).difference(header), "")
    for fields, end in rows:
        yield dict(zip(header, fields, strict=True)) | lacking, end


def is_header(fields: Sequence[str], columns: Sequence[str], later: Later = None) -> bool:
    """Whether fields are the columns of a file; `later` ones may be missing or named as before."""
    fields, later = _renamed(fields, later), later or {}
    return fields == [name for name in columns if name in fields or name not in later]


def _renamed(fields: Sequence[str], later: Later) -> list[str]:
    """A header with the columns' names of today."""
    names = {old: new for new, old in (later or {}).items() if old}
    return [names.get(field, field) for field in fields]


def _scan(
    path: Path, columns: Sequence[str] | None, later: Later = None, start: int = 0
) -> Iterator[tuple[list[str], int]]:
    """Yield the fields of each whole row and the offset of its end; the header comes first.

    With `start`, the offset of a row's end, the rows before it are left out.
    """
    csv.field_size_limit(2**31 - 1)  # the default of 128 KiB is less than a long response
    size, offset, last = path.stat().st_size, 0, b""

    def texts() -> Iterator[str]:
        nonlocal offset, last
        lines = read_lines(path)
        if start:  # the header is one line
            lines = chain(islice(lines, 1), read_lines(path, start))
        for offset, last in lines:  # noqa: B007 -- used below
            yield last.decode(ENCODING, ERRORS)

    header: list[str] | None = None
    try:
        for fields in csv.reader(texts(), strict=True):
            if not last.endswith(b"\n"):
                return
            if header is None:
                fields = header = _checked_header(path, fields, columns, later)
            elif len(fields) != len(header):
                raise damaged(path, offset, f"{len(fields)} fields instead of {len(header)}")
            yield fields, offset
    except (csv.Error, UnicodeDecodeError) as error:
        if offset < size:  # else the file ends inside a row
            raise damaged(path, offset, str(error)) from None


def _checked_header(
    path: Path, fields: list[str], columns: Sequence[str] | None, later: Later
) -> list[str]:
    if columns is not None and not is_header(fields, columns, later):
        what = f"its columns are {', '.join(fields)[:200]}"
        if fields[:1] == ["\ufeff" + columns[0]]:
            what = "a spreadsheet saved it, which may change values (007 becomes 7)"
        raise StoreError(
            f"{path} was not written by this version: {what}. "
            "Move it away or choose another output folder; it was not changed."
        )
    return _renamed(fields, later)


class CsvLog(AppendOnlyFile):
    """One append-only CSV file with fixed columns.

    A file of an earlier version gets its missing `later` columns in one step when a row is first
    appended; they are empty in the rows before.
    """

    def __init__(self, path: Path, columns: Sequence[str], later: Later = None) -> None:
        super().__init__(path)
        self.columns, self._later, self._is_older = columns, later, False

    def recover(self, *columns: str) -> Iterator[tuple[str, ...]]:
        """Yield two or more columns of each row; then move a torn end aside, or write the header.

        Columns that a file of an earlier version lacks are empty; they are the last of `columns`.

        Raises:
            StoreError: the file is foreign or damaged.
        """
        rows = _scan(self.path, self.columns, self._later)
        header, end = next(rows, (list(self.columns), 0))
        self._is_older = header != list(self.columns)
        present = [name for name in columns if name in header]
        wanted = itemgetter(*map(header.index, present))
        lacking = ("",) * (len(columns) - len(present))
        if present != list(columns[: len(present)]):
            raise ValueError("columns of later versions come last")
        for fields, end in rows:  # noqa: B007 -- used below
            yield wanted(fields) + lacking
        if end < self.path.stat().st_size:
            self._move_torn_end_aside(end)
        if end == 0:
            self._write(_line(self.columns))

    def append(self, row: Mapping[str, str]) -> None:
        """Write one whole row. Raises StoreError if that fails, and leaves no half row."""
        if self._is_older:
            _add_columns(self.path, self.columns, self._later)
            self.close()
            super().__init__(self.path)
            self._is_older = False
        self._write(_line([row[column] for column in self.columns]))

    def _move_torn_end_aside(self, end: int) -> None:
        with self.path.open("rb") as file:
            file.seek(end)
            torn = file.read()
        if end == 0 and not _line(self.columns).startswith(torn):
            raise damaged(self.path, None, "no complete header")
        aside = self.path.with_name(self.path.name + ".torn")
        with aside.open("ab") as copy:
            copy.write(torn + b"\n")
            os.fsync(copy.fileno())
        os.truncate(self.path, end)
        logger.warning(
            "%s ended in half a row; its %d bytes are in %s", self.path, len(torn), aside
        )


def _add_columns(path: Path, columns: Sequence[str], later: Later) -> None:
    rows = _scan(path, columns, later)
    header, end = next(rows, (list(columns), 0))
    if header == list(columns):
        return
    with atomic_file(path) as draft, path.open("rb") as before, draft.open("wb") as file:
        file.write(_line(columns))
        for fields, end in rows:  # noqa: B007 -- used below
            row = dict(zip(header, fields, strict=True))
            file.write(_line([row.get(name, "") for name in columns]))
        before.seek(end)
        file.write(before.read())  # half a row at the end
        file.flush()
        os.fsync(file.fileno())


def _line(fields: Sequence[str]) -> bytes:
    return csv_line(fields).encode(ENCODING, ERRORS)


def csv_line(fields: Sequence[str], end: str = "\r\n") -> str:
    """A line of CSV by RFC 4180.

    Before Python 3.13 the csv module may write a bare carriage return. In 3.10 it does not accept
    NUL, which becomes U+FFFD.
    """
    if sys.version_info < (3, 11):
        fields = [field.replace("\0", "\ufffd") for field in fields]
    quoted = (
        '"' + field.replace('"', '""') + '"' if _QUOTED.search(field) else field for field in fields
    )
    return ('""' if list(fields) == [""] else ",".join(quoted)) + end
