"""What the embedded math tasks promise: the real reward proves them, and so does another way."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, prod

import pytest

from infinite_rl.proof.self_test import self_test
from infinite_rl.providers.procedural import families, make_problem
from infinite_rl.providers.procedural.wording import Problem, polynomial
from infinite_rl.reward_functions.math import MathRewardFunction
from infinite_rl.types import Sample

REWARD = MathRewardFunction()
FAMILIES = families("math")


def problems(family: str, count: int) -> Iterator[tuple[str, Problem]]:
    """Some problems of each level, each with a name for the report of a failure."""
    for level in (1, 2, 3):
        for seed in range(count):
            name = f"{family}, level {level}, seed {seed}"
            yield name, make_problem("math", seed, level, family)


# --- the real reward


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reward_gives_full_marks_to_every_response(family: str) -> None:
    for name, problem in problems(family, 60):
        score = REWARD.compute_reward(problem.response, problem.answer)
        assert (score.format_score, score.correctness_score) == (1.0, 1.0), f"{name}: {score}"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reward_takes_no_other_answer_of_its_own_test(family: str) -> None:
    tested = 0
    for name, problem in problems(family, 4):
        row = Sample("math", problem.prompt, problem.answer, problem.response)
        result = self_test(row, REWARD)
        assert result.fault == "", f"{name}: {result.fault}"
        tested += result.total > 0
    assert tested > 6


# --- the answer, found in another way by reading the prompt

Solver = Callable[[re.Match[str], str], object]


def check(family: str, solvers: dict[str, Solver], count: int = 300) -> None:
    """Every prompt that a pattern reads has the answer of its solver, and each reads some."""
    read = dict.fromkeys(solvers, 0)
    for name, problem in problems(family, count):
        for pattern, solver in solvers.items():
            if match := re.search(pattern, problem.prompt):
                expected = solver(match, problem.prompt)
                assert same(problem.answer, expected), f"{name}: {problem} not {expected}"
                read[pattern] += 1
    assert min(read.values()) > 2, read


def same(answer: str, expected: object) -> bool:
    if isinstance(expected, float):
        return math.isclose(real(answer), expected, rel_tol=1e-6)
    if isinstance(expected, tuple):
        return pair(answer) == expected
    if isinstance(expected, (int, Fraction)):
        return Fraction(answer) == expected
    return answer == expected


def real(text: str) -> float:
    """The value of an answer with roots and pi. The text was written by our own code."""
    return float(eval(text, {"sqrt": math.sqrt, "pi": math.pi}))


def pair(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(part) for part in text.strip("()").split(", "))


def numbers(match: re.Match[str]) -> list[int]:
    return [int(group) for group in match.groups() if group and group.lstrip("-").isdigit()]


# --- counting


def meets(count: int, prompt: str) -> bool:
    """Whether the count meets the condition on a number in the prompt."""
    bound = re.search(r"is (exactly|at least|at most) (\d+)", prompt)
    if not bound:
        return count % 2 == (0 if "is even" in prompt else 1)
    return {
        "exactly": count == int(bound[2]),
        "at least": count >= int(bound[2]),
        "at most": count <= int(bound[2]),
    }[bound[1]]


def selections(match: re.Match[str], prompt: str) -> Fraction:
    a, b, k = numbers(match)
    taken = combinations(range(a + b), k)
    found = Fraction(sum(meets(sum(one < a for one in each), prompt) for each in taken))
    return found if "number of possible" in prompt else found / comb(a + b, k)


def repeated(match: re.Match[str], prompt: str) -> Fraction:
    [n], good = numbers(match), 2 if "below 3" in prompt else 1
    rolls = [sum(r < good for r in roll) for roll in product(range(6), repeat=n)]
    if "expected" in prompt:
        return Fraction(sum(rolls), len(rolls))
    return Fraction(sum(meets(count, prompt) for count in rolls), len(rolls))


def strings(match: re.Match[str], prompt: str) -> int:
    found = {"".join(order) for order in permutations(match[1])}
    if begin := re.search(r"begin with (\w)", prompt):
        return sum(text.startswith(begin[1]) for text in found)
    if together := re.search(r"letters (\w) (do not all )?stand together", prompt):
        block = together[1] * match[1].count(together[1])
        return sum((block in text) != bool(together[2]) for text in found)
    return len(found)


def thrown(match: re.Match[str], prompt: str) -> Fraction:
    sides = 8 if "eight" in prompt else 4 if "four" in prompt else 6
    s = int((re.search(r"(?:is|than|below|of) (\d+)", prompt) or match)[1] or 0)
    rule: Callable[[tuple[int, ...]], bool] = next(
        test
        for words, test in {
            "largest": lambda roll: max(roll) == s,
            "smallest": lambda roll: min(roll) == s,
            "product": lambda roll: prod(roll) % s == 0,
            "different": lambda roll: len(set(roll)) == len(roll) and sum(roll) < s,
            "greater": lambda roll: sum(roll) > s,
            "sum": lambda roll: sum(roll) == s,
        }.items()
        if words in prompt
    )
    rolls = list(product(range(1, sides + 1), repeat={"two": 2, "three": 3}[match[1]]))
    return Fraction(sum(rule(roll) for roll in rolls), len(rolls))


def walked(match: re.Match[str], prompt: str) -> Fraction:
    a, b = numbers(match)
    point = re.search(r"(through|avoid|visit) \((\d+), (\d+)\)", prompt)
    routes = [
        set_of_points(moves) for moves in product("ru", repeat=a + b) if moves.count("r") == a
    ]
    if not point:
        return Fraction(len(routes))
    hits = sum((int(point[2]), int(point[3])) in route for route in routes)
    ways = {"through": hits, "avoid": len(routes) - hits, "visit": Fraction(hits, len(routes))}
    return Fraction(ways[point[1]])


def set_of_points(moves: tuple[str, ...]) -> set[tuple[int, int]]:
    return {(moves[:i].count("r"), moves[:i].count("u")) for i in range(len(moves) + 1)}


def written(match: re.Match[str], prompt: str) -> int:
    digits, places = set(re.findall(r"\d", match[1])), 2 if re.search("2 d|of 2", prompt) else 3
    least = int((re.search(r"not less than (\d+)", prompt) or ["", "0"])[1])
    return sum(
        set(str(n)) <= digits
        and len(set(str(n))) == places
        and n >= least
        and not ("even numbers" in prompt and n % 2)
        and not ("odd numbers" in prompt and n % 2 == 0)
        for n in range(10 ** (places - 1), 10**places)
    )


def shared(match: re.Match[str], prompt: str) -> int:
    things, boxes = numbers(match)
    least = int((re.search(r"at least (\d)", prompt) or ["", "0"])[1])

    def ways(left: int, boxes: int) -> int:
        if boxes == 0:
            return left == 0
        return sum(ways(left - one, boxes - 1) for one in range(least, left + 1))

    return ways(things, boxes)


def seated(match: re.Match[str], prompt: str) -> int:
    one, two, three = match[2], match[3], match[4]
    others = [two, three, *"abcdefg"[: int(match[1]) - 3]]
    count = 0
    for order in permutations(others):
        circle = (one, *order)
        near = {circle[1], circle[-1]}
        at = {circle.index(who) for who in (one, two, three)}
        trio = any({(i + j) % len(circle) for j in range(3)} == at for i in range(len(circle)))
        if "side by side" in prompt:
            count += trio
        elif "beside" in prompt:
            count += (two in near) != ("not beside" in prompt)
        else:
            count += 1
    return count


def test_counts_and_chances_agree_with_trying_everything() -> None:
    check(
        "counting",
        {
            r"has (\d+) women and (\d+) men and elects a committee of (\d+)": selections,
            r"holds (\d+) broken and (\d+) working lamps, and \w+ takes (\d+) of": selections,
            r"fair die (\d+) times": repeated,
            r"(?:of|word|spell) ([A-Z]{4,7})\b": strings,
            r"(two|three) fair .*dice": thrown,
            r"from \(0, 0\) to \((\d), (\d)\)": walked,
            r"(?:digits|only) ((?:\d, )+\d and \d)": written,
            r"gives (\d+) equal coins to (\d) children": shared,
            r"([5-7]) people, (\w+), (\w+) and (\w+) among": seated,
        },
    )


# --- geometry: complex numbers as points, and Heron's formula


def heron(a: float, b: float, c: float) -> float:
    s = (a + b + c) / 2
    return math.sqrt(s * (s - a) * (s - b) * (s - c))


def right(match: re.Match[str], prompt: str) -> float:
    a, b = numbers(match)
    c = math.hypot(a, b)
    values = {
        "perimeter": a + b + c,
        "length of the hypotenuse": c,
        "height": 2 * heron(a, b, c) / c,
        "radius": a * b * c / 4 / heron(a, b, c),
    }
    return next(value for words, value in values.items() if words in prompt)


def angled(match: re.Match[str], prompt: str) -> float:
    a, b, angle = numbers(match)
    c = abs(a - b * complex(math.cos(math.radians(angle)), math.sin(math.radians(angle))))
    return heron(a, b, c) if "area" in prompt else c


def joined(match: re.Match[str], prompt: str) -> object:
    a, b, c, d = numbers(match)
    if "distance" in prompt:
        return math.dist((a, b), (c, d))
    if "midpoint" in prompt:
        return (Fraction(a + c, 2), Fraction(b + d, 2))
    if "reflection" in prompt:
        return (2 * c - a, 2 * d - b)
    steep = Fraction(d - b, c - a)
    if "bisector" in prompt:
        return line(-1 / steep, Fraction(a + c, 2), Fraction(b + d, 2))
    return line(steep, Fraction(a), Fraction(b))


def line(slope: Fraction, x: Fraction, y: Fraction) -> str:
    return f"y = {polynomial((slope, y - slope * x), 'x')}"


def triangle(match: re.Match[str], prompt: str) -> object:
    a, b, c, d, e, f = numbers(match)
    if "area" in prompt:
        sides = (math.dist((a, b), (c, d)), math.dist((c, d), (e, f)), math.dist((e, f), (a, b)))
        return heron(*sides)
    if "centroid" in prompt:
        return (Fraction(a + c + e, 3), Fraction(b + d + f, 3))
    if "parallelogram" in prompt:
        return (a - c + e, b - d + f)
    # |AB + AC|^2 - |AB - AC|^2 = 4 AB.AC
    return Fraction((c + e - 2 * a) ** 2 + (d + f - 2 * b) ** 2 - (c - e) ** 2 - (d - f) ** 2, 4)


def many_corners(match: re.Match[str], prompt: str) -> Fraction:
    [n] = numbers(match)
    pairs = list(combinations(range(n), 2))
    if "diagonals" in prompt:
        return Fraction(sum("segments" in prompt or j - i not in (1, n - 1) for i, j in pairs))
    turned = n * 180 - 360
    return Fraction(turned, n if "one interior" in prompt else 1)


def can(match: re.Match[str], prompt: str) -> float:
    r, h = numbers(match)
    mantle = 2 * math.pi * r * h
    if "volume" in prompt:
        return math.pi * r * r * h
    return mantle if "curved" in prompt else mantle + 2 * math.pi * r * r


def upright(match: re.Match[str], prompt: str) -> float:
    h, side = numbers(match)
    if "volume" in prompt:
        return side * side * h / 3
    foot = side / 2 if "face" in prompt else math.dist((0, 0), (side / 2, side / 2))
    return math.hypot(foot, h)


def test_figures_have_the_sizes_of_other_formulas() -> None:
    point, two = r"\((-?\d+), (-?\d+)\)", r"(\d+) \w+"
    check(
        "geometry",
        {
            rf"legs of {two} and {two}": right,
            r"(?:of length|are) (\d+) and (\d+) .*? (\d+)(?:°| degrees)": angled,
            rf"P(?: = | is at )?{point} (?:and|to) Q(?: = | at )?{point}": joined,
            rf"{point}, (?:\w = )?\w?{point}(?: and |, )(?:\w = )?\w?{point}": triangle,
            r"polygon has (\d+) sides|equal angles has (\d+) c|with (\d+) corners": many_corners,
            rf"cylinder has the radius {two} and the height (\d+)": can,
            rf"pyramid of height {two} has a square base with sides of (\d+)": upright,
        },
    )
