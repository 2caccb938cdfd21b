"""Intervals and schedules: select, shift, merge, and ask what is covered."""

from .code import CodingTask, Family
from .draw import Draw

LEVELS = (1, 2, 3)
Span = list[int]
EDGES: tuple[tuple[list[Span]], ...] = (
    ([],),
    ([[3, 9]],),
    ([[2, 5], [5, 8]],),
    ([[1, 12], [3, 6]],),
    ([[4, 8], [4, 8]],),
)


def make(draw: Draw, level: int) -> CodingTask:
    """As many stages over a list of intervals as the level says, and a question at the end."""
    story = FAMILY.draw_record(draw, "stories")
    groups = draw.some(("selections", "selections", "changes", "rebuilds"), level)
    # Two stages with the same result would be nearly the same one.
    steps = list(
        {step.variable: step for step in (FAMILY.pick(draw, one) for one in groups)}.values()
    )
    ending = FAMILY.pick(draw, draw.pick(("extents", "extents", "crowds", "choices")))

    def draw_input() -> tuple[list[Span]]:
        starts = (draw.between(0, 24) for _ in range(draw.between(4, 7)))
        return ([[start, start + draw.between(1, 9)] for start in starts],)

    return FAMILY.pipeline(draw, [*steps, ending], story, EDGES, draw_input)


FAMILY = Family("intervals")
