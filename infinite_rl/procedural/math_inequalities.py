"""Inequalities, domains and ranges: the answer is a set on the number line, or follows from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from .draw import Draw
from .wording import Problem, Question, in_brackets, listing, polynomial, posed, signed_sum, times


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, where None is infinity; an end belongs to it where it is closed."""

    low: Fraction | None
    high: Fraction | None
    with_low: bool = False
    with_high: bool = False

    def __str__(self) -> str:
        low = "(-infinity" if self.low is None else f"{'[' if self.with_low else '('}{self.low}"
        high = "infinity)" if self.high is None else f"{self.high}{']' if self.with_high else ')'}"
        return f"{low}, {high}"

    @property
    def least(self) -> int | None:
        """Its smallest integer, if there is a lower end."""
        if self.low is None:
            return None
        return ceil(self.low) if self.with_low else floor(self.low) + 1

    @property
    def greatest(self) -> int | None:
        """Its largest integer, if there is an upper end."""
        if self.high is None:
            return None
        return floor(self.high) if self.with_high else ceil(self.high) - 1


@dataclass(frozen=True)
class Found:
    """A condition on x as a clause, the set of its solutions in order, and how it is found."""

    given: Sequence[str]
    region: tuple[Interval, ...]
    steps: Sequence[str]


def make(draw: Draw, level: int) -> Problem:
    """A problem of level 1 to 3 with a set of solutions; the answer is a set or an integer."""
    kinds = (linear, between, absolute)
    harder = (absolute, quadratic, rational, domain, both, power, logarithm, value_range)
    found = draw.pick(kinds if level == 1 else (linear, between, *harder))(draw, level)
    return posed(draw, found.given, question_on(draw, found), found.steps)


AS_SET = (
    "Use interval notation.",
    "Write the set with intervals, such as (-infinity, 2] ∪ (5, infinity).",
    "Give it as an interval or a union of intervals.",
    "Answer in interval notation, with round brackets at open ends.",
)
SETS = (
    "the set of all such real numbers x",
    "the set of all real numbers x with this property",
    "the set of the possible values of x",
)


def text_of(region: Sequence[Interval]) -> str:
    return " ∪ ".join(map(str, region))


def question_on(draw: Draw, found: Found) -> Question:
    """The set itself, or, where it has an end and an integer, what can be told of its integers."""
    region, answer = found.region, text_of(found.region)
    questions = [Question(draw.pick(SETS), answer, (), AS_SET)] * 3
    least, greatest = region[0].least, region[-1].greatest
    count = 1 if least is None or greatest is None else greatest - least + 1
    written = f"In intervals this is {answer}."
    if least is not None and count > 0:
        last = f"Its smallest integer is {least}."
        questions.append(Question("the smallest such integer x", least, (written, last)))
    if greatest is not None and count > 0:
        last = f"Its largest integer is {greatest}."
        questions.append(Question("the largest such integer x", greatest, (written, last)))
    if least is not None and greatest is not None and count > 0:
        last = f"Its integers run from {least} to {greatest}."
        questions.append(Question("the number of such integers x", count, (written, last)))
    return draw.pick(questions)


SIGNS = ("<", ">", "<=", ">=")
FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def half_line(end: Fraction, sign: str) -> Interval:
    closed = sign.endswith("=")
    if sign.startswith("<"):
        return Interval(None, end, False, closed)
    return Interval(end, None, closed, False)


def inside(low: Fraction, high: Fraction, sign: str) -> tuple[Interval, ...]:
    """Between the ends for a sign like "<", outside of them for one like ">"."""
    closed = sign.endswith("=")
    if sign.startswith("<"):
        return (Interval(low, high, closed, closed),)
    return (Interval(None, low, False, closed), Interval(high, None, closed, False))


def told(condition: str) -> tuple[str, ...]:
    return (
        f"a real number x satisfies {condition}",
        f"the inequality {condition} is to be solved over the real numbers",
        f"only numbers x with {condition} are allowed",
        f"somebody looks for all x such that {condition}",
    )


# --- linear ones


def half(draw: Draw) -> tuple[str, Interval, list[str]]:
    """A linear condition, its solutions and the steps to them."""
    a, b, d = draw.nonzero(-9, 9), draw.between(-15, 15), draw.between(-15, 15)
    c = draw.pick([factor for factor in range(-9, 10) if factor not in (0, a)])
    sign = draw.pick(SIGNS)
    end, final = Fraction(d - b, a - c), sign if a > c else FLIPPED[sign]
    turn = ", which turns the sign," if a < c else ""
    steps = [
        f"Collect: {d} - {in_brackets(b)} = {d - b}, so {times(a - c, 'x')} {sign} {d - b}.",
        f"Divide by {a - c}{turn} to get x {final} {end}.",
    ]
    condition = f"{polynomial((a, b), 'x')} {sign} {polynomial((c, d), 'x')}"
    return condition, half_line(end, final), steps


