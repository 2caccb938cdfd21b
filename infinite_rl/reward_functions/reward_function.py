"""The base class of every reward: a row and a completion in, a score out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import UsageError
from ..layout import ANSWER_TAG
from ..types import RewardFunctionScore, Sample

if TYPE_CHECKING:
    from .shaping import Shaping, Signal

# A reference: text, a number, a JSON-like mapping, or a predicate on what the model produced.
Expected: TypeAlias = "str | int | float | dict[str, Any] | Callable[[str], Any]"


class RewardFunction(ABC):
    """Scores completions of one kind of task. Safe to call from many threads at once.

    `timeout` is in seconds. `shaping` switches on the signals of `shaping.py` by name; a reward
    applies them by ending in `return self.shaped(score, model_output)`.

    `version` is recorded with each row that the reward has proven: raise it in a reward whenever
    one of its verdicts may change.

    Raises:
        UsageError: a timeout that is not positive, or a shaping that cannot be read.
    """

    version: str = "1"

    def __init__(
        self, task_name: str, timeout: float = 5, *, shaping: Shaping | None = None
    ) -> None:
        if not isinstance(timeout, int | float) or not timeout > 0:
            raise UsageError(f"the timeout must be a positive number, not {timeout!r}")
        self.task_name = task_name
        self.timeout = timeout
        self._signals: tuple[Signal, ...] = ()
        if shaping:
            from .shaping import read_shaping  # its tables take as long to load as all the rest

            self._signals = read_shaping(shaping)

    @abstractmethod
    def compute_reward(
        self, model_output: str, expected_output: Expected, answer_tag: str = ANSWER_TAG
    ) -> RewardFunctionScore:
        """Score `model_output` against `expected_output`.

        Whatever the model wrote is scored, never raised. A reference that cannot be read gives the
        status "unscored". `answer_tag` names the tag that holds the final content.
        """

    @property
    def limits(self) -> dict[str, Any]:
        """What bounds one judgement, as JSON values: the timeout in seconds, and what else does."""
        return {"timeout": self.timeout}

    def prepare(self, language: str = "") -> None:  # noqa: B027 -- most have nothing to load
        """Load what judging needs now, so that a part that is missing shows before a call is paid.

        Raises:
            RuntimeMissing, UnknownName: nothing can be judged.
        """

    def score(self, sample: Sample, completion: str) -> RewardFunctionScore:
        """Score a completion of a row against the row's answer."""
        return self.compute_reward(completion, sample.answer)

    def passes(self, sample: Sample, completion: str, *, likely: bool) -> bool | None:  # noqa: ARG002
        """Whether a completion passes, at the least cost; None if that cannot be decided.

        For a row whose own response has passed, so that its reference is known to be sound. The
        verdict does not depend on whether a pass is `likely`, its cost may.
        """
        score = self.score(sample, completion)
        return None if score.status == "unscored" else score.passed

    def sees_spelling(self, sample: Sample) -> bool:  # noqa: ARG002
        """Whether the verdict on a program may depend on more than what it returns or prints."""
        return True

    def accepts_empty(self, sample: Sample, empty: str) -> bool:
        """Whether a row's reference accepts `empty`, a response that solves nothing.

        For a row whose own response has just passed.
        """
        return bool(self.passes(sample, empty, likely=False))

    def compute_rewards(
        self,
        model_outputs: Iterable[str],
        expected_outputs: Iterable[Expected],
        answer_tag: str = ANSWER_TAG,
    ) -> list[RewardFunctionScore]:
        """`compute_reward` for each output and what is expected of it, in their order.

        Raises:
            UsageError: not as many of the one as of the other.
        """
        pairs = paired(model_outputs, expected_outputs)
        return [self.compute_reward(output, expected, answer_tag) for output, expected in pairs]

    def score_many(self, pairs: Iterable[tuple[Sample, str]]) -> list[RewardFunctionScore]:
        """`score` for each pair of a row and a completion, in their order."""
        return [self.score(sample, completion) for sample, completion in pairs]

    def shaped(self, score: RewardFunctionScore, model_output: str) -> RewardFunctionScore:
        """The score with the auxiliary signals that are switched on, measured on the completion."""
        if not self._signals:
            return score
        from .shaping import shape

        return shape(score, model_output or "", self._signals)


class BadReference(ValueError):
    """The reference is at fault, not the model: nothing can be judged against it."""


def unscored(format_score: float, reason: str, **details: str) -> RewardFunctionScore:
    """The score where nothing can be judged, by no fault of the model's."""
    return RewardFunctionScore(
        format_score, 0.0, f"cannot judge: {reason}", status="unscored", details=details
    )


def paired(
    model_outputs: Iterable[str], expected_outputs: Iterable[Expected]
) -> list[tuple[str, Expected]]:
    """Each output with what is expected of it. Raises `UsageError` where one is left over."""
    if isinstance(model_outputs, str) or isinstance(expected_outputs, str):
        raise UsageError("outputs and references must be sequences, not one text")
    outputs, expected = list(model_outputs), list(expected_outputs)
    if len(outputs) != len(expected):
        raise UsageError(f"{len(outputs)} outputs cannot be judged by {len(expected)} references")
    return list(zip(outputs, expected, strict=True))
