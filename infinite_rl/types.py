"""The records that flow through the package: frozen, standard library only.

TaskType -> prompt -> Completion -> Sample -> RewardFunctionScore -> Outcome -> row -> Sample.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import add
from typing import Any, Literal, cast, get_args

from .space import Space

ExecutionStatus = Literal["ok", "error", "timeout", "memory", "output"]
ScoreStatus = Literal["passed", "failed", "unscored"]
STATUSES: tuple[str, ...] = get_args(ScoreStatus)


@dataclass(frozen=True)
class TaskType:
    """One kind of task that can be generated.

    `name` is the task ("python"), `family` its key in `task_dist` ("coding"; the tasks of a family
    take turns), `reward` the key in `get_reward_functions()` and the row's `type`, `language` a
    coding task's guest language or "". `examples` are few-shot samples in the on-disk format.
    `answer_form` is an example of the JSON that its answers must be, "" if they are text. `space`
    has the axes that tell tasks apart; with `template`, `request` is a Jinja2 template of their
    values (see `tasks/templates.py`).
    """

    name: str
    family: str
    reward: str
    system_prompt: str
    request: str
    language: str = ""
    examples: tuple[str, ...] = ()
    answer_form: str = ""
    space: Space = field(default=Space(), hash=False)
    template: bool = False


@dataclass(frozen=True)
class Usage:
    """Token counts of one call, as the provider reports them; 0 if it does not.

    `cached_tokens` are included in `input_tokens`. `thinking_tokens` are not included in
    `output_tokens`, however a provider counts: the model wrote the sum of both.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    thinking_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, vars(self).values(), vars(other).values()))


@dataclass(frozen=True)
class Completion:
    """A completion from a provider.

    `finish_reason` is "stop", or "length" if the text was cut off at the token limit. `cost` is in
    US dollars, None if the price is unknown. `reasoning` is the visible part of the model's
    reasoning, which `text` does not include. `labels` are the task's `family` and `level`, if the
    provider knows them; they become columns.
    """

    text: str
    model: str
    finish_reason: Literal["stop", "length"] = "stop"
    usage: Usage = Usage()
    cost: float | None = None
    reasoning: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Sample:
    """A task with its reference answer and a worked response.

    `type` is "coding", "math", ...; `language` is set for coding only.
    """

    type: str
    prompt: str
    answer: str
    response: str
    language: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def id(self) -> str:
        """A hash of the content, 16 hexadecimal digits, equal on every machine."""
        parts = (self.type, self.language, self.prompt, self.answer, self.response)
        framed = "".join(f"{len(part)}:{part}" for part in parts)
        import hashlib  # it loads OpenSSL, which verdicts do not need

        return hashlib.sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Program:
    """The input of a guest: source code, its standard input, and optionally tests.

    Each of `tests` is source code that runs after `code` in the same namespace. It passes if it
    ends without an exception (in JavaScript also without a failed `console.assert`). With
    `entry_point`, `tests` define `check(candidate)`, which is called with the named function.
    `setup` runs after the code and before the tests, for example the imports that they need.

    With `expected`, each of `tests` is an expression, and passes if its value equals the JSON value
    at the same index (see `sandbox/json_values.py`). Tests can import the program as `solution`,
    as `main`, and by the name of its `file`, for example "bank.py".
    """

    code: str
    stdin: str = ""
    tests: tuple[str, ...] = ()
    entry_point: str = ""
    setup: str = ""
    expected: tuple[Any, ...] = ()
    file: str = ""


@dataclass(frozen=True)
class TestResult:
    """The result of one test; `message` is its error, "" if it passed.

    A test is unjudged if the sandbox cannot do what it asks for; the message says what.
    """

    __test__ = False  # not a test class for pytest

    passed: bool
    message: str = ""
    is_unjudged: bool = False


@dataclass(frozen=True)
class Execution:
    """The result of one program in its sandbox.

    `status` is "ok" (exit code 0), "error" (an exception, a non-zero exit code, a trap), "timeout",
    "memory" or "output" (a limit was reached). A program that was stopped has the exit code 124
    (time) or 137. `tests` has a result for each test that reported, in order; fewer than requested
    means that the program ended before all tests ran. `fuel` counts the instructions of a run that
    is metered; it is 0 for others. `doubt` says why the same program may be right where it runs
    natively: then a run that is not right is no failure.
    """

    stdout: str
    stderr: str
    exit_code: int
    status: ExecutionStatus
    duration_s: float = field(default=0.0, compare=False)
    tests: tuple[TestResult, ...] = ()
    fuel: int = field(default=0, compare=False)
    doubt: str = ""


