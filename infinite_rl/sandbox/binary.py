"""The binary format of WebAssembly modules: their sections, and numbers in LEB128.

The formats are those of the core specification, sections 5.2.2 (integers) and 5.5.2 (sections).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

CUSTOM, MEMORY, GLOBALS, CODE, DATA = 0, 5, 6, 10, 11  # numbers of sections
_HEADER = 8  # bytes: the magic number and the version


def sections(wasm: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the sections of a module: their numbers and contents."""
    at = _HEADER
    while at < len(wasm):
        kind = wasm[at]
        size, start = read_unsigned(wasm, at + 1)
        at = start + size
        yield kind, wasm[start:at]


def module_of(parts: Iterable[tuple[int, bytes]]) -> bytes:
    """Return the module with these sections: their numbers and contents."""
    out = bytearray(b"\0asm\1\0\0\0")
    for kind, content in parts:
        out += bytes([kind]) + unsigned(len(content)) + content
    return bytes(out)


def read_unsigned(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at a place, and where it ends."""
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def unsigned(value: int) -> bytes:
    """Write a number that is not negative."""
    return _written(value, 0x80)


def signed(value: int) -> bytes:
    """Write a number that is not negative as a signed one."""
    return _written(value, 0x40)


def _written(value: int, end: int) -> bytes:
    out = bytearray()
    while value >= end:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
