"""`verify` on random and generated texts: bounded, symmetric, and it never raises.

One expression in three notations has one meaning.
"""

import itertools
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_rl.reward_functions.math import Verdict, statements, verify
from infinite_rl.reward_functions.math.bounds import Budget, OutOfTime, OverBudget, Unparsed
from infinite_rl.reward_functions.math.parse import parse
from infinite_rl.reward_functions.math.reward import MathRewardFunction
from infinite_rl.reward_functions.math.tokens import FUNCTIONS, SELECTIONS, tokenize
from infinite_rl.reward_functions.math.tree import show
from tests.support.labelled import Tables, assert_none

tables = Tables(__file__)
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


# -- verdicts and their reasons -------------------------------------------------------------------
@tables
def test_a_verdict_says_what_differs(first: str, second: str, status: str, reason: str) -> None:
    for pair in ((first, second), (second, first)):
        verdict = verify(*pair, timeout=30.0)
        assert (verdict.status, verdict.reason) == (status, reason)


@tables
def test_a_refusal_says_why(text: str, reason: str) -> None:
    assert verify("5", text).reason == f"gold: {reason}"


@tables
def test_what_is_in_doubt_is_unparsed(text: str) -> None:
    assert verify(text, text).status == "unparsed"


def test_a_verdict_shows_how_each_side_was_read() -> None:
    verdict = verify("2x + 1", "y")
    assert (verdict.prediction_form, verdict.gold_form) == ("(add (mul 2 x) 1)", "y")
    verdict = verify("5-", "5")
    assert (verdict.status, verdict.prediction_form, verdict.gold_form) == ("unparsed", "", "5")
    assert verdict.reason.startswith("prediction: ")
    assert verify(r"\boxed{ }", "5").reason == "prediction: an empty box"
    assert show(parse("1e5000")) == "a number of 16610 bits"


def test_the_order_of_two_sides_chooses_neither_a_cost_nor_a_failure() -> None:
    pairs = [(r"\pi^{\pi^{\pi^{x}}}", r"\ln(-1-x^2)"), ("5-", "(10)" * 600)]
    for form in ("{}, {}", r"\{{ {}\text{{ cm}}, {}\text{{ m}} \}}"):
        pairs.append((form.format("3", "8^{8888888888888888}"), form.format("i", "5")))
    found = [(verify(*pair).status, verify(*pair[::-1]).status) for pair in pairs]
    assert found[:2] == [("different",) * 2, ("unparsed",) * 2]
    assert_none(each for each in found if each[0] != each[1])


def test_forms_that_grow_when_they_are_written_out_are_bounded() -> None:
    def determinant(entry: str, rows: int) -> str:
        lines = r" \\ ".join(["&".join([entry] * rows)] * rows)
        return rf"\begin{{vmatrix}} {lines} \end{{vmatrix}}"

    signs, nested = r"\pm 1" * 30, r"\max(x, " * 20 + "1" + ")" * 20
    for text in (signs, nested, determinant("x", 9), determinant(determinant("x", 4), 4)):
        assert verify(text, text).status == "budget"


LONG = [
    *(r"\sum_{k=1}^{99999999999999999999} k", r"\sum_{k=1}^{40} " * 12 + "k"),
    r"\begin{cases} " + r"x & x > 1 \\ " * 400 + r"\end{cases}",
    *("(A) " * 900, "two " * 900, "1 h " * 900, "0." + "12" * 490 + "...", "[" * 500),
    *(r"\mathbb{R} \setminus " * 300, "x:" * 600, r"\mathrm{" + "{}" * 1_900 + "}"),
    *(r"\overline{" * 200, "30^\\circ " * 400),
]


def test_a_long_text_of_one_kind_is_no_answer() -> None:
    statuses = [(text[:40], verify(text, "3").status) for text in LONG]
    assert_none(row for row in statuses if row[1] not in ("unparsed", "budget", "different"))


