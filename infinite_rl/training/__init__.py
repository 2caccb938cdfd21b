"""Training on verified rows: SFT and GRPO, exact and small.

    config.py         what one run is told
    resuming.py       where it goes on from, and what it may then be told otherwise
    mixed.py          its rows, of one data set or of several
    encoding.py       rows as token ids
    batches.py        which rows a step takes, and its forward passes

    advantages.py     how much better an answer did than the others
    loss.py           the losses
    tensors.py        log-probabilities, entropies, masked reductions
    optimizer.py      AdamW, its learning rate, a bound on the gradient

    local.py          the engine `local`: one step after the other
    sft.py            a step of SFT
    grpo.py           a step of GRPO
    rollouts.py       its answers, sampled and judged
    sampling.py       completions of a causal model
    prefill.py        prompts that are read once for all answers to them
    learner.py        the model that learns

    flow.py           a run at scale: who waits for whom
    roles.py          what its parts must do
    schedule.py       which prompt is next, and what has become of all
    buffer.py         the answers that wait for the trainer
    spans.py          who did what when
    blocking.py       what the roles do, as plain calls
    async_engine.py   the engine `asyncio`: the roles in threads
    ray_engine.py     the engine `ray`: the roles on a cluster
    vllm_rollout.py   a rollout worker that samples with vLLM

    trl_engine.py     the engine `trl`
    trl_options.py    a config in TRL's keywords

    run_log.py        all that an engine writes to while it trains
    run_folder.py     the run's folder: events, rollouts, manifest
    tracking.py       TensorBoard and Weights & Biases
    publishing.py     checkpoints and traces, copied elsewhere
    telling.py        a warning where groups of answers tell nothing
    checkpoint.py     what a run goes on from, whole or not there
    machine.py        on what a run is made
    redact.py         keeps secrets out of all that

    plots.py          its curves
    timeline.py       where its time went
    generations.py    answers to look at
    demo.py           all of it in minutes, with a tiny model

Torch is loaded with an engine, not with this package.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..adapters.scorer import Scorer
from ..dataset.rows import Row, Source, read
from ..errors import UsageError, look_up
from . import checkpoint, tracking
from .config import TrainingConfig
from .mixed import rows_of
from .telling import Telling

if TYPE_CHECKING:
    from .rollouts import Reward

__all__ = ["ENGINES", "TrainingConfig", "scorer_of", "train"]

logger = logging.getLogger(__name__)

# By the name that a config calls it: the module whose `run` trains, and the extras that it needs.
ENGINES: Mapping[str, tuple[str, str]] = {
    "local": (".local", "train"),
    "trl": (".trl_engine", "trl"),
    "asyncio": (".async_engine", "train"),
    "ray": (".ray_engine", "train,ray"),
}


def train(
    rows: Source | None,
    reward: Reward | None,
    config: TrainingConfig,
    *,
    resume: str | Path | None = None,
    command: Sequence[str] = (),
    on_step: Callable[[int, Mapping[str, Any]], None] | None = None,
) -> Path:
    """Train the config's model on rows, in a run folder of its own; returns the last checkpoint.

    The rows have the columns of a `Sample`; for SFT, a `response`. None stands for those that the
    config names, of its `data` or mixed of its `datasets` (see `mixed.rows_of`). `reward` is a
    `Scorer`, or takes rows and completions and gives a number for each, or None where it has no
    verdict; None stands for a `Scorer` with the config's `reward` as its keywords. SFT asks for no
    reward. `resume` is the folder of a run that goes on from its newest checkpoint; `command` is
    kept in the run's manifest. `on_step` is called after each update with its number, from 1, and
    its values.

    Raises:
        UsageError: the config, a row, the model or the reward cannot be; a package is missing.
        StoreError: the run's folder cannot be written.
        Diverged: a gradient was not finite.
    """
    module, extras = look_up("engine", config.engine, ENGINES)
    try:
        engine = import_module(module, __name__)
        if config.engine == "ray" and find_spec("ray") is None:  # or a run's folder would be made
            raise ModuleNotFoundError(name="ray")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"training needs {error.name}: pip install 'infinite-rl[{extras}]'"
        ) from None
    tracking.check(config.tracking)
    reward = scorer_of(config) if reward is None else reward
    telling = Telling(config)

    def stepped(step: int, values: Mapping[str, Any]) -> None:
        telling.step(values)
        if on_step:
            on_step(step, values)

    found: Path = engine.run(
        list(read(rows)) if rows is not None else _named(config, reward),
        reward,
        config,
        resume=Path(resume) if resume is not None else None,
        command=command,
        on_step=stepped,
    )
    telling.end()
    checkpoint.finish(found)
    _draw(found)
    return found


def _named(config: TrainingConfig, reward: Reward) -> list[Row]:
    """The rows that the config names; by the project's own rewards, where answers get them."""
    if isinstance(reward, Scorer) and config.algorithm == "grpo":
        return rows_of(config, reward)
    return rows_of(config)


def scorer_of(config: TrainingConfig) -> Scorer:
    """The scorer with the config's `reward` as its keywords. Raises UsageError for another key."""
    return Scorer().but(config.reward)


def _draw(found: Path) -> None:
    """Draw the curves of the run of a checkpoint; a run that is done does not fail for a plot."""
    from .plots import plot

    try:
        plot(found.parent.parent)
    except UsageError as error:
        logger.warning("no plots: %s", error)
