"""Exact values: rational constants, quotients of polynomials in several variables, factors."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce

from .bounds import (
    MAX_EXACT_BITS,
    MAX_EXPANSION,
    MAX_FACTORIAL,
    MAX_POLYNOMIAL_DEGREE,
    MAX_TERMS,
    Budget,
    OverBudget,
    Undefined,
    bits,
)
from .tree import Node

# A monomial is the exponents of all variables in one integer, 64 bits for each: then the product of
# two is their sum. A coefficient is an integer where it is whole, as most are.
Coefficient = int | Fraction
Polynomial = dict[int, Coefficient]
Quotient = tuple[Polynomial, Polynomial]
_FIELD, _LARGEST_DEGREE = 64, 2**32


def rational(node: Node, budget: Budget) -> Fraction | None:
    """The value of a rational constant, None if it is not known to be rational.

    Raises OverBudget before a value grows too large, Undefined for a division by zero.
    """
    budget.spend()
    if type(node.value) is Fraction:
        return node.value
    step = _STEPS.get(node.op)
    if step is None:
        return None
    values = [rational(arg, budget) for arg in node.args]
    rationals = [value for value in values if value is not None]
    if len(rationals) < len(values):
        return None
    result = step(node, rationals, budget)
    if result is not None:
        _check_size(result, 0, budget)
    return result


def _fold(node: Node, values: list[Fraction], budget: Budget) -> Fraction:
    """The sum or the product of the values."""
    total = values[0]
    for value in values[1:]:
        total = total + value if node.op == "add" else total * value
        _check_size(total, 1, budget)
    return total


def _check_size(value: Fraction, steps: int, budget: Budget) -> None:
    budget.spend(steps + bits(value) // 512)
    if bits(value) > MAX_EXACT_BITS:
        raise OverBudget("an exact number of too many digits")


def _divide(_: Node, values: list[Fraction], __: Budget) -> Fraction:
    if not values[1]:
        raise Undefined("a division by zero")
    return values[0] / values[1]


def _power(_: Node, values: list[Fraction], __: Budget) -> Fraction | None:
    base, exponent = values
    if base in (0, 1):
        if exponent < 0 and not base:
            raise Undefined("a division by zero")
        return base if exponent else Fraction(1)
    if bits(base) * abs(exponent) > MAX_EXACT_BITS and base != -1:
        raise OverBudget("a power of too many digits")
    if exponent.denominator == 1:
        return base ** (int(exponent) % 2 if base == -1 else int(exponent))
    under = root(base, exponent.denominator)
    return None if under is None else under**exponent.numerator


def root(value: Fraction, degree: int) -> Fraction | None:
    """The root of a nonnegative value, None if it is not rational."""
    if value < 0 or degree > 64:
        return None
    top, bottom = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return None if top is None or bottom is None else Fraction(top, bottom)


def _whole_root(value: int, degree: int) -> int | None:
    if value < 2:
        return value
    if degree == 2:
        guess = math.isqrt(value)
        return guess if guess * guess == value else None
    guess = 1 << -(-value.bit_length() // degree)
    while True:  # Newton's method from above: it falls until it has the whole part
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess if guess**degree == value else None
        guess = better


def _whole_number(value: Fraction) -> int:
    """A value that may stand before a `!`."""
    if value.denominator > 1 or value < 0:
        raise Undefined("a factorial of something that is no whole number")
    if value > MAX_FACTORIAL:
        raise OverBudget(f"a factorial beyond {MAX_FACTORIAL}")
    return int(value)


def _combinatorial(node: Node, values: list[Fraction], _: Budget) -> Fraction:
    wholes = map(_whole_number, values)
    return Fraction(math.factorial(*wholes) if node.op == "fact" else math.comb(*wholes))


def _function(node: Node, values: list[Fraction], _: Budget) -> Fraction | None:
    value, *others = values
    if node.value == "abs":
        return abs(value)
    if node.value in ("floor", "ceil"):
        return Fraction(math.floor(value) if node.value == "floor" else math.ceil(value))
    if node.value not in ("sqrt", "cbrt", "root"):
        return None
    degree = {"sqrt": Fraction(2), "cbrt": Fraction(3)}.get(str(node.value)) or others[0]
    if degree.denominator > 1 or degree < 1:
        return None
    odd_negative = value < 0 and degree % 2 == 1
    real_root = root(-value if odd_negative else value, int(degree))
    return -real_root if real_root is not None and odd_negative else real_root


_STEPS: dict[str, Callable[[Node, list[Fraction], Budget], Fraction | None]] = {
    "neg": lambda _, values, __: -values[0],
    **{"add": _fold, "mul": _fold, "div": _divide, "pow": _power},
    **{"fact": _combinatorial, "binom": _combinatorial, "fn": _function},
}


class NotPolynomial(Exception):
    """The expression is no quotient of polynomials, or one too large to expand."""


class Quotients:
    """Expands expressions in `names` into quotients of polynomials, within a budget."""

    def __init__(self, names: list[str], budget: Budget) -> None:
        self.unit = {name: 1 << _FIELD * index for index, name in enumerate(names)}
        self.one: Polynomial = {0: 1}
        self.budget = budget
        self.left = MAX_EXPANSION

    def equal(self, first: Node, second: Node) -> bool:
        """Whether two expressions are one rational function. Raises NotPolynomial or Undefined."""
        top, bottom = self.expand(first)
        other_top, other_bottom = self.expand(second)
        return self.times(top, other_bottom) == self.times(other_top, bottom)

    def same_zeros(self, first: Node, second: Node) -> bool:
        """Whether the polynomials show that two rational functions are zero in the same places.

        False shows nothing. One is a constant, not zero, times the other; or their numerators are,
        and neither is zero where its denominator, a single product, is: `y - 2/x` and `xy - 2`.
        Raises NotPolynomial or Undefined.
        """
        top, bottom = self.expand(first)
        other_top, other_bottom = self.expand(second)
        if self.multiples(self.times(top, other_bottom), self.times(other_top, bottom)):
            return True
        apart = self.apart(top, bottom) and self.apart(other_top, other_bottom)
        return apart and self.multiples(top, other_top)

    def multiples(self, one: Polynomial, other: Polynomial) -> bool:
        """Whether one polynomial is a constant, not zero, times the other."""
        if one.keys() != other.keys() or not one:
            return False
        key = next(iter(one))
        scaled = self.times(one, self.scaled(Fraction(other[key])))
        return scaled == self.times(other, self.scaled(Fraction(one[key])))

    def apart(self, top: Polynomial, bottom: Polynomial) -> bool:
        """Whether the denominator is one product, and the numerator not zero where it is."""
        if len(bottom) != 1:
            return False
        product = next(iter(bottom))
        for unit in self.unit.values():
            if product // unit % (1 << _FIELD):
                left = [power for power in top if not power // unit % (1 << _FIELD)]
                if left != [0]:
                    return False
        return True

    def expand(self, node: Node) -> Quotient:
        """Numerator and denominator, not in lowest terms. Raises NotPolynomial or Undefined."""
        self.budget.spend()
        if type(node.value) is Fraction:
            return self.scaled(node.value), self.one
        if node.op == "sym":
            return {self.unit[str(node.value)]: 1}, self.one
        if node.op == "pow":
            return self.power(self.expand(node.args[0]), node.args[1])
        if node.op not in ("add", "mul", "div", "neg"):
            raise NotPolynomial
        parts = [self.expand(arg) for arg in node.args]
        if node.op == "neg":
            return self.times(parts[0][0], self.scaled(-1)), parts[0][1]
        combine = {"add": self.plus, "mul": self.product, "div": self.quotient}[node.op]
        return reduce(combine, parts)

    def scaled(self, value: Coefficient) -> Polynomial:
        """A constant."""
        return {0: value.numerator if value.denominator == 1 else value} if value else {}

    def product(self, first: Quotient, second: Quotient) -> Quotient:
        """Of two quotients."""
        return self.times(first[0], second[0]), self.times(first[1], second[1])

    def quotient(self, first: Quotient, second: Quotient) -> Quotient:
        """Of two quotients. Raises Undefined if the second is zero."""
        if not second[0]:
            raise Undefined("a division by zero")
        return self.product(first, (second[1], second[0]))

    def plus(self, first: Quotient, second: Quotient) -> Quotient:
        """The sum of two quotients."""
        if first[1] == second[1]:
            return self.sum(first[0], second[0]), first[1]
        top = self.sum(self.times(first[0], second[1]), self.times(second[0], first[1]))
        return top, self.times(first[1], second[1])

    def power(self, base: Quotient, exponent: Node) -> Quotient:
        """A quotient to a whole number. Raises NotPolynomial for another or a large one."""
        value = rational(exponent, self.budget)
        if value is None or value.denominator > 1 or abs(value) > MAX_POLYNOMIAL_DEGREE:
            raise NotPolynomial
        if value and max(map(self.degree, base)) * abs(value) > _LARGEST_DEGREE:
            raise NotPolynomial
        result = (self.one, self.one)
        for _ in range(abs(int(value))):
            result = self.product(result, base)
        return self.quotient((self.one, self.one), result) if value < 0 else result

    def degree(self, polynomial: Polynomial) -> int:
        """The largest exponent of any variable."""
        field = (1 << _FIELD) - 1
        fields = range(0, _FIELD * len(self.unit), _FIELD)
        return max((power >> at & field for power in polynomial for at in fields), default=0)

    def spend(self, first: Polynomial, second: Polynomial, count: int) -> None:
        """Count operations on coefficients; large coefficients and quotients count for more."""
        factors = [*first.values(), *second.values()]
        slow = 8 if any(isinstance(factor, Fraction) for factor in factors) else 1
        steps = count * slow * (1 + max(map(bits, factors), default=0) // 256)
        self.budget.spend(steps // 16)
        self.left -= steps
        if self.left < 0:
            raise NotPolynomial

    def sum(self, first: Polynomial, second: Polynomial) -> Polynomial:
        """Of two polynomials."""
        self.spend(first, second, len(second))
        total = dict(first)
        for power, factor in second.items():
            total[power] = total.get(power, 0) + factor
        return self.checked(total)

    def times(self, first: Polynomial, second: Polynomial) -> Polynomial:
        """The product of two polynomials."""
        if second == self.one:
            return first
        if first == self.one:
            return second
        self.spend(first, second, len(first) * len(second))
        total: Polynomial = {}
        for power, factor in first.items():
            for other, weight in second.items():
                key = power + other
                total[key] = total.get(key, 0) + factor * weight
        return self.checked(total)

    def checked(self, polynomial: Polynomial) -> Polynomial:
        """The polynomial without zero coefficients. Raises NotPolynomial if it is too large."""
        kept = {power: factor for power, factor in polynomial.items() if factor}
        if len(kept) > MAX_TERMS or any(bits(factor) > MAX_EXACT_BITS for factor in kept.values()):
            raise NotPolynomial
        return kept


# -- factored forms -------------------------------------------------------------------------------


def half_factored(first: Node, second: Node, budget: Budget) -> bool:
    """Whether of two equal products one has fewer factors: `(x^2 - 4)(x^2 + 4)`, `2^3 5 9`.

    The task that has such an answer is to factor. A number or a sum is no product.
    """
    one, other = (factors(n.args[0] if n.op == "named" else n, budget) for n in (first, second))
    if min(len(one), len(other)) < 2:
        return False
    if any(factor.symbols for factor in (*one, *other)):
        counts = [sum(bool(factor.symbols) for factor in side) for side in (one, other)]
        return counts[0] != counts[1] and min(counts) > 1
    prime = [all(_is_prime(int(str(factor.value))) for factor in side) for side in (one, other)]
    return prime[0] != prime[1]


def factors(node: Node, budget: Budget) -> list[Node]:
    """The factors of a product of whole numbers and polynomials; none of other expressions."""
    if node.op == "neg":
        return factors(node.args[0], budget)
    if node.op == "mul":
        parts = [factors(arg, budget) for arg in node.args]
        return [factor for part in parts for factor in part] if all(parts) else []
    power = rational(node.args[1], budget) if node.op == "pow" else Fraction(1)
    base = node.args[0] if node.op == "pow" else node
    whole = base.op == "num" and isinstance(base.value, Fraction) and base.value.denominator == 1
    plain = whole or (base.symbols and base.op in ("sym", "add") and not base.holds("div"))
    if power is None or power.denominator > 1 or not 0 < power < 100 or not plain:
        return []
    kinds = ("fn", "const", "fact", "binom")
    return [] if any(map(base.holds, kinds)) else [base] * int(power)


def _is_prime(value: int) -> bool:
    return 1 < value < 10**9 and all(value % n for n in range(2, math.isqrt(value) + 1))
