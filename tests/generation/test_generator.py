"""The generator: exact targets, nothing lost, every refusal with its reason."""

import itertools
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from labelled import Tables, assert_none, unlike
from sums import Reply, failures, make, right, task, unreadable, wrong

from infinite_rl.dataset import load_dataset
from infinite_rl.errors import (
    NoCompletion,
    ProviderRefused,
    ProviderUnavailable,
    RuntimeMissing,
    StoreError,
    UsageError,
)
from infinite_rl.generation.progress import Progress
from infinite_rl.generator import generate_dataset
from infinite_rl.layout import render, tagged
from infinite_rl.manifest import read_manifest
from infinite_rl.providers.backoff import RetryPolicy
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.reward_functions.reward_function import Expected, RewardFunction
from infinite_rl.store import DATASET, JOURNAL
from infinite_rl.tasks import TASKS
from infinite_rl.types import Completion, RewardFunctionScore, TaskType, Usage

tables = Tables(__file__)
ONE = right("", "", 1)


def in_turn(*replies: Reply) -> Reply:
    """Answer the first call by the first reply, and so on; the last one answers all that follow."""
    calls = itertools.count()
    return lambda *call: replies[min(next(calls), len(replies) - 1)](*call)


def slots(folder: Path) -> list[str]:
    return list(load_dataset(folder)["slot"])


# --- targets -------------------------------------------------------------------------------------
def test_it_makes_exactly_the_target_and_equal_rows_whatever_the_threads(tmp_path: Path) -> None:
    ids = {}
    for threads, seed in ((1, 3), (7, 3), (8, 4)):
        folder, provider = tmp_path / str(threads), ScriptedProvider(right)
        progress = make(folder, provider, 40, num_threads=threads, seed=seed)
        rows = load_dataset(folder)
        assert len(rows) == len(set(rows["prompt"])) == progress.accepted["math"] == 40
        assert len(provider.calls) == progress.calls == 40
        assert progress.complete and not progress.stopped
        ids[threads] = set(rows["id"])
    assert ids[1] == ids[7] and not ids[1] & ids[8]


def test_running_it_again_makes_only_what_is_missing(tmp_path: Path) -> None:
    make(tmp_path, right, 5)
    again = ScriptedProvider(right)
    assert make(tmp_path, again, 5).complete
    assert make(tmp_path, again, 3).complete, "a lower target takes nothing away"
    assert not again.calls and len(load_dataset(tmp_path)) == 5
    make(tmp_path, again, 8)
    assert len(again.calls) == 3
    assert slots(tmp_path) == [f"math/{index}/0/0" for index in range(8)]


def test_progress_is_told_at_the_start_and_after_every_outcome(tmp_path: Path) -> None:
    seen: list[int] = []
    make(tmp_path, right, 5, on_progress=lambda progress: seen.append(progress.accepted["math"]))
    assert seen == [0, 1, 2, 3, 4, 5]


def test_topics_and_the_languages_of_code_are_gone_through_in_turn(tmp_path: Path) -> None:
    provider = ScriptedProvider(right)
    make(tmp_path / "topics", provider, 4, topics=["knots", "graphs"])
    assert ["knots" in call.prompt for call in provider.calls] == [True, False, True, False]
    names = {each.system_prompt: name for name, each in TASKS.items()}
    provider = ScriptedProvider([NoCompletion("nothing")] * 25)
    make(tmp_path / "a", provider, 4, task_dist="1,0", max_retries=4)
    requested = [names[call.system] for call in provider.calls]
    assert requested == [*["python"] * 5, *["javascript"] * 5] * 2
    make(tmp_path / "b", provider, 1, task_dist="1,0", languages=["JS"], max_retries=1)
    assert names[provider.calls[-1].system] == "javascript"


def test_earlier_prompts_are_shown_and_a_restart_asks_the_same(tmp_path: Path) -> None:
    make(tmp_path, right, 3)
    stopped = ScriptedProvider([ProviderRefused("stop here")])
    make(tmp_path, stopped, 4)
    shown = stopped.calls[0].prompt
    assert all(prompt in shown for prompt in load_dataset(tmp_path)["prompt"])
    restarted = ScriptedProvider(right)
    make(tmp_path, restarted, 4)
    assert restarted.calls[0] == stopped.calls[0]


