"""TRL: a reward function for `GRPOTrainer` and `RLOOTrainer`.

The contract is that of TRL 1.16.0 (`GRPOTrainer._calculate_rewards`; "Using a custom reward
function" in its documentation): called by keywords with `prompts`, `completions`, each other column
of the data set as a list, `log_extra` and `log_metric`; one number for each completion, or None,
which leaves it out of its group's mean and gives it no advantage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..dataset.ground_truth import unpack
from ..dataset.rows import sample_of
from ..errors import UsageError
from ..reward_functions.reward_function import RewardFunction
from ..types import Sample
from .scorer import Scorer, text_of


class TRLReward(Protocol):
    """What TRL calls."""

    __name__: str

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]: ...


def for_trl(
    *,
    format_weight: float = 0.0,
    partial: bool = False,
    timeout: float = 5,
    extra: Mapping[str, RewardFunction] | None = None,
) -> TRLReward:
    """A reward function for TRL, with the settings of `Scorer`.

    A completion is a text, or a list of messages. The rows have the column `ground_truth`, as
    `export --to trl` writes it, or `type` and `answer`, and for code `language`. Where a completion
    could not be judged its reward is None. One that was cut off is judged as it stands; TRL's
    `mask_truncated_completions` leaves it out of the loss. The table of completions that TRL logs
    gets the columns `status` and `error`.

    The function raises `UsageError` where the columns are not there, and as `Scorer.judge`.
    """
    return reward_of(
        Scorer(format_weight=format_weight, partial=partial, timeout=timeout, extra=extra)
    )


def reward_of(scorer: Scorer) -> TRLReward:
    """`for_trl` of a scorer that is there already."""

    def infinite_rl(
        prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        samples = _samples(columns, len(completions))
        scores = scorer.judge(zip(samples, map(text_of, completions), strict=True))
        if log_extra := columns.get("log_extra"):
            log_extra("status", [score.status for score in scores])
            log_extra("error", [score.error_msg for score in scores])
        return [scorer.reward(score) for score in scores]

    return infinite_rl


def _samples(columns: Mapping[str, Any], count: int) -> list[Sample]:
    if "ground_truth" in columns:
        return [unpack(text) for text in columns["ground_truth"]]
    if not {"type", "answer"} <= columns.keys():
        raise UsageError(
            "the data set needs the column ground_truth, or type and answer "
            f"(its columns: {', '.join(columns)})"
        )
    languages = columns.get("language") or [""] * count
    rows = zip(columns["type"], columns["answer"], languages, strict=True)
    names = ("prompt", "type", "answer", "language")
    return [sample_of(dict(zip(names, ("", *row), strict=True))) for row in rows]
