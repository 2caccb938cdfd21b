"""Run logging: directory, trackers, callbacks, publishing, and the zero-advantage warning."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...adapters.scorer import Scorer
from ...audit.ours import compute_reward
from ...audit.rollouts import Rollout, RolloutMonitor
from ...errors import DiskFull, RunDied, reason_of
from . import checkpoint
from .config import TrainingConfig
from .machine import memory_limit
from .publishing import Publisher, published
from .run_folder import RunFolder
from .tracking import tracking

if TYPE_CHECKING:
    from ..core.rollouts import Reward, Row

logger = logging.getLogger(__name__)

EVENT = "train"  # the kind of a step's event
TRICK = "trick"  # the kind of an event: paid completions look like one, while the reward rises
EARLY_WARNING_STEPS = 10  # steps' worth of groups without signal
_WARNED_SHARE = 0.1  # of the paid completions
OnStep = Callable[[int, Mapping[str, Any]], None]


@dataclass(frozen=True)
class TrainingRun:
    """What an engine needs to train.

    rows        with the columns of a `Sample`
    reward      scores completions; SFT does not use it
    checkpoint  the checkpoint to resume from, or None
    command     is kept in the run's manifest
    on_step     is called after each update with its number, from 1, and its metrics
    stop        once it is set, the run saves a checkpoint after the current step, and ends
    """

    rows: Sequence[Row]
    reward: Reward
    config: TrainingConfig
    checkpoint: Path | None = None
    command: Sequence[str] = ()
    on_step: OnStep | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def done(self) -> int:
        """Updates before this run resumed."""
        return checkpoint.step_of(self.checkpoint) if self.checkpoint else 0


@dataclass(frozen=True)
class RunLog:
    """What every engine writes to while it trains."""

    folder: RunFolder
    _track: OnStep
    _publisher: Publisher
    _on_step: OnStep | None
    _monitor: RolloutMonitor | None = None
    _warned: set[str] = field(default_factory=set)

    def rollout(self, step: int, sample: Row, **record: Any) -> None:
        """Log one sampled completion of a row."""
        self.folder.rollout(step, **record)
        if self._monitor and record["reward"] is not None:
            text = record["completion"]
            self._monitor.add([Rollout(record["prompt"], text, record["reward"], sample)])

    def step(self, step: int, values: Mapping[str, Any]) -> None:
        """Log the update number `step`, from 1."""
        values = {**values, **self._audit(step)}
        self.folder.event(EVENT, step, **values)
        self._track(step, {f"{EVENT}/{name}": each for name, each in values.items()})
        if self._on_step:
            self._on_step(step, values)

    def _audit(self, step: int) -> dict[str, float]:
        """The metrics of the rollouts' audit; a trick is warned of once, with an example."""
        if not self._monitor:
            return {}
        suspicions = self._monitor.report()
        for each in suspicions if self._monitor.is_rising() else ():
            if each.share >= _WARNED_SHARE and each.kind not in self._warned:
                self._warned.add(each.kind)
                prompt, text, reward, _ = each.example
                example = {"prompt": prompt, "completion": text, "reward": reward}
                self.folder.event(TRICK, step, trick=each.kind, share=each.share, **example)
                shown = f"{each.share:.0%} of the paid completions: {each.kind}"
                logger.warning("the reward rises, and %s; see events.jsonl", shown)
        return self._monitor.metrics(suspicions)

    def saved(self, path: Path) -> None:
        """Publish a new checkpoint, if the config says so."""
        self._publisher.saved(path)


