"""The filters of traces: noise goes, reasoning stays, nothing is added, and all is linear."""

from __future__ import annotations

from infinite_rl.dataset.trace_filters import (
    cleaned,
    collapsed_blanks,
    without_echoes,
    without_repeated_answers,
)
from infinite_rl.verification.self_consistency import solver_system_prompt

INSTRUCTIONS = solver_system_prompt()


ECHOES = (
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
)
REASONING = (
    "I need to count the boxed apples.",
    "The farmer fenced the yard, so I need its perimeter.",
    "The problem says that she has 3 eggs.",
    "So the answer is 18.",
    "I will write x for the price, so \\boxed{x = 4} is what it asks.",
    "It asks for the ratio e.g. 3:4 of both, i.e. 0.75 Euro vs. 1.",
    "Let us go on step by step.",
    "Reason it out.",
    *("", "   ", "Is it 3? No! 4."),
)


def test_sentences_about_the_form_of_the_answer_go_and_reasoning_stays() -> None:
    before, after = "First, 16 - 3 = 13.", "Then 13 - 4 = 9."
    for echo in ECHOES:
        text = f"{before} {echo} {after}"
        assert without_echoes(text, INSTRUCTIONS) == f"{before} {after}", echo
        text = f"{before}\n{echo}\n{after}"
        assert without_echoes(text, INSTRUCTIONS) == f"{before}\n{after}", echo
    for text in REASONING:
        assert without_echoes(text, INSTRUCTIONS) == text
        assert without_echoes(f"a\n{text}\nb", INSTRUCTIONS) == f"a\n{text}\nb"


def test_a_fence_is_left_alone() -> None:
    code = "```python\n# I should put the answer in <answer> tags.\n\n\n\nx = 1  \nANSWER: 1\n```"
    assert cleaned(f"Before.\n{code}\nAfter.") == f"Before.\n{code}\nAfter."
    assert without_echoes(code.removesuffix("```")) == code.removesuffix("```")


def test_of_answers_that_are_stated_again_the_best_form_stays() -> None:
    for text, left in (
        ("So.\n<answer>18</answer>\n\nANSWER: 18\n\\boxed{18}", "So.\n\n<answer>18</answer>"),
        ("So.\nANSWER: 18\n\n\\boxed{18}\n", "So.\n\n\\boxed{18}"),
        ("**Final Answer:** 18\n$$\\boxed{18}$$\n#### 18", "$$\\boxed{18}$$"),
        ("So.\n<answer>\n18\n</answer>\nAnswer: $18.", "So.\n\n<answer>\n18\n</answer>"),
        ("\\boxed{\\frac{1}{2}}\nAnswer: \\frac{1}{2}", "\\boxed{\\frac{1}{2}}"),
        ("Answer: 1,800\n#### 1800", "#### 1800"),
        *(
            (text, text)
            for text in (
                *("ANSWER: 18\n\\boxed{19}", "<answer>18</answer>\nANSWER: 17", "So \\boxed{18}"),
                *("So.\nANSWER: 18", "<answer>18</answer> is it.", "ANSWER: 18\nOr not.", "", "\n"),
            )
        ),
    ):
        assert without_repeated_answers(text) == left
        assert without_repeated_answers(left) == left


def test_reasoning_does_not_state_what_the_answer_states_at_its_end() -> None:
    assert without_repeated_answers("So.\nANSWER: 18", "Well,\n<answer>18</answer>") == "So."
    assert without_repeated_answers("So.\nANSWER: 18", "#### 19") == "So.\nANSWER: 18"


def test_empty_lines_and_white_space_collapse() -> None:
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
