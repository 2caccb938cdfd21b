"""The engine `local`: SFT and GRPO on one CPU or GPU, with torch and transformers alone.

A step depends on the config, the weights, the optimizer's state and its number alone: on a CPU a
resumed run is bitwise the same as one that was not interrupted.
"""

from contextlib import ExitStack, closing
from pathlib import Path

import torch

from ...errors import StoreError
from ..core.grpo import GRPO
from ..core.learner import Learner
from ..core.optimizer import restore
from ..core.rollouts import preflight
from ..core.sft import SFT
from ..runs import checkpoint
from ..runs.run_log import TrainingRun, run_log


def run(training: TrainingRun) -> Path:
    """Train as the config says; returns the last checkpoint: see `training.train`."""
    config, source = training.config, training.checkpoint
    learner = Learner(config, source)
    devices = [learner.device] if learner.device.type == "cuda" else []
    with ExitStack() as stack, torch.random.fork_rng(devices):
        algorithm = stack.enter_context(closing(_algorithm(learner, training)))
        if source:
            state = checkpoint.load_state(source)
            try:
                restore(learner.optimizer, state["optimizer"])
                algorithm.restore(state["algorithm"])
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                name = config.algorithm
                raise StoreError(f"the state in {source} is not of a {name} run") from error
        log = stack.enter_context(run_log(training))
        for step in range(training.done, config.max_steps):
            learner.seed_dropout(step)
            log.step(step + 1, algorithm.step(step, log.rollout))
            stopping = training.stop.is_set() or step + 1 == config.max_steps
            if stopping or (step + 1) % config.save_every == 0:
                log.folder.sync()  # a power cut must not take lines of steps that are not redone
                source = learner.save(log.folder.path, step + 1, algorithm=algorithm.state())
                log.saved(source)
            if stopping:
                break
    assert source is not None  # the last step is always saved
    return source


def _algorithm(learner: Learner, training: TrainingRun) -> SFT | GRPO:
    if learner.config.algorithm == "sft":
        return SFT(learner, training.rows)
    preflight(training.reward, training.rows)
    return GRPO(learner, training.rows, training.reward)
