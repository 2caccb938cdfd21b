"""Lists of integers: keep some, change them, arrange them, and boil them down."""

from __future__ import annotations

from typing import Any

from .code import BOUNDED, MANY, CodingTask, Step, task_of_steps, told_in_order
from .draw import Draw

STORIES = (
    ("A weather station notes temperatures in whole degrees.", "temperatures"),
    ("A game keeps the points of every round; they may be negative.", "points"),
    ("A lift logs by how many floors it moves, with a minus sign for down.", "moves"),
    ("An account has bookings in whole dollars, deposits positive, payments negative.", "bookings"),
    ("A sensor sends readings around zero.", "readings"),
    ("A football table lists goal differences.", "differences"),
    ("A diver's watch stores changes of depth in metres.", "changes"),
    ("A queue at a counter grows and shrinks from minute to minute.", "deltas"),
    ("", "numbers"),
    ("", "values"),
)
BOUND = f"There are {MANY} numbers, each {BOUNDED}"
VERBS = ("digest", "condense", "evaluate", "summarize", "process", "analyze", "refine", "review")


def make(draw: Draw, level: int) -> CodingTask:
    """A pipeline over a list: two stages at level 1, three at level 2, four at level 3."""
    story, name = draw.pick(STORIES)
    steps = pipeline(draw, level)
    final, returns = draw.pick(AGGREGATES)(draw)
    steps.append(final)

    def fresh() -> tuple[list[int]]:
        return (draw.integers(draw.between(4, 9), -12 - 4 * level, 20 + 10 * level),)

    edges = [
        ([],),
        ([draw.between(1, 9)],),
        ([0, 0],),
        ([7] * draw.between(2, 4),),
        ([-draw.between(1, 9), 0, draw.between(2, 8)],),
    ]
    return task_of_steps(
        draw,
        steps,
        name=f"{draw.pick(VERBS)}_{name}",
        param=(name, "ints"),
        returns=returns,
        story=story,
        rules=(draw.pick(EMPTY_RULES).format(name=name, bound=BOUND),),
        plan=(
            *told_in_order(steps, last="In the end"),
            "Each stage makes one new value and leaves the input as it was.",
        ),
        edges=edges,
        fresh=fresh,
    )


EMPTY_RULES = (
    "`{name}` may be empty. {bound}.",
    "An empty `{name}` is allowed; the same steps apply to it. {bound}.",
    "Be ready for an empty `{name}`. {bound}.",
)


def pipeline(draw: Draw, level: int) -> list[Step]:
    keep, change = draw.pick(FILTERS)(draw), draw.pick(CHANGES)(draw)
    if level == 1:
        return [draw.pick((keep, change))]
    pair = [keep, change] if draw.chance(0.6) else [change, keep]
    return pair if level == 2 else [*pair, draw.pick(ARRANGEMENTS)(draw)]


# --- stages that keep some of the numbers


def keeping(say: str, python: str, javascript: str, test: Any) -> Step:
    return Step(
        f"keep only the numbers that {say}",
        f"[n for n in IT if {python}]",
        f"IT.filter((n) => {javascript})",
        lambda values: list(filter(test, values)),
        "kept",
    )


