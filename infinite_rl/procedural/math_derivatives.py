"""Derivatives by rule, on a small tree of our own, and what one reads from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .draw import Draw
from .wording import Problem, capital, in_brackets, polynomial, signed_sum, solved, times


@dataclass(frozen=True)
class Term:
    """A function to differentiate: how it and its derivative are written, and the rule's line."""

    text: str
    slope: str
    why: str


def make(draw: Draw, level: int) -> Problem:
    """A derivative problem of level 1 to 3; the answer is an expression or a number."""
    kinds = (
        (whole_polynomial, at_point, motion)
        if level == 1
        else (sum_of_terms, sum_of_terms, at_point, motion, tangent, second)
    )
    return draw.pick(kinds)(draw, level)


def differentiate(coefficients: list[int]) -> list[int]:
    """The derivative of a polynomial, the highest power first."""
    top = len(coefficients) - 1
    return [c * (top - index) for index, c in enumerate(coefficients[:-1])]


def value_at(coefficients: list[int], x: int) -> int:
    result = 0
    for coefficient in coefficients:
        result = result * x + coefficient
    return result


def random_polynomial(draw: Draw, degree: int) -> list[int]:
    """Coefficients with a non-zero lead and some gaps."""
    rest = [draw.between(-9, 9) if draw.chance(0.75) else 0 for _ in range(degree)]
    return [draw.nonzero(-6, 9), *rest]


def term_lines(coefficients: list[int], x: str) -> list[str]:
    """One line for each term of a polynomial, by the power rule."""
    top, lines = len(coefficients) - 1, []
    for index, c in enumerate(coefficients):
        power = top - index
        if c == 0:
            continue
        mono = [c] + [0] * power
        lines.append(
            f"The derivative of {polynomial(mono, x)} is {polynomial(differentiate(mono), x)}."
        )
    return lines


# --- polynomials


def whole_polynomial(draw: Draw, level: int) -> Problem:
    x, name = draw.pick(VARIABLES), draw.pick(FUNCTIONS)
    p = random_polynomial(draw, draw.between(2, 3 + level))
    if draw.chance(0.4):
        a, b, c, d = (draw.nonzero(-6, 6) for _ in range(4))
        p = [a * c, a * d + b * c, b * d]
        text = f"({polynomial((a, b), x)})({polynomial((c, d), x)})"
        steps = [f"Multiply out: {polynomial(p, x)}."]
    else:
        text, steps = polynomial(p, x), []
    answer = polynomial(differentiate(p), x)
    steps += [*term_lines(p, x), f"Added up: {name}'({x}) = {answer}."]
    return solved(draw, derivative_prompt(draw, name, x, text), steps, answer)


VARIABLES = ("x", "t", "u", "z")
FUNCTIONS = ("f", "g", "h", "p")


def derivative_prompt(draw: Draw, name: str, x: str, text: str) -> str:
    frame = draw.pick(DERIVATIVE_FRAMES).format(f=name, x=x, text=text)
    return f"{frame} {draw.pick(DERIVATIVE_FORMS)}".strip()


DERIVATIVE_FRAMES = (
    "Differentiate {f}({x}) = {text} with respect to {x}.",
    "Find {f}'({x}) for {f}({x}) = {text}.",
    "What is the derivative of {text} with respect to {x}?",
    "Let {f}({x}) = {text}. Determine the derivative {f}'({x}).",
    "The slope of the graph of {f}({x}) = {text} at {x} is given by {f}'({x}). Find a formula for it.",
    "Compute d/d{x} of {text}.",
    "How fast does {text} change as {x} changes? Give the derivative.",
    "A quantity depends on {x} by the rule {text}. Write its rate of change as a function of {x}.",
)
DERIVATIVE_FORMS = (
    "",
    "Name the rule used for each part.",
    "Any equivalent form is fine.",
    "Give an expression without a name in front.",
    "Write powers with ^ and products with * where needed.",
)


def at_point(draw: Draw, level: int) -> Problem:
    x, name = draw.pick(VARIABLES), draw.pick(FUNCTIONS)
    p, point = random_polynomial(draw, draw.between(2, 2 + level)), draw.between(-4, 4)
    slope = differentiate(p)
    value = value_at(slope, point)
    steps = [
        *term_lines(p, x),
        f"So {name}'({x}) = {polynomial(slope, x)}.",
        f"At {x} = {point} this is {value}.",
    ]
    text = polynomial(p, x)
    prompt = draw.pick(
        (
            f"For {name}({x}) = {text}, find {name}'({point}).",
            f"What is the slope of the curve y = {text} (as a function of {x}) at {x} = {point}?",
            f"How steep is the tangent to the graph of {name}({x}) = {text} where {x} = {point}?",
            f"Evaluate the derivative of {text} at {x} = {point}.",
            f"Let {name}({x}) = {text}. At which rate does {name} change when {x} = {point}?",
            f"Find the limit of ({name}({x}) - {name}({point}))/({signed_sum([x, str(-point)]) if point else x}) as {x} tends to {point}, where {name}({x}) = {text}.",
        )
    )
    return solved(draw, prompt, steps, str(value))


