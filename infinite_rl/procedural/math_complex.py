"""Complex numbers: arithmetic, equations, powers, roots and the polar form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from .draw import Draw
from .wording import (
    EXACT,
    Problem,
    Question,
    in_brackets,
    multiple,
    polynomial,
    posed,
    root_of,
    signed_sum,
    times,
)


def make(draw: Draw, level: int) -> Problem:
    """A problem of level 1 to 3; the answer is a complex number, a set of them or a real number."""
    kinds = (pair, single, quadratic)
    harder = (powers, linear, conjugate_equation, square_roots, polar, roots_of_unity)
    return draw.pick(kinds if level == 1 else (*kinds, *harder))(draw, level)


AS_NUMBER = (
    "Write it as a + bi with real a and b.",
    "Give the result in the form a + bi.",
    "Answer with real part plus i times imaginary part.",
    "State it in Cartesian form.",
)
AS_SET = (
    "Write them as a set, such as {1 + i, 1 - i}.",
    "Use set notation, each element in the form a + bi.",
    "List the elements in curly brackets.",
)


@dataclass(frozen=True)
class Complex:
    """A complex number with rational parts."""

    re: Fraction
    im: Fraction

    def __str__(self) -> str:
        if self.im == 0:
            return str(self.re)
        tail = times(self.im, "i")
        return tail if self.re == 0 else signed_sum([str(self.re), tail])

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __mul__(self, other: Complex) -> Complex:
        return Complex(
            self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re
        )

    def __truediv__(self, other: Complex) -> Complex:
        top, size = self * other.conjugate, other.norm
        return Complex(top.re / size, top.im / size)

    @property
    def conjugate(self) -> Complex:
        return Complex(self.re, -self.im)

    @property
    def norm(self) -> Fraction:
        """The square of its absolute value."""
        return self.re**2 + self.im**2

    def scaled(self, factor: int) -> Complex:
        return Complex(factor * self.re, factor * self.im)


def drawn(draw: Draw, reach: int) -> Complex:
    return Complex(Fraction(draw.nonzero(-reach, reach)), Fraction(draw.nonzero(-reach, reach)))


def expanded(z: Complex, w: Complex) -> str:
    """How a product is found: `(1·3 - 2·4) + (1·4 + 2·3)i`."""
    a, b, c, d = (in_brackets(part) for part in (z.re, z.im, w.re, w.im))
    return f"({a}·{c} - {b}·{d}) + ({a}·{d} + {b}·{c})i"


def norm_told(z: Complex) -> str:
    return f"{in_brackets(z.re)}^2 + {in_brackets(z.im)}^2 = {z.norm}"


def as_set(numbers: Sequence[object]) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"


# --- arithmetic


def pair(draw: Draw, level: int) -> Problem:
    z, w = drawn(draw, 4 + 2 * level), drawn(draw, 4 + 2 * level)
    p, q = draw.between(2, 4), draw.nonzero(-4, -1)
    mixed, product, quotient = z.scaled(p) + w.scaled(q), z * w, z / w
    lined = (
        f"Real parts: {p}·{in_brackets(z.re)} + {in_brackets(q)}·{in_brackets(w.re)} = {mixed.re}."
    )
    multiplied = f"zw = {expanded(z, w)}, that is {product}."
    widened = f"Widen z/w by the conjugate of w: the denominator is {norm_told(w)}."
    above = f"The numerator is {expanded(z, w.conjugate)}, that is {z * w.conjugate}."
    apart = z + w.scaled(-1)
    lengths = f"The squares: {norm_told(z)} and {norm_told(w)}."
    distance = (f"The difference is {apart}, and {norm_told(apart)}.",)
    combination = signed_sum([times(p, "z"), times(q, "w")])
    questions = [
        Question(f"the number {combination}", mixed, (lined,), AS_NUMBER),
        Question("the product zw", product, (multiplied,), AS_NUMBER),
        Question("the real part of zw", product.re, (multiplied,)),
        Question(
            "the distance of z and w in the complex plane", root_of(apart.norm), distance, EXACT
        ),
    ]
    if level > 1:
        twisted = z.conjugate * w
        turned = f"The conjugate of z is {z.conjugate}; times w it is {expanded(z.conjugate, w)}."
        questions += [
            Question("the quotient z/w", quotient, (widened, above), AS_NUMBER),
            Question("the imaginary part of z/w", quotient.im, (widened, above), EXACT),
            Question("the product of w and the conjugate of z", twisted, (turned,), AS_NUMBER),
            Question("the absolute value of zw", root_of(product.norm), (lengths,), EXACT),
            Question("the absolute value of z/w", root_of(quotient.norm), (lengths,), EXACT),
        ]
    given = (
        f"the complex numbers z = {z} and w = {w} are given",
        f"two points of the complex plane are z = {z} and w = {w}",
        f"an alternating current leads to the complex numbers z = {z} and w = {w}",
    )
    return posed(draw, given, draw.pick(questions))


def single(draw: Draw, level: int) -> Problem:
    z = drawn(draw, 6 + 3 * level)
    one = Complex(Fraction(1), Fraction(0))
    inverse, square = one / z, z * z
    length = f"The square of the absolute value is {norm_told(z)}."
    squared = f"z^2 = {expanded(z, z)}, that is {square}."
    turned = z * Complex(Fraction(0), Fraction(1))
    questions = (
        Question("the absolute value of z", root_of(z.norm), (length,), EXACT),
        Question("the inverse 1/z", inverse, (length, f"So 1/z is ({z.conjugate})/{z.norm}."), AS_NUMBER),
        Question("the square of z", square, (squared,), AS_NUMBER),
        Question("the product of z and its conjugate", z.norm, (length,)),
        Question("the image of z under a turn by 90 degrees about 0, counterclockwise", turned, (f"The turn is multiplication by i: i·({z}).",), AS_NUMBER),
    )  # fmt: skip
    given = (
        f"a complex number is z = {z}",
        f"the point z = {z} lies in the complex plane",
        f"a complex number z has the real part {z.re} and the imaginary part {z.im}",
    )
    return posed(draw, given, draw.pick(questions))


UNITS_TOLD = ("1", "i", "-1", "-i")


def powers(draw: Draw, level: int) -> Problem:
    if draw.chance(0.4):
        exponents = draw.some(range(5, 60 * level), 1 + draw.below(level))
        value = Complex(Fraction(0), Fraction(0))
        for exponent in exponents:
            value = value + unit(exponent)
        told = " + ".join(f"i^{exponent}" for exponent in exponents)
        steps = [
            f"{n} leaves {n % 4} on division by 4, so i^{n} is {UNITS_TOLD[n % 4]}."
            for n in exponents
        ]
        facts = (
            "the imaginary unit is i",
            "as usual, i is a number with the square -1",
            "the letter i stands for the imaginary unit",
        )
        return posed(draw, facts, Question(f"the value of {told}", value, steps, AS_NUMBER))
    z, n = drawn(draw, 2 + level // 2), draw.between(3, 3 + level)
    current, steps = z, []
    for exponent in range(2, n + 1):
        steps.append(f"z^{exponent} = {expanded(current, z)}, that is {current * z}.")
        current = current * z
    questions = (
        Question(f"the power z^{n}", current, steps, AS_NUMBER),
        Question(f"the imaginary part of z^{n}", current.im, steps),
        Question(f"the real part of z^{n}", current.re, steps),
    )
    given = (f"a complex number is z = {z}", f"the number z = {z} is multiplied by itself")
    return posed(draw, given, draw.pick(questions))


def unit(exponent: int) -> Complex:
    """A power of i."""
    real, imaginary = ((1, 0), (0, 1), (-1, 0), (0, -1))[exponent % 4]
    return Complex(Fraction(real), Fraction(imaginary))


# --- equations


def quadratic(draw: Draw, level: int) -> Problem:
    h = draw.between(-6, 6)
    square = draw.between(1, 5 + level) ** 2 if level == 1 else draw.between(1, 20 * level)
    name = draw.pick(("z", "x", "u"))
    root = root_of(square)
    tail = f"{root}*i" if "sqrt" in root else times(int(root), "i")
    low, high = (signed_sum([str(h), f"-{tail}"]), f"{h} + {tail}") if h else (f"-{tail}", tail)
    constant, total = h * h + square, 2 * h
    square_text = f"({signed_sum([name, str(-h)])})^2" if h else f"{name}^2"
    steps = [
        f"Complete the square: {square_text} = {h * h} - {constant}, that is {-square}.",
        f"The roots of {-square} are plus and minus {tail}.",
    ]
    added = (f"They add up to 2·{in_brackets(h)} = {total}.",)
    size = (f"Its square is {in_brackets(h)}^2 + {square} = {constant}.",)
    questions = (
        Question(f"the set of all complex solutions {name}", as_set((low, high)), (), AS_SET),
        Question(f"the solution {name} with a positive imaginary part", high, (), AS_NUMBER),
        Question("the sum of all complex solutions", total, added),
        Question(
            "the absolute value of the solutions (both have the same)",
            root_of(constant),
            size,
            EXACT,
        ),
    )
    equation = f"{polynomial((1, -2 * h, constant), name)} = 0"
    given = (
        f"the equation {equation} has no real solution",
        f"the complex unknown {name} satisfies {equation}",
        f"the equation {equation} is solved over the complex numbers",
    )
    return posed(draw, given, draw.pick(questions), steps)


def linear(draw: Draw, level: int) -> Problem:
    a, z = drawn(draw, 3 + level), drawn(draw, 4 + level)
    b = drawn(draw, 9)
    c = a * z + b
    right = c + b.scaled(-1)
    steps = [
        f"Subtract {b}: ({a})z = {right}.",
        f"Divide by {a}: the denominator is {norm_told(a)}.",
        f"The numerator is {expanded(right, a.conjugate)}, that is {right * a.conjugate}.",
    ]
    length = (f"So z = {z}, and {norm_told(z)}.",)
    questions = (
        Question("the number z", z, (), AS_NUMBER),
        Question("the conjugate of z", z.conjugate, (f"So z = {z}.",), AS_NUMBER),
        Question("the absolute value of z", root_of(z.norm), length, EXACT),
    )
    told = f"({a})z + ({b}) = {c}"
    given = (
        f"a complex number z satisfies {told}",
        f"the equation {told} holds for one complex number z",
        f"the map that sends a complex number w to ({a})w + ({b}) takes z to {c}",
    )
    return posed(draw, given, draw.pick(questions), steps)


def conjugate_equation(draw: Draw, level: int) -> Problem:
    k = draw.pick((2, 3, 4, 5, -2, -3))
    z = drawn(draw, 5 + 2 * level)
    right = z + z.conjugate.scaled(k)
    steps = [
        "Put z = a + bi; its conjugate is a - bi.",
        f"Real parts: a + {in_brackets(k)}a = {right.re}, so a = {z.re}.",
        f"Imaginary parts: b - {in_brackets(k)}b = {right.im}, so b = {z.im}.",
    ]
    total = f"{in_brackets(z.re)} + {in_brackets(z.im)} = {z.re + z.im}"
    questions = (
        Question("the number z", z, (), AS_NUMBER),
        Question(
            "the sum of the real and the imaginary part of z",
            z.re + z.im,
            (f"Their sum: {total}.",),
        ),
        Question("the square of the absolute value of z", z.norm, (f"It is {norm_told(z)}.",)),
    )
    times_k = f"{abs(k)} times its conjugate"
    sign, verb = ("plus", "added to") if k > 0 else ("minus", "taken from")
    given = (
        f"a complex number z {sign} {times_k} is {right}",
        f"for a complex number z, {times_k} is {verb} z, and the result is {right}",
    )
    return posed(draw, given, draw.pick(questions), steps)


def square_roots(draw: Draw, level: int) -> Problem:
    z = drawn(draw, 3 + 2 * level)
    root = z if z.re > 0 else z.scaled(-1)
    square = root * root
    other = root.scaled(-1)
    steps = [
        f"With z = a + bi: a^2 - b^2 = {square.re} and 2ab = {square.im}.",
        f"Lengths agree too: a^2 + b^2 = {root.norm}.",
        f"So a^2 = ({square.re} + {root.norm})/2 and a = ±{root.re}, to which belongs b = ±{root.im}.",
        f"Half of the sum: ({square.re} + {root.norm})/2 = {root.re**2}.",
    ]
    first, second = sorted((root, other), key=lambda number: number.re)
    questions = (
        Question(
            "the set of all complex numbers z with this property",
            as_set((first, second)),
            (),
            AS_SET,
        ),
        Question("the number z with a positive real part", root, (), AS_NUMBER),
        Question(
            "the absolute value of z", root_of(root.norm), (f"Its square is {root.norm}.",), EXACT
        ),
    )
    given = (
        f"a complex number z has the square {square}",
        f"the equation z^2 = {square} holds for a complex number z",
        f"squaring a complex number z leads to {square}",
    )
    return posed(draw, given, draw.pick(questions), steps)


# --- the polar form

HALF = Fraction(1, 2)
# degrees: the squares of cosine and sine, with the signs of the two
ANGLES: dict[int, tuple[Fraction, Fraction]] = {
    30: (Fraction(3, 4), Fraction(1, 4)),
    45: (HALF, HALF),
    60: (Fraction(1, 4), Fraction(3, 4)),
    90: (Fraction(0), Fraction(1)),
    120: (Fraction(-1, 4), Fraction(3, 4)),
    135: (-HALF, HALF),
    150: (Fraction(-3, 4), Fraction(1, 4)),
    210: (Fraction(-3, 4), Fraction(-1, 4)),
    225: (-HALF, -HALF),
    240: (Fraction(-1, 4), Fraction(-3, 4)),
    270: (Fraction(0), Fraction(-1)),
    300: (Fraction(1, 4), Fraction(-3, 4)),
    315: (HALF, -HALF),
    330: (Fraction(3, 4), Fraction(-1, 4)),
    180: (Fraction(-1), Fraction(0)),
    0: (Fraction(1), Fraction(0)),
}


def signed_root(square: Fraction, factor: int) -> str:
    """The root of the size of `square`, with its sign: `-3*sqrt(2)/2`."""
    return root_of(abs(square), factor if square > 0 else -factor)


def on_circle(radius: int, degrees: int) -> str:
    """The number with this absolute value and this angle in the form a + bi."""
    cosine, sine = ANGLES[degrees % 360]
    real, height = signed_root(cosine, radius), signed_root(sine, radius)
    if height == "0":
        return real
    tail = f"{height}*i" if "sqrt" in height else times(Fraction(height), "i")
    return tail if real == "0" else signed_sum([real, tail])


def polar(draw: Draw, level: int) -> Problem:
    r, degrees = draw.between(1, 4 * level), draw.pick([angle for angle in ANGLES if angle % 90])
    radians = multiple(Fraction(degrees, 180), "pi")
    n = draw.between(2, 3)
    power = on_circle(r**n, n * degrees)
    number = on_circle(r, degrees)
    cosine, sine = (signed_root(square, 1) for square in ANGLES[degrees])
    values = f"The cosine of {degrees} degrees is {cosine}, and the sine is {sine}."
    if draw.chance(0.4):
        back = f"The absolute value is {r}; the cosine is {cosine} and the sine is {sine}."
        question = draw.pick(
            (
                Question("the argument of z in radians, between 0 and 2*pi", radians, (back, f"That is the angle {radians}.")),
                Question("the argument of z in degrees, between 0 and 360", degrees, (back,)),
                Question("the absolute value of z", r, (back,)),
            )
        )  # fmt: skip
        return posed(
            draw,
            (
                f"a complex number is z = {number}",
                f"the point z = {number} lies in the complex plane",
            ),
            question,
        )
    moivre = f"Absolute values multiply, angles add: {r}^{n} = {r**n} and {n}·{degrees} = {n * degrees} degrees."
    question = draw.pick(
        (
            Question("the number z", number, (values,), AS_NUMBER),
            Question(f"the power z^{n}", power, (moivre, f"That is {power}."), AS_NUMBER),
        )
    )
    given = (
        f"a complex number z has the absolute value {r} and the argument {radians}",
        f"the point z lies {r} away from 0 in the complex plane, in the direction of {degrees} degrees",
        f"a complex number is z = {'' if r == 1 else f'{r}*'}e^({radians}*i)",
    )
    return posed(draw, given, question)


def roots_of_unity(draw: Draw, level: int) -> Problem:
    n = draw.pick((3, 4, 6))
    r, start = draw.between(1, 2 + level), draw.pick((0, 180)) if n != 4 else 0
    right = r**n * (-1 if start else 1)
    angles = sorted((start // n + k * 360 // n) % 360 for k in range(n))
    numbers = [on_circle(r, angle) for angle in angles]
    steps = [
        f"The absolute value is {r}, since {r}^{n} = {r**n}.",
        f"The angle is a solution of {n}t = {start} degrees up to full turns: {', '.join(map(str, angles))}.",
    ]
    upper = [number for number, angle in zip(numbers, angles, strict=True) if 0 < angle < 180]
    questions = (
        Question("the set of all complex solutions z", as_set(numbers), (), AS_SET),
        Question("the set of the solutions z above the real axis", as_set(upper), (), AS_SET),
        Question("the product of all complex solutions", -right if n % 2 == 0 else right, ("It is the constant term up to the sign (-1)^n.",)),
        Question("the number of solutions z that are not real", sum(angle % 180 != 0 for angle in angles), ("The real ones have the angles 0 or 180 degrees.",)),
    )  # fmt: skip
    given = (
        f"the equation z^{n} = {right} is solved over the complex numbers",
        f"a complex number z satisfies z^{n} = {right}",
        f"the corners of a regular polygon in the complex plane are the numbers z with z^{n} = {right}",
    )
    return posed(draw, given, draw.pick(questions), steps)
