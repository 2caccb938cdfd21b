"""What a row must look like: a shape, and what is wrong with a value that has another one.

A shape is `TEXT` (not blank), `str`, `int`, `ANY` (all texts in it are valid Unicode), a list of
one shape (a list of such, not empty), a mapping of names to shapes (an object that has at least
these), or a tuple of shapes (any of them).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TEXT: Final = "text"
ANY: Final = "any"
MESSAGES: Final = [{"role": TEXT, "content": TEXT}]


def fault_of(value: object, shape: Any, where: str = "") -> str:
    """Why the value is not of the shape, "" where it is; `where` is what the value is called."""
    if isinstance(shape, tuple):
        faults = [fault_of(value, each, where) for each in shape]
        return "" if "" in faults else faults[0]
    if isinstance(shape, Mapping):
        return _fault_of_object(value, shape, where)
    if isinstance(shape, list):
        if not isinstance(value, list) or not value:
            return f"{where} is no list with something in it"
        faults = [fault_of(part, shape[0], f"{where}[{at}]") for at, part in enumerate(value)]
        return next(filter(None, faults), "")
    if shape == ANY:
        return _fault_inside(value, where)
    if shape is int:
        return "" if type(value) is int else f"{where} is no whole number"
    return _fault_of_text(value, where, blank=shape is str)


def _fault_of_object(value: object, shape: Mapping[str, Any], where: str) -> str:
    if not isinstance(value, Mapping):
        return f"{where or 'it'} is no object"
    for name, part in shape.items():
        called = f"{where}.{name}" if where else name
        if name not in value:
            return f"there is no {called}"
        if fault := fault_of(value[name], part, called):
            return fault
    return ""


def _fault_inside(value: object, where: str) -> str:
    if isinstance(value, str):
        return _fault_of_text(value, where, blank=True)
    if isinstance(value, Mapping):
        named = ((f"{where}.{name}" if where else str(name), part) for name, part in value.items())
        faults = (_fault_of_text(name, "a name", blank=True) for name in value)
        found = next(filter(None, faults), "")
        return found or next(filter(None, (_fault_inside(part, name) for name, part in named)), "")
    if isinstance(value, list | tuple):
        parts = (_fault_inside(part, f"{where}[{at}]") for at, part in enumerate(value))
        return next(filter(None, parts), "")
    return ""


def _fault_of_text(value: object, where: str, *, blank: bool) -> str:
    if not isinstance(value, str):
        return f"{where} is no text"
    if not blank and not value.strip():
        return f"{where} is blank"
    try:
        value.encode()
    except UnicodeEncodeError as error:  # half a surrogate pair: no tokenizer and no Arrow reads it
        return f"{where} is no valid Unicode at character {error.start}"
    return ""
