"""Difficulty: a pass rate that says what it means, and no answer that is paid for twice."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import openai_server as openai
import pytest

from infinite_rl import cli
from infinite_rl.cli.display import in_flight
from infinite_rl.dataset import rows
from infinite_rl.dataset.difficulty import RATED, Rating, difficulty
from infinite_rl.dataset.mix import Source, mix
from infinite_rl.dataset.pairs import pairs
from infinite_rl.dataset.solving import CALLS, SolveConfig
from infinite_rl.errors import (
    InfiniteRLError,
    NoCompletion,
    ProviderRefused,
    ProviderUnavailable,
    Stopped,
    UsageError,
)
from infinite_rl.inference.journal import Journal
from infinite_rl.layout import fenced, tagged
from infinite_rl.providers.rate_limit import RetryPolicy
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.types import Completion, Usage


def given(folder: Path, count: int = 5) -> Path:
    """Rows of which the first is solved always, the last never."""
    path = folder / "given.jsonl"
    row = {"type": "math", "response": ""}
    rows.write(
        [{**row, "id": f"r{n}", "prompt": f"{n} + 1?", "answer": str(n + 1)} for n in range(count)],
        path,
    )
    return path


class Solver(ScriptedProvider):
    """Solves the n-th row in all but n of the first four times, and counts what it is asked."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}
        self.mutex = threading.Lock()
        super().__init__(self.solve)

    def solve(self, system: str, prompt: str, seed: int) -> Completion:
        with self.mutex:
            self.times[prompt] = time = self.times.get(prompt, 0) + 1
        number = int(prompt.split()[0])
        said = number + 1 if time > number else -1
        usage = Usage(1_000, 1_000)
        return Completion(f"So {tagged(str(said))}.", self.model, usage=usage)


def rate(folder: Path, provider: Any = None, *, keep: Path | None = None, **more: Any) -> Rating:
    source = folder / "given.jsonl"
    source = source if source.exists() else given(folder)
    asking = SolveConfig(provider or Solver(), **more)
    return difficulty(source, folder / "out.jsonl", asking, keep=keep)


def rated(folder: Path) -> list[dict[str, Any]]:
    return list(rows.read(folder / "out.jsonl"))


def test_each_row_gets_the_share_of_attempts_that_solve_it(tmp_path: Path) -> None:
    provider = Solver()
    found = rate(tmp_path, provider, threads=3)
    assert [row["id"] for row in rated(tmp_path)] == [f"r{n}" for n in range(5)]
    assert [(row["attempts"], row["solved"]) for row in rated(tmp_path)] == [
        (4, 4), (4, 3), (4, 2), (4, 1), (4, 0),
    ]  # fmt: skip
    assert [row["pass_rate"] for row in rated(tmp_path)] == [1.0, 0.75, 0.5, 0.25, 0.0]
    for row in rated(tmp_path):
        assert row["pass_rate_low"] <= row["pass_rate"] <= row["pass_rate_high"]
    assert (found.rows, found.always, found.never, found.calls) == (5, 1, 1, 20)


def test_a_solver_sees_the_prompt_and_the_form_of_an_answer_and_nothing_else(
    tmp_path: Path,
) -> None:
    path = tmp_path / "given.jsonl"
    secret = {"answer": "31337", "response": f"It is {tagged('31337')}."}
    rows.write([{"type": "math", "prompt": "Say it.", **secret}], path)
    provider = Solver()
    provider._function = lambda *_: Completion("no", "m")
    rate(tmp_path, provider, attempts=2)
    for call in provider.calls:
        assert call.prompt == "Say it." and "31337" not in call.system
        assert "<answer>" in call.system
    assert len({call.seed for call in provider.calls}) == 2
    rate(tmp_path, provider, attempts=1, system="Think.")
    assert provider.calls[-1].system == "Think."


def test_repeats_more_attempts_more_rows_and_another_order_request_only_what_is_new(
    tmp_path: Path,
) -> None:
    provider = Solver()
    rate(tmp_path, provider, attempts=2)
    before = rated(tmp_path)
    assert rate(tmp_path, provider, attempts=2).calls == 0 and len(provider.calls) == 10
    assert rated(tmp_path) == before
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
    assert len(provider.calls) == 4
    assert sum(row["solved"] for row in rated(tmp_path)) == 1


