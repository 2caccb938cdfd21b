"""One worker process: how it is started, what it does, and what passes between it and its parent.

Both ends of a socket pair speak frames: eight bytes of length, then JSON. The parent sends
`[turn, work, [job, ...]]`, where `work` names a function as "module:function" that takes one job, a
JSON value, and returns another. The worker answers in order with `[turn, [answer, ...]]`, several
frames where that takes long; an answer is `["ok", value]`, or `["error", [class, message]]` for
what the function raised.

A worker reads its socket at all times, and ends when its parent has gone, however that happened.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from pkgutil import resolve_name
from queue import SimpleQueue
from typing import Any

from .. import errors
from ..errors import InfiniteRLError, SandboxError

_ROOT = str(Path(__file__).resolve().parents[2])  # the folder in which this package lies
_LENGTH = struct.Struct(">Q")
_TOGETHER_S = 0.05  # answers wait for each other so long: a frame costs both sides a wake-up
_START_S = 120.0

# Isolated, so that neither the working directory nor the environment adds a place to import from.
_BOOT = (
    "import sys; sys.path[:] = sys.argv[1:]; from infinite_rl.workers.worker import serve; serve()"
)


class NoWorkers(Exception):
    """Worker processes cannot be had here; the message says why."""


class WorkerGone(Exception):
    """The worker died or hung before it had answered everything."""


# --- the parent's end ----------------------------------------------------------------------------


class Worker:
    """A worker process, seen from its parent. One thread at a time may use it.

    Raises `NoWorkers` where it cannot be started.
    """

    def __init__(self) -> None:
        if not sys.executable:
            raise NoWorkers("it is not known which program Python is")
        command = [sys.executable, "-I", "-c", _BOOT, *import_path()]
        ours, theirs = socket.socketpair()
        try:
            # A session of its own: Ctrl-C is for the parent. No file but the socket is passed on.
            self._process = subprocess.Popen(
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, start_new_session=True
            )
        except OSError as error:
            ours.close()
            raise NoWorkers(str(error)) from error
        finally:
            theirs.close()
        self._socket = ours
        self._turn = 0
        try:
            root = self._receive(_START_S)
        except WorkerGone as gone:
            raise NoWorkers(f"a worker did not start: {gone}") from gone
        if root != _ROOT:  # it would judge by other rules
            self.kill()
            raise NoWorkers(f"a worker found another infinite_rl, in {root}")

    @property
    def pid(self) -> int:
        """The number of the process."""
        return int(self._process.pid)

    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def answers(self, work: str, jobs: Sequence[str], wait_s: float) -> Iterator[Any]:
        """Have `work` done on `jobs`, each as JSON text, and yield the answers in order.

        Raises `WorkerGone` when the worker dies, or lets us wait longer than `wait_s` for the next
        answers. The process is then no more.
        """
        self._turn += 1
        left = len(jobs)
        try:
            self._send(f"[{self._turn},{json.dumps(work)},[{','.join(jobs)}]]", wait_s)
            while left:
                turn, answers = self._receive(wait_s)
                if turn != self._turn or len(answers) > left:
                    raise WorkerGone("the worker process answered what it was not asked")
                left -= len(answers)
                yield from answers
        finally:
            if left:  # what it has yet to say must not be taken for another's answer
                self.close()

    def kill(self) -> None:
        """End the process at once. It holds nothing that would be lost. From any thread."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Kill it, and give back what it took here."""
        self.kill()
        self._socket.close()

    def forget(self) -> None:
        """In a forked child: it is the parent's worker. Leave it alone, and drop our copies."""
        self._socket.close()
        self._process.returncode = 0  # nobody here may wait for it, or complain that it runs

    def _send(self, text: str, wait_s: float) -> None:
        self._socket.settimeout(wait_s)
        try:
            _send(self._socket, text)
        except OSError as error:  # a TimeoutError is one
            raise self._gone(error) from error

    def _receive(self, wait_s: float) -> Any:
        deadline = time.monotonic() + wait_s
        try:
            return json.loads(_receive(self._socket, deadline))
        except (OSError, EOFError) as error:
            raise self._gone(error) from error

    def _gone(self, error: Exception) -> WorkerGone:
        hung = isinstance(error, TimeoutError)
        if not hung:  # give a process that is dying the time to say of what
            try:
                self._process.wait(1)
            except subprocess.TimeoutExpired:
                hung = True
        self.close()
        if hung:
            return WorkerGone("the worker process hung and was killed")
        code = self._process.returncode
        ending = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return WorkerGone(f"the worker process {ending}")


