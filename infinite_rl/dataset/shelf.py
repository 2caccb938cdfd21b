"""Rows as lines of JSON, and rows that wait on the disk, to be read back in any order."""

from __future__ import annotations

import json
import os
import tempfile
from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import UsageError


def to_json(value: object) -> str:
    """A value as one line of JSON, in ASCII. Raises UsageError for what JSON cannot say."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:  # no JSON, too long, without end
        raise UsageError(f"a row cannot be written as JSON: {error}") from None


def to_line(row: Mapping[str, Any]) -> bytes:
    """A row as a line of a file. Raises UsageError for what JSON cannot say."""
    if not all(isinstance(name, str) for name in row):
        raise UsageError(f"a row has columns whose names are no texts: {', '.join(map(repr, row))}")
    return to_json(row).encode("ascii") + b"\n"


class Pieces:
    """Pieces of bytes by number, from 0; in memory there are but their places, eight bytes each.

    They are in a temporary file without a name, which goes with this object.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 -- it is open as long as this lives
        self._ends = array("Q", [0])  # of the pieces, after that of none

    def __len__(self) -> int:
        return len(self._ends) - 1

    def put(self, piece: bytes) -> int:
        """Put a piece down; its number."""
        self._file.write(piece)
        self._ends.append(self._ends[-1] + len(piece))
        return len(self) - 1

    def piece(self, number: int) -> bytes:
        """The piece of a number. Raises IndexError where there is none."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        begin, end = self._ends[number], self._ends[number + 1]
        self._file.flush()
        return os.pread(self._file.fileno(), end - begin, begin)


class Shelf(Pieces):
    """Rows by number, from 0, on the disk."""

    def add(self, row: Mapping[str, Any]) -> int:
        """Put a row down; its number. Raises UsageError for what JSON cannot say."""
        return self.put(to_line(row))

    def __getitem__(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.piece(number))
        return found

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[number] for number in range(len(self)))
