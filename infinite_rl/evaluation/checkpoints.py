"""The checkpoints of a run: in its folder, or published by it.

artifacts/runs/20260131T120000Z_1a2b3c4d    the folder of a run
s3://bucket/checkpoints/job/                the published checkpoints of one run; file:///, too
s3://bucket/checkpoints/job/RUN             the same, of the run RUN if there are several
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..storage import Transfer, fetch, list_published
from ..training.runs.checkpoint import FOLDER, STATE, STEP, final, is_ready, ready, step_of

LINES = "steps.jsonl"  # in the folder of a watch: the results of each step
_NAME = re.compile(rf"(?P<run>.+)_(?:step(?P<step>{STEP})|final)")


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint: its step, its path or URI, and whether it is the run's last one."""

    step: int
    location: str
    final: bool = False

    @property
    def name(self) -> str:
        """The name of its results."""
        return f"step_{self.step}"


def checkpoints(run: str, transfer: Transfer) -> LocalRun | PublishedRun:
    """Return the checkpoints of a run's folder, or those that it published.

    Raises:
        UsageError: there is no such folder.
    """
    if run.startswith(("s3:", "file:")):
        return PublishedRun(run, transfer)
    if not Path(run).is_dir():
        raise UsageError(f"there is no run {run}")
    if not (Path(run) / FOLDER).is_dir() and runs_at(run):
        return PublishedRun(run, transfer)
    return LocalRun(Path(run))


@dataclass(frozen=True)
class LocalRun:
    """The checkpoints in the folder of a run."""

    run: Path

    def present(self) -> list[Checkpoint]:
        """Return the whole checkpoints, in order of their steps."""
        last = final(self.run)
        return [Checkpoint(step_of(path), str(path), path == last) for path in ready(self.run)]

    def fetch(self, checkpoint: Checkpoint) -> Path:
        """Return the folder of a checkpoint. Raises UsageError if it is gone."""
        if not is_ready(Path(checkpoint.location)):
            raise UsageError(f"{checkpoint.location} is missing or incomplete")
        return Path(checkpoint.location)

    def release(self, path: Path) -> None:
        """Do nothing: the folder belongs to the run."""


@dataclass(frozen=True)
class PublishedRun:
    """The checkpoints that a run has published."""

    uri: str
    transfer: Transfer

    def present(self) -> list[Checkpoint]:
        """Return the published checkpoints, in order of their steps.

        Raises:
            UsageError: the location is invalid or holds several runs, or access is denied.
            StoreError: the service is unreachable.
        """
        runs = runs_at(self.uri)
        if not runs and not self.uri.endswith("/"):
            parent, _, run = self.uri.rpartition("/")
            return runs_at(f"{parent}/").get(run, [])
        if len(runs) > 1:
            raise UsageError(
                f"{self.uri} holds checkpoints of {len(runs)} runs, {', '.join(runs)}: name one, "
                f"such as {self.uri.rstrip('/')}/{next(iter(runs))}"
            )
        return next(iter(runs.values()), [])

    def fetch(self, checkpoint: Checkpoint) -> Path:
        """Return the folder of a fetched checkpoint. Raises as `present`."""
        return fetch(checkpoint.location, self.transfer)

    def release(self, path: Path) -> None:
        """Delete a fetched folder."""
        cache = self.transfer.cache
        if cache and cache in path.parents:
            shutil.rmtree(path.parent, ignore_errors=True)


def cache_in(out: Path, transfer: Transfer) -> Transfer:
    """Return the transfer for checkpoints that are evaluated into `out` and then deleted.

    The state of the optimizer, most of a checkpoint, is not fetched.
    """
    return Transfer(out / ".fetched", transfer.on_progress, transfer.stop, leave_out=(STATE,))


def runs_at(uri: str) -> dict[str, list[Checkpoint]]:
    """Return the published checkpoints by run, in order of their steps.

    The last checkpoint is published twice, under its step and as the final one; it counts once.

    Raises:
        UsageError: the URI is invalid, or access is denied.
        StoreError: the service is unreachable.
    """
    steps: dict[str, dict[int, str]] = defaultdict(dict)
    finals: dict[str, dict[int, str]] = defaultdict(dict)
    for each in list_published(uri):
        if match := _NAME.fullmatch(each.name):
            run = match["run"]
            if match["step"]:
                steps[run][int(match["step"])] = each.uri
            elif type(step := each.note.get("step")) is int and re.fullmatch(STEP, str(step)):
                finals[run][step] = each.uri
    return {
        run: [
            Checkpoint(step, location, step in finals[run])
            for step, location in sorted({**finals[run], **steps[run]}.items())
        ]
        for run in sorted({*steps, *finals})
    }