# --- rejections ----------------------------------------------------------------------------------
@tables
def test_each_fault_has_its_reason_and_is_logged(tmp_path: Path, text: str, reason: str) -> None:
    folder = tmp_path / str(abs(hash(text)))
    progress = make(folder, lambda *_: text, 1, max_retries=1)
    assert not progress.complete
    assert set(progress.rejected) == {reason}
    assert {row["raw_text"] for row in failures(folder)} == {text}
    assert all(row["error_msg"].startswith(reason) for row in failures(folder))


def test_a_text_that_is_cut_lacking_or_repeated_is_rejected_and_redrawn(tmp_path: Path) -> None:
    cut = Completion(task(5), "m", finish_reason="length")
    for folder, replies, rejected in (
        ("cut", [cut, ONE], {"cut off": 1}),
        ("blocked", [NoCompletion("blocked: SAFETY"), ONE], {"no completion": 1}),
        ("same", [ONE, ONE.replace("What is", "WHAT  is"), task(2)], {"duplicate": 1}),
    ):
        progress = make(tmp_path / folder, replies, len(replies) - 1)
        assert progress.complete and progress.rejected == rejected
        assert slots(tmp_path / folder)[-1] == f"math/{len(replies) - 2}/1/0"
    (failure,) = failures(tmp_path / "blocked")
    assert failure["error_msg"] == "no completion: blocked: SAFETY"


def test_a_reference_that_an_empty_solution_passes_is_rejected(tmp_path: Path) -> None:
    def vacuous(system: str, prompt: str, seed: int) -> str:
        tests = '{"tests": ["try: f()\\nexcept Exception: pass"]}'
        response = tagged("\n```python\ndef f(n):\n    return n\n```\n")
        return render(f"Write f, {seed}.", tests, response)

    progress = make(tmp_path, vacuous, 1, task_dist="1,0", languages=["python"], max_retries=1)
    assert set(progress.rejected) == {"vacuous"}
    empty = "accepts an empty solution, '<answer>\\n```python"
    assert empty in failures(tmp_path)[0]["error_msg"]


def test_a_rejected_sample_is_asked_for_twice_more_then_drawn_anew(tmp_path: Path) -> None:
    provider = ScriptedProvider(in_turn(unreadable, unreadable, unreadable, right))
    progress = make(tmp_path, provider, 1)
    assert progress.complete and progress.rejected == {"unscored": 3}
    assert [row["rectified"] for row in failures(tmp_path)] == ["False", "True", "True"]
    assert slots(tmp_path) == ["math/0/1/0"]
    for shown in ("Format score: 1.00", "Correctness score: 0.00", "So it is"):
        assert shown in provider.calls[1].prompt, "the previous output is shown with its scores"
    assert provider.calls[3].prompt == provider.calls[0].prompt, "a redraw asks afresh"
    make(tmp_path / "mended", in_turn(unreadable, right), 1)
    assert slots(tmp_path / "mended") == ["math/0/0/1"]


def test_debug_writes_what_was_asked_and_answered(tmp_path: Path) -> None:
    make(tmp_path, in_turn(unreadable, right), 1, debug=True)
    names = sorted(path.name for path in (tmp_path / "debug_prompts").iterdir())
    assert names == ["math_0_0_0.txt", "math_0_0_1.txt"]
    text = (tmp_path / "debug_prompts" / "math_0_0_0.txt").read_text(encoding="utf-8")
    for part in (TASKS["math"].system_prompt, "So it is", "===== outcome =====\nunscored"):
        assert part in text


def test_a_family_is_given_up_after_failures_in_a_row_and_asked_no_more(tmp_path: Path) -> None:
    provider = ScriptedProvider(unreadable)
    progress = make(tmp_path, provider, 10, max_retries=2)
    assert not progress.complete and "2 samples in a row" in progress.given_up["math"]
    assert len(provider.calls) == 2 * 5 * 3, "two samples of five drafts, each with two repairs"
    assert len(failures(tmp_path)) == 30 and len(load_dataset(tmp_path)) == 0
    calls: list[int] = []
    provider = ScriptedProvider(wrong)

    def watch(progress: Progress) -> None:
        if progress.given_up:
            calls.append(progress.calls)

    make(tmp_path / "b", provider, 10, max_retries=1, num_threads=4, on_progress=watch)
    assert len(provider.calls) - calls[0] <= 4, "only the calls in flight"


