"""Derivatives by rule, and what one reads from them."""

from collections.abc import Sequence
from fractions import Fraction
from math import factorial
from typing import NamedTuple

from .draw import Draw
from .templates import Kinds, Names, in_brackets, phrases, polynomial, signed_sum, times

VARIABLES = ("x", "t", "u", "z")
FUNCTIONS = ("f", "g", "h", "p")
MOVERS = phrases("derivatives", "movers")


def differentiate(coefficients: Sequence[int]) -> list[int]:
    """The derivative of a polynomial, the highest power first."""
    top = len(coefficients) - 1
    return [c * (top - index) for index, c in enumerate(coefficients[:-1])]


def value_at(coefficients: Sequence[int], x: int) -> int:
    result = 0
    for coefficient in coefficients:
        result = result * x + coefficient
    return result


def random_polynomial(draw: Draw, degree: int) -> list[int]:
    """Coefficients with a non-zero lead and some gaps."""
    rest = [draw.between(-9, 9) if draw.chance(0.75) else 0 for _ in range(degree)]
    return [draw.nonzero(-6, 9), *rest]


def power_rule(coefficients: Sequence[int], x: str) -> list[str]:
    """One line for each term of a polynomial."""
    powers = range(len(coefficients) - 1, -1, -1)
    terms = [[c] + [0] * power for c, power in zip(coefficients, powers, strict=True) if c]
    return [
        f"The derivative of {polynomial(term, x)} is {polynomial(differentiate(term), x)}."
        for term in terms
    ]


# --- polynomials


def whole_polynomial(draw: Draw, level: int) -> Names:
    x, f = draw.pick(VARIABLES), draw.pick(FUNCTIONS)
    p = random_polynomial(draw, draw.between(2, 3 + level))
    is_product = draw.chance(0.4)
    if is_product:
        a, b, c, d = (draw.nonzero(-6, 6) for _ in range(4))
        p = [a * c, a * d + b * c, b * d]
    sum_text = polynomial(p, x)
    text = f"({polynomial((a, b), x)})({polynomial((c, d), x)})" if is_product else sum_text
    rules, slope = power_rule(p, x), polynomial(differentiate(p), x)
    return locals()


def at_point(draw: Draw, level: int) -> Names:
    x, f = draw.pick(VARIABLES), draw.pick(FUNCTIONS)
    p, point = random_polynomial(draw, draw.between(2, 2 + level)), draw.between(-4, 4)
    text, rules, slope = polynomial(p, x), power_rule(p, x), polynomial(differentiate(p), x)
    value, step = value_at(differentiate(p), point), signed_sum([x, str(-point)]) if point else x
    return locals()


def motion(draw: Draw, level: int) -> Names:
    p = random_polynomial(draw, draw.between(2, 1 + level) if level > 1 else 2)
    time, velocity = draw.between(2, 6), differentiate(p)
    acceleration = differentiate(velocity)
    options = [(velocity, "velocity", "m/s"), (acceleration, "acceleration", "m/s^2")]
    polynomial_asked, quantity, unit = draw.pick(options if level > 1 else options[:1])
    accelerates, value = quantity == "acceleration", value_at(polynomial_asked, time)
    mover, position = draw.pick(MOVERS), polynomial(p, "t")
    speed, bend = polynomial(velocity, "t"), polynomial(acceleration, "t")
    return locals()


def tangent(draw: Draw, level: int) -> Names:
    f = draw.pick(FUNCTIONS)
    p, point = random_polynomial(draw, level), draw.between(-3, 3)
    m, height = value_at(differentiate(p), point), value_at(p, point)
    shift, x = height - m * point, point + 2
    line, text, slope = (polynomial(c, "x") for c in ((m, shift), p, differentiate(p)))
    height_at_x = m * x + shift
    return locals()