@contextmanager
def run_log(training: TrainingRun) -> Iterator[RunLog]:
    """The log of a new run, or of the resumed run of the checkpoint.

    Raises:
        UsageError: a tracker or a destination of publishing is unusable; no directory is created.
        StoreError: the run's directory is not writable.
    """
    config, source = training.config, training.checkpoint
    remote = published(config)  # checked before a directory is created
    with (
        RunFolder.open(source.parent.parent)
        if source
        else RunFolder.create(config.out, config.values(), training.command)
    ) as folder:
        if source:
            folder.resumed(training.done)
        resumed_at = training.done or None
        with (
            tracking(config.tracking, folder.path, config.values(), resumed_at=resumed_at) as track,
            Publisher(folder, config, remote) as publisher,
        ):
            try:
                monitor = _monitor(training) if config.audit_rollouts else None
                yield RunLog(folder, track, publisher, training.on_step, monitor)
            except KeyboardInterrupt:
                logger.warning("%s", _how_to_resume(folder.path, config))
                raise
            except (RunDied, DiskFull) as error:
                error.args = (f"{error}; {_how_to_resume(folder.path, config)}",)
                raise
            except (MemoryError, RuntimeError) as error:
                if not _is_out_of_memory(error):
                    raise
                limit = memory_limit()
                within = f" (its limit is {limit / 2**30:.1f} GiB)" if limit else ""
                message = f"the memory is too small{within}: {reason_of(error)}; use a smaller "
                message += f"tokens_per_batch; {_how_to_resume(folder.path, config)}"
                raise RunDied(message) from error


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of Python or of torch's allocators says that there is no memory."""
    reason = str(error)
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "allocate memory" in reason
        or "not enough memory" in reason
    )


def _how_to_resume(run: Path, config: TrainingConfig) -> str:
    if newest := checkpoint.newest(run):
        return f"infinite-rl train {config.algorithm} {run} resumes from {newest.name}"
    return f"{run} has no checkpoint to resume from"


def _monitor(training: TrainingRun) -> RolloutMonitor:
    """The audit of rollouts; a custom reward is compared with this package's, where that judges."""

    def verdict(text: str, row: Row) -> float | None:
        return compute_reward(text, row["answer"], row.get("type", ""), row.get("language") or "")

    return RolloutMonitor(None if isinstance(training.reward, Scorer) else verdict)


def publish_remaining(last: Path, config: TrainingConfig) -> None:
    """Publish what a finished run has not published, as it was killed before.

    Raises:
        UsageError: a destination of publishing is unusable.
        StoreError: the run's directory is not writable.
    """
    with RunFolder.open(last.parent.parent) as folder, Publisher(folder, config):
        pass


class ZeroAdvantageMonitor:
    """Warns if a run learns nothing, as all rewards of its groups are equal or missing.

    It warns once, after `EARLY_WARNING_STEPS` steps' worth of groups without signal in a row.
    """

    def __init__(self, config: TrainingConfig) -> None:
        self._batch_size = config.batch_size
        self._in_a_row = 0
        self._had_signal = self._warned = False

    def step(self, values: Mapping[str, Any]) -> None:
        """Count the groups of a step by its metrics, if it has any."""
        share = values.get("frac_reward_zero_std")  # TRL's
        without = values.get("dropped_groups") if share is None else share * self._batch_size
        if without is not None:
            self.count(self._batch_size - without, without)

    def count(self, with_signal: float, without: float) -> None:
        """Count the next groups with and without signal."""
        self._had_signal = self._had_signal or with_signal > 0
        self._in_a_row = 0 if with_signal > 0 else self._in_a_row + round(without)
        if self._in_a_row >= EARLY_WARNING_STEPS * self._batch_size and not self._warned:
            self._warned = True
            logger.warning("%d groups in a row %s", self._in_a_row, _NO_SIGNAL)

    def end(self) -> None:
        """Warn if no group of the run had a signal."""
        if self._in_a_row and not self._had_signal:
            logger.warning("all %d groups of the run %s", self._in_a_row, _NO_SIGNAL)


_NO_SIGNAL = (
    "had equal rewards, or no verdict: nothing is learned from them. Are the tasks too hard or too "
    "easy for the model, or are its completions truncated or malformed? See rollouts.jsonl"
)
