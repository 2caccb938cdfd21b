"""One expression in three notations has one meaning, and the parser is bounded on any text."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_rl.reward_functions.math import verify
from infinite_rl.reward_functions.math.bounds import OverBudget, Unparsed
from infinite_rl.reward_functions.math.parse import parse
from infinite_rl.reward_functions.math.tokens import tokenize


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
PIECES = [
    *r"0123456789xyeiC+-*/^_=<>(){}[]|,;:!%&'\.$ ",
    *(r"\frac", r"\sqrt", r"\text{cm}", r"\begin{cases}", r"\end{cases}", r"\\", r"\pmod", r"\{"),
    *(r"\sum_{k=1}^", r"\int", r"\lim", r"\mathbb{R}", r"\setminus", r"\cup", r"\le", r"\mid"),
    *("²", "√", "½", "...", " if ", " to ", " and ", " h ", " min ", "0x", "_{16}", "°", "¢"),
    *("twenty-", "one ", "dozen ", "March 5", ", 2020", "2:30 ", "pm", "(B) ", "base 2"),
]
MIXTURES = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


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
@given(MIXTURES, MIXTURES)
@settings(max_examples=300, deadline=None)
def test_the_order_of_two_mixtures_does_not_matter(first: str, second: str) -> None:
    assert verify(first, second).status == verify(second, first).status


@pytest.mark.slow
@given(MIXTURES)
@settings(max_examples=300, deadline=None)
def test_a_mixture_that_can_be_read_equals_itself(text: str) -> None:
    verdict = verify(text, text)
    assert verdict.equal or not verdict.gold_form or verdict.reason


@pytest.mark.parametrize(
    "piece", ["1+", "(", r"\frac{1}{", "x_{1}", "1, ", "3:4 to ", "1 h 1 min ", "½"]
)
def test_twice_the_text_takes_no_more_than_thrice_the_tokens(piece: str) -> None:
    short, long = tokenize(piece * 50), tokenize(piece * 100)
    assert len(long) <= 2 * len(short) + 1


@pytest.mark.parametrize(
    "text",
    [
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
    ],
)
def test_a_long_text_of_one_kind_is_no_answer(text: str) -> None:
    assert verify(text, "3").status in ("unparsed", "budget", "different")
