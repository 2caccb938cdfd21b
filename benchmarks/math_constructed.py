"""Pairs of answers that sympy constructs, with labels by construction: ours and Math-Verify.

    python -m benchmarks.math_constructed [--each N] [--peer N] [--only KIND,KIND] [--failures FILE]

Each kind draws a gold answer, rewrites it into an equal one and changes it into another one:
sympy does the algebra and prints the LaTeX, numbers and units are written by the rules below. No
part of the verdict takes part. Every label is checked by mpmath at five points, with complex
values: right answers agree at all of them, wrong ones differ; a pair of which this does not hold
(another branch of a root) is left out. The default is 420 pairs of each kind, half of them wrong.

The two judges take turns on a sample of the pairs, and the CPU medians are of that sample. Sympy
is loaded before the clock starts. Math-Verify is optional: `pip install infinite-rl[math-verify]`.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import comb, factorial
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import sympy as sp
from sympy.simplify.fu import TR7, TR8, TR10

from benchmarks.math_verifier import Judge, load, math_verify, ours

POINTS = (0.37, 1.83, 2.71, -0.59, -2.23)  # of x; y and t are fixed multiples of it
X, Y, T = sp.symbols("x y t")
C = sp.Symbol("C")
PRESENTED = (
    r"\boxed{%s}",
    r"So the answer is $\boxed{%s}$.",
    r"Collecting all terms we obtain \[\boxed{%s}\]",
    "We simplify step by step. The answer is $%s$.",
    r"**Final answer:** \(\boxed{%s}\)",
)


class Form(NamedTuple):
    """An answer as text, and its value for the check: expressions in tuples and frozen sets."""

    text: str
    value: Any


class Case(NamedTuple):
    """A labelled pair."""

    kind: str
    gold: str
    prediction: str
    equal: bool


Forms = tuple[Form, Form, Form]  # gold, right, wrong
Source = random.Random


def tex(expression: Any) -> str:
    """The LaTeX of an expression by sympy's printer, with the natural logarithm as `ln`."""
    return str(sp.latex(expression, ln_notation=True))


def form(expression: Any) -> Form:
    return Form(tex(expression), expression)


def small(source: Source, most: int = 9) -> int:
    """An integer other than zero."""
    return source.choice((-1, 1)) * source.randint(1, most)


def polynomials(source: Source) -> Forms:
    factors = [
        small(source, 4) * X ** source.randint(1, 2) + small(source) * source.choice((1, Y))
        for _ in range(source.randint(2, 3))
    ]
    whole = sp.expand(sp.prod(factors))
    rewrite = source.choice((sp.factor, sp.expand, lambda e: sp.collect(sp.expand(e), X)))
    wrong = whole + small(source, 3) * X ** source.randint(0, 2)
    if source.random() < 0.5:
        return form(whole), form(rewrite(sp.prod(factors))), form(rewrite(wrong))
    return form(sp.factor(whole)), form(whole), form(sp.expand(wrong))


def rational_functions(source: Source) -> Forms:
    one, two = (X + small(source), X + small(source))
    whole = small(source) / one + small(source) * source.choice((1, X)) / two
    wrong = whole + source.choice((small(source), small(source) / one))
    rewrite = source.choice((sp.together, sp.cancel, sp.factor, lambda e: sp.apart(e, X)))
    return form(whole), form(rewrite(whole)), form(rewrite(wrong))


def radicals(source: Source) -> Forms:
    one, two = source.sample((2, 3, 5, 6, 7, 10), 2)
    a, b, c = (small(source, 6) for _ in range(3))
    whole = (a + b * sp.sqrt(one)) / (c + sp.sqrt(two))
    wrong = source.choice(
        ((a - b * sp.sqrt(one)) / (c + sp.sqrt(two)), whole + sp.Rational(1, source.randint(3, 9)))
    )
    rewrite = source.choice((sp.radsimp, lambda e: sp.expand(sp.radsimp(e)), sp.factor))
    return form(sp.radsimp(whole)), form(rewrite(whole)), form(rewrite(wrong))


