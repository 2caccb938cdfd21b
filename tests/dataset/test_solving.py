"""A model solves rows: honest pass rates, traces that are right, and no answer paid for twice."""

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
from infinite_rl.cli.display import in_flight
from infinite_rl.dataset import rows
from infinite_rl.dataset.difficulty import RATED, Rating, difficulty
from infinite_rl.dataset.mix import Source, mix
from infinite_rl.dataset.pairs import pairs
from infinite_rl.dataset.solving import CALLS, SolveConfig
from infinite_rl.dataset.traces import TRACES, Tracing, split_reasoning, traces
from infinite_rl.errors import (
    InfiniteRLError,
    NoCompletion,
    ProviderRefused,
    ProviderUnavailable,
    Stopped,
    UsageError,
)
from infinite_rl.export import export
from infinite_rl.inference.journal import Journal, answers
from infinite_rl.layout import fenced, tagged
from infinite_rl.providers import KEY_VARIABLES, make_provider
from infinite_rl.providers.backoff import RetryPolicy
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.types import Completion, Usage

tables = Tables(__file__)
ROOT = Path(__file__).resolve().parents[2]
ROW = {"type": "math", "prompt": "What is 2 + 5?", "answer": "7", "id": "r0"}
UNREADABLE = {**ROW, "answer": "\\frac{"}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEY_VARIABLES, "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def given(folder: Path, count: int = 5) -> Path:
    """Rows of which `Solver` solves the first always, the last never."""
    row = {"type": "math", "response": ""}
    made = ({"id": f"r{n}", "prompt": f"{n} + 1?", "answer": str(n + 1)} for n in range(count))
    rows.write(({**row, **each} for each in made), folder / "given.jsonl")
    return folder / "given.jsonl"


