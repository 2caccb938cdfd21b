"""Projects: workers carry out tasks that depend on each other, by priority."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A list schedule with more rules at each level."""
    p = FAMILY.draw_rules(draw, level, "choice", "report")

    def draw_input() -> tuple[list[list[int]], int]:
        tasks = []
        count = draw.between(4, 8)
        for number in range(count):
            others = [n for n in range(count) if n != number and (n < number or draw.chance(0.07))]
            before = sorted(draw.some(others, min(len(others), draw.pick((0, 1, 1, 2)))))
            tasks.append([draw.between(1, 6), *before])
        return tasks, draw.between(1, 3)

    edges = [([], 1), ([[3]], 2), ([[2], [5], [1, 0]], 1), ([[1, 1], [2, 0], [4]], 2)]
    return FAMILY.task(draw, "projects", p, edges, draw_input)


FAMILY = Family("projects")
