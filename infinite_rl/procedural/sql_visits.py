"""Visits: a log by days, and the streaks in it."""

from typing import Any

from .code import CodingTask, Family
from .draw import Draw

_NAMES = ("Ann", "Bob", "Cid")
_SITES = ("A", "B", "C")


def make(draw: Draw, level: int) -> CodingTask:
    """A value of the streaks of each person with more rules at each level."""
    world: dict[str, Any] = FAMILY.draw_record(draw, "world")
    p = FAMILY.draw_rules(draw, level, "report", **world, site=draw.pick(_SITES))

    def draw_input() -> tuple[list[list[Any]]]:
        rows: list[list[Any]] = []
        for name in draw.some((*_NAMES, None), 3):
            days = [day for day in range(1, 13) if draw.chance(0.6)]
            for day in [*days, *draw.some(days, len(days) // 3)]:
                much = draw.pick((None, 2, 3, 4, 6, 8, 12))
                rows.append([name, day, much, draw.pick((*_SITES, p["site"], p["site"], None))])
        return ([[key, *row] for key, row in enumerate(draw.shuffled(rows), 1)],)

    def log(*days: int) -> list[list[Any]]:
        return [[key, "Ann", day, 12, p["site"]] for key, day in enumerate(days, 1)]

    edges = [([],), (log(5, 3, 4, 8, 9),), (log(1, 3, 5, 7, 7),), ([[1, None, 4, 12, p["site"]]],)]
    return FAMILY.task(draw, "visits", p, edges, draw_input)


FAMILY = Family("visits")
