"""Running a program against its reference, and checking that the reference itself can judge."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from ...errors import ExtraMissing
from ...sandbox.calibration import time_factor
from ...sandbox.checkers import run_checker_in
from ...sandbox.executor import RewardExecutor
from ...types import Execution
from ..reward_function import BadReference
from .calls import WrongLanguage
from .language import Runnable
from .plain_calls import are_plain_calls
from .programs import Submission, is_method_of_solution
from .reference import (
    Cases,
    Comparison,
    Output,
    Predicate,
    ReferenceCode,
    RowLimits,
    Tests,
    split_method,
    stated_bound,
)
from .verdicts import (
    SYNTAX_ERROR,
    Verdict,
    brief,
    ending,
    failed_run,
    has_compiled,
    judge_output,
    judge_predicate,
    limit_of,
    quote,
    rejected,
)

CASES_TIMEOUTS = 20  # the limit of all cases or tests of one program together, in timeouts
_LEAST_MEMORY_MB = 64  # Python takes 42 MiB to start; a row's limit is for native programs
_MAX_INPUT = 64 * 2**20  # characters: the sandbox refuses more than a quarter of its memory
_PER_INPUT = 8  # bytes of memory at least for a character of the input: there are copies of it
_LONG_OUTPUT = 400_000  # characters of an expected output that may need another limit
OTHER_TIMEOUTS = 5  # for the other runs of one judgement: the last case, the reference's code
_MAX_CACHED = 256  # references; one serves every completion of its group
# How the message of a test that cannot run at all begins; a SyntaxError further down may be
# expected. Programs cause such messages too, so the test is also run without one.
_BROKEN = re.compile(
    r"^(?:(?:SyntaxError|IndentationError|TabError|ModuleNotFoundError)\b"
    r"|Error: Cannot find module\b)",
    re.MULTILINE,
)
# A test that expects an error may well pass without a program: its absence is an error, too.
_EXPECTS_ERROR = re.compile(
    r"raises|throws|rejects|\bexcept\b|\bcatch\b|\bsuppress\b", re.IGNORECASE
)
_ANY_NAME = "def __getattr__(name): return print"  # a module from which any name can be imported
_NO_LIMITS = RowLimits()
_CHECKERS = RewardExecutor(timeout=10.0, memory_limit_mb=1024)
Key = TypeVar("Key")
Value = TypeVar("Value")


class Sandbox(Protocol):
    """The part of `RewardExecutor` that the reward needs."""

    def execute(
        self,
        code: str,
        lang: str,
        *,
        stdin: str = "",
        timeout: float | None = None,
        tests: Sequence[str] = (),
        entry_point: str = "",
        setup: str = "",
        expected: Sequence[Any] = (),
        file: str = "",
        memory_limit_mb: float | None = None,
        output_limit: int | None = None,
    ) -> Execution:
        """As `RewardExecutor.execute`."""
        ...


@dataclass(frozen=True)
class Caches:
    """What is known of references: the outputs of their code, the faults of their tests."""

    outputs: dict[tuple[str, str], str] = field(default_factory=dict)
    faults: dict[tuple[Tests, str], BadReference | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Judge:
    """Judges programs by runs in `executor`, each within `timeout` seconds.

    With `first_failure`, no case runs after one that failed. `time_factor` multiplies the timeouts
    of rows; by default it is measured.
    """

    executor: Sandbox
    timeout: float
    caches: Caches
    first_failure: bool = False
    time_factor: float | None = None

    def verdict(
        self, submission: Submission, reference: Runnable, language: str, *, fast: bool = False
    ) -> Verdict:
        """Judge a program. With `fast`, stop at the first failure and take the tests to be sound.

        Raises:
            BadReference: nothing can be judged against the reference.
            RuntimeMissing, SandboxError: nothing can be run.
        """
        if submission.error:
            return rejected(submission.error)
        if isinstance(reference, Tests):
            code = _after(reference.preamble, submission.code)
            return self._judge_tests(code, reference, language, fast=fast)
        if isinstance(reference, Cases):
            return self._judge_cases(submission.code, reference, language, fast=fast)
        if isinstance(reference, ReferenceCode):
            reference = Output(self._reference_output(reference.code, reference.language))
        wanted = reference.text if isinstance(reference, Output) else ""
        execution = self.run(submission.code, language, wanted=wanted)
        if execution.status != "ok":
            verdict = failed_run(execution, self.timeout)
        elif isinstance(reference, Predicate):
            verdict = judge_predicate(execution.stdout.strip(), reference)
        else:
            verdict = judge_output(execution.stdout, reference)
        return _sure(verdict, execution)

    def run(
        self,
        code: str,
        language: str,
        limits: RowLimits = _NO_LIMITS,
        *,
        wanted: str = "",
        **more: Any,
    ) -> Execution:
        """Run a program, which may print somewhat more than `wanted`. Raises as the executor."""
        if limits.memory_mb:
            needed = _PER_INPUT * len(more.get("stdin", "")) / 2**20
            more["memory_limit_mb"] = max(limits.memory_mb, _LEAST_MEMORY_MB, needed)
        if len(wanted) > _LONG_OUTPUT:
            usual = getattr(self.executor, "output_limit", 0)
            more["output_limit"] = max(usual, 2 * len(wanted) + _LONG_OUTPUT)
        try:
            return self.executor.execute(code, language, timeout=self._timeout(limits), **more)
        except ExtraMissing as missing:
            raise BadReference(str(missing)) from None

    def _timeout(self, limits: RowLimits) -> float:
        return limits.timeout * self._factor() if limits.timeout else self.timeout

    def _factor(self) -> float:
        return time_factor() if self.time_factor is None else self.time_factor

    def _limit_of(self, execution: Execution, limits: RowLimits) -> dict[str, Any]:
        """The limit that stopped a program; the factor of a timeout that its row states."""
        details = limit_of(execution)
        if limits.timeout and execution.status == "timeout":
            details["time_factor"] = self._factor()
        return details

    def _reference_output(self, code: str, language: str) -> str:
        """What the reference's code prints; it runs once for all completions of a group.

        Raises `BadReference`. A failure is not cached: the machine may have been busy.
        """
        if (code, language) in self.caches.outputs:
            return self.caches.outputs[code, language]
        execution = self.run(code, language)
        if execution.status != "ok":
            reason = ending(execution, self.timeout)
            raise BadReference(f"the reference (answer) execution failed: {reason}")
        if not execution.stdout.strip():
            raise BadReference("the reference code prints nothing")
        _cache(self.caches.outputs, (code, language), execution.stdout)
        return execution.stdout

    def _judge_cases(self, code: str, reference: Cases, language: str, *, fast: bool) -> Verdict:
        """Run the program once per case. After a run that hit a limit, the other cases fail.

        So do those that are left when all runs together took twenty timeouts: a model that writes
        its own cases could ask for thousands of slow ones. A row that states its own timeout
        allows it to each case. A case that cannot be judged ends the judgement: the program has
        failed if another case failed before.
        """
        count, passed, error = len(reference.cases), 0, ""
        timeout, how = self._timeout(reference.limits), reference.how
        compiled, left_s = True, CASES_TIMEOUTS * timeout
        for number, (stdin, wanted) in enumerate(reference.cases, start=1):
            try:
                if len(stdin) > _MAX_INPUT:
                    raise BadReference(f"the input has over {_MAX_INPUT} characters")
                execution = self.run(code, language, reference.limits, stdin=stdin, wanted=wanted)
                if execution.status == "ok":
                    verdict = judge_printed(stdin, execution.stdout, wanted, how)
                else:
                    verdict = failed_run(execution, timeout)
                    compiled = verdict.compiled
                _sure(verdict, execution)
            except BadReference as fault:
                if error:
                    break
                raise BadReference(f"case {number}: {fault}") from None
            passed += verdict.passed
            if not (verdict.passed or error):
                error = f"case {number} with input {quote(stdin.strip())}: {verdict.error}"
            left_s -= execution.duration_s
            if left_s < 0 and number < count and not reference.limits.timeout:
                error = error or f"timeout: the first {number} cases took too long together"
                break
            if execution.status not in ("ok", "error") or not compiled:
                break
            if error and (fast or self.first_failure):
                break
        limit = self._limit_of(execution, reference.limits)
        details = {"cases": count, "cases_passed": passed, **limit}
        error = error and f"{passed} of {count} cases passed; {error}"
        return Verdict(passed / count, passed == count, error, details, compiled)

    def _judge_tests(self, code: str, reference: Tests, language: str, *, fast: bool) -> Verdict:
        """Run all tests after the program, in one sandbox."""
        execution = self._run_tests(code, reference, language)
        count, results = len(reference.tests), execution.tests
        passed = sum(result.passed for result in results)
        limit = self._limit_of(execution, reference.limits)
        details = {"tests": count, "tests_passed": passed, **limit}
        if _all_pass(reference, execution):
            if not fast and not are_plain_calls(reference, language):
                self.check_tests(reference, language)  # a program can make what the sandbox lacks
            return Verdict(1.0, True, "", details)
        if execution.doubt:
            raise BadReference(_unjudged(reference, execution) or execution.doubt)
        messages = (execution.stderr, *(each.message for each in results))
        if not fast and (not results or any(map(_BROKEN.search, messages))):
            self.check_tests(reference, language)
        if unjudged := _unjudged(reference, execution):
            raise BadReference(unjudged)
        ended = ending(execution, self._timeout(_together(reference)))
        if passed >= count:  # all passed, yet it ended badly: none of its reports is believed
            return Verdict(0.0, False, ended or "more results than tests", details)
        numbered = enumerate(zip(reference.tests, results, strict=False), start=1)
        failures = (
            f"test {number} failed: {brief(result.message)} in: {quote(test.strip())}"
            for number, (test, result) in numbered
            if not result.passed
        )
        reason = ended or next(failures, "the program ended before it could be tested")
        error = f"{passed} of {count} tests passed; {reason}"
        return Verdict(passed / count, False, error, details, has_compiled(execution))

    def check_tests(self, tests: Tests, language: str) -> None:
        """Raise `BadReference` if no program could pass the tests, or if every program passes.

        The tests run in an instance without a program, so that none can influence the result, once
        for all completions of a group.
        """
        faults = self.caches.faults
        if (tests, language) in faults:
            fault = faults[tests, language]
        else:
            fault = BadReference("the tests pass without a program")
            for code in _no_programs(tests, language):
                execution = self._run_tests(code, tests, language)
                if not _all_pass(tests, execution) or expects_error(tests):
                    fault = _fault_of(tests, execution)
                    break
            is_importing = any("import" in text for text in (tests.setup, *tests.tests))
            if fault is None and language == "python" and is_importing:
                # The import that fails may follow an import of the program.
                execution = self._run_tests(_ANY_NAME, tests, language)
                fault = _fault_of(tests, execution)
            if execution.status in ("ok", "error"):  # otherwise the machine may have been busy
                _cache(faults, (tests, language), fault)
        if fault:
            raise type(fault)(str(fault))

    def _run_tests(self, code: str, tests: Tests, language: str) -> Execution:
        tests = _as_run(_of_solution(tests, code, language), language)
        return self.run(code, language, _together(tests), **tests.arguments())


def row_bound_s(expected: object, factor: float | None = None) -> float:
    """The seconds that a row's own limits add to the bound of one judgement, or 0."""
    stated = stated_bound(expected)
    return stated and stated * (time_factor() if factor is None else factor)


