"""The engine `local`: SFT and GRPO on one CPU or GPU, with torch and transformers alone.

A step depends on the config, the weights, the optimizer's state and its number alone: on a CPU a
resumed run is bitwise the same as one that was not interrupted.
"""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import torch

from ...errors import StoreError
from ..core.encoding import build_prompts
from ..core.generations import log_generations
from ..core.grpo import GRPO
from ..core.learner import Learner
from ..core.optimizer import restore
from ..core.rollouts import compute_rewards, preflight
from ..core.sft import SFT
from ..runs import checkpoint
from ..runs.run_log import TrainingRun, run_log

_WATCHED = 8  # rows whose answers are logged


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
            if config.generations_every and (step + 1) % config.generations_every == 0:
                log.folder.event("generations", step + 1, **_generations(learner, training))
            stopping = training.stop.is_set() or step + 1 == config.max_steps
            if stopping or (step + 1) % config.save_every == 0:
                log.folder.sync()  # a power cut must not take lines of steps that are not redone
                source = learner.save(log.folder.path, step + 1, algorithm=algorithm.state())
                log.saved(source)
            if stopping:
                break
    assert source is not None  # the last step is always saved
    return source


def _generations(learner: Learner, training: TrainingRun) -> dict[str, Any]:
    """What the model answers greedily to the first rows, by `log_generations`."""
    config = learner.config
    prompts = build_prompts(training.rows[:_WATCHED], learner.tokenizer, learner.max_tokens, config)
    rows = iter(prompt.row for prompt in prompts)  # rewards are asked for in this order

    def judged(response: str) -> dict[str, Any]:
        [reward] = compute_rewards(training.reward, [next(rows)], [response])
        return {"reward": reward, "is_correct": None if reward is None else reward >= 1}

    texts = [prompt.rendered.text for prompt in prompts]
    golds = [str(prompt.row.get("answer") or "") for prompt in prompts]
    options: dict[str, Any] = {"max_new_tokens": config.max_new_tokens, "reward_fn": judged}
    metrics = log_generations(learner.model, learner.tokenizer, texts, golds, **options)
    names = ("prompts", "responses", "references", "rewards")  # these are in `per_example`
    return {name: value for name, value in metrics.items() if name not in names}


def _algorithm(learner: Learner, training: TrainingRun) -> SFT | GRPO:
    if learner.config.algorithm == "sft":
        return SFT(learner, training.rows)
    preflight(training.reward, training.rows)
    return GRPO(learner, training.rows, training.reward)
