"""Files in memory, which the two interpreters of a run share: WASI 0.2's `wasi:filesystem`.

Nothing here touches the host's disk: a path is resolved name by name in a tree of `Node`s, and
leads nowhere else. There are no links. Bytes, files, paths and open files are bounded. Layouts of
values in the memory follow the component model's canonical ABI.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from . import wasi

if TYPE_CHECKING:
    from ..instance import HostFunction

MAX_BYTES = 32 * 2**20  # of all files together
MAX_NODES = 4096  # files and folders
MAX_OPEN = 256  # descriptors and streams of one interpreter
MAX_DEPTH, MAX_PATH = 64, 4096  # names and bytes of a path
_FIRST_HANDLE = 16  # smaller ones are those of streams that are no files
_ROOM = 2**20  # bytes that one call may write
_FOLDER, _FILE = 3, 6  # of WASI's kinds of descriptors
_CREATE, _ONLY_FOLDER, _EXCLUSIVE, _TRUNCATE = 1, 2, 4, 8  # of its flags of `open-at`
_READ, _WRITE = 1, 2  # of its flags of descriptors
# Of its codes of errors.
_BAD_DESCRIPTOR, _EXISTS, _ILLEGAL_NAME, _INVALID, _IS_FOLDER = 3, 7, 9, 12, 14
_LONG_NAME, _NO_ENTRY, _NO_MEMORY, _NO_SPACE, _NO_FOLDER = 18, 20, 22, 23, 24
_NOT_EMPTY, _NO_LINKS, _NOT_PERMITTED = 25, 27, 31
_CLOSED = bytes([1, 0, 0, 0, 1])  # the end of an input stream


class FileError(Exception):
    """A request that fails, with WASI's code."""

    def __init__(self, code: int) -> None:
        self.code = code


class Tree:
    """The files of a run, from the root on."""

    def __init__(self) -> None:
        self.size = self.count = self.last_number = 0
        self.root = Node(self, True, 0)
        self.add(self.root, b"tmp", True, 0)

    def add(self, folder: Node, name: bytes, is_folder: bool, now_ns: int) -> Node:
        """Make a file or a folder in a folder. Raises `FileError`."""
        if self.count >= MAX_NODES:
            raise FileError(_NO_SPACE)
        node = folder.names()[name] = Node(self, is_folder, now_ns)
        folder.changed_ns = now_ns
        return node


class Node:
    """A file, or a folder if it has entries. It counts as long as anything refers to it."""

    def __init__(self, tree: Tree, is_folder: bool, now_ns: int) -> None:
        tree.count += 1
        tree.last_number += 1
        self.tree, self.number, self.changed_ns = tree, tree.last_number, now_ns
        self.content = bytearray()
        self.entries: dict[bytes, Node] | None = {} if is_folder else None

    def __del__(self) -> None:
        self.tree.count -= 1
        self.tree.size -= len(self.content)

    def names(self) -> dict[bytes, Node]:
        """Return the entries of a folder. Raises `FileError`."""
        if self.entries is None:
            raise FileError(_NO_FOLDER)
        return self.entries

    def entry(self, name: bytes) -> Node:
        """Return what has a name in this folder; b"" is the folder itself."""
        if name and name not in self.names():
            raise FileError(_NO_ENTRY)
        return self.names()[name] if name else self

    def resize(self, size: int) -> None:
        added = size - len(self.content)
        if size < 0 or self.entries is not None:
            raise FileError(_INVALID)
        if self.tree.size + added > MAX_BYTES:
            raise FileError(_NO_SPACE)
        self.tree.size += added
        if added < 0:
            del self.content[size:]
        else:
            self.content.extend(bytes(added))

    def write(self, data: bytes, offset: int, now_ns: int) -> None:
        end = offset + len(data)
        if offset < 0:
            raise FileError(_INVALID)
        if end > len(self.content):
            self.resize(end)
        self.content[offset:end] = data
        self.changed_ns = now_ns

    def holds(self, other: Node) -> bool:
        """Whether `other` is this folder or lies below it."""
        waiting = [self]
        for each in waiting:  # which grows
            waiting += (each.entries or {}).values()
        return any(each is other for each in waiting)

    def stat(self) -> bytes:
        """Return WASI's `descriptor-stat`; its three times are that of the last change."""
        time = struct.pack("<QQI4x", 1, *divmod(self.changed_ns, 10**9))
        kind = _FILE if self.entries is None else _FOLDER
        return struct.pack("<QQQ", kind, 1, len(self.content)) + time * 3


