r"""Values whose free names may be any others: arbitrary constants, the parameters of points.

    >>> from .parse import parse
    >>> from .tree import show
    >>> [show(each) for each in renamings(parse("A e^x + B"), parse("C_1 e^x + C_2"))]
    ['(add (mul A (pow e x)) B)', '(add (mul B (pow e x)) A)']

`equivalence` asks here when two values differ as they are written.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

from .bounds import Budget
from .exact import rational
from .normal_form import INTEGRATED
from .structures import is_linear
from .tree import ONE, WHOLE, Node, number, symbol

WHOLE_NAMES = frozenset("knmlj")
_CONSTANT = re.compile(
    r"[Cc](?:_\{?[0-9]\}?)?|[ABDKk]|[ABDKkab]_\{?[0-9]\}?|[xyuvN]_\{?0\}?|alpha|beta"
)
_MOST_CONSTANTS = 3
_Vector = list[Fraction]


class Family(NamedTuple):
    """An expression with its arbitrary constants: of `C e^x` these are C alone."""

    value: Node
    constants: frozenset[str]

    @property
    def variables(self) -> frozenset[str]:
        """The names that it is a function of: x."""
        return self.value.symbols - self.constants


def renamings(first: Node, second: Node) -> Iterator[Node]:
    """The second expression with its constants named as those of the first, in each order.

    There are none unless both are functions of the same variables or, as `\\pi/4 + k\\pi`, angles
    for any whole k.
    """
    angles = any(each.holds("const", "pi") for each in (first, second))
    angles = angles and first.symbols | second.symbols <= WHOLE_NAMES
    one, other = _families(first, second, angles)
    if one.constants and len(one.variables) == len(other.variables) == 1:
        (name,), (variable,) = other.variables, one.variables  # `A e^t` is `C e^x`
        other = other._replace(value=other.value.substituted({name: symbol(variable)}))
    function = bool(one.variables) and one.variables <= INTEGRATED | {"n"}
    if one.variables != other.variables or not (function or angles):
        return
    fixed = {name for name in one.constants & other.constants if "_" not in name}  # by the task
    names, others = (sorted(family.constants - fixed) for family in (one, other))
    if len(names) == len(others) <= _MOST_CONSTANTS:
        for order in permutations(names):
            yield other.value.substituted(dict(zip(others, map(symbol, order), strict=True)))


def _families(first: Node, second: Node, angles: bool) -> tuple[Family, Family]:
    """Both sides with their constants, which any name may be that has one for its partner."""
    one, other = (
        Family(side, frozenset(name for name in side.symbols if angles or _is_constant(name)))
        for side in (first, second)
    )
    shared = one.constants & other.constants
    own, others = first.symbols - second.symbols, second.symbols - first.symbols
    if any(names and all(map(_is_constant, names)) for names in (own, others)):
        return Family(first, own | shared), Family(second, others | shared)  # `a x` beside `c x`
    return one, other


def _is_constant(name: str) -> bool:
    return _CONSTANT.fullmatch(name) is not None


class Points(NamedTuple):
    """The points `start + t way` of a line, for all t or for all whole t; of a plane `+ s way`.

    `(1 + 2t, t)` starts at (1, 0), and its only way is (2, 1).
    """

    start: _Vector
    ways: list[_Vector]
    whole: bool

    @classmethod
    def of(
        cls,
        entries: Sequence[Node],
        names: Collection[str],
        budget: Budget,
        value_of: Callable[[Node, Budget], Fraction | None] = rational,
    ) -> "Points | None":
        """The points of a vector with parameters; None if it is not linear or has no value."""
        if not all(is_linear(entry, names) for entry in entries):
            return None
        origin = dict.fromkeys(names, number(0))
        points: list[_Vector] = []
        for there in (origin, *({**origin, name: ONE} for name in names)):
            values = [value_of(entry.substituted(there), budget) for entry in entries]
            points.append([value for value in values if value is not None])
            if len(points[-1]) < len(entries):
                return None
        start, *others = points
        ways = [_minus(point, start) for point in others]
        return cls(start, ways, any(name.endswith(WHOLE) for name in names))


def same_points(first: Sequence[Node], second: Sequence[Node], budget: Budget) -> bool:
    """Whether two vectors with parameters run through the same points.

    `(1 + t, t)` and `(s, s - 1)` do. A whole parameter, `t \\in \\mathbb{Z}`, is free up to a sign
    and a whole step.
    """
    names, others = (frozenset().union(*(e.symbols for e in side)) for side in (first, second))
    if len(names) != len(others) or not 0 < len(names) < len(first) or names & others:
        return False
    one, other = Points.of(first, sorted(names), budget), Points.of(second, sorted(others), budget)
    if one is None or other is None:
        return False
    if one.whole or other.whole:
        gap = _minus(one.start, other.start)
        return len(names) == 1 and _same_lattice(one.ways[0], other.ways[0], gap)
    return _same_space(one, other)


_SAMPLES = tuple(Fraction(n, 7) for n in (3, 5, 8, 9, 11, 13))
_ARBITRARY = re.compile(r"[ABCDKc](?:_\{?[1-9]\}?)?")
_TINY = Fraction(1, 10**30)  # values are known to 50 digits


def same_functions(first: Node, second: Node, budget: Budget) -> bool:
    """Whether two values with several arbitrary constants are the same functions of a variable.

    `A \\cosh x + B \\sinh x` and `C_1 e^x + C_2 e^{-x}` are: each is linear in its constants, and
    their values at six points span the same space. A letter of both sides is no constant, unless it
    has a number: the task has given it. Raises Undefined or OverBudget.
    """
    one, other = _families(first, second, angles=False)
    counts = {len(one.constants), len(other.constants)}
    arbitrary = all(map(_ARBITRARY.fullmatch, one.constants | other.constants))
    by_task = any("_" not in name for name in one.constants & other.constants)
    if counts not in ({2}, {3}) or not arbitrary or by_task:
        return False
    if one.variables != other.variables or len(one.variables) != 1 or one.variables - INTEGRATED:
        return False
    from .numeric import real_value  # loads mpmath

    spaces: list[Points] = []
    for family in (one, other):
        (variable,) = family.variables
        values = [family.value.substituted({variable: number(x)}) for x in _SAMPLES]
        points = Points.of(values, sorted(family.constants), budget, real_value)
        if points is None:
            return False
        spaces.append(points)
    return _same_space(spaces[0], spaces[1])


def _same_space(one: Points, other: Points) -> bool:
    gap = _minus(one.start, other.start)
    ranks = {rank(one.ways), rank(other.ways), rank([*one.ways, *other.ways, gap])}
    return ranks == {len(one.ways)}


def _same_lattice(way: _Vector, other: _Vector, gap: _Vector) -> bool:
    """Whether whole steps along either way reach the same points, of starts with a gap between."""
    pairs = list(zip(gap, way, strict=True))
    beside = any(across and not step for across, step in pairs)
    steps = {across / step for across, step in pairs if step}
    whole = len(steps) == 1 and next(iter(steps)).denominator == 1
    return whole and not beside and other in (way, [-step for step in way])


def _minus(one: _Vector, other: _Vector) -> _Vector:
    return [a - b for a, b in zip(one, other, strict=True)]


def rank(rows: Sequence[_Vector]) -> int:
    """How many of these vectors are independent of each other."""
    left, rank = list(rows), 0
    for column in range(len(left[0])):
        lead = max(left, key=lambda row: abs(row[column]), default=[Fraction(0)] * len(rows[0]))
        if abs(lead[column]) > _TINY:
            left.remove(lead)
            rank += 1
            left = [
                [a - b * row[column] / lead[column] for a, b in zip(row, lead, strict=True)]
                for row in left
            ]
    return rank


def same_span(prediction: Node, gold: Node) -> bool:
    """Whether two sets of as many independent vectors span one space."""
    sides = []
    for form in (prediction, gold):
        vectors = map(bare, form.args if form.op in ("set", "list") else (form,))
        columns = [[arg for row in each.args for arg in row.args or (row,)] for each in vectors]
        rows = [[rational(arg, Budget(math.inf)) for arg in each] for each in columns]
        sides.append([[value for value in row if value is not None] for row in rows])
        if [*map(len, rows)] != [*map(len, sides[-1])]:
            return False
    one, other = sides
    if len({*map(len, one + other)}) != 1 or not one:
        return False
    return len(one) == len(other) == rank(one) == rank(other) == rank(one + other)


def bare(form: Node) -> Node:
    """A value without its name and its unit."""
    return form.args[0] if form.op in ("named", "quantity") and form.args else form
