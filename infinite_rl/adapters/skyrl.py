"""SkyRL: an environment of one step.

    from skyrl_gym.envs import register

    register(id="infinite_rl", entry_point="infinite_rl.adapters.skyrl:InfiniteRLEnv")

The contract is that of skyrl-gym 0.4.0 (`BaseTextEnv`): made with `env_config`, the row's other
columns as `extras`, and what `register` was given as `kwargs`; then one `step` with the response.
The reward is a number: what could not be judged gets 0.0, a warning, and the metric `unscored` 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from ..dataset.ground_truth import unpack
from ..errors import UsageError
from .scorer import scorer


class InfiniteRLEnv(BaseTextEnv):
    """Judges one response against `reward_spec.ground_truth` of its row.

    The settings are those of `Scorer`; `env_config` makes no difference.

    Raises:
        UsageError: the row has no ground truth of this package.
    """

    def __init__(
        self,
        env_config: Any = None,
        extras: Mapping[str, Any] | None = None,
        *,
        format_weight: float = 0.0,
        partial: bool = False,
        timeout: float = 5,
        rewards: str | Path | None = None,
    ) -> None:
        super().__init__()
        spec = (extras or {}).get("reward_spec")
        if not isinstance(spec, Mapping) or "ground_truth" not in spec:
            raise UsageError("the row has no reward_spec with a ground_truth")
        self._sample = unpack(spec["ground_truth"])
        self._judge = scorer(format_weight, partial, timeout, rewards)
        self._metrics: dict[str, float] = {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """The reward of the response, which ends the episode. Raises as `Scorer.judge`."""
        score = self._judge.judge_one(self._sample, action)
        self._metrics = {
            "passed": float(score.passed),
            "format": score.format_score,
            "unscored": float(score.status == "unscored"),
        }
        return BaseTextEnvStepOutput(
            observations=[],
            reward=self._judge.number(score),
            done=True,
            metadata={"status": score.status, "error": score.error_msg},
        )

    def get_metrics(self) -> dict[str, float]:
        """`passed`, `format` and `unscored` of the last step; SkyRL logs their means."""
        return self._metrics
