"""A config as TRL's keywords, and the checks of what TRL supports."""

import os
from collections.abc import Mapping
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import trl

from ...errors import UsageError, nearest, reason_of
from ..core.loss import objective_of
from ..core.optimizer import FLOOR
from ..runs.config import TrainingConfig

FOLDER = "trl"  # in the run's directory: TRL's own files
# Our losses as TRL's options, besides the clip range.
LOSSES: Mapping[str, Mapping[str, Any]] = {
    "reinforce": {"loss_type": "grpo"},  # without staleness the ratio is 1, so nothing is clipped
    "grpo": {"loss_type": "grpo"},
    "dr_grpo": {"loss_type": "dr_grpo", "scale_rewards": "none"},
    "dapo": {"loss_type": "dapo"},
    "gspo": {"loss_type": "grpo", "importance_sampling_level": "sequence"},
}


def check(config: TrainingConfig) -> None:
    """Check that TRL can train by the config.

    Raises:
        UsageError: an unknown option, or a feature that TRL does not have.
    """
    options, kind = config.engine_options, _kind(config)
    names = {each.name for each in fields(kind)} | {"peft"}
    for name in options:
        if name not in names:
            raise UsageError(
                f"engine_options has {name!r}, no option of TRL's {kind.__name__}"
                f"{nearest(name, names)}"
            )
    is_grpo = config.algorithm == "grpo"
    unordered = not names & {"train_sampling_strategy", "shuffle_dataset"}
    for refused, message in (
        ("peft" in options and find_spec("peft") is None,
         "LoRA needs peft: pip install 'infinite-rl[trl]'"),
        ("output_dir" in options,
         "engine_options has 'output_dir': set the run's folder with `out`"),
        (config.device.startswith("cuda:"),
         "TRL uses the GPUs of CUDA_VISIBLE_DEVICES: set device to cuda"),
        (not _shuffles(config) and unordered,
         "this TRL shuffles all rows: use a newer one, or mix: shuffled"),
        (is_grpo and config.loss not in LOSSES,
         f"TRL has no loss like {config.loss}; it has {', '.join(LOSSES)}"),
        (is_grpo and config.loss == "reinforce" and config.max_staleness,
         "TRL has no loss without a ratio, which reinforce with staleness needs"),
        (is_grpo and config.importance_sampling_cap,
         "TRL has its own key for that: engine_options: {vllm_importance_sampling_clip_max: ...}"),
        (is_grpo and config.kl_coef and config.kl_estimator != "k3",
         "TRL estimates the divergence by k3 alone"),
        (is_grpo and config.sft_weight,
         "TRL adds no SFT loss to GRPO's: sft_weight must be 0"),
    ):  # fmt: skip
        if refused:
            raise UsageError(message)


def settings(config: TrainingConfig, path: Path, longest: int) -> dict[str, Any]:
    """The keywords of `SFTConfig` or `GRPOConfig` for a config.

    `longest` is the length of the longest sequence in tokens: a forward pass has as many sequences
    as fit into `tokens_per_batch` and divide a step evenly.

    Raises:
        UsageError: a step cannot be divided among the processes.
    """
    is_sft = config.algorithm == "sft"
    options = {name: each for name, each in config.engine_options.items() if name != "peft"}
    sequences = config.batch_size * (1 if is_sft else config.group_size)
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    per_pass = options.get("per_device_train_batch_size")
    if not per_pass:
        share = max(sequences // processes, 1)
        most = max(config.tokens_per_batch // longest, 1)
        per_pass = max(n for n in range(1, share + 1) if share % n == 0 and n <= most)
    passes, rest = divmod(sequences, per_pass * processes)
    if rest:
        raise UsageError(
            f"a step has {sequences} sequences, which are no whole number of passes of {per_pass} "
            f"in {processes} processes"
        )
    common: dict[str, Any] = {
        "output_dir": str(path / FOLDER),
        "per_device_train_batch_size": per_pass,
        "gradient_accumulation_steps": passes,
        "max_steps": config.max_steps,
        "learning_rate": config.learning_rate,
        "lr_scheduler_type": "cosine_with_min_lr",
        "lr_scheduler_kwargs": {"min_lr_rate": FLOOR},
        "warmup_steps": config.warmup_steps,
        "weight_decay": config.weight_decay,
        "adam_beta1": config.adam_beta1,
        "adam_beta2": config.adam_beta2,
        "max_grad_norm": config.max_grad_norm,
        "bf16": config.dtype == "bfloat16",
        "use_cpu": config.device == "cpu",
        "seed": config.seed,
        "data_seed": config.seed,
        "logging_steps": 1,
        "save_steps": config.save_every,
        "save_total_limit": 1,  # besides the run's own checkpoints
        "report_to": "none",
        "disable_tqdm": True,
    }
    if is_sft:  # the rows are tokens already; long ones were dropped, none is cut
        specific: dict[str, Any] = {
            "completion_only_loss": True,
            "max_length": None,
            "packing": False,
        }
        if not _shuffles(config):
            specific["train_sampling_strategy"] = "sequential"
        return {**common, **specific, **options}
    low, high = objective_of(config).clip or (0.2, 0.2)
    return {
        **common,
        "num_generations": config.group_size,
        "max_completion_length": config.max_new_tokens,
        "temperature": config.temperature,
        "top_p": config.top_p,
        "top_k": 0,
        "beta": config.kl_coef,
        "epsilon": low,
        "epsilon_high": high,
        # One generation serves the step it is made in and `max_staleness` more.
        "steps_per_generation": passes * (config.max_staleness + 1),
        "use_bias_correction_kl": False,
        "shuffle_dataset": _shuffles(config),
        **LOSSES[config.loss],
        **options,
    }


def arguments(config: TrainingConfig, path: Path, longest: int) -> Any:
    """The `SFTConfig` or `GRPOConfig` of `settings`. Raises UsageError if TRL refuses it."""
    kind = _kind(config)
    names = {each.name for each in fields(kind)}  # an older TRL lacks some
    values = settings(config, path, longest)
    try:
        return kind(**{name: value for name, value in values.items() if name in names})
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(f"TRL refuses these options: {reason_of(error)}") from None


def peft_config(config: TrainingConfig) -> Any:
    """The `LoraConfig`, or None without one. Raises UsageError if peft refuses it."""
    if "peft" not in config.engine_options:
        return None
    import peft

    try:
        return peft.LoraConfig(**{"task_type": "CAUSAL_LM", **config.engine_options["peft"]})
    except (TypeError, ValueError) as error:
        raise UsageError(f"peft refuses its options: {reason_of(error)}") from None


def _shuffles(config: TrainingConfig) -> bool:
    return config.order("rows") is not None


def _kind(config: TrainingConfig) -> Any:
    return trl.SFTConfig if config.algorithm == "sft" else trl.GRPOConfig
