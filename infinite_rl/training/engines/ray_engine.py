"""Engine `ray`: the run of the engine `asyncio`, with each role in a process of its own on Ray.

    this process    the algorithm (`flow`), the schedule, the run's folder
    trainer         one actor on this process's host, which sees the run's folder; with the model
                    that learns, its optimizer, and where `kl_coef` is positive the frozen reference
    rollout-N       actors all over the cluster, each with a model that samples
    reward-N        actors all over the cluster, each with its own sandbox and mathematics

The trainer is no part of this process: so sampling and judging go on while it learns, Ray gives it
a GPU of its own as it does the others, and if it dies this process is there to say so and to close
the folder. Weights go through Ray's object store: one copy for each host and version, which the
workers there read in place.

No actor is ever restarted by Ray: one that has died is told of as `WorkerLost`, and the flow, which
knows what it was at, asks for another.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from ...errors import InfiniteRLError, UsageError, reason_of
from ...workers.ray_cluster import connected
from ..core.sampling import Sampled
from ..runs.checkpoint import step_of
from ..runs.config import TrainingConfig
from .async_engine import Tell, train_async
from .role_workers import RewardRole, RoleSpec, RolloutRole, TrainerRole
from .roles import Group, PromptRequest, WorkerFactory, WorkerLost, startup_timeout, with_timeout

logger = logging.getLogger(__name__)

_ROOM_S = 120.0  # how often one is told that there is no room for an actor
_REACH_S = 40.0  # how long a cluster may not answer; after 60 s Ray itself ends this process


# --- weights -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SerializedWeights:
    """A state dict as bytes that Ray moves without copying them in Python.

    `tensors` holds the bytes, the dtype and the shape of each tensor by name; `same` names tensors
    that share the memory of another, as tied embeddings do: they travel once.
    """

    tensors: Mapping[str, tuple[np.ndarray[Any, Any], str, tuple[int, ...]]]
    same: Mapping[str, str]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(part.nbytes for part, _, _ in self.tensors.values())


def serialize(state: Mapping[str, torch.Tensor]) -> SerializedWeights:
    """A state dict, packed; numpy has no bfloat16, so all travel as bytes."""
    tensors: dict[str, tuple[np.ndarray[Any, Any], str, tuple[int, ...]]] = {}
    same: dict[str, str] = {}
    first: dict[tuple[Any, ...], str] = {}
    for name, tensor in state.items():
        memory = (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if tensor.numel() and first.setdefault(memory, name) != name:
            same[name] = first[memory]
            continue
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        dtype = str(tensor.dtype).removeprefix("torch.")
        tensors[name] = flat.view(torch.uint8).numpy(), dtype, tuple(tensor.shape)
    return SerializedWeights(tensors, same)


def deserialize(weights: SerializedWeights) -> dict[str, torch.Tensor]:
    """The state dict again; its tensors are only to be read: they lie in what was packed."""
    found = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        for name, (part, dtype, shape) in weights.tensors.items():
            kind = getattr(torch, dtype)
            flat = torch.from_numpy(part).view(kind) if part.size else torch.empty(0, dtype=kind)
            found[name] = flat.reshape(shape)
    return {**found, **{name: found[other] for name, other in weights.same.items()}}


# --- in the process of a role --------------------------------------------------------------------


@dataclass(frozen=True)
class Reply:
    """What a call came to: a value, or why it could not be done; and what was logged meanwhile."""

    value: Any = None
    refused: str | None = None
    usage: bool = False
    logged: list[str] = field(default_factory=list)


class RoleActor:
    """What runs in an actor: an object of a role, made there, whose methods are called by name.

    Errors of this package go back in a `Reply`: not all of them can be pickled, and whoever began
    the run wants one line. Log lines go back as well: in Ray's files nobody reads them.
    """

    def __init__(self) -> None:
        self._lines = _Lines()
        logging.getLogger("infinite_rl").addHandler(self._lines)
        self._role: Any = None

    def where(self) -> dict[str, Any]:
        """The process and its host; the answer shows that there was room for it."""
        ray: Any = import_module("ray")
        gpus = [str(each) for each in ray.get_gpu_ids()]
        return {"pid": os.getpid(), "host": ray.util.get_node_ip_address(), "gpus": gpus}

    def begin(self, make: Callable[..., Any], *given: Any) -> Reply:
        """Make the object, which is asked from then on."""

        def begun() -> None:
            self._role = make(*given)

        return self._reply(begun)

    def call(self, method: str, *given: Any) -> Reply:
        """Call a method of the object."""
        return self._reply(lambda: getattr(self._role, method)(*given))

    def load(self, weights: SerializedWeights) -> Reply:
        """Have a rollout worker take over weights."""
        return self._reply(lambda: self._role.load(deserialize(weights)))

    def weights(self) -> tuple[Reply, SerializedWeights | None]:
        """The size of the trainer's weights; and, on their own, they: whoever asks waits for the
        size alone."""
        reply = self._reply(lambda: serialize(self._role.weights()))
        found = reply.value
        return replace(reply, value=found and found.size), found

    def _reply(self, call: Callable[[], Any]) -> Reply:
        try:
            return Reply(call(), logged=self._lines.taken())
        except InfiniteRLError as error:
            usage = isinstance(error, UsageError)
            return Reply(refused=str(error), usage=usage, logged=self._lines.taken())


class _Lines(logging.Handler):
    """Warnings of this package, until somebody takes them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._found.append(record.getMessage())

    def taken(self) -> list[str]:
        found, self._found = self._found, []
        return found


