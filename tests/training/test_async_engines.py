"""The contract of the engines at scale, with real models: in threads (`asyncio`) and on Ray."""

import asyncio
import itertools
import os
import select
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from labelled import unlike
from tiny_training import (
    ONCE,
    ROWS,
    begun,
    config,
    curve,
    cut_at,
    digits,
    events,
    rollouts,
    trained_on,
    weights,
)

from infinite_rl.errors import InfiniteRLError, RunDied, UsageError
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.core.learner import load_model
from infinite_rl.training.engines.async_controller import OUTCOMES
from infinite_rl.training.runs import checkpoint
from infinite_rl.training.runs.run_folder import read_events, read_rollouts

Made = Callable[..., TrainingConfig]  # from the directory of the runs and values


@pytest.fixture
def in_threads(model: Path) -> Made:
    own = {"engine": "asyncio", "keep_zero_std_groups": True}
    return lambda out, **values: config(model, out, **{**own, **values})


def outcomes(last: Path) -> Counter[str]:
    counts = Counter[str]()
    for event in events(last, "outcomes"):
        counts.update({name: event[name] for name in OUTCOMES})
    return +counts


# --- in threads ----------------------------------------------------------------------------------
def test_workers_with_staleness_train_on_each_prompt_once(in_threads: Made, tmp_path: Path) -> None:
    values = {"max_staleness": 2, "prompts_per_sync": 8, "rollout_workers": 2, "reward_workers": 2}
    last = train(ROWS, digits, in_threads(tmp_path, max_steps=5, **values))
    assert trained_on(last) == ONCE and outcomes(last) == {"trained": 20}
    assert all(0 <= each["staleness"] <= 2 for each in curve(last))
    stages = {each["stage"] for each in events(last, "span")}
    assert stages >= {"rollout", "reward", "train", "sync", "save"}


def test_a_resumed_run_trains_on_nothing_twice(in_threads: Made, tmp_path: Path) -> None:
    settings, before = in_threads(tmp_path, max_staleness=1, max_steps=5), threading.active_count()
    run = cut_at(3, ROWS, digits, settings)  # the newest checkpoint is that of step 2
    assert threading.active_count() == before, "an error of the caller stops all threads"
    last = train(ROWS, digits, settings, resume=run)
    assert trained_on(last) == ONCE and outcomes(last)["trained"] == 20
    assert [each["step"] for each in events(last, "train")] == [1, 2, 3, 4, 5]
    with pytest.raises(UsageError, match="not the prompts"):
        train(ROWS[1:], digits, in_threads(tmp_path, max_staleness=1, max_steps=6), resume=run)


