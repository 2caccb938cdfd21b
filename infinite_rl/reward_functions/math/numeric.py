"""Numeric evaluation at 50 digits and more, deterministic and bounded.

Import this module only where a value is needed: it loads mpmath. Loading it also computes the
constants once, to more digits than anything here asks for: mpmath keeps them in a cache that two
threads may not extend at the same time.
"""

import math
import random
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import mpmath

from .bounds import MAX_EXACT_BITS, MAX_POWER_BITS, Budget, OverBudget, Undefined, bits
from .exact import rational
from .tree import Node, number

DIGITS = (75, 150, 320)  # precision of the first try, and of later ones where digits cancelled
AGREEMENT = 50  # digits in which two values must agree, relative to the larger
_NEEDED_BITS = 180  # that must survive a cancellation
# How far a part can hide behind another: `pi + 10^(-60)` is not `pi`, nor are 60 digits of it.
# At x = 10^-3 the terms of `cos x + x^2/2` lie 6 digits apart, and it differs from 1 in the 14th:
# more than twice the gap, and the next term of a series needs three times. So four times the digits
# that the numerals have, and that lie between the terms of a sum, must agree.
_BASE_DIGITS, _HIDING = 20, 4
_MOST_DIGITS = 1600
_NEARLY_BITS = 170
_MOST_TURNS = 6  # numerals that are looked around
_COST = 8  # steps of the budget for one operation, at the first precision
_LARGEST_ANGLE_BITS = 160
_USABLE, _WANTED = 3, 5  # sample points needed, and enough

# In thousandths, nearly: 0.2 to 3, -3 to -0.2, 0.05 to 0.94, 5 to 40 and so on.
_RANGES = [(200, 2990), (-2990, -200), (50, 940), (5000, 40000), (-940, -50), (300, 1990)]
_RANGES += [(30, 930), (-900, 900), (-2000, 2000), (1100, 9000), (100_000, 400_000)]

mpmath.libmp.mpf_pi(6000), mpmath.libmp.mpf_e(6000)
mpmath.libmp.mpf_ln2(6000), mpmath.libmp.mpf_ln10(6000)
_KEPT = 500  # numbers of one precision


class _Precision:
    """A context with a number of digits, and the numbers that were made in it."""

    def __init__(self, digits: int) -> None:
        self.ctx = mpmath.MPContext()
        self.ctx.dps = digits
        self.bits = int(self.ctx.prec)
        self.noise = self.power_of_ten(25 - digits)
        self.agreement = self.power_of_ten(-AGREEMENT)
        self.constants = {"pi": +self.ctx.pi, "e": +self.ctx.e, "i": self.ctx.j}
        self._cached: dict[tuple[int, int], Any] = {}

    def power_of_ten(self, exponent: int) -> Any:
        return self.ctx.mpf(10) ** exponent

    def number(self, value: Any) -> Any:
        """The value of a fraction. Sample points and small numerals come again and again."""
        key = (value.numerator, value.denominator)
        cached = self._cached.get(key)
        if cached is None:
            top = self.ctx.mpf(key[0])
            cached = top if key[1] == 1 else top / key[1]
            if len(self._cached) >= _KEPT:
                self._cached.clear()
            self._cached[key] = cached
        return cached


_local = threading.local()  # each thread has separate contexts: mpmath lets none be shared


def _precision(digits: int) -> _Precision:
    cached: dict[int, _Precision] = _local.__dict__.setdefault("precisions", {})
    if digits not in cached:
        cached[digits] = _Precision(digits)
    return cached[digits]


class _NotReal(Undefined):
    """The value is no real number."""


class _Value(NamedTuple):
    """A value, and how many bits a part of the expression may hide behind another one."""

    value: Any
    reach: int


_Point = Mapping[str, Node]


