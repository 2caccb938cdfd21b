"""Recipes run offline: a tiny model takes every config's rows, end to end by one command."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from infinite_rl.cli import main
from infinite_rl.dataset import rows
from infinite_rl.dataset.checksums import check
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.evaluation import recipe
from infinite_rl.training.runs import tiny

ROOT = Path(__file__).parents[2]
CONFIGS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "configs").rglob("*.yaml")
    if path.parent.name in ("train", "eval") and not path.name.startswith("lm_eval")
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working directory of a newcomer, with the tiny model."""
    folder = tmp_path_factory.mktemp("offline")
    (folder / "configs").symlink_to(ROOT / "configs")
    tiny.make_tiny(folder / "artifacts" / "tiny", steps=30)
    return folder


def offline_lines(config: str) -> list[str]:
    """The commands that a config's header says run offline."""
    text = (ROOT / config).read_text(encoding="utf-8").replace(" \\\n#", "")
    return re.findall(r"^# offline: +infinite-rl (.*)$", text, re.M)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_each_config_runs_offline_as_pasted(
    made: Path, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if config.startswith("configs/train"):
        pytest.importorskip("trl")
    monkeypatch.chdir(made)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(recipe, "TINY_TRAINING", {**recipe.TINY_TRAINING, "max_steps": 2})
    lines = offline_lines(config)
    assert lines, f"{config} says how it runs offline"
    out = made / shlex.split(lines[-1])[-1]
    if config.startswith("configs/train"):  # the model is made once
        shutil.copytree(made / "artifacts" / "tiny", out / recipe.MODEL)
    for line in lines:
        if "tiny-model" not in line:  # as above
            assert main(shlex.split(line)) == 0, line
    if config.startswith("configs/eval"):
        assert "pass@1" in (out / "summary.md").read_text(encoding="utf-8")
        return
    (run,) = (out / recipe.RUNS).iterdir()
    for name in ("config.yaml", "run_manifest.json", "locks/requirements.lock.txt", "plots"):
        assert (run / name).exists(), name


@pytest.mark.slow
def test_one_command_prepares_evaluates_trains_and_compares_and_resumes(
    made: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    shutil.copytree(made / "artifacts" / "tiny", made / "out" / recipe.MODEL)
    words = ["train", "recipe", "configs/train/gsm8k_sft.yaml", "--evaluation"]
    words += ["configs/eval/gsm8k.yaml", "--tiny", "--out", "out", "--json"]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    (compared,) = told["comparison"]
    assert compared["task"] == "gsm8k" and compared["items"] == tiny.TESTS
    before, after = (
        {each["id"] for each in rows.read(made / "out" / phase / "gsm8k" / "records.jsonl")
         if each["status"] == "passed" and each["finish_reason"] != "length"}
        for phase in (recipe.BEFORE, recipe.AFTER)
    )  # fmt: skip
    assert compared["before"] == pytest.approx(len(before) / tiny.TESTS)
    assert (compared["gained"], compared["lost"]) == (len(after - before), len(before - after))
    interval = compared["difference"]
    assert interval["low"] <= compared["after"] - compared["before"] <= interval["high"]
    pins = check(made / "out" / recipe.ROWS)
    assert set(pins.rows) == {"train.jsonl", "gsm8k_test.jsonl"}
    for name in ("comparison.md", "plots/comparison.png", "run_manifest.json", "sys/hardware.json"):
        assert (made / "out" / name).is_file(), name
    runs = sorted((made / "out" / recipe.RUNS).iterdir())
    assert main(words) == 0, "all of it is there already"
    assert json.loads(capsys.readouterr().out) == told
    assert sorted((made / "out" / recipe.RUNS).iterdir()) == runs


def test_a_tiny_model_whose_making_was_interrupted_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*args: object, **values: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tiny, "train", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tiny.make_tiny(tmp_path / "tiny")
    assert not tiny.is_complete(tmp_path / "tiny")
    tiny.make_tiny(tmp_path / "tiny", steps=0)
    assert tiny.is_complete(tmp_path / "tiny")
    assert main(["train", "tiny-model", "-o", str(tmp_path / "tiny")]) == 2
    assert "is there already: --overwrite replaces it" in capsys.readouterr().err
    (tmp_path / "rows").mkdir()
    with pytest.raises(UsageError, match="has other files"):
        tiny.make_tiny(tmp_path)


def test_a_comparison_pairs_the_items_and_leaves_out_what_has_no_verdict(tmp_path: Path) -> None:
    def record(name: str, status: str, reason: str = "stop") -> dict[str, str]:
        return {"id": name, "status": status, "finish_reason": reason}

    for phase, records in (
        ("before", [record("a", "failed"), record("b", "passed"), record("c", "passed"),
                    record("d", "unscored"), record("e", "failed")]),
        ("after", [record("a", "passed"), record("b", "passed", "length"), record("c", "passed"),
                   record("d", "passed"), record("e", "passed")]),
    ):  # fmt: skip
        rows.write(records, tmp_path / phase / "t" / "records.jsonl")
    found = recipe.compare("t", tmp_path)
    assert (found.items, found.before, found.after) == (4, 0.5, 0.75)
    assert (found.gained, found.lost) == (2, 1)
    assert found.difference.low < 0.25 < found.difference.high
    rows.write([record("z", "passed")], tmp_path / "after" / "t" / "records.jsonl")
    with pytest.raises(StoreError, match="no item has a verdict before and after"):
        recipe.compare("t", tmp_path)


@pytest.mark.parametrize("benchmark", ["gsm8k", "math", "mbpp", "humaneval", "ifeval"])
def test_no_test_item_has_the_numbers_of_a_row_to_train_on(benchmark: str) -> None:
    train, test = (tiny.make_items(benchmark, 200, test=each, seed=1) for each in (False, True))
    examples = range(2, 11)  # of a prompt of MBPP, with negative numbers
    test = [each for each in test if each.get("task_id") not in examples]
    key = next(name for name in ("question", "problem", "prompt") if name in train[0])
    numbers = [
        {tuple(re.findall(r"\b\d\b", each[key])[:2]) for each in part} for part in (train, test)
    ]
    assert not numbers[0] & numbers[1] and all(numbers)


def test_no_row_to_train_on_has_the_prompt_of_a_test_item(tmp_path: Path) -> None:
    from infinite_rl.evaluation import EvaluationConfig
    from infinite_rl.training import TrainingConfig

    items = [{"id": str(n), "type": "math", "prompt": f"{n} + 1 =", "answer": str(n + 1)}
             for n in range(6)]  # fmt: skip
    rows.write(items, tmp_path / "rows.jsonl")
    rows.write(items[:2], tmp_path / "held.jsonl")
    config = TrainingConfig.of({"model": "m", "data": str(tmp_path / "rows.jsonl")})
    evaluation = EvaluationConfig.of({"model": "m", "tasks": [str(tmp_path / "held.jsonl")]})
    kept = recipe._prepared(config, evaluation, tmp_path / "out")
    assert [row["id"] for row in kept] == ["2", "3", "4", "5"]
    assert rows.read(tmp_path / "out" / "rows" / "held_test.jsonl")
    rows.write(items[1:], tmp_path / "rows.jsonl")
    recipe._prepared(config, evaluation, tmp_path / "out")  # the one that is gone was a test item
    rows.write(items[3:], tmp_path / "rows.jsonl")
    with pytest.raises(StoreError, match="other rows"):
        recipe._prepared(config, evaluation, tmp_path / "out")
