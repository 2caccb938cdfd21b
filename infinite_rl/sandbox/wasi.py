"""The system of a compiled program: WASI's first preview, with standard streams, a clock and files.

The files are in memory and read-only, in one folder, but for one that a compiler writes. A request
for anything else is answered with an error, so nothing of the host is reachable.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping
from mmap import mmap
from typing import Any, Protocol

from .instance import HostFunction, OutOfBounds
from .runtimes import Limits, RunClock

_OK, _BAD_FD, _INVALID, _NO_ENTRY, _NOT_OFFERED, _NOT_SEEKABLE, _DENIED = 0, 8, 28, 44, 52, 70, 76
_DIRECTORY, _REGULAR = 3, 4  # file types
_FOLDER_FD = 3
_MAX_RANDOM, _MAX_PIECES = 65536, 1024
_MOST_PRODUCED = 32 * 2**20
_ALL_RIGHTS = 2**64 - 1


class Stopped(Exception):
    """The program ends here: it left, or it printed too much."""

    def __init__(self, code: int, is_output: bool = False) -> None:
        super().__init__(code)
        self.code, self.is_output = code, is_output


class Memory(Protocol):
    """The memory and the fuel of a program's instance."""

    def read(self, address: int, size: int) -> bytes: ...
    def write(self, address: int, data: bytes) -> None: ...
    def fuel_used(self) -> int: ...


class OpenFile(Protocol):
    """Bytes, and the place of the next one."""

    at: int

    @property
    def data(self) -> bytes | bytearray | mmap: ...


class _File:
    """An open file, or standard input."""

    def __init__(self, data: bytes | bytearray) -> None:
        self.data, self.at = data, 0


