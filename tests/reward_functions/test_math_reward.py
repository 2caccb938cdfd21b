"""The math reward: format by the tags, correctness by meaning, and whose fault a failure is."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

from infinite_rl.reward_functions.math import MathRewardFunction
from infinite_rl.types import RewardFunctionScore

REWARD = MathRewardFunction()


def score(output: str, expected: Any, **options: Any) -> RewardFunctionScore:
    return REWARD.compute_reward(output, expected, **options)


def marks(output: str, expected: Any, **options: Any) -> tuple[float, float, str]:
    found = score(output, expected, **options)
    return found.format_score, found.correctness_score, found.status


def test_one_tag_with_the_right_answer_gets_full_marks() -> None:
    assert marks(r"So <answer>\frac{1}{2}</answer>", "0.5") == (1.0, 1.0, "passed")


def test_a_wrong_answer_keeps_its_format_and_says_what_differs() -> None:
    found = score("<answer>x^2</answer>", "2x")
    assert (found.format_score, found.correctness_score, found.status) == (1.0, 0.0, "failed")
    assert found.error_msg == "different: the polynomials differ"


def test_without_a_tag_the_last_box_is_judged_but_the_format_is_zero() -> None:
    assert marks(r"\boxed{3}, no, \boxed{4}", "4") == (0.0, 1.0, "passed")
    assert marks(r"\boxed{4}, no, \boxed{3}", "4") == (0.0, 0.0, "failed")
    assert marks(r"\framebox{4}", "4") == (0.0, 1.0, "passed")
    assert marks("The answer is 4", "4") == (0.0, 0.0, "failed")


def test_a_box_inside_the_tag_is_fine() -> None:
    assert marks(r"<answer>It is \boxed{4}.</answer>", "4") == (1.0, 1.0, "passed")


def test_several_tags_that_agree_lose_format_only() -> None:
    assert marks("<answer>0.5</answer> <answer>1/2</answer>", "0.5") == (0.4, 1.0, "passed")


def test_several_tags_that_disagree_are_no_answer() -> None:
    for output in (
        "<answer>3</answer> <answer>4</answer>",
        "<answer>4</answer> <answer>3</answer>",
    ):
        assert marks(output, "4") == (0.4, 0.0, "failed")


def test_a_tag_while_thinking_does_not_count() -> None:
    output = "<think>\n<answer>3</answer>\n</think>\n<answer>4</answer>"
    assert marks(output, "4") == (1.0, 1.0, "passed")
    assert marks("<think>\n<answer>4</answer>\n</think>\nSorry.", "4") == (0.0, 0.0, "failed")


def test_a_damaged_tag_loses_format() -> None:
    assert marks("<answer>4", "4") == (0.4, 1.0, "passed")


def test_a_list_of_guesses_is_no_answer() -> None:
    assert marks("<answer>4</answer>" * 50, "4") == (0.4, 0.0, "failed")


def test_the_tag_can_be_named() -> None:
    assert marks("<final>4</final>", "4", answer_tag="final") == (1.0, 1.0, "passed")
    assert marks("<answer>4</answer>", "4", answer_tag="final") == (0.0, 0.0, "failed")


@pytest.mark.parametrize(
    "expected",
    ["4", 4, 4.0, "<answer>4</answer>", r"\boxed{4}", '{"answer": 4}', {"value": "4"}]
    + [{"result": 4.0}, '{"solution": "4.0"}', r"Hence \boxed{4}.", {"prose": "no", "answer": 4}],
)
def test_the_reference_takes_many_shapes(expected: Any) -> None:
    assert marks("<answer>4</answer>", expected) == (1.0, 1.0, "passed")
    assert marks("<answer>5</answer>", expected) == (1.0, 0.0, "failed")


def test_a_set_is_no_json() -> None:
    assert marks(r"<answer>\{2, 1\}</answer>", "{1, 2}") == (1.0, 1.0, "passed")


@pytest.mark.parametrize("expected", ["5-", "", "foo 7 bar 9", math.nan, {"x": 1}, None, ["4"]])
def test_a_reference_that_cannot_be_read_is_unscored(expected: Any) -> None:
    found = score("<answer>4</answer>", expected)
    assert (found.status, found.correctness_score) == ("unscored", 0.0)
    assert found.error_msg.startswith("cannot judge: ")


def test_a_reference_that_cannot_be_read_proves_nothing_by_being_repeated() -> None:
    assert score("<answer>foo 7 bar 9</answer>", "foo 7 bar 9").status == "unscored"


def test_a_prediction_that_cannot_be_read_has_failed() -> None:
    for hostile in ("5-", "9^{9^{9^9}}", "__import__('os').getcwd()", "\0", ""):
        assert marks(f"<answer>{hostile}</answer>", "5") == (1.0, 0.0, "failed")


def test_a_timeout_is_not_the_fault_of_the_model() -> None:
    slow = MathRewardFunction(timeout=1e-9)
    assert slow.compute_reward(r"<answer>\sqrt{2}</answer>", "1").status == "unscored"


@pytest.mark.parametrize(
    ("result", "correctness", "status"),
    [(True, 1.0, "passed"), (False, 0.0, "failed"), (1, 1.0, "passed"), (0.25, 0.25, "failed")]
    + [
        (7, 0.0, "unscored"),
        (-1, 0.0, "unscored"),
        ("yes", 0.0, "unscored"),
        (None, 0.0, "unscored"),
    ]
    + [(math.nan, 0.0, "unscored")],
)
def test_a_callable_is_given_the_content_and_scores_it(
    result: Any, correctness: float, status: str
) -> None:
    seen: list[str] = []

    def judge(content: str) -> Any:
        seen.append(content)
        return result

    assert marks("so <answer> 41 </answer>", judge) == (1.0, correctness, status)
    assert seen == ["41"]


def test_a_callable_that_raises_is_unscored_with_its_reason() -> None:
    def judge(content: str) -> bool:
        raise KeyError(content)

    found = score("<answer>41</answer>", judge)
    assert found.status == "unscored"
    assert found.error_msg == "cannot judge: the predicate raised KeyError: '41'"


@pytest.mark.parametrize(
    "spelling",
    ["10 hours", "10 apples", "$10", r"\$10", r"10\text{ hours}", r"\text{10}", "10.0", "x = 10"],
)
def test_units_money_and_text_wrappers_are_tolerated(spelling: str) -> None:
    assert marks(f"<answer>{spelling}</answer>", "10") == (1.0, 1.0, "passed")


@pytest.mark.parametrize(
    ("latex", "plain"),
    [(r"\frac{\sqrt{2}}{2}", "sqrt(2)/2"), ("(x+1)^2", "x**2 + 2*x + 1"), (r"2\pi", "2*pi")],
)
def test_latex_and_plain_text_are_one(latex: str, plain: str) -> None:
    assert marks(f"<answer>{latex}</answer>", plain) == (1.0, 1.0, "passed")
    assert marks(f"<answer>{plain}</answer>", f"${latex}$") == (1.0, 1.0, "passed")
    assert marks(f"<answer>{plain} + 1</answer>", latex) == (1.0, 0.0, "failed")


@pytest.mark.parametrize("spelling", ["$10$", "$$10$$", r"\(10\)", r"\[10\]", r"$\boxed{10}$"])
def test_math_delimiters_are_no_part_of_an_answer(spelling: str) -> None:
    assert marks(f"<answer>{spelling}</answer>", "10") == (1.0, 1.0, "passed")
    assert marks("<answer>10</answer>", spelling) == (1.0, 1.0, "passed")


def test_a_unit_may_be_missing_or_converted_but_not_wrong() -> None:
    assert marks("<answer>15</answer>", "15 cm") == (1.0, 1.0, "passed")
    assert marks("<answer>2000 m</answer>", "2 km") == (1.0, 1.0, "passed")
    assert marks("<answer>15 m</answer>", "15 cm") == (1.0, 0.0, "failed")


def test_an_integral_may_carry_its_constant() -> None:
    assert marks(r"<answer>\frac{x^3}{3} + C</answer>", "x^3/3") == (1.0, 1.0, "passed")
    assert marks(r"<answer>x^3/3</answer>", r"\frac{x^3}{3} + C") == (1.0, 1.0, "passed")


def test_no_output_at_all_has_failed() -> None:
    nothing: Any = None
    assert marks(nothing, "4") == (0.0, 0.0, "failed") == marks("", "4")


def test_the_details_show_the_verdict() -> None:
    details = score("<answer>5</answer>", "4").details
    assert details["verdict"] == "different" and details["prediction_form"] == "5"


def test_numbers_need_no_heavy_import() -> None:
    code = (
        "import sys; from infinite_rl.reward_functions.math import verify; "
        "assert verify('1/2', '0.5').equal and verify('(x+1)^2', 'x^2+2x+1').equal; "
        "print([name for name in ('sympy', 'mpmath', 'pandas') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert run.stdout == "[]\n", run.stderr
