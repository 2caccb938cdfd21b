"""The mbpp reward: a program as answers to MBPP hand it in, judged by the row's tests."""

from __future__ import annotations

import re

from .coding.programs import Excerpt, program_in
from .coding.reference import Tests, read_reference
from .coding.reward import CodingRewardFunction, Submission
from .reward_function import BadReference, Expected

_CALLED = re.compile(r"(?<![\w.])([^\W\d]\w*)\s*\(")


class MbppRewardFunction(CodingRewardFunction):
    """Judges as the coding reward does, by tests, but takes the program by the rules of
    `programs.py`: in a tag, in a fence, up to `[DONE]`, or bare.

    Format: 1.0, for a damaged fence 0.3, 0.5 at most for what does not compile, and 0.0 where there
    is nothing to run. What was asked for are the functions that the tests call.
    """

    name = "mbpp"

    def _submission(
        self, model_output: str, expected: Expected, answer_tag: str, language: str
    ) -> Submission:
        program = program_in(model_output, called_names(expected), answer_tag, language)
        return handed_in(program)


def handed_in(program: Excerpt) -> Submission:
    """A program with its format score."""
    if not program.code.strip():
        return Submission(0.0, error="the completion holds no code")
    format_score = 0.3 if program.ended == "damaged" else 1.0
    return Submission(format_score, program.code, language=program.language)


def called_names(expected: object) -> list[str]:
    """The functions that tests call, in order; none where `expected` holds no tests."""
    try:
        reference = read_reference(expected)
    except BadReference:
        return []
    if not isinstance(reference, Tests):
        return []
    return list(dict.fromkeys(_CALLED.findall("\n".join(reference.tests))))
