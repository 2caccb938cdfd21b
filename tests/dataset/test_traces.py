"""Traces: what a teacher thought and answered, judged before and after the clean-up; paid once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import openai_server as openai
import pytest
from labelled import Tables

from infinite_rl import cli
from infinite_rl.dataset import rows
from infinite_rl.dataset.difficulty import difficulty
from infinite_rl.dataset.solving import CALLS, SolveConfig
from infinite_rl.dataset.traces import TRACES, Tracing, split_reasoning, traces
from infinite_rl.errors import NoCompletion, ProviderRefused
from infinite_rl.export import export
from infinite_rl.inference.journal import Journal, answers
from infinite_rl.layout import tagged
from infinite_rl.providers import KEY_VARIABLES, make_provider
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.types import Completion

tables = Tables(__file__)
ROOT = Path(__file__).resolve().parents[2]
ROW = {"type": "math", "prompt": "What is 2 + 5?", "answer": "7", "id": "r0"}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEY_VARIABLES, "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def thought(reasoning: str, answer: str, **more: Any) -> Completion:
    return Completion(answer, "teacher", reasoning=reasoning, **more)


def trace(folder: Path, said: list[Any], *given: Any, keep_all: bool = True, **more: Any) -> Any:
    """The traces of `given`, in which all that is said is said in turn."""
    rows.write(given or [ROW], folder / "given.jsonl")
    more = {"attempts": len(said) // (len(given) or 1), "threads": 1, **more}
    asking = SolveConfig(ScriptedProvider(said), **more)
    found = traces(folder / "given.jsonl", folder / "out.jsonl", asking, keep_all=keep_all)
    return found, list(rows.read(folder / "out.jsonl"))


# --- what a trace is


def test_a_trace_holds_prompt_reasoning_response_messages_and_score(tmp_path: Path) -> None:
    found, (made,) = trace(tmp_path, [thought("2 + 5 = 7.", f"So\n{tagged('7')}")])
    response = f"<think>\n2 + 5 = 7.\n</think>\n\nSo\n{tagged('7')}"
    shown = {key: made[key] for key in ("prompt", "answer", "id", "reasoning", "response")}
    assert shown == {
        "prompt": ROW["prompt"],
        "answer": "7",
        "id": "r0",
        "reasoning": "2 + 5 = 7.",
        "response": response,
    }
    assert [each["role"] for each in made["messages"]] == ["system", "user", "assistant"]
    assert "<answer>" in made["messages"][0]["content"]
    assert made["messages"][1:] == [
        {"role": "user", "content": ROW["prompt"]},
        {"role": "assistant", "content": response},
    ]
    assert (made["status"], made["format_score"], made["dropped"]) == ("passed", 1.0, "")
    assert (found.rows, found.kept, found.calls) == (1, 1, 1) and not found.dropped


def test_instructions_of_ones_own_are_in_the_messages_and_none_on_request(tmp_path: Path) -> None:
    for system, roles in (("Think.", ["system", "user"]), ("", ["user"])):
        _, (made,) = trace(tmp_path, [thought("t", tagged("7"))], system=system)
        assert [each["role"] for each in made["messages"]] == [*roles, "assistant"]


def test_echoes_and_repeated_answers_are_cleaned_away(tmp_path: Path) -> None:
    reasoning = "2 + 5 = 7.\n\n\n\nI should put it in <answer> tags.\nANSWER: 7"
    _, (made,) = trace(tmp_path, [thought(reasoning, f"So 7.\n{tagged('7')}\nANSWER: 7\n")])
    assert made["reasoning"] == "2 + 5 = 7."
    assert made["response"] == f"<think>\n2 + 5 = 7.\n</think>\n\nSo 7.\n\n{tagged('7')}"


@pytest.mark.parametrize("kind", ["coding", "instruction"])
def test_an_answer_that_counts_as_a_whole_is_left_as_it_is(kind: str, tmp_path: Path) -> None:
    language = "python" if kind == "coding" else ""
    checks = '[{"instruction_id": "punctuation:no_comma", "kwargs": {}}]'
    row = {**ROW, "type": kind, "language": language, "answer": "7" if language else checks}
    said = (
        "A\n\n\n\n#### 7\nAnswer: 7" if not language else tagged("```python\nprint(7)\n\n\n\n```")
    )
    _, (made,) = trace(tmp_path, [Completion(said, "teacher")], row)
    assert made["response"] == said and made["status"] == "passed"


@tables
def test_the_reasoning_is_told_from_the_answer(
    text: str, reasoning: str, parts: tuple[str, str, bool]
) -> None:
    assert split_reasoning(thought(reasoning, text)) == parts


# --- what is kept


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (thought("t", tagged("7")), ""),
        (thought("t", tagged("8")), "wrong"),
        (thought(tagged("7"), "I am done."), "wrong"),
        (thought("t", tagged("7"), finish_reason="length"), "cut off"),
        (Completion(f"<think>It is {tagged('7')}", "teacher"), "cut off"),
        (Completion("<think>It is 7.</think>", "teacher"), "no text"),
        (NoCompletion("blocked"), "no text"),
        (thought("t", f"{tagged('8')}\nANSWER: 7"), "wrong"),
        (thought("t", f"{tagged('7')} or {tagged('8')}"), "wrong"),
    ],
)
def test_what_is_not_whole_and_right_is_dropped(said: Any, why: str, tmp_path: Path) -> None:
    found, (made,) = trace(tmp_path, [said])
    assert made["dropped"] == why
    assert (found.kept, dict(found.dropped)) == ((0, {why: 1}) if why else (1, {}))
    trace(tmp_path, [said], keep_all=False)
    assert len(list(rows.read(tmp_path / "out.jsonl"))) == (not why)


def test_a_row_whose_answer_cannot_be_read_is_not_asked(tmp_path: Path) -> None:
    found, made = trace(tmp_path, ["7"], {**ROW, "answer": "\\frac{"})
    assert (found.unasked, found.calls, made) == (1, 0, [])


def test_each_row_has_so_many_traces_in_the_order_of_the_rows(tmp_path: Path) -> None:
    other = {**ROW, "id": "r1", "prompt": "What is 3 + 4?"}
    said = [thought(f"t{n}", tagged("7")) for n in range(6)]
    _, made = trace(tmp_path, said, ROW, other)
    assert [(row["id"], row["attempt"]) for row in made] == [
        (name, number) for name in ("r0", "r1") for number in (1, 2, 3)
    ]


def test_traces_are_rows_for_the_other_verbs(tmp_path: Path) -> None:
    trace(tmp_path, [thought("2 + 5 = 7.", tagged("7"))])
    export(rows.read(tmp_path / "out.jsonl"), "sft", tmp_path / "sft")
    (row,) = rows.read(tmp_path / "sft" / "train.jsonl")
    assert row["completion"][0]["content"] == f"<think>\n2 + 5 = 7.\n</think>\n\n{tagged('7')}"


# --- nothing is paid for twice


def test_the_same_call_again_and_more_samples_ask_only_for_what_is_new(tmp_path: Path) -> None:
    said = [thought(f"t{n}", tagged("7")) for n in range(3)]
    trace(tmp_path, said[:2])
    found, made = trace(tmp_path, ["never asked"], attempts=2)
    assert found.calls == 0 and [row["reasoning"] for row in made] == ["t0", "t1"]
    found, made = trace(tmp_path, said[2:], attempts=3)
    assert found.calls == 1 and [row["reasoning"] for row in made] == ["t0", "t1", "t2"]


def test_what_difficulty_has_paid_for_is_used(tmp_path: Path) -> None:
    source = given(tmp_path, 1)
    teacher = ScriptedProvider([thought("0 + 1 = 1.", tagged("1"))])
    difficulty(
        source, tmp_path / "rated.jsonl", SolveConfig(teacher, attempts=1), calls=tmp_path / "c"
    )
    asking = SolveConfig(ScriptedProvider([]), attempts=1)
    found = traces(source, tmp_path / "out.jsonl", asking, calls=tmp_path / "c")
    assert (found.calls, found.kept) == (0, 1)


def test_trouble_leaves_the_traces_so_far_and_the_next_run_goes_on(tmp_path: Path) -> None:
    other = {**ROW, "id": "r1", "prompt": "What is 3 + 4?"}
    with pytest.raises(ProviderRefused):
        trace(tmp_path, [thought("t", tagged("7")), ProviderRefused("the key is gone")], ROW, other)
    assert not (tmp_path / "out.jsonl").exists()
    meanwhile = tmp_path / f"out.jsonl{CALLS}" / TRACES
    assert [row["id"] for row in rows.read(meanwhile)] == ["r0"]
    found, made = trace(tmp_path, [thought("t", tagged("7"))], ROW, other, attempts=1)
    assert found.calls == 1 and [row["id"] for row in made] == ["r0", "r1"]
    assert not meanwhile.exists()


# --- the verb, with the real client


def reply(request: openai.Request) -> openai.Reply:
    number = int(request.prompt.split()[0])
    return openai.text(
        f"So {tagged(str(number + 1))}.", reasoning_content=f"{number} + 1 = {number + 1}."
    )


def given(folder: Path, count: int) -> Path:
    made = [
        {**ROW, "prompt": f"{n} + 1?", "answer": str(n + 1), "id": f"r{n}"} for n in range(count)
    ]
    rows.write(made, folder / "given.jsonl")
    return folder / "given.jsonl"


def words(folder: Path, base_url: str, count: int = 3) -> list[str]:
    found = ["solve", "traces", str(given(folder, count)), "-o", str(folder / "out.jsonl")]
    return [*found, "--base_url", base_url, "--model_name", "m", "--samples", "2"]


def test_the_verb_asks_a_server_and_keeps_what_it_thought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", openai.KEY)
    with openai.OpenAIServer(reply) as server:
        line = [*words(tmp_path, server.base_url), "--price", "1,2"]
        assert cli.main([*line, "--dry_run"]) == 0
        assert ": 6 calls," in capsys.readouterr().out
        assert cli.main(line) == 0
        shown = capsys.readouterr()
        assert len(server.requests) == 6
        assert cli.main(line) == 2 and "--overwrite" in capsys.readouterr().err
    assert "teacher: m, asked through openai_compatible" in shown.err
    assert "traces kept: 6, of 3 rows\n" in shown.out
    assert "calls answered: 6; in all: 42 tokens in, 18 out, $0.000078" in shown.out
    made = list(rows.read(tmp_path / "out.jsonl"))
    assert [row["reasoning"] for row in made] == [f"{n} + 1 = {n + 1}." for n in (0, 0, 1, 1, 2, 2)]


def test_the_verb_is_interrupted_without_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", openai.KEY)
    stop = threading.Event()
    monkeypatch.setattr("infinite_rl.cli.solve.stop_on_signals", lambda: nullcontext(stop))
    asked: list[str] = []

    def answer(request: openai.Request) -> openai.Reply:
        asked.append(request.prompt)
        if len(asked) == 3:
            stop.set()  # as a signal does
        return reply(request)

    with openai.OpenAIServer(answer) as server:
        line = [*words(tmp_path, server.base_url), "--threads", "1"]
        assert cli.main(line) == 130
        said = capsys.readouterr().err
        assert "completions are kept" in said and f"{CALLS}/{TRACES}" in said
        stop.clear()
        assert cli.main(line) == 0
    assert len(asked) == 6
    assert len(list(rows.read(tmp_path / "out.jsonl"))) == 6


@pytest.mark.slow
def test_a_run_that_is_killed_loses_no_answer_and_buys_none_twice(tmp_path: Path) -> None:
    """SIGKILL, three times; calls that were under way then are never made again."""
    bought: Counter[tuple[str, int | None]] = Counter()

    def answer(request: openai.Request) -> openai.Reply:
        bought[request.prompt, request.seed] += 1
        time.sleep(0.02)
        return reply(request)

    with openai.OpenAIServer(answer) as server:
        line = [sys.executable, "-m", "infinite_rl", *words(tmp_path, server.base_url, 60)]
        environment = {**os.environ, **server.environment, "PYTHONPATH": str(ROOT)}
        for share in (10, 40, 80):
            running = subprocess.Popen(line, env=environment, stderr=subprocess.DEVNULL)
            while sum(bought.values()) < share and running.poll() is None:
                time.sleep(0.005)
            running.send_signal(signal.SIGKILL)
            running.wait()
        subprocess.run(line, env=environment, check=True, capture_output=True)
    folder = tmp_path / f"out.jsonl{CALLS}"
    journal = Journal(folder)
    journal.close()
    assert set(bought.values()) == {1}, "a call was made twice"
    kept = len(list(answers(folder)))
    assert kept + len(journal.lost) >= len(bought) >= kept
    made = list(rows.read(tmp_path / "out.jsonl"))
    assert Counter(row["id"] for row in made) == {f"r{n}": 2 for n in range(60)}


def test_the_verb_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["solve", "traces", str(given(tmp_path, 1)), "-o", str(tmp_path / "out.jsonl")]
    for more, said in (
        ([], "procedural solves no tasks: set GEMINI_API_KEY"),
        (["--base_url", "http://localhost:1/v1"], "say which model to ask: --model_name"),
        (["--base_url", "nowhere", "--model_name", "m"], "base"),
        (["--samples", "0", "--model_name", "m", "--provider", "gemini"], "attempts must be"),
    ):
        assert cli.main([*line, *more]) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith("error: ") and said in error


# --- DeepSeek


def test_deepseek_is_asked_where_its_key_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-deepseek-0123456789")
    asked: list[SolveConfig] = []

    def instead(source: Any, out: Any, asking: SolveConfig, **_: Any) -> Tracing:
        asked.append(asking)
        return Tracing()

    monkeypatch.setattr("infinite_rl.dataset.traces.traces", instead)
    line = ["solve", "traces", str(given(tmp_path, 1)), "-o", str(tmp_path / "out.jsonl")]
    assert cli.main(line) == 0
    assert cli.main([*line, "--model_name", "deepseek-flash"]) == 0
    found = [(each.provider, each.model, each.base_url) for each in asked]
    url = "https://api.deepseek.com"
    assert found == [
        ("openai_compatible", "deepseek-v4-pro", url),
        ("openai_compatible", "deepseek-flash", url),
    ]


def test_the_key_of_deepseek_goes_to_deepseek_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-deepseek-0123456789")
    monkeypatch.setenv("OPENAI_API_KEY", openai.KEY)
    sent: dict[str, str | None] = {}
    for host in ("https://api.deepseek.com", "https://deepseek.com.evil.example", "http://h/v1"):
        made: Any = make_provider("openai_compatible", "m", base_url=host)
        sent[host] = made._key
    assert [*sent.values()] == ["sk-deepseek-0123456789", openai.KEY, openai.KEY]
