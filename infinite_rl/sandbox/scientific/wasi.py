"""The system of a Python with libraries: WASI's first preview, with files in memory.

It has two folders: the root, which a run's interpreters share (`python/files.py`), and the
runtime's own library, which is read-only. All that this does not answer is refused, so nothing of
the host is reachable.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from mmap import mmap
from typing import Any, Protocol

from ..instance import HostFunction
from ..python.files import (
    MAX_OPEN,
    MAX_PATH,
    FileError,
    Node,
    Tree,
    make_folder,
    named,
    open_node,
    remove_folder,
    rename,
    unlink,
)
from ..runtimes import Limits
from ..wasi import OpenFile, System

_OK, _BAD_FD, _INVALID, _IO, _NOT_OFFERED = 0, 8, 28, 29, 52
_BAD_DESCRIPTOR, _LONG_NAME, _NO_MEMORY, _NOT_PERMITTED = 3, 18, 22, 31  # of `FileError`
# WASI 0.2's codes of errors, which `FileError` has, as those of the first preview.
_CODES = {
    **{3: 8, 7: 20, 9: 25, 12: 28, 14: 31, 18: 37, 20: 44, 22: 48, 23: 51, 24: 54, 25: 55},
    **{27: 58, 31: 63},
}
_FOLDER_KIND, _FILE_KIND = 3, 4
_ROOT, _LIBRARY = 3, 4  # descriptors of the two folders
_FOLDERS = {_ROOT: b"/", _LIBRARY: b"/usr/local/lib"}
ARCHIVE = b"python315.zip"
_WRITING = 1 << 6  # the right to write
_APPENDING = 1  # of the flags of descriptors
_ALL_RIGHTS = 2**64 - 1


Content = bytes | mmap  # `python315.zip` is too large to be copied


class Streams(Protocol):
    """Where the output of an interpreter goes."""

    def emit(self, fd: int, text: str) -> None: ...
    def wall_clock_ns(self) -> int: ...
    def now_ns(self) -> int: ...
    def random_bytes(self, count: int) -> bytes: ...
    def leave(self, code: int) -> None: ...


class Library:
    """The files of the runtime itself: an archive of modules, and data files "below" it."""

    def __init__(self, archive: Content, folder: str, data: Mapping[str, bytes]) -> None:
        # The folders above that one are no folders, or modules would be looked for in them.
        self._below = ARCHIVE + b"/" + folder.encode()
        self.folder, self.data = Tree().root, Tree().root
        self.archive = self._add(self.folder, ARCHIVE, archive)
        for path, content in data.items():
            *folders, name = path.encode().split(b"/")
            node = self.data
            for each in folders:
                node = node.names().get(each) or node.tree.add(node, each, True, 0)
            self._add(node, name, content)

    @staticmethod
    def _add(folder: Node, name: bytes, content: Content) -> Node:
        node = folder.tree.add(folder, name, False, 0)
        node.content = content  # type: ignore[assignment] # which is only read
        return node

    def start(self, path: bytes) -> tuple[Node, bytes]:
        """Return where a path below the library's folder begins, and the rest of it."""
        if path == self._below or path.startswith(self._below + b"/"):
            return self.data, path[len(self._below) :]
        return self.folder, path


@dataclass
class _Open:
    """An open file or folder."""

    node: Node
    flags: int = 0
    at: int = 0
    is_library: bool = False

    @property
    def data(self) -> bytearray:
        return self.node.content

    def is_folder(self) -> bool:
        return self.node.entries is not None


