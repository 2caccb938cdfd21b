"""The engine `ray`: the run of the engine `asyncio`, with a process for each worker on Ray.

    this process    the controller, the prompt queue, the run's directory
    trainer         one actor on this host, which sees the run's directory; the policy, its
                    optimizer, and if `kl_coef` is positive the frozen reference model
    rollout-N       actors all over the cluster, each with a model that samples
    reward-N        actors all over the cluster, each with its own sandbox and symbolic maths

The trainer is a process of its own, so that sampling and scoring go on while it learns, Ray gives
it a GPU as it does the others, and if it dies this process logs that and closes the directory.
Weights go through Ray's object store: one copy for each host and version, read in place.

Ray restarts no actor: a dead one raises `WorkerLost`, and the controller, which knows its requests,
starts a replacement.
"""

import asyncio
import logging
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from ...errors import InfiniteRLError, RunDied, UsageError, reason_of
from ...workers.ray_cluster import HostedActor, Reply, connected
from ..runs.checkpoint import step_of
from ..runs.config import TrainingConfig
from .async_engine import LogEvent, train_async
from .role_workers import ROLES, RoleSpec
from .roles import WorkerFactory, WorkerLost, startup_timeout, with_timeout

logger = logging.getLogger(__name__)

_ROOM_S = 120.0  # interval of the warnings that the cluster has no room for an actor
_UNREACHABLE_S = 40.0  # without an answer of the cluster; after 60 s Ray itself ends this process


# --- weights -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SerializedWeights:
    """A state dict as bytes, which Ray moves without copying them in Python.

    `tensors` holds the bytes, dtype and shape of each tensor by name; `tied` names tensors that
    share the memory of another, as tied embeddings do: these bytes travel once.
    """

    tensors: Mapping[str, tuple[np.ndarray[Any, Any], str, tuple[int, ...]]]
    tied: Mapping[str, str]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(part.nbytes for part, _, _ in self.tensors.values())