@dataclass
class _Descriptor:
    node: Node
    flags: int


@dataclass
class _Stream:
    node: Node
    position: int
    is_appending: bool = False


class OpenFiles:
    """What one interpreter has opened, by its handles."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._open: dict[int, _Descriptor | _Stream | Iterator[tuple[bytes, Node]]] = {}
        self._next = _FIRST_HANDLE

    def add(self, entry: _Descriptor | _Stream | Iterator[tuple[bytes, Node]]) -> bytes:
        """Return the handle of what is open from now on, as the guest reads it."""
        if len(self._open) >= MAX_OPEN:
            raise FileError(_NO_MEMORY)
        self._next += 1
        self._open[self._next] = entry
        return struct.pack("<I", self._next)

    def close(self, handle: int) -> None:
        self._open.pop(handle, None)

    def get(self, handle: int) -> Any:
        return self._open.get(handle)

    def descriptor(self, handle: int, flag: int = 0) -> _Descriptor:
        """Return what is open for this flag. Raises `FileError`."""
        opened = self._open.get(handle)
        if not isinstance(opened, _Descriptor) or opened.flags & flag != flag:
            raise FileError(_BAD_DESCRIPTOR)
        return opened

    def node(self, handle: int, flag: int = 0) -> Node:
        return self.descriptor(handle, flag).node


class FileHost(wasi.Host, Protocol):
    """What answers for one interpreter and its open files."""

    files: OpenFiles


def _path(host: FileHost, address: int, size: int) -> bytes:
    if not 0 <= size <= MAX_PATH:
        raise FileError(_LONG_NAME)
    return host.instance.read(address, size)


def resolve(start: Node, path: bytes) -> tuple[Node, bytes]:
    """Return the folder and the name that a path leads to; b"" for the folder itself.

    Raises `FileError`.
    """
    names = [name for name in path.split(b"/") if name not in (b"", b".")]
    if b"\0" in path:
        raise FileError(_ILLEGAL_NAME)
    if len(names) > MAX_DEPTH or any(len(name) > 255 for name in names):
        raise FileError(_LONG_NAME)
    last = names.pop() if names and names[-1] != b".." else b""
    trail = [start]  # ".." of the first is itself, as at the root
    for name in names:
        if name != b"..":
            trail.append(trail[-1].entry(name))
        elif len(trail) > 1:
            trail.pop()
    trail[-1].names()
    return trail[-1], last


def _list(host: FileHost, data: bytes) -> bytes:
    """Copy bytes into the guest's memory; return their address and count, as it reads them."""
    return struct.pack("<iI", *wasi.put(host.instance, data))


def named(start: Node, path: bytes) -> Node:
    """Return what a path leads to. Raises `FileError`."""
    folder, name = resolve(start, path)
    return folder.entry(name)


def _named(host: FileHost, handle: int, address: int, size: int) -> Node:
    return named(host.files.node(handle), _path(host, address, size))


def open_node(start: Node, path: bytes, how: int, is_writing: bool, now_ns: int) -> Node:
    """Return what a path leads to, made or emptied as `how` says. Raises `FileError`."""
    folder, name = resolve(start, path)
    node = folder.names().get(name) if name else folder
    if node is None:
        if not how & _CREATE or how & _ONLY_FOLDER:
            raise FileError(_NO_ENTRY)
        node = start.tree.add(folder, name, False, now_ns)
    elif how & _CREATE and how & _EXCLUSIVE:
        raise FileError(_EXISTS)
    if node.entries is None and how & _ONLY_FOLDER:
        raise FileError(_NO_FOLDER)
    if node.entries is not None and is_writing:
        raise FileError(_IS_FOLDER)
    if how & _TRUNCATE:
        node.resize(0)
        node.changed_ns = now_ns
    return node


def _open_at(
    host: FileHost, handle: int, _follow: int, address: int, size: int, how: int, flags: int
) -> bytes:
    path, is_writing = _path(host, address, size), bool(flags & _WRITE)
    node = open_node(host.files.node(handle), path, how, is_writing, host.wall_clock_ns())
    return host.files.add(_Descriptor(node, flags))


def _read_stream(host: FileHost, handle: int, offset: int) -> bytes:
    return host.files.add(_Stream(host.files.node(handle, _READ), max(offset, 0)))


def _write_stream(host: FileHost, handle: int, offset: int) -> bytes:
    return host.files.add(_Stream(host.files.node(handle, _WRITE), max(offset, 0)))