def test_a_long_text_before_the_answer_is_no_trouble() -> None:
    assert verify("blah x^2 " * 11_000 + r"\boxed{3}", "3").equal


def test_twice_the_text_takes_twice_the_tokens() -> None:
    for piece in ("1+", "(", r"\frac{1}{", "x_{1}", "1, ", "3:4 to ", "1 h 1 min ", "½"):
        short, long = tokenize(piece * 50), tokenize(piece * 100)
        assert len(long) <= 2 * len(short) + 1, piece


# -- threads, stacks, budgets ---------------------------------------------------------------------
def test_many_threads_get_the_verdicts_of_one() -> None:
    pairs = [
        (rf"\sqrt{{{n}}} + \pi", rf"{n}^{{1/2}} + {k}\pi") for n in range(2, 30) for k in (1, 2)
    ]
    alone = [verify(*pair).status for pair in pairs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda pair: verify(*pair).status, pairs * 4))
    assert together == alone * 4 and set(alone) == {"equal", "different"}


def test_no_verdict_needs_the_main_thread() -> None:
    found: list[Verdict] = []
    thread = threading.Thread(target=lambda: found.append(verify(r"\frac12", "0.5")), daemon=True)
    thread.start()
    thread.join(10)
    assert found[0].equal


def test_a_deep_stack_of_the_caller_is_no_error() -> None:
    def deeper(levels: int) -> Verdict:
        return verify("(" * 30 + "x" + ")" * 30, "(x)+y") if levels == 0 else deeper(levels - 1)

    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    assert deeper(sys.getrecursionlimit() - depth - 100).status == "budget"


def test_the_deadline_is_looked_at_and_work_is_counted() -> None:
    assert verify(r"\sin^2 x + \cos^2 x", "1", timeout=0).status == "timeout"
    with pytest.raises(OutOfTime):
        Budget(0).spend()
    budget = Budget(60, work=10)
    budget.spend(10)
    with pytest.raises(OverBudget):
        budget.spend()


