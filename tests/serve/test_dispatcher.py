"""The queue and its workers, real ones: bounds, fairness, deaths, deadlines; every job ends."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from probe_reward import row

from infinite_rl.serve.config import ServeConfig
from infinite_rl.serve.dispatcher import TOO_LATE, Dispatcher, QueueFull, Result, Ticket
from infinite_rl.serve.protocols import PROTOCOLS, Context

pytestmark = pytest.mark.slow  # each test starts worker processes
PATHS = {"probe": "probe_reward:ProbeReward"}
CONTEXT = Context(ServeConfig(), PATHS)


def jobs(*texts: str) -> list[Any]:
    body = {"rows": [row()] * len(texts), "completions": list(texts)}
    return PROTOCOLS["/score"].jobs(body, CONTEXT)


class Judge:
    """A dispatcher whose requests are waited for."""

    def __init__(self, count: int, queue: int, worker_mb: int) -> None:
        self.replaced: list[str] = []
        self.dispatcher = Dispatcher(
            count,
            queue,
            CONTEXT.warm_up,
            worker_mb * 2**20,
            self.replaced.append,
        )

    def send(self, *texts: str, client: str = "one", seconds: float = 60) -> Ticket:
        done = threading.Event()
        ticket = self.dispatcher.submit(
            client, "probe", jobs(*texts), time.monotonic() + seconds, done.set
        )
        ticket.done = done  # type: ignore[attr-defined]
        return ticket

    def results(self, ticket: Ticket) -> list[Result]:
        assert ticket.done.wait(60)  # type: ignore[attr-defined]
        return [result for result in ticket.results if result]

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers that are ready."""
        workers = list(self.dispatcher._workers.values())
        return [worker.pid for worker in workers if worker.alive()]

    def statuses(self, *texts: str, seconds: float = 60) -> list[str]:
        """The statuses of completions, "lost" where there is none."""
        results = self.results(self.send(*texts, seconds=seconds))
        return ["lost" if each.fault else each.value["status"] for each in results]


@contextmanager
def judge(count: int = 1, queue: int = 1000, worker_mb: int = 1024) -> Iterator[Judge]:
    each = Judge(count, queue, worker_mb)
    try:
        yield each
    finally:
        each.dispatcher.close()


def test_verdicts_come_in_order_and_nothing_stays_open() -> None:
    with judge(2) as here:
        assert here.statuses(*["7", "8"] * 50) == ["passed", "failed"] * 50
        assert here.dispatcher.open == 0 and here.replaced == []


def test_a_deadly_completion_is_lost_alone() -> None:
    with judge() as here:
        texts = ["7"] * 20 + ["die"] + ["8"] * 20
        assert here.statuses(*texts) == ["passed"] * 20 + ["lost"] + ["failed"] * 20
        fault = here.results(here.send("die"))[0].fault
        assert fault == "the worker process was killed by signal 9, 2 times"
        assert set(here.replaced) == {"died"}


def test_a_bug_of_a_reward_is_a_fault_and_not_a_verdict() -> None:
    with judge() as here:
        assert here.statuses("raise", "7") == ["lost", "passed"]
        (result,) = here.results(here.send("raise"))
        assert "ZeroDivisionError: a bug of the reward" in result.fault
        assert here.replaced == []


def test_a_frozen_completion_ends_at_its_deadline_and_its_worker_is_replaced() -> None:
    with judge() as here:
        assert here.statuses("7") == ["passed"]
        (result,) = here.results(here.send("freeze", seconds=0.3))
        assert result.fault.startswith(TOO_LATE)
        assert here.statuses("7") == ["passed"]
        assert here.replaced == ["deadline"]


def test_a_request_that_has_ended_frees_its_worker() -> None:
    with judge() as here:
        assert here.statuses("7") == ["passed"]
        ticket = here.send(*["freeze"] * 3)
        while here.dispatcher._running.get(0) is not ticket:
            pass
        here.dispatcher.end(ticket, "the client has left")
        assert here.dispatcher.open == 0
        assert [each.fault for each in here.results(ticket)] == ["the client has left"] * 3
        assert here.statuses("7") == ["passed"], "a minute before the deadline of the other"


def test_a_worker_that_is_stopped_from_outside_is_replaced() -> None:
    with judge() as here:
        assert here.statuses("7") == ["passed"]
        os.kill(here.pids[0], signal.SIGSTOP)
        assert here.statuses("7", seconds=0.3) == ["lost"]
        assert here.statuses("7") == ["passed"]


def test_a_worker_that_is_killed_while_idle_is_replaced_before_the_next_request() -> None:
    with judge() as here:
        assert here.statuses("7") == ["passed"]
        (pid,) = here.pids
        os.kill(pid, signal.SIGKILL)
        while here.pids in ([], [pid]):
            pass
        assert here.replaced == ["died"] and here.statuses("7") == ["passed"]


def test_a_worker_that_hoards_memory_is_replaced_between_two_jobs() -> None:
    with judge(worker_mb=150) as here:
        assert here.statuses("7") == ["passed"] and here.replaced == []
        assert here.statuses("hoard") == ["failed"]
        assert here.statuses("7") == ["passed"] and here.replaced == ["memory"]


def test_the_queue_is_bounded_and_a_greedy_client_leaves_room_for_others() -> None:
    with judge(queue=100) as here:
        greedy = here.send(*["freeze"] * 50, client="greedy")
        with pytest.raises(QueueFull) as refusal:
            here.send("7", client="greedy")
        assert 1 <= refusal.value.retry_after <= 30
        modest = here.send(*["7"] * 25, client="modest")
        with pytest.raises(QueueFull):
            here.send(*["7"] * 13, client="third")
        here.send(*["7"] * 12, client="third")
        assert here.dispatcher.open == 87
        here.dispatcher.end(greedy, "")
        assert {each.value["status"] for each in here.results(modest)} == {"passed"}
        here.send(*["7"] * 20, client="greedy")


def test_a_client_with_few_jobs_does_not_wait_for_one_with_many() -> None:
    with judge() as here:
        assert here.statuses("7") == ["passed"]
        many = here.send(*["pid"] * 400, client="many")
        few = here.send("7", client="few")
        here.results(few)
        assert many.left > 0
        here.results(many)


def test_what_waits_at_the_announced_end_is_not_judged() -> None:
    with judge() as here:
        assert here.statuses("7") == ["passed"]
        here.dispatcher.stop_at(time.monotonic())
        assert here.dispatcher.is_stopping
        assert here.statuses("7") == ["lost"]


def test_nothing_is_left_when_it_closes() -> None:
    with judge(2) as here:
        assert here.statuses(*["7"] * 4) == ["passed"] * 4
        pids = here.pids
        here.send("freeze")
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    with pytest.raises(QueueFull):
        here.send("7")
