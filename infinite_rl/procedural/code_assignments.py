"""Assignments: give each worker a job of their own at the best total, under rules."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """An assignment problem with more rules at each level."""
    p = FAMILY.draw_rules(draw, level)
    p["unreached"] = p["highest"] and p["bottleneck"]

    def draw_input() -> tuple[list[list[int]]]:
        workers, jobs = draw.between(2, 4), draw.between(3, 5)
        return ([draw.integers(jobs, 1, draw.pick((9, 20))) for _ in range(workers)],)

    edges = [([],), ([[4, 7]],), ([[1, 5], [1, 5]],), ([[3, 1, 2], [1, 3, 2], [2, 2, 9]],)]
    return FAMILY.task(draw, "assignments", p, edges, draw_input)


FAMILY = Family("assignments")
