"""The folder of one training run: what it was started with, and what happened, line by line.

    artifacts/runs/20260131T120000Z_1a2b3c4d/
        config.yaml, run_manifest.json      settings, command, commit, versions, seeds
        locks/requirements.lock.txt         every installed package
        sys/hardware.json                   processor, memory, accelerators, drivers
        events.jsonl, rollouts.jsonl        what happened, what was sampled
        checkpoints/step_N/, plots/         see `checkpoint` and `plots`

Both files of lines only grow. A run that is resumed at step N does the steps after N again; what
was written of them before is left out when the files are read.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Any

from ...config import read_yaml, to_yaml
from ...dataset.spill import to_line
from ...errors import StoreError, UsageError
from ...files.append_only import AppendOnlyFile, damaged, whole_lines
from ...files.atomic import write_text
from ...files.lock import locked
from ...manifest import environment_info
from ...redact import redact
from . import checkpoint
from .machine import commit, hardware, requirements

logger = logging.getLogger(__name__)

CONFIG, MANIFEST = "config.yaml", "run_manifest.json"
EVENTS, ROLLOUTS = "events.jsonl", "rollouts.jsonl"
REQUIREMENTS, HARDWARE = "locks/requirements.lock.txt", "sys/hardware.json"
ROLLOUT_BYTES = 256 * 2**20  # the most that rollouts.jsonl may have
RESUMED, CAPPED = "resumed", "rollouts_capped"
_PACKAGES = ("torch", "transformers", "trl", "accelerate", "peft", "tokenizers", "numpy")


class RunFolder:
    """One run's folder, open for writing by one process; `create` makes it, `open` goes on in it.

    Use it as a context manager. `event` and `rollout` may be called from any thread.

    Raises:
        StoreError: the folder is not a run's, another process writes to it, or it is not writable.
    """

    def __init__(self, path: Path) -> None:
        if not (path / MANIFEST).is_file():
            raise StoreError(f"{path} is not the folder of a run: it has no {MANIFEST}")
        self.path = path
        with ExitStack() as opened:
            opened.enter_context(locked(path))
            self._events = opened.enter_context(_Lines(path / EVENTS))
            self._rollouts = opened.enter_context(_Lines(path / ROLLOUTS))
            self._capped = self._is_capped()
            self._opened = opened.pop_all()

    @classmethod
    def create(
        cls, root: str | Path, config: Mapping[str, Any], command: Sequence[str] = ()
    ) -> RunFolder:
        """Make the folder `root`/<UTC stamp>_<commit> and write what the run is started with.

        The commit is that of the working directory, "nogit" where it has none. A second run of one
        second gets "-2" behind its name. Secrets are taken out of all that is written (`redact`).

        Raises:
            StoreError: it cannot be made or written.
        """
        settings = to_yaml(redact(config))
        began = datetime.now(timezone.utc)
        found = commit(Path.cwd())
        path = _made(Path(root), f"{began:%Y%m%dT%H%M%SZ}_{found[0][:8] if found else 'nogit'}")
        manifest = {
            "command": redact(list(command)),
            "began": began.isoformat(timespec="seconds"),
            "commit": found and {"sha": found[0], "changed": found[1]},
            "seeds": {name: config[name] for name in ("seed",) if name in config},
            "working_directory": str(Path.cwd()),
            **environment_info(*_PACKAGES),
        }
        write_text(path / CONFIG, settings)
        write_text(path / REQUIREMENTS, requirements())
        write_text(path / HARDWARE, json.dumps(hardware(), indent=2) + "\n")
        write_text(path / MANIFEST, json.dumps(manifest, indent=2) + "\n")  # last: now it is a run
        logger.info("the run's folder: %s", path)  # how to go on with it, should it be interrupted
        return cls(path)

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Go on in a folder that `create` made; half a line at the end of a file is dropped."""
        return cls(Path(path))

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; another process may open the folder."""
        self._opened.close()

    def event(self, kind: str, step: int, **values: Any) -> None:
        """Append {"kind", "step", "time" (seconds since 1970), **values} to events.jsonl.

        Numbers that are not finite are written as null. Whatever belongs to a step must be written
        before that step's checkpoint.

        Raises:
            UsageError: a value is nothing that JSON can say, such as a tensor.
            StoreError: it cannot be written; `DiskFull` for want of room.
        """
        record = {"kind": kind, "step": step, "time": round(time.time(), 3), **values}
        self._events.append(to_line(_finite(record)))

    def rollout(self, step: int, **record: Any) -> None:
        """Append one sampled completion to rollouts.jsonl; raises as `event` does.

        From the first one on that would make the file longer than ROLLOUT_BYTES nothing is
        written there, and one event, `rollouts_capped`, says so.
        """
        if self._capped:
            return
        line = to_line(_finite({"step": step, **record}))
        size = (self.path / ROLLOUTS).stat().st_size
        if size + len(line) > ROLLOUT_BYTES:
            self._capped = True
            self.event(CAPPED, step, bytes=size)
        else:
            self._rollouts.append(line)

    def resumed(self, step: int) -> None:
        """Note that the run goes on from the checkpoint of `step`; what came after it is void."""
        checkpoint.go_on(self.path)
        self._rollouts.append(to_line({"kind": RESUMED, "step": step}))
        self.event(RESUMED, step, **environment_info(*_PACKAGES))
        self._capped = self._is_capped()

    def sync(self) -> None:
        """Force all lines to the disk: what a power cut must not take, before a checkpoint."""
        self._events.sync()
        self._rollouts.sync()

    def _is_capped(self) -> bool:
        return any(True for _ in read_events(self.path, CAPPED))


def read_events(run: Path, *kinds: str) -> Iterator[dict[str, Any]]:
    """A run's events in order, also while it runs; of these kinds only, where some are named.

    Events of steps that a resumed run has done again are there once, as it did them last.

    Raises:
        StoreError: the file is damaged before its end; half a line at the end is left out.
    """
    for event in _valid(run / EVENTS):
        if not kinds or event.get("kind") in kinds:
            yield event


def read_rollouts(run: Path) -> Iterator[dict[str, Any]]:
    """A run's sampled completions, as `read_events` reads events."""
    return (record for record in _valid(run / ROLLOUTS) if record.get("kind") != RESUMED)


