"""The algorithm of a run at scale, once, for every placement: who waits for whom, and for what.

    N times:  a prompt of the schedule -> a rollout worker -> N times: a reward worker -> buffer
    once:     buffer -> the trainer: an update, and every `sync_every` updates new weights for all

A rollout worker finishes what it is at with the weights that it has, and takes over new ones before
it begins anew: nobody stops the others. Every prompt that is asked for has one fate:

    used        it was learned from
    filtered    all its answers got the same reward: nothing can be learned
    wasted      its worker was lost, or it became too old; it is asked for again, before all others
    failed      its worker was lost again and again: it is given up, and told of

A worker is lost that has died, or has not answered a call within `worker_timeout`.

Python's asyncio alone: no torch, no Ray, one thread. All that takes long is a role's.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import InfiniteRLError
from ..core.spans import Spans
from ..runs.config import TrainingConfig
from .prompt_queue import TRIES, PromptQueue, PromptRequest
from .roles import (
    Group,
    Observer,
    RewardWorker,
    RolloutWorker,
    Trainer,
    WorkerFactory,
    WorkerLost,
    to_rollout,
    with_timeout,
)
from .rollout_buffer import Buffer

if TYPE_CHECKING:
    from ..core.sampling import Sampled

OUTCOMES = ("used", "wasted", "filtered", "failed")
OUTCOME, LOST = "fate", "lost"  # kinds of events
_DEATHS = 10  # of one worker, and those in its place, in a row: then it is no accident

T = TypeVar("T")


class TrainerLost(InfiniteRLError):
    """The trainer has died, and the run with it; its checkpoints are there."""


@dataclass(frozen=True)
class _Drawn:
    """Answers to a prompt that are to be judged; `losses` is how often a judge died of them."""

    task: PromptRequest
    version: int
    answers: Sequence[Sampled]
    losses: int = 0


class AsyncController:
    """One run, or the rest of one, from `step` updates on.

    `sampling` names how answers come to be (prompts, temperature and so on): those that are in a
    checkpoint of another name are not learned from.

    asked           how many prompts were asked for, again or not
    fates           how many of them had which fate; the rest is in flight or waits in the buffer
    """

    def __init__(
        self,
        config: TrainingConfig,
        schedule: PromptQueue,
        placement: WorkerFactory,
        observer: Observer,
        *,
        step: int = 0,
        state: Mapping[str, Any] | None = None,
        sampling: str = "",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._config, self._schedule = config, schedule
        self._placement, self._observer = placement, observer
        self._sampling = sampling
        self._spans = Spans(observer.event, clock, lambda: self.step + 1)
        self._buffer = Buffer(
            batch_size=config.batch_size,
            steps=config.max_steps,
            max_staleness=config.max_staleness,
            num_iterations=config.num_iterations,
            step=step,
        )
        self.step = step
        self.asked = 0
        self.fates: Counter[str] = Counter()
        self._untold: Counter[tuple[int, str]] = Counter()  # fates by version
        self._weights: tuple[int, Any] = (step, None)  # the policy's, and its version
        self._judging: deque[_Drawn] = deque()
        self._dry = False  # whether the schedule had nothing more
        self._equal = 0  # groups in a row that were filtered
        self._deaths: Counter[str] = Counter()  # in a row
        self._changed = asyncio.Event()
        if state is not None:
            self._restore(state)

    async def run(self) -> None:
        """Train until all updates are done or all prompts are spent; the last is always saved.

        Raises:
            TrainerLost: the trainer died.
            InfiniteRLError: nothing can be learned from, a worker is lost again and again, or all
                are out of reach.
        """
        trainer = await self._of_trainer(self._placement.trainer())
        await self._publish(trainer)
        learning = asyncio.create_task(self._learning(trainer))
        loops = [learning, asyncio.create_task(self._placement.gone())]
        for number in range(self._config.rollout_workers):
            loops.append(asyncio.create_task(self._rollouts(number)))
        for number in range(self._config.reward_workers):
            loops.append(asyncio.create_task(self._rewards(number)))
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
        """How many prompts are asked for that have no fate yet."""
        return self.asked - sum(self.fates.values())

    def state(self) -> dict[str, Any]:
        """What it takes to go on, beyond what the trainer holds; JSON can say it."""
        return {
            "schedule": self._schedule.state(),
            "buffer": self._buffer.state(),
            "flying": sorted(self._buffer.versions()),
            "sampling": self._sampling,
            "asked": self.asked,
            "fates": {name: self.fates[name] for name in OUTCOMES},
            "elapsed_s": self._spans.now(),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave. What was being sampled then is asked for again."""
        self.asked, self.fates = state["asked"], Counter(state["fates"])
        self._spans.go_on(state["elapsed_s"])
        held = state["buffer"]
        for version in state["flying"]:
            self._fate("wasted", version)
        if state["sampling"] != self._sampling:
            for each in held:
                if not each["uses"]:
                    self._fate("wasted", each["version"])
            held = []
        self._buffer.restore(held)
        self._schedule.restore(state["schedule"], self._buffer.unused)

    # The trainer.

    async def _learning(self, trainer: Trainer) -> None:
        saved = self.step
        while self.step < self._config.max_steps and (batch := await self._batch()):
            await self._learn(trainer, batch)
            due = self.step % self._config.save_every == 0 or self.step == self._config.max_steps
            state = self.state() if due else None  # of this moment: the samplers go on
            if due:
                self._observer.saving()
            if self._syncs():
                await self._publish(trainer)
            if state:
                await self._save(trainer, state)
                saved = self.step
        if saved < self.step:
            self._observer.saving()
            await self._save(trainer, self.state())

    def _syncs(self) -> bool:
        """Whether the weights are due, and anybody will need them."""
        late = self.step - self._weights[0] >= self._config.sync_every
        return late and self.step < self._config.max_steps

    async def _batch(self) -> list[Group]:
        """The next batch; an empty one where nothing can come any more."""
        began = self._waiting_since = self._spans.now()
        waited = False
        while True:
            for group in self._buffer.stale():
                self._again(group.task, group.version)
            spent = self._dry and not self._buffer.flying
            batch = self._buffer.take(last=spent)
            if batch is not None:
                if waited:
                    self._spans.idle("trainer", began, self.step)
                self._notify()  # there may be room now
                return batch
            waited = True
            await self._changed.wait()

    async def _learn(self, trainer: Trainer, batch: Sequence[Group]) -> None:
        began = self._spans.now()
        with self._spans.span("train", "trainer", self.step, len(batch)):
            found = await self._of_trainer(trainer.learn(self.step, batch))
        for group in batch:
            first = self._schedule.is_in_flight(group.task)
            self._observer.group(self.step + 1, group, "used", again=not first)
            if first:
                self._schedule.done(group.task)
                self._fate("used", group.version)
        ended = self._spans.now()
        whole = ended - self._waiting_since
        values = {
            **found,
            "prompts": len(batch),
            "staleness": fmean(self.step - group.version for group in batch),
            "waiting_s": began - self._waiting_since,
            "idle": (began - self._waiting_since) / whole if whole else 0.0,
            "seconds": whole,
        }
        self.step += 1
        self._tell(values)

    def _tell(self, values: dict[str, Any]) -> None:
        """Tell of an update that is done, and of the fates since the one before."""
        for fate in OUTCOMES[1:]:
            values[fate] = sum(n for (_, name), n in self._untold.items() if name == fate)
        for version in sorted({version for version, _ in self._untold}):
            fates = {name: self._untold[version, name] for name in OUTCOMES}
            self._observer.event(OUTCOME, self.step, version=version, **fates)
        self._untold.clear()
        self._observer.stepped(self.step, values)

    async def _publish(self, trainer: Trainer) -> None:
        """Have the rollout workers take over the weights, each before it begins anew."""
        with self._spans.span("sync", "trainer", self.step, step=self.step):
            weights = await self._of_trainer(trainer.weights())
        self._weights = self.step, weights
        self._notify()

    async def _save(self, trainer: Trainer, state: Mapping[str, Any]) -> None:
        with self._spans.span("save", "trainer", self.step, step=self.step):
            path = await self._of_trainer(trainer.save(self.step, state))
        self._observer.saved(path)

    async def _of_trainer(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except WorkerLost as lost:
            raise TrainerLost(
                f"the trainer died after update {self.step} ({lost}); resumed, the run goes on "
                "from its newest checkpoint"
            ) from lost

    # The rollout workers.

    async def _rollouts(self, number: int) -> None:
        name = f"rollout-{number}"
        worker: RolloutWorker | None = None
        loaded = -1
        while True:
            await self._until(self._may_start, name)
            version, weights = self._weights
            try:
                if worker is None:
                    worker, loaded = await self._placement.rollout_worker(number), -1
                elif loaded != version:
                    with self._spans.span("sync", name, version):
                        await self._in_time(worker, worker.load(version, weights))
                    loaded = version
                else:
                    await self._sample(name, worker, version)
                    self._deaths[name] = 0
            except WorkerLost as lost:
                worker = None
                self._on_worker_death(name, lost)

    def _may_start(self) -> bool:
        return not self._dry and self._buffer.room(self._weights[0]) > 0

    async def _sample(self, name: str, worker: RolloutWorker, version: int) -> None:
        """Ask for some prompts; those of which a worker may have died alone, each by itself.

        So a prompt of which workers die takes no other with it more than once.
        """
        tasks = self._started(version)
        alone = [[task] for task in tasks if self._schedule.faults(task)]
        together = [task for task in tasks if not self._schedule.faults(task)]
        calls = [together, *alone] if together else alone
        for place, call in enumerate(calls):
            try:
                with self._spans.span("rollout", name, version, len(call)):
                    groups = await self._in_time(worker, worker.sample(call))
            except WorkerLost as lost:
                for task in call:
                    self._retry(task, f"{name} was lost: {lost}")
                for task in chain.from_iterable(calls[place + 1 :]):
                    self._again(task, self._buffer.drop(task))
                raise
            for task, answers in zip(call, groups, strict=True):
                self._judging.append(_Drawn(task, version, answers))
            self._notify()

    def _started(self, version: int) -> list[PromptRequest]:
        """Prompts for one worker: its share of a batch, as far as there is room."""
        config = self._config
        share = -(-config.batch_size // config.rollout_workers)
        tasks: list[PromptRequest] = []
        while len(tasks) < share and self._buffer.room(version):
            task = self._schedule.take()
            if task is None:
                self._dry = True
                self._notify()
                break
            self.asked += 1
            self._buffer.start(task, version)
            tasks.append(task)
        return tasks

    # The reward workers.

    async def _rewards(self, number: int) -> None:
        name = f"reward-{number}"
        worker: RewardWorker | None = None
        while True:
            await self._until(lambda: bool(self._judging), name)
            drawn = None
            try:
                if worker is None:
                    worker = await self._placement.reward_worker(number)
                    continue
                drawn = self._judging.popleft()
                await self._judge(name, worker, drawn)
                self._deaths[name] = 0
            except WorkerLost as lost:
                worker = None
                if drawn:
                    self._judge_again(drawn, f"{name} was lost: {lost}")
                self._on_worker_death(name, lost)

    async def _judge(self, name: str, worker: RewardWorker, drawn: _Drawn) -> None:
        texts = [each.text for each in drawn.answers]
        with self._spans.span("reward", name, drawn.version, 1):
            call = worker.judge([drawn.task.place] * len(texts), texts)
            rewards = await self._in_time(worker, call)
        answers = [
            to_rollout(self._config, each, reward)
            for each, reward in zip(drawn.answers, rewards, strict=True)
        ]
        self._arrived(Group(drawn.task, drawn.version, answers))

    def _judge_again(self, drawn: _Drawn, why: str) -> None:
        """The answers are there: they need not be sampled again for a judge that died."""
        if drawn.losses + 1 < TRIES:
            self._judging.appendleft(replace(drawn, losses=drawn.losses + 1))
        else:
            self._buffer.drop(drawn.task)
            self._schedule.failed(drawn.task, why)
            self._fate("failed", drawn.version)
        self._notify()

    def _arrived(self, group: Group) -> None:
        if group.telling or self._config.keep_zero_std_groups:
            self._equal = 0
            self._buffer.add(group)
        else:
            self._equal += 1
            self._buffer.drop(group.task)
            self._schedule.done(group.task)
            self._fate("filtered", group.version)
            self._observer.group(self.step + 1, group, "filtered")
            self._check_equal()
        self._notify()

    def _check_equal(self) -> None:
        """Give up where no prompt tells anything: the run would go on without end."""
        most = max(len(self._schedule), 10 * self._config.batch_size)
        if self._equal >= most:
            raise InfiniteRLError(
                f"{most} prompts in a row got answers of equal rewards: nothing can be learned "
                "(easier or harder prompts, more answers a group, or keep_zero_std_groups)"
            )

    # What becomes of a prompt.

    def _fate(self, name: str, version: int) -> None:
        self.fates[name] += 1
        self._untold[version, name] += 1

    def _again(self, task: PromptRequest, version: int) -> None:
        """Ask for it again, through no fault of its own."""
        self._schedule.back(task)
        self._dry = False
        self._fate("wasted", version)
        self._notify()

    def _retry(self, task: PromptRequest, why: str) -> None:
        """Ask for it again, unless workers died of it too often."""
        version = self._buffer.drop(task)
        again = self._schedule.retry(task, why)
        self._dry = self._dry and not again
        self._fate("wasted" if again else "failed", version)
        self._notify()

    def _on_worker_death(self, name: str, lost: WorkerLost) -> None:
        """Tell of a worker that was lost; another is asked for, but not without end."""
        self._observer.event(LOST, self.step + 1, worker=name, why=str(lost))
        self._deaths[name] += 1
        if self._deaths[name] >= _DEATHS:
            raise InfiniteRLError(
                f"{name} was lost {_DEATHS} times in a row, the last time: {lost}"
            )

    async def _in_time(self, worker: RolloutWorker | RewardWorker, call: Awaitable[T]) -> T:
        """What a worker answers; one that is lost is ended, so that it does nothing more."""
        try:
            return await with_timeout(call, self._config.worker_timeout)
        except WorkerLost:
            worker.kill()
            raise

    # Waiting.

    def _notify(self) -> None:
        """Have all who wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def _until(self, ready: Callable[[], bool], name: str) -> None:
        if ready():
            return
        began = self._spans.now()
        while not ready():
            await self._changed.wait()
        self._spans.idle(name, began, self._weights[0])
