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


def test_there_are_twelve_families_of_mathematics() -> None:
    assert len(FAMILIES) == 12


# --- the real reward


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reward_gives_full_marks_to_every_response(family: str) -> None:
    for name, problem in problems(family, 60):
        score = REWARD.compute_reward(problem.response, problem.answer)
        assert (score.format_score, score.correctness_score) == (1.0, 1.0), f"{name}: {score}"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reward_takes_no_other_answer_of_its_own_test(family: str) -> None:
    tested = 0
    for name, problem in problems(family, 10):
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
    assert min(read.values()) > 1, read


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


def ball(match: re.Match[str], prompt: str) -> float:
    [r] = numbers(match)
    if "volume" in prompt:
        return math.pi * (2 * r) ** 3 / 6
    return math.pi * (3 * r * r if "half" in prompt else (2 * r) ** 2)


def cone(match: re.Match[str], prompt: str) -> float:
    r, h = numbers(match)
    if "volume" in prompt:
        return math.pi * r * r * h / 3
    slant = math.hypot(r, h)
    return math.pi * r * slant if "curved" in prompt else slant


def brick(match: re.Match[str], prompt: str) -> float:
    edges = numbers(match)
    surface = 2.0 * sum(a * b for a, b in combinations(edges, 2))
    if "diagonal" in prompt:
        return math.hypot(*edges)
    return prod(edges) / surface if "ratio" in prompt else surface


def ring(match: re.Match[str], prompt: str) -> float:
    inner, outer = numbers(match)
    area = math.pi * (outer + inner) * (outer - inner)
    if "chord" in prompt:
        return 2 * outer * math.sin(math.acos(inner / outer))
    return math.pi * inner**2 / area if "ratio" in prompt else area


def sector(match: re.Match[str], prompt: str) -> float:
    r, angle = numbers(match)
    arc = math.radians(angle) * r
    return arc * r / 2 if "area" in prompt else arc + (2 * r if "perimeter" in prompt else 0)


def regular(match: re.Match[str], prompt: str) -> float:
    n, s = {"triangle": 3, "hexagon": 6}[match[1]], int(match[2])
    return n * s * s / 4 / math.tan(math.pi / n)


def rhombus(match: re.Match[str], prompt: str) -> float:
    p, q = numbers(match)
    return p * q / 2 if "area" in prompt else math.hypot(p, q) / 2


def circle(match: re.Match[str], prompt: str) -> object:
    """From the values of the left side at five points."""
    value = {(x, y): at(match[1], x=x, y=y) for x, y in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))}
    h, k = ((value[-1, 0] - value[1, 0]) / 4, (value[0, -1] - value[0, 1]) / 4)
    square = h * h + k * k - value[0, 0]
    values: dict[str, object] = {
        "centre": (h, k),
        "radius": math.sqrt(square),
        "area": math.pi * square,
        "length": 2 * math.pi * math.sqrt(square),
    }
    if "form (x" in prompt:
        signs = [f"- {z}" if z > 0 else f"+ {-z}" for z in (h, k)]
        return f"(x {signs[0]})^2 + (y {signs[1]})^2 = {square}"
    return next(value for word, value in values.items() if f"the {word} of the circle" in prompt)


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
            r"sphere has the radius (\d+)": ball,
            rf"cone has a base of radius {two} and the height (\d+)": cone,
            rf"box measures {two} by {two} by (\d+)": brick,
            r"radii of (\d+) \w+ and (\d+)": ring,
            rf"radius {two} and the angle (\d+)": sector,
            r"(triangle|hexagon) has sides of length (\d+)": regular,
            r"rhombus (?:are|measure) (\d+) and (\d+)": rhombus,
            r"(x\^2 \+ y\^2\S* .*?) = 0": circle,
            rf"pyramid of height {two} has a square base with sides of (\d+)": upright,
        },
    )


# --- sequences and series: term by term


def python(text: str) -> str:
    """Mathematics as our texts write it, in Python with exact fractions; variables k, n, t, x."""
    text = re.sub(r"\|(.+?)\|", r"abs(\1)", text).replace("^", "**")
    text = re.sub(r"(?<=[\dkntxy)])(?=[kntxy(])(?!\w\w)", "*", text)
    return re.sub(r"(?<![\w.*])(\d+)", r"F(\1)", text)


def at(text: str, **values: object) -> Fraction:
    """The value of an expression of our own texts."""
    return Fraction(eval(python(text), {"F": Fraction, "abs": abs, **values}))