def test_trouble_keeps_what_was_answered_and_the_next_run_goes_on(tmp_path: Path) -> None:
    class Failing(Solver):
        def solve(self, system: str, prompt: str, seed: int) -> Completion:
            if len(self.calls) > 9:
                raise ProviderRefused("the key is gone")
            return super().solve(system, prompt, seed)

    Failing.__name__ = "Solver"
    with pytest.raises(ProviderRefused, match="the key is gone"):
        rate(tmp_path, Failing(), threads=1)
    assert not (tmp_path / "out.jsonl").exists()
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
    provider = ScriptedProvider(solve)
    with pytest.raises(ProviderRefused):
        rate(tmp_path, provider, attempts=1, threads=2, stop=stop)
    journal = Journal(tmp_path / f"out.jsonl{CALLS}")
    journal.close()
    assert not journal.lost and journal.spending.calls == 1


def test_a_call_that_was_under_way_when_a_run_died_is_not_made_again(tmp_path: Path) -> None:
    rate(tmp_path, attempts=1)
    journal = tmp_path / f"out.jsonl{CALLS}" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    answered = next(n for n, line in enumerate(lines) if b'"kind": "answered"' in line)
    del lines[answered]
    journal.write_bytes(b"".join(lines))
    provider = Solver()
    rate(tmp_path, provider, attempts=1)
    opened = Journal(journal.parent)
    opened.close()
    assert len(opened.lost) == 1 and len(provider.calls) == 1
    assert str(opened.lost).count("/solve1") == 1, "another took its place"


