"""Rooms: assign meetings to rooms as they come, under policies and further rules."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A simulation of rooms with more rules at each level."""
    p = FAMILY.draw_rules(draw, level, "tie", "policy", "report", tie_js="")

    def draw_input() -> tuple[list[list[int]], int]:
        starts = draw.integers(draw.between(4, 9), 0, 12)
        return [[start, start + draw.between(1, 8)] for start in starts], draw.between(2, 3)

    edges = [([], 2), ([[3, 5]], 1), ([[0, 4], [0, 2], [0, 4]], 2), ([[1, 9], [2, 3], [3, 4]], 1)]
    return FAMILY.task(draw, "rooms", p, edges, draw_input)


FAMILY = Family("rooms")
