"""Geometry: triangles, circles, solids and polygons, with and without coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .draw import Draw
from .wording import (
    Problem,
    Question,
    in_brackets,
    multiple,
    polynomial,
    posed,
    reduced,
    root_of,
    signed_sum,
    times,
)


def make(draw: Draw, level: int) -> Problem:
    """A geometry problem of level 1 to 3; the answer is a number, a point or an equation."""
    kinds = (right_triangle, segment, round_figure, solid, polygon)
    harder = (two_sides_and_angle, circle_equation, corners, straight_figure)
    return draw.pick(kinds if level == 1 else (*kinds, *harder))(draw, level)


SIMPLIFIED = (
    "Give an exact value.",
    "Keep square roots exact, written like sqrt(2).",
    "Simplify any square root, and do not round.",
)
WITH_PI = ("Leave pi in the answer.", "Give an exact multiple of pi.", "Do not replace pi.")
AS_POINT = ("Answer with a pair (x, y).", "Write the point as (x, y).", "A pair is wanted.")
AS_LINE = ("Write it as y = mx + b.", "Solve the equation for y.")
PLAIN = ("", "Give an exact value.", "Do not round.")
UNITS = ("centimetres", "metres", "feet", "inches")

# --- triangles

TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29), (12, 35, 37))


def right_triangle(draw: Draw, level: int) -> Problem:
    unit = draw.pick(UNITS)
    scale = draw.between(1, 2 + 2 * level)
    whole = level == 1 or draw.chance(0.4)
    legs = [side * scale for side in draw.pick(TRIPLES)[:2]]
    a, b = legs if whole else draw.some(range(2, 8 + 4 * level), 2)
    square = a * a + b * b
    c, area = root_of(square), Fraction(a * b, 2)
    around = a + b + int(c) if c.isdigit() else f"{a + b} + {c}"
    pythagoras = f"The hypotenuse squared is {a}^2 + {b}^2 = {square}, so it is {c}."
    questions = [
        Question(f"the length of the hypotenuse in {unit}", c, (pythagoras,), SIMPLIFIED),
        Question(
            f"the perimeter in {unit}",
            around,
            (pythagoras, f"All sides together: {a} + {b} + {c} = {around}."),
            SIMPLIFIED,
        ),
    ]
    if level > 1:
        height = root_of(Fraction((a * b) ** 2, square))
        half = root_of(Fraction(square, 4))
        area_step = f"The area is {a}·{b}/2 = {area}, and also half of hypotenuse times height."
        questions += [
            Question(
                f"the height on the hypotenuse in {unit}",
                height,
                (pythagoras, area_step, f"So the height is {a}·{b} over {c}, which is {height}."),
                SIMPLIFIED,
            ),
            Question(
                f"the radius in {unit} of the circle through its three corners",
                half,
                (pythagoras, f"The hypotenuse is a diameter (Thales), so the radius is {half}."),
                SIMPLIFIED,
            ),
        ]
    given = (
        f"a right triangle has legs of {a} {unit} and {b} {unit}",
        f"in triangle ABC the angle at C is 90 degrees, AC = {b} {unit} and BC = {a} {unit}",
        f"half of a rectangle that measures {a} {unit} by {b} {unit} is cut off along a diagonal, and the triangle is kept",
    )
    return posed(draw, given, draw.pick(questions))


COSINES = {60: Fraction(1, 2), 120: Fraction(-1, 2), 90: Fraction(0)}
SQUARED_SINES = {
    30: Fraction(1, 4),
    45: Fraction(1, 2),
    60: Fraction(3, 4),
    120: Fraction(3, 4),
    135: Fraction(1, 2),
    150: Fraction(1, 4),
}


def two_sides_and_angle(draw: Draw, level: int) -> Problem:
    a, b = draw.between(2, 6 * level), draw.between(2, 6 * level)
    if draw.chance(0.5):
        angle = draw.pick((60, 120))
        cosine, square = COSINES[angle], a * a + b * b - int(2 * a * b * COSINES[angle])
        side = root_of(square)
        steps = [
            f"The cosine of {angle} degrees is {cosine}.",
            f"By the law of cosines the square of the side is "
            f"{a}^2 + {b}^2 - 2·{a}·{b}·({cosine}) = {square}.",
            f"Its root is {side}.",
        ]
        question = Question("the length of the third side", side, steps, SIMPLIFIED)
    else:
        angle = draw.pick(list(SQUARED_SINES))
        sine, area = (
            root_of(SQUARED_SINES[angle]),
            root_of(SQUARED_SINES[angle], Fraction(a * b, 2)),
        )
        steps = [
            f"The sine of {angle} degrees is {sine}.",
            f"Half the product of the sides is {a}·{b}/2 = {Fraction(a * b, 2)}.",
            f"Times the sine this is {area}.",
        ]
        question = Question("the area of the triangle", area, steps, SIMPLIFIED)
    given = (
        f"two sides of a triangle are {a} and {b} long, and the angle between them has {angle} degrees",
        f"in a triangle, sides of length {a} and {b} meet at an angle of {angle}°",
        f"two straight roads of {a} km and {b} km leave a village at an angle of {angle} degrees, and a third (in km) joins their ends to a triangle",
    )
    return posed(draw, given, question)


# --- coordinates

Point = tuple[int, int]


def line_through(point: Point, dx: int, dy: int) -> str:
    """The line with the direction (dx, dy), solved for y where that is possible."""
    if dx == 0:
        return f"x = {point[0]}"
    slope = Fraction(dy, dx)
    return f"y = {polynomial((slope, point[1] - slope * point[0]), 'x')}"


def segment(draw: Draw, level: int) -> Problem:
    reach = 4 + 3 * level
    a, b, c, d = draw.integers(4, -reach, reach)
    dx, dy = (c - a) or 1, (d - b) or 2
    c, d = a + dx, b + dy
    square, middle = dx * dx + dy * dy, (Fraction(a + c, 2), Fraction(b + d, 2))
    distance = root_of(square)
    difference = f"From P to Q, x changes by {dx} and y by {dy}."
    pythagoras = f"The distance squared is {in_brackets(dx)}^2 + {in_brackets(dy)}^2 = {square}."
    halves = (
        f"({a} + {in_brackets(c)})/2 = {middle[0]} and ({b} + {in_brackets(d)})/2 = {middle[1]}."
    )
    mean, slope = f"({middle[0]}, {middle[1]})", Fraction(dy, dx)
    questions = [
        Question("the distance from P to Q", distance, (difference, pythagoras), SIMPLIFIED),
        Question("the midpoint of the segment PQ", mean, ("Take means.", halves), AS_POINT),
    ]
    line = line_through((a, b), dx, dy)
    rise = f"The slope is {dy}/{in_brackets(dx)} = {slope}." if dx != 1 else f"The slope is {dy}."
    if level > 1:
        m = -1 / slope
        bisector = f"y = {polynomial((m, middle[1] - m * middle[0]), 'x')}"
        mirror = f"({2 * c - a}, {2 * d - b})"
        questions += [
            Question("the equation of the straight line through P and Q", line, (rise,), AS_LINE),
            Question(
                "the equation of the perpendicular bisector of PQ",
                bisector,
                (rise, f"The bisector has the slope {m}.", f"It passes through {mean}.", halves),
                AS_LINE,
            ),
            Question(
                "the image of P under the reflection in the point Q",
                mirror,
                (difference, "Going on from Q by the same step leads to the image."),
                AS_POINT,
            ),
        ]
    given = (
        f"the points P({a}, {b}) and Q({c}, {d}) lie in the plane",
        f"in a coordinate system, P is at ({a}, {b}) and Q at ({c}, {d})",
        f"a segment joins P = ({a}, {b}) to Q = ({c}, {d})",
    )
    return posed(draw, given, draw.pick(questions))


def corners(draw: Draw, level: int) -> Problem:
    reach = 3 + 3 * level
    while True:
        a, b, c, d, e, f = draw.integers(6, -reach, reach)
        u, v, w, z = c - a, d - b, e - a, f - b
        cross = u * z - v * w
        if cross:
            break
    area, centre = Fraction(abs(cross), 2), (Fraction(a + c + e, 3), Fraction(b + d + f, 3))
    products = f"{in_brackets(u)}·{in_brackets(z)} - {in_brackets(v)}·{in_brackets(w)} = {cross}."
    sides = f"The vectors AB and AC are ({u}, {v}) and ({w}, {z})."
    half = f"Half of its absolute value is {area}."
    sums = f"The coordinates add up to {a + c + e} and {b + d + f}; a third of that is wanted."
    fourth = f"({a + e - c}, {b + f - d})"
    questions = (
        Question("the area of triangle ABC", area, (sides, f"Cross product: {products}", half)),
        Question("the centroid of triangle ABC", f"({centre[0]}, {centre[1]})", (sums,), AS_POINT),
        Question(
            "the point D that makes ABCD a parallelogram",
            fourth,
            ("In a parallelogram D = A + C - B.", f"That is the point {fourth}."),
            AS_POINT,
        ),
        Question(
            "the dot product of the vectors AB and AC",
            u * w + v * z,
            (
                sides,
                f"{in_brackets(u)}·{in_brackets(w)} + {in_brackets(v)}·{in_brackets(z)} = {u * w + v * z}.",
            ),
        ),
    )
    given = (
        f"the points A({a}, {b}), B({c}, {d}) and C({e}, {f}) are joined to a triangle",
        f"triangle ABC has its corners at A = ({a}, {b}), B = ({c}, {d}), C = ({e}, {f})",
        f"three posts A, B, C stand at ({a}, {b}), ({c}, {d}) and ({e}, {f}) on a map",
    )
    return posed(draw, given, draw.pick(questions))


def circle_equation(draw: Draw, level: int) -> Problem:
    h, k = draw.nonzero(-6, 6), draw.nonzero(-6, 6)
    square = draw.between(2, 20 * level)
    rest = h * h + k * k - square
    equation = signed_sum(["x^2", "y^2", times(-2 * h, "x"), times(-2 * k, "y")])
    equation = signed_sum([equation, str(rest)]) if rest else equation
    full = f"({signed_sum(['x', str(-h)])})^2 + ({signed_sum(['y', str(-k)])})^2"
    steps = [
        f"Complete the squares: {full} = {h * h} + {k * k} - {in_brackets(rest)}.",
        f"So the square of the radius is {square}.",
    ]
    radius = root_of(square)
    questions = (
        Question("the centre of the circle", f"({h}, {k})", (), AS_POINT),
        Question("the radius of the circle", radius, (f"Its root is {radius}.",), SIMPLIFIED),
        Question("the area of the circle", multiple(square, "pi"), ("Times pi.",), WITH_PI),
        Question(
            "the equation of the circle in the form (x - h)^2 + (y - k)^2 = s",
            f"{full} = {square}",
        ),
        Question(
            "the length of the circle",
            root_times_pi(square, 2),
            (f"The radius is {radius}; times 2*pi.",),
            WITH_PI,
        ),
    )
    given = (
        f"the equation {equation} = 0 describes a circle",
        f"a circle consists of the points (x, y) with {equation} = 0",
        f"the set of points with {signed_sum(['x^2', 'y^2', times(-2 * h, 'x'), times(-2 * k, 'y')])} = {-rest} is a circle",
    )
    return posed(draw, given, draw.pick(questions), steps)


def root_times_pi(square: int, factor: int) -> str:
    root = root_of(square, factor)
    return root.replace("sqrt", "pi*sqrt") if "sqrt" in root else multiple(int(root), "pi")


# --- round and straight figures; the questions are tables, one a line


def round_figure(draw: Draw, level: int) -> Problem:
    unit, r = draw.pick(UNITS), draw.between(2, 9 + 5 * level)
    angle = draw.pick((30, 40, 45, 60, 72, 80, 90, 120, 135, 144, 150, 210, 240, 300))
    part = Fraction(angle, 360)
    arc, area = 2 * r * part, r * r * part
    share = f"The sector is {angle}/360 = {part} of the disc."
    if level == 1 or draw.chance(0.5):
        questions = (
            Question(f"the area in square {unit}", multiple(area, "pi"), (share, f"{r}^2·({part}) = {area}, times pi."), WITH_PI),
            Question(f"the length of the arc in {unit}", multiple(arc, "pi"), (share, f"2·{r}·({part}) = {arc}, times pi."), WITH_PI),
            Question(
                f"the perimeter in {unit}",
                f"{2 * r} + {multiple(arc, 'pi')}",
                (share, f"The arc: 2·{r}·({part}) = {arc}, times pi.", f"Both radii: 2·{r} = {2 * r}."),
                WITH_PI,
            ),
        )  # fmt: skip
        given: Sequence[str] = (
            f"a sector of a circle has the radius {r} {unit} and the angle {angle} degrees",
            f"a slice of a round cake of radius {r} {unit} spans {angle}°",
            f"the shape between two radii of {r} {unit} and an arc of {angle} degrees is cut from paper",
        )
        return posed(draw, given, draw.pick(questions))
    inner = draw.between(1, r - 1)
    ring = r * r - inner * inner
    questions = (
        Question(f"the area between the circles in square {unit}", multiple(ring, "pi"), (f"{r}^2 - {inner}^2 = {ring}, times pi.",), WITH_PI),
        Question("the ratio of the small disc's area to the ring's area", Fraction(inner * inner, ring), (f"The ring: {r}^2 - {inner}^2 = {ring}, times pi.", f"The small disc: {inner}^2 = {inner * inner}, times pi."), PLAIN),
        Question(
            f"the length in {unit} of a chord of the large circle that touches the small one",
            root_of(ring, 2),
            (f"Half of the chord squared is {r}^2 - {inner}^2 = {ring}.",),
            SIMPLIFIED,
        ),
    )  # fmt: skip
    given = (
        f"two circles with the same centre have radii of {inner} {unit} and {r} {unit}",
        f"a round pond of radius {inner} {unit} lies in the middle of a round lawn of radius {r} {unit}",
    )
    return posed(draw, given, draw.pick(questions))


def straight_figure(draw: Draw, level: int) -> Problem:
    s, n, h = draw.between(2, 8 * level), draw.between(1, 8), draw.between(2, 12)
    p, q = 2 * draw.between(1, 9), 2 * draw.between(1, 9)
    third, hexagon = root_of(3, Fraction(s * s, 4)), root_of(3, Fraction(3 * s * s, 2))
    rhombus = root_of(p * p // 4 + q * q // 4)
    diagonals = f"Its diagonals halve each other at right angles: {p // 2}^2 + {q // 2}^2 = {p * p // 4 + q * q // 4}."
    given, question = draw.pick(
        (
            (f"an equilateral triangle has sides of length {s}", Question("the area", third, (f"Its height is {root_of(3, Fraction(s, 2))}.",), SIMPLIFIED)),
            (f"a regular hexagon has sides of length {s}", Question("the area", hexagon, (f"It consists of 6 equilateral triangles of area {third}.",), SIMPLIFIED)),
            (f"a square has a diagonal of length {s}", Question("the length of the sides", root_of(Fraction(s * s, 2)), (f"Two squared sides make {s}^2 = {s * s}.",), SIMPLIFIED)),
            (f"the diagonals of a rhombus are {p} and {q} long", Question("the length of the sides", rhombus, (diagonals,), SIMPLIFIED)),
            (f"the diagonals of a rhombus measure {p} and {q}", Question("the area", p * q // 2, (f"Half of the product: {p}·{q}/2 = {p * q // 2}.",))),
            (f"the parallel sides of a trapezoid measure {s} and {s + n}, at a distance of {h}", Question("the area", Fraction((2 * s + n) * h, 2), (f"The mean width times the height: ({s} + {s + n})/2·{h} = {Fraction((2 * s + n) * h, 2)}.",))),
        )
    )  # fmt: skip
    return posed(draw, given, question)


def polygon(draw: Draw, level: int) -> Problem:
    n = draw.between(5, 12 + 8 * level)
    total, diagonals = 180 * (n - 2), n * (n - 3) // 2
    triangles = f"It falls into {n} - 2 = {n - 2} triangles, so the angles add up to {n - 2}·180 = {total} degrees."
    count = f"From each of {n} corners go {n - 3} diagonals, each counted twice: {n}·{n - 3}/2 = {diagonals}."
    interior = Fraction(total, n)
    each = f"Each of them has {reduced(total, n)} degrees."
    questions = (
        Question("the sum of the interior angles in degrees", total, (triangles,)),
        Question("the size of one interior angle in degrees", interior, (triangles, each), PLAIN),
        Question("the number of diagonals", diagonals, (count,)),
        Question("the number of segments (sides and diagonals) between the corners", diagonals + n, (count, f"With the sides: {diagonals} + {n} = {diagonals + n}.")),
    )  # fmt: skip
    if level > 1 and draw.chance(0.5):
        outer = Fraction(360, n)
        given: tuple[str, ...] = (
            f"each exterior angle of a regular polygon has {outer} degrees",
            f"a regular polygon turns by {outer} degrees at each corner",
            f"the interior angles of a regular polygon have {interior} degrees each",
        )
        turn = f"The exterior angles of {outer} degrees add up to 360, so there are {n} corners."
        sides = Question("the number of sides", n)
        question = draw.pick((sides, questions[0], questions[2], questions[3]))
        return posed(draw, given, question, [turn])
    given = (
        f"a regular polygon has {n} sides",
        f"a convex polygon with equal sides and equal angles has {n} corners",
        f"the outline of a coin is a regular polygon with {n} corners",
    )
    return posed(draw, given, draw.pick(questions))


# --- solids


def solid(draw: Draw, level: int) -> Problem:
    unit = draw.pick(UNITS)
    r, h = draw.between(2, 6 + 4 * level), draw.between(2, 8 + 4 * level)
    kinds = (cylinder, ball, box) if level == 1 else (cylinder, ball, box, cone, pyramid)
    given, questions = draw.pick(kinds)(draw, r, h, unit)
    return posed(draw, given, draw.pick(questions))


Figure = tuple[Sequence[str], Sequence[Question]]


def cylinder(draw: Draw, r: int, h: int, unit: str) -> Figure:
    volume, side, whole = r * r * h, 2 * r * h, 2 * r * (r + h)
    base = f"The base is {r}^2 = {r * r}, times pi."
    mantle = f"The side is 2·{r}·{h} = {side}, times pi."
    ends = f"With both ends: {side} + 2·{r * r} = {whole}, times pi."
    return (
        (
            f"a cylinder has the radius {r} {unit} and the height {h} {unit}",
            f"a tin is {h} {unit} high and measures {2 * r} {unit} across",
        ),
        (
            Question(f"the volume in cubic {unit}", multiple(volume, "pi"), (base, f"{r * r}·{h} = {volume}."), WITH_PI),
            Question(f"the whole surface, ends included, in square {unit}", multiple(whole, "pi"), (base, mantle, ends), WITH_PI),
            Question(f"the area of the curved side in square {unit}", multiple(side, "pi"), (mantle,), WITH_PI),
        ),
    )  # fmt: skip


def ball(draw: Draw, r: int, h: int, unit: str) -> Figure:
    volume, surface = Fraction(4 * r**3, 3), 4 * r * r
    cube = f"The volume is (4/3)·{r}^3 = {volume}, times pi."
    skin = f"The surface is 4·{r}^2 = {surface}, times pi."
    half = f"Half the surface and a disc: 2·{r}^2 + {r}^2 = {3 * r * r}, times pi."
    return (
        (
            f"a sphere has the radius {r} {unit}",
            f"a solid ball measures {2 * r} {unit} across",
        ),
        (
            Question(f"the volume in cubic {unit}", multiple(volume, "pi"), (cube,), WITH_PI),
            Question(f"the surface area in square {unit}", multiple(surface, "pi"), (skin,), WITH_PI),
            Question(f"the whole surface, flat part included, of half of the ball in square {unit}", multiple(3 * r * r, "pi"), (half,), WITH_PI),
        ),
    )  # fmt: skip


def box(draw: Draw, r: int, h: int, unit: str) -> Figure:
    w = draw.between(2, 9)
    square, surface = r * r + h * h + w * w, 2 * (r * h + h * w + w * r)
    faces = f"The faces: 2·({r}·{h} + {h}·{w} + {w}·{r}) = {surface}."
    corner = f"The square of the diagonal is {r}^2 + {h}^2 + {w}^2 = {square}."
    return (
        (
            f"a rectangular box measures {r} {unit} by {h} {unit} by {w} {unit}",
            f"a brick has edges of {r}, {h} and {w} {unit}",
        ),
        (
            Question(f"the length of the space diagonal in {unit}", root_of(square), (corner,), SIMPLIFIED),
            Question(f"the surface area in square {unit}", surface, (faces,)),
            Question("the ratio of the volume to the surface, both measured as above", Fraction(r * h * w, surface), (faces, f"The volume: {r}·{h}·{w} = {r * h * w}."), PLAIN),
        ),
    )  # fmt: skip


def cone(draw: Draw, r: int, h: int, unit: str) -> Figure:
    volume, slant = Fraction(r * r * h, 3), r * r + h * h
    edge = f"The slant height squared is {r}^2 + {h}^2 = {slant}, so it is {root_of(slant)}."
    third = f"A third of base times height: {r}^2·{h}/3 = {volume}, times pi."
    mantle = root_times_pi(slant, r)
    return (
        (
            f"a cone has a base of radius {r} {unit} and the height {h} {unit}",
            f"a paper hat in the form of an upright cone is {h} {unit} high and {2 * r} {unit} wide",
        ),
        (
            Question(f"the volume in cubic {unit}", multiple(volume, "pi"), (third,), WITH_PI),
            Question(f"the slant height in {unit}", root_of(slant), (edge,), SIMPLIFIED),
            Question(f"the area of the curved side in square {unit}", mantle, (edge, f"Times {r} and pi."), WITH_PI),
        ),
    )  # fmt: skip


def pyramid(draw: Draw, r: int, h: int, unit: str) -> Figure:
    base, slant = 2 * r, r * r + h * h
    face = f"The height of a side face squared is {r}^2 + {h}^2 = {slant}."
    edge = f"The square of such an edge is {r}^2 + {r}^2 + {h}^2 = {slant + r * r}."
    volume = Fraction(base * base * h, 3)
    third = f"A third of base times height: {base}^2·{h}/3 = {volume}."
    return (
        (
            f"an upright pyramid of height {h} {unit} has a square base with sides of {base} {unit}",
            f"a tent is a pyramid, {h} {unit} high, on a square of {base} {unit} by {base} {unit}, its top above the middle",
        ),
        (
            Question(f"the volume in cubic {unit}", volume, (third,), PLAIN),
            Question(f"the height in {unit} of a side face", root_of(slant), (face,), SIMPLIFIED),
            Question(f"the length in {unit} of an edge from base to top", root_of(slant + r * r), (edge,), SIMPLIFIED),
        ),
    )  # fmt: skip