def roots(source: Source) -> Forms:
    square, rest = source.randint(2, 12), source.choice((2, 3, 5, 6, 7, 11))
    order = source.choice((2, 2, 3))
    inside = square**order * rest
    root = r"\sqrt" if order == 2 else r"\sqrt[3]"
    value = square * sp.root(rest, order)
    power = Form(f"{inside}^{{1/{order}}}", value)
    right = source.choice((Form(f"{root}{{{inside}}}", value), power, form(value)))
    changed = inside + small(source, 3)
    wrong = Form(f"{root}{{{changed}}}", sp.root(changed, order))
    return form(value), right, wrong


def powers(source: Source) -> Forms:
    a, b = (sp.Rational(small(source, 7), source.choice((2, 3, 4))) for _ in range(2))
    factor = small(source)
    gold = factor * X ** (a + b)
    right = Form(f"{factor} \\cdot x^{{{a}}} \\cdot x^{{{b}}}", gold)
    other = a + b + source.choice((-1, 1))
    return form(gold), right, form(factor * X**other)


def trigonometry(source: Source) -> Forms:
    a, b = source.sample(range(1, 5), 2)
    one, two = source.choice((sp.sin, sp.cos)), source.choice((sp.sin, sp.cos))
    whole = small(source, 5) * one(a * X) * two(b * X) + small(source, 5)
    squares = small(source, 5) * one(a * X) ** 2 + small(source, 5) * two(b * Y)
    shifted = small(source, 5) * one(a * X + b * Y)
    chosen, rewrite = source.choice(((whole, TR8), (squares, TR7), (shifted, TR10)))
    wrong = rewrite(chosen).subs(X, X + Y) if source.random() < 0.3 else -rewrite(chosen)
    return form(chosen), form(rewrite(chosen)), form(wrong)


def exact_angles(source: Source) -> Forms:
    name, factor = source.choice(("sin", "cos", "tan")), small(source)
    step = source.choice([k for k in range(1, 24) if k % 6])
    value = factor * getattr(sp, name)(sp.pi * step / 12)
    angle = source.choice((f"\\left({tex(sp.pi * step / 12)}\\right)", f" {15 * step}^\\circ"))
    near = step + (2 if (step + 2) % 12 != 6 else 4)  # no pole of the tangent
    wrong = source.choice((-value, factor * getattr(sp, name)(sp.pi * near / 12)))
    right = Form(f"{factor}\\{name}{angle}", value)
    return form(sp.radsimp(value)), right, form(sp.radsimp(wrong))


def logarithms(source: Source) -> Forms:
    a, b = source.sample((2, 3, 5, 7), 2)
    m, n = source.randint(1, 4), source.randint(1, 3)
    value = m * sp.log(a) + n * sp.log(b)
    product = Form(f"\\ln {a**m * b**n}", value)
    base = Form(f"\\frac{{\\log_{{10}} {a**m * b**n}}}{{\\log_{{10}} e}}", value)
    wrong = source.choice((m * sp.log(a) - n * sp.log(b), (m + 1) * sp.log(a) + n * sp.log(b)))
    return form(value), source.choice((product, base)), form(wrong)


def logarithms_to_a_base(source: Source) -> Forms:
    base, number = source.randint(2, 9), source.randint(2, 60)
    value = sp.log(number) / sp.log(base)
    gold = Form(f"\\log_{{{base}}} {number}", value)
    right = source.choice(
        (
            Form(f"\\frac{{\\ln {number}}}{{\\ln {base}}}", value),
            Form(f"1 + \\log_{{{base}}} \\frac{{{number}}}{{{base}}}", value),
            Form(f"\\frac{{1}}{{2}}\\log_{{{base}}} {number**2}", value),
        )
    )
    wrong = source.choice(
        (
            Form(f"\\frac{{\\ln {base}}}{{\\ln {number}}}", 1 / value),
            Form(f"\\ln \\frac{{{number}}}{{{base}}}", sp.log(sp.Rational(number, base))),
        )
    )
    return gold, right, wrong


