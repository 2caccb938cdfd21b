"""`infinite-rl VERB --json`: an object on stdout, and nothing else there."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import openai_server as openai
import pytest
from commands import Here

from infinite_rl.cli.terminal import Emit
from infinite_rl.dataset.rows import write
from infinite_rl.evaluation.metrics import ReportLine
from infinite_rl.sandbox.runtimes import is_installed, runtime_named
from infinite_rl.types import Usage

ROOT = Path(__file__).parents[2]
LEAK = "A farmer walks along the river with a heavy basket of apples and sells a dozen of them."
Told = Callable[..., Any]


@pytest.fixture
def told(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Runs a line in a folder with rows.jsonl; its object on stdout, after a look at its exit code.

    A server of OpenAI's protocol has a key.
    """
    monkeypatch.chdir(tmp_path)
    prompts = ["What is 2+3?", "What is 2 + 3", "What is 2+4?", LEAK]
    rows = [
        {"id": f"r{n}", "type": "math", "prompt": prompt, "answer": "5", "score": n}
        for n, prompt in enumerate(prompts)
    ]
    write(({**r, "response": f"<answer>{5 + r['score'] % 2}</answer>"} for r in rows), "rows.jsonl")
    write([{"question": LEAK, "answer": "So. #### 5"}], "bench.jsonl")

    def call(line: str, *more: object, code: int = 0) -> Any:
        done = here(line, *map(str, more), "--json", OPENAI_API_KEY=openai.KEY)
        assert (done.returncode, done.stdout.count("\n")) == (code, 1), done.stderr
        return json.loads(done.stdout)

    return call


