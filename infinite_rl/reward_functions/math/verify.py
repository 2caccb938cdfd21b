"""`verify`: two texts in, a verdict with its reason out."""

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Literal

from .bounds import Budget, NotReady, OutOfTime, OverBudget, Unavailable, Undefined, Unparsed
from .conditions import with_conditions
from .equivalence import difference, is_quantity
from .exact import half_factored
from .extract import Convention, answer_text
from .normal_form import read, rounded_part
from .question import FAULTS, ROUNDED, Attempt, in_context, left_undone, not_as_requested
from .regions import SETS, as_region
from .tree import Node, show

Decimals = Literal["exact", "gold"]
VerdictStatus = Literal["equal", "different", "unparsed", "timeout", "budget"]

_INTEGER = re.compile(r"\s{0,99}(?:\$(-?[0-9]{1,300})\$|(-?[0-9]{1,300}))\.?\s{0,99}")
CALCULUS = ("\\int", "\\sum", "\\prod", "\\lim", "{dx}", "∫", "∑", "∏")  # perhaps work for sympy
_DECIMAL = re.compile(r"\.([0-9]+)(?:e([-+]?[0-9]{1,3}))?")
_CHOICES = frozenset("abcd")
_SHORT = 200  # characters of an answer whose form is kept: a gold recurs with each completion
_FAILURES: list[VerdictStatus] = ["unparsed", "budget", "timeout"]  # of two, the first counts


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison.

    `prediction_form` and `gold_form` show how each side was read; "" if it could not be read, and
    `reason` then says why. A gold with the form "" is the fault of the data, not of the
    prediction. `missing` is set if neither is at fault: the comparison needs sympy, which is not
    installed or not loaded yet.
    """

    status: VerdictStatus
    reason: str = ""
    prediction_form: str = ""
    gold_form: str = ""
    missing: bool = field(default=False, kw_only=True)

    @property
    def equal(self) -> bool:
        """Whether the two mean the same."""
        return self.status == "equal"


def verify(
    prediction: str,
    gold: str,
    *,
    timeout: float = 2.0,
    extract: Convention = "tag",
    decimals: Decimals = "exact",
    question: str = "",
) -> Verdict:
    """Whether `prediction` means the same as `gold`, by the conventions of this package.

    Either may be a bare answer or a text that holds one: in `<answer>` tags, in the last
    `\\boxed{}`, or after a marker such as `#### `; `extract` names another convention, see
    `extract.answer_text`. The verdict does not depend on their order, on the thread or on the load
    of the machine, unless `timeout` (seconds) passes; the time in which sympy loads, once in a
    process, is not counted. Nothing is raised, whatever the texts hold.

    With `decimals="gold"` a number that rounds to a gold with a decimal point is equal, and the
    reason says so: 3.14159 to 3.14. With a `question`, the answer must have the order, the unit and
    the factored form that it asks for.
    """
    verdict = _judged(prediction, gold, timeout, extract, decimals, question)
    if verdict.status != "timeout" or not verdict.missing:
        return verdict
    from .algebra import wait_until_ready

    wait_until_ready()
    return _judged(prediction, gold, timeout, extract, decimals, question)


def _judged(
    prediction: str,
    gold: str,
    timeout: float,
    extract: Convention,
    decimals: Decimals,
    question: str,
) -> Verdict:
    sides = (_INTEGER.fullmatch(prediction), _INTEGER.fullmatch(gold))
    if extract == "tag" and sides[0] and sides[1]:
        return _integers(sides[0], sides[1])
    budget = Budget(timeout)
    answers: dict[str, str] = {}
    faults: dict[str, Exception] = {}
    for side, text in (("gold", gold), ("prediction", prediction)):
        try:
            requested = question if side == "prediction" else ""
            answers[side] = answer_text(text, extract, reference=side == "gold", question=requested)
        except Unparsed as fault:
            faults[side] = fault
    numerals = [_INTEGER.fullmatch(answer) for answer in answers.values()]
    if len(numerals) == 2 and numerals[0] and numerals[1]:
        return _integers(numerals[1], numerals[0])
    forms: dict[str, Node] = {}
    same = len(set(answers.values())) == 1
    written: dict[str, Node] = {}
    for side, answer in answers.items():
        try:
            form = _cached_form(answer) if len(answer) <= _SHORT else read(answer, Budget(math.inf))
            written[side] = form
            if question and side == "prediction" and "gold" in forms and not same:
                attempt = Attempt(question, answer, answers["gold"], form, written["gold"])
                undone = left_undone(attempt)
                if undone:
                    return Verdict("different", undone, show(form), show(forms["gold"]))
            forms[side] = canonicalize(form, budget, same=same)
        except FAULTS as fault:
            faults[side] = fault
    shown = [show(forms[side]) if side in forms else "" for side in ("prediction", "gold")]
    if faults:
        return _failed(faults, shown)
    verdict = _decided(forms["prediction"], forms["gold"], budget, shown, question)
    if verdict.status != "different":
        return verdict
    rounds = decimals == "gold"
    for side, other in (("prediction", "gold"), ("gold", "prediction")):
        value = rounded_part(answers[side])
        task = question if side == "prediction" else ""
        if not value or not _judged(value, answers[other], timeout, extract, decimals, task).equal:
            continue
        if forms[side].symbols and not forms[other].symbols:  # `S = R \ln 2 \approx 5.76`
            return Verdict("equal", "", *shown)
        rounds = rounds or (side == "prediction" and ROUNDED.search(question) is not None)
    if rounds and _rounds_to(forms["prediction"], forms["gold"], answers["gold"], budget):
        return Verdict("equal", "it rounds to the decimals of the gold", *shown)
    return verdict


def _rounds_to(prediction: Node, gold: Node, text: str, budget: Budget) -> bool:
    """Whether a value is within half a unit of the last digit of a decimal gold."""
    written = _DECIMAL.search(text)
    sides = [node.args[0] if node.op == "named" else node for node in (prediction, gold)]
    units = [node.unit.dimension for node in sides if node.unit is not None]
    sides = [node.args[0] if node.op == "quantity" else node for node in sides]
    plain = all(side.is_expression and not side.symbols for side in sides)
    if written is None or not plain or sides[1].op != "num" or len(set(units)) > 1:
        return False
    from .numeric import real_value  # loads mpmath

    try:
        value, exact = (real_value(side, budget) for side in sides)
    except FAULTS:
        return False
    half = Fraction(10) ** (int(written[2] or 0) - len(written[1])) / 2
    return abs(value - exact) <= half


def verify_many(
    pairs: Iterable[tuple[str, str]], *, timeout: float = 2.0, extract: Convention = "tag"
) -> list[Verdict]:
    """`verify` for each pair of a prediction and its gold, in their order.

    Equal pairs are judged once. `timeout` is for each of them. Pairs that need
    algebra run in parallel, in one process per core; the time to load sympy is not counted.
    """
    each = list(pairs)
    distinct = list(dict.fromkeys(each))
    slow = [pair for pair in distinct if any(sign in text for text in pair for sign in CALCULUS)]
    judge = partial(verify, timeout=timeout, extract=extract)
    verdicts: dict[tuple[str, str], Verdict] = {}
    if len(slow) > 1:
        from concurrent.futures import ThreadPoolExecutor  # loads logging, which nothing here needs

        with ThreadPoolExecutor(min(len(slow), os.cpu_count() or 1)) as pool:
            verdicts.update(zip(slow, pool.map(lambda pair: judge(*pair), slow), strict=True))
    verdicts.update((pair, judge(*pair)) for pair in distinct if pair not in verdicts)
    return [verdicts[pair] for pair in each]


def canonicalize(form: Node, budget: Budget, *, same: bool = False) -> Node:
    """The form without integrals and their like, without chains, and with its sets in order.

    If both answers are the `same` text, integrals are not evaluated, unless a chain of equal signs
    may be wrong. Raises Unparsed if a part has no closed form or the parts of a chain differ, and
    the errors of `difference`.
    """
    if form.holds("calculus") and not (same and not form.holds("chain")):
        from .algebra import without_calculus  # it starts processes: hardly any answer needs it

        form = without_calculus(form, budget.deadline)
    return _checked(form, budget)


def _checked(node: Node, budget: Budget) -> Node:
    """Replace each chain of equal signs by its last part. `2 + 2 = 5` raises Unparsed."""
    if node.is_expression:
        return node  # no expression holds a chain
    if node.op == "conditional":
        return with_conditions(node, _checked(node.args[0], budget), budget)
    if node.op == "order":  # as a list, if it is true
        from .numeric import real_value  # loads mpmath

        values = [real_value(part, budget) for part in node.args]
        rising = str(node.value)[0] == "<"
        for low, high in zip(values, values[1:], strict=False):
            if not (low < high if rising else high < low):
                raise Unparsed("numbers that are not in the order that is stated")
        return Node("list", node.args if rising else node.args[::-1], ",")
    if node.op != "chain":
        inner = tuple(_checked(arg, budget) for arg in node.args)
        whole = node if inner == node.args else node.with_args(inner)
        return as_region(whole, budget) if node.op in SETS else whole
    first, *rest = (_checked(arg, budget) for arg in node.args)
    name = str(first.value) if first.op in ("sym", "text") else ""
    parts = rest if name else [first, *rest]
    numeric = [part.is_expression and not part.symbols for part in parts]
    if numeric[-1]:  # `m + n = 6 + 9 = 15`, `x = y = 5`, `A = b h = 2 * 3 = 6`
        inserted = name != "" and numeric[-2:] == [True, True]
        parts = [p for p in parts if not (p.symbols and (inserted or is_quantity(p)))]
    for part in parts[:-1]:
        if difference(part, parts[-1], budget):
            raise Unparsed("the parts of the equation are not equal")
    return Node("named", (parts[-1],), name) if name else parts[-1]


def _failed(faults: Mapping[str, Exception], shown: Sequence[str]) -> Verdict:
    status = min((_status(fault) for fault in faults.values()), key=_FAILURES.index)
    reason = "; ".join(f"{side}: {fault}" for side, fault in faults.items())
    missing = any(isinstance(fault, (Unavailable, NotReady)) for fault in faults.values())
    return Verdict(status, reason, *shown, missing=missing)


def _decided(
    prediction: Node, gold: Node, budget: Budget, shown: Sequence[str], question: str
) -> Verdict:
    letters = {str(side.value).casefold() for side in (prediction, gold) if side.op == "sym"}
    if prediction.op == gold.op == "sym" and len(letters) == 1 and letters <= _CHOICES:
        return Verdict("equal", "", *shown)  # `b` and `B`
    try:
        reason = difference(prediction, gold, budget)
        if reason and question:
            with_question = in_context(question, prediction, gold)
            if with_question is not prediction:  # else the difference is that of before
                prediction, reason = with_question, difference(with_question, gold, budget)
        if not reason and half_factored(prediction, gold, budget):
            reason = "one is factored further"
        if not reason and question:
            reason = not_as_requested(question, prediction, gold, budget)
    except Undefined as fault:
        return Verdict("different", str(fault), *shown)
    except FAULTS as fault:
        return Verdict(_status(fault), str(fault), *shown)
    return Verdict("different" if reason else "equal", reason, *shown)


def _integers(prediction: re.Match[str], gold: re.Match[str]) -> Verdict:
    """Plain numerals, the commonest answers, need no parser."""
    shown = [match[1] or match[2] for match in (prediction, gold)]
    reason = "" if int(shown[0]) == int(shown[1]) else "the numbers differ"
    return Verdict("different" if reason else "equal", reason, shown[0], shown[1])


@lru_cache(512)
def _cached_form(answer: str) -> Node:
    return read(answer, Budget(math.inf))


def forget_forms() -> None:
    """Empty the cache of forms, so that a benchmark measures every text anew."""
    _cached_form.cache_clear()


def _status(fault: Exception) -> VerdictStatus:
    if isinstance(fault, OutOfTime):
        return "timeout"
    return "budget" if isinstance(fault, (OverBudget, RecursionError)) else "unparsed"
