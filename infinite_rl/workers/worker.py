"""One worker process: its start, its work, and the messages between it and its parent.

Both ends of a socket pair send frames: eight bytes of length, then JSON. The parent sends
`[number, work, [job, ...], is_long, apart, wait_s]`, where `work` names a function as
"module:function" that maps one JSON value to another. `apart` has the keys that lead to each long
text of the jobs, which follows in a separate frame, as UTF-8. The worker answers in order with
`[number, [answer, ...]]`, in several frames if the jobs take long; an answer is `["ok", value]`, or
`["error", [class, message, attributes]]` for an exception. A long job is `function(job, stop,
report)`: `report(count)` sends `["count", count]`, and a frame `"stop"` of the parent sets the
event `stop`.

A worker always reads its socket, and ends when its parent does, however that ends. Inside a long
operation of the interpreter it reads nothing: the system's alarm ends it there, soon after
`wait_s` seconds, at which its parent would have killed it.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeAlias

from .. import errors
from ..errors import InfiniteRLError, SandboxError

_ROOT = str(Path(__file__).resolve().parents[2])  # the folder that contains this package
_LENGTH = struct.Struct(">Q")
_TOGETHER_S = 0.05  # for which answers are collected: a frame wakes up both sides
_START_S = 120.0
_ORPHAN_S = 3.0  # by which a job may exceed its limit in a worker whose parent has ended
_LONG = 1_000_000  # characters of a text from which on it is not sent as JSON
_DEPTH = 2  # keys that lead to such a text, at most
_STOP = b'"stop"'

# Isolated: neither the working directory nor the environment extends the import path.
_BOOT = (
    "import sys; sys.path[:] = sys.argv[1:]; from infinite_rl.workers.worker import serve; serve()"
)


class NoWorkers(Exception):
    """Worker processes cannot start here; the message says why."""


class WorkerGone(Exception):
    """The worker died or hung before it had sent all answers."""


# --- jobs ----------------------------------------------------------------------------------------


_Apart: TypeAlias = list[tuple[tuple[str | int, ...], str]]


class Message(NamedTuple):
    """A job as JSON, with None in place of each long text; those texts, and the keys to each.

    JSON escapes a text character by character: it takes ten times as long as to copy it.
    """

    text: str
    apart: _Apart

    def __len__(self) -> int:
        return len(self.text) + sum(len(text) for _, text in self.apart)


def message_of(job: Any) -> Message:
    """Return the message that stands for a JSON value."""
    apart: _Apart = []
    return Message(json.dumps(_shortened(job, apart)), apart)


def _shortened(value: Any, apart: _Apart, *keys: str | int) -> Any:
    # No inner function of `message_of`: one that calls itself would hold the texts until the
    # garbage collector runs.
    if isinstance(value, str) and len(value) > _LONG:
        apart.append((keys, value))
        return None
    if len(keys) < _DEPTH and isinstance(value, dict):
        return {
            key: _shortened(each, apart, *keys, key) if isinstance(key, str) else each
            for key, each in value.items()
        }
    if len(keys) < _DEPTH and isinstance(value, list | tuple):
        return [_shortened(each, apart, *keys, index) for index, each in enumerate(value)]
    return value


def job_of(message: Message) -> Any:
    """Return the JSON value that a message stands for."""
    jobs = [json.loads(message.text)]
    for keys, text in message.apart:
        _put(jobs, [0, *keys], text)
    return jobs[0]


def _put(jobs: list[Any], keys: Sequence[Any], text: str) -> None:
    """Put a long text where it was in the jobs."""
    owner: Any = jobs
    for key in keys[:-1]:
        owner = owner[key]
    owner[keys[-1]] = text


# --- the parent's end ----------------------------------------------------------------------------


class Worker:
    """The parent's end of a worker process. One thread at a time may use it.

    Raises `NoWorkers` if it cannot start.
    """

    def __init__(self) -> None:
        if not sys.executable:
            raise NoWorkers("the path of the Python interpreter is unknown")
        command = [sys.executable, "-I", "-c", _BOOT, *import_path()]
        ours, theirs = socket.socketpair()
        try:
            # In its own session: Ctrl-C is for the parent. The child inherits only the socket.
            self._process = subprocess.Popen(
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, start_new_session=True
            )
        except OSError as error:
            ours.close()
            raise NoWorkers(str(error)) from error
        finally:
            theirs.close()
        self._socket = ours
        self._number = 0
        try:
            root = self._receive(_START_S)
        except WorkerGone as gone:
            raise NoWorkers(f"a worker did not start: {gone}") from gone
        if root != _ROOT:  # another version of the package
            self.kill()
            raise NoWorkers(f"a worker imported another infinite_rl, from {root}")

    @property
    def pid(self) -> int:
        """The process id."""
        return int(self._process.pid)

    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def answers(
        self,
        work: str,
        jobs: Iterable[Message],
        wait_s: float | None,
        on_count: Callable[[int], None] | None = None,
    ) -> Iterator[Any]:
        """Send jobs, and yield the answers in order.

        With `on_count`, which gets what they report, they are long jobs. Raises `WorkerGone` if the
        worker dies, or if the next answers take longer than `wait_s`. The process has then ended.
        """
        jobs, self._number = list(jobs), self._number + 1
        left, is_long = len(jobs), json.dumps(on_count is not None)
        try:
            texts = ",".join(job.text for job in jobs)
            apart = [(index, *keys) for index, job in enumerate(jobs) for keys, _ in job.apart]
            head = f"[{self._number},{json.dumps(work)},[{texts}],{is_long},{json.dumps(apart)},"
            head += f"{json.dumps(wait_s)}]"
            self._send(head.encode("ascii"), wait_s)
            for text in (text for job in jobs for _, text in job.apart):
                self._send(text.encode("utf-8", "surrogatepass"), wait_s)
            while left:
                number, answers = self._receive(wait_s)
                if on_count and number == "count":
                    on_count(answers)
                    continue
                if number != self._number or len(answers) > left:
                    raise WorkerGone("the worker process answered another request")
                left -= len(answers)
                yield from answers
        finally:
            if left:  # its late answers must not be read as those of other jobs
                self.close()

    def stop(self) -> None:
        """Set the event `stop` of a long job. From any thread."""
        with suppress(OSError):
            _send(self._socket, _STOP)

    def kill(self) -> None:
        """Kill the process, which holds no state. From any thread."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Kill the process, and close the socket."""
        self.kill()
        self._socket.close()

    def forget(self) -> None:
        """In a forked child: close the copies, and leave the parent's worker alone."""
        self._socket.close()
        self._process.returncode = 0  # else Popen would wait for it, or warn that it runs

    def _send(self, data: bytes, wait_s: float | None) -> None:
        self._socket.settimeout(wait_s)
        try:
            _send(self._socket, data)
        except OSError as error:  # a TimeoutError is one
            raise self._worker_gone(error) from error

    def _receive(self, wait_s: float | None) -> Any:
        deadline = None if wait_s is None else time.monotonic() + wait_s
        try:
            return json.loads(_receive(self._socket, deadline))
        except (OSError, EOFError) as error:
            raise self._worker_gone(error) from error

    def _worker_gone(self, error: Exception) -> WorkerGone:
        hung = isinstance(error, TimeoutError)
        if not hung:  # let a dying process report its exit code
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
    """The import path of this process with absolute paths, then the folder of this package.

    A worker must import the same modules, also if an import hook found this package.
    """
    return [os.path.abspath(path) for path in sys.path if isinstance(path, str)] + [_ROOT]


