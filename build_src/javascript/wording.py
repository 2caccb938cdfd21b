"""The engine's messages in V8's words: programs print `error.message`, and compare it.

A message is a C string in memory, and the code that uses it holds its address. V8's text is put
where there is room for it, and the code gets the new address. Only messages that say the same from
the same arguments can be exchanged so: QuickJS does not know the `f` of "f is not a function".
"""

from __future__ import annotations

from .snapshot import I32_CONST, signed

_ADDRESS = bytes([I32_CONST])
WORDS = {
    "cannot read property '%s' of null": "Cannot read properties of null (reading '%s')",
    "cannot read property '%s' of undefined": "Cannot read properties of undefined (reading '%s')",
    "cannot set property '%s' of null": "Cannot set properties of null (setting '%s')",
    "cannot set property '%s' of undefined": "Cannot set properties of undefined (setting '%s')",
    "%s is not initialized": "Cannot access '%s' before initialization",
    "cannot convert symbol to string": "Cannot convert a Symbol value to a string",
    "cannot convert symbol to number": "Cannot convert a Symbol value to a number",
    "cannot convert BigInt to number": (
        "Cannot mix BigInt and other types, use explicit conversions"
    ),
    "bigint argument with unary +": "Cannot convert a BigInt value to a number",
    "BigInt division by zero": "Division by zero",
    "BigInt are forbidden in JSON.stringify": "Do not know how to serialize a BigInt",
    "circular reference": "Converting circular structure to JSON",
    "empty array": "Reduce of empty array with no initial value",
    "invalid array length": "Invalid array length",
    "Date value is NaN": "Invalid time value",
    "expecting hex digit": "URI malformed",
    "invalid 'instanceof' right operand": "Right-hand side of 'instanceof' is not callable",
    "private class field '%s' does not exist": (
        "Cannot read private member %s from an object whose class did not declare it"
    ),
}
# Used for constants and for properties alike: V8's text for each place, in the order of the code.
# Most properties that somebody tries to set in vain are a plain object's.
READ_ONLY = "'%s' is read-only"
_PROPERTY = "Cannot assign to read only property '%s' of object '#<Object>'"
_CONSTANT = "Assignment to constant variable."
READ_ONLY_AT = (_PROPERTY, _CONSTANT, _CONSTANT, _PROPERTY)


def reworded(wasm: bytes, memory: bytearray, room: range) -> bytes:
    """The module with other messages, which are written into `memory` at `room`, unused so far."""
    at = room.start
    for old, texts in (*((old, (new,)) for old, new in WORDS.items()), (READ_ONLY, READ_ONLY_AT)):
        before = memory.find(f"\0{old}\0".encode())
        wanted = _ADDRESS + signed(before + 1)
        first, *rest = wasm.split(wanted)
        if before < 0 or not rest or len(texts) not in (1, len(rest)):
            raise SystemExit(f"{old!r} is used in {len(rest)} places of the engine")
        addresses = []
        for text in texts:
            data = f"{text}\0".encode()
            memory[at : at + len(data)] = data
            addresses.append(at)
            at += len(data)
        if len(texts) == 1:
            addresses *= len(rest)
        for address, part in zip(addresses, rest, strict=True):
            first += _ADDRESS + signed(address, len(wanted) - 1) + part
        wasm = first
    if at > room.stop:
        raise SystemExit("no room for the messages")
    return wasm
