"""The conditions of an answer: "2x for all x > 0".

A condition is part of the answer, unless it is the natural one of the notation beside it: whole
numbers for `n`, or all numbers at which the value exists. "For all x" alone adds nothing.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

from .bounds import Budget, Undefined, Unparsed
from .normal_form import ray
from .regions import NoNumbers, as_region, outside, span_of
from .tokens import spellings
from .tree import REALS, Node, number, symbol

_INTEGERS = frozenset("ijklmnpqMN")  # letters that mostly stand for whole numbers
_COMPLEX = frozenset("zw")
_SIGNS, _TYPES = spellings("signs"), spellings("kinds of numbers")
_WHOLE_KINDS = frozenset(["odd", "even", "prime"])
_PROBES = tuple(Fraction(n, 2) for n in (0, 2, -2, 1, -1, 5, -5, 7, 20, -20))
_TINY = Fraction(1, 10**40)  # values are known to 50 digits
_SHARES = (Fraction(3, 31), Fraction(17, 37), Fraction(39, 43))  # few poles are at all of them
_ELSEWHERE = Fraction(7, 11)  # the value of the other variables


def with_conditions(node: Node, body: Node, budget: Budget) -> Node:
    """Put the conditions of an answer in order; return the body alone if they add nothing.

    Raises Unparsed for conditions on parts of the answer, for two on one name, and for a claim that
    is plainly false: `x > 0 for all x`.
    """
    conditions: list[Node] = []
    open_ = body.holds("calculus")  # both answers are the same text: nothing was worked out
    for raw in node.args[1:]:
        ordered = _in_order(raw, budget)
        if not open_:
            _hold(body, ordered, budget)
        if raw.value != "any" and ordered not in conditions:
            conditions.append(ordered)
    if not conditions:
        return body
    stated = sum(raw.value != "any" for raw in node.args[1:])
    names = [name for condition in conditions for name in condition.args[2:]]
    if len({*names}) < len(names) or node.value == "inside" or stated < len(node.args) - 1:
        raise Unparsed("conditions on parts of the answer")
    natural = not open_ and all(_is_natural(body, each, budget) for each in conditions)
    conditions.sort(key=lambda condition: str(condition.args[2].value))
    return Node("conditional", (body, *conditions), "natural" if natural else None)


def _in_order(condition: Node, budget: Budget) -> Node:
    """A condition with its sets in order, and with one word for the kind of its numbers."""
    inside, *names = condition.args
    words = str(condition.value).split()
    types = {_TYPES[word] for word in words if word in _TYPES}
    signs = [_SIGNS[word] for word in words if word in _SIGNS]
    if inside.op == "field":
        name, mark = str(inside.value)[0], str(inside.value)[1:]
        if mark.startswith("^"):
            types.add(str(inside.value))
        else:
            types.add(_TYPES[name])
            signs += [mark] if mark else []
        inside = REALS
    if any(word in _WHOLE_KINDS for word in words):
        types.add("integer")
    if not types:
        letters = all(str(name.value)[0] in _INTEGERS for name in names)
        types = {"integer" if letters else "real"}
    natural = "natural" in types
    if natural:
        types = (types - {"natural", "real"}) | {"integer"}
    elif len(types) > 1:
        types.discard("real")
    kind = " ".join(sorted(types | _WHOLE_KINDS.intersection(words)))
    for sign in signs:
        inside = Node("intersection", (inside, _ray(sign)))
    sets: list[Node] = []
    for low in (0, 1):
        members = Node("intersection", (inside, _ray(f">={low}"))) if natural else inside
        members = as_region(members, budget)
        if members.op == "region":
            members = Node(members.op, members.args)  # without its name
        sets.append(_of_integers(members, budget) if "integer" in types else members)
    return Node("condition", (*sets, *names), kind)


def _ray(sign: str) -> Node:
    operator = sign.rstrip("01")
    return ray("", operator, number(int(sign[len(operator) :])))


def _of_integers(region: Node, budget: Budget) -> Node:
    """The region with closed whole ends: `n > 1` is `n >= 2`."""
    if region.op != "region":
        return region
    parts: list[Node] = []
    for part in region.args:
        try:
            span = span_of(part, budget)
        except NoNumbers:
            return region
        low, high = part.args
        if isinstance(span.low, Fraction):
            open_end = span.low.denominator == 1 and not span.has_low
            low = number(math.ceil(span.low) + open_end)
        if isinstance(span.high, Fraction):
            open_end = span.high.denominator == 1 and not span.has_high
            high = number(math.floor(span.high) - open_end)
        shape = f"{'(['[low.op == 'num']}{')]'[high.op == 'num']}"
        parts.append(Node("interval", (low, high), shape))
    return as_region(Node("region", tuple(parts)), budget)


def _is_natural(body: Node, condition: Node, budget: Budget) -> bool:
    """Whether a condition says no more than the notation of the value does."""
    names = {str(name.value) for name in condition.args[2:]}
    inside = condition.args[0]
    if condition.value == "integer":
        starts = (REALS, *(Node("region", ray("", ">=", number(low)).args) for low in (0, 1)))
        return inside in starts and all(name[0] in _INTEGERS for name in names)
    if condition.value == "complex":
        return inside == REALS and names <= _COMPLEX
    if condition.value != "real" or inside == REALS:
        return condition.value == "real"
    if len(names) > 1 or inside.op != "region":
        return False
    try:
        points = list(_points_outside(inside, budget))
    except NoNumbers:
        return False
    name = next(iter(names))
    if inside == Node("region", ray("", ">", number(0)).args):
        points = [Fraction(0)]  # f is often a function of the positive numbers: 1/x for x > 0
    within = [point for point in _PROBES if _within(point, condition, budget)]
    values = list(_values(body))
    return bool(values) and all(
        (_value_at(value, {name: number(point)}, budget) is not None) == (point in within)
        for value in values
        for point in (*points, *within)
    )


def _points_outside(region: Node, budget: Budget) -> Iterator[Fraction]:
    """Points of each excluded interval: some inside, and its ends if they belong to it."""
    for span in outside([span_of(part, budget) for part in region.args]):
        low, high = span.low, span.high
        if isinstance(low, Fraction) and isinstance(high, Fraction):
            yield from (low + share * (high - low) for share in _SHARES)
        elif isinstance(low, Fraction):
            yield from (low + 10 * share for share in _SHARES)
        elif isinstance(high, Fraction):
            yield from (high - 10 * share for share in _SHARES)
        else:
            raise NoNumbers
        if span.has_low:
            yield low
        if span.has_high:
            yield high


def _values(body: Node) -> Iterator[Node]:
    """The expressions that a form assigns to a name."""
    if body.is_expression:
        yield body
    elif body.op in ("named", "list"):
        for arg in body.args:
            yield from _values(arg)


def _value_at(node: Node, there: dict[str, Node], budget: Budget) -> Fraction | None:
    """The real value of an expression at a point, None without one. Raises as `difference` does."""
    others = dict.fromkeys(node.symbols - there.keys(), number(_ELSEWHERE))
    node = node.substituted(there | others)
    from .numeric import real_value  # loads mpmath

    try:
        return real_value(node, budget)
    except Undefined:
        return None


def _hold(body: Node, condition: Node, budget: Budget) -> None:
    """Raise Unparsed if some number violates a claim on the variable itself."""
    names = [str(name.value) for name in condition.args[2:]]
    if body.op == "named" and body.value in body.args[0].symbols:
        body = Node("equation", (symbol(str(body.value)), body.args[0]))  # "x = |x|"
    bound = body.args if body.op == "list" else (body,)
    if any(part.op in ("named", "region") and part.value in names for part in bound):
        raise Unparsed(f"a claim that does not hold for every {names[0]}")
    free = body.symbols
    if body.op not in ("equation", "inequality") or not free or not free <= set(names):
        return
    difference = body.args[0] - body.args[1]
    for turn in range(len(_PROBES)):
        points = [_PROBES[(turn + 3 * index) % len(_PROBES)] for index in range(len(names))]
        if all(_within(point, condition, budget) for point in points):
            there = {name: number(point) for name, point in zip(names, points, strict=True)}
            _check(body, difference, there, budget)


def _within(point: Fraction, condition: Node, budget: Budget) -> bool:
    """Whether a point certainly satisfies the condition."""
    inside, kind = condition.args[1], condition.value
    if inside.op != "region" or kind not in ("real", "integer", "rational", "complex"):
        return False
    if kind == "integer" and point.denominator > 1:
        return False
    try:
        spans = [span_of(part, budget) for part in inside.args]
    except NoNumbers:
        return False
    return any(span.has(point) for span in spans)


def _check(body: Node, difference: Node, there: dict[str, Node], budget: Budget) -> None:
    value = _value_at(difference, there, budget)
    if value is None:
        return
    holding = abs(value) < _TINY
    if body.op == "inequality":
        operator = str(body.value)
        below = value < -_TINY or (holding and operator == "<=")
        holding = not holding if operator == "!=" else below
    if not holding:
        raise Unparsed(f"a claim that does not hold for every {' and '.join(there)}")
