"""The contract of the engines at scale, with real models: in threads (`asyncio`) and on Ray."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_training import (
    ONCE,
    ROWS,
    config,
    curve,
    cut_at,
    digits,
    events,
    rollouts,
    run_of,
    trained_on,
    weights,
)

from infinite_rl.errors import InfiniteRLError, UsageError
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.core.learner import load_model
from infinite_rl.training.engines.async_controller import OUTCOMES
from infinite_rl.training.runs import checkpoint
from infinite_rl.training.runs.run_folder import read_events

Made = Callable[..., TrainingConfig]  # from the directory of the runs and values
ENGINES = ["asyncio", pytest.param("ray", marks=pytest.mark.slow)]
BOTH = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes: the first has room for the trainer alone."""
    pytest.importorskip("ray")
    from ray_nodes import nodes

    with nodes(1, 5) as cluster:
        yield cluster


@pytest.fixture
def at_scale(engine: str, model: Path, request: pytest.FixtureRequest) -> Made:
    """Configs of the engine."""
    own: dict[str, Any] = {"engine": engine, "keep_zero_std_groups": True}
    if engine == "ray":
        own["ray_address"] = request.getfixturevalue("cluster").address
    return lambda out, **values: config(model, out, **{**own, **values})


def outcomes(last: Path) -> Counter[str]:
    counts = Counter[str]()
    for event in events(last, "outcomes"):
        counts.update({name: event[name] for name in OUTCOMES})
    return +counts


# --- the contract --------------------------------------------------------------------------------


@BOTH
def test_workers_with_staleness_train_on_each_prompt_once(at_scale: Made, tmp_path: Path) -> None:
    values = {"max_staleness": 2, "prompts_per_sync": 8, "rollout_workers": 2, "reward_workers": 2}
    last = train(ROWS, digits, at_scale(tmp_path, max_steps=5, **values))
    assert trained_on(last) == ONCE and outcomes(last) == {"trained": 20}
    assert all(0 <= each["staleness"] <= 2 for each in curve(last))
    stages = {each["stage"] for each in events(last, "span")}
    assert stages >= {"rollout", "reward", "train", "sync", "save"}


@BOTH
@pytest.mark.parametrize("other", ENGINES)
def test_a_resumed_run_trains_on_nothing_twice_also_on_the_other_engine(
    at_scale: Made, tmp_path: Path, engine: str, other: str, request: pytest.FixtureRequest
) -> None:
    before = at_scale(tmp_path, max_staleness=1, max_steps=5)
    address = request.getfixturevalue("cluster").address if other == "ray" else ""
    after = TrainingConfig.of({**before.values(), "engine": other, "ray_address": address})
    run = cut_at(3, ROWS, digits, before)  # the newest checkpoint is that of step 2
    last = train(ROWS, digits, after, resume=run)
    assert trained_on(last) == ONCE and outcomes(last)["trained"] == 20
    assert [each["step"] for each in events(last, "train")] == [1, 2, 3, 4, 5]


