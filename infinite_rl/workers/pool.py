"""Batches of work on warm worker processes, or on threads, with results in order.

    for result in in_workers("package.module:function", jobs, count=8, bound_s=5): ...

Programs in sandboxes do not run faster on several threads, because Python's threads share one lock;
worker processes do. All batches of a process share its workers. They start on first use, are
replaced when they die, and end when their parent does, however it ends.
"""

import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..errors import UsageError
from .interruptible import interruptible_result
from .lender import Lender
from .worker import Message, NoWorkers, Worker, WorkerGone, answer_to, job_of, message_of, raised

Job = TypeVar("Job")
Result = TypeVar("Result")

_AHEAD = 256  # jobs that are taken from the caller before the first of them has its result
_AHEAD_CHARS = 32_000_000  # of those jobs; one more than the workers may be longer than that
_CHUNK_S = 0.05  # of work per message to a worker: it must outweigh the cost of the message
_CHUNK = 64  # jobs per message at most
_DEATHS = 2  # a job that has killed this many workers alone is lost
_GRACE_S = 120.0  # beyond a job's bound, for loading a runtime on a busy machine

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Lost:
    """The result of a job that killed its worker twice, with the reason."""

    reason: str


def default_count() -> int:
    """The default number of workers: `$INFINITE_RL_WORKERS`, else one per core.

    The cores are those that this process may use, up to the quota of its control group: `cpu.max`
    of https://docs.kernel.org/admin-guide/cgroup-v2.html, which a container sees at its root.
    Raises `UsageError` if the variable is no positive number.
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


# --- batches -------------------------------------------------------------------------------------


def in_threads(call: Callable[[Job], Result], jobs: Iterable[Job], count: int) -> Iterator[Result]:
    """Yield `call(job)` for each job, in order, from `count` threads. Raises what `call` raises.

    At most 256 jobs are taken in advance. Raises `UsageError` in a process that was forked
    meanwhile.
    """
    pool, pid = ThreadPoolExecutor(count), os.getpid()
    try:
        yield from in_order(lambda job: pool.submit(call, job), jobs)
    finally:
        if os.getpid() == pid:
            pool.shutdown(wait=False, cancel_futures=True)


def in_workers(
    work: str, jobs: Iterable[Any], count: int, bound_s: float | Callable[[Any], float]
) -> Iterator[Any]:
    """Yield the results of the function `work` for each job, in order, from `count` processes.

    `work` is "module:function", importable in another process; jobs and results are JSON values. A
    job takes `bound_s` seconds at most, which may be a function of the job: a worker that takes
    much longer hangs, and is killed. At most 256 jobs are taken in advance, fewer long ones. If a
    worker dies, its job runs again in a new one; if that dies too, the result is `Lost`. If no
    process can start, threads do the work, with one warning.

    Raises:
        InfiniteRLError: what `work` raised; `SandboxError` for other exceptions.
        UsageError: in a process that was forked meanwhile.
    """
    pid = os.getpid()
    batch = _Batch(work, count)

    def submit(job: Any) -> tuple[Future[Any], int]:
        bound = bound_s(job) if callable(bound_s) else bound_s
        message = message_of(job)
        return batch.submit(message, bound + _GRACE_S), len(message)

    try:
        yield from _in_order(submit, jobs, count)
    except BaseException:  # also GeneratorExit and KeyboardInterrupt: the rest is not needed
        if os.getpid() == pid:
            batch.abandon()
        raise
    finally:
        if os.getpid() == pid:
            batch.close()


def beside_results(
    items: Iterable[Job], run: Callable[[Iterator[Job]], Iterable[Result]]
) -> Iterator[tuple[Job, Result]]:
    """Yield each item with its result; `run` gives the results in order, from the items.

    No item is in memory for longer than its result takes: `itertools.tee` frees its items in
    blocks of 57.
    """
    sent: deque[Job] = deque()

    def sending() -> Iterator[Job]:
        for item in items:
            sent.append(item)
            yield item

    for result in run(sending()):
        yield sent.popleft(), result


def close() -> None:
    """End the idle worker processes. The next batch starts new ones."""
    _pool.close_idle()


def in_order(submit: Callable[[Job], Future[Result]], jobs: Iterable[Job]) -> Iterator[Result]:
    """Yield the results of submitted jobs in order; at most 256 are under way.

    Raises what a job raised, and `UsageError` in a process that was forked meanwhile.
    """
    return _in_order(lambda job: (submit(job), 0), jobs, 0)


def _in_order(
    submit: Callable[[Job], tuple[Future[Result], int]], jobs: Iterable[Job], count: int
) -> Iterator[Result]:
    """As `in_order`, for jobs of a known size; `count` of them are under way at any size."""
    pid = os.getpid()
    waiting: deque[tuple[Future[Result], int]] = deque()
    size = 0

    def results(least: int) -> Iterator[Result]:
        nonlocal size
        while waiting:
            is_much = len(waiting) >= least or (size > _AHEAD_CHARS and len(waiting) > count)
            if not is_much and not waiting[0][0].done():
                break
            future, own = waiting.popleft()
            size -= own
            yield interruptible_result(future)
            if os.getpid() != pid:  # the threads that would finish the batch are the parent's
                raise UsageError("a batch that began before a fork can only continue in the parent")

    for job in jobs:
        waiting.append(submit(job))
        size += waiting[-1][1]
        yield from results(_AHEAD)
    yield from results(0)


# --- the workers of this process -----------------------------------------------------------------


def _warn(fault: NoWorkers) -> None:
    logger.warning("no worker processes, threads do their work: %s", fault)


_pool = Lender(on_fault=_warn)


# --- the threads of one batch --------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    job: Message
    future: Future[Any]
    wait_s: float

    def settle(self, answer: Any) -> None:
        kind, value = answer
        if kind == "ok":
            self.future.set_result(value)
        else:
            self.future.set_exception(raised(*value))


class _Batch:
    """Threads that each keep one worker busy with the jobs of one batch.

    They send several short jobs per message, fewer when few are left, so that all end together.
    """

    def __init__(self, work: str, count: int) -> None:
        self._work, self._count = work, count
        self._todo: deque[_Task] = deque()
        self._change = threading.Condition()
        self._closed = self._abandoned = False
        self._active: set[Worker] = set()
        self._job_s = _CHUNK_S  # the duration of a job, as measured last
        self._threads: list[threading.Thread] = []

    def submit(self, job: Message, wait_s: float) -> Future[Any]:
        task = _Task(job, Future(), wait_s)
        with self._change:
            self._todo.append(task)
            self._change.notify()
        if len(self._threads) < self._count:
            # Daemons: an iterator that is never finished must not block the end of the process.
            thread = threading.Thread(target=self._serve, name="batch", daemon=True)
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
        """Stop the running jobs at once."""
        with self._change:
            self._abandoned = True
            self._todo.clear()
            for worker in self._active:
                worker.kill()

    def _serve(self) -> None:
        while tasks := self._next_tasks():
            try:
                self._run_tasks(tasks)
            except BaseException as fault:  # a bug of ours: the consumer waits for these
                for task in tasks:
                    task.future.set_exception(fault)

    def _next_tasks(self) -> deque[_Task]:
        with self._change:
            self._change.wait_for(lambda: self._todo or self._closed)
            share = -(-len(self._todo) // self._count)
            size = min(share, _CHUNK, max(1, int(_CHUNK_S / self._job_s)))
            return deque(self._todo.popleft() for _ in range(size if self._todo else 0))

    def _run_tasks(self, tasks: deque[_Task]) -> None:
        """Answer all tasks. After a death they run one by one, which shows the deadly one."""
        one_by_one, deaths = False, 0
        while tasks and not self._abandoned:
            chunk = [tasks[0]] if one_by_one else list(tasks)
            started = time.monotonic()
            try:
                for answer in self._answers(chunk):
                    tasks.popleft().settle(answer)
                    deaths = 0
            except WorkerGone as gone:
                _pool.close_idle()  # the same cause may have killed them: the next worker is new
                deaths += len(chunk) == 1
                one_by_one = True
                if deaths == _DEATHS:
                    tasks.popleft().future.set_result(Lost(f"{gone}, {_DEATHS} times"))
                    deaths = 0
            else:
                self._job_s = max(1e-6, (time.monotonic() - started) / len(chunk))

    def _answers(self, tasks: list[_Task]) -> Iterator[Any]:
        jobs, wait_s = [task.job for task in tasks], max(task.wait_s for task in tasks)
        try:
            with _pool.worker(self._count) as worker:
                with self._change:
                    if self._abandoned:
                        return
                    self._active.add(worker)
                try:
                    yield from worker.answers(self._work, jobs, wait_s)
                finally:
                    with self._change:
                        self._active.discard(worker)
        except NoWorkers:
            for job in jobs:
                yield json.loads(answer_to(self._work, job_of(job)))
