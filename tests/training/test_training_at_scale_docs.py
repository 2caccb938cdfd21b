"""`docs/training-at-scale.md` tells the truth: the keys that it names are those that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import read

from infinite_rl.dataset.loaders import BENCHMARKS
from infinite_rl.dataset.mix import MODES
from infinite_rl.training.runs import timeline
from infinite_rl.training.runs.config import Dataset, TrainingConfig

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "training-at-scale.md").read_text(encoding="utf-8")


def section(name: str) -> str:
    return PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]


def test_the_keys_and_modes_of_mixed_data_are_those_of_a_config() -> None:
    said = section("Mixed data")
    assert re.findall(r"^\| `(\w+)` \|", said, re.M) == list(Dataset.kinds())
    assert all(f"`{mode}` (" in said for mode in MODES)
    (names,) = re.findall(r"whose loader reads them \(([^)]+)\)", said)
    assert re.findall(r"\w+", names) == list(BENCHMARKS)


def test_the_example_of_mixed_data_is_a_config() -> None:
    yaml = pytest.importorskip("yaml")
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", section("Mixed data"), re.M | re.S)
    config = TrainingConfig.of({"model": "m", **yaml.safe_load(example)})
    assert [each.name for each in config.mixture] == ["gsm8k", "mbpp", "own"]


def test_the_stages_and_fates_of_the_timeline_are_those_that_it_knows() -> None:
    said = section("Where the time went")
    for name in (*timeline.STAGES, *timeline.OUTCOMES):
        assert f"`{name}`" in said
    for command in re.findall(r"^ +infinite-rl (.*)$", said, re.M):
        assert read(command).verb
