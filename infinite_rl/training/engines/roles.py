"""What the parts of a run at scale are to each other: the nouns, and what each role must do.

`flow` knows the roles by these alone. Where they run, in threads of this process or on the hosts of
a Ray cluster, is the placement's matter. Nothing here needs torch.

    schedule -> RolloutWorker -> RewardWorker -> buffer -> Trainer
                     ^                                        |
                     +--------------- weights ----------------+

A role whose worker has died raises WorkerLost from the call that was under way, and from any later
one. Every other exception is an error of the run, and ends it. That a worker does not answer only
its caller can see: `in_time`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ...errors import InfiniteRLError
from ..runs.config import TrainingConfig
from .prompt_queue import PromptRequest

if TYPE_CHECKING:
    from ..core.sampling import Sampled

__all__ = [
    "Group", "Observer", "PromptRequest", "RewardWorker", "Rollout", "RolloutWorker", "Trainer",
    "WorkerFactory", "WorkerLost", "startup_timeout", "to_rollout", "truncation_penalty",
    "with_timeout",
]  # fmt: skip

T = TypeVar("T")


class WorkerLost(InfiniteRLError):
    """The worker of a role has died (its process was killed, its host is gone) or never answers."""


@dataclass(frozen=True)
class Rollout:
    """One sampled answer: the ids as they were drawn, what the sampler gave each, its reward.

    `text` is what was judged; `reward` is None where there is no verdict.
    """

    ids: list[int]
    log_probs: list[float]
    text: str
    finish_reason: str
    reward: float | None


@dataclass(frozen=True)
class Group:
    """The answers to one prompt; `version` is how many updates the policy that gave them had."""

    task: PromptRequest
    version: int
    answers: list[Rollout]

    @property
    def telling(self) -> bool:
        """Whether some rewards differ: from others nothing can be learned."""
        return len({each.reward for each in self.answers if each.reward is not None}) > 1


def truncation_penalty(config: TrainingConfig, reward: float | None, cut_off: bool) -> float | None:
    """What an answer is worth for which the reward was given.

    One that was cut off has no credit, as it does not count as passed in an evaluation: a number
    may have lost its last digits, and who is paid for it need not learn to end. No verdict stays
    none, and a reward below 0 what it is.
    """
    if reward is None or not cut_off or config.reward_truncated:
        return reward
    return min(reward, 0.0)


def to_rollout(config: TrainingConfig, sampled: Sampled, reward: float | None) -> Rollout:
    """What was sampled, whose `text` is what was judged, with its credit for the reward."""
    worth = truncation_penalty(config, reward, sampled.finish_reason == "length")
    return Rollout(sampled.ids, sampled.log_probs, sampled.text, sampled.finish_reason, worth)


async def with_timeout(call: Awaitable[T], seconds: float) -> T:
    """What the call gives within so many seconds, or whenever it does where they are 0.

    Raises:
        WorkerLost: it gives nothing in that time; it is cancelled, and not waited for any more.
    """
    if not seconds:
        return await call
    task = asyncio.ensure_future(call)
    try:
        # not wait_for: its TimeoutError cannot be told from one that the call itself raises
        if not (await asyncio.wait([task], timeout=seconds))[0]:
            raise WorkerLost(f"no answer within {seconds:g} s (worker_timeout)")
        return task.result()
    finally:
        if task.cancel():
            await asyncio.wait([task])


def startup_timeout(config: TrainingConfig) -> float:
    """Seconds that a worker has to be ready: for its imports and its model ten minutes at least."""
    return config.worker_timeout and max(config.worker_timeout, 600.0)


class RolloutWorker(Protocol):
    """Samples answers with weights that it is given. It is called by one caller, one at a time."""

    async def load(self, version: int, weights: Any) -> None:
        """Take over weights, as `Trainer.weights` gave them; it comes before the first `sample`."""
        ...

    async def sample(self, tasks: Sequence[PromptRequest]) -> Sequence[Sequence[Sampled]]:
        """A group of answers to each task; each `text` is what is to be judged.

        What is drawn follows from the config's seed, the task's place and epoch, and the weights.
        """
        ...

    def kill(self) -> None:
        """End it, also in the middle of a call; nobody waits for it or asks it any more."""
        ...


class RewardWorker(Protocol):
    """Judges answers. It is called by one caller, one at a time."""

    async def judge(self, places: Sequence[int], texts: Sequence[str]) -> Sequence[float | None]:
        """The reward of each answer to the row at its place; None where there is no verdict."""
        ...

    def kill(self) -> None:
        """End it, also in the middle of a call; nobody waits for it or asks it any more."""
        ...


class Trainer(Protocol):
    """Holds the model that learns, its optimizer and the reference. One caller, one at a time."""

    async def learn(self, step: int, groups: Sequence[Group]) -> Mapping[str, float]:
        """One update, the number `step` from 0; what is to be told of it."""
        ...

    async def weights(self) -> Any:
        """The policy's weights as they are now; later updates must not change them."""
        ...

    async def save(self, step: int, state: Mapping[str, Any]) -> Path:
        """Save the checkpoint of `step` updates; `state` is the flow's, to be given back to it."""
        ...


class WorkerFactory(Protocol):
    """Gives the flow its workers, ready to work; asked again for a number, another one in the place
    of that which was lost."""

    async def trainer(self) -> Trainer:
        """The trainer, which is asked for once: there is no run without it."""
        ...

    async def rollout_worker(self, number: int) -> RolloutWorker:
        """A rollout worker, the number from 0. Raises WorkerLost where it was lost as it began."""
        ...

    async def reward_worker(self, number: int) -> RewardWorker:
        """A reward worker, the number from 0. Raises WorkerLost where it was lost as it began."""
        ...

    async def gone(self) -> None:
        """Wait, and raise InfiniteRLError once no worker is in reach any more, nor will be."""
        ...


class Observer(Protocol):
    """Who is told of what the flow does."""

    def event(self, kind: str, step: int, **values: Any) -> None:
        """As `RunFolder.event`."""
        ...

    def group(self, step: int, group: Group, fate: str, *, again: bool = False) -> None:
        """A group that was learned from in this update, from 1, or was filtered before it.

        `again`: it was learned from in an earlier one, too.
        """
        ...

    def stepped(self, step: int, values: Mapping[str, Any]) -> None:
        """An update is done, the number `step` from 1."""
        ...

    def saving(self) -> None:
        """A checkpoint is about to be made, of all that was told until now."""
        ...

    def saved(self, path: Path) -> None:
        """A checkpoint is there."""
        ...
