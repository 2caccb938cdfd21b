"""The recipes: every key and every name in them is still one, and says what was not run."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import read

from infinite_rl.adapters.scorer import Scorer
from infinite_rl.cli import VERBS
from infinite_rl.training.runs.config import TrainingConfig

pytest.importorskip("yaml")
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
