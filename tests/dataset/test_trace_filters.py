"""The filters of traces: noise goes, reasoning stays, nothing is added, and all is linear."""

from __future__ import annotations

import pytest

from infinite_rl.dataset.trace_filters import (
    cleaned,
    collapsed_blanks,
    without_echoes,
    without_repeated_answers,
)
from infinite_rl.verification.self_consistency import solver_system_prompt

TOLD = solver_system_prompt()


@pytest.mark.parametrize(
    "echo",
    [
        "The instructions say to give the final content once, in <answer> tags.",
        "I should put the final answer in \\boxed{}.",
        "Now I'll write ANSWER: 18 on its own line.",
        "As requested, I show my reasoning step by step.",
        "The problem says: show your reasoning, and at the very end output ANSWER: <number>.",
        "Make sure that the output format is right!",
        "I must not forget the answer tags.",
        "Reason first, step by step.",
        "Then give the final content once, in answer tags.",
        "We’re told to use a code block.",
    ],
)
def test_a_sentence_about_the_form_of_the_answer_goes(echo: str) -> None:
    before, after = "First, 16 - 3 = 13.", "Then 13 - 4 = 9."
    assert without_echoes(f"{before} {echo} {after}", TOLD) == f"{before} {after}"
    assert without_echoes(f"{before}\n{echo}\n{after}", TOLD) == f"{before}\n{after}"


@pytest.mark.parametrize(
    "said",
    [
        "I need to count the boxed apples.",
        "The farmer fenced the yard, so I need its perimeter.",
        "The problem says that she has 3 eggs.",
        "So the answer is 18.",
        "I will write x for the price, so \\boxed{x = 4} is what it asks.",
        "It asks for the ratio e.g. 3:4 of both, i.e. 0.75 Euro vs. 1.",
        "Let us go on step by step.",
        "Reason it out.",
        "",
        "   ",
        "Is it 3? No! 4.",
    ],
)
def test_what_is_reasoning_stays(said: str) -> None:
    assert without_echoes(said, TOLD) == said
    assert without_echoes(f"a\n{said}\nb", TOLD) == f"a\n{said}\nb"


def test_a_fence_is_left_alone() -> None:
    code = "```python\n# I should put the answer in <answer> tags.\n\n\n\nx = 1  \nANSWER: 1\n```"
    assert cleaned(f"Before.\n{code}\nAfter.") == f"Before.\n{code}\nAfter."
    assert without_echoes(code.removesuffix("```")) == code.removesuffix("```")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("So.\n<answer>18</answer>\n\nANSWER: 18\n\\boxed{18}", "So.\n\n<answer>18</answer>"),
        ("So.\nANSWER: 18\n\n\\boxed{18}\n", "So.\n\n\\boxed{18}"),
        ("**Final Answer:** 18\n$$\\boxed{18}$$\n#### 18", "$$\\boxed{18}$$"),
        ("So.\n<answer>\n18\n</answer>\nAnswer: $18.", "So.\n\n<answer>\n18\n</answer>"),
        ("\\boxed{\\frac{1}{2}}\nAnswer: \\frac{1}{2}", "\\boxed{\\frac{1}{2}}"),
        ("Answer: 1,800\n#### 1800", "#### 1800"),
    ],
)
def test_of_answers_that_are_stated_again_the_best_form_stays(text: str, left: str) -> None:
    assert without_repeated_answers(text) == left
    assert without_repeated_answers(left) == left


@pytest.mark.parametrize(
    "text",
    [
        "ANSWER: 18\n\\boxed{19}",
        "<answer>18</answer>\nANSWER: 17",
        "So \\boxed{18}",
        "So.\nANSWER: 18",
        "<answer>18</answer> is it.",
        "ANSWER: 18\nOr not.",
        "",
        "\n",
    ],
)
def test_what_differs_or_is_stated_once_is_left(text: str) -> None:
    assert without_repeated_answers(text) == text


def test_reasoning_does_not_state_what_the_answer_states_at_its_end() -> None:
    assert without_repeated_answers("So.\nANSWER: 18", "Well,\n<answer>18</answer>") == "So."
    assert without_repeated_answers("So.\nANSWER: 18", "#### 19") == "So.\nANSWER: 18"


def test_empty_lines_and_white_space_collapse() -> None:
    assert collapsed_blanks("a  \n\n\n \nb\n\nc\t") == "a\n\nb\n\nc"


@pytest.mark.parametrize(
    "text",
    [
        "```\n" * 50_000,
        "```x\n" * 50_000,
        "I will " * 50_000,
        "<answer>" * 50_000,
        "\\boxed{" * 50_000,
        "{}" * 50_000 + "\\boxed{" + "{}" * 50_000,
        "ANSWER: 1\n" * 50_000,
        "a. " * 50_000 + "ANSWER:",
        " \n" * 100_000,
        "$" * 50_000 + "\n" + " " * 50_000,
        "the final answer " * 20_000,
        "*" * 100_000,
        "\0\ud800{}%s\\" * 10_000,
    ],
    ids=range(13),
)
def test_no_text_takes_long_or_gets_longer(text: str) -> None:
    found = cleaned(text, TOLD, text)
    assert len(found) <= len(text) + 1


def test_cleaning_again_changes_nothing() -> None:
    text = f"Well.  \n\n\n{TOLD}\nI should use <answer> tags.\n2 + 2 = 4\nANSWER: 4\n\\boxed{{4}}"
    once = cleaned(text, TOLD)
    assert once == "Well.\n\nSolve the task.\n2 + 2 = 4\n\n\\boxed{4}" == cleaned(once, TOLD)
