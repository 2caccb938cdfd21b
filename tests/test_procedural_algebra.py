"""Matrices, vectors and complex numbers of the embedded tasks, computed again by others."""

from __future__ import annotations

import cmath
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator

import sympy
from test_procedural_math import pair, problems, real

# --- matrices: by sympy

MATRIX = r"\\begin{pmatrix} (.+?) \\end{pmatrix}"


def matrix(text: str) -> sympy.Matrix:
    return sympy.Matrix(
        [[sympy.Rational(x) for x in row.split(" & ")] for row in text.split(r" \\ ")]
    )


def column(text: str) -> sympy.Matrix:
    return sympy.Matrix([sympy.Rational(part) for part in text.strip("()").split(", ")])


OF_ONE: dict[str, Callable[[sympy.Matrix], object]] = {
    r"the determinant of A(?! times)\b": lambda a: a.det(),
    r"the determinant of 2A": lambda a: (2 * a).det(),
    r"the determinant of 3A": lambda a: (3 * a).det(),
    r"the determinant of A times A": lambda a: (a * a).det(),
    r"the transpose": lambda a: a.T,
    r"(?<!of )the inverse of A": lambda a: a.inv() if a.rows == 2 else None,
    r"the trace of the inverse": lambda a: a.inv().trace(),
    r"the trace of A times A": lambda a: (a * a).trace(),
    r"eigenvalues of A\b": lambda a: set(a.eigenvals()),
    r"eigenvalues of the matrix A times A": lambda a: set((a * a).eigenvals()),
    r"largest eigenvalue": lambda a: max(a.eigenvals()),
}
OF_TWO: dict[str, Callable[[sympy.Matrix, sympy.Matrix], object]] = {
    "the matrix product AB": lambda a, b: a * b,
    "the trace of the product AB": lambda a, b: (a * b).trace(),
    "the commutator": lambda a, b: a * b - b * a,
}


def read_answer(answer: str) -> object:
    if found := re.match(MATRIX, answer):
        return matrix(found[1])
    if answer.startswith("{"):
        return {sympy.Rational(part) for part in answer.strip("{}").split(", ")}
    return sympy.Rational(answer)


def test_what_is_told_of_matrices_agrees_with_sympy() -> None:
    read = dict.fromkeys((*OF_ONE, *OF_TWO, "power", "image", "v with Av"), 0)
    for name, problem in problems("matrices", 150):
        texts = re.findall(MATRIX, problem.prompt)
        if not texts or re.search("[a-z]", texts[0]):
            continue
        given = [matrix(text) for text in texts]
        table: dict[str, Callable[..., object]] = {1: OF_ONE, 2: OF_TWO}.get(len(given), {})
        for pattern, solver in table.items():
            if re.search(pattern, problem.prompt) and not re.search(
                r"\b[ktc] \\end", problem.prompt
            ):
                assert read_answer(problem.answer) == solver(*given), f"{name}: {problem}"
                read[pattern] += 1
        if found := re.search(r"the power A\^(\d+)", problem.prompt):
            assert read_answer(problem.answer) == given[0] ** int(found[1]), name
            read["power"] += 1
        if found := re.search(r"image of the vector (\(.+?\))", problem.prompt):
            assert column(problem.answer) == given[0] * column(found[1]), name
            read["image"] += 1
        if found := re.search(r"v with Av = (\(.+?\))", problem.prompt):
            assert given[0] * column(problem.answer) == column(found[1]), name
            read["v with Av"] += 1
    assert min(read.values()) > 1, read


def test_what_is_told_of_vectors_agrees_with_sympy() -> None:
    read = Counter[str]()
    for name, problem in problems("matrices", 150):
        match = re.search(r"v = (\(.+?\)) and w = (\(.+?\))", problem.prompt)
        if not match:
            continue
        v, w = column(match[1]), column(match[2])
        size = math.sqrt(v.dot(v) * w.dot(w))
        numbers = {"dot product": v.dot(w), "cosine": v.dot(w) / size, "length": w.norm()}
        if "area" in problem.prompt:
            numbers["area"] = v.cross(w).norm()
        for words, number in numbers.items():
            if f"the {words}" in problem.prompt:
                assert math.isclose(real(problem.answer), number, abs_tol=1e-9), (
                    f"{name}: {problem}"
                )
                read[words] += 1
        if "cross product" in problem.prompt:
            assert column(problem.answer) == v.cross(w), name
        if "projection" in problem.prompt:
            assert column(problem.answer) == w * v.dot(w) / w.dot(w), name
    assert min(read.values()) > 3 and len(read) == 4, read


def test_the_solution_of_a_system_satisfies_its_equations() -> None:
    checked = 0
    for name, problem in problems("matrices", 150):
        names = re.search(r"the solution \((\w), (\w), (\w)\)", problem.prompt)
        if names:
            values = dict(zip(names.groups(), pair(problem.answer), strict=True))
            equations = re.findall(r"([-+ \da-z]+) = (-?\d+)", problem.prompt)
            for left, right in equations:
                terms = re.split("satisfy |equations |and ", left)[-1].strip()
                assert eval(re.sub(r"(?<=\d)(?=[a-z])", "*", terms), dict(values)) == int(right), (
                    f"{name}: {problem}"
                )
            checked += len(equations) == 3
    assert checked > 3