def exponentials(source: Source) -> Forms:
    a, b, base = small(source, 4), small(source, 3), source.choice((2, 3, 5, sp.E))
    gold = base ** (a * X + b)
    split = sp.powsimp(base**b) * sp.Pow(base, a * X, evaluate=False)
    hyperbolic = source.random() < 0.3
    right = split
    if hyperbolic:
        gold = source.choice((sp.cosh, sp.sinh))(a * X) * small(source, 5)
        right = gold.rewrite(sp.exp)
    wrong = right + 1 if source.random() < 0.5 else gold.subs(X, -X)
    return form(gold), form(right), form(wrong)


def complex_numbers(source: Source) -> Forms:
    one, two = (small(source) + small(source) * sp.I for _ in range(2))
    whole = source.choice((one * two, one / two, one**2 / two))
    gold = sp.expand_complex(whole)
    re, im = sp.re(gold), sp.im(gold)
    right = source.choice(
        (form(whole), Form(f"{tex(im)} i + {tex(re)}", gold), form(sp.together(gold)))
    )
    return form(gold), right, form(source.choice((re - im * sp.I, im + re * sp.I)))


def number_formats(source: Source) -> Forms:
    whole, below = source.randint(1, 30), source.choice((2, 4, 5, 8, 20, 25, 40))
    value = Fraction(whole * below + source.randint(1, below - 1), below)
    while value.denominator == 1:
        value += Fraction(1, below)
    top, bottom = value.numerator, value.denominator
    part = value - top // bottom
    gold = Form(f"\\frac{{{top}}}{{{bottom}}}", sp.Rational(top, bottom))
    mixed = f"{top // bottom}\\frac{{{part.numerator}}}{{{part.denominator}}}"
    texts = (
        f"{float(value)}",
        f"{float(value * 100):g}\\%",
        f"{float(value * 10):g} \\times 10^{{-1}}",
        mixed if top > bottom else f"{top}/{bottom}",
        f"\\frac{{{3 * top}}}{{{3 * bottom}}}",
    )
    other = value + Fraction(source.choice((-1, 1)), source.choice((bottom, 10, 100)))
    other = -value if source.random() < 0.2 else other
    wrong = source.choice(
        (f"{float(other)}", f"\\frac{{{other.numerator}}}{{{other.denominator}}}")
    )
    return (
        gold,
        Form(source.choice(texts), gold.value),
        Form(wrong, sp.Rational(str(Fraction(other)))),
    )


def repeating_decimals(source: Source) -> Forms:
    digits = str(source.randint(1, 998)).zfill(source.choice((1, 2, 3)))
    start = source.choice(("", str(source.randint(0, 9))))
    value = (int(start + digits) - int(start or 0)) / sp.Integer(
        (10 ** len(digits) - 1) * 10 ** len(start)
    )
    line = f"0.{start}\\overline{{{digits}}}"
    cut = f"0.{start}{digits}"
    near = value + sp.Rational(1, source.choice((9, 90, 99)))
    wrong = source.choice((Form(cut, sp.Rational(cut)), form(near)))
    return (form(value), Form(line, value), wrong)


def large_integers(source: Source) -> Forms:
    value = source.randint(1_000, 9_999_999_999)
    gold = Form(str(value), sp.Integer(value))
    formats = (
        f"{value:,}",
        f"{value:,}".replace(",", "{,}"),
        f"{value:,}".replace(",", r"\,"),
        f"{value}.0",
    )
    other = value + source.choice((-1, 1)) * 10 ** source.randint(0, len(str(value)) - 1)
    wrong = source.choice((f"{other:,}", str(other), str(value)[:-1]))
    right = Form(source.choice(formats), gold.value)
    return gold, right, Form(wrong, sp.Integer(wrong.replace(",", "")))


def counting(source: Source) -> Forms:
    n = source.randint(4, 20)
    k = source.randint(2, n - 2)
    gold, right, wrong = source.choice(
        (
            (comb(n, k), f"\\binom{{{n}}}{{{k}}}", comb(n, k - 1)),
            (factorial(n), f"{n}!", factorial(n) + n),
            (
                factorial(n) // factorial(k),
                f"\\frac{{{n}!}}{{{k}!}}",
                factorial(n) // factorial(k - 1),
            ),
            (k**n, f"{k}^{{{n}}}", n**k),
        )
    )
    value = sp.Integer(gold)
    return Form(str(gold), value), Form(right, value), Form(str(wrong), sp.Integer(wrong))


