"""The rows that a page shows: a fair sample of them all, cut to a size that a browser takes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, NamedTuple, TypeAlias

WHOLE = 2_000_000  # characters that a text may have as long as there is room for all
_SHORTEST = 200  # characters that are left to a text however little room there is
_SAFE = 2**53  # a larger integer would lose digits in a browser


class Cut(NamedTuple):
    """The beginning of a text, and the number of characters of the whole."""

    text: str
    of: int


Cell: TypeAlias = "str | int | float | bool | Cut | None"


class Shown:
    """Rows for a page: at most `most`, whose texts have at most `budget` characters together.

    Of more rows, each is shown with the same chance, and always the same ones. Where the texts are
    too long together, `limit`, the characters that a text may have, is lowered by fifths until they
    fit (or are down to 200 each). Memory is bounded by the budget, not by the rows that are added.
    """

    def __init__(self, most: int, budget: int) -> None:
        self.limit, self.seen = WHOLE, 0
        self._most, self._budget, self._size = most, budget, 0
        self._rows: list[tuple[int, dict[str, Cell]]] = []
        self._random = Random(0)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take a row into account."""
        number, self.seen = self.seen, self.seen + 1
        place = number if number < self._most else self._random.randrange(self.seen)
        if place >= self._most:
            return
        cells = {str(name): _cut(cell(value), self.limit) for name, value in row.items()}
        if place < len(self._rows):
            self._size -= _size(self._rows[place][1])
            self._rows[place] = (number, cells)
        else:
            self._rows.append((number, cells))
        self._size += _size(cells)
        while self._size > self._budget and self.limit > _SHORTEST:
            self._shorten()

    @property
    def rows(self) -> list[dict[str, Cell]]:
        """The rows, in the order in which they came."""
        return [cells for _, cells in sorted(self._rows, key=lambda numbered: numbered[0])]

    def _shorten(self) -> None:
        longest = max(len(text) for _, cells in self._rows for text in _texts(cells))
        self.limit = max(min(self.limit, longest) * 4 // 5, _SHORTEST)
        for _, cells in self._rows:
            cells.update({name: _cut(value, self.limit) for name, value in cells.items()})
        self._size = sum(_size(cells) for _, cells in self._rows)


def cell(value: object) -> Cell:
    """A value as a page can hold it: what JSON or a browser cannot hold exactly becomes text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _SAFE else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _cut(value: Cell, limit: int) -> Cell:
    if isinstance(value, Cut):
        return Cut(value.text[:limit], value.of)
    if isinstance(value, str) and len(value) > limit:
        return Cut(value[:limit], len(value))
    return value


def _size(cells: Mapping[str, Cell]) -> int:
    return sum(map(len, _texts(cells)))


def _texts(cells: Mapping[str, Cell]) -> Iterator[str]:
    for value in cells.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, Cut):
            yield value.text
