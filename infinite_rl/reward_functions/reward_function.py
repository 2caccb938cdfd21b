"""The base class of every reward: a row and a completion in, a score out."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import UsageError, shown
from ..layout import ANSWER_TAG, MAX_COMPLETION
from ..parsing.markup import format_of, tag_matches
from ..sandbox.runtimes import language_of, recorded_hash, runtime_named
from ..types import STATUSES, RewardFunctionScore, Sample, TaskType

if TYPE_CHECKING:
    from .shaping import Shaping, Signal

# A reference: text, a number, a JSON-like mapping, or a predicate on what the model produced.
Expected: TypeAlias = "str | int | float | dict[str, Any] | Callable[[str], Any]"


class RewardFunction(ABC):
    """Score completions of one kind of task. Thread-safe.

    `timeout` is in seconds. `shaping` switches on the signals of `shaping.py` by name; a reward
    applies them by ending in `return self.shaped(score, model_output)`.

    `task_name` is the class's `name` by default. `version` is recorded with each row that the
    reward verified: raise it in a reward whenever one of its verdicts may change. `reads_prompt`
    says that a verdict may depend on the row's prompt, which exports then carry. `runtime` names
    the runtime that judges every row, "" if that depends on the row's language or there is none.

    Raises:
        UsageError: the timeout is not positive, or the shaping is invalid.
    """

    name: str = ""
    version: str = "1"
    options: frozenset[str] = frozenset()  # further arguments of the constructor, by name
    reads_prompt: bool = False
    runtime: str = ""

    def __init__(
        self, task_name: str = "", timeout: float = 5, *, shaping: Shaping | None = None
    ) -> None:
        check_timeout(timeout)
        self.task_name = task_name or self.name
        self.timeout = timeout
        self._signals: tuple[Signal, ...] = ()
        if shaping:
            from .shaping import read_shaping  # its tables take as long to load as the rest

            self._signals = read_shaping(shaping)

    @abstractmethod
    def compute_reward(
        self, model_output: str, expected_output: Expected, answer_tag: str = ANSWER_TAG
    ) -> RewardFunctionScore:
        """Score `model_output` against `expected_output`.

        No model output raises. A reference that cannot be read gives the status "unscored".
        `answer_tag` names the tag that holds the final content.
        """

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of one judgement, as JSON values: the timeout in seconds, and others."""
        return {"timeout": self.timeout}

    def prepare(self, language: str = "") -> None:  # noqa: B027 -- most have nothing to load
        """Load everything that judging needs, so that missing parts show before a call is paid.

        Raises:
            RuntimeMissing, UnknownName: nothing can be judged.
        """

    def score(self, sample: Sample, completion: str) -> RewardFunctionScore:
        """Score a completion of a row against the row's answer."""
        return self._checked(self.compute_reward(completion, sample.answer))

    def _checked(self, score: object) -> RewardFunctionScore:
        """What `compute_reward` has returned. Raises UsageError if that is no score."""
        if fault := _fault_of(score):
            name = self.task_name or type(self).__name__
            raise UsageError(f"compute_reward of {name!r} returned {type(score).__name__}{fault}")
        assert isinstance(score, RewardFunctionScore)  # else that is the fault
        return score

    def passes(self, sample: Sample, completion: str, *, likely: bool) -> bool | None:  # noqa: ARG002
        """Whether a completion passes, at the lowest cost; None if that cannot be decided.

        For a row whose own response passed, so its reference is known to be sound. `likely` says
        whether a pass is expected: the cost may depend on it, the verdict does not.
        """
        score = self.score(sample, completion)
        return None if score.status == "unscored" else score.passed

    def sees_spelling(self, sample: Sample) -> bool:  # noqa: ARG002
        """Whether the verdict on a program may depend on more than its values and its output."""
        return True

    def accepts_empty(self, sample: Sample, empty: str) -> bool:
        """Whether a row's reference accepts `empty`, a response that solves nothing.

        For a row whose own response just passed.
        """
        return bool(self.passes(sample, empty, likely=False))

    def compute_rewards(
        self,
        model_outputs: Iterable[str],
        expected_outputs: Iterable[Expected],
        answer_tag: str = ANSWER_TAG,
    ) -> list[RewardFunctionScore]:
        """Score each output against its reference as `compute_reward`, in order.

        Raises:
            UsageError: the two sequences differ in length.
        """
        pairs = paired(model_outputs, expected_outputs)
        return [
            self._checked(self.compute_reward(output, expected, answer_tag))
            for output, expected in pairs
        ]

    def score_many(self, pairs: Iterable[tuple[Sample, str]]) -> list[RewardFunctionScore]:
        """Score each pair of a row and a completion as `score`, in order."""
        return [self.score(sample, completion) for sample, completion in pairs]

    def shaped(self, score: RewardFunctionScore, model_output: str) -> RewardFunctionScore:
        """Add the auxiliary signals that are switched on, measured on the completion."""
        if not self._signals:
            return score
        from .shaping import shape

        return shape(score, model_output or "", self._signals)


