"""The gsm8k reward: a number, wherever answers to word problems state it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Literal, get_args

from ..errors import UsageError
from ..layout import ANSWER_TAG
from ..parser_tags import format_of, split_thinking
from ..types import RewardFunctionScore
from .math.bounds import Unparsed
from .math.extract import after_marker, answer_tags, last_box, last_number
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
# What comes behind "The answer is 18." and takes it back, or puts another beside it.
_DOUBT = re.compile(
    r"\b(?:wrong|incorrect|mistake|forgot)\b|\bnot\s+(?:right|correct)\b"
    r"|(?:\b(?:but|however|or|alternatively|no|instead|hold\s+on)\b|\?)[^\n]{0,100}?\d",
    re.IGNORECASE,
)
_DOUBTED_WITHIN = 200  # characters behind the statement
_LONGEST_PERCENT = 40  # characters at the end of an answer
# A base model goes on with the next exercise of its own making.
_NEXT = re.compile(r"^(?:Q|Question|Problem)[ \t]{0,3}\d{0,6}[ \t]{0,3}[:.]", re.MULTILINE)
_MOST_QUESTIONS = 100  # that are told apart


class Gsm8kRewardFunction(MathRewardFunction):
    """Judges the number that an answer states, by the math reward's rules of equality.

    The reference is a number, with or without the solution and the `####` before it; commas and a
    percent sign (or "percent") of the answer do not count, as no gold of GSM8K has a unit.

    `extract` says where the answer stands; "any" is the first of these that there is:

    - "tag": the answer tag, as the math reward reads it
    - "hash": the number behind `####`, up to the next question of the text's own
    - "box": the last `\\boxed{}`
    - "phrase": what follows "The answer is" or the like, up to such a question; nothing where the
      next sentences take it back ("But that is wrong", "Or 9")
    - "last_number" (never by "any"): the last number

    Format: 1.0 where it stands there, 0.4 for a tag that is damaged or not alone, and 0.0 without.
    Several tags, and several numbers behind `####`, must mean the same.
    """

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
            answers, format_score = self._stated(text, answer_tag)
            fault = "" if answers else "no answer"
        except Unparsed as error:
            answers, format_score, fault = [], 0.0, str(error)
        answers = [_without_percent(answer) for answer in answers]
        if any(not self._same(answer, answers[-1]) for answer in answers[:-1]):
            fault = "several answers that disagree"
        if fault:
            score = RewardFunctionScore(format_score, 0.0, fault)
        else:
            score = self._compared(format_score, answers[-1], gold_number(expected_output))
        return self.shaped(score, text)

    def _stated(self, text: str, tag: str) -> tuple[list[str], float]:
        """The answers where they are looked for, and the format score."""
        tags = answer_tags(text, tag) if self.place in ("any", "tag") else []
        if tags:
            return [each.content for each in tags], format_of(tags)
        visible = _CALCULATION.sub("", split_thinking(text)[0])
        for place, find in _PLACES.items():
            if self.place in ("any", place) and (found := find(visible)):
                return found, 1.0
        return ([last_number(visible)], 1.0) if self.place == "last_number" else ([], 0.0)

    def _same(self, first: str, second: str) -> bool:
        return first == second or self._verdict(first, second).equal


def gold_number(expected: Expected) -> Expected:
    """The number of a reference, behind its `####` where it has one, without commas."""
    if not isinstance(expected, str):
        return expected
    return expected.rpartition("####")[2].strip().replace(",", "")


def _without_percent(answer: str) -> str:
    sign = _PERCENT.search(answer, max(0, len(answer) - _LONGEST_PERCENT))
    return answer[: sign.start()].rstrip() if sign else answer


def _hashed(text: str) -> list[str]:
    found: list[str] = []
    begin = 0
    for match in _HASH.finditer(text):
        if found and _NEXT.search(text, begin, match.start()):
            break
        found.append(match[1].strip())
        begin = match.end()
    return found


def _boxed(text: str) -> list[str]:
    box = last_box(text)
    return [] if box is None else [box]


def _said(text: str) -> list[str]:
    begin = 0
    questions = islice(_NEXT.finditer(text), _MOST_QUESTIONS)
    for end in [*(match.start() for match in questions), len(text)]:
        part = text[begin:end].replace("####", "")  # what is left of it are headings
        found = after_marker(part)
        if found is not None:
            marker = max(0, part.lower().rfind("answer"))
            behind = part[marker:].partition(found)[2] if found else ""
            if _DOUBT.search(behind[:_DOUBTED_WITHIN]):
                raise Unparsed("an answer that is taken back")
            return [found]
        begin = end
    return []


_PLACES = {"hash": _hashed, "box": _boxed, "phrase": _said}
