"""The program reward: a program in any form of answers, judged by the row's tests or cases."""

import re

from .coding.programs import Submission, program_in
from .coding.reference import Tests, read_reference
from .coding.reward import CodingRewardFunction
from .reward_function import BadReference, Expected

_CALLED = re.compile(r"(?<![\w.])([^\W\d]\w*)\s*\(")


class ProgramRewardFunction(CodingRewardFunction):
    """Judge as the coding reward does, but find the program by the rules of `programs.py`:
    in a tag, in a fence, up to `[DONE]`, or bare.

    Format: 1.0; 0.3 for a damaged fence, at most 0.5 for code that does not compile, and 0.0 if
    there is nothing to run. The wanted functions are those that the tests call.
    """

    name = "program"

    def _submission(
        self, model_output: str, expected: Expected, answer_tag: str, language: str
    ) -> Submission:
        names = called_names(expected)
        return program_in(model_output, names, answer_tag, language).submission()


def called_names(expected: object) -> list[str]:
    """The functions that tests call, in order; none if `expected` has no tests."""
    try:
        reference = read_reference(expected)
    except BadReference:
        return []
    tests = reference.tests if isinstance(reference, Tests) else ()
    return list(dict.fromkeys(_CALLED.findall("\n".join(tests))))