def _fault_of(score: object) -> str:
    """Why what a reward returned is no score; "" if it is one."""
    if not isinstance(score, RewardFunctionScore):
        return "; return a RewardFunctionScore"
    if score.status not in STATUSES:
        return f" with the status {score.status!r}; it is one of {', '.join(STATUSES)}"
    for name in ("format_score", "correctness_score"):
        value = getattr(score, name)
        if not (isinstance(value, Real) and 0 <= float(value) <= 1):  # also refuses nan
            return f" with {name} {value!r}; it is from 0 to 1"
    return ""


class AnswerRewardFunction(RewardFunction):
    """A reward that judges one text of a completion: the content of the last answer tag.

    A subclass defines `_judged`, and `_content` if the text is found in another way.
    """

    def compute_reward(
        self, model_output: str, expected_output: Expected, answer_tag: str = ANSWER_TAG
    ) -> RewardFunctionScore:
        """Score a completion against a row's answer, or a callable that takes the judged text."""
        return self._scored(model_output, expected_output, answer_tag, self._judged)

    def _scored(
        self,
        model_output: str,
        expected: Expected,
        answer_tag: str,
        judged: Callable[[float, str, object], RewardFunctionScore],
    ) -> RewardFunctionScore:
        """Score a completion; `judged` is `_judged`, or that with what else it takes."""
        text = model_output if isinstance(model_output, str) else ""
        score = too_long(text)
        if score is None:
            try:
                format_score, content = self._content(text, answer_tag)
                if callable(expected):
                    score = by_predicate(expected, format_score, content)
                else:
                    score = judged(format_score, content, expected)
            except NoAnswer as fault:
                score = RewardFunctionScore(fault.format_score, 0.0, str(fault))
            except BadReference as fault:
                score = unscored(format_score, str(fault))
        return self.shaped(score, text)

    def _content(self, text: str, answer_tag: str) -> tuple[float, str]:
        """The format score of a completion, and the text that is judged. Raises `NoAnswer`."""
        tags = tag_matches(text, answer_tag)
        return format_of(tags), tags[-1].content if tags else ""

    @abstractmethod
    def _judged(self, format_score: float, content: str, expected: object) -> RewardFunctionScore:
        """Score a text against a reference. Raises `BadReference`."""


class NoAnswer(ValueError):
    """The completion states no answer that can be judged; the message says why."""

    def __init__(self, reason: str, format_score: float = 0.0) -> None:
        super().__init__(reason)
        self.format_score = format_score


class BadReference(ValueError):
    """The reference is at fault, not the model: nothing can be judged against it."""


def too_long(completion: str) -> RewardFunctionScore | None:
    """The score of a completion that is too long to read; None for a shorter one.

    A timeout bounds runs of a program, and not the reading of the text that it is in.
    """
    if len(completion) <= MAX_COMPLETION:
        return None
    return RewardFunctionScore(0.0, 0.0, f"a text of more than {MAX_COMPLETION} characters")


