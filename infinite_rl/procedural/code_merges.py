"""Merges: join neighbouring piles until one is left, at the lowest or highest cost."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """An interval problem with more rules on the merges at each level."""
    p = FAMILY.draw_rules(draw, level, "size", "price")
    p["several"] = (p["first"] and p["odd"]) or (
        p["final"] and (p["first"] or p["odd"] or p["long"])
    )

    def draw_input() -> tuple[list[int]]:
        return (draw.integers(draw.between(3, 6), 1, draw.pick((3, 6, 10, 10))),)

    edges = [([],), ([8],), ([3, 5],), ([2, 2, 2],), ([9, 1, 4, 1],)]
    return FAMILY.task(draw, "merges", p, edges, draw_input)


FAMILY = Family("merges")
