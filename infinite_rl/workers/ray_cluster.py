"""A connection to a Ray cluster, a pool of its actors, and an actor that hosts an object."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from ..errors import InfiniteRLError, UsageError, import_extra

_POLL_S = 1.0  # between two looks at the actors
_RESTARTS = 20  # of one actor: each may lose the calls in flight


@contextmanager
def connected(address: str | None, cpus: int = 0) -> Iterator[Any]:
    """Connect Ray to a cluster, or start one, and undo that after the block.

    A cluster that is started has as many CPUs as this machine, or `cpus` if that is more.

    Raises:
        UsageError: Ray is not installed, or no cluster answers at the address.
    """
    ray = import_extra("ray", "the engine ray needs", "ray")
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    new = {"include_dashboard": False, "num_cpus": max(cpus, os.cpu_count() or 1)}
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        _check_address(address)
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            **(new if address == "local" else {}),
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"no Ray cluster at {address}: {error}") from None
    try:
        _restore(handlers)  # Ray has installed handlers that exit at once
        yield ray
    finally:
        ray.shutdown()
        _restore(handlers)  # and now the default ones


def _restore(handlers: Mapping[signal.Signals, Any]) -> None:
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _check_address(address: str) -> None:
    """Raise OSError if nothing answers at HOST:PORT; Ray itself would retry for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


class ActorPool:
    """Ray actors of one class, one per job, at most `size` at a time.

    The class has the methods `run(job)`, `progress()` and `stop()`. An actor that dies is restarted
    elsewhere, and its job runs again.
    """

    def __init__(self, ray: Any, actor_class: type, size: int) -> None:
        self._ray, self.size, self._stopped = ray, size, False
        self._actor = ray.remote(actor_class).options(
            num_cpus=1,
            max_concurrency=4,  # parallel calls of its methods
            max_restarts=_RESTARTS,
            max_task_retries=-1,
            scheduling_strategy="SPREAD",
        )

    def stop(self) -> None:
        """Start no more jobs, and call `stop` of the running actors."""
        self._stopped = True

    def run(self, jobs: Mapping[int, Any]) -> Iterator[tuple[dict[int, Any], dict[int, Any]]]:
        """Yield about every second the new results and the running jobs' progress, by number.

        The result of a job whose actors died is the RayError.
        """
        waiting = deque(jobs.items())
        running: dict[Any, tuple[int, Any]] = {}
        while running or (waiting and not self._stopped):
            while waiting and len(running) < self.size and not self._stopped:
                number, job = waiting.popleft()
                actor = self._actor.remote()
                running[actor.run.remote(job)] = number, actor
            done, _ = self._ray.wait(list(running), timeout=_POLL_S)
            results: dict[int, Any] = {}
            for call in done:
                number, actor = running.pop(call)
                results[number] = self._result(call)
                self._ray.kill(actor)
            if self._stopped:
                for _, actor in running.values():
                    actor.stop.remote()
            yield results, self._progress(running)

    def _result(self, call: Any) -> Any:
        try:
            return self._ray.get(call)
        except self._ray.exceptions.RayError as error:
            return error

    def _progress(self, running: Mapping[Any, tuple[int, Any]]) -> dict[int, Any]:
        """Return the progress of the actors that answer before the next poll."""
        calls = {
            actor.progress.options(max_task_retries=0).remote(): number
            for number, actor in running.values()
        }
        if not calls:
            return {}
        done, _ = self._ray.wait(list(calls), num_returns=len(calls), timeout=_POLL_S)
        answers = {calls[call]: self._result(call) for call in done}
        lost = (Exception, type(None))
        return {number: each for number, each in answers.items() if not isinstance(each, lost)}


@dataclass(frozen=True)
class Reply:
    """The result of a call in an actor: a value or an error, and the warnings logged meanwhile.

    Errors of this package travel as text: not all of them can be pickled, and the caller shows one
    line.
    """

    value: Any = None
    error: str | None = None
    is_usage_error: bool = False
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, call: Callable[[], Any]) -> Reply:
        """The reply of a call; errors that are not of this package are raised."""
        try:
            return cls(call())
        except InfiniteRLError as error:
            return cls(error=str(error), is_usage_error=isinstance(error, UsageError))

    def result(self) -> Any:
        """The value. Raises UsageError or InfiniteRLError as the call did."""
        if self.error is None:
            return self.value
        raise (UsageError if self.is_usage_error else InfiniteRLError)(self.error)


class HostedActor:
    """Runs in an actor: creates an object there and calls its methods by name.

    Warnings of this package go back with each reply, as Ray's log files are not read.
    """

    def __init__(self) -> None:
        self._warnings = _Warnings()
        logging.getLogger("infinite_rl").addHandler(self._warnings)
        self.hosted: Any = None

    def location(self) -> dict[str, Any]:
        """The process, its host and GPUs; the first answer shows that the cluster had room."""
        ray: Any = import_module("ray")
        gpus = [str(each) for each in ray.get_gpu_ids()]
        return {"pid": os.getpid(), "host": ray.util.get_node_ip_address(), "gpus": gpus}

    def create(self, make: Callable[..., Any], *args: Any) -> Reply:
        """Create the hosted object."""

        def created() -> None:
            self.hosted = make(*args)

        return self.reply_of(created)

    def call(self, method: str, *args: Any) -> Reply:
        """Call a method of the hosted object."""
        return self.reply_of(lambda: getattr(self.hosted, method)(*args))

    def reply_of(self, function: Callable[[], Any]) -> Reply:
        """The reply of a call with the warnings; other errors than this package's are raised."""
        return replace(Reply.of(function), warnings=self._warnings.pop_all())


class _Warnings(logging.Handler):
    """Collects warnings until the next reply."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())

    def pop_all(self) -> list[str]:
        messages, self._messages = self._messages, []
        return messages