# --- in this process -----------------------------------------------------------------------------


class _Actor:
    """A role in another process, as the flow calls it."""

    def __init__(self, ray: Any, name: str, handle: Any, logged: set[str], tell: Tell) -> None:
        self._ray, self.name, self.handle = ray, name, handle
        self._logged, self.tell = logged, tell
        self.where: Mapping[str, Any] = {}

    async def found(self) -> Mapping[str, Any]:
        """Where it is, once there is room for it."""
        self.where = await self._answer(self.handle.where.remote())
        return self.where

    async def call(self, method: str, *given: Any) -> Any:
        return await self.reply(self.handle.call.remote(method, *given))

    async def reply(self, call: Any) -> Any:
        """The value of a reply. Raises UsageError, InfiniteRLError, WorkerLost."""
        reply: Reply = await self._answer(call)
        for line in reply.logged:
            if line not in self._logged:  # all of a role say the same
                self._logged.add(line)
                logger.warning("%s: %s", self.name, line)
        if reply.refused is None:
            return reply.value
        raise (UsageError if reply.usage else InfiniteRLError)(reply.refused)

    async def _answer(self, call: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return await call
        except errors.RayTaskError as error:  # a fault of ours, not of the process
            logger.error("%s", error)
            cause = error.cause
            said = f"{type(cause).__name__}: {reason_of(cause)}"
            raise InfiniteRLError(f"{self.name} failed: {said}") from None
        except errors.RayError as error:
            self.kill()  # where it is only out of reach it must not go on
            raise WorkerLost(self._lost(error)) from None

    def _lost(self, error: Exception) -> str:
        """Why it is gone, in a few words."""
        text = " ".join(str(error).split())
        why = text.partition("The actor is dead because ")[2].partition(". ")[0] or text[:200]
        place = f" (process {self.where['pid']} on {self.where['host']})" if self.where else ""
        return f"{why.rstrip('.')}{place}"

    def kill(self) -> None:
        self._ray.kill(self.handle)


class _Rollouts(_Actor):
    async def load(self, version: int, weights: Any) -> None:  # noqa: ARG002  # the role's signature
        await self.reply(self.handle.load.remote(weights))

    async def sample(self, tasks: Sequence[PromptRequest]) -> Sequence[Sequence[Sampled]]:
        found: Sequence[Sequence[Sampled]] = await self.call("sample", list(tasks))
        return found


class _Rewards(_Actor):
    async def judge(self, places: Sequence[int], texts: Sequence[str]) -> Sequence[float | None]:
        found: Sequence[float | None] = await self.call("judge", list(places), list(texts))
        return found


class _Trainer(_Actor):
    updates = 0

    async def learn(self, step: int, groups: Sequence[Group]) -> Mapping[str, float]:
        found: Mapping[str, float] = await self.call("learn", step, list(groups))
        self.updates = step + 1
        return found

    async def weights(self) -> Any:
        """A reference to the weights: only those who load them fetch them.

        As a result of a call they belong to this process: they outlive the trainer's, and are let
        go of with their last reference.
        """
        began = time.perf_counter()
        size, weights = self.handle.weights.options(num_returns=2).remote()
        told = {"bytes": await self.reply(size), "seconds": time.perf_counter() - began}
        self.tell("weights", self.updates, version=self.updates, **told)
        return weights

    async def save(self, step: int, state: Mapping[str, Any]) -> Path:
        found: Path = await self.call("save", step, dict(state))
        return found


class RayWorkerFactory:
    """Gives the flow its workers as actors: see `roles.Placement`; `close` ends all of them.

    makers    by role: what makes the role's object in its process, and what it is given
    gpus      by role, of each process
    limit     seconds in which a rollout or reward worker must have begun, once there is room for
              it; 0: none
    tell      takes events: where each process is, and how large the weights are
    updates   that the run has behind it
    """

    def __init__(
        self,
        ray: Any,
        makers: Mapping[str, tuple[Callable[..., Any], Sequence[Any]]],
        gpus: Mapping[str, int],
        tell: Tell,
        *,
        limit: float = 0,
        updates: int = 0,
    ) -> None:
        self._ray, self._gpus, self._tell, self._updates = ray, gpus, tell, updates
        self._limit = limit
        self._makers = {
            role: (make, [ray.put(each) for each in given])
            for role, (make, given) in makers.items()
        }
        self._address = str(ray.get_runtime_context().gcs_address)
        self._alive: dict[str, _Actor] = {}
        self._logged: set[str] = set()

    async def trainer(self) -> _Trainer:
        """The trainer, on this host."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self._ray.get_runtime_context().get_node_id()
        strategy = NodeAffinitySchedulingStrategy(here, soft=False)  # where the run's folder is
        trainer = await self._start(_Trainer, "trainer", "trainer", strategy)
        trainer.updates = self._updates
        return trainer

    async def rollout_worker(self, number: int) -> _Rollouts:
        """A rollout worker, wherever there is room."""
        return await self._start(_Rollouts, "rollout", f"rollout-{number}")

    async def reward_worker(self, number: int) -> _Rewards:
        """A reward worker, wherever there is room."""
        return await self._start(_Rewards, "reward", f"reward-{number}")

    async def gone(self) -> None:
        """Wait, and raise InfiniteRLError once the cluster's head has not answered for long.

        Without it nothing can be placed any more, and Ray ends all of the cluster's processes. What
        Ray says of it waits for what is under way, or is nothing at all.
        """
        to_rollout = time.monotonic()
        while time.monotonic() - to_rollout < _REACH_S:
            await asyncio.sleep(_REACH_S / 10)
            if await self._reached():
                to_rollout = time.monotonic()
        raise InfiniteRLError(
            f"the Ray cluster at {self._address} is gone: its head has not answered for "
            f"{_REACH_S:g} s; resumed, the run goes on from its newest checkpoint"
        )

    async def _reached(self) -> bool:
        """Whether the cluster's head takes connections."""
        host, _, port = self._address.rpartition(":")
        opened = asyncio.open_connection(host.strip("[]"), int(port))
        try:
            _, writer = await asyncio.wait_for(opened, _REACH_S / 10)
        except (OSError, asyncio.TimeoutError):
            return False
        writer.close()
        return True

    def close(self) -> None:
        """End all processes."""
        for actor in self._alive.values():
            actor.kill()

    async def _start(self, kind: type[_A], role: str, name: str, strategy: Any = "SPREAD") -> _A:
        self._alive.pop(name, None)
        while not await self._reached():  # else Ray would hold up this whole process; see `gone`
            await asyncio.sleep(1)
        handle = (
            self._ray.remote(RoleActor)
            .options(
                num_cpus=1,
                num_gpus=self._gpus[role],
                max_restarts=0,
                scheduling_strategy=strategy,
            )
            .remote()
        )
        actor = kind(self._ray, name, handle, self._logged, self._tell)
        try:
            self._tell("placed", 0, worker=name, **await self._room(actor, role))
            make, given = self._makers[role]
            begun = actor.reply(handle.begin.remote(make, *given))
            await with_timeout(begun, 0 if role == "trainer" else self._limit)
        except BaseException:  # also where the run is being ended: nobody else knows of it
            actor.kill()
            raise
        self._alive[name] = actor
        return actor

    async def _room(self, actor: _Actor, role: str) -> Mapping[str, Any]:
        """Where the actor is, once the cluster has room for it.

        It is waited for as long as others of the role do its work.
        """
        found = asyncio.ensure_future(actor.found())
        while not (await asyncio.wait([found], timeout=_ROOM_S))[0]:
            free = self._ray.available_resources()
            said = (
                f"there is no room for {actor.name}: it needs 1 CPU and {self._gpus[role]} GPUs, "
                f"and {free.get('CPU', 0):g} and {free.get('GPU', 0):g} are free in the cluster"
            )
            if not any(other.startswith(role) for other in self._alive):
                found.cancel()
                raise InfiniteRLError(said)
            logger.warning("%s; the run goes on without it", said)
        return found.result()


_A = TypeVar("_A", bound=_Actor)


# --- the engine ----------------------------------------------------------------------------------


@contextmanager
def on_ray(job: RoleSpec, tell: Tell) -> Iterator[WorkerFactory]:
    """The roles in actors of the cluster that the config names.

    Raises:
        UsageError: there is no such cluster, it is too small, or the reward cannot be sent.
    """
    config = job.config
    count = {"trainer": 1, "rollout": config.rollout_workers, "reward": config.reward_workers}
    logger.info("Ray: starting %d processes; this takes up to a minute or two", sum(count.values()))
    with connected(config.ray_address or None, sum(count.values())) as ray:
        here = ray.cluster_resources()
        gpus = _gpus(config, int(here.get("GPU", 0)))
        _check_room(count, gpus, here)
        away = replace(job, source=None)  # a checkpoint is on this host alone; weights are sent
        makers = {
            "trainer": (TrainerRole, [job]),
            "rollout": (_rollout_of(config), [away]),
            "reward": (RewardRole, [away]),
        }
        try:
            done = step_of(job.source) if job.source else 0
            limit = startup_timeout(config)
            placement = RayWorkerFactory(ray, makers, gpus, tell, limit=limit, updates=done)
        except TypeError as error:  # what pickling raises
            said = reason_of(error)
            raise UsageError(f"the reward cannot be sent to other processes: {said}") from None
        try:
            yield placement
        finally:
            placement.close()


def _rollout_of(config: TrainingConfig) -> Callable[[RoleSpec], Any]:
    if config.rollout_backend == "vllm":
        from .vllm_rollout import VLLMRollout

        return VLLMRollout
    return RolloutRole


def _gpus(config: TrainingConfig, found: int) -> dict[str, int]:
    """The GPUs of each process of a role, in a cluster with so many."""
    if config.device == "cpu" or not found:
        if config.rollout_backend == "vllm" or config.device.startswith("cuda"):
            raise UsageError("there is no GPU in the cluster, and the config asks for one")
        return {"trainer": 0, "rollout": 0, "reward": 0}
    if ":" in config.device:
        raise UsageError(
            f"Ray gives each process its GPU: device is auto or cuda, not {config.device}"
        )
    return {"trainer": 1, "rollout": config.rollout_gpus, "reward": 0}


def _check_room(
    count: Mapping[str, int], gpus: Mapping[str, int], here: Mapping[str, float]
) -> None:
    needed = {"CPU": sum(count.values()), "GPU": sum(gpus[role] * count[role] for role in count)}
    for kind, least in needed.items():
        if here.get(kind, 0) < least:
            raise UsageError(
                f"the cluster has {here.get(kind, 0):g} {kind}s, and a trainer, {count['rollout']} "
                f"rollout and {count['reward']} reward workers need {least}"
            )


# Trains with the roles on a Ray cluster: see `run_on`. Where Ray is connected, that is used.
run = partial(train_async, on_ray)
