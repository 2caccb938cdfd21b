"""Long jobs: each has its own worker process, reports its progress, and stops on request.

run_long_jobs("package.module:function", jobs, stop, on_count)
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

from ..errors import InfiniteRLError
from .worker import NoWorkers, Worker, WorkerGone, message_of, raised

_POLL_S = 0.2  # between two looks at the jobs and at `stop`


def run_long_jobs(
    work: str, jobs: Sequence[Any], stop: threading.Event, on_count: Callable[[int], None]
) -> None:
    """Run `work(job, stop, on_count)` for each of the jobs, all at once.

    `work` is "module:function", jobs are JSON values. `on_count` gets the sum of the latest counts
    of all jobs. When `stop` is set, or a job fails, the `stop` of each job is set.

    Raises:
        InfiniteRLError: the first error of a job, unless `stop` is set.
    """
    counts, shown, failures = [0] * len(jobs), 0, list[BaseException]()
    with ThreadPoolExecutor(len(jobs)) as pool, ExitStack() as opened:
        try:
            workers = [opened.enter_context(closing(Worker())) for _ in jobs]
        except NoWorkers as fault:
            raise InfiniteRLError(str(fault)) from None

        def run(number: int) -> None:
            report = partial(counts.__setitem__, number)
            try:
                answers = list(
                    workers[number].answers(work, [message_of(jobs[number])], None, report)
                )
            except WorkerGone as gone:
                raise InfiniteRLError(f"of job {number}: {gone}") from None
            for kind, value in answers:
                if kind == "error":
                    raise raised(*value)

        running = {pool.submit(run, number) for number in range(len(jobs))}
        while running:
            done, running = wait(running, _POLL_S)
            failures += filter(None, (job.exception() for job in done))
            if sum(counts) != shown:
                shown = sum(counts)
                on_count(shown)
            if failures or stop.is_set():
                for worker in workers:
                    worker.stop()
    if failures and not stop.is_set():
        raise failures[0]
