"""What a model gives to help a search for tests: a second solution, a generator, a validator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..layout import ANSWER_TAG
from ..reward_functions.coding import CodingRewardFunction, read_submission
from ..reward_functions.coding.reference import Cases
from ..reward_functions.reward_function import BadReference
from ..solver_prompts import Request
from ..types import Sample
from .forms import form_of

_SECOND, _GENERATOR, _VALIDATOR = "solution", "generator", "validator"
_SYSTEM = f"""You help to test solutions of a programming task. Write three programs with the
standard library only, each as one fenced block in tags of its own:

- <{_SECOND}>, in {{language}}: the slowest obvious solution, by brute force, straight from the
  words of the task, with its names. It has to be right, for small inputs only.
- <{_GENERATOR}>, in python: generate(seed), which returns {{what}} for one input
  that the task allows, as a thorough tester would choose it. The seeds from 0 on cover every kind
  of input that the task allows, unusual ones first: the smallest and the empty, zero and negative
  numbers, equal items and ties, both ends of each range, other lengths and orders, upper and lower
  case. Further seeds give random ones, small enough for the slow solution. Use
  random.Random(seed).
- <{_VALIDATOR}>, in python: is_valid({{parameters}}), which returns True if the task allows this
  input, and False if a type, a size, a range or a promise of the task is broken.

Close each tag, as in </{_SECOND}>."""


@dataclass(frozen=True)
class Aids:
    """What others give besides the program: programs, which run in the sandbox alone.

    `seconds` are independent solutions in the row's language; one that fails the row's own tests
    has no vote. `generator` and `validator` are Python: `generate(seed)` returns the arguments of a
    call, or a standard input, and `is_valid(*arguments)` says whether an input is one that the task
    means. A validator counts only if it accepts the inputs of the row's tests and refuses some that
    are far from them.
    """

    seconds: Sequence[str] = ()
    generator: str = ""
    validator: str = ""

    @classmethod
    def of(cls, text: str, language: str, solved: Iterable[str] = ()) -> Aids:
        """Read the reply to `aids_request`; `solved` are completions of models that solved it."""
        second = read_submission(text, _SECOND, language).code
        seconds = [second, *(read_submission(each, ANSWER_TAG, language).code for each in solved)]
        return cls(
            [code for code in seconds if code.strip()],
            read_submission(text, _GENERATOR, "python").code,
            read_submission(text, _VALIDATOR, "python").code,
        )


def aids_request(sample: Sample, reward: CodingRewardFunction) -> Request | None:
    """Return the prompts for a second solution, a generator and a validator of inputs.

    The model sees the task alone: neither the row's tests nor its program. None if no test can be
    added to the row: it has no form for them, or its answer cannot be read.
    """
    try:
        reference, language = reward.reference(sample)
    except BadReference:
        return None
    if language not in ("python", "javascript"):
        return None
    if form_of(reference, reward.program(sample), language, sample.prompt) is None:
        return None
    reads = isinstance(reference, Cases)
    what = "the text of the standard input" if reads else "the list of the arguments"
    parameters = "text" if reads else "*arguments"
    system = _SYSTEM.format(language=language, what=what, parameters=parameters)
    return Request(system, sample.prompt)