def scalars(source: Source, count: int) -> list[tuple[Any, str]]:
    """Different exact values, each with another way to write it."""
    values: dict[Any, str] = {}
    while len(values) < count:
        kind = source.randint(0, 3)
        a, b = small(source), source.choice((2, 3, 5, 7))
        if kind == 0:
            values[sp.Integer(a)] = f"\\frac{{{2 * a}}}{{2}}"
        elif kind == 1:
            value = sp.Rational(a, b)
            values[value] = f"{3 * a}/{3 * b}"
        elif kind == 2:
            values[a * sp.sqrt(b)] = f"\\frac{{{a * b}}}{{\\sqrt{{{b}}}}}"
        else:
            values[a * sp.pi / b] = f"\\frac{{{a}}}{{{b}}}\\pi"
    return list(values.items())


def texts(source: Source, values: Sequence[tuple[Any, str]], respelled: float) -> list[str]:
    return [other if source.random() < respelled else tex(value) for value, other in values]


def sets(source: Source) -> Forms:
    values = scalars(source, source.randint(2, 5))
    mixed = source.sample(values, len(values))
    wrong = mixed[:-1] if source.random() < 0.4 else [*mixed[:-1], _other(source, values)]

    def written(items: Sequence[tuple[Any, str]], respelled: float) -> Form:
        inside = ", ".join(texts(source, items, respelled))
        return Form(f"\\{{{inside}\\}}", frozenset(value for value, _ in items))

    return written(values, 0), written(mixed, 0.4), written(wrong, 0.4)


def _other(source: Source, values: Sequence[tuple[Any, str]]) -> tuple[Any, str]:
    """A value that is not among these."""
    have = {value for value, _ in values}
    return next(pair for pair in scalars(source, len(values) + 1) if pair[0] not in have)


def solutions(source: Source) -> Forms:
    values = scalars(source, source.randint(2, 4))
    mixed = source.sample(values, len(values))
    gold = ", ".join(tex(value) for value, _ in values)
    joint = source.choice((", ", r" \text{ or } ", r" \text{ and } ", ", x = "))
    wrong = [*mixed[:-1], _other(source, values)] if source.random() < 0.6 else mixed[:-1]

    def written(items: Sequence[tuple[Any, str]]) -> Form:
        text = "x = " + joint.join(texts(source, items, 0.3))
        return Form(text, frozenset(value for value, _ in items))

    return Form(gold, frozenset(value for value, _ in values)), written(mixed), written(wrong)


def points(source: Source) -> Forms:
    values = scalars(source, source.randint(2, 4))
    turned = [*values[1:], values[0]]
    wrong = turned if source.random() < 0.5 else [*values[:-1], _other(source, values)]

    def written(items: Sequence[tuple[Any, str]], respelled: float) -> Form:
        inside = ", ".join(texts(source, items, respelled))
        text = f"\\left({inside}\\right)" if source.random() < 0.5 else f"({inside})"
        return Form(text, tuple(value for value, _ in items))

    return written(values, 0), written(values, 0.4), written(wrong, 0.4)


class Piece(NamedTuple):
    """A part of the real line: its ends, and which of them belong to it."""

    low: Any
    high: Any
    left: bool
    right: bool

    @property
    def interval(self) -> str:
        ends = ("[" if self.left else "(", "]" if self.right else ")")
        return f"{ends[0]}{tex(self.low)}, {tex(self.high)}{ends[1]}"

    @property
    def relation(self) -> str:
        above = "x \\leq" if self.right else "x <"
        below = "\\leq" if self.left else "<"
        if self.low == -sp.oo:
            return f"{above} {tex(self.high)}"
        if self.high == sp.oo:
            return ("x \\geq" if self.left else "x >") + f" {tex(self.low)}"
        return f"{tex(self.low)} {below} {above} {tex(self.high)}"


