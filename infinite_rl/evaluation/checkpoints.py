"""Where the checkpoints of a run are found as they come: in its folder, or where it publishes them.

artifacts/runs/20260131T120000Z_1a2b3c4d    the folder of a run
s3://bucket/checkpoints/job/                where one run publishes its checkpoints; file:///, too
s3://bucket/checkpoints/job/RUN             the same, of the run RUN where there are several
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..errors import UsageError
from ..storage import Published, Transfer, fetch, list_published
from ..training.runs.checkpoint import FOLDER, STATE, STEP, final, is_ready, ready, step_of

LINES = "steps.jsonl"  # in the folder of a watch: what it has found of each step
_NAME = re.compile(rf"(?P<run>.+)_(?:step(?P<step>{STEP})|final)")


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint: its step, its place, and whether the run has ended with it."""

    step: int
    place: str
    final: bool = False

    @property
    def name(self) -> str:
        """What it is called, wherever it lies."""
        return f"step_{self.step}"


class Checkpoints(Protocol):
    """The checkpoints of one run."""

    def there(self) -> list[Checkpoint]:
        """Those that are there now, in the order of their steps.

        Raises:
            UsageError: it is no place where they could be, or it may not be read.
            StoreError: it does not answer.
        """
        ...

    def fetch(self, found: Checkpoint) -> Path:
        """The folder of one on this machine. Raises as `there`."""
        ...

    def leave(self, path: Path) -> None:
        """A folder that `fetch` gave is needed no more."""
        ...


def checkpoints(run: str, transfer: Transfer) -> Checkpoints:
    """Those of a run's folder, or of the place that it publishes to.

    Raises:
        UsageError: there is no such folder.
    """
    if run.startswith(("s3:", "file:")):
        return _Elsewhere(run, transfer)
    if not Path(run).is_dir():
        raise UsageError(f"there is no run {run}")
    if not (Path(run) / FOLDER).is_dir() and _named(run):
        return _Elsewhere(run, transfer)
    return _Here(Path(run))


@dataclass(frozen=True)
class _Here:
    run: Path

    def there(self) -> list[Checkpoint]:
        last = final(self.run)
        return [Checkpoint(step_of(path), str(path), path == last) for path in ready(self.run)]

    def fetch(self, found: Checkpoint) -> Path:
        if not is_ready(Path(found.place)):
            raise UsageError(f"{found.place} is not there")
        return Path(found.place)

    def leave(self, path: Path) -> None:
        """It is the run's own."""


@dataclass(frozen=True)
class _Elsewhere:
    uri: str
    transfer: Transfer

    def there(self) -> list[Checkpoint]:
        found = runs_at(self.uri)
        if not found and not self.uri.endswith("/"):
            above, _, run = self.uri.rpartition("/")
            found = {name: of for name, of in runs_at(f"{above}/").items() if name == run}
        runs = list(found)
        if len(runs) > 1:
            raise UsageError(
                f"{self.uri} holds checkpoints of {len(runs)} runs, {', '.join(runs)}: name one, "
                f"such as {self.uri.rstrip('/')}/{runs[0]}"
            )
        return found[runs[0]] if runs else []

    def fetch(self, found: Checkpoint) -> Path:
        return fetch(found.place, self.transfer)

    def leave(self, path: Path) -> None:
        cache = self.transfer.cache
        if cache and cache in path.parents:
            shutil.rmtree(path.parent, ignore_errors=True)


def cache_in(out: Path, transfer: Transfer) -> Transfer:
    """The transfer of checkpoints that are evaluated into `out`, and removed after that.

    The optimizer's state, which is most of a checkpoint, is not fetched.
    """
    return Transfer(out / ".fetched", transfer.on_progress, transfer.stop, leave_out=(STATE,))


def runs_at(uri: str) -> dict[str, list[Checkpoint]]:
    """The checkpoints that are published at a place, by the names of their runs, in their order.

    Raises:
        UsageError: it is no place where they could be, or it may not be read.
        StoreError: it does not answer.
    """
    found: dict[str, list[Published]] = {}
    for each in _named(uri):
        found.setdefault(_run(each), []).append(each)
    return {run: _by_step(found[run]) for run in sorted(found)}


def _named(uri: str) -> list[Published]:
    return [each for each in list_published(uri) if _NAME.fullmatch(each.name)]


def _run(found: Published) -> str:
    match = _NAME.fullmatch(found.name)
    assert match  # by `_named`
    return match["run"]


def _by_step(found: list[Published]) -> list[Checkpoint]:
    """The last one is published twice, as that of its step and as the last; it is one."""
    steps: dict[int, str] = {}
    last: dict[int, str] = {}
    for each in found:
        match = _NAME.fullmatch(each.name)
        assert match
        if match["step"]:
            steps[int(match["step"])] = each.uri
        elif type(step := each.note.get("step")) is int and re.fullmatch(STEP, str(step)):
            last[step] = each.uri
    places = sorted({**last, **steps}.items())
    return [Checkpoint(step, place, step in last) for step, place in places]
