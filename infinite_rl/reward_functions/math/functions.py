"""Functions of the parser: with a base, an exponent, a bar, or over the whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from .bounds import MAX_SERIES, Budget, OutOfTime, OverBudget, Undefined, Unparsed
from .environments import determinant
from .exact import rational
from .tokens import SELECTIONS
from .tree import (
    Node,
    constant,
    expression,
    holds,
    minus,
    negated,
    number,
    product_of,
    size,
    substituted,
    symbol,
)

if TYPE_CHECKING:
    from .parse import Parser

_ONE_ATOM = frozenset(["sqrt", "cbrt", "abs", "floor", "ceil"])  # functions of the next atom alone


def application(parser: Parser, name: str) -> Node:
    """A function with its optional base and exponent: `\\log_2 8`, `\\sin^2 x`, `ln(x)`."""
    parser.enter()
    if name in SELECTIONS or name == "det":
        node = selection(parser, name) if name in SELECTIONS else determinant(parser.atom())
        parser.depth -= 1
        return node
    base = base_of_logarithm(parser) if name == "log" and parser.at("_") else None
    exponent = parser.exponent() if parser.accept("^") else None
    argument = function_argument(parser, name)
    inverse = exponent is not None and exponent.op == "num" and exponent.value == -1
    if exponent is not None and inverse and name in ("sin", "cos", "tan"):
        name, exponent = f"arc{name}", None
    node = Node("fn", (argument,) if base is None else (argument, base), name)
    if name == "cis":
        node = Node("pow", (constant("e"), Node("mul", (constant("i"), argument))))
    parser.depth -= 1
    return node if exponent is None else Node("pow", (node, expression(exponent)))


def base_of_logarithm(parser: Parser) -> Node:
    """What follows the `_` of a logarithm: `2`, `10` and `{b}`."""
    parser.take()
    token = parser.peek()
    if token.kind == "num" and token.text.isdigit() and len(token.text) <= 2:
        parser.take()
        return number(int(token.text))
    return parser.argument()


def function_argument(parser: Parser, name: str) -> Node:
    """What a function is of: a bracket, or all factors up to the next function or bracket."""
    if parser.at("(", "[", "{", "|") or name in _ONE_ATOM:
        return expression(parser.atom())
    factors = [parser.power()]
    while parser.starts_atom() and parser.peek().kind != "func" and not parser.at("("):
        factors.append(parser.power())
    return expression(product_of(factors))


def selection(parser: Parser, name: str) -> Node:
    """`\\max(2, 3)`, `\\gcd\\{12, 18\\}`: one number of those in brackets."""
    listed = parser.atom() if parser.at("(", "\\{", "{") else None
    if listed is None or listed.op not in ("tuple", "set"):
        raise Unparsed(f"a {name} without its numbers")
    members = [expression(arg) for arg in listed.args]
    return _extreme(members, name) if name in ("max", "min") else _divisor(members, name)


def _extreme(members: list[Node], name: str) -> Node:
    """The greatest of two is `(a + b + |a - b|) / 2`, the least has a minus there."""
    found = members[0]
    for member in members[1:]:
        gap = Node("fn", (minus(found, member),), "abs")
        gap = gap if name == "max" else negated(gap)
        found = Node("div", (Node("add", (found, member, gap)), number(2)))
        if size(found) > MAX_SERIES:
            raise OverBudget(f"a {name} of too many terms")
    if any(holds(member, "const", kind) for member in members for kind in ("i", "inf")):
        raise Unparsed(f"a {name} of what is no real number")
    return found


def _divisor(members: list[Node], name: str) -> Node:
    """The greatest common divisor, or the least common multiple, of whole numbers."""
    try:
        values = [rational(member, Budget(1.0)) for member in members]
    except (Undefined, OutOfTime):
        values = [None]
    wholes = [value.numerator for value in values if value is not None and value.denominator == 1]
    if len(wholes) < len(values):
        raise Unparsed(f"a {name} of what is no whole number")
    return number(math.lcm(*wholes) if name == "lcm" else math.gcd(*wholes))


def root(parser: Parser) -> Node:
    """What follows `\\sqrt`: perhaps a degree in brackets, then what is under it."""
    degree = None
    if parser.accept("["):
        degree = expression(parser.sum())
        parser.expect("]")
    token = parser.peek()
    if token.kind == "num" and len(token.text) > 1:
        raise Unparsed("a root of digits without braces")
    under = parser.argument()
    return Node("fn", (under,), "sqrt") if degree is None else Node("fn", (under, degree), "root")


def conjugate(parser: Parser) -> Node:
    """`\\overline{3 + 4i}`; over letters a bar makes a name: `\\bar{x}`, `\\overline{AB}`."""
    braced = parser.at("{") and parser.peek(2)[:2] == ("op", "}")
    letters = parser.peek(int(braced))
    if letters.kind in ("name", "word"):
        parser.position += 3 if braced else 1
        segment = letters.text.isupper() and len(letters.text) > 1
        return symbol(letters.text if segment else f"bar {letters.text}")
    under = parser.argument()
    if not holds(under, "const", "i"):
        raise Unparsed("a bar over something without i")
    return conjugated(under)


def conjugated(node: Node) -> Node:
    """The expression with -i for i."""
    if node == constant("i"):
        return negated(node)
    return Node(node.op, tuple(map(conjugated, node.args)), node.value, node.unit)


def choices(parser: Parser, name: str) -> Node | None:
    """`C(5, 2)` inside mathematics, as the number of choices; alone it is a point."""
    tokens = [parser.peek(ahead) for ahead in range(5)]
    shape = [token.kind if token.kind == "num" else token.text for token in tokens]
    if name != "C" or shape != ["(", "num", ",", "num", ")"]:
        return None
    top, bottom = tokens[1].text, tokens[3].text
    if not (top.isdigit() and bottom.isdigit()):
        return None
    parser.position += 5
    return Node("binom", (number(int(top)), number(int(bottom))))


def series(parser: Parser, name: str) -> Node:
    """A finite sum or product over whole numbers, written out: `\\sum_{k=1}^{10} k`."""
    parser.enter()
    parser.expect("_")
    parser.expect("{")
    index = parser.take()
    parser.expect("=")
    low = parser.sum()
    parser.expect("}")
    parser.expect("^")
    high = parser.argument()
    body = expression(parser.product())
    first, last = _whole(low), _whole(high)
    if index.kind != "name":
        raise Unparsed("a sum without its index")
    if first is None or last is None:
        parser.depth -= 1
        ends = (symbol(index.text), expression(low), expression(high))
        return Node("calculus", (body, *ends), "sum" if name == "total" else "prod")
    if (last - first + 1) * size(body) > MAX_SERIES:
        raise OverBudget("a sum of too many terms")
    terms = tuple(substituted(body, {index.text: number(k)}) for k in range(first, last + 1))
    parser.depth -= 1
    if not terms:
        return number(0 if name == "total" else 1)
    return Node("add" if name == "total" else "mul", terms)


def _whole(node: Node) -> int | None:
    whole = isinstance(node.value, Fraction) and node.value.denominator == 1
    return int(node.value) if whole and isinstance(node.value, Fraction) else None
