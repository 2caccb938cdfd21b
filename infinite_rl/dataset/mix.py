"""Mixtures: rows of several sources in one order, the same for the same seed on every machine.

The rows wait on the disk while their order is made; only their ids are in memory.
"""

from __future__ import annotations

import hashlib
import math
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

from ..errors import UsageError
from ..settings import check_range
from . import rows
from .order import Ordered, arrange, read_order
from .rows import Row
from .shelf import Shelf, to_json

Mode = Literal["shuffled", "sequential", "weighted"]
MODES: tuple[str, ...] = get_args(Mode)
ID_COLUMN = "mix_id"


@dataclass(frozen=True)
class Source:
    """Where rows of a mixture come from, and how many.

    `weight` is the chance of a draw, beside the other sources' weights (for `weighted` mixtures);
    of the source's rows only `count` are taken, all where it is None. `name` is by default that of
    the file, without its ending. With an `order` (ids) only the rows come that it names, in this
    order and as often as it names them; `count` takes the first of them.

    Raises:
        UsageError: a weight that is not above 0, or a count that is below 0.
    """

    rows: rows.Source
    weight: float = 1.0
    count: int | None = None
    name: str = ""
    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise UsageError(f"the weight of a source must be above 0, not {self.weight:g}")
        if self.count is not None:
            check_range("the count of a source", self.count, 0)

    @classmethod
    def parse(cls, text: str) -> Source:
        """A source from `PATH`, `PATH:weight`, `PATH:weight:count` or `PATH::count`.

        A text that is a path as it stands is nothing but that. Raises UsageError for a weight or
        count that cannot be.
        """
        path, *numbers = text.rsplit(":", 2)
        if Path(text).exists() or not numbers:
            return cls(text)
        if len(numbers) == 2 and rows.as_number(numbers[0]) is None and numbers[0]:
            path, numbers = f"{path}:{numbers[0]}", numbers[1:]
        weight, count = (*numbers, "")[:2]
        if not (weight or count):
            raise UsageError(f"{text!r} is no source: write PATH[:weight[:count]]")
        share = rows.as_number(weight or 1)
        if share is None or not re.fullmatch("(-?[0-9]{1,18})?", count):
            raise UsageError(f"{text!r} is no source: write PATH[:weight[:count]]")
        return cls(path, share, int(count) if count else None)


@dataclass(frozen=True)
class Coverage:
    """How many of a source's rows are in a mixture; `taken` counts a row each time it comes."""

    name: str
    rows: int
    taken: int
    distinct: int


@dataclass(frozen=True)
class Mixture:
    """Rows in their order: iterate over it, as often as you like.

    Each row has its id in the column `mix_id`: the name of its source, and its own `id` or the
    hash of its content: "gsm8k/1f3a...". `ids` are these in the order of the mixture, `coverage`
    tells how much of each source is in it, and `ordered` what the order file was worth, if there
    was one.
    """

    ids: Sequence[str]
    coverage: Sequence[Coverage]
    ordered: Ordered | None
    _shelf: Shelf
    _numbers: Sequence[int]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Row]:
        for name, number in zip(self.ids, self._numbers, strict=True):
            yield {**self._shelf[number], ID_COLUMN: name}


