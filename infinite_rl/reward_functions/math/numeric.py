"""Numeric evaluation at 50 digits and more, deterministic and bounded.

Import this module only where a value is needed: it loads mpmath. Loading it also computes the
constants once, to more digits than anything here asks for: mpmath keeps them in a cache that two
threads may not extend at the same time.
"""

from __future__ import annotations

import random
import threading
import zlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import mpmath

from .exact import rational
from .limits import MAX_POWER_BITS, Budget, OverBudget, Undefined
from .tree import Node, number

DIGITS = (75, 150, 320)  # precision of the first try, and of later ones where digits cancelled
AGREEMENT = 50  # digits in which two values must agree, relative to the larger
_NEEDED_BITS = 180  # that must survive a cancellation
_COST = 8  # steps of the budget for one operation
_LARGEST_ANGLE_BITS = 160
_USABLE, _WANTED = 3, 5  # sample points needed, and enough

# In thousandths, nearly: 0.2 to 3, -3 to -0.2, 0.05 to 0.94, 5 to 40 and so on.
_RANGES = [(200, 2990), (-2990, -200), (50, 940), (5000, 40000), (-940, -50), (300, 1990)]
_RANGES += [(30, 930), (-900, 900), (-2000, 2000), (1100, 9000), (100_000, 400_000)]

mpmath.libmp.mpf_pi(6000), mpmath.libmp.mpf_e(6000)
mpmath.libmp.mpf_ln2(6000), mpmath.libmp.mpf_ln10(6000)
_local = threading.local()  # one context a thread: a context holds its precision


def _context(digits: int) -> Any:
    contexts: dict[int, Any] = _local.__dict__.setdefault("contexts", {})
    if digits not in contexts:
        contexts[digits] = mpmath.MPContext()
        contexts[digits].dps = digits
    return contexts[digits]


def agree(first: Node, second: Node, names: list[str], real: bool, budget: Budget) -> str:
    """How the values of two expressions differ at the sample points, "" where they agree.

    With `real`, a point where a side has no real value is skipped. Raises Undefined where a
    constant has no value, OverBudget and OutOfTime.
    """
    if not names:
        return (
            ""
            if _close(*(_value(side, {}, False, budget) for side in (first, second)))
            else "values"
        )
    usable = 0
    for point, whole in _points(names):
        try:
            values = [_value(side, point, real, budget) for side in (first, second)]
        except Undefined:
            continue
        if not _close(*values):
            return "values at a sample point"
        usable += 1
        if usable >= _WANTED and not whole:
            return ""
    return "" if usable >= _USABLE else "too few points where both sides have a value"


def proportional(first: Node, second: Node, names: list[str], budget: Budget) -> bool:
    """Whether one expression is a constant, not zero, times the other at the sample points."""
    ratio, usable = None, 0
    for point, whole in _points(names):
        try:
            value = _value(Node("div", (first, second)), point, True, budget)
        except Undefined:
            continue
        if not value or (ratio is not None and not _close(ratio, value)):
            return False
        ratio, usable = value, usable + 1
        if usable >= _WANTED and not whole:
            break
    return usable >= _USABLE


def _points(names: list[str]) -> Iterator[tuple[Mapping[str, Node], bool]]:
    """Sample points that depend on the names alone, and whether a point is one of whole numbers.

    Real ones come first: positive, negative, small, large. Then eight whole ones, each name with
    values of its own, for what has a value only there, such as (-1)^n.
    """
    source = random.Random(zlib.crc32(",".join(names).encode()))
    for low, high in _RANGES:
        values = (Fraction(2 * source.randint(low, high) + 1, 1994) for _ in names)
        yield {name: number(value) for name, value in zip(names, values, strict=True)}, False
    wholes = [source.sample(range(1, 13), 8) for _ in names]
    for values_there in zip(*wholes, strict=True):
        point = {name: number(value) for name, value in zip(names, values_there, strict=True)}
        yield point, True


def _close(first: Any, second: Any) -> bool:
    ctx = _context(DIGITS[0])
    larger = max(abs(first), abs(second))
    return bool(abs(first - second) <= larger * ctx.mpf(10) ** -AGREEMENT)


def _value(node: Node, point: Mapping[str, Node], real: bool, budget: Budget) -> Any:
    """The value at a point, right to some 54 digits; a real one, else Undefined, with `real`."""
    for digits in DIGITS:
        evaluation = _Evaluation(_context(digits), point, real, budget, digits == DIGITS[-1])
        try:
            value = evaluation.run(node)
        except (Undefined, ZeroDivisionError):
            if digits == DIGITS[-1]:
                raise Undefined("no value") from None
            continue  # what looks like a zero may be none at more digits
        if evaluation.lost <= evaluation.ctx.prec - _NEEDED_BITS or digits == DIGITS[-1]:
            break
    return value


