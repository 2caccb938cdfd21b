"""`verify`: two texts in, a verdict with its reason out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from .bounds import Budget, OutOfTime, OverBudget, Undefined, Unparsed
from .decide import difference, settled
from .extract import Convention, answer_text
from .normal import read
from .tree import Node, show

VerdictStatus = Literal["equal", "different", "unparsed", "timeout", "budget"]

_INTEGER = re.compile(r"\s*(?:\$(-?[0-9]{1,300})\$|(-?[0-9]{1,300}))\.?\s*")
_SHORT = 200  # characters of an answer whose form is kept
_Failure = tuple[VerdictStatus, str]
_FAILURES: list[VerdictStatus] = ["unparsed", "budget", "timeout"]  # of two, the first counts
# A recursion error means that the caller's stack was nearly full: our own depth is bounded.
_FAULTS = (Unparsed, Undefined, OverBudget, OutOfTime, RecursionError)


@dataclass(frozen=True)
class Verdict:
    """What `verify` found.

    `prediction_form` and `gold_form` show how each side was read; "" where it could not be, and
    `reason` then says why. A gold with the form "" is the fault of the data, not of the
    prediction.
    """

    status: VerdictStatus
    reason: str = ""
    prediction_form: str = ""
    gold_form: str = ""

    @property
    def equal(self) -> bool:
        return self.status == "equal"


def verify(
    prediction: str, gold: str, *, timeout: float = 2.0, extract: Convention = "tag"
) -> Verdict:
    """Whether `prediction` means the same as `gold`, by the conventions of this package.

    Either may be a bare answer or a text that holds one: in `<answer>` tags, in the last
    `\\boxed{}`, or after a marker such as `#### `; `extract` names another convention, see
    `extract.answer_text`. The verdict does not depend on their order, on
    the thread or on the load of the machine, unless `timeout` (seconds) passes. Nothing is raised,
    whatever the texts hold.
    """
    budget = Budget(timeout)
    answers: dict[str, str] = {}
    failures: list[_Failure] = []
    for side, text in (("gold", gold), ("prediction", prediction)):
        try:
            answers[side] = answer_text(text, extract, reference=side == "gold")
        except Unparsed as fault:
            failures.append(("unparsed", f"{side}: {fault}"))
    numerals = [_INTEGER.fullmatch(answer) for answer in answers.values()]
    if len(numerals) == 2 and numerals[0] and numerals[1]:
        return _integers(numerals[1], numerals[0])
    forms: dict[str, Node] = {}
    for side, answer in answers.items():
        try:
            forms[side] = settled(_form(answer), budget)
        except _FAULTS as fault:
            failures.append((_status(fault), f"{side}: {fault}"))
    shown = {f"{side}_form": show(form) for side, form in forms.items()}
    if failures:
        status = min((status for status, _ in failures), key=_FAILURES.index)
        return Verdict(status, "; ".join(reason for _, reason in failures), **shown)
    return _decided(forms["prediction"], forms["gold"], budget, shown)


def _decided(prediction: Node, gold: Node, budget: Budget, shown: Mapping[str, str]) -> Verdict:
    try:
        reason = difference(prediction, gold, budget)
    except Undefined as fault:
        return Verdict("different", str(fault), **shown)
    except _FAULTS as fault:
        return Verdict(_status(fault), str(fault), **shown)
    return Verdict("different" if reason else "equal", reason, **shown)


def _integers(prediction: re.Match[str], gold: re.Match[str]) -> Verdict:
    """Plain numerals, the commonest answers, need no parser."""
    shown = [match[1] or match[2] for match in (prediction, gold)]
    reason = "" if int(shown[0]) == int(shown[1]) else "the numbers differ"
    return Verdict("different" if reason else "equal", reason, *shown)


def _form(answer: str) -> Node:
    """How an answer is read. The forms of short ones are kept: a gold comes once a completion."""
    return _kept_form(answer) if len(answer) <= _SHORT else read(answer, Budget(math.inf))


@lru_cache(512)
def _kept_form(answer: str) -> Node:
    return read(answer, Budget(math.inf))


def _status(fault: Exception) -> VerdictStatus:
    if isinstance(fault, OutOfTime):
        return "timeout"
    return "budget" if isinstance(fault, (OverBudget, RecursionError)) else "unparsed"
