"""Split rows into train, validation and test, so that nothing of one side is known on another.

Rows are taken in their order. A row that is alike to earlier ones goes where they are; any other
goes where the hash of its content says. So a row's side depends on itself and on the rows before
it, and stays what it is when rows are added at the end. A row that links rows of different sides
would give one of them away wherever it went: it is left out, and nothing moves. Alike is what
`near` calls loose: to keep two different tasks together costs nothing, to part copies does.

`keep` are rows of an earlier split, with their column `split`: they count as earlier rows, which
keeps their sides also where the new rows come in another order, or before them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import UsageError
from .dedup import Index, Numbers, Sketch, sketch
from .rows import Row
from .tokens import hash_of

THRESHOLD = 0.45
SHARES: Mapping[str, float] = {"train": 0.9, "validation": 0.05, "test": 0.05}
COLUMN = "split"
LEFT_OUT = "left out"


def split(
    rows: Iterable[Mapping[str, Any]],
    shares: Mapping[str, float] = SHARES,
    columns: Sequence[str] = (),
    *,
    seed: int = 0,
    threshold: float = THRESHOLD,
    numbers: Numbers = "exact",
    keep: Iterable[Mapping[str, Any]] = (),
) -> Iterator[Row]:
    """Each row with the column `split`: a name of `shares`, or "left out".

    Shares are those that a hash gives: of many rows, not exact. Another seed gives another split.
    A row takes about 1 kB of memory, however long it is, and up to 8 kB of the disk.

    Raises:
        UsageError: the shares do not add up to 1, a row has no such column, or one of `keep` has
            no side that is a name of `shares`.
    """
    if not shares or min(shares.values()) < 0 or not math.isclose(sum(shares.values()), 1):
        raise UsageError(f"shares are positive and add up to 1, unlike {dict(shares)}")
    index = Index(threshold)
    sides: list[str] = []
    for row in keep:
        if row.get(COLUMN) == LEFT_OUT:
            continue
        if row.get(COLUMN) not in shares:
            raise UsageError(f"a row to keep is on no side that is asked for: {row.get(COLUMN)!r}")
        index.add(sketch(row, columns, numbers, loose=True), len(sides))
        sides.append(str(row[COLUMN]))
    for row in rows:
        found = sketch(row, columns, numbers, loose=True)
        side = _side(found, index, sides, shares, seed)
        if side != LEFT_OUT:
            index.add(found, len(sides))
            sides.append(side)
        yield {**row, COLUMN: side}


def _side(
    found: Sketch, index: Index, sides: Sequence[str], shares: Mapping[str, float], seed: int
) -> str:
    matches = index.matches(found)
    if matches and matches[0].exact:
        return sides[matches[0].index]
    near = {sides[match.index] for match in matches}
    if len(near) > 1:
        return LEFT_OUT
    return near.pop() if near else _drawn(found.exact, shares, seed)


def _drawn(content: int, shares: Mapping[str, float], seed: int) -> str:
    """The side that a hash falls on, drawn so that every side has its share."""
    at = hash_of(f"{seed}:{content}") / 2**64
    *others, last = shares
    for name in others:
        at -= shares[name]
        if at < 0:
            return name
    return last
