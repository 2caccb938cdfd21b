"""Long jobs, each in a process of its own that reports progress and stops on request.

    run_in_processes("package.module:function", jobs, stop, on_count)

A process reads its job from standard input, and ends when that is closed: none outlives its
parent. It reports counts and errors in JSON lines. The output of libraries goes to standard error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pkgutil import resolve_name
from queue import SimpleQueue
from typing import IO, Any

from ..errors import InfiniteRLError
from .interruptible import interruptible_get
from .worker import import_path, raised

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from infinite_rl.workers.processes import serve; serve()"
)


def run_in_processes(
    work: str, jobs: Sequence[Any], stop: threading.Event, on_count: Callable[[int], None]
) -> None:
    """Run `work(job, stop, on_count)` for each of the jobs, all at once.

    `work` is "module:function", jobs are JSON values. `on_count` gets the sum of the latest counts
    of all jobs. When `stop` is set, or a job fails, the `stop` of each job is set.

    Raises:
        InfiniteRLError: the first error of a job, unless `stop` is set.
    """
    messages: SimpleQueue[tuple[int, dict[str, Any]]] = SimpleQueue()
    processes = [_Process({"work": work, "job": job}, n, messages) for n, job in enumerate(jobs)]
    counts, running, failure, stopped = [0] * len(jobs), len(jobs), None, False

    def stop_all() -> None:
        nonlocal stopped
        if not stopped and (failure or stop.is_set()):
            stopped = True
            for process in processes:
                process.send({"stop": True})

    try:
        while running:
            number, message = interruptible_get(messages, stop_all)
            if "count" in message:
                counts[number] = message["count"]
                on_count(sum(counts))
            else:
                running -= 1
                if "error" in message and failure is None:
                    failure = raised(*message["error"])
            stop_all()
    finally:
        for process in processes:
            process.end()
    if failure is not None and not stop.is_set():
        raise failure


class _Process:
    """One process; a thread reads its messages."""

    def __init__(
        self, order: dict[str, Any], number: int, messages: SimpleQueue[tuple[int, dict[str, Any]]]
    ) -> None:
        self._number, self._messages = number, messages
        # In a session of its own: Ctrl-C is for the parent.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, json.dumps(import_path())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.send(order)
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, order: dict[str, Any]) -> None:
        """Send a message; a process that has ended is reported by `_listen`."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(order).encode("ascii") + b"\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Close the pipe that keeps the process alive, and wait for its end."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        ended = False
        for line in self._process.stdout:
            message = json.loads(line)
            ended = ended or "count" not in message
            self._messages.put((self._number, message))
        if not ended:
            error = f"process {self._number} ended with exit code {self._process.wait()}"
            self._messages.put((self._number, {"error": ["InfiniteRLError", error]}))


# --- the process's end ---------------------------------------------------------------------------


def serve() -> None:
    """Do one job, as standard input says."""
    channel = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # the output of libraries is no message
    order, stop = json.loads(sys.stdin.readline()), threading.Event()
    threading.Thread(target=_obey, args=(sys.stdin, stop), daemon=True).start()

    def send(message: dict[str, Any]) -> None:
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    try:
        resolve_name(order["work"])(order["job"], stop, lambda count: send({"count": count}))
    except InfiniteRLError as error:
        send({"error": [type(error).__name__, str(error)]})
    else:
        send({"done": True})


def _obey(orders: IO[str], stop: threading.Event) -> None:
    """Stop at a message; end at once when the parent is gone."""
    for _ in orders:
        stop.set()
    os._exit(1)
