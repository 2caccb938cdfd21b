"""Core WebAssembly modules, read from their binary format and written to it.

Only what componentize-py's output uses is read; all else is a `LayoutError`. Section and opcode
numbers are those of the WebAssembly core specification, release 2.0, chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

Item = TypeVar("Item")
MAGIC = b"\0asm\1\0\0\0"
KINDS = ("func", "table", "memory", "global")
I32 = 0x7F


class LayoutError(Exception):
    """The file is not laid out as the linker relies on: another version of the tool wrote it."""


class Reader:
    """Reads numbers, names and vectors from bytes, in order."""

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def more(self) -> bool:
        return self.at < self.end

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def unsigned(self) -> int:
        return self._leb128()[0]

    def signed(self) -> int:
        number, bits = self._leb128()
        return number - (1 << bits) if number >> (bits - 1) else number

    def _leb128(self) -> tuple[int, int]:
        """Read a number; return it without a sign, and its bits: seven a byte."""
        number = bits = 0
        while True:
            byte = self.byte()
            number |= (byte & 0x7F) << bits
            bits += 7
            if byte < 0x80:
                return number, bits

    def name(self) -> str:
        return self.take(self.unsigned()).decode()

    def vector(self, read: Callable[[], Item]) -> list[Item]:
        return [read() for _ in range(self.unsigned())]


def sections(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the content of each section of a module or component."""
    reader = Reader(data, len(MAGIC))
    while reader.more():
        number = reader.byte()
        yield number, reader.take(reader.unsigned())


def unsigned(number: int) -> bytes:
    """Encode a non-negative number as unsigned LEB128."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def signed(number: int) -> bytes:
    """Encode a number as signed LEB128."""
    encoded = bytearray()
    while not -0x40 <= number < 0x40:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number & 0x7F])


def i32_const(number: int) -> bytes:
    """Encode the instruction that pushes a number of 32 bits, given without its sign."""
    return b"\x41" + signed(number if number < 1 << 31 else number - (1 << 32))


def vector(items: Iterable[bytes]) -> bytes:
    """Encode items with their count before them."""
    encoded = list(items)
    return unsigned(len(encoded)) + b"".join(encoded)


def sized(content: bytes) -> bytes:
    """Encode bytes, also the UTF-8 of a name, with their count before them."""
    return unsigned(len(content)) + content


# --- constant expressions ------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant:
    """A constant expression: the sum of `number` and of globals; or a function; or null."""

    number: int = 0
    globals: tuple[int, ...] = ()
    function: int | None = None
    is_null: bool = False


def _constant(reader: Reader) -> Constant:
    stack: list[Constant] = []
    while (opcode := reader.byte()) != 0x0B:
        if opcode in (0x41, 0x42):
            stack.append(Constant(reader.signed()))
        elif opcode == 0x23:
            stack.append(Constant(globals=(reader.unsigned(),)))
        elif opcode == 0xD2:
            stack.append(Constant(function=reader.unsigned()))
        elif opcode == 0xD0:
            reader.byte()
            stack.append(Constant(is_null=True))
        elif opcode == 0x6A:
            right, left = stack.pop(), stack.pop()
            stack.append(Constant(left.number + right.number, left.globals + right.globals))
        else:
            raise LayoutError(f"opcode {opcode:#x} in a constant expression")
    if len(stack) != 1:
        raise LayoutError("a constant expression with more than one value")
    return stack[0]


# --- modules -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Import:
    """One import: its kind is of `KINDS`; `type` is the type index of a function."""

    module: str
    name: str
    kind: str
    type: int


@dataclass(frozen=True)
class Global:
    """A global that the module defines."""

    valtype: int
    initial: Constant


@dataclass(frozen=True)
class Elements:
    """Functions for a table from `offset` on; None declares them only."""

    offset: Constant | None
    items: list[Constant]


@dataclass
class CoreModule:
    """The sections of a core module; indices are those of the module's own spaces."""

    types: list[bytes] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)  # the type index of each
    tables: list[int] = field(default_factory=list)  # the least size of each
    memories: list[int] = field(default_factory=list)  # the least pages of each
    globals: list[Global] = field(default_factory=list)
    exports: dict[str, tuple[str, int]] = field(default_factory=dict)
    has_start: bool = False
    elements: list[Elements] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    data: list[tuple[Constant, bytes]] = field(default_factory=list)

    @classmethod
    def read(cls, content: bytes) -> CoreModule:
        """Read a module. Raises `LayoutError`."""
        module = cls()
        for number, section in sections(content):
            reader = Reader(section)
            if number in _SECTIONS:
                field_name, read = _SECTIONS[number]
                setattr(module, field_name, reader.vector(lambda: read(reader)))  # noqa: B023 - called at once
            elif number == 7:
                module.exports = dict(reader.vector(lambda: _export(reader)))  # noqa: B023
            elif number == 8:
                module.has_start = True
            elif number not in (0, 12):
                raise LayoutError(f"section {number} in a core module")
        return module


def _type(reader: Reader) -> bytes:
    start = reader.at
    if reader.byte() != 0x60:
        raise LayoutError("a type that is not a function's")
    for _ in range(2):
        reader.vector(reader.byte)
    return reader.data[start : reader.at]


def _import(reader: Reader) -> Import:
    module, name, kind = reader.name(), reader.name(), reader.byte()
    if kind == 0:
        return Import(module, name, "func", reader.unsigned())
    if kind == 1:
        reader.byte()
    if kind in (1, 2):
        _limit(reader)
    elif kind == 3:
        reader.take(2)
    else:
        raise LayoutError(f"an import of kind {kind}")
    return Import(module, name, KINDS[kind], -1)


