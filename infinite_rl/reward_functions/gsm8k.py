"""The gsm8k reward: the number that the answer to a word problem states, in any convention."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args
from unicodedata import category

from ..errors import UsageError
from ..types import RewardFunctionScore
from .math.bounds import Unparsed
from .math.boxes import last_box
from .math.extract import Candidate, Source, after_marker, candidates, hashed
from .math.question import UNDONE
from .math.reward import gold_text, score_of
from .math.sentences import sentence_answer
from .math.verify import verify
from .reward_function import AnswerRewardFunction, NoAnswer

if TYPE_CHECKING:
    from .shaping import Shaping

_CONVENTIONS = ("any", *get_args(Source))
_RANKED: tuple[Source, ...] = ("tag", "hash", "box", "phrase")  # what "any" looks for
_PERCENT = re.compile(r"(?:\\?%|(?<![a-z])per ?cent)[ \t\n.$]*\Z", re.IGNORECASE)
_WORDS = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{2}")
_RATE = re.compile(r" (?:an?|per|each|every) [a-z]+\Z")  # "$18 a day"
_ORNAMENTS = "\ufe0f\u200d"  # in emoji
_PERCENT_CHARS = 40  # at the end of an answer
# A number directly after a marker, as in "The answer is $18"; not "based on 3 facts".
_BEGINS = re.compile(r"[-+\u2212$\u20ac\u00a3\\*({ \t]*(?:boxed\{)?[-+]?\.?\d")
# `3 * 6`, but not `2.5 * 10^3`
_OPERATION = re.compile(
    r"[0-9)]\s*(?:[-+*\u2212\u00d7\u00b7]|\\(?:times|cdot)(?![a-z]))\s*(?!10\s*\^)[0-9(]"
)
_QUOTIENT = re.compile(r"[0-9)]\s*[/\u00f7]\s*[0-9(]|\\[dt]?frac(?![a-z])")


class Gsm8kRewardFunction(AnswerRewardFunction):
    """Judge the number that an answer states, by the math reward's rules of equality.

    The reference is a number, with or without the solution and the `####` before it. Commas and a
    percent sign (or "percent") in the answer are ignored, since no gold of GSM8K has a unit.
    `3 * 6` is not carried out and fails, as does `36/2` where the reference is an integer;
    `3 * 6 = 18` is 18.

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
    version = "12"

    def __init__(
        self,
        task_name: str = "",
        timeout: float = 5,
        *,
        shaping: Shaping | None = None,
        extract: Literal["any"] | Source = "any",
    ) -> None:
        if extract not in _CONVENTIONS:
            raise UsageError(f"extract must be one of {', '.join(_CONVENTIONS)}")
        super().__init__(task_name, timeout, shaping=shaping)
        self.convention = extract

    def _content(self, text: str, answer_tag: str) -> tuple[float, str]:
        try:
            return self._stated(text, answer_tag)
        except Unparsed as fault:
            raise NoAnswer(str(fault)) from None

    def _stated(self, text: str, answer_tag: str) -> tuple[float, str]:
        """The format score, and the number. Raises `NoAnswer` and `Unparsed`."""
        sources = _RANKED if self.convention == "any" else (self.convention,)
        offered = candidates(text, sources, answer_tag)
        if not offered:
            raise NoAnswer("no answer")
        last = offered[-1]
        *others, answer = map(_number, [*(each.content for each in offered[:-1]), last.stated])
        if self.convention == "any":
            others += map(_number, _elsewhere(last))
        fault = last.fault(answer)
        if any(not self._same(other, answer) for other in dict.fromkeys(others)):
            fault = "several answers that disagree"
        if fault:
            raise NoAnswer(fault, last.format_score)
        return last.format_score, answer

    def _judged(self, format_score: float, content: str, expected: object) -> RewardFunctionScore:
        if isinstance(expected, str):
            expected = expected.rpartition("####")[2].strip().replace(",", "")
        verdict = verify(content, gold_text(expected), timeout=self.timeout)
        last, whole = content.rpartition("=")[2], verdict.gold_form.lstrip("-").isdigit()
        if verdict.equal and (_OPERATION.search(last) or (whole and _QUOTIENT.search(last))):
            verdict = replace(verdict, status="different", reason=UNDONE)
        return score_of(format_score, verdict)

    def _same(self, one: str, other: str) -> bool:
        return one == other or verify(one, other, timeout=self.timeout).equal


def _number(answer: str) -> str:
    """Normalize an answer: the number of a sentence, without a percent sign."""
    end = len(answer)
    while end and (answer[end - 1] in _ORNAMENTS or category(answer[end - 1]) in ("So", "Cc")):
        end -= 1
    answer = answer[:end].rstrip()
    answer = (_WORDS.search(answer) and sentence_answer(answer)) or answer
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
