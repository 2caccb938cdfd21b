"""The pages on training tell the truth: examples, names, guards."""

import re
from inspect import BoundArguments, signature
from pathlib import Path
from typing import Any

import pytest
from commands import read

from infinite_rl import training
from infinite_rl.cli import VERBS
from infinite_rl.dataset.loaders import BENCHMARKS
from infinite_rl.dataset.mix import MODES
from infinite_rl.training.runs import run_folder, timeline
from infinite_rl.training.runs.config import ENGINES, Dataset, TrainingConfig

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
SCALE = (ROOT / "docs" / "training-at-scale.md").read_text(encoding="utf-8")
PITFALLS = (ROOT / "docs" / "training-pitfalls.md").read_text(encoding="utf-8")
_GUARD = re.compile(r"`(test_\w+\.py)::(test_\w+)` \|$", re.M)


def section(page: str, name: str) -> str:
    return page.split(f"\n## {name}")[1].split("\n## ")[0]


def test_every_pitfall_has_a_test_that_exists() -> None:
    texts = {path.name: path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    guards = _GUARD.findall(PITFALLS)
    missing = {name for file, name in guards if not re.search(rf"^def {name}\(", texts[file], re.M)}
    assert not missing
    for name in ("Pitfalls", "Recovery"):
        table = section(PITFALLS, name)
        table = table[table.rindex("|---|---|") :]  # the last one of the section
        rows = re.findall(r"^\| (?!part|pitfall|-).*", table, re.M)
        assert len(_GUARD.findall(table)) == len([row for row in rows if row[2] != "-"]) >= 5


def test_every_file_and_name_of_the_core_exists() -> None:
    for file, names in re.findall(
        r"^\| `(\w+\.py)` \| (.*) \|$", section(PAGE, "The exact core"), re.M
    ):
        text = (ROOT / "infinite_rl" / "training" / "core" / file).read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^def {name}\(", text, re.M), name
    for path in re.findall(r"`(configs/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path


def test_tables_name_what_the_code_knows() -> None:
    assert re.findall(r"^\| `(\w+)` \|", section(PAGE, "The engines"), re.M)[1:] == list(ENGINES)
    for name in (run_folder.CONFIG, run_folder.MANIFEST, run_folder.EVENTS, run_folder.ROLLOUTS):
        assert f"\n        {name} " in PAGE
    assert f"{run_folder.ROLLOUT_BYTES // 2**20} MiB" in PAGE
    mixed = section(PAGE, "Mixed data")
    assert re.findall(r"^\| `(\w+)` \|", mixed, re.M) == list(Dataset.kinds())
    assert all(f"`{mode}` (" in mixed for mode in MODES)
    (names,) = re.findall(r"whose loader reads a published file \(([^)]+)\)", mixed)
    assert re.findall(r"\w+", names) == list(BENCHMARKS)
    for name in (*timeline.STAGES, *timeline.OUTCOMES):
        assert f"`{name}`" in section(SCALE, "Where the time went")


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    yaml = pytest.importorskip("yaml")
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", section(PAGE, "Mixed data"), re.M | re.S)
    config = TrainingConfig.of({"model": "m", **yaml.safe_load(example)})
    assert [each.name for each in config.mixture] == ["gsm8k", "mbpp", "own"]
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    calls: list[BoundArguments] = []
    form = signature(training.train)

    def stub(*args: Any, **options: Any) -> Path:
        calls.append(form.bind(*args, **options))
        return Path()

    monkeypatch.setattr(training, "train", stub)
    monkeypatch.chdir(ROOT)
    exec(compile(example, "training.md", "exec"), {})
    (call,) = calls
    assert call.arguments["config"].engine == "local"
    assert "resume" in form.parameters and 'resume="' in PAGE


def test_every_command_is_one() -> None:
    timelines = re.findall(r"^ +infinite-rl (.*)$", section(SCALE, "Where the time went"), re.M)
    for command in [*re.findall(r"^infinite-rl (.*)$", PAGE, re.M), *timelines]:
        if command.split()[0] in VERBS:
            assert read(command).verb, command
    for module in re.findall(r"python -m (benchmarks\.\w+)", PAGE):
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file()