# -- random texts ---------------------------------------------------------------------------------
@given(ANY_TEXT, ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_no_text_raises_and_the_order_does_not_matter(first: str, second: str) -> None:
    assert verify(first, second).status == verify(second, first).status


@given(MATHEMATICS)
@settings(max_examples=150, deadline=None)
def test_what_can_be_read_equals_itself(text: str) -> None:
    verdict = verify(text, text)
    assert verdict.equal or verdict.prediction_form == "" == verdict.gold_form


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


EMPTY = ["{}", "()", "[]", "\\{\\}", "(,)", "{,}", "_{}^{}", "\\left(\\right)", "||"]


def test_a_name_of_nothing_is_unparsed_and_raises_nothing() -> None:
    for name, nothing in itertools.product([*sorted(FUNCTIONS | SELECTIONS), "frac"], EMPTY):
        for text in (name + nothing, f"\\{name}{nothing}"):
            assert not verify(text, "5").equal, text
            verify(text, text)


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


# -- one expression in three notations ------------------------------------------------------------
Spelled = tuple[str, ...]  # as LaTeX, as plain ASCII and in Unicode


def spelled(latex: str, ascii_: str, unicode: str) -> Callable[[Sequence[Spelled]], Spelled]:
    """An operation of these three forms, with `%s` for each of its parts."""
    forms = (latex, ascii_, unicode)
    return lambda parts: tuple(
        form % each for form, each in zip(forms, zip(*parts, strict=True), strict=True)
    )


UNARY = [spelled(r"\sqrt{%s}", "sqrt(%s)", "√(%s)")]
UNARY += [
    spelled(rf"\left(%s\right)^{{{n}}}", f"(%s)**({n})", f"(%s){up}")
    for n, up in zip(range(-2, 4), ("⁻²", "⁻¹", "⁰", "¹", "²", "³"), strict=True)
]
BINARY = [
    spelled(r"\left(%s + %s\right)", "(%s+%s)", "(%s + %s)"),
    spelled(r"\left(%s - %s\right)", "(%s-%s)", "(%s − %s)"),
    spelled(r"\left(%s \cdot %s\right)", "(%s*%s)", "(%s · %s)"),
    spelled(r"\dfrac{%s}{%s}", "((%s)/(%s))", "((%s) ÷ (%s))"),
]
NAMES = [("x",) * 3, ("y",) * 3, ("3.5",) * 3, (r"\pi", "pi", "π"), (r"\frac12", "(1/2)", "½")]
LEAVES = st.integers(0, 20).map(lambda value: (str(value),) * 3) | st.sampled_from(NAMES)
EXPRESSIONS: st.SearchStrategy[Spelled] = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(lambda form, *parts: form(parts), st.sampled_from(BINARY), inner, inner)
        | st.builds(lambda form, part: form([part]), st.sampled_from(UNARY), inner)
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
@settings(max_examples=150, deadline=None)
def test_three_notations_of_an_expression_are_equal(spellings: Spelled) -> None:
    first, *others = spellings
    verdict = verify(first, first)
    for other in others:
        assert verify(first, other).status == verdict.status
        assert verify(other, first).status == verdict.status
    assert verdict.equal or verdict.status in ("different", "budget")  # no value, or too much work


@given(EXPRESSIONS, st.integers(1, 9))
@settings(max_examples=80, deadline=None)
def test_no_notation_equals_an_expression_with_an_addition(spellings: Spelled, more: int) -> None:
    for text in spellings:
        assert not verify(f"{text} + {more}", spellings[0]).equal


def test_no_word_of_the_grammar_is_of_two_kinds() -> None:
    words = [word for _, *words in statements.KINDS for word in words]
    assert_none(word for word, times in Counter(words).items() if times > 1)


# -- what the question asks -----------------------------------------------------------------------
ORDER, SECONDS = "Order from least to greatest: 1/2, 2/3, 2/5.", "How many seconds are in a day?"
FACTOR = "Factor $x^4 - 16$ completely."


@pytest.mark.parametrize(
    ("question", "right", "wrong", "gold"),
    [
        (ORDER, "2/5, 1/2, 2/3", "2/3, 1/2, 2/5", "2/5, 1/2, 2/3"),
        (SECONDS, "86400 s", "86400 min", "86400"),
        ("Give the time in minutes.", "90 min", "90 hours", "90"),
        ("What is the area of the floor?", "180 m²", "180 m", "180"),
        ("Find the area. Then find the perimeter.", "12 cm", "12 square inches", "12"),
        ("Solve for x: 2x = 10.", "x = 5", "y = 5", "5"),
        ("What is the area in square meters?", "180 m²", r"180\text{ cm}^2", "180"),
        (FACTOR, "(x-2)(x^2+4)(x+2)", "x^4 - 16", "(x-2)(x+2)(x^2+4)"),
        ("Factor $6x^2-54$ completely.", "6(x+3)(x-3)", "6(x^2-9)", "6(x-3)(x+3)"),
        ("Write it in the form $y = mx + b$.", "y = 7 - 2x", "2x + y - 7 = 0", "y = -2x + 7"),
        ("How many more liters of it?", "10 L", "10 kg", "10"),
        ("Express $132_4 + 23_4$ in base $4$.", "221_4", "41", "221_4"),
        (
            "Find the activation energy in kJ/mol.",
            "53.6 kJ/mol",
            r"E \approx 53.6\text{ J/mol}",
            "53.6",
        ),
        ("What is her speed in kilometers per hour?", "54 km/h", "54 m/s", "54"),
        (r"Write $\sqrt{72}$ in simplest radical form.", r"6\sqrt2", r"3\sqrt8", r"6\sqrt2"),
        ("Rationalize it.", r"\frac12\sqrt2", r"\frac{1}{\sqrt2}", r"\frac{\sqrt2}{2}"),
        ("Write it as a mixed number.", "3 2/5", "3.4", r"3\frac{2}{5}"),
        ("Express it as a common fraction.", "3/4", "0.75", r"\frac34"),
        ("Write 3/4 as a decimal.", "0.750", "75/100", "0.75"),
        ("Write it in scientific notation.", "3e8", "300000000", r"3 \times 10^8"),
        ("Find the general solution of $y' = 2x$.", "y = x^2 + K", "y = x^2", "y = x^2 + C"),
        ("Write it in scientific notation.", "4.5e-4", r"45 \times 10^{-5}", r"4.5 \times 10^{-4}"),
        ("Write 45 as a product of primes.", r"5 \cdot 3^2", "45", r"3^2 \cdot 5"),
    ],
)
def test_an_answer_has_the_form_that_its_question_asks_for(
    question: str, right: str, wrong: str, gold: str
) -> None:
    assert verify(right, gold, question=question).equal
    assert verify(wrong, gold).equal and not verify(wrong, gold, question=question).equal


@pytest.mark.parametrize(
    ("question", "gold", "echoes", "right"),
    [
        ("What is $37*91$?", "3367", [r"37*91", r"37 \cdot 91", "91*37"], r"37 \cdot 91 = 3367"),
        ("What is 37*91?", "3367", [r"|37*91|", r"\{37*91\}", "37**1*91"], r"3.367 \cdot 10^3"),
        ("What is 37*91?", "3367", [r"\sqrt{(37*91)^2}", r"37!/36!*91"], r"\{3367\}"),
        ("Find the sum of the first five integers.", "15", [r"\sum_{k=1}^5 k"], "15"),
        ("Find the determinant.", "-2", [r"\begin{vmatrix} 1&2\\3&4 \end{vmatrix}"], "4 - 6 = -2"),
        ("Compute $(1 + i)^4$.", "-4", [r"(2i)^2"], "-4 + 0i"),
        ("Give the circumference of a circle.", r"2\pi r", [r"2\pi r + C"], r"2 \pi r"),
        ("Find f with f'(x) = 2x and f(0) = 0.", "x^2", ["x^2 + C"], "f(x) = x^2"),
        ("Compute $2^{10}$.", "1024", ["2^{10}"], "2^{10} = 1024"),
        ("Find the value of 2^10. Put it in a box.", "1024", ["2^10"], "1024"),
        ("Compute 5!.", "120", ["5!"], "5! = 120"),
        (r"Find $\int_0^1 2x\,dx$.", "1", [r"\int_0^1 2x\,dx", r"\int_0^1 2t\,dt"], "1"),
        (r"Find $\gcd(12, 18)$.", "6", [r"\gcd(12,18)", r"\gcd(18,12)"], r"\gcd(12,18) = 6"),
        ("Differentiate $x^2$.", "2x", [r"\frac{d}{dx} x^2"], "2x"),
        ("Solve $2x + 3 = 11$.", "x = 4", ["2x + 3 = 11", "2x = 8", r"\{x : 2x = 8\}"], "x = 4"),
        ("Solve $2x + 3 < 11$.", "x < 4", ["2x + 3 < 11", "2x < 8"], "4 > x"),
        ("Expand $(x+1)^2$.", "x^2+2x+1", ["(x+1)^2", "(1+x)(x+1)"], "1 + 2x + x^2"),
        ("Write it in slope-intercept form.", "y=3-4x", ["y+1=-4(x-1)", "y=-4(x-1)-1"], "y=-4x+3"),
        (r"Find the value of $\binom{9}{2}$.", "36", [r"\frac{9!}{2!\,7!}"], "36"),
        ("Write $x^2-1$ as a product.", "(x-1)(x+1)", ["x^2-1"], "(x+1)(x-1)"),
        ("Simplify $4/6$.", r"\frac{2}{3}", ["4/6", "8/12"], "2/3"),
        ("Convert $1011_2$ to base 10.", "11", ["1011_2", "13_8"], "11_{10}"),
        ("Write $3/4$ as a decimal.", "0.75", [r"3/4"], "0.750"),
    ],
)
def test_a_question_restated_is_no_answer(
    question: str, gold: str, echoes: list[str], right: str
) -> None:
    reward = MathRewardFunction("math")
    for echo in echoes:
        assert verify(echo, gold).equal, echo
        assert verify(echo, gold, question=question).status == "different", echo
        completion = f"<answer>{echo}</answer>"
        score = reward.compute_reward(completion, gold, question=question)
        assert score.status == "failed", "it is no row that cannot be judged"
    assert verify(right, gold, question=question).equal


def test_a_word_of_the_question_may_be_left_out_unless_it_tells_answers_apart() -> None:
    question = "Does the series converge absolutely, converge conditionally, or diverge?"
    golds = ["converges absolutely", "converges conditionally", "converges"]
    for one, other in itertools.permutations(golds, 2):
        assert verify(rf"\boxed{{\text{{{one}}}}}", other, question=question).status == "different"
    question = "What kind of triangle has two equal sides?"
    assert verify(r"\boxed{\text{isosceles}}", "isosceles triangle", question=question).equal


def test_a_percentage_may_be_written_without_its_sign_where_it_is_asked_for() -> None:
    for question in ("What percentage of them are girls?", "Find the percent increase."):
        for one, other in (("12", r"12\%"), (r"12\%", "12")):
            assert verify(one, other, question=question).equal and not verify(one, other).equal
        assert not verify("0.12", "12", question=question).equal


def test_digits_may_have_the_base_that_the_question_names() -> None:
    binary = (
        "Write 45 in binary.",
        "Convert 45 to base 2.",
        "Write the base-10 number 45 in base 2.",
    )
    for question in (*binary, "Write 45 in base $2$."):
        assert verify("101101_2", "101101", question=question).equal
        assert verify("101101", "101101_2", question=question).equal
    for question in ("Write 45 in octal.", "Write it in decimal.", ""):
        assert not verify("101101_2", "101101", question=question).equal
        assert not verify("101101", "101101_2", question=question).equal
    options = "What is 3 + 14? (A) 35 (B) 17"
    assert verify("(B) 17", "B", question=options).equal
    assert not verify("(A) 35", "B", question=options).equal


def test_an_option_is_its_letter_or_its_text_and_a_calculation_is_none() -> None:
    product = "What is $37*91$? (A) 3367 (B) 3357"
    latex = r"Which? $\textbf{(A)}\ \frac12\qquad\textbf{(B)}\ \frac{\pi}{4}$"
    lines = "What is the colour?\nA. red\nB. blue"
    for question, gold, right, wrong in (
        (product, "A", "3367", "3357"),
        (product, "(A) 3367", "3367", "37*91"),
        (latex, "B", r"\frac{\pi}{4}", r"\frac12"),
        (latex, r"\textbf{(B)}\ \frac{\pi}{4}", r"\frac{\pi}{4}", r"\frac{\pi}{2}"),
        (lines, "B", "blue", "red"),
        (product, "3367", r"\text{A}", r"\text{B}"),
    ):
        assert verify(right, gold, question=question).equal
        assert not verify(wrong, gold, question=question).equal
    assert not verify("5", "A", question="Of the points (A) and (B), where is A?").equal
    assert not verify("3367", "A", question="What is $37*91$?").equal


def test_any_vectors_of_a_space_are_a_basis_of_it() -> None:
    gold = r"\{(-2,1,0),(1,0,1)\}"
    for question in ("Find a basis of the plane.", "Give a basis for the null space."):
        assert verify(r"\{(1,0,1),(0,1,2)\}", gold, question=question).equal
        for wrong in ((1, 0, 1), (0, 1, 3)), ((1, 0, 1), (2, 0, 2)), ((1, 0, 1), (0, 0, 0)):
            assert not verify(rf"\{{{wrong[0]},{wrong[1]}\}}", gold, question=question).equal
        assert not verify("(1,0,1)", gold, question=question).equal
    assert not verify(r"\{(1,0,1),(0,1,2)\}", gold).equal
    column = r"\begin{pmatrix}2\\4\end{pmatrix}"
    assert verify(column, "(1,2)", question="Find an eigenvector of $A$.").equal
    for question in ("Find a unit vector.", "Find a vector parallel to it of length 5.", ""):
        assert not verify(column, "(1,2)", question=question).equal


def test_what_is_to_be_found_may_stand_before_its_value() -> None:
    for formula in ("ab", "x + y", r"\frac{x}{y}", "a^2b"):
        assert verify(f"{formula} = 512", "512", question=f"Find ${formula}$.").equal
        assert not verify(f"{formula} = 512", "512", question="Find $a - b$.").equal


def test_a_time_is_in_the_afternoon_where_the_question_says_so() -> None:
    question = "A film starts at 1:50 in the afternoon. When does it end?"
    assert verify("4:15 PM", "4:15", question=question).equal
    assert not verify("4:25 PM", "4:15", question=question).equal
    assert not verify("4:15 PM", "4:15", question="When does it end?").equal
    assert not verify("4:15 PM", "4:15 AM", question=question).equal


def test_an_angle_in_radians_is_no_calculation_that_is_left_open() -> None:
    assert verify(r"\frac{\pi}{3}", r"60^\circ", question=r"Find $\angle A$.").equal


def test_an_interval_of_confidence_may_be_its_centre_and_its_width() -> None:
    question = "Give the 95% confidence interval for the mean."
    assert verify(r"50 \pm 1.96", "(48.04, 51.96)", question=question).equal
    assert not verify(r"50 \pm 1.95", "(48.04, 51.96)", question=question).equal
    assert not verify(r"50 \pm 1.96", "(48.04, 51.96)", question="Where is it?").equal


def test_a_rounded_value_behind_an_exact_one_counts_where_the_question_asks_to_round() -> None:
    question, exact = "How long does it take? Round to two decimal places.", r"t = 10\ln 2"
    assert verify(rf"{exact} \approx 6.93 \text{{ minutes}}", "6.93", question=question).equal
    for wrong in (rf"{exact} \approx 6.94", r"t = 10\ln 3 \approx 6.93", exact):
        assert not verify(wrong, "6.93", question=question).equal
    assert not verify(rf"{exact} \approx 6.93", "6.93", question="How long does it take?").equal


def test_a_line_that_is_cut_off_while_it_is_said_again_changes_nothing() -> None:
    text = "We get \\boxed{14}.\n\nThe answer is $\\boxed{14}$.\nThe answer is $\\boxed{"
    assert verify(f"{text}14", "14").equal and verify(text, "14").equal
    assert verify(f"{text}15", "14").status == verify("So \\boxed{14", "14").status == "unparsed"


def test_the_work_that_the_gold_leaves_open_may_stay_open() -> None:
    for question in ("Find an antiderivative of $2x$.", r"Find $\int 2x\,dx$.", "Solve y' = 2x."):
        assert verify("x^2 + C", "x^2", question=question).equal
    for one, gold in ((r"12 \cdot 11", "132"), (r"\binom{10}{3}", "120"), ("50%", r"\frac12")):
        assert verify(one, gold, question="In how many ways?").equal
    series = r"\sum_{k=1}^n k^2"
    assert verify(series, r"\sum_{j=1}^n j^2", question="Write it as a sum.").equal


def test_an_answer_that_takes_long_to_compute_fails_and_is_not_unscored() -> None:
    hard = r"\int_0^1 \frac{\sin(x^3+e^x)}{\ln(1+x^2)+\cos x} dx"
    assert verify(hard, "4", question="What is 2+2?").status == "different"


def test_a_question_without_such_a_form_changes_nothing() -> None:
    for question in ("Solve for x.", "What is 5 factorial?", "How much is left?"):
        for one, gold in (("2, 1", "1, 2"), ("x^2 - 1", "(x-1)(x+1)"), ("5 cm", "5"), ("3", "4")):
            assert verify(one, gold, question=question) == verify(one, gold)
