"""Records of a name and an amount: select, group, aggregate, and report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .code import CodingTask, Family, Reference, Step
from .draw import Draw

Pairs = list[tuple[str, int]]
Totals = dict[str, int]


def make(draw: Draw, level: int) -> CodingTask:
    """Group records and report: with a selection from level 2 on, and a second one at level 3."""
    story = FAMILY.draw_record(draw, "stories")
    steps: list[Step] = []
    if level > 1 or draw.chance(0.4):
        steps.append(FAMILY.pick(draw, "selections", **story))
    key = FAMILY.draw_texts(draw, "key", **story)
    steps.append(FAMILY.step(draw, "grouped", **FAMILY.draw_texts(draw, "value", **key)))
    if level == 3:
        steps.append(FAMILY.pick(draw, "group filters"))
    steps.append(FAMILY.pick(draw, "reports"))

    def draw_input() -> tuple[Pairs]:
        names = draw.some(story["names"].split(), draw.between(2, 4))
        return ([(draw.pick(names), draw.between(-5, 30)) for _ in range(draw.between(4, 8))],)

    first, second = draw.some(story["names"].split(), 2)
    edges: list[tuple[Pairs]] = [
        ([],),
        ([(first, draw.between(1, 9))],),
        ([(first, 5), (second, 5)],),
        ([(first, 10), (second, 3), (first, -4)],),
    ]
    return FAMILY.pipeline(draw, steps, story, edges, draw_input)


# --- references: of pairs or totals, and the parameters of the row


def keep(test: Callable[[str, int, Any], bool]) -> Reference:
    return lambda pairs, p: [(name, amount) for name, amount in pairs if test(name, amount, p)]


def keep_groups(test: Callable[[int, list[int], Any], bool]) -> Reference:
    """The groups whose value passes, given the values of all."""
    return lambda totals, p: {
        key: value for key, value in totals.items() if test(value, list(totals.values()), p)
    }


AMOUNTS: dict[str, Callable[[int, int], bool]] = {
    ">=": lambda n, k: not n < k,
    "<": lambda n, k: not n >= k,
    ">": lambda n, k: n - k > 0,
}
KEYS: dict[str, Callable[[str], str]] = {
    "name": lambda name: name,
    "first_letter": lambda name: name.lower()[0],
    "lower_case": lambda name: "".join(name.lower()),
    "length": lambda name: f"{len(name)}",
}
VALUES: dict[str, Callable[[list[int], Any], int]] = {
    "sum": lambda v, p: sum(v),
    "size": lambda v, p: sum(1 for _ in v),
    "extreme": lambda v, p: sorted(v)[-1 if p.kind == "max" else 0],
    "mean": lambda v, p: (sum(v) - sum(v) % len(v)) // len(v),
    "range": lambda v, p: sorted(v)[-1] - sorted(v)[0],
    "end": lambda v, p: v.pop(0 if p.which == "first" else -1),
    "distinct": lambda v, p: sum(1 for i, n in enumerate(v) if n not in v[:i]),
}


def grouped(pairs: Pairs, p: Any) -> Totals:
    keys = [KEYS[p.key](name) for name, _ in pairs]
    return {
        key: VALUES[p.value]([pair[1] for pair, k in zip(pairs, keys, strict=True) if k == key], p)
        for key in keys
    }


def keys_ranked(totals: Totals, p: Any) -> list[str]:
    ranked: list[str] = []
    for value in sorted(set(totals.values()), reverse=p.down):
        ranked += sorted(key for key in totals if totals[key] == value)
    return ranked[: p.k]


# fmt: off
REFERENCES: dict[str, Reference] = {
    "by_amount": keep(lambda name, n, p: AMOUNTS[p.sign](n, p.k)),
    "by_parity": keep(lambda name, n, p: n & 1 == p.r),
    "by_name_length": keep(lambda name, n, p: bool(name[p.k :])),
    "without_repeats": lambda pairs, p: [pair for i, pair in enumerate(pairs) if pair not in pairs[:i]],
    "skip_first": lambda pairs, p: [pair for i, pair in enumerate(pairs) if i >= p.k],
    "grouped": grouped,
    "groups_above": keep_groups(lambda n, values, p: not n < p.k),
    "groups_above_mean": keep_groups(lambda n, values, p: n * len(values) >= sum(values)),
    "groups_even": keep_groups(lambda n, values, p: not n & 1),
    "groups_not_top": keep_groups(lambda n, values, p: any(other > n for other in values)),
    "as_mapping": lambda totals, p: dict(totals),
    "keys_sorted": lambda totals, p: sorted(list(totals)),
    "keys_ranked": keys_ranked,
    "top_key": lambda totals, p: min((key for key in totals if totals[key] == max(totals.values())), default=p.default),
    "group_total": lambda totals, p: sum(totals[key] for key in totals),
    "group_count": lambda totals, p: len([1 for value in totals.values() if not value < p.k]),
    "values_sorted": lambda totals, p: sorted(totals.values())[::-1] if p.down else sorted(totals.values()),
    "written": lambda totals, p: p.gap.join(key + p.mark + str(value) for key, value in sorted(totals.items())),
}
# fmt: on
FAMILY = Family("records", REFERENCES)
