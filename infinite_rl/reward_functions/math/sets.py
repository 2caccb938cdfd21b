"""Sets described in the answer itself: by a condition on their members, or as marked fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import environments
from .bounds import Unparsed
from .tokens import Token
from .tree import Node, symbol

if TYPE_CHECKING:
    from .parse import Parser

_MARKS = {"+": ">0", "-": "<0", "*": "!=0", ">=": ">=0", "<=": "<=0", ">=0": ">=0", "<=0": "<=0"}
_MARKS |= {">0": ">0", "<0": "<0", "2": "^2", "3": "^3", "n": "^n"}


def at_builder(parser: Parser) -> bool:
    """Whether a set is described: `x | x > 2`, `x \\in R : ...`."""
    if parser.peek().kind not in ("name", "greek"):
        return False
    place = 1
    if parser.peek(1)[:2] == ("op", "in") and parser.peek(2).kind == "field":
        place = 3
    return parser.peek(place)[:2] in (("op", "|"), ("op", ":"))


def classes(parser: Parser, closer: str) -> Node | None:
    """What `5k + 3 : k \\in \\mathbb{Z}` holds, up to its closing brace: a list as without braces.

    None, and nothing read, where this is no set of that kind.
    """
    end = parser.position
    while parser.tokens[end].text != closer:
        if parser.tokens[end].kind == "end":
            return None
        end += 1
    if end < parser.position + 5:
        return None
    bar, name, sign, whole = parser.tokens[end - 4 : end]
    if bar.text not in ("|", ":") or sign.text != "in" or whole.text != "Z":
        return None
    value = parser.part(end - 4)
    parser.position += 5
    inside = Node("rel", (symbol(name.text), Node("field", (), "Z")), "in")
    return Node("list", (value, inside), ",")


def field(parser: Parser, name: str) -> Node:
    """`\\mathbb{R}`, with the mark that may follow: `^+`, `_{\\ge 0}`, `^*`."""
    if parser.accept("^", "_"):
        name += _mark(parser)
    if parser.at("-"):  # the reals without a set
        parser.tokens[parser.position] = Token("op", "minus")
    return Node("field", (), name)


def _mark(parser: Parser) -> str:
    pieces = [parser.take().text]
    while pieces[0] == "{" and pieces[-1] != "}" and len(pieces) < 5:
        pieces.append(parser.take().text)
    mark = "".join(pieces).strip("{}")
    mark = _MARKS.get(mark, mark)
    if mark not in _MARKS.values():
        raise Unparsed(f"the mark {mark[:10]!r} of a set of numbers")
    return mark


def builder(parser: Parser, closer: str) -> Node:
    """A set by the condition on its members, up to the brace that closes it."""
    name = parser.take().text
    field = "R"
    if parser.accept("in"):
        field = parser.take().text
    parser.take()
    items, kind = parser.items()
    parser.expect(closer)
    if field not in ("R", "Z"):
        raise Unparsed("a set described over other numbers than the real or the whole ones")
    whole = (Node("field", (), "Z"),) if field == "Z" else ()
    return Node("builder", (environments.conditions(items, kind), *whole), name)