def intervals(source: Source) -> Forms:
    ends = sorted((value for value, _ in scalars(source, 5)), key=float)
    coins = [source.random() < 0.5 for _ in range(3)]
    pieces = [Piece(ends[0], ends[1], coins[0], coins[1])]
    if source.random() < 0.3:
        pieces = [Piece(-sp.oo, ends[1], False, coins[1])]
    if source.random() < 0.5:
        pieces.append(Piece(ends[3], sp.oo, coins[2], False))
    first, last = pieces[0], pieces[-1]
    turned = [first._replace(right=not first.right), *pieces[1:]]
    moved = [*pieces[:-1], last._replace(**{"low" if last.high == sp.oo else "high": ends[2]})]
    gold = r" \cup ".join(piece.interval for piece in pieces)

    def written(items: Sequence[Piece]) -> Form:
        value = frozenset((p.low, p.high, sp.Integer(p.left), sp.Integer(p.right)) for p in items)
        relations = r" \text{ or } ".join(piece.relation for piece in items)
        union = r" \cup ".join(piece.interval for piece in reversed(items))
        return Form(source.choice((relations, union, f"\\{{x : {relations}\\}}")), value)

    return (
        Form(gold, written(pieces).value),
        written(pieces),
        written(source.choice((turned, moved))),
    )


def matrices(source: Source) -> Forms:
    rows, columns = source.randint(2, 3), source.randint(2, 3)
    cells = [small(source, 12) for _ in range(rows * columns)]
    whole = sp.Matrix(rows, columns, cells)
    below = source.choice((2, 3, 4))
    changed = sp.Matrix(whole)
    if source.random() < 0.5:
        changed[source.randrange(rows * columns)] += source.choice((-1, 1))
    else:
        changed = sp.Matrix(columns, rows, list(whole.T))

    def text(matrix: Any, kind: str) -> str:
        body = r" \\ ".join(
            " & ".join(tex(matrix[row, column]) for column in range(matrix.cols))
            for row in range(matrix.rows)
        )
        return f"\\begin{{{kind}}} {body} \\end{{{kind}}}"

    def value(matrix: Any) -> tuple[Any, ...]:
        return tuple(tuple(row) for row in (matrix / below).tolist())

    fraction = Form(text(whole / below, "pmatrix"), value(whole))
    outside = f"\\frac{{1}}{{{below}}}{text(whole, 'bmatrix')}"
    right = source.choice((outside, text(whole / below, "bmatrix")))
    wrong = source.choice(
        (f"\\frac{{1}}{{{below}}}{text(changed, 'pmatrix')}", text(changed / below, "bmatrix"))
    )
    return fraction, Form(right, fraction.value), Form(wrong, value(changed))


def vectors(source: Source) -> Forms:
    cells = [sp.Rational(small(source), source.choice((1, 1, 2, 3))) for _ in range(3)]
    other = [*cells]
    other[source.randrange(3)] *= -1

    def written(items: Sequence[Any]) -> Form:
        inside = ", ".join(map(tex, items))
        column = r" \\ ".join(map(tex, items))
        return Form(
            source.choice(
                (
                    f"\\langle {inside} \\rangle",
                    f"\\begin{{bmatrix}} {column} \\end{{bmatrix}}",
                    f"\\left({inside}\\right)",
                )
            ),
            tuple(items),
        )

    column = r" \\ ".join(map(tex, cells))
    gold = Form(f"\\begin{{pmatrix}} {column} \\end{{pmatrix}}", tuple(cells))
    return gold, written(cells), written(other)


def lines(source: Source) -> Forms:
    a, b, c = (small(source) for _ in range(3))

    def slope(p: int, q: int, r: int) -> Any:
        return (sp.Rational(-p, q), sp.Rational(r, q))

    factor = source.choice((-3, -2, 2, 3))
    m, k = slope(a, b, c)
    scaled = f"{tex(factor * a * X + factor * b * Y)} = {factor * c}"
    zero = f"{tex(a * X + b * Y - c)} = 0"
    solved = f"y = {tex(m * X + k)}"
    other = source.choice(((m, -k), (-m, k), (m, k + 1)))
    wrong = Form(f"y = {tex(other[0] * X + other[1])}", other)
    gold = Form(f"{tex(a * X + b * Y)} = {c}", (m, k))
    return gold, Form(source.choice((scaled, zero, solved)), (m, k)), wrong


