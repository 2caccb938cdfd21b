"""The gsm8k reward: a number, wherever answers to word problems state it."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, get_args
from unicodedata import category

from ..errors import UsageError
from ..layout import ANSWER_TAG
from ..parsing.tags import format_of
from ..types import RewardFunctionScore
from .around import NEXT_QUESTION, fault_before, fault_behind, number_in, unit_behind, until_next
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

Place = Literal["any", "tag", "hash", "box", "phrase", "last_number"]
# `#### 18`, and neither `#### Step 1` nor `#### 1. Find the price`, which are headings.
_HASH = re.compile(
    r"####(?![ \t]*\d+[.):][ \t]+[^\W\d])([-+\u2212$\u20ac\u00a3\\*( \t]*\.?\d[^\n]*)"
)
# GSM8K's own solutions write out what they compute: "9 * 2 = <<9*2=18>>18".
_CALCULATION = re.compile(r"<<[^<>\n]{0,200}>>")
_PERCENT = re.compile(r"(?:\\?%|(?<![a-z])per ?cent)[ \t\n.$]*\Z", re.IGNORECASE)
_ORNAMENTS = "\ufe0f\u200d"  # in emoji
_LONGEST_PERCENT = 40  # characters at the end of an answer
_MOST_QUESTIONS = 100  # that are told apart
# `#### She makes 18 dollars`: the last line, or it is a heading.
_LAST_LINE = re.compile(r"####[ \t]*([^\n#]*?\d[^\n]*)\s*\Z")
# A number that is stated right behind a marker, as in "The answer is $18"; not "based on 3 facts".
_BEGINS = re.compile(r"[-+\u2212$\u20ac\u00a3\\*({ \t]*(?:boxed\{)?[-+]?\.?\d")


@dataclass(frozen=True)
class _Statement:
    """Answers, the last of which counts, with what stands before it and behind it."""

    answers: list[str]
    before: str = ""
    behind: str = ""
    format_score: float = 1.0
    box: bool = False


class Gsm8kRewardFunction(MathRewardFunction):
    """Judges the number that an answer states, by the math reward's rules of equality.

    The reference is a number, with or without the solution and the `####` before it; commas and a
    percent sign (or "percent") of the answer do not count, as no gold of GSM8K has a unit.

    `extract` says where the answer stands; "any" is the first of these that there is:

    - "tag": the answer tag, as the math reward reads it
    - "hash": the number behind `####`; words may stand before it in the last line
    - "box": the last `\\boxed{}`, with the "thousand" or the "%" behind it
    - "phrase": what follows "The answer is" or the like
    - "last_number" (never by "any"): the last number

    Where a text might be read in two ways, there is one rule: **who states two numbers, or takes
    one back, has stated none.** So several tags, and several numbers behind `####`, must mean the
    same, also where the second corrects the first (think before you mark), and so must what "any"
    finds in the other places behind the answer, and behind `####` before it. Of boxes, and of
    sentences such as "The answer is 5", the last counts. A sentence states its number if that is
    the only one and no word counts, compares or denies ("She makes $18 a day", not "more than 18",
    "18 or nine"). A statement that is denied, asked, part of a calculation, or taken back right
    behind it, is none; a remark that ends in the same number confirms it. A tag that was cut off is
    read. The text ends at a mark such as `<|im_end|>`, and with the next question of its own
    ("Question: ...").

    Format: 1.0 where it stands there, 0.4 for a tag that is damaged or not alone, and 0.0 without.
    """

    version = "5"

    def __init__(
        self,
        task_name: str = "gsm8k",
        timeout: float = 5,
        *,
        shaping: Shaping | None = None,
        extract: Place = "any",
    ) -> None:
        if extract not in get_args(Place):
            raise UsageError(f"extract must be one of {', '.join(get_args(Place))}")
        super().__init__(task_name, timeout, shaping=shaping)
        self.place = extract

    def compute_reward(
        self, model_output: str, expected_output: Expected, answer_tag: str = ANSWER_TAG
    ) -> RewardFunctionScore:
        """Score a completion. Raises nothing of what a model wrote."""
        text = model_output if isinstance(model_output, str) else ""
        try:
            found = self._stated(text, answer_tag)
        except Unparsed as error:
            score = RewardFunctionScore(0.0, 0.0, str(error))
        else:
            score = self._judged(found, gold_number(expected_output))
        return self.shaped(score, text)

    def _judged(self, found: _Statement | None, gold: Expected) -> RewardFunctionScore:
        if found is None:
            return RewardFunctionScore(0.0, 0.0, "no answer")
        *others, answer = map(_number, found.answers)
        if self.place == "any":
            others += map(_number, _elsewhere(found))
        fault = fault_before(found.before, box=found.box) or fault_behind(found.behind, answer)
        if any(not self._same(other, answer) for other in dict.fromkeys(others)):
            fault = "several answers that disagree"
        if fault:
            return RewardFunctionScore(found.format_score, 0.0, fault)
        return self._compared(found.format_score, answer, gold)

    def _stated(self, text: str, tag: str) -> _Statement | None:
        if len(text) > MAX_TEXT:
            raise Unparsed(f"a text of more than {MAX_TEXT} characters")
        text = visible_text(text)
        if self.place in ("any", "tag") and (found := _tagged(text, tag)):
            return found
        text = _CALCULATION.sub("", text)
        for place, find in _PLACES.items():
            if self.place in ("any", place) and (found := find(text)):
                return found
        return _Statement([last_number(text)]) if self.place == "last_number" else None

    def _same(self, first: str, second: str) -> bool:
        return first == second or self._verdict(first, second).equal


def gold_number(expected: Expected) -> Expected:
    """The number of a reference, behind its `####` where it has one, without commas."""
    if not isinstance(expected, str):
        return expected
    return expected.rpartition("####")[2].strip().replace(",", "")


def _number(answer: str) -> str:
    """An answer as it is compared: the number of a sentence, without a percent sign."""
    end = len(answer)
    while end and (answer[end - 1] in _ORNAMENTS or category(answer[end - 1]) in ("So", "Cc")):
        end -= 1
    answer = answer[:end].rstrip()
    sign = _PERCENT.search(answer, max(0, len(answer) - _LONGEST_PERCENT))
    return number_in(answer[: sign.start()].rstrip() if sign else answer)


# --- the places ----------------------------------------------------------------------------------


def _tagged(text: str, tag: str) -> _Statement | None:
    tags = answer_tags(text, tag)
    if not tags:
        return None
    text = until_next(text, tags[0].start)
    tags = answer_tags(text, tag) or tags
    last = tags[-1]
    end = text.find(last.content, last.start) + len(last.content)
    closing = re.compile(rf"[^<\w]{{0,10}}</?\s*{re.escape(tag)}[^>\n]{{0,20}}>", re.IGNORECASE)
    closed = closing.match(text, end)
    behind = text[closed.end() :] if closed else ""
    contents = [_CALCULATION.sub("", each.content) for each in tags]
    contents[-1] = f"{contents[-1]} {unit_behind(behind)}".strip()
    return _Statement(contents, text[: last.start], behind, format_of(tags))


def _hashed(text: str) -> _Statement | None:
    first = _HASH.search(text) or _LAST_LINE.search(text)
    if first is None:
        return None
    text = until_next(text, first.end())
    found = list(_HASH.finditer(text)) or [first]
    last = found[-1]
    before = text[: last.start()].rpartition("\n")[2]
    return _Statement([each[1].strip() for each in found], before, text[last.end() :])


def _boxed(text: str) -> _Statement | None:
    places = [place for place in map(text.find, BOXES) if place >= 0]
    if not places:
        return None
    text = until_next(text, min(places))
    box = find_box(text)
    if box is None:
        return None
    behind = box.text[box.end :]
    answer = f"{box.content} {unit_behind(behind)}".strip()
    return _Statement([answer], box.text[: box.start], behind, box=True)


def _said(text: str) -> _Statement | None:
    begin = 0
    questions = islice(NEXT_QUESTION.finditer(text), _MOST_QUESTIONS)
    for end in [*(match.start() for match in questions), len(text)]:
        part = text[begin:end].replace("####", "")  # what is left of it are headings
        found = after_marker(part)
        if found is not None:
            marker = max(0, part.lower().rfind("answer"))
            return _Statement([found], behind=part[marker:].partition(found)[2] if found else "")
        begin = end
    return None


_PLACES = {"hash": _hashed, "box": _boxed, "phrase": _said}


def _elsewhere(found: _Statement) -> list[str]:
    """What is stated in other places: behind `####` anywhere, else behind the statement."""
    numbers = [each[1].strip() for each in _HASH.finditer(f"{found.before}\n{found.behind}")]
    for read in (last_box, after_marker):
        with suppress(Unparsed):
            number = read(found.behind)
            if number is not None and _BEGINS.match(number):
                numbers.append(number)
    return numbers
