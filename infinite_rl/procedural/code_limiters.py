"""Limiters: decide which requests are accepted in time windows with further rules."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A rate limiter with more rules at each level."""
    p = FAMILY.draw_rules(draw, level, "window", "report")

    def draw_input() -> tuple[list[list[int]]]:
        time, requests = draw.between(0, 6), []
        for _ in range(draw.between(6, 16)):
            requests.append([time, draw.pick((1, 1, 2, 2, 3))])
            time += draw.pick((0, 1, 1, 2, 3, 5))
        return (requests,)

    edges = [([],), ([[4, 1]],), ([[0, 2]] * 4,), ([[n, 1] for n in range(0, 16, 2)],)]
    return FAMILY.task(draw, "limiters", p, edges, draw_input)


FAMILY = Family("limiters")
