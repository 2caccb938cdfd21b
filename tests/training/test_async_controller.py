"""The async controller, with fake workers on a simulated clock: every prompt has its outcome,
whatever takes how long and whoever dies."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fake_roles import World, random_world
from finite_queue import FiniteQueue
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_loop import simulated

from infinite_rl.errors import InfiniteRLError
from infinite_rl.training.core.batches import rows_of_step
from infinite_rl.training.core.rollout_types import _FORMER_KEYS
from infinite_rl.training.engines.async_controller import OUTCOMES, AsyncController, TrainerLost
from infinite_rl.training.runs.config import TrainingConfig

Case = tuple[TrainingConfig, int, int | None]


def config(**values: Any) -> TrainingConfig:
    base = {"model": "m", "engine": "asyncio", "max_steps": 5, "batch_size": 2, "save_every": 2}
    return TrainingConfig.of({**base, **values})


def queue_of(prompts: int = 50, epochs: int | None = None) -> FiniteQueue:
    return FiniteQueue([f"p{index}" for index in range(prompts)], seed=3, epochs=epochs)


def trained(world: World, queue: FiniteQueue | None = None, **options: Any) -> AsyncController:
    """The controller of a run that has ended."""

    async def main() -> AsyncController:
        controller = world.controller(queue or queue_of(), **options)
        await controller.run()
        return controller

    return simulated(main())


def killed_at(world: World, queue: FiniteQueue, seconds: float) -> tuple[int, Any]:
    """The step and state of the newest checkpoint of a run that was killed, as JSON gives it."""

    async def main() -> None:
        await asyncio.wait_for(world.controller(queue).run(), seconds)

    with contextlib.suppress(asyncio.TimeoutError):
        simulated(main())
    step = max(world.states, default=0)
    return step, json.loads(json.dumps(world.states.get(step)))


def uses(world: World) -> Counter[tuple[int, int]]:
    """In how many batches each prompt of each epoch was."""
    return Counter((g.request.epoch, g.request.index) for batch in world.batches for g in batch)


def check(
    world: World,
    controller: AsyncController,
    queue: FiniteQueue,
    config: TrainingConfig,
    *,
    resumed_at: int = 0,
    max_uses: int | None = None,
    whole: bool = True,
) -> None:
    """What holds for every run that has ended; `whole`: recorded from its beginning."""
    for step, batch in enumerate(world.batches):
        keys = [(group.request.epoch, group.request.index) for group in batch]
        assert len(set(keys)) == len(keys), "twice in a batch"
        if step >= resumed_at:
            assert all(0 <= step - group.version <= config.max_staleness for group in batch)
    assert max(uses(world).values(), default=0) <= (max_uses or config.num_iterations)
    assert controller.in_flight == queue.in_flight == 0 or not whole
    assert controller.in_flight == queue.in_flight
    outcomes = controller.outcomes
    assert outcomes["trained"] == len(uses(world))
    assert controller.step == config.max_steps or queue.finished


def check_whole(
    world: World, controller: AsyncController, queue: FiniteQueue, config: TrainingConfig
) -> None:
    check(world, controller, queue, config)
    assert controller.requested == sum(controller.outcomes[name] for name in OUTCOMES)
    full = [len(batch) == config.batch_size for batch in world.batches]
    assert all(full[:-1]) and (all(full) or queue.finished)
    assert sorted(world.states)[-1:] == [controller.step][: len(world.batches)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A valid config, prompts and epochs."""
    size = draw(st.integers(1, 4))
    sync_every = draw(st.integers(1, 3))
    iterations = draw(st.integers(1, 3))
    values = {
        "max_steps": draw(st.integers(1, 8)),
        "batch_size": size,
        "prompts_per_sync": size * sync_every,
        "num_iterations": iterations,
        "max_staleness": max(sync_every, iterations) - 1 + draw(st.integers(0, 2)),
        "keep_zero_std_groups": draw(st.booleans()),
        "rollout_workers": draw(st.integers(1, 3)),
        "reward_workers": draw(st.integers(1, 3)),
        "save_every": draw(st.integers(1, 4)),
    }
    return config(**values), draw(st.integers(1, 20)), draw(st.sampled_from([None, 1, 2]))


