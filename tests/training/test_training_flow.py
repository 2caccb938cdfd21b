"""The flow of a run at scale, with roles that only pretend: every prompt has its fate, whatever
takes how long and whoever dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from fake_roles import World, at_random
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_loop import simulated

from infinite_rl.errors import InfiniteRLError
from infinite_rl.training.core.batches import rows_of_step
from infinite_rl.training.engines.async_controller import OUTCOMES, AsyncController, TrainerLost
from infinite_rl.training.engines.prompt_queue import PromptQueue
from infinite_rl.training.runs.config import TrainingConfig


def config(**values: Any) -> TrainingConfig:
    given = {"model": "m", "engine": "asyncio", "max_steps": 5, "batch_size": 2, "save_every": 2}
    return TrainingConfig.of({**given, **values})


def schedule(prompts: int, epochs: int | None = None) -> PromptQueue:
    return PromptQueue([f"p{place}" for place in range(prompts)], seed=3, epochs=epochs)


def ran(world: World, rows: PromptQueue, **more: Any) -> AsyncController:
    """The flow of a run that has ended as it should."""

    async def main() -> AsyncController:
        flow = world.flow(rows, **more)
        await flow.run()
        return flow

    return simulated(main())


def uses(world: World) -> Counter[tuple[int, int]]:
    """In how many batches each prompt of each epoch was."""
    return Counter(
        (group.task.epoch, group.task.place) for batch in world.batches for group in batch
    )


def check(
    world: World,
    flow: AsyncController,
    rows: PromptQueue,
    settings: TrainingConfig,
    *,
    whole: bool = True,
) -> None:
    """What must hold of every run that has ended; `whole`: it is told from its beginning."""
    for step, batch in enumerate(world.batches):
        keys = [(group.task.epoch, group.task.place) for group in batch]
        assert len(set(keys)) == len(keys), "twice in a batch"
        assert all(0 <= step - group.version <= settings.max_staleness for group in batch)
    assert max(uses(world).values(), default=0) <= settings.num_iterations
    assert flow.in_flight == rows.counts.in_flight == 0
    assert flow.asked == sum(flow.fates[name] for name in OUTCOMES)
    assert not whole or flow.asked >= len(world.sampled)
    assert flow.fates["used"] == len(uses(world))
    assert rows.counts.done == flow.fates["used"] + flow.fates["filtered"]
    told: Counter[str] = Counter()
    for event in world.told("fate"):
        told.update({name: event[name] for name in OUTCOMES})
    if flow.step == settings.max_steps and whole:
        assert +told == +flow.fates
    full = [len(batch) == settings.batch_size for batch in world.batches]
    assert all(full[:-1]) and (all(full) or rows.finished)
    assert flow.step == settings.max_steps or rows.finished
    assert sorted(world.states)[-1:] == [flow.step][: len(world.batches)]


@st.composite
def runs(draw: st.DrawFn) -> tuple[TrainingConfig, int, int | None]:
    """A config that can be, prompts and epochs."""
    size = draw(st.integers(1, 4))
    sync_every = draw(st.integers(1, 3))
    num_iterations = draw(st.integers(1, 3))
    least = max(sync_every, num_iterations) - 1
    values = {
        "max_steps": draw(st.integers(1, 8)),
        "batch_size": size,
        "prompts_per_sync": size * sync_every,
        "num_iterations": num_iterations,
        "max_staleness": least + draw(st.integers(0, 2)),
        "keep_zero_std_groups": draw(st.booleans()),
        "rollout_workers": draw(st.integers(1, 3)),
        "reward_workers": draw(st.integers(1, 3)),
        "save_every": draw(st.integers(1, 4)),
    }
    return config(**values), draw(st.integers(1, 20)), draw(st.sampled_from([None, 1, 2]))


@settings(max_examples=300, deadline=None)
@given(runs(), st.integers(0, 2**32), st.sampled_from([0, 0.1]), st.sampled_from([0, 0.5]))
def test_whatever_takes_how_long_no_prompt_is_lost_or_comes_twice_or_too_late(
    given: tuple[TrainingConfig, int, int | None], seed: int, deaths: float, equal: float
) -> None:
    settings, prompts, epochs = given
    world, rows = at_random(seed, settings, deaths, equal), schedule(prompts, epochs)
    flow = ran(world, rows)
    check(world, flow, rows, settings)
    if not deaths:
        assert not flow.fates["wasted"], "what was sampled was thrown away for its age"


@settings(max_examples=200, deadline=None)
@given(runs(), st.integers(0, 2**32), st.integers(0, 60), st.sampled_from([0, 0.5]))
def test_a_run_that_was_killed_goes_on_and_learns_from_nothing_twice(
    given: tuple[TrainingConfig, int, int | None], seed: int, killed_at: int, equal: float
) -> None:
    settings, prompts, epochs = given
    world, rows = at_random(seed, settings, 0, equal), schedule(prompts, epochs)

    async def killed() -> None:
        await asyncio.wait_for(world.flow(rows).run(), killed_at)

    with contextlib.suppress(asyncio.TimeoutError):
        simulated(killed())
    step = max(world.states, default=0)
    state = json.loads(json.dumps(world.states.get(step)))  # as a checkpoint gives it back
    again, new = at_random(seed + 1, settings, 0, equal), schedule(prompts, epochs)
    again.batches, again.states = world.batches[:step], dict(world.states)
    flow = ran(again, new, step=step, state=state)
    check(again, flow, new, settings, whole=False)


@settings(max_examples=60, deadline=None)
@given(runs(), runs(), st.integers(0, 2**32), st.integers(0, 60), st.sampled_from([0, 0.1]))
def test_a_run_may_go_on_with_other_bounds_batches_and_workers(
    given: tuple[TrainingConfig, int, int | None],
    other: tuple[TrainingConfig, int, int | None],
    seed: int,
    killed_at: int,
    deaths: float,
) -> None:
    before, prompts, epochs = given
    world = at_random(seed, before, deaths, 0.5)

    async def killed() -> None:
        await asyncio.wait_for(world.flow(schedule(prompts, epochs)).run(), killed_at)

    with contextlib.suppress(asyncio.TimeoutError):
        simulated(killed())
    step = max(world.states, default=0)
    after = replace(other[0], max_steps=step + other[0].max_steps)
    state = json.loads(json.dumps(world.states.get(step)))
    again, rows = at_random(seed + 1, after, deaths, 0.5), schedule(prompts, epochs)
    again.batches, again.states = world.batches[:step], dict(world.states)
    flow = ran(again, rows, step=step, state=state)
    for number, batch in enumerate(again.batches[step:], step):
        assert all(0 <= number - group.version <= after.max_staleness for group in batch)
    assert max(uses(again).values(), default=0) <= max(before.num_iterations, after.num_iterations)
    assert flow.in_flight == rows.counts.in_flight
    assert flow.fates["used"] == len(uses(again))
    assert rows.counts.done == flow.fates["used"] + flow.fates["filtered"]
    assert flow.step == after.max_steps or (rows.finished and flow.in_flight == 0)


def test_one_worker_without_staleness_takes_the_prompts_of_the_local_engine() -> None:
    settings = config(max_steps=7, batch_size=3)
    world = World(settings)
    ran(world, PromptQueue([f"p{place}" for place in range(10)], seed="42/prompts"))
    places = [[group.task.place for group in batch] for batch in world.batches]
    assert places == [rows_of_step(10, 3, step, "42/prompts") for step in range(7)]
    assert [group.version for batch in world.batches for group in batch] == sorted(
        list(range(7)) * 3
    )


def test_samplers_go_on_while_the_trainer_learns_and_not_without_staleness() -> None:
    times = {"sample": 10.0, "learn": 10.0}

    def took(role: str) -> float:
        return times.get(role, 0.0)

    ends = []
    for most in (0, 1):
        world = World(config(max_steps=10, max_staleness=most), took=took)
        ran(world, schedule(50))
        ends.append(max(each["ended_s"] for each in world.told("span", stage="train")))
    assert ends == [200, 110]


def test_what_waits_never_exceeds_what_can_be_used_in_time() -> None:
    slow = World(config(max_steps=6, max_staleness=2), took=lambda role: 100.0 * (role == "learn"))
    ran(slow, schedule(50))
    begun = Counter(task.place for task in slow.sampled)
    assert len(begun) == 12 and len(slow.sampled) == 12  # steps * batch_size, none in vain
    before_first = [each for each in slow.told("span", stage="rollout") if each["ended_s"] < 100]
    assert sum(each["prompts"] for each in before_first) == 6  # (max_staleness + 1) * batch_size


def test_weights_are_given_out_every_so_many_updates() -> None:
    world = World(config(max_steps=6, max_staleness=1, prompts_per_sync=4))
    ran(world, schedule(50))
    versions = [[group.version for group in batch] for batch in world.batches]
    assert versions == [[0, 0], [0, 0], [2, 2], [2, 2], [4, 4], [4, 4]]


def test_answers_may_be_learned_from_again() -> None:
    world = World(config(max_steps=6, max_staleness=1, num_iterations=2))
    ran(world, schedule(50))
    assert max(uses(world).values()) == 2 and len(world.sampled) < 12
    assert world.again == 12 - len(uses(world)), "what is told of answers counts each once"


def test_a_slow_answer_is_waited_for_and_not_thrown_away() -> None:
    chance = iter([50.0])  # the first call to sample takes long, all later ones no time

    def took(role: str) -> float:
        return next(chance, 0.0) if role == "sample" else 0.1

    world = World(config(max_steps=8, max_staleness=2, rollout_workers=2), took=took)
    flow = ran(world, schedule(50))
    assert not flow.fates["wasted"]
    late = [
        step
        for step, batch in enumerate(world.batches)
        for g in batch
        if g.task == world.sampled[0]
    ]
    assert late == [2]  # as late as may be


def test_groups_of_equal_rewards_fill_no_batch_unless_they_may() -> None:
    def rewards(place: int, _: int) -> list[float | None]:
        return [1.0, 1.0] if place % 2 else [0.0, 1.0]

    world = World(config(), rewards=rewards)
    flow = ran(world, schedule(50))
    assert all(group.task.place % 2 == 0 for batch in world.batches for group in batch)
    assert flow.fates["filtered"] == len([1 for *_, fate in world.groups if fate == "filtered"]) > 0
    kept = World(config(keep_zero_std_groups=True), rewards=rewards)
    assert ran(kept, schedule(50)).fates == {"used": 10}


def test_a_group_without_two_verdicts_tells_nothing() -> None:
    world = World(config(), rewards=lambda place, _: [None, 1.0] if place else [0.0, 1.0])
    flow = ran(world, schedule(3, epochs=2))
    assert flow.fates == {"used": 2, "filtered": 4}


def test_prompts_that_never_tell_anything_end_the_run_with_a_word() -> None:
    world = World(config(), rewards=lambda *_: [1.0, 1.0])
    with pytest.raises(InfiniteRLError, match="50 prompts in a row got answers of equal rewards"):
        ran(world, schedule(50))


def test_a_batch_that_cannot_be_filled_is_learned_from_as_it_is() -> None:
    world = World(config(batch_size=4))
    flow = ran(world, schedule(5, epochs=1))
    assert [len(batch) for batch in world.batches] == [4, 1]
    assert flow.step == 2 and world.states[2]["schedule"]["done"] == 5


def once(role: str, number: int = 0) -> Any:
    """Kills the first call of a role's worker."""
    left = [1]

    def dies(its: str, of: int, _: Sequence[int]) -> bool:
        return its == role and of == number and bool(left) and bool(left.pop())

    return dies