def test_a_success_resets_the_count_of_failures_and_other_families_go_on(tmp_path: Path) -> None:
    calls = itertools.count()

    def sometimes(*call: Any) -> str | Completion:
        """Every other sample fails in all of its 15 calls."""
        return (unreadable if next(calls) % 16 < 15 else right)(*call)

    assert make(tmp_path / "a", sometimes, 4, max_retries=2).complete

    def sums_only(system: str, prompt: str, seed: int) -> str:
        return (right if system == TASKS["math"].system_prompt else wrong)(system, prompt, seed)

    progress = make(tmp_path / "b", sums_only, 10, task_dist="0.5,0.5", max_retries=1)
    assert progress.accepted == {"math": 5} and list(progress.given_up) == ["coding"]


# --- trouble -------------------------------------------------------------------------------------
def test_passing_trouble_uses_up_no_attempt(tmp_path: Path) -> None:
    trouble = [ProviderUnavailable("429", retry_after=0.0)] * 20
    progress = make(tmp_path, [*trouble, ONE], 1, max_retries=1)
    assert progress.complete
    assert (progress.calls, progress.retries.total()) == (1, 20)
    assert slots(tmp_path) == ["math/0/0/0"] and not failures(tmp_path)


def test_a_run_that_is_slowed_by_trouble_shows_it(tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []

    def see(progress: Progress) -> None:
        shown.append((progress.cap, progress.most))

    for failed in (1, 8):
        replies = [*[ProviderUnavailable("overloaded", status=503)] * failed, task(failed)]
        folder = tmp_path / str(failed)
        assert make(folder, replies, 1, num_threads=4, on_progress=see).complete
    assert shown == [(4, 4), (4, 4), (4, 4), (2, 4)], "eight in a row halve it, one does not"


def test_a_refusal_of_the_provider_stops_the_run_and_says_why(tmp_path: Path) -> None:
    progress = make(tmp_path, [ONE, ProviderRefused("the model is retired")], 5)
    assert progress.stopped == "the model is retired"
    assert len(load_dataset(tmp_path)) == 1
    assert make(tmp_path, right, 5).complete, "it goes on from there"


def test_a_stop_keeps_calls_under_way_and_counts_as_a_request_in_a_wait(tmp_path: Path) -> None:
    stop = threading.Event()

    def reply(system: str, prompt: str, seed: int) -> str:
        stop.set()
        return task(seed)

    progress = make(tmp_path / "a", reply, 50, num_threads=4, stop=stop)
    assert progress.stopped == "stopped on request"
    assert 1 <= len(load_dataset(tmp_path / "a")) == progress.calls <= 4
    waited = threading.Event()
    policy = RetryPolicy(sleep=lambda *_: waited.set())
    progress = make(tmp_path, [ProviderUnavailable("503")], 1, stop=waited, retry=policy)
    assert progress.stopped == "stopped on request"


# --- resuming ------------------------------------------------------------------------------------
def test_an_answer_that_was_not_judged_is_judged_by_the_next_run(tmp_path: Path) -> None:
    make(tmp_path, right, 3)
    rows = (tmp_path / DATASET).read_bytes().splitlines(keepends=True)
    (tmp_path / DATASET).write_bytes(b"".join(rows[:-1]))
    provider = ScriptedProvider(right)
    progress = make(tmp_path, provider, 3)
    assert progress.complete and not provider.calls and progress.calls == 0
    assert (tmp_path / DATASET).read_bytes() == b"".join(rows)


def test_a_rejected_sample_goes_on_where_it_stood(tmp_path: Path) -> None:
    make(tmp_path / "a", [unreadable("", "", 1), ProviderRefused("stop here")], 1)
    provider = ScriptedProvider(right)
    make(tmp_path / "a", provider, 1)
    (call,) = provider.calls
    assert "So it is" in call.prompt, "the repair is asked for, not the task anew"
    assert slots(tmp_path / "a") == ["math/0/0/1"] and len(failures(tmp_path / "a")) == 1
    make(tmp_path / "b", wrong, 1, max_retries=1)
    provider = ScriptedProvider(right)
    assert make(tmp_path / "b", provider, 1, max_retries=1).complete and len(provider.calls) == 1
    assert slots(tmp_path / "b") == ["math/1/0/0"], (
        "where its drafts are used up, it is passed over"
    )


def test_a_call_that_was_in_flight_when_a_run_died_is_not_made_again(tmp_path: Path) -> None:
    def lose(slot: str) -> None:
        with (tmp_path / JOURNAL).open("a", encoding="utf-8") as journal:
            journal.write(f'{{"slot": "{slot}", "kind": "asked"}}\n')

    make(tmp_path, right, 1)
    for slot in ("math/1/0/0", "math/1/1/0", "math/2/0/0"):
        lose(slot)
    assert make(tmp_path, right, 3).lost == 3
    assert slots(tmp_path) == ["math/0/0/0", "math/1/2/0", "math/2/1/0"]
    for draft in range(50):
        lose(f"math/3/{draft}/0")
    make(tmp_path, right, 4)
    assert slots(tmp_path)[3] == "math/3/50/0", "however often a run dies"


def test_other_settings_in_the_same_folder_are_refused_with_the_difference(tmp_path: Path) -> None:
    make(tmp_path, [ProviderRefused("no such model")], 1, seed=2)
    make(tmp_path, right, 1, seed=3)  # nothing was answered yet: that takes any settings
    provider, other = ScriptedProvider(right), {"seed": 4, "topics": ["knots"]}
    changes = r"seed was 3, is 4 \(--seed\); topics was not set, is knots \(--topics\).*--extend"
    with pytest.raises(UsageError, match=changes):
        make(tmp_path, provider, 2, **other)
    assert not provider.calls
    assert make(tmp_path, provider, 2, **other, extend=True).complete
    assert make(tmp_path, provider, 3, **other).complete, "these hold from now on"


def test_a_folder_of_other_rows_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    (file := tmp_path / "train.jsonl").write_text("")
    with pytest.raises(UsageError, match=r"other rows, in train.jsonl, .*: name a new folder"):
        generate_dataset("m", 1, tmp_path, provider="procedural")
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]
    file.unlink()
    (tmp_path / "notes.md").write_text("no rows")
    assert generate_dataset("m", 1, tmp_path, provider="procedural").complete
    (tmp_path / "scored.jsonl").write_text("")  # beside a run it stays unread, with a warning
    assert generate_dataset("m", 1, tmp_path, provider="procedural").complete


