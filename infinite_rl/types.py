"""The nouns that flow through the package: frozen records, standard library only.

TaskType -> prompt -> Completion -> Sample -> RewardFunctionScore -> Outcome -> row -> Sample.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

ExecutionStatus = Literal["ok", "error", "timeout", "memory", "output"]
ScoreStatus = Literal["passed", "failed", "unscored"]


@dataclass(frozen=True)
class TaskType:
    """One kind of task that can be asked for.

    `name` is the task ("python"), `family` the value of the row's `type` column ("coding"),
    `reward` the key in `get_reward_functions()`, `language` a coding task's guest language or "".
    `examples` are seed samples in the on-disk format, shown to the model for style. `answer_form`
    is an example of the JSON that its answers are to be, "" where they are text.
    """

    name: str
    family: str
    reward: str
    system_prompt: str
    request: str
    language: str = ""
    examples: tuple[str, ...] = ()
    answer_form: str = ""


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, as the provider counted them; 0 where it did not say.

    `cached_tokens` are a part of `input_tokens`. `thinking_tokens` are no part of `output_tokens`:
    what the model wrote in all is the sum of both, whichever way a provider counts.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    thinking_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.thinking_tokens + other.thinking_tokens,
        )


@dataclass(frozen=True)
class Completion:
    """The text a provider answered with.

    `finish_reason` is "stop", or "length" where the text was cut off at the token limit. `cost` is
    in US dollars, None where the price is unknown. `reasoning` is what the provider showed of the
    model's thoughts, which are no part of `text`. `labels` say what kind of task it is, for the
    columns of the same names (`family`, `level`), where the provider knows.
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

    `type` is the family ("coding", "math"); `language` is set for coding only.
    """

    type: str
    prompt: str
    answer: str
    response: str
    language: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def id(self) -> str:
        """A hash of the content: 16 hexadecimal digits, the same on every machine."""
        parts = (self.type, self.language, self.prompt, self.answer, self.response)
        framed = "".join(f"{len(part)}:{part}" for part in parts)
        import hashlib  # loads OpenSSL, which judging does not need

        return hashlib.sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Program:
    """What a guest is given: source code, its standard input, and optionally tests.

    Each of `tests` is source text run after the code in the same namespace; it passes when it ends
    without an exception (JavaScript: and without a failed `console.assert`). With `entry_point`,
    `tests` are texts that define `check(candidate)`, which is called with the named function.
    `setup` is run after the code and before the tests, such as the imports that they need.

    With `expected`, each of `tests` is an expression, and passes when its value is the JSON value
    in the same place (see `runtimes/json_values.py`). Tests can import the program as `solution`,
    as `main`, and under the name of its `file`, such as "bank.py".
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
    """How one test ended; `message` is its error, "" when it passed."""

    __test__ = False  # a noun of ours, not a test class for pytest to collect

    passed: bool
    message: str = ""


@dataclass(frozen=True)
class Execution:
    """How one program ended in its sandbox.

    `status` is "ok" (exit code 0), "error" (an exception, a non-zero exit, a trap), "timeout",
    "memory" or "output" (a limit was met); a program that was stopped has the exit code 124 (for
    time) or 137. `tests` holds one result for each test that reported, in order: fewer than were
    asked for means that the program ended before it could be judged.
    """

    stdout: str
    stderr: str
    exit_code: int
    status: ExecutionStatus
    duration_s: float = field(default=0.0, compare=False)
    tests: tuple[TestResult, ...] = ()


@dataclass(frozen=True)
class RewardFunctionScore:
    """What a reward says of one completion.

    The scores lie in [0, 1]. `correctness_score` may carry partial credit; `status` is the strict
    verdict: "passed", "failed", or "unscored" where the reward could not judge (our side's fault,
    such as a gold answer that cannot be read), with the reason in `error_msg`.
    """

    format_score: float
    correctness_score: float
    error_msg: str = ""
    aux_score: float = 0.0
    status: ScoreStatus = "failed"
    details: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def passed(self) -> bool:
        """Whether the strict verdict is "passed", whatever the scores."""
        return self.status == "passed"

    @property
    def quality_score(self) -> float:
        """The mean of format and correctness."""
        return (self.format_score + self.correctness_score) / 2


_SLOT = re.compile(r"(.+)/(\d+)/(\d+)/(\d+)(?:/solve(\d+))?", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class Slot:
    """One place for one call: the `index`-th sample of a family, its draft, and which repair of it.

    As text: "math/3/0/1". A draft is a new task; a repair asks for the same one again. With
    `solve`, the call solves the task of that place without its answer: "math/3/0/1/solve2".
    """

    family: str
    index: int
    draft: int = 0
    repair: int = 0
    solve: int = 0

    def __str__(self) -> str:
        solve = f"/solve{self.solve}" if self.solve else ""
        return f"{self.family}/{self.index}/{self.draft}/{self.repair}{solve}"

    @classmethod
    def parse(cls, text: str) -> Slot:
        """Read back what `str` wrote; raises ValueError for anything else."""
        found = _SLOT.fullmatch(text)
        if not found:
            raise ValueError(f"no slot: {text!r}")
        return cls(found[1], *(int(number or 0) for number in found.groups()[1:]))


@dataclass(frozen=True)
class Attempt:
    """One question to a provider: where its answer belongs, and what is asked."""

    slot: Slot
    task: TaskType
    request: str
    seed: int


Reason = Literal[
    "",  # accepted
    "no completion",
    "cut off",
    "incomplete",
    "unscored",
    "wrong",
    "format",
    "vacuous",
    "weak verifier",
    "disagreement",
    "duplicate",
]
REASONS: frozenset[str] = frozenset(get_args(Reason))


@dataclass(frozen=True)
class Outcome:
    """What became of one attempt.

    `reason` is "" for an accepted sample, else why not, and `score.error_msg` says more.
    `completion` is None if there was no text at all; `certificate` has the columns that say how the
    row was verified.
    """

    attempt: Attempt
    sample: Sample
    score: RewardFunctionScore
    completion: Completion | None = None
    reason: Reason = ""
    certificate: Mapping[str, str] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        """Whether the sample is kept."""
        return not self.reason

    def rejected(self, reason: Reason, error: str) -> Outcome:
        """This outcome, but not kept: for which reason, and what more there is to say."""
        return replace(self, reason=reason, score=replace(self.score, error_msg=error))