def second(draw: Draw, level: int) -> Names:
    x, f = draw.pick(VARIABLES), draw.pick(FUNCTIONS)
    p = random_polynomial(draw, draw.between(3, 2 + level))
    order = draw.between(2, level)
    text, ordinal = polynomial(p, x), {2: "second", 3: "third"}[order]
    rules = []
    for number in range(1, order + 1):
        p = differentiate(p)
        rules.append(f"Derivative number {number}: {polynomial(p, x)}.")
    slope = polynomial(p, x)
    return locals()


# --- sums of terms with one rule each


class Term(NamedTuple):
    """A function, its derivative and the rule that gives it."""

    rule: str
    text: str
    slope: str


def sum_of_terms(draw: Draw, level: int) -> Names:
    x, f = draw.pick(VARIABLES), draw.pick(FUNCTIONS)
    rules = (
        (monomial, exponential, wave, logarithm)
        if level == 2
        else (exponential, wave, logarithm, product, power_of_linear, root, fraction)
    )
    count = draw.between(1, 2) if level == 3 else 2
    terms = [rule(draw, x) for rule in draw.some(rules, count)]
    if draw.chance(0.5):
        terms.append(monomial(draw, x))
    text, slope = (signed_sum(texts) for texts in list(zip(*terms, strict=True))[1:])
    reasons = [
        f"{rule}: the derivative of {part} is {its_slope}." for rule, part, its_slope in terms
    ]
    several = len(terms) > 1
    return locals()


def scaled(c: int, body: str) -> str:
    return body if c == 1 else f"-{body}" if c == -1 else f"{c}*{body}"


def exp(k: int, x: str) -> str:
    return f"e^({times(k, x)})" if k != 1 else f"e^{x}"


def monomial(draw: Draw, x: str) -> Term:
    term = [draw.nonzero(-6, 6)] + [0] * draw.between(1, 5)
    return Term("Power rule", polynomial(term, x), polynomial(differentiate(term), x))


def exponential(draw: Draw, x: str) -> Term:
    c, k = draw.between(1, 5), draw.nonzero(-4, 5)
    rule = "is its own derivative" if k == 1 else "with the chain rule"
    return Term(f"The exponential {rule}", scaled(c, exp(k, x)), scaled(c * k, exp(k, x)))


def wave(draw: Draw, x: str) -> Term:
    c, k = draw.between(1, 5), draw.between(1, 5)
    sin, cos = (f"{function}({times(k, x)})" for function in ("sin", "cos"))
    if draw.chance(0.5):
        rule = "Sine becomes cosine, times the inner derivative"
        return Term(rule, scaled(c, sin), scaled(c * k, cos))
    rule = "Cosine becomes minus sine, times the inner derivative"
    return Term(rule, scaled(c, cos), scaled(-c * k, sin))


def logarithm(draw: Draw, x: str) -> Term:
    c, a, b = draw.between(1, 6), draw.between(1, 5), draw.between(0, 6)
    inside = polynomial((a, b), x)
    slope = f"{c * a}/({inside})" if b else f"{c}/{x}"
    rule = "The logarithm gives one over its argument, times the inner derivative"
    return Term(rule, scaled(c, f"ln({inside})"), slope)


def product(draw: Draw, x: str) -> Term:
    n, k = draw.between(1, 4), draw.between(1, 4)
    front, front_slope = (polynomial(p, x) for p in ([1] + [0] * n, [n] + [0] * (n - 1)))
    sin, cos = f"sin({times(k, x)})", f"cos({times(k, x)})"
    function, slope, sign = draw.pick(
        ((sin, cos, "+"), (cos, sin, "-"), (exp(k, x), exp(k, x), "+"))
    )
    first = function if n == 1 else f"{front_slope}*{function}"
    second_part = scaled(k, f"{front}*{slope}")
    return Term("Product rule", f"{front}*{function}", f"{first} {sign} {second_part}")


def power_of_linear(draw: Draw, x: str) -> Term:
    a, b, n = draw.nonzero(-4, 5), draw.nonzero(-6, 6), draw.between(2, 6)
    inside = f"({polynomial((a, b), x)})"
    lowered = inside if n == 2 else f"{inside}^{n - 1}"
    return Term("Chain rule on a power", f"{inside}^{n}", scaled(n * a, lowered))