MOVERS = ("particle", "lift", "model train", "toy car", "robot arm", "glider", "beetle")


def motion(draw: Draw, level: int) -> Problem:
    p, time = (
        random_polynomial(draw, draw.between(2, 1 + level) if level > 1 else 2),
        draw.between(0, 5),
    )
    speed = differentiate(p)
    bend = differentiate(speed)
    options = [("velocity", value_at(speed, time), "m/s")]
    if level > 1:
        options += [("acceleration", value_at(bend, time), "m/s^2")]
    wanted, value, unit = draw.pick(options)
    who, text = draw.pick(MOVERS), polynomial(p, "t")
    steps = [f"The velocity is the derivative: s'(t) = {polynomial(speed, 't')}."]
    if wanted == "acceleration":
        steps.append(f"The acceleration is the next derivative: s''(t) = {polynomial(bend, 't')}.")
    steps.append(f"At t = {time} this is {value} {unit}.")
    fact = draw.pick(
        (
            f"A {who} moves on a line; after t seconds its position is s(t) = {text} metres.",
            f"The position of a {who} in metres is s(t) = {text}, with t in seconds.",
            f"s(t) = {text} describes where a {who} is (metres) at time t (seconds).",
        )
    )
    ask = draw.pick(
        (
            f"What is its {wanted} at t = {time}, in {unit}?",
            f"Find the {wanted} after {time} seconds ({unit}).",
            f"Give the {wanted} in {unit} at the moment t = {time}; a sign shows the direction.",
        )
    )
    return solved(draw, f"{fact} {ask}", steps, str(value))


def tangent(draw: Draw, level: int) -> Problem:
    name = draw.pick(FUNCTIONS)
    p, point = random_polynomial(draw, level), draw.between(-3, 3)
    slope, height = value_at(differentiate(p), point), value_at(p, point)
    shift = height - slope * point
    line = polynomial((slope, shift), "x")
    text = polynomial(p, "x")
    steps = [
        f"{name}'(x) = {polynomial(differentiate(p), 'x')}, so the slope at x = {point} is {slope}.",
        f"The point of contact is ({point}, {height}).",
        f"The tangent is y = {slope}(x - {in_brackets(point)}) + {in_brackets(height)} = {line}.",
    ]
    asked = draw.below(3)
    asks = (
        ("Find the right-hand side of the equation y = ... of the tangent", line),
        (
            "Where does the tangent meet the y-axis? Give that y value; the tangent is drawn",
            str(shift),
        ),
        (
            "Give the height of the tangent at x = {q}; it is drawn",
            str(slope * (point + 2) + shift),
        ),
    )
    ask, answer = asks[asked]
    if asked == 2:
        steps.append(f"At x = {point + 2} the tangent has the height {answer}.")
    ask = ask.format(q=point + 2)
    prompt = draw.pick(
        (
            f"{ask} to the graph of {name}(x) = {text} at x = {point}.",
            f"Consider {name}(x) = {text}. {ask} to its graph at x = {point}.",
            f"At x = {point} a straight line touches the curve y = {text}. {ask} to this curve at that point.",
        )
    )
    return solved(draw, prompt, steps, answer)


def second(draw: Draw, level: int) -> Problem:
    x, name = draw.pick(VARIABLES), draw.pick(FUNCTIONS)
    p = random_polynomial(draw, draw.between(3, 2 + level))
    order = draw.between(2, level)
    steps, current = [], p
    for number in range(1, order + 1):
        current = differentiate(current)
        steps.append(f"Derivative number {number}: {polynomial(current, x)}.")
    what = {2: "second", 3: "third"}[order]
    prompt = draw.pick(
        (
            f"Find the {what} derivative of {name}({x}) = {polynomial(p, x)}.",
            f"Differentiate {polynomial(p, x)} {order} times with respect to {x}.",
            f"Let {name}({x}) = {polynomial(p, x)}. What is its {what} derivative?",
            f"What remains of {polynomial(p, x)} after it has been differentiated {order} times in {x}?",
        )
    )
    return solved(draw, prompt, steps, polynomial(current, x))


# --- sums of terms with one rule each


