"""Generation in file batches: nothing is lost between a batch and the process that began it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import gemini_server as gemini
import pytest

from infinite_rl.dataset import load_dataset
from infinite_rl.errors import ProviderUnavailable, UsageError
from infinite_rl.files.logs import read_rows
from infinite_rl.generation.progress import Progress
from infinite_rl.generator import generate_dataset
from infinite_rl.inference.journal import batches
from infinite_rl.layout import render, tagged
from infinite_rl.providers.batch import GeminiBatches
from infinite_rl.providers.models import Price
from infinite_rl.providers.rate_limit import RetryPolicy
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.store import FAILED

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
AT_ONCE = RetryPolicy(first_wait_s=0.0, max_wait_s=0.0)


def mostly_right(request: gemini.Request) -> gemini.Reply | str:
    """A task, wrong for every third seed; or, for a solver, its solution."""
    if request.prompt.startswith("What is"):
        return tagged(str(int(request.prompt.split()[2]) + 1))
    seed = request.seed or 0
    shown = seed + 1 + (seed % 3 == 0)
    return render(f"What is {seed} + 1?", f"{seed + 1}", f"It is {tagged(str(shown))}.")


def make(server: gemini.GeminiServer, folder: Path, count: int = 12, **more: Any) -> Progress:
    provider = GeminiBatches("a-model", api_key=server.key, base_url=server.base_url)
    return generate_dataset(
        "a-model", count, folder, provider=provider, task_dist="0,1", num_threads=4,
        retry=AT_ONCE, **{"batch": True, "verify": 0, **more},
    )  # fmt: skip


def until_done(server: gemini.GeminiServer, folder: Path, **more: Any) -> Progress:
    for _ in range(50):
        progress = make(server, folder, **more)
        if not progress.batches:
            return progress
    raise AssertionError("it never ends")


def asked_twice(server: gemini.GeminiServer) -> list[str]:
    keys = Counter(request.key for request in server.requests if request.key)
    return [key for key, count in keys.items() if count > 1]


def test_calls_go_up_together_and_rows_come_of_what_comes_down(tmp_path: Path) -> None:
    with gemini.GeminiServer(mostly_right) as server:
        first = make(server, tmp_path)
        assert first.batches == ["batches/b0"]
        assert first.stopped == "a batch is in progress"
        assert len(load_dataset(tmp_path)) == 0
        done = until_done(server, tmp_path)
        assert done.complete
        assert len(load_dataset(tmp_path)) == 12
        assert not asked_twice(server)
        assert len(server.batches) >= 2, "repairs went up in a batch of their own"
    failed = list(read_rows(tmp_path / FAILED))
    assert failed
    assert len({row["slot"] for row in failed}) == len(failed)


def test_a_batch_under_way_is_waited_for_and_nothing_else_is_sent(tmp_path: Path) -> None:
    with gemini.GeminiServer(mostly_right, polls=2) as server:
        make(server, tmp_path)
        for _ in range(2):
            again = make(server, tmp_path)
            assert again.batches == ["batches/b0"]
        assert len(server.batches) == 1
        assert [len(batch.slots) for batch in batches(tmp_path)] == [12]


def test_a_folder_with_a_batch_under_way_makes_no_single_calls(tmp_path: Path) -> None:
    with gemini.GeminiServer(mostly_right) as server:
        make(server, tmp_path)
        with pytest.raises(UsageError, match="--resume"):
            make(server, tmp_path, batch=False)


def test_independent_solutions_go_up_in_rounds_until_they_decide(tmp_path: Path) -> None:
    def now_and_then(request: gemini.Request) -> gemini.Reply | str:
        """Every fourth solution is wrong, in a way of its own."""
        solves, seed = request.prompt.startswith("What is"), request.seed or 0
        return tagged(f"-{seed}") if solves and seed % 4 == 0 else mostly_right(request)

    with gemini.GeminiServer(now_and_then) as server:
        done = until_done(server, tmp_path, verify=None)
        assert done.complete
        assert not asked_twice(server)
        keys = [request.key for request in server.requests if "/solve" in request.key]
    rows, solved = load_dataset(tmp_path), Counter(key.split("/solve")[0] for key in keys)
    assert set(rows["verified_by"]) == {"self-consistency"}
    for slot, agreement in zip(rows["slot"], rows["agreement"], strict=True):
        assert solved[slot] == {"1.0": 2, "0.6667": 3}.get(agreement, 4)
    assert len(set(solved.values())) > 1, "some needed a third, the others were not asked for it"


def test_a_batch_costs_half(tmp_path: Path) -> None:
    with gemini.GeminiServer(mostly_right) as server:
        done = until_done(server, tmp_path, price=Price(2.0, 2.0))
    usage = done.spending.usage
    tokens = usage.input_tokens + usage.output_tokens + usage.thinking_tokens
    assert tokens
    assert done.spending.cost == pytest.approx(tokens / 1_000_000)


def test_calls_that_were_not_answered_are_sent_again(tmp_path: Path) -> None:
    with gemini.GeminiServer(mostly_right) as server:
        make(server, tmp_path)
        server.end("batches/b0", "EXPIRED")
        assert make(server, tmp_path).batches == ["batches/b1"]
        assert until_done(server, tmp_path).complete


def test_batches_that_come_down_empty_are_not_sent_for_ever(tmp_path: Path) -> None:
    with gemini.GeminiServer(mostly_right) as server:
        for number in range(3):
            assert make(server, tmp_path).batches == [f"batches/b{number}"]
            server.end(f"batches/b{number}", "FAILED")
        ended = make(server, tmp_path)
        assert not ended.batches
        assert ended.stopped.startswith("3 batches ended without a completion (the batch is ")
        assert len(server.batches) == 3
        assert until_done(server, tmp_path).complete, "the same command goes on"


def test_the_command_does_not_wait_for_ever_for_a_service_that_answers_nothing(
    tmp_path: Path,
) -> None:
    with gemini.GeminiServer(lambda _: gemini.nothing(), polls=0) as server:
        stopped = until_done(server, tmp_path).stopped
        assert "ended without a completion" in stopped
        assert len(server.batches) == 3


def test_a_batch_with_some_answers_is_no_reason_to_end(tmp_path: Path) -> None:
    lost = Counter[str]()

    def loses(request: gemini.Request) -> gemini.Reply | str:
        lost[request.key] += 1
        slow = request.key.startswith("math/0/")
        return gemini.nothing() if slow and lost[request.key] <= 2 else mostly_right(request)

    with gemini.GeminiServer(loses, polls=0) as server:
        assert until_done(server, tmp_path).complete


def test_a_batch_whose_name_was_lost_is_found_by_its_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = GeminiBatches.submit

    def lose(self: GeminiBatches, *arguments: Any) -> str:
        submit(self, *arguments)
        raise ProviderUnavailable("the line went dead")

    with gemini.GeminiServer(mostly_right) as server:
        with monkeypatch.context() as patch:
            patch.setattr(GeminiBatches, "submit", lose)
            assert "went dead" in make(server, tmp_path).stopped
        assert until_done(server, tmp_path).complete
        assert not asked_twice(server)


def test_a_batch_that_was_never_begun_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: GeminiBatches, *arguments: Any) -> str:
        raise ProviderUnavailable("503")

    with gemini.GeminiServer(mostly_right) as server:
        with monkeypatch.context() as patch:
            patch.setattr(GeminiBatches, "submit", refuse)
            make(server, tmp_path)
        assert until_done(server, tmp_path).complete


def test_only_a_provider_of_batches_can_be_asked_in_batches(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gemini"):
        generate_dataset("m", 1, tmp_path, provider=ScriptedProvider([]), batch=True)
    with pytest.raises(UsageError, match="procedural makes no batches.*gemini"):
        generate_dataset("m", 1, tmp_path, provider="procedural", batch=True)


def test_the_command_goes_on_by_itself_with_what_it_was_told(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "infinite_rl", *map(str, words)],
            env={**os.environ, "PYTHONPATH": str(ROOT), **server.environment},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    with gemini.GeminiServer(mostly_right) as server:
        options = ["--batch", "--num_samples", "5", "--task_dist", "0,1", "--model_name", "a-model"]
        begun = command("generate", *options, "--out_dir", out)
        assert begun.returncode == 3, begun.stderr
        assert f"infinite-rl generate --out_dir {out} --resume" in begun.stderr
        status = command("generate", "--out_dir", out, "--status")
        assert (status.returncode, status.stdout) == (3, "batches/b0: 5 calls pending\n")
        done = command("generate", "--resume", "--out_dir", out, "--wait", "0.01")
        assert done.returncode == 0, done.stderr
        assert len(load_dataset(out)) == 5
        assert command("generate", "--out_dir", out, "--status").stdout == "no batch is under way\n"
        assert gemini.KEY not in json.dumps([path.read_text("utf-8") for path in out.glob("*.*")])
    for words in ('{"seeds": 1}', '{"seed": "x"}', "[1]", "nonsense", "{"):
        (out / "batch.json").write_text(words, encoding="utf-8")
        damaged = command("generate", "--resume", "--out_dir", out)
        assert (damaged.returncode, damaged.stderr.count("\n")) == (1, 1), damaged.stderr
    for seconds in ("nan", "-1", "1e300"):
        assert command("generate", "--resume", "--out_dir", out, "--wait", seconds).returncode == 2
    empty = command("generate", "--resume", "--out_dir", tmp_path)
    assert empty.returncode == 2
    assert "no batch run was begun here" in empty.stderr
