"""TRL: a reward function for `GRPOTrainer` and `RLOOTrainer`.

The contract is that of TRL 1.16.0 (`GRPOTrainer._calculate_rewards`; "Using a custom reward
function" in its documentation): called by keywords with `prompts`, `completions`, each other column
of the data set as a list, `log_extra` and `log_metric`; one number for each completion, or None,
which leaves it out of its group's mean and gives it no advantage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..dataset.ground_truth import unpack
from ..dataset.rows import sample_of
from ..errors import UsageError
from ..reward_functions.reward_function import RewardFunction
from ..types import Sample
from .scorer import Scorer, text_of

TRLReward: TypeAlias = "Callable[..., list[float | None]]"


def for_trl(
    *,
    format_weight: float = 0.0,
    partial: bool = False,
    timeout: float = 5,
    extra: Mapping[str, RewardFunction] | None = None,
) -> TRLReward:
    """A reward function for TRL, with the settings of `Scorer`.

    A completion is a text, or a list of messages. The rows have the column `ground_truth`, as
    `export --to trl` writes it, or `type` and `answer`, and for code `language`. The reward of a
    completion that could not be judged is None. A truncated one is judged as it is; TRL's
    `mask_truncated_completions` excludes it from the loss. The table of completions that TRL logs
    gets the columns `status` and `error`.

    The function raises `UsageError` if the columns are missing, and as `Scorer.judge`.
    """
    return reward_of(
        Scorer(format_weight=format_weight, partial=partial, timeout=timeout, extra=extra)
    )


def reward_of(scorer: Scorer) -> TRLReward:
    """`for_trl` with an existing scorer."""

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
    return [
        sample_of({"prompt": "", "type": kind, "answer": answer, "language": language})
        for kind, answer, language in rows
    ]
