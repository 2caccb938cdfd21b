"""All that a run is told of, and tells: its folder, trackers, whoever watches, far places."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import checkpoint
from .config import TrainingConfig
from .publishing import Publisher, published
from .run_folder import RunFolder
from .tracking import Tracking

if TYPE_CHECKING:
    from ..core.rollouts import Reward, Row

logger = logging.getLogger(__name__)

EVENT = "train"  # the kind of a step's event
OnStep = Callable[[int, Mapping[str, Any]], None]


@dataclass(frozen=True)
class TrainingRun:
    """What an engine is told of one run.

    rows     what is learned from, with the columns of a `Sample`
    reward   what judges answers; SFT asks for none
    source   the checkpoint that it goes on from, if it does
    command  is kept in the run's manifest
    on_step  is called after each update with its number, from 1, and its values
    """

    rows: Sequence[Row]
    reward: Reward
    config: TrainingConfig
    source: Path | None = None
    command: Sequence[str] = ()
    on_step: OnStep | None = None

    @property
    def done(self) -> int:
        """How many updates the run has behind it."""
        return checkpoint.step_of(self.source) if self.source else 0


@dataclass(frozen=True)
class RunLog:
    """What an engine writes to while it trains, whatever it trains by."""

    folder: RunFolder
    _tracking: Tracking
    _publisher: Publisher
    _on_step: OnStep | None

    def step(self, step: int, values: Mapping[str, Any]) -> None:
        """Tell of an update that is done, the number `step` from 1."""
        self.folder.event(EVENT, step, **values)
        self._tracking.log(step, {f"{EVENT}/{name}": each for name, each in values.items()})
        if self._on_step:
            self._on_step(step, values)

    def saved(self, path: Path) -> None:
        """A checkpoint is there: have it published, where the config says so."""
        self._publisher.saved(path)


@contextmanager
def run_log(training: TrainingRun) -> Iterator[RunLog]:
    """The log of a new run, or of the one whose checkpoint is the `source`, which goes on.

    Raises:
        UsageError: a tracker, or a place to publish to, cannot be used; a new run has no folder.
        StoreError: the run's folder cannot be written.
    """
    config, source = training.config, training.source
    there = published(config)  # where it cannot be, no folder is made for the run
    with (
        RunFolder.open(source.parent.parent)
        if source
        else RunFolder.create(config.out, config.values(), training.command)
    ) as folder:
        if source:
            folder.resumed(training.done)
        resumed_at = training.done or None
        with (
            Tracking(config.tracking, folder.path, config.values(), resumed_at=resumed_at) as told,
            Publisher(folder, config, there) as publisher,
            _how_to_go_on(folder.path, config.algorithm),
        ):
            yield RunLog(folder, told, publisher, training.on_step)


def publish_what_is_owed(last: Path, config: TrainingConfig) -> None:
    """Publish what a run that has all its steps has not: it was killed before it could.

    Raises:
        UsageError: a place to publish to cannot be used.
        StoreError: the run's folder cannot be written.
    """
    with RunFolder.open(last.parent.parent) as folder, Publisher(folder, config):
        pass


@contextmanager
def _how_to_go_on(run: Path, algorithm: str) -> Iterator[None]:
    """Say what an interrupted run has kept."""
    try:
        yield
    except KeyboardInterrupt:
        if start := checkpoint.newest(run):
            logger.warning("infinite-rl train %s %s goes on from %s", algorithm, run, start.name)
        else:
            logger.warning("%s has no checkpoint yet to go on from", run)
        raise
