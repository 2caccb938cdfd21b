"""The config of a training run: what cannot be is refused before anything runs."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from commands import read
from labelled import Tables, unlike

from infinite_rl.adapters.scorer import Scorer
from infinite_rl.cli import VERBS
from infinite_rl.errors import UsageError
from infinite_rl.training.runs.config import TrainingConfig

tables = Tables(__file__)


@tables
def test_what_cannot_be_is_refused_by_its_key(values: dict[str, Any], message: str) -> None:
    values = {"model": "m", **values}
    assert not unlike([(f"^UsageError: .*{re.escape(message)}", lambda: TrainingConfig.of(values))])


def test_a_config_can_be_read_back_and_is_called_by_position() -> None:
    config = TrainingConfig("m", max_steps=3, tracking=("wandb",), reward={"timeout": 2})
    assert TrainingConfig.of(config.values()) == config
    with pytest.raises(UsageError, match="max_steps must be a whole number, not True"):
        TrainingConfig("m", max_steps=True)
    base = {"model": "m", "engine": "asyncio", "batch_size": 4, "max_staleness": 2}
    assert TrainingConfig.of(base).sync_every == 1  # in updates
    assert TrainingConfig.of({**base, "prompts_per_sync": 12}).sync_every == 3


# --- the recipes ---------------------------------------------------------------------------------
ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "configs" / "train").glob("*.yaml"))

# What was published, beside the recipe that aims at it (rlvr-experiments; MBPP: lm_eval).
PUBLISHED = {
    "gsm8k_grpo": ("62.77", "76.72"),
    "math_grpo": ("41.2", "52.3"),
    "ifeval_grpo": ("21.26", "40.85"),
    "mbpp_grpo": ("55.8",),
}


def test_there_is_a_recipe_for_each_published_figure() -> None:
    assert {path.stem for path in RECIPES} >= set(PUBLISHED)


def commands(text: str) -> list[list[str]]:
    """The commands in a recipe's comments."""
    lines = re.sub(r"\\\n# *", "", text)
    found = re.findall(r"^# (?:rows|run): +infinite-rl (.*?)(?:   .*)?$", lines, re.M)
    return [shlex.split(command) for command in found]


@pytest.mark.slow
@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_is_a_config_whose_commands_make_its_rows_and_run_it(path: Path) -> None:
    config, text = TrainingConfig.read(path), path.read_text(encoding="utf-8")
    assert config.algorithm == path.stem.rpartition("_")[2]
    assert config.model == "Qwen/Qwen3-1.7B-Base" and config.seed == 42
    Scorer(**config.reward)
    if config.engine == "trl" and find_spec("trl"):
        from infinite_rl.training.engines import trl_options

        trl_options.check(config)
    assert "Not run here" in text
    assert all(figure in text for figure in PUBLISHED.get(path.stem, ()))
    found = commands(text)
    assert all(read(shlex.join(command)).verb for command in found if command[0] in VERBS)
    *made, run = found
    assert (ROOT / run[-1]).samefile(path) and run[1] == config.algorithm
    rows = {command[-1] for command in made if command[-1].endswith(".jsonl")}
    paths = {config.data} if config.data else {each.path for each in config.mixture}
    assert paths and rows <= paths and bool(rows) == bool(made)