@dataclass(frozen=True)
class RewardFunctionScore:
    """The score of one completion.

    The scores are in [0, 1]; `correctness_score` may have partial credit. `status` is the strict
    verdict: "passed", "failed", or "unscored" if the reward could not judge for reasons on our
    side, for example an unreadable gold answer. `error_msg` has the reason.
    """

    format_score: float
    correctness_score: float
    error_msg: str = ""
    aux_score: float = 0.0
    status: ScoreStatus = "failed"
    details: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def passed(self) -> bool:
        """Whether the strict verdict is "passed"."""
        return self.status == "passed"

    @property
    def quality_score(self) -> float:
        """The mean of format and correctness."""
        return (self.format_score + self.correctness_score) / 2


SlotRole = Literal[
    "", "ideas", "screen", "check", "concepts", "derive", "solve", "tests", "rate", "judge",
]  # fmt: skip
_ROLES = "|".join(filter(None, get_args(SlotRole)))
_SLOT = re.compile(rf"(.+)/(\d+)/(\d+)/(\d+)(?:/({_ROLES})(\d+))?", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class Slot:
    """The slot of one call: the `index`-th sample of a family, its draft, and the draft's repair.

    As text: "math/3/0/1". A draft is a new task; a repair requests the same task again. A call with
    a `role` writes no draft: `number` counts the calls of this role, "math/3/0/1/solve2". It lists
    ideas (or concepts) for the samples from `index` on, screens those ideas for repeats, checks
    those that are left once more, solves the slot's task without its answer (`derive` by a program,
    `solve` for its truth, `rate` for its pass rate), writes what helps to test it, or judges it by
    a rubric.
    """

    family: str
    index: int
    draft: int = 0
    repair: int = 0
    role: SlotRole = ""
    number: int = 0

    def __str__(self) -> str:
        role = f"/{self.role}{self.number}" if self.role else ""
        return f"{self.family}/{self.index}/{self.draft}/{self.repair}{role}"

    @classmethod
    def parse(cls, text: str) -> Slot:
        """Parse the text of a slot. Raises ValueError if it is malformed."""
        match = _SLOT.fullmatch(text)
        if not match:
            raise ValueError(f"no slot: {text!r}")
        index, draft, repair, number = (int(match[group] or 0) for group in (2, 3, 4, 6))
        return cls(match[1], index, draft, repair, cast(SlotRole, match[5] or ""), number)


@dataclass(frozen=True)
class Attempt:
    """One request to a provider, and the slot of its completion.

    `labels` say what was asked for (see `store.LABEL_COLUMNS`); they become columns of the row.
    """

    slot: Slot
    task: TaskType
    request: str
    seed: int
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)


Reason = Literal[  # "": accepted
    "", "no completion", "cut off", "incomplete", "unscored", "wrong", "format", "vacuous",
    "weak verifier", "disagreement", "duplicate", "repeat", "contaminated", "too easy", "too hard",
    "judge",
]  # fmt: skip
REASONS: frozenset[str] = frozenset(get_args(Reason))
# Decided by the other rows, by a learner or by a judge, not by the row's reward.
NOT_JUDGED: frozenset[Reason] = frozenset(
    ("repeat", "contaminated", "too easy", "too hard", "judge")
)


@dataclass(frozen=True)
class Solution:
    """A completion that solves a task, or fails to, and its score."""

    completion: Completion
    score: RewardFunctionScore


@dataclass(frozen=True)
class Outcome:
    """The outcome of one attempt.

    `reason` is "" for an accepted sample, else the reason for rejection; `score.error_msg` has the
    details. `completion` is None if there was no text. `certificate` has the columns that say how
    the row was verified, and what has no column (see `certificates.py`); `solutions` are those of
    the learner, if its pass rate was measured.
    """

    attempt: Attempt
    sample: Sample
    score: RewardFunctionScore
    completion: Completion | None = None
    reason: Reason = ""
    certificate: Mapping[str, Any] = field(default_factory=dict)
    solutions: tuple[Solution, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the sample is accepted."""
        return not self.reason

    def rejected(self, reason: Reason, error: str) -> Outcome:
        """This outcome, rejected for this reason, with the details."""
        return replace(self, reason=reason, score=replace(self.score, error_msg=error))
