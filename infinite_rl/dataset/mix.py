"""Mixtures: rows of several sources in one order, the same for the same seed on every machine.

The rows are on disk while their order is made; memory holds only their ids. An order file has the
ids of rows, one a line, in the order in which they are visited.
"""

from __future__ import annotations

import hashlib
import math
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, get_args

from ..errors import UsageError, check_if_set
from ..files.atomic import atomic_file
from . import rows
from .rows import Row
from .spill import SpillList, to_json

Mode = Literal["shuffled", "sequential", "weighted"]
MODES: tuple[str, ...] = get_args(Mode)
ID_COLUMN = "mix_id"
_NAMED, _CHARS = 3, 80  # ids that an error quotes, and characters of each


@dataclass(frozen=True)
class Source:
    """A source of a mixture.

    `weight` is the relative probability of a draw (for `weighted` mixtures). Only `count` of its
    rows are used, all if None. `name` is by default that of the file, without its ending. An
    `order` (ids) selects and orders its rows, with repeats; `count` takes the first of them.

    Raises:
        UsageError: the weight is not above 0, or the count is below 0.
    """

    rows: rows.Source
    weight: float = 1.0
    count: int | None = None
    name: str = ""
    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise UsageError(f"the weight of a source must be above 0, not {self.weight:g}")
        check_if_set("the count of a source", self.count, 0)

    @classmethod
    def parse(cls, text: str) -> Source:
        """A source from `PATH`, `PATH:weight`, `PATH:weight:count` or `PATH::count`.

        A text that is an existing path is read as that. Raises UsageError for a malformed weight or
        count.
        """
        path, *numbers = text.rsplit(":", 2)
        if Path(text).exists() or not numbers:
            return cls(text)
        if len(numbers) == 2 and rows.as_number(numbers[0]) is None and numbers[0]:
            path, numbers = f"{path}:{numbers[0]}", numbers[1:]
        weight, count = (*numbers, "")[:2]
        share = rows.as_number(weight or 1)
        if not (weight or count) or share is None or not re.fullmatch("(-?[0-9]{1,18})?", count):
            raise UsageError(f"{text!r} is no source: write PATH[:weight[:count]]")
        return cls(path, share, int(count) if count else None)


class Coverage(NamedTuple):
    """How many rows of a source are in a mixture; `sampled` counts repeats, `distinct` does not."""

    name: str
    rows: int
    sampled: int
    distinct: int


class Ordered(NamedTuple):
    """The rows that an order file names.

    `numbers` are the rows' indices, in its order; `unknown` how many of its `lines` name no row,
    `repeated` how many name a row once more.
    """

    numbers: Sequence[int]
    lines: int
    unknown: int
    repeated: int


@dataclass(frozen=True)
class Mixture:
    """Rows in their order: iterate over it, as often as you like.

    Each row has its id in the column `mix_id`: the name of its source, and its own `id` or the
    hash of its content: "gsm8k/1f3a...". `ids` are these in the order of the mixture, `coverage`
    counts the rows of each source, and `ordered` describes the order file, if there is one.
    """

    ids: Sequence[str]
    coverage: Sequence[Coverage]
    ordered: Ordered | None
    _rows: SpillList
    _numbers: Sequence[int]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Row]:
        for name, number in zip(self.ids, self._numbers, strict=True):
            yield {**self._rows[number], ID_COLUMN: name}


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
    """Put the rows of all sources into one order.

    - "sequential": one source after the other, unchanged.
    - "shuffled": all rows in a random order.
    - "weighted": each row is drawn from a source with the probability of its weight, among the
      sources that still have rows, until none has. Rows within a source are shuffled, too, unless
      `keep_order`.

    The rows of a source with an order of its own keep that order in each mode.

    `order` (ids, or a file of them) replaces the mode: rows that it does not name are dropped, and
    those that it names twice come twice. Its ids are those of `mix_id`, or a row's own id if only
    one source has it. `by` makes a curriculum: of the rows whose number in that column lies within
    `band`, bounds included, the highest come first (an easy row has a high pass rate), or with
    `ascending` the lowest; ties are shuffled. `count` truncates the mixture; a source's own count
    takes its first rows ("sequential"), else random ones. `on_row` gets the number of rows read.

    Raises:
        UsageError: arguments that contradict each other, no rows at all, an id of `order` that is
            in no source (unless `allow_unknown`) or of a source's own order in none of its rows,
            or a row without a number in the column `by`.
    """
    check_if_set("a mixture's count", count, 1)
    if not sources:
        raise UsageError("there are no sources to mix")
    if mode not in MODES:
        raise UsageError(f"the mode must be one of {', '.join(MODES)}, not {mode!r}")
    for source, name in zip(sources, _names(sources), strict=True):
        if source.weight != 1 and mode != "weighted":
            message = f"weights are for the mode weighted, not {mode}"
            raise UsageError(f"{message}: {name} has the weight {source.weight:g}")
    by_order = order is not None
    if (by_order or by) and mode == "weighted":
        raise UsageError(f"{'an order file' if by_order else '--by'} leaves nothing to be weighted")
    if by_order and (by or any(source.count is not None for source in sources)):
        raise UsageError("an order file says which rows come: no counts of sources, no --by")
    if (by_order or by) and any(source.order is not None for source in sources):
        raise UsageError("an order of a source's own leaves nothing for one of all, or for --by")
    if band and not by:
        raise UsageError("a band needs the column that it is of: --by")
    if band and not band[0] <= band[1]:
        raise UsageError(f"a band goes from its lower bound to its upper one, not {band}")
    pool, ordered = _Pool(sources, by, on_row), None
    if order is not None:
        lines = read_order(order) if isinstance(order, str | Path) else order
        ordered = arrange(lines, pool.by_id(), allow_unknown=allow_unknown)
        numbers = list(ordered.numbers)
    elif by:
        numbers = pool.curriculum(seed, band or (-math.inf, math.inf), ascending=ascending)
    elif mode == "weighted":
        numbers = list(pool.drawn(seed, shuffle=not keep_order))
    elif mode == "sequential":
        numbers = list(chain.from_iterable(pool.parts(0, False)))
    else:
        numbers = pool.shuffled(seed)
    return pool.mixture(numbers[:count], ordered)


