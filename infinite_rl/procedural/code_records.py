"""Records of a name and an amount: select, group, aggregate, and report."""

from .code import CodingTask, Family, Step
from .draw import Draw

LEVELS = (1, 2, 3)
Pairs = list[tuple[str, int]]


def make(draw: Draw, level: int) -> CodingTask:
    """Group records and report: with a selection from level 2 on, and a second one at level 3."""
    story = FAMILY.draw_record(draw, "stories")
    steps: list[Step] = []
    if level > 1 or draw.chance(0.4):
        steps.append(FAMILY.pick(draw, "selections", **story))
    key = FAMILY.draw_texts(draw, "key", **story)
    steps.append(FAMILY.step(draw, "grouped", **FAMILY.draw_texts(draw, "value", **key)))
    if level == 3:
        steps.append(FAMILY.pick(draw, "group filters"))
    steps.append(FAMILY.pick(draw, "reports"))

    def draw_input() -> tuple[Pairs]:
        names = draw.some(story["names"].split(), draw.between(2, 4))
        return ([(draw.pick(names), draw.between(-5, 30)) for _ in range(draw.between(4, 8))],)

    first, second = draw.some(story["names"].split(), 2)
    edges: list[tuple[Pairs]] = [
        ([],),
        ([(first, draw.between(1, 9))],),
        ([(first, 5), (second, 5)],),
        ([(first, 10), (second, 3), (first, -4)],),
    ]
    return FAMILY.pipeline(draw, steps, story, edges, draw_input)


FAMILY = Family("records")