def import_path() -> list[str]:
    """Where this process imports from, and last where this package lies, however it was found.

    A worker must find the same modules. Relative places are made absolute, for they are relative to
    what the working directory was.
    """
    return [os.path.abspath(place) for place in sys.path if isinstance(place, str)] + [_ROOT]


# --- frames --------------------------------------------------------------------------------------


def _send(channel: socket.socket, text: str) -> None:
    data = text.encode("ascii")  # json.dumps escapes everything else, lone surrogates too
    channel.sendall(_LENGTH.pack(len(data)) + data)


def _receive(channel: socket.socket, deadline: float | None = None) -> bytes:
    """The next frame. Raises EOFError at the end, TimeoutError at the deadline, other OSErrors."""
    (length,) = _LENGTH.unpack(_exactly(channel, _LENGTH.size, deadline))
    return _exactly(channel, length, deadline)


def _exactly(channel: socket.socket, count: int, deadline: float | None) -> bytes:
    data = bytearray(count)
    view, filled = memoryview(data), 0
    while filled < count:
        if deadline is not None:  # never 0, which would mean not to wait for what is there
            channel.settimeout(max(0.01, deadline - time.monotonic()))
        got = channel.recv_into(view[filled:])
        if not got:
            raise EOFError
        filled += got
    return bytes(data)


# --- the worker's end ----------------------------------------------------------------------------


def serve() -> None:
    """Be a worker, with the parent on standard input, until the parent has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    inbox: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_labour, args=(channel, inbox), daemon=True).start()
    try:
        while True:
            inbox.put(_receive(channel))
    except (OSError, EOFError):
        os._exit(0)  # also while a program runs: nobody is left to hear of it


def _labour(channel: socket.socket, inbox: SimpleQueue[bytes]) -> None:
    try:
        _send(channel, json.dumps(_ROOT))
        while True:
            _work_through(channel, *json.loads(inbox.get()))
    except OSError:  # the parent does not listen any more
        os._exit(0)
    finally:
        os._exit(1)  # a process that does not work must not look as if it did


def _work_through(channel: socket.socket, turn: int, work: str, jobs: list[Any]) -> None:
    answers: list[str] = []
    told_at = time.monotonic()
    for left, job in enumerate(jobs, start=1 - len(jobs)):
        answers.append(answer_to(work, job))
        if left == 0 or time.monotonic() - told_at > _TOGETHER_S:
            _send(channel, f"[{turn},[{','.join(answers)}]]")
            answers, told_at = [], time.monotonic()


def answer_to(work: str, job: Any) -> str:
    """What a worker answers to one job, as JSON text."""
    try:
        return json.dumps(["ok", resolve_name(work)(job)])
    except InfiniteRLError as error:
        return json.dumps(["error", [type(error).__name__, str(error)]])
    except Exception as error:  # a fault of ours; it is the parent that must hear of it
        return json.dumps(["error", [SandboxError.__name__, f"{type(error).__name__}: {error}"]])


def raised(name: str, message: str) -> InfiniteRLError:
    """The error of that class in `errors.py`, with that message."""
    kind: type[InfiniteRLError] = getattr(errors, name, SandboxError)
    return kind.__new__(kind, message)
