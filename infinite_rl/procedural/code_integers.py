"""Functions of integers: searching a range by properties, and following a rule step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from .code import CodingTask, each_once, telling_inputs
from .draw import Draw
from .math_integers import factorize


@dataclass(frozen=True)
class Property:
    """A property of positive integers, with its helper in both languages and a reference."""

    say: str
    deny: str
    python: str
    javascript: str
    holds: Callable[[int], bool]
    head_python: str = ""
    head_javascript: str = ""


def make(draw: Draw, level: int) -> CodingTask:
    """A range search, or a rule that is followed until it stops."""
    return draw.pick((search, search, follow))(draw, level)


# --- properties


def multiple(draw: Draw) -> Property:
    k = draw.between(3, 9)
    return Property(
        f"are divisible by {k}",
        f"are not divisible by {k}",
        f"n % {k} == 0",
        f"n % {k} === 0",
        lambda n: n // k * k == n,
    )


def prime(draw: Draw) -> Property:
    return Property(
        "are prime",
        "are not prime",
        "is_prime(n)",
        "isPrime(n)",
        lambda n: factorize(n) == {n: 1},
        "def is_prime(n: int) -> bool:\n    if n < 2:\n        return False\n    d = 2\n    while d * d <= n:\n        if n % d == 0:\n            return False\n        d += 1\n    return True",
        "function isPrime(n) {\n  if (n < 2) return false;\n  for (let d = 2; d * d <= n; d += 1) {\n    if (n % d === 0) return false;\n  }\n  return true;\n}",
    )


DIGIT_SUM_PYTHON = "def digit_sum(n: int) -> int:\n    return sum(int(digit) for digit in str(n))"
DIGIT_SUM_JAVASCRIPT = "function digitSum(n) {\n  return [...String(n)].reduce((total, digit) => total + Number(digit), 0);\n}"


def arithmetic_digit_sum(n: int) -> int:
    total = 0
    while n:
        n, digit = divmod(n, 10)
        total += digit
    return total


def digit_sum_multiple(draw: Draw) -> Property:
    k = draw.between(2, 7)
    return Property(
        f"have a digit sum that is divisible by {k}",
        f"have a digit sum that is not divisible by {k}",
        f"digit_sum(n) % {k} == 0",
        f"digitSum(n) % {k} === 0",
        lambda n: arithmetic_digit_sum(n) % k == 0,
        DIGIT_SUM_PYTHON,
        DIGIT_SUM_JAVASCRIPT,
    )


def digit_sum_large(draw: Draw) -> Property:
    k = draw.between(6, 12)
    return Property(
        f"have a digit sum of at least {k}",
        f"have a digit sum below {k}",
        f"digit_sum(n) >= {k}",
        f"digitSum(n) >= {k}",
        lambda n: arithmetic_digit_sum(n) > k - 1,
        DIGIT_SUM_PYTHON,
        DIGIT_SUM_JAVASCRIPT,
    )


def harshad(draw: Draw) -> Property:
    return Property(
        "are divisible by their own digit sum",
        "are not divisible by their own digit sum",
        "n % digit_sum(n) == 0",
        "n % digitSum(n) === 0",
        lambda n: n in range(0, n + 1, arithmetic_digit_sum(n)),
        DIGIT_SUM_PYTHON,
        DIGIT_SUM_JAVASCRIPT,
    )


def palindrome(draw: Draw) -> Property:
    return Property(
        "read the same backwards",
        "do not read the same backwards",
        "str(n) == str(n)[::-1]",
        "String(n) === [...String(n)].reverse().join('')",
        lambda n: list(str(n)) == list(reversed(str(n))),
    )


def square(draw: Draw) -> Property:
    return Property(
        "are perfect squares",
        "are not perfect squares",
        "isqrt(n) ** 2 == n",
        "Math.round(Math.sqrt(n)) ** 2 === n",
        lambda n: all(e % 2 == 0 for e in factorize(n).values()),
        "from math import isqrt",
    )


def has_digit(draw: Draw) -> Property:
    d = draw.between(1, 9)
    return Property(
        f"contain the digit {d}",
        f"do not contain the digit {d}",
        f'"{d}" in str(n)',
        f"String(n).includes('{d}')",
        lambda n: any(n // 10**p % 10 == d for p in range(len(str(n)))),
    )


def distinct_digits(draw: Draw) -> Property:
    return Property(
        "have no repeated digit",
        "have a repeated digit",
        "len(set(str(n))) == len(str(n))",
        "new Set(String(n)).size === String(n).length",
        lambda n: max(str(n).count(c) for c in str(n)) == 1,
    )


def divisor_count(draw: Draw) -> Property:
    k = draw.pick((3, 4, 6, 8))
    return Property(
        f"have exactly {k} positive divisors",
        f"do not have exactly {k} positive divisors",
        f"count_divisors(n) == {k}",
        f"countDivisors(n) === {k}",
        lambda n: prod(e + 1 for e in factorize(n).values()) == k,
        "def count_divisors(n: int) -> int:\n    count, d = 0, 1\n    while d * d <= n:\n        if n % d == 0:\n            count += 1 if d * d == n else 2\n        d += 1\n    return count",
        "function countDivisors(n) {\n  let count = 0;\n  for (let d = 1; d * d <= n; d += 1) {\n    if (n % d === 0) count += d * d === n ? 1 : 2;\n  }\n  return count;\n}",
    )


def bits(draw: Draw) -> Property:
    r = draw.below(2)
    what, other = ("odd", "even") if r else ("even", "odd")
    return Property(
        f"have an {what} number of ones in binary",
        f"have an {other} number of ones in binary",
        f'bin(n).count("1") % 2 == {r}',
        f"n.toString(2).split('1').length % 2 === {1 - r}",
        lambda n: sum(n >> p & 1 for p in range(n.bit_length())) % 2 == r,
    )


PROPERTIES = (
    *(multiple, prime, digit_sum_multiple, digit_sum_large, harshad, palindrome),
    *(square, has_digit, distinct_digits, divisor_count, bits),
)


# --- results of a search


@dataclass(frozen=True)
class Result:
    """What is made of the numbers found: words, code around `FOUND`, reference, kind."""

    say: str
    python: str
    javascript: str
    apply: Callable[[list[int]], Any]
    kind: str


def results(draw: Draw, level: int) -> Result:
    k, m = draw.between(2, 4), draw.pick((7, 9, 10, 100))
    options = (
        Result("return how many numbers were found", "len(FOUND)", "FOUND.length", len, "int"),
        Result(
            "return the sum of the numbers found",
            "sum(FOUND)",
            "FOUND.reduce((total, n) => total + n, 0)",
            sum,
            "int",
        ),
        Result(
            "return the largest of the numbers found (-1 if there is none)",
            "max(FOUND, default=-1)",
            "FOUND.length === 0 ? -1 : FOUND[FOUND.length - 1]",
            lambda f: f[-1] if f else -1,
            "int",
        ),
        Result("return all numbers found in ascending order", "FOUND", "FOUND", list, "ints"),
        Result(
            f"return the smallest {k} of the numbers found in ascending order (fewer if there are not that many)",
            f"FOUND[:{k}]",
            f"FOUND.slice(0, {k})",
            lambda f: [n for i, n in enumerate(f) if i < k],
            "ints",
        ),
        Result(
            "return the largest gap between two neighbours among the numbers found (0 if there are fewer than two)",
            "max((b - a for a, b in zip(FOUND, FOUND[1:])), default=0)",
            "Math.max(0, ...FOUND.slice(1).map((n, i) => n - FOUND[i]))",
            lambda f: max([f[i + 1] - f[i] for i in range(len(f) - 1)] + [0]),
            "int",
        ),
        Result(
            f"return the sum of the remainders of the numbers found on division by {m}",
            f"sum(n % {m} for n in FOUND)",
            f"FOUND.reduce((total, n) => total + (n % {m}), 0)",
            lambda f: sum(n - n // m * m for n in f),
            "int",
        ),
        Result(
            "return the sum of the smallest and the largest number found (0 if there is none)",
            "FOUND[0] + FOUND[-1] if FOUND else 0",
            "FOUND.length === 0 ? 0 : FOUND[0] + FOUND[FOUND.length - 1]",
            lambda f: min(f) + max(f) if f else 0,
            "int",
        ),
    )
    return draw.pick(options[: 2 + 2 * level])


RANGE_STORIES = (
    ("A ticket machine prints consecutive numbers.", "first", "last"),
    ("House numbers in a street run without gaps.", "low", "high"),
    ("A lottery looks for lucky numbers in a range.", "start", "stop"),
    ("A serial number range is to be audited.", "begin", "end"),
    ("", "a", "b"),
    ("", "lower", "upper"),
)


SEARCH_NAMES = (
    *("search_range", "scan_numbers", "find_numbers"),
    *("check_range", "survey_numbers", "select_numbers"),
)


def search(draw: Draw, level: int) -> CodingTask:
    story, low, high = draw.pick(RANGE_STORIES)
    chosen = [maker(draw) for maker in draw.some(PROPERTIES, 1 if level == 1 else 2)]
    joint = "and" if level == 1 or draw.chance(0.6) else "or"
    signs = [draw.chance(0.75) for _ in chosen]
    result = results(draw, level)

    def wanted(n: int) -> bool:
        held = [p.holds(n) == sign for p, sign in zip(chosen, signs, strict=True)]
        return all(held) if joint == "and" else any(held)

    def reference(a: int, b: int) -> Any:
        return result.apply([n for n in range(a, b + 1) if wanted(n)])

    def fresh() -> tuple[int, int]:
        a = draw.between(1, 120)
        return a, a + draw.between(5, 60 + 40 * level)

    said = f" {joint} ".join(
        p.say if sign else p.deny for p, sign in zip(chosen, signs, strict=True)
    )
    python = condition([p.python for p in chosen], signs, joint, "not ({})")
    javascript = condition(
        [p.javascript for p in chosen], signs, "&&" if joint == "and" else "||", "!({})"
    )
    edges = [(10, 10), (1, 1), (20, 12), (draw.between(90, 130),) * 2]
    return CodingTask(
        name=draw.pick(SEARCH_NAMES),
        params=((low, "int"), (high, "int")),
        returns=result.kind,
        story=story,
        says=(
            f"find all integers from `{low}` to `{high}`, both included, that {said}",
            result.say,
        ),
        rules=(
            draw.pick(
                (
                    f"If `{low}` is greater than `{high}`, the range is empty.",
                    f"The range holds no number when `{high}` is less than `{low}`.",
                )
            ),
            "All numbers in the range are positive and at most 100000.",
        ),
        plan=(
            f"We run through the range once and collect the integers that {said}.",
            "Each property gets its own small test, so that the loop stays readable.",
            f"With these numbers we {result.say}.",
        ),
        python=f"found = [n for n in range({low}, {high} + 1) if {python}]\nreturn {result.python.replace('FOUND', 'found')}",
        javascript=f"const found = [];\nfor (let n = {low}; n <= {high}; n += 1) {{\n  if ({javascript}) found.push(n);\n}}\nreturn {result.javascript.replace('FOUND', 'found')};",
        reference=reference,
        inputs=telling_inputs(draw, reference, edges, fresh),
        head_python=each_once(p.head_python for p in chosen),
        head_javascript=each_once((p.head_javascript for p in chosen), "\n\n"),
    )


def condition(tests: list[str], signs: list[bool], joint: str, negation: str) -> str:
    return f" {joint} ".join(
        test if sign else negation.format(test) for test, sign in zip(tests, signs, strict=True)
    )


# --- following a rule

# What is reported of the path of numbers.
ENDINGS = {
    "last": Result("return the number reached", "n", "n", lambda p: p[-1], "int"),
    "steps": Result(
        "return how many rounds were made",
        "len(path) - 1",
        "path.length - 1",
        lambda p: len(p[1:]),
        "int",
    ),
    "largest": Result(
        "return the largest number seen, the starting number included",
        "max(path)",
        "Math.max(...path)",
        lambda p: sorted(p)[-1],
        "int",
    ),
    "sum": Result(
        "return the sum of all numbers seen, the starting number included",
        "sum(path)",
        "path.reduce((total, value) => total + value, 0)",
        sum,
        "int",
    ),
    "list": Result(
        "return all numbers seen in order, the starting number included",
        "path",
        "path",
        list,
        "ints",
    ),
}
FOLLOW_NAMES = ("run_rule", "follow_rule", "play_rounds", "walk_numbers", "iterate_number")


def follow(draw: Draw, level: int) -> CodingTask:
    """Start from a number, apply a two-way rule for a number of rounds, and report."""
    m, k, c, d = (
        draw.between(2, 2 + level),
        draw.between(2, 4),
        draw.between(1, 9),
        draw.between(1, 6),
    )
    bound = draw.pick((50, 60, 97, 100, 128, 200))
    uses_digits = level > 1 and draw.chance(0.4)
    report = draw.pick(("last", "steps", "largest", "sum", "list")[: 2 + level])
    rounds = draw.between(4, 6 + 4 * level)
    other = f"add {d} times its digit sum" if uses_digits else f"multiply it by {k} and add {c}"

    def move(n: int) -> int:
        if n % m == 0:
            return n // m
        return (n + d * arithmetic_digit_sum(n) if uses_digits else sum([n] * k) + c) % bound

    def path_of(n: int) -> list[int]:
        path = [n]
        while len(path) <= rounds and path[-1] != stop:
            path.append(move(path[-1]))
        return path

    stop = draw.pick((0, 1, 1))
    ending = ENDINGS[report]

    def reference(n: int) -> Any:
        return ending.apply(path_of(n))

    other_move = (
        f"(n + {d} * digit_sum(n)) % {bound}" if uses_digits else f"({k} * n + {c}) % {bound}"
    )
    python, javascript = rule_code(ending, rounds, stop, m, other_move)
    return CodingTask(
        name=draw.pick(FOLLOW_NAMES),
        params=(("n", "int"),),
        returns=ending.kind,
        story=draw.pick(
            (
                "A number game is played in rounds.",
                "A simple random generator works by a fixed rule.",
                "A puzzle machine shows one number at a time.",
                "",
            )
        ),
        says=(
            f"start with `n` and make at most {rounds} rounds, stopping early as soon as the number is {stop}",
            f"in each round divide the number by {m} if it is divisible by {m}; otherwise {other} and take the remainder on division by {bound}",
            ending.say,
        ),
        rules=(
            "`n` is a non-negative integer of at most 1000000.",
            f"If `n` is {stop} at the start, no round is made.",
        ),
        plan=(
            f"The loop runs at most {rounds} times and leaves early when the number is {stop}.",
            f"Inside, one test for divisibility by {m} chooses between the two moves.",
            f"At the end we {ending.say}.",
        ),
        python=python,
        javascript=javascript,
        reference=reference,
        inputs=telling_inputs(
            draw, reference, [(0,), (1,), (m,), (bound,)], lambda: (draw.between(2, 300),)
        ),
        head_python=DIGIT_SUM_PYTHON if uses_digits else "",
        head_javascript=DIGIT_SUM_JAVASCRIPT if uses_digits else "",
    )


def rule_code(ending: Result, rounds: int, stop: int, m: int, move: str) -> tuple[str, str]:
    """The loop in both languages; `move` is where an `n` goes that `m` does not divide."""
    js_move = move.replace("digit_sum", "digitSum").replace("(n)", "(current)")
    js_move = js_move.replace("(n ", "(current ").replace("* n ", "* current ")
    keeps_path = "path" in ending.python
    python = (
        ("path = [n]\n" if keeps_path else "")
        + f"for _ in range({rounds}):\n    if n == {stop}:\n        break\n    n = n // {m} if n % {m} == 0 else {move}\n"
        + ("    path.append(n)\n" if keeps_path else "")
        + f"return {ending.python}"
    )
    javascript = (
        "let current = n;\n"
        + ("const path = [n];\n" if keeps_path else "")
        + f"for (let round = 0; round < {rounds} && current !== {stop}; round += 1) {{\n"
        + f"  current = current % {m} === 0 ? current / {m} : {js_move};\n"
        + ("  path.push(current);\n" if keeps_path else "")
        + f"}}\nreturn {ending.javascript if keeps_path else 'current'};"
    )
    return python, javascript
