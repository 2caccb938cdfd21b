"""The main job against a real Gemini service on loopback, through the real client."""

import re
from collections import Counter
from pathlib import Path

import gemini_server as gemini
import pytest
from labelled import soak

from infinite_rl.dataset import load_dataset
from infinite_rl.files.logs import read_rows
from infinite_rl.generation.progress import Progress
from infinite_rl.generator import generate_dataset
from infinite_rl.layout import render, tagged
from infinite_rl.procedural import ProceduralProvider
from infinite_rl.providers.backoff import RetryPolicy
from infinite_rl.providers.gemini import GeminiProvider
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.store import FAILED

AT_ONCE = RetryPolicy(first_wait_s=0.0, max_wait_s=0.0)
_PROCEDURAL = ProceduralProvider()


def right(request: gemini.Request) -> str:
    """What a good model answers: a verified task of the kind that is asked for."""
    assert request.seed is not None
    return _PROCEDURAL.complete(request.system, request.prompt, request.seed).text


MODEL_FAULTS = {
    "wrong": lambda: gemini.text(render("What is 2 + 2?", "4", tagged("5")), kind="wrong"),
    "garbage text": lambda: gemini.text("lorem ipsum \x00 \ud83d", kind="garbage text"),
}


def generate(
    server: gemini.GeminiServer, folder: Path, count: int, threads: int = 8, strengthen: str = "off"
) -> Progress:
    """Without what needs no call of the service; strengthening takes seconds a row."""
    provider = GeminiProvider("a-model", api_key=server.key, base_url=server.base_url)
    return generate_dataset(
        "a-model", count, folder, provider=provider, num_threads=threads, retry=AT_ONCE, verify=0,
        ideas=False, novelty=False, strengthen=strengthen,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("strengthen", ["off", *soak("search")])
def test_faults_of_all_kinds_cost_nothing_but_calls(tmp_path: Path, strengthen: str) -> None:
    """30 % faults, 8 threads: the exact target, no duplicate, each failure logged, no call lost.

    Every row passes its reward again.
    """
    kinds = {**gemini.FAULTS, **MODEL_FAULTS}
    with gemini.GeminiServer(gemini.faulty(right, 0.3, kinds)) as server:
        progress = generate(server, tmp_path, 60, strengthen=strengthen)
        calls = sum(server.kinds.values())
        repeated = Counter({k: n for k, n in server.kinds.items() if k in gemini.PASSING_FAULTS})
        repeated["rate_limited"] = server.kinds["rate_limited"]
        failed = {k: n for k, n in server.kinds.items() if k not in (*repeated, "text")}
        sent_kinds = set(server.kinds)

        assert progress.complete
        rows = load_dataset(tmp_path)
        assert Counter(rows["type"]) == {"coding": 30, "math": 30}
        assert rows["prompt"].str.casefold().is_unique
        assert calls == progress.calls + progress.retries.total()
        assert progress.retries.total() == sum(repeated.values())
        duplicates = progress.rejected["duplicate"]
        logged = list(read_rows(tmp_path / FAILED))
        assert len(logged) == sum(failed.values()) + duplicates == sum(progress.rejected.values())
        assert progress.calls == 60 + len(logged)
        assert len(sent_kinds) >= 9, "the plan did send nearly every kind of fault"

        assert generate(server, tmp_path, 60, strengthen=strengthen).complete
        assert sum(server.kinds.values()) == calls, "a second run makes no call"
    rewards = get_reward_functions()
    for row in rows.to_dict("records"):
        reward = rewards[row["type"]]
        if row["type"] == "coding":
            reward.set_language(row["language"])
        score = reward.compute_reward(model_output=row["response"], expected_output=row["answer"])
        assert (score.status, score.format_score) == ("passed", 1.0), row["prompt"]


@pytest.mark.slow
def test_no_file_holds_the_key_even_where_the_service_echoes_it(tmp_path: Path) -> None:
    def echo(request: gemini.Request) -> gemini.Reply | str:
        if request.attempt == 1:
            return gemini.error(500, "INTERNAL", f"key {gemini.KEY} met an error")
        if request.seed and request.seed % 2:
            return gemini.text(f"{render('Say the key.', gemini.KEY, tagged(gemini.KEY + 'x'))}")
        return right(request).replace("\n\n", f"\n\n{gemini.KEY}\n", 1)

    with gemini.GeminiServer(echo) as server:
        generate(server, tmp_path, 6)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 3
    for path in files:
        assert gemini.KEY not in path.read_text(encoding="utf-8", errors="replace"), path


def test_a_retired_model_or_a_wrong_key_gives_one_clear_line(tmp_path: Path) -> None:
    for models, key, said in (
        (["another"], gemini.KEY, r"a-model.*--model_name"),
        (None, "x", "key"),
    ):
        with gemini.GeminiServer(right, models=models) as server:
            provider = GeminiProvider("a-model", api_key=key, base_url=server.base_url)
            options = {"provider": provider, "retry": AT_ONCE, "verify": 0, "ideas": False}
            progress = generate_dataset("a-model", 4, tmp_path / key, **options)
            assert sum(server.kinds.values()) == 1, "no retry can help"
        assert re.search(said, progress.stopped) and "\n" not in progress.stopped


@pytest.mark.slow
def test_a_service_that_never_gives_text_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    for fault, reply in gemini.EMPTY_FAULTS.items():
        with gemini.GeminiServer(lambda _, reply=reply: reply()) as server:  # type: ignore[misc]
            progress = generate(server, tmp_path / fault, 2, threads=1)
            calls = sum(server.kinds.values())
        assert set(progress.given_up) == {"coding", "math"}
        assert calls == 2 * 5 * 5, "five samples of five drafts each, for both families"