def linear(draw: Draw, level: int) -> Found:
    condition, region, steps = half(draw)
    return Found(told(condition), (region,), steps)


def between(draw: Draw, level: int) -> Found:
    a, b, low = draw.between(1, 3 + 2 * level), draw.between(-12, 12), draw.between(-20, 12)
    high = low + draw.between(a + 1, 12 + 6 * level)
    one, two = draw.pick(("<", "<=")), draw.pick(("<", "<="))
    ends = Fraction(low - b, a), Fraction(high - b, a)
    region = Interval(ends[0], ends[1], one == "<=", two == "<=")
    middle = polynomial((a, b), "x")
    steps = [
        f"The outer sides: {low} - {in_brackets(b)} = {low - b}, {high} - {in_brackets(b)} = {high - b}.",
        f"Take {b} off all sides: {low - b} {one} {times(a, 'x')} {two} {high - b}.",
        f"Divide by {a}: {ends[0]} {one} x {two} {ends[1]}.",
    ]
    return Found(told(f"{low} {one} {middle} {two} {high}"), (region,), steps)


def both(draw: Draw, level: int) -> Found:
    (first, low, one), (second, high, two) = half(draw), half(draw)
    while low.low is None or high.high is None or low.low >= high.high:
        (first, low, one), (second, high, two) = half(draw), half(draw)
    region = Interval(low.low, high.high, low.with_low, high.with_high)
    steps = [
        f"For {first}: {' '.join(one)}",
        f"For {second}: {' '.join(two)}",
        f"Both hold where {low} and {high} overlap, on {region}.",
    ]
    return Found(told(listing(draw.shuffled([first, second]))), (region,), steps)


# --- absolute values, products and quotients


def absolute(draw: Draw, level: int) -> Found:
    a = draw.nonzero(-1 - level, 1 + level)
    b, c = draw.between(-12, 12), draw.between(1, 9 + 4 * level)
    sign, extra = draw.pick(SIGNS), draw.between(-5, 5) if level > 1 else 0
    low, high = sorted((Fraction(-c - b, a), Fraction(c - b, a)))
    body = f"|{polynomial((a, b), 'x')}|"
    shown = signed_sum([body, str(extra)]) if extra else body
    inner = f"-{c} {sign} {polynomial((a, b), 'x')} {sign} {c}"
    outer = (
        f"{polynomial((a, b), 'x')} {FLIPPED[sign]} -{c} or {polynomial((a, b), 'x')} {sign} {c}"
    )
    region = inside(low, high, sign)
    steps = [f"Alone on its side: {body} {sign} {c}."] if extra else []
    steps += [
        f"This means {inner if sign.startswith('<') else outer}.",
        f"The ends are x = {low} and x = {high}, so x lies in {text_of(region)}.",
    ]
    return Found(told(f"{shown} {sign} {c + extra}"), region, steps)


def quadratic(draw: Draw, level: int) -> Found:
    low, high = sorted(draw.some(range(-9, 10), 2))
    sign, a = draw.pick(SIGNS), draw.pick((1, 1, -1, 2)) if level == 3 else 1
    shape = sign if a > 0 else FLIPPED[sign]
    text = polynomial((a, -a * (low + high), a * low * high), "x")
    factors = f"({signed_sum(['x', str(-low)])})({signed_sum(['x', str(-high)])})"
    front = "" if a == 1 else "-" if a == -1 else f"{a}·"
    region = inside(Fraction(low), Fraction(high), shape)
    where = "between" if shape.startswith("<") else "outside of"
    steps = [
        f"Zeros are {low} and {high}: {low} + {in_brackets(high)} = {low + high}, "
        f"{in_brackets(low)}·{in_brackets(high)} = {low * high}.",
        f"The left side is {front}{factors}.",
        f"The product of both brackets is {'negative' if where == 'between' else 'positive'} {where} them.",
        f"So x lies in {text_of(region)}.",
    ]
    return Found(told(f"{text} {sign} 0"), region, steps)