class _Evaluation:
    """One evaluation at one precision. `lost` is the most bits that one cancellation has cost."""

    def __init__(
        self, ctx: Any, point: Mapping[str, Node], real: bool, budget: Budget, last: bool
    ) -> None:
        self.ctx = ctx
        self.point = point
        self.real = real
        self.budget = budget
        self.last = last
        self.lost = 0

    def run(self, node: Node) -> Any:
        """The value of a part. With `real`, Undefined for a part that has no real one."""
        self.budget.spend(_COST)
        value = self.compute(node)
        if self.real and isinstance(value, self.ctx.mpc):
            if value.imag:
                raise Undefined("no real value")
            return value.real
        return value

    def compute(self, node: Node) -> Any:
        if isinstance(node.value, Fraction):
            return self.ctx.mpf(node.value.numerator) / node.value.denominator
        if node.op == "sym":
            return self.run(self.point[str(node.value)])
        if node.op == "const":
            return self.constant(str(node.value))
        if node.op in ("fact", "binom"):
            return self.combinatorial(node)
        values = [self.run(arg) for arg in node.args]
        if node.op == "add":
            return self.settled(self.ctx.fsum(values), max(abs(value) for value in values))
        if node.op == "mul":
            return self.ctx.fprod(values)
        if node.op == "div":
            return self.quotient(values[0], values[1])
        if node.op == "neg":
            return -values[0]
        if node.op == "deg":
            return values[0] * self.ctx.pi / 180
        if node.op == "pow":
            return self.power(values[0], values[1])
        return self.function(str(node.value), values)

    def settled(self, value: Any, scale: Any) -> Any:
        """Note how many bits of `scale` cancelled; at the last precision nothing but noise is 0."""
        if not scale:
            return value
        gone = self.ctx.prec if not value else int(self.ctx.mag(scale) - self.ctx.mag(value))
        if self.last and gone > self.ctx.prec - _NEEDED_BITS:
            return self.ctx.zero
        if value:
            self.lost = max(self.lost, gone)
        return value

    def constant(self, name: str) -> Any:
        if name == "inf":
            raise Undefined("infinity in an expression")
        return {"pi": +self.ctx.pi, "e": +self.ctx.e, "i": self.ctx.j}[name]

    def combinatorial(self, node: Node) -> Any:
        points = tuple(_substituted(arg, self.point) for arg in node.args)
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
        size = max(abs(int(self.ctx.mag(base))), 1)
        if size * abs(exponent) > 2**MAX_POWER_BITS:
            raise OverBudget("a power that is too large")
        return base**exponent

    def function(self, name: str, values: list[Any]) -> Any:
        value, ctx = values[0], self.ctx
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
            return self.settled(getattr(ctx, name)(value), value if "h" in name else ctx.zero)
        if name in ("arcsin", "arccos", "arctan"):
            return self.settled(
                getattr(ctx, "a" + name[3:])(value), ctx.one if "cos" in name else ctx.zero
            )
        if name in ("floor", "ceil"):
            return self.whole(name, ctx.re(value))
        return abs(value)

    def whole(self, name: str, value: Any) -> Any:
        """The floor or ceiling; a value within the noise of a whole number is that number."""
        if self.ctx.mag(value) > _LARGEST_ANGLE_BITS // 2:
            raise OverBudget("a whole part of too many digits")
        nearest = self.ctx.nint(value)
        near = abs(value - nearest) < self.ctx.mpf(10) ** -AGREEMENT
        return nearest if near else getattr(self.ctx, name)(value)

    def circular(self, name: str, value: Any) -> Any:
        if self.ctx.mag(value) > _LARGEST_ANGLE_BITS:
            raise OverBudget("an angle that is too large")
        scale = max(abs(value), self.ctx.one) if name in ("cos", "sec", "cot") else abs(value)
        base = {"cot": "tan", "sec": "cos", "csc": "sin"}.get(name, name)
        if name in ("tan", "cot"):
            sine = self.settled(self.ctx.sin(value), abs(value))
            cosine = self.settled(self.ctx.cos(value), max(abs(value), self.ctx.one))
            return self.quotient(sine, cosine) if name == "tan" else self.quotient(cosine, sine)
        result = self.settled(getattr(self.ctx, base)(value), scale)
        return result if base == name else self.quotient(self.ctx.one, result)

    def logarithm(self, name: str, values: list[Any]) -> Any:
        if not values[0] or (len(values) == 2 and values[1] in (0, 1)):
            raise Undefined("a logarithm of zero, or in base 0 or 1")
        result = self.settled(self.ctx.log(values[0]), self.ctx.one)
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


def _substituted(node: Node, point: Mapping[str, Node]) -> Node:
    if node.op == "sym":
        return point[str(node.value)]
    return Node(
        node.op, tuple(_substituted(arg, point) for arg in node.args), node.value, node.unit
    )
