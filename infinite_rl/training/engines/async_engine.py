"""The engine `asyncio`: a run at scale in one process, with a thread for each worker.

`train_async` is the part that every engine at scale shares; a `WorkerFactory` places the workers.
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
from typing import Any

import torch

from ...errors import UsageError
from ..core.encoding import Prompt, build_prompts
from ..core.grpo import advantages, rollout_record
from ..core.learner import load_model_config, load_tokenizer, max_sequence_tokens
from ..core.mixed import by_dataset
from ..core.rollout_types import RolloutGroup
from ..core.rollouts import preflight, sampling_fingerprint
from ..runs import checkpoint
from ..runs.config import TrainingConfig
from ..runs.run_log import RunLog, TrainingRun, run_log
from .async_controller import AsyncController
from .prompt_queue import PromptQueue
from .role_workers import ROLES, RoleSpec
from .roles import WorkerFactory, WorkerLost, startup_timeout, with_timeout

LogEvent = Callable[..., None]  # as `RunFolder.event`
FactoryContext = Callable[[RoleSpec, LogEvent], AbstractContextManager[WorkerFactory]]

logger = logging.getLogger(__name__)


def train_async(placement: FactoryContext, training: TrainingRun) -> Path:
    """Train as the config says, with the workers of a placement: see `training.train`.

    Everything that can be checked is checked before a worker is started.
    """
    config, source = training.config, training.checkpoint
    state = None
    if source:
        saved = checkpoint.load_state(source)
        state = saved.get("controller") or saved.get("flow")  # as earlier versions named it
        if not isinstance(state, Mapping):
            raise UsageError(f"{source} is of another engine: it has no state of the controller")
    tokenizer = load_tokenizer(config, source)
    max_tokens = max_sequence_tokens(config, load_model_config(config, source))
    prompts = build_prompts(training.rows, tokenizer, max_tokens, config)
    preflight(training.reward, training.rows)
    with ExitStack() as stack:
        log = stack.enter_context(run_log(training))
        recorder = RunRecorder(log, prompts, config, newest=source)
        rows = [prompt.row for prompt in prompts]
        spec = RoleSpec(rows, training.reward, config, log.folder.path, source)
        factory = stack.enter_context(placement(spec, log.folder.event))
        queue = PromptQueue([prompt.id for prompt in prompts], seed=config.order("prompts"))
        controller = AsyncController(
            config,
            queue,
            factory,
            recorder,
            step=training.done,
            state=state,
            sampling=sampling_fingerprint(config, prompts),
            stopping=training.stop.is_set,
        )
        _run_to_end(controller.run())
    if failures := queue.failures:
        name, why = next(iter(failures.items()))
        logger.warning("%d prompts failed, among them %r: %s", len(failures), name, why)
    if recorder.newest is None:
        raise UsageError("no update was made: the prompts were used up before the first batch")
    return recorder.newest


def _run_to_end(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine, in a thread if an event loop runs here already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(main)
        return
    with ThreadPoolExecutor(1, "controller") as thread:
        thread.submit(asyncio.run, main).result()


@dataclass
class RunRecorder:
    """Logs what the controller reports: events, rollouts, metrics for trackers and displays."""

    log: RunLog
    prompts: Sequence[Prompt]
    config: TrainingConfig
    newest: Path | None  # checkpoint
    scored: list[RolloutGroup] = field(default_factory=list)  # trained or filtered since an update

    def event(self, kind: str, step: int, **values: Any) -> None:
        self.log.folder.event(kind, step, **values)

    def group(
        self, step: int, group: RolloutGroup, outcome: str, *, repeated: bool = False
    ) -> None:
        if not repeated:
            self.scored.append(group)
        prompt = self.prompts[group.request.index]
        values = advantages(group.rollouts, self.config).tolist()
        for rollout, advantage in zip(group.rollouts, values, strict=True):
            record = rollout_record(prompt, rollout, advantage)
            self.log.rollout(step, prompt.row, version=group.version, **record, outcome=outcome)

    def updated(self, step: int, values: Mapping[str, Any]) -> None:
        """Log the update; `reward` is the mean over all groups, filtered ones included."""
        by_row = [
            (self.prompts[group.request.index].row, [each.reward for each in group.rollouts])
            for group in self.scored
        ]
        metrics = {name: value for name, value in values.items() if name != "reward"}
        if rewards := [each for _, group in by_row for each in group if each is not None]:
            metrics["reward"] = fmean(rewards)
        if self.scored:
            metrics["unequal"] = fmean(group.has_signal for group in self.scored)
        self.scored.clear()
        self.log.step(step, {**metrics, **by_dataset(by_row)})

    def before_save(self) -> None:
        self.log.folder.sync()  # a power cut must not take lines of steps that are not redone

    def saved(self, path: Path) -> None:
        self.newest = path
        self.log.saved(path)


# The placement in threads.


@contextmanager
def thread_workers(spec: RoleSpec, _: LogEvent) -> Iterator[WorkerFactory]:
    """Workers in threads of this process, each with its own model and its share of the cores.

    A thread cannot be killed: one that does not answer in time is abandoned, with its model and its
    memory, until the process ends, which does not wait for it.
    """
    threads = torch.get_num_threads()
    with torch.random.fork_rng(range(torch.cuda.device_count())):
        factory = _ThreadWorkers(spec, max(1, threads // (1 + spec.config.rollout_workers)))
        try:
            yield factory
        finally:
            for worker in factory.started:
                worker.close(spec.config.worker_timeout)
    torch.set_num_threads(threads)


class _ThreadWorkers:
    """Starts a thread for each worker and each replacement."""

    def __init__(self, spec: RoleSpec, cores: int) -> None:
        self._spec, self._cores = spec, cores
        self.started: list[_ThreadWorker] = []

    async def start(self, role: str, name: str) -> _ThreadWorker:
        worker = _ThreadWorker(name, self._cores)
        self.started.append(worker)
        limit = 0 if role == "trainer" else startup_timeout(self._spec.config)
        try:
            worker.role = await with_timeout(worker.run(ROLES[role], self._spec), limit)
        except WorkerLost:
            worker.kill()
            raise
        return worker

    async def unreachable(self) -> None:
        await asyncio.Event().wait()  # threads are as reachable as this process


class _ThreadWorker:
    """A thread that makes blocking calls one after the other, with a limited number of cores.

    A daemon, and not an executor's thread: Python would wait for those when the process ends, even
    if a call never returns.
    """

    role: Any

    def __init__(self, name: str, cores: int) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._abandoned = False
        self._thread = Thread(target=self._work, args=(cores,), name=name, daemon=True)
        self._thread.start()

    async def call(self, method: str, *args: Any) -> Any:
        return await self.run(getattr(self.role, method), *args)

    async def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in the thread."""
        result: Future[Any] = Future()
        self._calls.put((result, partial(function, *args)))
        return await asyncio.wrap_future(result)

    def kill(self) -> None:
        """Abandon the thread; it ends after its current call, if that ever ends."""
        if not self._abandoned:
            logger.warning("%s is abandoned, as a thread cannot be killed", self._thread.name)
        self._abandoned = True

    def close(self, limit: float) -> None:
        """End the thread after its current call, which has `limit` seconds; 0 is no limit."""
        self._calls.put(None)
        if not self._abandoned:
            self._thread.join(limit or None)

    def _work(self, cores: int) -> None:
        torch.set_num_threads(cores)
        while (item := self._calls.get()) is not None:
            result, function = item
            if not result.set_running_or_notify_cancel():
                continue
            try:
                result.set_result(function())
            except BaseException as error:  # of any kind: it is the caller's
                result.set_exception(error)


run = partial(train_async, thread_workers)  # the engine's entry point
