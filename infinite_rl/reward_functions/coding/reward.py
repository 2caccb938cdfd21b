"""The coding reward: run the answer's code in the sandbox, and judge what it did."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ...errors import UnknownName
from ...layout import ANSWER_TAG
from ...parsing.fences import CodeBlock, code_blocks
from ...parsing.tags import tag_matches
from ...sandbox.executor import MIN_BATCH, RewardExecutor
from ...sandbox.javascript.modules import REQUIRES_PROGRAM
from ...sandbox.javascript.runners import files_of, runner_of
from ...sandbox.runtimes import RUNTIMES, language_of, runtime_named
from ...types import Execution, RewardFunctionScore, Sample, ScoreStatus
from ...workers.pool import Lost, default_count, in_workers
from .. import REWARDS
from ..compare import compare, compare_exactly
from ..reward_function import BadReference, Expected, RewardFunction, paired, unscored
from .calls import WrongLanguage, call_tests
from .plain_calls import are_plain_calls
from .predicate import predicate_share
from .programs import is_method_of_solution
from .reference import (
    TYPESCRIPT,
    Calls,
    Cases,
    Output,
    Predicate,
    Reference,
    ReferenceCode,
    Tests,
    named_language,
    read_reference,
    split_method,
)

if TYPE_CHECKING:
    from ..shaping import Shaping

_DAMAGED_CHARS = 10  # shorter remains of a damaged fence are not worth a run
_CACHED_REFERENCES = 256  # one reference serves every completion of its group
_CASES_TIMEOUTS = 20  # all cases of one program together may take so many times the timeout
_OTHER_TIMEOUTS = 5  # what else one judgement may run: the last case, the reference's code
_MESSAGE_CHARS = 500
_QUOTE_CHARS = 160

# An error of the compiler, and the trace that only code which has begun to run leaves behind.
_SYNTAX_ERROR = re.compile(r"^(?:SyntaxError|IndentationError|TabError)\b", re.MULTILINE)
_RUN_TRACE = re.compile(r"^Traceback|<eval>", re.MULTILINE)
# How the message of a test that cannot run at all begins; one that speaks of a SyntaxError later on
# may expect it. A program causes such messages, too, so the test is asked without one.
_BROKEN = re.compile(
    r"^(?:(?:SyntaxError|IndentationError|TabError|ModuleNotFoundError)\b"
    r"|Error: Cannot find module\b)",
    re.MULTILINE,
)
# A test that expects an error may well pass without a program: that there is none is one, too.
_EXPECTS_ERROR = re.compile(
    r"raises|throws|rejects|\bexcept\b|\bcatch\b|\bsuppress\b", re.IGNORECASE
)


_ANY_NAME = "def __getattr__(name): return print"  # a module that has whatever is imported from it
_NO_TYPESCRIPT = "TypeScript cannot be run"


Runnable: TypeAlias = Output | Predicate | ReferenceCode | Tests | Cases


class Sandbox(Protocol):
    """What the reward needs of `RewardExecutor`."""

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
    ) -> Execution:
        """As `RewardExecutor.execute`."""
        ...


@dataclass(frozen=True)
class Submission:
    """The code that a completion hands in. `error` says why there is none to run.

    `language` is the programming language that its fence names, "" where it names none.
    """

    format_score: float
    code: str = ""
    error: str = ""
    language: str = ""


@dataclass(frozen=True)
class _Verdict:
    """How far the code is right, in [0, 1], and why not further."""

    correctness: float
    passed: bool
    error: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    compiled: bool = True


def read_submission(model_output: str, answer_tag: str, language: str) -> Submission:
    """The code in the last answer tag of a completion, and how well it was formatted.

    1.0 for a fenced block inside the tag, 0.5 for a tag without a fence; where a fence is missing
    its other half, 0.3 for more than ten characters of code and 0.2 (nothing to run) for less; 0.0
    without a tag. Of several blocks the first in `language` is taken, else the first that names no
    language, else the first in one that can be run, else the first.
    """
    tags = tag_matches(model_output, answer_tag)
    if not tags:
        return Submission(0.0, error=f"no <{answer_tag}> tag in the output")
    content = tags[-1].content
    blocks = code_blocks(content)
    closed = [block for block in blocks if block.closed]
    if closed:
        named = [b for b in closed if language in (b.language, language_of(b.language))]
        unnamed = [b for b in closed if not b.language]
        runnable = [b for b in closed if language_of(b.language)]
        return _submission(1.0, *_parts([*named, *unnamed, *runnable, *closed][0]))
    if not blocks and "```" not in content:
        return _submission(0.5, content)
    code, label = _parts(blocks[0]) if blocks else (content.replace("```", ""), "")
    if len(code.strip()) <= _DAMAGED_CHARS:
        return Submission(0.2, error="the code fence is damaged and holds no code", language=label)
    return _submission(0.3, code, label)


def _parts(block: CodeBlock) -> tuple[str, str]:
    return block.code, named_language(block.language)


def _submission(format_score: float, code: str, language: str = "") -> Submission:
    """This code, handed in. Code that is blank is none."""
    if code.lstrip("\r\n")[:1].isspace():  # all of it was indented, fence and code alike
        code = textwrap.dedent(code)
    error = "" if code.strip() else "the answer holds no code"
    return Submission(format_score, code, error, language)


@dataclass(frozen=True)
class _Question:
    """One completion to be judged: the arguments of `compute_reward`."""

    output: str
    expected: Expected
    answer_tag: str
    language: str

    def crosses(self) -> bool:
        """Whether it is the same question after a journey as JSON to another process."""
        expected = self.expected
        if not isinstance(self.output, str):  # a wrong type is no answer, and quickly judged
            return False
        if type(expected) not in (str, int, float, bool, dict, list):
            return False  # a predicate, for one
        try:
            return isinstance(expected, str) or bool(json.loads(json.dumps(expected)) == expected)
        except (ValueError, TypeError, RecursionError):
            return False


class CodingRewardFunction(RewardFunction):
    """Judges programs by running them.

    `compute_reward` and `score` judge in this process; `compute_rewards` and `score_many` judge in
    worker processes, one for each core, from three completions on (not for an `executor` with
    languages of its own, and not where the reference is a predicate: it stays where it is).

    Format: see `read_submission`; code that does not compile gets 0.5 at most. Correctness: for an
    expected text the rung of `compare`, for tests and cases the share that passed; what a reference
    may be says `read_reference`.

    The `status` is "passed" only where the program ended well and its output is equal (not merely
    similar), or all tests reported and passed. It is "unscored" where the reference is at fault:
    also where its setup or one of its tests is no code, or imports a module or a file that is not
    there. Where a limit stopped the program, `details` names it as "limit": "timeout", "memory"
    or "output".

    `timeout` holds for each run: one for all tests, one for each case. All cases of one program
    together may take twenty timeouts.

    The language that a program must be in is the reference's; else the one that the call or the row
    names, else that of `set_language`. A fence that names another is a failed answer. Where nothing
    of that says a language, the fence's decides, else it is Python; a fence in a language that the
    tests or the calls are not written for is a failed answer, too. TypeScript is "unscored".

    `executor` is where programs run; by default a `RewardExecutor`.
    """

    name = "coding"
    version = "4"

    def __init__(
        self,
        task_name: str = "",
        timeout: float = 5,
        executor: Sandbox | None = None,
        *,
        shaping: Shaping | None = None,
    ) -> None:
        super().__init__(task_name or self.name, timeout, shaping=shaping)
        self.language = "python"
        self._is_set = False  # the language, by `set_language`
        self._own_executor = executor is not None
        self._executor = executor or RewardExecutor(timeout=timeout)
        self._shaping = shaping
        self._reference_outputs: dict[tuple[str, str], str] = {}
        self._test_faults: dict[tuple[Tests, str], BadReference | None] = {}

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of one run: the timeout of this reward, the others of its executor."""
        executor = self._executor
        settings = executor.settings() if isinstance(executor, RewardExecutor) else None
        known = {name: value for name, value in (settings or {}).items() if value is not None}
        return {**known, "timeout": self.timeout}

    @property
    def bound_s(self) -> float:
        """The seconds that one judgement may take."""
        return (_CASES_TIMEOUTS + _OTHER_TIMEOUTS) * self.timeout

    def set_language(self, language: str) -> None:
        """Set the language of the calls that name none. Raises `UnknownName`."""
        self.language, self._is_set = self._known(language), True

    def prepare(self, language: str = "") -> None:
        """Load the language's sandbox, which is compiled when a machine meets it first."""
        self._run("0", self._known(language or self.language))

    def score(self, sample: Sample, completion: str) -> RewardFunctionScore:
        """Score a completion of a row against the row's answer, in the row's language."""
        return self.compute_reward(completion, sample.answer, language=sample.language or None)

    def passes(self, sample: Sample, completion: str, *, likely: bool) -> bool | None:
        """As for any reward: the tests are not checked, and the first case that fails decides.

        A program that is likely to fail runs with one test before it runs with all: the longest of
        those that only call the program, as short ones see less; else the first, on which others
        may build. None also for code that does not compile, or that a limit stopped.
        """
        try:
            reference, language = self._tests_of(sample)
            parts = [reference]
            if isinstance(reference, Tests) and len(reference.tests) > 1 and not likely:
                lengths = [len(test) for test in reference.tests]
                at = lengths.index(max(lengths)) if are_plain_calls(reference, language) else 0
                tests, expected = reference.tests[at : at + 1], reference.expected[at : at + 1]
                parts = [replace(reference, tests=tests, expected=expected), reference]
            submission = self._submission(completion, sample.answer, ANSWER_TAG, language)
            for part in parts:
                verdict = self._judge_in(submission, part, language, brief=True)
                if not verdict.passed:
                    break
        except BadReference:
            return None
        stopped = not verdict.compiled or "limit" in verdict.details
        return None if stopped else verdict.passed

    def sees_spelling(self, sample: Sample) -> bool:
        """Whether a row has tests of its own that do more than call the program."""
        reference, language = self._tests_of(sample)
        return isinstance(reference, Tests) and not are_plain_calls(reference, language)

    def accepts_empty(self, sample: Sample, empty: str) -> bool:
        """As for any reward; tests that are known to fail without a program are not run."""
        tests, language = self._tests_of(sample)
        if isinstance(tests, Tests) and not _expects_error(tests):
            key = (tests, language)
            checked = key in self._test_faults and self._test_faults[key] is None
            if checked or are_plain_calls(tests, language):
                return False
        return super().accepts_empty(sample, empty)

    def _tests_of(self, sample: Sample) -> tuple[Runnable, str]:
        """A row's reference, calls as tests, and its language. Raises `BadReference`."""
        reference = self._reference(sample.answer)
        language = self._agreed(reference, self._stated(sample.language)) or self.language
        return self._resolved(reference, language), language

    def compute_reward(
        self,
        model_output: str,
        expected_output: Expected,
        answer_tag: str = ANSWER_TAG,
        *,
        language: str | None = None,
    ) -> RewardFunctionScore:
        """Score a completion; `expected_output` takes the forms that `read_reference` names.

        With `language` the call does not depend on `set_language`, so that threads can share one
        reward for several languages.

        Raises:
            UnknownName: no such language.
            RuntimeMissing, SandboxError: nothing can be run; never what the model wrote.
        """
        stated = self._stated(language)
        model_output = model_output if isinstance(model_output, str) else ""
        wanted = stated or self.language
        submission = None
        try:
            reference = self._reference(expected_output)
            stated = self._agreed(reference, stated)
            wanted = stated or self.language
            submission = self._submission(model_output, expected_output, answer_tag, wanted)
            verdict = self._judge(submission, reference, stated)
        except BadReference as fault:
            submission = submission or self._submission(
                model_output, expected_output, answer_tag, wanted
            )
            return self.shaped(unscored(submission.format_score, str(fault)), model_output)
        status: ScoreStatus = "passed" if verdict.passed else "failed"
        score = RewardFunctionScore(
            submission.format_score if verdict.compiled else min(submission.format_score, 0.5),
            verdict.correctness,
            verdict.error,
            status=status,
            details=verdict.details,
        )
        return self.shaped(score, model_output)

    def compute_rewards(
        self,
        model_outputs: Iterable[str],
        expected_outputs: Iterable[Expected],
        answer_tag: str = ANSWER_TAG,
        *,
        language: str | None = None,
    ) -> list[RewardFunctionScore]:
        """`compute_reward` for each output and its reference, in their order, on all cores.

        A completion whose worker process died twice is "unscored". Raises as `compute_reward`, and
        `UsageError` where there are not as many of the one as of the other.
        """
        stated = self._stated(language)
        pairs = paired(model_outputs, expected_outputs)
        return self._answer([_Question(*pair, answer_tag, stated) for pair in pairs])

    def score_many(self, pairs: Iterable[tuple[Sample, str]]) -> list[RewardFunctionScore]:
        """`score` for each pair of a row and a completion, in their order, on all cores.

        A completion whose worker process died twice is "unscored". Raises as `score`.
        """
        if not _of_the_table(type(self)):  # it may have a `score` of its own
            return super().score_many(pairs)
        return self._answer(
            [
                _Question(output, row.answer, ANSWER_TAG, self._stated(row.language))
                for row, output in pairs
            ]
        )

    def _answer(self, questions: list[_Question]) -> list[RewardFunctionScore]:
        """In worker processes what can be asked there, the rest here."""
        settings = self.settings() if len(questions) >= MIN_BATCH else ""
        away = [question for question in questions if settings and question.crosses()]
        jobs = ([settings, vars(question)] for question in away)
        results = in_workers(f"{__name__}:judge_job", jobs, default_count(), self.bound_s)
        scores = {
            id(each): self._score(each, result) for each, result in zip(away, results, strict=True)
        }
        return [scores[id(each)] if id(each) in scores else self._ask(each) for each in questions]

    def _ask(self, question: _Question) -> RewardFunctionScore:
        return self.compute_reward(
            question.output, question.expected, question.answer_tag, language=question.language
        )

    def _stated(self, language: str | None) -> str:
        """The language that a call names, or `set_language`; "" where neither did."""
        name = language or (self.language if self._is_set else "")
        return TYPESCRIPT if named_language(name) == TYPESCRIPT else name and self._known(name)

    def _agreed(self, reference: Reference, stated: str) -> str:
        """The language of the program by its reference, or by the call; "" where neither says.

        Raises `BadReference`.
        """
        if isinstance(reference, (Predicate, ReferenceCode)) or not reference.language:
            agreed = stated
        elif reference.language == TYPESCRIPT:
            agreed = TYPESCRIPT
        else:
            try:
                agreed = self._known(reference.language)
            except UnknownName:
                raise BadReference(f"{reference.language} cannot be run") from None
        if agreed == TYPESCRIPT:
            raise BadReference(_NO_TYPESCRIPT)
        return agreed

    def settings(self) -> str:
        """What makes an equal reward in another process, as JSON; "" where nothing does."""
        executor = self._executor
        limits = executor.settings() if isinstance(executor, RewardExecutor) else None
        kind = type(self)
        if limits is None or not _of_the_table(kind):
            return ""  # it judges by rules of its own
        try:
            return json.dumps([_where(kind), self.task_name, self.timeout, limits, self._shaping])
        except (ValueError, TypeError):
            return ""

    def _submission(
        self,
        model_output: str,
        expected: Expected,  # noqa: ARG002 -- some conventions look at what is asked for
        answer_tag: str,
        language: str,
    ) -> Submission:
        """The code of a completion. Another convention of where it stands overrides this."""
        return read_submission(model_output, answer_tag, language)

    def _reference(self, expected: Expected) -> Reference:
        """What it is judged against. Raises `BadReference`."""
        return read_reference(expected)

    def _score(self, question: _Question, result: dict[str, Any] | Lost) -> RewardFunctionScore:
        if not isinstance(result, Lost):
            return RewardFunctionScore(**result)
        stated = question.language or self.language
        submission = self._submission(
            question.output, question.expected, question.answer_tag, stated
        )
        return unscored(submission.format_score, result.reason)

    def _known(self, language: str) -> str:
        """The runtime's name. An executor that was passed in may have languages of its own."""
        name = str(language).lower()
        if self._own_executor and not language_of(name):
            return name
        return runtime_named(name).name

    def _judge(self, submission: Submission, reference: Reference, stated: str) -> _Verdict:
        """Judge a program, in the language that is `stated` or, where none is, its fence's."""
        label = submission.language
        if isinstance(reference, ReferenceCode) and not stated:
            reference = self._resolved(reference, self.language)  # not in the language of a fence
        if stated:
            reference = self._resolved(reference, stated)
            if label and label != stated and language_of(stated):
                return _Verdict(0.0, False, f"the reference says {stated}, and the fence {label}")
            return self._judge_in(submission, reference, stated)
        language = "javascript" if label == TYPESCRIPT else label or self.language
        if not language_of(language):
            return _Verdict(0.0, False, f"the fence says {label}, which cannot be run")
        try:
            resolved = self._resolved(reference, language)
            if label == TYPESCRIPT:
                if isinstance(resolved, Tests):
                    self._check_tests(resolved, language)
                raise BadReference(_NO_TYPESCRIPT)
            return self._judge_in(submission, resolved, language)
        except WrongLanguage as wrong:
            fault: BadReference = wrong
            for other in (runtime.name for runtime in RUNTIMES if runtime.name != language):
                try:
                    resolved = self._resolved(reference, other)
                    if isinstance(resolved, Tests):
                        self._check_tests(resolved, other)
                    break
                except BadReference as other_fault:
                    # In their own language, tests may be known to need what is not there.
                    fault = fault if isinstance(other_fault, WrongLanguage) else other_fault
            else:
                raise fault from None
        if label:
            return _Verdict(0.0, False, f"the reference is for {other}, and the fence says {label}")
        return self._judge_in(submission, resolved, other)

    def _resolved(self, reference: Reference, language: str) -> Runnable:
        """The reference for a program in the language: calls become tests.

        Raises `BadReference` for what needs no run to be known as none for the language.
        """
        if isinstance(reference, Calls):
            return call_tests(reference, language)
        if isinstance(reference, ReferenceCode):
            return replace(reference, language=reference.language or language)
        if isinstance(reference, Tests) and language == "javascript":
            for test in reference.tests:
                if runner := runner_of(test, reference.setup, (reference.entry_point,)):
                    raise BadReference(f"the tests cannot run: they are written for {runner}")
            names = {"solution", "main", PurePosixPath(reference.file).stem} - {""}
            for path in chain.from_iterable(map(files_of, (reference.setup, *reference.tests))):
                if PurePosixPath(path).stem not in names:
                    raise BadReference(
                        f"the tests cannot run: there is no file {_quote(path)}, but ./solution, "
                        './main and what "file" names'
                    )
        return reference

    def _judge_in(
        self, submission: Submission, reference: Runnable, language: str, *, brief: bool = False
    ) -> _Verdict:
        """The verdict; a brief one ends with the first failure, and takes tests to be sound."""
        if submission.error:
            return _Verdict(0.0, False, submission.error)
        if isinstance(reference, Tests):
            return self._judge_tests(submission.code, reference, language, brief=brief)
        if isinstance(reference, Cases):
            return self._judge_cases(submission.code, reference, language, brief=brief)
        if isinstance(reference, ReferenceCode):
            reference = self._run_reference(reference.code, reference.language)
        execution = self._run(submission.code, language)
        if execution.status != "ok":
            return self._failed_run(execution)
        if isinstance(reference, Predicate):
            return _judge_predicate(execution.stdout.strip(), reference)
        return _judge_output(execution.stdout, reference)

    def _run(self, code: str, language: str, **more: Any) -> Execution:
        return self._executor.execute(code, language, timeout=self.timeout, **more)

    def _run_reference(self, code: str, language: str) -> Output:
        """What the reference code prints, run once for all completions of its group.

        Raises `BadReference`. A failure is not remembered: it may be that the machine was busy.
        """
        known = self._reference_outputs.get((code, language))
        if known is not None:
            return Output(known)
        execution = self._run(code, language)
        if execution.status != "ok":
            reason = _ending(execution, self.timeout)
            raise BadReference(f"the reference (answer) execution failed: {reason}")
        if not execution.stdout.strip():
            raise BadReference("the reference code prints nothing")
        if len(self._reference_outputs) >= _CACHED_REFERENCES:
            self._reference_outputs.clear()
        self._reference_outputs[code, language] = execution.stdout
        return Output(execution.stdout)

    def _judge_tests(self, code: str, reference: Tests, language: str, *, brief: bool) -> _Verdict:
        """Run all tests after the program, in one sandbox."""
        execution = self._run_tests(code, reference, language)
        count, results = len(reference.tests), execution.tests
        passed = sum(result.passed for result in results)
        details = {"tests": count, "tests_passed": passed, **_limit_of(execution)}
        if _all_pass(reference, execution):
            if not brief and not are_plain_calls(reference, language):
                self._check_tests(reference, language)  # a program can make what the sandbox lacks
            return _Verdict(1.0, True, "", details)
        ends = (execution.stderr, *(each.message for each in results))
        if not brief and any(map(_BROKEN.search, ends)):
            self._check_tests(reference, language)
        ended = _ending(execution, self.timeout)
        if passed >= count:  # all passed, yet it ended badly: nothing it reported is believed
            return _Verdict(0.0, False, ended or "more results than tests", details)
        failures = (
            f"test {number} failed: {_brief(result.message)} in: {_quote(test.strip())}"
            for number, (test, result) in enumerate(
                zip(reference.tests, results, strict=False), start=1
            )
            if not result.passed
        )
        reason = ended or next(failures, "the program ended before it could be tested")
        error = f"{passed} of {count} tests passed; {reason}"
        return _Verdict(passed / count, False, error, details, _compiled(execution))

    def _check_tests(self, tests: Tests, language: str) -> None:
        """Raise `BadReference` where tests say nothing: no program could pass, or every one does.

        That shows in an instance without a program, so that none has a say in it, once for all
        completions of a group.
        """
        if (tests, language) in self._test_faults:
            fault = self._test_faults[tests, language]
        else:
            fault = BadReference("the tests pass without a program")
            for code in _no_programs(tests, language):
                execution = self._run_tests(code, tests, language)
                if not _all_pass(tests, execution) or _expects_error(tests):
                    fault = _fault_of(tests, execution)
                    break
            is_importing = any("import" in text for text in (tests.setup, *tests.tests))
            if fault is None and language == "python" and is_importing:
                # What cannot be imported may stand behind an import of the program.
                execution = self._run_tests(_ANY_NAME, tests, language)
                fault = _fault_of(tests, execution)
            if len(self._test_faults) >= _CACHED_REFERENCES:
                self._test_faults.clear()
            if execution.status in ("ok", "error"):  # else it may be that the machine was busy
                self._test_faults[tests, language] = fault
        if fault:
            raise type(fault)(str(fault))

    def _run_tests(self, code: str, tests: Tests, language: str) -> Execution:
        tests = _as_run(_of_solution(tests, code, language), language)
        return self._run(code, language, **tests.arguments())

    def _judge_cases(self, code: str, reference: Cases, language: str, *, brief: bool) -> _Verdict:
        """Run the program once a case. After a run that met a limit the others count as failed.

        So do those that are left when all runs together took twenty timeouts: a model that writes
        its own cases could ask for thousands of slow ones.
        """
        count, passed, error = len(reference.cases), 0, ""
        compiled, left_s = True, _CASES_TIMEOUTS * self.timeout
        for number, (given, wanted) in enumerate(reference.cases, start=1):
            execution = self._run(code, language, stdin=given)
            if execution.status == "ok":
                verdict = _judge_output(
                    execution.stdout, Output(wanted, reference.exact, reference.tolerance)
                )
            else:
                verdict = self._failed_run(execution)
                compiled = verdict.compiled
            passed += verdict.passed
            if not verdict.passed:
                error = (
                    error or f"case {number} with input {_quote(given.strip())}: {verdict.error}"
                )
            left_s -= execution.duration_s
            if left_s < 0 and number < count:
                error = error or f"timeout: the first {number} cases took too long together"
                break
            if execution.status not in ("ok", "error") or not compiled or (brief and error):
                break
        details = {"cases": count, "cases_passed": passed, **_limit_of(execution)}
        error = error and f"{passed} of {count} cases passed; {error}"
        return _Verdict(passed / count, passed == count, error, details, compiled)

    def _failed_run(self, execution: Execution) -> _Verdict:
        error = _ending(execution, self.timeout)
        return _Verdict(0.0, False, error, _limit_of(execution), _compiled(execution))


