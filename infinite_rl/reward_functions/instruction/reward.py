"""The instruction reward: the share of a row's instructions that a completion follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import UsageError
from ...layout import ANSWER_TAG
from ...parsing.tags import format_of, split_thinking, tag_matches
from ...types import RewardFunctionScore
from ..coding.predicate import by_predicate
from ..reward_function import Expected, RewardFunction, unscored
from .language import identifier
from .reference import Instruction, read_instructions
from .words import seen

if TYPE_CHECKING:
    from ..shaping import Shaping


class InstructionRewardFunction(RewardFunction):
    """Judges whether a text follows instructions that a program can check (IFEval).

    Judged is the content of the last answer tag, and without a tag the text itself; thinking is no
    part of either.

    Format: 1.0 for a text without a tag and for exactly one well-formed tag, 0.4 for several or
    for a damaged one, 0.0 for nothing at all.

    Correctness: the share of the instructions that are followed. The status is "passed" only where
    all are. `details["instructions"]` lists each with its verdict. A blank answer follows none.

    The status is "unscored" where the reference cannot be read; `read_instructions` raises instead.

    With `loose`, an instruction is followed where it is in any of IFEval's eight variants of the
    text: as it is, without its first line, its last, or both, and each of these without asterisks.
    """

    version = "2"

    def __init__(
        self,
        task_name: str = "instruction",
        timeout: float = 5,
        *,
        shaping: Shaping | None = None,
        loose: bool = False,
    ) -> None:
        super().__init__(task_name, timeout, shaping=shaping)
        self.loose = loose

    def prepare(self, language: str = "") -> None:
        """Load the model that tells languages apart."""
        del language
        identifier()

    def compute_reward(
        self, model_output: str, expected_output: Expected, answer_tag: str = ANSWER_TAG
    ) -> RewardFunctionScore:
        """Score a completion.

        `expected_output` is what `read_instructions` reads, or a callable that is given the judged
        text and returns True, False or a share in [0, 1].
        """
        text = model_output if isinstance(model_output, str) else ""
        content, format_score = judged(text, answer_tag)
        if callable(expected_output):
            score = by_predicate(expected_output, format_score, content)
        else:
            score = self._checked(expected_output, content, format_score)
        return self.shaped(score, text)

    def _checked(self, expected: object, content: str, format_score: float) -> RewardFunctionScore:
        try:
            instructions = read_instructions(expected)
        except UsageError as fault:
            return unscored(format_score, str(fault))
        verdicts = [
            {"id": each.id, "followed": follows(content, each, loose=self.loose)}
            for each in instructions
        ]
        missed = [str(verdict["id"]) for verdict in verdicts if not verdict["followed"]]
        return RewardFunctionScore(
            format_score,
            1 - len(missed) / len(verdicts),
            f"not followed: {', '.join(missed)}" if missed else "",
            status="failed" if missed else "passed",
            details={"instructions": verdicts},
        )


def judged(text: str, answer_tag: str = ANSWER_TAG) -> tuple[str, float]:
    """The text that is judged, without characters that take no room, and the format's score."""
    tags = tag_matches(text, answer_tag)
    if tags:
        content, format_score = tags[-1].content, format_of(tags)
    else:
        visible, _ = split_thinking(text)
        content = text if visible == text else visible.strip()
        format_score = 1.0 if content.strip() else 0.0
    return seen(content), format_score


def follows(text: str, instruction: Instruction, *, loose: bool = False) -> bool:
    """Whether a text, or with `loose` one of its variants, follows one; a blank never does."""
    variants = _variants(text) if loose else [text]
    return any(variant.strip() and instruction.follows(variant) for variant in variants)


def _variants(text: str) -> list[str]:
    """The eight texts that IFEval's loose accuracy tries."""
    lines = text.split("\n")
    cut = [text, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    return [*cut, *(each.replace("*", "") for each in cut)]
