"""Append-only CSV files of whole rows, which are read back as exact strings."""

from __future__ import annotations

import csv
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

from ..errors import StoreError
from .append_only import AppendOnlyFile, damaged, read_lines
from .atomic import atomic_file

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


def is_header(fields: Sequence[str], columns: Sequence[str], later: Later = None) -> bool:
    """Whether fields are the columns of a file; `later` ones may be missing or named as before."""
    fields, later = _renamed(fields, later), later or {}
    return fields == [name for name in columns if name in fields or name not in later]


def _renamed(fields: Sequence[str], later: Later) -> list[str]:
    """A header with the columns' names of today."""
    names = {old: new for new, old in (later or {}).items() if old}
    return [names.get(field, field) for field in fields]


def _scan(
    path: Path, columns: Sequence[str] | None, later: Later = None
) -> Iterator[tuple[list[str], int]]:
    """Yield the fields of each whole row and the offset of its end; the header comes first."""
    csv.field_size_limit(2**31 - 1)  # the default of 128 KiB is less than a long response
    size, offset, last = path.stat().st_size, 0, b""

    def texts() -> Iterator[str]:
        nonlocal offset, last
        for offset, last in read_lines(path):  # noqa: B007 -- used below
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

        Raises:
            StoreError: the file is foreign or damaged.
        """
        rows = _scan(self.path, self.columns, self._later)
        header, end = next(rows, (list(self.columns), 0))
        self._is_older = header != list(self.columns)
        wanted = itemgetter(*map(header.index, columns))
        for fields, end in rows:  # noqa: B007 -- used below
            yield wanted(fields)
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
