"""The results of JavaScript tests from the values that they reported, judged on the host."""

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
_REMEMBERED_CHARS = 4096  # of one value; longer ones are judged each time
_UNJUDGED = "the value could not be judged within the limits of the run"


class Question(NamedTuple):
    """An assertion to judge: its script, and the values it asks for as the guest encoded them."""

    script: str
    values: str


Answers = Mapping[Question, str]  # why each assertion fails, or ""


@dataclass(frozen=True)
class Ended:
    """A test that came to its end beside the program.

    `message` is why it failed there, or "". Each of `reports` is "number=values" for one assertion,
    or "number!message" where its values could not be had.
    """

    reading: TestReading
    message: str
    reports: Sequence[str] = ()

    def questions(self) -> Iterable[Question]:
        """The assertions that are left to judge."""
        for report in self.reports:
            number, mark, values = _parts(report)
            if mark == "=" and number in self.reading.asked:
                yield Question(self.reading.asked[number].script, values)

    def result(self, answers: Answers) -> TestResult:
        """Passed where the test ended well, and every assertion holds that it had to reach."""
        missing = {n for n, asked in self.reading.asked.items() if asked.required}
        for report in self.reports:
            number, mark, values = _parts(report)
            asked = self.reading.asked.get(number)
            if asked is None:
                return TestResult(False, "the test reported what it was not asked")
            missing.discard(number)
            message = answers[Question(asked.script, values)] if mark == "=" else values
            if message or mark != "=":
                return TestResult(False, message or "a value could not be read")
        if not self.message and missing:
            return TestResult(False, "the test ended before all its assertions were reached")
        return TestResult(not self.message, self.message)


@dataclass(frozen=True)
class Returned:
    """A test that asks for the value of an expression, which is to be a JSON value."""

    expression: str
    expected: Any
    message: str
    reports: Sequence[str] = ()

    def questions(self) -> Iterable[Question]:
        """None: the host compares."""
        return ()

    def result(self, _answers: Answers) -> TestResult:
        """Passed where the test ended well, and has reported the value that was expected once."""
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
    """Judges assertions, and remembers some: many programs give the same right values."""

    def __init__(self) -> None:
        self._known: OrderedDict[Question, str] = OrderedDict()
        self._lock = threading.Lock()

    def results(
        self,
        tests: Sequence[Ended | Returned],
        judge: Callable[[Sequence[Question]], Sequence[str]],
    ) -> tuple[TestResult, ...]:
        """One result for each test. `judge` says of each question why it fails, or "", until it
        meets a limit of the run.
        """
        asked = dict.fromkeys(question for test in tests for question in test.questions())
        answers = self._remembered(asked)
        unknown = [question for question in asked if question not in answers]
        if unknown:
            found = dict(zip(unknown, judge(unknown), strict=False))
            self._remember(found)
            answers |= dict.fromkeys(unknown, _UNJUDGED) | found
        return tuple(test.result(answers) for test in tests)

    def _remembered(self, asked: Iterable[Question]) -> dict[Question, str]:
        with self._lock:
            found = {
                question: self._known[question] for question in asked if question in self._known
            }
            for question in found:
                self._known.move_to_end(question)
        return found

    def _remember(self, found: Answers) -> None:
        with self._lock:
            for question, message in found.items():
                if len(question.values) <= _REMEMBERED_CHARS and "out of memory" not in message:
                    self._known[question] = message
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
