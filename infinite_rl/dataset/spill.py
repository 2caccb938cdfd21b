"""Lists on disk: rows as lines of JSON, or bytes, in a temporary file, read back in any order."""

import json
import os
import tempfile
from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import UsageError, shown
from ..files.json_text import json_text

_NO_JSON = (TypeError, ValueError, RecursionError)  # no JSON, too long, without end


def to_json(value: object) -> str:
    """A value as one line of ASCII JSON. Raises UsageError for a value that JSON cannot hold."""
    try:
        return json_text(value)
    except _NO_JSON as error:
        raise UsageError(f"a row cannot be written as JSON: {error}") from None


def to_line(row: Mapping[str, Any], number: int = 0) -> bytes:
    """A row as a line of a file. `number` counts the rows from 1, for errors; 0: it is not known.

    Raises UsageError for a value that JSON cannot hold; it names the column.
    """
    if not all(isinstance(name, str) for name in row):
        raise UsageError(f"column names must be strings, not {', '.join(map(repr, row))}")
    try:
        return json_text(row).encode("ascii") + b"\n"
    except _NO_JSON as error:
        where = f"row {number}" if number else "a row"
        for column, value in row.items():
            try:
                json_text(value)
            except _NO_JSON as fault:
                raise UsageError(
                    f"{where} cannot be written as JSON: {column!r} holds {shown(value)} "
                    f"({fault}): make it text, or drop the column"
                ) from None
        raise UsageError(f"{where} cannot be written as JSON: {error}") from None


class SpillFile:
    """A list of bytes in an unnamed temporary file; memory holds only offsets, 8 bytes each."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 -- it is open as long as this lives
        self._ends = array("Q", [0])  # of the pieces, after that of none

    def __len__(self) -> int:
        return len(self._ends) - 1

    def put(self, piece: bytes) -> int:
        """Append a piece. Returns its index."""
        self._file.write(piece)
        self._ends.append(self._ends[-1] + len(piece))
        return len(self) - 1

    def piece(self, index: int) -> bytes:
        """The piece at an index. Raises IndexError if there is none."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        begin, end = self._ends[index], self._ends[index + 1]
        self._file.flush()
        return os.pread(self._file.fileno(), end - begin, begin)


class SpillList(SpillFile):
    """A list of rows on disk."""

    def add(self, row: Mapping[str, Any]) -> int:
        """Append a row. Returns its index. Raises UsageError for a value that JSON cannot hold."""
        return self.put(to_line(row, len(self) + 1))

    def __getitem__(self, index: int) -> dict[str, Any]:
        row: dict[str, Any] = json.loads(self.piece(index))
        return row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[index] for index in range(len(self)))
