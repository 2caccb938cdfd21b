"""Integrals, limits, derivatives, sums and products with other ends than whole ones: `calculus`.

    \\int_0^1 x^2 \\, dx   ->   Node("calculus", (body, x, 0, 1), "int")

The arguments are the body, the variable, and the ends or the point where there are any. The content
is `int`, `sum`, `prod`, `diff`, `lim`, or `lim+` and `lim-` for the limits from one side. What they
are worth is for `algebra` to find.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .bounds import Unparsed
from .tokens import Token
from .tree import Node, expression, symbol

if TYPE_CHECKING:
    from .parse import Parser

_OPEN, _CLOSE = frozenset(["(", "[", "{", "\\{"]), frozenset([")", "]", "}", "\\}"])


def integral(parser: Parser) -> Node:
    """What follows `\\int`: its ends, the body, and `dx`."""
    ends = _ends(parser)
    _out_of_numerator(parser.tokens, parser.position)
    place, width, name = _differential(parser.tokens, parser.position)
    _refuse_functions(parser.tokens[parser.position : place])
    body = parser.part(place)
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
    for place in range(start + 2, middle) if end else ():
        width = _is_differential(tokens, place)
        if width and place + width == middle:
            moved = tokens[place:middle]
            left = [] if place > start + 2 else [Token("num", "1")]
            tokens[place : end + 1] = [*left, *tokens[middle : end + 1], *moved]
            return


def _closing(tokens: list[Token], start: int) -> int:
    """Where the brace that opens at `start` is closed."""
    depth = 0
    for place in range(start, len(tokens)):
        text = tokens[place].text if tokens[place].kind == "op" else ""
        depth += (text == "{") - (text == "}")
        if not depth:
            return place
    raise Unparsed("a brace that is not closed")


def _is_differential(tokens: list[Token], place: int) -> int:
    """Of how many tokens the `dx` at this place is, 0 where there is none."""
    token, following = tokens[place], tokens[place + 1]
    if token.kind == "word" and len(token.text) == 2 and token.text[0] == "d":
        return 1
    return 2 if token.text == "d" and following.kind in ("name", "greek") else 0


def _ends(parser: Parser) -> list[Node]:
    """The lower and the upper end, in whatever order they are written."""
    found: dict[str, Node] = {}
    while parser.at("_", "^"):
        mark = parser.take().text
        if mark in found:
            raise Unparsed("an integral with two upper or two lower ends")
        found[mark] = _end(parser)
    return [found[mark] for mark in ("_", "^") if mark in found]


def _end(parser: Parser) -> Node:
    if parser.at("-"):
        raise Unparsed("an end without braces")
    return parser.argument()


def _differential(tokens: list[Token], start: int) -> tuple[int, int, str]:
    """Where the `dx` of an integral stands, of how many tokens it is, and its variable."""
    depth = inner = 0
    for place in range(start, len(tokens) - 1):
        token, following = tokens[place], tokens[place + 1]
        if token.kind == "op" and token.text in _OPEN:
            depth += 1
        elif token.kind == "op" and token.text in _CLOSE:
            depth -= 1
        elif token[:2] == ("cmd", "int"):
            inner += 1
        if depth < 0:
            break
        width = _is_differential(tokens, place)
        if width and not depth:
            if not inner:
                return place, width, token.text[1] if width == 1 else following.text
            inner -= 1
    raise Unparsed("an integral without its variable")


def limit(parser: Parser) -> Node:
    """What follows `\\lim`: `_{x \\to 0}`, perhaps with a side, and one term."""
    parser.expect("_")
    parser.expect("{")
    name = _variable(parser)
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
    return Node("calculus", (body, name, point), f"lim{side}")


def _side(parser: Parser) -> str:
    """The sign in `0^+` or `0^{-}`, hidden from the parser of the point by an end in its place."""
    depth = 0
    for place in range(parser.position, len(parser.tokens)):
        text = parser.tokens[place].text
        depth += (text in _OPEN) - (text in _CLOSE)
        if depth < 0:
            return ""
        after = [token.text for token in parser.tokens[place + 1 : place + 5]]
        if text == "^" and not depth:
            braced = len(after) == 4 and after[0] == "{" and after[2:] == ["}", "}"]
            sign = after[1] if braced else after[0] if after[1:2] == ["}"] else ""
            if sign in ("+", "-"):
                parser.tokens[place] = Token("op", "}")
                return sign
    return ""


def derivative(parser: Parser) -> Node | None:
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


def _variable(parser: Parser) -> Node:
    token = parser.take()
    if token.kind not in ("name", "greek"):
        raise Unparsed("a limit without its variable")
    return symbol(token.text)
