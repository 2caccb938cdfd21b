"""What the roles of `roles` do, as plain calls that block: a placement says where they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from ..core.grpo import PolicyGradient, build_prompts
from ..core.learner import Learner
from ..core.optimizer import restore
from ..core.rollouts import Reward, Row, judge, sample_groups
from ..core.sampling import Sampled, random_numbers
from ..runs import checkpoint
from ..runs.config import TrainingConfig
from .roles import Group, PromptRequest


@dataclass(frozen=True)
class RoleSpec:
    """What the roles of one run are told.

    rows     those that are asked about: all are short enough for the model
    reward   what judges the answers
    run      the folder of the run
    source   the checkpoint that it goes on from, if it does
    """

    rows: Sequence[Row]
    reward: Reward
    config: TrainingConfig
    run: Path
    source: Path | None = None


class TrainerRole:
    """The model that learns, with its optimizer and, where `kl_coef` is positive, the reference."""

    def __init__(self, job: RoleSpec) -> None:
        self._run = job.run
        self._learner = Learner(job.config, job.source)
        self._algorithm = PolicyGradient(self._learner, job.rows)
        if job.source:
            state = checkpoint.load_state(job.source)
            restore(self._learner.optimizer, state["optimizer"])

    def learn(self, step: int, groups: Sequence[Group]) -> dict[str, float]:
        """One update by the groups: see `PolicyGradient.learn`."""
        self._learner.begin(step)
        answers = list(chain.from_iterable(group.answers for group in groups))
        turns = self._algorithm.turns([group.task.place for group in groups], answers)
        return self._algorithm.learn(step, turns)

    def weights(self) -> dict[str, Any]:
        """A copy of the policy's weights, in main memory; tied ones share theirs there, too."""
        copies: dict[tuple[Any, ...], Any] = {}
        found = {}
        for name, tensor in self._learner.model.state_dict().items():
            memory = (tensor.data_ptr(), tensor.shape, tensor.stride())
            if memory not in copies:
                copies[memory] = tensor.detach().to("cpu", copy=True)
            found[name] = copies[memory]
        return found

    def save(self, step: int, state: Mapping[str, Any]) -> Path:
        """A checkpoint in the run's folder, with the flow's state beside the optimizer's."""
        return self._learner.save(self._run, step, flow=dict(state))


class RolloutRole:
    """A model of its own that samples with the weights that it is given."""

    def __init__(self, job: RoleSpec) -> None:
        self._learner = Learner(job.config, job.source)  # without gradients an optimizer is empty
        config, learner = job.config, self._learner
        self._prompts = build_prompts(job.rows, learner.tokenizer, learner.most, config)

    def load(self, weights: Mapping[str, Any]) -> None:
        """Take over weights, as the trainer gave them."""
        self._learner.model.load_state_dict(weights)

    def sample(self, tasks: Sequence[PromptRequest]) -> list[list[Sampled]]:
        """A group of answers to each task, by random numbers of the task's own."""
        learner = self._learner
        prompts = [self._prompts[task.place] for task in tasks]
        seed = learner.config.seed
        numbers = [random_numbers(seed, "sample", task.epoch, task.place) for task in tasks]
        return sample_groups(learner, learner.model, prompts, numbers)


class RewardRole:
    """The reward, as `rollouts.judge` asks it."""

    def __init__(self, job: RoleSpec) -> None:
        self._rows, self._reward = job.rows, job.reward

    def judge(self, places: Sequence[int], texts: Sequence[str]) -> list[float | None]:
        """The reward of each answer to the row at its place; None where there is no verdict."""
        return judge(self._reward, [self._rows[place] for place in places], texts)
