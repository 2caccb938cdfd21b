"""The checkpoint that a run resumes from, and the keys that may change then."""

import logging
from pathlib import Path

from ...errors import UsageError
from ...files.atomic import locked
from ...manifest import refuse_changes
from ...redact import redact
from . import checkpoint
from .config import AT_SCALE, TrainingConfig
from .run_folder import read_config

logger = logging.getLogger(__name__)

# How long, where and at what cost the run learns, and the staleness, which each step's event logs.
MAY_CHANGE = frozenset(
    ("max_steps", "max_staleness", "out", "save_every", "save_total_limit", "tracking", "device",
     "tokens_per_batch", "checkpoint_uri", "trace_uri", "remove_local", "prompts_per_pass",
     "prompts_per_sync", "rollout_workers", "reward_workers", "worker_timeout", "ray_address",
     "audit_rollouts", "generations_every")
)  # fmt: skip


def resume_checkpoint(run: Path, config: TrainingConfig) -> Path:
    """The checkpoint that a run resumes from.

    Raises:
        UsageError: no complete checkpoint, or a config that differs in keys that are not among
            `MAY_CHANGE`; the message names them all.
        StoreError: another process writes to the run's directory.
    """
    newest = checkpoint.newest(run)
    done = checkpoint.step_of(newest) if newest else 0
    skipped = [
        f"{path.name} is skipped: {reason}"
        for path, reason in checkpoint.defects(run).items()
        if checkpoint.step_of(path) > done
    ]
    if newest is None:
        message = f"{run} has no complete checkpoint to resume from"
        raise UsageError("; ".join([message, *skipped, "start a new run with its config.yaml"]))
    with locked(run):  # a running process could remove the checkpoint meanwhile
        check_unchanged(run, config)
    if skipped:
        logger.warning("%s; the run resumes from %s", "; ".join(skipped), newest.name)
    return newest


def check_unchanged(run: Path, config: TrainingConfig) -> None:
    """Check that a run may resume with this config.

    Engines at scale may be exchanged: they differ in the placement of the workers alone.

    Raises:
        UsageError: keys differ that are not among `MAY_CHANGE`; the message names them all.
        StoreError: the run's config cannot be read.
    """
    now = redact(config.values())
    before = {**TrainingConfig("-").values(), **read_config(run)}  # which may lack a new key
    at_scale = {before["engine"], now["engine"]} <= set(AT_SCALE)
    may_change = MAY_CHANGE | {"engine"} if at_scale else MAY_CHANGE
    fixed = {name: value for name, value in now.items() if name not in may_change}
    refuse_changes(run, {name: before[name] for name in fixed}, fixed, "or start a new run")