@pytest.mark.parametrize("role", ["sample", "load", "rollout_worker"])
def test_a_rollout_worker_that_dies_is_replaced_and_its_prompts_come_first(role: str) -> None:
    world = World(config(), dies=once(role))
    flow = ran(world, schedule(50))
    lost = 2 * (role == "sample")
    assert flow.fates == {"used": 10} | ({"wasted": lost} if lost else {})
    assert world.born.count("rollout-0") == 2
    if lost:  # again, each alone, before all others
        first = [task.place for task in world.sampled[:2]]
        assert [task.place for task in world.sampled[2:4]] == first
        assert sorted(g.task.place for g in world.batches[0]) == sorted(first)
    (told,) = world.told("lost")
    assert told["worker"] == "rollout-0" and "was killed" in told["why"]


@pytest.mark.parametrize("role", ["judge", "reward_worker"])
def test_a_reward_worker_that_dies_is_replaced_and_nothing_is_sampled_again(role: str) -> None:
    world = World(config(), dies=once(role))
    assert ran(world, schedule(50)).fates == {"used": 10}
    assert len(world.sampled) == 10 and world.born.count("reward-0") == 2


@pytest.mark.parametrize("role", ["sample", "judge"])
def test_a_prompt_of_which_workers_die_fails_alone(role: str) -> None:
    world = World(config(), dies=lambda its, _, places: its == role and 3 in places)
    rows = schedule(10, epochs=1)
    flow = ran(world, rows)
    assert flow.fates["failed"] == 1 and flow.fates["used"] == 9 and rows.finished
    assert list(rows.failures) == ["p3"] and "was killed" in rows.failures["p3"]
    assert len(world.told("lost")) == 3


