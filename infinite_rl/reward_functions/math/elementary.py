"""Closed forms that need no sympy: derivatives and integrals by rule, `sums` and `limits`.

All are exact. What goes beyond them is None here, and is sympy's to work out (`algebra`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from .bounds import Budget, NotElementary, OverBudget, Undefined
from .exact import NotPolynomial, Polynomial, Quotients, rational, root
from .limits import limit
from .sums import total
from .tree import ONE, Node, constant, holds, minus, negated, number, substituted, symbol, symbols

_WORK = 5_000  # steps, some milliseconds


def closed_form(question: Node) -> Node | None:
    """What a `calculus` node asks for; None for what is not easy.

    An indefinite integral is the one without a constant.
    """
    if any(holds(part, "calculus") for part in question.args):
        return None
    body, variable, *ends = question.args
    budget = Budget(math.inf, _WORK)
    try:
        found = _found(str(question.value), body, str(variable.value), ends, budget)
        value = rational(found, budget)
    except (NotElementary, NotPolynomial, Undefined, OverBudget):
        return None
    return found if value is None else number(value)


def _found(kind: str, body: Node, name: str, ends: list[Node], budget: Budget) -> Node:
    if kind.startswith("lim"):
        return limit(body, name, ends[0], kind[3:], budget)
    if kind == "sum":
        return total(body, name, ends[0], ends[1], budget)
    if any(holds(part, "const", "inf") for part in (body, *ends)):
        raise NotElementary
    if kind == "diff":
        return derivative(body, name)
    if kind != "int":
        raise NotElementary
    if name not in symbols(body):
        return _product(body, minus(ends[1], ends[0]) if ends else symbol(name))
    if symbols(body) != {name}:
        raise NotElementary
    logarithm = _logarithm(body, name, ends, budget) if ends else None
    if logarithm is not None:
        return logarithm
    found = antiderivative(body, name, budget)
    if not ends:
        return found
    low, high = (substituted(found, {name: end}) for end in ends)
    return minus(high, low)


def _logarithm(body: Node, name: str, ends: list[Node], budget: Budget) -> Node | None:
    """Of `h/(a x + b)` from p to q, without a pole between: `h/a ln((a q + b)/(a p + b))`."""
    low, high = (rational(end, budget) for end in ends)
    if body.op not in ("div", "mul", "pow") or low is None or high is None:
        return None
    top, bottom = Quotients([name], budget).expand(body)
    if top.keys() != {0} or max(bottom) != 1:
        return None
    slope, shift = Fraction(bottom[1]), Fraction(bottom.get(0, 0))
    first, last = slope * low + shift, slope * high + shift
    if first * last <= 0:
        raise NotElementary
    return _product(number(Fraction(top[0]) / slope), _fn("ln", number(last / first)))


def antiderivative(body: Node, name: str, budget: Budget) -> Node:
    """Of a function for which it has no poles and no jumps: any two ends may be put into it.

    These are sums, with rational factors, of polynomials, of sine, cosine and the exponential
    function of `a x + b`, and of `1/(a x^2 + b x + c)` where that has no pole. Raises NotElementary
    or NotPolynomial for anything else.
    """
    if body.op == "add":
        return Node("add", tuple(antiderivative(arg, name, budget) for arg in body.args))
    if body.op == "neg":
        return negated(antiderivative(body.args[0], name, budget))
    if body.op == "fn":
        return _of_wave(str(body.value), body.args[0], name, budget)
    if body.op == "pow" and body.args[0] == constant("e"):
        return _of_wave("exp", body.args[1], name, budget)
    factors = body.args if body.op == "mul" else ()
    others = [factor for factor in factors if symbols(factor)]
    if len(others) == 1 and len(factors) > 1:
        scales = [rational(factor, budget) for factor in factors if not symbols(factor)]
        known = [number(scale) for scale in scales if scale is not None]
        if len(known) < len(scales):
            raise NotElementary
        return _product(*known, antiderivative(others[0], name, budget))
    if body.op == "div" and not symbols(body.args[1]):
        divisor = rational(body.args[1], budget)
        if not divisor:
            raise NotElementary
        return _product(number(1 / divisor), antiderivative(body.args[0], name, budget))
    top, bottom = Quotients([name], budget).expand(body)
    if bottom.keys() != {0}:
        return _of_inverse_square(top, bottom, name)
    terms = [
        _product(
            number(Fraction(factor) / bottom[0] / (power + 1)),
            _power(symbol(name), Fraction(power + 1)),
        )
        for power, factor in top.items()
    ]
    return Node("add", tuple(terms)) if len(terms) > 1 else terms[0] if terms else number(0)


def _of_wave(function: str, inner: Node, name: str, budget: Budget) -> Node:
    top, bottom = Quotients([name], budget).expand(inner)
    if function not in _WAVES or bottom.keys() != {0} or not {1} <= top.keys() <= {0, 1}:
        raise NotElementary
    return _product(number(Fraction(bottom[0]) / top[1]), _WAVES[function](inner))


def _of_inverse_square(top: Polynomial, bottom: Polynomial, name: str) -> Node:
    """Of `h/(a x^2 + b x + c)`: `2h/r arctan((2a x + b)/r)` where `r = sqrt(4ac - b^2)` is real."""
    a, b, c = (Fraction(bottom.get(power, 0)) for power in (2, 1, 0))
    square = 4 * a * c - b * b
    if max(bottom) != 2 or not top.keys() <= {0} or square <= 0:
        raise NotElementary
    exact = root(square, 2)
    width = number(exact) if exact is not None else _fn("sqrt", number(square))
    slope = Node("add", (_product(number(2 * a), symbol(name)), number(b)))
    factor = Node("div", (number(2 * Fraction(top.get(0, 0))), width))
    return _product(factor, _fn("arctan", Node("div", (slope, width))))


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
_WAVES: dict[str, Callable[[Node], Node]] = {  # the antiderivatives
    "sin": lambda u: negated(_fn("cos", u)),
    "cos": lambda u: _fn("sin", u),
    "exp": lambda u: _fn("exp", u),
}
