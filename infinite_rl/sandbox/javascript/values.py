"""Read the values that the JavaScript guest reports, as far as they are JSON.

`build_src/javascript/prelude/encode.js` writes them. A program chooses the value, so any value may
be encoded here; it cannot choose the text.
"""

from __future__ import annotations

import json
from typing import Any

_EXACT = 2**53  # JavaScript prints larger integers with zeros for digits beyond its precision
_MOST_PARTS = 2_000_000  # parts of a value; a part that occurs twice counts twice
# What JSON does not have, by the code of its kind.
_REFUSED = {
    "u": "undefined", "i": "a bigint", "y": "a symbol", "k": "a builtin", "!": "an error",
    "f": "a function", "m": "a Map", "s": "a Set", "d": "a Date", "x": "a pattern", "e": "an Error",
    "b": "an ArrayBuffer", "t": "a typed array", "w": "a promise", "x1": "a boxed value",
}  # fmt: skip
_PROTOTYPES = {"a": (["k", "Array.prototype"],), "o": (["k", "Object.prototype"], None)}


class NotJson(Exception):
    """The value holds something that is not JSON; the message names it."""


def read_value(text: str) -> Any:
    """Decode the value of a report: None, booleans, numbers, strings, lists and dicts.

    NaN and the infinities are numbers, too. Raises `NotJson` for any other value.
    """
    try:
        (code,) = json.loads(text)
        return _Reader().value(code)
    except RecursionError:
        raise NotJson("it is nested too deeply") from None


class _Reader:
    """Decode one value. The encoder numbers objects in the order of their first occurrence."""

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._sizes: dict[int, int] = {}  # of complete lists and dicts, by identity

    def value(self, code: Any) -> Any:
        if type(code) is int:
            return code if abs(code) <= _EXACT else float(code)
        if not isinstance(code, list):
            return code
        kind = code[0]
        if kind == "n":
            return float(code[1].replace("Infinity", "inf"))
        if kind == "r":
            value = self._objects[code[1]]
            if id(value) not in self._sizes:
                raise NotJson("it holds itself")
            return value
        if kind in _REFUSED:
            raise NotJson(f"it holds {_REFUSED[kind]}")
        if code[-1] not in _PROTOTYPES[kind]:
            raise NotJson("it holds an object of a class")
        return self._array(code) if kind == "a" else self._object(code[2])

    def _array(self, code: list[Any]) -> list[Any]:
        _, length, items, properties, _ = code
        array: list[Any] = []
        self._objects.append(array)
        array.extend(map(self.value, items))
        if properties or len(items) != length:
            raise NotJson("it holds an array with holes or keys")
        self._whole(array, array)
        return array

    def _object(self, parts: list[Any]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self._objects.append(members)
        for key, item in zip(parts[::2], parts[1::2], strict=True):
            if not isinstance(key, str):
                raise NotJson("it holds a symbol")
            members[key] = self.value(item)
        self._whole(members, list(members.values()))
        return members

    def _whole(self, container: Any, items: list[Any]) -> None:
        size = 1 + sum(self._sizes.get(id(item), 1) for item in items)
        if size > _MOST_PARTS:
            raise NotJson("it is too large")
        self._sizes[id(container)] = size
