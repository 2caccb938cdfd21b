"""Runs of programs in the sandbox: their values for inputs, and which new tests they pass.

All runs have fuel instead of time, so that a search has the same result on a busy machine.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..parsing.syntax import UNREADABLE, syntax_tree
from ..reward_functions.coding.judge import Caches, Judge, judge_printed
from ..reward_functions.coding.language import Runnable
from ..reward_functions.coding.programs import Submission
from ..reward_functions.coding.reference import Cases, Tests
from ..reward_functions.reward_function import BadReference
from ..sandbox.executor import RewardExecutor
from .call_values import JSON, LITERALS, call_values
from .forms import Check, Form, Input, literal
from .inputs import CallInput

_FUELS = [2 * 10**8 << n for n in range(6)]  # instructions; 3 to 8 million take a millisecond
_MARGIN = 4  # times the instructions of the row's own program that another may use
_BATCH = 60  # inputs or tests of one run
_MAX_VALUE_CHARS = 4_000
_MOST_EXHAUSTED = 20  # of one author's program
_TIMEOUT_S = 10.0  # for a run whose fuel is the limit
_OTHER_SEED = 1  # runs with fuel have 0


@dataclass
class Trials:
    """Runs of programs for the inputs of one row.

    `exhausted` counts the runs that a limit ended; after `most_exhausted` of these nothing runs,
    and nothing has a value or passes. `spent` is the fuel of all runs.

    Raises what `RewardExecutor.execute` raises.
    """

    executor: RewardExecutor
    form: Form
    fuel: int = _FUELS[0]
    most_exhausted: int = 10**9
    exhausted: int = 0
    spent: int = 0

    def of_others(self) -> Trials:
        """Runs of a program that another author wrote, which may never end."""
        return replace(self, most_exhausted=_MOST_EXHAUSTED, exhausted=0, spent=0)

    def calibrate(self, code: str) -> list[Any]:
        """Choose the fuel by the row's own program; its values for the inputs of the tests."""
        for fuel in _FUELS:
            self.fuel, self.spent = fuel // _MARGIN, 0
            if all(texts := self.values(code, self.form.seen[:_BATCH])):
                self.fuel = fuel
                break
        values: list[Any] = []
        for text in filter(None, texts):
            with suppress(ValueError):
                values.append(self.form.value(text))
        return values

    def accepts(self, code: str, tests: Runnable) -> bool:
        """Whether a program passes the tests of a row."""
        judge = Judge(RewardExecutor(fuel=self.fuel), _TIMEOUT_S, Caches())
        return judge.verdict(Submission(1.0, code), tests, self.form.language, fast=True).passed

    def values(self, code: str, points: Sequence[Input]) -> list[str]:
        """The value of each input as text: a literal, JSON, or what is printed; "" for none.

        There is none if the program raises, ends the process, or uses up its fuel.
        """
        if isinstance(self.form.reference, Cases):
            return [self._printed(code, str(point)) for point in points]
        values: list[str] = []
        for start in range(0, len(points), _BATCH):
            values += self._values(code, points[start : start + _BATCH])
        return values

    def _printed(self, code: str, stdin: str) -> str:
        run = self.executor.execute(code, self.form.language, stdin=stdin, fuel=self.fuel)
        self.spent += run.fuel
        return run.stdout if run.status == "ok" and len(run.stdout) <= _MAX_VALUE_CHARS else ""

    def _values(self, code: str, points: Sequence[Input]) -> list[str]:
        if isinstance(self.form.reference, Tests):
            code = f"{code}\n\n{self.form.reference.setup}"
        calls = [each for each in points if isinstance(each, CallInput)]
        return self._texts_of(code, [self.form.expression(each) for each in calls])

    def _texts_of(self, code: str, calls: Sequence[str]) -> list[str]:
        """The values of expressions after a program. A call that a limit ends has none."""
        form = LITERALS if self.form.language == "python" else JSON
        values: list[str] = []
        while (rest := calls[len(values) :]) and self.exhausted < self.most_exhausted:
            texts, run = call_values(
                self.executor, code, self.form.language, rest, form, _MAX_VALUE_CHARS,
                fuel=self.fuel,
            )  # fmt: skip
            reached = max(texts, default=-1) + 1
            if is_whole := run.status in ("ok", "error"):
                reached = len(rest)
            values += [texts.get(number, "") for number in range(reached)]
            self.spent += run.fuel
            self.exhausted += not is_whole
            if not reached:  # it began with all of the fuel
                values.append("")
        return values + [""] * (len(calls) - len(values))

    def generated(self, generator: str, count: int) -> list[Input]:
        """The inputs of an author's `generate(seed)`, for the seeds from 0 on."""
        texts = self._author(generator, [f"generate({seed})" for seed in range(count)])
        inputs: list[Input] = []
        for text in texts:
            try:
                value = ast.literal_eval(syntax_tree(text.lstrip(), "eval"))
            except (*UNREADABLE, TypeError):
                continue
            shape = self.form.seen[0]
            if isinstance(shape, str):
                inputs += [value] if isinstance(value, str) else []
            elif isinstance(value, list | tuple) and len(value) == len(shape.args):
                inputs.append(CallInput(shape.name, tuple(value), {}))
        return inputs

    def valid(self, validator: str, points: Sequence[Input]) -> list[bool]:
        """Whether an author's `is_valid(*arguments)` accepts each input."""
        texts = []
        for point in points:
            args = [point] if isinstance(point, str) else [*point.args, *point.kwargs.values()]
            texts.append(f"is_valid({', '.join(map(literal, args))})")
        return [text == "True" for text in self._author(validator, texts)]

    def _author(self, code: str, calls: Sequence[str]) -> list[str]:
        """The values of calls of an author's program in Python, as literals."""
        author = replace(self.of_others(), form=Form(Tests(()), "python", ()), fuel=_FUELS[0])
        batches = (calls[start : start + _BATCH] for start in range(0, len(calls), _BATCH))
        return [text for batch in batches for text in author._texts_of(code, batch)]

    def stated(self, code: str, points: Sequence[Input]) -> list[Check | None]:
        """A test of each input with the program's value; None if it has no stable, plain one.

        The inputs run twice, in another order and with other random numbers: a value may not depend
        on chance or on the calls before. A fourth of the fuel must do: another program that is
        right may be slower.
        """
        thrifty, turn = replace(self, fuel=self.fuel // _MARGIN), len(points) // 2
        first, turn = thrifty.values(code, points), turn if len(points) > 3 else 0
        other = replace(thrifty, executor=RewardExecutor(seed=_OTHER_SEED))
        turned = other.values(code, [self.form.seen[0], *points[turn:], *points[:turn]])[1:]
        again = [*turned[len(points) - turn :], *turned[: len(points) - turn]]
        same = [one if one == other else "" for one, other in zip(first, again, strict=True)]
        checks = [self.form.check(p, v) if v else None for p, v in zip(points, same, strict=True)]
        if isinstance(self.form.reference, Cases):
            return checks
        usable = [each for each in checks if each]
        fine = iter(self.passed(code, usable))
        return [each if each and next(fine) else None for each in checks]

    def passed(self, code: str, checks: Sequence[Check]) -> list[bool]:
        """Which of the tests a program passes. One that uses up its fuel fails that test."""
        return list(self.outcomes(code, checks))

    def outcomes(
        self, code: str, checks: Sequence[Check], *, until_killed: bool = False
    ) -> Iterator[bool]:
        """Yield whether a program passes each test, in order; run no more than the reader takes.

        With `until_killed`, a program that has failed a test does not run again after a limit.
        """
        if isinstance(self.form.reference, Cases):
            yield from (self._prints(code, str(each.input), each.test) for each in checks)
            return
        for start in range(0, len(checks), _BATCH):
            batch, count = checks[start : start + _BATCH], 0
            while count < len(batch):
                results = self._run(code, batch[count:])
                yield from results
                count += len(results)
                if until_killed and count < len(batch) and not all(results):
                    return

    def _prints(self, code: str, stdin: str, wanted: str) -> bool:
        reference = self.form.reference
        assert isinstance(reference, Cases)
        run = self.executor.execute(code, self.form.language, stdin=stdin, fuel=self.fuel)
        self.spent += run.fuel
        if run.status != "ok":
            return False
        try:
            return judge_printed(stdin, run.stdout, wanted, reference.how).passed
        except BadReference:
            return False

    def _run(self, code: str, checks: Sequence[Check]) -> list[bool]:
        """The results of the tests in one run, up to where a limit ended it; one at least."""
        tests = self.form.runnable(checks)
        assert isinstance(tests, Tests)
        if self.exhausted >= self.most_exhausted:
            return [False] * len(checks)
        run = self.executor.execute(code, self.form.language, fuel=self.fuel, **tests.arguments())
        self.spent += run.fuel
        if run.status not in ("ok", "error"):
            self.exhausted += 1
            # A test that did not begin with all of the fuel runs again.
            return [each.passed for each in run.tests] or [False]
        results = [each.passed and run.status == "ok" for each in run.tests]
        return results if len(results) == len(checks) else [False] * len(checks)
