"""The engine `ray`: the run of the engine `asyncio`, on a real cluster, whatever is killed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("ray")

from ray_nodes import nodes
from test_training_local import ROWS, config, cut_at, digits
from tiny_models import save_tiny

from infinite_rl.errors import InfiniteRLError, UsageError
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.engines import ray_engine
from infinite_rl.training.engines.ray_engine import deserialize, serialize
from infinite_rl.training.runs import checkpoint
from infinite_rl.training.runs.run_folder import read_events, read_rollouts

ROWS = [{**row, "id": f"sum-{place}"} for place, row in enumerate(ROWS)]


# --- weights on their way ------------------------------------------------------------------------


def test_weights_arrive_as_they_were_to_the_bit() -> None:
    state = {
        "half": torch.randn(3, 4).to(torch.bfloat16),
        "whole": torch.randn(5),
        "max_steps": torch.tensor(7),
        "none": torch.empty(0, 3),
        "turned": torch.randn(2, 3).t(),
    }
    found = deserialize(serialize(state))
    assert found.keys() == state.keys()
    for name, tensor in state.items():
        assert (found[name].dtype, found[name].shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(found[name], tensor)


def test_weights_that_share_their_memory_travel_once() -> None:
    table = torch.randn(100, 8)
    sent = serialize({"embed": table, "head": table, "part": table[:50]})
    assert sent.size == table.nbytes * 3 // 2
    assert torch.equal(deserialize(sent)["head"], table)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    return save_tiny(folder)


# --- on a cluster --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes for all tests of this file: one has room for a trainer alone."""
    with nodes(1, 5) as cluster:
        yield cluster


FEW = {"rollout_workers": 1, "reward_workers": 1}


def at_scale(path: Path, out: Path, cluster: Any, /, **values: Any) -> TrainingConfig:
    given = {"engine": "ray", "rollout_workers": 2, "reward_workers": 2, "max_staleness": 1}
    return config(path, out, **{**given, "ray_address": cluster.address, **values})


class Killer:
    """Kills the newest process of each worker that is named, each after a step of its own."""

    def __init__(self, out: Path, **when: int) -> None:
        self._out, self._when = out, when

    def __call__(self, step: int, values: Mapping[str, Any]) -> None:
        (run,) = self._out.iterdir()
        for name, at in self._when.items():
            if step == at:
                os.kill(process(run, name.replace("_", "-")), signal.SIGKILL)


def process(run: Path, worker: str) -> int:
    placed = [event for event in read_events(run, "placed") if event["worker"] == worker]
    pid: int = placed[-1]["pid"]
    return pid


@dataclass
class Run:
    """A run of 10 updates, in which a worker of each kind was killed."""

    found: Path
    settings: TrainingConfig

    @property
    def path(self) -> Path:
        return self.found.parent.parent

    def events(self, kind: str) -> list[dict[str, Any]]:
        return list(read_events(self.path, kind))