def _limit(reader: Reader) -> int:
    has_most = reader.byte()
    if has_most not in (0, 1):
        raise LayoutError("a memory or table that is shared or has 64 bits")
    least = reader.unsigned()
    if has_most:
        reader.unsigned()
    return least


def _table(reader: Reader) -> int:
    reader.byte()
    return _limit(reader)


def _global(reader: Reader) -> Global:
    valtype, _mutable = reader.byte(), reader.byte()
    return Global(valtype, _constant(reader))


def _export(reader: Reader) -> tuple[str, tuple[str, int]]:
    name, kind = reader.name(), reader.byte()
    return name, (KINDS[kind], reader.unsigned())


def _elements(reader: Reader) -> Elements:
    flags = reader.unsigned()
    if flags not in range(7) or flags == 5:
        raise LayoutError(f"elements of the form {flags}")
    is_active, has_table, has_expressions = not flags & 1, flags & 2, flags & 4
    if is_active and has_table and reader.unsigned() != 0:
        raise LayoutError("elements of a second table")
    offset = _constant(reader) if is_active else None
    if flags & 3:
        reader.byte()  # the kind or the type of the items
    if has_expressions:
        return Elements(offset, reader.vector(lambda: _constant(reader)))
    return Elements(offset, [Constant(function=f) for f in reader.vector(reader.unsigned)])


def _body(reader: Reader) -> bytes:
    return reader.take(reader.unsigned())


def _data(reader: Reader) -> tuple[Constant, bytes]:
    if reader.unsigned() != 0:
        raise LayoutError("data that is not placed when the module starts")
    return _constant(reader), _body(reader)


_SECTIONS: dict[int, tuple[str, Callable[[Reader], object]]] = {
    1: ("types", _type),
    2: ("imports", _import),
    3: ("functions", Reader.unsigned),
    4: ("tables", _table),
    5: ("memories", _limit),
    6: ("globals", _global),
    9: ("elements", _elements),
    10: ("bodies", _body),
    11: ("data", _data),
}


# --- instructions --------------------------------------------------------------------------------

# How an instruction's immediates are skipped, by opcode: n bytes; "u" one LEB128 number, which may
# be signed; "m" an alignment and an offset. Opcodes that hold an index stand in `_INDEXED`.
_SKIP: dict[int, str] = {
    **dict.fromkeys((0x00, 0x01, 0x05, 0x0B, 0x0F, 0x1A, 0x1B, 0xD1), ""),
    **dict.fromkeys(range(0x45, 0xC5), ""),
    **dict.fromkeys((0x0C, 0x0D, 0x20, 0x21, 0x22, 0x25, 0x26, 0x41, 0x42, 0xD0), "u"),
    **dict.fromkeys((0x3F, 0x40), "u"),
    **dict.fromkeys(range(0x28, 0x3F), "m"),
    0x43: "4",
    0x44: "8",
}
_INDEXED = {0x10: "func", 0x11: "type", 0x23: "global", 0x24: "set global", 0xD2: "func"}
# Those with the prefix 0xFC. What names data or elements is absent: the linker renumbers both.
_BULK = {**dict.fromkeys(range(8), ""), 10: "uu", 11: "u", 14: "uu", 15: "u", 16: "u", 17: "u"}


def indices(body: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Yield each index in a function's body as (kind, index, start, end of its bytes).

    The kind is "func", "global", "set global", "type" (of an indirect call) or "block" (the type of
    a block).
    """
    reader = Reader(body)
    for _ in range(reader.unsigned()):
        reader.unsigned(), reader.byte()  # locals: their count and type
    while reader.more():
        opcode, start = reader.byte(), reader.at
        skip = _SKIP.get(opcode)
        if skip is not None:
            _skip(reader, skip)
        elif opcode in (0x02, 0x03, 0x04):
            if body[start] == 0x40 or 0x6F <= body[start] <= 0x7F:
                reader.at += 1
            else:
                yield "block", reader.signed(), start, reader.at
        elif opcode in _INDEXED:
            yield _INDEXED[opcode], reader.unsigned(), start, reader.at
            if opcode == 0x11 and reader.unsigned() != 0:
                raise LayoutError("a second table")
        elif opcode == 0x0E:
            for _ in range(reader.unsigned() + 1):
                _skip(reader, "u")
        elif opcode == 0x1C:
            reader.take(reader.unsigned())
        elif opcode == 0xFC:
            number = reader.unsigned()
            if number not in _BULK:
                raise LayoutError(f"opcode 0xfc {number}")
            _skip(reader, _BULK[number])
        elif opcode == 0xFD:
            _skip(reader, _vector_skip(reader.unsigned()))
        else:
            raise LayoutError(f"opcode {opcode:#x}")
    if reader.at != reader.end:
        raise LayoutError("an instruction that ends beyond its function")


def _skip(reader: Reader, kinds: str) -> None:
    for kind in kinds:
        if kind == "m":
            if reader.byte() >= 0x40:
                raise LayoutError("a second memory")
            kind = "u"
        if kind == "u":
            while reader.byte() >= 0x80:
                pass
        else:
            reader.at += int(kind)


def _vector_skip(number: int) -> str:
    """How the immediates of a vector instruction are skipped."""
    if number <= 11 or number in (92, 93):
        return "m"
    if number in (12, 13):
        return "88"
    if 21 <= number <= 34:
        return "1"
    return "m1" if 84 <= number <= 91 else ""
