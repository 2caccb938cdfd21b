"""The engine `asyncio`: a run at scale in one process, with a thread for each role.

`run_on` is what every engine at scale does, but for the placement of the roles.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from statistics import fmean
from threading import Thread
from typing import Any, TypeVar

import torch

from ...errors import UsageError
from ..core.encoding import Prompt
from ..core.grpo import advantages, build_prompts, rollout_record
from ..core.learner import load_shape, load_tokenizer, most_tokens
from ..core.mixed import by_dataset
from ..core.rollouts import name_of, preflight
from ..core.sampling import Sampled
from ..runs import checkpoint
from ..runs.config import TrainingConfig
from ..runs.run_log import RunLog, TrainingRun, run_log
from .async_controller import AsyncController
from .prompt_queue import PromptQueue
from .role_workers import RewardRole, RoleSpec, RolloutRole, TrainerRole
from .roles import Group, PromptRequest, WorkerFactory, WorkerLost, startup_timeout, with_timeout

Tell = Callable[..., None]  # takes an event: see `RunFolder.event`
Place = Callable[[RoleSpec, Tell], AbstractContextManager[WorkerFactory]]
T = TypeVar("T")

logger = logging.getLogger(__name__)


def train_async(place: Place, training: TrainingRun) -> Path:
    """Train as the config says, with the roles where `place` puts them: see `training.train`.

    All that can be checked is, before anything is placed.
    """
    config, source = training.config, training.source
    state = _state(source) if source else None
    tokenizer = load_tokenizer(config, source)
    asked = build_prompts(
        training.rows, tokenizer, most_tokens(config, load_shape(config, source)), config
    )
    preflight(training.reward, training.rows)
    with ExitStack() as opened:
        log = opened.enter_context(run_log(training))
        told = _Told(log, asked, config, newest=source)
        rows = [prompt.row for prompt in asked]
        job = RoleSpec(rows, training.reward, config, log.folder.path, source)
        placement = opened.enter_context(place(job, log.folder.event))
        schedule = PromptQueue([prompt.id for prompt in asked], seed=config.order("prompts"))
        flow = AsyncController(
            config,
            schedule,
            placement,
            told,
            step=training.done,
            state=state,
            sampling=name_of(config, asked),
        )
        _finished(flow.run())
    _tell_failures(schedule)
    if told.newest is None:
        raise UsageError("nothing was learned: the prompts were spent before the first update")
    return told.newest


def _tell_failures(schedule: PromptQueue) -> None:
    if failures := schedule.failures:
        name, why = next(iter(failures.items()))
        logger.warning("%d prompts failed, among them %r: %s", len(failures), name, why)


def _state(source: Path) -> Mapping[str, Any]:
    """The flow's state in a checkpoint."""
    state = checkpoint.load_state(source).get("flow")
    if not isinstance(state, Mapping):
        raise UsageError(f"{source} is of another engine: it does not say which prompts are done")
    return state


def _finished(main: Coroutine[Any, Any, None]) -> None:
    """Run it to its end; in a thread where a loop runs here already, as in a notebook."""
    if not _loop_runs():
        asyncio.run(main)
        return
    with ThreadPoolExecutor(1, "flow") as thread:
        thread.submit(asyncio.run, main).result()


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@dataclass
class _Told:
    """Writes down what the flow tells: events, answers, numbers for trackers and displays."""

    log: RunLog
    prompts: Sequence[Prompt]
    config: TrainingConfig
    newest: Path | None
    judged: list[Group] = field(default_factory=list)  # used or filtered since the last update

    def event(self, kind: str, step: int, **values: Any) -> None:
        self.log.folder.event(kind, step, **values)

    def group(self, step: int, group: Group, fate: str, *, again: bool = False) -> None:
        if not again:
            self.judged.append(group)
        prompt = self.prompts[group.task.place]
        found = advantages(group.answers, self.config).tolist()
        for answer, advantage in zip(group.answers, found, strict=True):
            told = rollout_record(prompt, answer, advantage)
            self.log.folder.rollout(step, version=group.version, **told, fate=fate)

    def stepped(self, step: int, values: Mapping[str, Any]) -> None:
        judged = [
            (self.prompts[group.task.place].row, [each.reward for each in group.answers])
            for group in self.judged
        ]
        batch = {name: value for name, value in values.items() if name != "reward"}
        whole = {**batch, **_of_all(self.judged), **by_dataset(judged)}
        self.judged.clear()
        self.log.step(step, whole)

    def saving(self) -> None:
        self.log.folder.sync()  # else a power cut could take lines of steps that will not be redone

    def saved(self, path: Path) -> None:
        self.newest = path
        self.log.saved(path)


def _of_all(groups: Sequence[Group]) -> dict[str, float]:
    """What all answers got since the last update, also those that tell nothing."""
    rewards = [
        answer.reward for group in groups for answer in group.answers if answer.reward is not None
    ]
    telling = [group.telling for group in groups]
    return {
        **({"reward": fmean(rewards)} if rewards else {}),
        **({"unequal": fmean(telling)} if telling else {}),
    }


