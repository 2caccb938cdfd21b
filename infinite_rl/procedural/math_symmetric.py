"""Symmetric functions: Vieta's formulas, Newton's identities, reciprocal sums."""

from fractions import Fraction

from .draw import Draw
from .templates import Kinds, Names, in_brackets, polynomial, times


def power_sums(e1: int, e2: int, e3: int, top: int) -> list[int]:
    """p_0 to p_top of three numbers from their elementary symmetric functions."""
    sums = [3, e1, e1 * e1 - 2 * e2]
    while len(sums) <= top:
        sums.append(e1 * sums[-1] - e2 * sums[-2] + e3 * sums[-3])
    return sums


def three_sums(draw: Draw, level: int) -> Names:
    x, y, z = (draw.nonzero(-7, 9) for _ in range(3))
    e1, e2, e3 = x + y + z, x * y + y * z + z * x, x * y * z
    _, p1, p2, p3, p4, p5 = power_sums(e1, e2, e3, 5)
    pair_product = e1 * e2 - e3  # (x + y)(y + z)(z + x)
    reciprocals = Fraction(e2, e3)
    square_pairs = e2**2 - 2 * e1 * e3
    square, hard = e1**2, level > 3
    return locals()


def roots_of_cubic(draw: Draw, level: int) -> Names:
    e1, e2, e3 = draw.nonzero(-6, 6), draw.nonzero(-9, 9), draw.nonzero(-9, 9)
    k, m = draw.between(3, level + 1), draw.nonzero(-4, 4)
    text = polynomial((1, -e1, e2, -e3), "x")
    sums = power_sums(e1, e2, e3, k)
    power, p1, p2 = sums[k], sums[1], sums[2]
    lines = [
        f"p_{j} = {e1}·{in_brackets(sums[j - 1])} - {in_brackets(e2)}·{in_brackets(sums[j - 2])}"
        f" + {in_brackets(e3)}·{in_brackets(sums[j - 3])} = {sums[j]}."
        for j in range(3, k + 1)
    ]
    derivative = polynomial((3, -2 * e1, e2), "x")
    at = m**3 - e1 * m**2 + e2 * m - e3  # the cubic at m
    slope = 3 * m * m - 2 * e1 * m + e2
    fits = at != 0
    reciprocal = Fraction(-slope, at) if fits else None
    c, q, shift = abs(m), m * m, f"{'-' if m > 0 else '+'} {abs(m)}"
    # (r^2 + q)(s^2 + q)(t^2 + q) = |P(i·c)|^2 for q = c^2
    real, imaginary = e1 * q - e3, e2 * c - c**3
    negative_slope = -slope
    real_text = f"{in_brackets(e1)}·{c}^2 - {in_brackets(e3)}"
    imaginary_text = f"{in_brackets(e2)}·{c} - {c}^3"
    argument = times(c, "i")
    product = real**2 + imaginary**2
    hard = level > 3
    return locals()


def reciprocal_sum(draw: Draw, level: int) -> Names:
    k, n = draw.nonzero(-9, 9), draw.between(4, 9)
    sign = draw.pick((1, -1))
    op, other = ("+", "-") if sign > 0 else ("-", "+")
    sums = [2, k]
    while len(sums) <= n:
        sums.append(k * sums[-1] - sign * sums[-2])
    inverse = "1/x" if sign > 0 else "-1/x"
    last = op if n % 2 or sign > 0 else "+"
    answer = sums[n]
    value_list, times_k = ", ".join(map(str, sums)), in_brackets(k)
    return locals()


KINDS: Kinds = {
    3: (three_sums, roots_of_cubic, reciprocal_sum),
    4: (three_sums, roots_of_cubic),
    5: (roots_of_cubic, roots_of_cubic, three_sums),
}
