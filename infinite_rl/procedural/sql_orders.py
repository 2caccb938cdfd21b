"""Orders: people, and rows that belong to them or to nobody, with unknown values."""

from typing import Any

from .code import CodingTask, Family
from .draw import Draw

_NAMES = ("Ann", "Bob", "Cid", "Dan", "Eve", "Ivo")
_PLACES = ("Oslo", "Rome", "Lima")


def make(draw: Draw, level: int) -> CodingTask:
    """An aggregate for each person with more rules at each level."""
    world: dict[str, Any] = FAMILY.draw_record(draw, "world")
    states = world["states"].split()
    p = FAMILY.draw_rules(draw, level, "report", **world, done=states[0], home=draw.pick(_PLACES))

    def draw_input() -> tuple[list[list[Any]], list[list[Any]]]:
        people = [
            [key, draw.pick(_NAMES), draw.pick((*_PLACES, p["home"], None))]
            for key in range(1, draw.between(4, 6))
        ]
        owners = [key for key, *_ in people[1:]]  # the first one may have no row
        owners += [*owners, people[0][0], None]
        rows = [
            [key, draw.pick(owners), draw.between(1, 9), draw.pick((None, 5, 8, 12, 20, 30))]
            for key in range(1, draw.between(8, 15))
        ]
        return people, [[*row, draw.pick((states[0], *states))] for row in rows]

    few = [[1, "Ann", "Oslo"], [2, "Ann", None]]
    edges = [
        ([], [[1, None, 5, 7, states[0]]]),
        (few, [[1, 1, 9, None, states[0]], [2, None, 9, 4, states[0]]]),
        (few, [[n, 1 + n % 2, 8, n, states[0]] for n in range(1, 7)]),
    ]
    return FAMILY.task(draw, "orders", p, edges, draw_input)


FAMILY = Family("orders")