@settings(max_examples=300, deadline=None)
@given(cases(), st.integers(0, 2**32), st.sampled_from([0, 0.1]), st.sampled_from([0, 0.5]))
def test_whatever_takes_how_long_no_prompt_is_lost_or_comes_twice_or_too_late(
    case: Case, seed: int, deaths: float, equal: float
) -> None:
    config, prompts, epochs = case
    world, queue = random_world(seed, config, deaths, equal), queue_of(prompts, epochs)
    controller = trained(world, queue)
    check_whole(world, controller, queue, config)
    assert controller.requested >= len(world.sampled)
    logged: Counter[str] = Counter()
    for event in world.logged("outcomes"):
        logged.update({name: event[name] for name in OUTCOMES})
    if controller.step == config.max_steps:
        assert +logged == +controller.outcomes
    if not deaths:
        assert not controller.outcomes["discarded"], "rollouts were discarded for their age"


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(0, 2**32), st.integers(0, 60), st.sampled_from([0, 0.5]))
def test_a_killed_run_repeats_no_prompt(case: Case, seed: int, seconds: int, equal: float) -> None:
    config, prompts, epochs = case
    world = random_world(seed, config, 0, equal)
    step, state = killed_at(world, queue_of(prompts, epochs), seconds)
    again, queue = random_world(seed + 1, config, 0, equal), queue_of(prompts, epochs)
    again.batches, again.states = world.batches[:step], dict(world.states)
    check_whole(again, trained(again, queue, step=step, state=state), queue, config)


@settings(max_examples=60, deadline=None)
@given(cases(), cases(), st.integers(0, 2**32), st.integers(0, 60), st.sampled_from([0, 0.1]))
def test_a_run_may_resume_with_other_bounds_batches_and_workers(
    case: Case, other: Case, seed: int, seconds: int, deaths: float
) -> None:
    before, prompts, epochs = case
    world = random_world(seed, before, deaths, 0.5)
    step, state = killed_at(world, queue_of(prompts, epochs), seconds)
    after = replace(other[0], max_steps=step + other[0].max_steps)
    again, queue = random_world(seed + 1, after, deaths, 0.5), queue_of(prompts, epochs)
    again.batches, again.states = world.batches[:step], dict(world.states)
    controller = trained(again, queue, step=step, state=state)
    max_uses = max(before.num_iterations, after.num_iterations)
    check(again, controller, queue, after, resumed_at=step, max_uses=max_uses, whole=False)
    assert controller.step == after.max_steps or controller.in_flight == 0


def test_a_checkpoint_of_an_earlier_version_is_read() -> None:
    def former(value: Any) -> Any:
        keys = {new: old for old, new in _FORMER_KEYS.items()}
        if isinstance(value, dict):
            return {keys.get(key, key): former(each) for key, each in value.items()}
        return [former(each) for each in value] if isinstance(value, list) else value

    world = World(
        config(max_steps=6, max_staleness=3), took=lambda method: 9.0 * (method == "learn")
    )
    trained(world)
    state = world.states[2]
    old = former({name: each for name, each in state.items() if name != "queue"})
    old["schedule"] = state["queue"]
    assert old["buffer"][0]["task"]["place"] >= 0 and old["fates"]["used"] == 4
    again = World(world.config, batches=world.batches[:2])
    controller = trained(again, step=2, state=old)
    assert controller.outcomes["trained"] == 12 == len(uses(again))


def test_one_worker_without_staleness_takes_the_prompts_of_the_local_engine() -> None:
    world = World(config(max_steps=7, batch_size=3))
    trained(world, FiniteQueue([f"p{index}" for index in range(10)], seed="42/prompts"))
    indices = [[group.request.index for group in batch] for batch in world.batches]
    assert indices == [rows_of_step(10, 3, step, "42/prompts") for step in range(7)]
    versions = [group.version for batch in world.batches for group in batch]
    assert versions == sorted(list(range(7)) * 3)


def test_sampling_overlaps_training_only_with_staleness_and_no_more_than_is_in_time() -> None:
    times = {"sample": 10.0, "learn": 10.0}
    ends = []
    for staleness in (0, 1):
        world = World(config(max_steps=10, max_staleness=staleness), took=lambda m: times.get(m, 0))
        trained(world)
        ends.append(max(each["ended_s"] for each in world.logged("span", stage="train")))
    assert ends == [200, 110]
    world = World(config(max_steps=6, max_staleness=2), took=lambda m: 100.0 * (m == "learn"))
    trained(world)
    assert len({request.index for request in world.sampled}) == len(world.sampled) == 12
    early = [each for each in world.logged("span", stage="rollout") if each["ended_s"] < 100]
    assert sum(each["prompts"] for each in early) == 6  # (max_staleness + 1) * batch_size


def test_weights_are_published_every_prompts_per_sync_and_rollouts_trained_on_again() -> None:
    world = World(config(max_steps=6, max_staleness=1, prompts_per_sync=4))
    trained(world)
    versions = [[group.version for group in batch] for batch in world.batches]
    assert versions == [[0, 0], [0, 0], [2, 2], [2, 2], [4, 4], [4, 4]]
    world = World(config(max_steps=6, max_staleness=1, num_iterations=2))  # rollouts, again
    trained(world)
    assert max(uses(world).values()) == 2 and len(world.sampled) < 12
    assert world.repeated == 12 - len(uses(world)), "metrics of rollouts count each once"


