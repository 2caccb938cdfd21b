"""The config of a training run: what cannot be is refused before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from infinite_rl.errors import UsageError
from infinite_rl.training.runs.config import TrainingConfig

LOCAL: list[tuple[dict[str, Any], str]] = [
    ({"learning_rte": 1}, "unknown key 'learning_rte'; did you mean learning_rate?"),
    ({"model": ""}, "model is missing"),
    ({"max_steps": 0}, "max_steps must be at least 1, not 0"),
    ({"learning_rate": "fast"}, "learning_rate must be a number, not 'fast'"),
    ({"learning_rate": -1}, "learning_rate must be at least 1e-12"),
    ({"temperature": 0}, "temperature must be at least 0.001"),
    ({"group_size": 1}, "group_size must be at least 2"),
    ({"max_staleness": -1}, "max_staleness must be at least 0"),
    ({"loss": "ppo"}, "loss must be one of reinforce, grpo"),
    ({"engine": "verl"}, "engine must be one of local, trl"),
    ({"algorithm": "dpo"}, "algorithm must be one of sft, grpo"),
    ({"mix": "braided"}, "mix must be one of shuffled, sequential, weighted"),
    ({"rollout_backend": "sglang"}, "rollout_backend must be one of transformers, vllm"),
    ({"device": "tpu"}, "device must be auto, cpu"),
    ({"dtype": "fp8"}, "dtype must be one of float32, bfloat16"),
    ({"tracking": ["mlflow"]}, "tracking must be one of tensorboard, wandb"),
    ({"tracking": "wandb"}, "tracking must be a list"),
    ({"reward": ["partial"]}, "reward must be a mapping"),
    ({"seed": -1}, "seed must be at least 0"),
    ({"max_steps": 5, "warmup_steps": 5}, "warmup_steps (5) must be less than max_steps (5)"),
    ({"data": "a", "datasets": [{"name": "a", "path": "b"}]}, "from data or from datasets"),
    ({"remove_local": True}, "remove_local needs checkpoint_uri"),
]
AT_SCALE: list[tuple[dict[str, Any], str]] = [
    ({"prompts_per_pass": 3}, "batch_size (16) must be a multiple of prompts_per_pass (3)"),
    ({"prompts_per_sync": 24}, "prompts_per_sync (24) must be a multiple of batch_size"),
    ({"prompts_per_sync": 8}, "prompts_per_sync (8) must be a multiple of batch_size"),
    (
        {"prompts_per_sync": 48, "max_staleness": 1},
        "with 3 updates between syncs, answers are up to 2 updates old: max_staleness (1)",
    ),
    (
        {"num_iterations": 2},
        "answers in 2 updates are 1 updates old in the last: max_stale",
    ),
    ({"algorithm": "sft"}, "the engine asyncio samples answers"),
    ({"engine": "local", "rollout_workers": 2}, "rollout_workers is for the engine asyncio or"),
    ({"rollout_backend": "vllm"}, "rollout_backend is for the engine ray alone"),
    ({"engine": "ray", "rollout_options": {"seed": 1}}, "rollout_options are vLLM's"),
]


def test_what_cannot_be_is_refused_by_its_key() -> None:
    faults = []
    base = {"model": "m"}
    cases = [*((base, *case) for case in LOCAL)]
    cases += [({**base, "engine": "asyncio"}, *case) for case in AT_SCALE]
    for common, values, expected in cases:
        try:
            faults.append((values, TrainingConfig.of({**common, **values})))
        except UsageError as error:
            if expected not in str(error) or "\n" in str(error):
                faults.append((values, str(error)))
    assert not faults


def test_prompts_between_syncs_are_counted_in_updates() -> None:
    base = {"model": "m", "engine": "asyncio", "batch_size": 4, "max_staleness": 2}
    assert TrainingConfig.of(base).sync_every == 1
    assert TrainingConfig.of({**base, "prompts_per_sync": 12}).sync_every == 3


def test_a_config_can_be_read_back_and_is_called_by_position() -> None:
    config = TrainingConfig("m", max_steps=3, tracking=("wandb",), reward={"timeout": 2})
    assert TrainingConfig.of(config.values()) == config
    with pytest.raises(UsageError, match="max_steps must be a whole number, not True"):
        TrainingConfig("m", max_steps=True)
