"""Closed forms that need no sympy: derivatives by rule, and integrals of polynomials.

Both are exact. What goes beyond them is None here, and is sympy's to work out (`algebra`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from .bounds import Budget, OverBudget, Undefined
from .exact import NotPolynomial, Quotients, rational
from .tree import ONE, Node, constant, holds, minus, negated, number, substituted, symbol, symbols


def closed_form(question: Node) -> Node | None:
    """The derivative or the integral that a `calculus` node asks for; None for what is not easy.

    An indefinite integral is the one without a constant.
    """
    if any(holds(part, "calculus") or holds(part, "const", "inf") for part in question.args):
        return None
    body, variable, *ends = question.args
    name = str(variable.value)
    budget = Budget(math.inf, _WORK)
    try:
        if question.value == "diff":
            found = derivative(body, name)
        elif question.value == "int" and symbols(body) <= {name}:
            found = antiderivative(body, name, budget)
            if ends:
                low, high = (substituted(found, {name: end}) for end in ends)
                found = minus(high, low)
        else:
            return None
        value = rational(found, budget)
    except (NotElementary, NotPolynomial, Undefined, OverBudget):
        return None
    return found if value is None else number(value)


_WORK = 5_000  # steps, some milliseconds


class NotElementary(Exception):
    """There is no rule for it here."""


def antiderivative(body: Node, name: str, budget: Budget) -> Node:
    """Of a polynomial with rational coefficients. Raises NotPolynomial for anything else."""
    top, bottom = Quotients([name], budget).expand(body)
    if bottom.keys() != {0}:
        raise NotPolynomial
    terms = [
        _product(
            number(Fraction(factor) / bottom[0] / (power + 1)),
            _power(symbol(name), Fraction(power + 1)),
        )
        for power, factor in top.items()
    ]
    return Node("add", tuple(terms)) if len(terms) > 1 else terms[0] if terms else number(0)


def derivative(node: Node, name: str) -> Node:
    """By the rules for sums, products, quotients, powers and chains. Raises NotElementary.

    Only a factor that is a numeral is taken out, and only a numeral left out of a sum: a part
    without a value, such as `1/0`, stays in the result.
    """
    if node.op == "sym":
        return number(int(node.value == name))
    if node.op in ("num", "const"):
        return number(0)
    if node.op == "neg":
        return negated(derivative(node.args[0], name))
    if node.op == "add":
        terms = [derivative(arg, name) for arg in node.args if arg.op != "num"]
        return Node("add", tuple(terms)) if len(terms) > 1 else terms[0] if terms else number(0)
    if node.op == "mul":
        return _of_product(node.args, name)
    if node.op == "div":
        top, bottom = node.args
        parts = _product(derivative(top, name), bottom), _product(top, derivative(bottom, name))
        return Node("div", (minus(*parts), _power(bottom, Fraction(2))))
    if node.op == "pow":
        return _of_power(node, name)
    rule = _RULES.get(str(node.value)) if node.op == "fn" and len(node.args) == 1 else None
    if rule is None:
        raise NotElementary
    return _product(rule(node.args[0]), derivative(node.args[0], name))


def _of_product(factors: tuple[Node, ...], name: str) -> Node:
    numerals = [factor for factor in factors if factor.op == "num"]
    others = [factor for factor in factors if factor.op != "num"]
    terms = [
        _product(*others[:place], derivative(factor, name), *others[place + 1 :])
        for place, factor in enumerate(others)
    ]
    if not terms:
        return number(0)
    return _product(*numerals, Node("add", tuple(terms)) if len(terms) > 1 else terms[0])


def _of_power(node: Node, name: str) -> Node:
    base, exponent = node.args
    if exponent.op == "num" and isinstance(exponent.value, Fraction):
        value = exponent.value
        return _product(exponent, _power(base, value - 1), derivative(base, name))
    if base == constant("e"):
        return _product(node, derivative(exponent, name))
    raise NotElementary


def _product(*factors: Node) -> Node:
    kept = tuple(factor for factor in factors if factor != ONE)
    return Node("mul", kept) if len(kept) > 1 else kept[0] if kept else ONE


def _power(base: Node, exponent: Fraction) -> Node:
    return base if exponent == 1 else Node("pow", (base, number(exponent)))


def _fn(name: str, argument: Node) -> Node:
    return Node("fn", (argument,), name)


_RULES: dict[str, Callable[[Node], Node]] = {
    "sin": lambda u: _fn("cos", u),
    "cos": lambda u: negated(_fn("sin", u)),
    "tan": lambda u: _power(_fn("cos", u), Fraction(-2)),
    "exp": lambda u: _fn("exp", u),
    "ln": lambda u: _power(u, Fraction(-1)),
    "log": lambda u: _power(u, Fraction(-1)),
    "sqrt": lambda u: _product(number(Fraction(1, 2)), _power(u, Fraction(-1, 2))),
}
