"""The directory of one training run: its settings, and its events and rollouts, line by line.

    artifacts/runs/20260131T120000Z_1a2b3c4d/
        config.yaml, run_manifest.json      settings, command, commit, versions, seeds
        locks/requirements.lock.txt         every installed package
        sys/hardware.json                   processor, memory, accelerators, drivers
        events.jsonl, rollouts.jsonl        what happened, and the sampled completions
        checkpoints/step_N/, plots/         see `checkpoint` and `plots`

Both .jsonl files are append-only. A run that resumes at step N repeats the later steps; their
former lines are skipped when the files are read.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Any

from ...config import read_yaml, to_yaml
from ...dataset.spill import to_line
from ...errors import StoreError, UsageError
from ...files.atomic import locked, write_text
from ...files.logs import AppendOnlyFile, damaged, whole_lines
from ...manifest import environment_info
from ...redact import redact
from . import checkpoint
from .machine import commit, hardware, requirements

logger = logging.getLogger(__name__)

CONFIG, MANIFEST = "config.yaml", "run_manifest.json"
EVENTS, ROLLOUTS = "events.jsonl", "rollouts.jsonl"
REQUIREMENTS, HARDWARE = "locks/requirements.lock.txt", "sys/hardware.json"
ROLLOUT_BYTES = 256 * 2**20  # maximum size of rollouts.jsonl
RESUMED, CAPPED = "resumed", "rollouts_capped"
_PACKAGES = ("torch", "transformers", "trl", "accelerate", "peft", "tokenizers", "numpy")

# Keys of the config of runs that earlier versions began, and their names now.
_FORMER_KEYS = {
    "steps": "max_steps", "style": "prompt_template", "mode": "mix", "warmup": "warmup_steps",
    "reward_cut_off": "reward_truncated", "kl": "kl_coef", "rollout": "rollout_backend",
    "replays": "num_iterations", "keep_equal_groups": "keep_zero_std_groups",
    "keep": "save_total_limit", "checkpoints": "checkpoint_uri", "traces": "trace_uri",
}  # fmt: skip


class RunFolder:
    """One run's directory, open for writing by one process: `create` a new one or `open` it again.

    A context manager. `event` and `rollout` are thread-safe.

    Raises:
        StoreError: not the directory of a run, another process writes to it, or not writable.
    """

    def __init__(self, path: Path) -> None:
        if not (path / MANIFEST).is_file():
            raise StoreError(f"{path} is not the folder of a run: it has no {MANIFEST}")
        self.path = path
        with ExitStack() as stack:
            stack.enter_context(locked(path))
            self._events = stack.enter_context(closing(_Lines(path / EVENTS)))
            self._rollouts = stack.enter_context(closing(_Lines(path / ROLLOUTS)))
            self._capped = self._is_capped()
            self._stack = stack.pop_all()

    @classmethod
    def create(
        cls, root: str | Path, config: Mapping[str, Any], command: Sequence[str] = ()
    ) -> RunFolder:
        """Create the directory `root`/<UTC stamp>_<commit> and record how the run was started.

        The commit is that of the working directory, or "nogit". A second run in the same second
        gets the suffix "-2". Secrets are redacted from everything that is written.

        Raises:
            StoreError: it cannot be created or written.
        """
        settings = to_yaml(redact(config))
        began = datetime.now(timezone.utc)
        sha, changed = commit(Path.cwd()) or (None, None)
        path = _new_folder(Path(root), f"{began:%Y%m%dT%H%M%SZ}_{sha[:8] if sha else 'nogit'}")
        manifest = {
            "command": redact(list(command)),
            "began": began.isoformat(timespec="seconds"),
            "commit": sha and {"sha": sha, "changed": changed},
            "seeds": {name: config[name] for name in ("seed",) if name in config},
            "working_directory": str(Path.cwd()),
            **environment_info(*_PACKAGES),
        }
        write_text(path / CONFIG, settings)
        write_machine(path)
        write_text(path / MANIFEST, json.dumps(manifest, indent=2) + "\n")  # last: it marks a run
        logger.info("the run's folder: %s", path)  # from which to resume
        return cls(path)

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Open a directory that `create` made; an incomplete last line of a file is dropped."""
        return cls(Path(path))

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files and release the lock."""
        self._stack.close()

    def event(self, kind: str, step: int, **values: Any) -> None:
        """Append {"kind", "step", "time" (seconds since 1970), **values} to events.jsonl.

        Non-finite numbers are written as null. The events of a step must be written before its
        checkpoint.

        Raises:
            UsageError: a value that JSON cannot represent, such as a tensor.
            StoreError: it cannot be written; `DiskFull` if the disk is full.
        """
        record = {"kind": kind, "step": step, "time": round(time.time(), 3), **values}
        self._events.append(to_line(_finite(record)))

    def rollout(self, step: int, **record: Any) -> None:
        """Append one sampled completion to rollouts.jsonl; raises as `event`.

        Logging stops at the first one that would exceed ROLLOUT_BYTES, with one event,
        `rollouts_capped`.
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
        """Record that the run resumes from the checkpoint of `step`: later lines become void."""
        checkpoint.mark_unfinished(self.path)
        self._rollouts.append(to_line({"kind": RESUMED, "step": step}))
        self.event(RESUMED, step, **environment_info(*_PACKAGES))
        self._capped = self._is_capped()

    def sync(self) -> None:
        """Flush all lines to the disk, before a checkpoint."""
        self._events.sync()
        self._rollouts.sync()

    def _is_capped(self) -> bool:
        return any(True for _ in read_events(self.path, CAPPED))


