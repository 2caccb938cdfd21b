"""Records of a name and an amount: select, group, aggregate, and report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .code import BOUNDED, CodingTask, Step, task_of_steps, told_in_order
from .draw import Draw

Pairs = list[tuple[str, int]]


@dataclass(frozen=True)
class World:
    """Where the records come from: sentence, parameter, what a name and an amount are, names."""

    story: str
    param: str
    name: str
    amount: str
    names: tuple[str, ...]


WORLDS = (
    World(
        "A shop records its sales.",
        "sales",
        "product",
        "price",
        ("pen", "book", "lamp", "cup", "Bag"),
    ),
    World(
        "A bank exports the bookings of its customers; withdrawals are negative.",
        "bookings",
        "customer",
        "amount",
        ("ann", "bob", "Cleo", "dan", "eva"),
    ),
    World(
        "Runners report their training.",
        "runs",
        "runner",
        "distance",
        ("mia", "leo", "Tom", "ida", "kim"),
    ),
    World(
        "A library lists its loans.",
        "loans",
        "title",
        "number of days",
        ("dune", "emma", "Ulysses", "heidi", "momo"),
    ),
    World(
        "A quiz show stores the points of every answer; wrong answers cost points.",
        "answers",
        "team",
        "score",
        ("red", "blue", "Green", "gold", "pink"),
    ),
    World(
        "A farm weighs its deliveries.",
        "deliveries",
        "fruit",
        "weight",
        ("fig", "plum", "Pear", "lime", "kiwi"),
    ),
    World(
        "A server writes one entry for each request.",
        "entries",
        "page",
        "size",
        ("home", "cart", "Login", "help", "news"),
    ),
    World("", "records", "name", "value", ("a", "bb", "Ccc", "d", "ee")),
)
VERBS = ("summarize", "group", "report", "tally", "rank", "collect", "audit", "aggregate")


def make(draw: Draw, level: int) -> CodingTask:
    """Group records and report: with a selection from level 2 on, and a second one at level 3."""
    world = draw.pick(WORLDS)
    steps: list[Step] = []
    if level > 1 or draw.chance(0.4):
        steps.append(draw.pick(SELECTIONS)(draw, world))
    group, combine = draw.pick(GROUPINGS), draw.pick(COMBINERS)(draw)
    steps.append(grouped(world, group, combine))
    if level == 3:
        steps.append(draw.pick(GROUP_FILTERS)(draw))
    final, returns = draw.pick(REPORTS)(draw)
    steps.append(final)

    def fresh() -> tuple[Pairs]:
        names = draw.some(world.names, draw.between(2, 4))
        return ([(draw.pick(names), draw.between(-5, 30)) for _ in range(draw.between(4, 8))],)

    first, second = draw.some(world.names, 2)
    edges: list[tuple[Pairs]] = [
        ([],),
        ([(first, draw.between(1, 9))],),
        ([(first, 5), (second, 5)],),
        ([(first, 10), (second, 3), (first, -4)],),
    ]
    return task_of_steps(
        draw,
        steps,
        name=f"{draw.pick(VERBS)}_{world.param}",
        param=(world.param, "pairs"),
        returns=returns,
        story=world.story,
        rules=(
            draw.pick(
                (
                    f"In each pair, the first entry is the {world.name} (a non-empty string), the second its {world.amount} (an integer {BOUNDED}).",
                    f"A pair consists of the {world.name} (a string that is not empty) and the {world.amount} (an integer {BOUNDED}).",
                )
            ),
            draw.pick(
                (
                    f"`{world.param}` may be empty.",
                    f"An empty `{world.param}` is possible and forms no group.",
                )
            ),
        ),
        plan=(
            *told_in_order(steps, ("First", "Then", "Next", "After that"), "Finally"),
            "A dictionary from group to list keeps the grouping to one pass.",
        ),
        edges=edges,
        fresh=fresh,
    )


# --- selections


def selecting(say: str, python: str, javascript: str, test: Callable[[str, int], bool]) -> Step:
    return Step(
        f"keep only the pairs {say}",
        f"[(name, amount) for name, amount in IT if {python}]",
        f"IT.filter(([name, amount]) => {javascript})",
        lambda pairs: [pair for pair in pairs if test(*pair)],
        "selected",
    )


def by_amount(draw: Draw, world: World) -> Step:
    k = draw.between(0, 12)
    sign, word = draw.pick(((">=", "at least"), ("<", "less than"), (">", "more than")))
    tests: dict[str, Callable[[str, int], bool]] = {
        ">=": lambda _, n: not n < k,
        "<": lambda _, n: not n >= k,
        ">": lambda _, n: n - k > 0,
    }
    python = f"amount {sign} {k}"
    return selecting(f"whose {world.amount} is {word} {k}", python, python, tests[sign])


def by_parity(draw: Draw, world: World) -> Step:
    r = draw.below(2)
    return selecting(
        f"whose {world.amount} is {'odd' if r else 'even'}",
        f"amount % 2 == {r}",
        f"amount % 2 {'!==' if r else '==='} 0",
        lambda _, n: n & 1 == r,
    )


def by_name_length(draw: Draw, world: World) -> Step:
    k = draw.between(2, 3)
    return selecting(
        f"whose {world.name} has more than {k} characters",
        f"len(name) > {k}",
        f"[...name].length > {k}",
        lambda name, _: bool(name[k:]),
    )


def without_repeats(draw: Draw, world: World) -> Step:
    return Step(
        "remove exact repetitions of a pair, keeping the first",
        "list(dict.fromkeys(IT))",
        "IT.filter((pair, i) => IT.findIndex(([name, amount]) => name === pair[0] && amount === pair[1]) === i)",
        lambda pairs: [pair for i, pair in enumerate(pairs) if pair not in pairs[:i]],
        "unique",
    )


def skip_first(draw: Draw, world: World) -> Step:
    k = draw.between(1, 2)
    return Step(
        f"leave out the first {'pair' if k == 1 else f'{k} pairs'}",
        f"IT[{k}:]",
        f"IT.slice({k})",
        lambda pairs: [p for i, p in enumerate(pairs) if i >= k],
        "later",
    )


SELECTIONS = (by_amount, by_amount, by_parity, by_name_length, without_repeats, skip_first)

# --- grouping: how the key is made, and what becomes of the amounts of a group


@dataclass(frozen=True)
class Part:
    """A piece of a stage: words, Python, JavaScript, reference."""

    say: str
    python: str
    javascript: str
    apply: Callable[[Any], Any]


GROUPINGS = (
    Part("{name}", "name", "name", lambda name: name),
    Part("{name}", "name", "name", lambda name: name),
    Part(
        "first letter of the {name} in lower case",
        "name[0].lower()",
        "[...name][0].toLowerCase()",
        lambda name: name.lower()[0],
    ),
    Part(
        "{name} without regard to case (in lower case)",
        "name.lower()",
        "name.toLowerCase()",
        lambda name: "".join(name.lower()),
    ),
    Part(
        "number of characters of the {name}, written as a string",
        "str(len(name))",
        "String([...name].length)",
        lambda name: f"{len(name)}",
    ),
)


def combine_sum(draw: Draw) -> Part:
    return Part("the sum of its amounts", "sum(amounts)", "amounts.reduce((a, b) => a + b, 0)", sum)


def combine_count(draw: Draw) -> Part:
    return Part(
        "the number of its pairs", "len(amounts)", "amounts.length", lambda v: sum(1 for _ in v)
    )


def combine_extreme(draw: Draw) -> Part:
    kind = draw.pick(("max", "min"))
    return Part(
        f"its {'largest' if kind == 'max' else 'smallest'} amount",
        f"{kind}(amounts)",
        f"Math.{kind}(...amounts)",
        lambda v: sorted(v)[-1 if kind == "max" else 0],
    )


def combine_mean(draw: Draw) -> Part:
    return Part(
        "the mean of its amounts, rounded down (towards minus infinity)",
        "sum(amounts) // len(amounts)",
        "Math.floor(amounts.reduce((a, b) => a + b, 0) / amounts.length)",
        lambda v: (sum(v) - sum(v) % len(v)) // len(v),
    )


def combine_range(draw: Draw) -> Part:
    return Part(
        "the difference between its largest and smallest amount",
        "max(amounts) - min(amounts)",
        "Math.max(...amounts) - Math.min(...amounts)",
        lambda v: sorted(v)[-1] - sorted(v)[0],
    )


def combine_last(draw: Draw) -> Part:
    which = draw.pick(("first", "last"))
    return Part(
        f"its {which} amount in the given order",
        "amounts[0]" if which == "first" else "amounts[-1]",
        "amounts[0]" if which == "first" else "amounts[amounts.length - 1]",
        lambda v: list(v).pop(0 if which == "first" else -1),
    )


def combine_distinct(draw: Draw) -> Part:
    return Part(
        "the number of different amounts in it",
        "len(set(amounts))",
        "new Set(amounts).size",
        lambda v: sum(1 for i, n in enumerate(v) if n not in v[:i]),
    )


COMBINERS = (
    combine_sum,
    combine_sum,
    combine_count,
    combine_extreme,
    combine_mean,
    combine_range,
    combine_last,
    combine_distinct,
)


def grouped(world: World, key: Part, combine: Part) -> Step:
    def apply(pairs: Pairs) -> dict[str, int]:
        keys = [key.apply(name) for name, _ in pairs]
        return {
            k: combine.apply(
                [amount for (_, amount), other in zip(pairs, keys, strict=True) if other == k]
            )
            for k in keys
        }

    return Step(
        f"group the pairs by the {key.say.format(name=world.name)} and compute for each group {combine.say}",
        f"groups = {{}}\nfor name, amount in IT:\n    groups.setdefault({key.python}, []).append(amount)\n"
        f"OUT = {{key: {combine.python} for key, amounts in groups.items()}}",
        "const groups = new Map();\nfor (const [name, amount] of IT) {\n"
        f"  const key = {key.javascript};\n  groups.set(key, [...(groups.get(key) || []), amount]);\n}}\n"
        f"const OUT = new Map([...groups].map(([key, amounts]) => [key, {combine.javascript}]));",
        apply,
        "results",
    )


# --- selections among the groups


def groups_above(draw: Draw) -> Step:
    k = draw.between(1, 10)
    return Step(
        f"drop the groups whose result is below {k}",
        f"{{key: value for key, value in IT.items() if value >= {k}}}",
        f"new Map([...IT].filter(([, value]) => value >= {k}))",
        lambda totals: {key: value for key, value in totals.items() if not value < k},
        "remaining",
    )


def groups_above_mean(draw: Draw) -> Step:
    return Step(
        "drop the groups whose result is below the mean of all results",
        "average = sum(IT.values()) / len(IT) if IT else 0\nOUT = {key: value for key, value in IT.items() if value >= average}",
        "const average = [...IT.values()].reduce((a, b) => a + b, 0) / IT.size;\nconst OUT = new Map([...IT].filter(([, value]) => value >= average));",
        lambda totals: {
            key: value
            for key, value in totals.items()
            if value * len(totals) >= sum(totals.values())
        },
        "remaining",
    )


def groups_even(draw: Draw) -> Step:
    return Step(
        "drop the groups whose result is odd",
        "{key: value for key, value in IT.items() if value % 2 == 0}",
        "new Map([...IT].filter(([, value]) => value % 2 === 0))",
        lambda totals: {key: value for key, value in totals.items() if not value & 1},
        "remaining",
    )


def groups_not_top(draw: Draw) -> Step:
    return Step(
        "drop the groups whose result is the largest of all (there may be several)",
        "highest = max(IT.values(), default=0)\nOUT = {key: value for key, value in IT.items() if value < highest}",
        "const highest = Math.max(...IT.values());\nconst OUT = new Map([...IT].filter(([, value]) => value < highest));",
        lambda totals: {
            key: value
            for key, value in totals.items()
            if any(other > value for other in totals.values())
        },
        "remaining",
    )


GROUP_FILTERS = (groups_above, groups_above_mean, groups_even, groups_not_top)

# --- reports

Final = tuple[Step, str]


def as_mapping(draw: Draw) -> Final:
    return Step(
        "return the results with the groups as keys", "dict(IT)", "Object.fromEntries(IT)", dict
    ), "totals"


def keys_sorted(draw: Draw) -> Final:
    return Step(
        "return the names of the groups in ascending order of character codes",
        "sorted(IT)",
        "[...IT.keys()].sort()",
        lambda totals: sorted(list(totals)),
    ), "words"


def keys_ranked(draw: Draw) -> Final:
    k, down = draw.between(2, 4), draw.chance(0.6)

    def apply(totals: dict[str, int]) -> list[str]:
        ranked: list[str] = []
        for value in sorted(set(totals.values()), reverse=down):
            ranked += sorted(key for key in totals if totals[key] == value)
        return ranked[:k]

    sign = "-" if down else ""
    return (
        Step(
            f"return the names of the {k} groups with the {'largest' if down else 'smallest'} results (all if there are fewer), ordered by result, the {'largest' if down else 'smallest'} first; equal results go by name in character order",
            f"sorted(IT, key=lambda key: ({sign}IT[key], key))[:{k}]",
            f"[...IT]\n  .sort(([a, x], [b, y]) => {'y - x' if down else 'x - y'} || (a < b ? -1 : 1))\n  .slice(0, {k})\n  .map(([key]) => key)",
            apply,
        ),
        "words",
    )


def top_key(draw: Draw) -> Final:
    default = draw.pick(("", "none", "-"))
    said = "the empty string" if default == "" else f"the string {default}"
    return (
        Step(
            f"return the name of the group with the largest result, the first name in character order in case of a tie ({said} if there is no group)",
            f'min(IT, key=lambda key: (-IT[key], key), default="{default}")',
            f"[...IT].reduce((best, [key, value]) => {{\n  const better = best === null || value > best[1] || (value === best[1] && key < best[0]);\n  return better ? [key, value] : best;\n}}, null)?.[0] ?? '{default}'",
            lambda totals: (
                sorted(key for key in totals if totals[key] == max(totals.values()))[0]
                if totals
                else default
            ),
        ),
        "text",
    )


def group_total(draw: Draw) -> Final:
    return Step(
        "return the sum of all results (0 if there is no group)",
        "sum(IT.values())",
        "[...IT.values()].reduce((a, b) => a + b, 0)",
        lambda totals: sum(totals[key] for key in totals),
    ), "int"


def group_count(draw: Draw) -> Final:
    k = draw.between(3, 15)
    return Step(
        f"return how many groups have a result of at least {k}",
        f"sum(1 for value in IT.values() if value >= {k})",
        f"[...IT.values()].filter((value) => value >= {k}).length",
        lambda totals: len([1 for value in totals.values() if not value < k]),
    ), "int"


def values_sorted(draw: Draw) -> Final:
    down = draw.chance(0.5)
    return (
        Step(
            f"return the results alone, in {'descending' if down else 'ascending'} order",
            f"sorted(IT.values(){', reverse=True' if down else ''})",
            f"[...IT.values()].sort((a, b) => {'b - a' if down else 'a - b'})",
            lambda totals: sorted(totals.values())[::-1] if down else sorted(totals.values()),
        ),
        "ints",
    )


def written(draw: Draw) -> Final:
    mark, gap = draw.pick((":", "=", "->")), draw.pick((";", ",", " "))
    said = {";": "semicolons", ",": "commas", " ": "spaces"}[gap]
    return (
        Step(
            f"return one string with an item such as x{mark}3 for each group, in character order of the names, joined by {said}",
            f'"{gap}".join(f"{{key}}{mark}{{IT[key]}}" for key in sorted(IT))',
            f"[...IT.keys()].sort().map((key) => `${{key}}{mark}${{IT.get(key)}}`).join('{gap}')",
            lambda totals: gap.join(
                key + mark + str(value) for key, value in sorted(totals.items())
            ),
        ),
        "text",
    )


REPORTS = (
    as_mapping,
    as_mapping,
    keys_sorted,
    keys_ranked,
    top_key,
    group_total,
    group_count,
    values_sorted,
    written,
)