@BOTH
@pytest.mark.slow
def test_a_worker_that_hangs_is_replaced(
    at_scale: Made, tmp_path: Path, engine: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A thread is abandoned; a process is killed."""
    calls, end = itertools.count(), threading.Event()
    hung: list[Any] = []

    def hangs(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> Sequence[float | None]:
        if engine == "asyncio" and next(calls) == 1:
            hung.append(threading.current_thread())
            end.wait()
        return digits(rows, texts)

    def stop(step: int, values: Mapping[str, Any]) -> None:
        if engine == "ray" and step == 2:
            (run,) = tmp_path.iterdir()
            hung.append(process(run, "reward-0"))
            os.kill(hung[0], signal.SIGSTOP)  # it lives, and Ray sees nothing amiss

    settings = at_scale(tmp_path, max_steps=5, worker_timeout=10 if engine == "ray" else 5)
    try:
        last = train(ROWS, hangs if engine == "asyncio" else digits, settings, on_step=stop)
        (lost,) = events(last, "lost")
        assert lost["worker"] == "reward-0"
        assert lost["why"] == f"no answer within {settings.worker_timeout:g} s (worker_timeout)"
        assert trained_on(last) == ONCE
        if engine == "asyncio":
            (thread,) = hung
            assert thread.is_alive() and thread.daemon, "the process could not end"
            assert "reward-0 is abandoned, as a thread cannot be killed" in caplog.messages
        else:
            end_of_process = select.poll()
            end_of_process.register(hung[0], select.POLLIN)
            assert end_of_process.poll(60_000), "the process was not killed"
    finally:
        end.set()


@BOTH
def test_an_error_of_a_role_is_one_line(at_scale: Made, tmp_path: Path) -> None:
    def refused(rows: Any, texts: Any) -> list[Any]:
        return ["no number"] * len(texts)

    with pytest.raises(UsageError, match="^the reward gave 'no number', which is no finite number"):
        train(ROWS, refused, at_scale(tmp_path))


@BOTH
@pytest.mark.slow
def test_the_projects_own_reward_scores(at_scale: Made, tmp_path: Path) -> None:
    options = {"partial": True, "format_weight": 0.5}
    last = train(ROWS, None, at_scale(tmp_path, max_steps=1, reward=options))
    rewards = {reward for (reward,) in rollouts(last, "reward")}
    assert rewards and None not in rewards


# --- in threads ----------------------------------------------------------------------------------


@pytest.fixture
def in_threads(model: Path) -> Made:
    return lambda out, **values: config(model, out, **{"engine": "asyncio", **values})


@pytest.mark.slow
def test_alone_and_without_staleness_it_takes_the_prompts_of_the_local_engine(
    in_threads: Made, model: Path, tmp_path: Path
) -> None:
    one = train(ROWS, digits, config(model, tmp_path / "a"))
    other = train(ROWS, digits, in_threads(tmp_path / "b", keep_zero_std_groups=True))
    assert Counter(rollouts(one, "step", "row")) == Counter(rollouts(other, "step", "row"))
    assert [each["staleness"] for each in curve(other)] == [0] * 6
    assert all(each["ratio"] == pytest.approx(1, abs=1e-4) for each in curve(other))


@pytest.mark.slow
def test_without_staleness_the_worker_that_samples_does_not_matter(
    in_threads: Made, tmp_path: Path
) -> None:
    """Each prompt has its own random numbers, whatever worker and batch it comes to."""
    sampled = [
        rollouts(
            train(
                ROWS,
                digits,
                in_threads(tmp_path / f"{n}", rollout_workers=n, reward_workers=n, max_steps=2),
            ),
            "row", "completion", "reward",
        )
        for n in (1, 2)
    ]  # fmt: skip
    assert sampled[0] == sampled[1]


@pytest.mark.slow
def test_grpo_raises_the_reward(in_threads: Made, tmp_path: Path) -> None:
    settings = in_threads(
        tmp_path, max_steps=25, batch_size=8, group_size=8, learning_rate=1e-2, max_staleness=1
    )
    rewards = [event["reward"] for event in curve(train(ROWS, digits, settings))]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.2


_KILLED = """
import sys
from tiny_training import ROWS, digits
from infinite_rl.training import TrainingConfig, train

config = TrainingConfig.read(sys.argv[1])
train(ROWS, digits, config, on_step=lambda step, values: print(step, flush=True))
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_run_that_is_stopped_resumes(
    in_threads: Made, tmp_path: Path, sent: signal.Signals
) -> None:
    settings = in_threads(
        tmp_path / "runs", max_staleness=1, rollout_workers=2, keep_zero_std_groups=True,
        max_steps=5, save_every=1,
    )  # fmt: skip
    (tmp_path / "config.yaml").write_text(json.dumps(settings.values()))
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", _KILLED, str(tmp_path / "config.yaml")]
    path = os.pathsep.join(map(str, (root / "tests" / "support", root)))
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.strip() == "3":
                running.send_signal(sent)
    assert running.returncode != 0
    (run,) = (tmp_path / "runs").iterdir()
    assert 2 <= checkpoint.step_of(checkpoint.newest(run) or Path()) <= 4
    last = train(ROWS, digits, settings, resume=run)
    assert last.name == "step_5" and trained_on(last) == ONCE


def test_filtered_groups_are_logged_and_not_trained_on(in_threads: Made, tmp_path: Path) -> None:
    def even(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
        return [float(int(rows[0]["answer"]) % 2 == 0 == index) for index in range(len(texts))]

    last = train(ROWS, even, in_threads(tmp_path, max_steps=1))
    (event,) = curve(last)
    filtered = [outcome for (outcome,) in rollouts(last, "outcome")].count("filtered")
    assert event["filtered"] == filtered / 4 > 0
    assert event["completions"] == 16 and event["dropped_groups"] == 0
    assert event["unequal"] == 4 / (4 + event["filtered"])
    assert event["reward"] == pytest.approx(event["unequal"] / 4)


@pytest.mark.slow
def test_rollouts_that_are_trained_on_again_count_once_in_the_reward(
    in_threads: Made, tmp_path: Path
) -> None:
    settings = in_threads(
        tmp_path, max_staleness=1, num_iterations=2, keep_zero_std_groups=True, max_steps=4
    )
    last = train(ROWS, digits, settings)
    before = set[str]()
    for event in curve(last):
        records = [each for each in rollouts(last) if each["step"] == event["step"]]
        new = [each["reward"] for each in records if each["row"] not in before]
        before |= {each["row"] for each in records}
        assert event.get("reward") == (pytest.approx(sum(new) / len(new)) if new else None)
    assert sum(trained_on(last).values()) > len(before)


def test_it_runs_where_a_loop_runs_already(in_threads: Made, tmp_path: Path) -> None:
    async def notebook() -> Path:
        return train(ROWS, digits, in_threads(tmp_path, max_steps=1))

    assert asyncio.run(notebook()).name == "step_1"


def test_an_error_of_the_caller_stops_all_threads(in_threads: Made, tmp_path: Path) -> None:
    before = threading.active_count()
    cut_at(1, ROWS, digits, in_threads(tmp_path, max_staleness=1))
    assert threading.active_count() == before


def test_other_engines_and_other_rows_are_refused(
    in_threads: Made, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(train(ROWS, digits, config(model, tmp_path / "a", max_steps=1)))
    with pytest.raises(UsageError, match="engine was 'local', is 'asyncio'"):
        train(ROWS, digits, in_threads(tmp_path, max_steps=2), resume=run)
    run = run_of(train(ROWS, digits, in_threads(tmp_path / "b", max_steps=1)))
    with pytest.raises(UsageError, match="not the prompts"):
        train(ROWS[1:], digits, in_threads(tmp_path, max_steps=2), resume=run)
    monkeypatch.setattr("infinite_rl.training.find_spec", lambda _: None)
    message = r"training needs ray: pip install 'infinite-rl\[train,ray\]'"
    with pytest.raises(UsageError, match=message):
        train(ROWS, digits, config(model, tmp_path / "c", engine="ray"))
    assert not (tmp_path / "c").exists(), "refused before a directory is created"


@pytest.mark.slow
def test_prompts_per_pass_does_not_change_what_is_learned(model: Path, tmp_path: Path) -> None:
    runs = [
        train(ROWS, digits, config(model, tmp_path / f"{n}", max_steps=1, prompts_per_pass=n))
        for n in (0, 1, 2)
    ]
    norms = [curve(each)[0]["grad_norm"] for each in runs]
    assert norms == pytest.approx([norms[0]] * 3, rel=1e-4)
    one, other = weights(runs[0]), weights(runs[1])
    assert all(torch.allclose(one[name], other[name], atol=1e-5) for name in one)


def test_threads_may_load_models_at_once(model: Path, tmp_path: Path) -> None:
    settings = config(model, tmp_path)
    with ThreadPoolExecutor(4) as threads:
        models = list(threads.map(lambda _: load_model(settings), range(8)))
    assert all(torch.equal(each.lm_head.weight, models[0].lm_head.weight) for each in models)
    assert not models[0].lm_head.weight.is_meta


# --- on Ray --------------------------------------------------------------------------------------


def process(run: Path, worker: str) -> int:
    *_, last = (each for each in read_events(run, "placed") if each["worker"] == worker)
    return int(last["pid"])


@pytest.fixture(scope="module")
def on_ray(cluster: Any, model: Path) -> Made:
    own = {"engine": "ray", "max_staleness": 1, "keep_zero_std_groups": True}
    own["ray_address"] = cluster.address
    return lambda out, **values: config(model, out, **{**own, **values})


class Killer:
    """Kills the newest process of each named worker, each after a step of its own."""

    def __init__(self, out: Path, **steps: int) -> None:
        self._out, self._steps = out, steps

    def __call__(self, step: int, values: Mapping[str, Any]) -> None:
        (run,) = self._out.iterdir()
        for name, at in self._steps.items():
            if step == at:
                os.kill(process(run, name.replace("_", "-")), signal.SIGKILL)


@pytest.mark.slow
def test_killed_workers_are_replaced_and_nothing_is_trained_on_twice(
    on_ray: Made, tmp_path: Path
) -> None:
    settings = on_ray(tmp_path / "ray", max_steps=10)
    kill = Killer(tmp_path / "ray", rollout_0=2, reward_0=4)
    last = train(ROWS, digits, settings, on_step=kill)
    placed = events(last, "placed")
    names = Counter({"trainer": 1, "rollout-0": 2, "reward-0": 2})
    assert Counter(each["worker"] for each in placed) == names
    assert len({each["pid"] for each in placed} - {os.getpid()}) == 5, "a process each"
    lost = events(last, "lost")
    assert {each["worker"] for each in lost} == {"rollout-0", "reward-0"}
    assert all(each["why"].startswith("its worker process has died (process ") for each in lost)
    assert checkpoint.step_of(last) == len(events(last, "train")) == 10
    assert trained_on(last) == ONCE + ONCE, "once in each of 2 epochs"
    assert set(Counter(rollouts(last, "row", "step")).values()) == {settings.group_size}
    assert outcomes(last)["trained"] == 40 and not outcomes(last)["failed"]
    size = sum(each.nbytes for each in weights(last).values())
    sent = events(last, "weights")
    assert {each["bytes"] for each in sent} == {size}, "tied embeddings travel once"
    assert all(each["seconds"] > 0 for each in sent)
    synced = {each["worker"] for each in events(last, "span") if each["stage"] == "sync"}
    assert synced == {"trainer", "rollout-0"}


@pytest.mark.slow
def test_a_killed_trainer_ends_the_run_with_one_line_and_it_resumes(
    on_ray: Made, tmp_path: Path
) -> None:
    settings = on_ray(tmp_path, max_steps=10)
    with pytest.raises(InfiniteRLError, match="^the trainer died after update 5 .*newest") as error:
        train(ROWS, digits, settings, on_step=Killer(tmp_path, trainer=5))
    assert "\n" not in str(error.value)
    (run,) = tmp_path.iterdir()
    assert checkpoint.step_of(checkpoint.newest(run) or run) == 4
    last = train(ROWS, digits, settings, resume=run)
    assert checkpoint.step_of(last) == 10 and trained_on(last) == ONCE + ONCE


@pytest.mark.slow
def test_a_cluster_whose_head_is_gone_ends_the_run_with_one_line(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    from ray_nodes import nodes

    from infinite_rl.training.engines import ray_engine

    monkeypatch.setattr(ray_engine, "_UNREACHABLE_S", 10.0)
    with nodes(3) as cluster:

        def kill(step: int, values: Mapping[str, Any]) -> None:
            if step == 2:
                (server,) = cluster.head_node.all_processes["gcs_server"]
                server.process.kill()

        values = {"engine": "ray", "ray_address": cluster.address, "max_staleness": 1}
        with pytest.raises(InfiniteRLError, match="^the Ray cluster at .* is gone: .* resume"):
            train(ROWS, digits, config(model, tmp_path, max_steps=1000, **values), on_step=kill)


@pytest.mark.slow
def test_workers_of_a_node_that_is_gone_are_placed_on_another(
    on_ray: Made, cluster: Any, tmp_path: Path
) -> None:
    (other,) = cluster.worker_nodes

    def replace(step: int, values: Mapping[str, Any]) -> None:
        if step == 2:
            cluster.remove_node(other, allow_graceful=False)
            cluster.add_node(num_cpus=5)

    last = train(ROWS, digits, on_ray(tmp_path, max_steps=10), on_step=replace)
    lost = {event["worker"] for event in events(last, "lost")}
    assert lost == {"rollout-0", "reward-0"}, "all but the trainer were on that node"
    assert trained_on(last) == ONCE + ONCE


@pytest.mark.slow
def test_a_run_that_the_cluster_cannot_hold_is_refused_before_it_begins(
    on_ray: Made, tmp_path: Path
) -> None:
    lock = threading.Lock()
    for message, reward, values in (
        ("the cluster has 6 CPUs, and a trainer, 9 rollout and 2 reward workers need 12", digits,
         {"rollout_workers": 9, "reward_workers": 2}),
        ("there is no GPU in the cluster", digits, {"device": "cuda"}),
        ("there is no GPU in the cluster", digits, {"rollout_backend": "vllm"}),
        ("no Ray cluster at 127.0.0.1:1", digits, {"ray_address": "127.0.0.1:1"}),
        ("the reward cannot be sent", lambda *args: lock and digits(*args), {}),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            train(ROWS, reward, on_ray(tmp_path, **values))

    def broken(rows: Any, texts: Any) -> list[Any]:
        return [rows[0]["not there"]]

    with pytest.raises(InfiniteRLError, match="^reward-0 failed: KeyError: 'not there'$"):
        train(ROWS, broken, on_ray(tmp_path))


def test_weights_arrive_as_they_were_to_the_bit_and_shared_memory_travels_once() -> None:
    from infinite_rl.training.engines.ray_engine import deserialize, serialize

    state = {
        "half": torch.randn(3, 4).to(torch.bfloat16),
        "whole": torch.randn(5),
        "steps": torch.tensor(7),
        "none": torch.empty(0, 3),
        "turned": torch.randn(2, 3).t(),
    }
    received = deserialize(serialize(state))
    assert received.keys() == state.keys()
    for name, tensor in state.items():
        assert (received[name].dtype, received[name].shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(received[name], tensor)
    table = torch.randn(100, 8)
    sent = serialize({"embed": table, "head": table, "part": table[:50]})
    assert sent.size == table.nbytes * 3 // 2
    assert torch.equal(deserialize(sent)["head"], table)
