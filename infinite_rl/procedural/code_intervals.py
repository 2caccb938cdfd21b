"""Intervals and schedules: select, shift, merge, and ask what is covered; references count units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations

from .code import BOUNDED, CodingTask, Ending, Step, task_of_steps, told_in_order
from .draw import Draw

Spans = list[list[int]]

WORLDS = (
    ("A room is booked for meetings, given in hours since Monday.", "meeting"),
    ("A guard signs up for shifts, given in hours since the start of the month.", "shift"),
    ("A ferry berth is reserved for stays, given in hours.", "stay"),
    ("A telescope runs observations, given in minutes since dusk.", "observation"),
    ("A recorder is set to programmes, given in minutes since noon.", "programme"),
    ("A kiln is heated for firings, given in hours.", "firing"),
    ("A strip of wall is painted in sections, given in metres from the left.", "section"),
    ("Genes lie in regions of a chromosome.", "region"),
    ("", "span"),
)
VERBS = ("check", "plan", "audit", "review", "measure", "arrange", "study")


def make(draw: Draw, level: int) -> CodingTask:
    """As many stages over a list of intervals as the level says, and a question at the end."""
    story, noun = draw.pick(WORLDS)
    kinds = draw.some((selections, selections, changes, rebuilds), level)
    steps = list({step.out: step for step in (draw.pick(kind(draw)) for kind in kinds)}.values())
    ending, returns, how = draw.pick(draw.pick((extents, extents, crowds, choices))(draw))
    return task_of_steps(
        draw,
        [*steps, ending],
        name=f"{draw.pick(VERBS)}_{noun}s",
        param=(f"{noun}s", "spans"),
        returns=returns,
        story=story,
        rules=(
            f"Each {noun} is an interval [start, end] with start < end, both integers {BOUNDED}, which covers everything from its start up to, but not including, its end.",
            draw.pick(
                (
                    f"`{noun}s` is in no particular order and may be empty.",
                    f"The {noun}s come unsorted; there may be none.",
                )
            ),
        ),
        plan=(*told_in_order([*steps, ending]), how),
        edges=[([],), ([[3, 9]],), ([[2, 5], [5, 8]],), ([[1, 12], [3, 6]],), ([[4, 8], [4, 8]],)],
        fresh=lambda: ([fresh_span(draw) for _ in range(draw.between(4, 7))],),
    )


def fresh_span(draw: Draw) -> list[int]:
    start = draw.between(0, 24)
    return [start, start + draw.between(1, 9)]


def runs(units: set[int]) -> Spans:
    """The maximal intervals of a set of units."""
    starts = sorted(n for n in units if n - 1 not in units)
    ends = sorted(n + 1 for n in units if n + 1 not in units)
    return [[start, end] for start, end in zip(starts, ends, strict=True)]


def covered(spans: Spans) -> Counter[int]:
    """How many of the intervals cover each unit."""
    return Counter(n for start, end in spans for n in range(start, end))


def between(spans: Spans) -> Spans:
    """The maximal uncovered stretches between the first start and the last end."""
    units = set(covered(spans))
    return runs({n for n in range(min(units), max(units)) if n not in units}) if units else []


# --- stages that keep some of the intervals


def selections(draw: Draw) -> tuple[Step, ...]:
    k, low = draw.between(3, 5), draw.between(3, 12)
    high = low + draw.between(6, 12)
    return (
        keeping("long", f"that last at least {k}", f"end - start >= {k}", lambda s, e: e >= s + k),
        keeping(
            "short",
            f"that last less than {k + 3}",
            f"end - start < {k + 3}",
            lambda s, e: e < s + k + 3,
        ),
        keeping(
            "late", f"that start at {low} or later", f"start >= {low}", lambda s, _: not s < low
        ),
        keeping(
            "inside",
            f"that lie completely between {low - 3} and {high} (touching these limits is allowed)",
            f"{low - 3} <= start and end <= {high}",
            lambda s, e: all(low - 3 <= n < high for n in range(s, e)),
        ),
        keeping(
            "touched",
            f"that have something in common with the interval from {low} to {high} (a shared limit alone is nothing)",
            f"start < {high} and end > {low}",
            lambda s, e: any(low <= n < high for n in range(s, e)),
        ),
    )


def keeping(out: str, say: str, test: str, holds: Callable[[int, int], bool]) -> Step:
    javascript = test.replace(" and ", " && ")
    return Step(
        f"keep only the intervals {say}",
        f"[[start, end] for start, end in IT if {test}]",
        f"IT.filter(([start, end]) => {javascript})",
        lambda spans: [[start, end] for start, end in spans if holds(start, end)],
        out,
    )


# --- stages that change each interval


def changes(draw: Draw) -> tuple[Step, ...]:
    k, low = draw.between(1, 4), draw.between(4, 9)
    high = low + draw.between(7, 14)
    return (
        Step(
            f"let every interval end {k} later",
            f"[[start, end + {k}] for start, end in IT]",
            f"IT.map(([start, end]) => [start, end + {k}])",
            lambda spans: [[start, sum((end, k))] for start, end in spans],
            "longer",
        ),
        Step(
            f"let every interval start {k} earlier and end {k} later",
            f"[[start - {k}, end + {k}] for start, end in IT]",
            f"IT.map(([start, end]) => [start - {k}, end + {k}])",
            lambda spans: [[min(range(s - k, e)), max(range(s, e + k)) + 1] for s, e in spans],
            "wider",
        ),
        Step(
            f"cut off what lies before {low} or after {high}, and drop the intervals of which nothing is left",
            f"[\n    [max(start, {low}), min(end, {high})]\n    for start, end in IT\n    if start < {high} and end > {low}\n]",
            f"IT\n  .filter(([start, end]) => start < {high} && end > {low})\n  .map(([start, end]) => [Math.max(start, {low}), Math.min(end, {high})])",
            lambda spans: [
                run
                for start, end in spans
                for run in runs({n for n in range(start, end) if low <= n < high})
            ],
            "clipped",
        ),
        Step(
            f"replace every interval by one with the same start that is at most {k + 2} long",
            f"[[start, min(end, start + {k + 2})] for start, end in IT]",
            f"IT.map(([start, end]) => [start, Math.min(end, start + {k + 2})])",
            lambda spans: [[s, s + len(range(s, e)[: k + 2])] for s, e in spans],
            "capped",
        ),
    )


# --- stages that rebuild the list


def rebuilds(draw: Draw) -> tuple[Step, ...]:
    return (merging(draw), gaps(), outermost(), in_turn())


def merging(draw: Draw) -> Step:
    slack = draw.pick((0, 0, 1, 2))

    def apply(spans: Spans) -> Spans:
        units = set(covered(spans))
        near = {
            n for start, end in between(spans) if end - start <= slack for n in range(start, end)
        }
        return runs(units | near)

    say = f"are at most {slack} apart" if slack else "touch"
    reach = f" + {slack}" if slack else ""
    return Step(
        f"merge intervals that overlap or {say} into one, until no two of them do",
        f"OUT: list[list[int]] = []\nfor start, end in sorted(IT):\n    if OUT and start <= OUT[-1][1]{reach}:\n        OUT[-1][1] = max(OUT[-1][1], end)\n    else:\n        OUT.append([start, end])",
        f"const OUT = [];\nfor (const [start, end] of IT.slice().sort((a, b) => a[0] - b[0])) {{\n  const last = OUT[OUT.length - 1];\n  if (last && start <= last[1]{reach}) last[1] = Math.max(last[1], end);\n  else OUT.push([start, end]);\n}}",
        apply,
        "merged",
    )


def gaps() -> Step:
    return Step(
        "replace the list by the gaps, that is, the longest possible stretches between the first start and the last end that no interval covers",
        "OUT = []\nreach = min((start for start, _ in IT), default=0)\nfor start, end in sorted(IT):\n    if start > reach:\n        OUT.append([reach, start])\n    reach = max(reach, end)",
        "const OUT = [];\nlet reach = Infinity;\nfor (const [start, end] of IT.slice().sort((a, b) => a[0] - b[0])) {\n  if (start > reach) OUT.push([reach, start]);\n  reach = reach === Infinity ? end : Math.max(reach, end);\n}",
        between,
        "gaps",
    )


def outermost() -> Step:
    return Step(
        "drop each interval that lies completely inside another one that is longer",
        "[\n    [start, end]\n    for start, end in IT\n    if not any(a <= start and end <= b and b - a > end - start for a, b in IT)\n]",
        "IT.filter(\n  ([start, end]) => !IT.some(([a, b]) => a <= start && end <= b && b - a > end - start),\n)",
        lambda spans: [
            span
            for span in spans
            if not any(set(range(*span)) < set(range(*other)) for other in spans)
        ],
        "outermost",
    )


def in_turn() -> Step:
    def apply(spans: Spans) -> Spans:
        taken: Spans = []
        for start, end in spans:
            if not any(n in covered(taken) for n in range(start, end)):
                taken.append([start, end])
        return taken

    return Step(
        "go through the list in the given order and drop each interval that overlaps with one that was kept before it",
        "OUT = []\nfor start, end in IT:\n    if all(end <= a or b <= start for a, b in OUT):\n        OUT.append([start, end])",
        "const OUT = [];\nfor (const [start, end] of IT) {\n  if (OUT.every(([a, b]) => end <= a || b <= start)) OUT.push([start, end]);\n}",
        apply,
        "accepted",
    )


# --- the last stage: how far they reach


def extents(draw: Draw) -> tuple[Ending, ...]:
    k = draw.between(2, 5)
    return (
        (
            Step(
                "return how much the intervals cover together, where what several of them cover counts once",
                'OUT = 0\nfrontier = float("-inf")\nfor start, end in sorted(IT):\n    OUT += max(0, end - max(start, frontier))\n    frontier = max(frontier, end)',
                "let OUT = 0;\nlet frontier = -Infinity;\nfor (const [start, end] of IT.slice().sort((a, b) => a[0] - b[0])) {\n  OUT += Math.max(0, end - Math.max(start, frontier));\n  frontier = Math.max(frontier, end);\n}",
                lambda spans: len(covered(spans)),
                "total",
            ),
            "int",
            "In order of their starts, each adds only what lies beyond the furthest end so far.",
        ),
        (
            Step(
                "return the sum of the lengths of the intervals",
                "sum(end - start for start, end in IT)",
                "IT.reduce((total, [start, end]) => total + end - start, 0)",
                lambda spans: covered(spans).total(),
            ),
            "int",
            "A length is the end minus the start.",
        ),
        (
            Step(
                f"return the smallest time t, not below 0, such that no interval covers anything from t up to t + {k}",
                f"OUT = 0\nfor start, end in sorted(IT):\n    if start - OUT >= {k}:\n        break\n    OUT = max(OUT, end)",
                f"let OUT = 0;\nfor (const [start, end] of IT.slice().sort((a, b) => a[0] - b[0])) {{\n  if (start - OUT >= {k}) break;\n  OUT = Math.max(OUT, end);\n}}",
                lambda spans: next(
                    t for t in range(999) if not any(n in covered(spans) for n in range(t, t + k))
                ),
                "free",
            ),
            "int",
            f"We move a candidate behind every start that leaves less than {k} of free space.",
        ),
        (
            Step(
                "return the intervals, ordered by start and, for equal starts, by end",
                "sorted(IT)",
                "IT.slice().sort((a, b) => a[0] - b[0] || a[1] - b[1])",
                lambda spans: sorted(
                    sorted(spans, key=lambda span: span[1]), key=lambda span: span[0]
                ),
            ),
            "spans",
            "Comparing the starts first and the ends second gives the order that is asked for.",
        ),
    )


# --- the last stage: how many run at once


def crowds(draw: Draw) -> tuple[Ending, ...]:
    k = draw.pick((1, 2, 2, 3))
    most = f"more than {k} intervals" if k > 1 else "more than one interval"
    python_events = (
        "events = sorted([(start, 1) for start, _ in IT] + [(end, -1) for _, end in IT])\n"
    )
    js_events = "const events = IT.flatMap(([start, end]) => [[start, 1], [end, -1]]);\nevents.sort((a, b) => a[0] - b[0] || a[1] - b[1]);\n"
    return (
        (
            Step(
                "return the largest number of intervals that cover the same point",
                f"{python_events}running = OUT = 0\nfor _, change in events:\n    running += change\n    OUT = max(OUT, running)",
                f"{js_events}let running = 0;\nlet OUT = 0;\nfor (const [, change] of events) {{\n  running += change;\n  OUT = Math.max(OUT, running);\n}}",
                lambda spans: max(covered(spans).values(), default=0),
                "most",
            ),
            "int",
            "We walk over all starts and ends in order, ends first where they coincide.",
        ),
        (
            Step(
                f"return the total length of what is covered by {most}",
                f"{python_events}running = previous = OUT = 0\nfor moment, change in events:\n    if running > {k}:\n        OUT += moment - previous\n    running, previous = running + change, moment",
                f"{js_events}let running = 0;\nlet previous = 0;\nlet OUT = 0;\nfor (const [moment, change] of events) {{\n  if (running > {k}) OUT += moment - previous;\n  running += change;\n  previous = moment;\n}}",
                lambda spans: sum(1 for count in covered(spans).values() if count >= k + 1),
                "crowded",
            ),
            "int",
            "Between two neighbouring starts or ends, the number that covers a point stays the same.",
        ),
        (
            Step(
                "return the smallest integer t that is covered by as many intervals as any other (-1 if there are no intervals)",
                "moments = [start for start, _ in IT]\nOUT = min(moments, key=lambda t: (-sum(1 for a, b in IT if a <= t < b), t), default=-1)",
                "const load = (t) => IT.filter(([a, b]) => a <= t && t < b).length;\nconst moments = IT.map(([start]) => start).sort((a, b) => load(b) - load(a) || a - b);\nconst OUT = moments.length > 0 ? moments[0] : -1;",
                lambda spans: min(
                    (n for n, c in covered(spans).items() if c == max(covered(spans).values())),
                    default=-1,
                ),
                "busiest",
            ),
            "int",
            "The number that covers a point only grows at a start, so it is enough to look at the starts.",
        ),
    )


# --- the last stage: which of them go together


def choices(draw: Draw) -> tuple[Ending, ...]:
    def clash(one: list[int], two: list[int]) -> bool:
        return any(n in range(*two) for n in range(*one))

    def largest(spans: Spans) -> int:
        fits = (
            size
            for size in range(len(spans), -1, -1)
            for chosen in combinations(spans, size)
            if not any(clash(a, b) for a, b in combinations(chosen, 2))
        )
        return next(fits)

    return (
        (
            Step(
                "return the largest number of intervals that can be chosen such that no two overlap",
                'OUT = 0\nbusy = float("-inf")\nfor start, end in sorted(IT, key=lambda span: span[1]):\n    if start >= busy:\n        OUT += 1\n        busy = end',
                "let OUT = 0;\nlet busy = -Infinity;\nfor (const [start, end] of IT.slice().sort((a, b) => a[1] - b[1])) {\n  if (start >= busy) {\n    OUT += 1;\n    busy = end;\n  }\n}",
                largest,
                "count",
            ),
            "int",
            "It is best to take, again and again, the one that ends first among those that still fit.",
        ),
        (
            Step(
                "return how many pairs of intervals overlap",
                "sum(1 for i, (start, end) in enumerate(IT) for a, b in IT[:i] if start < b and a < end)",
                "IT.reduce(\n  (total, [start, end], i) => total + IT.slice(0, i).filter(([a, b]) => start < b && a < end).length,\n  0,\n)",
                lambda spans: sum(1 for pair in combinations(spans, 2) if clash(*pair)),
            ),
            "int",
            "Two of them overlap when each starts before the other ends.",
        ),
        (
            Step(
                "return how many intervals overlap with no other one",
                "sum(\n    all(i == j or end <= a or b <= start for j, (a, b) in enumerate(IT))\n    for i, (start, end) in enumerate(IT)\n)",
                "IT.filter(([start, end], i) => IT.every(([a, b], j) => i === j || end <= a || b <= start)).length",
                lambda spans: sum(
                    all(covered(spans)[n] == 1 for n in range(*span)) for span in spans
                ),
            ),
            "int",
            "Each is compared with all others: it is alone if every other one ends before it or starts after it.",
        ),
    )