def _append_stream(host: FileHost, handle: int) -> bytes:
    return host.files.add(_Stream(host.files.node(handle, _WRITE), 0, True))


def _read(host: FileHost, handle: int, count: int, offset: int) -> bytes:
    node = host.files.node(handle, _READ)
    if offset < 0 or count < 0:
        raise FileError(_INVALID)
    data = bytes(node.content[offset : offset + count])
    return _list(host, data) + bytes([not data])


def _write(host: FileHost, handle: int, address: int, size: int, offset: int) -> bytes:
    node = host.files.node(handle, _WRITE)
    node.write(host.instance.read(address, size), offset, host.wall_clock_ns())
    return struct.pack("<Q", size)


def _resize(host: FileHost, handle: int, size: int) -> bytes:
    host.files.node(handle, _WRITE).resize(size)
    return b""


def make_folder(start: Node, path: bytes, now_ns: int) -> None:
    """Make a folder. Raises `FileError`, as the next do."""
    folder, name = resolve(start, path)
    if not name or name in folder.names():
        raise FileError(_EXISTS)
    start.tree.add(folder, name, True, now_ns)


def remove_folder(start: Node, path: bytes) -> None:
    """Remove an empty folder."""
    folder, name = resolve(start, path)
    if not name:
        raise FileError(_NOT_PERMITTED)
    if folder.entry(name).names():
        raise FileError(_NOT_EMPTY)
    del folder.names()[name]


def unlink(start: Node, path: bytes) -> None:
    """Remove a file."""
    folder, name = resolve(start, path)
    if folder.entry(name).entries is not None:
        raise FileError(_IS_FOLDER)
    del folder.names()[name]


def rename(start: Node, path: bytes, to: Node, to_path: bytes) -> None:
    """Move a file or a folder, over a file or an empty folder."""
    folder, name = resolve(start, path)
    new_folder, new_name = resolve(to, to_path)
    node = folder.entry(name)
    if not name or not new_name or node.holds(new_folder):
        raise FileError(_INVALID)
    replaced = new_folder.names().get(new_name)
    if replaced is not None and replaced is not node:
        if node.entries is not None and replaced.names():
            raise FileError(_NOT_EMPTY)
        if node.entries is None and replaced.entries is not None:
            raise FileError(_IS_FOLDER)
    del folder.names()[name]
    new_folder.names()[new_name] = node


def _make_folder(host: FileHost, handle: int, address: int, size: int) -> bytes:
    make_folder(host.files.node(handle), _path(host, address, size), host.wall_clock_ns())
    return b""


def _remove(host: FileHost, handle: int, address: int, size: int) -> bytes:
    remove_folder(host.files.node(handle), _path(host, address, size))
    return b""


def _unlink(host: FileHost, handle: int, address: int, size: int) -> bytes:
    unlink(host.files.node(handle), _path(host, address, size))
    return b""


def _rename(
    host: FileHost, handle: int, address: int, size: int, to: int, to_address: int, to_size: int
) -> bytes:
    start, new_start = host.files.node(handle), host.files.node(to)
    rename(start, _path(host, address, size), new_start, _path(host, to_address, to_size))
    return b""


def _set_times(host: FileHost, node: Node, times: tuple[int, ...]) -> bytes:
    """Set the time of the last change: as it was, now, or at a time since 1970."""
    how, seconds, nanoseconds = times[3:]  # after those of the last access
    if how == 1:
        node.changed_ns = host.wall_clock_ns()
    elif how == 2:
        node.changed_ns = max(seconds, 0) * 10**9 + nanoseconds % 10**9
    return b""


def _entries(host: FileHost, handle: int) -> bytes:
    return host.files.add(iter([*host.files.node(handle).names().items()]))


def _next_entry(host: FileHost, handle: int) -> bytes:
    entries = host.files.get(handle)
    name, node = next(entries, (b"", None)) if isinstance(entries, Iterator) else (b"", None)
    if node is None:
        return bytes(4)
    return struct.pack("<II", 1, node.stat()[0]) + _list(host, name)


def _hash(node: Node) -> bytes:
    return struct.pack("<QQ", node.number, 0)


def _no_links(_host: FileHost, *_arguments: int) -> bytes:
    raise FileError(_NO_LINKS)


def _answers(alignment: int, function: Callable[..., bytes]) -> HostFunction:
    """Return the host's function, which writes a WASI result: a value, or an error's code."""

    def answer(host: FileHost, *arguments: Any) -> None:
        try:
            data = bytes(alignment) + function(host, *arguments[:-1])
        except FileError as error:
            data = struct.pack(f"<B{alignment - 1}xB", 1, error.code)
        host.instance.write(arguments[-1], data)

    return answer