def read_events(run: Path, *kinds: str) -> Iterator[dict[str, Any]]:
    """A run's events in order, also while it runs; of these kinds, if any are named.

    Steps that a resumed run repeated come once, as the last repetition logged them.

    Raises:
        StoreError: the file is damaged; an incomplete last line is skipped.
    """
    for event in _valid(run / EVENTS):
        if not kinds or event.get("kind") in kinds:
            yield event


def read_rollouts(run: Path) -> Iterator[dict[str, Any]]:
    """A run's sampled completions, as `read_events` reads events."""
    return (record for record in _valid(run / ROLLOUTS) if record.get("kind") != RESUMED)


def read_config(run: Path) -> dict[str, Any]:
    """The config of a run, without its secrets and by the current names of its keys.

    Raises:
        StoreError: it is damaged.
    """
    try:
        values: dict[str, Any] = _with_current_names(read_yaml(run / CONFIG))
    except UsageError as error:
        raise StoreError(f"{run / CONFIG} cannot be read: {error}") from None
    if isinstance(values.get("datasets"), list):
        values["datasets"] = [_with_current_names(each) for each in values["datasets"]]
    return values


def _with_current_names(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values  # refused where the config is validated
    return {_FORMER_KEYS.get(key, key): value for key, value in values.items()}


class _Lines(AppendOnlyFile):
    """A thread-safe file of JSON lines; an incomplete last line is dropped."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lock = threading.Lock()
        self._drop_torn_line()

    def append(self, line: bytes) -> None:
        with self._lock:
            self._write(line)


def _valid(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file, without those of steps that were repeated."""
    resumptions = [(end, record["step"]) for end, record in _parsed(path, b'"resumed"')]
    last_valid: list[int] = []  # the last valid step of the lines before each resumption
    for _, step in reversed(resumptions):
        last_valid.append(min([step, *last_valid[-1:]]))
    last_valid.reverse()
    passed = 0
    for end, record in _parsed(path):
        if passed < len(resumptions) and end == resumptions[passed][0]:
            passed += 1
        if passed == len(resumptions) or record.get("step", 0) <= last_valid[passed]:
            yield record


def _parsed(path: Path, containing: bytes = b"") -> Iterator[tuple[int, dict[str, Any]]]:
    """Each complete line with the offset of its end; with `containing`, resumptions only."""
    if not path.exists():
        return
    for end, line in whole_lines(path):
        if containing not in line:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise damaged(path, end, str(error)) from None
        if not isinstance(record, dict) or type(record.get("step")) is not int:
            raise damaged(path, end, "no object with a step")
        if not containing or record.get("kind") == RESUMED:
            yield end, record


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def write_machine(folder: Path) -> None:
    """Write every installed package, and the machine. Raises StoreError."""
    write_text(folder / REQUIREMENTS, requirements())
    write_text(folder / HARDWARE, json.dumps(hardware(), indent=2) + "\n")


def _new_folder(root: Path, name: str) -> Path:
    """A new directory of this name, with a number if the name is taken."""
    for number in count(1):
        path = root / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            if not path.is_dir():  # a file, here or in the place of the root
                raise StoreError(f"cannot write to the folder {path}: it is a file") from None
        except OSError as error:
            raise StoreError(f"cannot write to the folder {path}: {error.strerror}") from None
    raise AssertionError("count never ends")