def test_a_slow_completion_is_waited_for_and_not_discarded() -> None:
    slow = iter([50.0])  # the first call of sample

    def took(method: str) -> float:
        return next(slow, 0.0) if method == "sample" else 0.1

    world = World(config(max_steps=8, max_staleness=2, rollout_workers=2), took=took)
    assert not trained(world).outcomes["discarded"]
    first = world.sampled[0]
    steps = [n for n, batch in enumerate(world.batches) for g in batch if g.request == first]
    assert steps == [2]  # as late as possible


def test_groups_without_signal_fill_no_batch_unless_they_may() -> None:
    def rewards(index: int, _: int) -> list[float | None]:
        return [1.0, 1.0] if index % 2 else [0.0, 1.0]

    world = World(config(), rewards=rewards)
    filtered = trained(world).outcomes["filtered"]
    assert all(group.request.index % 2 == 0 for batch in world.batches for group in batch)
    assert filtered == len([1 for *_, outcome in world.groups if outcome == "filtered"]) > 0
    world = World(config(keep_zero_std_groups=True), rewards=rewards)
    assert trained(world).outcomes == {"trained": 10}
    world = World(config(), rewards=lambda index, _: [None, 1.0] if index else [0.0, 1.0])
    one_verdict = trained(world, queue_of(3, epochs=2))
    assert one_verdict.outcomes == {"trained": 2, "filtered": 4}
    world = World(config(), rewards=lambda *_: [1.0, 1.0])
    with pytest.raises(InfiniteRLError, match="50 prompts in a row got rollouts of equal rewards"):
        trained(world)


def test_a_batch_that_cannot_be_filled_is_trained_on_as_it_is() -> None:
    world = World(config(batch_size=4))
    controller = trained(world, queue_of(5, epochs=1))
    assert [len(batch) for batch in world.batches] == [4, 1]
    assert controller.step == 2 and not world.states[2]["queue"]["in_flight"]


def once(method: str) -> Callable[..., bool]:
    """Kills the worker number 0 in its first call of a method."""
    left = [1]
    return lambda its, number, _: (its, number) == (method, 0) and bool(left) and bool(left.pop())


@pytest.mark.parametrize("method", ["sample", "load", "start rollout", "score", "start reward"])
def test_a_worker_that_dies_is_replaced_and_its_prompts_come_first(method: str) -> None:
    world = World(config(), dies=once(method))
    outcomes = trained(world).outcomes
    discarded = 2 * (method == "sample")  # completions of a dead reward worker are kept
    assert outcomes == {"trained": 10} | ({"discarded": 2} if discarded else {})
    assert len(world.sampled) == 10 + discarded
    worker = "reward-0" if method in ("score", "start reward") else "rollout-0"
    assert world.started.count(worker) == 2
    if discarded:  # again, each alone, before all others
        first = [request.index for request in world.sampled[:2]]
        assert [request.index for request in world.sampled[2:4]] == first
        assert sorted(group.request.index for group in world.batches[0]) == sorted(first)
    (lost,) = world.logged("lost")
    assert lost["worker"] == worker and "was killed" in lost["why"]


def hanging(world: World, method: str, times: float = 1) -> World:
    """The world, in which the first calls of a method never end."""
    calls = Counter[str]()

    def took(its: str) -> float:
        calls[its] += 1
        return float("inf") if its == method and calls[its] <= times else 1.0

    world.took = took
    return world


@pytest.mark.parametrize("method", ["sample", "load", "score"])
def test_a_worker_that_hangs_is_killed_and_replaced(method: str) -> None:
    world = hanging(World(config(worker_timeout=60)), method)
    outcomes = trained(world).outcomes
    assert outcomes["trained"] == 10 and outcomes["discarded"] == 2 * (method == "sample")
    worker = "reward-0" if method == "score" else "rollout-0"
    assert world.killed == [worker] and world.started.count(worker) == 2
    (lost,) = world.logged("lost")
    assert lost == {**lost, "worker": worker, "why": "no answer within 60 s (worker_timeout)"}
    (span,) = world.logged("span", worker=worker, lost=True)
    assert span["ended_s"] - span["began_s"] == 60
    slow = World(config(worker_timeout=0), took=lambda its: 1e6 * (its == method))  # no limit
    assert trained(slow).outcomes == {"trained": 10} and not slow.killed


