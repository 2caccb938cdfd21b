"""Networks: join groups by links in a fixed order, unless a rule keeps a link out."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A spanning forest by union-find with more rules at each level."""
    p = FAMILY.draw_rules(draw, level, "order", "report")
    p["grouped"] = p["size"] or p["parity"] or p["ratio"] or "groups" in p["report_fact"]

    def draw_input() -> tuple[int, list[list[int]]]:
        count = draw.between(3, 7)
        links = [
            [*draw.some(range(count), 2), draw.between(1, 9)] for _ in range(draw.between(4, 11))
        ]
        return count, links

    edges = [(1, []), (3, []), (2, [[0, 1, 5], [1, 0, 2]]), (4, [[0, 1, 3], [2, 3, 3], [1, 2, 3]])]
    return FAMILY.task(draw, "networks", p, edges, draw_input)


FAMILY = Family("networks")
