"""The run that a job has begun before, which a second start of it goes on with.

A job starts again where SageMaker has taken its machines away for a while, or where it is submitted
again with the same place for its checkpoints. What is published there is all that is left of it:

    {checkpoints}/{run}_step{N}/    a checkpoint to go on from, with the run's config and manifest
    {checkpoints}/{run}_final/      the run has ended
    {traces}/{run}/                 what happened before; lines of later steps are void

Each object of S3 is there whole or not at all, and lines are only ever added. So the traces are
fetched file by file: their folder is not whole while a newer version of it is on its way.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import StoreError, UsageError
from ..evaluation.checkpoints import Checkpoint, runs_at
from ..storage import MARKER, Transfer, fetch
from ..training.runs import checkpoint
from ..training.runs.config import TrainingConfig
from ..training.runs.publishing import BEGUN_WITH, TRACES
from ..training.runs.resuming import check_unchanged

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ResumableRun:
    """A run of this job that is published: its name, its newest checkpoint, whether it has ended.

    Raises, in each method:
        UsageError: it was begun with settings of another curve, or may not be read.
        StoreError: it could not be fetched whole, or not be written here.
    """

    name: str
    newest: Checkpoint
    ended: bool

    @classmethod
    def of(cls, config: TrainingConfig) -> ResumableRun | None:
        """The run that is published where the config says, if there is one.

        Raises:
            UsageError: there are several, or the place may not be read.
            StoreError: it does not answer. To begin anew then would be to leave two runs there.
        """
        if not config.checkpoint_uri:
            return None
        found = runs_at(config.checkpoint_uri)
        if len(found) > 1:
            raise UsageError(
                f"{config.checkpoint_uri} holds checkpoints of {len(found)} runs, "
                f"{', '.join(found)}, and a job goes on with the run there: "
                "name another place under `checkpoint_uri`"
            )
        for name, there in found.items():
            return cls(name, there[-1], any(each.final for each in there))
        return None

    def check(self, config: TrainingConfig) -> None:
        """See that it was begun with this config's settings."""
        with _room(config) as room:
            _fetched(f"{self.newest.place.rstrip('/')}/{BEGUN_WITH[0]}", room / BEGUN_WITH[0])
            self._check(room, config)

    def fetched(self, config: TrainingConfig) -> Path:
        """Its folder under the config's `out`, with its newest checkpoint: what it resumes from.

        What of it is on this machine already stays.
        """
        run = Path(config.out) / self.name
        here = checkpoint.newest(run)
        if here is None or checkpoint.step_of(here) < self.newest.step:
            with _room(config) as room:
                self._fetch(run, room, config)
        self._check(run, config)
        return run

    def _check(self, run: Path, config: TrainingConfig) -> None:
        try:
            check_unchanged(run, config)
        except UsageError as error:
            raise UsageError(
                f"the job would go on with the run at {self.newest.place}, but {error} in another "
                "place: the key `checkpoint_uri`"
            ) from None

    def _fetch(self, run: Path, room: Path, config: TrainingConfig) -> None:
        source = room / self.newest.name
        _fetched(self.newest.place, source)
        for name in TRACES:
            if (run / name).is_file():
                continue
            if (source / name).is_file():
                _moved(source / name, run / name)
            elif config.trace_uri:
                try:
                    _fetched(f"{config.trace_uri.rstrip('/')}/{self.name}/{name}", room / "file")
                    _moved(room / "file", run / name)
                except UsageError as error:  # it is not among the traces, as they may not be read
                    logger.warning("the run goes on without its %s: %s", name, error)
        _moved(source, run / checkpoint.FOLDER / source.name)


@contextmanager
def _room(config: TrainingConfig) -> Iterator[Path]:
    """A folder for what is on its way, on the disk that it goes to."""
    room = Path(config.out) / ".begun.part"
    try:
        shutil.rmtree(room, ignore_errors=True)
        room.mkdir(parents=True)
        yield room
    except OSError as error:
        raise StoreError(f"cannot write to {config.out}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _fetched(uri: str, place: Path) -> None:
    """Have what is at `uri` as a file or a folder of one's own."""
    cache = place.parent / ".cache"
    found = fetch(uri, Transfer(cache))
    if cache in found.parents:
        found.rename(place)
    elif found.is_dir():
        shutil.copytree(found, place, ignore=shutil.ignore_patterns(MARKER))
    else:
        shutil.copyfile(found, place)


def _moved(source: Path, place: Path) -> None:
    """Give it its place in one step; a folder that is there is a damaged one."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    source.rename(place)
