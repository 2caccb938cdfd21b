"""Functions of integers: searching a range by properties, and following a rule step by step."""

from __future__ import annotations

from math import prod
from typing import Any

from .code import CodingTask, Family, Reference
from .draw import Draw
from .math_integers import factorize


def make(draw: Draw, level: int) -> CodingTask:
    """A range search, or a rule that is followed until it stops."""
    return draw.pick((search, search, follow))(draw, level)


def search(draw: Draw, level: int) -> CodingTask:
    """Find the numbers of a range that have one property, or two, and report on them."""
    story = FAMILY.draw_record(draw, "stories")
    rows = draw.some(FAMILY.rows("properties"), 1 if level == 1 else 2)
    properties = [FAMILY.step(draw, row) for row in rows]
    both = level == 1 or draw.chance(0.6)
    signs = [draw.chance(0.75) for _ in properties]
    shared = FAMILY.draw_shared(draw, "results")
    result = FAMILY.step(draw, draw.pick(FAMILY.rows("results")[: 2 + 2 * level]), **shared)
    pairs = list(zip(properties, signs, strict=True))

    def wanted(n: int) -> bool:
        return (all if both else any)(one.reference(n) == sign for one, sign in pairs)

    def reference(low: int, high: int) -> Any:
        return result.reference([n for n in range(low, high + 1) if wanted(n)])

    def draw_input() -> tuple[int, int]:
        low = draw.between(1, 120)
        return low, low + draw.between(5, 60 + 40 * level)

    conditions = [
        (one.instruction.split("\n")[0], one.python, one.javascript)
        if sign
        else (one.instruction.split("\n")[1], f"not ({one.python})", f"!({one.javascript})")
        for one, sign in pairs
    ]
    wordings, python, javascript = zip(*conditions, strict=True)
    parameters = {
        **story,
        "that": (" and " if both else " or ").join(wordings),
        "test_py": (" and " if both else " or ").join(python),
        "test_js": (" && " if both else " || ").join(javascript),
        **result.texts("result"),
        "uses": " ".join(row.fields.get("use", "") for row in rows),
    }
    edges = [(10, 10), (1, 1), (20, 12), (draw.between(90, 130),) * 2]
    return FAMILY.task(draw, "search", parameters, reference, edges, draw_input)


def follow(draw: Draw, level: int) -> CodingTask:
    """Start from a number, apply a two-way rule for a number of rounds, and report."""
    p = FAMILY.draw_parameters(draw, "follow", level=level, most=2 + level, digits=False)
    result = FAMILY.step(draw, draw.pick(FAMILY.rows("path results")[: 2 + level]))
    rounds, stop = draw.between(4, 6 + 4 * level), draw.pick((0, 1, 1))

    def move(n: int) -> int:
        if n % p["m"] == 0:
            return int(n // p["m"])
        other = n + p["d"] * digit_sum(n) if p["digits"] else sum([n] * p["k"]) + p["c"]
        return int(other % p["bound"])

    def reference(n: int) -> Any:
        path = [n]
        while len(path) <= rounds and path[-1] != stop:
            path.append(move(path[-1]))
        return result.reference(path)

    parameters = {
        **p,
        "rounds": rounds,
        "stop": stop,
        "keeps": "path" in result.python,
        **result.texts("result"),
    }
    edges = [(0,), (1,), (p["m"],), (p["bound"],)]
    return FAMILY.task(
        draw, "follow", parameters, reference, edges, lambda: (draw.between(2, 300),)
    )


# --- references: of a number or several, and the parameters of the row


def digit_sum(n: int) -> int:
    total = 0
    while n:
        n, digit = divmod(n, 10)
        total += digit
    return total


# fmt: off
REFERENCES: dict[str, Reference] = {
    "multiple": lambda n, p: n // p.k * p.k == n,
    "prime": lambda n, p: factorize(n) == {n: 1},
    "digit_sum_multiple": lambda n, p: digit_sum(n) % p.k == 0,
    "digit_sum_large": lambda n, p: digit_sum(n) > p.k - 1,
    "harshad": lambda n, p: n in range(0, n + 1, digit_sum(n)),
    "palindrome": lambda n, p: list(str(n)) == list(reversed(str(n))),
    "square": lambda n, p: all(e % 2 == 0 for e in factorize(n).values()),
    "has_digit": lambda n, p: any(n // 10**exponent % 10 == p.d for exponent in range(len(str(n)))),
    "distinct_digits": lambda n, p: max(str(n).count(c) for c in str(n)) == 1,
    "divisor_count": lambda n, p: prod(e + 1 for e in factorize(n).values()) == p.k,
    "bits": lambda n, p: sum(n >> bit & 1 for bit in range(n.bit_length())) % 2 == p.r,
    "how_many": lambda numbers, p: len(numbers),
    "total": lambda numbers, p: sum(numbers),
    "largest": lambda numbers, p: numbers[-1] if numbers else -1,
    "all": lambda numbers, p: list(numbers),
    "smallest": lambda numbers, p: [n for i, n in enumerate(numbers) if i < p.k],
    "gap": lambda numbers, p: max([numbers[i + 1] - numbers[i] for i in range(len(numbers) - 1)] + [0]),
    "remainders": lambda numbers, p: sum(n - n // p.m * p.m for n in numbers),
    "ends": lambda numbers, p: min(numbers) + max(numbers) if numbers else 0,
    "last_number": lambda path, p: path[-1],
    "rounds": lambda path, p: len(path[1:]),
    "largest_seen": lambda path, p: sorted(path)[-1],
    "sum_seen": lambda path, p: sum(path),
    "all_seen": lambda path, p: list(path),
}
# fmt: on
FAMILY = Family("integers", REFERENCES)
