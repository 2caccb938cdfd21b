"""Graphs as lists of links: paths, components, orders; references walk and permute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations

from .code import CodingTask, Ending, Step, task_of_steps, told_in_order
from .draw import Draw

Link = tuple[str, str, int]
Links = list[Link]

WORLDS = (
    ("Roads lead from town to town, each in one direction.", "roads", "town"),
    ("Cable cars run from station to station, each in one direction.", "cable_cars", "station"),
    ("Pipes carry water from tank to tank.", "pipes", "tank"),
    ("In a works, parts are sent from machine to machine.", "transfers", "machine"),
    ("Rangers follow one-way trails from hut to hut.", "trails", "hut"),
    ("A network sends packets from router to router.", "wires", "router"),
    ("Ferries sail from port to port.", "ferries", "port"),
    ("A game leads from room to room through one-way doors.", "doors", "room"),
    ("", "links", "node"),
)
VERBS = ("explore", "survey", "study", "inspect", "map", "examine", "trace")
NAMES = "abcdefg"


def make(draw: Draw, level: int) -> CodingTask:
    """Up to two stages that change a graph, more at a higher level, and a question about it."""
    story, param, noun = draw.pick(WORLDS)
    names = list(NAMES[: draw.between(5, 6)])
    steps = preparation(draw, names, level)
    asked = draw.pick((counts,) if level == 1 else (journeys, journeys, wholes, counts))
    acyclic = level > 1 and draw.chance(0.35)
    if acyclic:
        steps.append(forwards())
        asked = orders
    ending, returns, how = draw.pick(asked(draw, names))
    return task_of_steps(
        draw,
        [*steps, ending],
        name=f"{draw.pick(VERBS)}_{param}",
        param=(param, "links"),
        returns=returns,
        story=story,
        rules=(
            f"Each entry is a link (from, to, length): two different {noun}s, which are non-empty strings, and a positive integer of at most 1000000.",
            "The alphabetical order of two names is that of the operator `<`.",
            f"A {noun} of which every link is ignored is as if it had never been mentioned.",
            draw.pick(
                (
                    f"There may be several links between the same {noun}s; the list may also be empty.",
                    f"`{param}` can be empty and can hold several links between the same {noun}s.",
                )
            ),
        ),
        plan=(*told_in_order([*steps, ending]), how),
        edges=[
            ([],),
            ([("a", "b", 4)],),
            ([("a", "b", 2), ("b", "a", 3)],),
            ([("a", "c", 9), ("a", "b", 2), ("b", "c", 3), ("d", "e", 1)],),
        ],
        fresh=lambda: ([fresh_link(draw, names) for _ in range(draw.between(5, 9))],),
    )


def fresh_link(draw: Draw, names: list[str]) -> Link:
    start, end = draw.some(names, 2)
    return start, end, draw.between(1, 9)


# --- stages that change the graph


def preparation(draw: Draw, names: list[str], level: int) -> list[Step]:
    """One stage, or two different ones at level 3; often none at level 1."""
    count = draw.below(2) if level == 1 else level - 1
    k, out = draw.between(4, 7), draw.pick(names[1:])
    stages = (
        both_ways(),
        turned(),
        keeping(
            f"ignore all links longer than {k}",
            f"length <= {k}",
            lambda link: not link[2] > k,
            "short",
        ),
        keeping(
            f"ignore all links that start or end at {out}",
            f'start != "{out}" and end != "{out}"',
            lambda link: out not in link,
            "outside",
        ),
        keeping(
            f"ignore all links shorter than {k - 2}",
            f"length >= {k - 2}",
            lambda link: not link[2] < k - 2,
            "long",
        ),
    )
    return draw.some(stages, count)


def keeping(say: str, test: str, holds: Callable[[Link], bool], out: str) -> Step:
    javascript = test.replace("!=", "!==").replace(" and ", " && ")
    return Step(
        say,
        f"[(start, end, length) for start, end, length in IT if {test}]",
        f"IT.filter(([start, end, length]) => {javascript})",
        lambda links: list(filter(holds, links)),
        out,
    )


def both_ways() -> Step:
    return Step(
        "add to every link the one that leads back, with the same length",
        "IT + [(end, start, length) for start, end, length in IT]",
        "IT.concat(IT.map(([start, end, length]) => [end, start, length]))",
        lambda links: [
            link
            for start, end, length in links
            for link in ((start, end, length), (end, start, length))
        ],
        "two_way",
    )


def turned() -> Step:
    return Step(
        "turn every link around",
        "[(end, start, length) for start, end, length in IT]",
        "IT.map(([start, end, length]) => [end, start, length])",
        lambda links: [(link[1], link[0], link[2]) for link in links],
        "turned",
    )


def forwards() -> Step:
    return keeping(
        "ignore all links that do not lead forwards in the alphabet (from an earlier name to a later one)",
        "start < end",
        lambda link: sorted(link[:2]) == [*link[:2]],
        "forward",
    )


# --- helpers of the references


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


def joined(links: Links, start: str, goal: str) -> bool:
    return any(True for _ in routes(links, start, goal))


def nodes(links: Links) -> list[str]:
    return sorted({name for link in links for name in link[:2]})


def undirected(links: Links) -> Links:
    return links + [(end, start, length) for start, end, length in links]


def hops(links: Links, start: str) -> dict[str, int]:
    """The fewest links from the start to every node that can be reached."""
    names = {start, *nodes(links)}
    found = {name: [len(route) for route in routes(links, start, name)] for name in names}
    return {name: min(lengths) for name, lengths in found.items() if lengths}


def parts(links: Links) -> set[frozenset[str]]:
    """The sets of nodes that hang together, whatever the direction of the links."""
    both, names = undirected(links), nodes(links)
    return {frozenset(b for b in names if joined(both, a, b)) for a in names}


def in_order(links: Links) -> list[str]:
    """The first order in which every link leads forwards, of the nodes behind no cycle."""
    loops = [a for a, b, _ in links if joined(links, b, a)]
    free = [name for name in nodes(links) if not any(joined(links, a, name) for a in loops)]
    inner = [link for link in links if link[0] in free and link[1] in free]
    return next(
        list(order)
        for order in permutations(free)
        if all(order.index(start) < order.index(end) for start, end, _ in inner)
    )


def spanning(links: Links) -> int:
    """The length of a minimal spanning forest: of the links that no shorter ones make needless."""
    ranked = sorted(links, key=lambda link: link[2])
    return sum(
        length
        for i, (start, end, length) in enumerate(ranked)
        if not joined(undirected(ranked[:i]), start, end)
    )


# --- helpers of the solutions

HOPS_PYTHON = """def steps_from(links: list[tuple[str, str, int]], start: str) -> dict[str, int]:
    steps = {start: 0}
    queue = [start]
    for name in queue:
        for a, b, _ in links:
            if a == name and b not in steps:
                steps[b] = steps[name] + 1
                queue.append(b)
    return steps"""
HOPS_JAVASCRIPT = """function stepsFrom(links, start) {
  const steps = new Map([[start, 0]]);
  for (const [name, count] of steps) {
    for (const [a, b] of links) {
      if (a === name && !steps.has(b)) steps.set(b, count + 1);
    }
  }
  return steps;
}"""
GROUPS_PYTHON = """def groups_of(links: list[tuple[str, str, int]]) -> list[set[str]]:
    groups: list[set[str]] = []
    for a, b, _ in links:
        touched = [group for group in groups if a in group or b in group]
        groups = [group for group in groups if group not in touched]
        groups.append({a, b}.union(*touched))
    return groups"""
GROUPS_JAVASCRIPT = """function groupsOf(links) {
  let groups = [];
  for (const [a, b] of links) {
    const touched = groups.filter((group) => group.has(a) || group.has(b));
    groups = groups.filter((group) => !touched.includes(group));
    groups.push(new Set([a, b, ...touched.flatMap((group) => [...group])]));
  }
  return groups;
}"""
ORDER_PYTHON = """def arranged(links: list[tuple[str, str, int]]) -> list[str]:
    waiting = sorted({name for a, b, _ in links for name in (a, b)})
    done: list[str] = []
    while True:
        blocked = {b for a, b, _ in links if a in waiting}
        ready = [name for name in waiting if name not in blocked]
        if not ready:
            return done
        done.append(ready[0])
        waiting.remove(ready[0])"""
ORDER_JAVASCRIPT = """function arranged(links) {
  const waiting = new Set(links.flatMap(([a, b]) => [a, b]).sort());
  const done = [];
  for (;;) {
    const blocked = new Set(links.filter(([a]) => waiting.has(a)).map(([, b]) => b));
    const ready = [...waiting].filter((name) => !blocked.has(name));
    if (ready.length === 0) return done;
    done.push(ready[0]);
    waiting.delete(ready[0]);
  }
}"""


# --- the last stage: from one node to others


def journeys(draw: Draw, names: list[str]) -> tuple[Ending, ...]:
    start, goal = draw.some(names, 2)
    how = f"A breadth-first search from {start} finds the fewest links to each name, nearest names first."
    return (
        walked(
            f"return all names that can be reached from {start} along links ({start} itself is one of them), in alphabetical order",
            (f'sorted(steps_from(IT, "{start}"))', f"[...stepsFrom(IT, '{start}').keys()].sort()"),
            lambda links: sorted(hops(links, start)),
            ("words", how),
        ),
        walked(
            f"return the smallest number of links that lead from {start} to {goal} (-1 if there is no way)",
            (
                f'steps_from(IT, "{start}").get("{goal}", -1)',
                f"stepsFrom(IT, '{start}').get('{goal}') ?? -1",
            ),
            lambda links: hops(links, start).get(goal, -1),
            ("int", how),
        ),
        walked(
            f"take, for each name that can be reached from {start}, the smallest number of links that lead there, and return the largest of these numbers (0 if there is nothing to reach)",
            (
                f'max(steps_from(IT, "{start}").values())',
                f"Math.max(...stepsFrom(IT, '{start}').values())",
            ),
            lambda links: max(hops(links, start).values()),
            ("int", how),
        ),
        shortest(start, goal),
    )


def walked(
    say: str, code: tuple[str, str], apply: Callable[[Links], object], told: tuple[str, str]
) -> Ending:
    step = Step(say, *code, apply, head_python=HOPS_PYTHON, head_javascript=HOPS_JAVASCRIPT)
    return (step, *told)


def shortest(start: str, goal: str) -> Ending:
    def apply(links: Links) -> int:
        ways = routes(links, start, goal)
        return min((sum(length for _, _, length in way) for way in ways), default=-1)

    step = Step(
        f"return the smallest total length of a way along links from {start} to {goal} (-1 if there is no way)",
        f'best = {{"{start}": 0}}\nfor _ in IT:\n    for a, b, length in IT:\n        if a in best and (b not in best or best[a] + length < best[b]):\n            best[b] = best[a] + length\nOUT = best.get("{goal}", -1)',
        f"const best = new Map([['{start}', 0]]);\nfor (let round = 0; round < IT.length; round += 1) {{\n  for (const [a, b, length] of IT) {{\n    if (best.has(a) && !(best.get(b) <= best.get(a) + length)) best.set(b, best.get(a) + length);\n  }}\n}}\nconst OUT = best.get('{goal}') ?? -1;",
        apply,
        "answer",
    )
    return step, "int", "Going over all links often enough settles the shortest way to every name."


# --- the last stage: the graph as a whole


def wholes(draw: Draw, names: list[str]) -> tuple[Ending, ...]:
    connected = "a group is a set of names that hang together by links, whatever their direction"
    merges = "Every link merges the groups of its two ends."
    groups = {"head_python": GROUPS_PYTHON, "head_javascript": GROUPS_JAVASCRIPT}
    order = {"head_python": ORDER_PYTHON, "head_javascript": ORDER_JAVASCRIPT}
    return (
        (
            Step(
                f"return the number of groups of names that occur in links, where {connected}",
                "len(groups_of(IT))",
                "groupsOf(IT).length",
                lambda links: len(parts(links)),
                **groups,
            ),
            "int",
            merges,
        ),
        (
            Step(
                f"return the number of names in the largest group (0 if there is none), where {connected}",
                "max((len(group) for group in groups_of(IT)), default=0)",
                "Math.max(0, ...groupsOf(IT).map((group) => group.size))",
                lambda links: max(map(len, parts(links)), default=0),
                **groups,
            ),
            "int",
            merges,
        ),
        (
            Step(
                "return a list of names that is built up like this: again and again, add the alphabetically first name that occurs in a link, is not yet in the list, and to which no link leads from a name that is not yet in the list; stop when there is no such name",
                "arranged(IT)",
                "arranged(IT)",
                in_order,
                **order,
            ),
            "words",
            "This is a topological order; it ends early where only names on a cycle, or behind one, are left.",
        ),
        (
            Step(
                "return how many of the names that occur in links lie on a cycle or can be reached from one along links",
                "len({name for a, b, _ in IT for name in (a, b)}) - len(arranged(IT))",
                "new Set(IT.flatMap(([a, b]) => [a, b])).size - arranged(IT).length",
                lambda links: len(nodes(links)) - len(in_order(links)),
                **order,
            ),
            "int",
            "Taking away, again and again, a name to which no link leads leaves just those names.",
        ),
        forest(),
    )


def forest() -> Ending:
    step = Step(
        "return the smallest total length of links that one must keep so that all names that hang together by links, whatever their direction, still do so",
        "group = {name: name for a, b, _ in IT for name in (a, b)}\nOUT = 0\nfor a, b, length in sorted(IT, key=lambda link: link[2]):\n    if group[a] != group[b]:\n        OUT += length\n        old, new = group[a], group[b]\n        group = {name: new if other == old else other for name, other in group.items()}",
        "const group = new Map(IT.flatMap(([a, b]) => [[a, a], [b, b]]));\nlet OUT = 0;\nfor (const [a, b, length] of IT.slice().sort((x, y) => x[2] - y[2])) {\n  const old = group.get(a);\n  const other = group.get(b);\n  if (old !== other) {\n    OUT += length;\n    for (const [name, own] of group) if (own === old) group.set(name, other);\n  }\n}",
        spanning,
        "kept_length",
    )
    return (
        step,
        "int",
        "We keep the shortest links first, and only those that join two separate groups.",
    )


# --- the last stage: what single nodes and links say


def counts(draw: Draw, names: list[str]) -> tuple[Ending, ...]:
    index, word = draw.pick(((0, "start"), (1, "end")))
    other = "end" if word == "start" else "start"
    return (
        (
            Step(
                f"return the names at which some link {word}s but none {other}s, each once, in alphabetical order",
                f"sorted({{link[{index}] for link in IT}} - {{link[{1 - index}] for link in IT}})",
                f"[...new Set(IT.map((link) => link[{index}]))]\n  .filter((name) => IT.every((link) => link[{1 - index}] !== name))\n  .sort()",
                lambda links: [
                    name for name in nodes(links) if all(link[1 - index] != name for link in links)
                ],
            ),
            "words",
            "Every name of a link has to be looked up among the other ends.",
        ),
        (
            Step(
                f"return for each name at which some link {word}s the total length of the links that {word} there",
                f"OUT: dict[str, int] = {{}}\nfor {'a, _, length' if index == 0 else '_, a, length'} in IT:\n    OUT[a] = OUT.get(a, 0) + length",
                f"const sums = new Map();\nfor (const [{'a, , length' if index == 0 else ', a, length'}] of IT) sums.set(a, (sums.get(a) ?? 0) + length);\nconst OUT = Object.fromEntries(sums);",
                lambda links: {
                    name: sum(link[2] for link in links if link[index] == name)
                    for name in sorted({link[index] for link in links})
                },
                "totals",
            ),
            "totals",
            "One pass over the links adds every length to the total of its name.",
        ),
        (
            Step(
                f"return the name at which the most links {word}, the alphabetically first one in case of a tie (the empty string if there is no link)",
                f'ends = [link[{index}] for link in IT]\nOUT = min(ends, key=lambda name: (-ends.count(name), name), default="")',
                f"const ends = IT.map((link) => link[{index}]).sort();\nconst often = (name) => ends.filter((other) => other === name).length;\nconst OUT = ends.reduce((best, name) => (best === '' || often(name) > often(best) ? name : best), '');",
                lambda links: max(
                    nodes(links),
                    key=lambda name: sum(1 for link in links if link[index] == name),
                    default="",
                ),
                "busiest",
            ),
            "text",
            "The names are compared by how often they occur, and then by the alphabet.",
        ),
        (
            Step(
                "return how many pairs of names are linked in both directions",
                "pairs = {link[:2] for link in IT}\nOUT = sum(1 for a, b in pairs if a < b and (b, a) in pairs)",
                "const ends = new Map();\nfor (const [a, b] of IT) ends.set(a, new Set(ends.get(a)).add(b));\nlet OUT = 0;\nfor (const [a, others] of ends) {\n  for (const b of others) if (a < b && ends.get(b)?.has(a)) OUT += 1;\n}",
                lambda links: sum(
                    any(link[:2] == (a, b) for link in links)
                    and any(link[:2] == (b, a) for link in links)
                    for b in nodes(links)
                    for a in nodes(links)
                    if a < b
                ),
                "mutual",
            ),
            "int",
            "Once the links are in sets, it is easy to look for a pair the other way round.",
        ),
    )


# --- the last stage: routes where no cycle is left


def orders(draw: Draw, names: list[str]) -> tuple[Ending, ...]:
    start, goal = names[draw.below(2)], names[-draw.between(1, 2)]
    by_length = draw.chance(0.6)
    what = "total length" if by_length else "number of links"
    own = "length" if by_length else "1"

    def longest(links: Links) -> int:
        names = nodes(links)
        ways = [way for a in names for b in names for way in routes(links, a, b)]
        return max((sum(n if by_length else 1 for _, _, n in way) for way in ways), default=0)

    return (
        (
            Step(
                f"return the largest {what} of a way along links, from any name to any other (0 if there are no links)",
                f"best: dict[str, int] = {{}}\nfor a, b, length in sorted(IT, reverse=True):\n    best[a] = max(best.get(a, 0), {own} + best.get(b, 0))\nOUT = max(best.values(), default=0)",
                f"const best = new Map();\nfor (const [a, b, length] of IT.slice().sort(([x], [y]) => (x < y ? 1 : x > y ? -1 : 0))) {{\n  best.set(a, Math.max(best.get(a) ?? 0, {own} + (best.get(b) ?? 0)));\n}}\nconst OUT = Math.max(0, ...best.values());",
                longest,
                "longest",
            ),
            "int",
            "Taking the names from the last to the first, the best way on from each link's end is known already.",
        ),
        (
            Step(
                f"return the number of different ways along links from {start} to {goal}, where several links between the same names count as different",
                f'ways = {{"{goal}": 1}}\nfor a, b, _ in sorted(IT, reverse=True):\n    ways[a] = ways.get(a, 0) + ways.get(b, 0)\nOUT = ways.get("{start}", 0)',
                f"const ways = new Map([['{goal}', 1]]);\nfor (const [a, b] of IT.slice().sort(([x], [y]) => (x < y ? 1 : x > y ? -1 : 0))) {{\n  ways.set(a, (ways.get(a) ?? 0) + (ways.get(b) ?? 0));\n}}\nconst OUT = ways.get('{start}') ?? 0;",
                lambda links: sum(1 for _ in routes(links, start, goal)),
                "count",
            ),
            "int",
            f"Taking the names from the last to the first, the ways to {goal} from each link's end are known already.",
        ),
    )
