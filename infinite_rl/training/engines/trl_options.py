"""TRL's keywords for a config, and what TRL cannot do of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import trl

from ...errors import UsageError, nearest, reason_of
from ..core.loss import PRESETS
from ..core.optimizer import BETAS, CLIP_NORM, FLOOR
from ..runs.config import TrainingConfig

OWN = "trl"  # the folder in the run's in which TRL keeps its own
# A member of our table of losses as TRL names it, beside the clip range.
LOSSES: Mapping[str, Mapping[str, Any]] = {
    "reinforce": {"loss_type": "grpo"},  # without staleness the ratio is 1, so nothing is clipped
    "grpo": {"loss_type": "grpo"},
    "dr_grpo": {"loss_type": "dr_grpo", "scale_rewards": "none"},
    "dapo": {"loss_type": "dapo"},
    "gspo": {"loss_type": "grpo", "importance_sampling_level": "sequence"},
}


def check(config: TrainingConfig) -> None:
    """See that TRL can do what the config says.

    Raises:
        UsageError: it cannot, or an option is not known.
    """
    known = {each.name for each in fields(_kind(config))} | {"peft"}
    for name in config.engine_options:
        if name not in known:
            kind = _kind(config).__name__
            raise UsageError(
                f"engine_options has {name!r}, no option of TRL's {kind}{nearest(name, known)}"
            )
    if "peft" in config.engine_options and find_spec("peft") is None:
        raise UsageError("LoRA needs peft: pip install 'infinite-rl[trl]'")
    if "output_dir" in config.engine_options:
        raise UsageError("engine_options has 'output_dir': the run's folder is what `out` says")
    if config.device.startswith("cuda:"):
        raise UsageError("TRL takes the GPUs that CUDA_VISIBLE_DEVICES names, so device is cuda")
    if not _shuffles(config) and not known & {"train_sampling_strategy", "shuffle_dataset"}:
        raise UsageError("this TRL shuffles all rows: take a newer one, or the mode shuffled")
    if config.algorithm == "grpo":
        if config.loss not in LOSSES:
            raise UsageError(f"TRL has no loss like {config.loss}; it has {', '.join(LOSSES)}")
        if config.loss == "reinforce" and config.max_staleness:
            raise UsageError(
                "TRL has no loss without a ratio, which reinforce with staleness needs"
            )
        if config.sft_weight:
            raise UsageError("TRL mixes no SFT loss into GRPO's: sft_weight must be 0")


def settings(config: TrainingConfig, path: Path, longest: int) -> dict[str, Any]:
    """The keywords of `SFTConfig` or `GRPOConfig` for a config.

    `longest` is how many tokens the longest sequence may have: a forward pass takes as many
    sequences as `tokens_per_batch` holds, and as divide a step evenly.

    Raises:
        UsageError: a step cannot be divided among the processes.
    """
    own = {name: each for name, each in config.engine_options.items() if name != "peft"}
    sequences = config.batch_size * (config.group_size if config.algorithm == "grpo" else 1)
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    each = own.get("per_device_train_batch_size") or _per_pass(
        sequences, processes, config.tokens_per_batch // longest
    )
    if sequences % (each * processes):
        raise UsageError(
            f"a step has {sequences} sequences, which are no whole number of passes of {each} "
            f"in {processes} processes"
        )
    passes = sequences // (each * processes)
    found = {
        "output_dir": str(path / OWN),
        "per_device_train_batch_size": each,
        "gradient_accumulation_steps": passes,
        "max_steps": config.max_steps,
        "learning_rate": config.learning_rate,
        "lr_scheduler_type": "cosine_with_min_lr",
        "lr_scheduler_kwargs": {"min_lr_rate": FLOOR},
        "warmup_steps": config.warmup_steps,
        "weight_decay": config.weight_decay,
        "adam_beta1": BETAS[0],
        "adam_beta2": BETAS[1],
        "max_grad_norm": CLIP_NORM,
        "bf16": config.dtype == "bfloat16",
        "use_cpu": config.device == "cpu",
        "seed": config.seed,
        "data_seed": config.seed,
        "logging_steps": 1,
        "save_steps": config.save_every,
        "save_total_limit": 1,  # the run's own checkpoints are kept beside
        "report_to": "none",
        "disable_tqdm": True,
    }
    sft = config.algorithm == "sft"
    by_algorithm = _sft_settings(config) if sft else _grpo_settings(config, passes)
    return {**found, **by_algorithm, **own}


def _sft_settings(config: TrainingConfig) -> dict[str, Any]:
    # The rows are tokens already; those that are too long are left out, none is cut.
    found = {"completion_only_loss": True, "max_length": None, "packing": False}
    return found if _shuffles(config) else {**found, "train_sampling_strategy": "sequential"}


def _grpo_settings(config: TrainingConfig, passes: int) -> dict[str, Any]:
    low, high = PRESETS[config.loss].clip or (0.2, 0.2)
    return {
        "num_generations": config.group_size,
        "max_completion_length": config.max_new_tokens,
        "temperature": config.temperature,
        "top_p": 1.0,
        "top_k": 0,
        "beta": config.kl_coef,
        "epsilon": low,
        "epsilon_high": high,
        # One generation serves as many steps as samples may be old, and the one they are new in.
        "steps_per_generation": passes * (config.max_staleness + 1),
        "use_bias_correction_kl": False,
        "shuffle_dataset": _shuffles(config),
        **LOSSES[config.loss],
    }


def _shuffles(config: TrainingConfig) -> bool:
    return config.order("rows") is not None


def _per_pass(sequences: int, processes: int, fitting: int) -> int:
    """The most sequences a pass that fit in one, and divide what a process has to do."""
    share = max(sequences // processes, 1)
    return max(
        each for each in range(1, share + 1) if share % each == 0 and each <= max(fitting, 1)
    )


def _kind(config: TrainingConfig) -> Any:
    return trl.SFTConfig if config.algorithm == "sft" else trl.GRPOConfig


def arguments(config: TrainingConfig, path: Path, longest: int) -> Any:
    """The `SFTConfig` or `GRPOConfig` of `settings`. Raises UsageError where TRL refuses it."""
    kind = _kind(config)
    known = {each.name for each in fields(kind)}  # an older TRL lacks some
    given = settings(config, path, longest)
    try:
        return kind(**{name: value for name, value in given.items() if name in known})
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(f"TRL refuses these options: {reason_of(error)}") from None


def peft_of(config: TrainingConfig) -> Any:
    """The `LoraConfig`, None where there is none. Raises UsageError where peft refuses it."""
    if "peft" not in config.engine_options:
        return None
    import peft

    try:
        return peft.LoraConfig(**{"task_type": "CAUSAL_LM", **config.engine_options["peft"]})
    except (TypeError, ValueError) as error:
        raise UsageError(f"peft refuses its options: {reason_of(error)}") from None
