"""Lists of integers: keep some, change them, arrange them, and reduce them to a result."""

from .code import CodingTask, Family, Step
from .draw import Draw

LEVELS = (1, 2, 3)


def make(draw: Draw, level: int) -> CodingTask:
    """A pipeline over a list: two stages at level 1, three at level 2, four at level 3."""
    story = FAMILY.draw_record(draw, "stories")
    steps = [*stages(draw, level), FAMILY.pick(draw, "endings")]
    edges = [
        ([],),
        ([draw.between(1, 9)],),
        ([0, 0],),
        ([7] * draw.between(2, 4),),
        ([-draw.between(1, 9), 0, draw.between(2, 8)],),
    ]

    def draw_input() -> tuple[list[int]]:
        return (draw.integers(draw.between(4, 9), -12 - 4 * level, 20 + 10 * level),)

    return FAMILY.pipeline(draw, steps, story, edges, draw_input)


def stages(draw: Draw, level: int) -> list[Step]:
    """A filter or a change; from level 2 on both; at level 3 an arrangement, too."""
    keep, change = FAMILY.pick(draw, "filters"), FAMILY.pick(draw, "changes")
    if level == 1:
        return [draw.pick((keep, change))]
    pair = [keep, change] if draw.chance(0.6) else [change, keep]
    return pair if level == 2 else [*pair, FAMILY.pick(draw, "arrangements")]


FAMILY = Family("sequences")
