"""Intervals and schedules: select, shift, merge, and ask what is covered; references count units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

from .code import CodingTask, Family, Reference
from .draw import Draw

Span = list[int]
EDGES: tuple[tuple[list[Span]], ...] = (
    ([],),
    ([[3, 9]],),
    ([[2, 5], [5, 8]],),
    ([[1, 12], [3, 6]],),
    ([[4, 8], [4, 8]],),
)


def make(draw: Draw, level: int) -> CodingTask:
    """As many stages over a list of intervals as the level says, and a question at the end."""
    story = FAMILY.draw_record(draw, "stories")
    groups = draw.some(("selections", "selections", "changes", "rebuilds"), level)
    # Two stages with the same result would be nearly the same one.
    steps = list(
        {step.variable: step for step in (FAMILY.pick(draw, one) for one in groups)}.values()
    )
    ending = FAMILY.pick(draw, draw.pick(("extents", "extents", "crowds", "choices")))

    def draw_input() -> tuple[list[Span]]:
        starts = (draw.between(0, 24) for _ in range(draw.between(4, 7)))
        return ([[start, start + draw.between(1, 9)] for start in starts],)

    return FAMILY.pipeline(draw, [*steps, ending], story, EDGES, draw_input)


# --- references: of intervals and the parameters of the row


def keep(test: Callable[[int, int, Any], bool]) -> Reference:
    return lambda spans, p: [[start, end] for start, end in spans if test(start, end, p)]


def runs(units: set[int]) -> list[Span]:
    """The maximal intervals of a set of units."""
    starts = sorted(n for n in units if n - 1 not in units)
    ends = sorted(n + 1 for n in units if n + 1 not in units)
    return [[start, end] for start, end in zip(starts, ends, strict=True)]


def covered(spans: list[Span]) -> Counter[int]:
    """How many of the intervals cover each unit."""
    return Counter(n for start, end in spans for n in range(start, end))


def gaps(spans: list[Span]) -> list[Span]:
    """The maximal uncovered stretches between the first start and the last end."""
    units = set(covered(spans))
    return runs({n for n in range(min(units), max(units)) if n not in units}) if units else []


def merging(spans: list[Span], p: Any) -> list[Span]:
    near = [range(*gap) for gap in gaps(spans) if gap[1] - gap[0] <= p.slack]
    return runs(set(covered(spans)).union(*near))


def in_turn(spans: list[Span], p: Any) -> list[Span]:
    accepted: list[Span] = []
    for start, end in spans:
        if not any(n in covered(accepted) for n in range(start, end)):
            accepted.append([start, end])
    return accepted


def overlap(one: Span, two: Span) -> bool:
    return any(n in range(*two) for n in range(*one))


def largest_choice(spans: list[Span], p: Any) -> int:
    return next(
        size
        for size in range(len(spans), -1, -1)
        for chosen in combinations(spans, size)
        if not any(overlap(a, b) for a, b in combinations(chosen, 2))
    )


# fmt: off
REFERENCES: dict[str, Reference] = {
    "long": keep(lambda s, e, p: e >= s + p.k),
    "short": keep(lambda s, e, p: e < s + p.k + 3),
    "late": keep(lambda s, e, p: not s < p.low),
    "inside": keep(lambda s, e, p: all(p.low - 3 <= n < p.high for n in range(s, e))),
    "touched": keep(lambda s, e, p: any(p.low <= n < p.high for n in range(s, e))),
    "longer": lambda spans, p: [[start, sum((end, p.k))] for start, end in spans],
    "wider": lambda spans, p: [[min(range(s - p.k, e)), max(range(s, e + p.k)) + 1] for s, e in spans],
    "clipped": lambda spans, p: [run for s, e in spans for run in runs({n for n in range(s, e) if p.low <= n < p.high})],
    "capped": lambda spans, p: [[s, s + len(range(s, e)[: p.k + 2])] for s, e in spans],
    "merging": merging,
    "gaps": lambda spans, p: gaps(spans),
    "outermost": lambda spans, p: [a for a in spans if not any(set(range(*a)) < set(range(*b)) for b in spans)],
    "in_turn": in_turn,
    "total": lambda spans, p: len(covered(spans)),
    "length": lambda spans, p: covered(spans).total(),
    "free": lambda spans, p: next(t for t in range(999) if not covered(spans).keys() & set(range(t, t + p.k))),
    "sorted": lambda spans, p: sorted(sorted(spans, key=lambda span: span[1]), key=lambda span: span[0]),
    "most": lambda spans, p: max(covered(spans).values(), default=0),
    "crowded": lambda spans, p: sum(1 for count in covered(spans).values() if count >= p.k + 1),
    "busiest": lambda spans, p: min((n for n, count in covered(spans).items() if count == max(covered(spans).values())), default=-1),
    "count": largest_choice,
    "overlapping_pairs": lambda spans, p: sum(1 for pair in combinations(spans, 2) if overlap(*pair)),
    "alone": lambda spans, p: sum(all(covered(spans)[n] == 1 for n in range(*span)) for span in spans),
}
# fmt: on
FAMILY = Family("intervals", REFERENCES)