def _together(tests: Tests) -> RowLimits:
    """The limits of one run of all tests: the row's are for one test."""
    limits, count = tests.limits, min(len(tests.tests), CASES_TIMEOUTS)
    return replace(limits, timeout=limits.timeout * count)


def _after(preamble: str, code: str) -> str:
    """The code after a preamble, but for code with an import that must stand first."""
    return f"{preamble.rstrip()}\n{code}" if preamble and "from __future__" not in code else code


def _sure(verdict: Verdict, execution: Execution) -> Verdict:
    """The verdict. Raises `BadReference` for a failure that may be none where it runs natively."""
    if execution.doubt and not verdict.passed:
        raise BadReference(execution.doubt)
    return verdict


def _cache(cache: dict[Key, Value], key: Key, value: Value) -> None:
    if len(cache) >= _MAX_CACHED:
        cache.clear()
    cache[key] = value


def _all_pass(tests: Tests, execution: Execution) -> bool:
    passed = sum(result.passed for result in execution.tests)
    return passed == len(tests.tests) == len(execution.tests) and execution.status == "ok"


def _unjudged(tests: Tests, execution: Execution) -> str:
    """Return why there is no verdict, or "".

    A test that the sandbox cannot run is no failure, but any other that fails is one.
    """
    results = execution.tests
    unjudged = [number for number, result in enumerate(results, 1) if result.is_unjudged]
    others = sum(result.passed for result in results)
    is_whole = execution.status == "ok" and len(results) == len(tests.tests)
    if not unjudged or not is_whole or others + len(unjudged) < len(results):
        return ""
    return f"test {unjudged[0]} cannot run here: {brief(results[unjudged[0] - 1].message)}"


