"""The local engine: SFT and GRPO on one CPU or GPU, with torch and transformers alone.

What a step does follows from the config, the weights, the optimizer's state and the step's number;
so a run that goes on from a checkpoint does on a CPU, to the bit, what it would have done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

import torch

from ..adapters.scorer import Scorer
from ..errors import StoreError
from ..store import sample_of
from . import checkpoint
from .config import TrainingConfig
from .grpo import GRPO
from .learner import Learner
from .optimizer import restore
from .resuming import start_of
from .rollouts import Record, Reward, Row, random_numbers
from .run_log import OnStep, publish_what_is_owed, run_log
from .sft import SFT


class Algorithm(Protocol):
    """What the loop needs of SFT and GRPO."""

    def step(self, step: int, record: Record) -> dict[str, float]:
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


def run(
    rows: Sequence[Row],
    reward: Reward,
    config: TrainingConfig,
    *,
    resume: Path | None = None,
    command: Sequence[str] = (),
    on_step: OnStep | None = None,
) -> Path:
    """Train as the config says: see `training.train`."""
    start = start_of(resume, config)
    done = checkpoint.step_of(start) if start else 0
    if start and done >= config.steps:
        publish_what_is_owed(start, config)
        return start
    learner = Learner(config, start)
    devices = [learner.device] if learner.device.type == "cuda" else []
    with ExitStack() as opened, torch.random.fork_rng(devices):
        algorithm = opened.enter_context(closing(_algorithm(learner, rows, reward)))
        if start:
            _restore(learner, algorithm, start)
        log = opened.enter_context(
            run_log(config, resume=resume, done=done, command=command, on_step=on_step)
        )
        folder = log.folder
        for step in range(done, config.steps):
            torch.manual_seed(random_numbers(config.seed, "dropout", step).initial_seed())
            log.step(step + 1, algorithm.step(step, folder.rollout))
            if (step + 1) % config.save_every == 0 or step + 1 == config.steps:
                folder.sync()  # else a power cut could take lines of steps that will not be redone
                start = _save(folder.path, step + 1, learner, algorithm)
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


def _algorithm(learner: Learner, rows: Sequence[Row], reward: Reward) -> Algorithm:
    if learner.config.algorithm == "sft":
        return SFT(learner, rows)
    if isinstance(reward, Scorer):
        try_out(reward, rows)
    return GRPO(learner, rows, reward)


def try_out(scorer: Scorer, rows: Sequence[Row]) -> None:
    """See that there is a reward, and its runtime, for every kind of row, before hours of work."""
    kinds = {(row.get("type"), row.get("language") or ""): row for row in rows}
    scorer.judge((sample_of(row), "") for row in kinds.values())


def _save(run: Path, step: int, learner: Learner, algorithm: Algorithm) -> Path:
    state = {"optimizer": learner.optimizer.state_dict(), "algorithm": algorithm.state()}
    keep = learner.config.keep
    return checkpoint.save(run, step, learner.model, learner.tokenizer, state, keep=keep)