@pytest.mark.slow
def test_a_worker_that_hangs_is_replaced(
    in_threads: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A thread is abandoned."""
    calls, end = itertools.count(), threading.Event()
    hung: list[threading.Thread] = []

    def hangs(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> Sequence[float | None]:
        if next(calls) == 1:
            hung.append(threading.current_thread())
            end.wait()
        return digits(rows, texts)

    try:
        last = train(ROWS, hangs, in_threads(tmp_path, max_steps=5, worker_timeout=5))
        (lost,) = events(last, "lost")
        assert lost["worker"] == "reward-0"
        assert lost["why"] == "no answer within 5 s (worker_timeout)"
        assert trained_on(last) == ONCE
        (thread,) = hung
        assert thread.is_alive() and thread.daemon, "the process could not end"
        assert "reward-0 is abandoned, as a thread cannot be killed" in caplog.messages
    finally:
        end.set()


def test_an_error_of_a_role_is_one_line(
    in_threads: Made, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from infinite_rl.training.engines.ray_engine import RoleActor, _gpus_by_role
    from infinite_rl.training.engines.role_workers import RewardRole, RoleSpec

    def refused(rows: Any, texts: Any) -> list[Any]:
        return ["no number"] * len(texts)

    settings, actor = in_threads(tmp_path / "a"), RoleActor()
    actor.create(RewardRole, RoleSpec(ROWS, refused, settings, tmp_path)).result()
    message = "^UsageError: the reward gave 'no number', which is no finite number"
    no_gpu = "^UsageError: there is no GPU in the cluster"
    on_ray = [
        config(model, tmp_path, engine="ray", **values)
        for values in ({"device": "cuda"}, {"rollout_backend": "vllm"})
    ]
    assert not unlike(
        [
            (message, lambda: train(ROWS, refused, settings)),
            (message, lambda: actor.call("score", [0], ["x"]).result()),
            *((no_gpu, lambda each=each: _gpus_by_role(each, 0)) for each in on_ray),
        ]
    )
    monkeypatch.setattr("infinite_rl.training.find_spec", lambda _: None)
    message = r"training needs ray: pip install 'infinite-rl\[train,ray\]'"
    with pytest.raises(UsageError, match=message):
        train(ROWS, digits, config(model, tmp_path / "c", engine="ray"))
    assert not (tmp_path / "c").exists(), "refused before a directory is created"


@pytest.mark.slow
def test_alone_it_takes_the_local_prompts(in_threads: Made, model: Path, tmp_path: Path) -> None:
    """Each prompt has its own random numbers, whatever worker and batch it comes to."""
    local = train(ROWS, digits, config(model, tmp_path / "local", max_steps=3))
    one, two = (
        train(
            ROWS,
            digits,
            in_threads(tmp_path / f"{n}", rollout_workers=n, reward_workers=n, max_steps=3),
        )
        for n in (1, 2)
    )
    assert Counter(rollouts(local, "step", "row")) == Counter(rollouts(one, "step", "row"))
    assert [each["staleness"] for each in curve(one)] == [0] * 3
    assert all(each["ratio"] == pytest.approx(1, abs=1e-4) for each in curve(one))
    keys = ("row", "completion", "reward")
    assert rollouts(one, *keys) == rollouts(two, *keys)


@pytest.mark.slow
def test_grpo_raises_the_reward(in_threads: Made, tmp_path: Path) -> None:
    settings = in_threads(
        tmp_path,
        max_steps=25,
        batch_size=8,
        group_size=8,
        learning_rate=1e-2,
        max_staleness=1,
        keep_zero_std_groups=False,
    )
    rewards = [event["reward"] for event in curve(train(ROWS, digits, settings))]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.2


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_stopped_run_resumes(in_threads: Made, tmp_path: Path, sent: signal.Signals) -> None:
    values = {"max_staleness": 1, "rollout_workers": 2, "max_steps": 5, "save_every": 1}
    settings = in_threads(tmp_path, **values)
    process, steps = begun(settings)
    while steps.recv() < 3:
        pass
    os.kill(process.pid or 0, sent)
    process.join()
    assert process.exitcode != 0
    (run,) = tmp_path.iterdir()
    assert 2 <= checkpoint.step_of(checkpoint.newest(run) or Path()) <= 4
    last = train(ROWS, digits, settings, resume=run)
    assert last.name == "step_5" and trained_on(last) == ONCE


def test_filtered_groups_are_logged_and_not_trained_on(in_threads: Made, tmp_path: Path) -> None:
    def even(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
        return [float(int(rows[0]["answer"]) % 2 == 0 == index) for index in range(len(texts))]

    last = train(ROWS, even, in_threads(tmp_path, max_steps=1, keep_zero_std_groups=False))
    (event,) = curve(last)
    filtered = [outcome for (outcome,) in rollouts(last, "outcome")].count("filtered")
    assert event["filtered"] == filtered / 4 > 0
    assert event["completions"] == 16 and event["dropped_groups"] == 0
    assert event["unequal"] == 4 / (4 + event["filtered"])
    assert event["reward"] == pytest.approx(event["unequal"] / 4)


def test_rollouts_trained_on_again_count_once(in_threads: Made, tmp_path: Path) -> None:
    settings = in_threads(tmp_path, max_staleness=1, num_iterations=2, max_steps=4)
    last = train(ROWS, digits, settings)
    before = set[str]()
    for event in curve(last):
        records = [each for each in rollouts(last) if each["step"] == event["step"]]
        new = [each["reward"] for each in records if each["row"] not in before]
        before |= {each["row"] for each in records}
        assert event.get("reward") == (pytest.approx(sum(new) / len(new)) if new else None)
    assert sum(trained_on(last).values()) > len(before)


def test_it_runs_within_a_loop_and_with_our_reward(in_threads: Made, tmp_path: Path) -> None:
    options = {"partial": True, "format_weight": 0.5}

    async def notebook() -> Path:
        return train(ROWS, None, in_threads(tmp_path, max_steps=1, reward=options))

    last = asyncio.run(notebook())
    rewards = {reward for (reward,) in rollouts(last, "reward")}
    assert last.name == "step_1" and rewards and None not in rewards


def test_threads_may_load_models_at_once(model: Path, tmp_path: Path) -> None:
    settings = config(model, tmp_path)
    with ThreadPoolExecutor(4) as threads:
        models = list(threads.map(lambda _: load_model(settings), range(8)))
    assert all(torch.equal(each.lm_head.weight, models[0].lm_head.weight) for each in models)
    assert not models[0].lm_head.weight.is_meta


# --- on Ray --------------------------------------------------------------------------------------
def process_of(run: Path, worker: str) -> int:
    *_, last = (each for each in read_events(run, "placed") if each["worker"] == worker)
    return int(last["pid"])


@pytest.mark.slow(150)
def test_whatever_dies_on_ray_nothing_is_trained_on_twice(in_threads: Made, tmp_path: Path) -> None:
    """One run: begun in threads, then on Ray, where everything dies, and in threads
    to its end. The first node has room for the trainer alone."""
    pytest.importorskip("ray")
    from ray_nodes import LEAN, nodes

    out, broken = tmp_path / "runs", tmp_path / "broken"
    values = {"max_staleness": 1, "max_steps": 15}
    settings = in_threads(out, **values)
    run = cut_at(3, ROWS, digits, settings)
    with nodes(1, 3) as cluster:
        own = {**values, "engine": "ray", "ray_address": cluster.address}
        _refused(in_threads, tmp_path / "none", own)
        _killed_workers_and_trainer(in_threads(out, **own, worker_timeout=10), run)

        def reward(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
            return [rows[0]["not there"]] if broken.exists() else digits(rows, texts)

        def replace_node(step: int, values: Mapping[str, Any]) -> None:
            if step == 12:  # the first ones were in the checkpoint
                cluster.remove_node(other, allow_graceful=False)
                cluster.add_node(num_cpus=3, **LEAN)
            lost = [each for each in read_events(run, "lost") if each["time"] >= began]
            if {each["worker"] for each in lost} == {"rollout-0", "reward-0"}:
                broken.touch()  # all but the trainer were on that node, and were replaced

        (other,) = cluster.worker_nodes
        began = time.time()
        endless = in_threads(out, **own | {"max_steps": 10_000})
        with pytest.raises(InfiniteRLError, match="^reward-0 failed: KeyError: 'not there'$"):
            train(ROWS, reward, endless, resume=run, on_step=replace_node)
        done = checkpoint.step_of(checkpoint.newest(run) or run)
        epochs = done // 5 + 1
        ending = in_threads(out, **{**values, "max_steps": 5 * epochs})
        last = train(ROWS, digits, ending, resume=run)
        assert checkpoint.step_of(last) == len(events(last, "train")) == 5 * epochs
        assert {*trained_on(last).values()} == {epochs} and trained_on(last).keys() == ONCE.keys()
        assert set(Counter(rollouts(last, "row", "step")).values()) == {ending.group_size}
        assert outcomes(last)["trained"] == 20 * epochs and not outcomes(last)["failed"]


def _refused(in_threads: Made, out: Path, own: Mapping[str, Any]) -> None:
    """A run that the cluster cannot hold is refused before it begins."""
    lock = threading.Lock()
    many = {"rollout_workers": 9, "reward_workers": 2}
    message = "the cluster has 4 CPUs, and a trainer, 9 rollout and 2 reward workers need 12"
    assert not unlike(
        (f"^UsageError: {message}", lambda v=v, f=f: train(ROWS, f, in_threads(out, **own | v)))
        for message, f, v in (
            (message, digits, many),
            ("no Ray cluster at 127.0.0.1:1", digits, {"ray_address": "127.0.0.1:1"}),
            ("the reward cannot be sent", lambda *args: lock and digits(*args), {}),
        )
    )


def _killed_workers_and_trainer(settings: TrainingConfig, run: Path) -> None:
    """Killed or stopped workers are replaced; a killed trainer ends the run with one line. The
    reward is the project's own."""
    stopped: list[int] = []

    def on_step(step: int, values: Mapping[str, Any]) -> None:
        if step == 4:
            os.kill(process_of(run, "rollout-0"), signal.SIGKILL)
        if step == 6:
            stopped.append(process_of(run, "reward-0"))
            os.kill(stopped[0], signal.SIGSTOP)  # it lives, and Ray sees nothing amiss
        if step == 9:
            os.kill(process_of(run, "trainer"), signal.SIGKILL)

    with pytest.raises(
        InfiniteRLError, match=f"^the trainer died after update 9 .* {run} resumes from step_8$"
    ) as error:
        train(ROWS, None, settings, resume=run, on_step=on_step)
    assert "\n" not in str(error.value)
    assert None not in {each["reward"] for each in read_rollouts(run)}
    last = checkpoint.newest(run)
    assert last and last.name == "step_8"
    placed = events(last, "placed")
    names = Counter({"trainer": 1, "rollout-0": 2, "reward-0": 2})
    assert Counter(each["worker"] for each in placed) == names
    assert len({each["pid"] for each in placed} - {os.getpid()}) == 5, "a process each"
    lost = {each["worker"]: each["why"] for each in events(last, "lost")}
    assert lost.pop("reward-0") == "no answer within 10 s (worker_timeout)"
    assert lost.pop("rollout-0").startswith("its worker process has died (process ") and not lost
    end_of_process = select.poll()
    end_of_process.register(stopped[0], select.POLLIN)
    assert end_of_process.poll(60_000), "the process was not killed"
    sent = events(last, "weights")
    size = sum(each.nbytes for each in weights(last).values())
    assert {each["bytes"] for each in sent} == {size}, "tied embeddings travel once"
    assert all(each["seconds"] > 0 for each in sent)
    synced = {each["worker"] for each in events(last, "span") if each["stage"] == "sync"}
    assert synced == {"trainer", "rollout-0"}


@pytest.mark.slow
@pytest.mark.soak
def test_a_node_that_is_not_replaced_and_a_dead_head_end_the_run_with_our_line(
    in_threads: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    from ray_nodes import LEAN, nodes

    from infinite_rl.training.engines import ray_engine

    with nodes(1, 2) as cluster:
        own = {"engine": "ray", "ray_address": cluster.address, "max_steps": 1000}
        (other,) = cluster.worker_nodes

        def remove_node(step: int, values: Mapping[str, Any]) -> None:
            if step == 3:
                monkeypatch.setattr(ray_engine, "_ROOM_S", 3.0)
                cluster.remove_node(other, allow_graceful=False)

        line = r"^there is no room for \w+-0: it needs .*; .* resumes from step_\d+$"
        with pytest.raises(RunDied, match=line):
            train(ROWS, digits, in_threads(tmp_path / "node", **own), on_step=remove_node)
        monkeypatch.undo()
        cluster.add_node(num_cpus=2, **LEAN)
        monkeypatch.setattr(ray_engine, "_UNREACHABLE_S", 5.0)

        def kill_head(step: int, values: Mapping[str, Any]) -> None:
            if step == 2:
                (server,) = cluster.head_node.all_processes["gcs_server"]
                server.process.kill()

        with pytest.raises(
            InfiniteRLError,
            match="^the Ray cluster at .* is gone: .*; .* resume",
        ):
            train(ROWS, digits, in_threads(tmp_path / "head", **own), on_step=kill_head)


def test_a_cluster_without_room_or_without_a_head_is_one_line(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`test_async_controller.py` has what a run makes of both."""
    from infinite_rl.training.engines import ray_engine
    from infinite_rl.training.engines.role_workers import RoleSpec

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    cluster = MagicMock()  # Ray, of which nobody is at home
    cluster.get_runtime_context.return_value.gcs_address = address
    cluster.available_resources.return_value = {"CPU": 0.5}
    spec = RoleSpec(ROWS, digits, config(model, tmp_path), tmp_path)
    gpus = {"trainer": 0, "rollout": 1, "reward": 0}
    factory = ray_engine.RayWorkerFactory(cluster, spec, gpus, print)
    monkeypatch.setattr(ray_engine, "_ROOM_S", 0.01)
    monkeypatch.setattr(ray_engine, "_UNREACHABLE_S", 0.1)

    class Placeless(MagicMock):
        name = "rollout-0"

        async def locate(self) -> None:
            await asyncio.Event().wait()

    room = "there is no room for rollout-0: it needs 1 CPU and 1 GPUs, and 0.5 and 0 are free"
    gone = f"the Ray cluster at {address} is gone: its head has not answered for 0.1 s"
    assert not unlike(
        [
            (room, lambda: asyncio.run(factory._wait_for_room(Placeless(), "rollout"))),
            (gone, lambda: asyncio.run(factory.unreachable())),
        ]
    )


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
