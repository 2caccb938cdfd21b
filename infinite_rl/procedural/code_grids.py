"""Grids of integers: turn them, reduce their lines, and look at neighbours."""

from .code import CodingTask, Family
from .draw import Draw

LEVELS = (1, 2, 3)
Grid = list[list[int]]


def make(draw: Draw, level: int) -> CodingTask:
    """Changes of a grid followed by a reduction: one stage more with each level."""
    story = FAMILY.draw_record(draw, "stories")
    count = level - 1 if draw.chance(0.7) or level == 1 else level
    rows = draw.some(FAMILY.rows("changes"), count)
    ending = FAMILY.pick(draw, "endings")
    steps = [*(FAMILY.step(draw, row) for row in rows), ending]
    edges: list[tuple[Grid]] = [
        ([[draw.between(-5, 9)]],),
        ([[0, 0], [0, 0]],),
        ([draw.integers(4, -3, 9)],),
        ([[n] for n in draw.integers(3, -3, 9)],),
    ]

    def draw_input() -> tuple[Grid]:
        width = draw.between(2, 2 + level)
        return ([draw.integers(width, -6, 15) for _ in range(draw.between(2, 2 + level))],)

    shape = FAMILY.phrase(draw, "shape", **story)
    return FAMILY.pipeline(draw, steps, {**story, "shape": shape}, edges, draw_input)


FAMILY = Family("grids")
