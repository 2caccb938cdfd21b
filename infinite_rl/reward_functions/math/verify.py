"""`verify`: two texts in, a verdict with its reason out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .bounds import Budget, OutOfTime, OverBudget, Undefined, Unparsed
from .decide import difference, settled
from .extract import answer_text
from .normal import read
from .tree import Node, show

VerdictStatus = Literal["equal", "different", "unparsed", "timeout", "budget"]

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,299})")
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


def verify(prediction: str, gold: str, *, timeout: float = 2.0) -> Verdict:
    """Whether `prediction` means the same as `gold`, by the conventions of this package.

    Either may be a bare answer or a text that holds one: in `<answer>` tags, in the last
    `\\boxed{}`, or after a marker such as `#### `. The verdict does not depend on their order, on
    the thread or on the load of the machine, unless `timeout` (seconds) passes. Nothing is raised,
    whatever the texts hold.
    """
    if _INTEGER.fullmatch(prediction) and _INTEGER.fullmatch(gold):
        return _integers(prediction, gold)
    budget = Budget(timeout)
    forms: dict[str, Node] = {}
    failures: list[tuple[VerdictStatus, str]] = []
    for side, text in (("gold", gold), ("prediction", prediction)):
        try:
            forms[side] = settled(read(answer_text(text), budget), budget)
        except _FAULTS as fault:
            failures.append((_status(fault), f"{side}: {fault}"))
    shown = {f"{side}_form": show(form) for side, form in forms.items()}
    if failures:
        status = min((status for status, _ in failures), key=_FAILURES.index)
        return Verdict(status, "; ".join(reason for _, reason in failures), **shown)
    try:
        reason = difference(forms["prediction"], forms["gold"], budget)
    except Undefined as fault:
        return Verdict("different", str(fault), **shown)
    except _FAULTS as fault:
        return Verdict(_status(fault), str(fault), **shown)
    return Verdict("different" if reason else "equal", reason, **shown)


def _integers(prediction: str, gold: str) -> Verdict:
    """Plain numerals, the commonest answers, need no parser."""
    if prediction == gold or {prediction, gold} == {"-0", "0"}:
        return Verdict("equal", "", prediction, gold)
    return Verdict("different", "the numbers differ", prediction, gold)


def _status(fault: Exception) -> VerdictStatus:
    if isinstance(fault, OutOfTime):
        return "timeout"
    return "budget" if isinstance(fault, (OverBudget, RecursionError)) else "unparsed"
