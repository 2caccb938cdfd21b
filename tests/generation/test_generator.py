"""The generator: exact targets, nothing lost, every refusal with its reason."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from labelled import Tables, assert_none, unlike

from infinite_rl.dataset import load_dataset
from infinite_rl.errors import (
    NoCompletion,
    ProviderRefused,
    ProviderUnavailable,
    RuntimeMissing,
    StoreError,
    UsageError,
)
from infinite_rl.files.logs import read_rows
from infinite_rl.generation.progress import Progress
from infinite_rl.generator import generate_dataset
from infinite_rl.layout import render, tagged
from infinite_rl.manifest import read_manifest
from infinite_rl.providers.rate_limit import RetryPolicy
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.reward_functions.reward_function import Expected, RewardFunction
from infinite_rl.store import DATASET, FAILED, JOURNAL
from infinite_rl.tasks import TASKS
from infinite_rl.types import Completion, RewardFunctionScore, TaskType, Usage

tables = Tables(__file__)
AT_ONCE = RetryPolicy(first_wait_s=0.0, max_wait_s=0.0)

Reply = Callable[[str, str, int], "str | Completion"]


def right(system: str, prompt: str, seed: int) -> str:
    return render(f"What is {seed} + 1?", f"{seed + 1}", f"Add one. {tagged(str(seed + 1))}")


def wrong(system: str, prompt: str, seed: int) -> str:
    return render(f"What is {seed} + 1?", f"{seed + 1}", f"Add two. {tagged(str(seed + 2))}")


def unreadable(system: str, prompt: str, seed: int) -> str:
    """A sample with a fault of form: its reference cannot be read, and so it is asked for again."""
    return render(f"What is {seed} + 1?", "((", f"Add two. {tagged(str(seed + 2))}")


def make(folder: Path, reply: Reply | ScriptedProvider, count: int = 5, **more: Any) -> Progress:
    """Generate `count` math rows from a script."""
    provider = reply if isinstance(reply, ScriptedProvider) else ScriptedProvider(reply)
    options = {"task_dist": "0,1", "retry": AT_ONCE, **more}
    return generate_dataset("m", count, folder, provider=provider, **options)


def failures(folder: Path) -> list[dict[str, str]]:
    return list(read_rows(folder / FAILED))


def in_turn(*replies: Reply) -> Reply:
    """Answer the first call by the first reply, and so on; the last one answers all that follow."""
    calls = itertools.count()
    return lambda *call: replies[min(next(calls), len(replies) - 1)](*call)


@pytest.mark.parametrize("threads", [1, 8])
def test_it_makes_exactly_the_target(tmp_path: Path, threads: int) -> None:
    provider = ScriptedProvider(right)
    progress = make(tmp_path, provider, 40, num_threads=threads)
    rows = load_dataset(tmp_path)
    assert len(rows) == len(set(rows["prompt"])) == progress.accepted["math"] == 40
    assert len(provider.calls) == progress.calls == 40
    assert progress.complete
    assert not progress.stopped


def test_running_it_again_makes_only_what_is_missing(tmp_path: Path) -> None:
    make(tmp_path, right, 5)
    again = ScriptedProvider(right)
    assert make(tmp_path, again, 5).complete
    assert make(tmp_path, again, 3).complete, "a lower target takes nothing away"
    assert not again.calls and len(load_dataset(tmp_path)) == 5
    make(tmp_path, again, 8)
    assert len(again.calls) == 3
    slots = load_dataset(tmp_path)["slot"]
    assert [slot.split("/")[1] for slot in slots] == [str(index) for index in range(8)]


def test_equal_settings_make_equal_rows_whatever_the_threads(tmp_path: Path) -> None:
    make(tmp_path / "one", right, 20, num_threads=1, seed=3)
    make(tmp_path / "many", right, 20, num_threads=7, seed=3)
    make(tmp_path / "other", right, 20, num_threads=1, seed=4)
    one, many, other = (
        set(load_dataset(tmp_path / name)["id"]) for name in ("one", "many", "other")
    )
    assert one == many
    assert not one & other


def test_a_rejected_sample_is_asked_for_twice_more_then_drawn_anew(tmp_path: Path) -> None:
    provider = ScriptedProvider(in_turn(unreadable, unreadable, unreadable, right))
    progress = make(tmp_path, provider, 1)
    assert progress.complete
    assert progress.rejected == {"unscored": 3}
    assert [row["rectified"] for row in failures(tmp_path)] == ["False", "True", "True"]
    assert load_dataset(tmp_path)["slot"][0] == "math/0/1/0"
    repair = provider.calls[1].prompt
    assert "Format score: 1.00" in repair
    assert "Correctness score: 0.00" in repair
    assert "Add two." in repair, "the previous output is shown"
    assert provider.calls[3].prompt == provider.calls[0].prompt, "a redraw asks afresh"
    make(tmp_path / "mended", in_turn(unreadable, right), 1)
    assert load_dataset(tmp_path / "mended")["slot"][0] == "math/0/0/1"


def test_a_family_is_given_up_after_failed_samples_in_a_row_and_asked_no_more(
    tmp_path: Path,
) -> None:
    provider = ScriptedProvider(unreadable)
    progress = make(tmp_path, provider, 10, max_retries=2)
    assert not progress.complete
    assert "2 samples in a row" in progress.given_up["math"]
    assert len(provider.calls) == 2 * 5 * 3, "two samples of five drafts, each with two repairs"
    assert len(failures(tmp_path)) == 30 and len(load_dataset(tmp_path)) == 0
    calls: list[int] = []
    provider = ScriptedProvider(wrong)

    def watch(progress: Progress) -> None:
        if progress.given_up:
            calls.append(progress.calls)

    make(tmp_path / "b", provider, 10, max_retries=1, num_threads=4, on_progress=watch)
    assert len(provider.calls) - calls[0] <= 4, "only the calls in flight"


def test_a_stop_during_a_wait_counts_as_a_request(tmp_path: Path) -> None:
    stop = threading.Event()
    waiting = RetryPolicy(sleep=lambda *_: stop.set())
    provider = ScriptedProvider([ProviderUnavailable("503")])
    progress = make(tmp_path, provider, 1, stop=stop, retry=waiting)
    assert progress.stopped == "stopped on request"


def test_a_missing_sandbox_shows_before_anything_is_paid_for(tmp_path: Path) -> None:
    class Missing(CodingRewardFunction):
        def prepare(self, language: str = "") -> None:
            raise RuntimeMissing(f"no runtime for {language}")

    provider = ScriptedProvider(right)
    with pytest.raises(RuntimeMissing):
        make(tmp_path, provider, task_dist="1,1", extra_rewards={"coding": Missing()})
    assert not provider.calls


def test_the_others_go_on_when_one_family_is_given_up(tmp_path: Path) -> None:
    def reply(system: str, prompt: str, seed: int) -> str:
        return (right if system == TASKS["math"].system_prompt else wrong)(system, prompt, seed)

    progress = make(tmp_path, reply, 10, task_dist="0.5,0.5", max_retries=1)
    assert progress.accepted == {"math": 5}
    assert list(progress.given_up) == ["coding"]


def test_a_success_resets_the_count_of_failures(tmp_path: Path) -> None:
    # Every other sample fails in all of its 15 calls.
    calls = itertools.count()

    def reply(*call: Any) -> str | Completion:
        return (unreadable if next(calls) % 16 < 15 else right)(*call)

    assert make(tmp_path, reply, 4, max_retries=2).complete


@tables
def test_each_fault_has_its_reason_and_is_logged(tmp_path: Path, text: str, reason: str) -> None:
    folder = tmp_path / str(abs(hash(text)))
    progress = make(folder, lambda *_: text, 1, max_retries=1)
    assert not progress.complete
    assert set(progress.rejected) == {reason}
    assert {row["raw_text"] for row in failures(folder)} == {text}
    assert all(row["error_msg"].startswith(reason) for row in failures(folder))


def test_a_text_cut_at_the_token_limit_is_never_kept(tmp_path: Path) -> None:
    def cut(system: str, prompt: str, seed: int) -> Completion:
        return Completion(right(system, prompt, seed), "m", finish_reason="length")

    progress = make(tmp_path, in_turn(cut, right), 1)
    assert progress.complete
    assert progress.rejected == {"cut off": 1}


def test_an_answer_without_text_costs_a_draft_and_is_logged(tmp_path: Path) -> None:
    provider = ScriptedProvider([NoCompletion("blocked: SAFETY"), right("", "", 1)])
    assert make(tmp_path, provider, 1).complete
    (failure,) = failures(tmp_path)
    assert failure["error_msg"] == "no completion: blocked: SAFETY"
    assert load_dataset(tmp_path)["slot"][0] == "math/0/1/0"


def test_passing_trouble_uses_up_no_attempt(tmp_path: Path) -> None:
    trouble = [ProviderUnavailable("429", retry_after=0.0)] * 20
    provider = ScriptedProvider([*trouble, right("", "", 1)])
    progress = make(tmp_path, provider, 1, max_retries=1)
    assert progress.complete
    assert (progress.calls, progress.retries.total()) == (1, 20)
    assert load_dataset(tmp_path)["slot"][0] == "math/0/0/0"
    assert not failures(tmp_path)


def test_a_run_that_is_slowed_by_trouble_shows_it(tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []

    def see(progress: Progress) -> None:
        shown.append((progress.cap, progress.most))

    for failures in (1, 8):
        overloaded = [ProviderUnavailable("overloaded", status=503)] * failures
        provider = ScriptedProvider([*overloaded, right("", "", failures)])
        folder = tmp_path / str(failures)
        assert make(folder, provider, 1, num_threads=4, on_progress=see).complete
    assert shown == [(4, 4), (4, 4), (4, 4), (2, 4)], "eight in a row halve it, one does not"


def test_a_refusal_of_the_provider_stops_the_run_and_says_why(tmp_path: Path) -> None:
    provider = ScriptedProvider([right("", "", 1), ProviderRefused("the model is retired")])
    progress = make(tmp_path, provider, 5)
    assert progress.stopped == "the model is retired"
    assert len(load_dataset(tmp_path)) == 1
    assert make(tmp_path, right, 5).complete, "it goes on from there"


def test_a_duplicate_prompt_is_rejected_and_drawn_anew(tmp_path: Path) -> None:
    same = right("", "", 1)
    shouted = same.replace("What is", "WHAT  is")
    progress = make(tmp_path, ScriptedProvider([same, shouted, right("", "", 2)]), 2)
    assert progress.rejected == {"duplicate": 1}
    assert len(load_dataset(tmp_path)) == 2


def test_a_reference_that_an_empty_solution_passes_is_rejected(tmp_path: Path) -> None:
    def vacuous(system: str, prompt: str, seed: int) -> str:
        body = "def f(n):\n    return n"
        answer = f"{tagged(chr(10) + '```python' + chr(10) + body + chr(10) + '```' + chr(10))}"
        tests = '{"tests": ["try: f()\\nexcept Exception: pass"]}'
        return render(f"Write f, {seed}.", tests, answer)

    progress = make(tmp_path, vacuous, 1, task_dist="1,0", languages=["python"], max_retries=1)
    assert set(progress.rejected) == {"vacuous"}


def test_earlier_prompts_are_shown_and_a_restart_asks_the_same(tmp_path: Path) -> None:
    make(tmp_path, right, 3)
    stopped = ScriptedProvider([ProviderRefused("stop here")])
    make(tmp_path, stopped, 4)
    shown = stopped.calls[0].prompt
    assert all(prompt in shown for prompt in load_dataset(tmp_path)["prompt"])
    restarted = ScriptedProvider(right)
    make(tmp_path, restarted, 4)
    assert restarted.calls[0] == stopped.calls[0]


def test_an_answer_that_was_not_judged_is_judged_by_the_next_run(tmp_path: Path) -> None:
    make(tmp_path, right, 3)
    rows = (tmp_path / DATASET).read_bytes().splitlines(keepends=True)
    (tmp_path / DATASET).write_bytes(b"".join(rows[:-1]))
    provider = ScriptedProvider(right)
    progress = make(tmp_path, provider, 3)
    assert progress.complete
    assert not provider.calls
    assert progress.calls == 0
    assert (tmp_path / DATASET).read_bytes() == b"".join(rows)


def test_a_rejected_sample_goes_on_where_it_stood(tmp_path: Path) -> None:
    make(tmp_path, ScriptedProvider([unreadable("", "", 1), ProviderRefused("stop here")]), 1)
    provider = ScriptedProvider(right)
    make(tmp_path, provider, 1)
    (call,) = provider.calls
    assert "Add two." in call.prompt, "the repair is asked for, not the task anew"
    assert load_dataset(tmp_path)["slot"][0] == "math/0/0/1"
    assert len(failures(tmp_path)) == 1


def test_a_sample_whose_drafts_are_used_up_is_passed_over_by_the_next_run(tmp_path: Path) -> None:
    make(tmp_path, wrong, 1, max_retries=1)
    provider = ScriptedProvider(right)
    progress = make(tmp_path, provider, 1, max_retries=1)
    assert progress.complete
    assert len(provider.calls) == 1
    assert load_dataset(tmp_path)["slot"][0] == "math/1/0/0"


def test_a_call_that_was_in_flight_when_a_run_died_is_not_made_again(tmp_path: Path) -> None:
    def lose(slot: str) -> None:
        with (tmp_path / JOURNAL).open("a", encoding="utf-8") as journal:
            journal.write(f'{{"slot": "{slot}", "kind": "asked"}}\n')

    make(tmp_path, right, 1)
    for slot in ("math/1/0/0", "math/1/1/0", "math/2/0/0"):
        lose(slot)
    assert make(tmp_path, right, 3).lost == 3
    assert list(load_dataset(tmp_path)["slot"]) == ["math/0/0/0", "math/1/2/0", "math/2/1/0"]
    for draft in range(50):
        lose(f"math/3/{draft}/0")
    make(tmp_path, right, 4)
    assert load_dataset(tmp_path)["slot"][3] == "math/3/50/0", "however often a run dies"


def test_other_settings_in_the_same_folder_are_refused_with_the_difference(tmp_path: Path) -> None:
    make(tmp_path, right, 1, seed=3)
    provider = ScriptedProvider(right)
    with pytest.raises(
        UsageError,
        match=r"seed was 3, is 4 \(--seed\); topics was not set, is knots \(--topics\).*--extend",
    ):
        make(tmp_path, provider, 2, seed=4, topics=["knots"])
    assert not provider.calls
    assert make(tmp_path, provider, 2, seed=4, topics=["knots"], extend=True).complete
    assert make(tmp_path, provider, 3, seed=4, topics=["knots"]).complete, "these hold from now on"


def test_a_folder_in_which_nothing_was_answered_takes_any_settings(tmp_path: Path) -> None:
    make(tmp_path, ScriptedProvider([ProviderRefused("no such model")]), 1, seed=3)
    assert make(tmp_path, right, 1, seed=4).complete


def test_the_manifest_tells_settings_versions_counts_and_tokens(tmp_path: Path) -> None:
    def costly(*call: Any) -> Completion:
        return Completion(right(*call), "m", usage=Usage(10, 20), cost=0.25)

    make(tmp_path, ScriptedProvider([costly("", "", 1), wrong("", "", 2)]), 2, seed=3)
    manifest = read_manifest(tmp_path)
    assert manifest["settings"]["seed"] == 3
    assert "wasmtime" in manifest["versions"]
    assert set(manifest["runtimes"]) == {"python", "javascript"}
    assert manifest["totals"]["rows"] == {"coding": 0, "math": 1}
    assert manifest["totals"]["tokens"]["output_tokens"] == 20
    assert manifest["totals"]["cost"] is None, "the second call's price is not known"
    (run,) = manifest["runs"]
    assert (run["rejected"], run["calls"]) == ({"wrong": 1}, 2)
    assert "end" in run["stopped"], "the script's"


def test_topics_are_gone_through_in_turn(tmp_path: Path) -> None:
    provider = ScriptedProvider(right)
    make(tmp_path, provider, 4, topics=["knots", "graphs"])
    assert ["knots" in call.prompt for call in provider.calls] == [True, False, True, False]


def test_a_stop_keeps_the_calls_under_way(tmp_path: Path) -> None:
    stop = threading.Event()

    def reply(system: str, prompt: str, seed: int) -> str:
        stop.set()
        return right(system, prompt, seed)

    progress = make(tmp_path, reply, 50, num_threads=4, stop=stop)
    assert progress.stopped == "stopped on request"
    assert 1 <= len(load_dataset(tmp_path)) == progress.calls <= 4


def test_progress_is_told_at_the_start_and_after_every_outcome(tmp_path: Path) -> None:
    seen: list[int] = []
    make(tmp_path, right, 5, on_progress=lambda progress: seen.append(progress.accepted["math"]))
    assert seen == [0, 1, 2, 3, 4, 5]


def test_debug_writes_what_was_asked_and_answered(tmp_path: Path) -> None:
    make(tmp_path, in_turn(unreadable, right), 1, debug=True)
    names = sorted(path.name for path in (tmp_path / "debug_prompts").iterdir())
    assert names == ["math_0_0_0.txt", "math_0_0_1.txt"]
    text = (tmp_path / "debug_prompts" / "math_0_0_0.txt").read_text(encoding="utf-8")
    assert TASKS["math"].system_prompt in text
    assert "Add two." in text
    assert "===== outcome =====\nunscored" in text


def test_wrong_options_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    provider = ScriptedProvider(right)
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
    calls = [(said, partial(make, tmp_path / "out", provider, **each)) for said, each in options]
    oracle = partial(generate_dataset, "m", 1, tmp_path / "out", provider="oracle")
    assert_none(unlike([*calls, ("UnknownName: .*oracle.*gemini.*procedural", oracle)]))
    assert not provider.calls
    assert not (tmp_path / "out").exists()


def test_a_foreign_dataset_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "dataset.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    provider = ScriptedProvider(right)
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


def test_a_fault_of_ours_is_raised_after_the_rest_is_kept(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="a bug in the reward"):
        make(tmp_path, right, 5, extra_rewards={"math": Own("broken")})


def test_a_users_own_task_reward_and_provider_need_no_edit(tmp_path: Path) -> None:
    def reply(_: str, __: str, seed: int) -> str:
        return render(f"Shout w{seed}", f"w{seed}", tagged(f"W{seed}"))

    task = TaskType("shout", "words", "shout", "Shout a word.", "A word, please.")
    more = {"extra_tasks": {"shout": task}, "extra_rewards": {"shout": Own("shout")}}
    assert make(tmp_path, reply, 4, task_dist={"words": 1.0}, **more).complete
    assert set(load_dataset(tmp_path)["type"]) == {"words"}


def test_coding_slots_go_through_the_languages_in_turn_and_aliases_name_them(
    tmp_path: Path,
) -> None:
    names = {task.system_prompt: name for name, task in TASKS.items()}
    provider = ScriptedProvider([NoCompletion("nothing")] * 25)
    make(tmp_path / "a", provider, 4, task_dist="1,0", max_retries=4)
    requested = [names[call.system] for call in provider.calls]
    assert requested == [*["python"] * 5, *["javascript"] * 5] * 2
    make(tmp_path / "b", provider, 1, task_dist="1,0", languages=["JS"], max_retries=1)
    assert names[provider.calls[-1].system] == "javascript"
