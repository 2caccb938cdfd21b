"""Checkpoints in Hugging Face format, written atomically, from which a run resumes.

    checkpoints/step_100/   written by `save_pretrained`: any tool can load it
        trainer_state.pt    optimizer state, and the rest of the state to resume from
        READY               the size of every file, written last

A checkpoint is written under a temporary name and renamed once it is on the disk: a killed run
keeps the one before as the newest.
"""

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError  # what torch raises; nothing is unpickled here
from typing import Any

from ...errors import StoreError, UsageError, import_extra, store_error, store_errors
from ...files.atomic import UNFINISHED, atomic_folder, clear_unfinished, write_text

FOLDER, READY, STATE = "checkpoints", "READY", "trainer_state.pt"
FINAL = "FINAL"  # in a run's directory: the name of the checkpoint that it finished with
STEP = "0|[1-9][0-9]{0,11}"  # one name for each step
_NAME = re.compile(rf"step_({STEP})")


def save(
    run: Path, step: int, model: Any, tokenizer: Any, state: Mapping[str, Any], *, keep: int = 2
) -> Path:
    """Save a checkpoint as `run`/checkpoints/step_<step> and keep `keep` - 1 older ones.

    `keep` is a run's setting `save_total_limit`.
    `model` and `tokenizer` have a `save_pretrained`. `state` is returned by `load_state`: tensors,
    numbers, strings, and lists, tuples and mappings of them. An existing checkpoint of the step is
    left as it is: it may be being read.

    Raises:
        UsageError: `keep` is below 1, or `state` holds a value that could not be loaded again.
        StoreError: it cannot be written; the older checkpoints stay.
    """
    torch = import_extra("torch", "checkpoints need", "train")
    if keep < 1:
        raise UsageError(f"keep must be at least 1 checkpoint, not {keep}")
    _check(state, "state", torch.Tensor)
    final = run / FOLDER / f"step_{step}"
    safetensors = sys.modules.get("safetensors")
    errors = (OSError, RuntimeError, *([safetensors.SafetensorError] if safetensors else []))
    if not is_ready(final):
        try:
            clear_unfinished(final.parent)
            with atomic_folder(final) as draft:
                draft.mkdir()
                model.save_pretrained(draft)
                tokenizer.save_pretrained(draft)
                with (draft / STATE).open("wb") as file:  # whose errors say why, unlike torch's own
                    torch.save(dict(state), file)
                files = sorted(path for path in draft.rglob("*") if path.is_file())
                sizes = {path.relative_to(draft).as_posix(): path.stat().st_size for path in files}
                marker = json.dumps({"files": sizes}, indent=1) + "\n"
                (draft / READY).write_text(marker, encoding="utf-8")
        except Exception as error:
            # tokenizers, which is written in Rust, raises `Exception` itself.
            if not isinstance(error, errors) and type(error) is not Exception:
                raise
            raise store_error(f"cannot write {final}", error) from error
    for old in ready(run)[:-keep]:
        with store_errors(f"cannot remove {old}"):
            remove(old)
    return final


def ready(run: Path) -> list[Path]:
    """The complete checkpoints of a run, oldest first."""
    return sorted(filter(is_ready, (run / FOLDER).glob("step_*")), key=step_of)


def newest(run: Path) -> Path | None:
    """The complete checkpoint of the latest step, or None."""
    return next(reversed(ready(run)), None)


def mark_finished(path: Path) -> None:
    """Record that a run has finished with a checkpoint. Raises StoreError."""
    write_text(path.parent.parent / FINAL, f"{path.name}\n")


def mark_unfinished(run: Path) -> None:
    """Record that a run continues. Raises StoreError."""
    with store_errors(f"cannot write to {run}"):
        (run / FINAL).unlink(missing_ok=True)


def final(run: Path) -> Path | None:
    """The checkpoint that a run has finished with, or None."""
    try:
        name = (run / FINAL).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return run / FOLDER / name if _NAME.fullmatch(name) else None


def is_ready(path: Path) -> bool:
    """Whether a directory is a complete checkpoint: it has every file that its READY lists."""
    return bool(_NAME.fullmatch(path.name)) and not defect(path)


def defect(path: Path) -> str:
    """What is missing or damaged in a checkpoint, or ""."""
    try:
        sizes = dict(json.loads((path / READY).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"its {READY} is missing or damaged"
    for name, size in sizes.items():
        try:
            actual = (path / name).stat().st_size
        except (OSError, ValueError):
            return f"{name} is missing"
        if actual != size:
            return f"{name} has {actual} bytes, not {size}"
    return "" if sizes else f"its {READY} names no file"


def defects(run: Path) -> dict[Path, str]:
    """The incomplete checkpoints of a run, oldest first, and the defect of each."""
    paths = (path for path in (run / FOLDER).glob("step_*") if _NAME.fullmatch(path.name))
    return {path: reason for path in sorted(paths, key=step_of) if (reason := defect(path))}


def step_of(path: Path) -> int:
    """The step in a checkpoint's name. Raises UsageError for another directory."""
    match = _NAME.fullmatch(path.name)
    if not match:
        raise UsageError(f"{path} is no checkpoint: it must be named step_NUMBER")
    return int(match[1])


def load_state(path: Path) -> dict[str, Any]:
    """The `state` of a checkpoint, its tensors in main memory.

    No code in the file is run: torch's `weights_only` is on.

    Raises:
        StoreError: it is missing or damaged.
    """
    torch, file = import_extra("torch", "checkpoints need", "train"), path / STATE
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
        if isinstance(state, dict):
            return state
        reason = "it is no mapping"
    except UnpicklingError:  # torch's message would recommend to run the code
        reason = "it is damaged, or holds more than tensors, numbers and strings"
    except (OSError, RuntimeError, EOFError, LookupError, ValueError) as error:
        raise store_error(f"{file} cannot be read", error) from None
    raise StoreError(f"{file} cannot be read: {reason}")


def remove(path: Path) -> None:
    """Remove a checkpoint; there is never half of one. Raises OSError."""
    renamed = path.with_name(f".{path.name}{UNFINISHED}")
    path.rename(renamed)
    shutil.rmtree(renamed)


def _check(value: Any, where: str, tensor: type) -> None:
    """Refuse a value that `load_state` could not load."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, tensor)):
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            _check(key, where, tensor)
            _check(each, f"{where}[{key!r}]", tensor)
    elif type(value) in (list, tuple):
        for index, each in enumerate(value):
            _check(each, f"{where}[{index}]", tensor)
    else:
        raise UsageError(f"{where} is a {type(value).__name__}, which no checkpoint can hold")