def agree(first: Node, second: Node, names: list[str], real: bool, budget: Budget) -> str:
    """How the values of two expressions differ at the sample points, "" if they agree.

    With `real`, a point where a side has no real value is skipped. Raises Undefined if a
    constant has no value, OverBudget and OutOfTime.
    """
    sides = (first, second)
    if not names:
        values = _both(sides, {}, False, budget)
        return "" if _surely_equal(sides, values, {}, False, budget) else "values"
    sizes = real and any(side.holds("fn", "abs") for side in sides)
    usable: list[tuple[list[_Value], _Point]] = []
    for point in _visited(sides, names):
        try:
            values = _both(sides, point.coordinates, real, budget)
        except Undefined:
            if sizes and _one_alone(sides, point.coordinates, budget):
                return "a value where the other side has none"  # ln|x| is not ln x
            continue
        except OverBudget:
            if not point.far:
                raise
            continue  # where the work itself is used up, the next point says so again
        if not _close(values[0].value, values[1].value):
            return "values at a sample point"
        usable.append((values, point.coordinates))
        if point.plain and len(usable) >= _WANTED:
            break
    if len(usable) < _USABLE:
        return "too few points where both sides have a value"
    values, clearest = min(usable, key=lambda pair: max(part.reach for part in pair[0]))
    same = _surely_equal(sides, values, clearest, real, budget)
    return "" if same else "values at a sample point"


def real_value(node: Node, budget: Budget) -> Fraction:
    """The real value of a constant: exact if it is rational, else to 50 digits.

    Raises Undefined or OverBudget.
    """
    exact = rational(node, budget)
    if exact is not None:
        return exact
    negative, mantissa, exponent, size = _value(node, {}, True, budget).value._mpf_
    if abs(exponent + size) > MAX_EXACT_BITS:
        raise OverBudget("a bound of too many digits")
    spare = max(0, size - _NEARLY_BITS)  # the last bits depend on how the value is written
    mantissa = (int(mantissa) >> spare) + (int(mantissa) >> (spare - 1) & 1 if spare else 0)
    power = Fraction(2) ** int(exponent + spare)
    return Fraction(-mantissa if negative else mantissa) * power


def _both(sides: Sequence[Node], point: _Point, real: bool, budget: Budget) -> list[_Value]:
    """The values of both sides. A point where one has none is skipped, whatever the other costs."""
    values: list[_Value] = []
    fault = None
    for side in sides:
        try:
            values.append(_value(side, point, real, budget))
        except OverBudget as caught:
            fault = caught
    if fault is not None:
        raise fault
    return values


def _one_alone(sides: Sequence[Node], point: _Point, budget: Budget) -> bool:
    """Whether one side has a real value at a point and the other has none.

    A whole number may be a single point where one of them has none, which is no difference.
    """
    if any(isinstance(at.value, Fraction) and at.value.denominator == 1 for at in point.values()):
        return False
    defined = []
    for side in sides:
        try:
            defined.append(bool(_value(side, point, True, budget)))
        except (Undefined, OverBudget):
            defined.append(False)
    return defined[0] != defined[1]


def _surely_equal(
    sides: Sequence[Node], values: Sequence[_Value], point: _Point, real: bool, budget: Budget
) -> bool:
    """Whether two sides with these values at a point agree in as many digits as their parts ask."""
    if not _close(values[0].value, values[1].value):
        return False
    return _agree_beyond(
        max(part.reach for part in values),
        lambda digits: (_exact_value(side, point, real, budget, digits) for side in sides),
    )


def _agree_beyond(reach: int, evaluate: Callable[[int], Iterable[Any]]) -> bool:
    """Whether two values agree, also in a part that is `reach` bits smaller than another part.

    `evaluate(digits)` computes both values to that many digits.
    """
    digits = _BASE_DIGITS + _HIDING * reach * 3 // 10
    if digits > _MOST_DIGITS:
        raise OverBudget("parts that differ too much in size to be told apart")
    if digits <= AGREEMENT:
        return True
    one, other = evaluate(digits)
    return _close(one, other, digits)


def proportional(first: Node, second: Node, names: list[str], budget: Budget) -> bool:
    """Whether one expression is a constant, not zero, times the other at the sample points."""
    quotient = first / second
    quotients: list[tuple[_Value, _Point]] = []
    for point in _points(tuple(names)):
        try:
            part = _value(quotient, point.coordinates, True, budget)
        except Undefined:
            continue
        if not part.value or (quotients and not _close(quotients[0][0].value, part.value)):
            return False
        quotients.append((part, point.coordinates))
        if point.plain and len(quotients) >= _WANTED:
            break
    if len(quotients) < _USABLE:
        return False
    clearest = sorted(quotients, key=lambda pair: pair[0].reach)[:2]
    return _agree_beyond(
        clearest[1][0].reach,
        lambda digits: (_exact_value(quotient, at, True, budget, digits) for _, at in clearest),
    )


