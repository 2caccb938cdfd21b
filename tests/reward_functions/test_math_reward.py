"""The math reward: format by the tags, correctness by meaning, and whose fault a failure is."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

from infinite_rl.reward_functions.math import MathRewardFunction, verify
from infinite_rl.reward_functions.math.bounds import Unparsed
from infinite_rl.reward_functions.math.extract import Convention, answer_text
from infinite_rl.types import RewardFunctionScore
from tests.support.labelled import assert_none

REWARD = MathRewardFunction()
FULL, WRONG, NONE = (1.0, 1.0, "passed"), (1.0, 0.0, "failed"), (0.0, 0.0, "failed")


def score(output: str, expected: Any, **options: Any) -> RewardFunctionScore:
    return REWARD.compute_reward(output, expected, **options)


def marks(output: str, expected: Any, **options: Any) -> tuple[float, float, str]:
    result = score(output, expected, **options)
    return result.format_score, result.correctness_score, result.status


COMPLETIONS: list[tuple[str, str, tuple[float, float, str]]] = [
    (r"So <answer>\frac{1}{2}</answer>", "0.5", FULL),
    # Without a tag the last box is judged, and nothing else; the format is zero.
    (r"\boxed{3}, no, \boxed{4}", "4", (0.0, 1.0, "passed")),
    (r"\boxed{4}, no, \boxed{3}", "4", NONE),
    (r"\framebox{4}", "4", (0.0, 1.0, "passed")),
    ("The answer is 4", "4", NONE),
    ("", "4", NONE),
    (r"<answer>It is \boxed{4}.</answer>", "4", FULL),
    # Several tags that agree lose format only.
    ("<answer>0.5</answer> <answer>1/2</answer>", "0.5", (0.4, 1.0, "passed")),
    ("<answer>3</answer> <answer>4</answer>", "4", (0.4, 0.0, "failed")),
    ("<answer>4</answer> <answer>3</answer>", "4", (0.4, 0.0, "failed")),
    ("<answer>4</answer>" * 50, "4", (0.4, 0.0, "failed")),  # a list of guesses
    ("<answer>4", "4", (0.4, 1.0, "passed")),
    # A tag in the thinking does not count.
    ("<think>\n<answer>3</answer>\n</think>\n<answer>4</answer>", "4", FULL),
    ("<think>\n<answer>4</answer>\n</think>\nSorry.", "4", NONE),
    (r"<answer>\{2, 1\}</answer>", "{1, 2}", FULL),  # a set is no JSON
    ("<answer>15</answer>", "15 cm", FULL),
    ("<answer>2000 m</answer>", "2 km", FULL),
    ("<answer>15 m</answer>", "15 cm", WRONG),
    (r"<answer>\frac{x^3}{3} + C</answer>", "x^3/3", FULL),
    (r"<answer>x^3/3</answer>", r"\frac{x^3}{3} + C", FULL),
    *(  # a prediction that cannot be read has failed
        (f"<answer>{hostile}</answer>", "5", WRONG)
        for hostile in ("5-", "9^{9^{9^9}}", "__import__('os').getcwd()", "\0", "")
    ),
    *(
        (f"<answer>{spelling}</answer>", "10", FULL)
        for spelling in ("10 hours", "10 apples", "$10", r"\$10", r"10\text{ hours}", r"\text{10}")
    ),
    *((f"<answer>{spelling}</answer>", "10", FULL) for spelling in ("10.0", "x = 10")),
]
SPELLINGS = [(r"\frac{\sqrt{2}}{2}", "sqrt(2)/2"), ("(x+1)^2", "x**2 + 2*x + 1"), (r"2\pi", "2*pi")]
DELIMITED = ["$10$", "$$10$$", r"\(10\)", r"\[10\]", r"$\boxed{10}$"]


def test_each_completion_gets_its_marks() -> None:
    assert_none(row for row in COMPLETIONS if marks(*row[:2]) != row[2])
    nothing: Any = None
    assert marks(nothing, "4") == NONE


def test_latex_plain_text_and_delimiters_are_one() -> None:
    for latex, plain in SPELLINGS:
        assert marks(f"<answer>{latex}</answer>", plain) == FULL
        assert marks(f"<answer>{plain}</answer>", f"${latex}$") == FULL
        assert marks(f"<answer>{plain} + 1</answer>", latex) == WRONG
    for spelling in DELIMITED:
        assert marks(f"<answer>{spelling}</answer>", "10") == FULL
        assert marks("<answer>10</answer>", spelling) == FULL


def test_a_wrong_answer_says_what_differs_and_how_it_was_read() -> None:
    result = score("<answer>x^2</answer>", "2x")
    assert (result.format_score, result.correctness_score, result.status) == WRONG
    assert result.error_msg == "different: the polynomials differ"
    details = score("<answer>5</answer>", "4").details
    assert details["verdict"] == "different" and details["prediction_form"] == "5"


def test_the_tag_can_be_named() -> None:
    assert marks("<final>4</final>", "4", answer_tag="final") == FULL
    assert marks("<answer>4</answer>", "4", answer_tag="final") == NONE


REFERENCES: list[Any] = [
    *("4", 4, 4.0, "<answer>4</answer>", r"\boxed{4}", '{"answer": 4}', {"value": "4"}),
    *({"result": 4.0}, '{"solution": "4.0"}', r"Hence \boxed{4}.", {"prose": "no", "answer": 4}),
]
UNREADABLE: list[Any] = ["5-", "", "foo 7 bar 9", math.nan, {"x": 1}, None, ["4"]]


def test_the_reference_takes_many_shapes() -> None:
    assert_none(each for each in REFERENCES if marks("<answer>4</answer>", each) != FULL)
    assert_none(each for each in REFERENCES if marks("<answer>5</answer>", each) != WRONG)


def test_a_reference_that_cannot_be_read_is_unscored() -> None:
    scores = [score("<answer>4</answer>", each) for each in UNREADABLE]
    assert {(each.status, each.correctness_score) for each in scores} == {("unscored", 0.0)}
    assert all(each.error_msg.startswith("cannot judge: ") for each in scores)
    # It proves nothing if the answer repeats it.
    assert score("<answer>foo 7 bar 9</answer>", "foo 7 bar 9").status == "unscored"


def test_a_timeout_is_not_the_fault_of_the_model() -> None:
    slow = MathRewardFunction(timeout=1e-9)
    assert slow.compute_reward(r"<answer>\sqrt{2}</answer>", "1").status == "unscored"


RESULTS: list[tuple[Any, float, str]] = [
    *((True, 1.0, "passed"), (False, 0.0, "failed"), (1, 1.0, "passed"), (0.25, 0.25, "failed")),
    *((result, 0.0, "unscored") for result in (7, -1, "yes", None, math.nan)),
]


def test_a_callable_is_given_the_content_and_scores_it() -> None:
    for result, correctness, status in RESULTS:
        contents: list[str] = []

        def judge(content: str, result: Any = result, contents: list[str] = contents) -> Any:
            contents.append(content)
            return result

        assert marks("so <answer> 41 </answer>", judge) == (1.0, correctness, status), result
        assert contents == ["41"]


def test_a_callable_that_raises_is_unscored_with_its_reason() -> None:
    def judge(content: str) -> bool:
        raise KeyError(content)

    result = score("<answer>41</answer>", judge)
    assert result.status == "unscored"
    assert result.error_msg == "cannot judge: the predicate raised KeyError: '41'"


def test_numbers_need_no_heavy_import() -> None:
    code = (
        "import sys; from infinite_rl.reward_functions.math import verify; "
        "assert verify('1/2', '0.5').equal and verify('(x+1)^2', 'x^2+2x+1').equal; "
        "print([name for name in ('sympy', 'mpmath', 'pandas') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert run.stdout == "[]\n", run.stderr


# -- where an answer stands, by the conventions of data sets --------------------------------------


SOLUTION = r"<answer>1</answer> so \boxed{2}, thus 3 #### 4" + "\nand 5."
MARKED: list[tuple[Convention, str]] = [
    *(("tag", "1"), ("math", "2"), ("gsm8k", "4"), ("last_number", "5")),
]
ELSEWHERE: list[tuple[Convention, str]] = [
    *(("math", "the answer is 4"), ("math", "<think>\\boxed{4}</think>"), ("gsm8k", "four")),
]
STATED = [
    ("The answer is 4. No wait, it is 5", "5"),
    ("The answer is 4\nActually, the answer is 5", "5"),
    ("The answer is 4, because 2 + 2 is.", "4"),
    ("The final answer is $3$. I hope it is correct.", "$3$"),
    ("**Answer:** 12", "12"),
    ("Answer:\n\\[\nx = 2\n\\]\nDone.", "\\[\nx = 2\n\\]"),
]
BY_CONVENTION: list[tuple[Convention, str, tuple[float, float]]] = [
    ("math", r"\boxed{7}", (1.0, 1.0)),
    ("math", "<answer>7</answer>", (0.0, 0.0)),
    ("gsm8k", "#### 7", (1.0, 1.0)),
    ("gsm8k", "it is 7", (0.4, 1.0)),
    ("gsm8k", "#### 8", (1.0, 0.0)),
    ("last_number", "it is 7", (1.0, 1.0)),
    ("last_number", "it is seven", (0.0, 0.0)),
]


def test_each_convention_looks_at_its_own_mark() -> None:
    for convention, answer in MARKED:
        assert answer_text(SOLUTION, convention) == answer
        assert verify(SOLUTION, answer, extract=convention).equal
        assert not verify(SOLUTION, "9", extract=convention).equal


def test_an_answer_that_stands_elsewhere_is_none() -> None:
    for convention, text in ELSEWHERE:
        with pytest.raises(Unparsed):
            answer_text(text, convention)


def test_a_reference_needs_no_mark() -> None:
    assert verify(r"\boxed{0.5}", r"\frac12", extract="math").equal
    assert verify("so 1,234", "1234", extract="gsm8k").equal
    assert answer_text("we lose -1,234.5 dollars.", "last_number") == "-1,234.5"


def test_a_marked_answer_ends_with_its_sentence() -> None:
    assert_none(row for row in STATED if answer_text(row[0]) != row[1])


def test_the_reward_takes_a_convention() -> None:
    for convention, text, expected in BY_CONVENTION:
        result = MathRewardFunction(extract=convention).compute_reward(text, "7")
        assert (result.format_score, result.correctness_score) == expected, (convention, text)