def test_a_worker_that_always_dies_ends_the_run_with_a_word() -> None:
    world = World(config(), dies=lambda role, *_: role == "reward_worker")
    with pytest.raises(InfiniteRLError, match="reward-0 was lost 10 times in a row.* was killed"):
        ran(world, schedule(50))


def hanging(world: World, role: str, times: float = 1) -> World:
    """The world, in which the first calls of a role's workers never end."""
    begun = Counter[str]()

    def took(its: str) -> float:
        begun[its] += 1
        return float("inf") if its == role and begun[its] <= times else 1.0

    world.took = took
    return world


@pytest.mark.parametrize("role", ["sample", "load", "judge"])
def test_a_worker_that_never_answers_is_ended_and_replaced(role: str) -> None:
    world = hanging(World(config(worker_timeout=60)), role)
    flow = ran(world, schedule(50))
    assert flow.fates["used"] == 10 and flow.fates["wasted"] == 2 * (role == "sample")
    worker = "reward-0" if role == "judge" else "rollout-0"
    assert world.killed == [worker] and world.born.count(worker) == 2
    (told,) = world.told("lost")
    assert told == {**told, "worker": worker, "why": "no answer within 60 s (worker_timeout)"}
    (span,) = world.told("span", worker=worker, lost=True)
    assert span["ended_s"] - span["began_s"] == 60


