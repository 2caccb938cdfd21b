"""A bounded queue of jobs, fair between clients, and the worker processes that do them.

Each thread has one worker of `workers/worker.py`. The next job is that of the client which has used
the least time of the workers. A worker that dies or passes a deadline is replaced; its job runs
again alone, and is lost if that worker dies, too. Whatever happens, a job ends with an answer or
with the reason why there is none.
"""

import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..workers.worker import NoWorkers, Worker, WorkerGone, message_of
from .judging import WARM_UP, WORK

logger = logging.getLogger(__name__)

_CHUNK, _CHUNK_S = 64, 0.01  # jobs of a request per message to a worker, and their seconds
_DEATHS = 2  # a job that has killed this many workers is lost
_LEAST_S = 0.05  # that a worker gets, however near the deadline is
_START_AGAIN_S = 1.0  # between two attempts to start a worker
_WARM_UP_S = 120.0
_LOOK_S = 1.0  # between two looks of an idle thread at its worker
_ABANDONED_S = 1.0  # that a job may go on after its request has ended
_RETRY_S = (1, 30)  # the least and the most that a refused client is told to wait
_WEIGHT = 0.1  # of a new measurement in a mean
TOO_LATE = "the deadline of the request passed"
STOPPING = "the server is stopping"


class QueueFull(Exception):
    """There is no room for a request. `retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"the queue is full: try again in {retry_after} s")
        self.retry_after = retry_after


@dataclass(frozen=True)
class Result:
    """The value of a job, or the fault for which there is none."""

    value: Any = None
    fault: str = ""


@dataclass(eq=False)
class Ticket:
    """The jobs of one request. `on_done` is called from any thread when all have ended."""

    client: str
    kind: str
    deadline: float  # by the monotonic clock
    on_done: Callable[[], None]
    results: list[Result | None]
    left: int
    is_over: bool = False


@dataclass(eq=False)
class _Job:
    ticket: Ticket
    index: int
    job: Any
    alone: bool = False  # its worker gets no other job meanwhile
    deaths: int = 0


@dataclass(eq=False)
class _Client:
    waiting: deque[_Job] = field(default_factory=deque)
    open: int = 0  # jobs that wait or run
    used_s: float = 0.0  # of the workers


class Dispatcher:
    """Does jobs in `count` worker processes; `queue` of them may be open at a time.

    `warm_up` is the job with which a worker starts. A worker above `worker_bytes` is replaced.
    `on_replaced` gets the reason whenever a worker is.
    """

    def __init__(
        self,
        count: int,
        queue: int,
        warm_up: Any,
        worker_bytes: int,
        on_replaced: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._queue, self._warm_up = queue, warm_up
        self._worker_bytes, self._on_replaced = worker_bytes, on_replaced
        self._change = threading.Condition()
        self._clients: dict[str, _Client] = {}
        self._seconds: dict[str, float] = {}  # a job of this kind takes, on average
        self._workers: dict[int, Worker] = {}
        self._running: dict[int, Ticket] = {}
        self._closing = threading.Event()
        self._stop_at = math.inf
        self.open = 0
        self.has_started = False  # a worker was ready once
        self._threads = [
            threading.Thread(target=self._serve, args=(number,), name="judge", daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> int:
        """The number of workers that are ready."""
        return sum(worker.alive() for worker in list(self._workers.values()))

    @property
    def is_stopping(self) -> bool:
        """Whether the end of the process has been announced."""
        return self._stop_at < math.inf

    @property
    def largest(self) -> int:
        """The most jobs that one request may have."""
        return self._queue // 2

    def submit(
        self, client: str, kind: str, jobs: Sequence[Any], deadline: float, done: Callable[[], None]
    ) -> Ticket:
        """Queue the jobs of a request of a client; jobs of one `kind` take about the same time.

        No client may take more than half of the room that is left, so a greedy one shuts out no
        other. Raises QueueFull.
        """
        ticket = Ticket(client, kind, deadline, done, [None] * len(jobs), len(jobs))
        with self._change:
            own = self._clients.get(client) or _Client()
            if own.open + 2 * len(jobs) > self._queue - self.open or self._closing.is_set():
                raise QueueFull(self._retry_after(kind))
            if client not in self._clients:  # it has used as much as the one that has used least
                own.used_s = min((each.used_s for each in self._clients.values()), default=0.0)
                self._clients[client] = own
            own.waiting.extend(_Job(ticket, index, job) for index, job in enumerate(jobs))
            own.open += len(jobs)
            self.open += len(jobs)
            self._change.notify(len(jobs))
        return ticket

    def end(self, ticket: Ticket, fault: str) -> None:
        """End what is left of a request with a fault. Its running jobs are killed a second later:
        most end before that, and a new worker costs as much.
        """
        with self._change:
            if ticket.is_over:
                return
            ticket.is_over = True
            client = self._clients[ticket.client]
            client.waiting = deque(each for each in client.waiting if each.ticket is not ticket)
            for index, result in enumerate(ticket.results):
                if result is None:
                    ticket.results[index] = Result(fault=fault)
                    self._count_down(ticket.client)
            ticket.left = 0
            if ticket in self._running.values():
                timer = threading.Timer(_ABANDONED_S, self._kill, (ticket,))
                timer.daemon = True
                timer.start()
        ticket.on_done()

    def _kill(self, ticket: Ticket) -> None:
        for number, each in list(self._running.items()):
            if each is ticket and (worker := self._workers.get(number)):
                worker.kill()

    def stop_at(self, moment: float) -> None:
        """Announce that nothing will be judged from this moment of the monotonic clock on."""
        self._stop_at = min(self._stop_at, moment)

    def close(self) -> None:
        """End the worker processes."""
        self._closing.set()
        with self._change:
            self._change.notify_all()
        for worker in list(self._workers.values()):
            worker.kill()
        for thread in self._threads:
            thread.join(5)

    # --- the queue, under its lock ---------------------------------------------------------------

    def _retry_after(self, kind: str) -> int:
        each_s = self._seconds.get(kind, 0.1)
        seconds = math.ceil(self.open * each_s / len(self._threads))
        return max(_RETRY_S[0], min(_RETRY_S[1], seconds))

    def _count_down(self, name: str) -> None:
        client = self._clients[name]
        client.open -= 1
        self.open -= 1
        if not client.open:
            del self._clients[name]

    def _take(self, number: int) -> list[_Job]:
        """Take jobs of one request; none if there are none for a while."""
        with self._change:
            active = [each for each in self._clients.values() if each.waiting]
            if not active:
                self._change.wait(_LOOK_S)
                active = [each for each in self._clients.values() if each.waiting]
            if not active or self._closing.is_set():
                return []
            client = min(active, key=lambda each: each.used_s)
            first = client.waiting.popleft()
            seconds = self._seconds.get(first.ticket.kind, _CHUNK_S)
            share = -(-first.ticket.left // len(self._threads))
            size = min(_CHUNK, share, max(1, int(_CHUNK_S / seconds)))
            jobs = [first]
            while len(jobs) < size and client.waiting and not first.alone:
                if client.waiting[0].ticket is not first.ticket or client.waiting[0].alone:
                    break
                jobs.append(client.waiting.popleft())
            client.used_s += seconds * len(jobs)  # corrected when it is known
            self._running[number] = first.ticket
            return jobs

    def _settle(self, job: _Job, result: Result) -> None:
        with self._change:
            ticket = job.ticket
            if ticket.is_over:
                return
            ticket.results[job.index] = result
            ticket.left -= 1
            ticket.is_over = not ticket.left
            self._count_down(ticket.client)
        if ticket.is_over:
            ticket.on_done()

    def _give_back(self, jobs: Sequence[_Job]) -> None:
        with self._change:
            for job in reversed(jobs):
                if not job.ticket.is_over:
                    self._clients[job.ticket.client].waiting.appendleft(job)
            self._change.notify(len(jobs))

    def _measure(self, ticket: Ticket, count: int, seconds: float) -> None:
        with self._change:
            before = self._seconds.get(ticket.kind, _CHUNK_S)
            mean = before + _WEIGHT * (max(1e-6, seconds / count) - before)
            self._seconds[ticket.kind] = mean
            if client := self._clients.get(ticket.client):
                client.used_s += seconds - before * count

    # --- the threads -----------------------------------------------------------------------------

    def _serve(self, number: int) -> None:
        reason = ""  # for which the worker has to be replaced
        while not self._closing.is_set():
            worker = self._workers.get(number)
            if worker and not reason:
                is_large = _resident_bytes(worker.pid) > self._worker_bytes
                reason = "died" if not worker.alive() else "memory" if is_large else ""
            if reason:
                self._on_replaced(reason)
                worker, reason = None, ""
            if worker is None and not (worker := self._start(number)):
                self._closing.wait(_START_AGAIN_S)
            elif jobs := self._take(number):
                reason = self._do(worker, deque(jobs))
                with self._change:
                    del self._running[number]

    def _start(self, number: int) -> Worker | None:
        """Start a worker and load what it needs; None if that fails."""
        if previous := self._workers.pop(number, None):
            previous.close()
        with suppress(NoWorkers, WorkerGone):
            worker = Worker()
            for answer in worker.answers(WARM_UP, [message_of(self._warm_up)], _WARM_UP_S):
                if fault := _result(answer).fault:
                    logger.warning("a worker begins without what its rewards need: %s", fault)
            self._workers[number], self.has_started = worker, True
            if self._closing.is_set():
                worker.close()
            return worker
        return None

    def _do(self, worker: Worker, jobs: deque[_Job]) -> str:
        """Do jobs of one request: each of them ends, or waits again.

        Returns the reason for which the worker has ended, "" if it has not.
        """
        ticket, count, started = jobs[0].ticket, len(jobs), time.monotonic()
        last = min(ticket.deadline, self._stop_at)
        if ticket.is_over or started >= last:
            self._fail(jobs, TOO_LATE)
            return ""
        alone = count == 1
        try:
            messages = [message_of(job.job) for job in jobs]
            for answer in worker.answers(WORK, messages, max(_LEAST_S, last - started)):
                result = _result(answer)
                self._settle(jobs.popleft(), result)
        except WorkerGone as gone:
            if time.monotonic() >= last or ticket.is_over:
                self._fail(jobs, f"{TOO_LATE}: {gone}")
                return "deadline"
            for job in jobs:
                job.alone = True
            jobs[0].deaths += alone
            if jobs[0].deaths == _DEATHS:
                self._settle(jobs.popleft(), Result(fault=f"{gone}, {_DEATHS} times"))
            self._give_back(jobs)
            return "died"
        except Exception as bug:  # a bug of ours: clients wait for these, and later ones
            worker.close()
            self._fail(jobs, f"{type(bug).__name__}: {bug}")
            return "bug"
        finally:
            self._measure(ticket, count, time.monotonic() - started)
        return ""

    def _fail(self, jobs: Sequence[_Job], fault: str) -> None:
        for job in jobs:
            self._settle(job, Result(fault=fault))


def _result(answer: Any) -> Result:
    kind, value = answer
    return Result(value) if kind == "ok" else Result(fault=": ".join(value[:2]))


def _resident_bytes(pid: int) -> int:
    """The memory of a process, 0 where the system does not say: proc(5), statm, in pages."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
