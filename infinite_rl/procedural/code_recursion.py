"""Recursion and dynamic programming; the references try everything out on small inputs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

from .code import BOUNDED, CodingTask, telling_inputs
from .draw import Draw
from .wording import listing


def make(draw: Draw, level: int) -> CodingTask:
    """A counting, optimizing or nesting problem of level 1 to 3."""
    kinds = (climb, recurrence, nested, subset, chain, coins, paths)
    return draw.pick(kinds[: 3 if level == 1 else 7])(draw, level)


# --- ways to reach a number by steps

CLIMB_STORIES = (
    ("A robot climbs a staircase.", "stair", "climbs"),
    ("A frog jumps from stone to stone across a river.", "stone", "jumps"),
    ("A token moves along a straight track of fields.", "field", "moves"),
    ("A lift for parcels stops only at certain floors.", "floor", "rides up"),
)


def climb(draw: Draw, level: int) -> CodingTask:
    story, place, verb = draw.pick(CLIMB_STORIES)
    sizes = sorted(draw.some((1, 2, 3, 4, 5), 1 + level if level < 3 else draw.between(2, 4)))
    bad = draw.between(3, 5) if level > 1 and draw.chance(0.7) else 0
    no_repeat = level == 3 and draw.chance(0.5)
    modulus = draw.pick((7, 10, 97)) if level > 1 and draw.chance(0.3) else 0

    def ways(n: int, at: int = 0, last: int = 0) -> int:
        if at == n:
            return 1
        return sum(
            ways(n, at + s, s)
            for s in sizes
            if at + s <= n
            and not (bad and (at + s) % bad == 0 and at + s != n)
            and not (no_repeat and s == last)
        )

    def reference(n: int) -> int:
        return ways(n) % modulus if modulus else ways(n)

    python, javascript = climb_code(sizes, bad, no_repeat, modulus)
    limits = (
        [
            f"never stopping on a {place} whose number is divisible by {bad} (except the last one, `n`)"
        ]
        if bad
        else []
    )
    limits += ["never making two moves of the same size in a row"] if no_repeat else []
    return CodingTask(
        name=draw.pick(("count_ways", "number_of_ways", "count_climbs", "ways_to_reach")),
        params=(("n", "int"),),
        returns="int",
        story=f"{story} It starts at {place} 0 and {verb} by {listing(sizes, 'or')} at a time.",
        says=(
            f"return the number of different sequences of moves that end exactly at {place} `n`"
            + (f", {' and '.join(limits)}" if limits else "")
            + (f"; give only its remainder on division by {modulus}" if modulus else ""),
        ),
        rules=(
            "The order of the moves matters.",
            "For `n` = 0, the least value of `n`, there is one sequence: the empty one. The largest `n` is 40.",
        ),
        plan=(
            f"The number of ways to stand on a {place} is the sum of the ways to stand where the last move began.",
            "Remembering the position and the size of the last move avoids repeated work."
            if no_repeat
            else "A table from 0 to n holds the counts, so every entry is computed once.",
            "The starting point has one way, which also covers n = 0.",
        ),
        python=python,
        javascript=javascript,
        reference=reference,
        inputs=telling_inputs(draw, reference, [(0,), (1,), (2,)], lambda: (draw.between(3, 14),)),
        head_python="from functools import cache" if no_repeat else "",
    )


def climb_code(sizes: list[int], bad: int, no_repeat: bool, modulus: int) -> tuple[str, str]:
    """The bodies in both languages; `bad` and `modulus` are 0 where there is none."""
    ends = f" % {modulus}" if modulus else ""
    block = f" and (i % {bad} != 0 or i == n)" if bad else ""
    js_block = f" && (i % {bad} !== 0 || i === n)" if bad else ""
    js_sizes, py_sizes = f"[{', '.join(map(str, sizes))}]", f"({', '.join(map(str, sizes))})"
    if no_repeat:
        allowed = f"total <= n and size != last{f' and (total % {bad} != 0 or total == n)' if bad else ''}"
        js_allowed = f"total <= n && size !== last{f' && (total % {bad} !== 0 || total === n)' if bad else ''}"
        python = (
            f"@cache\ndef ways(at: int, last: int) -> int:\n    if at == n:\n        return 1\n    count = 0\n    for size in {py_sizes}:\n"
            f"        total = at + size\n        if {allowed}:\n            count += ways(total, size)\n    return count\n\nreturn ways(0, 0){ends}"
        )
        javascript = (
            f"const known = new Map();\nfunction ways(at, last) {{\n  if (at === n) return 1;\n  const key = `${{at}},${{last}}`;\n  if (known.has(key)) return known.get(key);\n  let count = 0;\n"
            f"  for (const size of {js_sizes}) {{\n    const total = at + size;\n    if ({js_allowed}) count += ways(total, size);\n  }}\n  known.set(key, count);\n  return count;\n}}\nreturn ways(0, 0){ends};"
        )
    else:
        python = f"ways = [1] + [0] * n\nfor i in range(1, n + 1):\n    for size in {py_sizes}:\n        if size <= i{block}:\n            ways[i] += ways[i - size]\nreturn ways[n]{ends}"
        javascript = f"const ways = new Array(n + 1).fill(0);\nways[0] = 1;\nfor (let i = 1; i <= n; i += 1) {{\n  for (const size of {js_sizes}) {{\n    if (size <= i{js_block}) ways[i] += ways[i - size];\n  }}\n}}\nreturn ways[n]{ends};"
    return python, javascript


# --- a recurrence


# What is wanted of the sequence: words, Python, JavaScript, kind.
WANTED_TERMS = {
    "term": ("return f(n)", "terms[n]", "terms[n]", "int"),
    "sum": (
        "return the sum f(0) + f(1) + ... + f(n)",
        "sum(terms[: n + 1])",
        "terms.slice(0, n + 1).reduce((total, value) => total + value, 0)",
        "int",
    ),
    "list": (
        "return all values f(0), f(1), ..., f(n) in a list",
        "terms[: n + 1]",
        "terms.slice(0, n + 1)",
        "ints",
    ),
}


def recurrence(draw: Draw, level: int) -> CodingTask:
    a, b, c = draw.between(1, 3), draw.between(1, 3), draw.between(0, 5)
    f0, f1, m = draw.between(0, 5), draw.between(1, 6), draw.pick((10, 50, 97, 100, 1000))
    split = level > 1
    k = draw.between(2, 4)
    extra = draw.between(1, 9)
    wants = draw.pick(("term", "sum", "list")[: 1 + level])

    def terms(n: int) -> list[int]:
        return [term(i) for i in range(n + 1)]

    def term(i: int) -> int:
        if i < 2:
            return (f0, f1)[i]
        if split and i % k == 0:
            return (term(i - 1) + extra) % m
        return (a * term(i - 1) + b * term(i - 2) + c) % m

    def reference(n: int) -> Any:
        return {"term": terms(n)[-1], "sum": sum(terms(n)), "list": terms(n)}[wants]

    first = "f(n - 1)" if a == 1 else f"{a} f(n - 1)"
    second = "f(n - 2)" if b == 1 else f"{b} f(n - 2)"
    rule = f"f(n) is the remainder of {first} + {second}{f' + {c}' if c else ''} on division by {m}"
    if split:
        rule += f", but for n divisible by {k} it is the remainder of f(n - 1) + {extra} on division by {m}"
    main = f"({'' if a == 1 else f'{a} * '}NEW + {'' if b == 1 else f'{b} * '}OLD{f' + {c}' if c else ''}) % {m}"
    start, js_start = terms_code((f0, f1), main, k if split else 0, extra, m)
    say, py_end, js_end, kind = WANTED_TERMS[wants]
    return CodingTask(
        name=draw.pick(("sequence_value", "recurrence", "evaluate_sequence", "next_terms")),
        params=(("n", "int"),),
        returns=kind,
        story=draw.pick(
            (
                "A sequence is defined by a rule.",
                "The values of f build on the two values before them.",
                "A counter in a game follows a recurrence.",
                "",
            )
        ),
        says=(
            f"use the values f(0) = {f0} and f(1) = {f1} and, for n of at least 2, this rule: {rule}",
            say,
        ),
        rules=("`n` is a non-negative integer of at most 1000.",),
        plan=(
            "Plain recursion would compute the same values again and again, so we build the list of terms from the start.",
            f"The first two terms are {f0} and {f1}; every further one follows from the two before it.",
            f"In the end we {say}.",
        ),
        python=f"{start}return {py_end}",
        javascript=f"{js_start}return {js_end};",
        reference=reference,
        inputs=telling_inputs(draw, reference, [(0,), (1,), (2,)], lambda: (draw.between(3, 15),)),
    )


def terms_code(
    first_two: tuple[int, int], main: str, k: int, extra: int, m: int
) -> tuple[str, str]:
    """The lines that compute all terms, in both languages; `k` is 0 for one rule throughout."""
    py_main = main.replace("NEW", "terms[-1]").replace("OLD", "terms[-2]")
    js_main = main.replace("NEW", "terms[i - 1]").replace("OLD", "terms[i - 2]")
    py_body = f"        terms.append((terms[-1] + {extra}) % {m})\n    else:\n        terms.append({py_main})"
    python_loop = f"    if i % {k} == 0:\n{py_body}" if k else f"    terms.append({py_main})"
    js_loop = (
        f"  terms.push(i % {k} === 0 ? (terms[i - 1] + {extra}) % {m} : {js_main});"
        if k
        else f"  terms.push({js_main});"
    )
    variable = "i" if k else "_"
    python = f"terms = {list(first_two)}\nfor {variable} in range(2, n + 1):\n{python_loop}\n"
    javascript = (
        f"const terms = {list(first_two)};\nfor (let i = 2; i <= n; i += 1) {{\n{js_loop}\n}}\n"
    )
    return python, javascript


# --- nested lists


def flat(tree: Any, depth: int = 1) -> list[tuple[int, int]]:
    """Every number of a nested list with its depth."""
    return [
        pair
        for item in tree
        for pair in (flat(item, depth + 1) if isinstance(item, list) else [(item, depth)])
    ]


def random_tree(draw: Draw, depth: int) -> list[Any]:
    return [
        random_tree(draw, depth - 1) if depth > 1 and draw.chance(0.4) else draw.between(-4, 12)
        for _ in range(draw.between(1, 4))
    ]


NESTED_STORIES = (
    ("Folders hold files and further folders; a number is the size of a file.", "folder"),
    ("Boxes contain weights and smaller boxes.", "box"),
    ("An outline has numbers at several levels.", "outline"),
    ("", "tree"),
    ("", "items"),
)


# Words, Python test, JavaScript test, reference: of a number and the parameter k.
NESTED_TESTS: tuple[tuple[str, str, str, Callable[[int, int], bool]], ...] = (
    ("numbers", "", "", lambda n, k: True),
    ("numbers greater than {k}", "item > {k}", "item > {k}", lambda n, k: n > k),
    ("even numbers", "item % 2 == 0", "item % 2 === 0", lambda n, k: not n & 1),
    ("odd numbers", "item % 2 == 1", "item % 2 !== 0", lambda n, k: bool(n & 1)),
    ("negative numbers", "item < 0", "item < 0", lambda n, k: n < 0),
)
# Words, what a number counts for, reference: of a number, its depth and the parameter k.
NESTED_WEIGHTS: tuple[tuple[str, str, Callable[[int, int, int], int]], ...] = (
    ("the sum of all {said} at any depth", "item", lambda n, d, k: n),
    ("how many {said} there are at any depth", "1", lambda n, d, k: 1),
    ("the sum of all {said}, each multiplied by its depth", "item * depth", lambda n, d, k: n * d),
    ("the sum of the depths of all {said}", "depth", lambda n, d, k: d),
    (
        "the sum of all {said}, each increased by {k} times its depth",
        "item + {k} * depth",
        lambda n, d, k: n + k * d,
    ),
)


def nested(draw: Draw, level: int) -> CodingTask:
    story, name = draw.pick(NESTED_STORIES)
    k = draw.between(1, 6)
    said, py_test, js_test, test = draw.pick(NESTED_TESTS)
    goal, worth, weight = draw.pick(NESTED_WEIGHTS)
    py_test, js_test, py_weight = (text.format(k=k) for text in (py_test, js_test, worth))
    say = goal.format(said=said.format(k=k), k=k)
    limit = draw.between(2, 3) if level > 1 and draw.chance(0.6) else 0
    flips = level > 2 and draw.chance(0.5)

    def reference(tree: list[Any]) -> int:
        return sum(
            (-1) ** (d - 1 if flips else 0) * weight(n, d, k)
            for n, d in flat(tree)
            if test(n, k) and (not limit or d <= limit)
        )

    uses_depth = "depth" in py_weight or limit > 0 or flips
    python, javascript = walk_code((py_test, js_test), py_weight, limit, flips, uses_depth)
    first = ", 1" if uses_depth else ""
    more = [f"Numbers deeper than depth {limit} are ignored."] if limit else []
    if flips:
        more.append(
            "Contributions at even depths are subtracted, those at odd depths are added."
            " So depth 1 adds, depth 2 subtracts, depth 3 adds again."
        )
    return CodingTask(
        name=draw.pick(("weigh", "walk", "evaluate", "total", "measure")) + f"_{name}",
        params=((name, "nested"),),
        returns="int",
        story=story,
        says=(f"return {say}",),
        rules=(
            "A number directly in the outer list has depth 1; each list around it adds 1.",
            *more,
            f"Lists may be empty, also inside others. All numbers lie {BOUNDED}.",
        ),
        plan=(
            "The structure is recursive, so the function that walks through it is, too.",
            "For an inner list it calls itself; a number is judged on the spot.",
            *(
                ["The inner result is subtracted, which turns the sign at each level."]
                if flips
                else []
            ),
            "Every number is visited once.",
        ),
        python=f"return walk({name}{first})",
        javascript=f"return walk({name}{first});",
        reference=reference,
        inputs=telling_inputs(
            draw,
            reference,
            [([],), ([[]],), ([3],), ([[2], [[4]]],)],
            lambda: (random_tree(draw, 2 + level),),
        ),
        head_python=python,
        head_javascript=javascript,
    )


def walk_code(
    tests: tuple[str, str], weight: str, limit: int, flips: bool, uses_depth: bool
) -> tuple[str, str]:
    """The walk in both languages; `limit` is 0 where there is none.

    A walk that subtracts its inner walks flips the sign once with every level.
    """
    py_test, js_test = tests
    deeper = "walk(item, depth + 1)" if uses_depth else "walk(item)"
    head, js_head = (
        ("def walk(items: list, depth: int) -> int:", "function walk(items, depth) {")
        if uses_depth
        else ("def walk(items: list) -> int:", "function walk(items) {")
    )
    sign = "-" if flips else "+"
    cut = f"    if depth > {limit}:\n        return 0\n" if limit else ""
    js_cut = f"  if (depth > {limit}) return 0;\n" if limit else ""
    branch = f"elif {py_test}:" if py_test else "else:"
    js_branch = f" else if ({js_test}) {{" if js_test else " else {"
    python = f"{head}\n{cut}    total = 0\n    for item in items:\n        if isinstance(item, list):\n            total {sign}= {deeper}\n        {branch}\n            total += {weight}\n    return total"
    javascript = f"{js_head}\n{js_cut}  let total = 0;\n  for (const item of items) {{\n    if (Array.isArray(item)) {{\n      total {sign}= {deeper};\n    }}{js_branch}\n      total += {weight};\n    }}\n  }}\n  return total;\n}}"
    return python, javascript


# --- best choice without neighbours


def subset(draw: Draw, level: int) -> CodingTask:
    gap = draw.between(1, level)
    fee = draw.between(1, 4) if level > 2 and draw.chance(0.5) else 0
    story, name = draw.pick(
        (
            ("Houses in a row hold some treasure.", "treasure"),
            ("A photographer is offered jobs on consecutive days.", "fees"),
            ("Lamps in a row give points when lit.", "lamps"),
            ("", "values"),
        )
    )

    def reference(values: list[int]) -> int:
        best = 0
        for size in range(len(values) + 1):
            for places in combinations(range(len(values)), size):
                if all(b - a > gap for a, b in zip(places, places[1:], strict=False)):
                    best = max(best, sum(values[i] - fee for i in places))
        return best

    cost = f" - {fee}" if fee else ""
    back = gap + 1
    return CodingTask(
        name=draw.pick(("best_choice", "largest_total", "best_selection", "pick_values")),
        params=((name, "ints"),),
        returns="int",
        story=story,
        says=(
            f"choose any entries of `{name}`, none included, such that between two chosen ones there {'is' if gap == 1 else 'are'} always at least {gap} that {'is' if gap == 1 else 'are'} not chosen",
            *([f"count each chosen entry with its value minus {fee}"] if fee else []),
            "return the largest possible sum of the chosen entries"
            + (" after these deductions" if fee else ""),
        ),
        rules=(
            f"Entries may be negative; all lie {BOUNDED}.",
            "Choosing nothing gives the sum 0.",
        ),
        plan=(
            "Let best[i] be the largest sum that uses only the first i entries.",
            f"The i-th entry is either left out, or taken together with the best of what lies more than {gap} places before it.",
            "The last element of the table is the result.",
        ),
        python=f"best = [0]\nfor i, value in enumerate({name}):\n    before = best[max(i - {gap}, 0)]\n    best.append(max(best[-1], before + value{cost}))\nreturn best[-1]",
        javascript=f"const best = [0];\n{name}.forEach((value, i) => {{\n  const before = best[Math.max(i - {gap}, 0)];\n  best.push(Math.max(best[i], before + value{cost}));\n}});\nreturn best[best.length - 1];",
        reference=reference,
        inputs=telling_inputs(
            draw,
            reference,
            [([],), ([-3],), ([5],), ([4] * (back + 1),)],
            lambda: (draw.integers(draw.between(4, 8), -4, 20),),
        ),
    )


# --- longest subsequence


def chain_rules(k: int) -> tuple[tuple[str, str, Callable[[int, int], bool]], ...]:
    """What an entry `b` must be to its predecessor `a`: words, Python test, reference."""
    return (
        ("is greater than the one before it", "b > a", lambda a, b: b > a),
        ("is at least as large as the one before it", "b >= a", lambda a, b: not b < a),
        (
            f"is larger than the one before it by at least {k + 1}",
            f"b - a >= {k + 1}",
            lambda a, b: b >= a + k + 1,
        ),
        (
            f"differs from the one before it by at most {k}",
            f"abs(b - a) <= {k}",
            lambda a, b: a - k <= b <= a + k,
        ),
        (
            "has another parity than the one before it (even and odd take turns)",
            "(b - a) % 2 != 0",
            lambda a, b: (a + b) % 2 == 1,
        ),
        (
            "is a proper multiple of the one before it",
            "b > a and b % a == 0",
            lambda a, b: b in range(2 * a, 400, a),
        ),
    )


def chain(draw: Draw, level: int) -> CodingTask:
    k = draw.between(1, 4)
    say, python_test, holds = draw.pick(chain_rules(k))
    javascript_test = (
        python_test.replace("abs(", "Math.abs(")
        .replace(" and ", " && ")
        .replace("==", "===")
        .replace("!=", "!==")
    )
    by_sum = draw.chance(0.4)

    def reference(values: list[int]) -> int:
        best = 0
        for size in range(len(values) + 1):
            for chosen in combinations(values, size):
                if all(holds(a, b) for a, b in zip(chosen, chosen[1:], strict=False)):
                    best = max(best, sum(chosen) if by_sum else len(chosen))
        return best

    name, own = draw.pick(("values", "heights", "sizes", "prices", "ranks")), "b" if by_sum else "1"
    goal = (
        "the largest sum of the entries of such a subsequence"
        if by_sum
        else "the length of the longest such subsequence"
    )
    return CodingTask(
        name=draw.pick(("longest_chain", "best_chain", "best_subsequence", "chain_value")),
        params=((name, "ints"),),
        returns="int",
        story=draw.pick(
            (
                "Blocks lie in a row and some are taken out without changing their order.",
                "From a series of readings, some are struck out.",
                "",
            )
        ),
        says=(
            f"consider subsequences of `{name}` (entries may be left out, the order stays) in which every entry but the first {say}",
            f"return {goal} (0 for an empty list)",
        ),
        rules=("All entries are positive integers of at most 1000000.",),
        plan=(
            "For every position we store the best value of a subsequence that ends there.",
            "It extends the best one among all earlier positions that may stand before it.",
            "The largest stored value is the result; the running time is quadratic.",
        ),
        python=f"best: list[int] = []\nfor i, b in enumerate({name}):\n    before = [best[j] for j, a in enumerate({name}[:i]) if {python_test}]\n    best.append(max(before, default=0) + {own})\nreturn max(best, default=0)",
        javascript=f"const best = [];\n{name}.forEach((b, i) => {{\n  const before = best.filter((_, j) => {{\n    const a = {name}[j];\n    return {javascript_test};\n  }});\n  best.push(Math.max(0, ...before) + {own});\n}});\nreturn Math.max(0, ...best);",
        reference=reference,
        inputs=telling_inputs(
            draw,
            reference,
            [([],), ([4],), ([2, 2, 2],), ([9, 6, 3],), ([1, 2, 4, 8],)],
            lambda: (draw.integers(draw.between(4, 8), 1, 24),),
        ),
    )


# --- fewest coins


def coins(draw: Draw, level: int) -> CodingTask:
    values = sorted(draw.some((1, 2, 3, 4, 5, 6, 7, 9, 10), draw.between(2, 3)))
    counts = draw.chance(0.5)
    limit = draw.between(3, 5) if level > 2 and draw.chance(0.6) else 0
    story, unit = draw.pick(
        (
            ("A machine pays out coins.", "coin"),
            ("Planks of fixed lengths are laid end to end.", "plank"),
            ("Postage is made up from stamps.", "stamp"),
        )
    )

    def multisets(total: int, allowed: list[int]) -> list[int]:
        """The sizes of all multisets of the allowed values with this sum."""
        if total == 0:
            return [0]
        if not allowed:
            return []
        first, rest = allowed[0], allowed[1:]
        most = total // first if not limit else min(limit, total // first)
        return [
            used + size
            for used in range(most + 1)
            for size in multisets(total - used * first, rest)
        ]

    def reference(amount: int) -> int:
        sizes = multisets(amount, values)
        return len(sizes) if counts else min(sizes, default=-1)

    python, javascript = coins_code(values, limit, counts)
    goal = (
        f"the number of ways to make up `amount`, where only the number of {unit}s of each value matters, not their order"
        if counts
        else f"the smallest number of {unit}s whose values add up to `amount` (-1 if that is impossible)"
    )
    return CodingTask(
        name=draw.pick(("make_amount", "combine_values", "fill_amount", "change_amount")),
        params=(("amount", "int"),),
        returns="int",
        story=f"{story} Each {unit} has the value {listing(values, 'or')}.",
        says=(f"return {goal}",),
        rules=(
            f"At most {limit} {unit}s of each value may be used."
            if limit
            else f"There are as many {unit}s of each value as needed.",
            "`amount` is at least 0 and at most 1000. For `amount` = 0 nothing is needed"
            + (", and that counts as one way." if counts else ": the result is 0."),
        ),
        plan=(
            "We take one value after the other into account and keep a table over all totals from 0 to the amount.",
            "An entry of the table is found from entries for smaller totals.",
            "After the last value, the entry for the amount is the result.",
        ),
        python=python,
        javascript=javascript,
        reference=reference,
        inputs=telling_inputs(
            draw, reference, [(0,), (1,), (values[-1],)], lambda: (draw.between(2, 30),)
        ),
    )


def coins_code(values: list[int], limit: int, counts: bool) -> tuple[str, str]:
    """The bodies in both languages; `limit` is 0 where there is none."""
    py, js = f"({', '.join(map(str, values))})", f"[{', '.join(map(str, values))}]"
    if counts and not limit:
        python = f"ways = [1] + [0] * amount\nfor value in {py}:\n    for total in range(value, amount + 1):\n        ways[total] += ways[total - value]\nreturn ways[amount]"
        javascript = f"const ways = new Array(amount + 1).fill(0);\nways[0] = 1;\nfor (const value of {js}) {{\n  for (let total = value; total <= amount; total += 1) ways[total] += ways[total - value];\n}}\nreturn ways[amount];"
    elif counts:
        python = f"ways = [1] + [0] * amount\nfor value in {py}:\n    ways = [\n        sum(ways[total - used * value] for used in range({limit} + 1) if used * value <= total)\n        for total in range(amount + 1)\n    ]\nreturn ways[amount]"
        javascript = f"let ways = new Array(amount + 1).fill(0);\nways[0] = 1;\nfor (const value of {js}) {{\n  ways = ways.map((_, total) => {{\n    let count = 0;\n    for (let used = 0; used <= {limit} && used * value <= total; used += 1) count += ways[total - used * value];\n    return count;\n  }});\n}}\nreturn ways[amount];"
    else:
        bound = (
            f"range({limit} + 1) if used * value <= total" if limit else "range(total // value + 1)"
        )
        js_bound = f"used <= {limit} && used * value <= total" if limit else "used * value <= total"
        python = f'fewest = [0.0] + [float("inf")] * amount\nfor value in {py}:\n    fewest = [\n        min(fewest[total - used * value] + used for used in {bound})\n        for total in range(amount + 1)\n    ]\nreturn int(fewest[amount]) if fewest[amount] < float("inf") else -1'
        javascript = f"let fewest = new Array(amount + 1).fill(Infinity);\nfewest[0] = 0;\nfor (const value of {js}) {{\n  fewest = fewest.map((_, total) => {{\n    let best = Infinity;\n    for (let used = 0; {js_bound}; used += 1) {{\n      best = Math.min(best, fewest[total - used * value] + used);\n    }}\n    return best;\n  }});\n}}\nreturn fewest[amount] === Infinity ? -1 : fewest[amount];"
    return python, javascript


# --- paths through a grid


def paths(draw: Draw, level: int) -> CodingTask:
    diagonal, kind = draw.chance(0.5), draw.pick(("largest sum", "smallest sum", "count"))
    wall = draw.between(5, 8)
    moves = ((1, 0), (0, 1), (1, 1)) if diagonal else ((1, 0), (0, 1))
    said = "right, down, or diagonally right and down" if diagonal else "right or down"

    def walks(grid: list[list[int]], r: int = 0, c: int = 0) -> list[int]:
        """The sum of every allowed walk from a cell to the last one."""
        if r >= len(grid) or c >= len(grid[0]) or (kind == "count" and grid[r][c] > wall):
            return []
        if (r, c) == (len(grid) - 1, len(grid[0]) - 1):
            return [grid[r][c]]
        return [grid[r][c] + rest for dr, dc in moves for rest in walks(grid, r + dr, c + dc)]

    def reference(grid: list[list[int]]) -> int:
        found = walks(grid)
        return len(found) if kind == "count" else sorted(found)[-1 if kind == "largest sum" else 0]

    sources = "(r - 1, c), (r, c - 1)" + (", (r - 1, c - 1)" if diagonal else "")
    js_sources = "[r - 1, c], [r, c - 1]" + (", [r - 1, c - 1]" if diagonal else "")
    if kind == "count":
        says = (
            f"count the ways to walk from the top left cell to the bottom right cell, moving only {said}, without entering a cell with a number greater than {wall}",
            "return this count (0 if the first or the last cell is blocked)",
        )
        entry = f"0 if number > {wall} else 1 if not table else sum(before)"
        js_entry = f"number > {wall} ? 0 : r + c === 0 ? 1 : before.reduce((a, b) => a + b, 0)"
    else:
        best = "max" if kind == "largest sum" else "min"
        says = (
            f"walk from the top left cell to the bottom right cell, moving only {said}",
            f"return the {kind} of the numbers on such a walk, both ends included",
        )
        entry = f"number + {best}(before, default=0)"
        js_entry = f"number + (before.length === 0 ? 0 : Math.{best}(...before))"
    python = f"table: dict[tuple[int, int], int] = {{}}\nfor r, row in enumerate(grid):\n    for c, number in enumerate(row):\n        before = [table[place] for place in ({sources}) if place in table]\n        table[r, c] = {entry}\nreturn table[len(grid) - 1, len(grid[0]) - 1]"
    javascript = f"const table = grid.map((row) => row.map(() => 0));\ngrid.forEach((row, r) => row.forEach((number, c) => {{\n  const sources = [{js_sources}].filter(([i, j]) => i >= 0 && j >= 0);\n  const before = sources.map(([i, j]) => table[i][j]);\n  table[r][c] = {js_entry};\n}}));\nreturn table[grid.length - 1][grid[0].length - 1];"
    return CodingTask(
        name=draw.pick(("best_path", "grid_walk", "path_value", "cross_grid")),
        params=(("grid", "grid"),),
        returns="int",
        story=draw.pick(
            (
                "A robot crosses a room that is laid out in squares.",
                "A hiker crosses a map with one number in each square.",
                "A token crosses a board.",
                "",
            )
        ),
        says=says,
        rules=(f"The grid is rectangular and has at least one cell; all numbers lie {BOUNDED}.",),
        plan=(
            "Every cell is entered from a few earlier cells only, so we fill a table row by row.",
            "An entry combines the entries of the cells from which one can come with the number of the cell itself."
            if kind != "count"
            else "A blocked cell counts 0; any other cell adds up the counts of the cells from which one can come.",
            "The entry of the last cell is the result.",
        ),
        python=python,
        javascript=javascript,
        reference=reference,
        inputs=telling_inputs(
            draw,
            reference,
            [([[3]],), ([[9]],), ([[1, 2, 3]],), ([[1], [8], [2]],)],
            lambda: (fresh_grid(draw),),
        ),
    )


def fresh_grid(draw: Draw) -> list[list[int]]:
    width = draw.between(2, 4)
    return [draw.integers(width, 0, 9) for _ in range(draw.between(2, 4))]
