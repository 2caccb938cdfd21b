"""Triangles: Heron and radii, cevians by Stewart's theorem, areas cut by cevians."""

from fractions import Fraction
from math import gcd, prod

from .draw import Draw
from .templates import Kinds, Names, root_of


def sides(draw: Draw) -> tuple[int, int, int]:
    a, b, c = draw.integers(3, 4, 24)
    while a + b <= c or b + c <= a or c + a <= b:
        a, b, c = draw.integers(3, 4, 24)
    return a, b, c


def from_sides(draw: Draw, level: int) -> Names:
    a, b, c = sides(draw)
    total = a + b + c
    sixteen = total * (a + b - c) * (b + c - a) * (c + a - b)  # 16·area^2
    x, y, z = b + c - a, c + a - b, a + b - c
    area = root_of(Fraction(sixteen, 16))
    inradius = root_of(Fraction(sixteen, 4 * total**2))
    circumradius = root_of(Fraction((a * b * c) ** 2, sixteen))
    altitude = root_of(Fraction(sixteen, 4 * a * a))
    # squared distance of incentre and circumcentre: R(R - 2r)
    euler = Fraction((a * b * c) ** 2, sixteen) - Fraction(a * b * c, total)
    centres, hard = root_of(euler) if euler else "0", level > 3
    product = a * b * c
    return locals()


def cevian(draw: Draw, level: int) -> Names:
    a, b, c = sides(draw)
    d = draw.between(1, a - 1)
    rest = a - d
    left = b * b * d + c * c * rest
    square = Fraction(left, a) - d * rest
    length = root_of(square)
    share = Fraction(a, b + c)
    bisector = root_of(b * c * (1 - share * share))
    one = a * c * Fraction(1, b + c)
    two, near, far = a - one, one, a - one
    inner = b * c - one * two
    four = 2 * b * b + 2 * c * c - a * a
    median = root_of(Fraction(2 * b * b + 2 * c * c - a * a, 4))
    return locals()


def meeting_cevians(draw: Draw, level: int) -> Names:
    (p, q), (r, s) = coprime_pair(draw, 9), coprime_pair(draw, 9)
    while q * s == p * s == p * r:
        (p, q), (r, s) = coprime_pair(draw, 9), coprime_pair(draw, 9)
    whole = draw.between(2, 20) * 5
    # masses: B gets q, C gets p so that D balances; A gets mass so that E balances with C
    mass_b, mass_c = q * s, p * s
    mass_a = p * r
    total = mass_a + mass_b + mass_c
    abp = Fraction(mass_c * whole, total)
    bcp, cap = Fraction(mass_a * whole, total), Fraction(mass_b * whole, total)
    ratio = Fraction(mass_b + mass_c, mass_a)
    return locals()


def inner_triangle(draw: Draw, level: int) -> Names:
    pairs = [coprime_pair(draw, 6) for _ in range(3)]
    while prod(m for m, _ in pairs) == prod(n for _, n in pairs):
        pairs = [coprime_pair(draw, 6) for _ in range(3)]
    (p, q), (r, s), (t, u) = pairs
    whole = draw.between(2, 20) * 5
    # with mass points: the shares of ABP, BCQ and CAR, cut off by two cevians each
    one_total, two_total, three_total = (
        p * r + q * s + p * s,
        r * t + s * u + r * u,
        t * p + u * q + t * q,
    )
    one, two, three = (
        Fraction(p * s, one_total),
        Fraction(r * u, two_total),
        Fraction(t * q, three_total),
    )
    mass_p, mass_q, mass_r = (
        f"{a} at A, {b} at B, {c} at C, in all {a + b + c}"
        for a, b, c in ((p * r, q * s, p * s), (r * u, r * t, s * u), (u * q, t * q, t * p))
    )
    share = 1 - one - two - three
    answer = share * whole
    return locals()


def coprime_pair(draw: Draw, top: int) -> tuple[int, int]:
    m, n = draw.between(1, top), draw.between(1, top)
    while gcd(m, n) > 1:
        m, n = draw.between(1, top), draw.between(1, top)
    return m, n


KINDS: Kinds = {
    3: (from_sides, cevian),
    4: (from_sides, cevian, meeting_cevians),
    5: (meeting_cevians, inner_triangle, inner_triangle),
}
