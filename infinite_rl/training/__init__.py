"""Training on verified rows: SFT and GRPO, exact and small.

    core/     batches, advantages, losses, one step of each algorithm
    engines/  where a run is computed: this process, threads, a Ray cluster, TRL
    runs/     a run on disk: config, directory, checkpoints, logs, curves

Torch is loaded with an engine, not with this package.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..adapters.scorer import Scorer
from ..dataset.rows import Source, read
from ..errors import Stopped, UsageError, look_up
from .core.mixed import rows_of
from .runs import checkpoint, tracking
from .runs.config import ENGINES, TrainingConfig
from .runs.resuming import resume_checkpoint
from .runs.run_log import TrainingRun, ZeroAdvantageMonitor, publish_remaining

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
    stop: threading.Event | None = None,
) -> Path:
    """Train the config's model on rows, in a new run directory; returns the last checkpoint.

    The rows have the columns of a `Sample`; SFT also needs a `response`. None stands for the
    config's `data` or `datasets` (see `mixed.rows_of`). `reward` is a `Scorer`, or a function of
    rows and completions that returns a number for each, or None without a verdict; None stands for
    a `Scorer` with the config's `reward` as keywords. SFT ignores it. `resume` is the directory of
    a run to resume from its newest checkpoint; `command` is kept in the run's manifest. `on_step`
    is called after each update with its number, from 1, and its metrics. When `stop` is set, the
    run saves a checkpoint after the current step, and ends.

    Raises:
        Stopped: `stop` was set; the message says how to resume.
        UsageError: an invalid config, row, model or reward, or a package is not installed.
        StoreError: the run's directory is not writable.
        Diverged: a gradient was not finite.
    """
    engine = _engine(config)
    tracking.check(config.tracking)
    source = resume_checkpoint(Path(resume), config) if resume is not None else None
    if source and checkpoint.step_of(source) >= config.max_steps:
        if tracking.is_main_process():
            publish_remaining(source, config)
        return _finish(source)
    if reward is None:
        reward = Scorer.of(config.reward)
    monitor = ZeroAdvantageMonitor(config)

    def step_done(step: int, values: Mapping[str, Any]) -> None:
        monitor.step(values)
        if on_step:
            on_step(step, values)

    if rows is not None:
        samples = list(read(rows))
    else:
        checks = isinstance(reward, Scorer) and config.algorithm == "grpo"
        samples = rows_of(config, reward if checks else None)  # type: ignore[arg-type]
    stop = stop or threading.Event()
    training = TrainingRun(samples, reward, config, source, command, step_done, stop)
    last: Path = engine.run(training)
    step = checkpoint.step_of(last)
    if stop.is_set() and step < config.max_steps:
        resumes = f"infinite-rl train {config.algorithm} {last.parent.parent}"
        raise Stopped(f"stopped after step {step} of {config.max_steps}, which is saved: {resumes}")
    monitor.end()
    return _finish(last)


def _engine(config: TrainingConfig) -> Any:
    """The module whose `run` trains. Raises UsageError if a package is not installed."""
    module, extras = look_up("engine", config.engine, ENGINES)
    try:
        if config.engine == "ray" and find_spec("ray") is None:  # before a directory is created
            raise ModuleNotFoundError(name="ray")
        return import_module(module, __name__)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"training needs {error.name}: pip install 'infinite-rl[{extras}]'"
        ) from None


def _finish(last: Path) -> Path:
    """Mark the run as finished and plot its curves, if matplotlib is installed."""
    from .runs.plots import plot

    checkpoint.mark_finished(last)
    try:
        plot(last.parent.parent)
    except UsageError as error:
        logger.warning("no plots: %s", error)
    return last
