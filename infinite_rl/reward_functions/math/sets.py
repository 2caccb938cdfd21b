"""Sets described in the answer itself: by a condition on their members, or as marked fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import environments
from .bounds import Unparsed
from .tree import Node

if TYPE_CHECKING:
    from .parse import Parser


def at_builder(parser: Parser) -> bool:
    """Whether a set is described: `x | x > 2`, `x \\in R : ...`."""
    if parser.peek().kind not in ("name", "greek"):
        return False
    place = 1
    if parser.peek(1)[:2] == ("op", "in") and parser.peek(2).kind == "field":
        place = 3
    return parser.peek(place)[:2] in (("op", "|"), ("op", ":"))


def builder(parser: Parser, closer: str) -> Node:
    name = parser.take().text
    field = "R"
    if parser.accept("in"):
        field = parser.take().text
    parser.take()
    items, kind = parser.items()
    parser.expect(closer)
    if field != "R":
        raise Unparsed("a set described over other numbers than the real ones")
    return Node("builder", (environments.conditions(items, kind),), name)
