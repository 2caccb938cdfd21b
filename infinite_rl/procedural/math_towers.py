"""Large powers, factorials and binomials modulo m: Euler, Wilson, Lucas, sums of powers."""

from math import comb, gcd, prod

from .draw import Draw
from .math_integers import factorize
from .math_orders import power_steps
from .math_totients import phi
from .templates import Kinds, Names, listing


def tower(draw: Draw, level: int) -> Names:
    a, b, c = draw.between(2, 30), draw.between(3, 20), draw.between(5, 60)
    top = f"({b}^{c})"
    exponent, reduction = b**c, ""
    if level == 5:
        c, d = draw.between(3, 7), draw.between(2, 4)
        top, exponent = f"({b}^({c}^{d}))", b ** (c**d)
    m = draw.pick((100, 1000)) if draw.chance(0.3) else draw.between(30, 400)
    shared = period = 1
    while (
        period < 5
        or exponent % period < 2
        or (shared == 1 if level > 3 else shared > 1)
        or phi(m) == m - 1
    ):
        a, m = draw.between(2, 30), draw.between(30, 400)
        shared = prod(p**e for p, e in factorize(m).items() if a % p == 0)
        period = phi(m // shared)
    rest = m // shared
    small = exponent % period
    residue = pow(a, small, rest)
    if level == 5:
        reduction = f"{c}^{d} = {c**d}, and "
    reduction += power_steps(b, c**d if level == 5 else c, period)
    final = power_steps(a, small, rest)
    inverse = pow(shared, -1, rest)
    factor = residue * inverse % rest
    answer, has_shared = shared * factor, shared > 1
    return locals()


def power_sum(draw: Draw, level: int) -> Names:
    p, k = draw.pick((7, 11, 13, 17, 19, 23)), draw.between(3, 25)
    while k % (p - 1) < 2 and k % (p - 1) != 0:
        k = draw.between(3, 25)
    cycles, left = draw.between(200, 2500) // p, draw.between(2, p - 2)
    top = cycles * p + left
    full = p - 1 if k % (p - 1) == 0 else 0
    small = k % (p - 1)
    ends = [pow(n, k, p) for n in range(1, left + 1)]
    end_text, part = " + ".join(map(str, ends)), sum(ends)
    divides, below = full > 0, p - 1
    shortened, total = k > below and not divides, cycles * full + part
    answer = total % p
    return locals()


def wilson(draw: Draw, level: int) -> Names:
    p = draw.pick([n for n in range(29, 200) if factorize(n) == {n: 1}])
    k = draw.between(3, 6)
    n, below = p - k, p - 1
    factor_text = "·".join(str(j) for j in range(n + 1, p))
    signed_text = "·".join(f"(-{j})" for j in range(k - 1, 0, -1))
    value = (-1) ** (k - 1) * prod(range(1, k))
    divisor = -value % p
    answer = pow(divisor, -1, p)
    product, multiple = divisor * answer, divisor * answer // p
    return locals()


def lucas(draw: Draw, level: int) -> Names:
    p, values = 5, [1]
    while prod(values) < p:
        p = draw.pick((5, 7, 11, 13))
        n = draw.between(p**2, p**4 - 1)
        k = sum(draw.between(0, n // p**i % p) * p**i for i in range(4))
        parts = [(n // p**i % p, k // p**i % p) for i in (3, 2, 1, 0) if n >= p**i]
        values = [comb(i, j) for i, j in parts]
    n_digits, k_digits = (listing([part[side] for part in parts]) for side in (0, 1))
    terms = " · ".join(f"C({i},{j})" for i, j in parts)
    value_text, value = " · ".join(map(str, values)), prod(values)
    answer = value % p
    return locals()


def two_powers(draw: Draw, level: int) -> Names:
    m = draw.pick((9, 11, 13, 14, 16, 17, 19, 21, 23, 25, 27, 31))
    a, b = draw.some([n for n in range(2, 90) if gcd(n, m) == 1], 2)
    x, y = draw.between(50, 999), draw.between(50, 999)
    cycle = phi(m)
    x_small, y_small = x % cycle, y % cycle
    first, second = pow(a, x, m), pow(b, y, m)
    one, two = power_steps(a, x_small, m), power_steps(b, y_small, m)
    total = first + second
    answer = total % m
    return locals()


KINDS: Kinds = {
    3: (tower, two_powers, wilson),
    4: (tower, power_sum, wilson, lucas),
    5: (tower, tower, lucas, power_sum),
}
