"""Fillings: complete a pattern of letters under rules, and find the one of a given rank."""

from .code import CodingTask, Family
from .code_tables import fill
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """Constrained words in alphabetical order, with more rules at each level."""
    p = FAMILY.draw_rules(draw, level)
    p["start"] = fill(p["start_tuple"], p).rstrip(",")
    p["after_letter"] = fill(p["next_tuple"], p).rstrip(",")

    def draw_input() -> tuple[str, int]:
        pattern = "".join(draw.pick("???" + draw.pick("abc?")) for _ in range(draw.between(3, 6)))
        return pattern, draw.pick((1, 1, 2, 3, 5, 8, 13, 20, 40))

    edges = [("", 1), ("?", 2), ("a?c", 1), ("aab", 1), ("??", 4)]
    return FAMILY.task(draw, "fillings", p, edges, draw_input)


FAMILY = Family("fillings")
