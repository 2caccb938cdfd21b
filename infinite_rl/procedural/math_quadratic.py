"""Quadratic equations: their roots, what follows from them, and stories that lead to one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from .draw import Draw
from .wording import VARIABLES, Problem, decimal, in_brackets, polynomial, signed_sum, solved, times


def make(draw: Draw, level: int) -> Problem:
    """A quadratic problem of level 1 to 3; the answer is a number or a set of roots."""
    kinds = (
        (rational, rational, parabola, story)
        if level < 3
        else (rational, surds, parabola, parameter, story)
    )
    return draw.pick(kinds)(draw, level)


@dataclass(frozen=True)
class Quadratic:
    """a·x² + b·x + c = 0 with integer coefficients, in the variable `x`."""

    a: int
    b: int
    c: int
    x: str

    @property
    def text(self) -> str:
        return polynomial((self.a, self.b, self.c), self.x)

    @property
    def discriminant(self) -> int:
        return self.b**2 - 4 * self.a * self.c


def root_set(roots: tuple[Fraction, ...]) -> str:
    return "{" + ", ".join(str(root) for root in sorted(set(roots))) + "}"


# --- rational roots


def rational(draw: Draw, level: int) -> Problem:
    x = draw.pick(VARIABLES)
    if level == 1:
        a, roots = 1, (Fraction(draw.nonzero(-9, 9)), Fraction(draw.nonzero(-9, 9)))
    else:
        q, s = draw.between(1, level), draw.between(1, level)
        roots = (Fraction(draw.nonzero(-9, 9), q), Fraction(draw.nonzero(-9, 9), s))
        a = roots[0].denominator * roots[1].denominator
    b, c = int(-a * sum(roots)), int(a * roots[0] * roots[1])
    equation = Quadratic(a, b, c, x)
    shown = disguise(draw, equation, level)
    steps = []
    if shown != f"{equation.text} = 0":
        steps.append(f"Bring everything to one side: {equation.text} = 0.")
    steps += factor_steps(draw, equation, roots)
    wanted, value, last = root_question(draw, equation, roots, level)
    steps += [last] if last else []
    prompt = draw.pick(ROOT_FRAMES).format(x=x, eq=shown, wanted=wanted)
    if wanted.startswith("the set"):
        prompt += " " + draw.pick(SET_FORMS)
    return solved(draw, prompt, steps, value)


def disguise(draw: Draw, q: Quadratic, level: int) -> str:
    """The equation, with its terms moved about from level 2 on."""
    form = draw.below(2 if level == 1 else 6)
    if form == 1:
        return f"{polynomial((q.a, q.b, 0), q.x)} = {-q.c}"
    if form == 2:
        return f"{times(q.a, q.x + '^2')} = {polynomial((-q.b, -q.c), q.x)}"
    if form == 3:
        return f"{q.x}({polynomial((q.a, q.b), q.x)}) = {-q.c}"
    if form == 4:
        shift = draw.nonzero(-6, 6)
        return f"{polynomial((q.a, q.b + shift, q.c), q.x)} = {times(shift, q.x)}"
    if form == 5:
        p, r = draw.nonzero(-5, 5), draw.nonzero(-5, 5)
        rest = polynomial((1 - q.a, p + r - q.b, p * r - q.c), q.x)
        return f"({signed_sum([q.x, str(p)])})({signed_sum([q.x, str(r)])}) = {rest}"
    return f"{q.text} = 0"


def factor_steps(draw: Draw, q: Quadratic, roots: tuple[Fraction, Fraction]) -> list[str]:
    if draw.chance(0.4):
        root = isqrt(q.discriminant)
        return [
            f"The discriminant is {in_brackets(q.b)}^2 - 4·{q.a}·{in_brackets(q.c)} = {q.discriminant}, "
            f"and its square root is {root}.",
            f"So {q.x} = ({-q.b} ± {root})/{2 * q.a}, which gives the solutions {root_set(roots)}.",
        ]
    factors = "".join(
        f"({signed_sum([times(root.denominator, q.x), str(-root.numerator)])})" for root in roots
    )
    return [
        f"The left side factors: {q.text} = {factors}.",
        f"A product is zero when one of its factors is, so the solutions are {root_set(roots)}.",
    ]


def root_question(
    draw: Draw, q: Quadratic, roots: tuple[Fraction, Fraction], level: int
) -> tuple[str, str, str]:
    """What is asked, its value, and the line that derives it from the roots."""
    low, high = sorted(roots)
    total, product = low + high, low * high
    options = [
        ("the set of all solutions", root_set(roots), ""),
        ("the set of all solutions", root_set(roots), ""),
        ("the largest solution", str(high), f"The largest of them is {high}."),
        ("the smallest solution", str(low), f"The smallest of them is {low}."),
    ]
    if level > 1 and low != high:
        squares = low**2 + high**2
        options += [
            (
                "the sum of all solutions",
                str(total),
                f"Their sum is {low} + {in_brackets(high)} = {total}.",
            ),
            ("the product of the solutions", str(product), f"Their product is {product}."),
            (
                "the distance between the solutions",
                str(high - low),
                f"They are {high - low} apart.",
            ),
            (
                "the sum of the squares of the solutions",
                str(squares),
                f"The squares add up to {low**2} + {high**2} = {squares}.",
            ),
        ]
    if level > 2 and low != high:
        inverse = 1 / low + 1 / high
        options += [
            (
                "the sum of the reciprocals of the solutions",
                str(inverse),
                f"The reciprocals add up to {inverse}.",
            ),
            (
                "the larger solution minus twice the smaller",
                str(high - 2 * low),
                f"{high} - 2·{in_brackets(low)} = {high - 2 * low}.",
            ),
        ]
    return draw.pick(options)


ROOT_FRAMES = (
    "Solve {eq} and give {wanted}.",
    "Find {wanted} of the equation {eq}.",
    "Consider {eq}, where {x} is a real number. What is {wanted}?",
    "The equation {eq} is quadratic in {x}. Determine {wanted}.",
    "A student wants to know when {eq}. State {wanted}.",
    "Which real numbers {x} satisfy the following? Report {wanted}.\n\n{eq}",
    "Work out {wanted}, given {eq}.",
    "For the quadratic equation\n\n{eq}\n\ncompute {wanted}.",
    "Without a calculator, find {wanted} for {eq}.",
)
SET_FORMS = (
    "Write it as a set, such as {{1, 2}}.".format(),
    "Use set notation with the smallest element first.",
    "List the elements in curly brackets.",
    "If there is only one solution, the set has one element.",
)

# --- irrational roots


def surds(draw: Draw, level: int) -> Problem:
    x, p = draw.pick(VARIABLES), draw.nonzero(-6, 6)
    radicand = draw.pick((2, 3, 5, 6, 7, 10, 11, 13, 14, 15, 17, 19))
    q = Quadratic(1, -2 * p, p * p - radicand, x)
    shown = disguise(draw, q, level)
    sign, value = draw.pick(
        (("larger", f"{p} + sqrt({radicand})"), ("smaller", f"{p} - sqrt({radicand})"))
    )
    both = f"{{{p} - sqrt({radicand}), {p} + sqrt({radicand})}}"
    wanted, answer = (
        (f"the {sign} solution", value) if draw.chance(0.6) else ("the set of all solutions", both)
    )
    square = f"({signed_sum([x, str(-p)])})^2"
    steps = [f"Bring everything to one side: {q.text} = 0."] if shown != f"{q.text} = 0" else []
    steps += [
        f"Complete the square: {square} = {radicand}.",
        f"Take roots on both sides: {signed_sum([x, str(-p)])} = ± sqrt({radicand}).",
        f"The solutions are {p} - sqrt({radicand}) and {p} + sqrt({radicand}).",
    ]
    prompt = draw.pick(ROOT_FRAMES).format(x=x, eq=shown, wanted=wanted)
    return solved(draw, f"{prompt} {draw.pick(SURD_FORMS)}", steps, answer)


SURD_FORMS = (
    "Keep square roots exact, written like sqrt(2).",
    "Do not approximate: leave roots as sqrt(n).",
    "An exact form with sqrt is wanted.",
)

# --- properties of a parabola


def parabola(draw: Draw, level: int) -> Problem:
    x, name = draw.pick(("x", "t", "u")), draw.pick(("f", "g", "h"))
    a = draw.pick((1, 1, -1)) if level == 1 else draw.nonzero(-4, 4)
    h, k = draw.between(-7, 7), draw.between(-12, 12)
    q = Quadratic(a, -2 * a * h, a * h * h + k, x)
    extreme = "smallest" if a > 0 else "largest"
    count = 1 if q.discriminant == 0 else 2 if q.discriminant > 0 else 0
    square = f"{times(a, f'({signed_sum([x, str(-h)])})^2') if h else times(a, x + '^2')}"
    full = f"{signed_sum([square, str(k)])}" if k else square
    complete = f"Completing the square gives {name}({x}) = {full}."
    disc = f"The discriminant is {in_brackets(q.b)}^2 - 4·{in_brackets(a)}·{in_brackets(q.c)} = {q.discriminant}."
    questions = (
        (
            f"the {extreme} value of {name}",
            str(k),
            [complete, f"The square is 0 at {x} = {h}, where the value is {k}."],
        ),
        (
            f"the {x} at which {name} takes its {extreme} value",
            str(h),
            [complete, f"The square vanishes at {x} = {h}."],
        ),
        (
            f"the vertex of the graph of {name} as a pair",
            f"({h}, {k})",
            [complete, f"The vertex is ({h}, {k})."],
        ),
        (
            f"the discriminant of {name}",
            str(q.discriminant),
            ["The discriminant is b^2 - 4ac.", disc],
        ),
        (
            f"how many real zeros {name} has",
            str(count),
            [
                disc,
                f"{'It is zero' if count == 1 else 'It is positive' if count else 'It is negative'}, so the number of real zeros is {count}.",
            ],
        ),
    )
    wanted, value, steps = draw.pick(questions)
    prompt = draw.pick(PARABOLA_FRAMES).format(
        f=f"{name}({x}) = {q.text}", wanted=wanted, name=name
    )
    return solved(draw, prompt, steps, value)


PARABOLA_FRAMES = (
    "Let {f}. Find {wanted}.",
    "For the function {f}, determine {wanted}.",
    "The graph of {f} is a parabola. Work out {wanted}.",
    "Given {f}, state {wanted}.",
    "Someone plots {f} over the real numbers. Say {wanted}.",
    "Rewrite {f} where that helps, and give {wanted}.",
    "A quadratic function is defined by {f}. Report {wanted}.",
)

# --- an unknown coefficient


def parameter(draw: Draw, level: int) -> Problem:
    x, p = draw.some(("x", "y", "t", "k", "c", "m"), 2)
    one, two = draw.nonzero(-8, 4 + level), draw.nonzero(-8, 8)
    total, product = one + two, one * two
    other = f"The product of the solutions is the constant term, so the other one is {product} ÷ {in_brackets(one)} = {two}."
    if draw.chance(0.5):
        eq = f"{x}^2 + {p}·{x} {'+' if product > 0 else '-'} {abs(product)} = 0"
        steps = [
            f"Put {x} = {one} into the equation: {one * one} + {in_brackets(one)}·{p} + {in_brackets(product)} = 0.",
            f"So {in_brackets(one)}·{p} = {-product - one * one} and {p} = {-total}.",
        ]
        value = -total
    else:
        eq = f"{signed_sum([f'{x}^2', times(-total, x)]) if total else f'{x}^2'} + {p} = 0"
        steps = [
            f"Put {x} = {one} into the equation: {one * one} + {in_brackets(-total * one)} + {p} = 0.",
            f"So {p} = {product}.",
        ]
        value = product
    wanted = draw.pick((f"the value of {p}", "the other solution"))
    if wanted == "the other solution":
        steps, value = [*steps, other], two
    prompt = draw.pick(
        (
            f"One solution of {eq} is {x} = {one}. Find {wanted}.",
            f"The number {one} satisfies {eq} (unknown {x}, constant {p}). What is {wanted}?",
            f"For some constant {p}, the equation {eq} has {x} = {one} among its solutions. Determine {wanted}.",
            f"It is known that {x} = {one} solves {eq}. Give {wanted}. (A double root counts as the other one too.)",
        )
    )
    return solved(draw, prompt, steps, str(value))


# --- stories


def story(draw: Draw, level: int) -> Problem:
    return draw.pick((rectangle, product_of_integers, throw, sum_and_product))(draw, level)


def rectangle(draw: Draw, level: int) -> Problem:
    shape = draw.pick(
        ("carpet", "garden bed", "solar panel", "stage", "car park", "swimming pool", "flag")
    )
    width, gap = draw.between(3, 8 + 6 * level), draw.between(1, 10)
    length = width + gap
    fact = draw.pick(
        (
            f"A rectangular {shape} is {gap} m longer than it is wide, and its area is {width * length} m^2.",
            f"The sides of a rectangular {shape} differ by {gap} m. It covers {width * length} square metres.",
            f"A {shape} has the shape of a rectangle with area {width * length} m^2; its width is its length minus {gap} m.",
        )
    )
    wanted, value = draw.pick(
        (("width", width), ("length", length), ("perimeter", 2 * (width + length)))
    )
    ask = draw.pick(
        (
            f"What is the {wanted} in metres?",
            f"Find the {wanted} (in m).",
            f"How many metres does the {wanted} measure?",
        )
    )
    steps = [
        f"Let w be the width. Then w(w + {gap}) = {width * length}, that is {polynomial((1, gap, -width * length), 'w')} = 0.",
        f"This factors as (w - {width})(w + {length}) = 0, and a width is positive, so w = {width}.",
        f"The length is {width} + {gap} = {length}.",
    ]
    if wanted == "perimeter":
        steps.append(f"The perimeter is 2({width} + {length}) = {value}.")
    return solved(draw, f"{fact} {ask}", steps, str(value))


def product_of_integers(draw: Draw, level: int) -> Problem:
    gap = draw.pick((1, 2)) if level == 1 else draw.between(1, 9)
    low = draw.between(2, 12 + 8 * level)
    high = low + gap
    kind = {1: "consecutive positive integers"}.get(gap, f"positive integers that differ by {gap}")
    use_squares = level > 1 and draw.chance(0.4)
    total = low**2 + high**2 if use_squares else low * high
    fact = f"the sum of the squares of two {kind}" if use_squares else f"the product of two {kind}"
    wanted, value = draw.pick((("smaller", low), ("larger", high)))
    prompt = draw.pick(
        (
            f"It is known that {fact} is {total}. Find the {wanted} number.",
            f"What is the {wanted} number, if {fact} equals {total}?",
            f"Let {total} be {fact}. Determine the {wanted} one.",
        )
    )
    left = f"n^2 + (n + {gap})^2" if use_squares else f"n(n + {gap})"
    a, b, c = (2, 2 * gap, gap**2 - total) if use_squares else (1, gap, -total)
    steps = [
        f"Call the smaller number n, so the other is n + {gap}: {left} = {total}.",
        f"In standard form: {polynomial((a, b, c), 'n')} = 0.",
        f"The only positive solution is n = {low}; the other number is {high}.",
    ]
    return solved(draw, prompt, steps, str(value))


def throw(draw: Draw, level: int) -> Problem:
    thing = draw.pick(("ball", "stone", "small rocket", "flare", "water drop from a fountain"))
    land = draw.between(2, 4 + 2 * level)
    start = 5 * land * draw.between(0, land - 1) if level > 1 else 0
    speed = 5 * land - start // land
    height = f"h(t) = {polynomial((-5, speed, start), 't')}"
    prompt = draw.pick(
        (
            f"The height of a {thing} in metres after t seconds is {height}.",
            f"A {thing} is launched; t seconds later its height in metres is given by {height}.",
            f"Ignoring air, a {thing} follows {height} (metres, seconds).",
        )
    )
    peak_time = Fraction(speed, 10)
    peak = -5 * peak_time**2 + speed * peak_time + start
    asks = (
        (
            "After how many seconds (t > 0) does it reach the ground, h = 0?",
            "Find the positive time at which the height is zero, in seconds.",
        ),
        (
            "What is its greatest height in metres?",
            "How many metres above the ground is its highest point?",
        ),
    )
    which = draw.below(2)
    if which == 0:
        steps = [
            f"Set the height to zero: {polynomial((-5, speed, start), 't')} = 0; divide by -5: "
            f"{polynomial((1, Fraction(-speed, 5), Fraction(-start, 5)), 't')} = 0.",
            f"One solution is t = {Fraction(-start, 5 * land)} and the other is t = {land}; only t = {land} is positive.",
        ]
        return solved(draw, f"{prompt} {draw.pick(asks[0])}", steps, str(land))
    steps = [
        f"The parabola opens downwards and has its vertex at t = {speed}/10 = {decimal(peak_time)}.",
        f"There the height is {decimal(peak)} metres.",
    ]
    return solved(draw, f"{prompt} {draw.pick(asks[1])}", steps, decimal(peak))


def sum_and_product(draw: Draw, level: int) -> Problem:
    one, two = draw.between(-6, 10 * level), draw.between(1, 12 * level)
    low, high = sorted((one, two))
    total, product = low + high, low * high
    wanted, value = draw.pick((("larger", high), ("smaller", low)))
    prompt = draw.pick(
        (
            f"Two numbers have sum {total} and product {product}. Find the {wanted} one (or the common value).",
            f"If two numbers add up to {total} and multiply to {product}, what is the {wanted} of the two?",
            f"Find two numbers whose sum is {total} and whose product is {product}, and report the {wanted}.",
        )
    )
    steps = [
        f"Both numbers solve {polynomial((1, -total, product), 'z')} = 0.",
        f"The discriminant is {total**2} - 4·{in_brackets(product)} = {(high - low) ** 2}, with square root {high - low}.",
        f"So the numbers are ({total} - {high - low})/2 = {low} and ({total} + {high - low})/2 = {high}.",
    ]
    return solved(draw, prompt, steps, str(value))
