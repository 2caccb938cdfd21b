"""Checkpoints that are there whole or not at all, and from which a run goes on.

    checkpoints/step_100/   what `save_pretrained` writes: any tool can load it
        trainer_state.pt    the optimizer's state, and what else the run goes on from
        READY               the size of every file, written last

A checkpoint is made under another name and gets its own when all of it is on the disk. So a run
that is killed leaves the one before as the newest.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError  # what torch raises; nothing is unpickled here
from typing import Any

from ...errors import StoreError, UsageError
from ...files.atomic import UNFINISHED, atomic_folder, clear_unfinished, write_text

FOLDER, READY, STATE = "checkpoints", "READY", "trainer_state.pt"
FINAL = "FINAL"  # in a run's folder: the name of the checkpoint that it has ended with
STEP = "0|[1-9][0-9]{0,11}"  # one name a step, whoever has made the folder
_NAME = re.compile(rf"step_({STEP})")


def save(
    run: Path, step: int, model: Any, tokenizer: Any, state: Mapping[str, Any], *, keep: int = 2
) -> Path:
    """Save a checkpoint into `run`/checkpoints/step_<step>; of the older ones `keep` - 1 stay.

    `model` and `tokenizer` are saved by their `save_pretrained`. `state` is whatever `load_state`
    is to give back: tensors, numbers, texts, and lists, tuples and mappings of them. Where there is
    a checkpoint of that step already, it stays as it is: somebody may be reading it.

    Raises:
        UsageError: `keep` is below 1, or `state` holds something that could not be loaded again.
        StoreError: it cannot be written; the checkpoints that are there stay.
    """
    if keep < 1:
        raise UsageError(f"keep must be at least 1 checkpoint, not {keep}")
    _check(state, "state")
    final = run / FOLDER / f"step_{step}"
    if not is_ready(final):
        try:
            clear_unfinished(final.parent)
            with atomic_folder(final) as draft:
                _write(draft, model, tokenizer, state)
        except _failures() as error:
            raise StoreError(f"cannot write {final}: {_reason(error)}") from error
    for old in ready(run)[:-keep]:
        try:
            remove(old)
        except OSError as error:
            raise StoreError(f"cannot remove {old}: {_reason(error)}") from None
    return final


def ready(run: Path) -> list[Path]:
    """The whole checkpoints of a run, oldest first."""
    found = [path for path in (run / FOLDER).glob("step_*") if is_ready(path)]
    return sorted(found, key=step_of)


def newest(run: Path) -> Path | None:
    """The whole checkpoint of the latest step, None where there is none."""
    return next(reversed(ready(run)), None)


def finish(path: Path) -> None:
    """Note that a run has ended with a checkpoint. Raises StoreError."""
    write_text(path.parent.parent / FINAL, f"{path.name}\n")


def go_on(run: Path) -> None:
    """Note that a run has not ended after all. Raises StoreError."""
    try:
        (run / FINAL).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write to {run}: {_reason(error)}") from None


def final(run: Path) -> Path | None:
    """The checkpoint that a run has ended with, None while it has not."""
    try:
        name = (run / FINAL).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return run / FOLDER / name if _NAME.fullmatch(name) else None


def is_ready(path: Path) -> bool:
    """Whether the folder is a whole checkpoint: every file is there that its READY tells of."""
    return bool(_NAME.fullmatch(path.name)) and not flaw(path)


def flaw(path: Path) -> str:
    """What a checkpoint's folder lacks to be whole, "" where that is nothing."""
    try:
        sizes = dict(json.loads((path / READY).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"its {READY} is missing or damaged"
    for name, size in sizes.items():
        try:
            found = (path / name).stat().st_size
        except (OSError, ValueError):
            return f"{name} is missing"
        if found != size:
            return f"{name} has {found} bytes, not {size}"
    return "" if sizes else f"its {READY} names no file"


def damaged(run: Path) -> dict[Path, str]:
    """The checkpoints of a run that are not whole, oldest first, and what each lacks."""
    there = (path for path in (run / FOLDER).glob("step_*") if _NAME.fullmatch(path.name))
    return {path: lack for path in sorted(there, key=step_of) if (lack := flaw(path))}


def step_of(path: Path) -> int:
    """The step of a checkpoint, by its name. Raises UsageError for another folder."""
    found = _NAME.fullmatch(path.name)
    if not found:
        raise UsageError(f"{path} is no checkpoint: it must be named step_NUMBER")
    return int(found[1])


def load_state(path: Path) -> dict[str, Any]:
    """The `state` that was saved with a checkpoint, its tensors in main memory.

    Nothing in the file is executed: torch's `weights_only` is on.

    Raises:
        StoreError: there is none, or it is damaged.
    """
    torch, file = _torch(), path / STATE
    try:
        found = torch.load(file, map_location="cpu", weights_only=True)
        if isinstance(found, dict):
            return found
        reason = "it is no mapping"
    except UnpicklingError:  # torch would tell how to load it nevertheless
        reason = "it is damaged, or holds more than tensors, numbers and texts"
    except (OSError, RuntimeError, EOFError, LookupError, ValueError) as error:
        reason = _reason(error)
    raise StoreError(f"{file} cannot be read: {reason}")


def _write(draft: Path, model: Any, tokenizer: Any, state: Mapping[str, Any]) -> None:
    draft.mkdir()
    model.save_pretrained(draft)
    tokenizer.save_pretrained(draft)
    _torch().save(dict(state), draft / STATE)
    files = sorted(path for path in draft.rglob("*") if path.is_file())
    sizes = {path.relative_to(draft).as_posix(): path.stat().st_size for path in files}
    marker = json.dumps({"files": sizes}, indent=1) + "\n"
    (draft / READY).write_text(marker, encoding="utf-8")


def remove(path: Path) -> None:
    """Remove a checkpoint; it is never there in half. Raises OSError."""
    leaving = path.with_name(f".{path.name}{UNFINISHED}")
    path.rename(leaving)
    shutil.rmtree(leaving)


def _reason(error: Exception) -> str:
    """An error in one line."""
    system = error.strerror if isinstance(error, OSError) else None
    return system or next(iter(str(error).splitlines()), type(error).__name__)


def _failures() -> tuple[type[Exception], ...]:
    """What torch and safetensors raise where a file cannot be written."""
    safetensors = sys.modules.get("safetensors")
    own = (safetensors.SafetensorError,) if safetensors else ()
    return (OSError, RuntimeError, *own)


def _check(value: Any, where: str) -> None:
    """Refuse what `load_state` could not load, while the run still has it."""
    torch = _torch()
    if value is None or isinstance(value, bool | int | float | str | bytes | torch.Tensor):
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            _check(key, where)
            _check(each, f"{where}[{key!r}]")
    elif type(value) in (list, tuple):
        for place, each in enumerate(value):
            _check(each, f"{where}[{place}]")
    else:
        raise UsageError(f"{where} is a {type(value).__name__}, which no checkpoint can hold")


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError:
        raise UsageError("checkpoints need torch: pip install 'infinite-rl[train]'") from None
    return torch