def circles(source: Source) -> Forms:
    h, k, r = small(source), small(source), source.randint(2, 9)

    def written(p: int, q: int, squared: int) -> Form:
        left = (X - p) ** 2 + (Y - q) ** 2
        centre = f"{tex(left)} = {squared}"
        open_form = f"{tex(sp.expand(left - squared))} = 0"
        return Form(source.choice((centre, open_form)), tuple(map(sp.Integer, (p, q, squared))))

    gold = Form(f"{tex((X - h) ** 2 + (Y - k) ** 2)} = {r * r}", written(h, k, r * r).value)
    wrong = source.choice((written(-h, k, r * r), written(h, k, r * r + 1), written(h, -k, r * r)))
    return gold, written(h, k, r * r), wrong


# The units of a quantity, each with its size in the first one.
UNITS: tuple[tuple[tuple[str, Fraction | int], ...], ...] = (
    (("m", 1), ("cm", Fraction(1, 100)), ("km", 1000), ("mm", Fraction(1, 1000))),
    (("g", 1), ("kg", 1000), ("mg", Fraction(1, 1000))),
    ((r"\text{s}", 1), (r"\text{minutes}", 60), (r"\text{hours}", 3600)),
    (("L", 1), ("mL", Fraction(1, 1000))),
    ((r"\text{m}^2", 1), (r"\text{cm}^2", Fraction(1, 10_000)), (r"\text{km}^2", 1_000_000)),
    ((r"\text{m/s}", 1), (r"\text{km/h}", Fraction(1000, 3600))),
)


def units(source: Source) -> Forms:
    family = source.choice(UNITS)
    (one, size), (two, other) = source.sample(family, 2)
    value = Fraction(source.randint(1, 400), source.choice((1, 2, 4, 5)))

    def written(amount: Fraction, unit: str, factor: Fraction | int) -> Form:
        exact = Fraction(amount)
        number = tex(sp.Rational(exact.numerator, exact.denominator))
        if exact.denominator in (1, 2, 4, 5, 8, 10, 20, 25):
            number = f"{float(exact):.12g}"
        shown = unit if "text" in unit else f"\\text{{{unit}}}"
        total = exact * factor
        return Form(f"{number}\\ {shown}", sp.Rational(total.numerator, total.denominator))

    gold = written(value, one, size)
    converted = value * Fraction(size) / Fraction(other)
    wrong = source.choice(
        ((value, two, other), (value * 10, one, size), (converted * 10, two, other))
    )
    return gold, written(converted, two, other), written(*wrong)


def angles(source: Source) -> Forms:
    degrees = 15 * source.choice([k for k in range(1, 24) if k != 12])
    value = sp.pi * degrees / 180
    gold = Form(f"{degrees}^\\circ", value)
    right = source.choice((form(value), Form(f"{degrees} \\text{{ degrees}}", value)))
    wrong = source.choice(
        (form(value / 2), Form(f"{180 - degrees}^\\circ", sp.pi - value), form(2 * value))
    )
    return gold, right, wrong


def antiderivatives(source: Source) -> Forms:
    a, b, n = small(source), small(source), source.randint(2, 4)
    inside = source.choice(
        (
            b * X * sp.exp(a * X),
            b * sp.sin(a * X) * sp.cos(a * X),
            a * (X + b) ** n,
            b * X * sp.cos(a * X),
            (a * X + b) ** 2 + sp.exp(X),
        )
    )
    whole = sp.integrate(inside, X)
    rewrite = source.choice((sp.expand, sp.factor, TR8))
    right = rewrite(whole + source.choice((0, 0, small(source))))
    wrong = source.choice((sp.diff(inside, X), -whole, whole + X))
    name = source.choice("CKc")

    def with_constant(expression: Any, letter: str) -> Form:
        return Form(f"{tex(expression)} + {letter}", sp.diff(expression, X))

    return with_constant(whole, "C"), with_constant(right, name), with_constant(wrong, "C")


