"""The decision of the math verdict: pairs at the seams between two kinds, and the reasons given.

Which mathematics is equal is told pair by pair in `math_pairs.txt`.
"""

from __future__ import annotations

from infinite_rl.reward_functions.math import verify

CASES = r"\begin{cases} x & x > 0 \\ 0 & x \le 0 \end{cases}"
EVEN_ODD = r"\begin{cases} x^2-1 & \text{if n is even} \\ 2 & \text{if n is odd} \end{cases}"
ODD_EVEN = r"\begin{cases} 2 & \text{if n is odd} \\ (x-1)(x+1) & \text{if n is even} \end{cases}"
ROW, COLUMN = r"\begin{pmatrix} 1 & 2 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"


EQUAL = [
    ("(1, 2)", ROW),
    ("(1, 2)", COLUMN),
    ("x^2 + c", "x^2 + 2c - c"),  # a constant of integration, and a parameter
    (r"e^{ix} + e^{-ix}", r"2\cos x"),
    ("x = 1 + 1 = 2", "2"),
    (r"\text{Area} = 5", r"\text{Area of the circle} = 5"),
    (r"\{5\text{ cm}\}", r"5\text{ cm}"),
    (EVEN_ODD, ODD_EVEN),
    ("y = e^x", "2y = 2e^x"),
]
DIFFERENT = [
    ("(1, 2)", "3", "a number is no tuple"),
    ("x^2 + y < 3", "{1, 2}", "an inequality is no set"),
    ("January 5, 2020", "5", "a date is no number"),
    (CASES, r"\{1, 2\}", "a piecewise is no set"),
    (r"\{5, 6\}", r"5\text{ cm}", "a quantity is no set"),
    ("x < y", r"x \le y", "the forms differ"),
    ("(1, 3)", ROW, "member 2 differs"),
    (r"\infty", "x", "infinity and something else"),
    (r"\{\frac{1}{0}, 1\}", r"\{2, 1\}", "a member has no partner"),  # it has no value
    ("x = 1 + 1 = 2", "y = 2", "the equations differ"),
    ("e^x = 1", "e^x = 2", "the equations differ"),
    (r"\text{Area} = 5", r"\text{Perimeter} = 5", "the names differ"),
    (r"x \equiv a \pmod{4}", r"x \equiv b \pmod{4}", "the remainders differ"),
    ("January 5, 2020", "January 6, 2020", "the dates differ"),
    (CASES, "x", "the functions differ"),
    ("equilateral", "isosceles", "the texts differ"),
]
OTHER_SUBJECTS = [
    *("nothing", "nobody", "that", "whether", "which", "what", "who", "why", "how", "when"),
    *("where", "opposite", "hardly", "only", "every", "all", "some", "any", "each"),
]


def verdicts(first: str, second: str) -> list[tuple[str, str]]:
    """The status and the reason of a pair, in both orders."""
    both = (verify(*pair, timeout=30.0) for pair in ((first, second), (second, first)))
    return [(verdict.status, verdict.reason) for verdict in both]


def test_two_ways_to_say_the_same_are_equal() -> None:
    assert [pair for pair in EQUAL if verdicts(*pair) != [("equal", "")] * 2] == []


def test_a_difference_is_named_the_same_in_both_orders() -> None:
    faults = [row for row in DIFFERENT if verdicts(*row[:2]) != [("different", row[2])] * 2]
    assert faults == []


def test_a_sentence_that_says_another_thing_of_its_subject_is_no_answer() -> None:
    assert verify("the triangle is isosceles", "isosceles").equal
    sentences = [f"{word} triangle is isosceles" for word in OTHER_SUBJECTS]
    assert [text for text in sentences if verify(text, "isosceles").equal] == []
