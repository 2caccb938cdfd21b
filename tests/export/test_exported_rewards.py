"""An export takes rewards of one's own along, each as one file that runs wherever the folder is."""

import asyncio
import hashlib
import json
import pickle
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from labelled import assert_none, unlike

from infinite_rl.adapters import for_rubric, for_trl
from infinite_rl.adapters.scorer import Scorer
from infinite_rl.adapters.verl import compute_score, compute_score_batch
from infinite_rl.cli import main
from infinite_rl.dataset.rows import sample_of, write
from infinite_rl.errors import UsageError
from infinite_rl.export import export, read_export
from infinite_rl.export.own_rewards import read_rewards
from infinite_rl.layout import tagged
from infinite_rl.reward_functions.exported import rewards_in

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests" / "support" / "sorted_words.py"
ROW = {
    "type": "sorted_words",
    "prompt": "Sort: pear fig",
    "answer": "fig pear",
    "response": tagged("fig pear"),
}
SUM = {"type": "math", "prompt": "What is 2 + 5?", "answer": "7", "response": tagged("7")}
SAID = [ROW["response"], tagged("pear fig")]
WHERE = {
    "verifiers": "out/rewards",
    "ors": "rewards",
    "harbor": "rewards",
    "nemo-gym": "resources_servers/out/rewards",
    "openrlhf": "rewards",
}


@pytest.fixture
def spec(tmp_path: Path) -> str:
    """A reward in a folder that is gone before anything is judged."""
    path = tmp_path / "elsewhere" / "sorted-words 2.py"
    path.parent.mkdir()
    shutil.copy(SOURCE, path)
    return f"sorted_words={path}:SortedWords"


@pytest.fixture
def folder(tmp_path: Path, spec: str) -> Path:
    """An export with the reward."""
    export([ROW, SUM], "openrlhf", tmp_path / "out", rewards=[spec], system="")
    shutil.rmtree(tmp_path / "elsewhere")
    return tmp_path / "out"


@pytest.mark.parametrize("to", WHERE)
def test_the_file_goes_along_unchanged_with_its_hash(to: str, tmp_path: Path, spec: str) -> None:
    export([ROW, SUM], to, tmp_path / "out", rewards=[spec])
    inside = tmp_path / "out" / WHERE[to]
    entries = json.loads((inside / "rewards.json").read_bytes())
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    assert entries == {
        "sorted_words": {"file": "sorted_words_2.py", "class": "SortedWords", "sha256": digest}
    }
    assert (inside / "sorted_words_2.py").read_bytes() == SOURCE.read_bytes()
    texts = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(b"elsewhere" in text for text in texts), "a path of this machine"
    assert digest in (tmp_path / "out" / "README.md").read_text("utf-8")


@pytest.mark.slow
def test_a_fresh_process_judges_by_the_reward_of_the_folder(tmp_path: Path, spec: str) -> None:
    export([ROW, SUM], "harbor", tmp_path / "out", rewards=[spec], system="")
    shutil.rmtree(tmp_path / "elsewhere")
    empty = tmp_path / "empty"
    empty.mkdir()
    rewards = []
    for task, said in zip(
        sorted((tmp_path / "out" / "train").iterdir()), (SAID, "77"), strict=True
    ):
        for text in said:
            (empty / "answer.txt").write_text(text)
            (script,) = (task / "tests" / "test.sh").read_text().splitlines()[1:]
            script = script.replace("/tests/", f"{task}/tests/").replace("/app/", f"{empty}/")
            words = script.replace("/logs/verifier/", f"{empty}/").split()
            environment = {"HOME": str(empty), "PYTHONPATH": str(ROOT)}
            subprocess.run([sys.executable, *words[1:]], cwd=empty, env=environment, check=True)
            rewards.append(json.loads((empty / "reward.json").read_bytes())["reward"])
    assert rewards == [1.0, 0.0, 0.0, 0.0]
    assert {path.name for path in empty.iterdir()} == {"answer.txt", "reward.json"}


