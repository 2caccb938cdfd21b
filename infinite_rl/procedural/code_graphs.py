"""Graphs as lists of links: paths, components, orders; references walk and permute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

from .code import CodingTask, Family, Reference
from .draw import Draw

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
    ends: list[str] = ["", ""]
    if level > 1 and draw.chance(0.35):
        question, rows = "orders", [*rows, FAMILY.row("forwards")]
        ends = [names[draw.below(2)], names[-draw.between(1, 2)]]
    elif question == "journeys":
        ends = draw.some(names, 2)
    ending = FAMILY.pick(draw, question, start=ends[0], goal=ends[1])
    steps = [*(FAMILY.step(draw, row, **changed) for row in rows), ending]

    def link() -> Link:
        start, end = draw.some(names, 2)
        return start, end, draw.between(1, 9)

    def draw_input() -> tuple[Links]:
        return ([link() for _ in range(draw.between(5, 9))],)

    return FAMILY.pipeline(draw, steps, story, EDGES, draw_input)


# --- references: of links and the parameters of the row


def keep(test: Callable[[Link, Any], bool]) -> Reference:
    return lambda links, p: [link for link in links if test(link, p)]


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


def connected(links: Links, start: str, goal: str) -> bool:
    return any(True for _ in routes(links, start, goal))


def nodes(links: Links) -> list[str]:
    return sorted({name for link in links for name in link[:2]})


def both_ways(links: Links) -> Links:
    return [one for a, b, length in links for one in ((a, b, length), (b, a, length))]


def fewest_links(links: Links, start: str) -> dict[str, int]:
    """The fewest links from the start to every node that can be reached."""
    names = {start, *nodes(links)}
    lengths = {name: [len(route) for route in routes(links, start, name)] for name in names}
    return {name: min(sizes) for name, sizes in lengths.items() if sizes}


def shortest(links: Links, p: Any) -> int:
    ways = routes(links, p.start, p.goal)
    return min((sum(length for _, _, length in way) for way in ways), default=-1)


def components(links: Links) -> set[frozenset[str]]:
    """The sets of nodes that hang together, whatever the direction of the links."""
    undirected, names = both_ways(links), nodes(links)
    return {frozenset(b for b in names if connected(undirected, a, b)) for a in names}


def topological_order(links: Links) -> list[str]:
    """The first order in which every link leads forwards, of the nodes behind no cycle."""
    loops = [a for a, b, _ in links if connected(links, b, a)]
    free = [name for name in nodes(links) if not any(connected(links, a, name) for a in loops)]
    inner = [link for link in links if link[0] in free and link[1] in free]
    return next(
        list(order)
        for order in permutations(free)
        if all(order.index(start) < order.index(end) for start, end, _ in inner)
    )


def forest(links: Links, p: Any) -> int:
    """The total length of the links that no shorter ones make needless."""
    ranked = sorted(links, key=lambda link: link[2])
    return sum(
        length
        for i, (start, end, length) in enumerate(ranked)
        if not connected(both_ways(ranked[:i]), start, end)
    )


def mutual(links: Links, p: Any) -> int:
    pairs = [link[:2] for link in links]
    return sum(
        (a, b) in pairs and (b, a) in pairs for b in nodes(links) for a in nodes(links) if a < b
    )


def longest(links: Links, p: Any) -> int:
    names = nodes(links)
    ways = [way for a in names for b in names for way in routes(links, a, b)]
    return max((sum(n if p.by_length else 1 for _, _, n in way) for way in ways), default=0)


# fmt: off
REFERENCES: dict[str, Reference] = {
    "both_ways": lambda links, p: both_ways(links),
    "turned": lambda links, p: [(link[1], link[0], link[2]) for link in links],
    "short": keep(lambda link, p: not link[2] > p.k),
    "outside": keep(lambda link, p: p.closed not in link),
    "long": keep(lambda link, p: not link[2] < p.k - 2),
    "forwards": keep(lambda link, p: sorted(link[:2]) == [*link[:2]]),
    "reachable": lambda links, p: sorted(fewest_links(links, p.start)),
    "fewest_links": lambda links, p: fewest_links(links, p.start).get(p.goal, -1),
    "farthest": lambda links, p: max(fewest_links(links, p.start).values()),
    "shortest": shortest,
    "components": lambda links, p: len(components(links)),
    "largest_component": lambda links, p: max(map(len, components(links)), default=0),
    "topological_order": lambda links, p: topological_order(links),
    "behind_cycles": lambda links, p: len(nodes(links)) - len(topological_order(links)),
    "forest": forest,
    "one_sided": lambda links, p: [name for name in nodes(links) if all(link[p.other] != name for link in links)],
    "totals": lambda links, p: {name: sum(link[2] for link in links if link[p.index] == name) for name in sorted({link[p.index] for link in links})},
    "busiest": lambda links, p: max(nodes(links), key=lambda name: sum(1 for link in links if link[p.index] == name), default=""),
    "mutual": mutual,
    "longest": longest,
    "count": lambda links, p: sum(1 for _ in routes(links, p.start, p.goal)),
}
# fmt: on
FAMILY = Family("graphs", REFERENCES)
