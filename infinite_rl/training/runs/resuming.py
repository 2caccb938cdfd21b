"""Where a run goes on from, and what it may be told otherwise than before."""

from __future__ import annotations

import logging
from pathlib import Path

from ...errors import UsageError
from ...files.lock import locked
from ...redact import redact
from . import checkpoint
from .config import AT_SCALE, TrainingConfig
from .run_folder import read_config

logger = logging.getLogger(__name__)

# What a run that goes on may be told otherwise: how long, where, and at what cost it learns, and
# how old samples may be, which each step's events say.
MAY_CHANGE = frozenset(
    ("max_steps", "max_staleness", "out", "save_every", "save_total_limit", "tracking", "device",
     "tokens_per_batch", "checkpoint_uri", "trace_uri", "remove_local", "prompts_per_pass",
     "prompts_per_sync", "rollout_workers", "reward_workers", "worker_timeout",
     "ray_address")
)  # fmt: skip


def resume_checkpoint(resume: Path, config: TrainingConfig) -> Path:
    """The checkpoint that the run in a folder goes on from.

    Raises:
        UsageError: it has no whole one, or the config is not the run's own in a key that is not
            among `MAY_CHANGE`; the message names all such keys.
        StoreError: another process writes to the run's folder.
    """
    start = checkpoint.newest(resume)
    done = checkpoint.step_of(start) if start else 0
    newer = [
        f"{path.name} is passed over: {lack}"
        for path, lack in checkpoint.damaged(resume).items()
        if checkpoint.step_of(path) > done
    ]
    if start is None:
        lack = f"{resume} has no whole checkpoint to go on from"
        raise UsageError("; ".join([lack, *newer, "begin anew with its config.yaml"]))
    with locked(resume):  # a run that is under way would throw the checkpoint away meanwhile
        check_unchanged(resume, config)
    if newer:
        logger.warning("%s; the run goes on from %s", "; ".join(newer), start.name)
    return start


def check_unchanged(run: Path, config: TrainingConfig) -> None:
    """See that a run in this folder may go on with these settings.

    Raises:
        UsageError: they differ in a key that is not among `MAY_CHANGE`; it names all such keys. One
            engine at scale may go on with a run of another: only where the roles are differs.
        StoreError: the folder does not say with which settings the run was begun.
    """
    now = redact(config.values())
    before = {**TrainingConfig("-").values(), **read_config(run)}  # it may lack a new key
    at_scale = {before["engine"], now["engine"]} <= set(AT_SCALE)
    may = MAY_CHANGE | {"engine"} if at_scale else MAY_CHANGE
    changed = [
        f"{name} was {before[name]!r}, is {value!r}"
        for name, value in now.items()
        if name not in may and value != before[name]
    ]
    if changed:
        raise UsageError(
            f"{run} was begun with other settings: {'; '.join(changed)}. Go on with the same, "
            "or begin a new run"
        )