def test_each_adapter_takes_the_folder(folder: Path) -> None:
    where = folder / "rewards"
    row, _ = (json.loads(line) for line in (folder / "train.jsonl").open())
    truth = row["label"]
    assert for_trl(rewards=where)([""] * 2, SAID, ground_truth=[truth] * 2) == [1.0, 0.0]
    assert [compute_score("", each, truth, rewards=str(where))["score"] for each in SAID] == [1, 0]
    scores = compute_score_batch([""] * 2, SAID, [truth] * 2, rewards=str(where))
    assert [score["score"] for score in scores] == [1.0, 0.0]
    rubric = for_rubric(rewards=where)
    assert [asyncio.run(rubric(each, truth)) for each in SAID] == [1.0, 0.0]


@pytest.mark.slow
def test_openrlhf_takes_the_folder(folder: Path) -> None:
    pytest.importorskip("torch", reason="OpenRLHF's rewards are torch's tensors")
    from infinite_rl.adapters.openrlhf import for_openrlhf

    row, _ = (json.loads(line) for line in (folder / "train.jsonl").open())
    reward = for_openrlhf(rewards=folder / "rewards")
    assert reward(SAID, [""] * 2, [row["label"]] * 2)["rewards"].tolist() == [1.0, 0.0]


TRAIN = """
import sys
from datasets import load_dataset
from infinite_rl.adapters import for_trl
from trl_step import trainer

folder, *said = sys.argv[1:]
rows = load_dataset("parquet", data_files=f"{folder}/train.parquet", split="train")
rows = [row for row in rows if row["type"] == "sorted_words"]
made = trainer(rows * 4, for_trl(rewards=f"{folder}/rewards"), "run")
made.train()
inputs = [rows[0]] * len(said)
prompts = [row["prompt"] for row in inputs]
print(made._calculate_rewards(inputs, prompts, said, [[1]] * len(said))[:, 0].tolist())
"""


@pytest.mark.slow
def test_trl_trains_with_the_reward_of_an_export(tmp_path: Path, spec: str) -> None:
    for library in ("trl", "datasets"):
        pytest.importorskip(library)
    export([ROW, SUM], "trl", tmp_path / "out", rewards=[spec], system="", plain=True)
    shutil.rmtree(tmp_path / "elsewhere")
    empty = tmp_path / "empty"
    empty.mkdir()
    paths = f"{ROOT}:{ROOT / 'tests' / 'support'}"
    environment = {"HOME": str(empty), "PYTHONPATH": paths, "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-c", TRAIN, str(tmp_path / "out"), *SAID]
    done = subprocess.run(words, cwd=empty, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["[1.0, 0.0]"], done.stderr


def test_another_process_gets_the_same_rewards(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    pickled = pickle.dumps(Scorer(rewards="rewards"))
    monkeypatch.chdir(tmp_path)
    scorer = pickle.loads(pickled)  # Ray's own way between our processes
    row, other = read_export(folder, "openrlhf", system="")
    assert scorer.judge_one(sample_of(row), SAID[0]).passed
    assert scorer.judge_one(sample_of(other), SUM["response"]).passed, "and the built-in ones"


def test_settings_that_rows_may_carry_name_no_code(folder: Path) -> None:
    with pytest.raises(UsageError, match="no option 'rewards'"):
        Scorer().but({"rewards": str(folder / "rewards")})


def test_the_card_says_how_to_judge_the_rows_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "README.md").read_text("utf-8")
    (block,) = (each for each in text.split("```python\n") if "rewards_in" in each)
    monkeypatch.chdir(folder)
    exec(block.partition("```")[0], {})
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["passed"] * 2
    assert '`rewards="PATH/rewards"`' in text and "need a reward of your own" not in text


# --- what is refused -----------------------------------------------------------------------------
def test_a_file_that_would_not_run_alone_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "helper_of_mine.py").write_text("WORDS = []\n")
    (tmp_path / "pack_of_mine").mkdir()
    write([ROW], tmp_path / "rows.jsonl")
    alone = "and an export takes mine.py alone: write that code into it"
    for line, said in {
        "import helper_of_mine": f"helper_of_mine.py), which no package index has: {alone}",
        "from pack_of_mine import x": "pack_of_mine), which no package index has",
        "from . import helper_of_mine": f"imports ., {alone}",
        "from .helper_of_mine import WORDS": f"imports .helper_of_mine, {alone}",
        "def f():\n    import never_heard_of": "imports 'never_heard_of', which is not installed",
        "open(__file__)": "reads files beside it (__file__), and an export takes mine.py alone",
        "x = (": "cannot be read as Python",
    }.items():
        marked = f"{line}\nopen({str(tmp_path / 'ran')!r}, 'w')\n"
        (tmp_path / "mine.py").write_text(marked + SOURCE.read_text("utf-8"))
        words = ["export", str(tmp_path / "rows.jsonl"), "--to", "ors", "-o", str(tmp_path / "out")]
        own = f"sorted_words={tmp_path / 'mine.py'}:SortedWords"
        assert main([*words, "--rewards", own]) == 2
        (error,) = capsys.readouterr().err.splitlines()
        assert error.startswith("error: ") and said in error
        assert not (tmp_path / "ran").exists(), "a file that is refused is not run"
        assert not (tmp_path / "out").exists()


