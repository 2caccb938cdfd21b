"""Functions given by cases: equal where every case is, at the edges and between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .bounds import Budget, Unparsed
from .regions import EVERYTHING, NoNumbers, Span, outside, position, span_of
from .tree import ONE, Node, minus, number, substituted


class Piece(NamedTuple):
    """One case: where it holds, and the value there."""

    span: Span
    value: Node


def pieces(node: Node, budget: Budget) -> list[Piece]:
    """The cases in order, each with its intervals; an expression is one case everywhere."""
    if node.op != "piecewise":
        return [Piece(EVERYTHING, node)]
    found: list[Piece] = []
    for row in node.args:
        value, condition = row.args
        for span in _condition(condition, found, budget):
            found.append(Piece(span, value))
    return found


def _condition(node: Node, before: Sequence[Piece], budget: Budget) -> list[Span]:
    try:
        if node.op == "region":
            return [span_of(part, budget) for part in node.args]
        if node.op == "set":
            points = [(position(arg, budget), arg) for arg in node.args]
            return [Span(value, value, True, True, (arg, arg)) for value, arg in points]
    except NoNumbers:
        raise Unparsed("a case with bounds that are no numbers") from None
    if node.op != "text" or node.value != "otherwise":
        raise Unparsed("a case with a condition that is no bound")
    return outside([piece.span for piece in before])


class Stretch(NamedTuple):
    """A point or an open interval that lies wholly in one case or in none of a function."""

    low: Any
    high: Any
    place: Node  # the point, or the interval as the image of all real numbers but zero

    def value(self, function: Sequence[Piece], name: str) -> Node | None:
        """What the function of the variable `name` is here; None where it has no case."""
        for span, value in function:
            inside = span.low <= self.low and self.high <= span.high
            if self.low == self.high:
                inside = inside and (span.has_low or span.low < self.low)
                inside = inside and (span.has_high or self.high < span.high)
            if inside:
                return substituted(value, {name: self.place})
        return None


def stretches(functions: Sequence[Sequence[Piece]]) -> list[Stretch]:
    """The line cut at every edge of every case."""
    edges: dict[Any, Node] = {}
    for function in functions:
        for span, _ in function:
            edges.update(zip(span[:2], span.ends, strict=True))
    ordered = sorted(edges)
    found: list[Stretch] = []
    for low, high in zip(ordered, ordered[1:], strict=False):
        if low != -EVERYTHING.high:
            found.append(Stretch(low, low, edges[low]))
        ends = (
            None if low == EVERYTHING.low else edges[low],
            None if high == EVERYTHING.high else edges[high],
        )
        found.append(Stretch(low, high, _inside(*ends)))
    if ordered[-1] != EVERYTHING.high:
        found.append(Stretch(ordered[-1], ordered[-1], edges[ordered[-1]]))
    return found


def _inside(low: Node | None, high: Node | None) -> Node:
    """An expression in t that takes every value between the bounds while t runs freely."""
    free = Node("sym", (), "t")
    square = Node("pow", (free, number(2)))
    if low is None:
        return free if high is None else minus(high, square)
    if high is None:
        return Node("add", (low, square))
    share = Node("div", (square, Node("add", (ONE, square))))
    return Node("add", (low, Node("mul", (minus(high, low), share))))