class Solver(ScriptedProvider):
    """Solves the n-th row in all but n of the first four times, and counts what it is asked."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()
        self.mutex = threading.Lock()
        super().__init__(self.solve)

    def solve(self, system: str, prompt: str, seed: int) -> Completion:
        with self.mutex:
            self.times[prompt] += 1
            number = int(prompt.split()[0])
            said = number + 1 if self.times[prompt] > number else -1
        return Completion(f"So {tagged(str(said))}.", self.model, usage=Usage(1_000, 1_000))


def rate(folder: Path, provider: Any = None, *, keep: Path | None = None, **more: Any) -> Rating:
    source = folder / "given.jsonl"
    source = source if source.exists() else given(folder)
    config = SolveConfig(provider or Solver(), **more)
    return difficulty(source, folder / "out.jsonl", config, keep=keep)


def out(folder: Path) -> list[dict[str, Any]]:
    return list(rows.read(folder / "out.jsonl"))


def thought(reasoning: str, answer: str, **more: Any) -> Completion:
    return Completion(answer, "teacher", reasoning=reasoning, **more)


def trace(folder: Path, said: list[Any], *row: Any, keep_all: bool = True, **more: Any) -> Any:
    """The traces of rows, in which all that is said is said in turn."""
    rows.write(row or [ROW], folder / "given.jsonl")
    more = {"attempts": len(said) // (len(row) or 1), "threads": 1, **more}
    config = SolveConfig(ScriptedProvider(said), **more)
    found = traces(folder / "given.jsonl", folder / "out.jsonl", config, keep_all=keep_all)
    return found, out(folder)


# --- difficulty ----------------------------------------------------------------------------------
def test_each_row_gets_the_share_of_attempts_that_solve_it(tmp_path: Path) -> None:
    keep = tmp_path / "attempts.csv"
    found = rate(tmp_path, threads=3, keep=keep)
    rated = out(tmp_path)
    assert [(row["id"], row["attempts"], row["solved"], row["pass_rate"]) for row in rated] == [
        (f"r{n}", 4, 4 - n, 1 - n / 4) for n in range(5)
    ]
    for row in rated:
        assert row["pass_rate_low"] <= row["pass_rate"] <= row["pass_rate_high"]
    assert (found.rows, found.always, found.never, found.calls) == (5, 1, 1, 20)
    kept = list(rows.read(keep))
    assert [row["id"] for row in kept] == [f"r{n}" for n in range(5) for _ in range(4)]
    assert {row["status"] for row in kept} == {"passed", "failed"}
    assert {pair["id"] for pair in pairs([keep])} == {"r1", "r2", "r3"}
    band = mix([Source(tmp_path / "out.jsonl")], by="pass_rate", band=(0.2, 0.8))
    assert [row["id"] for row in band] == ["r1", "r2", "r3"]


def test_a_solver_sees_the_prompt_and_the_form_of_an_answer_alone(tmp_path: Path) -> None:
    secret = {"answer": "31337", "response": f"It is {tagged('31337')}."}
    rows.write([{"type": "math", "prompt": "Say it.", **secret}], tmp_path / "given.jsonl")
    provider = ScriptedProvider(lambda *_: "no")
    rate(tmp_path, provider, attempts=2)
    for call in provider.calls:
        assert call.prompt == "Say it." and "31337" not in call.system
        assert "<answer>" in call.system
    assert len({call.seed for call in provider.calls}) == 2
    rate(tmp_path, provider, attempts=1, system="Think.")
    assert provider.calls[-1].system == "Think."


def test_repeats_more_attempts_more_rows_and_another_order_ask_what_is_new(tmp_path: Path) -> None:
    provider = Solver()
    rate(tmp_path, provider, attempts=2)
    before = out(tmp_path)
    assert rate(tmp_path, provider, attempts=2).calls == 0 and len(provider.calls) == 10
    assert out(tmp_path) == before
    rate(tmp_path, provider, attempts=3)
    assert len(provider.calls) == 15
    rows.write(list(rows.read(given(tmp_path, 7)))[::-1], tmp_path / "given.jsonl")
    rate(tmp_path, provider, attempts=3)
    assert len(provider.calls) == 21
    rate(tmp_path, provider, attempts=3, seed=1)
    assert len(provider.calls) == 42, "another seed makes other attempts"


def test_rows_that_ask_the_same_have_attempts_of_their_own(tmp_path: Path) -> None:
    row = {"type": "math", "prompt": "3 + 1?", "answer": "4"}
    rows.write([row, row], tmp_path / "given.jsonl")
    provider = Solver()
    rate(tmp_path, provider, attempts=2, threads=2)
    assert len(provider.calls) == 4 and sum(row["solved"] for row in out(tmp_path)) == 1


def test_a_row_whose_answer_cannot_be_read_is_not_asked(tmp_path: Path) -> None:
    rows.write([UNREADABLE], tmp_path / "given.jsonl")
    provider = Solver()
    assert rate(tmp_path, provider).unrated == 1 and not provider.calls
    (found,) = out(tmp_path)
    assert (found["attempts"], found["pass_rate"]) == (0, None)
    assert (found["pass_rate_low"], found["pass_rate_high"]) == (0.0, 1.0)
    traced, made = trace(tmp_path, ["7"], UNREADABLE)
    assert (traced.unasked, traced.calls, made) == (1, 0, [])


def test_so_many_attempts_count_and_solve(tmp_path: Path) -> None:
    """One that was cut off or said nothing has not solved; programs are solved as well."""
    program = {**ROW, "type": "coding", "language": "javascript"}
    lines = ("console.log(7)", "console.log(8)", "console.log('7')", "throw 7")
    cut_off = Completion(tagged("7"), "m", finish_reason="length")
    for row, said, expected in (
        (ROW, [tagged("7"), cut_off, NoCompletion("blocked")], (3, 1)),
        (program, [tagged(f"\n{fenced(line, 'javascript')}\n") for line in lines], (4, 2)),
    ):
        rows.write([row], tmp_path / "given.jsonl")
        provider = ScriptedProvider(said)
        rate(tmp_path, provider, attempts=len(said), threads=1)
        (rated,) = out(tmp_path)
        assert (rated["attempts"], rated["solved"]) == expected
    assert "```javascript" in provider.calls[0].system


# --- trouble, cost and resumption ----------------------------------------------------------------
def test_trouble_keeps_what_was_answered_and_the_next_run_goes_on(tmp_path: Path) -> None:
    class Failing(Solver):
        def solve(self, system: str, prompt: str, seed: int) -> Completion:
            if len(self.calls) > 9:
                raise ProviderRefused("the key is gone")
            return super().solve(system, prompt, seed)

    Failing.__name__ = "Solver"
    with pytest.raises(ProviderRefused, match="the key is gone") as found:
        rate(tmp_path, Failing(), threads=1)
    assert not isinstance(found.value, Stopped) and not (tmp_path / "out.jsonl").exists()
    meanwhile = tmp_path / f"out.jsonl{CALLS}" / RATED
    assert [row["pass_rate"] for row in rows.read(meanwhile)] == [1.0, 0.75]
    provider = Solver()
    assert rate(tmp_path, provider).calls == len(provider.calls) == 11
    assert not meanwhile.exists()


def test_a_call_that_is_under_way_when_trouble_comes_is_waited_for_and_kept(tmp_path: Path) -> None:
    stop, begun = threading.Event(), threading.Event()

    def solve(system: str, prompt: str, seed: int) -> str:
        if prompt.startswith("0"):
            begun.wait(60)
            raise ProviderRefused("the key is gone")
        begun.set()
        stop.wait(60)
        return tagged("2")

    given(tmp_path, 2)
    with pytest.raises(ProviderRefused):
        rate(tmp_path, ScriptedProvider(solve), attempts=1, threads=2, stop=stop)
    journal = Journal(tmp_path / f"out.jsonl{CALLS}")
    journal.close()
    assert not journal.lost and journal.spending.calls == 1
    with pytest.raises(Stopped):  # the event is set
        rate(tmp_path, stop=stop)


def test_a_call_that_was_under_way_when_a_run_died_is_not_made_again(tmp_path: Path) -> None:
    rate(tmp_path, attempts=1)
    journal = tmp_path / f"out.jsonl{CALLS}" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    del lines[next(n for n, line in enumerate(lines) if b'"kind": "answered"' in line)]
    journal.write_bytes(b"".join(lines))
    provider = Solver()
    rate(tmp_path, provider, attempts=1)
    opened = Journal(journal.parent)
    opened.close()
    assert len(opened.lost) == 1 and len(provider.calls) == 1
    assert str(opened.lost).count("/solve1") == 1, "another took its place"


def test_no_more_is_spent_than_was_allowed(tmp_path: Path) -> None:
    provider = Solver()
    with pytest.raises(InfiniteRLError, match=r"the limit of \$0.01 is reached"):
        rate(tmp_path, provider, price="0.5,0.5", max_cost=0.01, max_output_tokens=1_000)
    assert 1 <= len(provider.calls) <= 10, "a call costs $0.001"


def test_a_dry_run_says_what_is_owed_and_makes_nothing(tmp_path: Path) -> None:
    found = rate(tmp_path, price="1,2", dry_run=True)
    assert found.estimate and found.estimate.calls == 20
    assert found.estimate.cost and 0.05 < found.estimate.cost < 0.1  # 20 * 1,500 tokens at $2
    assert [path.name for path in tmp_path.iterdir()] == ["given.jsonl"]
    rate(tmp_path, price="1,2")
    found = rate(tmp_path, price="1,2", dry_run=True)
    assert found.estimate and (found.estimate.calls, found.estimate.cost) == (0, 0.0)
    more = rate(tmp_path, price="1,2", attempts=6, dry_run=True)
    assert more.estimate and more.estimate.measured
    assert more.estimate.cost == pytest.approx(10 * 0.003)


def test_what_cannot_be_used_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    provider = Solver()
    for more, says in (
        ({"attempts": 0}, "attempts must be at least 1"),
        ({"max_cost": 0.01}, "needs the price of the model"),
        ({"keep": tmp_path / "keep.txt"}, "no known kind"),
    ):
        with pytest.raises(UsageError, match=says):
            rate(tmp_path, provider, **more)  # type: ignore[arg-type]
    rows.write([{"type": "poetry", "prompt": "p", "answer": "a"}], tmp_path / "given.jsonl")
    with pytest.raises(UsageError, match="unknown reward 'poetry'"):
        rate(tmp_path, provider)
    assert not provider.calls


def test_what_slows_the_calls_can_be_shown(tmp_path: Path) -> None:
    again = iter([True] * 10)  # in a row: one alone slows nothing

    def busy(system: str, prompt: str, seed: int) -> str:
        if next(again, False):
            raise ProviderUnavailable("busy", status=503)
        return tagged("1")

    retry = RetryPolicy(first_wait_s=0.001, max_wait_s=0.001)
    config = SolveConfig(ScriptedProvider(busy), threads=8, attempts=1, retry=retry)
    told: list[str] = []

    def on_row(_: int) -> None:
        told.append(in_flight(config.clients[0].stats))

    difficulty(given(tmp_path), tmp_path / "out.jsonl", config, on_row=on_row)
    assert "of 8 calls at once by the provider" in told[0]


# --- traces --------------------------------------------------------------------------------------
def test_a_trace_holds_prompt_reasoning_response_messages_and_score(tmp_path: Path) -> None:
    found, (made,) = trace(tmp_path, [thought("2 + 5 = 7.", f"So\n{tagged('7')}")])
    response = f"<think>\n2 + 5 = 7.\n</think>\n\nSo\n{tagged('7')}"
    expected = {**ROW, "reasoning": "2 + 5 = 7.", "response": response}
    assert {key: made[key] for key in expected} == expected
    system, *messages = made["messages"]
    assert system["role"] == "system" and "<answer>" in system["content"]
    assert messages == [
        {"role": "user", "content": ROW["prompt"]},
        {"role": "assistant", "content": response},
    ]
    assert (made["status"], made["format_score"], made["dropped"]) == ("passed", 1.0, "")
    assert (found.rows, found.kept, found.calls) == (1, 1, 1) and not found.dropped
    export(out(tmp_path), "sft", tmp_path / "sft")
    (row,) = rows.read(tmp_path / "sft" / "train.jsonl")
    assert row["completion"][0]["content"] == response
    for text, roles in (("Think.", ["system", "user"]), ("", ["user"])):
        _, (made,) = trace(tmp_path, [thought("t", tagged("7"))], system=text)
        assert [each["role"] for each in made["messages"]] == [*roles, "assistant"]


def test_echoes_and_repeated_answers_are_cleaned_away(tmp_path: Path) -> None:
    reasoning = "2 + 5 = 7.\n\n\n\nI should put it in <answer> tags.\nANSWER: 7"
    _, (made,) = trace(tmp_path, [thought(reasoning, f"So 7.\n{tagged('7')}\nANSWER: 7\n")])
    assert made["reasoning"] == "2 + 5 = 7."
    assert made["response"] == f"<think>\n2 + 5 = 7.\n</think>\n\nSo 7.\n\n{tagged('7')}"


def test_an_answer_that_counts_as_a_whole_is_left_as_it_is(tmp_path: Path) -> None:
    checks = '[{"instruction_id": "punctuation:no_comma", "kwargs": {}}]'
    for more, said in (
        ({"type": "coding", "language": "python"}, tagged("```python\nprint(7)\n\n\n\n```")),
        ({"type": "instruction", "answer": checks}, "A\n\n\n\n#### 7\nAnswer: 7"),
    ):
        _, (made,) = trace(tmp_path, [Completion(said, "teacher")], {**ROW, **more})
        assert made["response"] == said and made["status"] == "passed"


@tables
def test_reasoning_is_no_answer(text: str, reasoning: str, parts: tuple[str, str, bool]) -> None:
    assert split_reasoning(thought(reasoning, text)) == parts


@tables
def test_what_is_not_whole_and_right_is_dropped(
    text: str, reasoning: str, finish_reason: Any, why: str, tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.mktemp("trace")
    said = (
        thought(reasoning, text, finish_reason=finish_reason) if text else NoCompletion("blocked")
    )
    found, (made,) = trace(folder, [said])
    assert made["dropped"] == why
    assert (found.kept, dict(found.dropped)) == ((0, {why: 1}) if why else (1, {}))
    _, made = trace(folder, [said], keep_all=False)
    assert len(made) == (not why)


def test_samples_are_traced_in_the_order_of_the_rows_and_trouble_keeps_them(tmp_path: Path) -> None:
    two = [ROW, {**ROW, "id": "r1", "prompt": "What is 3 + 4?"}]
    said = [thought(f"t{n}", tagged("7")) for n in range(6)]
    with pytest.raises(ProviderRefused):
        trace(tmp_path, [*said[:3], ProviderRefused("the key is gone")], *two)
    assert not (tmp_path / "out.jsonl").exists()
    meanwhile = tmp_path / f"out.jsonl{CALLS}" / TRACES
    assert [row["reasoning"] for row in rows.read(meanwhile)] == ["t0", "t1"]
    found, made = trace(tmp_path, said[3:], *two, attempts=3)
    assert found.calls == 3 and not meanwhile.exists()
    assert [(row["id"], row["attempt"], row["reasoning"]) for row in made] == [
        *(("r0", 1, "t0"), ("r0", 2, "t1"), ("r0", 3, "t3")),
        *(("r1", 1, "t2"), ("r1", 2, "t4"), ("r1", 3, "t5")),
    ]


def test_what_difficulty_has_paid_for_is_used(tmp_path: Path) -> None:
    source, calls = given(tmp_path, 1), tmp_path / "c"
    teacher = ScriptedProvider([thought("0 + 1 = 1.", tagged("1"))])
    difficulty(source, tmp_path / "rated.jsonl", SolveConfig(teacher, attempts=1), calls=calls)
    config = SolveConfig(ScriptedProvider([]), attempts=1)
    found = traces(source, tmp_path / "out.jsonl", config, calls=calls)
    assert (found.calls, found.kept) == (0, 1)


def test_attempts_that_exist_become_the_same_traces_without_a_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, calls, keep = given(tmp_path, 3), tmp_path / "c", tmp_path / "attempts.jsonl"
    texts = [thought(f"t{n}", tagged(str(1 + n // 3)), finish_reason="length" if n == 4 else "stop")
             for n in range(9)]  # fmt: skip
    config = SolveConfig(ScriptedProvider(texts), attempts=3, threads=1)
    difficulty(source, tmp_path / "rated.jsonl", config, calls=calls, keep=keep)
    traces(source, tmp_path / "asked.jsonl", config, calls=calls, keep_all=True)
    line = ["solve", "traces", str(keep), "-o", str(tmp_path / "out.jsonl"), "--keep_all"]
    assert cli.main([*line, "--dry_run"]) == 0 and not (tmp_path / "out.jsonl").exists()
    assert cli.main(line) == 0
    shown = capsys.readouterr()
    assert "are attempts: no model is asked" in shown.err
    assert "traces kept: 8, of 3 rows, cut off 1" in shown.out
    assert out(tmp_path) == list(rows.read(tmp_path / "asked.jsonl"))
    rows.write([{**row, "completion": None} for row in rows.read(keep)], keep)
    assert cli.main([*line, "--overwrite"]) == 2
    assert "an attempt at '0 + 1?' has no completion" in capsys.readouterr().err


# --- the verbs, with the real client -------------------------------------------------------------
def reply(request: openai.Request) -> openai.Reply:
    number = int(request.prompt.split()[0])
    reasoning = f"{number} + 1 = {number + 1}."
    return openai.text(f"So {tagged(str(number + 1))}.", reasoning_content=reasoning)


def words(verb: str, folder: Path, base_url: str, count: int = 3) -> list[str]:
    """The command that asks a server twice for each row, one row at a time."""
    sampled = "--samples" if verb == "traces" else "--attempts"
    found = ["solve", verb, str(given(folder, count)), "-o", str(folder / "out.jsonl"), sampled]
    return [
        *found,
        "2",
        "--base_url",
        base_url,
        "--model_name",
        "m",
        "--provider",
        "openai_compatible",
    ]


def test_the_verb_asks_a_server_and_keeps_what_it_thought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", openai.KEY)
    with openai.OpenAIServer(reply) as server:
        line = [*words("traces", tmp_path, server.base_url)[:-2], "--price", "1,2"]
        assert cli.main([*line, "--dry_run"]) == 0
        assert ": 6 calls," in capsys.readouterr().out
        assert cli.main(line) == 0
        shown = capsys.readouterr()
        assert len(server.requests) == 6
        assert cli.main(line) == 2 and "--overwrite" in capsys.readouterr().err
    assert "teacher: m, asked through openai_compatible" in shown.err
    assert "traces kept: 6, of 3 rows\n" in shown.out
    assert "calls answered: 6; in all: 42 tokens in, 18 out, $0.000078" in shown.out
    reasoning = [f"{n} + 1 = {n + 1}." for n in (0, 0, 1, 1, 2, 2)]
    assert [row["reasoning"] for row in out(tmp_path)] == reasoning


@pytest.mark.parametrize(("verb", "unfinished"), [("difficulty", RATED), ("traces", TRACES)])
def test_a_verb_is_interrupted_without_a_loss(
    verb: str,
    unfinished: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", openai.KEY)
    stop = threading.Event()
    monkeypatch.setattr("infinite_rl.cli.solve.stop_on_signals", lambda: nullcontext(stop))
    asked: list[str] = []

    def answer(request: openai.Request) -> str:
        asked.append(request.prompt)
        if len(asked) == 3:
            stop.set()  # as a signal does
        return tagged("1")

    with openai.OpenAIServer(answer) as server:
        line = [*words(verb, tmp_path, server.base_url), "--threads", "1", "--price", "1,2"]
        assert cli.main(line) == 130
        said = capsys.readouterr().err
        assert "completions are kept" in said and not (tmp_path / "out.jsonl").exists()
        assert f"are in {tmp_path}/out.jsonl{CALLS}/{unfinished}" in said
        stop.clear()
        assert cli.main(line) == 0
    shown = capsys.readouterr().out
    assert "calls answered: 3; in all: 42 tokens in, 18 out, $0.000078" in shown
    assert len(asked) == 6
    with pytest.raises(SystemExit):
        cli.main(["solve", verb, "--help"])
    assert "procedural" not in capsys.readouterr().out, "it is not offered"
    if verb == "difficulty":
        assert "rows rated: 3, solved always 1, sometimes 0, never 2" in shown
        assert [row["pass_rate"] for row in out(tmp_path)] == [1.0, 0.0, 0.0]
    else:
        assert "traces kept: 2, of 3 rows, wrong 4" in shown and len(out(tmp_path)) == 2


@pytest.mark.slow
def test_a_run_that_is_killed_loses_no_answer_and_buys_none_twice(tmp_path: Path) -> None:
    """SIGKILL, twice; calls that were under way then are never made again."""
    bought: Counter[tuple[str, int | None]] = Counter()

    def answer(request: openai.Request) -> openai.Reply:
        bought[request.prompt, request.seed] += 1
        time.sleep(0.02)
        return reply(request)

    with openai.OpenAIServer(answer) as server:
        line = words("traces", tmp_path, server.base_url, 40)
        line = [sys.executable, "-m", "infinite_rl", *line]
        environment = {**os.environ, **server.environment, "PYTHONPATH": str(ROOT)}
        for share in (10, 40):
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
    assert Counter(row["id"] for row in out(tmp_path)) == {f"r{n}": 2 for n in range(40)}


@tables
def test_the_verbs_say_what_they_lack(line: str, says: str, tmp_path: Path, capsys: Any) -> None:
    verb, *more = line.split()
    files = [str(given(tmp_path, 1)), "-o", str(tmp_path / "out.jsonl")]
    assert cli.main(["solve", verb, *files, *more]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ") and says in error


# --- DeepSeek ------------------------------------------------------------------------------------
def test_deepseeks_key_selects_it_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, url = "sk-deepseek-0123456789", "https://api.deepseek.com"
    monkeypatch.setenv("DEEPSEEK_API_KEY", key)
    monkeypatch.setenv("OPENAI_API_KEY", openai.KEY)
    asked: list[SolveConfig] = []

    def instead(source: Any, out: Any, config: SolveConfig, **_: Any) -> Tracing:
        asked.append(config)
        return Tracing()

    monkeypatch.setattr("infinite_rl.dataset.traces.traces", instead)
    line = ["solve", "traces", str(given(tmp_path, 1)), "-o", str(tmp_path / "out.jsonl")]
    assert cli.main(line) == cli.main([*line, "--model_name", "deepseek-flash"]) == 0
    assert [(each.provider, each.model, each.base_url) for each in asked] == [
        ("openai_compatible", "deepseek-v4-pro", url),
        ("openai_compatible", "deepseek-flash", url),
    ]
    monkeypatch.delenv("DEEPSEEK_API_KEY")
    monkeypatch.setenv("GEMINI_API_KEY", openai.KEY)
    assert cli.main(line) == 2, "another service that costs money is asked by name only"
    assert len(asked) == 2
    assert cli.main([*line, "--provider", "gemini"]) == 0 and asked[2].provider == "gemini"
    monkeypatch.setenv("DEEPSEEK_API_KEY", key)
    hosts = (url, "https://deepseek.com.evil.example", "http://h/v1")
    made: list[Any] = [make_provider("openai_compatible", "m", base_url=host) for host in hosts]
    assert [each._key for each in made] == [key, openai.KEY, openai.KEY]
