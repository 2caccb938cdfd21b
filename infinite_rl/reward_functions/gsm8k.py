"""The gsm8k reward: the number that the answer to a word problem states, in any convention."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, get_args
from unicodedata import category

from ..errors import UsageError
from ..layout import ANSWER_TAG
from ..types import RewardFunctionScore
from .math.bounds import Unparsed
from .math.extract import Candidate, Source, after_marker, candidates, hashed, last_box
from .math.reward import MathRewardFunction
from .math.sentences import claim
from .reward_function import Expected

if TYPE_CHECKING:
    from .shaping import Shaping

Convention = Literal["any", Source]
_RANKED: tuple[Source, ...] = ("tag", "hash", "box", "phrase")  # what "any" looks for
_PERCENT = re.compile(r"(?:\\?%|(?<![a-z])per ?cent)[ \t\n.$]*\Z", re.IGNORECASE)
_WORDS = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{2}")
_RATE = re.compile(r" (?:an?|per|each|every) [a-z]+\Z")  # "$18 a day"
_ORNAMENTS = "\ufe0f\u200d"  # in emoji
_PERCENT_CHARS = 40  # at the end of an answer
# A number directly after a marker, as in "The answer is $18"; not "based on 3 facts".
_BEGINS = re.compile(r"[-+\u2212$\u20ac\u00a3\\*({ \t]*(?:boxed\{)?[-+]?\.?\d")


class Gsm8kRewardFunction(MathRewardFunction):
    """Judge the number that an answer states, by the math reward's rules of equality.

    The reference is a number, with or without the solution and the `####` before it. Commas and a
    percent sign (or "percent") in the answer are ignored, since no gold of GSM8K has a unit.

    `extract` is the convention of the answer; "any" is the first of these that the text follows:

    - "tag": the answer tag, as the math reward reads it
    - "hash": the number after `####`; words may precede it in the last line
    - "box": the last `\\boxed{}`, with a "thousand" or "%" after it
    - "phrase": the text after "The answer is" or the like
    - "last_number" (never by "any"): the last number

    Ambiguous texts follow one rule: **two different numbers, or a retracted one, are no answer.**
    Several tags, and several numbers after `####`, must agree, even if the second corrects the
    first, and so must the numbers that "any" reads by other conventions after the answer, and after
    `####` before it. Of boxes, and of sentences such as "The answer is 5", the last counts. A
    sentence states its number if that is the only one and no word counts, compares or denies ("She
    makes $18 a day", not "more than 18", "18 or nine"). A number that is denied, asked about, part
    of a calculation, or retracted directly afterwards is not stated; a remark that ends in the same
    number confirms it. A truncated tag is read. The text ends at an end token such as `<|im_end|>`,
    and at the next question that the model adds ("Question: ...").

    Format: 1.0 if the convention is followed, 0.4 for a tag that is damaged or not the only one,
    0.0 otherwise.
    """

    name = "gsm8k"
    version = "9"
    options: frozenset[str] = frozenset()

    def __init__(
        self,
        task_name: str = "",
        timeout: float = 5,
        *,
        shaping: Shaping | None = None,
        extract: Convention = "any",
    ) -> None:
        if extract not in get_args(Convention):
            raise UsageError(f"extract must be one of {', '.join(get_args(Convention))}")
        super().__init__(task_name, timeout, shaping=shaping)
        self.convention = extract

    def compute_reward(
        self,
        model_output: str,
        expected_output: Expected,
        answer_tag: str = ANSWER_TAG,
        *,
        question: str = "",  # noqa: ARG002 -- no number depends on it
    ) -> RewardFunctionScore:
        """Score a completion. No model output raises."""
        text = model_output if isinstance(model_output, str) else ""
        sources = _RANKED if self.convention == "any" else (self.convention,)
        try:
            offered = candidates(text, sources, answer_tag)
            score = self._judged(offered, gold_number(expected_output))
        except Unparsed as error:
            score = RewardFunctionScore(0.0, 0.0, str(error))
        return self.shaped(score, text)

    def _judged(self, offered: list[Candidate], gold: Expected) -> RewardFunctionScore:
        if not offered:
            return RewardFunctionScore(0.0, 0.0, "no answer")
        last = offered[-1]
        contents = [each.content for each in offered[:-1]]
        contents.append(last.with_unit if last.source in ("tag", "box") else last.content)
        *others, answer = map(_number, contents)
        if self.convention == "any":
            others += map(_number, _elsewhere(last))
        fault = last.fault(answer)
        if any(not self._same(other, answer) for other in dict.fromkeys(others)):
            fault = "several answers that disagree"
        if fault:
            return RewardFunctionScore(last.format_score, 0.0, fault)
        return self._compared(last.format_score, answer, gold)

    def _same(self, first: str, second: str) -> bool:
        return first == second or self._verdict(first, second).equal


def gold_number(expected: Expected) -> Expected:
    """Return the number of a reference, after its `####` if it has one, without commas."""
    if not isinstance(expected, str):
        return expected
    return expected.rpartition("####")[2].strip().replace(",", "")


def _number(answer: str) -> str:
    """Normalize an answer: the number of a sentence, without a percent sign."""
    end = len(answer)
    while end and (answer[end - 1] in _ORNAMENTS or category(answer[end - 1]) in ("So", "Cc")):
        end -= 1
    answer = answer[:end].rstrip()
    answer = (_WORDS.search(answer) and claim(answer)) or answer
    sign = _PERCENT.search(answer, max(0, len(answer) - _PERCENT_CHARS))
    return _RATE.sub("", answer[: sign.start()].rstrip() if sign else answer)


def _elsewhere(stated: Candidate) -> list[str]:
    """The numbers that other conventions state: after any `####`, else after the statement."""
    numbers = hashed(f"{stated.before}\n{stated.after}")
    for read in (last_box, after_marker):
        with suppress(Unparsed):
            number = read(stated.after)
            if number is not None and _BEGINS.match(number):
                numbers.append(number)
    return numbers
