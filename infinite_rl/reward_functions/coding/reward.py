"""The coding reward: run the program of a completion in the sandbox, and judge its behaviour."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...layout import ANSWER_TAG
from ...sandbox.executor import MIN_BATCH, RewardExecutor
from ...sandbox.runtimes import RUNTIMES, language_of, language_of_tests
from ...types import RewardFunctionScore, Sample, ScoreStatus
from ...workers.pool import Lost, default_count, in_workers
from .. import REWARDS
from ..reward_function import BadReference, Expected, RewardFunction, paired, too_long, unscored
from .calls import WrongLanguage
from .judge import (
    CASES_TIMEOUTS,
    OTHER_TIMEOUTS,
    Caches,
    Judge,
    Sandbox,
    expects_error,
    row_bound_s,
)
from .language import LanguageChoice, Runnable, in_language
from .plain_calls import are_plain_calls
from .programs import Submission, read_submission
from .reference import Reference, ReferenceCode, Tests, read_reference
from .verdicts import Verdict, rejected

if TYPE_CHECKING:
    from ..shaping import Shaping

_MAX_FACTOR = 100
_WITH_TESTS = [
    each.name
    for each in RUNTIMES
    if each.runs_tests and not (each.is_query_language or each.shares)
]
_LONG = 1_000_000  # characters of a reference, from which on it is worth not to copy and read it


@dataclass(frozen=True)
class _Job:
    """One completion to be judged: the arguments of `compute_reward`."""

    output: str
    expected: Expected
    answer_tag: str
    language: str

    def is_portable(self) -> bool:
        """Whether the job is the same after a journey as JSON to another process."""
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
    """Judge programs by running them.

    `compute_reward` and `score` judge in this process. `compute_rewards` and `score_many` judge in
    worker processes, one per core, from three completions on; predicates, and everything if an
    `executor` with its own languages was passed in, stay in this process.

    Format: see `read_submission`; code that does not compile gets 0.5 at most. Correctness: for an
    expected text the rung of `compare`, for tests and cases the share that passed. The forms of a
    reference are those of `read_reference`.

    The `status` is "passed" only if the program ended well and its output is equal (not merely
    similar), or all tests reported and passed. It is "unscored" if the reference is at fault, which
    includes a setup or a test that is not code, or imports a missing module or file. If a limit
    stopped the program, `details["limit"]` names it: "timeout", "memory" or "output".

    `timeout` bounds each run in seconds: one run for all tests, one per case. All cases of one
    program together may take twenty timeouts. The limits that a row states bound each of its cases;
    its tests, in one run, may take twenty times its timeout together. They are for native programs:
    `time_factor` multiplies a row's timeout; by default it is measured (see `calibration.py`), and
    in the details of a timeout. With `first_failure` no case runs after one that failed; verdicts
    are the same, `correctness_score` is less.

    The language of the program is the reference's; else the one that the call or the row names,
    else that of `set_language`. A fence that names another language is a failed answer, except for
    JavaScript as an answer in TypeScript. Without any of these, the fence's language decides, else
    it is Python; a fence in a language other than that of the tests or calls is a failed answer,
    too. The tests of a program in TypeScript may be JavaScript; a program in C or C++ is judged by
    what it prints.

    `executor` runs the programs; by default it is a `RewardExecutor`.
    """

    name = "coding"
    version = "12"
    options = frozenset({"first_failure", "time_factor"})

    def __init__(
        self,
        task_name: str = "",
        timeout: float = 5,
        executor: Sandbox | None = None,
        *,
        shaping: Shaping | None = None,
        first_failure: bool = False,
        time_factor: float | None = None,
    ) -> None:
        super().__init__(task_name, timeout, shaping=shaping)
        if time_factor is not None and not 1 <= time_factor <= _MAX_FACTOR:
            raise UsageError(f"time_factor must be from 1 to {_MAX_FACTOR}, not {time_factor!r}")
        self._first_failure, self._time_factor = bool(first_failure), time_factor
        self._languages = LanguageChoice(accepts_any=executor is not None)
        self._executor = executor or RewardExecutor(timeout=timeout)
        self._shaping = shaping
        self._caches = Caches()

    @property
    def language(self) -> str:
        """The language of calls that name none."""
        return self._languages.default

    @property
    def _judge(self) -> Judge:
        options = self._first_failure, self._time_factor
        return Judge(self._executor, self.timeout, self._caches, *options)

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of one run: this reward's timeout and the other limits of its executor."""
        executor = self._executor
        settings = executor.settings() if isinstance(executor, RewardExecutor) else None
        limits = {name: value for name, value in (settings or {}).items() if value is not None}
        return {**limits, "timeout": self.timeout}

    @property
    def bound_s(self) -> float:
        """The seconds that one judgement may take."""
        return (CASES_TIMEOUTS + OTHER_TIMEOUTS) * self.timeout

    def set_language(self, language: str) -> None:
        """Set the language of calls that name none. Raises `UnknownName`."""
        self._languages.set(language)

    def prepare(self, language: str = "") -> None:
        """Load the language's sandbox, which is compiled once on each machine."""
        self._judge.run("0", self._languages.resolve(language or self.language))

    def score(self, sample: Sample, completion: str) -> RewardFunctionScore:
        """Score a completion of a row against the row's answer, in the row's language."""
        return self.compute_reward(completion, sample.answer, language=sample.language or None)

    def passes(self, sample: Sample, completion: str, *, likely: bool) -> bool | None:
        """As for any reward: the tests are not checked, and the first failing case decides.

        A program that is unlikely to pass runs with one test before it runs with all: the longest
        of plain calls, since short ones detect less; else the first, on which others may build.
        Also None for code that does not compile or that a limit stopped.
        """
        if too_long(completion):
            return False
        try:
            reference, language = self._reference_of(sample)
            parts = [reference]
            if isinstance(reference, Tests) and len(reference.tests) > 1 and not likely:
                lengths = [len(test) for test in reference.tests]
                at = lengths.index(max(lengths)) if are_plain_calls(reference, language) else 0
                tests, expected = reference.tests[at : at + 1], reference.expected[at : at + 1]
                parts = [replace(reference, tests=tests, expected=expected), reference]
            submission = self._submission(completion, sample.answer, ANSWER_TAG, language)
            for part in parts:
                verdict = self._judge.verdict(submission, part, language, fast=True)
                if not verdict.passed:
                    break
        except BadReference:
            return None
        stopped = not verdict.compiled or "limit" in verdict.details
        return None if stopped else verdict.passed

    def sees_spelling(self, sample: Sample) -> bool:
        """Whether a row has tests that do more than call the program."""
        reference, language = self._reference_of(sample)
        return isinstance(reference, Tests) and not are_plain_calls(reference, language)

    def accepts_empty(self, sample: Sample, empty: str) -> bool:
        """As for any reward; tests that are known to fail without a program do not run."""
        tests, language = self._reference_of(sample)
        if isinstance(tests, Tests) and not expects_error(tests):
            checked = self._caches.faults.get((tests, language), BadReference()) is None
            if checked or are_plain_calls(tests, language):
                return False
        return super().accepts_empty(sample, empty)

    def reference(self, sample: Sample) -> tuple[Reference, str]:
        """A row's reference, and the language of its programs. Raises `BadReference`."""
        reference, choice = self._reference(sample.answer), self._languages
        language = choice.agreed(reference, choice.stated(sample.language)) or self.language
        return reference, language

    def program(self, sample: Sample) -> str:
        """The program in a row's own response, as it is judged."""
        language = self._languages.stated(sample.language) or self.language
        return self._submission(sample.response, sample.answer, ANSWER_TAG, language).code

    def _reference_of(self, sample: Sample) -> tuple[Runnable, str]:
        """A row's reference, calls as tests, and its language. Raises `BadReference`."""
        reference, language = self.reference(sample)
        return in_language(reference, language), language

    def compute_reward(
        self,
        model_output: str,
        expected_output: Expected,
        answer_tag: str = ANSWER_TAG,
        *,
        language: str | None = None,
    ) -> RewardFunctionScore:
        """Score a completion; `expected_output` has one of the forms of `read_reference`.

        With `language` the call does not depend on `set_language`, so threads can share one reward
        for several languages.

        Raises:
            UnknownName: the language is unknown.
            RuntimeMissing, SandboxError: nothing can be run; never because of the model's text.
                Without an optional runtime, its programs are "unscored".
        """
        stated = self._languages.stated(language)
        model_output = model_output if isinstance(model_output, str) else ""
        if score := too_long(model_output):
            return self.shaped(score, model_output)
        wanted, submission = stated or self.language, None
        try:
            reference = self._reference(expected_output)
            stated = self._languages.agreed(reference, stated)
            wanted = stated or self.language
            submission = self._submission(model_output, expected_output, answer_tag, wanted)
            verdict = self._verdict(submission, reference, stated)
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

    def _verdict(self, submission: Submission, reference: Reference, stated: str) -> Verdict:
        """Judge a program in the language that is `stated`, or else in its fence's."""
        label, judge = submission.language, self._judge
        if isinstance(reference, ReferenceCode) and not stated:
            reference = in_language(reference, self.language)  # not in the language of a fence
        if stated:
            reference = in_language(reference, stated)
            # JavaScript is TypeScript too.
            is_stated = label in ("", stated, language_of_tests(stated))
            if not is_stated and language_of(stated):
                return rejected(f"the reference says {stated}, and the fence {label}")
            return judge.verdict(submission, reference, stated)
        language = label or self.language
        if not language_of(language):
            return rejected(f"the fence says {label}, which cannot be run")
        try:
            resolved = in_language(reference, language)
            return judge.verdict(submission, resolved, language)
        except WrongLanguage as wrong:
            fault: BadReference = wrong
            for other in (name for name in _WITH_TESTS if name != language):
                try:
                    resolved = in_language(reference, other)
                    if isinstance(resolved, Tests):
                        judge.check_tests(resolved, other)
                    break
                except BadReference as other_fault:
                    # In their own language, tests may be known to lack a module or a file.
                    fault = fault if isinstance(other_fault, WrongLanguage) else other_fault
            else:
                raise fault from None
        if label:
            return rejected(f"the reference is for {other}, and the fence says {label}")
        return judge.verdict(submission, resolved, other)

    def _submission(
        self,
        model_output: str,
        expected: Expected,  # noqa: ARG002 -- some conventions look at what is asked for
        answer_tag: str,
        language: str,
    ) -> Submission:
        """The code of a completion. Rewards with another convention override this."""
        return read_submission(model_output, answer_tag, language)

    def _reference(self, expected: Expected) -> Reference:
        """The reference of a row. Raises `BadReference`."""
        if isinstance(expected, str) and len(expected) > _LONG:
            return _read_long(expected)
        return read_reference(expected)

    def compute_rewards(
        self,
        model_outputs: Iterable[str],
        expected_outputs: Iterable[Expected],
        answer_tag: str = ANSWER_TAG,
        *,
        language: str | None = None,
    ) -> list[RewardFunctionScore]:
        """Score each output against its reference as `compute_reward`, in order, on all cores.

        A completion whose worker process died twice is "unscored". Raises as `compute_reward`, and
        `UsageError` if the two sequences differ in length.
        """
        stated = self._languages.stated(language)
        pairs = paired(model_outputs, expected_outputs)
        return self._run_jobs([_Job(*pair, answer_tag, stated) for pair in pairs])

    def score_many(self, pairs: Iterable[tuple[Sample, str]]) -> list[RewardFunctionScore]:
        """Score each pair of a row and a completion as `score`, in order, on all cores.

        A completion whose worker process died twice is "unscored". Raises as `score`.
        """
        if _path(type(self)) not in REWARDS.values():  # a subclass may override `score`
            return super().score_many(pairs)
        stated = self._languages.stated
        return self._run_jobs(
            [_Job(output, row.answer, ANSWER_TAG, stated(row.language)) for row, output in pairs]
        )

    def _run_jobs(self, jobs: list[_Job]) -> list[RewardFunctionScore]:
        """Portable jobs run in worker processes, the others here."""
        settings = self.settings() if len(jobs) >= MIN_BATCH else ""
        portable = [job for job in jobs if settings and job.is_portable()]
        groups = list(_groups(portable, default_count()))
        scores = dict(self._in_workers(settings, groups))
        return [scores[id(job)] if id(job) in scores else self._run_job(job) for job in jobs]

    def _in_workers(
        self, settings: str, groups: list[list[_Job]]
    ) -> Iterator[tuple[int, RewardFunctionScore]]:
        """The score of each job, by its id. The jobs of a group have one reference."""

        def bound_s(payload: Any) -> float:
            row_s = row_bound_s(payload[1], self._time_factor)
            return (self.bound_s + row_s) * len(payload[2])

        payloads = (
            [settings, jobs[0].expected, [{**vars(job), "expected": None} for job in jobs]]
            for jobs in groups
        )
        results = in_workers(f"{__name__}:judge_jobs", payloads, default_count(), bound_s)
        for jobs, result in zip(groups, results, strict=True):
            if not isinstance(result, Lost):
                for job, score in zip(jobs, result, strict=True):
                    yield id(job), RewardFunctionScore(**score)
            elif len(jobs) > 1:  # one of them did it
                yield from self._in_workers(settings, [[job] for job in jobs])
            else:
                [job] = jobs
                language = job.language or self.language
                submission = self._submission(job.output, job.expected, job.answer_tag, language)
                yield id(job), unscored(submission.format_score, result.reason)

    def _run_job(self, job: _Job) -> RewardFunctionScore:
        return self.compute_reward(job.output, job.expected, job.answer_tag, language=job.language)

    def settings(self) -> str:
        """The arguments of an equal reward in another process, as JSON; "" if there is none."""
        executor = self._executor
        limits = executor.settings() if isinstance(executor, RewardExecutor) else None
        path = _path(type(self))
        if limits is None or path not in REWARDS.values():
            return ""  # a subclass or another executor may have its own rules
        try:
            options = {
                "shaping": self._shaping,
                "first_failure": self._first_failure,
                "time_factor": self._time_factor,
            }
            return json.dumps([path, self.task_name, self.timeout, limits, options])
        except (ValueError, TypeError):
            return ""


def _path(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@lru_cache(maxsize=8)
def reward_like(settings: str) -> CodingRewardFunction:
    """The reward that has these settings."""
    path, name, timeout, limits, options = json.loads(settings)
    reward: CodingRewardFunction = resolve_name(path)(
        name, timeout, RewardExecutor(**limits), **options
    )
    return reward


_read_long = lru_cache(maxsize=1)(read_reference)  # the next completion may have the same


def _groups(jobs: list[_Job], count: int) -> Iterator[list[_Job]]:
    """Jobs that follow each other and have one long reference: it is sent once a worker."""
    for _, group in groupby(jobs, lambda job: id(job.expected)):
        same = list(group)
        is_long = isinstance(same[0].expected, str) and len(same[0].expected) > _LONG
        size = -(-len(same) // count) if is_long else 1
        yield from (same[start : start + size] for start in range(0, len(same), size))


def judge_jobs(payload: tuple[str, Expected, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The worker's half of `compute_rewards`: a reward's settings, a reference, and jobs."""
    settings, expected, jobs = payload
    reward = reward_like(settings)
    return [vars(reward._run_job(_Job(**{**job, "expected": expected}))) for job in jobs]
