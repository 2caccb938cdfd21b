"""Rows that wait on the disk, to be read back in any order."""

from __future__ import annotations

import json
import tempfile
from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from .rows import Row, to_json


class Shelf:
    """Rows by number, from 0; in memory there are but their places, eight bytes a row.

    They are in a temporary file without a name, which goes with this object.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 -- it is open as long as this lives
        self._places, self._end = array("Q"), 0

    def add(self, row: Mapping[str, Any]) -> int:
        """Put a row down; its number. Raises UsageError for what JSON cannot say."""
        line = to_json(row).encode("ascii") + b"\n"
        self._file.seek(self._end)
        self._file.write(line)
        self._places.append(self._end)
        self._end += len(line)
        return len(self._places) - 1

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> Row:
        self._file.seek(self._places[number])
        found: Row = json.loads(self._file.readline())
        return found

    def __iter__(self) -> Iterator[Row]:
        return (self[number] for number in range(len(self)))
