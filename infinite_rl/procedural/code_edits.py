"""Edits: the cheapest way to turn one text into another under prices that depend on the context."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """An edit distance with more special prices at each level."""
    p = FAMILY.draw_rules(draw, level)

    def draw_input() -> tuple[str, str]:
        source = [draw.pick("abeioxy7E") for _ in range(draw.between(1, 4))]
        target = list(source)
        for _ in range(draw.between(1, 3)):
            at = draw.below(len(target) + 1)
            target[at : at + draw.below(3)] = draw.some("abeioxy7E", draw.below(3))
        if draw.chance(0.4):
            target = target[1::-1] + target[2:]
        return "".join(source), "".join(target[:5])

    edges = [("", ""), ("", "ab"), ("oxo", ""), ("abxi", "abxi"), ("axex", "bo")]
    return FAMILY.task(draw, "edits", p, edges, draw_input)


FAMILY = Family("edits")