def root(draw: Draw, x: str) -> Term:
    a, b = draw.between(1, 6), draw.between(1, 9)
    text, half = f"sqrt({polynomial((a, b), x)})", Fraction(a, 2)
    below = f"({half.denominator}*{text})" if half.denominator > 1 else text
    return Term("Chain rule on the square root", text, f"{half.numerator}/{below}")


def fraction(draw: Draw, x: str) -> Term:
    a, b, c, d = (draw.nonzero(-5, 6) for _ in range(4))
    while a * d == b * c:
        a, b, c, d = (draw.nonzero(-5, 6) for _ in range(4))
    top, bottom = polynomial((a, b), x), polynomial((c, d), x)
    return Term("Quotient rule", f"({top})/({bottom})", f"{a * d - b * c}/({bottom})^2")


HARDER = (sum_of_terms, sum_of_terms, at_point, motion, tangent, second)


def with_exponential(draw: Draw, level: int) -> Names:
    """A high derivative of a quadratic polynomial times an exponential function, by Leibniz."""
    a, b, c = draw.nonzero(-4, 5), draw.between(-6, 7), draw.between(-9, 9)
    k, n = draw.pick((-3, -2, -1, 2, 3)), draw.between(5, 9)
    text, power = polynomial((a, b, c), "x"), times(k, "x")
    pairs, double = n * (n - 1) // 2, 2 * a
    terms = [(c, n, 1), (b, n - 1, n), (double, n - 2, pairs)]
    shown = [
        f"{in_brackets(v)}·{in_brackets(k)}^{e}"
        if m == 1
        else f"{m}·{in_brackets(v)}·{in_brackets(k)}^{e}"
        for v, e, m in terms
        if v
    ]
    total_text, answer = " + ".join(shown), sum(v * k**e * m for v, e, m in terms)
    return locals()


def of_fraction(draw: Draw, level: int) -> Names:
    """A high derivative at 0 of a fraction, by its power series."""
    size, n = level - 2, draw.between(4, 7)
    zeros, tops = draw.some([k for k in range(-4, 5) if k], size), draw.integers(size, 1, 6)
    tops = [v * draw.pick((1, -1)) for v in tops]
    # the sum of v/(1 - px), with the lowest power first
    whole = [0] * size
    for p, v in zip(zeros, tops, strict=True):
        part = [v]
        for q in zeros:
            if q != p:
                part = [a - q * b for a, b in zip([*part, 0], [0, *part], strict=True)]
        whole = [a + b for a, b in zip(whole, part, strict=True)]
    top = polynomial(whole[::-1], "x")
    factors = [f"({signed_sum(['1', times(-p, 'x')])})" for p in zeros]
    bottom, letters = "".join(factors), "uvw"[:size]
    split = " + ".join(f"{name}/{one}" for name, one in zip(letters, factors, strict=True))
    lines = []
    for name, p, v in zip(letters, zeros, tops, strict=True):
        x = Fraction(1, p)
        value = sum((c * x**k for k, c in enumerate(whole)), Fraction())
        top_text = str(value) if str(value).isdigit() else f"({value})"
        others = "·".join(f"(1 - {in_brackets(q)}·{in_brackets(x)})" for q in zeros if q != p)
        others = f"({others})" if size > 2 else others
        lines.append(f"x = {x} gives {name} = {top_text}/{others} = {v}")
    cover = "; ".join(lines)
    terms = [f"{in_brackets(v)}·{in_brackets(p)}^{n}" for p, v in zip(zeros, tops, strict=True)]
    coefficient = sum(v * p**n for p, v in zip(zeros, tops, strict=True))
    total_text, fact = " + ".join(terms), factorial(n)
    answer = fact * coefficient
    return locals()


KINDS: Kinds = {
    1: (whole_polynomial, at_point, motion),
    2: HARDER,
    3: HARDER,
    4: (with_exponential, of_fraction),
    5: (of_fraction,),
}
