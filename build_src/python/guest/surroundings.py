"""What programs expect around them and WebAssembly lacks: streams, sleep, threads, a loop."""
# ruff: noqa: ARG001, ARG002, ARG005 - the signatures are those of the functions replaced

import asyncio
import builtins
import codecs
import concurrent.futures
import hashlib
import hmac
import io
import os
import stat
import struct
import sys
import time
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_CHUNK = 8192  # bytes printed that make one call to the host
_PROMPT_LINES = 100  # so many writes go out at once; later ones are gathered
_GATHER_S = 0.005
_SLICE = 65536  # characters; so the host can stop a huge text before it is copied whole


class Pipe(io.RawIOBase):
    """The raw end of stdout or stderr.

    A call to the host costs as much as a thousand steps of Python, yet what was printed before a
    program is stopped should not be lost. So the first lines go out at once, the others gathered.
    """

    def __init__(self, fd: int, emit: Callable[[int, str], None]) -> None:
        self._fd, self._emit = fd, emit
        self._pending = bytearray()
        self._writes, self._sent_at = 0, 0.0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._clock = time.time

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def write(self, data: Any) -> int:
        self._pending += data
        self._writes += 1
        if (
            self._writes <= _PROMPT_LINES
            or len(self._pending) >= _CHUNK
            or self._clock() - self._sent_at > _GATHER_S
        ):
            self.send()
        return len(data)

    def send(self, final: bool = False) -> None:
        text = self._decoder.decode(bytes(self._pending), final)
        self._pending.clear()
        self._sent_at = self._clock()
        for start in range(0, len(text), _SLICE):
            self._emit(self._fd, text[start : start + _SLICE])


class _Copy(io.RawIOBase):
    """Another way into a pipe, which a program may close."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._pipe.fileno()

    def write(self, data: Any) -> int:
        return self._pipe.write(data)


class _Input(io.BytesIO):
    """The bytes of stdin."""

    def fileno(self) -> int:
        return 0


def text_stream(raw: io.RawIOBase) -> io.TextIOWrapper:
    buffer = io.BufferedWriter(raw, _CHUNK)
    errors = "backslashreplace" if raw.fileno() == 2 else "strict"
    stream = io.TextIOWrapper(buffer, "utf-8", errors, line_buffering=True)
    stream.mode = "w"
    return stream


_descriptors: dict[int, Any] = {}  # what 0, 1 and 2 stand for in this run


def set_stdin(data: bytes) -> None:
    """Make `data` what `input()`, `sys.stdin`, `open(0)` and `os.read(0, n)` read."""
    _descriptors[0] = _Input(data)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(_descriptors[0], "utf-8")
    sys.stdin.mode = "r"


def set_output(pipes: Sequence[Pipe]) -> None:
    """Make the pipes what `open(1)`, `open(2)` and `os.write` write to."""
    _descriptors.update({pipe.fileno(): pipe for pipe in pipes})


def close() -> None:
    """Forget the streams of a run."""
    _descriptors.clear()


def _stream_or_file(opener: Callable[..., Any], names: Mapping[Any, int]) -> Callable[..., Any]:
    def open(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        number = names.get(file) if type(file) in (int, str) else None
        if number is None:
            return opener(file, mode, *args, **options)
        if number == 0:
            return sys.stdin.buffer if "b" in mode else sys.stdin
        raw = _Copy(_descriptors[number])
        return io.BufferedWriter(raw, _CHUNK) if "b" in mode else text_stream(raw)

    return open


def _read(reader: Callable[..., bytes]) -> Callable[..., bytes]:
    return lambda fd, n, /: _descriptors[0].read(n) if fd == 0 else reader(fd, n)


def _write(writer: Callable[..., int]) -> Callable[..., int]:
    return lambda fd, data, /: _descriptors[fd].write(data) if fd in (1, 2) else writer(fd, data)


def _fstat(status: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
    def fstat(fd: int) -> os.stat_result:
        if fd != 0:
            return status(fd)
        size = _descriptors[0].getbuffer().nbytes
        return os.stat_result((stat.S_IFREG | 0o600, 0, 0, 1, 0, 0, size, 0, 0, 0))

    return fstat


class _NoSelector:
    """Nothing can become readable here: to wait is to sleep."""

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None or timeout > 0:
            time.sleep(3600.0 if timeout is None else timeout)
        return []

    def close(self) -> None:
        pass


class EventLoop(asyncio.BaseEventLoop):
    """An event loop of timers and callbacks, without sockets. Blocking calls run in place."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _NoSelector()

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        return asyncio.wrap_future(_call(func, args, {}), loop=self)


def _call(func: Callable[..., Any], args: Any, options: Any) -> concurrent.futures.Future[Any]:
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    try:
        future.set_result(func(*args, **options))
    except Exception as error:  # it belongs to whoever asks for the result
        future.set_exception(error)
    return future


def pbkdf2_hmac(
    hash_name: str, password: bytes, salt: bytes, iterations: int, dklen: int | None = None
) -> bytes:
    """`hashlib.pbkdf2_hmac` (RFC 8018, 5.2), which Python takes from a C library."""
    if iterations < 1 or (dklen is not None and dklen < 1):
        raise ValueError("iterations and dklen must be at least 1")
    keyed = hmac.new(password, digestmod=hash_name)

    def keyed_hash(message: bytes) -> bytes:
        copy = keyed.copy()
        copy.update(message)
        return copy.digest()

    length = keyed.digest_size if dklen is None else dklen
    key = b""
    while len(key) < length:
        number = len(key) // keyed.digest_size + 1
        step = keyed_hash(salt + number.to_bytes(4, "big"))
        total = int.from_bytes(step, "big")
        for _ in range(iterations - 1):
            step = keyed_hash(step)
            total ^= int.from_bytes(step, "big")
        key += total.to_bytes(keyed.digest_size, "big")
    return key[:length]


# A TZif file (RFC 9636) of version 1: a header that counts one type and the four letters of its
# name, then the type: no offset, no summer time, the name that starts at letter 0.
_UTC_COUNTS = (0, 0, 0, 0, 1, 4)
_UTC_FILE = struct.pack(">4sc15x6LlBB4s", b"TZif", b"\0", *_UTC_COUNTS, 0, 0, 0, b"UTC\0")
_UTC_NAMES = ("UTC", "Etc/UTC", "UCT", "Etc/UCT", "Zulu", "Etc/Zulu", "Universal", "Etc/Universal")


def _load_tzdata(key: str) -> io.BytesIO:
    if key in _UTC_NAMES:
        return io.BytesIO(_UTC_FILE)
    raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")


def _exit(leave: Callable[[int], None]) -> Callable[[int], None]:
    def _exit(status: int) -> None:
        for number in (1, 2):
            _descriptors[number].send()
        leave(status & 0xFF)

    return _exit


def install(leave: Callable[[int], None]) -> None:
    """Put all of this in place; `leave` ends the program outside."""

    time.thread_time, time.thread_time_ns = time.process_time, time.process_time_ns
    hashlib.pbkdf2_hmac = pbkdf2_hmac
    zoneinfo._common.load_tzdata = _load_tzdata
    zoneinfo.reset_tzpath(())  # files are the program's
    names = {0: 0, 1: 1, 2: 2, "/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
    builtins.open = io.open = _stream_or_file(builtins.open, names)
    os._exit = _exit(leave)
    os.read, os.write, os.fstat = _read(os.read), _write(os.write), _fstat(os.fstat)
    asyncio.SelectorEventLoop = asyncio.EventLoop = EventLoop
    asyncio.events._get_event_loop_policy()._loop_factory = EventLoop