def _close(host: FileHost, handle: int) -> None:
    host.files.close(handle)


def read_input(host: FileHost, handle: int, count: int, result: int) -> None:
    """Answer `input-stream.read`; what is no file is at its end."""
    stream, data = host.files.get(handle), b""
    if isinstance(stream, _Stream):
        data = bytes(stream.node.content[stream.position : stream.position + max(count, 0)])
        stream.position += len(data)
    host.instance.write(result, bytes(4) + _list(host, data) if data else _CLOSED)


def check_output(host: FileHost, _handle: int, result: int) -> None:
    """Answer `output-stream.check-write`."""
    host.instance.write(result, struct.pack("<QQ", 0, _ROOM))


def write_output(host: FileHost, handle: int, address: int, size: int, result: int) -> None:
    """Answer `output-stream.write`; what is written to no file is lost."""
    stream, failed = host.files.get(handle), 0
    if isinstance(stream, _Stream):
        position = len(stream.node.content) if stream.is_appending else stream.position
        try:
            stream.node.write(host.instance.read(address, size), position, host.wall_clock_ns())
        except FileError:
            failed = 1
        stream.position = position + size
    host.instance.write(result, struct.pack("<III", failed, 0, 0))


def _get_directories(host: FileHost, result: int) -> None:
    """Give the root, as the only folder that is open from the beginning."""
    root = host.files.add(_Descriptor(host.files.tree.root, _READ | _WRITE))
    address, _size = wasi.put(host.instance, root + _list(host, b"/"), 4)
    host.instance.write(result, struct.pack("<iI", address, 1))


_METHODS: dict[str, tuple[int, Callable[..., bytes]]] = {
    "open-at": (4, _open_at),
    "read-via-stream": (4, _read_stream),
    "write-via-stream": (4, _write_stream),
    "append-via-stream": (4, _append_stream),
    "read": (4, _read),
    "write": (8, _write),
    "set-size": (1, _resize),
    "stat": (8, lambda host, handle: host.files.node(handle).stat()),
    "stat-at": (8, lambda host, handle, _how, *path: _named(host, handle, *path).stat()),
    "metadata-hash": (8, lambda host, handle: _hash(host.files.node(handle))),
    "metadata-hash-at": (8, lambda host, handle, _how, *path: _hash(_named(host, handle, *path))),
    "get-flags": (1, lambda host, handle: bytes([host.files.descriptor(handle).flags & 0x3F])),
    "set-times": (1, lambda host, handle, *times: _set_times(host, host.files.node(handle), times)),
    "set-times-at": (
        1,
        lambda host, handle, _follow, address, size, *times: _set_times(
            host, _named(host, handle, address, size), times
        ),
    ),
    "advise": (1, lambda _host, *_arguments: b""),
    "sync": (1, lambda _host, _handle: b""),
    "sync-data": (1, lambda _host, _handle: b""),
    "create-directory-at": (1, _make_folder),
    "remove-directory-at": (1, _remove),
    "unlink-file-at": (1, _unlink),
    "rename-at": (1, _rename),
    "read-directory": (4, _entries),
    "link-at": (1, _no_links),
    "symlink-at": (1, _no_links),
    "readlink-at": (4, _no_links),
}
_TYPES = "wasi:filesystem/types"
_FUNCTIONS: dict[tuple[str, str], HostFunction] = {
    **{
        (_TYPES, f"[method]descriptor.{name}"): _answers(*method)
        for name, method in _METHODS.items()
    },
    (_TYPES, "[method]directory-entry-stream.read-directory-entry"): _answers(4, _next_entry),
    (_TYPES, "[resource-drop]descriptor"): _close,
    (_TYPES, "[resource-drop]directory-entry-stream"): _close,
    ("wasi:io/streams", "[resource-drop]input-stream"): _close,
    ("wasi:io/streams", "[resource-drop]output-stream"): _close,
    ("wasi:io/streams", "[method]input-stream.read"): read_input,
    ("wasi:io/streams", "[method]output-stream.check-write"): check_output,
    ("wasi:io/streams", "[method]output-stream.write"): write_output,
    ("wasi:filesystem/preopens", "get-directories"): _get_directories,
}


def host_function(interface: str, name: str) -> HostFunction:
    """Return the host's function for an import of the module."""
    function = _FUNCTIONS.get((interface.partition("@")[0], name))
    return function or wasi.host_function(interface, name)