def mix(
    sources: Sequence[Source],
    mode: Mode = "shuffled",
    *,
    seed: int = 0,
    count: int | None = None,
    order: str | Path | Sequence[str] | None = None,
    allow_unknown: bool = False,
    keep_order: bool = False,
    by: str = "",
    band: tuple[float, float] | None = None,
    ascending: bool = False,
    on_row: Callable[[int], None] = lambda _: None,
) -> Mixture:
    """One order for the rows of all sources.

    - "sequential": one source after the other, as they are.
    - "shuffled": all of them in a random order.
    - "weighted": each row is drawn from a source by its weight among those that still have rows,
      until none has. Within a source rows are shuffled, too, but with `keep_order` they are not.

    The rows of a source with an order of its own come in that, whichever rows come between.

    `order` (ids, or a file of them) is the order itself: what it does not name is left out, and
    what it names twice comes twice. Its ids are those of `mix_id`, or a row's own id where only
    one source has it. `by` makes a curriculum: of the rows whose number in that column lies within
    `band`, bounds included, those with the highest come first, as the easy ones have the highest
    pass rate, or with `ascending` the lowest; among equals chance decides. `count` cuts the mixture
    off; a source's own count is taken from its rows as they come ("sequential"), else at random.
    `on_row` is told how many rows were read.

    Raises:
        UsageError: arguments that contradict each other, no rows at all, an id of `order` that is
            in no source (unless `allow_unknown`) or of a source's own order in none of its rows,
            or a row without a number in the column `by`.
    """
    if count is not None:
        check_range("a mixture's count", count, 1)
    _refuse_contradictions(sources, mode, ordered=order is not None, by=by, band=band)
    stock, ordered = _Stock(sources, by, on_row), None
    if order is not None:
        lines = read_order(order) if isinstance(order, str | Path) else order
        ordered = arrange(lines, stock.known(), allow_unknown=allow_unknown)
        numbers = list(ordered.numbers)
    elif by:
        numbers = stock.curriculum(seed, band or (-math.inf, math.inf), ascending=ascending)
    elif mode == "weighted":
        numbers = list(stock.drawn(seed, shuffle=not keep_order))
    else:
        numbers = stock.in_turn() if mode == "sequential" else stock.shuffled(seed)
    return stock.mixture(numbers[:count], ordered)


def _refuse_contradictions(
    sources: Sequence[Source],
    mode: str,
    *,
    ordered: bool,
    by: str,
    band: tuple[float, float] | None,
) -> None:
    if not sources:
        raise UsageError("there are no sources to mix")
    if mode not in MODES:
        raise UsageError(f"the mode must be one of {', '.join(MODES)}, not {mode!r}")
    for source, name in zip(sources, _names(sources), strict=True):
        if source.weight != 1 and mode != "weighted":
            said = f"weights are for the mode weighted, not {mode}"
            raise UsageError(f"{said}: {name} has the weight {source.weight:g}")
    if (ordered or by) and mode == "weighted":
        raise UsageError(f"{'an order file' if ordered else '--by'} leaves nothing to be weighted")
    if ordered and (by or any(source.count is not None for source in sources)):
        raise UsageError("an order file says which rows come: no counts of sources, no --by")
    if (ordered or by) and any(source.order is not None for source in sources):
        raise UsageError("an order of a source's own leaves nothing for one of all, or for --by")
    if band and not by:
        raise UsageError("a band needs the column that it is of: --by")
    if band and not band[0] <= band[1]:
        raise UsageError(f"a band goes from its lower bound to its upper one, not {band}")


