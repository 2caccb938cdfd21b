"""Training on verified rows: SFT and GRPO, exact and small.

    core/     batches, advantages, losses, one step of each algorithm
    engines/  where a run is computed: this process, threads, a Ray cluster, TRL
    runs/     a run on disk: config, directory, checkpoints, logs, curves

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
from .core.mixed import rows_of
from .runs import checkpoint, tracking
from .runs.config import ENGINES, TrainingConfig
from .runs.resuming import resume_checkpoint
from .runs.run_log import TrainingRun, publish_what_is_owed
from .runs.telling import ZeroAdvantageMonitor

if TYPE_CHECKING:
    from .core.rollouts import Reward

__all__ = ["TrainingConfig", "train"]

logger = logging.getLogger(__name__)


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
    engine = _engine(config)
    tracking.check(config.tracking)
    source = resume_checkpoint(Path(resume), config) if resume is not None else None
    if source and checkpoint.step_of(source) >= config.max_steps:
        if tracking.is_main_process():
            publish_what_is_owed(source, config)
        return _ended(source)
    if reward is None:
        reward = Scorer.of(config.reward)
    telling = ZeroAdvantageMonitor(config)

    def stepped(step: int, values: Mapping[str, Any]) -> None:
        telling.step(values)
        if on_step:
            on_step(step, values)

    asked = list(read(rows)) if rows is not None else _named(config, reward)
    found: Path = engine.run(TrainingRun(asked, reward, config, source, command, stepped))
    telling.end()
    return _ended(found)


def _engine(config: TrainingConfig) -> Any:
    """The module whose `run` trains. Raises UsageError where a package is missing."""
    module, extras = look_up("engine", config.engine, ENGINES)
    try:
        if config.engine == "ray" and find_spec("ray") is None:  # or a run's folder would be made
            raise ModuleNotFoundError(name="ray")
        return import_module(module, __name__)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"training needs {error.name}: pip install 'infinite-rl[{extras}]'"
        ) from None


def _named(config: TrainingConfig, reward: Reward) -> list[Row]:
    """The rows that the config names; by the project's own rewards, where answers get them."""
    if isinstance(reward, Scorer) and config.algorithm == "grpo":
        return rows_of(config, reward)
    return rows_of(config)


def _ended(last: Path) -> Path:
    """Note that a run has ended with a checkpoint, and draw its curves, if that can be done."""
    from .runs.plots import plot

    checkpoint.finish(last)
    try:
        plot(last.parent.parent)
    except UsageError as error:
        logger.warning("no plots: %s", error)
    return last