def test_a_package_that_only_a_run_imports_is_required(tmp_path: Path) -> None:
    head = "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    import yaml\n"
    (tmp_path / "mine.py").write_text(head + SOURCE.read_text("utf-8"))
    (own,) = read_rewards([f"sorted_words={tmp_path}/mine.py:SortedWords"])
    assert [each.partition(">=")[0] for each in own.requirements] == ["PyYAML"]


def test_imports_that_are_not_needed_to_run_are_no_reason_to_refuse(tmp_path: Path) -> None:
    head = (
        "import typing\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import never_heard_of\n"
        "try:\n    import nor_of_this\nexcept ImportError:\n    nor_of_this = None\n"
        "import os.path, json, infinite_rl.types\n"
    )
    (tmp_path / "mine.py").write_text(head + SOURCE.read_text("utf-8"))
    export([ROW], "ors", tmp_path / "out", rewards=[f"sorted_words={tmp_path}/mine.py:SortedWords"])
    assert set(rewards_in(tmp_path / "out" / "rewards")) == {"sorted_words"}


@pytest.mark.parametrize("to", ["verifiers", "ors", "harbor", "nemo-gym"])
def test_a_package_of_an_index_is_required_by_the_folder(to: str, tmp_path: Path) -> None:
    import yaml

    (tmp_path / "mine.py").write_text("import yaml\n" + SOURCE.read_text("utf-8"))
    own = f"sorted_words={tmp_path}/mine.py:SortedWords"
    export([ROW, SUM], to, tmp_path / "out", rewards=[own])
    names = {"pyproject.toml", "requirements.txt", "Dockerfile"}
    texts = [path.read_text() for path in (tmp_path / "out").rglob("*") if path.name in names]
    needed = f"PyYAML>={yaml.__version__}"
    assert sum(needed in text for text in texts) == 1, "and not by a task of another reward"
    for text in texts:
        if "[project]" in text:
            tomllib = pytest.importorskip("tomllib")
            assert needed in tomllib.loads(text)["project"]["dependencies"]
        elif needed in text and "FROM" not in text:
            assert needed in text.splitlines()


def test_wrong_calls_are_one_clear_line_and_write_nothing(tmp_path: Path, spec: str) -> None:
    out, file = tmp_path / "out", spec.partition("=")[2].rpartition(":")[0]
    own = partial(export, [ROW], "ors", out)
    learns, plain = (partial(export, [ROW], to, out, rewards=[spec]) for to in ("sft", "jsonl"))
    cases = [
        ("no reward 'sorted_words' .* --rewards TYPE=FILE.py:CLASS takes yours", own),
        ("no reward judges the rows of sft", learns),
        ("no reward judges the rows of jsonl", plain),
    ]
    for wrong, said in {
        "x": "takes NAME=FILE.py:CLASS, not 'x'",
        "x=json.tool:X": "as one file: NAME=FILE.py:CLASS, not",
        f"x={tmp_path}/no.py:X": "the reward 'x' cannot be read",
        f"x={file}:Sorted": "there is no 'Sorted' in .*SortedWords",
        f"x={file}:Sample": "no subclass of RewardFunction",
    }.items():
        cases.append((said, partial(own, rewards=[wrong])))
    assert_none(unlike(cases))
    assert not out.exists()


def test_a_class_without_compute_reward_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from infinite_rl import RewardFunction as Half\n")
    with pytest.raises(UsageError, match="the reward 'x' has no compute_reward"):
        export([ROW], "ors", tmp_path / "out", rewards=[f"x={tmp_path}/mine.py:Half"])