class _Stock:
    """The rows of all sources, on a shelf; `levels` are their numbers in the column `by`."""

    def __init__(self, sources: Sequence[Source], by: str, on_row: Callable[[int], None]) -> None:
        self.sources, self.names = sources, _names(sources)
        self.shelf, self.ids, self.levels = Shelf(), list[str](), list[float]()
        self.own = dict[str, int | None]()  # by a row's own id; None where several have it
        self.places: list[range] = []
        self.orders: list[Sequence[int] | None] = []  # of sources that have one of their own
        for source, name in zip(sources, self.names, strict=True):
            begin, seen = len(self.shelf), Counter[str]()
            for place, row in enumerate(rows.read(source.rows), 1):
                unique = _unused(_own_id(row), seen)
                if by:
                    self.levels.append(rows.number_of(row, by, f"row {place} of {name}"))
                number = self.shelf.add(row)
                self.ids.append(f"{name}/{unique}")
                self.own[unique] = None if unique in self.own else number
                on_row(len(self.shelf))
            self.places.append(range(begin, len(self.shelf)))
            self.orders.append(self._own_order(source, name, self.places[-1]))
        if not self.ids:
            raise UsageError("the sources hold no rows")

    def known(self) -> dict[str, int | None]:
        """The number of a row by each id that an order file may name it by."""
        return {**self.own, **{name: number for number, name in enumerate(self.ids)}}

    def _own_order(self, source: Source, name: str, place: range) -> Sequence[int] | None:
        if source.order is None:
            return None
        known = {self.ids[number]: number for number in place}
        known |= {self.ids[number].removeprefix(f"{name}/"): number for number in place}
        return arrange(source.order, known, of=name).numbers

    def in_turn(self) -> list[int]:
        """One source after the other, as they are."""
        return [number for part in self.parts(0, False) for number in part]

    def shuffled(self, seed: int) -> list[int]:
        """All in a random order, in which rows of a source with an order stand in that."""
        numbers = [number for part in self.parts(seed, True) for number in part]
        Random(f"{seed}").shuffle(numbers)
        for place, order in zip(self.places, self.orders, strict=True):
            if order is not None:
                own = iter(order)
                numbers = [next(own) if number in place else number for number in numbers]
        return numbers

    def parts(
        self, seed: int, shuffle: bool, wanted: Callable[[int], bool] = lambda _: True
    ) -> Iterator[list[int]]:
        """Those of each source that are wanted, cut by its count."""
        for at, source in enumerate(self.sources):
            order = self.orders[at]
            numbers = list(filter(wanted, self.places[at]) if order is None else order)
            if shuffle and order is None:
                Random(f"{seed}/{self.names[at]}").shuffle(numbers)
            yield numbers[: source.count]

    def drawn(self, seed: int, *, shuffle: bool) -> Iterator[int]:
        """One draw after the other from a source by its weight, until all are empty."""
        queues = [deque(part) for part in self.parts(seed, shuffle)]
        random, left = Random(f"{seed}"), list(zip(queues, self.sources, strict=True))
        while left := [pair for pair in left if pair[0]]:
            bounds = list(accumulate(source.weight for _, source in left))
            while all(queue for queue, _ in left):
                at = bisect_right(bounds, random.random() * bounds[-1])
                yield left[min(at, len(left) - 1)][0].popleft()

    def curriculum(self, seed: int, band: tuple[float, float], *, ascending: bool) -> list[int]:
        """Those whose level lies in the band, by level."""
        levels, (low, high) = self.levels, band
        parts = self.parts(seed, True, lambda number: low <= levels[number] <= high)
        numbers = [number for part in parts for number in part]
        Random(f"{seed}").shuffle(numbers)
        return sorted(numbers, key=levels.__getitem__, reverse=not ascending)

    def mixture(self, numbers: Sequence[int], ordered: Ordered | None) -> Mixture:
        taken = Counter(numbers)
        coverage = [
            Coverage(
                name,
                len(place),
                sum(taken[number] for number in place),
                sum(number in taken for number in place),
            )
            for name, place in zip(self.names, self.places, strict=True)
        ]
        ids = [self.ids[number] for number in numbers]
        return Mixture(ids, coverage, ordered, self.shelf, numbers)


def _names(sources: Sequence[Source]) -> list[str]:
    """A name for each source; where two would have the same, the second has "#2" after it."""
    taken = Counter[str]()
    return [_unused(source.name or _name_of(source.rows), taken) for source in sources]


def _unused(name: str, taken: Counter[str]) -> str:
    """The name, or where it is taken, the first of name#2, name#3, ... that is not."""
    unused = name
    while unused in taken:
        taken[name] += 1
        unused = f"{name}#{taken[name]}"
    taken[unused] += 1
    return unused


def _name_of(source: rows.Source) -> str:
    if not isinstance(source, str | Path):
        return "rows"
    name = Path(source).name
    return name[: len(name) - len(rows.ending_of(name))] or "rows"


def _own_id(row: Mapping[str, Any]) -> str:
    """The row's id, or a hash of its content, which need not be that of a sample."""
    try:
        return rows.id_of(row)
    except UsageError:
        return hashlib.sha256(to_json(row).encode("ascii")).hexdigest()[:16]