@lru_cache(maxsize=8)
def reward_like(settings: str) -> CodingRewardFunction:
    """The reward that has these settings."""
    where, name, timeout, limits, shaping = json.loads(settings)
    reward: CodingRewardFunction = resolve_name(where)(
        name, timeout, RewardExecutor(**limits), shaping=shaping
    )
    return reward


def _where(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _of_the_table(kind: type) -> bool:
    """Whether another process can make an equal reward, which judges by the same rules."""
    return _where(kind) in REWARDS.values()


def judge_job(job: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A worker's half of `compute_rewards`: a reward's settings, a question; JSON values all."""
    settings, question = job
    return vars(reward_like(settings)._ask(_Question(**question)))


def _judge_output(stdout: str, expected: Output) -> _Verdict:
    if expected.exact:
        match = compare_exactly(stdout, expected.text)
    else:
        match = compare(stdout, expected.text, expected.tolerance)
    wanted, got = expected.text, stdout
    if not expected.exact:  # what does not count is not shown
        wanted, got = wanted.strip(), got.strip()
    error = f"wrong output: expected {_quote(wanted)}, got {_quote(got)}"
    return _Verdict(match.score, match.passed, "" if match.passed else error, {"rung": match.rung})


def _all_pass(tests: Tests, execution: Execution) -> bool:
    passed = sum(result.passed for result in execution.tests)
    return passed == len(tests.tests) == len(execution.tests) and execution.status == "ok"


def _of_solution(tests: Tests, code: str, language: str) -> Tests:
    """The tests of a function, for a program in which that is a method of a class `Solution`."""
    name = tests.entry_point or (tests.tests[0].partition("(")[0] if tests.expected else "")
    if not name.isidentifier() or not is_method_of_solution(code, name, language):
        return tests
    if tests.entry_point:
        return replace(tests, entry_point=f"Solution().{name}")
    made = "Solution()." if language == "python" else "new Solution()."
    return replace(tests, tests=tuple(f"{made}{text}" for text in tests.tests))


def _as_run(tests: Tests, language: str) -> Tests:
    """The tests as an executor takes them.

    A method that is to be checked gets the name of a function. A setup of JavaScript that requires
    the program runs in each test, for it is a part of the program's own script.
    """
    owner, method = split_method(tests.entry_point)
    if language == "javascript":
        if owner:
            tests = replace(tests, entry_point=f"((o) => o.{method}.bind(o))(new {owner}())")
        if REQUIRES_PROGRAM.search(tests.setup):
            texts = tuple(f"{tests.setup}\n{test}" for test in tests.tests)
            tests = replace(tests, tests=texts, setup="")
    elif owner:
        setup = f"{tests.setup}\n__candidate__ = {tests.entry_point}"
        tests = replace(tests, setup=setup, entry_point="__candidate__")
    return tests


def _no_programs(tests: Tests, language: str) -> Sequence[str]:
    """What no program at all is, or what does nothing and what fails in its place.

    A `check` in Python is called with a function, which must be there for the check to come to its
    imports.
    """
    if language != "python" or not tests.entry_point:
        return ("",)
    owner, method = split_method(tests.entry_point)
    name, head = (method, f"class {owner}:\n ") if owner else (tests.entry_point, "")
    return [f"{head}def {name}(*args, **kwargs): {do}" for do in ("pass", "raise NameError")]


def _expects_error(tests: Tests) -> bool:
    return any(map(_EXPECTS_ERROR.search, (tests.setup, *tests.tests)))


def _fault_of(tests: Tests, execution: Execution) -> BadReference | None:
    """What in the tests cannot run at all, as their run without a program shows."""
    if _BROKEN.search(execution.stderr):
        kind = WrongLanguage if _SYNTAX_ERROR.search(execution.stderr) else BadReference
        return kind(f"the setup cannot run: {_brief(execution.stderr)}")
    for number, (test, result) in enumerate(zip(tests.tests, execution.tests, strict=False), 1):
        if _BROKEN.search(result.message):
            kind = WrongLanguage if _SYNTAX_ERROR.search(result.message) else BadReference
            reason = f"{_brief(result.message)} in: {_quote(test.strip())}"
            return kind(f"test {number} cannot run: {reason}")
    return None


def _judge_predicate(stdout: str, reference: Predicate) -> _Verdict:
    value = predicate_share(reference.judge, stdout)
    error = "" if value == 1 else f"the output was not accepted: {_quote(stdout.strip())}"
    return _Verdict(value, value == 1, error)


def _compiled(execution: Execution) -> bool:
    """Whether the code was code of its language at all."""
    if execution.status != "error" or _RUN_TRACE.search(execution.stderr):
        return True
    return not _SYNTAX_ERROR.search(execution.stderr)


def _limit_of(execution: Execution) -> dict[str, Any]:
    """The limit that stopped a program, for the details of its score."""
    return {} if execution.status in ("ok", "error") else {"limit": execution.status}


def _ending(execution: Execution, timeout: float) -> str:
    """Why a program did not end well, in a few words; "" where it did."""
    if execution.status == "ok":
        return ""
    if execution.status == "error":
        reason = _brief(execution.stderr) or "no message"
        return f"the program failed (exit code {execution.exit_code}): {reason}"
    if execution.status == "timeout" and "ran out of fuel" in execution.stderr[-_QUOTE_CHARS:]:
        return "timeout: the program used up its fuel"
    return {
        "timeout": f"timeout: the program ran longer than {timeout:g} seconds",
        "memory": "the program used too much memory",
        "output": "the program printed too much",
    }[execution.status]


def _brief(text: str) -> str:
    """The text, or of a long one its two ends: an error stands at one of them."""
    text = text.strip()
    if len(text) <= _MESSAGE_CHARS:
        return text
    half = _MESSAGE_CHARS // 2
    return f"{text[:half]} [...] {text[-half:]}"


def _quote(text: str) -> str:
    """The start of a text, quoted in one line."""
    shown = repr(text[:_QUOTE_CHARS])
    return shown if len(text) <= _QUOTE_CHARS else f"{shown}... ({len(text)} characters)"
