"""`infinite-rl VERB --json`: an object on stdout, and nothing else there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime, timezone
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import openai_server as openai
import pytest
from commands import commands

from infinite_rl import cli
from infinite_rl.cli.terminal import Emit
from infinite_rl.dataset.rows import write
from infinite_rl.sandbox import runtimes
from infinite_rl.types import Usage

ROOT = Path(__file__).parents[2]
LEAK = "A farmer walks along the river with a heavy basket of apples and sells a dozen of them."


def test_every_command_speaks_to_machines(capsys: pytest.CaptureFixture[str]) -> None:
    for name in commands():
        with pytest.raises(SystemExit):
            cli.main([*name.split(), "--help"])
        said = capsys.readouterr().out
        assert "  --json " in said and not re.search(r"--\w+-", said)


def test_values_are_of_jsons_own_types(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    values = {
        "numbers": (1, 2.5, np.int64(3), np.float32(0.5), Fraction(1, 4), True, None),
        "not_finite": [float("nan"), float("inf"), np.float64("-inf")],
        "path": Path("a/b"),
        "time": datetime(2026, 1, 31, tzinfo=timezone.utc),
        "usage": Usage(1, 2),
        "secret": "a-key-of-some-length",
        "surrogate": "\udc80",
        "by_k": {1: "x"},
    }
    Emit(json=True)(values, "a line")
    assert json.loads(capsys.readouterr().out) == {
        "numbers": [1, 2.5, 3, 0.5, 0.25, True, None],
        "not_finite": [None, None, None],
        "path": "a/b",
        "time": "2026-01-31T00:00:00+00:00",
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cached_tokens": 0,
            "thinking_tokens": 0,
        },
        "secret": "[key]",
        "surrogate": "\ufffd",
        "by_k": {"1": "x"},
    }


def test_what_libraries_and_child_processes_print_goes_to_stderr(tmp_path: Path) -> None:
    script = (
        "import os, sys, infinite_rl.cli as cli\n"
        "from infinite_rl.cli.storage import Publish\n"
        "def run(config, emit):\n"
        "    print('a library')\n"
        "    os.system('echo a child')\n"
        "    emit({'told': 1}, 'a line')\n"
        "    return 1\n"
        "Publish.run = run\n"
        "code = cli.main(['storage', 'publish', 'a', 'b', *sys.argv[1:]])\n"
        "print('afterwards', code)"
    )
    for words, out, err in (
        (["--json"], '{"told": 1}\nafterwards 1\n', "a child\na library\n"),
        ([], "a child\na library\na line\nafterwards 1\n", ""),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script, *words],
            env={"PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert sorted(done.stdout.split("\n")) == sorted(out.split("\n"))
        assert sorted(done.stderr.split("\n")) == sorted(err.split("\n"))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Rows to work on, in the folder that paths start from."""
    monkeypatch.chdir(tmp_path)
    prompts = ["What is 2+3?", "What is 2 + 3", "What is 2+4?", LEAK]
    write(
        [
            {
                **{"id": f"r{n}", "type": "math", "prompt": prompt, "answer": "5"},
                **{"response": f"<answer>{5 + n % 2}</answer>", "score": n},
            }
            for n, prompt in enumerate(prompts)
        ],
        Path("rows.jsonl"),
    )
    write([{"question": LEAK, "answer": "So. #### 5"}], Path("bench.jsonl"))
    return Path("rows.jsonl")


