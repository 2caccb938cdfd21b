"""Worker processes that stay warm between their jobs, lent to one thread at a time."""

import atexit
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from .worker import NoWorkers, Worker, WorkerGone


class Lender:
    """Idle and busy workers of one kind; the one that was used last is used first.

    `start` makes a worker. If it raises `NoWorkers`, no worker is started any more, and `on_fault`
    gets the reason. A worker that has died is replaced. A forked child begins without workers, and
    all end with their process.
    """

    def __init__(
        self,
        start: Callable[[], Worker] = Worker,
        on_fault: Callable[[NoWorkers], None] = lambda _: None,
    ) -> None:
        self._start, self._on_fault = start, on_fault
        self._reset()
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._close)

    def _reset(self) -> None:
        self._change = threading.Condition()
        self.idle: list[Worker] = []
        self.busy: set[Worker] = set()
        self.fault: NoWorkers | None = None  # why none can start here
        self._starting = 0
        self._closed = False

    @property
    def count(self) -> int:
        """The number of workers that have started."""
        return len(self.idle) + len(self.busy)

    @contextmanager
    def worker(self, most: int) -> Iterator[Worker]:
        """Lend a worker, a new one if none is idle; waits while `most` or more are busy.

        Raises `NoWorkers`, `WorkerGone` at the end of this process, and what `start` raises.
        """
        with self._change:
            self._change.wait_for(lambda: len(self.busy) + self._starting < most)
            worker = self._idle_worker()
            self._starting += worker is None
        worker = worker or self._new_worker()
        try:
            yield worker
        finally:
            self._give_back(worker)

    @contextmanager
    def idle_worker(self, wait_s: float) -> Iterator[Worker]:
        """Lend an idle worker. Raises `TimeoutError` if there is none in time; or as `worker`."""
        with self._change:
            worker = self._change.wait_for(self._idle_worker, wait_s)
        if worker is None:
            raise TimeoutError
        try:
            yield worker
        finally:
            self._give_back(worker)

    def add_worker(self, most: int) -> None:
        """Start a worker, unless one is being started, none can be, or `most` are there."""
        with self._change:
            if self.fault or self._starting or self.count >= most:
                return
            self._starting += 1
        with suppress(NoWorkers, WorkerGone):
            self._give_back(self._new_worker())

    def _idle_worker(self) -> Worker | None:
        if self._closed:
            raise WorkerGone("this process is ending")
        while self.idle:
            worker = self.idle.pop()
            if worker.alive():
                self.busy.add(worker)
                return worker
            worker.close()
        if self.fault:
            raise self.fault
        return None

    def _new_worker(self) -> Worker:
        worker = None
        try:
            worker = self._start()
            return worker
        except NoWorkers as fault:
            with self._change:
                is_first, self.fault = self.fault is None, fault
            if is_first:
                self._on_fault(fault)
            raise
        finally:
            with self._change:
                self._starting -= 1
                if worker:
                    self.busy.add(worker)
                self._change.notify_all()

    def _give_back(self, worker: Worker) -> None:
        with self._change:
            self.busy.discard(worker)
            if worker.alive():
                self.idle.append(worker)
            else:
                worker.close()
            self._change.notify_all()

    def close_idle(self) -> None:
        """End the idle workers."""
        with self._change:
            idle, self.idle = self.idle, []
        for worker in idle:
            worker.close()

    def _close(self) -> None:
        self._closed = True
        self.close_idle()
        for worker in list(self.busy):
            worker.kill()

    def _forget(self) -> None:
        """Begin anew in a forked child: the parent's threads are not in it."""
        for worker in [*self.idle, *self.busy]:
            worker.forget()
        self._reset()
