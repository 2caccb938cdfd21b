"""The filters of traces: noise goes, reasoning stays, nothing is added, and all is linear."""

from labelled import Tables

from infinite_rl.dataset.trace_filters import (
    cleaned,
    collapsed_blanks,
    without_echoes,
    without_repeated_answers,
)
from infinite_rl.solver_prompts import solver_system_prompt

INSTRUCTIONS = solver_system_prompt()
tables = Tables(__file__)


@tables
def test_sentences_about_the_form_of_the_answer_go(echo: str) -> None:
    for gap in " \n":
        before, after = f"First, 16 - 3 = 13.{gap}", "Then 13 - 4 = 9."
        assert without_echoes(f"{before}{echo}{gap}{after}", INSTRUCTIONS) == before + after


@tables
def test_reasoning_stays(text: str) -> None:
    assert without_echoes(text, INSTRUCTIONS) == text
    assert without_echoes(f"a\n{text}\nb", INSTRUCTIONS) == f"a\n{text}\nb"


@tables
def test_of_answers_that_are_stated_again_the_best_form_stays(text: str, left: str) -> None:
    assert without_repeated_answers(text) == left
    assert without_repeated_answers(left) == left


def test_a_fence_is_left_alone() -> None:
    code = "```python\n# I should put the answer in <answer> tags.\n\n\n\nx = 1  \nANSWER: 1\n```"
    assert cleaned(f"Before.\n{code}\nAfter.") == f"Before.\n{code}\nAfter."
    assert without_echoes(code.removesuffix("```")) == code.removesuffix("```")


def test_reasoning_does_not_state_the_answers_end_and_empty_lines_collapse() -> None:
    assert without_repeated_answers("So.\nANSWER: 18", "Well,\n<answer>18</answer>") == "So."
    assert without_repeated_answers("So.\nANSWER: 18", "#### 19") == "So.\nANSWER: 18"
    assert collapsed_blanks("a  \n\n\n \nb\n\nc\t") == "a\n\nb\n\nc"


def test_no_text_takes_long_or_gets_longer() -> None:
    for text in (
        *("```\n" * 50_000, "```x\n" * 50_000, "I will " * 50_000, "<answer>" * 50_000),
        *("\\boxed{" * 50_000, "{}" * 50_000 + "\\boxed{" + "{}" * 50_000, "ANSWER: 1\n" * 50_000),
        *("a. " * 50_000 + "ANSWER:", " \n" * 100_000, "$" * 50_000 + "\n" + " " * 50_000),
        *("the final answer " * 20_000, "*" * 100_000, "\0\ud800{}%s\\" * 10_000),
    ):
        assert len(cleaned(text, INSTRUCTIONS, text)) <= len(text) + 1


def test_cleaning_again_changes_nothing() -> None:
    noise = f"{INSTRUCTIONS}\nI should use <answer> tags."
    once = cleaned(f"Well.  \n\n\n{noise}\n2 + 2 = 4\nANSWER: 4\n\\boxed{{4}}", INSTRUCTIONS)
    assert once == "Well.\n\nSolve the task.\n2 + 2 = 4\n\n\\boxed{4}"
    assert cleaned(once, INSTRUCTIONS) == once