def test_the_manifest_tells_settings_versions_counts_and_tokens(tmp_path: Path) -> None:
    costly = Completion(ONE, "m", usage=Usage(10, 20), cost=0.25)
    make(tmp_path, [costly, wrong("", "", 2)], 2, seed=3)
    manifest = read_manifest(tmp_path)
    assert manifest["settings"]["seed"] == 3 and "wasmtime" in manifest["versions"]
    assert {"python", "javascript"} <= set(manifest["runtimes"])
    assert manifest["totals"]["rows"] == {"coding": 0, "math": 1}
    assert manifest["totals"]["tokens"]["output_tokens"] == 20
    assert manifest["totals"]["cost"] is None, "the second call's price is not known"
    (run,) = manifest["runs"]
    assert (run["rejected"], run["calls"]) == ({"wrong": 1}, 2)
    assert "end" in run["stopped"], "the script's"


# --- before anything is asked --------------------------------------------------------------------
def test_wrong_options_a_foreign_file_and_no_sandbox_are_refused_first(tmp_path: Path) -> None:
    class Missing(CodingRewardFunction):
        def prepare(self, language: str = "") -> None:
            raise RuntimeMissing(f"no runtime for {language}")

    provider, out = ScriptedProvider(right), tmp_path / "out"
    gone = {"extra_tasks": {"x": TaskType("x", "x", "gone", "", "")}, "task_dist": {"x": 1}}
    options: list[tuple[str, dict[str, Any]]] = [
        ("got 3", {"task_dist": "1,1,1"}),
        ("above 0", {"task_dist": "0,0"}),
        *((f"{name} must be", {name: 0}) for name in ("num_threads", "save_every", "max_retries")),
        ("temperature", {"temperature": float("nan")}),
        ("max_output_tokens", {"max_output_tokens": 0}),
        ("cobol", {"languages": ["cobol"]}),
        ("timeout", {"timeout": 0}),
        ("no language", {"languages": [], "task_dist": "1,1"}),
        ("UnknownName: .*gone", gone),
    ]
    calls = [(said, partial(make, out, provider, **each)) for said, each in options]
    oracle = partial(generate_dataset, "m", 1, out, provider="oracle")
    assert_none(unlike([*calls, ("UnknownName: .*oracle.*gemini.*procedural", oracle)]))
    assert not out.exists()
    with pytest.raises(RuntimeMissing):
        make(tmp_path, provider, task_dist="1,1", extra_rewards={"coding": Missing()})
    (tmp_path / DATASET).write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(StoreError):
        make(tmp_path, provider)
    assert not provider.calls


