"""Split rows into train, validation and test without leaks between the splits.

Rows are assigned in their order. A row that is similar to earlier ones gets their split; any other
gets the one that the hash of its content selects, with chances in proportion to what each split
lacks. So every 20 rows meet the shares as well as similar rows allow, and a row's split depends on
itself and on the rows before it: it stays the same if rows are appended. A row that is similar to
rows of different splits would leak one of them: it is left out. Similar is the `loose` condition of
`dedup`: keeping two different tasks together costs nothing, separating copies does.

`keep` are rows of an earlier split, with their column `split`: they count as earlier rows, so they
keep their splits also if the new rows come in another order, or before them.
"""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from ..errors import UsageError
from .dedup import Index, Numbers, Sketches, sketch
from .rows import Row, Source, read
from .tokens import hash_of

THRESHOLD = 0.45
SHARES: Mapping[str, float] = {"train": 0.9, "validation": 0.05, "test": 0.05}
COLUMN = "split"
LEFT_OUT = "left out"
_BLOCK = 20  # rows after which the shares are to be met


def split(source: Source, shares: Mapping[str, float] = SHARES, **options: Any) -> Iterator[Row]:
    """Each row with the column `split`, as `assign` says; `options` are those of `assign`.

    The source is read twice. An iterator is copied into memory for that: pass a file if it is long.
    """
    if isinstance(source, Iterator):
        source = list(source)
    names = assign(read(source), shares, **options)
    return ({**row, COLUMN: name} for row, name in zip(read(source), names, strict=True))


def assign(
    rows: Iterable[Mapping[str, Any]],
    shares: Mapping[str, float] = SHARES,
    columns: Sequence[str] = (),
    *,
    seed: int = 0,
    threshold: float = THRESHOLD,
    numbers: Numbers = "exact",
    keep: Iterable[Mapping[str, Any]] = (),
    on_compared: Callable[[int], None] = lambda _: None,
) -> list[str]:
    """The split of each row: a name of `shares`, or "left out".

    Another seed gives another split. A row takes about 0.1 kB of memory, however long it is, and up
    to 9 kB of disk, 0.25 kB of which are mapped. After all rows are read, `on_compared` gets the
    number of those that are compared.

    Raises:
        UsageError: the shares do not add up to 1, a row has no such column, or one of `keep` has
            no split of `shares`.
    """
    if not shares or min(shares.values()) < 0 or not math.isclose(sum(shares.values()), 1):
        raise UsageError(f"shares are positive and add up to 1, unlike {dict(shares)}")
    sketches = Sketches(threshold)
    names: list[str] = []  # of the rows to keep, then of the others
    for row in keep:
        if row.get(COLUMN) == LEFT_OUT:
            continue
        if row.get(COLUMN) not in shares:
            raise UsageError(f"a row to keep is in no split of the shares: {row.get(COLUMN)!r}")
        sketches.add(sketch(row, columns, numbers, loose=True))
        names.append(sys.intern(str(row[COLUMN])))
    kept = len(names)
    for row in rows:
        sketches.add(sketch(row, columns, numbers, loose=True))
    counts = dict.fromkeys(shares, 0)
    index = Index(sketches)
    for at, matches in index:
        on_compared(at + 1)
        if at < kept:
            index.add()
            continue
        near = {names[match.index] for match in matches}
        if matches and matches[0].exact:
            name = names[matches[0].index]
        elif len(near) > 1:
            name = LEFT_OUT
        else:
            name = near.pop() if near else _drawn(f"{seed}:{sketches.exact[at]}", shares, counts)
        names.append(name)
        if name != LEFT_OUT:
            index.add()
            counts[name] += 1
    return names[kept:]


def _drawn(content: str, shares: Mapping[str, float], counts: Mapping[str, int]) -> str:
    """The split that a hash selects, with chances in proportion to what each lacks."""
    rows = sum(counts.values()) // _BLOCK * _BLOCK + _BLOCK
    lacking = {name: max(0.0, share * rows - counts[name]) for name, share in shares.items()}
    at = hash_of(content) / 2**64 * sum(lacking.values())
    ends = zip(lacking, accumulate(lacking.values()), strict=True)
    return next((name for name, end in ends if at < end), max(lacking, key=lacking.__getitem__))
