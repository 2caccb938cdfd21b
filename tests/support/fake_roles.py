"""Roles that only pretend, for tests of the flow: they take simulated time, and die when told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from simulated_loop import clock

from infinite_rl.errors import InfiniteRLError
from infinite_rl.training.engines.async_controller import AsyncController
from infinite_rl.training.engines.prompt_queue import PromptQueue
from infinite_rl.training.engines.roles import Group, PromptRequest, WorkerLost
from infinite_rl.training.runs.config import TrainingConfig


@dataclass(frozen=True)
class Said:
    """As `sampling.Sampled`, which needs torch."""

    ids: list[int]
    log_probs: list[float]
    text: str
    finish_reason: str = "stop"


@dataclass
class World:
    """What the fake roles do, and what has come of it; it is also the placement and the observer.

    `dies(role, number, places)` says whether a worker dies of a call, `took(role)` how long a call
    takes (also for ever: float("inf")), `rewards(place, times)` what the answers to a prompt get
    that is judged so often; at `gone_at` all are out of reach.
    """

    config: TrainingConfig
    dies: Callable[[str, int, Sequence[int]], bool] = lambda *_: False
    took: Callable[[str], float] = lambda _: 1.0
    rewards: Callable[[int, int], list[float | None]] = lambda *_: [0.0, 1.0]
    batches: list[list[Group]] = field(default_factory=list)
    sampled: list[PromptRequest] = field(default_factory=list)
    judged: Counter[int] = field(default_factory=Counter)
    states: dict[int, dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    groups: list[tuple[int, Group, str]] = field(default_factory=list)
    again: int = 0
    saves: int = 0
    gone_at: float = float("inf")
    killed: list[str] = field(default_factory=list)
    born: list[str] = field(default_factory=list)

    def flow(self, schedule: PromptQueue, **more: Any) -> AsyncController:
        return AsyncController(self.config, schedule, self, self, clock=clock, **more)

    async def call(self, role: str, number: int = 0, places: Sequence[int] = ()) -> None:
        await _slept(self.took(role))
        if self.dies(role, number, places):
            raise WorkerLost(f"{role} {number} was killed")

    # As a placement.

    async def trainer(self) -> FakeTrainer:
        await self.call("trainer")
        return FakeTrainer(self)

    async def rollout_worker(self, number: int) -> FakeRollout:
        self.born.append(f"rollout-{number}")
        await self.call("rollout_worker", number)
        return FakeRollout(self, number)

    async def reward_worker(self, number: int) -> FakeReward:
        self.born.append(f"reward-{number}")
        await self.call("reward_worker", number)
        return FakeReward(self, number)

    async def gone(self) -> None:
        await _slept(self.gone_at)
        raise InfiniteRLError("all are out of reach")

    # As an observer.

    def event(self, kind: str, step: int, **values: Any) -> None:
        self.events.append({"kind": kind, "step": step, **values})

    def group(self, step: int, group: Group, fate: str, *, again: bool = False) -> None:
        self.groups.append((step, group, fate))
        self.again += again

    def stepped(self, step: int, values: Mapping[str, Any]) -> None:
        assert step == len(self.batches) and values["prompts"] == len(self.batches[-1])

    def saving(self) -> None:
        self.saves += 1

    def saved(self, path: Path) -> None:
        assert path == Path(f"step_{max(self.states)}")

    def told(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        return [
            each
            for each in self.events
            if each["kind"] == kind and all(each.get(name) == wanted[name] for name in wanted)
        ]


@dataclass
class FakeTrainer:
    world: World

    async def learn(self, step: int, groups: Sequence[Group]) -> dict[str, float]:
        world = self.world
        assert step == len(world.batches)
        await world.call("learn", step, [group.task.place for group in groups])
        world.batches.append(list(groups))
        return {"loss": 0.5}

    async def weights(self) -> int:
        version = len(self.world.batches)
        await self.world.call("weights")
        return version

    async def save(self, step: int, state: Mapping[str, Any]) -> Path:
        kept = deepcopy(dict(state))
        await self.world.call("save")
        self.world.states[step] = kept
        return Path(f"step_{step}")


@dataclass
class FakeRollout:
    world: World
    number: int
    version: int | None = None

    async def load(self, version: int, weights: int) -> None:
        assert weights == version
        await self.world.call("load", self.number)
        self.version = version

    async def sample(self, tasks: Sequence[PromptRequest]) -> list[list[Said]]:
        assert self.version is not None, "weights come first"
        self.world.sampled += tasks
        await self.world.call("sample", self.number, [task.place for task in tasks])
        text = f"by {self.version}"
        return [[Said([7], [-1.0], text) for _ in range(2)] for _ in tasks]

    def kill(self) -> None:
        self.world.killed.append(f"rollout-{self.number}")


@dataclass
class FakeReward:
    world: World
    number: int

    async def judge(self, places: Sequence[int], texts: Sequence[str]) -> list[float | None]:
        assert len(places) == len(texts) == 2
        await self.world.call("judge", self.number, places)
        place = places[0]
        self.world.judged[place] += 1
        return self.world.rewards(place, self.world.judged[place])

    def kill(self) -> None:
        self.world.killed.append(f"reward-{self.number}")


async def _slept(seconds: float) -> None:
    if seconds == float("inf"):
        await asyncio.Event().wait()  # a timer would let the simulated clock go on
    await asyncio.sleep(seconds)


def at_random(seed: int, config: TrainingConfig, deaths: float, equal: float) -> World:
    """A world of random times, in which so many calls kill and so many groups tell nothing."""
    chance = Random(seed)
    mortal = ("sample", "judge", "load", "rollout_worker", "reward_worker")

    def took(_: str) -> float:
        return chance.choice([0.0, 0.1, 1.0, chance.random(), 10 * chance.random()])

    def dies(role: str, _: int, __: Sequence[int]) -> bool:
        return role in mortal and chance.random() < deaths

    in_a_row = [0]

    def rewards(_: int, __: int) -> list[float | None]:
        in_a_row[0] = in_a_row[0] + 1 if chance.random() < equal and in_a_row[0] < 5 else 0
        return [1.0, 1.0] if in_a_row[0] else [0.0, 1.0]

    return World(config, dies, took, rewards)