@dataclass(frozen=True)
class _Sample:
    """A sample point. Agreement at a `plain` one may end the search; a `far` one may be too far."""

    coordinates: _Point
    plain: bool = False
    far: bool = False


@lru_cache(256)
def _points(names: tuple[str, ...], turns: tuple[int, ...] = ()) -> tuple[_Sample, ...]:
    return tuple(_chosen(names, turns))


def _chosen(names: Sequence[str], turns: Sequence[int]) -> Iterator[_Sample]:
    """Sample points that depend on the names alone, and on where an expression may turn.

    First each two names with opposite signs, both ways: `|x + y|` is not `|x| + |y|`. Then the
    ranges: positive, negative, small, large. Last eight whole ones, each name with values of its
    own, for what has a value only there, such as (-1)^n. `turns` are numerals of an expression
    with absolute values, roots or whole parts: points at and near each, and beyond them all, come
    before the ranges: `|x - 50|` is not `50 - x`.
    """
    source = random.Random(zlib.crc32(",".join(names).encode()))

    def coordinates(low: int, high: int, signs: Sequence[int] = (), shift: int = 0) -> _Point:
        values = [Fraction(2 * source.randint(low, high) + 1, 1994) for _ in names]
        signed = zip(names, values, signs or [1] * len(names), strict=True)
        return {name: number(sign * (value + shift)) for name, value, sign in signed}

    for bit in range((len(names) - 1).bit_length()):
        signs = [-1 if index >> bit & 1 else 1 for index in range(len(names))]
        yield _Sample(coordinates(200, 2990, signs))
        yield _Sample(coordinates(200, 2990, [-sign for sign in signs]))
    for turn in turns:
        yield _Sample({name: number(turn) for name in names}, far=True)
        for sign in (1, -1):
            yield _Sample(coordinates(50, 940, [sign] * len(names), turn), far=True)
            yield _Sample(coordinates(-940, -50, [sign] * len(names), turn), far=True)
    for low, high in _RANGES:
        yield _Sample(coordinates(low, high), plain=True)
    wholes = [source.sample(range(1, 13), 8) for _ in names]
    for values_there in zip(*wholes, strict=True):
        point = {name: number(value) for name, value in zip(names, values_there, strict=True)}
        yield _Sample(point)


def _visited(sides: Sequence[Node], names: list[str]) -> Sequence[_Sample]:
    """The sample points for two expressions: where one may jump, the whole ones come too."""
    numerals = {size for side in sides if _has_kinks(side) for size in _numerals(side)}
    turns = sorted(numerals)[:_MOST_TURNS]
    turns = [*turns, 10 * math.prod(turns)] if numerals else [100]
    points = _points(tuple(names), tuple(turns) if any(map(_has_kinks, sides)) else ())
    if any(side.holds("fn", name) for side in sides for name in ("floor", "ceil")):
        return [replace(point, plain=False) for point in points]
    return points


def _has_kinks(node: Node) -> bool:
    """Whether some absolute value, root or whole part in it holds a variable."""
    bends = node.op == "fn" and node.value in ("abs", "floor", "ceil", "sqrt", "root", "cbrt")
    exponent = node.args[1].value if node.op == "pow" else None
    bends = bends or (node.op == "pow" and not isinstance(exponent, Fraction))
    return (bends and bool(node.symbols)) or any(_has_kinks(arg) for arg in node.args)


def _numerals(node: Node) -> set[int]:
    """The sizes of the numerals of an expression that are larger than 1, to the next whole one."""
    if type(node.value) is Fraction:
        value = node.value
        return {size for size in (abs(round(value)), value.denominator) if 1 < size < 10**6}
    return {size for arg in node.args for size in _numerals(arg)}


def _close(first: Any, second: Any, digits: int = AGREEMENT) -> bool:
    precision = _precision(max(DIGITS[0], digits + 20))
    share = precision.agreement if digits == AGREEMENT else precision.power_of_ten(-digits)
    return bool(abs(first - second) <= max(abs(first), abs(second)) * share)


