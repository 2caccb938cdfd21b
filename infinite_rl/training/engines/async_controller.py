"""The asynchronous training algorithm, once for every placement: who waits for whom, and for what.

    N times:  a prompt of the queue -> a rollout worker -> N times: a reward worker -> buffer
    once:     buffer -> the trainer: an update, and every `sync_every` updates new weights for all

A rollout worker finishes its batch with the weights it has and loads new ones before the next
batch: no worker interrupts another. Every requested prompt ends with one outcome:

    trained     the policy was updated with it
    filtered    all its rewards were equal: zero advantage
    discarded   its worker was lost or its rollouts became too old; it is requested again, first
    failed      its worker was lost in every try: it is given up and logged

A worker is lost if it died or did not answer a call within `worker_timeout`.

Python's asyncio alone: no torch, no Ray, one thread. All long work is done by the workers.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...errors import InfiniteRLError, RunDied
from ..core.rollout_types import PromptRequest, RolloutGroup, to_rollout, with_current_keys
from ..runs.config import TrainingConfig
from .prompt_queue import TRIES, PromptQueue
from .roles import Observer, Worker, WorkerFactory, WorkerLost, with_timeout
from .rollout_buffer import RolloutBuffer

if TYPE_CHECKING:
    from ..core.sampling import Sampled

OUTCOMES = ("trained", "discarded", "filtered", "failed")
OUTCOME, LOST, SPAN = "outcomes", "lost", "span"  # kinds of events
_MAX_DEATHS = 10  # of one worker and its replacements in a row: no accident


class TrainerLost(RunDied):
    """The trainer has died, and the run with it."""


class SpanRecorder:
    """Logs when each worker did what, in seconds since the run began, by one clock for all.

    `log` takes an event, as `RunFolder.event`; `step` returns the current update, from 1.
    """

    def __init__(
        self, log: Callable[..., None], clock: Callable[[], float], step: Callable[[], int]
    ) -> None:
        self._log, self._clock, self._step = log, clock, step
        self._start = clock()

    def resume(self, elapsed: float) -> None:
        """Count on from this many seconds, without the time between the runs."""
        self._start -= elapsed

    def now(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._start

    @contextmanager
    def span(
        self, stage: str, worker: str, version: int, prompts: int = 0, step: int | None = None
    ) -> Iterator[None]:
        """Log the duration of a stage, also if its worker is lost in it."""
        began = self.now()
        extra: dict[str, Any] = {"prompts": prompts}
        try:
            yield
        except WorkerLost:
            self.record(stage, worker, version, began, step, **extra, lost=True)
            raise
        self.record(stage, worker, version, began, step, **extra)

    def record(
        self,
        stage: str,
        worker: str,
        version: int,
        began: float,
        step: int | None = None,
        **extra: Any,
    ) -> None:
        """Log a stage that ends now."""
        values = {"stage": stage, "worker": worker, "version": version, "prompts": 0, **extra}
        times = {"began_s": round(began, 6), "ended_s": round(self.now(), 6)}
        self._log(SPAN, self._step() if step is None else step, **times, **values)


@dataclass(frozen=True)
class _Completions:
    """Completions of a prompt that wait for their rewards; `losses` counts dead reward workers."""

    request: PromptRequest
    version: int
    sampled: Sequence[Sampled]
    losses: int = 0


class AsyncController:
    """One run, or the rest of one, from `step` updates on.

    `sampling` is a fingerprint of prompts and sampling settings: buffered groups of a checkpoint
    with another one are discarded. Once `stopping` is true, the next update is the last.

    requested   number of prompts that were requested, repetitions included
    outcomes    how many of them had which outcome; the rest is in flight or in the buffer
    """

    def __init__(
        self,
        config: TrainingConfig,
        queue: PromptQueue,
        factory: WorkerFactory,
        observer: Observer,
        *,
        step: int = 0,
        state: Mapping[str, Any] | None = None,
        sampling: str = "",
        clock: Callable[[], float] = time.perf_counter,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._stopping = stopping
        self._config, self._queue = config, queue
        self._factory, self._observer = factory, observer
        self._sampling = sampling
        self._spans = SpanRecorder(observer.event, clock, lambda: self.step + 1)
        self._buffer = RolloutBuffer(config, step)
        self.step = step
        self.requested = 0
        self.outcomes: Counter[str] = Counter()
        self._unlogged: Counter[tuple[int, str]] = Counter()  # outcomes by version
        self._weights: tuple[int, Any] = (step, None)  # the policy's, and their version
        self._unscored: deque[_Completions] = deque()
        self._loaded: dict[str, int] = {}  # the version of a worker's weights, by its name
        self._exhausted = False  # the queue had no prompt left
        self._filtered_in_a_row = 0
        self._deaths: Counter[str] = Counter()  # in a row
        self._changed = asyncio.Event()
        if state is not None:
            self._restore(with_current_keys(state))

    async def run(self) -> None:
        """Train until all updates are done or all prompts are used up, and save the last update.

        Raises:
            TrainerLost: the trainer died.
            InfiniteRLError: every group is filtered, a worker is lost again and again, or all
                workers are unreachable.
        """
        trainer = await self._of_trainer(self._factory.start("trainer", "trainer"))
        await self._publish(trainer)
        learning = asyncio.create_task(self._learning(trainer))
        loops = [learning, asyncio.create_task(self._factory.unreachable())]
        for role, count, ready, work in (
            ("rollout", self._config.rollout_workers, self._has_room, self._load_or_sample),
            ("reward", self._config.reward_workers, lambda: bool(self._unscored), self._score),
        ):
            for number in range(count):
                serving = self._serve(role, f"{role}-{number}", ready, work)
                loops.append(asyncio.create_task(serving))
        try:
            done, _ = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
            for loop in [learning] if learning in done else done:
                loop.result()
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)

    @property
    def in_flight(self) -> int:
        """How many requested prompts have no outcome yet."""
        return self.requested - sum(self.outcomes.values())

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint besides the trainer's, as JSON values."""
        return {
            "queue": self._queue.state(),
            "buffer": self._buffer.state(),
            "in_flight": sorted(self._buffer.in_flight_versions()),
            "sampling": self._sampling,
            "requested": self.requested,
            "outcomes": {name: self.outcomes[name] for name in OUTCOMES},
            "elapsed_s": self._spans.now(),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Resume from what `state` returned; prompts that were being sampled are requested anew."""
        self.requested, self.outcomes = state["requested"], Counter(state["outcomes"])
        self._spans.resume(state["elapsed_s"])
        buffered, discarded = state["buffer"], list(state["in_flight"])
        if state["sampling"] != self._sampling:
            discarded += [each["version"] for each in buffered if not each["uses"]]
            buffered = []
        for version in discarded:
            self._count("discarded", version)
        self._buffer.restore(buffered)
        self._queue.restore(state["queue"], self._buffer.unused)

    # The trainer.

    async def _learning(self, trainer: Worker) -> None:
        saved = self.step
        while (
            self.step < self._config.max_steps
            and not self._stopping()
            and (batch := await self._next_batch())
        ):
            await self._learn(trainer, batch)
            last = self.step == self._config.max_steps
            due = last or self.step % self._config.save_every == 0
            state = self.state() if due else None  # taken now, as the samplers go on
            if due:
                self._observer.before_save()
            if not last and self.step - self._weights[0] >= self._config.sync_every:
                await self._publish(trainer)
            if state:
                await self._save(trainer, state)
                saved = self.step
        if saved < self.step:
            self._observer.before_save()
            await self._save(trainer, self.state())

    async def _next_batch(self) -> list[RolloutGroup]:
        """The next batch; an empty one if no more can come."""
        began = self._waiting_since = self._spans.now()
        waited = False
        while True:
            for group in self._buffer.pop_stale():
                self._discard(group.request, group.version)
            used_up = self._exhausted and not self._buffer.in_flight_versions()
            batch = self._buffer.next_batch(last=used_up)
            if batch is not None:
                if waited:
                    self._spans.record("idle", "trainer", self.step, began)
                self._notify()  # the buffer may have room now
                return batch
            waited = True
            await self._changed.wait()

    async def _learn(self, trainer: Worker, batch: Sequence[RolloutGroup]) -> None:
        began = self._spans.now()
        with self._spans.span("train", "trainer", self.step, len(batch)):
            metrics = await self._of_trainer(trainer.call("learn", self.step, batch))
        for group in batch:
            first = self._queue.is_in_flight(group.request)
            self._observer.group(self.step + 1, group, "trained", repeated=not first)
            if first:
                self._queue.done(group.request)
                self._count("trained", group.version)
        waiting, total = began - self._waiting_since, self._spans.now() - self._waiting_since
        self.step += 1
        counts = {
            outcome: sum(n for (_, name), n in self._unlogged.items() if name == outcome)
            for outcome in OUTCOMES[1:]
        }
        for version in sorted({version for version, _ in self._unlogged}):
            by_outcome = {name: self._unlogged[version, name] for name in OUTCOMES}
            self._observer.event(OUTCOME, self.step, version=version, **by_outcome)
        self._unlogged.clear()
        times = {"waiting_s": waiting, "idle": waiting / total if total else 0.0, "seconds": total}
        self._observer.updated(self.step, {**metrics, "prompts": len(batch), **times, **counts})

    async def _publish(self, trainer: Worker) -> None:
        """Offer the weights to the rollout workers, which load them before their next batch."""
        with self._spans.span("sync", "trainer", self.step, step=self.step):
            weights = await self._of_trainer(trainer.call("weights"))
        self._weights = self.step, weights
        self._notify()

    async def _save(self, trainer: Worker, state: Mapping[str, Any]) -> None:
        with self._spans.span("save", "trainer", self.step, step=self.step):
            path = await self._of_trainer(trainer.call("save", self.step, state))
        self._observer.saved(path)

    async def _of_trainer(self, call: Awaitable[Any]) -> Any:
        try:
            return await call
        except WorkerLost as lost:
            raise TrainerLost(f"the trainer died after update {self.step} ({lost})") from lost

    # The other workers.

    async def _serve(
        self,
        role: str,
        name: str,
        ready: Callable[[], bool],
        work: Callable[[str, Worker], Awaitable[None]],
    ) -> None:
        """Keep a worker at work whenever it can be, and replace it if it is lost."""
        worker: Worker | None = None
        while True:
            await self._until(ready, name)
            try:
                if worker is None:
                    worker = await self._factory.start(role, name)
                    self._loaded.pop(name, None)
                else:
                    await work(name, worker)
            except WorkerLost as lost:
                worker = None
                self._on_worker_death(name, lost)

    def _has_room(self) -> bool:
        return not self._exhausted and self._buffer.room(self._weights[0]) > 0

    async def _load_or_sample(self, name: str, worker: Worker) -> None:
        version, weights = self._weights
        if self._loaded.get(name) == version:
            await self._sample(name, worker, version)
            self._deaths[name] = 0
            return
        with self._spans.span("sync", name, version):
            await self._in_time(worker, "load", weights)
        self._loaded[name] = version

    async def _sample(self, name: str, worker: Worker, version: int) -> None:
        """Sample several prompts at once, but each one alone that a worker may have died of.

        So a prompt that kills workers takes others down with it at most once.
        """
        requests = self._next_requests(version)
        suspects = [[request] for request in requests if self._queue.faults(request)]
        others = [request for request in requests if not self._queue.faults(request)]
        calls = [others, *suspects] if others else suspects
        for number, call in enumerate(calls, 1):
            try:
                with self._spans.span("rollout", name, version, len(call)):
                    groups = await self._in_time(worker, "sample", call)
            except WorkerLost as lost:
                for request in call:
                    self._retry(request, f"{name} was lost: {lost}")
                for request in chain.from_iterable(calls[number:]):
                    self._discard(request, self._buffer.cancel(request))
                raise
            for request, sampled in zip(call, groups, strict=True):
                self._unscored.append(_Completions(request, version, sampled))
            self._notify()

    def _next_requests(self, version: int) -> list[PromptRequest]:
        """Prompts for one worker: its share of a batch, as far as the buffer has room."""
        share = -(-self._config.batch_size // self._config.rollout_workers)
        requests: list[PromptRequest] = []
        while len(requests) < share and self._buffer.room(version):
            request = self._queue.pop()
            if request is None:
                self._exhausted = True
                self._notify()
                break
            self.requested += 1
            self._buffer.start(request, version)
            requests.append(request)
        return requests

    async def _score(self, name: str, worker: Worker) -> None:
        completions = self._unscored.popleft()
        request, texts = completions.request, [each.text for each in completions.sampled]
        try:
            with self._spans.span("reward", name, completions.version, 1):
                rewards = await self._in_time(worker, "score", [request.index] * len(texts), texts)
        except WorkerLost as lost:
            self._score_again(completions, f"{name} was lost: {lost}")
            raise
        self._deaths[name] = 0
        pairs = zip(completions.sampled, rewards, strict=True)
        rollouts = [to_rollout(self._config, *pair) for pair in pairs]
        group = RolloutGroup(request, completions.version, rollouts)
        if group.has_signal or self._config.keep_zero_std_groups:
            self._filtered_in_a_row = 0
            self._buffer.add(group)
        else:
            self._filter(group)
        self._notify()

    def _score_again(self, completions: _Completions, why: str) -> None:
        """Keep the completions of a reward worker that died: they need not be sampled again."""
        if completions.losses + 1 < TRIES:
            self._unscored.appendleft(replace(completions, losses=completions.losses + 1))
        else:
            self._buffer.cancel(completions.request)
            self._queue.failed(completions.request, why)
            self._count("failed", completions.version)
        self._notify()

    def _filter(self, group: RolloutGroup) -> None:
        """Drop a group with zero advantages; too many in a row would go on without end."""
        self._filtered_in_a_row += 1
        self._buffer.cancel(group.request)
        self._queue.done(group.request)
        self._count("filtered", group.version)
        self._observer.group(self.step + 1, group, "filtered")
        limit = max(len(self._queue), 10 * self._config.batch_size)
        if self._filtered_in_a_row >= limit:
            raise InfiniteRLError(
                f"{limit} prompts in a row got rollouts of equal rewards: nothing can be learned. "
                "Use easier or harder prompts, a larger group_size, or keep_zero_std_groups"
            )

    # Outcomes.

    def _count(self, outcome: str, version: int) -> None:
        self.outcomes[outcome] += 1
        self._unlogged[version, outcome] += 1

    def _discard(self, request: PromptRequest, version: int) -> None:
        """Request the prompt again, without counting a fault."""
        self._queue.requeue(request)
        self._exhausted = False
        self._count("discarded", version)
        self._notify()

    def _retry(self, request: PromptRequest, why: str) -> None:
        """Request the prompt again, unless too many workers died of it."""
        version = self._buffer.cancel(request)
        again = self._queue.retry(request, why)
        self._exhausted = self._exhausted and not again
        self._count("discarded" if again else "failed", version)
        self._notify()

    def _on_worker_death(self, name: str, lost: WorkerLost) -> None:
        """Log a lost worker; it is replaced, but not without end."""
        self._observer.event(LOST, self.step + 1, worker=name, why=str(lost))
        self._deaths[name] += 1
        if self._deaths[name] >= _MAX_DEATHS:
            raise InfiniteRLError(
                f"{name} was lost {_MAX_DEATHS} times in a row, the last time: {lost}"
            )

    async def _in_time(self, worker: Worker, method: str, *args: Any) -> Any:
        """Call a worker within `worker_timeout`; a lost one is killed, so that it stops."""
        try:
            return await with_timeout(worker.call(method, *args), self._config.worker_timeout)
        except WorkerLost:
            worker.kill()
            raise

    # Waiting.

    def _notify(self) -> None:
        """Wake all loops that wait."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def _until(self, ready: Callable[[], bool], name: str) -> None:
        if ready():
            return
        began = self._spans.now()
        while not ready():
            await self._changed.wait()
        self._spans.record("idle", name, self._weights[0], began)
