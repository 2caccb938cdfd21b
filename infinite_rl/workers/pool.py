"""Work spread over warm worker processes, or over threads, with its results in order.

    for result in in_workers("package.module:function", jobs, count=8, bound_s=5): ...

Python's threads share one lock, so programs in sandboxes do not run faster on several of them.
Worker processes do. All batches of a process share its workers; they are started on first need,
replaced when they die, and gone when their parent is, however it went.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..errors import UsageError
from .interruptible import interruptible_result
from .worker import NoWorkers, Worker, WorkerGone, answer_to, raised

Job = TypeVar("Job")
Result = TypeVar("Result")

_AHEAD = 256  # jobs that are taken from the caller before the first of them has its result
_CHUNK_S = 0.05  # work handed to a worker at a time: it must outweigh the cost of a message
_CHUNK = 64
_DEATHS = 2  # a job that was alone in so many workers that died gets no other try
_GRACE_S = 120.0  # beyond a job's own bound: loading a runtime, on a machine that is very busy

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Lost:
    """In the place of a result: the job's worker died, and so did the next one. Says how."""

    reason: str


def default_count() -> int:
    """How many workers a batch has by default: `$INFINITE_RL_WORKERS`, else one for each core.

    The cores are those that this process may use, and no more than the quota of its control group:
    `cpu.max` of https://docs.kernel.org/admin-guide/cgroup-v2.html, which a container sees at its
    root. Raises `UsageError` where the variable is no positive number.
    """
    if chosen := os.environ.get("INFINITE_RL_WORKERS", "").strip():
        if not chosen.isdecimal() or int(chosen) < 1:
            raise UsageError(f"INFINITE_RL_WORKERS must be a positive number, not {chosen!r}")
        return int(chosen)
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, min(count, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no such file, or "max"
        return count


# --- two ways to spread --------------------------------------------------------------------------


def in_threads(call: Callable[[Job], Result], jobs: Iterable[Job], count: int) -> Iterator[Result]:
    """`call` of each of `jobs`, in their order, on `count` threads. Raises what `call` raises.

    At most 256 jobs are taken before their turn. Raises `UsageError` in a process that was forked
    meanwhile.
    """
    pool, born = ThreadPoolExecutor(count), os.getpid()
    try:
        yield from in_order(lambda job: pool.submit(call, job), jobs)
    finally:
        if os.getpid() == born:
            pool.shutdown(wait=False, cancel_futures=True)


def in_workers(work: str, jobs: Iterable[Any], count: int, bound_s: float) -> Iterator[Any]:
    """What the function `work` makes of each of `jobs`, in their order, in `count` processes.

    `work` is "module:function", importable in another process; jobs and results are JSON values. A
    job takes `bound_s` seconds at most; a worker that takes much longer has hung, and is killed.
    At most 256 jobs are taken before their turn. A job whose worker dies is done again in a fresh
    one, and is `Lost` when that dies too. Where no process can be started, threads do the work, and
    a warning says so once.

    Raises:
        InfiniteRLError: what `work` raised; `SandboxError` for anything that is not one.
        UsageError: in a process that was forked meanwhile.
    """
    born = os.getpid()
    crew = _Crew(work, count, bound_s + _GRACE_S)
    try:
        yield from in_order(lambda job: crew.submit(json.dumps(job)), jobs)
    except BaseException:  # also GeneratorExit and KeyboardInterrupt: nobody wants the rest
        if os.getpid() == born:
            crew.abandon()
        raise
    finally:
        if os.getpid() == born:
            crew.close()


def close() -> None:
    """End the worker processes that have nothing to do. The next batch starts others."""
    _pool.close_idle()


def in_order(submit: Callable[[Job], Future[Result]], jobs: Iterable[Job]) -> Iterator[Result]:
    """The results of jobs that `submit` hands on, in their order; at most 256 are under way.

    Raises what a job raised, and `UsageError` in a process that was forked meanwhile.
    """
    born = os.getpid()
    waiting: deque[Future[Result]] = deque()
    for job in jobs:
        waiting.append(submit(job))
        while waiting and (len(waiting) >= _AHEAD or waiting[0].done()):
            yield interruptible_result(waiting.popleft())
            _refuse_fork(born)
    while waiting:
        yield interruptible_result(waiting.popleft())
        _refuse_fork(born)


def _refuse_fork(born: int) -> None:
    """After each `yield`: the threads that would finish the batch are the parent's."""
    if os.getpid() != born:
        raise UsageError("a batch that began before a fork can only go on in the parent")


# --- the workers of this process -----------------------------------------------------------------


class _Pool:
    """Workers, idle and busy. The warm ones are used first."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._starting = 0
        self._closed = False
        self._missing = ""  # why there are no workers here

    @contextmanager
    def worker(self, most: int) -> Iterator[Worker]:
        """A worker for one thread. Waits while `most` or more are busy. Raises `NoWorkers`."""
        worker = self._take(most)
        try:
            yield worker
        finally:
            with self._change:
                self._busy.discard(worker)
                if worker.alive():
                    self._idle.append(worker)
                else:
                    worker.close()
                self._change.notify_all()

    def _take(self, most: int) -> Worker:
        with self._change:
            self._change.wait_for(lambda: len(self._busy) + self._starting < most)
            if self._closed:
                raise WorkerGone("this process is ending")
            while self._idle:
                worker = self._idle.pop()
                if worker.alive():
                    self._busy.add(worker)
                    return worker
                worker.close()
            if self._missing:
                raise NoWorkers(self._missing)
            self._starting += 1
        return self._start()

    def _start(self) -> Worker:
        try:
            worker = Worker()
        except NoWorkers as fault:
            with self._change:
                known, self._missing = self._missing, str(fault)
            if not known:
                logger.warning("no worker processes, threads do their work: %s", fault)
            raise
        else:
            with self._change:
                self._busy.add(worker)
            return worker
        finally:
            with self._change:
                self._starting -= 1
                self._change.notify_all()

    def close_idle(self) -> None:
        with self._change:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def close(self) -> None:
        self._closed = True
        self.close_idle()
        for worker in list(self._busy):
            worker.kill()

    def forget(self) -> None:
        for worker in [*self._idle, *self._busy]:
            worker.forget()


_pool = _Pool()


def _after_fork() -> None:
    """A forked child starts workers of its own. It has none of the threads that served ours."""
    global _pool
    _pool.forget()
    _pool = _Pool()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(lambda: _pool.close())


# --- the threads of one batch --------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    job: str
    future: Future[Any]

    def settle(self, answer: Any) -> None:
        kind, value = answer
        if kind == "ok":
            self.future.set_result(value)
        else:
            self.future.set_exception(raised(*value))


class _Crew:
    """Threads that each keep one worker busy with the jobs of one batch.

    They take several short jobs at a time, fewer when few are left, so that all end together.
    """

    def __init__(self, work: str, count: int, wait_s: float) -> None:
        self._work, self._count, self._wait_s = work, count, wait_s
        self._todo: deque[_Task] = deque()
        self._change = threading.Condition()
        self._closed = self._abandoned = False
        self._active: set[Worker] = set()
        self._each_s = _CHUNK_S  # what a job takes, as seen lately
        self._threads: list[threading.Thread] = []

    def submit(self, job: str) -> Future[Any]:
        task = _Task(job, Future())
        with self._change:
            self._todo.append(task)
            self._change.notify()
        if len(self._threads) < self._count:
            # Daemons: an iterator that nobody finished must not hold up the end of the process.
            thread = threading.Thread(target=self._serve, name="crew", daemon=True)
            self._threads.append(thread)
            thread.start()
        return task.future

    def close(self) -> None:
        """Let the threads end. After `abandon` some may still be ending when this returns."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        if not self._abandoned:
            for thread in self._threads:
                thread.join()

    def abandon(self) -> None:
        """Stop at once what is under way."""
        with self._change:
            self._abandoned = True
            self._todo.clear()
            for worker in self._active:
                worker.kill()

    def _serve(self) -> None:
        while tasks := self._take():
            left = deque(tasks)
            try:
                self._settle(left)
            except BaseException as fault:  # a bug of ours: the consumer waits for these
                for task in left:
                    task.future.set_exception(fault)

    def _take(self) -> list[_Task]:
        with self._change:
            self._change.wait_for(lambda: self._todo or self._closed)
            share = -(-len(self._todo) // self._count)
            size = min(share, _CHUNK, max(1, int(_CHUNK_S / self._each_s)))
            return [self._todo.popleft() for _ in range(size if self._todo else 0)]

    def _settle(self, tasks: deque[_Task]) -> None:
        """Every task gets its answer.

        After a death they go one by one, so that it shows which of them is deadly.
        """
        careful, deaths = False, 0
        while tasks and not self._abandoned:
            some = [tasks[0]] if careful else list(tasks)
            started = time.monotonic()
            try:
                for answer in self._answers([task.job for task in some]):
                    tasks.popleft().settle(answer)
                    deaths = 0
            except WorkerGone as gone:
                _pool.close_idle()  # whatever took this one may have taken them: the next is fresh
                deaths += len(some) == 1
                careful = True
                if deaths == _DEATHS:
                    tasks.popleft().future.set_result(Lost(f"{gone}, {_DEATHS} times"))
                    deaths = 0
            else:
                self._each_s = max(1e-6, (time.monotonic() - started) / len(some))

    def _answers(self, jobs: list[str]) -> Iterator[Any]:
        try:
            with _pool.worker(self._count) as worker:
                with self._change:
                    if self._abandoned:
                        return
                    self._active.add(worker)
                try:
                    yield from worker.answers(self._work, jobs, self._wait_s)
                finally:
                    with self._change:
                        self._active.discard(worker)
        except NoWorkers:
            for job in jobs:
                yield json.loads(answer_to(self._work, json.loads(job)))