def _of_solution(tests: Tests, code: str, language: str) -> Tests:
    """The tests of a function, for a program that has it as a method of a class `Solution`."""
    name = tests.entry_point or tests.called
    if not name.isidentifier() or not is_method_of_solution(code, name, language):
        return tests
    if tests.entry_point:
        return replace(tests, entry_point=f"Solution().{name}")
    new = "Solution()." if language == "python" else "new Solution()."
    return replace(
        tests, tests=tuple(text.replace(f"{name}(", f"{new}{name}(", 1) for text in tests.tests)
    )


def _as_run(tests: Tests, language: str) -> Tests:
    """The tests as an executor takes them.

    A JavaScript method that is checked gets the name of a function.
    """
    if language == "python":
        return tests
    owner, method = split_method(tests.entry_point)
    if owner:
        tests = replace(tests, entry_point=f"((o) => o.{method}.bind(o))(new {owner}())")
    return tests


def _no_programs(tests: Tests, language: str) -> Sequence[str]:
    """An empty program, or one that does nothing and one that fails.

    A Python `check` is called with a function, which must exist for the check to reach its imports.
    """
    if language != "python" or not tests.entry_point:
        return ("",)
    owner, method = split_method(tests.entry_point)
    name, head = (method, f"class {owner}:\n ") if owner else (tests.entry_point, "")
    return [f"{head}def {name}(*args, **kwargs): {do}" for do in ("pass", "raise NameError")]