def rational(draw: Draw, level: int) -> Found:
    zero, pole = draw.some(range(-9, 10), 2)
    sign = draw.pick(SIGNS)
    shift = draw.nonzero(-3, 3) if level == 3 else 0
    low, high = Fraction(min(zero, pole)), Fraction(max(zero, pole))
    closed = sign.endswith("=")
    with_low, with_high = closed and low == zero, closed and high == zero
    if sign.startswith("<"):
        region: tuple[Interval, ...] = (Interval(low, high, with_low, with_high),)
    else:
        region = (Interval(None, low, False, with_low), Interval(high, None, with_high, False))
    below = signed_sum(["x", str(-pole)]) if pole else "x"
    above = signed_sum(["x", str(-zero)]) if zero else "x"
    top = polynomial((1 + shift, -zero - shift * pole), "x")
    simple = f"({above})/({below}) {sign} 0"
    steps = [f"Subtract {shift}: {simple}."] if shift else []
    steps += [
        f"The quotient changes its sign at {zero} (zero) and {pole} (pole, never allowed).",
        f"It is {'negative' if sign.startswith('<') else 'positive'} for x in "
        f"{text_of(region)}{', with the zero' if closed else ''}.",
    ]
    return Found(told(f"({top})/({below}) {sign} {shift}"), region, steps)


# --- functions


def domain(draw: Draw, level: int) -> Found:
    kind = draw.pick(("sqrt({})", "ln({})", "1/sqrt({})", "sqrt({}) + 1/2", "x*ln({})"))
    sign = ">=" if kind.startswith("sqrt") else ">"
    if draw.chance(0.4):
        a, b = draw.nonzero(-6, 6), draw.between(-12, 12)
        inner, end = polynomial((a, b), "x"), Fraction(-b, a)
        region: tuple[Interval, ...] = (half_line(end, sign if a > 0 else FLIPPED[sign]),)
    else:
        low, high = sorted(draw.some(range(-8, 9), 2))
        a = draw.pick((1, -1))
        inner = polynomial((a, -a * (low + high), a * low * high), "x")
        shape = sign if a > 0 else FLIPPED[sign]
        region = inside(Fraction(low), Fraction(high), shape)
    function = kind.format(inner)
    steps = [
        f"The function is defined where {inner} {sign} 0.",
        f"That holds for x in {text_of(region)}.",
    ]
    given = (
        f"the function f(x) = {function} is defined for a real number x",
        f"a real number x may be put into the formula {function}",
        f"the expression {function} has a real value at x",
    )
    return Found(given, region, steps)


def power(draw: Draw, level: int) -> Found:
    base, exponent = draw.pick((2, 3, 5)), draw.between(-2, 3 + level)
    a, b, sign = draw.nonzero(-4, 4), draw.between(-8, 8), draw.pick(SIGNS)
    end, final = Fraction(exponent - b, a), sign if a > 0 else FLIPPED[sign]
    inner = polynomial((a, b), "x")
    value = Fraction(base) ** exponent
    steps = [
        f"As a power: {value} = {base}^({exponent})."
        if exponent < 0
        else f"As a power: {base}^{exponent} = {value}.",
        f"{base}^t grows with t, so {inner} {sign} {exponent}.",
        f"Hence x {final} {end}.",
    ]
    return Found(told(f"{base}^({inner}) {sign} {value}"), (half_line(end, final),), steps)


def logarithm(draw: Draw, level: int) -> Found:
    base, exponent = draw.pick((2, 3, 4, 10)), draw.between(0, 1 + level)
    shift, sign = draw.between(-9, 9), draw.pick(SIGNS)
    end, closed = Fraction(base**exponent + shift), sign.endswith("=")
    pole = Fraction(shift)
    region = (Interval(pole, end, False, closed) if sign.startswith("<") else half_line(end, sign),)
    inner = signed_sum(["x", str(-shift)]) if shift else "x"
    steps = [
        f"The logarithm needs {inner} > 0, that is x > {shift}.",
        f"It grows, so {inner} {sign} {base}^{exponent}, that is x {sign} {end}.",
        f"Both hold on {text_of(region)}.",
    ]
    return Found(told(f"log_{base}({inner}) {sign} {exponent}"), region, steps)


def value_range(draw: Draw, level: int) -> Found:
    a, h, k = draw.pick((1, -1, 2)), draw.between(-5, 5), draw.between(-9, 9)
    low = draw.between(-8, 4)
    high = low + draw.between(2, 6)

    def f(x: int) -> int:
        return a * (x - h) ** 2 + k

    places = [low, high, *([h] if low < h < high else [])]
    values = [f(x) for x in places]
    region = (Interval(Fraction(min(values)), Fraction(max(values)), True, True),)
    text = polynomial((a, -2 * a * h, a * h * h + k), "t")
    steps = [
        f"The function turns at t = {h}, {'inside' if low < h < high else 'not inside'} the interval.",
        f"The values at t = {listing(places)} are {listing(values)}.",
        f"So x takes all values in {text_of(region)}.",
    ]
    given = (
        f"a number x is one of the values of {text} for {low} <= t <= {high}",
        f"the function f(t) = {text} takes the value x somewhere on the interval [{low}, {high}]",
    )
    return Found(given, region, steps)