class _Pool:
    """The rows of all sources, on disk; `levels` are their numbers in the column `by`."""

    def __init__(self, sources: Sequence[Source], by: str, on_row: Callable[[int], None]) -> None:
        self.sources, self.names = sources, _names(sources)
        self.rows, self.ids, self.levels = SpillList(), list[str](), list[float]()
        self.own_ids = dict[str, int | None]()  # by a row's own id; None if several have it
        self.ranges: list[range] = []  # of each source's rows
        self.orders: list[Sequence[int] | None] = []  # of sources with an order of their own
        for source, name in zip(sources, self.names, strict=True):
            begin, seen = len(self.rows), Counter[str]()
            for number, row in enumerate(rows.read(source.rows), 1):
                unique = rows.unused_name(_own_id(row), seen)
                if by:
                    self.levels.append(rows.number_of(row, by, f"row {number} of {name}"))
                index = self.rows.add(row)
                self.ids.append(f"{name}/{unique}")
                self.own_ids[unique] = None if unique in self.own_ids else index
                on_row(len(self.rows))
            self.ranges.append(range(begin, len(self.rows)))
            self.orders.append(None)
            if source.order is not None:
                indices = {self.ids[index]: index for index in self.ranges[-1]}
                indices |= {each.removeprefix(f"{name}/"): indices[each] for each in [*indices]}
                self.orders[-1] = arrange(source.order, indices, of=name).numbers
        if not self.ids:
            raise UsageError("the sources hold no rows")

    def by_id(self) -> dict[str, int | None]:
        """The index of a row by each id that an order file may use."""
        return {**self.own_ids, **{name: index for index, name in enumerate(self.ids)}}

    def shuffled(self, seed: int) -> list[int]:
        """All in a random order, except rows of a source with an order of its own."""
        numbers = list(chain.from_iterable(self.parts(seed, True)))
        Random(f"{seed}").shuffle(numbers)
        for span, order in zip(self.ranges, self.orders, strict=True):
            if order is not None:
                own = iter(order)
                numbers = [next(own) if number in span else number for number in numbers]
        return numbers

    def parts(
        self, seed: int, shuffle: bool, wanted: Callable[[int], bool] = lambda _: True
    ) -> Iterator[list[int]]:
        """The wanted rows of each source, cut to its count."""
        for source, name, span, order in zip(
            self.sources, self.names, self.ranges, self.orders, strict=True
        ):
            numbers = list(filter(wanted, span) if order is None else order)
            if shuffle and order is None:
                Random(f"{seed}/{name}").shuffle(numbers)
            yield numbers[: source.count]

    def drawn(self, seed: int, *, shuffle: bool) -> Iterator[int]:
        """Draws from the sources by their weights, until all are empty."""
        queues = [deque(part) for part in self.parts(seed, shuffle)]
        random, left = Random(f"{seed}"), list(zip(queues, self.sources, strict=True))
        while left := [pair for pair in left if pair[0]]:
            bounds = list(accumulate(source.weight for _, source in left))
            while all(queue for queue, _ in left):
                at = bisect_right(bounds, random.random() * bounds[-1])
                yield left[min(at, len(left) - 1)][0].popleft()

    def curriculum(self, seed: int, band: tuple[float, float], *, ascending: bool) -> list[int]:
        """The rows whose level lies in the band, sorted by level."""
        levels, (low, high) = self.levels, band
        parts = self.parts(seed, True, lambda number: low <= levels[number] <= high)
        numbers = list(chain.from_iterable(parts))
        Random(f"{seed}").shuffle(numbers)
        return sorted(numbers, key=levels.__getitem__, reverse=not ascending)

    def mixture(self, numbers: Sequence[int], ordered: Ordered | None) -> Mixture:
        counts = Counter(numbers)
        coverage = []
        for name, span in zip(self.names, self.ranges, strict=True):
            sampled = [counts[number] for number in span]
            coverage.append(Coverage(name, len(span), sum(sampled), sum(map(bool, sampled))))
        ids = [self.ids[number] for number in numbers]
        return Mixture(ids, coverage, ordered, self.rows, numbers)


