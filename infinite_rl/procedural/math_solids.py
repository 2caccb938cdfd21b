"""Solids: tetrahedra and planes, skew lines, unit cubes met by diagonals and by tunnels."""

from fractions import Fraction
from math import gcd

from .draw import Draw
from .math_matrices import dot, products
from .templates import Kinds, Names, listing, root_of

Vector = tuple[int, ...]


def minus(a: Vector, b: Vector) -> Vector:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def cross(a: Vector, b: Vector) -> Vector:
    return tuple(a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1)))


def tetrahedron(draw: Draw, level: int) -> Names:
    while True:
        a, b, c, d = (tuple(draw.between(-6, 6) for _ in range(3)) for _ in range(4))
        u, v, w = minus(b, a), minus(c, a), minus(d, a)
        normal = cross(u, v)
        triple = dot(normal, w)
        edge = minus(d, c)
        across = cross(u, edge)
        if triple and any(across):
            break
    volume, size = abs(Fraction(triple, 6)), dot(normal, normal)
    height, magnitude = root_of(Fraction(triple**2, size)), abs(triple)
    face = root_of(Fraction(size, 4))
    across_size = dot(across, across)
    distance = root_of(Fraction(triple**2, across_size))
    dot_text, skew_text = products(normal, w), products(across, v)
    size_text, across_size_text = products(normal, normal), products(across, across)
    skew = dot(across, v)
    middle, hard = level == 4, level == 5
    return locals()


def diagonal(draw: Draw, level: int) -> Names:
    a, b, c = draw.integers(3, 3, 30)
    k = gcd(a, b, c)
    while len({a, b, c}) < 2:
        a, b, c = draw.integers(3, 3, 30)
    pairs = [gcd(a, b), gcd(b, c), gcd(a, c)]
    pair_sum, k, total = sum(pairs), gcd(a, b, c), a + b + c
    one, two, three = pairs
    answer = total - pair_sum + k
    return locals()


def painted(draw: Draw, level: int) -> Names:
    a, b, c = draw.integers(3, 3, 20)
    # faces that stay unpainted: none, or the bottom
    open_bottom = draw.chance(0.5)
    layers = c - 1 if open_bottom else c - 2
    inner_a, inner_b = a - 2, b - 2
    none = inner_a * inner_b * layers
    three = 4 if open_bottom else 8
    edges = 4 * (c - 1 if open_bottom else c - 2) + (1 if open_bottom else 2) * 2 * (
        inner_a + inner_b
    )
    every = a * b * c
    one = every - none - three - edges
    faces = "all faces except the bottom" if open_bottom else "all six faces"
    return locals()


def tunnels(draw: Draw, level: int) -> Names:
    n = draw.between(4, 4 + level)
    pairs, triple = 0, 0
    while pairs < level - 2:
        count = level - 2
        cells = [(i, j) for i in range(1, n + 1) for j in range(1, n + 1)]
        along_x, along_y, along_z = (
            sorted(draw.some(cells, draw.between(1, count))) for _ in range(3)
        )
        meeting = [
            *(
                f"x{p} and y{q} in {(q[0], p[0], p[1])}"
                for p in along_x
                for q in along_y
                if p[1] == q[1]
            ),
            *(
                f"x{p} and z{r} in {(r[0], p[0], p[1])}"
                for p in along_x
                for r in along_z
                if p[0] == r[1]
            ),
            *(
                f"y{q} and z{r} in {(q[0], r[1], q[1])}"
                for q in along_y
                for r in along_z
                if q[0] == r[0]
            ),
        ]
        pairs = len(meeting)
    crossing = [text.split(" in ")[1] for text in meeting]
    triples = sorted({cell for cell in crossing if crossing.count(cell) == 3})
    triple, meeting_list, triple_list = (
        len(triples),
        "; ".join(meeting),
        listing(triples or ["none"]),
    )
    x_list, y_list, z_list = (listing(t) for t in (along_x, along_y, along_z))
    lines = len(along_x) + len(along_y) + len(along_z)
    single, whole = n * lines, n**3
    removed = single - pairs + triple
    rest = whole - removed
    return locals()


KINDS: Kinds = {
    3: (tetrahedron, painted, diagonal),
    4: (tetrahedron, diagonal, tunnels),
    5: (tetrahedron, tunnels),
}