# The placement in threads.


@contextmanager
def in_threads(job: RoleSpec, _: Tell) -> Iterator[WorkerFactory]:
    """The roles in threads of this process, each with a model of its own.

    They share the processor's cores: each computes on its part of them. A thread cannot be ended
    from outside: one that does not answer in time is left to itself, with its model, its memory and
    whatever it computes on, until the process ends. Nobody waits for it, not even that end.
    """
    before = torch.get_num_threads()
    with torch.random.fork_rng(_gpus()), _Threads(job, before) as placement:
        yield placement
    torch.set_num_threads(before)


def _gpus() -> list[int]:
    return list(range(torch.cuda.device_count()))


class _Threads:
    """A thread for each role; another one in the place of that which was lost."""

    def __init__(self, job: RoleSpec, cores: int) -> None:
        self._job = job
        self._share = max(1, cores // (1 + job.config.rollout_workers))
        self._opened: list[_Thread] = []

    def __enter__(self) -> _Threads:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for thread in self._opened:
            thread.close(self._job.config.worker_timeout)

    async def trainer(self) -> _Trainer:
        thread = self._thread("trainer")
        return _Trainer(thread, await thread.do(TrainerRole, self._job))

    async def rollout_worker(self, number: int) -> _Rollout:
        thread = self._thread(f"rollout-{number}")
        return _Rollout(thread, await self._begun(thread, RolloutRole))

    async def reward_worker(self, number: int) -> _Reward:
        thread = self._thread(f"reward-{number}")
        return _Reward(thread, await self._begun(thread, RewardRole))

    async def gone(self) -> None:
        """Wait for ever: the threads are where this process is."""
        await asyncio.Event().wait()

    async def _begun(self, thread: _Thread, make: Callable[[RoleSpec], T]) -> T:
        try:
            return await with_timeout(thread.do(make, self._job), startup_timeout(self._job.config))
        except WorkerLost:
            thread.leave()
            raise

    def _thread(self, name: str) -> _Thread:
        thread = _Thread(name, self._share)
        self._opened.append(thread)
        return thread


class _Thread:
    """Calls that block, one after the other, beside the loop, each on so many cores.

    It is a daemon, and none of an executor's: for those Python waits at the end of the process,
    also where one will never come back.
    """

    def __init__(self, name: str, cores: int) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._left = False
        self._thread = Thread(target=self._work, args=(cores,), name=name, daemon=True)
        self._thread.start()

    async def do(self, call: Callable[..., T], *given: Any) -> T:
        done: Future[T] = Future()
        self._calls.put((done, partial(call, *given)))
        return await asyncio.wrap_future(done)

    def leave(self) -> None:
        """Wait for it no more; it ends after the call that it is at, if that ever ends."""
        if not self._left:
            logger.warning("%s is left to itself, as a thread cannot be ended", self._thread.name)
        self._left = True

    def close(self, limit: float) -> None:
        """End it, after the call that it is at, for which it has so many seconds; 0: any."""
        self._calls.put(None)
        if not self._left:
            self._thread.join(limit or None)

    def _work(self, cores: int) -> None:
        torch.set_num_threads(cores)
        while (asked := self._calls.get()) is not None:
            done, call = asked
            if not done.set_running_or_notify_cancel():
                continue
            try:
                done.set_result(call())
            except BaseException as error:  # whatever it is, it is for whoever called
                done.set_exception(error)


@dataclass(frozen=True)
class _Trainer:
    thread: _Thread
    role: TrainerRole

    async def learn(self, step: int, groups: Sequence[Group]) -> Mapping[str, float]:
        return await self.thread.do(self.role.learn, step, groups)

    async def weights(self) -> Any:
        return await self.thread.do(self.role.weights)

    async def save(self, step: int, state: Mapping[str, Any]) -> Path:
        return await self.thread.do(self.role.save, step, state)


@dataclass(frozen=True)
class _Rollout:
    thread: _Thread
    role: RolloutRole

    async def load(self, version: int, weights: Any) -> None:  # noqa: ARG002  # the protocol's
        await self.thread.do(self.role.load, weights)

    async def sample(self, tasks: Sequence[PromptRequest]) -> Sequence[Sequence[Sampled]]:
        return await self.thread.do(self.role.sample, tasks)

    def kill(self) -> None:
        self.thread.leave()


@dataclass(frozen=True)
class _Reward:
    thread: _Thread
    role: RewardRole

    async def judge(self, places: Sequence[int], texts: Sequence[str]) -> Sequence[float | None]:
        return await self.thread.do(self.role.judge, places, texts)

    def kill(self) -> None:
        self.thread.leave()


run = partial(train_async, in_threads)  # trains with the roles in threads
