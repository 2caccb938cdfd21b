"""The README tells the truth: its code runs, its commands exist."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from test_docs import PAGES, blocks

from infinite_rl import Sample, generate_dataset, get_reward_functions
from infinite_rl.procedural import ProceduralProvider
from infinite_rl.prompts import TASK_SYSTEM_PROMPTS
from infinite_rl.reward_functions.math.extract import Convention
from infinite_rl.reward_functions.math.verify import VerdictStatus
from infinite_rl.store import DATASET_COLUMNS

ROOT = Path(__file__).parents[2]
README = PAGES["README.md"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("README.md", 1),
        ("adapters.md", 1),
        ("coding.md", 1),
        ("generation.md", 1),
        ("rewards.md", 5),
        ("sandbox.md", 1),
    ],
)
def test_every_python_block_runs(
    page: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [block for block in blocks(page, "python") if not of_a_trainer(block)]
    assert len(found) >= least
    monkeypatch.chdir(tmp_path)
    generate_dataset("none", 2, out_dir="data", task_dist="0.5,0.5", provider="procedural")
    for block in found:
        exec(compile(block, page, "exec"), {})


TRAINERS = ("trl", "openrlhf", "open_instruct", "verifiers", "vf.", "nemo_gym", "skyrl")


def of_a_trainer(block: str) -> bool:
    """Whether a block needs a trainer, whose adapter has its own tests."""
    return any(name in block for name in TRAINERS)


def test_the_readme_is_short_and_its_example_prints_what_it_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert README.count("\n") <= 140
    (example,), (shown,) = blocks("README.md", "python"), blocks("README.md", "text")
    assert example.count("\n") <= 13
    exec(compile(example, "README.md", "exec"), {})
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert printed == [line.rstrip() for line in shown.splitlines()]
    assert [line.split(": ")[1].split(".")[0] for line in printed] == [
        *("failed", "passed", "unscored")
    ]


def test_the_row_is_one_that_is_made_and_passes() -> None:
    (block,) = blocks("make-a-data-set.md", "json")
    row = json.loads(block)
    sample = Sample(row["type"], row["prompt"], row["answer"], row["response"])
    assert set(row) <= set(DATASET_COLUMNS) and sample.id == row["id"]
    assert get_reward_functions()["math"].compute_reward(row["response"], row["answer"]).passed
    text = ProceduralProvider().complete(TASK_SYSTEM_PROMPTS["math"], "", int(row["seed"])).text
    assert row["prompt"] in text and row["response"] in text


def test_each_figure_stands_in_the_page_that_it_names() -> None:
    section = README.split("## Five measurements")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (?!measured)(.*) \| \[\w+\]\((docs/\S+)\) \|$", section, re.M)
    assert len(rows) == 5
    speed = section.split("(docs/benchmarks.md)")[1]
    for text, path in [*rows, (speed, "docs/benchmarks.md")]:
        page = (ROOT / path).read_text(encoding="utf-8")
        numbers = re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", re.sub(r"`.*?`|[a-z]+\d", "", text))
        assert len(numbers) > 2, text
        missing = [each for each in numbers if not re.search(rf"(?<![\d.]){re.escape(each)}", page)]
        assert missing == [], path


def test_the_tables_of_the_math_verdict_are_whole() -> None:
    section = PAGES["rewards.md"].split("## Math verdicts")[1].split("\n## ")[0]
    rows = re.findall(r'^\| `"?(\w+)"?`', section, re.M)
    assert rows == [*get_args(VerdictStatus), *get_args(Convention)]


def test_ci_runs_the_readmes_test_command() -> None:
    (command,) = (block.strip() for block in blocks("README.md", "bash") if "pytest" in block)
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.sub(r"-n \d", "-n 3", command) in script.splitlines()  # for CI's machines


def test_every_command_and_path_of_the_readme_exists() -> None:
    for script in re.findall(r"(?:python|bash) ((?:scripts|benchmarks|\.ci)/[\w./]+)", README):
        assert (ROOT / script).is_file(), script
    for module in re.findall(r"python -m (benchmarks\.\w+)", README):
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), module
    help_text = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate.py", "--help"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for option in re.findall(r"(?<!pip )(--\w+)", " ".join(re.findall(r"generate.py .*", README))):
        assert option in help_text


def test_the_map_names_every_place_and_no_other() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = guide.split("\nThe whole tree:\n")[1].split("```")[1]
    inside = {
        name for line in re.findall(r"^  (\S.*?)   ", tree, re.M) for name in line.split(", ")
    }
    beside = {name for line in re.findall(r"^(\w.*?)   ", tree, re.M) for name in line.split(", ")}
    package = ROOT / "infinite_rl"
    assert all((ROOT / name).is_dir() for name in beside)
    assert all(any(package.glob(name)) for name in inside)
    named = {path.name for name in inside for path in package.glob(name)}
    there = {path.name for path in package.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert there - named - {"__pycache__"} == {"__init__.py", "__main__.py"}


def test_each_table_that_a_new_thing_needs_a_row_in_is_where_the_guide_says() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tables = re.findall(r"`(\w+)` of `([\w./]+)`", guide)
    assert len(tables) > 10
    for table, file in tables:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^{table}((: .*)? = |:)", source, re.M), (table, file)


ROOMS = sorted(path.parent for path in (ROOT / "infinite_rl").rglob("__init__.py"))
# `cli/` has a file a verb; the folders of a language show a pipeline; families are a table.
WITHOUT_A_TOUR = {"infinite_rl", "cli", "python", "javascript", "procedural", "runtimes"}


def test_the_tour_of_a_room_names_each_of_its_files() -> None:
    for room in (each for each in ROOMS if each.name not in WITHOUT_A_TOUR):
        named = re.findall(r"^ *(\w+\.py) +\S", (room / "__init__.py").read_text("utf-8"), re.M)
        assert sorted(named) == sorted({path.name for path in room.glob("*.py")} - {"__init__.py"})
