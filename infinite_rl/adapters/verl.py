"""verl: `reward.custom_reward_function`.

    reward.custom_reward_function.path=pkg://infinite_rl.adapters.verl
    reward.custom_reward_function.name=compute_score

The contract is that of verl 0.9.1: `NaiveRewardManager.run_single` in
verl/experimental/reward_loop/reward_manager/naive.py calls by keywords and wants a number, or a
mapping with "score" whose other values are logged; all mappings must have the same keys.
`BatchRewardManager` in verl/workers/reward_manager/batch.py wants a list of these. There is no way
to say "no reward" (NaN would spread over its group), so what could not be judged gets 0.0, a
warning, and "unscored" 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infinite_rl.adapters.scorer import Scorer, scorer
from infinite_rl.dataset.ground_truth import unpack
from infinite_rl.types import RewardFunctionScore


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    *,
    format_weight: float = 0.0,
    partial: bool = False,
    timeout: float = 5,
    rewards: str | None = None,
    reward_router_address: object = None,
    reward_model_tokenizer: object = None,
) -> dict[str, float]:
    """The score of one response against the row's ground truth; see `Scorer` for the settings.

    verl passes `format_weight`, `partial`, `timeout` and `rewards` on from
    `reward.custom_reward_function.reward_kwargs`. The last two arguments belong to reward models;
    they and `data_source` and `extra_info` make no difference.

    Returns "score", "acc" (whether it passed), "format" and "unscored", all in [0, 1].

    Raises:
        UsageError: `ground_truth` is none of this package; or as `Scorer.judge`.
    """
    judge = scorer(format_weight, partial, timeout, rewards)
    return _result(judge, judge.judge_one(unpack(ground_truth), solution_str))


def compute_score_batch(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[str],
    extra_infos: Sequence[Mapping[str, Any]] | None = None,
    *,
    format_weight: float = 0.0,
    partial: bool = False,
    timeout: float = 5,
    rewards: str | None = None,
) -> list[dict[str, float]]:
    """`compute_score` for each response, in their order, on all cores: for the manager `batch`."""
    judge = scorer(format_weight, partial, timeout, rewards)
    pairs = zip(map(unpack, ground_truths), solution_strs, strict=True)
    return [_result(judge, score) for score in judge.judge(pairs)]


def _result(judge: Scorer, score: RewardFunctionScore) -> dict[str, float]:
    return {
        "score": judge.number(score),
        "acc": float(score.passed),
        "format": score.format_score,
        "unscored": float(score.status == "unscored"),
    }
