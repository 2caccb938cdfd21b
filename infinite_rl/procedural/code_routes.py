"""Routes: the quickest way through a grid for a walker whose past decides what it may do."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A shortest path over cells and further state, with more rules at each level."""
    p = FAMILY.draw_rules(draw, level)
    p["weighted"] = p["sand"] or p["turning"] or p["dig"]
    signs = [sign for rule, sign in SIGNS if p[rule]]

    def draw_input() -> tuple[list[str]]:
        height, width = draw.between(3, 4), draw.between(3, 5)
        cells = [draw.pick("...#" + draw.pick(["#", *signs])) for _ in range(height * width)]
        marks = ["S", "G", *(["*"] if p["visit"] else ())]
        for at, mark in zip(draw.some(range(height * width), len(marks)), marks, strict=True):
            cells[at] = mark
        return (["".join(cells[n * width : (n + 1) * width]) for n in range(height)],)

    more = "*" if p["visit"] else "."
    edges = [([f"S{more}G"],), ([f"S{more}", "##", ".G"],), (["G.", f"{more}S", "##"],)]
    return FAMILY.task(draw, "routes", p, edges, draw_input)


SIGNS = (("sand", "~"), ("keys", "kD"), ("arrows", "^>v<"), ("keys", "DD"))
FAMILY = Family("routes")
