"""Lists of integers: keep some, change them, arrange them, and reduce them to a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .code import CodingTask, Family, Reference, Step
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A pipeline over a list: two stages at level 1, three at level 2, four at level 3."""
    story = FAMILY.draw_record(draw, "stories")
    steps = [*stages(draw, level), FAMILY.pick(draw, "endings")]
    edges = [
        ([],),
        ([draw.between(1, 9)],),
        ([0, 0],),
        ([7] * draw.between(2, 4),),
        ([-draw.between(1, 9), 0, draw.between(2, 8)],),
    ]

    def draw_input() -> tuple[list[int]]:
        return (draw.integers(draw.between(4, 9), -12 - 4 * level, 20 + 10 * level),)

    return FAMILY.pipeline(draw, steps, story, edges, draw_input)


def stages(draw: Draw, level: int) -> list[Step]:
    """A filter or a change; from level 2 on both; at level 3 an arrangement, too."""
    keep, change = FAMILY.pick(draw, "filters"), FAMILY.pick(draw, "changes")
    if level == 1:
        return [draw.pick((keep, change))]
    pair = [keep, change] if draw.chance(0.6) else [change, keep]
    return pair if level == 2 else [*pair, FAMILY.pick(draw, "arrangements")]


# --- references: of a list and the parameters of the row


def keep(test: Callable[[int, Any], bool]) -> Reference:
    return lambda values, p: [n for n in values if test(n, p)]


def each(change: Callable[[int, Any], int]) -> Reference:
    return lambda values, p: [change(n, p) for n in values]


def until(values: list[int], p: Any) -> list[int]:
    stop = next((i for i, n in enumerate(values) if n > p.k), len(values))
    return values[:stop]


def longest_rise(values: list[int], p: Any) -> int:
    spans = [
        j - i
        for i in range(len(values))
        for j in range(i + 1, len(values) + 1)
        if all(values[k] < values[k + 1] for k in range(i, j - 1))
    ]
    return max(spans, default=0)


def most_common(values: list[int], p: Any) -> int:
    best = max((values.count(n) for n in values), default=0)
    tied = sorted(n for n in values if values.count(n) == best)
    return (tied[0] if p.smallest else tied[-1]) if tied else 0


def median(values: list[int], p: Any) -> int:
    rest = sorted(values)
    while len(rest) > 2:
        rest = rest[1:-1]
    return rest[0] if rest else 0


def polynomial_hash(values: list[int], p: Any) -> int:
    powers: list[int] = [pow(p.base, len(values) - 1 - i, p.m) for i in range(len(values))]
    return int(sum(n * power for n, power in zip(values, powers, strict=True)) % p.m)


# fmt: off
REFERENCES: dict[str, Reference] = {
    "multiples": keep(lambda n, p: n == p.k * (n // p.k)),
    "non_multiples": keep(lambda n, p: n != p.k * (n // p.k)),
    "above": keep(lambda n, p: not n <= p.k),
    "below": keep(lambda n, p: not n >= p.k),
    "between": keep(lambda n, p: n in range(p.low, p.high + 1)),
    "outside": keep(lambda n, p: n not in range(p.low, p.high + 1)),
    "last_digit": keep(lambda n, p: int(str(n)[-1]) >= p.low),
    "remainder": keep(lambda n, p: n - p.r == p.m * ((n - p.r) // p.m)),
    "positions": lambda values, p: [n for i, n in enumerate(values) if i % p.m == p.r],
    "above_first": lambda values, p: [n for n in values if n - values[0] >= (1 if p.strict else 0)],
    "until": until,
    "square": each(lambda n, p: n**2),
    "scale": each(lambda n, p: sum([n] * p.k) + p.c),
    "absolute": each(lambda n, p: max(n, 0 - n)),
    "digit_sum": each(lambda n, p: sum(abs(n) // 10**exponent % 10 for exponent in range(12))),
    "clamp": each(lambda n, p: sorted((p.low, n, p.high))[1]),
    "quotient": each(lambda n, p: (n - n % p.k) // p.k),
    "modulo": each(lambda n, p: n - p.k * (n // p.k)),
    "parity": each(lambda n, p: n + p.c if n & 1 else n * p.k),
    "distance": each(lambda n, p: max(n, p.k) - min(n, p.k)),
    "change_position": lambda values, p: [n + i if p.operator == "+" else n * i for i, n in enumerate(values, 1)],
    "sort_up": lambda values, p: sorted(values),
    "sort_down": lambda values, p: sorted(values)[::-1],
    "drop_repeats": lambda values, p: [n for i, n in enumerate(values) if n not in values[:i]],
    "running_sums": lambda values, p: [sum(values[: i + 1]) for i in range(len(values))],
    "gaps": lambda values, p: [values[i] - values[i - 1] for i in range(1, len(values))],
    "rotate": lambda values, p: [*values[p.k :], *values[: p.k]] if len(values) > p.k else values,
    "windows": lambda values, p: [sum(group) for group in zip(*(values[i:] for i in range(p.k)), strict=False)],
    "backwards": lambda values, p: list(reversed(values)),
    "peaks_so_far": lambda values, p: [n for i, n in enumerate(values) if all(n > m for m in values[:i])],
    "total": lambda values, p: sum(values),
    "count": lambda values, p: len([n for n in values if not n < p.k]),
    "tail": lambda values, p: values[max(0, len(values) - p.k) :],
    "spread": lambda values, p: sorted(values)[-1] - sorted(values)[0] if values else 0,
    "extreme": lambda values, p: sorted(values)[-1 if p.kind == "max" else 0] if values else p.default,
    "alternating": lambda values, p: sum(n * (-1) ** i for i, n in enumerate(values)),
    "longest_rise": longest_rise,
    "pairs": lambda values, p: len([1 for a, b in zip(values, values[1:], strict=False) if a - b in range(-p.k, p.k + 1)]),
    "most_common": most_common,
    "median": median,
    "every": lambda values, p: not any(n <= p.k for n in values),
    "polynomial_hash": polynomial_hash,
}
# fmt: on
FAMILY = Family("sequences", REFERENCES)
