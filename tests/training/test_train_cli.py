"""`infinite-rl train`: configs, flags, what is refused in one line, and a run that was killed."""

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

from labelled import Tables

from benchmarks.train_kill import PROCESSES
from infinite_rl.cli import main
from infinite_rl.evaluation.config import EvaluationConfig
from infinite_rl.training.runs.checkpoint import ready
from infinite_rl.training.runs.config import TrainingConfig
from infinite_rl.training.runs.run_folder import read_events

ROOT = Path(__file__).parents[2]
tables = Tables(__file__)
TIMES = {"seconds", "tokens_per_s", "sampling_s", "judging_s", "waiting_s", "training_s", "time"}


@pytest.fixture
def folder(model: Path, tmp_path: Path) -> Path:
    """Rows and a config for both algorithms."""
    rows = [
        {"type": "math", "prompt": f"{a}+1=", "answer": str(a + 1), "response": str(a + 1)}
        for a in range(8)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config: dict[str, Any] = {
        "model": str(model), "data": str(tmp_path / "rows.jsonl"), "out": str(tmp_path / "runs"),
        "prompt_template": "plain", "max_steps": 4, "batch_size": 4, "group_size": 2,
        "max_new_tokens": 4, "learning_rate": 1e-3, "save_every": 2, "device": "cpu",
    }  # fmt: skip
    (tmp_path / "c.yaml").write_text(json.dumps(config))  # JSON is YAML
    return tmp_path


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs").iterdir()
    return run


def steps(run: Path) -> list[dict[str, Any]]:
    events = read_events(run, "train")
    return [{name: event[name] for name in event if name not in TIMES} for event in events]


@pytest.mark.parametrize("verb", [["train", "sft"], ["train", "grpo"], ["evaluate"]])
def test_the_help_has_each_default(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
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
def test_a_run_is_made_and_resumes_by_its_folder_or_by_a_config(
    folder: Path, algorithm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A secret of the config is not in the folder: it has to be given again."""
    config = str(folder / "c.yaml")
    secret = ["--engine_options", '{"token": "hf_' + "x" * 20 + '"}']
    assert main(["train", algorithm, config, *secret, "--max_steps", "3"]) == 0
    run = only_run(folder)
    assert f"trained: {run}/checkpoints/step_3" in capsys.readouterr().out
    for words, message in (
        ([str(run)], "secrets in engine_options: give --engine_options again"),
        ([config, *secret, "--resume", str(run), "--seed", "7"], "seed was 42, is 7"),
        ([str(run), "--resume", str(run)], "--resume needs a YAML file"),
    ):
        assert main(["train", algorithm, *words]) == 2
        assert message in capsys.readouterr().err
    assert main(["train", algorithm, str(run), *secret, "--max_steps", "4"]) == 0
    resumed = [config, *secret, "--resume", str(run), "--max_steps", "5"]
    assert main(["train", algorithm, *resumed]) == 0
    assert [event["step"] for event in steps(run)] == [1, 2, 3, 4, 5]
    assert [path.name for path in ready(run)] == ["step_3", "step_4", "step_5"]


@tables
def test_what_cannot_be_is_wrong_usage_in_one_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    Path("empty.jsonl").write_text("")
    Path("bare.jsonl").write_text('{"question": "1"}\n')
    Path("typo.yaml").write_text("model: m\nlearning_rat: 1\n")
    Path("other.yaml").write_text("model: m\nalgorithm: grpo\n")
    assert main(["train", *words.split()]) == 2
    told = capsys.readouterr()
    assert message in told.err and told.err.count("\n") == 1 and told.out == ""
    assert not Path("runs").exists()


def test_unwritable_or_unknown_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "file").write_text("")
    words = ["train", "sft", str(folder / "c.yaml")]
    assert main([*words, "--out", str(folder / "file")]) == 1
    assert "file" in capsys.readouterr().err
    with pytest.raises(SystemExit) as refused:
        main([*words, "--stops", "3"])
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
def test_a_run_that_was_killed_resumes_to_the_same_curve(folder: Path) -> None:
    """SIGKILL in the midst of training; the folder of the run is all that is left."""
    words = ["--max_steps", "12", "--sft_weight", "1", "--max_staleness", "1"]
    command = ["train", "grpo", str(folder / "c.yaml"), *words]
    process = PROCESSES.Process(target=main, args=([*command, "--out", str(folder / "cut")],))
    process.start()
    while process.is_alive():
        if list((folder / "cut").glob("*/checkpoints/step_4/READY")):
            process.kill()
        time.sleep(0.005)
    assert process.exitcode == -signal.SIGKILL
    (run,) = (folder / "cut").iterdir()
    assert main(["train", "grpo", str(run), *words]) == 0
    assert main(command) == 0
    assert len(steps(run)) == 12 and steps(run) == steps(only_run(folder))


@pytest.mark.slow
def test_sigterm_saves_the_step_and_the_command_that_it_names_resumes(
    folder: Path,
) -> None:
    words = ["--max_steps", "2000", "--save_every", "2000"]
    command = ["train", "grpo", str(folder / "c.yaml"), *words]
    errors = folder / "errors.txt"
    process = PROCESSES.Process(target=exit_with_main, args=(command, errors))
    process.start()
    while not any(path.read_bytes().count(b"\n") for path in folder.glob("runs/*/events.jsonl")):
        assert process.is_alive()
        time.sleep(0.005)
    process.terminate()
    process.join()
    assert process.exitcode == 130
    said = errors.read_text(encoding="utf-8")
    assert "stopping: a checkpoint is saved after this step" in said
    run = only_run(folder)
    (saved,) = ready(run)
    step = int(saved.name.removeprefix("step_"))
    assert (
        f"stopped after step {step} of 2000, which is saved: infinite-rl train grpo {run}" in said
    )
    last = str(step + 1)
    assert main(["train", "grpo", str(run), "--max_steps", last, "--save_every", last]) == 0
    assert len(steps(run)) == step + 1


def exit_with_main(command: list[str], errors: Path) -> None:
    """End this process as the command line does; its errors go to a file."""
    with errors.open("w", encoding="utf-8") as sys.stderr:
        sys.exit(main(command))
