"""Staff: a hierarchy in one table, and what is below each of its rows."""

from typing import Any

from .code import CodingTask, Family
from .draw import Draw

_NAMES = ("Ann", "Bob", "Cid", "Dan", "Eve", "Ivo")
_KINDS = ("red", "blue", "green")


def make(draw: Draw, level: int) -> CodingTask:
    """An aggregate of what is below each row, from level 2 on by recursion."""
    world: dict[str, Any] = FAMILY.draw_record(draw, "world")
    p = FAMILY.draw_rules(
        *(draw, level, "report"),
        **world,
        deep=level > 1,
        team=draw.pick(_KINDS),
        bound="«reach: and steps < $most|»",
    )

    def draw_input() -> tuple[list[list[Any]]]:
        count = draw.between(6, 10)
        keys = draw.shuffled(range(1, count + 1))
        rows = []
        for index, key in enumerate(keys):
            over = keys[max(0, index - draw.between(1, 3))] if index else None
            over = None if draw.chance(0.1) else over
            kind = draw.pick((*_KINDS, p["team"], None))
            rows.append([key, draw.pick(_NAMES), over, kind, draw.between(1, 9) * 10])
        return (sorted(rows),)

    chain = [[n, "Ann", n - 1 or None, "red", 10 * n] for n in range(1, 6)]
    edges = [([],), (chain,), ([[4, "Bob", None, None, 20], [2, "Bob", 4, "blue", 20]],)]
    return FAMILY.task(draw, "staff", p, edges, draw_input)


FAMILY = Family("staff")
