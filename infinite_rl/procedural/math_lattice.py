"""Lattice paths: blocked points, lines that must not be crossed, strips, diagonal steps, turns."""

from math import comb

from .draw import Draw
from .templates import Kinds, Names, listing, signed_sum

Point = tuple[int, int]


def ways(start: Point, end: Point) -> int:
    """The paths with steps to the right and up."""
    x, y = end[0] - start[0], end[1] - start[1]
    return comb(x + y, x) if x >= 0 and y >= 0 else 0


def blocked(draw: Draw, level: int) -> Names:
    a, b = draw.between(4, 4 + level), draw.between(4, 4 + level)
    inside = [(x, y) for x in range(a + 1) for y in range(b + 1) if (x, y) not in ((0, 0), (a, b))]
    closed = sorted(draw.some(inside, level - 1))
    while not any(ways(p, q) for p in closed for q in closed if p != q):
        closed = sorted(draw.some(inside, level - 1))
    first: dict[Point, int] = {}
    lines = []
    for x, y in [*closed, (a, b)]:
        all_ways = ways((0, 0), (x, y))
        terms = [(first[p], ways(p, (x, y))) for p in first if ways(p, (x, y)) and first[p]]
        first[x, y] = all_ways - sum(f * w for f, w in terms)
        minus = "".join(f" - {f}·{w}" for f, w in terms)
        equals = f" = {first[x, y]}" if terms else ""
        binomial = f"C({x + y},{x}) = {all_ways}" if x and y else f"{all_ways}"
        plural = "s" * (all_ways > 1)
        lines.append(f"({x}, {y}): {binomial} path{plural}, {all_ways}{minus}{equals}.")
        if not terms:
            lines[-1] = f"({x}, {y}): {binomial} path{plural}, none blocked before."
    closed_list, answer = listing(closed), first[(a, b)]
    return locals()


def below_line(draw: Draw, level: int) -> Names:
    a = draw.between(5, 24)
    b, k = draw.between(3, a), draw.between(2, 6)
    while b - k < 2:
        b, k = draw.between(3, a), draw.between(2, 6)
    every, total = comb(a + b, b), a + b
    bad = comb(a + b, b - k - 1)
    answer, lead, over = every - bad, k + 1, b - k - 1
    return locals()


def strip(draw: Draw, level: int) -> Names:
    a = draw.between(6, 11)
    up, down = draw.between(2, 4), draw.between(2, 4)
    b = a + draw.between(-down, up)
    n, width = a + b, up + down + 2
    lines, answer = [], 0
    parts = []
    for j in range(-n // width - 1, n // width + 2):
        plain, mirrored = b + j * width, b - up - 1 + j * width
        one = comb(n, plain) if 0 <= plain <= n else 0
        two = comb(n, mirrored) if 0 <= mirrored <= n else 0
        if one or two:
            shown = [f"C({n},{k})" for k in (plain, mirrored)]
            lines.append(
                f"j = {j}: {shown[0] if one else 0} - {shown[1] if two else 0} = {one - two}."
            )
            parts.append(one - two)
        answer += one - two
    total_text, over, low_line, high_line = (
        signed_sum([str(k) for k in parts]),
        b - up - 1,
        down + 1,
        up + 1,
    )
    return locals()


def with_diagonals(draw: Draw, level: int) -> Names:
    a, b = draw.between(level, 4 + level), draw.between(level, 4 + level)
    c, d = draw.between(1, a - 1), draw.between(1, b - 1)

    def count(x: int, y: int) -> tuple[str, int]:
        sizes = range(min(x, y) + 1)
        values = [comb(x, i) * comb(x + y - i, x) for i in sizes]
        terms = " + ".join(f"C({x + y - i},{x})·C({x},{i})" for i in sizes)
        return f"{terms} = {' + '.join(map(str, values))} = {sum(values)}", sum(values)

    (every_text, every), (to_text, to), (rest_text, rest) = (
        count(x, y) for x, y in ((a, b), (c, d), (a - c, b - d))
    )
    right, high = a - c, b - d
    through = to * rest
    answer = every - through
    return locals()


def turning(draw: Draw, level: int) -> Names:
    a, b = draw.between(5, 14), draw.between(5, 14)
    t = draw.between(2, min(a, b) + 1)
    runs = t + 1
    long, short = (runs + 1) // 2, runs // 2
    right_first = comb(a - 1, long - 1) * comb(b - 1, short - 1)
    up_first = comb(b - 1, long - 1) * comb(a - 1, short - 1)
    a_less, b_less, long_less, short_less = a - 1, b - 1, long - 1, short - 1
    answer = right_first + up_first
    return locals()


KINDS: Kinds = {
    3: (blocked, turning, below_line),
    4: (blocked, below_line, with_diagonals),
    5: (blocked, strip, with_diagonals),
}