def test_a_signal_to_stop_is_no_trouble_of_the_provider(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        rate(tmp_path, stop=stop)

    def down(system: str, prompt: str, seed: int) -> str:
        raise ProviderRefused("the model's engine has stopped")

    with pytest.raises(ProviderRefused) as found:
        rate(tmp_path, ScriptedProvider(down))
    assert not isinstance(found.value, Stopped)


def test_no_more_is_spent_than_was_allowed(tmp_path: Path) -> None:
    provider = Solver()
    with pytest.raises(InfiniteRLError, match=r"the limit of \$0.01 is reached"):
        rate(tmp_path, provider, price="0.5,0.5", max_cost=0.01, max_output_tokens=1_000)
    assert 1 <= len(provider.calls) <= 10, "a call costs $0.001"
    with pytest.raises(UsageError, match="needs the price of the model"):
        rate(tmp_path, provider, max_cost=0.01)


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


def test_what_was_cut_off_or_said_nothing_has_not_solved(tmp_path: Path) -> None:
    given(tmp_path, 1)
    said = [
        Completion(tagged("1"), "m"),
        Completion(tagged("1"), "m", finish_reason="length"),
        NoCompletion("blocked"),
    ]
    rate(tmp_path, ScriptedProvider(said), attempts=3, threads=1)
    (row,) = rated(tmp_path)
    assert (row["attempts"], row["solved"]) == (3, 1)


def test_a_row_whose_answer_cannot_be_read_is_not_asked(tmp_path: Path) -> None:
    row = {"type": "math", "prompt": "1?", "answer": "\\frac{"}
    rows.write([row], tmp_path / "given.jsonl")
    provider = Solver()
    assert rate(tmp_path, provider).unrated == 1
    assert not provider.calls
    (found,) = rated(tmp_path)
    assert (found["attempts"], found["pass_rate"]) == (0, None)
    assert (found["pass_rate_low"], found["pass_rate_high"]) == (0.0, 1.0)


def test_programs_are_solved_as_well(tmp_path: Path) -> None:
    row = {"type": "coding", "prompt": "Print 7.", "answer": "7", "language": "javascript"}
    rows.write([row], tmp_path / "given.jsonl")
    code = ["console.log(7)", "console.log(8)", "console.log('7')", "throw 7"]
    said = [tagged(f"\n{fenced(each, 'javascript')}\n") for each in code]
    provider = ScriptedProvider(said)
    rate(tmp_path, provider, threads=1)
    assert rated(tmp_path)[0]["solved"] == 2
    assert "```javascript" in provider.calls[0].system


def test_the_attempts_can_be_kept_paired_and_mixed(tmp_path: Path) -> None:
    keep = tmp_path / "attempts.csv"
    rate(tmp_path, keep=keep)
    kept = list(rows.read(keep))
    assert [row["id"] for row in kept] == [f"r{n}" for n in range(5) for _ in range(4)]
    assert {row["status"] for row in kept} == {"passed", "failed"}
    assert {pair["id"] for pair in pairs([keep])} == {"r1", "r2", "r3"}
    band = mix([Source(tmp_path / "out.jsonl")], by="pass_rate", band=(0.2, 0.8))
    assert [row["id"] for row in band] == ["r1", "r2", "r3"]


def test_what_cannot_be_used_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    provider = Solver()
    with pytest.raises(UsageError, match="attempts must be at least 1"):
        rate(tmp_path, provider, attempts=0)
    rows.write([{"type": "poetry", "prompt": "p", "answer": "a"}], tmp_path / "given.jsonl")
    with pytest.raises(UsageError, match="unknown reward 'poetry'"):
        rate(tmp_path, provider)
    with pytest.raises(UsageError, match="no known kind"):
        rate(tmp_path, provider, keep=tmp_path / "keep.txt")
    assert not provider.calls


def test_what_slows_the_calls_can_be_shown(tmp_path: Path) -> None:
    again = iter([True] * 10)  # in a row: one alone slows nothing

    def busy(system: str, prompt: str, seed: int) -> str:
        if next(again, False):
            raise ProviderUnavailable("busy", status=503)
        return tagged("1")

    retry = RetryPolicy(first_wait_s=0.001, max_wait_s=0.001)
    asking = SolveConfig(ScriptedProvider(busy), threads=8, attempts=1, retry=retry)
    told: list[str] = []
    difficulty(
        given(tmp_path),
        tmp_path / "out.jsonl",
        asking,
        on_row=lambda _: told.append(in_flight(asking.clients[0].stats)),
    )
    assert "of 8 calls at once by the provider" in told[0]


# --- the verb ------------------------------------------------------------------------------------


def test_the_verb_asks_no_provider_that_solves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["solve", "difficulty", str(given(tmp_path)), "-o", str(tmp_path / "out.jsonl")]
    assert cli.main([*words, "--provider", "procedural"]) == 2
    assert "solves no tasks" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["solve", "difficulty", "--help"])
    assert "procedural" not in capsys.readouterr().out, "it is not offered"
    assert cli.main([*words, "--provider", "openai_compatible"]) == 2
    assert "--model_name" in capsys.readouterr().err


@pytest.mark.slow
def test_the_verb_rates_a_file_and_is_interrupted_without_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", openai.KEY)
    asked: list[str] = []
    stop = threading.Event()
    monkeypatch.setattr("infinite_rl.cli.solve.stop_on_signals", lambda: nullcontext(stop))

    def answer(request: openai.Request) -> str:
        asked.append(request.prompt)
        if len(asked) == 3:
            stop.set()  # as a signal does
        return f"{tagged('1')}"

    out = tmp_path / "out.csv"
    with openai.OpenAIServer(answer) as server:
        words = ["solve", "difficulty", str(given(tmp_path)), "-o", str(out), "--attempts", "2"]
        words += ["--provider", "openai_compatible", "--model_name", "m", "--price", "1,2"]
        words += ["--base_url", server.base_url, "--threads", "1"]
        assert cli.main([*words, "--dry_run"]) == 0
        assert ": 10 calls," in capsys.readouterr().out
        assert cli.main(words) == 130
        said = capsys.readouterr().err
        assert "completions are kept" in said and not out.exists()
        assert f"are in {out}{CALLS}/{RATED}" in said
        stop.clear()
        assert cli.main(words) == 0
    shown = capsys.readouterr().out
    assert "rows rated: 5, solved always 1, sometimes 0, never 4" in shown
    assert f"calls answered: {10 - 3}; in all: 70 tokens in, 30 out, $0.0001" in shown
    assert len(asked) == 10
    assert [row["pass_rate"] for row in rows.read(out)] == ["1.0", *["0.0"] * 4]
