"""Fake workers for tests of the async controller: they take simulated time and die on request."""

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
from infinite_rl.training.core.rollout_types import PromptRequest, RolloutGroup
from infinite_rl.training.engines.async_controller import AsyncController
from infinite_rl.training.engines.prompt_queue import PromptQueue
from infinite_rl.training.engines.roles import WorkerLost
from infinite_rl.training.runs.config import TrainingConfig


@dataclass(frozen=True)
class FakeSampled:
    """As `sampling.Sampled`, which needs torch."""

    ids: list[int]
    log_probs: list[float]
    text: str
    finish_reason: str = "stop"
    loss_mask: list[int] | None = None
    transcript: str = ""
    tool_calls: int = 0
    fault: str = ""


@dataclass
class World:
    """The behaviour of the fake workers and the record of it; worker factory and observer at once.

    `dies(method, number, indices)` says whether a worker dies in a call, `took(method)` how long a
    call takes (float("inf"): for ever), `rewards(index, times)` the rewards of a prompt's rollouts
    when it is scored for the n-th time; at `gone_at` all workers are unreachable. "start rollout"
    and its like are methods too.
    """

    config: TrainingConfig
    dies: Callable[[str, int, Sequence[int]], bool] = lambda *_: False
    took: Callable[[str], float] = lambda _: 1.0
    rewards: Callable[[int, int], list[float | None]] = lambda *_: [0.0, 1.0]
    batches: list[list[RolloutGroup]] = field(default_factory=list)
    sampled: list[PromptRequest] = field(default_factory=list)
    scored: Counter[int] = field(default_factory=Counter)
    states: dict[int, dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    groups: list[tuple[int, RolloutGroup, str]] = field(default_factory=list)
    repeated: int = 0
    gone_at: float = float("inf")
    killed: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)

    def controller(self, queue: PromptQueue, **options: Any) -> AsyncController:
        return AsyncController(self.config, queue, self, self, clock=clock, **options)

    async def act(self, method: str, number: int = 0, indices: Sequence[int] = ()) -> None:
        await _sleep(self.took(method))
        if self.dies(method, number, indices):
            raise WorkerLost(f"{method} {number} was killed")

    # As a worker factory.

    async def start(self, role: str, name: str) -> FakeWorker:
        self.started.append(name)
        number = int(name.rpartition("-")[2]) if "-" in name else 0
        await self.act(f"start {role}", number)
        return FakeWorker(self, name, number)

    async def unreachable(self) -> None:
        await _sleep(self.gone_at)
        raise InfiniteRLError("all are unreachable")

    # As an observer.

    def event(self, kind: str, step: int, **values: Any) -> None:
        self.events.append({"kind": kind, "step": step, **values})

    def group(
        self, step: int, group: RolloutGroup, outcome: str, *, repeated: bool = False
    ) -> None:
        self.groups.append((step, group, outcome))
        self.repeated += repeated

    def updated(self, step: int, values: Mapping[str, Any]) -> None:
        assert step == len(self.batches) and values["prompts"] == len(self.batches[-1])

    def before_save(self) -> None:
        pass

    def saved(self, path: Path) -> None:
        assert path == Path(f"step_{max(self.states)}")

    def logged(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        return [each for each in self.events if each.items() >= {"kind": kind, **wanted}.items()]


@dataclass
class FakeWorker:
    world: World
    name: str
    number: int
    version: int | None = None

    async def call(self, method: str, *args: Any) -> Any:
        return await getattr(self, f"_{method}")(*args)

    def kill(self) -> None:
        self.world.killed.append(self.name)

    async def _learn(self, step: int, groups: Sequence[RolloutGroup]) -> dict[str, float]:
        world = self.world
        assert step == len(world.batches)
        await world.act("learn", 0, [group.request.index for group in groups])
        world.batches.append(list(groups))
        return {"loss": 0.5}

    async def _weights(self) -> int:
        version = len(self.world.batches)
        await self.world.act("weights")
        return version

    async def _save(self, step: int, state: Mapping[str, Any]) -> Path:
        copy = deepcopy(dict(state))
        await self.world.act("save")
        self.world.states[step] = copy
        return Path(f"step_{step}")

    async def _load(self, weights: int) -> None:
        await self.world.act("load", self.number)
        self.version = weights

    async def _sample(self, requests: Sequence[PromptRequest]) -> list[list[FakeSampled]]:
        assert self.version is not None, "weights come first"
        self.world.sampled += requests
        await self.world.act("sample", self.number, [request.index for request in requests])
        return [[FakeSampled([7], [-1.0], f"by {self.version}")] * 2 for _ in requests]

    async def _score(self, indices: Sequence[int], texts: Sequence[str]) -> list[float | None]:
        assert len(indices) == len(texts) == 2
        await self.world.act("score", self.number, indices)
        self.world.scored[indices[0]] += 1
        return self.world.rewards(indices[0], self.world.scored[indices[0]])


async def _sleep(seconds: float) -> None:
    if seconds == float("inf"):
        await asyncio.Event().wait()  # a timer would advance the simulated clock
    await asyncio.sleep(seconds)


def random_world(seed: int, config: TrainingConfig, deaths: float, equal: float) -> World:
    """Random durations; fractions of calls that kill and of groups with equal rewards."""
    chance = Random(seed)
    mortal = ("sample", "score", "load", "start rollout", "start reward")
    in_a_row = [0]

    def took(_: str) -> float:
        return chance.choice([0.0, 0.1, 1.0, chance.random(), 10 * chance.random()])

    def dies(method: str, _: int, __: Sequence[int]) -> bool:
        return method in mortal and chance.random() < deaths

    def rewards(_: int, __: int) -> list[float | None]:
        in_a_row[0] = in_a_row[0] + 1 if chance.random() < equal and in_a_row[0] < 5 else 0
        return [1.0, 1.0] if in_a_row[0] else [0.0, 1.0]

    return World(config, dies, took, rewards)
