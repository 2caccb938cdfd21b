"""Judge JavaScript tests on the host, from the values that they reported."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...types import TestResult
from ..json_values import same_json, shown_json
from .tests import TestReading
from .values import NotJson, read_value

_REMEMBERED = 8192  # verdicts
_REMEMBERED_CHARS = 4096  # longer values are not cached
_UNJUDGED = "the value could not be judged within the limits of the run"


class ReportedAssertion(NamedTuple):
    """An assertion to judge: its script, and its operands as the guest encoded them."""

    script: str
    values: str


Messages = Mapping[ReportedAssertion, str]  # why each assertion fails, or ""


@dataclass(frozen=True)
class Ended:
    """A test that ended in the program's instance.

    `message` is why it failed there, or "". Each of `reports` is "number=values" for one assertion,
    or "number!message" if its values could not be read.
    """

    reading: TestReading
    message: str
    reports: Sequence[str] = ()

    def assertions(self) -> Iterable[ReportedAssertion]:
        """Yield the assertions that the host has to judge."""
        for report in self.reports:
            number, mark, values = _parts(report)
            if mark == "=" and number in self.reading.assertions:
                yield ReportedAssertion(self.reading.assertions[number].script, values)

    def result(self, messages: Messages) -> TestResult:
        """Pass if the test did not fail and each required assertion was reported and holds."""
        missing = {n for n, assertion in self.reading.assertions.items() if assertion.required}
        for report in self.reports:
            number, mark, values = _parts(report)
            assertion = self.reading.assertions.get(number)
            if assertion is None:
                return TestResult(False, "the test reported what it was not asked")
            missing.discard(number)
            message = (
                messages[ReportedAssertion(assertion.script, values)] if mark == "=" else values
            )
            if message or mark != "=":
                return TestResult(False, message or "a value could not be read")
        if not self.message and missing:
            return TestResult(False, "the test ended before all its assertions were reached")
        return TestResult(not self.message, self.message)


@dataclass(frozen=True)
class Returned:
    """A test that reports the value of an expression, to compare with a JSON value."""

    expression: str
    expected: Any
    message: str
    reports: Sequence[str] = ()

    def assertions(self) -> Iterable[ReportedAssertion]:
        """Return no assertions: the host compares the value itself."""
        return ()

    def result(self, _messages: Messages) -> TestResult:
        """Pass if the test did not fail and reported the expected value exactly once."""
        reports = [_parts(report) for report in self.reports]
        if self.message or len(reports) != 1:
            return TestResult(False, self.message or "the value was not reported once")
        ((_, mark, text),) = reports
        if mark != "=":
            return TestResult(False, text or "the value could not be read")
        try:
            value = read_value(text)
        except NotJson as error:
            return TestResult(False, f"the value of {self.expression} is no JSON: {error}")
        if same_json(value, self.expected):
            return TestResult(True)
        wanted, got = shown_json(self.expected), shown_json(value)
        return TestResult(False, f"{self.expression} is {got}, and should be {wanted}")


def _parts(report: str) -> tuple[int, str, str]:
    at = next((n for n, character in enumerate(report) if not character.isdigit()), 0)
    return (int(report[:at]) if at else -1), report[at : at + 1], report[at + 1 :]


class Verdicts:
    """Judge assertions with a cache: many correct programs report the same values."""

    def __init__(self) -> None:
        self._cache: OrderedDict[ReportedAssertion, str] = OrderedDict()
        self._lock = threading.Lock()

    def results(
        self,
        tests: Sequence[Ended | Returned],
        judge: Callable[[Sequence[ReportedAssertion]], Sequence[str]],
    ) -> tuple[TestResult, ...]:
        """Return one result per test. `judge` returns why each assertion fails, or "", until it
        meets a limit of the run.
        """
        assertions = dict.fromkeys(assertion for test in tests for assertion in test.assertions())
        messages = self._cached(assertions)
        unknown = [assertion for assertion in assertions if assertion not in messages]
        if unknown:
            judged = dict(zip(unknown, judge(unknown), strict=False))
            self._remember(judged)
            messages |= dict.fromkeys(unknown, _UNJUDGED) | judged
        return tuple(test.result(messages) for test in tests)

    def _cached(self, assertions: Iterable[ReportedAssertion]) -> dict[ReportedAssertion, str]:
        with self._lock:
            cached = {
                assertion: self._cache[assertion]
                for assertion in assertions
                if assertion in self._cache
            }
            for assertion in cached:
                self._cache.move_to_end(assertion)
        return cached

    def _remember(self, messages: Messages) -> None:
        with self._lock:
            for assertion, message in messages.items():
                if len(assertion.values) <= _REMEMBERED_CHARS and "out of memory" not in message:
                    self._cache[assertion] = message
            while len(self._cache) > _REMEMBERED:
                self._cache.popitem(last=False)
