"""Read the values that the Python guest reports, and format them for messages.

`build_src/python/values.py` writes them. The program controls them: they may be any text.
"""

from __future__ import annotations

import builtins
import json
import reprlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import Any

_COLLISIONS = 64  # more keys of one hash than this would take the host quadratic time
_BRACKETS = 1_000_000  # each is an object here, of some hundred bytes
_LARGE_BITS = 65536  # fractions and ranges take quadratic time in the bits of their parts
_SHOWN_CHARS = 160
_SHOWN_BITS = 2048


class Unreadable(ValueError):
    """The text is not an encoding that the guest writes."""


@dataclass(frozen=True, eq=False)
class Opaque:
    """An object of which only the class name was reported: it equals nothing."""

    type_name: str

    def __repr__(self) -> str:
        return f"<{self.type_name} object>"


def read_reports(text: str) -> list[tuple[int, list[Any]]]:
    """Decode the reports of a test: each assertion's number with its values, in order.

    Raises `Unreadable` for any other text.
    """
    if text.count("[") + text.count("{") > _BRACKETS:
        raise Unreadable("too many parts")
    try:
        entries = json.loads(text)
        return [(_number(entry[0]), [_value(value) for value in entry[1:]]) for entry in entries]
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except Unreadable:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise Unreadable(str(error)) from None


def _number(number: Any) -> int:
    if type(number) is not int:
        raise Unreadable("an assertion's number is an integer")
    return number


def _value(data: Any) -> Any:
    if type(data) is list:
        return [_value(item) for item in data]
    if type(data) is dict:
        ((tag, content),) = data.items()
        return _READERS[tag](content)
    return data


def _items(content: Iterable[Any]) -> list[Any]:
    return [_value(item) for item in content]


def _keys(content: Iterable[Any]) -> list[Any]:
    """Decode the keys of a set or dict. Raises `Unreadable` if one is repeated."""
    keys = _items(content)
    hashes = Counter(map(hash, keys))
    if len(hashes) < len(keys) and max(hashes.values()) > _COLLISIONS:
        raise Unreadable("too many keys have one hash")
    if len(set(keys)) < len(keys):  # which a container of the built-in kind cannot hold
        raise Unreadable("the same key twice")
    return keys


def _small(content: Iterable[Any]) -> list[int]:
    numbers = _items(content)
    if any(number.bit_length() > _LARGE_BITS for number in numbers):
        raise Unreadable("a fraction or range of huge numbers")
    return numbers


def _pairs(content: list[Any]) -> list[tuple[Any, Any]]:
    keys, values = content
    return list(zip(_keys(keys), _items(values), strict=True))


class _Decimal(Decimal):
    """A decimal that refuses huge integers, since to convert these takes quadratic time."""


def _guarded(name: str) -> Callable[[Decimal, Any], Any]:
    compute = getattr(Decimal, name)

    def method(number: Decimal, other: Any) -> Any:
        if isinstance(other, int) and other.bit_length() > _LARGE_BITS:
            raise ValueError("a huge integer beside a decimal")
        return compute(number, other)

    return method


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__sub__", "__rsub__"):
    setattr(_Decimal, _name, _guarded(_name))


def _zone(offset: float | None) -> tzinfo | None:
    return None if offset is None else timezone(timedelta(seconds=offset))


def _time(parts: list[Any]) -> time:
    hour, minute, second, microsecond, fold, offset = parts
    return time(hour, minute, second, microsecond, _zone(offset), fold=fold)


def _datetime(parts: list[Any]) -> datetime:
    return datetime.combine(date(*parts[:3]), _time(parts[3:]))


def _type(name: str) -> Any:
    if name == "NoneType":
        return NoneType
    kind = getattr(builtins, name, None)  # an exception class that this Python is too old for
    return kind if isinstance(kind, type) else Opaque(name)


_READERS: dict[str, Callable[[Any], Any]] = {
    "o": lambda name: Opaque(ascii(name)[1:-1]),
    "i": lambda digits: int(digits, 16),
    "e": lambda _: ...,
    "T": _type,
    "t": lambda items: tuple(_items(items)),
    "s": lambda items: set(_keys(items)),
    "f": lambda items: frozenset(_keys(items)),
    "d": lambda pairs: dict(_pairs(pairs)),
    "C": lambda pairs: Counter(dict(_pairs(pairs))),
    "O": lambda pairs: OrderedDict(_pairs(pairs)),
    "q": lambda items: deque(_items(items)),
    "k": lambda items: dict.fromkeys(_keys(items)).keys(),
    "v": lambda pairs: dict(_pairs(pairs)).items(),
    "c": lambda parts: complex(*parts),
    "b": bytes.fromhex,
    "B": bytearray.fromhex,
    "r": lambda parts: range(*_small(parts)),
    "D": _Decimal,
    "F": lambda parts: Fraction(*_small(parts)),
    "Y": lambda parts: date(*parts),
    "H": _time,
    "M": _datetime,
    "L": lambda parts: timedelta(*parts),
}


class _Repr(reprlib.Repr):
    """`repr`, cut short at every level; it never writes out a huge integer."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 6
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = self.maxdict = 40
        self.maxdeque = self.maxstring = self.maxother = _SHOWN_CHARS

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002 - the base class calls it so
        if x.bit_length() > _SHOWN_BITS:
            return f"<an integer of {x.bit_length()} bits>"
        return repr(x)

    def repr_bytes(self, x: bytes, level: int) -> str:  # noqa: ARG002 - as above
        return repr(x[:_SHOWN_CHARS])


_repr = _Repr()


def shown(value: Any) -> str:
    """Format a value as `repr` does, cut to about 160 characters."""
    if isinstance(value, type):
        return value.__name__
    text = _repr.repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