def families(source: Source) -> Forms:
    step = sp.pi * source.choice((1, 2, sp.Rational(1, 2), sp.Rational(2, 3)))
    first = sp.pi * sp.Rational(small(source, 5), source.choice((3, 4, 6)))

    def written(start: Any, period: Any, name: str) -> Form:
        turns = sp.Symbol(name)
        value = (sp.exp(2 * sp.pi * sp.I * start / period), period)
        text = f"x = {tex(start)} + {tex(period * turns)}, {name} \\in \\mathbb{{Z}}"
        return Form(text, value)

    shift = source.choice((0, 0, 1, -1)) * step
    other = source.choice(((first, 2 * step), (-first, step), (first + step / 3, step)))
    right = written(first + shift, step, source.choice("kmn"))
    return written(first, step, "k"), right, written(*other, "k")


def functions(source: Source) -> Forms:
    whole = source.choice(
        (small(source) * X**2 + small(source), small(source) / (X + small(source)))
    )
    whole = source.choice((whole, sp.expand(whole * (X + small(source)))))
    wrong = source.choice((-whole, whole + 1, whole.subs(X, X + 1)))
    name, letter = source.choice((("f", X), ("f", T), ("f", Y)))

    def written(expression: Any, symbol: Any) -> Form:
        return Form(f"{name}({symbol}) = {tex(expression.subs(X, symbol))}", expression)

    return written(whole, X), written(sp.together(whole), letter), written(wrong, letter)