@pytest.mark.parametrize("role", ["sample", "judge"])
def test_a_prompt_that_workers_never_answer_fails_alone(role: str) -> None:
    @dataclass
    class Hanging(World):
        async def call(self, its: str, number: int = 0, places: Sequence[int] = ()) -> None:
            if its == role and 3 in places:
                await asyncio.Event().wait()
            await super().call(its, number, places)

    rows = schedule(10, epochs=1)
    flow = ran(Hanging(config(worker_timeout=60)), rows)
    assert flow.fates["failed"] == 1 and flow.fates["used"] == 9 and rows.finished
    assert "was lost: no answer within 60 s" in rows.failures["p3"]


def test_a_worker_may_take_any_time_where_there_is_no_limit() -> None:
    slow = World(config(worker_timeout=0), took=lambda role: 1e6 * (role == "sample"))
    assert ran(slow, schedule(50)).fates == {"used": 10} and not slow.killed


def test_an_error_that_says_timeout_is_the_roles_own() -> None:
    def rewards(*_: int) -> list[float | None]:
        raise asyncio.TimeoutError

    with pytest.raises(asyncio.TimeoutError):
        ran(World(config(worker_timeout=60), rewards=rewards), schedule(50))


def test_a_run_whose_workers_are_all_out_of_reach_ends_with_a_word() -> None:
    world = hanging(World(config(worker_timeout=0), gone_at=30.0), "sample")
    with pytest.raises(InfiniteRLError, match="all are out of reach"):
        ran(world, schedule(50))