def sum_of_terms(draw: Draw, level: int) -> Problem:
    x, name = draw.pick(VARIABLES), draw.pick(FUNCTIONS)
    rules = (
        (monomial, exponential, wave, logarithm)
        if level == 2
        else (exponential, wave, logarithm, product, power_of_linear, root, fraction)
    )
    count = draw.between(1, 2) if level == 3 else 2
    terms = [rule(draw, x) for rule in draw.some(rules, count)]
    if draw.chance(0.5):
        terms.append(monomial(draw, x))
    text, answer = (
        signed_sum([term.text for term in terms]),
        signed_sum([term.slope for term in terms]),
    )
    steps = [term.why for term in terms]
    if len(terms) > 1:
        steps.append(f"Added up: {answer}.")
    return solved(draw, derivative_prompt(draw, name, x, text), steps, answer)


def told(rule: str, text: str, slope: str) -> Term:
    return Term(text, slope, f"{capital(rule)}: the derivative of {text} is {slope}.")


def monomial(draw: Draw, x: str) -> Term:
    mono = [draw.nonzero(-6, 6)] + [0] * draw.between(1, 5)
    return told("power rule", polynomial(mono, x), polynomial(differentiate(mono), x))


def exponential(draw: Draw, x: str) -> Term:
    c, k = draw.between(1, 5), draw.nonzero(-4, 5)
    body = f"e^({times(k, x)})" if k != 1 else f"e^{x}"
    rule = (
        "the exponential with the chain rule" if k != 1 else "the exponential is its own derivative"
    )
    return told(rule, scaled(c, body), scaled(c * k, body))


def scaled(c: int, body: str) -> str:
    return body if c == 1 else f"-{body}" if c == -1 else f"{c}*{body}"


def wave(draw: Draw, x: str) -> Term:
    c, k = draw.between(1, 5), draw.between(1, 5)
    inside = times(k, x)
    if draw.chance(0.5):
        return told(
            "sine becomes cosine, times the inner derivative",
            scaled(c, f"sin({inside})"),
            scaled(c * k, f"cos({inside})"),
        )
    return told(
        "cosine becomes minus sine, times the inner derivative",
        scaled(c, f"cos({inside})"),
        scaled(-c * k, f"sin({inside})"),
    )


def logarithm(draw: Draw, x: str) -> Term:
    c, a, b = draw.between(1, 6), draw.between(1, 5), draw.between(0, 6)
    inside = polynomial((a, b), x)
    below = inside if b == 0 else f"({inside})"
    slope = f"{c}/{x}" if b == 0 else f"{c * a}/{below}"
    return told(
        "the logarithm gives one over its argument, times the inner derivative",
        scaled(c, f"ln({inside})"),
        slope,
    )


def product(draw: Draw, x: str) -> Term:
    n, k = draw.between(1, 4), draw.between(1, 4)
    front = x if n == 1 else f"{x}^{n}"
    front_slope = polynomial(differentiate([1] + [0] * n), x)
    inside = times(k, x)
    function, slope, sign = draw.pick(
        (
            (f"sin({inside})", f"cos({inside})", 1),
            (f"cos({inside})", f"sin({inside})", -1),
            (f"e^({inside})" if k > 1 else f"e^{x}", f"e^({inside})" if k > 1 else f"e^{x}", 1),
        )
    )
    first = function if n == 1 else f"{front_slope}*{function}"
    second_part = f"{front}*{slope}" if k == 1 else f"{k}*{front}*{slope}"
    return told(
        "product rule", f"{front}*{function}", f"{first} {'+' if sign > 0 else '-'} {second_part}"
    )


def power_of_linear(draw: Draw, x: str) -> Term:
    a, b, n = draw.nonzero(-4, 5), draw.nonzero(-6, 6), draw.between(2, 6)
    inside = f"({polynomial((a, b), x)})"
    lowered = inside if n == 2 else f"{inside}^{n - 1}"
    return told("chain rule on a power", f"{inside}^{n}", scaled(n * a, lowered))


def root(draw: Draw, x: str) -> Term:
    a, b = draw.between(1, 6), draw.between(1, 9)
    inside = polynomial((a, b), x)
    half = Fraction(a, 2)
    below = f"{half.denominator}*sqrt({inside})" if half.denominator > 1 else f"sqrt({inside})"
    slope = f"{half.numerator}/({below})" if half.denominator > 1 else f"{half.numerator}/{below}"
    return told("chain rule on the square root", f"sqrt({inside})", slope)


def fraction(draw: Draw, x: str) -> Term:
    while True:
        a, b, c, d = (draw.nonzero(-5, 6) for _ in range(4))
        if a * d - b * c:
            break
    top, bottom = polynomial((a, b), x), polynomial((c, d), x)
    return told("quotient rule", f"({top})/({bottom})", f"{a * d - b * c}/({bottom})^2")
