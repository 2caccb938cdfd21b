"""The engine `asyncio`, with real models in threads: what it shares with the local engine."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from test_training_local import (
    ROWS,
    Interrupted,
    config,
    curve,
    cut_at,
    digits,
    model,
    weights,
)

from infinite_rl.errors import UsageError
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.core.learner import load_model
from infinite_rl.training.engines.async_controller import OUTCOMES
from infinite_rl.training.runs import checkpoint
from infinite_rl.training.runs.run_folder import read_events, read_rollouts

__all__ = ["model"]  # a fixture
NAMED = [{**row, "id": f"sum-{place}"} for place, row in enumerate(ROWS)]


def at_scale(path: Path, out: Path, /, **values: Any) -> TrainingConfig:
    return config(path, out, **{"engine": "asyncio", **values})


def learned(found: Path) -> Counter[tuple[int, str]]:
    """How many answers to each row each step learned from."""
    rollouts = read_rollouts(found.parent.parent)
    return Counter(
        (each["step"], each["row"]) for each in rollouts if each.get("fate") != "filtered"
    )


def fates(found: Path) -> Counter[str]:
    told = Counter[str]()
    for event in read_events(found.parent.parent, "fate"):
        told.update({name: event[name] for name in OUTCOMES})
    return +told


def test_without_ray_its_engine_is_refused_before_a_folder_is_made(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinite_rl.training.find_spec", lambda _: None)
    said = r"training needs ray: pip install 'infinite-rl\[train,ray\]'"
    with pytest.raises(UsageError, match=said):
        train(ROWS, digits, config(model, tmp_path, engine="ray"))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_alone_and_without_staleness_it_takes_the_prompts_of_the_local_engine(
    model: Path, tmp_path: Path
) -> None:
    one = train(NAMED, digits, config(model, tmp_path / "a"))
    other = train(NAMED, digits, at_scale(model, tmp_path / "b", keep_zero_std_groups=True))
    assert learned(one) == learned(other)
    assert [each["staleness"] for each in curve(other)] == [0] * 6
    assert all(each["ratio"] == pytest.approx(1, abs=1e-4) for each in curve(other))


@pytest.mark.slow
def test_without_staleness_who_samples_does_not_matter(model: Path, tmp_path: Path) -> None:
    """Each prompt's random numbers are its own, whatever worker it comes to, in what company."""
    said = []
    for workers in (1, 2):
        settings = at_scale(
            model,
            tmp_path / str(workers),
            rollout_workers=workers,
            reward_workers=workers,
            max_steps=2,
        )
        found = train(NAMED, digits, settings)
        told = read_rollouts(found.parent.parent)
        said.append([(each["row"], each["completion"], each["reward"]) for each in told])
    assert said[0] == said[1]


@pytest.mark.slow
def test_two_of_each_with_staleness_learn_from_each_prompt_once(
    model: Path, tmp_path: Path
) -> None:
    settings = at_scale(
        model, tmp_path, max_staleness=2, prompts_per_sync=8, rollout_workers=2, reward_workers=2,
        keep_zero_std_groups=True, max_steps=5, batch_size=4,
    )  # fmt: skip
    found = train(NAMED, digits, settings)
    assert sorted(row for _, row in learned(found)) == sorted(row["id"] for row in NAMED)
    assert fates(found) == {"used": 20}
    assert all(0 <= each["staleness"] <= 2 for each in curve(found))
    stages = {each["stage"] for each in read_events(found.parent.parent, "span")}
    assert stages >= {"rollout", "reward", "train", "sync", "save"}


@pytest.mark.slow
def test_grpo_raises_the_reward(model: Path, tmp_path: Path) -> None:
    settings = at_scale(
        model,
        tmp_path,
        max_steps=25,
        batch_size=8,
        group_size=8,
        learning_rate=1e-2,
        max_staleness=1,
    )
    rewards = [event["reward"] for event in curve(train(ROWS, digits, settings))]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.2


@pytest.mark.slow
def test_a_run_that_goes_on_learns_from_nothing_twice(model: Path, tmp_path: Path) -> None:
    settings = at_scale(model, tmp_path, max_staleness=1, keep_zero_std_groups=True, max_steps=5)
    run = cut_at(3, NAMED, digits, settings)  # the newest checkpoint is that of step 2
    found = train(NAMED, digits, settings, resume=run)
    assert sorted(row for _, row in learned(found)) == sorted(row["id"] for row in NAMED)
    assert [each["step"] for each in read_events(run, "train")] == [1, 2, 3, 4, 5]
    assert fates(found)["used"] == 20