@pytest.mark.parametrize("role", ["trainer", "learn", "weights", "save"])
def test_a_trainer_that_dies_ends_the_run_and_says_how_to_go_on(role: str) -> None:
    world = World(config(), dies=once(role))
    with pytest.raises(TrainerLost, match=r"the trainer died after update \d.*newest checkpoint"):
        ran(world, schedule(50))


def test_an_error_of_a_role_is_an_error_of_the_run() -> None:
    def rewards(*_: int) -> list[float | None]:
        raise ValueError("a fault of the reward")

    with pytest.raises(ValueError, match="a fault of the reward"):
        ran(World(config(), rewards=rewards), schedule(50))


def test_groups_that_a_smaller_bound_makes_too_old_are_asked_for_again_first() -> None:
    long = World(config(max_steps=6, max_staleness=3), took=lambda role: 9.0 * (role == "learn"))
    ran(long, schedule(50))
    state, size = long.states[2], len(long.states[2]["buffer"])
    assert size == 6  # of version 0 (or 1), that were to be learned from in the steps 2 to 4
    short = World(config(max_steps=6), batches=long.batches[:2])
    flow = ran(short, schedule(50), step=2, state=state)
    assert flow.fates["wasted"] == size + len(state["flying"])
    old = {each["task"]["place"] for each in state["buffer"]}
    assert {task.place for task in short.sampled[: len(old)]} <= old | {
        task.place for task in long.sampled
    }
    assert all(group.version == step for step in (2, 3, 4, 5) for group in short.batches[step])


def test_answers_that_came_to_be_otherwise_are_not_learned_from() -> None:
    before = World(config(max_steps=6, max_staleness=3), took=lambda role: 9.0 * (role == "learn"))
    ran(before, schedule(50), sampling="hot")
    state = before.states[2]
    after = World(config(max_steps=6, max_staleness=3), batches=before.batches[:2])
    ran(after, schedule(50), sampling="cold", step=2, state=state)
    assert all(group.version >= 2 for batch in after.batches[2:] for group in batch)


def test_a_run_that_is_stopped_leaves_nobody_behind() -> None:
    world = World(config(max_steps=1000, save_every=3), took=lambda _: 1.0)

    async def main() -> int:
        run = asyncio.create_task(world.flow(schedule(50)).run())
        await asyncio.sleep(100.5)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return len(asyncio.all_tasks())

    assert simulated(main()) == 1
    assert world.states, "the checkpoints stay"


def test_spans_tell_who_did_what_when_and_fates_what_became_of_it() -> None:
    world = World(config(max_steps=3))
    ran(world, schedule(50))
    spans = world.told("span")
    stages = {(each["stage"], each["worker"]) for each in spans}
    assert stages == {
        ("sync", "trainer"), ("sync", "rollout-0"), ("rollout", "rollout-0"),
        ("idle", "rollout-0"), ("idle", "reward-0"), ("reward", "reward-0"),
        ("idle", "trainer"), ("train", "trainer"), ("save", "trainer"),
    }  # fmt: skip
    assert all(each["began_s"] <= each["ended_s"] for each in spans)
    for worker in {each["worker"] for each in spans}:
        own = sorted(
            (each["began_s"], each["ended_s"]) for each in spans if each["worker"] == worker
        )
        assert all(one[1] <= other[0] for one, other in zip(own, own[1:], strict=False))
    fates = [(each["step"], each["version"], each["used"]) for each in world.told("fate")]
    assert fates == [(1, 0, 2), (2, 1, 2), (3, 2, 2)]


def test_what_was_in_flight_when_a_run_was_killed_is_asked_for_together() -> None:
    before = World(config(max_steps=4, batch_size=4, max_staleness=1))
    ran(before, schedule(50))
    state = before.states[2]
    assert len(state["flying"]) + len(state["buffer"]) >= 4
    after = World(config(max_steps=4, batch_size=4, max_staleness=1), batches=before.batches[:2])
    ran(after, schedule(50), sampling="other", step=2, state=state)
    first = after.told("span", stage="rollout")[0]
    assert first["prompts"] == 4 and all(task.attempt == 2 for task in after.sampled[:4])