def keep_multiples(draw: Draw) -> Step:
    k = draw.between(2, 5)
    return keeping(
        f"are divisible by {k}",
        f"n % {k} == 0",
        f"n % {k} === 0",
        lambda n: n == k * (n // k),
    )


def keep_non_multiples(draw: Draw) -> Step:
    k = draw.between(2, 5)
    return keeping(
        f"are not divisible by {k}",
        f"n % {k} != 0",
        f"n % {k} !== 0",
        lambda n: n != k * (n // k),
    )


def keep_above(draw: Draw) -> Step:
    k = draw.between(-6, 8)
    return keeping(f"are greater than {k}", f"n > {k}", f"n > {k}", lambda n: not n <= k)


def keep_below(draw: Draw) -> Step:
    k = draw.between(-2, 15)
    return keeping(f"are less than {k}", f"n < {k}", f"n < {k}", lambda n: not n >= k)


def keep_between(draw: Draw) -> Step:
    low = draw.between(-10, 2)
    high = low + draw.between(6, 20)
    return keeping(
        f"lie between {low} and {high}, both included",
        f"{low} <= n <= {high}",
        f"n >= {low} && n <= {high}",
        lambda n: n in range(low, high + 1),
    )


def keep_outside(draw: Draw) -> Step:
    low = draw.between(-6, 0)
    high = low + draw.between(4, 9)
    return keeping(
        f"are smaller than {low} or larger than {high}",
        f"n < {low} or n > {high}",
        f"n < {low} || n > {high}",
        lambda n: n not in range(low, high + 1),
    )


def keep_last_digit(draw: Draw) -> Step:
    low = draw.between(3, 7)
    return keeping(
        f"end in a decimal digit of at least {low} (ignore the sign)",
        f"abs(n) % 10 >= {low}",
        f"Math.abs(n) % 10 >= {low}",
        lambda n: int(str(n)[-1]) >= low,
    )


def keep_remainder(draw: Draw) -> Step:
    m = draw.between(3, 6)
    r = draw.between(1, m - 1)
    return keeping(
        f"leave the remainder {r} on division by {m} (remainders run from 0 to {m - 1}, also for negative numbers)",
        f"n % {m} == {r}",
        f"((n % {m}) + {m}) % {m} === {r}",
        lambda n: n - r == m * ((n - r) // m),
    )


def keep_positions(draw: Draw) -> Step:
    m = draw.between(2, 3)
    r = draw.between(0, m - 1)
    return Step(
        f"keep only the numbers whose position (counted from 0) leaves the remainder {r} on division by {m}",
        f"IT[{r}::{m}]",
        f"IT.filter((_, i) => i % {m} === {r})",
        lambda values: [value for index, value in enumerate(values) if index % m == r],
        "chosen",
    )


def keep_above_first(draw: Draw) -> Step:
    strict = draw.chance(0.5)
    return Step(
        f"keep only the numbers that are {'greater than' if strict else 'at least as large as'} the first one",
        f"[n for n in IT if n {'>' if strict else '>='} IT[0]]",
        f"IT.filter((n, _, all) => n {'>' if strict else '>='} all[0])",
        lambda values: [n for n in values if (n - values[0] > 0 if strict else n - values[0] >= 0)],
        "kept",
    )


def keep_until(draw: Draw) -> Step:
    k = draw.between(12, 25)

    def apply(values: list[int]) -> list[int]:
        stop = next((i for i, n in enumerate(values) if n > k), len(values))
        return values[:stop]

    return Step(
        f"keep only the numbers before the first one that exceeds {k} (all of them if none does)",
        f"OUT = []\nfor n in IT:\n    if n > {k}:\n        break\n    OUT.append(n)",
        f"const stop = IT.findIndex((n) => n > {k});\nconst OUT = stop === -1 ? IT.slice() : IT.slice(0, stop);",
        apply,
        "leading",
    )


FILTERS = (
    *(keep_multiples, keep_non_multiples, keep_above, keep_below, keep_between, keep_outside),
    *(keep_last_digit, keep_remainder, keep_positions, keep_above_first, keep_until),
)

# --- stages that change each number


def changing(say: str, python: str, javascript: str, change: Any, out: str = "changed") -> Step:
    return Step(
        f"replace each number {say}",
        f"[{python} for n in IT]",
        f"IT.map((n) => {javascript})",
        lambda values: [change(n) for n in values],
        out,
    )


def change_square(draw: Draw) -> Step:
    return changing("by its square", "n * n", "n * n", lambda n: n**2, "squares")


def change_scale(draw: Draw) -> Step:
    k, c = draw.between(2, 5), draw.nonzero(-6, 6)
    sign = "+" if c > 0 else "-"
    verb = "plus" if c > 0 else "minus"
    expression = f"{k} * n {sign} {abs(c)}"
    return changing(
        f"by {k} times the number {verb} {abs(c)}",
        expression,
        expression,
        lambda n: sum([n] * k) + c,
        "scaled",
    )


def change_abs(draw: Draw) -> Step:
    return changing(
        "by its absolute value", "abs(n)", "Math.abs(n)", lambda n: max(n, 0 - n), "sizes"
    )


def change_digit_sum(draw: Draw) -> Step:
    return changing(
        "by the sum of its decimal digits (ignore the sign)",
        "sum(int(digit) for digit in str(abs(n)))",
        "[...String(Math.abs(n))].reduce((total, digit) => total + Number(digit), 0)",
        lambda n: sum(abs(n) // 10**p % 10 for p in range(12)),
        "digit_sums",
    )


def change_clamp(draw: Draw) -> Step:
    low = draw.between(-8, 0)
    high = low + draw.between(8, 18)
    return changing(
        f"by the nearest number in the range from {low} to {high} (numbers inside it stay)",
        f"min(max(n, {low}), {high})",
        f"Math.min(Math.max(n, {low}), {high})",
        lambda n: sorted((low, n, high))[1],
        "clamped",
    )


def change_halve(draw: Draw) -> Step:
    k = draw.between(2, 4)
    return changing(
        f"by the number divided by {k}, rounded down (towards minus infinity)",
        f"n // {k}",
        f"Math.floor(n / {k})",
        lambda n: (n - n % k) // k,
        "quotients",
    )


def change_modulo(draw: Draw) -> Step:
    k = draw.between(3, 9)
    return changing(
        f"by its non-negative remainder on division by {k}",
        f"n % {k}",
        f"((n % {k}) + {k}) % {k}",
        lambda n: n - k * (n // k),
        "remainders",
    )


def change_parity(draw: Draw) -> Step:
    c, k = draw.between(1, 6), draw.between(2, 4)
    return changing(
        f"as follows: an even number becomes {k} times as large, to an odd number {c} is added",
        f"n * {k} if n % 2 == 0 else n + {c}",
        f"n % 2 === 0 ? n * {k} : n + {c}",
        lambda n: n + c if n & 1 else n * k,
        "adjusted",
    )


def change_distance(draw: Draw) -> Step:
    k = draw.nonzero(-6, 12)
    inside = f"n - {k}" if k > 0 else f"n + {-k}"
    return changing(
        f"by its distance from {k}",
        f"abs({inside})",
        f"Math.abs({inside})",
        lambda n: max(n, k) - min(n, k),
        "distances",
    )


def change_position(draw: Draw) -> Step:
    add = draw.chance(0.5)
    op, say = ("+", "plus") if add else ("*", "times")
    return Step(
        f"replace each number by the number {say} its position (positions start at 1)",
        f"[n {op} position for position, n in enumerate(IT, 1)]",
        f"IT.map((n, i) => n {op} (i + 1))",
        lambda values: [
            values[i] + i + 1 if add else values[i] * (i + 1) for i in range(len(values))
        ],
        "weighted",
    )


CHANGES = (
    *(change_square, change_scale, change_abs, change_digit_sum, change_clamp),
    *(change_halve, change_modulo, change_parity, change_distance, change_position),
)

# --- stages that arrange the list


def sort_up(draw: Draw) -> Step:
    return Step(
        "sort what you have in ascending order",
        "sorted(IT)",
        "IT.slice().sort((a, b) => a - b)",
        sorted,
        "ordered",
    )


def sort_down(draw: Draw) -> Step:
    return Step(
        "sort what you have in descending order",
        "sorted(IT, reverse=True)",
        "IT.slice().sort((a, b) => b - a)",
        lambda values: sorted(values)[::-1],
        "ordered",
    )


def drop_repeats(draw: Draw) -> Step:
    def apply(values: list[int]) -> list[int]:
        return [n for i, n in enumerate(values) if n not in values[:i]]

    return Step(
        "remove repeated numbers, keeping the first occurrence of each",
        "list(dict.fromkeys(IT))",
        "[...new Set(IT)]",
        apply,
        "unique",
    )


def running_sums(draw: Draw) -> Step:
    return Step(
        "replace the list by its running sums (each entry is the sum of all numbers up to there)",
        "list(accumulate(IT))",
        "const OUT = [];\nlet total = 0;\nfor (const n of IT) {\n  total += n;\n  OUT.push(total);\n}",
        lambda values: [sum(values[: i + 1]) for i in range(len(values))],
        "sums",
        head_python="from itertools import accumulate",
    )


def gaps(draw: Draw) -> Step:
    return Step(
        "replace the list by the differences of neighbours (each later number minus the one before it)",
        "[b - a for a, b in zip(IT, IT[1:])]",
        "IT.slice(1).map((n, i) => n - IT[i])",
        lambda values: [values[i] - values[i - 1] for i in range(1, len(values))],
        "gaps",
    )


def rotate(draw: Draw) -> Step:
    k = draw.between(1, 3)
    return Step(
        f"move the first {'number' if k == 1 else f'{k} numbers'} to the end, in the same order (a shorter list stays as it is)",
        f"IT[{k}:] + IT[:{k}]",
        f"[...IT.slice({k}), ...IT.slice(0, {k})]",
        lambda values: (
            [values[(i + k) % len(values)] for i in range(len(values))]
            if len(values) > k
            else values
        ),
        "rotated",
    )


def windows(draw: Draw) -> Step:
    k = draw.between(2, 3)
    return Step(
        f"replace the list by the sums of every {k} neighbouring numbers (an empty list if there are fewer than {k})",
        f"[sum(IT[i : i + {k}]) for i in range(len(IT) - {k - 1})]",
        f"IT.slice({k - 1}).map((_, i) => IT.slice(i, i + {k}).reduce((a, b) => a + b, 0))",
        lambda values: [sum(group) for group in zip(*(values[i:] for i in range(k)), strict=False)],
        "window_sums",
    )


def backwards(draw: Draw) -> Step:
    return Step(
        "reverse the order",
        "IT[::-1]",
        "IT.slice().reverse()",
        lambda values: list(reversed(values)),
        "reversed_list",
    )


def peaks_so_far(draw: Draw) -> Step:
    return Step(
        "keep only the numbers that are larger than everything before them (the first one always stays)",
        "OUT = []\nfor n in IT:\n    if not OUT or n > OUT[-1]:\n        OUT.append(n)",
        "const OUT = [];\nfor (const n of IT) {\n  if (OUT.length === 0 || n > OUT[OUT.length - 1]) OUT.push(n);\n}",
        lambda values: [n for i, n in enumerate(values) if all(n > m for m in values[:i])],
        "records",
    )


ARRANGEMENTS = (
    sort_up,
    sort_down,
    drop_repeats,
    running_sums,
    gaps,
    rotate,
    windows,
    backwards,
    peaks_so_far,
)

# --- the last stage


def total(draw: Draw) -> tuple[Step, str]:
    return Step(
        "return the sum of the numbers (0 for none)",
        "sum(IT)",
        "IT.reduce((total, n) => total + n, 0)",
        sum,
    ), "int"


def count(draw: Draw) -> tuple[Step, str]:
    k = draw.between(0, 8)
    return (
        Step(
            f"return how many of the numbers are at least {k}",
            f"sum(1 for n in IT if n >= {k})",
            f"IT.filter((n) => n >= {k}).length",
            lambda values: len([n for n in values if not n < k]),
        ),
        "int",
    )


def whole(draw: Draw) -> tuple[Step, str]:
    k = draw.between(3, 5)
    return (
        Step(
            f"return the last {k} numbers as a list (all of them if there are fewer)",
            f"IT[-{k}:]",
            f"IT.slice(-{k})",
            lambda values: values[max(0, len(values) - k) :],
        ),
        "ints",
    )


def spread(draw: Draw) -> tuple[Step, str]:
    return (
        Step(
            "return the difference between the largest and the smallest number (0 for none)",
            "max(IT) - min(IT) if IT else 0",
            "IT.length === 0 ? 0 : Math.max(...IT) - Math.min(...IT)",
            lambda values: sorted(values)[-1] - sorted(values)[0] if values else 0,
        ),
        "int",
    )


def extreme(draw: Draw) -> tuple[Step, str]:
    default, kind = draw.pick((-1, 0, 100)), draw.pick(("max", "min"))
    word = "largest" if kind == "max" else "smallest"
    return (
        Step(
            f"return the {word} number ({default} if there is none)",
            f"{kind}(IT, default={default})",
            f"IT.length === 0 ? {default} : Math.{kind}(...IT)",
            lambda values: sorted(values)[-1 if kind == "max" else 0] if values else default,
        ),
        "int",
    )


def alternating(draw: Draw) -> tuple[Step, str]:
    return (
        Step(
            "return the alternating sum: the first number minus the second plus the third, and so on (0 for none)",
            "sum(IT[::2]) - sum(IT[1::2])",
            "IT.reduce((total, n, i) => (i % 2 === 0 ? total + n : total - n), 0)",
            lambda values: sum(n * (-1) ** i for i, n in enumerate(values)),
        ),
        "int",
    )


def longest_rise(draw: Draw) -> tuple[Step, str]:
    def apply(values: list[int]) -> int:
        spans = [
            j - i
            for i in range(len(values))
            for j in range(i + 1, len(values) + 1)
            if all(values[k] < values[k + 1] for k in range(i, j - 1))
        ]
        return max(spans, default=0)

    python = (
        "OUT = run = 0\nprevious = None\nfor n in IT:\n    run = run + 1 if previous is not None and n > previous else 1\n"
        "    OUT = max(OUT, run)\n    previous = n"
    )
    javascript = (
        "let OUT = 0;\nlet run = 0;\nIT.forEach((n, i, all) => {\n  run = i > 0 && n > all[i - 1] ? run + 1 : 1;\n"
        "  OUT = Math.max(OUT, run);\n});"
    )
    return Step(
        "return the length of the longest stretch of neighbours that strictly increases (0 for an empty list)",
        python,
        javascript,
        apply,
        "best",
    ), "int"


def pairs(draw: Draw) -> tuple[Step, str]:
    k = draw.between(1, 5)

    def apply(values: list[int]) -> int:
        return len(
            [1 for i in range(len(values) - 1) if values[i] - values[i + 1] in range(-k, k + 1)]
        )

    return (
        Step(
            f"return the number of neighbouring pairs that differ by at most {k}",
            f"sum(1 for a, b in zip(IT, IT[1:]) if abs(a - b) <= {k})",
            f"IT.slice(1).filter((n, i) => Math.abs(n - IT[i]) <= {k}).length",
            apply,
        ),
        "int",
    )


def most_common(draw: Draw) -> tuple[Step, str]:
    smallest = draw.chance(0.5)
    tie = "smallest" if smallest else "largest"

    def apply(values: list[int]) -> int:
        best = max((values.count(n) for n in values), default=0)
        tied = sorted(n for n in values if values.count(n) == best)
        return (tied[0] if smallest else tied[-1]) if tied else 0

    key = "(counts[n], -n)" if smallest else "(counts[n], n)"
    return (
        Step(
            f"return the most frequent number, the {tie} one in case of a tie (0 for none)",
            f"counts = Counter(IT)\nOUT = max(counts, key=lambda n: {key}, default=0)",
            "const counts = new Map();\nfor (const n of IT) counts.set(n, (counts.get(n) || 0) + 1);\n"
            f"const ranked = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || {'a - b' if smallest else 'b - a'});\n"
            "const OUT = ranked.length === 0 ? 0 : ranked[0];",
            apply,
            "winner",
            head_python="from collections import Counter",
        ),
        "int",
    )


def median(draw: Draw) -> tuple[Step, str]:
    def apply(values: list[int]) -> int:
        rest = sorted(values)
        while len(rest) > 2:
            rest = rest[1:-1]
        return rest[0] if rest else 0

    return (
        Step(
            "return the lower median: the middle number in sorted order, the smaller of the two middle ones for an even count (0 for none)",
            "in_order = sorted(IT)\nOUT = in_order[(len(in_order) - 1) // 2] if in_order else 0",
            "const inOrder = IT.slice().sort((a, b) => a - b);\n"
            "const OUT = inOrder.length === 0 ? 0 : inOrder[Math.floor((inOrder.length - 1) / 2)];",
            apply,
            "middle",
        ),
        "int",
    )


def every(draw: Draw) -> tuple[Step, str]:
    k = draw.between(-4, 12)
    return (
        Step(
            f"return whether every number is greater than {k} (true for an empty list)",
            f"all(n > {k} for n in IT)",
            f"IT.every((n) => n > {k})",
            lambda values: not any(n <= k for n in values),
        ),
        "flag",
    )


def polynomial_hash(draw: Draw) -> tuple[Step, str]:
    base, m = draw.between(3, 9), draw.pick((97, 101, 1000, 997))

    def apply(values: list[int]) -> int:
        powers = [pow(base, len(values) - 1 - i, m) for i in range(len(values))]
        return sum(n * power for n, power in zip(values, powers, strict=True)) % m

    python = f"OUT = 0\nfor n in IT:\n    OUT = (OUT * {base} + n) % {m}"
    javascript = f"let OUT = 0;\nfor (const n of IT) {{\n  OUT = (((OUT * {base} + n) % {m}) + {m}) % {m};\n}}"
    say = f"return a checksum: start with 0, and for each number multiply by {base}, add the number and take the non-negative remainder on division by {m}"
    return Step(say, python, javascript, apply, "checksum"), "int"


AGGREGATES = (
    *(total, count, whole, spread, extreme, alternating, longest_rise),
    *(pairs, most_common, median, every, polynomial_hash),
)
