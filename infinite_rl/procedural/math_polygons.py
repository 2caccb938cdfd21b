"""Lattice polygons: shoelace and Pick, lattice points of regions, areas cut off by lines."""

from fractions import Fraction
from math import gcd, isqrt

from .draw import Draw
from .templates import Kinds, Names, listing, signed_sum, times

Point = tuple[int, int]


def twice_area(points: list[Point]) -> int:
    pairs = zip(points, points[1:] + points[:1], strict=True)
    return abs(sum(a * d - b * c for (a, b), (c, d) in pairs))


def pick(draw: Draw, level: int) -> Names:
    """A polygon between two chains over the same stretch of the x-axis."""
    reach = 4 + 3 * level
    cuts = sorted(draw.some(range(1, reach), draw.between(1, level - 1)))
    lower = [(0, 0), *((x, -draw.between(1, 9)) for x in cuts), (reach, draw.between(-3, 3))]
    upper = [(x, draw.between(5, 14)) for x in reversed(cuts)]
    dx, dy = draw.between(-6, 6), draw.between(-6, 6)
    points = [(x + dx, y + dy) for x, y in (*lower, *upper)]
    edges = list(zip(points, points[1:] + points[:1], strict=True))
    steps = [gcd(c - a, d - b) for (a, b), (c, d) in edges]
    boundary, double = sum(steps), twice_area(points)
    area, inside = Fraction(double, 2), (double - boundary) // 2 + 1
    every = inside + boundary
    crosses = signed_sum([str(a * d - b * c) for (a, b), (c, d) in edges])
    step_list, point_list, hard = " + ".join(map(str, steps)), listing(points), level > 3
    signed = sum(a * d - b * c for (a, b), (c, d) in edges)
    return locals()


def triangle_points(draw: Draw, level: int) -> Names:
    a = b = 2
    while gcd(a, b) > 1:
        a, b = draw.between(2, 9), draw.between(3, 11)
    n = draw.between(6 * b, 12 * b)
    low = draw.between(0, 1)
    rows = [(y, (n - b * y) // a + 1 - low) for y in range(low, n // b + 1)]
    rows = [(y, k) for y, k in rows if k > 0]
    row_list = " + ".join(str(k) for _, k in rows)
    last, answer = rows[-1][0], sum(k for _, k in rows)
    left = f"{times(a, 'x')} + {times(b, 'y')}"
    first_left = n - b * low
    first_count = rows[0][1]
    kind = "positive" if low else "non-negative"
    return locals()


def between_curves(draw: Draw, level: int) -> Names:
    m, n = draw.between(-3, 5), draw.between(20, 120)
    scale = draw.between(1, 2)
    # scale·x^2 <= m·x + n
    root = isqrt(m * m + 4 * scale * n)
    columns = [
        (x, m * x + n - scale * x * x + 1)
        for x in range(-root - 2, root + 3)
        if scale * x * x <= m * x + n
    ]
    first, last = columns[0][0], columns[-1][0]
    values = " + ".join(str(k) for _, k in columns)
    answer = sum(k for _, k in columns)
    before, after = first - 1, last + 1
    before_text, after_text = (f"{scale * x * x} > {m * x + n}" for x in (before, after))
    line = signed_sum([*([times(m, "x")] if m else []), str(n)])
    parabola = times(scale, "x^2")
    return locals()


def cut_triangle(draw: Draw, level: int) -> Names:
    p = q = 2
    while gcd(p, q) > 1:
        p, q = draw.between(1, 3), draw.nonzero(-3, 3)
    while True:
        points = [(draw.between(-9, 9), draw.between(-9, 9)) for _ in range(3)]
        values = sorted((p * x + q * y, (x, y)) for x, y in points)
        double = twice_area(points)
        (low, one), (middle, two), (high, three) = values
        if double > 20 and high - low > 3 and low < middle < high:
            break
    r = draw.between(low + 1, high - 1)
    while r == middle:
        r = draw.between(low + 1, high - 1)
    # the corner that lies alone on its side of the line
    alone, others = (one, (two, three)) if r < middle else (three, (one, two))
    at = p * alone[0] + q * alone[1]
    shares = [Fraction(r - at, p * x + q * y - at) for x, y in others]
    share, whole = shares[0] * shares[1], Fraction(double, 2)
    small = share * whole
    below = small if r < middle else whole - small
    above, point_list = whole - below, listing(points)
    line = f"{times(p, 'x')} {'+' if q > 0 else '-'} {times(abs(q), 'y')} = {r}"
    lower_part = draw.chance(0.5)
    left = f"{times(p, 'x')} {'+' if q > 0 else '-'} {times(abs(q), 'y')}"
    (other_one, other_two), (at_one, at_two) = others, (p * x + q * y for x, y in others)
    side = line.replace("=", "<=" if lower_part else ">=")
    answer, t, u = below if lower_part else above, shares[0], shares[1]
    complement = answer != small
    return locals()


KINDS: Kinds = {
    3: (pick, triangle_points),
    4: (pick, triangle_points, cut_triangle),
    5: (pick, between_curves, cut_triangle),
}