def bases(source: Source) -> Forms:
    base = source.choice((2, 3, 5, 8))
    value = source.randint(base**2, base**5)

    def digits(number: int) -> str:
        return (digits(number // base) if number >= base else "") + str(number % base)

    other = value + source.choice((-1, 1, base))
    gold = Form(f"{digits(value)}_{{{base}}}", sp.Integer(value))
    decimal = Form(f"{value}_{{10}}", gold.value)
    same = Form(f"{digits(value)}_{base}", gold.value)
    near = Form(f"{digits(other)}_{{{base}}}", sp.Integer(other))
    base_ten = Form(digits(value) + "_{10}", sp.Integer(digits(value)))
    return gold, source.choice((decimal, same)), source.choice((near, base_ten))


def absolute_values(source: Source) -> Forms:
    a, b = source.randint(1, 5), small(source)
    whole = sp.Abs(a * X + b, evaluate=False)
    right = source.choice(
        (
            Form(f"\\left|{tex(-a * X - b)}\\right|", whole),
            Form(f"\\sqrt{{\\left({tex(a * X + b)}\\right)^2}}", whole),
            Form(f"\\lvert {tex(b + a * X)} \\rvert", whole),
        )
    )
    wrong = source.choice((form(a * X + b), Form(f"|{tex(a * X - b)}|", sp.Abs(a * X - b))))
    return Form(f"|{tex(a * X + b)}|", whole), right, wrong


KINDS: tuple[Callable[[Source], Forms], ...] = (
    polynomials, rational_functions, radicals, roots, powers, trigonometry, exact_angles,
    logarithms, logarithms_to_a_base, exponentials, complex_numbers, number_formats,
    repeating_decimals, large_integers, counting, sets, solutions, points, intervals, matrices,
    vectors, lines, circles, units, angles, antiderivatives, families, functions, bases,
    absolute_values,
)  # fmt: skip


def leaf(value: Any, x: float) -> mpmath.mpc:
    """The value of an expression at a point, with 30 digits."""
    with mpmath.workdps(30):
        numeric = sp.lambdify((X, Y, T, C), value, "mpmath")
        return mpmath.mpmathify(numeric(mpmath.mpf(x), mpmath.mpf(x) * 1.7, mpmath.mpf(x) / 3, 0))


def same(one: Any, two: Any, x: float) -> bool:
    """Whether two values agree at a point; sets agree in any order."""
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(same(*pair, x) for pair in zip(one, two, strict=True))
    if isinstance(one, frozenset) and isinstance(two, frozenset):
        return len(one) == len(two) and all(any(same(a, b, x) for b in two) for a in one)
    if isinstance(one, tuple | frozenset) or isinstance(two, tuple | frozenset):
        return False
    a, b = leaf(one, x), leaf(two, x)
    if mpmath.isinf(a) or mpmath.isinf(b):
        return bool(a == b)
    return bool(abs(a - b) <= 1e-18 * max(1, abs(a), abs(b)))


def checked(gold: Form, other: Form, equal: bool) -> bool:
    """Whether the numbers bear the label out at all points."""
    agree = [same(gold.value, other.value, x) for x in POINTS]
    return all(agree) if equal else not any(agree[:3])


def cases(kind: Callable[[Source], Forms], count: int) -> Iterator[Case]:
    """`count` labelled pairs of a kind, half of them right; none comes twice."""
    source = random.Random(f"{kind.__name__} 28")
    seen: set[tuple[str, str]] = set()
    left = {True: (count + 1) // 2, False: count // 2}
    for _ in range(5 * count):  # some kinds have few pairs
        gold, right, wrong = kind(source)
        for other, equal in ((right, True), (wrong, False)):
            pair = (gold.text, other.text)
            if left[equal] and pair not in seen and checked(gold, other, equal):
                seen.add(pair)
                left[equal] -= 1
                name = kind.__name__.replace("_", " ")
                yield Case(name, gold.text, source.choice(PRESENTED) % other.text, equal)
        if not any(left.values()):
            return


def timed(judge: Judge, case: Case) -> tuple[bool, float]:
    """The verdict on a pair, and its CPU milliseconds."""
    start = time.process_time_ns()
    verdict = judge(case.prediction, case.gold)
    return verdict, (time.process_time_ns() - start) / 1e6


class Marks(NamedTuple):
    """Of a kind: pairs, false accepts and false rejects of ours, then of Math-Verify."""

    pairs: int
    accepts: int
    rejects: int
    peer_pairs: int
    peer_accepts: int
    peer_rejects: int


def judged(
    table: Sequence[Case], peer: Judge | None, sample: int, times: tuple[list[float], list[float]]
) -> tuple[Marks, list[Case]]:
    """The marks of a kind and our wrong verdicts; the two judges take turns on the sample."""
    marks, failures = [0] * 6, []
    for index, case in enumerate(table):
        judges: list[tuple[int, Judge]] = [(0, ours)]
        if peer is not None and index < sample:
            judges.insert(index % 2, (1, peer))
        for which, judge in judges:
            verdict, took = timed(judge, case)
            if len(judges) == 2:
                times[which].append(took)
            marks[3 * which] += 1
            marks[3 * which + 1] += verdict and not case.equal
            marks[3 * which + 2] += case.equal and not verdict
            if which == 0 and verdict != case.equal:
                failures.append(case)
    return Marks(*marks), failures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--each", type=int, default=420, help="pairs of each kind")
    parser.add_argument("--peer", type=int, default=60, help="pairs of each kind for Math-Verify")
    parser.add_argument("--only", default="", metavar="KIND,KIND", help="some kinds")
    parser.add_argument("--failures", type=Path, help="write our wrong verdicts here as JSON lines")
    options = parser.parse_args()
    peer = math_verify()
    load()
    print("| kind | pairs | false accepts | false rejects | Math-Verify: pairs | false accepts "
          "| false rejects |\n|---|---|---|---|---|---|---|")  # fmt: skip
    failures: list[Case] = []
    times: tuple[list[float], list[float]] = ([], [])
    rows: list[Marks] = []
    for kind in KINDS:
        if options.only and kind.__name__ not in options.only.split(","):
            continue
        table = list(cases(kind, options.each))
        marks, wrong = judged(table, peer, options.peer, times)
        rows.append(marks)
        failures += wrong
        print(f"| {table[0].kind} | " + " | ".join(map(str, marks)) + " |", flush=True)
    print(
        "| **all** | " + " | ".join(str(sum(column)) for column in zip(*rows, strict=True)) + " |"
    )
    for name, values in zip(("Infinite RL", "Math-Verify"), times, strict=True):
        if values:
            print(f"{name}: CPU median {statistics.median(values):.3f} ms, "
                  f"mean {statistics.mean(values):.3f} ms")  # fmt: skip
    if options.failures:
        wrong_lines = [json.dumps(case._asdict(), ensure_ascii=False) for case in failures]
        options.failures.write_text("\n".join(wrong_lines), encoding="utf-8")


if __name__ == "__main__":
    main()