def reference_text(expected: object, what: str) -> str:
    """Return a reference as JSON text. Raises `BadReference` if it has none; `what` names it."""
    try:
        return expected if isinstance(expected, str) else json.dumps(expected)
    except (TypeError, ValueError, RecursionError):
        raise BadReference(f"{what} is not JSON") from None


def reference_object(expected: object, what: str) -> Mapping[str, Any]:
    """Return a reference that is an object, or the JSON text of one. Raises `BadReference`."""
    try:
        value = json.loads(expected) if isinstance(expected, str) else expected
    except (ValueError, RecursionError):
        raise BadReference(f"{what} is not JSON") from None
    if not isinstance(value, Mapping):
        raise BadReference(f"{what} is not an object")
    return value


def check_timeout(timeout: object) -> None:
    """Raise UsageError unless a timeout is a positive number of seconds."""
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise UsageError(f"the timeout must be a positive number, not {timeout!r}")


def unscored(format_score: float, reason: str, **details: str) -> RewardFunctionScore:
    """The score if nothing can be judged, by no fault of the model."""
    return RewardFunctionScore(
        format_score, 0.0, f"cannot judge: {reason}", status="unscored", details=details
    )


def paired(
    model_outputs: Iterable[str], expected_outputs: Iterable[Expected]
) -> list[tuple[str, Expected]]:
    """Pair each output with its reference. Raises `UsageError` if their numbers differ."""
    if isinstance(model_outputs, str) or isinstance(expected_outputs, str):
        raise UsageError("outputs and references must be sequences, not one text")
    outputs, expected = list(model_outputs), list(expected_outputs)
    if len(outputs) != len(expected):
        raise UsageError(f"{len(outputs)} outputs cannot be judged by {len(expected)} references")
    return list(zip(outputs, expected, strict=True))


def predicate_share(predicate: Callable[[str], Any], text: str) -> float:
    """Call a caller's predicate: True and False are 1.0 and 0.0, a number from 0 to 1 is itself.

    Raises:
        BadReference: it raised, or returned anything else: a reward on another scale must not be
            clipped silently.
    """
    try:
        result = predicate(text)
    except Exception as fault:  # the caller's code may raise anything
        raise BadReference(f"the predicate raised {type(fault).__name__}: {fault}") from fault
    if isinstance(result, (bool, int, float)) and 0 <= result <= 1:
        return float(result)
    raise BadReference(
        f"the predicate returned {shown(result)}, neither a bool nor a number from 0 to 1"
    )


def by_predicate(
    predicate: Callable[[str], Any], format_score: float, text: str
) -> RewardFunctionScore:
    """The score of a text that a caller's predicate judges."""
    try:
        share = predicate_share(predicate, text)
    except BadReference as fault:
        return unscored(format_score, str(fault))
    if share == 1.0:
        return RewardFunctionScore(format_score, share, status="passed")
    return RewardFunctionScore(format_score, share, "the predicate rejects the answer")


def certificate_of(
    score: RewardFunctionScore, task: TaskType, reward: RewardFunction
) -> dict[str, Any]:
    """Return what judged a row and with which verdict, as JSON values.

    `reward` and `reward_version` name the reward, `limits` what bounds one judgement, `status` the
    verdict. A task in a language of the package also has its `runtime` and the `runtime_sha256`
    that the runtime's file must have. Raises `RuntimeMissing` if no hash is recorded.
    """
    return {**judge_of(task, reward), "status": score.status}


def judge_of(task: TaskType, reward: RewardFunction) -> dict[str, Any]:
    """Return what judges the rows of a task: the reward, its limits, and its runtime if any."""
    judge = {"reward": task.reward, "reward_version": reward.version, "limits": reward.limits}
    if name := reward.runtime or language_of(task.language):
        runtime = runtime_named(name)
        judge |= {"runtime": runtime.name, "runtime_sha256": recorded_hash(runtime)}
    return judge