def test_files_of_one_name_stay_apart(tmp_path: Path, spec: str) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "SORTED_words 2.py"
    other.write_text(
        SOURCE.read_text("utf-8").replace("sorted(", "sorted(reverse=True, key=str, *[")
    )
    other.write_text(other.read_text().replace(".split())", ".split()])"))
    export([ROW], "ors", tmp_path / "out", rewards=[spec, f"down={other}:SortedWords"])
    rewards = rewards_in(tmp_path / "out" / "rewards")
    sample = sample_of(ROW)
    assert [rewards["sorted_words"].score(sample, each).passed for each in SAID] == [True, False]
    assert [rewards["down"].score(sample, each).passed for each in SAID] == [False, True]
    names = [path.name for path in (tmp_path / "out" / "rewards").glob("*.py")]
    assert len({name.lower() for name in names}) == 2


def test_a_reward_may_replace_a_built_in_one(tmp_path: Path, spec: str) -> None:
    own = spec.replace("sorted_words=", "math=", 1)
    export([{**ROW, "type": "math"}], "openrlhf", tmp_path / "out", rewards=[own])
    (row,) = (json.loads(line) for line in (tmp_path / "out" / "train.jsonl").open())
    reward = for_trl(rewards=tmp_path / "out" / "rewards")
    assert reward([""] * 2, SAID, ground_truth=[row["label"]] * 2) == [1.0, 0.0]


# --- a folder that was changed -------------------------------------------------------------------
def test_a_folder_that_was_changed_is_refused(folder: Path) -> None:
    where = folder / "rewards"
    (path,) = where.glob("*.py")
    entries: dict[str, Any] = json.loads((where / "rewards.json").read_bytes())

    def listing(**more: str) -> None:
        changed = {"sorted_words": {**entries["sorted_words"], **more}}
        (where / "rewards.json").write_text(json.dumps(changed))

    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(UsageError, match="is not the file that was exported: its SHA-256 is"):
        rewards_in(where)
    listing(sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert set(rewards_in(where)) == {"sorted_words"}
    shutil.copy(path, folder / "mine.py")
    for file in ("../mine.py", str(folder / "mine.py")):
        listing(file=file)
        with pytest.raises(UsageError, match="names a file of another folder"):
            rewards_in(where)
    listing(file="none.py")
    with pytest.raises(UsageError, match="the reward 'sorted_words' cannot be read"):
        rewards_in(where)
    for text in ("[]", "{", '{"a": 1}', '{"a": {}}'):
        (where / "rewards.json").write_text(text)
        with pytest.raises(UsageError, match="is no list of rewards"):
            rewards_in(where)
    (where / "rewards.json").unlink()
    with pytest.raises(UsageError, match="there are no rewards in"):
        rewards_in(where)


@pytest.mark.parametrize("to", WHERE)
def test_an_export_with_rewards_is_replaced_whole_and_nothing_of_a_user_is_lost(
    to: str, tmp_path: Path, spec: str
) -> None:
    out = tmp_path / "out"
    export([ROW, SUM], to, out, rewards=[spec])
    rewards_in(out / WHERE[to])  # no file of the import stays
    export([ROW, SUM], to, out, rewards=[spec], overwrite=True)
    (out / WHERE[to] / "mine.py").write_text("mine")
    with pytest.raises(UsageError, match="holds more than an export"):
        export([ROW, SUM], to, out, rewards=[spec], overwrite=True)
    (out / WHERE[to] / "mine.py").unlink()
    export([SUM], to, out, overwrite=True)
    assert not list(out.rglob("rewards.json"))


def test_the_command_takes_the_reward_along(
    tmp_path: Path, spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write([ROW], tmp_path / "rows.jsonl")
    out = tmp_path / "out"
    words = ["export", str(tmp_path / "rows.jsonl"), "--to", "openrlhf", "-o", str(out)]
    assert main(words) == 0
    said = "types without a reward in this package: sorted_words; `infinite-rl export --rewards"
    assert said in capsys.readouterr().err
    assert main([*words, "--overwrite", "--rewards", spec]) == 0
    assert "without a reward" not in capsys.readouterr().err
    names = {path.name for path in (out / "rewards").iterdir()}
    assert names == {"rewards.json", "sorted_words_2.py"}