def _value(node: Node, point: _Point, real: bool, budget: Budget) -> _Value:
    """The value at a point, right to some 54 digits; a real one, else Undefined, with `real`."""
    for digits in DIGITS:
        evaluation = _Evaluation(digits, point, real, budget, digits == DIGITS[-1])
        try:
            value = evaluation.run(node)
        except (Undefined, ZeroDivisionError) as fault:
            clear = isinstance(fault, _NotReal) and evaluation.is_precise() and not evaluation.zeros
            if clear or digits == DIGITS[-1]:
                raise Undefined("no value") from None
            continue  # what looks like a zero may be none at more digits
        if evaluation.is_precise() or digits == DIGITS[-1]:
            break
    return _Value(value, evaluation.reach)


def _exact_value(node: Node, point: _Point, real: bool, budget: Budget, digits: int) -> Any:
    """The value at a point, right to `digits` digits."""
    size = -(-(digits + 60) // 100) * 100  # in hundreds: a thread keeps a context for each
    try:
        return _Evaluation(size, point, real, budget, True).run(node)
    except ZeroDivisionError:
        raise Undefined("no value") from None


class _Evaluation:
    """One evaluation at one precision.

    `lost` is the most bits that one cancellation has cost. `reach` is how many bits the numerals
    have, plus the most that lie between the terms of one sum or between an argument and 1.
    """

    def __init__(self, digits: int, point: _Point, real: bool, budget: Budget, last: bool) -> None:
        self.precision = _precision(digits)
        self.ctx = self.precision.ctx
        self.cost = _COST * digits // DIGITS[0]
        self.point = point
        self.real = real
        self.budget = budget
        self.last = last
        self.lost = 0
        self.numerals = self.gap = 0
        self.zeros = False  # whether all digits of a sum have cancelled

    @property
    def reach(self) -> int:
        return self.numerals + self.gap

    def is_precise(self) -> bool:
        return self.lost <= self.precision.bits - _NEEDED_BITS

    def run(self, node: Node) -> Any:
        """The value of a part. With `real`, Undefined for a part that has no real one."""
        self.budget.spend(self.cost)
        if type(node.value) is Fraction:
            self.numerals += bits(node.value) - 1
            return self.precision.number(node.value)
        value = self.compute(node)
        if self.real and isinstance(value, self.ctx.mpc):
            if value.imag:
                raise _NotReal("no real value")
            return value.real
        return value

    def compute(self, node: Node) -> Any:
        if node.op == "sym":
            return self.precision.number(self.point[str(node.value)].value)
        if node.op == "const":
            if node.value == "inf":
                raise Undefined("infinity in an expression")
            return self.precision.constants[str(node.value)]
        if node.op in ("fact", "binom"):
            return self.combinatorial(node)
        values = [self.run(arg) for arg in node.args]
        if node.op == "add":
            return self.sum(values)
        if node.op == "mul":
            two = len(values) == 2  # what a product of any length comes to, in a third of the time
            return values[0] * values[1] if two else self.ctx.fprod(values)
        if node.op == "div":
            return self.quotient(values[0], values[1])
        if node.op == "neg":
            return -values[0]
        if node.op == "deg":
            return values[0] * self.precision.constants["pi"] / 180
        if node.op == "pow":
            return self.power(values[0], values[1])
        return self.function(str(node.value), values)

    def sum(self, values: list[Any]) -> Any:
        sizes = [self.ctx.mag(value) for value in values if value]
        if sizes:
            self.widen(max(sizes) - min(sizes))
        total = values[0] + values[1] if len(values) == 2 else self.ctx.fsum(values)
        return self.without_noise(total, max(map(abs, values)))

    def widen(self, size: Any) -> None:
        self.gap = max(self.gap, int(size))

    def without_noise(self, value: Any, scale: Any) -> Any:
        """Note how many bits of `scale` cancelled; at the last precision nothing but noise is 0."""
        if not scale:
            return value
        bits = self.precision.bits
        cancelled = int(self.ctx.mag(scale) - self.ctx.mag(value)) if value else bits
        if self.last and cancelled > bits - _NEEDED_BITS:
            return self.ctx.zero
        if value:
            self.lost = max(self.lost, cancelled)
        else:
            self.zeros = True
        return value

    def combinatorial(self, node: Node) -> Any:
        points = tuple(arg.substituted(self.point) for arg in node.args)
        value = rational(Node(node.op, points), self.budget)
        if value is None:
            raise Undefined("a factorial of something that is no whole number")
        return self.ctx.mpf(value.numerator) / value.denominator

    def quotient(self, top: Any, bottom: Any) -> Any:
        if not bottom:
            raise Undefined("a division by zero")
        return top / bottom

    def power(self, base: Any, exponent: Any) -> Any:
        if not base:
            if self.ctx.re(exponent) <= 0 and exponent:
                raise Undefined("a division by zero")
            return self.ctx.zero if exponent else self.ctx.one
        self.widen(abs(self.ctx.mag(exponent)) if exponent else 0)  # 2^(10^(-70)) is not 1
        noise = self.precision.noise
        if self.real and base < 0 and abs(exponent - self.ctx.nint(exponent)) > noise:
            raise _NotReal("no real value")
        size = max(abs(int(self.ctx.mag(base))), 1)
        if size * abs(exponent) > 2**MAX_POWER_BITS:
            raise OverBudget("a power that is too large")
        return base**exponent

    def function(self, name: str, values: list[Any]) -> Any:
        value, ctx = values[0], self.ctx
        if value and name not in ("sqrt", "cbrt", "root", "abs"):
            self.widen(abs(ctx.mag(value)))
        if name in ("sin", "cos", "tan", "cot", "sec", "csc"):
            return self.circular(name, value)
        if name in ("ln", "log", "lg"):
            return self.logarithm(name, values)
        if name in ("sqrt", "cbrt", "root"):
            degree = {"sqrt": 2, "cbrt": 3}.get(name) or values[1]
            return self.root(value, degree)
        if name in ("exp", "sinh", "cosh", "tanh"):
            if ctx.mag(value) > MAX_POWER_BITS:
                raise OverBudget("a power that is too large")
            if name != "exp":
                self.widen(3 * abs(value))  # tanh is 1 - 2 e^(-2x) and on
            return self.without_noise(getattr(ctx, name)(value), value if "h" in name else ctx.zero)
        if name in ("arcsin", "arccos", "arctan"):
            scale = ctx.one if "cos" in name else ctx.zero
            return self.without_noise(getattr(ctx, "a" + name[3:])(value), scale)
        if name in ("floor", "ceil"):
            return self.whole(name, ctx.re(value))
        return abs(value)

    def whole(self, name: str, value: Any) -> Any:
        """The floor or ceiling; a value within the noise of a whole number is that number."""
        if self.ctx.mag(value) > _LARGEST_ANGLE_BITS // 2:
            raise OverBudget("a whole part of too many digits")
        nearest = self.ctx.nint(value)
        if abs(value - nearest) < self.precision.noise:
            self.lost = self.precision.bits  # more digits may show on which side it lies
            return nearest
        return getattr(self.ctx, name)(value)

    def circular(self, name: str, value: Any) -> Any:
        if self.ctx.mag(value) > _LARGEST_ANGLE_BITS:
            raise OverBudget("an angle that is too large")
        scale = max(abs(value), self.ctx.one) if name in ("cos", "sec", "cot") else abs(value)
        base = {"cot": "tan", "sec": "cos", "csc": "sin"}.get(name, name)
        if name in ("tan", "cot"):
            sine = self.without_noise(self.ctx.sin(value), abs(value))
            cosine = self.without_noise(self.ctx.cos(value), max(abs(value), self.ctx.one))
            return self.quotient(sine, cosine) if name == "tan" else self.quotient(cosine, sine)
        result = self.without_noise(getattr(self.ctx, base)(value), scale)
        return result if base == name else self.quotient(self.ctx.one, result)

    def logarithm(self, name: str, values: list[Any]) -> Any:
        if not values[0] or (len(values) == 2 and values[1] in (0, 1)):
            raise Undefined("a logarithm of zero, or in base 0 or 1")
        result = self.without_noise(self.ctx.log(values[0]), self.ctx.one)
        base = self.ctx.mpf(10) if name == "lg" else (values[1] if len(values) == 2 else None)
        return result if base is None else result / self.ctx.log(base)

    def root(self, value: Any, degree: Any) -> Any:
        """The real root of a negative number where the degree is odd, else the principal one."""
        if not degree:
            raise Undefined("a root of degree zero")
        if degree == 2:
            return self.ctx.sqrt(value)
        real = not isinstance(value, self.ctx.mpc) and not isinstance(degree, self.ctx.mpc)
        if real and value < 0 and degree % 2 == 1:
            return -self.power(-value, self.ctx.one / degree)
        return self.power(value, self.ctx.one / degree)