@pytest.fixture(scope="module")
def run(cluster: Any, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("out")
    settings = at_scale(model, out, cluster, max_steps=10, keep_zero_std_groups=True, **FEW)
    kill = Killer(out, rollout_0=2, reward_0=4)
    return Run(train(ROWS, digits, settings, on_step=kill), settings)


def learned(run: Path) -> Counter[str]:
    """How many groups of each row were learned from."""
    return Counter(row for row, _ in {(each["row"], each["step"]) for each in read_rollouts(run)})


@pytest.mark.slow
def test_every_role_has_a_process_of_its_own(run: Run) -> None:
    placed = run.events("placed")
    names = Counter({"trainer": 1, "rollout-0": 2, "reward-0": 2})
    assert Counter(each["worker"] for each in placed) == names
    assert len({each["pid"] for each in placed} - {os.getpid()}) == 5


@pytest.mark.slow
def test_killed_workers_are_replaced_and_nothing_is_learned_from_twice(run: Run) -> None:
    lost = run.events("lost")
    assert {each["worker"] for each in lost} == {"rollout-0", "reward-0"}
    assert all(each["why"].startswith("its worker process has died (process ") for each in lost)
    assert checkpoint.step_of(run.found) == len(run.events("train")) == 10
    assert learned(run.path) == Counter({row["id"]: 2 for row in ROWS}), "once in each of 2 epochs"
    groups = Counter((each["row"], each["step"]) for each in read_rollouts(run.path))
    assert set(groups.values()) == {run.settings.group_size}
    fates = [sum(each[name] for each in run.events("fate")) for name in ("used", "failed")]
    assert fates == [40, 0]


@pytest.mark.slow
def test_the_same_prompts_are_learned_from_as_with_asyncio(run: Run, tmp_path: Path) -> None:
    told = {**run.settings.values(), "engine": "asyncio", "ray_address": "", "out": str(tmp_path)}
    here = train(ROWS, digits, TrainingConfig.of(told))
    assert learned(here.parent.parent) == learned(run.path)


@pytest.mark.slow
def test_the_size_and_the_time_of_weights_are_told(run: Run) -> None:
    from safetensors.torch import load_file

    size = sum(each.nbytes for each in load_file(run.found / "model.safetensors").values())
    sent = run.events("weights")
    assert {each["bytes"] for each in sent} == {size}, "tied embeddings travel once"
    assert all(each["seconds"] > 0 for each in sent)
    spans = {each["worker"] for each in run.events("span") if each["stage"] == "sync"}
    assert spans == {"trainer", "rollout-0"}


@pytest.mark.slow
def test_a_killed_trainer_ends_the_run_with_one_line_and_it_goes_on_when_resumed(
    cluster: Any, model: Path, tmp_path: Path
) -> None:
    settings = at_scale(model, tmp_path, cluster, keep_zero_std_groups=True, max_steps=10, **FEW)
    with pytest.raises(InfiniteRLError, match="^the trainer died after update 5 .*newest") as error:
        train(ROWS, digits, settings, on_step=Killer(tmp_path, trainer=5))
    assert "\n" not in str(error.value)
    (run,) = tmp_path.iterdir()
    assert checkpoint.step_of(checkpoint.newest(run) or run) == 4
    found = train(ROWS, digits, settings, resume=run)
    assert checkpoint.step_of(found) == 10
    assert learned(run) == Counter({row["id"]: 2 for row in ROWS})


@pytest.mark.slow
@pytest.mark.parametrize("first", ["asyncio", "ray"])
def test_a_run_of_asyncio_goes_on_on_ray_and_the_other_way_round(
    cluster: Any, model: Path, tmp_path: Path, first: str
) -> None:
    on_ray = at_scale(model, tmp_path, cluster, keep_zero_std_groups=True, max_steps=5, **FEW)
    in_threads = TrainingConfig.of({**on_ray.values(), "engine": "asyncio", "ray_address": ""})
    one, other = (in_threads, on_ray) if first == "asyncio" else (on_ray, in_threads)
    run = cut_at(3, ROWS, digits, one)  # the newest checkpoint is that of step 2
    found = train(ROWS, digits, other, resume=run)
    assert checkpoint.step_of(found) == 5
    assert learned(run) == Counter({row["id"]: 1 for row in ROWS})
    assert [each["step"] for each in read_events(run, "train")] == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_a_process_that_never_answers_is_ended_and_replaced(
    cluster: Any, model: Path, tmp_path: Path
) -> None:
    def stop(step: int, values: Mapping[str, Any]) -> None:
        if step == 2:
            (run,) = tmp_path.iterdir()
            stopped.append(process(run, "reward-0"))
            os.kill(stopped[0], signal.SIGSTOP)  # it lives, and Ray sees nothing amiss

    stopped: list[int] = []
    settings = at_scale(
        model, tmp_path, cluster, keep_zero_std_groups=True, max_steps=5, worker_timeout=10, **FEW
    )
    found = train(ROWS, digits, settings, on_step=stop)
    (lost,) = read_events(found.parent.parent, "lost")
    assert (lost["worker"], lost["why"]) == ("reward-0", "no answer within 10 s (worker_timeout)")
    assert learned(found.parent.parent) == Counter({row["id"]: 1 for row in ROWS})
    with pytest.raises(ProcessLookupError):
        os.kill(stopped[0], 0)


@pytest.mark.slow
def test_a_cluster_whose_head_is_gone_ends_the_run_with_one_line(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "_REACH_S", 10.0)
    with nodes(3) as cluster:

        def kill(step: int, values: Mapping[str, Any]) -> None:
            if step == 2:
                (server,) = cluster.head_node.all_processes["gcs_server"]
                server.process.kill()

        settings = at_scale(model, tmp_path, cluster, max_steps=1000, **FEW)
        with pytest.raises(InfiniteRLError, match="^the Ray cluster at .* is gone: .* resumed"):
            train(ROWS, digits, settings, on_step=kill)


@pytest.mark.slow
def test_what_was_on_a_node_that_is_gone_is_placed_on_another(
    cluster: Any, model: Path, tmp_path: Path
) -> None:
    (other,) = cluster.worker_nodes

    def replace(step: int, values: Mapping[str, Any]) -> None:
        if step == 2:
            cluster.remove_node(other, allow_graceful=False)
            cluster.add_node(num_cpus=5)

    settings = at_scale(model, tmp_path, cluster, keep_zero_std_groups=True, max_steps=10, **FEW)
    run = train(ROWS, digits, settings, on_step=replace).parent.parent
    lost = {event["worker"] for event in read_events(run, "lost")}
    assert lost == {"rollout-0", "reward-0"}, "all but the trainer were on that node"
    assert learned(run) == Counter({row["id"]: 2 for row in ROWS})


@pytest.mark.slow
def test_an_error_in_a_workers_process_is_one_clear_line(
    cluster: Any, model: Path, tmp_path: Path
) -> None:
    def refuse(rows: Any, texts: Any) -> list[Any]:
        return ["no number"] * len(texts)

    with pytest.raises(
        UsageError, match="^the reward gave 'no number', which is no finite number$"
    ):
        train(ROWS, refuse, at_scale(model, tmp_path, cluster, **FEW))

    def broken(rows: Any, texts: Any) -> list[Any]:
        return [rows[0]["not there"]]

    with pytest.raises(InfiniteRLError, match="^reward-0 failed: KeyError: 'not there'$"):
        train(ROWS, broken, at_scale(model, tmp_path, cluster, **FEW))


@pytest.mark.slow
def test_the_projects_own_reward_judges_in_other_processes(
    cluster: Any, model: Path, tmp_path: Path
) -> None:
    own = {"partial": True, "format_weight": 0.5}
    settings = at_scale(
        model, tmp_path, cluster, max_steps=1, reward=own, keep_zero_std_groups=True, **FEW
    )
    found = train(ROWS, None, settings)
    rewards = {record["reward"] for record in read_rollouts(found.parent.parent)}
    assert rewards and None not in rewards


@pytest.mark.slow
def test_what_cannot_be_on_this_cluster_is_refused_before_anything_begins(
    cluster: Any, model: Path, tmp_path: Path
) -> None:
    def refused(said: str, reward: Any = digits, **values: Any) -> None:
        with pytest.raises(UsageError, match=said):
            train(ROWS, reward, at_scale(model, tmp_path, cluster, **values))

    refused("the cluster has 6 CPUs, and a trainer, 9 rollout and 2 reward workers need 12",
            rollout_workers=9)  # fmt: skip
    refused("there is no GPU in the cluster", device="cuda")
    refused("there is no GPU in the cluster", rollout_backend="vllm")
    refused("no Ray cluster at 127.0.0.1:1", ray_address="127.0.0.1:1")
    lock = __import__("threading").Lock()
    refused("the reward cannot be sent", reward=lambda rows, texts: lock and digits(rows, texts))
