"""Limits by power series with rational coefficients, exactly.

Near the point the variable is written in t, which falls to 0 from above: `a + t`, `a - t`, `1/t` or
`-1/t`. Each part of the body is then a series in t, known up to some power, and the limit is its
first term. What has no such series, or one that is not known far enough, raises NotElementary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from .bounds import Budget, NotElementary, bits
from .exact import rational
from .tree import INFINITY, MINUS_INFINITY, ONE, Node, constant, number, symbols

_TERMS = 8  # of each series
_LARGEST_POWER = 64
_MOST_BITS = 2_000  # of a coefficient


class Series(NamedTuple):
    """`t^order (terms[0] + terms[1] t + ...)`, where terms[0] is not 0.

    What follows the terms is not known. Without terms nothing is, but that all of it begins with
    `t^order` or later.
    """

    order: int
    terms: tuple[Fraction, ...]


def limit(body: Node, name: str, point: Node, side: str, budget: Budget) -> Node:
    """The limit for `name` to `point`, from the `side` "+" or "-", or from both sides for ""."""
    if not symbols(body) <= {name}:
        raise NotElementary
    variables = ways(point, side, budget)
    first, *others = (Way(name, variable, budget).limit(body) for variable in variables)
    if any(other != first for other in others):
        raise NotElementary
    return first


def ways(point: Node, side: str, budget: Budget) -> list[Series]:
    """The variable on each way to the point."""
    if point in (INFINITY, MINUS_INFINITY):
        return [_series(-1, [Fraction(1 if point == INFINITY else -1)])]
    place = rational(point, budget)
    if place is None:
        raise NotElementary
    signs = {"+": 1, "-": -1}
    return [_series(0, [place, Fraction(signs[way])]) for way in side or signs]


# -- series ---------------------------------------------------------------------------------------


def _series(order: int, exact: Sequence[Fraction]) -> Series:
    """The series of a polynomial."""
    return _stripped(order, [*exact, *[Fraction(0)] * (_TERMS - len(exact))])


def _stripped(order: int, terms: list[Fraction]) -> Series:
    zeros = next((place for place, term in enumerate(terms) if term), len(terms))
    if any(bits(term) > _MOST_BITS for term in terms):
        raise NotElementary
    return Series(order + zeros, tuple(terms[zeros:]))


def _sum(one: Series, other: Series) -> Series:
    order = min(one.order, other.order)
    end = min(one.order + len(one.terms), other.order + len(other.terms))
    total = [Fraction(0)] * max(0, end - order)
    for series in (one, other):
        for place, term in enumerate(series.terms, series.order - order):
            if place < len(total):
                total[place] += term
    return _stripped(min(order, end), total)


def _product(one: Series, other: Series) -> Series:
    size = min(len(one.terms), len(other.terms))
    terms = [Fraction(0)] * size
    for place, term in enumerate(one.terms[:size]):
        if term:
            for at in range(size - place):
                terms[place + at] += term * other.terms[at]
    return _stripped(one.order + other.order, terms)


def _at_zero(series: Series) -> Fraction:
    if series.order > 0:
        return Fraction(0)
    if series.order < 0 or not series.terms:
        raise NotElementary
    return series.terms[0]


class Way:
    """A way to the point: expands expressions in the variable into series in t."""

    def __init__(self, name: str, variable: Series, budget: Budget) -> None:
        self.name = name
        self.variable = variable
        self.budget = budget

    def limit(self, body: Node) -> Node:
        """What the body comes to: a number, a power of e, or infinity."""
        exponent = self.exponent(body)
        if exponent is not None:
            value = _at_zero(exponent)
            if value in (0, 1):
                return constant("e") if value else ONE
            return Node("pow", (constant("e"), number(value)))
        series = self.series(body)
        if series.order < 0 and series.terms:
            return INFINITY if series.terms[0] > 0 else MINUS_INFINITY
        return number(_at_zero(series))

    def series(self, node: Node) -> Series:
        """The series of an expression. Raises NotElementary, Undefined and OverBudget."""
        self.budget.spend(_TERMS)
        if node.op == "sym":
            return self.variable
        if isinstance(node.value, Fraction):
            return _series(0, [node.value])
        exponent = self.exponent(node)
        if exponent is not None:
            return self.composed(_exp, exponent)
        if node.op == "fn" and len(node.args) == 1:
            return self.function(str(node.value), self.series(node.args[0]))
        if node.op == "pow":
            return self.power(self.series(node.args[0]), rational(node.args[1], self.budget))
        if node.op not in ("add", "mul", "div", "neg"):
            raise NotElementary
        result, *others = (self.series(arg) for arg in node.args)
        if node.op == "neg":
            return _product(_series(0, [Fraction(-1)]), result)
        for other in others:
            if node.op == "add":
                result = _sum(result, other)
            else:
                divides = node.op == "div"
                result = _product(result, self.power(other, Fraction(-1)) if divides else other)
        return result

    def exponent(self, node: Node) -> Series | None:
        """What e is raised to in a power with the variable above, None for other expressions."""
        if node.op == "fn" and node.value == "exp":
            return self.series(node.args[0])
        if node.op != "pow" or not symbols(node.args[1]):
            return None
        exponent = self.series(node.args[1])
        if node.args[0] == constant("e"):
            return exponent
        return _product(exponent, self.function("ln", self.series(node.args[0])))

    def power(self, base: Series, exponent: Fraction | None) -> Series:
        """By the recurrence of Euler for the powers of a series."""
        if exponent is None or abs(exponent) > _LARGEST_POWER or not base.terms:
            raise NotElementary
        order = base.order * exponent
        lead = rational(Node("pow", (number(base.terms[0]), number(exponent))), self.budget)
        if lead is None or order.denominator > 1:
            raise NotElementary
        found = [lead]
        for n in range(1, len(base.terms)):
            self.budget.spend()
            parts = ((k * exponent - n + k) * base.terms[k] * found[n - k] for k in range(1, n + 1))
            found.append(sum(parts, Fraction(0)) / (n * base.terms[0]))
        return _stripped(int(order), found)

    def function(self, name: str, inner: Series) -> Series:
        """The series of a function of a series."""
        if name == "sqrt":
            return self.power(inner, Fraction(1, 2))
        if name == "tan":
            cosine = self.power(self.function("cos", inner), Fraction(-1))
            return _product(self.function("sin", inner), cosine)
        if name == "abs" and inner.terms:
            return _product(_series(0, [Fraction(1 if inner.terms[0] > 0 else -1)]), inner)
        if name in ("ln", "log"):
            inner = _sum(inner, _series(0, [Fraction(-1)]))
        if name not in _TAYLOR:
            raise NotElementary
        return self.composed(_TAYLOR[name], inner)

    def composed(self, coefficient: Callable[[int], Fraction], inner: Series) -> Series:
        """A Taylor series of what is 0 at the point."""
        if _at_zero(inner):
            raise NotElementary
        result = _series(0, [])
        for place in reversed(range(_TERMS)):
            self.budget.spend()
            result = _sum(_product(result, inner), _series(0, [coefficient(place)]))
        return result


def _exp(k: int) -> Fraction:
    return Fraction(1, math.factorial(k))


def _odd(term: Callable[[int], Fraction]) -> Callable[[int], Fraction]:
    """The coefficients of an odd function, of which the m-th that is not 0 is `term(m)`."""
    return lambda k: term(k // 2) if k % 2 else Fraction(0)


_TAYLOR: dict[str, Callable[[int], Fraction]] = {
    "sin": _odd(lambda m: (-1) ** m * _exp(2 * m + 1)),
    "cos": lambda k: Fraction(0) if k % 2 else (-1) ** (k // 2) * _exp(k),
    "arctan": _odd(lambda m: Fraction((-1) ** m, 2 * m + 1)),
    "arcsin": _odd(lambda m: Fraction(math.comb(2 * m, m), 4**m * (2 * m + 1))),
    "sinh": _odd(lambda m: _exp(2 * m + 1)),
    "cosh": lambda k: Fraction(0) if k % 2 else _exp(k),
    "ln": lambda k: Fraction((-1) ** (k + 1), k) if k else Fraction(0),  # of 1 + u
}
_TAYLOR["log"] = _TAYLOR["ln"]