class System:
    """What one program sees of a system. The `on_` methods are WASI's functions.

    `output` names the file that it may write; what it wrote there is in `produced`.
    """

    memory: Memory

    def __init__(
        self,
        stdin: bytes,
        limits: Limits,
        arguments: tuple[str, ...] = ("program",),
        files: Mapping[str, bytes] | None = None,
        output: str = "",
    ) -> None:
        self._arguments = [each.encode() + b"\0" for each in arguments]
        self._files = dict(files or {})
        self._open: dict[int, _File] = {0: _File(stdin)}
        self._folders = {_FOLDER_FD: b"/"} if files else {}
        self._next = _FOLDER_FD + 1
        self._limits, self._room = limits, limits.output_chars
        self.written: dict[int, list[bytes]] = {1: [], 2: []}
        self._output, self.produced = output, bytearray()
        self._random = random.Random(limits.seed) if limits.seed is not None else None
        self._system_random = random.SystemRandom()
        self._clock = RunClock(limits)

    def text(self, number: int) -> str:
        """Return what was written to stream 1 or 2."""
        return b"".join(self.written[number]).decode("utf-8", "replace")

    # --- arguments, time, chance ------------------------------------------------------------------

    def on_args_sizes_get(self, count: int, size: int) -> int:
        return self._counts(count, len(self._arguments), size, sum(map(len, self._arguments)))

    def on_args_get(self, pointers: int, texts: int) -> int:
        for number, text in enumerate(self._arguments):
            self.memory.write(pointers + 4 * number, struct.pack("<I", texts & 0xFFFFFFFF))
            self.memory.write(texts, text)
            texts += len(text)
        return _OK

    def on_environ_sizes_get(self, count: int, size: int) -> int:
        return self._counts(count, 0, size, 0)

    def on_environ_get(self, _pointers: int, _texts: int) -> int:
        return _OK

    def on_clock_res_get(self, _clock: int, result: int) -> int:
        self.memory.write(result, struct.pack("<Q", 1000))
        return _OK

    def on_clock_time_get(self, clock: int, _precision: int, result: int) -> int:
        passed = self._clock.passed_ns(self.memory.fuel_used())
        start = self._clock.began_ns if clock == 0 else 1
        self.memory.write(result, struct.pack("<Q", passed + start))
        return _OK

    def on_random_get(self, address: int, size: int) -> int:
        if not 0 <= size <= _MAX_RANDOM:
            return _INVALID
        self.memory.write(address, (self._random or self._system_random).randbytes(size))
        return _OK

    def on_sched_yield(self) -> int:
        return _OK

    def on_proc_exit(self, code: int) -> None:
        raise Stopped(code & 0xFF)

    # --- streams and files ------------------------------------------------------------------------

    def on_fd_write(self, number: int, pieces: int, count: int, result: int) -> int:
        file = self._open.get(number)
        if number not in self.written and (file is None or file.data is not self.produced):
            return _BAD_FD
        data = b"".join(self._pieces(pieces, count))
        if file is not None:
            return self._produce(file, data) or self._number(result, len(data))
        if len(data) > self._room:
            self.written[number].append(data[: self._room])
            raise Stopped(0, is_output=True)
        self._room -= len(data)
        self.written[number].append(data)
        return self._number(result, len(data))

    def _produce(self, file: _File, data: bytes) -> int:
        end = file.at + len(data)
        if file.at > len(self.produced) or end > _MOST_PRODUCED:
            return _INVALID
        self.produced[file.at : end] = data
        file.at = end
        return _OK

    def on_fd_read(self, number: int, pieces: int, count: int, result: int) -> int:
        file = self._readable(number)
        if file is None:
            return _BAD_FD
        total = self._fill(file.data, file.at, pieces, count)
        file.at += total
        return self._number(result, total)

    def _readable(self, number: int) -> OpenFile | None:
        """The open file of this number; None if there is none, or it is a folder."""
        return self._open.get(number)

    def _fill(self, data: bytes | bytearray | mmap, start: int, pieces: int, count: int) -> int:
        """Write data from a place on into pieces of the memory; return how many bytes."""
        at = start
        for address, size in self._vectors(pieces, count):
            part = bytes(data[at : at + size])
            self.memory.write(address, part)
            at += len(part)
            if len(part) < size:
                break
        return at - start

    def on_fd_seek(self, number: int, offset: int, whence: int, result: int) -> int:
        file = self._readable(number)
        if file is None or number == 0:
            return _NOT_SEEKABLE if number in (0, 1, 2) else _BAD_FD
        starts = {0: 0, 1: file.at, 2: len(file.data)}
        if whence not in starts or not 0 <= (at := starts[whence] + offset) < 2**62:
            return _INVALID
        file.at = at
        self.memory.write(result, struct.pack("<Q", at))
        return _OK

    def on_fd_tell(self, number: int, result: int) -> int:
        return self.on_fd_seek(number, 0, 1, result)

    def on_fd_close(self, number: int) -> int:
        if number not in (1, 2) and self._open.pop(number, None) is None:
            return _BAD_FD
        return _OK

    def on_fd_fdstat_get(self, number: int, result: int) -> int:
        if number not in self._open and number not in (1, 2, _FOLDER_FD):
            return _BAD_FD
        kind = _DIRECTORY if number == _FOLDER_FD else _REGULAR
        self.memory.write(result, struct.pack("<BxHxxxxQQ", kind, 0, _ALL_RIGHTS, _ALL_RIGHTS))
        return _OK

    def on_fd_fdstat_set_flags(self, _number: int, _flags: int) -> int:
        return _OK

    def on_fd_filestat_get(self, number: int, result: int) -> int:
        file = self._open.get(number)
        if file is None and number not in (1, 2, _FOLDER_FD):
            return _BAD_FD
        size = len(file.data) if file else 0
        kind = _DIRECTORY if number == _FOLDER_FD else _REGULAR
        self.memory.write(result, struct.pack("<QQB7xQQQQQ", 0, 0, kind, 1, size, 0, 0, 0))
        return _OK

    def on_fd_prestat_get(self, number: int, result: int) -> int:
        if number not in self._folders:
            return _BAD_FD
        self.memory.write(result, struct.pack("<II", 0, len(self._folders[number])))
        return _OK

    def on_fd_prestat_dir_name(self, number: int, address: int, size: int) -> int:
        if number not in self._folders or size < len(self._folders[number]):
            return _INVALID
        self.memory.write(address, self._folders[number])
        return _OK

    def on_path_open(
        self,
        folder: int,
        _lookup: int,
        address: int,
        size: int,
        flags: int,
        _rights: int,
        _inherited: int,
        _fd_flags: int,
        result: int,
    ) -> int:
        name = self.memory.read(address, size).decode("utf-8", "replace").removeprefix("./")
        writes = flags != 0 and name == self._output != ""
        if folder != _FOLDER_FD or not (writes or name in self._files) or (flags and not writes):
            return _DENIED if flags else _NO_ENTRY
        if len(self._open) >= _MAX_PIECES:
            return _DENIED
        number, self._next = self._next, self._next + 1
        self._open[number] = _File(self.produced if writes else self._files[name])
        return self._number(result, number)

    # --- the memory -------------------------------------------------------------------------------

    def _vectors(self, address: int, count: int) -> list[tuple[int, int]]:
        if not 0 <= count <= _MAX_PIECES:
            raise OutOfBounds(f"{count} pieces")
        return list(struct.iter_unpack("<II", self.memory.read(address, 8 * count)))

    def _pieces(self, address: int, count: int) -> list[bytes]:
        return [self.memory.read(at, size) for at, size in self._vectors(address, count)]

    def _number(self, address: int, value: int) -> int:
        self.memory.write(address, struct.pack("<I", value))
        return _OK

    def _counts(self, at: int, count: int, other: int, size: int) -> int:
        self._number(at, count)
        return self._number(other, size)


def host_function(_interface: str, name: str) -> HostFunction:
    """Return the host's function for an import of a module; what is not offered says so."""

    def refuse(_host: Any, *_values: float) -> int:
        return _NOT_OFFERED

    function: HostFunction = getattr(System, f"on_{name}", refuse)
    return function
