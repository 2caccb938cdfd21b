"""Judge the values that a Python test reported: comparisons of plain data on the host."""

from __future__ import annotations

import math
import operator
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ..json_values import same_json
from .tests import Assertion, Closed, GuestValue, Operand, Test
from .values import Opaque, shown

Report = tuple[int, list[Any]]

# What a comparison of plain data can raise, such as `1 < "a"`.
_FAULTS = (TypeError, ValueError, ArithmeticError)

_MOST_UNORDERED = 200  # items compared pairwise; longer lists must be sortable

_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda item, box: _is_in(item, box),
    "not in": lambda item, box: not _is_in(item, box),
}


def _is_in(item: Any, box: Any) -> bool:
    """`item in box`, without the linear search of a range for an item that is no integer."""
    if not isinstance(box, range) or isinstance(item, int):
        return item in box
    whole = 0
    if box and isinstance(item, (float, Decimal, Fraction)):
        if not min(box[0], box[-1]) <= item <= max(box[0], box[-1]):
            return False  # as an integer, Decimal("1e99999999") would take minutes
        whole = int(item)
    return whole in box and bool(item == whole)


class Forged(Exception):
    """The reports cannot come from an unmodified test."""


def judge(test: Test, reports: Sequence[Report], closed: Sequence[Any]) -> str:
    """Return why a test that ran to its end fails, "" if it passes.

    `closed` are the values of the closed expressions. Raises `Forged`.
    """
    failure = first_failure(test, reports, closed)
    if failure:
        return failure
    counts = Counter(number for number, _ in reports)
    for number, assertion in enumerate(test.assertions):
        if assertion.exact and counts[number] != len(assertion.rows):
            return f"AssertionError: {assertion.text} was not reached"
    return ""


def first_failure(test: Test, reports: Sequence[Report], closed: Sequence[Any]) -> str:
    """Return the message of the first assertion that fails, "" if all hold. Raises `Forged`."""
    counts: Counter[int] = Counter()
    for number, values in reports:
        if not 0 <= number < len(test.assertions):
            raise Forged
        assertion = test.assertions[number]
        turn = counts[number] if assertion.exact else 0
        if turn >= len(assertion.rows):
            raise Forged
        counts[number] += 1
        message = _failure(assertion, assertion.rows[turn], values, closed)
        if message:
            return message
    return ""


def _failure(
    assertion: Assertion, row: Sequence[Operand], values: list[Any], closed: Sequence[Any]
) -> str:
    count = sum(isinstance(part, GuestValue) for part in row)
    self_reports = values[count:]  # the result of opaque objects' own comparison
    if len(values) < count or len(self_reports) > 1:
        raise Forged
    operands = [_operand(part, values, closed) for part in row]
    try:
        opaque = set(map(is_opaque, operands)) if self_reports and count == 2 else set()
        # The objects' own comparison decides if they are alike in being opaque or not, or if the
        # test itself makes one of the program's own class.
        if opaque and (len(opaque) == 1 or assertion.own):
            holds = self_reports[0] is True
        else:
            holds = _holds(assertion.relations, operands)
    except RecursionError:
        holds = False
    except _FAULTS as error:
        if not any(map(is_opaque, operands)):
            return f"{type(error).__name__}: {error}: {assertion.text}"
        holds = False
    return "" if holds else _message(assertion, values[:count])


def _operand(part: Operand, values: list[Any], closed: Sequence[Any]) -> Any:
    if isinstance(part, GuestValue):
        return values[part.position]
    return closed[part.index] if isinstance(part, Closed) else part.value


def _message(assertion: Assertion, values: list[Any]) -> str:
    note = f"{assertion.note}: " if assertion.note else ""
    got = " and ".join(map(shown, values))
    return f"AssertionError: {note}{assertion.text}" + (f" (got {got})" if got else "")


def is_opaque(value: Any) -> bool:
    """Whether any part of the value is opaque."""
    if isinstance(value, Opaque):
        return True
    if isinstance(value, Mapping):
        return any(map(is_opaque, value)) or any(map(is_opaque, value.values()))
    return isinstance(value, _HOLDERS) and any(map(is_opaque, value))


_HOLDERS = (list, tuple, Set, deque)


def _holds(relations: tuple[str, ...], operands: Sequence[Any]) -> bool:
    """Whether the relations hold between the operands, by Python's operators."""
    relation = relations[0]
    if relation in ("true", "false"):
        return bool(operands[0]) is (relation == "true")
    if relation.startswith("near "):
        left, right, tolerance = operands
        return bool(_RELATIONS[relation.removeprefix("near ")](abs(left - right), tolerance))
    if relation == "isclose":
        left, right, relative, absolute = operands
        return math.isclose(left, right, rel_tol=relative, abs_tol=absolute)
    if relation in ("approx", "not approx"):
        return _approx(*operands) is (relation == "approx")
    if relation == "same items":
        return _same_items(*operands)
    if relation == "json":
        return same_json(*operands)
    pairs = zip(relations, operands[:-1], operands[1:], strict=True)
    return all(_RELATIONS[between](left, right) for between, left, right in pairs)


def _same_items(left: list[Any], right: list[Any]) -> bool:
    """Whether two lists have equal items in any order."""
    if len(left) != len(right):
        return False
    if len(left) > _MOST_UNORDERED:
        return bool(sorted(left) == sorted(right))
    rest = [*right]
    for item in left:
        if item not in rest:
            return False
        rest.remove(item)
    return True


def _approx(actual: Any, expected: Any, relative: Any, absolute: Any) -> bool:
    """`actual == pytest.approx(expected, relative, absolute)`, with pytest's own defaults."""
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and actual.keys() == expected.keys()
            and all(_approx(actual[key], expected[key], relative, absolute) for key in expected)
        )
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(actual, (list, tuple))
            and len(actual) == len(expected)
            and all(
                _approx(a, e, relative, absolute) for a, e in zip(actual, expected, strict=True)
            )
        )
    numbers = (int, float, complex, Decimal)
    if actual == expected or not isinstance(expected, numbers):
        return bool(actual == expected)
    if isinstance(expected, bool) or not isinstance(actual, numbers):
        return False
    return _close(actual, expected, relative, absolute)


def _close(actual: Any, expected: Any, relative: Any, absolute: Any) -> bool:
    least = 1e-12 if absolute is None else absolute
    share = (1e-6 if absolute is None else 0) if relative is None else relative
    if isinstance(expected, Decimal):
        least, share = Decimal(least), Decimal(share)
    size = abs(expected)
    return not math.isinf(size) and bool(abs(actual - expected) <= max(least, share * size))