def read_config(run: Path) -> dict[str, Any]:
    """What a run was started with, without its secrets. Raises StoreError where it is damaged."""
    try:
        return read_yaml(run / CONFIG)
    except UsageError as error:
        raise StoreError(f"{run / CONFIG} cannot be read: {error}") from None


class _Lines(AppendOnlyFile):
    """A file of JSON lines that several threads append to; half a line at its end is dropped."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._turn = threading.Lock()
        self._drop_torn_line()

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def append(self, line: bytes) -> None:
        with self._turn:
            self._write(line)


def _valid(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a file, without those of steps that were done again."""
    resumed = [(place, record["step"]) for place, record in _parsed(path, b'"resumed"')]
    first_void: list[int] = []  # after which step lines before each of these places are void
    for _, step in reversed(resumed):
        first_void.append(min([step, *first_void[-1:]]))
    first_void.reverse()
    passed = 0
    for place, record in _parsed(path):
        if passed < len(resumed) and place == resumed[passed][0]:
            passed += 1
        if passed == len(resumed) or record.get("step", 0) <= first_void[passed]:
            yield record


def _parsed(path: Path, holding: bytes = b"") -> Iterator[tuple[int, dict[str, Any]]]:
    """Each whole line with its place; with `holding`, only the lines that tell of a resumption."""
    if not path.exists():
        return
    for end, line in whole_lines(path):
        if holding not in line:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise damaged(path, end, str(error)) from None
        if not isinstance(record, dict) or type(record.get("step")) is not int:
            raise damaged(path, end, "no object of a step")
        if not holding or record.get("kind") == RESUMED:
            yield end, record


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def _made(root: Path, name: str) -> Path:
    """A new folder of that name, or of that name with a number where there is one."""
    for number in count(1):
        path = root / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            if not path.is_dir():  # a file, here or where the root should be
                raise StoreError(f"cannot write to the folder {path}: it is a file") from None
        except OSError as error:
            raise StoreError(f"cannot write to the folder {path}: {error.strerror}") from None
    raise AssertionError("numbers do not end")