# --- complex numbers: by those of Python


def number(text: str) -> complex:
    """The value of a complex number as our own texts write it."""
    text = re.sub(r"(?<=[\d)])(?=[i(])", "*", text)
    return complex(eval(text, {"i": 1j, "sqrt": math.sqrt}))


Z = r"(-?[\d/i()]+(?: [-+] [\d/i()]+)?)"  # a complex number in our own texts
OF_PAIR: dict[str, Callable[[complex, complex], complex]] = {
    "the product zw": lambda z, w: z * w,
    "the real part of zw": lambda z, w: (z * w).real,
    "the distance": lambda z, w: abs(z - w),
    "the quotient": lambda z, w: z / w,
    "the imaginary part of z/w": lambda z, w: (z / w).imag,
    "product of w and the conj": lambda z, w: z.conjugate() * w,
    "value of zw": lambda z, w: abs(z * w),
    "value of z/w": lambda z, w: abs(z / w),
}
OF_SINGLE: dict[str, Callable[[complex, int], complex]] = {
    "the absolute value of z": lambda z, _: abs(z),
    "the inverse": lambda z, _: 1 / z,
    "the square of z": lambda z, _: z * z,
    "product of z and its": lambda z, _: abs(z) ** 2,
    "image of z": lambda z, _: z * 1j,
    "the power z": lambda z, n: z**n,
    "imaginary part of z^": lambda z, n: (z**n).imag,
    "real part of z^": lambda z, n: (z**n).real,
    "argument of z in degrees": lambda z, _: math.degrees(cmath.phase(z)) % 360,
}


ONE = r"(?:number|point)(?: is)? z = ([^\se]+?(?: [-+] \S+?)?)(?: lies| is|[.,?]|$)"


def test_complex_numbers_agree_with_those_of_python() -> None:
    read = dict.fromkeys((*OF_PAIR, *OF_SINGLE), 0)
    for name, problem in problems("complex", 300):
        both = re.search(rf"z = {Z} and w = {Z}", problem.prompt)
        one = re.search(ONE, problem.prompt)
        power = re.search(r"z\^(\d)", problem.prompt)
        table: dict[str, Callable[..., complex]] = OF_PAIR if both else OF_SINGLE if one else {}
        for words, solver in table.items():
            if words in problem.prompt:
                first, second = both.groups() if both else (one[1] if one else "", "0")
                z, other = number(first), number(second) if both else int(power[1] if power else 0)
                expected = solver(z, other)
                assert cmath.isclose(number(problem.answer), expected, abs_tol=1e-9), name
                read[words] += 1
    assert min(read.values()) > 1, read


def solutions(pattern: str, *words: str) -> Iterator[tuple[re.Match[str], list[complex]]]:
    """What the pattern reads in the prompts with these words, and the numbers of the answer."""
    read = 0
    for _, problem in problems("complex", 300):
        match = re.search(pattern, problem.prompt)
        if match and all(word in problem.prompt for word in words):
            yield match, [number(part) for part in problem.answer.strip("{}").split(", ")]
            read += 1
    assert read > 3


def test_the_solutions_of_a_quadratic_equation_are_its_complex_zeros() -> None:
    for match, found in solutions(r"(\w)\^2(.*?) = 0", "set of all"):
        left = re.sub(r"(?<=\d)(?=[a-z])", "*", f"{match[1]}**2{match[2]}")
        assert all(abs(eval(left, {match[1]: z})) < 1e-9 for z in found), match
        assert len(set(found)) == 2


def test_the_roots_of_a_number_have_it_as_their_power() -> None:
    for match, found in solutions(r"z\^([346]) = (-?\d+)", "set of all"):
        n = int(match[1])
        assert all(cmath.isclose(z**n, int(match[2])) for z in found), match
        assert len(set(found)) == n
    for match, found in solutions(rf"(?:has the square|z\^2 =|leads to) {Z}", "complex numbers z"):
        assert all(cmath.isclose(z * z, number(match[1])) for z in found), match
        assert len(set(found)) == 2


def test_the_solution_of_a_complex_equation_satisfies_it() -> None:
    for match, [z] in solutions(rf"\({Z}\)z \+ \({Z}\) = {Z}", "the number z"):
        a, b, c = map(number, match.groups())
        assert a * z + b == c, match
    for match, [z] in solutions(rf"(plus|minus) (\d) times its conjugate is {Z}", "the number z"):
        sign = 1 if match[1] == "plus" else -1
        assert z + sign * int(match[2]) * z.conjugate() == number(match[3]), match


def test_a_number_in_polar_form_has_its_size_and_angle() -> None:
    pattern = r"absolute value (\d+) and the argument (\S+?)(?=[,.?]? |[.?]?$)(?:.*?z\^(\d))?"
    for match, [z] in solutions(pattern):
        n = re.search(r"z\^(\d)", match.string)
        expected = cmath.rect(int(match[1]), real(match[2])) ** int(n[1] if n else 1)
        assert cmath.isclose(z, expected, abs_tol=1e-9), match
