"""Sums over whole numbers, exactly: of polynomials, of powers of a number, of `1/n^2` and its like.

What follows none of these rules raises NotElementary or NotPolynomial.
"""

from __future__ import annotations

import math
from fractions import Fraction

from .bounds import Budget, NotElementary
from .exact import Polynomial, Quotients, rational
from .tree import INFINITY, ONE, Node, constant, number, symbols

_LARGEST_DEGREE = 20  # of a polynomial that is summed, and of the power of n that divides
_FARTHEST = 10**6  # from zero, where a sum of a polynomial may begin
_MOST_LEFT_OUT = 20  # terms, before an endless sum begins


def total(body: Node, name: str, low: Node, high: Node, budget: Budget) -> Node:
    """`sum_{name=low}^{high} body`, where the body has no other variable.

    `low` must be a whole number; `high` infinity, or whole wherever its variables are.
    """
    first = low.value
    if not isinstance(first, Fraction) or first.denominator > 1 or not symbols(body) <= {name}:
        raise NotElementary
    if high != INFINITY and (name in symbols(high) or not symbols(high) or not _is_whole(high)):
        raise NotElementary
    try:
        factor, base = _as_power(body, name, budget)
    except NotElementary:
        top, bottom = Quotients([name], budget).expand(body)
    else:
        if base != 1:
            return _of_powers(factor, base, first, high, budget)
        top, bottom = {0: factor}, {0: 1}
    if high == INFINITY:
        return _of_inverse_powers(top, bottom, int(first))
    if bottom.keys() != {0}:
        raise NotElementary
    return _of_polynomial({power: Fraction(a) / bottom[0] for power, a in top.items()}, first, high)


def _is_whole(node: Node) -> bool:
    if node.op == "num":
        return isinstance(node.value, Fraction) and node.value.denominator == 1
    return node.op == "sym" or (node.op in ("add", "mul", "neg") and all(map(_is_whole, node.args)))


def _value(node: Node, budget: Budget) -> Fraction:
    value = rational(node, budget)
    if value is None:
        raise NotElementary
    return value


# -- powers of a number ---------------------------------------------------------------------------


def _as_power(node: Node, name: str, budget: Budget) -> tuple[Fraction, Fraction]:
    """The numbers a and q, q not 0, of an expression that is `a q^k` for each whole k."""
    if not symbols(node):
        return _value(node, budget), Fraction(1)
    if node.op == "pow":
        base = _value(node.args[0], budget)
        shift, slope = _whole_line(node.args[1], name, budget)
        return _power(base, shift, budget), _power(base, slope, budget)
    if node.op not in ("mul", "div", "neg"):
        raise NotElementary
    factor, base = Fraction(-1 if node.op == "neg" else 1), Fraction(1)
    for place, arg in enumerate(node.args):
        more, other = _as_power(arg, name, budget)
        if node.op == "div" and place:
            more, other = _power(more, Fraction(-1), budget), 1 / other
        factor, base = factor * more, base * other
    return factor, base


def _whole_line(node: Node, name: str, budget: Budget) -> tuple[Fraction, Fraction]:
    """The whole numbers b and m of an exponent `m k + b`."""
    top, bottom = Quotients([name], budget).expand(node)
    shift, slope = (Fraction(top.get(power, 0)) / bottom.get(0, 1) for power in (0, 1))
    line = bottom.keys() == {0} and top.keys() <= {0, 1}
    if not line or shift.denominator > 1 or slope.denominator > 1:
        raise NotElementary
    return shift, slope


def _power(base: Fraction, exponent: Fraction, budget: Budget) -> Fraction:
    if not base:
        raise NotElementary
    return _value(Node("pow", (number(base), number(exponent))), budget)


def _of_powers(
    factor: Fraction, base: Fraction, first: Fraction, high: Node, budget: Budget
) -> Node:
    """Of `factor base^k`. An endless sum has a value where the base is between -1 and 1."""
    start = factor * _power(base, first, budget)
    if high == INFINITY and abs(base) < 1:
        return number(start / (1 - base))
    if high == INFINITY or base < 0:
        raise NotElementary
    after = Node("pow", (number(base), Node("add", (high, ONE))))
    gap = Node("add", (Node("mul", (number(factor), after)), number(-start)))
    return Node("mul", (number(1 / (base - 1)), gap))


# -- polynomials, and powers of n that divide -----------------------------------------------------


def _of_polynomial(factors: dict[int, Fraction], first: Fraction, high: Node) -> Node:
    """By Faulhaber's formula: `sum_{k=1}^n k^m = 1/(m+1) sum_j binom(m+1, j) B_j n^(m+1-j)`."""
    if max(factors, default=0) > _LARGEST_DEGREE or abs(first) > _FARTHEST:
        raise NotElementary
    sums: dict[int, Fraction] = {}
    numbers = _bernoulli(max(factors, default=0))
    for power, factor in factors.items():
        for j in range(power + 1):
            more = factor * math.comb(power + 1, j) * numbers[j] / (power + 1)
            sums[power + 1 - j] = sums.get(power + 1 - j, Fraction(0)) + more
    before = sum((factor * (first - 1) ** power for power, factor in sums.items()), Fraction(0))
    terms = [
        Node("mul", (number(factor), Node("pow", (high, number(power)))))
        for power, factor in sums.items()
    ]
    return Node("add", (number(-before), *terms))


def _of_inverse_powers(top: Polynomial, bottom: Polynomial, first: int) -> Node:
    """Of `a/(b n^s)` for an even s, by Euler: from 1 on `1/n^s` has `|B_s| (2 pi)^s / (2 s!)`."""
    (s, *others) = bottom
    even = 2 <= s <= _LARGEST_DEGREE and s % 2 == 0
    if others or not even or top.keys() != {0} or not 1 <= first <= _MOST_LEFT_OUT:
        raise NotElementary
    factor = Fraction(top[0]) / bottom[s]
    share = abs(_bernoulli(s)[s]) * 2 ** (s - 1) / math.factorial(s)
    whole = Node("mul", (number(factor * share), Node("pow", (constant("pi"), number(s)))))
    before = sum((Fraction(1, n**s) for n in range(1, first)), Fraction(0))
    return Node("add", (whole, number(-factor * before))) if before else whole


def _bernoulli(most: int) -> list[Fraction]:
    """The Bernoulli numbers up to this index, with 1/2 as the second one."""
    found: list[Fraction] = []
    for m in range(most + 1):
        known = (math.comb(m, k) * found[k] / (m - k + 1) for k in range(m))
        found.append(1 - sum(known, Fraction(0)))
    return found