class Own(RewardFunction):
    """Passes an answer in capitals; raises if it is "broken"."""

    def compute_reward(
        self, model_output: str, expected_output: Expected, answer_tag: str = "answer"
    ) -> RewardFunctionScore:
        if self.task_name == "broken":
            raise RuntimeError("a bug in the reward")
        passed = model_output == tagged(str(expected_output).upper(), answer_tag)
        return RewardFunctionScore(1.0, float(passed), status="passed" if passed else "failed")


def test_a_users_own_task_and_reward_need_no_edit_and_a_bug_in_it_is_raised(tmp_path: Path) -> None:
    def reply(_: str, __: str, seed: int) -> str:
        return render(f"Shout w{seed}", f"w{seed}", tagged(f"W{seed}"))

    shout = TaskType("shout", "words", "shout", "Shout a word.", "A word, please.")
    more = {"extra_tasks": {"shout": shout}, "extra_rewards": {"shout": Own("shout")}}
    assert make(tmp_path / "a", reply, 4, task_dist={"words": 1.0}, **more).complete
    assert set(load_dataset(tmp_path / "a")["type"]) == {"shout"}
    wrong = make(tmp_path / "c", ScriptedProvider([render("Shout.", "w", tagged("w"))]), 1,
                 task_dist={"words": 1.0}, **more)  # fmt: skip
    assert "at its end after replies: 1" in wrong.stopped
    got = "the reward shout gives no reason (answer 'w', response '<answer>w</answer>')"
    assert failures(tmp_path / "c")[0]["error_msg"] == f"wrong: {got}"
    with pytest.raises(RuntimeError, match="a bug in the reward"):
        make(tmp_path / "b", right, 5, extra_rewards={"math": Own("broken")})


def test_what_a_users_own_parts_get_wrong_is_said_with_what_to_write(tmp_path: Path) -> None:
    class Careless(RewardFunction):
        def compute_reward(self, model_output: str, *_: Any) -> Any:
            score = RewardFunctionScore(1.0, 1.0)
            return 1.0 if self.task_name == "bare" else score

    def reply(_: str, __: str, seed: int) -> str:
        return render(f"Shout w{seed}", "w", tagged("w"))

    shout = TaskType("shout", "words", "shout", "Shout a word.", "A word, please.")

    def run(name: str, replies: Any, reward: Any, family: str = "words") -> Progress:
        more = {"extra_tasks": {"shout": shout}, "extra_rewards": {"shout": reward}}
        return make(tmp_path / name, ScriptedProvider(replies), 1, task_dist={family: 1.0}, **more)

    said = "its score is 1.0 but its status is 'failed': set status='passed'"
    assert said in run("a", reply, Careless("shout")).stopped
    assert failures(tmp_path / "a")[0]["error_msg"] == f"wrong: {said}"
    with pytest.raises(UsageError, match="of 'bare' returned float; return a RewardFunctionScore"):
        run("b", reply, Careless("bare"))
    with pytest.raises(UsageError, match="the function must return a text .*not dict"):
        run("c", lambda *_: {"prompt": "Shout."}, Own("shout"))
    with pytest.raises(UsageError, match="'shout' is a task of the family 'words'"):
        run("d", reply, Own("shout"), "shout")
    with pytest.raises(UsageError, match=r"'shout' is a class: write Own\('shout'\)"):
        run("e", reply, Own)