_KILLED = """
import sys
from test_training_local import digits
from test_training_async import NAMED
from infinite_rl.training import TrainingConfig, train

config = TrainingConfig.read(sys.argv[1])
train(NAMED, digits, config, on_step=lambda step, values: print(step, flush=True))
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_run_that_is_stopped_goes_on(model: Path, tmp_path: Path, sent: signal.Signals) -> None:
    settings = at_scale(
        model, tmp_path / "runs", max_staleness=1, rollout_workers=2, keep_zero_std_groups=True,
        max_steps=5, save_every=1,
    )  # fmt: skip
    (tmp_path / "config.yaml").write_text(json.dumps(settings.values()))
    root = Path(__file__).parents[2]
    paths = (root / "tests" / "support", Path(__file__).parent, root)
    command = [sys.executable, "-c", _KILLED, str(tmp_path / "config.yaml")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == "3":
                process.send_signal(sent)
    assert process.returncode != 0
    (run,) = (tmp_path / "runs").iterdir()
    assert 2 <= checkpoint.step_of(checkpoint.newest(run) or Path()) <= 4
    found = train(NAMED, digits, settings, resume=run)
    assert found.name == "step_5"
    assert sorted(row for _, row in learned(found)) == sorted(row["id"] for row in NAMED)


def test_groups_of_equal_rewards_are_told_of_and_not_learned_from(
    model: Path, tmp_path: Path
) -> None:
    def even(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
        wanted = int(rows[0]["answer"]) % 2 == 0
        return [float(wanted and place == 0) for place in range(len(texts))]

    found = train(NAMED, even, at_scale(model, tmp_path, max_steps=1))
    (event,) = curve(found)
    told = list(read_rollouts(found.parent.parent))
    assert event["filtered"] == sum(each["fate"] == "filtered" for each in told) / 4 > 0
    assert event["completions"] == 16 and event["dropped_groups"] == 0
    assert event["unequal"] == 4 / (4 + event["filtered"])
    assert event["reward"] == pytest.approx(event["unequal"] / 4)


@pytest.mark.slow
def test_a_thread_that_never_answers_is_left_to_itself(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls, end = itertools.count(), threading.Event()

    def hangs(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> Sequence[float | None]:
        if next(calls) == 1:
            hung.append(threading.current_thread())
            end.wait()
        return digits(rows, texts)

    hung: list[threading.Thread] = []
    settings = at_scale(model, tmp_path, max_steps=2, worker_timeout=5, keep_zero_std_groups=True)
    try:
        found = train(NAMED, hangs, settings)
        (lost,) = read_events(found.parent.parent, "lost")
        assert lost["worker"] == "reward-0" and "no answer within 5 s" in lost["why"]
        assert sum(learned(found).values()) == 8 * settings.group_size
        (thread,) = hung
        assert thread.is_alive() and thread.daemon, "the process could not end"
        assert "reward-0 is left to itself, as a thread cannot be ended" in caplog.messages
    finally:
        end.set()


@pytest.mark.slow
def test_answers_that_are_learned_from_again_count_once_in_the_reward(
    model: Path, tmp_path: Path
) -> None:
    settings = at_scale(
        model, tmp_path, max_staleness=1, num_iterations=2, keep_zero_std_groups=True, max_steps=4
    )
    found = train(NAMED, digits, settings)
    before = set[str]()
    for event in curve(found):
        told = [
            each for each in read_rollouts(found.parent.parent) if each["step"] == event["step"]
        ]
        new = [each["reward"] for each in told if each["row"] not in before]
        before |= {each["row"] for each in told}
        assert event.get("reward") == (pytest.approx(sum(new) / len(new)) if new else None)
    assert sum(learned(found).values()) > len(before) * settings.group_size


def test_it_runs_where_a_loop_runs_already(model: Path, tmp_path: Path) -> None:
    async def notebook() -> Path:
        return train(ROWS, digits, at_scale(model, tmp_path, max_steps=1))

    assert asyncio.run(notebook()).name == "step_1"


def test_an_error_of_the_caller_stops_all_threads(model: Path, tmp_path: Path) -> None:
    def stop(step: int, values: Mapping[str, Any]) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        train(ROWS, digits, at_scale(model, tmp_path, max_staleness=1), on_step=stop)


def test_a_run_of_another_engine_does_not_say_which_prompts_are_done(
    model: Path, tmp_path: Path
) -> None:
    run = train(ROWS, digits, config(model, tmp_path, max_steps=1)).parent.parent
    with pytest.raises(UsageError, match="engine was 'local', is 'asyncio'"):
        train(ROWS, digits, at_scale(model, tmp_path, max_steps=2), resume=run)


def test_other_rows_are_refused(model: Path, tmp_path: Path) -> None:
    run = train(NAMED, digits, at_scale(model, tmp_path, max_steps=1)).parent.parent
    with pytest.raises(UsageError, match="not the prompts"):
        train(NAMED[1:], digits, at_scale(model, tmp_path, max_steps=2), resume=run)


@pytest.mark.slow
def test_how_many_prompts_are_in_a_pass_does_not_change_what_is_learned(
    model: Path, tmp_path: Path
) -> None:
    found = [
        train(ROWS, digits, config(model, tmp_path / str(size), max_steps=1, prompts_per_pass=size))
        for size in (0, 1, 2)
    ]
    norms = [curve(each)[0]["grad_norm"] for each in found]
    assert norms == pytest.approx([norms[0]] * 3, rel=1e-4)
    one, other = weights(found[0]), weights(found[1])
    assert all(torch.allclose(one[name], other[name], atol=1e-5) for name in one)


def test_threads_may_load_models_beside_each_other(model: Path, tmp_path: Path) -> None:
    settings = config(model, tmp_path)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: load_model(settings), range(8)))
    assert all(torch.equal(each.lm_head.weight, found[0].lm_head.weight) for each in found)
    assert not found[0].lm_head.weight.is_meta
