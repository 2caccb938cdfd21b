"""All that a run is told of, and tells: its folder, trackers, whoever watches, far places."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import checkpoint
from .config import TrainingConfig
from .publishing import Publisher
from .run_folder import RunFolder
from .tracking import Tracking

logger = logging.getLogger(__name__)

EVENT = "train"  # the kind of a step's event
OnStep = Callable[[int, Mapping[str, Any]], None]


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
def run_log(
    config: TrainingConfig,
    *,
    resume: Path | None,
    done: int,
    command: Sequence[str] = (),
    on_step: OnStep | None = None,
) -> Iterator[RunLog]:
    """The log of a new run, or of the one in the folder `resume`, which goes on from step `done`.

    Raises:
        UsageError: a tracker, or a place to publish to, cannot be used.
        StoreError: the run's folder cannot be written.
    """
    made = (
        RunFolder.open(resume) if resume else RunFolder.create(config.out, config.values(), command)
    )
    with made as folder:
        if resume:
            folder.resumed(done)
        resumed_at = done or None
        with (
            Tracking(config.tracking, folder.path, config.values(), resumed_at=resumed_at) as told,
            Publisher(folder, config) as publisher,
            _how_to_go_on(folder.path, config.algorithm),
        ):
            yield RunLog(folder, told, publisher, on_step)


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