@pytest.mark.parametrize("method", ["sample", "score"])
@pytest.mark.parametrize("hangs", [False, True])
def test_a_prompt_that_loses_workers_fails_alone(method: str, hangs: bool) -> None:
    class Fatal(World):
        async def act(self, its: str, number: int = 0, indices: Sequence[int] = ()) -> None:
            if its == method and 3 in indices and hangs:
                await asyncio.Event().wait()
            await super().act(its, number, indices)

    world = Fatal(
        config(worker_timeout=60), dies=lambda its, _, indices: its == method and 3 in indices
    )
    queue = queue_of(10, epochs=1)
    outcomes = trained(world, queue).outcomes
    assert outcomes["failed"] == 1 and outcomes["trained"] == 9 and queue.finished
    assert list(queue.failures) == ["p3"] and len(world.logged("lost")) == 3
    assert ("no answer within 60 s" if hangs else "was killed") in queue.failures["p3"]


@pytest.mark.parametrize("error", [asyncio.TimeoutError(), ValueError("of the reward")])
def test_an_error_of_a_role_is_an_error_of_the_run(error: Exception) -> None:
    def rewards(*_: int) -> list[float | None]:
        raise error

    with pytest.raises(type(error)):
        trained(World(config(worker_timeout=60), rewards=rewards))


def test_a_run_without_a_chance_ends_with_one_line() -> None:
    world = World(config(), dies=lambda method, *_: method == "start reward")
    with pytest.raises(InfiniteRLError, match="reward-0 was lost 10 times in a row.* was killed"):
        trained(world)
    world = hanging(World(config(worker_timeout=0), gone_at=30.0), "sample")
    with pytest.raises(InfiniteRLError, match="all are unreachable"):
        trained(world)
    for method in ("start trainer", "learn", "weights", "save"):
        with pytest.raises(TrainerLost, match=r"the trainer died after update \d+ "):
            trained(World(config(), dies=once(method)))


def test_what_a_resumed_run_cannot_train_on_is_requested_again_first() -> None:
    long = World(config(max_steps=6, max_staleness=3), took=lambda m: 9.0 * (m == "learn"))
    trained(long, sampling="hot")
    state, size = long.states[2], len(long.states[2]["buffer"])
    assert size == 6  # of version 0 (or 1), for the steps 2 to 4
    short = World(config(max_steps=6), batches=long.batches[:2])  # too old for a smaller bound
    controller = trained(short, step=2, state=state, sampling="hot")
    assert controller.outcomes["discarded"] == size + len(state["in_flight"])
    old = {each["request"]["index"] for each in state["buffer"]}
    assert {request.index for request in short.sampled[: len(old)]} <= old | {
        request.index for request in long.sampled
    }
    assert all(group.version == step for step in (2, 3, 4, 5) for group in short.batches[step])
    other = World(long.config, batches=long.batches[:2])  # of other sampling settings
    trained(other, sampling="cold", step=2, state=state)
    assert all(group.version >= 2 for batch in other.batches[2:] for group in batch)
    before = World(config(max_steps=4, batch_size=4, max_staleness=1))
    trained(before)
    state = before.states[2]
    assert len(state["in_flight"]) + len(state["buffer"]) >= 4
    after = World(before.config, batches=before.batches[:2])  # in flight at a kill: together
    trained(after, sampling="other", step=2, state=state)
    assert after.logged("span", stage="rollout")[0]["prompts"] == 4
    assert all(request.attempt == 2 for request in after.sampled[:4])


def test_a_run_that_is_cancelled_leaves_no_task_behind() -> None:
    world = World(config(max_steps=1000, save_every=3), took=lambda _: 1.0)

    async def main() -> int:
        run = asyncio.create_task(world.controller(queue_of()).run())
        await asyncio.sleep(100.5)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return len(asyncio.all_tasks())

    assert simulated(main()) == 1
    assert world.states, "the checkpoints stay"


def test_spans_and_outcomes_are_logged() -> None:
    world = World(config(max_steps=3))
    trained(world)
    spans = world.logged("span")
    assert {(each["stage"], each["worker"]) for each in spans} == {
        ("sync", "trainer"), ("sync", "rollout-0"), ("rollout", "rollout-0"),
        ("idle", "rollout-0"), ("idle", "reward-0"), ("reward", "reward-0"),
        ("idle", "trainer"), ("train", "trainer"), ("save", "trainer"),
    }  # fmt: skip
    assert all(each["began_s"] <= each["ended_s"] for each in spans)
    for worker in {each["worker"] for each in spans}:
        times = sorted((s["began_s"], s["ended_s"]) for s in spans if s["worker"] == worker)
        assert all(one[1] <= other[0] for one, other in zip(times, times[1:], strict=False))
    logged = [(each["step"], each["version"], each["trained"]) for each in world.logged("outcomes")]
    assert logged == [(1, 0, 2), (2, 1, 2), (3, 2, 2)]
