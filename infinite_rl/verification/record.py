"""What a row records of its proof: which reward judged it, in which runtime, within what limits."""

from __future__ import annotations

from typing import Any

from ..reward_functions.reward_function import RewardFunction
from ..sandbox.runtimes import language_of, recorded_hash, runtime_named
from ..types import RewardFunctionScore, TaskType


def proof_of(score: RewardFunctionScore, task: TaskType, reward: RewardFunction) -> dict[str, Any]:
    """The proof of a score, as JSON values: what judged it, and in `status` with which verdict."""
    return {**judge_of(task, reward), "status": score.status}


def judge_of(task: TaskType, reward: RewardFunction) -> dict[str, Any]:
    """What judges a task, as JSON values.

    `reward` and `reward_version` say what, `limits` within what. A task with a language of the
    package has its `runtime`, and the `runtime_sha256` that its file must have. Raises
    `RuntimeMissing` where no hash is recorded.
    """
    judge = {"reward": task.reward, "reward_version": reward.version, "limits": reward.limits}
    if language := language_of(task.language):
        runtime = runtime_named(language)
        judge |= {"runtime": runtime.name, "runtime_sha256": recorded_hash(runtime)}
    return judge
