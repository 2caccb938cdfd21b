"""`infinite-rl train`: configs, flags, what is refused in one line, and a run that was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import save_tiny

from infinite_rl.cli import main
from infinite_rl.evaluation.config import EvaluationConfig
from infinite_rl.training.runs.checkpoint import ready
from infinite_rl.training.runs.config import TrainingConfig
from infinite_rl.training.runs.run_folder import read_events

ROOT = Path(__file__).parents[2]
TIMES = {"seconds", "tokens_per_s", "sampling_s", "judging_s", "waiting_s", "training_s", "time"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model, rows and a config for both algorithms."""
    save_tiny(tmp_path / "model")
    rows = [
        {"type": "math", "prompt": f"{a}+1=", "answer": str(a + 1), "response": str(a + 1)}
        for a in range(8)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config: dict[str, Any] = {
        "model": str(tmp_path / "model"),
        "data": str(tmp_path / "rows.jsonl"),
        "out": str(tmp_path / "runs"),
        "prompt_template": "plain",
        "max_steps": 4,
        "batch_size": 4,
        "group_size": 2,
        "max_new_tokens": 4,
        "learning_rate": 1e-3,
        "save_every": 2,
        "device": "cpu",
    }
    (tmp_path / "c.yaml").write_text(json.dumps(config))  # JSON is YAML
    return tmp_path


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs").iterdir()
    return run


def steps(run: Path) -> list[dict[str, Any]]:
    events = read_events(run, "train")
    return [{name: event[name] for name in event if name not in TIMES} for event in events]


@pytest.mark.parametrize("verb", [["train", "sft"], ["train", "grpo"], ["evaluate"]])
def test_the_help_has_each_keys_default_and_no_internal_name(
    verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*verb, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    job = EvaluationConfig if verb == ["evaluate"] else TrainingConfig
    assert "samples" in job.kinds() or "sampled per prompt (default: 8)" in said
    shown = [
        value for value in job.defaults().values() if str(value) not in ("", "()", "{}", "False")
    ]
    assert said.count("(default: ") >= len(shown) - (job is TrainingConfig)  # but algorithm
    assert "`" not in said and "PRESETS" not in said


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["sft", "grpo"])
def test_a_run_is_made_and_its_folder_goes_on(
    folder: Path, algorithm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", algorithm, str(folder / "c.yaml"), "--max_steps", "3"]) == 0
    run = only_run(folder)
    assert f"trained: {run}/checkpoints/step_3" in capsys.readouterr().out
    assert main(["train", algorithm, str(run), "--max_steps", "5"]) == 0
    assert [event["step"] for event in steps(run)] == [1, 2, 3, 4, 5]
    assert [path.name for path in ready(run)] == ["step_3", "step_4", "step_5"]


def test_a_run_with_a_secret_goes_on_when_the_secret_is_given_anew(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = ["--engine_options", '{"token": "hf_' + "x" * 20 + '"}', "--max_steps", "1"]
    assert main(["train", "sft", str(folder / "c.yaml"), *secret]) == 0
    run = only_run(folder)
    assert main(["train", "sft", str(run)]) == 2
    assert "secrets in engine_options: give --engine_options again" in capsys.readouterr().err
    assert main(["train", "sft", str(run), *secret[:2], "--max_steps", "2"]) == 0


WRONG = [
    ("sft none.yaml", "none.yaml: there is no such file"),
    ("sft .", "neither a YAML file nor the folder of a run"),
    ("grpo c.yaml --max_steps many", "max_steps must be a whole number, not 'many'"),
    ("grpo c.yaml --reward {", "--reward takes JSON"),
    ("grpo c.yaml --data=", "data is missing"),
    ("grpo c.yaml --data none.jsonl", "there is no none.jsonl"),
    ("grpo c.yaml --data empty.jsonl", "there are no rows"),
    ("sft c.yaml --data bare.jsonl", "no column 'type'"),
    ("grpo c.yaml --model ./nowhere", "there is no model folder nowhere"),
    ("grpo typo.yaml", "unknown key 'learning_rat'; did you mean learning_rate?"),
    ("sft other.yaml", "other.yaml is a config for grpo, not for sft"),
    ("grpo", "model is missing: "),
]


def test_what_cannot_be_is_wrong_usage_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    Path("empty.jsonl").write_text("")
    Path("bare.jsonl").write_text('{"question": "1"}\n')
    Path("typo.yaml").write_text("model: m\nlearning_rat: 1\n")
    Path("other.yaml").write_text("model: m\nalgorithm: grpo\n")
    for words, said in WRONG:
        assert main(["train", *words.split()]) == 2
        told = capsys.readouterr()
        assert said in told.err and told.err.count("\n") == 1 and told.out == "", words
        assert not Path("runs").exists()


def test_a_place_that_cannot_be_written_is_not_done(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "file").write_text("")
    words = ["train", "sft", str(folder / "c.yaml"), "--out", str(folder / "file")]
    assert main(words) == 1
    assert "file" in capsys.readouterr().err


def test_a_flag_that_is_not_known_is_wrong_usage(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["train", "sft", str(folder / "c.yaml"), "--stops", "3"])
    assert refused.value.code == 2 and "--stops" in capsys.readouterr().err


def test_without_torch_one_line_names_the_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("infinite_rl.training.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("infinite_rl.training.runs.demo", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    config = str(folder / "c.yaml")
    for words, extras in (
        (["sft", config], "train"),
        (["demo", "-o", str(folder)], "train"),
        (["grpo", config, "--engine", "ray"], "train,ray"),
    ):
        assert main(["train", *words]) == 2
        assert f"needs torch: pip install 'infinite-rl[{extras}]'" in capsys.readouterr().err


def test_the_script_is_the_verb() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/train.py", "--help"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("usage: infinite-rl train")


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["sft", "grpo"])
def test_a_run_that_was_killed_goes_on_to_the_same_curve(folder: Path, algorithm: str) -> None:
    """SIGKILL in the midst of training, and again; the third attempt comes to the end."""
    words = ["--max_steps", "24", "--save_every", "3", "--sft_weight", "1", "--max_staleness", "1"]

    def started(*source: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "infinite_rl", "train", algorithm, *source, *words],
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def killed(step: int, *source: str) -> Path:
        process = started(*source)
        while process.poll() is None:
            runs = list((folder / "cut").glob("*/checkpoints/step_*/READY"))
            if any(int(path.parent.name[5:]) >= step for path in runs):
                process.send_signal(signal.SIGKILL)
            time.sleep(0.01)
        assert process.returncode == -signal.SIGKILL
        (run,) = (folder / "cut").iterdir()
        return run

    config = str(folder / "c.yaml")
    run = killed(3, config, "--out", str(folder / "cut"))
    killed(9, str(run))
    assert started(str(run)).wait(300) == 0
    assert started(config).wait(300) == 0
    assert len(steps(run)) == 24 and steps(run) == steps(only_run(folder))


def test_a_run_is_gone_on_with_by_its_folder_or_by_a_config(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(folder / "c.yaml")
    assert main(["train", "sft", config, "--max_steps", "2"]) == 0
    run = only_run(folder)
    assert main(["train", "sft", config, "--resume", str(run)]) == 0
    assert [event["step"] for event in read_events(run, "train")] == [1, 2, 3, 4]
    assert main(["train", "sft", config, "--resume", str(run), "--seed", "7"]) == 2
    assert "seed was 42, is 7" in capsys.readouterr().err
    assert main(["train", "sft", str(run), "--resume", str(run)]) == 2
    assert "--resume needs a YAML file" in capsys.readouterr().err