def asked(prompt: str, answer: str, term: Callable[[int], Fraction]) -> bool:
    """Whether the answer is what the prompt asks of the sequence with these terms, from 1 on."""
    if found := re.search(r"the (\d+)\w\w term(?! of|s| is)|the term with number (\d+)", prompt):
        return Fraction(answer) == term(int(found[1] or found[2]))
    if found := re.search(r"sum of the first (\d+) terms", prompt):
        return Fraction(answer) == sum(map(term, range(1, int(found[1]) + 1)))
    if found := re.search(r"term that equals (-?\d+)", prompt):
        return term(int(answer)) == int(found[1])
    if "next term" in prompt:
        return Fraction(answer) == term(6)
    if found := re.search(r"value of a_(\d+)", prompt):
        return Fraction(answer) == term(int(found[1]))
    if found := re.search(r"difference a_(\d+)", prompt):
        return Fraction(answer) == term(int(found[1])) - term(int(found[1]) - 1)
    if found := re.search(r"largest of the first (\d+)", prompt):
        return Fraction(answer) == max(map(term, range(1, int(found[1]) + 1)))
    assert "formula" in prompt, prompt
    return all(at(answer, n=n) == term(n) for n in range(1, 12))


def stepping(match: re.Match[str], prompt: str) -> Callable[[int], Fraction]:
    a, b = (Fraction(text) for text in match.groups())
    return lambda n: a + (n - 1) * (b - a)


def scaling(match: re.Match[str], prompt: str) -> Callable[[int], Fraction]:
    a, b = (Fraction(text) for text in match.groups())
    return lambda n: a * (b / a) ** (n - 1)


def recurring(match: re.Match[str], prompt: str) -> Callable[[int], Fraction]:
    terms = [Fraction(text) for text in (match[1], match[2]) if text]
    rule = (
        match[3]
        .replace("a_(n+1)", "x" if match[2] else "")
        .replace("a_n", "n" if match[2] else "x")
    )
    while len(terms) < 15:
        terms.append(at(rule, x=terms[-1], n=terms[-2] if match[2] else 0))
    return lambda n: terms[n - 1]


def interpolated(match: re.Match[str], prompt: str) -> Callable[[int], Fraction]:
    first, second, third = (Fraction(text) for text in match.groups())
    bend = third - 2 * second + first
    return lambda n: first + (n - 1) * (second - first) + comb(n - 1, 2) * bend


SEQUENCES: dict[str, Callable[[re.Match[str], str], Callable[[int], Fraction]]] = {
    r"(?:arithmetic sequence begins with|differences are listed:) (-?\d+), (-?\d+),": stepping,
    r"(?:geometric sequence begins with|ratios are listed:) ([-/\d]+), ([-/\d]+),": scaling,
    r"a_1 = (-?\d+)(?: and|,)(?: a_2 = (-?\d+) and)? a_\(n\+\d\) = (.+?)(?:[.,?]|$)": recurring,
    r"(?:begins with|are|list) (-?\d+), (-?\d+), (-?\d+), -?\d+, -?\d+": interpolated,
}


def test_the_terms_of_a_sequence_follow_its_rule() -> None:
    read = dict.fromkeys(SEQUENCES, 0)
    for name, problem in problems("series", 200):
        for pattern, solver in SEQUENCES.items():
            if match := re.search(pattern, problem.prompt):
                term = solver(match, problem.prompt)
                assert asked(problem.prompt, problem.answer, term), f"{name}: {problem}"
                read[pattern] += 1
    assert min(read.values()) > 10, read


def endless(match: re.Match[str], prompt: str) -> float:
    a, b = Fraction(match[1]), Fraction(match[2])
    terms = [float(a * (b / a) ** k) for k in range(300)]
    after = re.search(r"after the (\d)", prompt)
    return sum(terms[:: 2 if "odd" in prompt else 1][int(after[1]) if after else 0 :])


def periodic(match: re.Match[str], prompt: str) -> Fraction:
    whole, lead, block = match.groups()
    period, moved = 10 ** len(block), 10 ** len(lead)
    return Fraction(int(whole + lead + block) - int(whole + lead), (period - 1) * moved)


def fractions_added(match: re.Match[str], prompt: str) -> object:
    top, gap = numbers(match)
    low = int((re.search(r"from k = (\d+)", prompt) or match)[1])
    high = re.search(r"from k = \d+ to (\d+)", prompt)
    if high:
        return sum(Fraction(top, k * (k + gap)) for k in range(low, int(high[1]) + 1))
    return math.fsum(top / k / (k + gap) for k in range(low, 200_000)) + top / 200_000


def limit(match: re.Match[str], prompt: str) -> float:
    far = float(at(match[1], n=10**12) / at(match[2], n=10**12))
    return 1 - 2 * far if "times -2" in prompt else far**2 if "square" in prompt else far


def test_sums_and_limits_agree_with_adding_up() -> None:
    check(
        "series",
        {
            r"series ([-/\d]+) \+ ([-/\d]+) \+ .* \+ \.\.\.": endless,
            r"(\d)\.(\d?)\((\d+)\)": periodic,
            r"(\d)/\(k\(k \+ (\d)\)\)": fractions_added,
            r"\((.{,30})\)/\(([^()]*)\)": limit,
        },
    )


