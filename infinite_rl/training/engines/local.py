"""The local engine: SFT and GRPO on one CPU or GPU, with torch and transformers alone.

What a step does follows from the config, the weights, the optimizer's state and the step's number;
so a run that goes on from a checkpoint does on a CPU, to the bit, what it would have done.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

import torch

from ...errors import StoreError
from ..core.grpo import GRPO
from ..core.learner import Learner
from ..core.optimizer import restore
from ..core.rollouts import RolloutLogger, preflight
from ..core.sft import SFT
from ..runs import checkpoint
from ..runs.run_log import TrainingRun, run_log


class Algorithm(Protocol):
    """What the loop needs of SFT and GRPO."""

    def step(self, step: int, record: RolloutLogger) -> dict[str, float]:
        """One update, the number `step` from 0; what is to be told of it, and of its samples."""
        ...

    def state(self) -> dict[str, Any]:
        """What it takes to go on, beyond the number of the step."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


def run(training: TrainingRun) -> Path:
    """Train as the config says, to the last checkpoint: see `training.train`."""
    config, start = training.config, training.source
    learner = Learner(config, start)
    devices = [learner.device] if learner.device.type == "cuda" else []
    with ExitStack() as opened, torch.random.fork_rng(devices):
        algorithm = opened.enter_context(closing(_algorithm(learner, training)))
        if start:
            _restore(learner, algorithm, start)
        log = opened.enter_context(run_log(training))
        folder = log.folder
        for step in range(training.done, config.max_steps):
            learner.begin(step)
            log.step(step + 1, algorithm.step(step, folder.rollout))
            if (step + 1) % config.save_every == 0 or step + 1 == config.max_steps:
                folder.sync()  # else a power cut could take lines of steps that will not be redone
                start = learner.save(folder.path, step + 1, algorithm=algorithm.state())
                log.saved(start)
    assert start is not None  # the last step is always saved
    return start


def _restore(learner: Learner, algorithm: Algorithm, start: Path) -> None:
    state = checkpoint.load_state(start)
    try:
        restore(learner.optimizer, state["optimizer"])
        algorithm.restore(state["algorithm"])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"the state in {start} is no {learner.config.algorithm} run's") from error


def _algorithm(learner: Learner, training: TrainingRun) -> Algorithm:
    if learner.config.algorithm == "sft":
        return SFT(learner, training.rows)
    preflight(training.reward, training.rows)
    return GRPO(learner, training.rows, training.reward)
