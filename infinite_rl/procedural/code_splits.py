"""Splits: cut a list into consecutive parts at the lowest cost."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A partition into consecutive parts with more conditions at each level."""
    p = FAMILY.draw_rules(draw, level, "part cost")

    def draw_input() -> tuple[list[int]]:
        return (draw.integers(draw.between(2, 8), -3 if draw.chance(0.5) else 1, 12),)

    edges = [([],), ([7],), ([4, 4],), ([9, 1, 9, 1],), ([-5, 3, -2],)]
    return FAMILY.task(draw, "splits", p, edges, draw_input)


FAMILY = Family("splits")