def test_the_sum_of_a_polynomial_is_that_of_its_values() -> None:
    for name, problem in problems("series", 300):
        match = re.search(r"(?:terms|term|f\(k\) =) (\S*k.*?) (?:are|for|is)", problem.prompt)
        if match and "/" not in match[1]:
            top = re.search(r"from 1 to (\w+)", problem.prompt)
            assert top, name
            for n in range(1, 6) if top[1] == "n" else [int(top[1])]:
                total = sum(at(match[1], k=k) for k in range(1, n + 1))
                assert at(problem.answer, n=n) == total, f"{name}: {problem}"


# --- inequalities: number by number

CONDITION = (
    r"(?:satisfies|inequality|numbers x with|such that) (?!this property)"
    r"(.+?)(?: is to| are all|[.?]|$|, (?:what|and))"
)


def holds(condition: str, x: Fraction) -> bool:
    """Whether every relation of the condition is true at x."""
    for chain in condition.split(" and "):
        parts = re.split(r" (<=|>=|<|>) ", chain)
        values = [value_at(part, x) for part in parts[::2]]
        for left, sign, right in zip(values, parts[1::2], values[1:], strict=False):
            if left is None or right is None or not related(left, sign, right):
                return False
    return True


def value_at(text: str, x: Fraction) -> float | Fraction | None:
    if found := re.match(r"log_(\d+)\((.+)\)$", text):
        inner = at(found[2], x=x)
        return math.log(inner) / math.log(int(found[1])) if inner > 0 else None
    if found := re.match(r"(\d)\^\((.+)\)$", text):
        return float(found[1]) ** min(float(at(found[2], x=x)), 400)
    try:
        return at(text, x=x)
    except ZeroDivisionError:
        return None


def related(left: float | Fraction, sign: str, right: float | Fraction) -> bool:
    equal = left == right or (isinstance(left, float) and math.isclose(left, right, abs_tol=1e-12))
    return sign.endswith("=") if equal else (left < right) == sign.startswith("<")


def contains(answer: str, x: Fraction) -> bool:
    for part in answer.split(" ∪ "):
        low, high = part[1:-1].split(", ")
        above = low == "-infinity" or x > Fraction(low) or (part[0] == "[" and x == Fraction(low))
        below = (
            high == "infinity" or x < Fraction(high) or (part[-1] == "]" and x == Fraction(high))
        )
        if above and below:
            return True
    return False


def counted(problem: Problem, condition: str) -> bool:
    """Whether the answer is right about the integers of a solution set without gaps."""
    answer = int(problem.answer)
    if "the number of" in problem.prompt:
        tried = range(-300, 300)
        return answer > 100 or answer == sum(holds(condition, Fraction(n)) for n in tried)
    beyond = answer + (1 if "largest" in problem.prompt else -1)
    return holds(condition, Fraction(answer)) and not holds(condition, Fraction(beyond))


@pytest.mark.slow
def test_a_solution_set_holds_the_solutions_and_nothing_else() -> None:
    checked = 0
    for name, problem in problems("inequalities", 60):
        match = re.search(CONDITION, problem.prompt)
        if not match or "f(t)" in problem.prompt:
            continue
        checked += 1
        if "integer" in problem.prompt:
            assert counted(problem, match[1]), f"{name}: {problem}"
            continue
        ends = [Fraction(end) for end in re.findall(r"-?\d[\d/]*", problem.answer)]
        near = [end + nudge for end in ends for nudge in (0, Fraction(1, 99), Fraction(-1, 99))]
        for x in (*near, *(Fraction(step, 2) for step in range(-60, 61))):
            assert contains(problem.answer, x) == holds(match[1], x), f"{name} at {x}: {problem}"
    assert checked > 100, checked


RANGE = re.compile(
    r"the values of (.+?) for (-?\d+) <= t <= (-?\d+)"
    r"|f\(t\) = (.+?) takes .* interval \[(-?\d+), (-?\d+)\]"
)


def test_a_range_runs_from_the_least_to_the_greatest_value() -> None:
    checked = 0
    for name, problem in problems("inequalities", 150):
        match = RANGE.search(problem.prompt)
        if match:
            text, low, high = (group for group in match.groups() if group)
            places = range(2 * int(low), 2 * int(high) + 1)
            values = [at(text, t=Fraction(step, 2)) for step in places]
            expected = {
                "set of": f"[{min(values)}, {max(values)}]",
                "smallest": str(min(values)),
                "largest": str(max(values)),
                "number of": str(max(values) - min(values) + 1),
            }
            asked = next(text for word, text in expected.items() if f"the {word}" in problem.prompt)
            assert problem.answer == asked, f"{name}: {problem}"
            checked += 1
    assert checked > 5


def test_a_domain_holds_the_numbers_with_a_real_value() -> None:
    checked = 0
    for name, problem in problems("inequalities", 150):
        match = re.search(r"(1/)?(sqrt|ln)\((.+?)\)", problem.prompt)
        if match and "integer" not in problem.prompt:
            for x in (Fraction(step, 6) for step in range(-80, 81)):
                inner = at(match[3], x=x)
                defined = inner > 0 or (inner == 0 and match[1] is None and match[2] == "sqrt")
                assert contains(problem.answer, x) == defined, f"{name} at {x}: {problem}"
            checked += 1
    assert checked > 5
