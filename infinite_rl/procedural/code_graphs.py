"""Graphs as lists of links: paths, components, orders."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from .code import CodingTask, Family, Step
from .draw import Draw

LEVELS = (1, 2, 3)
Link = tuple[str, str, int]
Links = list[Link]
NAMES = "abcdefg"
EDGES: list[tuple[Links]] = [
    ([],),
    ([("a", "b", 4)],),
    ([("a", "b", 2), ("b", "a", 3)],),
    ([("a", "c", 9), ("a", "b", 2), ("b", "c", 3), ("d", "e", 1)],),
]


def make(draw: Draw, level: int) -> CodingTask:
    """Up to two stages that change a graph, more at a higher level, and a question about it."""
    story = FAMILY.draw_record(draw, "stories")
    names = list(NAMES[: draw.between(5, 6)])
    count = draw.below(2) if level == 1 else level - 1
    changed = {"k": draw.between(4, 7), "closed": draw.pick(names[1:])}
    rows = draw.some(FAMILY.rows("changes"), count)
    question = draw.pick(
        ("counts",) if level == 1 else ("journeys", "journeys", "wholes", "counts")
    )
    ends = ("", "")
    if level > 1 and draw.chance(0.35):
        question, rows = "orders", [*rows, FAMILY.row("forwards")]
        ends = (names[draw.below(2)], names[-draw.between(1, 2)])
    elif question == "journeys":
        start, goal = draw.some(names, 2)
        ends = (start, goal)
    ending = FAMILY.pick(draw, question, start=ends[0], goal=ends[1])
    if question == "orders":
        ending = replace(ending, unguarded=partial(asked_of_routes, ending, names, *ends))
    steps = [*(FAMILY.step(draw, row, **changed) for row in rows), ending]

    def link() -> Link:
        start, end = draw.some(names, 2)
        return start, end, draw.between(1, 9)

    def draw_input() -> tuple[Links]:
        return ([link() for _ in range(draw.between(5, 9))],)

    return FAMILY.pipeline(draw, steps, story, EDGES, draw_input)


def asked_of_routes(ending: Step, names: list[str], start: str, goal: str, links: Links) -> int:
    """What an ending of the group "orders" asks of links that may lead in a circle."""
    if "ways" in ending.facts:
        return sum(1 for _ in routes(links, start, goal))
    ways = [route for a in names for b in names for route in routes(links, a, b)]
    return max(sum(link[2] if "lengths" in ending.facts else 1 for link in route) for route in ways)


def routes(links: Links, start: str, goal: str) -> Iterator[Links]:
    """All ways from start to goal that visit no node twice."""
    if start == goal:
        yield []
        return
    rest = [link for link in links if start not in link]
    for link in links:
        if link[0] == start:
            for route in routes(rest, link[1], goal):
                yield [link, *route]


FAMILY = Family("graphs")
