"""Elections: count ranked ballots in rounds, with ties and further rules."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """An instant run-off with more rules at each level."""
    p = FAMILY.draw_rules(draw, level, "tie", "report")

    def draw_input() -> tuple[list[str]]:
        names = draw.some("ABCDE", draw.between(3, 5))
        ballots = []
        for _ in range(draw.between(4, 10)):
            size = draw.pick((1, 2, len(names), len(names)))
            ballots.append("".join(draw.some(names, min(size, len(names)))))
        return (ballots,)

    edges = [(["A"],), (["AB", "BA"],), (["ABC", "BCA", "CAB"],), (["B", "B", "A", "CA"],)]
    return FAMILY.task(draw, "elections", p, edges, draw_input)


FAMILY = Family("elections")
