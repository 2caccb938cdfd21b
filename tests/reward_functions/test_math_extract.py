"""Where an answer stands, by each of the conventions that data sets have."""

from __future__ import annotations

import pytest

from infinite_rl.reward_functions.math import MathRewardFunction, verify
from infinite_rl.reward_functions.math.bounds import Unparsed
from infinite_rl.reward_functions.math.extract import Convention, answer_text

SOLUTION = r"<answer>1</answer> so \boxed{2}, thus 3 #### 4" + "\nand 5."


@pytest.mark.parametrize(
    ("convention", "found"), [("tag", "1"), ("math", "2"), ("gsm8k", "4"), ("last_number", "5")]
)
def test_each_convention_looks_at_its_own_mark(convention: Convention, found: str) -> None:
    assert answer_text(SOLUTION, convention) == found
    assert verify(SOLUTION, found, extract=convention).equal
    assert not verify(SOLUTION, "9", extract=convention).equal


@pytest.mark.parametrize(
    ("convention", "text"),
    [("math", "the answer is 4"), ("math", "<think>\\boxed{4}</think>"), ("gsm8k", "four")],
)
def test_an_answer_that_stands_elsewhere_is_none(convention: Convention, text: str) -> None:
    with pytest.raises(Unparsed):
        answer_text(text, convention)


def test_a_reference_needs_no_mark() -> None:
    assert verify(r"\boxed{0.5}", r"\frac12", extract="math").equal
    assert verify("so 1,234", "1234", extract="gsm8k").equal


def test_a_number_keeps_its_sign_and_its_separators() -> None:
    assert answer_text("we lose -1,234.5 dollars.", "last_number") == "-1,234.5"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The answer is 4. No wait, it is 5", "5"),
        ("The answer is 4\nActually, the answer is 5", "5"),
        ("The answer is 4, because 2 + 2 is.", "4"),
        ("The final answer is $3$. I hope it is correct.", "$3$"),
        ("**Answer:** 12", "12"),
        ("Answer:\n\\[\nx = 2\n\\]\nDone.", "\\[\nx = 2\n\\]"),
    ],
)
def test_a_marked_answer_ends_with_its_sentence(text: str, found: str) -> None:
    assert answer_text(text) == found


@pytest.mark.parametrize(
    ("convention", "text", "marks"),
    [
        ("math", r"\boxed{7}", (1.0, 1.0)),
        ("math", "<answer>7</answer>", (0.0, 0.0)),
        ("gsm8k", "#### 7", (1.0, 1.0)),
        ("gsm8k", "it is 7", (0.4, 1.0)),
        ("gsm8k", "#### 8", (1.0, 0.0)),
        ("last_number", "it is 7", (1.0, 1.0)),
        ("last_number", "it is seven", (0.0, 0.0)),
    ],
)
def test_the_reward_takes_a_convention(
    convention: Convention, text: str, marks: tuple[float, float]
) -> None:
    score = MathRewardFunction(extract=convention).compute_reward(text, "7")
    assert (score.format_score, score.correctness_score) == marks
