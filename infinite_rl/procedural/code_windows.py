"""Windows: stretches of a list that stay within several limits at once."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A sliding window with more limits at each level."""
    p = FAMILY.draw_rules(draw, level, "goal", goal_then="")
    p["goal_count"] = p["goal_name"] == "window_count"

    def draw_input() -> tuple[list[int], int]:
        values = draw.integers(draw.between(4, 12), 0, draw.pick((3, 6, 9)))
        return values, draw.between(4, 25)

    edges = [([], 5), ([9], 5), ([2, 2, 2], 4), ([0, 0], 0), ([1, 0, 3, 0, 1, 4], 8)]
    return FAMILY.task(draw, "windows", p, edges, draw_input)


FAMILY = Family("windows")
