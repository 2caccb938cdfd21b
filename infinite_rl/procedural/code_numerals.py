"""Numerals: count the numbers of a range whose digits follow rules, without visiting them."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A digit problem with more rules at each level."""
    p = FAMILY.draw_rules(draw, level)

    def draw_input() -> tuple[int, int]:
        low = draw.between(1, 10 ** draw.between(2, 5))
        return low, low + draw.between(100, 1000)

    wide = [(draw.between(1, 10**6), draw.between(10**8, 10**9)), (1, 10**9)]
    edges = [(1, 9), (7, 7), (1, 1500), (99, 101), *wide]
    return FAMILY.task(draw, "numerals", p, edges, draw_input)


FAMILY = Family("numerals")