def serialize(state: Mapping[str, torch.Tensor]) -> SerializedWeights:
    """A state dict as bytes: numpy has no bfloat16."""
    tensors: dict[str, tuple[np.ndarray[Any, Any], str, tuple[int, ...]]] = {}
    tied: dict[str, str] = {}
    first: dict[tuple[Any, ...], str] = {}
    for name, tensor in state.items():
        memory = (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if tensor.numel() and first.setdefault(memory, name) != name:
            tied[name] = first[memory]
            continue
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        dtype = str(tensor.dtype).removeprefix("torch.")
        tensors[name] = flat.view(torch.uint8).numpy(), dtype, tuple(tensor.shape)
    return SerializedWeights(tensors, tied)


def deserialize(weights: SerializedWeights) -> dict[str, torch.Tensor]:
    """The state dict again; its tensors are read-only, as they share memory with the bytes."""
    state = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        for name, (part, dtype, shape) in weights.tensors.items():
            kind = getattr(torch, dtype)
            flat = torch.from_numpy(part).view(kind) if part.size else torch.empty(0, dtype=kind)
            state[name] = flat.reshape(shape)
    return {**state, **{name: state[other] for name, other in weights.tied.items()}}


# --- workers -------------------------------------------------------------------------------------


class RoleActor(HostedActor):
    """Hosts a role of `role_workers` in an actor."""

    def load(self, weights: SerializedWeights) -> Reply:
        """Load weights into a rollout worker."""
        return self.reply_of(lambda: self.hosted.load(deserialize(weights)))

    def weights(self) -> tuple[Reply, SerializedWeights | None]:
        """The size of the trainer's weights, and the weights: the caller fetches the size alone."""
        reply = self.reply_of(lambda: serialize(self.hosted.weights()))
        return replace(reply, value=reply.value and reply.value.size), reply.value


@dataclass
class _RayWorker:
    """A role in an actor, as the controller calls it.

    `logged` are the warnings that any worker has logged; `updates` counts those of a trainer.
    """

    ray: Any
    name: str
    actor: Any
    logged: set[str]
    log_event: LogEvent
    updates: int
    location: Mapping[str, Any] = field(default_factory=dict)

    async def locate(self) -> Mapping[str, Any]:
        """The actor's process and host, once the cluster has room for it."""
        self.location = await self._answer(self.actor.location.remote())
        return self.location

    async def call(self, method: str, *args: Any) -> Any:
        if method == "weights":
            return await self._weights()
        if method == "load":
            return await self.result(self.actor.load.remote(*args))
        value = await self.result(self.actor.call.remote(method, *args))
        if method == "learn":
            self.updates = args[0] + 1
        return value

    async def _weights(self) -> Any:
        """A reference to the weights, which only the workers that load them fetch.

        As results of a call they belong to this process: they outlive the trainer and are freed
        with their last reference.
        """
        began = time.perf_counter()
        size, weights = self.actor.weights.options(num_returns=2).remote()
        values = {"bytes": await self.result(size), "seconds": time.perf_counter() - began}
        self.log_event("weights", self.updates, version=self.updates, **values)
        return weights

    async def result(self, call: Any) -> Any:
        """The value of a reply. Raises UsageError, InfiniteRLError, WorkerLost."""
        reply: Reply = await self._answer(call)
        for line in reply.warnings:
            if line not in self.logged:  # all workers of a role log the same
                self.logged.add(line)
                logger.warning("%s: %s", self.name, line)
        return reply.result()

    async def _answer(self, call: Any) -> Any:
        errors = self.ray.exceptions
        try:
            return await call
        except errors.RayTaskError as error:  # the role raised: the process is fine
            logger.error("%s", error)
            cause = error.cause
            reason = f"{type(cause).__name__}: {reason_of(cause)}"
            raise InfiniteRLError(f"{self.name} failed: {reason}") from None
        except errors.RayError as error:
            self.kill()  # if it is only unreachable it must not go on
            text = " ".join(str(error).split())
            why = text.partition("The actor is dead because ")[2].partition(". ")[0] or text[:200]
            at = self.location and " (process {pid} on {host})".format(**self.location)
            raise WorkerLost(f"{why.rstrip('.')}{at or ''}") from None

    def kill(self) -> None:
        self.ray.kill(self.actor)


class RayWorkerFactory:
    """Starts workers as actors of a cluster; `close` ends all of them.

    `gpus` are those of each process of a role.
    """

    def __init__(
        self, ray: Any, spec: RoleSpec, gpus: Mapping[str, int], log_event: LogEvent
    ) -> None:
        self._ray, self._gpus, self._log_event = ray, gpus, log_event
        self._limit = startup_timeout(spec.config)
        self._updates = step_of(spec.checkpoint) if spec.checkpoint else 0
        self._roles = dict(ROLES)
        if spec.config.rollout_backend == "vllm":
            from .vllm_rollout import VLLMRollout

            self._roles["rollout"] = VLLMRollout
        remote = ray.put(replace(spec, checkpoint=None))  # it is on this host alone
        self._specs = {"trainer": ray.put(spec), "rollout": remote, "reward": remote}
        self._address = str(ray.get_runtime_context().gcs_address)
        self._alive: dict[str, _RayWorker] = {}
        self._logged: set[str] = set()

    async def start(self, role: str, name: str) -> _RayWorker:
        """Start a worker wherever there is room, but the trainer on this host."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._alive.pop(name, None)
        while not await self._is_reachable():  # else Ray would block this process; `unreachable`
            await asyncio.sleep(1)
        strategy: Any = "SPREAD"
        if role == "trainer":  # the run's directory is here
            here = self._ray.get_runtime_context().get_node_id()
            strategy = NodeAffinitySchedulingStrategy(here, soft=False)
        options = {"num_cpus": 1, "num_gpus": self._gpus[role], "max_restarts": 0}
        actor = self._ray.remote(RoleActor).options(scheduling_strategy=strategy, **options)
        worker = _RayWorker(
            self._ray, name, actor.remote(), self._logged, self._log_event, self._updates
        )
        try:
            location = await self._wait_for_room(worker, role)
            self._log_event("placed", 0, worker=name, **location)
            create = worker.actor.create.remote(self._roles[role], self._specs[role])
            created = worker.result(create)
            await with_timeout(created, 0 if role == "trainer" else self._limit)
        except BaseException:  # also if the run is being ended: no other reference to it exists
            worker.kill()
            raise
        self._alive[name] = worker
        return worker

    async def _wait_for_room(self, worker: _RayWorker, role: str) -> Mapping[str, Any]:
        """Where the actor is, once the cluster has room; wait while others of its role work."""
        location = asyncio.ensure_future(worker.locate())
        while not (await asyncio.wait([location], timeout=_ROOM_S))[0]:
            free = self._ray.available_resources()
            message = (
                f"there is no room for {worker.name}: it needs 1 CPU and {self._gpus[role]} GPUs, "
                f"and {free.get('CPU', 0):g} and {free.get('GPU', 0):g} are free in the cluster"
            )
            if not any(other.startswith(role) for other in self._alive):
                location.cancel()
                raise RunDied(message)
            logger.warning("%s; the run continues without it", message)
        return location.result()

    async def unreachable(self) -> None:
        """Wait, and raise RunDied once the cluster's head has been silent for too long.

        Without it nothing can be placed, and Ray ends all processes of the cluster. Ray reports
        that late or not at all.
        """
        last = time.monotonic()
        while time.monotonic() - last < _UNREACHABLE_S:
            await asyncio.sleep(_UNREACHABLE_S / 10)
            if await self._is_reachable():
                last = time.monotonic()
        raise RunDied(
            f"the Ray cluster at {self._address} is gone: its head has not answered for "
            f"{_UNREACHABLE_S:g} s"
        )

    async def _is_reachable(self) -> bool:
        """Whether the cluster's head accepts connections."""
        host, _, port = self._address.rpartition(":")
        opening = asyncio.open_connection(host.strip("[]"), int(port))
        try:
            _, writer = await asyncio.wait_for(opening, _UNREACHABLE_S / 10)
        except (OSError, asyncio.TimeoutError):
            return False
        writer.close()
        return True

    def close(self) -> None:
        """End all processes."""
        for worker in self._alive.values():
            worker.kill()


# --- the engine ----------------------------------------------------------------------------------


@contextmanager
def ray_workers(spec: RoleSpec, log_event: LogEvent) -> Iterator[WorkerFactory]:
    """Workers in actors of the cluster that the config names.

    Raises:
        UsageError: no such cluster, too few CPUs or GPUs, or a reward that cannot be pickled.
    """
    config = spec.config
    count = {"trainer": 1, "rollout": config.rollout_workers, "reward": config.reward_workers}
    total = sum(count.values())
    logger.info("Ray: starting %d processes; this takes up to a minute or two", total)
    with connected(config.ray_address or None, total) as ray:
        resources = ray.cluster_resources()
        gpus = _gpus_by_role(config, int(resources.get("GPU", 0)))
        needed = {"CPU": total, "GPU": sum(gpus[role] * count[role] for role in count)}
        for kind, least in needed.items():
            if resources.get(kind, 0) < least:
                raise UsageError(
                    f"the cluster has {resources.get(kind, 0):g} {kind}s, and a trainer, "
                    f"{count['rollout']} rollout and {count['reward']} reward workers need {least}"
                )
        try:
            factory = RayWorkerFactory(ray, spec, gpus, log_event)
        except TypeError as error:  # raised by pickling
            reason = reason_of(error)
            raise UsageError(f"the reward cannot be sent to other processes: {reason}") from None
        try:
            yield factory
        finally:
            factory.close()


def _gpus_by_role(config: TrainingConfig, available: int) -> dict[str, int]:
    """The GPUs of each process of a role."""
    if config.device == "cpu" or not available:
        if config.device.startswith("cuda") or (
            config.rollout_backend == "vllm" and config.device != "cpu"
        ):
            raise UsageError(
                "there is no GPU in the cluster, and the config asks for one; vLLM's build for "
                "CPUs needs device: cpu"
            )
        return {"trainer": 0, "rollout": 0, "reward": 0}
    if ":" in config.device:
        raise UsageError(
            f"Ray gives each process its GPU: device is auto or cuda, not {config.device}"
        )
    return {"trainer": 1, "rollout": config.rollout_gpus, "reward": 0}


# Trains with workers on a Ray cluster; an existing connection of Ray is used.
run = partial(train_async, ray_workers)
