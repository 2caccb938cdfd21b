"""`verify` on random and generated texts: bounded, symmetric, and it never raises.

One expression in three notations has one meaning.
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_rl.reward_functions.math import Verdict, verify
from infinite_rl.reward_functions.math.bounds import Budget, OutOfTime, OverBudget, Unparsed
from infinite_rl.reward_functions.math.parse import parse
from infinite_rl.reward_functions.math.tokens import tokenize
from infinite_rl.reward_functions.math.tree import show
from tests.support.labelled import assert_none

SIGNS = [*r"0123456789xyeiC+-*/^_=<>(){}[]|,;!%&'\.$ "]
FORMULA_PIECES = [*SIGNS, r"\frac", r"\sqrt", r"\text{cm}", "²", "√"]
MATHEMATICS = st.lists(st.sampled_from(FORMULA_PIECES)).map("".join)
PIECES = [
    *SIGNS,
    *(r"\frac", r"\sqrt", r"\text{cm}", r"\begin{cases}", r"\end{cases}", r"\\", r"\pmod", r"\{"),
    *(r"\sum_{k=1}^", r"\int", r"\lim", r"\mathbb{R}", r"\setminus", r"\cup", r"\le", r"\mid"),
    *("²", "√", "½", "...", " if ", " to ", " and ", " h ", " min ", "0x", "_{16}", "°", "¢"),
    *("twenty-", "one ", "dozen ", "March 5", ", 2020", "2:30 ", "pm", "(B) ", "base 2"),
]
MIXTURES = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
ANY_TEXT = st.text() | MATHEMATICS | MIXTURES


def test_a_long_text_before_the_answer_is_no_trouble() -> None:
    assert verify("blah x^2 " * 11_000 + r"\boxed{3}", "3").equal


@given(ANY_TEXT, ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_no_text_raises_and_the_order_does_not_matter(first: str, second: str) -> None:
    assert verify(first, second).status == verify(second, first).status


@given(MATHEMATICS)
@settings(max_examples=150, deadline=None)
def test_what_can_be_read_equals_itself(text: str) -> None:
    verdict = verify(text, text)
    assert verdict.equal or verdict.prediction_form == "" == verdict.gold_form


@given(st.fractions(), st.fractions())
@settings(max_examples=100, deadline=None)
def test_fractions_are_equal_exactly_when_python_says_so(one: Fraction, other: Fraction) -> None:
    latex = rf"\frac{{{one.numerator}}}{{{one.denominator}}}"
    assert verify(latex, str(one)).equal
    assert verify(latex, str(other)).equal == (one == other)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=6), st.integers(-5, 5))
@settings(max_examples=60, deadline=None)
def test_a_polynomial_equals_its_expansion_and_not_its_neighbour(roots: list[int], a: int) -> None:
    expanded = [1]
    for root in roots:
        shifted, scaled = [*expanded, 0], [0, *(-root * factor for factor in expanded)]
        expanded = [left + right for left, right in zip(shifted, scaled, strict=True)]
    product = "".join(f"(x - {root})" if root >= 0 else f"(x + {-root})" for root in roots)
    degree = len(roots)
    total = " + ".join(f"({factor}) x^{{{degree - i}}}" for i, factor in enumerate(expanded))
    assert verify(product, total).equal
    assert verify(f"{product} + {a}", total).equal == (a == 0)


def test_many_threads_get_the_verdicts_of_one() -> None:
    pairs = [
        (rf"\sqrt{{{n}}} + \pi", rf"{n}^{{1/2}} + {k}\pi") for n in range(2, 30) for k in (1, 2)
    ]
    alone = [verify(*pair).status for pair in pairs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda pair: verify(*pair).status, pairs * 4))
    assert together == alone * 4 and set(alone) == {"equal", "different"}


def test_the_order_of_two_sides_does_not_choose_between_a_cost_and_a_gap() -> None:
    costly, nowhere = r"\pi^{\pi^{\pi^{x}}}", r"\ln(-1-x^2)"
    assert verify(costly, nowhere).status == verify(nowhere, costly).status == "different"


def test_a_costly_member_of_a_list_costs_the_same_in_both_orders() -> None:
    for form in ("{}, {}", r"\{{ {}\text{{ cm}}, {}\text{{ m}} \}}"):
        costly, plain = form.format("3", "8^{8888888888888888}"), form.format("i", "5")
        assert verify(costly, plain).status == verify(plain, costly).status


def test_a_deep_stack_of_the_caller_is_no_error() -> None:
    def deeper(levels: int) -> Verdict:
        return verify("(" * 30 + "x" + ")" * 30, "(x)+y") if levels == 0 else deeper(levels - 1)

    found: list[Verdict] = []
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    found.append(deeper(sys.getrecursionlimit() - depth - 100))
    assert found[0].status == "budget"


def test_the_deadline_is_looked_at() -> None:
    assert verify(r"\sin^2 x + \cos^2 x", "1", timeout=0).status == "timeout"
    with pytest.raises(OutOfTime):
        Budget(0).spend()


def test_work_is_counted() -> None:
    budget = Budget(60, work=10)
    budget.spend(10)
    with pytest.raises(OverBudget):
        budget.spend()


def test_a_verdict_shows_how_each_side_was_read() -> None:
    verdict = verify("2x + 1", "y")
    assert (verdict.prediction_form, verdict.gold_form) == ("(add (mul 2 x) 1)", "y")


def test_the_form_of_a_side_that_cannot_be_read_is_empty() -> None:
    verdict = verify("5-", "5")
    assert (verdict.status, verdict.prediction_form, verdict.gold_form) == ("unparsed", "", "5")
    assert verdict.reason.startswith("prediction: ")


def test_of_two_failures_the_order_of_the_sides_chooses_neither() -> None:
    assert verify("5-", "(10)" * 600).status == verify("(10)" * 600, "5-").status == "unparsed"


def test_an_empty_box_is_named_as_such() -> None:
    assert verify(r"\boxed{ }", "5").reason == "prediction: an empty box"


def test_a_huge_number_can_be_shown() -> None:
    assert show(parse("1e5000")) == "a number of 16610 bits"


def test_no_verdict_needs_the_main_thread() -> None:
    found: list[Verdict] = []
    thread = threading.Thread(target=lambda: found.append(verify(r"\frac12", "0.5")), daemon=True)
    thread.start()
    thread.join(10)
    assert found[0].equal


REFUSED = [
    (r"[1,2] \cup [3,4] \cap [5,6]", "unions and intersections without brackets"),
    ("(1,2,3]", "brackets that do not match"),
    ("(1]", "brackets that do not match"),
    (r"\frac.5 2", "an argument without braces"),
    (r"\int_0_1 x \, dx", "an integral with two upper or two lower ends"),
    (r"\int_-1^2 x \, dx", "an end without braces"),
    (r"\overline{x + 3}", "a bar over something without i"),
    (r"\sqrt 12", "a root of digits without braces"),
    (r"\begin{array}{cc 1", "an array without its columns"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 \end{pmatrix}", "a matrix with rows of different lengths"),
    (r"\begin{pmatrix} 1 \end{bmatrix}", "an environment 'pmatrix' that ends as another"),
    (r"\begin{cases} x & y > 1 \\ x & z > 2 \end{cases}", "cases on several variables"),
    (
        r"\begin{cases} x & y > 1 \\ (1, 2) & y < 2 \end{cases}",
        "a tuple where a number should stand",
    ),
    (r"x \equiv 3", "a congruence without its modulus"),
    ("(x, y) = (1, 2, 3)", "an equation between tuples"),
    ("1 < 2 < x < 5", "a chain of relations"),
    ("5 apples^{12}", "the power of a unit"),
    ("x_{1", "a subscript"),
    ("1B_{11}", "a digit beyond the base 11"),
    (r"\left. x", "a bracket without a partner"),
    ("x < -2, y = |x|, z > 2 or", "an operand is missing"),
    ("x > 1 and y > 2", "conditions on several variables"),
]


def test_a_refusal_says_why() -> None:
    reasons = [(text, reason, verify("5", text).reason) for text, reason in REFUSED]
    assert_none(row for row in reasons if row[2] != f"gold: {row[1]}")


IN_DOUBT = [
    "30'",  # of arc, or feet
    r"\mathbf{a}\times\mathbf{b}",  # vectors do not commute
    r"(\vec a \cdot \vec b)\vec c",
    r"\frac{\vec a}{\vec b}",
    r"(\vec a + \vec b)^2",
    r"\vec{a + b}",
    r"\max f(x)",
    r"\max_{x} (2, 3)",
    r"\max(2 + i, 3)",
    r"\gcd(n, 6)",
    r"\gcd(1.5, 3)",
    r"\begin{vmatrix} 1 & 2 & 3 \\ 4 & 5 & 6 \end{vmatrix}",
    r"\begin{Vmatrix} 1 & 2 \\ 3 & 4 \end{Vmatrix}",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}",
    r"\det(5)",
    r"\mathbb{R}^+_0",
    r"\mathbb{R}_{>2}",
    r"[\pm 1, 3]",
    "{}_2C_5",
    "5C2 in hexadecimal",
]


def test_what_is_in_doubt_is_unparsed() -> None:
    assert [text for text in IN_DOUBT if verify(text, text).status != "unparsed"] == []


def determinant(entry: str, rows: int) -> str:
    lines = r" \\ ".join(["&".join([entry] * rows)] * rows)
    return rf"\begin{{vmatrix}} {lines} \end{{vmatrix}}"


def test_forms_that_grow_when_they_are_written_out_are_bounded() -> None:
    signs, nested = r"\pm 1" * 30, r"\max(x, " * 20 + "1" + ")" * 20
    for text in (signs, nested, determinant("x", 9), determinant(determinant("x", 4), 4)):
        assert verify(text, text).status == "budget"


# -- one expression in three notations -------------------------------------------------------------


@dataclass(frozen=True)
class Spelled:
    """One expression as LaTeX, as plain ASCII and in Unicode."""

    latex: str
    ascii: str
    unicode: str

    def spellings(self) -> tuple[str, str, str]:
        return self.latex, self.ascii, self.unicode


def leaf(text: str, latex: str = "", unicode: str = "") -> Spelled:
    return Spelled(latex or text, text, unicode or text)


def binary(sign: str, latex: str, unicode: str, one: Spelled, other: Spelled) -> Spelled:
    return Spelled(
        rf"\left({one.latex} {latex} {other.latex}\right)",
        f"({one.ascii}{sign}{other.ascii})",
        f"({one.unicode} {unicode} {other.unicode})",
    )


def power(one: Spelled, exponent: int) -> Spelled:
    up = str(exponent).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))
    return Spelled(
        rf"\left({one.latex}\right)^{{{exponent}}}",
        f"({one.ascii})**({exponent})",
        f"({one.unicode}){up}",
    )


def fraction(one: Spelled, other: Spelled) -> Spelled:
    return Spelled(
        rf"\dfrac{{{one.latex}}}{{{other.latex}}}",
        f"(({one.ascii})/({other.ascii}))",
        f"(({one.unicode}) ÷ ({other.unicode}))",
    )


def root(one: Spelled) -> Spelled:
    return Spelled(rf"\sqrt{{{one.latex}}}", f"sqrt({one.ascii})", f"√({one.unicode})")


LEAVES = st.one_of(
    st.integers(0, 20).map(lambda value: leaf(str(value))),
    st.sampled_from([leaf("x"), leaf("y"), leaf("pi", r"\pi", "π"), leaf("3.5"), leaf("1/2")]).map(
        lambda found: leaf("(1/2)", r"\frac12", "½") if found.ascii == "1/2" else found
    ),
)


def larger(children: st.SearchStrategy[Spelled]) -> st.SearchStrategy[Spelled]:
    pairs = st.tuples(children, children)
    return st.one_of(
        pairs.map(lambda two: binary("+", "+", "+", *two)),
        pairs.map(lambda two: binary("-", "-", "−", *two)),
        pairs.map(lambda two: binary("*", r"\cdot", "·", *two)),
        pairs.map(lambda two: fraction(*two)),
        st.tuples(children, st.integers(-2, 3)).map(lambda two: power(*two)),
        children.map(root),
    )


EXPRESSIONS = st.recursive(LEAVES, larger, max_leaves=8)


@given(EXPRESSIONS)
@settings(max_examples=150, deadline=None)
def test_three_notations_of_an_expression_are_equal(spelled: Spelled) -> None:
    first, *others = spelled.spellings()
    verdict = verify(first, first)
    for other in others:
        assert verify(first, other).status == verdict.status
        assert verify(other, first).status == verdict.status
    assert verdict.equal or verdict.status in ("different", "budget")  # no value, or too much work


@given(EXPRESSIONS, st.integers(1, 9))
@settings(max_examples=80, deadline=None)
def test_no_notation_equals_an_expression_with_something_added(spelled: Spelled, more: int) -> None:
    for text in spelled.spellings():
        assert not verify(f"{text} + {more}", spelled.latex).equal


@given(st.text() | MIXTURES)
@settings(max_examples=400, deadline=None)
def test_the_parser_raises_nothing_but_its_two_faults(text: str) -> None:
    try:
        parse(text)
    except (Unparsed, OverBudget) as fault:
        assert str(fault)


@pytest.mark.slow
@given(MIXTURES)
@settings(max_examples=300, deadline=None)
def test_a_mixture_that_can_be_read_equals_itself(text: str) -> None:
    verdict = verify(text, text)
    assert verdict.equal or not verdict.gold_form or verdict.reason


def test_twice_the_text_takes_twice_the_tokens() -> None:
    for piece in ("1+", "(", r"\frac{1}{", "x_{1}", "1, ", "3:4 to ", "1 h 1 min ", "½"):
        short, long = tokenize(piece * 50), tokenize(piece * 100)
        assert len(long) <= 2 * len(short) + 1, piece


LONG = [
    r"\sum_{k=1}^{99999999999999999999} k",
    r"\sum_{k=1}^{40} " * 12 + "k",
    r"\begin{cases} " + r"x & x > 1 \\ " * 400 + r"\end{cases}",
    "(A) " * 900,
    "two " * 900,
    "1 h " * 900,
    "0." + "12" * 490 + "...",
    "[" * 500,
    r"\mathbb{R} \setminus " * 300,
    "x:" * 600,
    r"\mathrm{" + "{}" * 1_900 + "}",
    r"\overline{" * 200,
    "30^\\circ " * 400,
]


def test_a_long_text_of_one_kind_is_no_answer() -> None:
    statuses = [(text[:40], verify(text, "3").status) for text in LONG]
    assert_none(row for row in statuses if row[1] not in ("unparsed", "budget", "different"))
