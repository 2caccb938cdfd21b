"""The run that an earlier start of the same job has published, which this start resumes.

A job starts again after SageMaker took its machines away, or when it is submitted again with the
same `checkpoint_uri`. Only published files are left of the earlier start:

    {checkpoint_uri}/{run}_step{N}/    a checkpoint to resume from, with the run's config
    {checkpoint_uri}/{run}_final/      the run has ended
    {trace_uri}/{run}/                 events before the checkpoint; lines of later steps are void

Each object in S3 is whole or absent, and lines are only appended. So traces are fetched file by
file: their folder is incomplete while a newer version of it is uploaded.
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
    """A published run of this job: its name, its newest checkpoint, and whether it has ended.

    Raises, in each method:
        UsageError: it began with other settings, or access is denied.
        StoreError: it cannot be fetched completely, or not be written here.
    """

    name: str
    newest: Checkpoint
    ended: bool

    @classmethod
    def find(cls, config: TrainingConfig) -> ResumableRun | None:
        """The run that is published at the config's `checkpoint_uri`, if there is one.

        Raises:
            UsageError: there are several, or access is denied.
            StoreError: S3 does not answer. A new run then would leave two runs there.
        """
        if not config.checkpoint_uri:
            return None
        runs = runs_at(config.checkpoint_uri)
        if len(runs) > 1:
            raise UsageError(
                f"{config.checkpoint_uri} holds checkpoints of {len(runs)} runs, "
                f"{', '.join(runs)}, and a job resumes the only one: set another `checkpoint_uri`"
            )
        for name, checkpoints in runs.items():
            return cls(name, checkpoints[-1], any(each.final for each in checkpoints))
        return None

    def check(self, config: TrainingConfig) -> None:
        """Check that the run began with this config's settings."""
        with _temporary_folder(config) as room:
            _fetch_to(f"{self.newest.location.rstrip('/')}/{BEGUN_WITH[0]}", room / BEGUN_WITH[0])
            self._check(room, config)

    def fetch(self, config: TrainingConfig) -> Path:
        """Return its folder under the config's `out`, with its newest checkpoint to resume from.

        Files that are on this machine already stay.
        """
        run = Path(config.out) / self.name
        local = checkpoint.newest(run)
        if local is None or checkpoint.step_of(local) < self.newest.step:
            with _temporary_folder(config) as room:
                self._fetch(run, room, config)
        self._check(run, config)
        return run

    def _check(self, run: Path, config: TrainingConfig) -> None:
        try:
            check_unchanged(run, config)
        except UsageError as error:
            raise UsageError(
                f"the job would resume the run at {self.newest.location}, but {error} with another "
                "`checkpoint_uri`"
            ) from None

    def _fetch(self, run: Path, room: Path, config: TrainingConfig) -> None:
        source = room / self.newest.name
        _fetch_to(self.newest.location, source)
        for name in TRACES:
            if (run / name).is_file():
                continue
            if (source / name).is_file():
                _move(source / name, run / name)
            elif config.trace_uri:
                try:
                    _fetch_to(f"{config.trace_uri.rstrip('/')}/{self.name}/{name}", room / "file")
                    _move(room / "file", run / name)
                except UsageError as error:  # missing, or access is denied
                    logger.warning("the run resumes without its %s: %s", name, error)
        _move(source, run / checkpoint.FOLDER / source.name)


@contextmanager
def _temporary_folder(config: TrainingConfig) -> Iterator[Path]:
    """A folder for downloads, on the disk that they are moved to."""
    room = Path(config.out) / ".resume.part"
    try:
        shutil.rmtree(room, ignore_errors=True)
        room.mkdir(parents=True)
        yield room
    except OSError as error:
        raise StoreError(f"cannot write to {config.out}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _fetch_to(uri: str, path: Path) -> None:
    """Fetch a file or a folder to this path, outside of any cache."""
    cache = path.parent / ".cache"
    fetched = fetch(uri, Transfer(cache))
    if cache in fetched.parents:
        fetched.rename(path)
    elif fetched.is_dir():
        shutil.copytree(fetched, path, ignore=shutil.ignore_patterns(MARKER))
    else:
        shutil.copyfile(fetched, path)


def _move(source: Path, path: Path) -> None:
    """Rename; a folder that is there is a damaged one, and is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    source.rename(path)