def expects_error(tests: Tests) -> bool:
    """Whether a test may expect an error, which the absence of a program also causes."""
    return any(map(_EXPECTS_ERROR.search, (tests.setup, *tests.tests)))


def _fault_of(tests: Tests, execution: Execution) -> BadReference | None:
    """The setup or test that cannot run at all, as a run without a program shows."""
    if _BROKEN.search(execution.stderr):
        kind = WrongLanguage if SYNTAX_ERROR.search(execution.stderr) else BadReference
        return kind(f"the setup cannot run: {brief(execution.stderr)}")
    for number, (test, result) in enumerate(zip(tests.tests, execution.tests, strict=False), 1):
        if _BROKEN.search(result.message):
            kind = WrongLanguage if SYNTAX_ERROR.search(result.message) else BadReference
            reason = f"{brief(result.message)} in: {quote(test.strip())}"
            return kind(f"test {number} cannot run: {reason}")
    return None


def judge_printed(stdin: str, stdout: str, wanted: str, how: Comparison) -> Verdict:
    """Judge the output of a program that read `stdin`, by a rule or by the row's checker.

    Raises `BadReference` if a checker gives no verdict.
    """
    if how.checker is None:
        return judge_output(stdout, Output(wanted, how))
    run_checker = run_checker_in(how.checker.language)
    passed, reason = run_checker(_CHECKERS, how.checker.code, stdin, stdout, wanted)
    if passed is None:
        raise BadReference(reason)
    error = "" if passed else f"wrong output by the checker: {quote(stdout.strip())}"
    return Verdict(float(passed), passed, error)
