"""Evaluation: every answer asked once, judged, and in the figures or beside them."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import openai_server as openai
import pytest
from labelled import assert_none, unlike

from infinite_rl import cli
from infinite_rl.dataset import rows
from infinite_rl.errors import (
    NoCompletion,
    ProviderRefused,
    Stopped,
    StoreError,
    UnknownName,
    UsageError,
)
from infinite_rl.estimators import bootstrap, pass_at_k, wilson
from infinite_rl.evaluation import EvaluationConfig, evaluate
from infinite_rl.evaluation.completions import CompletionIndex
from infinite_rl.layout import tagged
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.types import Completion, Usage


def given(folder: Path, count: int = 6) -> Path:
    path = folder / "sums.jsonl"
    made = [
        {"id": f"r{n}", "type": "math", "prompt": f"{n} + 1?", "answer": str(n + 1), "response": ""}
        for n in range(count)
    ]
    rows.write(made, path)
    return path


def config(folder: Path, **more: Any) -> EvaluationConfig:
    path = folder / "sums.jsonl"
    told = {"model": "m", "tasks": [str(path if path.exists() else given(folder))]}
    told |= {"out": str(folder / "out"), "backend": "server", "base_url": "http://unused.example"}
    return EvaluationConfig.of({**told, **more})


def solve(prompt: str) -> str:
    return f"So {tagged(str(int(prompt.split()[0]) + 1))}."


def says(reply: Callable[[str], Any] = solve) -> ScriptedProvider:
    """Answers each prompt with what `reply` makes of it."""

    def completion(_: str, prompt: str, __: int) -> Any:
        said = reply(prompt)
        return Completion(said, "m", usage=Usage(5, 7)) if isinstance(said, str) else said

    return ScriptedProvider(completion)


def records(folder: Path) -> list[dict[str, Any]]:
    return list(rows.read(folder / "out" / "sums" / "records.jsonl"))


def test_a_model_that_is_right_half_the_time_scores_a_half_with_wilsons_interval(
    tmp_path: Path,
) -> None:
    provider = says(lambda prompt: solve(prompt) if int(prompt.split()[0]) % 2 else tagged("-1"))
    score = evaluate(config(tmp_path), provider=provider)["sums"]
    assert (score.items, score.samples, score.answers) == (6, 1, 6)
    found = score.pass_at[1]
    assert (found.value, found.items) == (0.5, 6)
    assert (found.low, found.high) == pytest.approx(wilson(3, 6))
    assert (score.truncated, score.format_errors, score.tokens_p50) == (0, 0, 7)
    assert [record["status"] for record in records(tmp_path)] == ["failed", "passed"] * 3
    assert [record["id"] for record in records(tmp_path)] == [f"r{n}" for n in range(6)]


def test_pass_at_k_is_the_mean_of_the_items_unbiased_estimates(tmp_path: Path) -> None:
    times: dict[str, int] = {}
    mutex = threading.Lock()

    def reply(prompt: str) -> str:
        with mutex:
            times[prompt] = times.get(prompt, 0) + 1
            return solve(prompt) if times[prompt] <= int(prompt.split()[0]) else tagged("-1")

    score = evaluate(config(tmp_path, samples=4), provider=says(reply))["sums"]
    solved = [0, 1, 2, 3, 4, 4]  # the n-th item the first n times
    assert sorted(score.pass_at) == [1, 2, 4]
    for k, found in score.pass_at.items():
        assert found.value == pytest.approx(sum(pass_at_k(4, c, k) for c in solved) / 6)
        values = [pass_at_k(4, c, k) for c in solved]
        assert (found.low, found.high) == bootstrap(values, 42)  # by items, not by answers


def test_a_server_is_asked_the_task_and_the_form_of_an_answer_with_a_seed_for_each_sample(
    tmp_path: Path,
) -> None:
    provider = says()
    evaluate(config(tmp_path, samples=2), provider=provider)
    assert {call.prompt for call in provider.calls} == {f"{n} + 1?" for n in range(6)}
    assert all("<answer>" in call.system for call in provider.calls)
    assert len({call.seed for call in provider.calls}) == 12
    again = says()
    evaluate(config(tmp_path, samples=2, out=str(tmp_path / "again")), provider=again)
    assert sorted(again.calls) == sorted(provider.calls)


def test_worked_examples_come_before_the_task_and_are_no_items(tmp_path: Path) -> None:
    shots = tmp_path / "shots.jsonl"
    made = [
        {"type": "math", "prompt": f"{n} + 1?", "answer": str(n + 1), "response": f"Sum: {n + 1}."}
        for n in range(4, 9)
    ]
    rows.write([*made, {**made[0], "prompt": "no response", "response": " "}], shots)
    provider = says(lambda prompt: solve(prompt.rpartition("\n")[2]))
    told = config(tmp_path, few_shot=3, shots=str(shots))
    assert evaluate(told, provider=provider)["sums"].pass_at[1].value == 1
    for call in provider.calls:
        assert call.prompt.count("Its answer:") == 3
        for number in (6, 7, 8):
            assert f"{number} + 1?\n\nIts answer:\nSum: {number + 1}." in call.prompt
    with pytest.raises(UsageError, match="3 rows in .* can be examples, not 4"):
        evaluate(config(tmp_path, few_shot=4, shots=str(shots)), provider=says())


def test_no_item_of_the_task_is_an_example_whatever_the_limit_and_the_spacing(
    tmp_path: Path,
) -> None:
    shots = tmp_path / "shots.jsonl"
    made = [
        {"type": "math", "prompt": prompt, "answer": "1", "response": f"Sum: {prompt}"}
        for prompt in ("5 + 1?", "4  +  1? ", "6 + 1?", "7 + 1?")
    ]
    rows.write(made, shots)
    told = config(tmp_path, few_shot=2, shots=str(shots), limit=2)
    provider = says(lambda prompt: solve(prompt.rpartition("\n")[2]))
    evaluate(told, provider=provider)
    assert all("Sum: 6" in call.prompt and "Sum: 7" in call.prompt for call in provider.calls)
    evaluate(config(tmp_path, few_shot=2, shots=str(shots)), provider=provider)
    assert len(provider.calls) == 6


def test_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    provider = says()
    first = evaluate(config(tmp_path, limit=2), provider=provider)
    assert len(provider.calls) == 2 and first["sums"].items == 2
    evaluate(config(tmp_path), provider=provider)
    evaluate(config(tmp_path), provider=provider)
    assert sorted(call.prompt for call in provider.calls) == [f"{n} + 1?" for n in range(6)]


def test_a_row_that_was_changed_is_asked_anew(tmp_path: Path) -> None:
    told, provider = config(tmp_path), says()
    evaluate(told, provider=provider)
    path = tmp_path / "sums.jsonl"
    path.write_text(path.read_text().replace("2 + 1?", "3 + 0?"))
    evaluate(told, provider=provider)
    assert len(provider.calls) == 7 and provider.calls[-1].prompt == "3 + 0?"


def test_a_server_that_fails_midway_leaves_its_answers_and_one_line(tmp_path: Path) -> None:
    told = config(tmp_path, threads=1)
    replies = [*map(solve, ["0 + 1?", "1 + 1?"]), ProviderRefused("the model is gone")]
    with pytest.raises(ProviderRefused, match="the model is gone; 2 of 6 answers are stored in"):
        evaluate(told, provider=ScriptedProvider(replies))
    provider = says()
    assert evaluate(told, provider=provider)["sums"].pass_at[1].value == 1
    assert len(provider.calls) == 4


def test_answers_that_were_under_way_when_another_failed_are_kept(tmp_path: Path) -> None:
    meet = threading.Barrier(3)

    def reply(prompt: str) -> Any:
        meet.wait(20)
        return ProviderRefused("no") if prompt.startswith("1") else solve(prompt)

    with pytest.raises(ProviderRefused):
        given(tmp_path, 3)
        evaluate(config(tmp_path, threads=3), provider=says(reply))
    kept = CompletionIndex(tmp_path / "out" / "sums")
    assert sum((key, 0) in kept for key, _ in kept._offsets) == 2


def test_a_stop_keeps_what_is_there(tmp_path: Path) -> None:
    stop = threading.Event()

    def reply(prompt: str) -> str:
        stop.set()
        return solve(prompt)

    with pytest.raises(Stopped, match="1 of 6 answers are stored"):
        evaluate(config(tmp_path, threads=1), provider=says(reply), stop=stop)


def test_an_answer_torn_by_a_kill_is_requested_again_and_damage_is_named(tmp_path: Path) -> None:
    provider = says()
    evaluate(config(tmp_path), provider=provider)
    (path,) = (tmp_path / "out" / "sums" / "answers").glob("*.jsonl")
    first = json.loads(path.read_text().splitlines()[0])
    assert first["finish_reason"] == "stop" and first["tokens"] == 7
    path.write_bytes(path.read_bytes()[:-9])
    evaluate(config(tmp_path), provider=provider)
    assert len(provider.calls) == 7 and len(records(tmp_path)) == 6
    path.write_bytes(path.read_bytes().replace(b'"number"', b'"nunber"', 1))
    with pytest.raises(StoreError, match="damaged at line 1"):
        evaluate(config(tmp_path), provider=says())


def test_other_settings_are_refused_each_by_its_name(tmp_path: Path) -> None:
    evaluate(config(tmp_path), provider=says())
    with pytest.raises(UsageError, match="samples was 1, is 2; temperature was 0.0, is 1.0"):
        evaluate(config(tmp_path, samples=2), provider=says())
    evaluate(config(tmp_path, threads=2, timeout=9), provider=says())


# What is not counted as wrong.


def test_an_answer_that_was_cut_off_has_not_passed_whatever_it_says(tmp_path: Path) -> None:
    def reply(prompt: str) -> Completion:
        return Completion(solve(prompt), "m", "length", Usage(5, 1024))

    score = evaluate(config(tmp_path), provider=says(reply))["sums"]  # type: ignore[arg-type]
    assert (score.pass_at[1].value, score.truncated, score.truncated_passed) == (0, 1, 6)
    assert "6 truncated answers would have passed" in summary(tmp_path)


def test_what_cannot_be_judged_or_asked_is_shown_apart_and_in_no_rate(tmp_path: Path) -> None:
    path = given(tmp_path, 5)
    made = list(rows.read(path))
    rows.write([{**made[0], "answer": "\\frac{"}, *made[1:]], path)

    def reply(prompt: str) -> Any:
        refused = NoCompletion("h refused the prompt (too long)")
        return refused if prompt.startswith("1") else solve(prompt)

    score = evaluate(config(tmp_path), provider=says(reply))["sums"]
    assert (score.unscored, score.unasked, score.answers) == (1, 1, 3)
    assert (score.pass_at[1].value, score.pass_at[1].items, score.items) == (1, 3, 5)
    text = summary(tmp_path)
    assert "pass@1 is of 3 of 5 items" in text and "r1: h refused the prompt" in text


def test_instructions_that_cannot_be_read_are_unscored(tmp_path: Path) -> None:
    answers = ["", "[", "{}", "[3]", "null"]
    made = [{"type": "instruction", "prompt": "0 + 1?", "answer": each} for each in answers]
    rows.write(made, tmp_path / "sums.jsonl")
    score = evaluate(config(tmp_path), provider=says())["sums"]
    assert (score.unscored, score.answers, score.instructions) == (5, 0, None)


def test_a_model_that_says_nothing_is_wrong_and_not_unasked(tmp_path: Path) -> None:
    nothing = NoCompletion("h sent no text (stop)", usage=Usage(9, 1))
    score = evaluate(config(tmp_path), provider=says(lambda _: nothing))["sums"]
    assert (score.pass_at[1].value, score.unasked, score.format_errors) == (0, 0, 1)
    thinking = NoCompletion("h sent no text (length)", usage=Usage(9, 0, 0, 1024))
    told = config(tmp_path, out=str(tmp_path / "b"), max_new_tokens=1024)
    assert evaluate(told, provider=says(lambda _: thinking))["sums"].truncated == 1


def test_no_score_is_made_of_nothing(tmp_path: Path) -> None:
    refused = NoCompletion("blocked")
    score = evaluate(config(tmp_path), provider=says(lambda _: refused))["sums"]
    assert score.pass_at == {} and score.truncated is None and score.unasked == 6
    assert "| sums | 6 | 1 | - | - | - | 0 | 6 | - | - |" in summary(tmp_path)


def test_an_answer_ends_at_a_stop_string_whoever_writes_on(tmp_path: Path) -> None:
    def reply(prompt: str) -> Completion:
        return Completion(f"{solve(prompt)}\nQ: more? {tagged('-1')}", "m", "length", Usage(1, 9))

    told = config(tmp_path, stop=["\nQ:"])
    score = evaluate(told, provider=says(reply))["sums"]  # type: ignore[arg-type]
    assert (score.pass_at[1].value, score.truncated) == (1, 0)
    assert records(tmp_path)[0]["completion"] == solve("0 + 1?")


# Hostile answers.

HOSTILE = [
    "",
    "\x1b[2J\x1b]0;owned\x07 <answer>",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "</pre></details><iframe src=//evil.example>",
    "| a | b |\n|---|---|\n[x](javascript:alert(1)) `",
    "\u202e\u200bdesrever\ud800\0",
    "x" * 300_000,
    "<answer>" * 5_000,
]


def summary(folder: Path) -> str:
    return (folder / "out" / "summary.md").read_text(encoding="utf-8")


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.add(tag)
        assert not [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]


def test_hostile_answers_are_text_wherever_they_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given(tmp_path, len(HOSTILE))
    provider = says(lambda prompt: HOSTILE[int(prompt.split()[0])])
    score = evaluate(config(tmp_path), provider=provider)["sums"]
    assert (score.pass_at[1].value, score.answers) == (0, len(HOSTILE))
    page = (tmp_path / "out" / "summary.html").read_text(encoding="utf-8")
    assert not Tags(page).found & {"script", "img", "iframe", "a", "link", "object"}
    assert len(page) < 100_000 and "default-src 'none'" in page
    for text in (page, summary(tmp_path)):
        assert not any(char in text for char in "\x1b\x07\u202e\u200b\0")
    assert [record["completion"] for record in records(tmp_path)] == HOSTILE


def test_a_hostile_prompt_and_id_are_text_as_well(tmp_path: Path) -> None:
    row = {"type": "math", "answer": "1", "response": "", "id": "<b>|`\x1b[2J"}
    rows.write([{**row, "prompt": "<script>1</script>"}], tmp_path / "sums.jsonl")
    evaluate(config(tmp_path), provider=says(lambda _: NoCompletion("<i>no</i> | [x](y)")))
    page = (tmp_path / "out" / "summary.html").read_text(encoding="utf-8")
    assert not Tags(page).found & {"b", "i", "script"} and "\x1b" not in page + summary(tmp_path)
    assert "\\<i\\>no\\</i\\> \\| \\[x\\](y)" in summary(tmp_path)


# Tasks and settings.

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = {
    "gsm8k": "gsm8k/test.jsonl",
    "math500": "math500/test.jsonl",
    "mbpp": "mbpp/sanitized-mbpp.json",
    "humaneval": "humaneval/HumanEval.jsonl.gz",
    "ifeval": "ifeval/input_data.jsonl",
}


@pytest.mark.parametrize("name", FILES)
def test_each_task_scores_its_own_responses_in_full(tmp_path: Path, name: str) -> None:
    path = DATA / FILES[name]
    if not path.is_file():
        pytest.skip(f"the data is missing: {path}")
    from infinite_rl.evaluation.benchmarks import task_of

    items = task_of(f"{name}={path}").items(3)
    assert {row["split"] for row in items} == {"test"}
    response = {row["prompt"]: row["response"] for row in items}
    told = config(tmp_path, tasks=[f"{name}={path}"], limit=3)
    score = evaluate(told, provider=says(lambda prompt: response[prompt] or "."))[name]
    if name == "ifeval":
        assert score.instructions is not None and score.instructions < 1
    else:
        assert (score.pass_at[1].value, score.format_errors, score.unscored) == (1, 0, 0)


def test_mbpp_takes_its_examples_from_the_prompt_split(tmp_path: Path) -> None:
    path = DATA / FILES["mbpp"]
    if not path.is_file():
        pytest.skip(f"the data is missing: {path}")
    told = config(tmp_path, tasks=[f"mbpp={path}"], limit=1, few_shot=3, prompt_template="mbpp")
    provider = says(lambda _: "pass\n[DONE]\nmore")
    evaluate(told, provider=provider)
    (call,) = provider.calls
    assert call.prompt.count("[BEGIN]") == 4 and call.prompt.count("[DONE]") == 3
    (record,) = rows.read(tmp_path / "out" / "mbpp" / "records.jsonl")
    assert record["completion"] == "pass\n"


def test_wrong_tasks_and_configs_are_refused_with_a_reason(tmp_path: Path) -> None:
    known = "known: gsm8k, humaneval, ifeval, math500, mbpp"
    wrong: list[tuple[str, dict[str, Any]]] = [
        (f"unknown task 'gsm9k'; {known}", {"tasks": ["gsm9k"]}),
        ("unknown task 'gsm9k'; known: gsm8k", {"tasks": ["gsm9k=file"]}),
        ("there is no no/such.jsonl", {"tasks": ["no/such.jsonl"]}),
        ("tasks are missing", {"tasks": []}),
        ("unknown key 'limt'; did you mean limit?", {"limt": 3}),
        ("would all be the same", {"samples": 4, "temperature": 0}),
        ("temperature must be a number", {"temperature": "hot"}),
        ("backend must be one of transformers, vllm, server, not 'tgi'", {"backend": "tgi"}),
        ("top_p must be", {"top_p": 0}),
        ("empty stop string", {"stop": [""]}),
        ("unknown prompt template 'poem'; known: chat", {"prompt_template": "poem"}),
        ("model is missing", {"model": ""}),
        ("device must be auto, cpu, mps, cuda or cuda:N, not 'tpu'", {"device": "tpu"}),
        ("out is missing", {"out": ""}),
    ]

    def refused(values: dict[str, Any]) -> None:
        evaluate(config(tmp_path, **values), provider=says())

    assert_none(unlike((re.escape(said), partial(refused, each)) for said, each in wrong))


def test_without_the_datasets_library_a_file_of_rows_is_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match=r"need datasets: .*gsm8k=FILE$"):
        evaluate(config(tmp_path, tasks=["gsm8k"]), provider=says())


def test_rows_are_checked_before_anything_is_asked(tmp_path: Path) -> None:
    provider = says()
    row = {"type": "poem", "prompt": "?", "answer": "1"}
    rows.write([row], tmp_path / "sums.jsonl")
    with pytest.raises(UnknownName, match="unknown reward 'poem'"):
        evaluate(config(tmp_path), provider=provider)
    rows.write([{"type": "math", "prompt": "?"}], tmp_path / "sums.jsonl")
    with pytest.raises(UsageError, match="no column 'answer'"):
        evaluate(config(tmp_path), provider=provider)
    rows.write([], tmp_path / "sums.jsonl")
    with pytest.raises(UsageError, match="sums has no rows"):
        evaluate(config(tmp_path), provider=provider)
    assert provider.calls == []


def test_rows_with_the_same_id_are_items_of_their_own(tmp_path: Path) -> None:
    row = {"type": "math", "prompt": "1 + 1?", "answer": "2", "id": "x"}
    rows.write([row, row, {**row, "id": "x#2"}], tmp_path / "sums.jsonl")
    provider = says()
    assert evaluate(config(tmp_path), provider=provider)["sums"].items == 3
    assert len(provider.calls) == 3


def test_every_key_is_explained() -> None:
    assert EvaluationConfig.explained().keys() == EvaluationConfig.kinds().keys()


# The command.


def test_the_command_asks_a_server_and_prints_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", openai.KEY)
    path = given(tmp_path)
    with openai.OpenAIServer(lambda request: solve(request.prompt)) as server:
        words = ["evaluate", "--model", "m", "--tasks", str(path), "-o", str(tmp_path / "out")]
        words += ["--backend", "server", "--base_url", server.base_url, "--limit", "4"]
        assert cli.main(words) == 0
        asked = [request.body for request, _ in server.exchanges]
    assert {body["temperature"] for body in asked} == {0} and len(asked) == 4
    assert {body["max_tokens"] for body in asked} == {1024}
    out = capsys.readouterr().out
    assert "100.00 % [51.01, 100.00]" in out and "truncated" in out and "format errors" in out


def test_the_command_takes_a_file_and_flags_change_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("yaml")
    file = tmp_path / "c.yaml"
    file.write_text(
        f"model: m\nbackend: server\nsamples: 2\ntemperature: 0\ntasks: [{given(tmp_path)}]\n"
    )
    assert cli.main(["evaluate", str(file), "-o", str(tmp_path / "out")]) == 2
    assert "would all be the same" in capsys.readouterr().err
    words = ["evaluate", str(file), "-o", str(tmp_path / "out"), "--samples", "1"]
    assert cli.main(words) == 2
    assert "needs base_url" in capsys.readouterr().err


def test_a_watch_does_not_spin_and_takes_no_other_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["evaluate", "--watch", "run", "--tasks", "gsm8k"]
    for every in ("0", "-1", "nan"):
        assert cli.main([*words, "--every", every]) == 2
        assert "every must be" in capsys.readouterr().err
    assert cli.main([*words, "--model", "m"]) == 2
    assert "leave --model out" in capsys.readouterr().err
