"""Evaluation by a model on this machine: the same however it is shared out, cut off or resumed."""

import fcntl
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import openai_server
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import byte_tokenizer, qwen3, save_tiny

from infinite_rl import cli
from infinite_rl.dataset import rows
from infinite_rl.errors import UsageError
from infinite_rl.evaluation import EvaluationConfig, evaluate
from infinite_rl.evaluation.backends.local import LocalModel
from infinite_rl.evaluation.benchmarks import tasks_of
from infinite_rl.evaluation.completions import CompletionIndex
from infinite_rl.evaluation.run import TaskRun, fingerprint
from infinite_rl.evaluation.watch import watch
from infinite_rl.training.runs import checkpoint


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that babbles: of some 50 tokens each ends an answer."""
    folder = tmp_path_factory.mktemp("model")
    tiny = qwen3()
    tiny.generation_config.eos_token_id = [257, *range(100, 150)]
    return save_tiny(folder, tiny)


def config(folder: Path, model: Path, **more: Any) -> EvaluationConfig:
    path = folder / "sums.jsonl"
    if not path.exists():
        made = [
            {"type": "math", "prompt": f"{n} + {'1' * (n % 5)}1?", "answer": "3"} for n in range(11)
        ]
        rows.write(made, path)
    told = {
        "model": str(model),
        "tasks": [str(path)],
        "out": str(folder / "out"),
        "prompt_template": "plain",
    }
    return EvaluationConfig.of({**told, "max_new_tokens": 12, "batch_size": 3, **more})


def answers(folder: Path) -> list[Any]:
    found = rows.read(folder / "out" / "sums" / "records.jsonl")
    return [
        (row["id"], row["sample"], row["completion"], row["finish_reason"], row["tokens"])
        for row in found
    ]


SAMPLED = {"samples": 3, "temperature": 1.3, "top_p": 0.9}


def test_a_model_answers_and_what_it_rests_on_is_told(tmp_path: Path, model: Path) -> None:
    score = evaluate(config(tmp_path, model))["sums"]
    found = answers(tmp_path)
    lengths = sorted(tokens for *_, tokens in found)
    assert len(found) == 11 and len(set(lengths)) > 1 and lengths[-1] == 12
    assert (score.tokens_p50, score.tokens_p95) == (lengths[5], lengths[10])
    cut_off = sum(reason == "length" for *_, reason, _ in found)
    assert 0 < cut_off < 11 and score.truncated == pytest.approx(cut_off / 11)


@pytest.mark.parametrize("sampling", [{}, SAMPLED], ids=["greedy", "sampled"])
def test_a_resumed_run_ends_the_same(tmp_path: Path, model: Path, sampling: dict[str, Any]) -> None:
    evaluate(config(tmp_path, model, **sampling))
    whole = answers(tmp_path)
    (path,) = (tmp_path / "out" / "sums" / "answers").glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]) + lines[-1][:20])
    evaluate(config(tmp_path, model, **sampling))
    assert answers(tmp_path) == whole
    assert len(path.read_bytes().splitlines()) == len(lines)


def test_samples_differ_by_seed_and_by_batch(tmp_path: Path, model: Path) -> None:
    evaluate(config(tmp_path, model, **SAMPLED))
    found = answers(tmp_path)
    assert len({text for _, _, text, *_ in found}) > 11
    other = tmp_path / "other"
    other.mkdir()
    evaluate(config(other, model, seed=1, **SAMPLED))
    assert answers(other) != found
    row = {"type": "math", "prompt": "1 + 1?", "answer": "2"}
    same = tmp_path / "same"
    rows.write([{**row, "id": f"r{n}"} for n in range(6)], same / "sums.jsonl")
    evaluate(config(same, model, temperature=1.5))
    texts = [text for _, _, text, *_ in answers(same)]
    assert texts[:3] != texts[3:]


def test_each_shards_part_is_what_one_process_gives(tmp_path: Path, model: Path) -> None:
    """Without processes: the parts of three shards, asked one after the other."""
    evaluate(config(tmp_path, model, **SAMPLED))
    whole = CompletionIndex(tmp_path / "out" / "sums")
    told = config(tmp_path, model, shards=3, **SAMPLED)
    (work,) = [TaskRun.of(told, task) for task in tasks_of(told.tasks)]
    backend = LocalModel(told, threading.Event())
    nothing = CompletionIndex(tmp_path / "nowhere")
    seen = []
    for shard in range(3):
        batches = work.batches(backend, nothing, shard)
        for each in backend.complete(batches, work.max_new_tokens):
            key = (each.question, each.number)
            assert each == whole[key]
            seen.append(key)
    assert len(seen) == len(set(seen)) == 33


@pytest.mark.slow
@pytest.mark.soak
def test_one_and_two_shards_give_the_same(tmp_path: Path, model: Path) -> None:
    evaluate(config(tmp_path, model, **SAMPLED))
    whole, score = answers(tmp_path), (tmp_path / "out" / "sums" / "score.json").read_text()
    (tmp_path / "out").rename(tmp_path / "before")
    told: list[int] = []
    evaluate(config(tmp_path, model, shards=2, **SAMPLED), on_answer=told.append)
    assert answers(tmp_path) == whole and told[-1] == 33
    assert (tmp_path / "out" / "sums" / "score.json").read_text() == score
    files = list((tmp_path / "out" / "sums" / "answers").glob("*.jsonl"))
    assert len(files) == 2 and all(file.stat().st_size for file in files)
    evaluate(config(tmp_path, model, **SAMPLED))  # goes on with one what two have begun
    assert answers(tmp_path) == whole


@pytest.mark.slow
def test_a_shards_error_and_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(request: openai_server.Request) -> openai_server.Reply | str:
        return openai_server.hang() if server.exchanges else "<answer>3</answer>"

    with openai_server.OpenAIServer(serve) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        served = {"backend": "server", "base_url": server.base_url, "shards": 2}
        with pytest.raises(UsageError, match="top_p cannot be sent to a server"):
            evaluate(config(tmp_path, tmp_path, top_p=0.5, **served))
        code = (
            "import json, os, sys\n"
            "from infinite_rl.evaluation import EvaluationConfig, evaluate\n"
            "told = EvaluationConfig.of(json.loads(sys.argv[1]))\n"
            "evaluate(told, on_answer=lambda _: os._exit(9))"
        )
        told = config(tmp_path, tmp_path, **served, out=str(tmp_path / "killed"))
        done = subprocess.run([sys.executable, "-c", code, json.dumps(told.values())], timeout=300)
        assert done.returncode == 9
        for file in (tmp_path / "killed" / "sums" / "answers").glob("*.jsonl"):
            waiting = threading.Thread(target=_lock, args=(file,), daemon=True)
            waiting.start()
            waiting.join(60)  # it is locked as long as its process lives
            assert not waiting.is_alive()


def _lock(path: Path) -> None:
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def test_prompts_without_room_or_text_are_not_asked(tmp_path: Path, model: Path) -> None:
    prompts = {f"r{length}": "1" * length for length in (4, 250, 256, 300)}
    prompts |= {"empty": "", "half": "1 + \ud800?"}
    made = [
        {"type": "math", "prompt": prompt, "answer": "3", "id": name}
        for name, prompt in prompts.items()
    ]
    rows.write(made, tmp_path / "sums.jsonl")
    score = evaluate(config(tmp_path, model))["sums"]
    assert (score.answers, score.unasked, score.unscored) == (2, 4, 0)
    assert "r256: the prompt has 256 tokens, and the model has room for 256" in score.reasons
    assert any(each.startswith("half:") and "surrogate pair" in each for each in score.reasons)
    by_id = {id: (reason, tokens) for id, _, _, reason, tokens in answers(tmp_path)}
    assert by_id["r250"][1] <= 6


def test_other_weights_under_the_same_name_are_another_model(tmp_path: Path) -> None:
    tiny = qwen3(hidden_size=256, intermediate_size=2048, num_hidden_layers=4)
    folder = save_tiny(tmp_path / "weights", tiny)
    evaluate(config(tmp_path, folder, limit=1))
    for name in ("q_proj", "down_proj", "embed_tokens"):  # in some matrices alone
        before = fingerprint(str(folder))
        assert fingerprint(str(folder)) == before
        for path, weights in tiny.named_parameters():
            if name in path:
                weights.data += 0.1
        tiny.save_pretrained(folder)
        assert fingerprint(str(folder)) != before
    with pytest.raises(UsageError, match="weights was"):
        evaluate(config(tmp_path, folder, limit=1))


def test_a_model_without_a_chat_template_and_a_machine_without_torch_are_told(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="chat template.*question_answer"):
        evaluate(config(tmp_path, model, prompt_template="chat"))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match=r"pip install 'infinite-rl\[train\]'"):
        evaluate(config(tmp_path, model, out=str(tmp_path / "other")))


# Watching a run.
def save(run: Path, step: int) -> Path:
    return checkpoint.save(run, step, qwen3(step), byte_tokenizer(), {}, keep=9)


def watched(
    tmp_path: Path, settings: Mapping[str, Any] | None = None, **more: Any
) -> Iterator[str]:
    told = config(tmp_path, tmp_path, **{"out": "", "limit": 3, **(settings or {})})
    return watch(tmp_path / "run", told, wait=lambda _: None, **more)


def evaluated(lines: Iterator[str]) -> list[str]:
    """The lines of a watch that say what a step has scored."""
    return [line for line in lines if ": items " in line]


def test_each_whole_checkpoint_is_evaluated_once_into_one_table(tmp_path: Path) -> None:
    run = tmp_path / "run"
    save(run, 2)
    save(run, 10)
    half = run / "checkpoints" / "step_11"
    half.mkdir()
    assert [line.split(": ")[0] for line in evaluated(watched(tmp_path, once=True))] == [
        "step_2, sums", "step_10, sums",
    ]  # fmt: skip
    save(run, 30)
    assert len(evaluated(watched(tmp_path, once=True))) == 1
    table = (run / "evaluations" / "steps.md").read_text().splitlines()
    told = [line for line in table[4:] if line.startswith("| ")]
    assert [line.split(",")[0] for line in told] == [
        "| step 2", "| step 10", "| step 30",
    ]  # fmt: skip
    lines = list(rows.read(run / "evaluations" / "steps.jsonl"))
    assert [line["step"] for line in lines] == [2, 10, 30]


def test_one_table_holds_scores_of_the_same_settings_and_items(tmp_path: Path) -> None:
    path = save(tmp_path / "run", 1)
    assert len(list(watched(tmp_path, once=True))) == 1
    (line,) = watched(tmp_path, {"limit": 5}, once=True)
    assert line.startswith("step_1, sums: items 5, ")
    with pytest.raises(UsageError, match="step_1.* other settings: max_new_tokens was 12, is 4"):
        list(watched(tmp_path, {"limit": 5, "max_new_tokens": 4}, once=True))
    (path / "READY").unlink()  # thrown away: its score is in the table still
    save(tmp_path / "run", 2)
    with pytest.raises(UsageError, match="step_1.* other settings: max_new_tokens was 12, is 4"):
        list(watched(tmp_path, {"limit": 5, "max_new_tokens": 4}, once=True))


def test_a_deleted_checkpoint_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    path = save(run, 1)
    save(run, 2)

    def rotated(*args: Any) -> None:
        (path / "READY").unlink(missing_ok=True)
        (path / "config.json").unlink(missing_ok=True)

    monkeypatch.setattr("infinite_rl.evaluation.run.begin", rotated)
    lines = list(watched(tmp_path, once=True))
    assert lines[0] == "step_1 was deleted before it was evaluated" and len(lines) == 2


def test_the_command_watches_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path / "run", 4)
    told = config(tmp_path, tmp_path)
    words = ["evaluate", "--watch", str(tmp_path / "run"), "--once", "--tasks", told.tasks[0]]
    assert (
        cli.main([*words, "--prompt_template", "plain", "--max_new_tokens", "4", "--limit", "2"])
        == 0
    )
    assert capsys.readouterr().out.startswith("step_4, sums: items 2, samples 1, ")
    assert (tmp_path / "run" / "evaluations" / "step_4" / "sums" / "score.json").is_file()
