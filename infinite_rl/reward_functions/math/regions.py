"""Sets of real numbers as sorted intervals, and functions by cases on every stretch of them."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from .bounds import Budget, OverBudget, Undefined, Unparsed
from .exact import NotPolynomial, Quotients, rational
from .normal_form import ray
from .tree import INFINITY, MINUS_INFINITY, ONE, Node, number, symbol

SETS = frozenset(["region", "intersection", "union", "difference", "builder", "inequality"])
_MOST_INTERVALS = 100


class Span(NamedTuple):
    """An interval: the values of its ends, whether they belong to it, and how they are written."""

    low: Any
    high: Any
    has_low: bool
    has_high: bool
    ends: tuple[Node, Node]

    @property
    def empty(self) -> bool:
        """Whether no number lies in it."""
        return bool(
            self.low > self.high or (self.low == self.high and not (self.has_low and self.has_high))
        )

    def has(self, point: Fraction) -> bool:
        """Whether a number lies in it."""
        above = self.low < point or (self.low == point and self.has_low)
        return above and (point < self.high or (point == self.high and self.has_high))


def as_region(node: Node, budget: Budget) -> Node:
    """One region with sorted, disjoint intervals, or a set if it has only single points.

    A node whose bounds hold other variables is returned unchanged.
    """
    try:
        spans, name = _spans(node, budget)
    except NoNumbers:
        return node
    if all(span.low == span.high for span in spans):
        return Node("set", tuple(span.ends[0] for span in spans))
    shapes = ("(["[span.has_low] + ")]"[span.has_high] for span in spans)
    parts = (Node("interval", span.ends, shape) for span, shape in zip(spans, shapes, strict=True))
    return Node("region", tuple(parts), name or None)


class NoNumbers(Exception):
    """The bounds are not numbers, or the inequality is not one that is solved here."""


def _spans(node: Node, budget: Budget) -> tuple[list[Span], str]:
    if node.op == "inequality":
        return _spans(_solved(node, budget), budget)
    if node.op == "region":
        return merged([span_of(part, budget) for part in node.args]), str(node.value or "")
    if node.op == "interval":
        return merged([span_of(node, budget)]), ""
    if node.op == "set":
        points = (Node("interval", (arg, arg), "[]") for arg in node.args)
        return _spans(Node("region", tuple(points)), budget)
    if node.op not in SETS:
        raise NoNumbers
    if node.op == "builder":  # its variable is bound
        condition = node.args[0]
        if condition.op in ("equation", "named"):
            condition = _solutions(condition, str(node.value), budget)
        spans_so_far, name = _spans(condition, budget)
        if name and name != node.value:
            raise Unparsed("a set described by another variable")
        return (spans_so_far if len(node.args) == 1 else _whole(spans_so_far)), ""
    parts = [_spans(arg, budget) for arg in node.args]
    names = {name for _, name in parts if name}
    if len(names) > 1:
        raise Unparsed("conditions on several variables")
    spans_so_far = parts[0][0]
    for spans, _ in parts[1:]:
        if node.op == "union":
            spans_so_far = merged([*spans_so_far, *spans])
        else:
            other = outside(spans) if node.op == "difference" else spans
            spans_so_far = meeting(spans_so_far, other)
    return spans_so_far, names.pop() if names else ""


def _whole(spans: Sequence[Span]) -> list[Span]:
    """The whole numbers in these. Raises OverBudget for too many, NoNumbers for endlessly many."""
    points: list[Span] = []
    for span in spans:
        if not (isinstance(span.low, Fraction) and isinstance(span.high, Fraction)):
            raise NoNumbers
        first = math.ceil(span.low) + (span.low.denominator == 1 and not span.has_low)
        last = math.floor(span.high) - (span.high.denominator == 1 and not span.has_high)
        if last - first >= _MOST_INTERVALS:
            raise OverBudget(f"more than {_MOST_INTERVALS} whole numbers")
        wholes = (number(value) for value in range(first, last + 1))
        points += [Span(n.value, n.value, True, True, (n, n)) for n in wholes]
    return points


def span_of(part: Node, budget: Budget) -> Span:
    """The span of an interval node."""
    low, high = (position(end, budget) for end in part.args)
    shape = str(part.value)
    ends = (part.args[0], part.args[1])
    has_low = shape[0] == "[" and low != -_ENDLESS
    return Span(low, high, has_low, shape[1] == "]" and high != _ENDLESS, ends)


_ENDLESS = float("inf")
EVERYTHING = Span(-_ENDLESS, _ENDLESS, False, False, (MINUS_INFINITY, INFINITY))


def position(end: Node, budget: Budget) -> Any:
    """The value of a bound: exact where it is rational, else to 50 digits and more."""
    if end in (INFINITY, MINUS_INFINITY):
        return _ENDLESS if end == INFINITY else -_ENDLESS
    if not end.is_expression or end.symbols or end.holds("const", "inf"):
        raise NoNumbers
    try:
        value = rational(end, budget)
    except Undefined:
        raise NoNumbers from None
    if value is None:
        from .numeric import real_value  # loads mpmath

        return real_value(end, budget)
    return value


def merged(spans: Sequence[Span]) -> list[Span]:
    """Sort the spans and join those that overlap or touch."""
    if len(spans) > _MOST_INTERVALS:
        raise OverBudget(f"more than {_MOST_INTERVALS} intervals")
    disjoint: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.low, not span.has_low)):
        if span.empty:
            continue
        last = disjoint[-1] if disjoint else None
        touch = last is not None and (
            span.low < last.high or (span.low == last.high and (span.has_low or last.has_high))
        )
        if last is None or not touch:
            disjoint.append(span)
        elif (span.high, span.has_high) > (last.high, last.has_high):
            ends = (last.ends[0], span.ends[1])
            disjoint[-1] = Span(last.low, span.high, last.has_low, span.has_high, ends)
    return disjoint


def meeting(first: Sequence[Span], second: Sequence[Span]) -> list[Span]:
    """The intersection of two lists of spans."""
    both: list[Span] = []
    for one in first:
        for other in second:
            low = max(one, other, key=lambda span: (span.low, not span.has_low))
            high = min(one, other, key=lambda span: (span.high, span.has_high))
            ends = (low.ends[0], high.ends[1])
            both.append(Span(low.low, high.high, low.has_low, high.has_high, ends))
    return merged(both)


def outside(spans: Sequence[Span]) -> list[Span]:
    """The complement of sorted, disjoint spans."""
    edge, gaps = EVERYTHING, []
    low, has_low, node = edge.low, False, edge.ends[0]
    for span in spans:
        gaps.append(Span(low, span.low, has_low, not span.has_low, (node, span.ends[0])))
        low, has_low, node = span.high, not span.has_high, span.ends[1]
    gaps.append(Span(low, edge.high, has_low, False, (node, edge.ends[1])))
    return [gap for gap in merged(gaps) if gap.low != _ENDLESS and gap.high != -_ENDLESS]


# -- inequalities ---------------------------------------------------------------------------------


def _solved(node: Node, budget: Budget) -> Node:
    """The region of a linear inequality, or of one with `|...|` of something linear on a side."""
    (left, right), operator = node.args, str(node.value)
    names = left.symbols | right.symbols
    if len(names) != 1 or operator == "!=":
        raise NoNumbers
    name = next(iter(names))
    sizes = [node.op == "fn" and node.value == "abs" for node in (left, right)]
    if sizes[0] and not right.symbols:
        joint, pairs = "intersection", [(-right, left.args[0]), (left.args[0], right)]
    elif sizes[1] and not left.symbols:
        joint, pairs = "union", [(left, right.args[0]), (right.args[0], -left)]
    else:
        return _linear(left, right, operator, name, budget)
    return Node(joint, tuple(_linear(*pair, operator, name, budget) for pair in pairs))


def _coefficients(left: Node, right: Node, name: str, budget: Budget) -> list[Fraction]:
    """The coefficients of the difference, a polynomial of degree one or two, from x^2 down."""
    try:
        top, bottom = Quotients([name], budget).expand(left - right)
    except (NotPolynomial, Undefined):
        raise NoNumbers from None
    if bottom.keys() != {0} or not top.keys() <= {0, 1, 2} or not top.keys() - {0}:
        raise NoNumbers
    return [Fraction(top.get(power, 0)) / bottom[0] for power in (2, 1, 0)]


def _linear(left: Node, right: Node, operator: str, name: str, budget: Budget) -> Node:
    """The ray of `left < right`, where the difference is `a x + b` with rational numbers."""
    square, slope, height = _coefficients(left, right, name, budget)
    if square:
        raise NoNumbers
    turned = operator.replace("<", ">") if slope < 0 else operator
    return ray(name, turned, number(-height / slope))


def _solutions(equation: Node, name: str, budget: Budget) -> Node:
    """The set of the real solutions of an equation of degree one or two, with rational numbers."""
    if equation.op == "named":  # "x = 2 or x = 3"
        value = equation.args[0]
        if equation.value != name or name in value.symbols:
            raise NoNumbers
        return Node("set", value.args if value.op == "list" else (value,))
    if equation.symbols != {name}:
        raise NoNumbers
    square, slope, height = _coefficients(equation.args[0], equation.args[1], name, budget)
    if not square:
        return Node("set", (number(-height / slope),))
    middle, inside = -slope / (2 * square), (slope / (2 * square)) ** 2 - height / square
    if inside < 0:
        return Node("set")
    distance = Node("fn", (number(inside),), "sqrt")
    return Node("set", (number(middle) - distance, Node("add", (number(middle), distance))))


class Case(NamedTuple):
    """One case: where it holds, and the value there."""

    span: Span
    value: Node


def cases(node: Node, budget: Budget) -> list[Case]:
    """The cases in order, each with its intervals; an expression is one case everywhere."""
    if node.op != "piecewise":
        return [Case(EVERYTHING, node)]
    result: list[Case] = []
    for row in node.args:
        value, condition = row.args
        for span in _condition(condition, result, budget):
            result.append(Case(span, value))
    return result


def _condition(node: Node, before: Sequence[Case], budget: Budget) -> list[Span]:
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
    return outside([case.span for case in before])


class Stretch(NamedTuple):
    """A point or an open interval that lies wholly in one case or in none of a function.

    `point` is the point, or of an interval an expression in t whose values, for every t but 0, are
    the interval: `1 + t^2` of the numbers above 1 (see `_inside`).
    """

    low: Any
    high: Any
    point: Node

    def value(self, function: Sequence[Case], name: str) -> Node | None:
        """What the function of the variable `name` is here; None if it has no case."""
        for span, value in function:
            inside = span.low <= self.low and self.high <= span.high
            if self.low == self.high:
                inside = inside and (span.has_low or span.low < self.low)
                inside = inside and (span.has_high or self.high < span.high)
            if inside:
                return value.substituted({name: self.point})
        return None


def stretches(functions: Sequence[Sequence[Case]]) -> list[Stretch]:
    """The line cut at every edge of every case."""
    edges: dict[Any, Node] = {}
    for function in functions:
        for span, _ in function:
            edges.update(zip(span[:2], span.ends, strict=True))
    ordered = sorted(edges)
    result: list[Stretch] = []
    for low, high in zip(ordered, ordered[1:], strict=False):
        if low != -EVERYTHING.high:
            result.append(Stretch(low, low, edges[low]))
        first = None if low == EVERYTHING.low else edges[low]
        last = None if high == EVERYTHING.high else edges[high]
        result.append(Stretch(low, high, _inside(first, last)))
    if ordered[-1] != EVERYTHING.high:
        result.append(Stretch(ordered[-1], ordered[-1], edges[ordered[-1]]))
    return result


def _inside(low: Node | None, high: Node | None) -> Node:
    """An expression in t that takes every value between the bounds while t runs freely."""
    free = symbol("t")
    square = Node("pow", (free, number(2)))
    if low is None:
        return free if high is None else high - square
    if high is None:
        return Node("add", (low, square))
    share = square / Node("add", (ONE, square))
    return Node("add", (low, Node("mul", (high - low, share))))
