"""Nesting: the longest chain of boxes, each of which goes into the next."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A longest chain with more conditions at each level."""
    p = FAMILY.draw_rules(draw, level)
    p["turned_sums"] = p["worth"] in ("sum of the widths", "sum of the heights")

    def box() -> list[int]:
        return [draw.between(1, 12), draw.between(1, 12), draw.between(1, 3)]

    def draw_input() -> tuple[list[list[int]]]:
        return ([box() for _ in range(draw.between(4, 8))],)

    edges = [([],), ([[4, 4, 1]],), ([[2, 2, 1], [2, 2, 1]],), ([[1, 3, 1], [2, 4, 2], [3, 5, 2]],)]
    return FAMILY.task(draw, "nesting", p, edges, draw_input)


FAMILY = Family("nesting")
