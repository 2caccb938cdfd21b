"""The gsm8k reward: the number that the answer to a word problem states, in any convention."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, get_args
from unicodedata import category

from ..errors import UsageError
from ..layout import ANSWER_TAG
from ..parsing.markup import format_of
from ..types import RewardFunctionScore
from .answer_context import (
    NEXT_QUESTION,
    fault_after,
    fault_before,
    stated_number,
    unit_after,
    until_next_question,
)
from .math.bounds import Unparsed
from .math.extract import (
    BOXES,
    MAX_TEXT,
    after_marker,
    answer_tags,
    find_box,
    last_box,
    last_number,
    visible_text,
)
from .math.reward import MathRewardFunction
from .reward_function import Expected

if TYPE_CHECKING:
    from .shaping import Shaping

Convention = Literal["any", "tag", "hash", "box", "phrase", "last_number"]
# `#### 18`, but not the headings `#### Step 1` and `#### 1. Find the price`.
_HASH = re.compile(
    r"####(?![ \t]*\d+[.):][ \t]+[^\W\d])([-+\u2212$\u20ac\u00a3\\*( \t]*\.?\d[^\n]*)"
)
# GSM8K's own solutions write out what they compute: "9 * 2 = <<9*2=18>>18".
_CALCULATION = re.compile(r"<<[^<>\n]{0,200}>>")
_PERCENT = re.compile(r"(?:\\?%|(?<![a-z])per ?cent)[ \t\n.$]*\Z", re.IGNORECASE)
_ORNAMENTS = "\ufe0f\u200d"  # in emoji
_PERCENT_CHARS = 40  # at the end of an answer
_MAX_QUESTIONS = 100
# `#### She makes 18 dollars` must be the last line; elsewhere it is a heading.
_LAST_LINE = re.compile(r"####[ \t]*([^\n#]*?\d[^\n]*)\s*\Z")
# A number directly after a marker, as in "The answer is $18"; not "based on 3 facts".
_BEGINS = re.compile(r"[-+\u2212$\u20ac\u00a3\\*({ \t]*(?:boxed\{)?[-+]?\.?\d")


@dataclass(frozen=True)
class _Statement:
    """Answers, the last of which counts, with the text before and after it."""

    answers: list[str]
    before: str = ""
    after: str = ""
    format_score: float = 1.0
    box: bool = False


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
    and at the next question of its own ("Question: ...").

    Format: 1.0 if the convention is followed, 0.4 for a tag that is damaged or not the only one,
    0.0 otherwise.
    """

    name = "gsm8k"
    version = "5"

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
        self, model_output: str, expected_output: Expected, answer_tag: str = ANSWER_TAG
    ) -> RewardFunctionScore:
        """Score a completion. No model output raises."""
        text = model_output if isinstance(model_output, str) else ""
        try:
            stated = self._stated(text, answer_tag)
        except Unparsed as error:
            score = RewardFunctionScore(0.0, 0.0, str(error))
        else:
            score = self._judged(stated, gold_number(expected_output))
        return self.shaped(score, text)

    def _judged(self, stated: _Statement | None, gold: Expected) -> RewardFunctionScore:
        if stated is None:
            return RewardFunctionScore(0.0, 0.0, "no answer")
        *others, answer = map(_number, stated.answers)
        if self.convention == "any":
            others += map(_number, _elsewhere(stated))
        fault = fault_before(stated.before, box=stated.box) or fault_after(stated.after, answer)
        if any(not self._same(other, answer) for other in dict.fromkeys(others)):
            fault = "several answers that disagree"
        if fault:
            return RewardFunctionScore(stated.format_score, 0.0, fault)
        return self._compared(stated.format_score, answer, gold)

    def _stated(self, text: str, tag: str) -> _Statement | None:
        if len(text) > MAX_TEXT:
            raise Unparsed(f"a text of more than {MAX_TEXT} characters")
        text = visible_text(text)
        if self.convention in ("any", "tag") and (stated := _in_tag(text, tag)):
            return stated
        text = _CALCULATION.sub("", text)
        for convention, find in _CONVENTIONS.items():
            if self.convention in ("any", convention) and (stated := find(text)):
                return stated
        return _Statement([last_number(text)]) if self.convention == "last_number" else None

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
    sign = _PERCENT.search(answer, max(0, len(answer) - _PERCENT_CHARS))
    return stated_number(answer[: sign.start()].rstrip() if sign else answer)


# --- the conventions -----------------------------------------------------------------------------


def _in_tag(text: str, tag: str) -> _Statement | None:
    tags = answer_tags(text, tag)
    if not tags:
        return None
    text = until_next_question(text, tags[0].start)
    tags = answer_tags(text, tag) or tags
    last = tags[-1]
    end = text.find(last.content, last.start) + len(last.content)
    closing = re.compile(rf"[^<\w]{{0,10}}</?\s*{re.escape(tag)}[^>\n]{{0,20}}>", re.IGNORECASE)
    closed = closing.match(text, end)
    after = text[closed.end() :] if closed else ""
    contents = [_CALCULATION.sub("", each.content) for each in tags]
    contents[-1] = f"{contents[-1]} {unit_after(after)}".strip()
    return _Statement(contents, text[: last.start], after, format_of(tags))


def _after_hash(text: str) -> _Statement | None:
    first = _HASH.search(text) or _LAST_LINE.search(text)
    if first is None:
        return None
    text = until_next_question(text, first.end())
    matches = list(_HASH.finditer(text)) or [first]
    last = matches[-1]
    before = text[: last.start()].rpartition("\n")[2]
    return _Statement([each[1].strip() for each in matches], before, text[last.end() :])


def _in_box(text: str) -> _Statement | None:
    starts = [start for start in map(text.find, BOXES) if start >= 0]
    if not starts:
        return None
    text = until_next_question(text, min(starts))
    box = find_box(text)
    if box is None:
        return None
    after = box.text[box.end :]
    answer = f"{box.content} {unit_after(after)}".strip()
    return _Statement([answer], box.text[: box.start], after, box=True)


def _after_phrase(text: str) -> _Statement | None:
    begin = 0
    questions = islice(NEXT_QUESTION.finditer(text), _MAX_QUESTIONS)
    for end in [*(match.start() for match in questions), len(text)]:
        part = text[begin:end].replace("####", "")  # the rest of it are headings
        answer = after_marker(part)
        if answer is not None:
            marker = max(0, part.lower().rfind("answer"))
            return _Statement([answer], after=part[marker:].partition(answer)[2] if answer else "")
        begin = end
    return None


_CONVENTIONS = {"hash": _after_hash, "box": _in_box, "phrase": _after_phrase}


def _elsewhere(stated: _Statement) -> list[str]:
    """The numbers that other conventions state: after any `####`, else after the statement."""
    numbers = [each[1].strip() for each in _HASH.finditer(f"{stated.before}\n{stated.after}")]
    for read in (last_box, after_marker):
        with suppress(Unparsed):
            number = read(stated.after)
            if number is not None and _BEGINS.match(number):
                numbers.append(number)
    return numbers
