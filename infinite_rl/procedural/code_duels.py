"""Duels: two players take coins from the ends of a row, and both play as well as possible."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A game on a row of coins with more rules at each level."""
    p = FAMILY.draw_rules(draw, level)

    def draw_input() -> tuple[list[int]]:
        return (draw.integers(draw.between(3, 6), 1, draw.pick((4, 9, 12))),)

    edges = [([],), ([5],), ([3, 8],), ([2, 2, 2],), ([6, 1, 1, 9],)]
    return FAMILY.task(draw, "duels", p, edges, draw_input)


FAMILY = Family("duels")
