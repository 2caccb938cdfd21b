"""What a training run is told: read from YAML and flags, checked before all else."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.dataset.prompt_templates import PROMPT_TEMPLATES
from infinite_rl.errors import UsageError
from infinite_rl.evaluation.config import EvaluationConfig
from infinite_rl.settings import Settings
from infinite_rl.training.runs.config import TrainingConfig


def test_a_file_is_read_and_changes_go_before_it(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("model: m\nmax_steps: 9\nlearning_rate: 1e-6\nreward: {partial: true}\n")
    found = TrainingConfig.read(path, {"max_steps": 20, "kl_coef": 0.5, "loss": "gspo"})
    assert (found.model, found.max_steps, found.kl_coef, found.loss) == ("m", 20, 0.5, "gspo")
    assert found.learning_rate == 1e-6  # which YAML 1.1 reads as a text
    assert found.reward == {"partial": True}


def test_what_a_file_does_not_say_can_have_another_default(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("model: m\nmax_steps: 9\n")
    found = TrainingConfig.read(path, {}, {"max_steps": 3, "algorithm": "sft"})
    assert (found.max_steps, found.algorithm) == (9, "sft")


def test_what_a_config_says_can_be_read_back() -> None:
    config = TrainingConfig("m", max_steps=3, tracking=("wandb",), reward={"timeout": 2})
    assert TrainingConfig.of(config.values()) == config


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        TrainingConfig("m").steps = 3  # type: ignore[misc]


def test_every_key_is_explained() -> None:
    assert TrainingConfig.explained().keys() == {each.name for each in fields(TrainingConfig)}


@pytest.mark.parametrize("job", [TrainingConfig, EvaluationConfig])
def test_every_value_that_a_key_can_have_is_named_where_it_is_explained(
    job: type[Settings],
) -> None:
    said = job.explained()
    known = {each.name: each.metadata.get("known", ()) for each in fields(job)}
    styles = {"prompt_template": list(PROMPT_TEMPLATES)}
    assert not [
        (key, name)
        for key, names in {**known, **styles}.items()
        for name in names
        if not re.search(rf"\b{name}\b", said[key])
    ]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"learning_rte": 1}, "unknown key 'learning_rte'; did you mean learning_rate?"),
        ({"zzz": 1}, "unknown key 'zzz'; known: algorithm, batch_size"),
        ({3: 1}, "unknown key 3"),
        ({"model": ""}, "model is missing"),
        ({"model": None}, "model must be a text, not None"),
        ({"max_steps": 0}, "max_steps must be at least 1, not 0"),
        ({"max_steps": 1.5}, "max_steps must be a whole number, not 1.5"),
        ({"max_steps": True}, "max_steps must be a whole number, not True"),
        ({"max_steps": "many"}, "max_steps must be a whole number, not 'many'"),
        ({"learning_rate": "fast"}, "learning_rate must be a number, not 'fast'"),
        ({"learning_rate": float("nan")}, "learning_rate must be in"),
        ({"learning_rate": -1}, "learning_rate must be in"),
        ({"learning_rate": 10**400}, "learning_rate must be a number"),
        ({"temperature": 0}, "temperature must be in [0.001, 100]"),
        ({"group_size": 1}, "group_size must be at least 2"),
        ({"max_staleness": -1}, "max_staleness must be in"),
        ({"loss": "ppo"}, "loss is one of reinforce, grpo"),
        ({"engine": "verl"}, "engine is one of local, trl"),
        ({"algorithm": "dpo"}, "algorithm is one of sft, grpo"),
        ({"device": "tpu"}, "device is auto, cpu"),
        ({"dtype": "fp8"}, "dtype is one of float32, bfloat16"),
        ({"tracking": ["mlflow"]}, "tracking is one of tensorboard, wandb"),
        ({"tracking": "wandb"}, "tracking must be a list of names, not 'wandb'"),
        ({"reward": ["partial"]}, "reward must be a mapping of names"),
        ({"engine_options": {1: 2}}, "engine_options must be a mapping of names"),
        ({"seed": -1}, "seed must be in"),
        ({"max_steps": 5, "warmup_steps": 5}, "warmup_steps (5) must be less than max_steps (5)"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(values: dict[Any, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        TrainingConfig.of({"model": "m", **values})
    assert said in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b\n", "no mapping"),
        ("", "no mapping"),
        ("a: [", "no YAML"),
        ("model: m\nmax_steps: 1\nmax_steps: 2\n", "the key 'max_steps' is there twice"),
        ("model: m\nseeds: 2\n", "did you mean seed?"),
        ("model: !!python/object/apply:os.system ['true']\n", "no YAML"),
        ("? {a: 1}\n: 2\n", "no YAML"),
        ("model: 2020-13-45\n", "no YAML"),
    ],
)
def test_a_file_that_says_no_config_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        TrainingConfig.read(path)
    assert said in str(refused.value) and str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        TrainingConfig.read(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="no such file"):
        TrainingConfig.read(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"model: \xe9")
    with pytest.raises(UsageError, match="not UTF-8"):
        TrainingConfig.read(tmp_path / "latin.yaml")


def test_a_config_needs_neither_torch_nor_yaml() -> None:
    code = (
        "import sys; from infinite_rl.training.runs.config import TrainingConfig as C;"
        "C('m').values();"
        "sys.exit(bool({'torch', 'transformers', 'yaml'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"prompts_per_pass": 3},
            r"batch_size \(16\) must be a multiple of prompts_per_pass \(3\)",
        ),
        ({"prompts_per_sync": 24}, r"prompts_per_sync \(24\) must be a multiple of batch_size"),
        ({"prompts_per_sync": 8}, r"prompts_per_sync \(8\) must be a multiple of batch_size"),
        (
            {"prompts_per_sync": 48, "max_staleness": 1},
            r"with 3 updates between syncs, answers are up to 2 updates old: max_staleness \(1\)",
        ),
        ({"num_iterations": 2}, r"answers in 2 updates are 1 updates old.* max_staleness \(0\)"),
        ({"algorithm": "sft"}, "the engine asyncio samples answers"),
        ({"engine": "local", "rollout_workers": 2}, "rollout_workers is for the engine asyncio or"),
        ({"rollout_backend": "vllm"}, "rollout_backend is for the engine ray alone"),
        ({"engine": "ray", "rollout_options": {"seed": 1}}, "rollout_options are vLLM's"),
    ],
)
def test_parts_of_a_run_at_scale_that_do_not_fit_are_refused(
    values: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        TrainingConfig.of({"model": "m", "engine": "asyncio", **values})


def test_prompts_between_syncs_are_counted_in_updates() -> None:
    given = {"model": "m", "engine": "asyncio", "batch_size": 4, "max_staleness": 2}
    assert TrainingConfig.of(given).sync_every == 1
    assert TrainingConfig.of({**given, "prompts_per_sync": 12}).sync_every == 3
