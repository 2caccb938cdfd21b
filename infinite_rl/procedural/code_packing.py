"""Packing: the most valuable choice of items under rules that need more state than the weight."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A knapsack with more optional rules at each level."""
    p = FAMILY.draw_rules(draw, level)

    def draw_input() -> tuple[list[list[int]], int]:
        count = draw.between(2, 4) if p["again"] else draw.between(3, 7)
        items = [[draw.between(1, 9), draw.between(1, 20)] for _ in range(count)]
        return items, draw.between(0, 5 * count)

    edges = [([], 0), ([], 6), ([[5, 8]], 4), ([[3, 5], [3, 5], [2, 4]], 6)]
    return FAMILY.task(draw, "packing", p, edges, draw_input)


FAMILY = Family("packing")