# --- frames --------------------------------------------------------------------------------------


def _send(channel: socket.socket, data: bytes) -> None:
    """Send a frame. The length and long data are not joined: a copy would be one too many."""
    length = _LENGTH.pack(len(data))
    for piece in (length, data) if len(data) > _LONG else [length + data]:
        channel.sendall(piece)


def _receive(channel: socket.socket, deadline: float | None = None) -> bytearray:
    """The next frame. Raises EOFError at the end, TimeoutError at the deadline, other OSErrors."""
    (length,) = _LENGTH.unpack(_exactly(channel, _LENGTH.size, deadline))
    return _exactly(channel, length, deadline)


def _exactly(channel: socket.socket, count: int, deadline: float | None) -> bytearray:
    data = bytearray(count)
    view, filled = memoryview(data), 0
    while filled < count:
        if deadline is not None:  # never 0, which would make the socket non-blocking
            channel.settimeout(max(0.01, deadline - time.monotonic()))
        got = channel.recv_into(view[filled:])
        if not got:
            raise EOFError
        filled += got
    return data


# --- the worker's end ----------------------------------------------------------------------------


def serve() -> None:
    """Run a worker, whose standard input is the parent's socket, until the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the end, without a line of Python
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    inbox, stop = SimpleQueue[bytearray](), threading.Event()
    threading.Thread(target=_listen, args=(channel, inbox, stop), daemon=True).start()
    try:
        _send(channel, json.dumps(_ROOT).encode())
        while True:
            number, work, jobs, is_long, apart, wait_s = json.loads(inbox.get())
            for keys in apart:
                _put(jobs, keys, inbox.get().decode("utf-8", "surrogatepass"))
            _answer_all(channel, stop, number, work, jobs, is_long, wait_s)
    except OSError:  # the parent has closed the socket
        os._exit(0)


def _listen(channel: socket.socket, inbox: SimpleQueue[bytearray], stop: threading.Event) -> None:
    try:
        while True:
            message = _receive(channel)
            if message == _STOP:
                stop.set()
            else:
                inbox.put(message)
    except (OSError, EOFError):
        os._exit(0)  # also while a job runs: its answer has no reader


def _answer_all(
    channel: socket.socket,
    stop: threading.Event,
    number: int,
    work: str,
    jobs: list[Any],
    is_long: bool,
    wait_s: float | None,
) -> None:
    answers: list[str] = []
    sent_at = time.monotonic()
    more: tuple[Any, ...] = ()
    if is_long:
        os.dup2(2, 1)  # the output of its libraries
        more = stop, lambda count: _send(channel, json.dumps(["count", count]).encode())
    for left, job in enumerate(jobs, start=1 - len(jobs)):
        signal.setitimer(signal.ITIMER_REAL, wait_s + _ORPHAN_S if wait_s else 0.0)
        answers.append(answer_to(work, job, *more))
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        if left == 0 or time.monotonic() - sent_at > _TOGETHER_S:
            _send(channel, f"[{number},[{','.join(answers)}]]".encode())
            answers, sent_at = [], time.monotonic()


def answer_to(work: str, *job: Any) -> str:
    """The answer to one job, as JSON text."""
    try:
        return json.dumps(["ok", resolve_name(work)(*job)])
    except InfiniteRLError as error:
        return json.dumps(["error", sent(error)])
    except Exception as error:  # a bug of ours, which the parent reports
        return json.dumps(["error", sent(SandboxError(f"{type(error).__name__}: {error}"))])


def sent(error: InfiniteRLError) -> tuple[str, str, dict[str, Any]]:
    """An error as JSON values, the arguments of `raised`."""
    fields = {
        name: value
        for name, value in vars(error).items()
        if isinstance(value, str | int | float | tuple | None)
    }
    return type(error).__name__, str(error), fields


def raised(name: str, message: str, fields: Mapping[str, Any]) -> InfiniteRLError:
    """An error of that class in `errors.py`, with that message and these attributes."""
    kind: type[InfiniteRLError] = getattr(errors, name, SandboxError)
    error = kind.__new__(kind, message)
    vars(error).update(fields)
    return error
