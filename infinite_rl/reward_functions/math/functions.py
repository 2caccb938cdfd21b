r"""The part of the grammar for functions, sums, integrals, limits and derivatives.

    \int_0^1 x^2 \, dx   ->   Node("calculus", (body, x, 0, 1), "int")

The arguments of `calculus` are the body, the variable, and the ends or the point if there are any.
Its value is `int`, `sum`, `prod`, `diff`, `lim`, or `lim+` and `lim-` for the limits from one side.
`algebra` evaluates it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from .bounds import MAX_SERIES, Budget, OutOfTime, OverBudget, Undefined, Unparsed
from .exact import rational
from .structures import determinant
from .tokens import SELECTIONS, Cursor, Token
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

_ONE_ATOM = frozenset(["sqrt", "cbrt", "abs", "floor", "ceil"])  # functions of the next atom alone


def application(parser: Cursor, name: str) -> Node:
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


def base_of_logarithm(parser: Cursor) -> Node:
    """What follows the `_` of a logarithm: `2`, `10` and `{b}`."""
    parser.take()
    token = parser.peek()
    if token.kind == "num" and token.text.isdigit() and len(token.text) <= 2:
        parser.take()
        return number(int(token.text))
    return parser.argument()


def function_argument(parser: Cursor, name: str) -> Node:
    """What a function is of: a bracket, or all factors up to the next function or bracket."""
    if parser.at("(", "[", "{", "|") or name in _ONE_ATOM:
        return expression(parser.atom())
    factors = [parser.power()]
    while parser.starts_atom() and parser.peek().kind != "func" and not parser.at("("):
        factors.append(parser.power())
    return expression(product_of(factors))


def selection(parser: Cursor, name: str) -> Node:
    """`\\max(2, 3)`, `\\gcd\\{12, 18\\}`: one number of those in brackets."""
    listed = parser.atom() if parser.at("(", "\\{", "{") else None
    if listed is None or listed.op not in ("tuple", "set"):
        raise Unparsed(f"a {name} without its numbers")
    members = [expression(arg) for arg in listed.args]
    return _extreme(members, name) if name in ("max", "min") else _divisor(members, name)


def _extreme(members: list[Node], name: str) -> Node:
    """The greatest of two is `(a + b + |a - b|) / 2`, the least has a minus there."""
    extreme = members[0]
    for member in members[1:]:
        gap = Node("fn", (minus(extreme, member),), "abs")
        gap = gap if name == "max" else negated(gap)
        extreme = Node("div", (Node("add", (extreme, member, gap)), number(2)))
        if size(extreme) > MAX_SERIES:
            raise OverBudget(f"a {name} of too many terms")
    if any(holds(member, "const", kind) for member in members for kind in ("i", "inf")):
        raise Unparsed(f"a {name} of what is no real number")
    return extreme


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


def root(parser: Cursor) -> Node:
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


def conjugate(parser: Cursor) -> Node:
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


def choices(parser: Cursor, name: str) -> Node | None:
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


def series(parser: Cursor, name: str) -> Node:
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


_OPEN, _CLOSE = frozenset(["(", "[", "{", "\\{"]), frozenset([")", "]", "}", "\\}"])


def integral(parser: Cursor) -> Node:
    """What follows `\\int`: its ends, the body, and `dx`."""
    ends = _ends(parser)
    _out_of_numerator(parser.tokens, parser.position)
    index, width, name = _differential(parser.tokens, parser.position)
    _refuse_functions(parser.tokens[parser.position : index])
    body = parser.part(index)
    if len(ends) == 1 or parser.peek().kind == "end":
        raise Unparsed("an integral with one end")
    parser.position += width
    return Node("calculus", (body, symbol(name), *ends), "int")


def _out_of_numerator(tokens: list[Token], start: int) -> None:
    r"""Write `\frac{2 dx}{x}` as `\frac{2}{x} dx`."""
    if tokens[start][:2] != ("cmd", "frac") or tokens[start + 1].text != "{":
        return
    middle = _closing(tokens, start + 1)
    end = _closing(tokens, middle + 1) if tokens[middle + 1].text == "{" else 0
    for index in range(start + 2, middle) if end else ():
        width = _is_differential(tokens, index)
        if width and index + width == middle:
            moved = tokens[index:middle]
            left = [] if index > start + 2 else [Token("num", "1")]
            tokens[index : end + 1] = [*left, *tokens[middle : end + 1], *moved]
            return


def _closing(tokens: list[Token], start: int) -> int:
    """Where the brace that opens at `start` is closed."""
    depth = 0
    for index in range(start, len(tokens)):
        text = tokens[index].text if tokens[index].kind == "op" else ""
        depth += (text == "{") - (text == "}")
        if not depth:
            return index
    raise Unparsed("a brace that is not closed")


def _is_differential(tokens: list[Token], index: int) -> int:
    """Of how many tokens the `dx` at this place is, 0 if there is none."""
    token, following = tokens[index], tokens[index + 1]
    if token.kind == "word" and len(token.text) == 2 and token.text[0] == "d":
        return 1
    return 2 if token.text == "d" and following.kind in ("name", "greek") else 0


def _ends(parser: Cursor) -> list[Node]:
    """The lower and the upper end, in whatever order they are written."""
    ends: dict[str, Node] = {}
    while parser.at("_", "^"):
        mark = parser.take().text
        if mark in ends:
            raise Unparsed("an integral with two upper or two lower ends")
        if parser.at("-"):
            raise Unparsed("an end without braces")
        ends[mark] = parser.argument()
    return [ends[mark] for mark in ("_", "^") if mark in ends]


def _differential(tokens: list[Token], start: int) -> tuple[int, int, str]:
    """Where the `dx` of an integral stands, of how many tokens it is, and its variable."""
    depth = inner = 0
    for index in range(start, len(tokens) - 1):
        token, following = tokens[index], tokens[index + 1]
        if token.kind == "op" and token.text in _OPEN:
            depth += 1
        elif token.kind == "op" and token.text in _CLOSE:
            depth -= 1
        elif token[:2] == ("cmd", "int"):
            inner += 1
        if depth < 0:
            break
        width = _is_differential(tokens, index)
        if width and not depth:
            if not inner:
                return index, width, token.text[1] if width == 1 else following.text
            inner -= 1
    raise Unparsed("an integral without its variable")


def limit(parser: Cursor) -> Node:
    """What follows `\\lim`: `_{x \\to 0}`, perhaps with a side, and one term."""
    parser.expect("_")
    parser.expect("{")
    variable = parser.take()
    if variable.kind not in ("name", "greek"):
        raise Unparsed("a limit without its variable")
    parser.expect("to")
    side = _side(parser)
    point = expression(parser.sum())
    if side:
        parser.position += 4 if parser.peek(1).text == "{" else 2
    parser.expect("}")
    _refuse_functions(parser.tokens[parser.position :])
    body = expression(parser.product())
    if parser.at("+", "-"):
        raise Unparsed("a limit of a sum without brackets")
    return Node("calculus", (body, symbol(variable.text), point), f"lim{side}")


def _side(parser: Cursor) -> str:
    """The sign in `0^+` or `0^{-}`, hidden from the parser of the point by an end in its place."""
    depth = 0
    for index in range(parser.position, len(parser.tokens)):
        text = parser.tokens[index].text
        depth += (text in _OPEN) - (text in _CLOSE)
        if depth < 0:
            return ""
        after = [token.text for token in parser.tokens[index + 1 : index + 5]]
        if text == "^" and not depth:
            braced = len(after) == 4 and after[0] == "{" and after[2:] == ["}", "}"]
            sign = after[1] if braced else after[0] if after[1:2] == ["}"] else ""
            if sign in ("+", "-"):
                parser.tokens[index] = Token("op", "}")
                return sign
    return ""


def derivative(parser: Cursor) -> Node | None:
    """`\\frac{d}{dx}` after its command, with its term; None for any other fraction."""
    texts = [parser.peek(ahead).text for ahead in range(7)]
    if texts[:4] != ["{", "d", "}", "{"]:
        return None
    if texts[5] == "}" and len(texts[4]) == 2 and texts[4][0] == "d":
        name, width = texts[4][1], 6
    elif texts[4] == "d" and texts[6] == "}":
        name, width = texts[5], 7
    else:
        return None
    parser.position += width
    _refuse_functions(parser.tokens[parser.position :])
    return Node("calculus", (expression(parser.product()), symbol(name)), "diff")


def _refuse_functions(tokens: list[Token]) -> None:
    """Here `f(x)` is no product: the integral of an unknown function has no value."""
    for token, following in zip(tokens, tokens[1:], strict=False):
        if token.kind == "name" and token.text in "fghFG" and following.text == "(":
            raise Unparsed("a function that is not known, in an integral, limit or derivative")
