"""Vectors and matrices: products, determinants, inverses, eigenvalues, systems, lengths, angles."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .draw import Draw
from .wording import (
    EXACT,
    Problem,
    Question,
    in_brackets,
    polynomial,
    posed,
    root_of,
    signed_sum,
    times,
)

Row = Sequence[Fraction | int]
Matrix = Sequence[Row]


def make(draw: Draw, level: int) -> Problem:
    """A problem of level 1 to 3; the answer is a matrix, a vector, a number or a set."""
    kinds = (two_matrices, one_matrix, vectors)
    harder = (inverse, eigenvalues, system, singular, vectors, shear)
    return draw.pick(kinds if level == 1 else (*kinds, *harder))(draw, level)


AS_MATRIX = (
    "Write it as a matrix in LaTeX, with pmatrix.",
    "Give the matrix row by row.",
    "Give all entries exactly.",
)
AS_VECTOR = (
    "Write the vector as a tuple.",
    "Answer with a tuple, such as (1, 2).",
    "A tuple is wanted.",
)
AS_SET = ("Write them as a set, such as {1, 2}.", "Use set notation.")


def written(matrix: Matrix) -> str:
    rows = r" \\ ".join(" & ".join(map(str, row)) for row in matrix)
    return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"


def random_matrix(draw: Draw, rows: int, columns: int, reach: int) -> list[list[int]]:
    return [draw.integers(columns, -reach, reach) for _ in range(rows)]


def multiplied(a: Matrix, b: Matrix) -> list[list[Fraction | int]]:
    columns = list(zip(*b, strict=True))
    return [[dot(row, column) for column in columns] for row in a]


def dot(a: Row, b: Row) -> Fraction | int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def dot_told(a: Row, b: Row) -> str:
    """`1·4 + 2·(-3) = -2`."""
    text = " + ".join(f"{in_brackets(x)}·{in_brackets(y)}" for x, y in zip(a, b, strict=True))
    return f"{text} = {dot(a, b)}"


def determinant(m: Matrix) -> Fraction | int:
    """By the first row, for a matrix of up to three rows."""
    if len(m) == 1:
        return m[0][0]
    signs = (1, -1, 1)
    return sum(signs[j] * m[0][j] * determinant(minor(m, j)) for j in range(len(m)))


def minor(m: Matrix, column: int) -> list[list[Fraction | int]]:
    return [[*row[:column], *row[column + 1 :]] for row in m[1:]]


def determinant_told(m: Matrix) -> list[str]:
    if len(m) == 2:
        (a, b), (c, d) = m
        ends = " - ".join(f"{in_brackets(x)}·{in_brackets(y)}" for x, y in ((a, d), (b, c)))
        return [f"The determinant is {ends} = {determinant(m)}."]
    steps = [
        f"Without row 1 and column {j + 1} there remains the determinant {determinant(minor(m, j))}."
        for j in range(3)
    ]
    parts = " + ".join(
        f"{in_brackets((1, -1, 1)[j] * m[0][j])}·{in_brackets(determinant(minor(m, j)))}"
        for j in range(3)
    )
    return [*steps, f"With alternating signs: {parts} = {determinant(m)}."]


# --- matrices


def two_matrices(draw: Draw, level: int) -> Problem:
    size, reach = 3 if level == 3 else 2, 3 + 2 * level
    a, b = random_matrix(draw, 2, size, reach), random_matrix(draw, size, 2, reach)
    product = multiplied(a, b)
    columns = list(zip(*b, strict=True))
    steps = [
        f"Row {i + 1} times column {j + 1}: {dot_told(a[i], columns[j])}."
        for i in range(2)
        for j in range(2)
    ]
    questions = [
        Question("the matrix product AB", written(product), steps, AS_MATRIX),
        Question("the trace of the product AB", product[0][0] + product[1][1],
                 (steps[0], steps[3], f"Their sum: {product[0][0]} + {in_brackets(product[1][1])} = {product[0][0] + product[1][1]}.")),
    ]  # fmt: skip
    if size == 2:
        p, q = draw.between(2, 4), draw.nonzero(-3, 3)
        mixed = [
            [p * x + q * y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)
        ]
        told = f"Entry by entry; top left: {p}·{in_brackets(a[0][0])} + {in_brackets(q)}·{in_brackets(b[0][0])} = {mixed[0][0]}."
        combination = signed_sum([times(p, "A"), times(q, "B")])
        swapped = multiplied(b, a)
        gap = [
            [x - y for x, y in zip(r, s, strict=True)]
            for r, s in zip(product, swapped, strict=True)
        ]
        both = (f"AB is {written(product)}.", f"BA is {written(swapped)}.")
        questions += [
            Question(f"the matrix {combination}", written(mixed), (told,), AS_MATRIX),
            Question("the commutator AB - BA", written(gap), both, AS_MATRIX),
        ]
    given = (
        f"the matrices A = {written(a)} and B = {written(b)} are given",
        f"two matrices are A = {written(a)} and B = {written(b)}",
        f"maps of the plane or of space have the matrices A = {written(a)} and B = {written(b)}",
    )
    return posed(draw, given, draw.pick(questions))


def one_matrix(draw: Draw, level: int) -> Problem:
    size, reach = 2 if level == 1 else 3, 3 + 2 * level
    m, v = random_matrix(draw, size, size, reach), draw.integers(size, -6, 6)
    image = [dot(row, v) for row in m]
    rows = [f"Row {i + 1}: {dot_told(m[i], v)}." for i in range(size)]
    value, factor = determinant(m), draw.between(2, 3)
    steps = determinant_told(m)
    scaled = f"Each of the {size} rows gives a factor {factor}: {factor}^{size}·{in_brackets(value)} = {factor**size * value}."
    vector = f"({', '.join(map(str, image))})"
    questions = (
        Question("the determinant of A", value, steps),
        Question(f"the determinant of {factor}A", factor**size * value, (*steps, scaled)),
        Question("the determinant of A times A", value**2, (*steps, f"Squared: {in_brackets(value)}^2 = {value**2}.")),
        Question(f"the image of the vector ({', '.join(map(str, v))}) under A", vector, rows, AS_VECTOR),
        Question("the transpose of A", written(list(zip(*m, strict=True))), ("Rows become columns.",), AS_MATRIX),
    )  # fmt: skip
    given = (
        f"the matrix A = {written(m)} is given",
        f"a linear map has the matrix A = {written(m)}",
        f"a table of numbers is read as the matrix A = {written(m)}",
    )
    return posed(draw, given, draw.pick(questions))


def inverse(draw: Draw, level: int) -> Problem:
    a, b, c, d = draw.integers(4, -3 - level, 3 + level)
    while a * d == b * c:
        a, b, c, d = draw.integers(4, -3 - level, 3 + level)
    m, value = [[a, b], [c, d]], a * d - b * c
    found = [[Fraction(x, value) for x in row] for row in ([d, -b], [-c, a])]
    steps = [
        *determinant_told(m),
        f"Swap the diagonal, turn the other signs: {written([[d, -b], [-c, a]])}.",
        f"Divide by {value}: {written(found)}.",
    ]
    right = draw.integers(2, -9, 9)
    solution = [dot(row, right) for row in found]
    times_right = (f"Times ({right[0]}, {right[1]}) this gives ({solution[0]}, {solution[1]}).",)
    trace = found[0][0] + found[1][1]
    sides = f"{found[0][0]} + {in_brackets(found[1][1])} = {trace}"
    questions = (
        Question("the inverse of A", written(found), (), AS_MATRIX),
        Question(f"the vector v with Av = ({right[0]}, {right[1]})", f"({solution[0]}, {solution[1]})", times_right, AS_VECTOR),
        Question("the trace of the inverse of A", trace, (f"The diagonal: {sides}.",), EXACT),
    )  # fmt: skip
    given = (
        f"the matrix A = {written(m)} is invertible",
        f"a map of the plane onto itself has the matrix A = {written(m)}",
        f"the matrix A = {written(m)} has a determinant that is not zero",
    )
    return posed(draw, given, draw.pick(questions), steps)


def eigenvalues(draw: Draw, level: int) -> Problem:
    p, q = draw.some(range(-6, 7), 2)
    s, t = draw.nonzero(-2, 2), draw.nonzero(-2, 2)
    # P·diag(p, q)·P^-1 with P = (1 s; t 1+st), whose determinant is 1
    m = multiplied([[p, s * q], [t * p, (1 + s * t) * q]], [[1 + s * t, -s], [-t, 1]])
    equation = polynomial((1, -p - q, p * q), "t")
    steps = [
        f"The trace is {in_brackets(m[0][0])} + {in_brackets(m[1][1])} = {p + q}.",
        *determinant_told(m),
        f"The eigenvalues are the zeros of {equation}, which are {p} and {q}.",
    ]
    squared = {p * p, q * q}
    questions = (
        Question("the set of all eigenvalues of A", f"{{{min(p, q)}, {max(p, q)}}}", (), AS_SET),
        Question("the largest eigenvalue of A", max(p, q), (f"The larger is {max(p, q)}.",)),
        Question("the characteristic polynomial of A, det(tI - A), in powers of t", equation),
        Question("the set of all eigenvalues of the matrix A times A", f"{{{', '.join(map(str, sorted(squared)))}}}", (f"Squared: {in_brackets(p)}^2 = {p * p} and {in_brackets(q)}^2 = {q * q}.",), AS_SET),
        Question("the trace of A times A", p * p + q * q, (f"Their squares add up: {in_brackets(p)}^2 + {in_brackets(q)}^2 = {p * p + q * q}.",)),
    )  # fmt: skip
    given = (
        f"the matrix A = {written(m)} has two different real eigenvalues",
        f"a map stretches two directions of the plane, and its matrix is A = {written(m)}",
        f"the matrix A = {written(m)} can be made diagonal",
    )
    return posed(draw, given, draw.pick(questions), steps)


def singular(draw: Draw, level: int) -> Problem:
    name = draw.pick(("k", "t", "c"))
    a, b, c = draw.nonzero(-6, 6), draw.nonzero(-6, 6), draw.nonzero(-9, 9)
    wanted = 0 if draw.chance(0.5) else draw.nonzero(-9, 9)
    # a·(name) - b·c = wanted
    value = Fraction(wanted + b * c, a)
    steps = [
        f"The determinant is {times(a, name)} - {in_brackets(b)}·{in_brackets(c)}.",
        f"It is {wanted} when {times(a, name)} = {wanted} + {in_brackets(b * c)}, so {name} = {value}.",
    ]
    doubled = (f"Twice that is 2·{in_brackets(value)} = {2 * value}.",)
    matrix = f"\\begin{{pmatrix}} {a} & {b} \\\\ {c} & {name} \\end{{pmatrix}}"
    question = draw.pick(
        (
            Question(f"the number {name}", value, (), EXACT),
            Question(f"the value of 2{name}", 2 * value, doubled, EXACT),
        )
    )
    if wanted == 0:
        given: tuple[str, ...] = (
            f"the matrix {matrix} has no inverse",
            f"the rows of {matrix} are linearly dependent",
            f"the matrix {matrix} sends some vector other than 0 to 0",
        )
    else:
        given = (
            f"the determinant of {matrix} is {wanted}",
            f"the matrix {matrix} has the determinant {wanted}",
        )
    return posed(draw, given, question, steps)


def system(draw: Draw, level: int) -> Problem:
    solution = draw.integers(3, -5, 5)
    m = random_matrix(draw, 3, 3, 1 + level)
    while determinant(m) == 0 or any(row.count(0) > 1 for row in m):
        m = random_matrix(draw, 3, 3, 1 + level)
    names = draw.pick((("x", "y", "z"), ("a", "b", "c"), ("u", "v", "w")))
    sums = [dot(row, solution) for row in m]
    equations = [
        f"{signed_sum([times(k, name) for k, name in zip(row, names, strict=True) if k])} = {value}"
        for row, value in zip(m, sums, strict=True)
    ]
    value = determinant(m)
    steps = [f"By Cramer's rule: the determinant of the coefficients is {value}."]
    for j, name in enumerate(names):
        replaced = [[*row[:j], s, *row[j + 1 :]] for row, s in zip(m, sums, strict=True)]
        top = determinant(replaced)
        steps.append(f"For {name}: {top}/{in_brackets(value)} = {solution[j]}.")
    total = sum(solution)
    listed = f"({', '.join(names)})"
    added = f"Their sum: {' + '.join(map(in_brackets, solution))} = {total}."
    questions = (
        Question(f"the solution {listed}", f"({', '.join(map(str, solution))})", (), AS_VECTOR),
        Question(f"the sum {' + '.join(names)}", total, (added,)),
        Question(f"the unknown {names[1]}", solution[1]),
    )
    told = f"{equations[0]}, {equations[1]} and {equations[2]}"
    given = (
        f"three unknowns satisfy {told}",
        f"the equations {told} hold together",
        f"three planes with the equations {told} meet in one point {listed}",
    )
    return posed(draw, given, draw.pick(questions), steps)


def shear(draw: Draw, level: int) -> Problem:
    k, n = draw.nonzero(-5, 5), draw.between(4, 10 * level)
    a, b = draw.some((-3, -2, -1, 1, 2, 3), 2)
    e = draw.between(3, 3 + level)
    turns = [[[1, 0], [0, 1]], [[0, -1], [1, 0]], [[-1, 0], [0, -1]], [[0, 1], [-1, 0]]]
    m, power, exponent, step = draw.pick(
        (
            ([[1, k], [0, 1]], [[1, k * n], [0, 1]], n, f"Each factor adds {k} in the corner: {n}·{in_brackets(k)} = {n * k}."),
            ([[a, 0], [0, b]], [[a**e, 0], [0, b**e]], e, f"On the diagonal: {in_brackets(a)}^{e} = {a**e} and {in_brackets(b)}^{e} = {b**e}."),
            (turns[1], turns[n % 4], n, f"It turns the plane by 90 degrees; {n} leaves {n % 4} on division by 4."),
        )
    )  # fmt: skip
    total = sum(map(sum, power))
    question = draw.pick(
        (
            Question(f"the power A^{exponent}", written(power), (step,), AS_MATRIX),
            Question(f"the sum of all entries of A^{exponent}", total, (step, f"The entries add up to {total}.")),
        )
    )  # fmt: skip
    given = (
        f"the matrix A = {written(m)} is multiplied by itself again and again",
        f"a map with the matrix A = {written(m)} is applied many times",
        f"powers of the matrix A = {written(m)} are formed",
    )
    return posed(draw, given, question)


# --- vectors


def vectors(draw: Draw, level: int) -> Problem:
    size = 2 if level == 1 else 3
    v, w = draw.integers(size, -7, 7), draw.integers(size, -7, 7)
    while not any(v) or not any(w):
        v, w = draw.integers(size, -7, 7), draw.integers(size, -7, 7)
    inner, square = dot(v, w), sum(x * x for x in w)
    p, q = draw.between(2, 5), draw.nonzero(-4, -1)
    mixed = [p * x + q * y for x, y in zip(v, w, strict=True)]
    lengths = sum(x * x for x in v) * square
    product_step = f"The dot product is {dot_told(v, w)}."
    sizes = f"The squared lengths are {sum(x * x for x in v)} and {square}."
    squares = f"The squares add up: {' + '.join(f'{in_brackets(y)}^2' for y in w)} = {square}."
    cosine = root_of(Fraction(1, lengths), inner) if inner else "0"
    shadow = [Fraction(inner * y, square) for y in w]
    questions = [
        Question("the dot product of v and w", inner, (product_step,)),
        Question("the length of w", root_of(square), (squares,), EXACT),
        Question(f"the vector {signed_sum([times(p, 'v'), times(q, 'w')])}", tuple_of(mixed),
                 (f"First entry: {p}·{in_brackets(v[0])} + {in_brackets(q)}·{in_brackets(w[0])} = {mixed[0]}.",), AS_VECTOR),
        Question("the cosine of the angle between v and w", cosine, (product_step, sizes), EXACT),
    ]  # fmt: skip
    if level > 1:
        cross = [v[1] * w[2] - v[2] * w[1], v[2] * w[0] - v[0] * w[2], v[0] * w[1] - v[1] * w[0]]
        area = root_of(sum(x * x for x in cross))
        across = f"The cross product is {tuple_of(cross)}."
        questions += [
            Question("the cross product of v and w (in this order)", tuple_of(cross), cross_told(v, w), AS_VECTOR),
            Question("the area of the parallelogram with the sides v and w", area, (*cross_told(v, w), across, f"Its length is {area}."), EXACT),
            Question("the orthogonal projection of v on the line along w", tuple_of(shadow), (product_step, squares, f"So it is w times {Fraction(inner, square)}."), AS_VECTOR),
        ]  # fmt: skip
    given = (
        f"the vectors v = {tuple_of(v)} and w = {tuple_of(w)} are given",
        f"two arrows from the origin end at v = {tuple_of(v)} and w = {tuple_of(w)}",
        f"two forces are v = {tuple_of(v)} and w = {tuple_of(w)}",
    )
    return posed(draw, given, draw.pick(questions))


def tuple_of(vector: Row) -> str:
    return f"({', '.join(map(str, vector))})"


def cross_told(v: Row, w: Row) -> list[str]:
    b = [in_brackets(x) for x in v], [in_brackets(x) for x in w]
    places = ((1, 2), (2, 0), (0, 1))
    return [
        f"Entry {k + 1}: {b[0][i]}·{b[1][j]} - {b[0][j]}·{b[1][i]} = {v[i] * w[j] - v[j] * w[i]}."
        for k, (i, j) in enumerate(places)
    ]
