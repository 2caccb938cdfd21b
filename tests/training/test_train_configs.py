"""The recipes: every key and every name in them is still one, and says what was not run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import read

from infinite_rl.adapters.scorer import Scorer
from infinite_rl.cli import VERBS
from infinite_rl.training.runs.config import TrainingConfig

pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "configs" / "train").glob("*.yaml"))
recipe = pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)

# What was published, beside the recipe that aims at it (rlvr-experiments; MBPP: lm_eval).
PUBLISHED = {
    "gsm8k_grpo": ("62.77", "76.72"),
    "math_grpo": ("41.2", "52.3"),
    "ifeval_grpo": ("21.26", "40.85"),
    "mbpp_grpo": ("55.8",),
}


def test_there_is_a_recipe_for_each_published_figure() -> None:
    assert {path.stem for path in RECIPES} >= set(PUBLISHED)


@recipe
def test_a_recipe_is_a_config(path: Path) -> None:
    config = TrainingConfig.read(path)
    assert config.algorithm == path.stem.rpartition("_")[2]
    assert config.model == "Qwen/Qwen3-1.7B-Base" and config.seed == 42
    assert paths(config)
    Scorer(**config.reward)


@recipe
def test_a_recipe_shows_the_published_figures_and_was_not_run(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "Not run here" in text
    for figure in PUBLISHED.get(path.stem, ()):
        assert figure in text


@recipe
def test_an_engine_can_do_what_a_recipe_says(path: Path) -> None:
    pytest.importorskip("trl")
    from infinite_rl.training.engines import trl_options

    config = TrainingConfig.read(path)
    if config.engine == "trl":
        trl_options.check(config)


def paths(config: TrainingConfig) -> set[str]:
    """Where a recipe's rows come from."""
    return {config.data} if config.data else {each.path for each in config.mixture}


def commands(path: Path) -> list[list[str]]:
    """The commands in a recipe's comments."""
    text = re.sub(r"\\\n# *", "", path.read_text(encoding="utf-8"))
    found = re.findall(r"^# (?:rows|run): +infinite-rl (.*?)(?:   .*)?$", text, re.M)
    return [shlex.split(command) for command in found]


@recipe
def test_the_commands_of_a_recipe_are_commands(path: Path) -> None:
    found = commands(path)
    assert found
    for command in found:
        if command[0] in VERBS:
            assert read(shlex.join(command)).verb


@recipe
def test_a_recipe_is_run_on_the_rows_that_it_has_made(path: Path) -> None:
    *made, run = commands(path)
    assert (ROOT / run[-1]).samefile(path) and run[1] == TrainingConfig.read(path).algorithm
    rows = {command[-1] for command in made if command[-1].endswith(".jsonl")}
    assert rows <= paths(TrainingConfig.read(path))
    assert bool(rows) == bool(made)
