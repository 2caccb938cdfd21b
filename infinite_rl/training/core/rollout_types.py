"""The records that sampling and training exchange: requests, rollouts, and groups of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..runs.config import TrainingConfig

if TYPE_CHECKING:
    from .sampling import Sampled


@dataclass(frozen=True)
class PromptRequest:
    """A request to sample a prompt: its index in the rows, its id, and the epoch, from 0.

    `attempt` counts the requests for this prompt in this epoch, from 1, so no two requests that
    were handed out are equal.
    """

    index: int
    id: str
    epoch: int
    attempt: int = 1


@dataclass(frozen=True)
class Rollout:
    """One completion: token ids as drawn, the sampler's log-probabilities, and the reward.

    `text` is what was scored; `reward` is None for a completion without a verdict. `loss_mask`,
    `transcript` and `tool_calls` are as in `sampling.Sampled`.
    """

    ids: list[int]
    log_probs: list[float]
    text: str
    finish_reason: str
    reward: float | None
    loss_mask: list[int] | None = None
    transcript: str = ""
    tool_calls: int = 0

    @property
    def drawn(self) -> int:
        """The number of tokens that the model drew: those that carry loss."""
        return len(self.ids) if self.loss_mask is None else sum(self.loss_mask)


@dataclass(frozen=True)
class RolloutGroup:
    """The rollouts of one prompt; `version` counts the updates of the policy that sampled them."""

    request: PromptRequest
    version: int
    rollouts: list[Rollout]

    @property
    def has_signal(self) -> bool:
        """Whether some rewards differ; a group of equal rewards has zero advantages."""
        return len({each.reward for each in self.rollouts if each.reward is not None}) > 1


def staleness(step: int, version: int) -> int:
    """Policy updates between sampling and the update number `step`, from 0; 0 is on-policy."""
    return step - version


def truncation_penalty(
    config: TrainingConfig, reward: float | None, truncated: bool
) -> float | None:
    """The reward of a completion, capped at 0 if it was truncated, as evaluation fails it too.

    A truncated number may lack its last digits, and a model that is paid for truncated answers does
    not learn to stop. `reward_truncated` turns the cap off. No verdict stays None.
    """
    if reward is None or not truncated or config.reward_truncated:
        return reward
    return min(reward, 0.0)


def to_rollout(config: TrainingConfig, sampled: Sampled, reward: float | None) -> Rollout:
    """The rollout of a sampled completion, whose `text` was scored with this reward.

    With a `fault` it has no verdict: the failure is not the model's.
    """
    reward = None if sampled.fault else reward
    reward = truncation_penalty(config, reward, sampled.finish_reason == "length")
    scored = sampled.ids, sampled.log_probs, sampled.text, sampled.finish_reason, reward
    return Rollout(*scored, sampled.loss_mask, sampled.transcript, sampled.tool_calls)


# Keys of checkpoints and events that earlier versions wrote, and their names now.
_FORMER_KEYS = {
    "flow": "controller", "schedule": "queue", "flying": "in_flight", "asked": "requested",
    "fates": "outcomes", "used": "trained", "wasted": "discarded",
    "task": "request", "place": "index", "answers": "rollouts",
}  # fmt: skip


def with_current_keys(value: Any) -> Any:
    """A record of a checkpoint or an event, with former keys replaced by their current names."""
    if isinstance(value, Mapping):
        return {_FORMER_KEYS.get(key, key): with_current_keys(each) for key, each in value.items()}
    return [*map(with_current_keys, value)] if isinstance(value, list) else value
