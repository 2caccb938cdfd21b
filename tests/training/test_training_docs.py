"""`docs/training.md` tells the truth: what it names is there, and each pitfall has its test."""

from __future__ import annotations

import re
from inspect import BoundArguments, signature
from pathlib import Path
from typing import Any

import pytest
from commands import read

from infinite_rl import training
from infinite_rl.cli import VERBS
from infinite_rl.training.runs import run_folder
from infinite_rl.training.runs.config import ENGINES

ROOT = Path(__file__).parents[2]
TRAINING = ROOT / "infinite_rl" / "training"
PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
SCALE = (ROOT / "docs" / "training-at-scale.md").read_text(encoding="utf-8")
_GUARD = re.compile(r"`(test_\w+\.py)::(test_\w+)` \|$", re.M)
GUARDS = _GUARD.findall(PAGE)


def test_every_pitfall_has_a_test() -> None:
    table = PAGE.split("## Pitfalls")[1].split("\n## ")[0]
    assert len(GUARDS) == len(re.findall(r"^\| [^p-]", table, re.M)) >= 20


@pytest.mark.parametrize("heading", ["What happens when each part dies", "Pitfalls"])
def test_every_row_about_training_at_scale_has_a_test(heading: str) -> None:
    table = SCALE.split(f"## {heading}")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (?!what dies|pitfall).*", table, re.M)
    assert len(_GUARD.findall(table)) == len(rows) >= 5


@pytest.mark.parametrize(("file", "name"), [*GUARDS, *_GUARD.findall(SCALE)])
def test_the_test_of_a_pitfall_is_there(file: str, name: str) -> None:
    text = next((ROOT / "tests").rglob(file)).read_text(encoding="utf-8")
    assert re.search(rf"^def {name}\(", text, re.M)


def test_every_file_that_is_named_exists() -> None:
    core = PAGE.split("## The exact core")[1].split("\n## ")[0]
    for name in re.findall(r"^\| `(\w+\.py)`", core, re.M):
        assert len([*TRAINING.rglob(name)]) == 1, name
    for path in re.findall(r"`(configs/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path
    for link in re.findall(r"\]\(((?!http)[^)#]+)", PAGE):
        assert (ROOT / "docs" / link).exists(), link


def test_every_name_of_the_core_is_where_it_is_said_to_be() -> None:
    core = PAGE.split("## The exact core")[1].split("\n## ")[0]
    for file, said in re.findall(r"^\| `(\w+\.py)` \| (.*) \|$", core, re.M):
        (path,) = TRAINING.rglob(file)
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", said):
            assert re.search(rf"^def {name}\(", text, re.M), name


def test_the_engines_are_those_of_the_table() -> None:
    table = PAGE.split("## The engines")[1].split("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.M)[1:]) == tuple(ENGINES)


def test_the_folder_holds_what_is_said() -> None:
    for name in (run_folder.CONFIG, run_folder.MANIFEST, run_folder.EVENTS, run_folder.ROLLOUTS):
        assert f"\n        {name} " in PAGE
    assert f"{run_folder.ROLLOUT_BYTES // 2**20} MiB" in PAGE


def test_the_example_is_a_call_that_could_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml")
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    called: list[BoundArguments] = []
    form = signature(training.train)

    def stub(*given: Any, **more: Any) -> Path:
        called.append(form.bind(*given, **more))
        return Path()

    monkeypatch.setattr(training, "train", stub)
    monkeypatch.chdir(ROOT)
    exec(compile(example, "training.md", "exec"), {})
    (given,) = called
    assert given.arguments["config"].engine == "local"
    assert "resume" in form.parameters and 'resume="' in PAGE


def test_every_command_is_one() -> None:
    for command in re.findall(r"^infinite-rl (.*)$", PAGE, re.M):
        if command.split()[0] in VERBS:
            assert read(command).verb
    for module in re.findall(r"python -m (benchmarks\.\w+)", PAGE):
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file()