def told(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    """The object that a command prints; its exit code is checked."""
    assert cli.main([*map(str, words), "--json"]) == code
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return json.loads(out)


TOLD: list[tuple[str, dict[str, Any]]] = [
    (
        "data mix",
        {
            "rows": 4,
            "sources": [{"name": "rows", "rows": 4, "taken": 4, "distinct": 4}],
            "order": None,
            "order_out": None,
        },
    ),
    ("data dedup", {"rows": 4, "kept": 3, "exact": 1, "near": 0, "disputed": 0, "report": None}),
    (
        "data decontaminate --against bench.jsonl --report leaks.csv",
        {"rows": 4, "kept": 3, "leaks": 1, "report": "leaks.csv"},
    ),
    (
        "data split --shares train=1",
        {"rows": 4, "splits": {"train": 4}, "left_out": 0, "unmet": {}},
    ),
    (
        "score",
        {
            "rows": 4,
            "there_before": 0,
            "counts": {"math": {"passed": 2, "failed": 2, "unscored": 0}},
            "without_verdict": 0,
            "unscored": [],
        },
    ),
    ("data load gsm8k --path bench.jsonl --split test", {"rows": 1}),
]


def test_a_verb_of_rows_tells_its_counts(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rensa")
    for number, (line, expected) in enumerate(TOLD):
        out = f"out{number}.jsonl"
        words = [*line.split(), *([] if "load" in line else ["rows.jsonl"]), "-o", out]
        assert told(capsys, *words) == {**expected, "out": out}, line
        assert Path(out).is_file()


def test_what_is_made_of_rows_is_told(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = told(capsys, "report", file, "-o", "page.html")
    assert (page["rows"], page["shown"], page["out"]) == (4, 4, "page.html")
    made = told(capsys, "export", file, "--to", "sft", "--failed", "-o", "made")
    assert (made["rows"], made["splits"], made["types"]) == (4, {"train": 4}, ["math"])
    there = told(capsys, "storage", "publish", "made", "far")
    assert there["folder"] == "made" and Path("far").is_dir()


def test_no_pair_is_told_with_the_exit_code_that_says_so(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = {"format_score": 1.0, "correctness_score": 1.0, "status": "passed"}
    write([{"prompt": "?", "response": "a", **scores}], Path("one.jsonl"))
    found = told(capsys, "data", "pairs", "one.jsonl", "-o", "pairs.jsonl", code=1)
    assert found == {"pairs": 0, "by_source": {}, "prompts": 1, "paired": 0, "out": None}


def test_a_fetch_tells_where_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinite_rl.storage.fetch", lambda *_: Path("/cache/a"))
    assert told(capsys, "storage", "fetch", "s3://b/a") == {"uri": "s3://b/a", "path": "/cache/a"}


def test_a_run_is_told_from_its_plan_to_its_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "data"
    words = ("--num_samples", 1, "--provider", "procedural", "--task_dist", "0,1")
    plan = told(capsys, "generate", *words, "--out_dir", out, "--dry_run")
    assert (plan["dry_run"], plan["complete"], plan["estimate"]["rows"]["math"]) == (True, False, 1)
    assert not out.exists()

    made = told(capsys, "generate", *words, "--out_dir", out)
    assert (made["accepted"], made["missing"]) == ({"math": 1}, {"coding": 0, "math": 0})
    assert made["complete"] and made["out"] == str(out / "dataset.csv")
    assert made["spending"]["calls"] == 1

    again = told(capsys, "verify", out, "--rescore")
    assert (again["kept"], again["dropped"]) == (1, 0)
    assert (again["out"], again["dry_run"]) == (str(out / "rescored_1"), False)
    assert told(capsys, "verify", out, "--rescore", "--dry_run")["out"] is None
    whole = told(capsys, "verify", out)
    assert (whole["rows"], whole["proven"], whole["faults"]) == (1, 1, [])
    assert told(capsys, "generate", "--out_dir", out, "--status") == {"batches": []}
    batch = {"num_samples": 1, "provider": "procedural", "task_dist": "0,1"}
    (out / "batch.json").write_text(json.dumps(batch), "utf-8")
    resume = ["generate", "--resume", "--out_dir", str(out)]
    assert told(capsys, *resume)["present"] == {"coding": 0, "math": 1}
    assert cli.main(resume) == 0
    assert "rows made: 0, there before: 1" in capsys.readouterr().out

    data = out / "dataset.csv"
    data.write_text(data.read_text("utf-8").replace("<answer>", "<answer>9"), "utf-8")
    (fault,) = told(capsys, "verify", out, code=1)["faults"]
    assert fault["row"] == 1 and fault["fault"].startswith("its id is not the hash of its content")


def test_what_a_model_solves_is_told_with_its_cost(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", openai.KEY)
    with openai.OpenAIServer(lambda _: "<answer>5</answer>") as server:
        ask = ("--provider", "openai_compatible", "--model_name", "m", "--price", "1,1")
        ask += ("--base_url", server.base_url, "--calls", "calls")
        plan = told(capsys, "solve", "difficulty", file, *ask, "-o", "rated.jsonl", "--dry_run")
        assert plan["dry_run"] and plan["estimate"]["calls"] == 16
        rated = told(
            capsys, "solve", "difficulty", file, *ask, "-o", "rated.jsonl", "--attempts", 1
        )
        made = told(capsys, "solve", "traces", file, *ask, "-o", "traces.jsonl", "--keep_all")
    assert (rated["rows"], rated["always"], rated["never"], rated["calls"]) == (4, 4, 0, 4)
    assert rated["spending"]["cost"] > 0 and rated["out"] == "rated.jsonl"
    assert made["rows"] == 4 and made["out"] == "traces.jsonl"


def test_an_evaluation_tells_its_scores(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", openai.KEY)
    with openai.OpenAIServer(lambda _: "<answer>5</answer>") as server:
        words = ["evaluate", "--model", "m", "--tasks", file, "-o", "out", "--limit", 2]
        found = told(capsys, *words, "--backend", "server", "--base_url", server.base_url)
    assert found["scores"]["rows"]["pass_at"]["1"]["value"] == 1.0
    assert found["out"] == "out"


def test_a_watch_tells_an_object_a_line_and_its_notes_on_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from infinite_rl.evaluation.metrics import ReportLine

    lines = [ReportLine("step_2: 50 %", {"step": 2, "passed": 0.5}), "the watch retries"]
    monkeypatch.setattr("infinite_rl.evaluation.watch.watch", lambda *_, **__: iter(lines))
    words = ["evaluate", "--watch", "run", "--tasks", "gsm8k"]
    assert told(capsys, *words) == {"step": 2, "passed": 0.5}
    assert cli.main([*words, "--json"]) == 0
    assert "the watch retries\n" in capsys.readouterr().err
    assert cli.main(words) == 0
    assert capsys.readouterr().out == "step_2: 50 %\nthe watch retries\n"


def test_a_training_tells_where_its_checkpoint_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    last = tmp_path / "run" / "checkpoints" / "step_2"
    monkeypatch.setattr("infinite_rl.training.train", lambda *_, **__: last)
    (tmp_path / "c.yaml").write_text("model: m\ndata: rows.jsonl\nmax_steps: 2\n")
    assert told(capsys, "train", "sft", tmp_path / "c.yaml") == {
        "algorithm": "sft",
        "run": str(tmp_path / "run"),
        "checkpoint": str(last),
    }


def test_sandboxes_are_told_of_a_line_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtimes, "load_guest", lambda _: None)
    monkeypatch.setattr("infinite_rl.sandbox.engine.is_compiled", lambda _: True)
    found = told(capsys, "doctor", "--warm_up", "python")
    assert (found["runtime"], found["was_compiled"]) == ("python", True)


@pytest.mark.slow
def test_examples_are_told_with_their_scores(capsys: pytest.CaptureFixture[str]) -> None:
    examples = told(capsys, "run-examples")["examples"]
    assert len(examples) == 3 and all(each["passed"] for each in examples)
    assert {each["score"]["status"] for each in examples} == {"passed"}


FAILING = [
    "generate --num_samples 0",
    "generate --out_dir nowhere --status",
    "generate --out_dir nowhere --resume",
    "verify nowhere --rescore",
    "verify nowhere",
    "data load nothing -o out.jsonl",
    "score none.jsonl -o out.jsonl",
    "solve difficulty rows.jsonl --provider procedural -o out.jsonl",
    "solve traces rows.jsonl --provider procedural -o out.jsonl",
    "train grpo none.yaml",
    "train timeline nowhere",
    "evaluate --tasks none.jsonl",
    "submit none.yaml --gpus 0",
    "jobs status no_name --region us-east-1",
    "data mix none.jsonl -o out.jsonl",
    "data pairs none.jsonl -o out.jsonl",
    "export none.jsonl --to sft -o out",
    "data dedup rows.jsonl -o rows.jsonl",
    "data decontaminate rows.jsonl --against none.jsonl -o out.jsonl",
    "data split rows.jsonl --shares train -o out.jsonl",
    "report rows.jsonl -o page.txt",
    "storage fetch nothing:a",
    "storage publish nowhere far",
    "doctor --warm_up cobol",
]


def test_an_error_is_the_same_line_on_stderr_and_nothing_on_stdout(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in FAILING:
        codes, output = [], []
        for more in ([], ["--json"]):
            codes.append(cli.main([*words.split(), *more]))
            output.append(capsys.readouterr())
        assert codes[0] == codes[1] in (1, 2), words
        plain, machine = (each.err.splitlines()[-1] for each in output)
        assert plain == machine and machine.startswith("error: "), words
        assert output[1].out == "", words


def test_the_demo_tells_how_many_were_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    demo = import_module("infinite_rl.training.runs.demo")

    last = tmp_path / "runs" / "a" / "checkpoints" / "step_1"
    prompts = {"sft": 3, "grpo": 2, "test": 2}
    right = {"sft": [True, False], "grpo": [True, True]}
    made = demo.DemoResult({"grpo": last}, right, prompts, wrong_labels=1)
    monkeypatch.setattr(demo, "demo", lambda *_: made)
    found = told(capsys, "train", "demo", "-o", tmp_path)
    assert (found["rows"], found["wrong_labels"]) == (prompts, 1)
    assert [(each["right"], each["of"]) for each in found["after"].values()] == [(1, 2), (2, 2)]
    assert found["checkpoints"] == {"grpo": str(last)}


def test_figures_of_lm_eval_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = {"task": "gsm8k", "metric": "exact_match", "value": 0.5, "stderr": None, "items": 2}
    line |= {"few_shot": 0, "max_tokens": 9, "stop": ["\n"], "truncated": None}
    write([line], tmp_path / "lm_eval.jsonl")
    monkeypatch.setattr("infinite_rl.evaluation.harness.run_harness", lambda _: "| a table |\n")
    words = ("evaluate", "--model", "m", "--tasks", "gsm8k", "--harness", "lm_eval", "-o", tmp_path)
    found = told(capsys, *words)
    assert found == {"figures": [{**line, "higher_is_better": None}], "out": str(tmp_path)}
    assert cli.main([str(word) for word in words]) == 0
    assert capsys.readouterr().out == "| a table |\n"