def test_values_are_of_jsons_own_types(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    values: dict[str, tuple[object, object]] = {
        "numbers": (
            (1, 2.5, np.int64(3), np.float32(0.5), Fraction(1, 4), True, None),
            [1, 2.5, 3, 0.5, 0.25, True, None],
        ),
        "not_finite": ([float("nan"), float("inf"), np.float64("-inf")], [None] * 3),
        "path": (Path("a/b"), "a/b"),
        "time": (datetime(2026, 1, 31, tzinfo=timezone.utc), "2026-01-31T00:00:00+00:00"),
        "usage": (
            Usage(1, 2),
            {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 0, "thinking_tokens": 0},
        ),
        "secret": ("a-key-of-some-length", "[key]"),
        "surrogate": ("\udc80", "\ufffd"),
        "by_k": ({1: "x"}, {"1": "x"}),
    }
    Emit(json=True)({name: value for name, (value, _) in values.items()}, "a line")
    found = json.loads(capsys.readouterr().out)
    assert found == {name: expected for name, (_, expected) in values.items()}


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
            [sys.executable, "-c", script, *words], env={"PYTHONPATH": str(ROOT)}, cwd=tmp_path,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert sorted(done.stdout.split("\n")) == sorted(out.split("\n"))
        assert sorted(done.stderr.split("\n")) == sorted(err.split("\n"))


# --- rows ----------------------------------------------------------------------------------------
COUNTS: dict[str, dict[str, Any]] = {
    "data mix rows.jsonl": {
        "rows": 4, "order": None, "order_out": None,
        "sources": [{"name": "rows", "rows": 4, "sampled": 4, "distinct": 4}],
    },
    "data dedup rows.jsonl": {
        **{"rows": 4, "kept": 3, "exact": 1, "near": 0, "disputed": 0, "report": None},
    },
    "data decontaminate rows.jsonl --against bench.jsonl --report leaks.csv": {
        **{"rows": 4, "kept": 3, "leaks": 1, "report": "leaks.csv"},
    },
    "data split rows.jsonl --shares train=1": {
        **{"rows": 4, "splits": {"train": 4}, "left_out": 0, "replaced": 0, "unmet": {}},
    },
    "score rows.jsonl": {
        "rows": 4, "there_before": 0, "without_verdict": 0, "unscored": [],
        "counts": {"math": {"passed": 2, "failed": 2, "unscored": 0}},
        "reasons": [{"reward": "math", "reason": "different: the numbers differ", "rows": 2}],
    },
    "data load gsm8k --path bench.jsonl --split test": {"rows": 1, "reasons": {}},
}  # fmt: skip


def test_a_verb_of_rows_tells_its_counts(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rensa")
    for number, (line, expected) in enumerate(COUNTS.items()):
        out = f"out{number}.jsonl"
        assert told(line, "-o", out) == {**expected, "out": out}, line
        assert Path(out).is_file()
    page = told("report rows.jsonl -o page.html")
    assert (page["rows"], page["shown"], page["out"]) == (4, 4, "page.html")
    made = told("export rows.jsonl --to sft --failed -o made")
    assert (made["rows"], made["splits"], made["types"]) == (4, {"train": 4}, ["math"])
    assert told("storage publish made far")["folder"] == "made" and Path("far").is_dir()
    monkeypatch.setattr("infinite_rl.storage.fetch", lambda *_: Path("/cache/a"))
    assert told("storage fetch s3://b/a") == {"uri": "s3://b/a", "path": "/cache/a"}
    scores = {"format_score": 1.0, "correctness_score": 1.0, "status": "passed"}
    write([{"prompt": "?", "response": "a", **scores}], "one.jsonl")
    pairs = told("data pairs one.jsonl -o pairs.jsonl", code=1)
    assert pairs == {"pairs": 0, "by_source": {}, "prompts": 1, "paired": 0, "out": None}


def test_a_run_is_told_from_its_plan_to_its_proof(told: Told, here: Here) -> None:
    words = "generate --num_samples 1 --provider procedural --task_dist 0,1 --out_dir out"
    plan = told(words, "--dry_run")
    assert (plan["dry_run"], plan["complete"], plan["estimate"]["rows"]["math"]) == (True, False, 1)
    out = Path("out")
    assert not out.exists()
    made = told(words)
    assert (made["accepted"], made["missing"]) == ({"math": 1}, {"coding": 0, "math": 0})
    assert made["complete"] and made["out"] == "out/dataset.csv"
    assert made["spending"]["calls"] == 1

    again = told("verify out --rescore")
    assert (again["kept"], again["dropped"]) == (1, 0)
    assert (again["out"], again["dry_run"]) == ("out/rescored_1", False)
    assert told("verify out --rescore --dry_run")["out"] is None
    whole = told("verify out")
    assert (whole["rows"], whole["proven"], whole["faults"]) == (1, 1, [])
    assert told("generate --out_dir out --status") == {"batches": []}
    batch = {"num_samples": 1, "provider": "procedural", "task_dist": "0,1"}
    (out / "batch.json").write_text(json.dumps(batch), "utf-8")
    assert told("generate --resume --out_dir out")["present"] == {"coding": 0, "math": 1}
    assert "rows made: 0, there before: 1" in here("generate --resume --out_dir out").stdout

    data = out / "dataset.csv"
    data.write_text(data.read_text("utf-8").replace("<answer>", "<answer>9"), "utf-8")
    (fault,) = told("verify out", code=1)["faults"]
    assert fault["row"] == 1 and fault["fault"].startswith("its response is not that of its")


# --- models --------------------------------------------------------------------------------------
def test_what_a_model_solves_has_its_cost_and_an_evaluation_its_scores(told: Told) -> None:
    with openai.OpenAIServer(lambda _: "<answer>5</answer>") as server:
        url = f"--base_url {server.base_url}"
        ask = f"rows.jsonl --provider openai_compatible --model_name m --price 1,1 {url}"
        plan = told(f"solve difficulty {ask} --calls calls -o rated.jsonl --dry_run")
        assert plan["dry_run"] and plan["estimate"]["calls"] == 16
        rated = told(f"solve difficulty {ask} --calls calls -o rated.jsonl --attempts 1")
        checked = told(f"truth {ask.replace('--model_name', '--solver')} -n 3")
        made = told(f"solve traces {ask} --calls calls -o traces.jsonl --keep_all")
        found = told(
            f"evaluate --model m --tasks rows.jsonl -o out --limit 2 --backend server {url}"
        )
    assert (rated["rows"], rated["always"], rated["never"], rated["calls"]) == (4, 4, 0, 4)
    assert rated["spending"]["cost"] > 0 and rated["out"] == "rated.jsonl"
    assert made["rows"] == 4 and made["out"] == "traces.jsonl"
    assert (checked["rows"], checked["sampled"], checked["derived"]) == (4, 3, 2)
    assert checked["low"] < checked["rate"] < checked["high"] <= 1.0
    assert {each["id"] for each in checked["doubtful"]} <= {"r2"}, "it asks for 2+4"
    assert checked["out"] == "truth.jsonl" and checked["strata"] == {"math": 3}
    assert found["scores"]["rows"]["pass_at"]["1"]["value"] == 1.0 and found["out"] == "out"


def test_a_watch_has_lines_of_json(told: Told, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [ReportLine("step_2: 50 %", {"step": 2, "passed": 0.5}), "the watch retries"]
    monkeypatch.setattr("infinite_rl.evaluation.watch.watch", lambda *_, **__: iter(lines))
    words = "evaluate --watch run --tasks gsm8k"
    assert told(words) == {"step": 2, "passed": 0.5}
    assert "the watch retries\n" in here(words, "--json").stderr
    assert here(words).stdout == "step_2: 50 %\nthe watch retries\n"


def test_training_and_demo_tell_their_end(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    last = Path("run/checkpoints/step_2")
    monkeypatch.setattr("infinite_rl.training.train", lambda *_, **__: last)
    Path("c.yaml").write_text("model: m\ndata: rows.jsonl\nmax_steps: 2\n")
    found = told("train sft c.yaml")
    assert found == {"algorithm": "sft", "run": "run", "checkpoint": str(last)}

    demo = import_module("infinite_rl.training.runs.demo")
    prompts, right = {"sft": 3, "grpo": 2, "test": 2}, {"sft": [True, False], "grpo": [True] * 2}
    made = demo.DemoResult({"grpo": last}, right, prompts, wrong_labels=1)
    monkeypatch.setattr(demo, "demo", lambda *_: made)
    found = told("train demo")
    assert (found["rows"], found["wrong_labels"]) == (prompts, 1)
    assert [(each["right"], each["of"]) for each in found["after"].values()] == [(1, 2), (2, 2)]
    assert found["checkpoints"] == {"grpo": str(last)}


def test_lm_eval_figures_are_told(told: Told, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    line = {"task": "gsm8k", "metric": "exact_match", "value": 0.5, "stderr": None, "items": 2}
    line |= {"few_shot": 0, "max_tokens": 9, "stop": ["\n"], "truncated": None}
    write([line], "lm_eval.jsonl")
    monkeypatch.setattr("infinite_rl.evaluation.harness.run_harness", lambda _: "| a table |\n")
    words = "evaluate --model m --tasks gsm8k --harness lm_eval -o ."
    assert told(words) == {"figures": [{**line, "higher_is_better": None}], "out": "."}
    assert here(words).stdout == "| a table |\n"


# --- the installation ----------------------------------------------------------------------------
def test_sandboxes_are_told_of_a_line_each(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infinite_rl.sandbox.compiled.load_compiled", lambda *_: None)
    monkeypatch.setattr("infinite_rl.sandbox.compiled.is_compiled", lambda *_: True)
    found = told("doctor --warm_up javascript")
    assert (found["runtime"], found["was_compiled"]) == ("javascript", True)


@pytest.mark.slow
def test_examples_are_told_with_their_scores(told: Told) -> None:
    examples = told("run-examples")["examples"]
    assert len(examples) == 5 + is_installed(runtime_named("sql"))
    assert all(each["passed"] for each in examples)
    assert {each["score"]["status"] for each in examples} == {"passed"}