def _names(sources: Sequence[Source]) -> list[str]:
    """A name for each source; of two with the same name, the second gets "#2"."""
    names = []
    for source in sources:
        file = Path(source.rows).name if isinstance(source.rows, str | Path) else ""
        names.append(source.name or file[: len(file) - len(rows.ending_of(file))] or "rows")
    used = Counter[str]()
    return [rows.unused_name(name, used) for name in names]


def _own_id(row: Mapping[str, Any]) -> str:
    """The row's id, or a hash of its content, which need not be that of a sample."""
    try:
        return rows.id_of(row)
    except UsageError:
        return hashlib.sha256(to_json(row).encode("ascii")).hexdigest()[:16]


# --- order files ---------------------------------------------------------------------------------


def read_order(path: str | Path) -> list[str]:
    """The ids of an order file, without empty lines.

    Raises:
        UsageError: there is no such file, or it has no ids.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")  # a lone \r is a part of an id
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read the order in {path}: {reason}") from None
    ids = [line.strip() for line in text.split("\n") if line.strip()]
    if not ids:
        raise UsageError(f"there are no ids in {path}")
    return ids


def write_order(ids: Iterable[str], path: str | Path) -> None:
    """Write an order file atomically.

    Raises:
        UsageError: an id that is empty, or that one line cannot hold.
        StoreError: the file cannot be written.
    """
    try:
        with (
            atomic_file(Path(path)) as draft,
            draft.open("w", encoding="utf-8", newline="") as file,
        ):
            for name in ids:
                if not name or name != name.strip() or "\n" in name:
                    raise UsageError(f"an order file cannot hold the id {name!r}")
                file.write(name + "\n")
    except UnicodeEncodeError:
        raise UsageError(f"an order file cannot hold the id {name!r}") from None


def arrange(
    ids: Sequence[str],
    indices: Mapping[str, int | None],
    *,
    allow_unknown: bool = False,
    of: str = "",
) -> Ordered:
    """The rows that `ids` name, in that order, once for each time they are named.

    `indices` is the index of a row by its id; None for an id that several rows have. `of` is the
    name of the source, for error messages, if the order is that of one source.

    Raises:
        UsageError: an id that several rows have, or that none has, unless `allow_unknown`.
    """
    numbers: list[int] = []
    unknown: list[str] = []
    for name in ids:
        number = indices.get(name)
        if number is not None:
            numbers.append(number)
        elif name in indices:
            raise UsageError(f"the order names {name!r}, and several sources have it: say which")
        else:
            unknown.append(name)
    if unknown and not allow_unknown:
        named = ", ".join(repr(name)[:_CHARS] for name in unknown[:_NAMED])
        named += ", ..." if len(unknown) > _NAMED else ""
        raise UsageError(
            f"of the {len(ids)} ids in the order of {of} {len(numbers)} are known, "
            f"{len(unknown)} are in none of its rows: {named}"
            if of
            else f"{len(unknown)} of the order's {len(ids)} ids are in no source: {named}; "
            "--allow_unknown passes over them"
        )
    return Ordered(numbers, len(ids), len(unknown), len(numbers) - len(set(numbers)))