class FileSystem(System):
    """What one interpreter sees of a system. The `on_` methods are WASI's functions."""

    def __init__(self, tree: Tree, library: Library, host: Streams) -> None:
        super().__init__(b"", Limits())
        self._folders = _FOLDERS
        self._library, self._host = library, host
        self._opened: dict[int, _Open] = {
            _ROOT: _Open(tree.root),
            _LIBRARY: _Open(library.folder, is_library=True),
        }

    # --- time, chance, the end ----------------------------------------------------------------

    def on_clock_time_get(self, clock: int, _precision: int, result: int) -> int:
        now = self._host.wall_clock_ns() if clock == 0 else self._host.now_ns() + 1
        self.memory.write(result, struct.pack("<Q", now))
        return _OK

    def on_random_get(self, address: int, size: int) -> int:
        if not 0 <= size <= 2**20:
            return _INVALID
        self.memory.write(address, self._host.random_bytes(size))
        return _OK

    def on_proc_exit(self, code: int) -> None:
        self._host.leave(code & 0xFF)

    # --- open files ------------------------------------------------------------------------------

    def on_fd_write(self, number: int, pieces: int, count: int, result: int) -> int:
        if number in (1, 2):
            data = b"".join(self._pieces(pieces, count))
            self._host.emit(number, data.decode("utf-8", "replace"))
            return self._number(result, len(data))
        return self._write(number, None, pieces, count, result)

    def on_fd_pwrite(self, number: int, pieces: int, count: int, at: int, result: int) -> int:
        return self._write(number, at, pieces, count, result)

    def _write(self, number: int, at: int | None, pieces: int, count: int, result: int) -> int:
        file = self._opened.get(number)
        if file is None or not file.flags & _WRITING:
            return _BAD_FD
        data = b"".join(self._pieces(pieces, count))
        start = file.at if at is None else at
        if at is None and file.flags & _APPENDING:
            start = len(file.node.content)
        if start < 0:
            return _INVALID
        file.node.write(data, start, self._host.wall_clock_ns())
        if at is None:
            file.at = start + len(data)
        return self._number(result, len(data))

    def on_fd_pread(self, number: int, pieces: int, count: int, at: int, result: int) -> int:
        file = self._readable(number)
        if file is None:
            return _BAD_FD
        if at < 0:
            return _INVALID
        return self._number(result, self._fill(file.data, at, pieces, count))

    def _readable(self, number: int) -> OpenFile | None:
        file = self._opened.get(number)
        if file is None:
            return super()._readable(number)
        return None if file.is_folder() else file

    def on_fd_close(self, number: int) -> int:
        if number in (0, 1, 2):
            return _OK
        if number in _FOLDERS or self._opened.pop(number, None) is None:
            return _BAD_FD
        return _OK

    def on_fd_fdstat_get(self, number: int, result: int) -> int:
        kind, flags, rights = _FILE_KIND, 0, _ALL_RIGHTS
        if number not in (0, 1, 2):
            file = self._opened.get(number)
            if file is None:
                return _BAD_FD
            kind = _FOLDER_KIND if file.is_folder() else _FILE_KIND
            flags, rights = file.flags & 0x1F, _ALL_RIGHTS
        self.memory.write(result, struct.pack("<BxHxxxxQQ", kind, flags, rights, _ALL_RIGHTS))
        return _OK

    def on_fd_fdstat_set_flags(self, number: int, flags: int) -> int:
        if file := self._opened.get(number):
            file.flags = file.flags & ~0x1F | flags & 0x1F
        return _OK

    def on_fd_filestat_get(self, number: int, result: int) -> int:
        if number in (0, 1, 2):
            return self._stat(result, _FILE_KIND, 0, 0, 0)
        file = self._opened.get(number)
        return _BAD_FD if file is None else self._stat_of(result, file.node)

    def on_fd_filestat_set_size(self, number: int, size: int) -> int:
        file = self._opened.get(number)
        if file is None or not file.flags & _WRITING:
            return _BAD_FD
        file.node.resize(size)
        return _OK

    def on_fd_filestat_set_times(self, _number: int, *_times: int) -> int:
        return _OK

    def on_fd_advise(self, _number: int, *_values: int) -> int:
        return _OK

    def on_fd_datasync(self, _number: int) -> int:
        return _OK

    on_fd_sync = on_fd_datasync

    def on_fd_readdir(self, number: int, address: int, size: int, cookie: int, result: int) -> int:
        file = self._opened.get(number)
        if file is None:
            return _BAD_FD
        names = [(b".", file.node), (b"..", file.node), *file.node.names().items()]
        data = bytearray()
        for at, (name, node) in enumerate(names[max(cookie, 0) :], max(cookie, 0) + 1):
            kind = _FILE_KIND if node.entries is None else _FOLDER_KIND
            data += struct.pack("<QQIBxxx", at, node.number, len(name), kind) + name
            if len(data) >= size:
                break
        data = data[: max(size, 0)]
        self.memory.write(address, bytes(data))
        return self._number(result, len(data))

    # --- paths ------------------------------------------------------------------------------------

    def _path(self, address: int, size: int) -> bytes:
        if not 0 <= size <= MAX_PATH:
            raise FileError(_LONG_NAME)
        return self.memory.read(address, size)

    def _start(self, number: int, path: bytes, is_changing: bool = True) -> tuple[Node, bytes]:
        """Return where a path begins, and the rest of it. Raises `FileError`."""
        file = self._opened.get(number)
        if file is None:
            raise FileError(_BAD_DESCRIPTOR)
        if file.is_library and is_changing:
            raise FileError(_NOT_PERMITTED)
        return self._library.start(path) if number == _LIBRARY else (file.node, path)

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
        if len(self._opened) >= MAX_OPEN:
            raise FileError(_NO_MEMORY)
        # A folder is opened with all rights, and so is a file to be read of the library.
        is_library = folder in self._opened and self._opened[folder].is_library
        is_writing = bool(_rights & _WRITING) and not flags & 2 and not is_library
        is_changing = is_writing or bool(flags & 13)
        start, path = self._start(folder, self._path(address, size), is_changing)
        node = open_node(start, path, flags, is_writing, self._host.wall_clock_ns())
        kept = _fd_flags & 0x1F | (_WRITING if is_writing else 0)
        return self._keep(_Open(node, kept, is_library=is_library), result)

    def _keep(self, file: _Open, result: int) -> int:
        self._next = max(self._next, _LIBRARY) + 1
        self._opened[self._next] = file
        return self._number(result, self._next)

    def on_path_filestat_get(
        self, folder: int, _lookup: int, address: int, size: int, result: int
    ) -> int:
        return self._stat_of(result, named(*self._start(folder, self._path(address, size), False)))

    def _stat_of(self, result: int, node: Node) -> int:
        kind = _FILE_KIND if node.entries is None else _FOLDER_KIND
        return self._stat(result, kind, len(node.content), node.changed_ns, node.number)

    def _stat(self, result: int, kind: int, size: int, time_ns: int, number: int) -> int:
        times = time_ns, time_ns, time_ns
        self.memory.write(result, struct.pack("<QQB7xQQQQQ", 1, number, kind, 1, size, *times))
        return _OK

    def on_path_filestat_set_times(self, _folder: int, *_values: int) -> int:
        return _OK

    def on_path_create_directory(self, folder: int, address: int, size: int) -> int:
        start, path = self._start(folder, self._path(address, size))
        make_folder(start, path, self._host.wall_clock_ns())
        return _OK

    def on_path_remove_directory(self, folder: int, address: int, size: int) -> int:
        remove_folder(*self._start(folder, self._path(address, size)))
        return _OK

    def on_path_unlink_file(self, folder: int, address: int, size: int) -> int:
        unlink(*self._start(folder, self._path(address, size)))
        return _OK

    def on_path_rename(self, folder: int, at: int, size: int, to: int, by: int, count: int) -> int:
        old = self._start(folder, self._path(at, size))
        rename(*old, *self._start(to, self._path(by, count)))
        return _OK


def system_function(name: str) -> HostFunction:
    """Return the host's function for an import of WASI; what is not offered says so."""
    function: Callable[..., Any] | None = getattr(FileSystem, f"on_{name}", None)

    def answer(host: Any, *values: Any) -> Any:
        if function is None:
            return _NOT_OFFERED
        try:
            return function(host.system, *values)
        except FileError as error:
            return _CODES.get(error.code, _IO)

    return answer
