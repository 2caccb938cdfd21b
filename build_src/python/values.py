"""Writes the values that tests ask for as text, which the host reads and judges.

JSON, in which null, booleans, integers, floats, strings and lists stand for themselves and all else
is an object with one key, its tag: `infinite_rl/sandbox/python/values.py` reads them. An object is
read with the methods of the built-in type that it derives from, never with its own. What derives
from none is opaque: only the name of its class crosses, and what it says to be true.
"""

import builtins
import collections
import datetime
import decimal
import fractions
import itertools
import json
import operator
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

# Programs may change the public builtins; the functions below keep these.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

_DEPTH = 80  # nested deeper, a value is opaque: the host's reader has a stack, too
_ITEMS = 2_000_000  # so is one of more items, where a container counts as ten more
_LONG_BITS = 2048  # decimal digits take quadratic time, and hosts refuse many of them
_quote = json.encoder.encode_basestring_ascii
_mro = vars(type)["__mro__"].__get__
_name = vars(type)["__name__"].__get__
_timedelta = datetime.timedelta
_islice = itertools.islice
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda item, box: item in box,
    "not in": lambda item, box: item not in box,
}
_COMPARISONS = frozenset(
    ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"]
)
# Types that may themselves be a value, as in `assert type(f(1)) == int`.
_TYPES = {
    kind: name
    for name, kind in sorted(vars(builtins).items())
    if isinstance(kind, type) and kind.__name__ == name
}
_TYPES[type(None)] = "NoneType"


class _TooMuch(Exception):
    """The value is nested too deeply or too large."""


class _Writer:
    """Writes one value. `opaque` says whether any part of it was."""

    def __init__(self) -> None:
        self.opaque = False
        self._room = _ITEMS
        self._depth = 0

    def text(self, value: object) -> str:
        writer = _WRITERS.get(type(value))
        if writer is None:
            writer = self._inherited(value)
        return writer(self, value)

    def _inherited(self, value: object) -> "Callable[[_Writer, Any], str]":
        return next((_WRITERS[kind] for kind in _mro(type(value)) if kind in _WRITERS), _opaque)

    def several(self, values: "Iterator[Any] | list[Any]") -> str:
        items = [*values]
        self._room -= len(items) + 10
        if self._room < 0 or self._depth >= _DEPTH:
            raise _TooMuch
        kinds = {*map(type, items)}
        if kinds == {int} and max(map(int.bit_length, items)) <= _LONG_BITS:
            return repr(items)
        if kinds == {str}:
            return f"[{','.join(map(_quote, items))}]"
        self._depth += 1
        text = f"[{','.join(map(self.text, items))}]"
        self._depth -= 1
        return text

    def pairs(self, items: "Iterator[tuple[Any, Any]]") -> str:
        keys, values = [], []
        for key, value in items:
            keys.append(key)
            values.append(value)
        return f"[{self.several(keys)},{self.several(values)}]"


def _opaque(writer: _Writer, value: object) -> str:
    writer.opaque = True
    return f'{{"o":{_quote(_name(type(value)))}}}'


def _int(_writer: _Writer, value: int) -> str:
    value = int.__index__(value)
    if value.bit_length() > _LONG_BITS:
        return f'{{"i":"{value:x}"}}'
    return int.__repr__(value)


def _float(_writer: _Writer, value: float) -> str:
    text = float.__repr__(value)
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)


def _type(writer: _Writer, value: type) -> str:
    known = _TYPES.get(value) if type(value) is type else None
    return _opaque(writer, value) if known is None else f'{{"T":"{known}"}}'


def _offset(value: Any) -> float | None:
    offset = value.utcoffset()
    return None if offset is None else _timedelta.total_seconds(offset)


def _fields(kind: type, names: str) -> Callable[[Any], list[Any]]:
    readers = [vars(kind)[name].__get__ for name in names.split()]
    return lambda value: [reader(value) for reader in readers]


_DATE = _fields(datetime.date, "year month day")
_CLOCK = "hour minute second microsecond fold"
_TIME = _fields(datetime.time, _CLOCK)
_OF_DATETIME = _fields(datetime.datetime, _CLOCK)
_TIMEDELTA = _fields(_timedelta, "days seconds microseconds")
_FRACTION = _fields(fractions.Fraction, "_numerator _denominator")
_RANGE = _fields(range, "start stop step")


def _tagged(
    tag: str, parts: Callable[[Any], Any], write: Callable[..., str] = _Writer.several
) -> Callable[[_Writer, Any], str]:
    return lambda writer, value: f'{{"{tag}":{write(writer, parts(value))}}}'


def _plain(_writer: _Writer, text: str) -> str:
    return f'"{text}"'


def _ordered(value: Any) -> "Iterator[tuple[Any, Any]]":
    return ((key, dict.__getitem__(value, key)) for key in collections.OrderedDict.__iter__(value))


_pairs = _Writer.pairs
_WRITERS: dict[type, Callable[[_Writer, Any], str]] = {
    type(None): lambda _writer, _value: "null",
    bool: lambda _writer, value: "true" if value else "false",
    int: _int,
    float: _float,
    str: lambda _writer, value: _quote(str.__str__(value)),
    list: lambda writer, value: writer.several(list.__iter__(value)),
    tuple: _tagged("t", tuple.__iter__),
    set: _tagged("s", set.__iter__),
    frozenset: _tagged("f", frozenset.__iter__),
    dict: _tagged("d", dict.items, _pairs),
    complex: _tagged("c", _fields(complex, "real imag")),
    bytes: _tagged("b", bytes.hex, _plain),
    bytearray: _tagged("B", bytearray.hex, _plain),
    range: _tagged("r", _RANGE),
    type: _type,
    type(...): lambda _writer, _value: '{"e":0}',
    type({}.keys()): _tagged("k", lambda view: [*view]),
    type({}.items()): _tagged("v", lambda view: dict(view).items(), _pairs),
    collections.Counter: _tagged("C", dict.items, _pairs),
    collections.OrderedDict: _tagged("O", _ordered, _pairs),
    collections.deque: _tagged("q", collections.deque.__iter__),
    collections.UserDict: _tagged("d", lambda value: dict.items(value.data), _pairs),
    collections.UserList: lambda writer, value: writer.several(list.__iter__(value.data)),
    collections.UserString: lambda _writer, value: _quote(value.data),
    types.MappingProxyType: _tagged("d", lambda value: dict(value).items(), _pairs),
    decimal.Decimal: _tagged("D", decimal.Decimal.__str__, _plain),
    fractions.Fraction: _tagged("F", _FRACTION),
    datetime.date: _tagged("Y", _DATE),
    datetime.time: _tagged("H", lambda value: [*_TIME(value), _offset(value)]),
    datetime.datetime: _tagged(
        "M", lambda value: [*_DATE(value), *_OF_DATETIME(value), _offset(value)]
    ),
    _timedelta: _tagged("L", _TIMEDELTA),
}


def _written(value: object) -> tuple[str, bool]:
    """The value as text, and whether it is opaque, in part or whole."""
    writer = _Writer()
    try:
        return writer.text(value), writer.opaque
    except (_TooMuch, RecursionError):
        return _opaque(writer, value), True


def _compares(value: object) -> bool:
    """Whether it derives from a built-in type and its class has comparisons of its own."""
    for kind in _mro(type(value)):
        if kind in _WRITERS:
            return False
        if not _COMPARISONS.isdisjoint(vars(kind)):
            return True
    return False


class Reports:
    """What one test has reported: the functions that a test's rewritten assertions call."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def text(self) -> str:
        return f"[{','.join(self._parts)}]"

    def _add(self, number: int, *texts: str) -> None:
        self._parts.append(f"[{number},{','.join(texts)}]" if texts else f"[{number}]")

    def judge(self, number: int, *values: object) -> None:
        self._add(number, *[_written(value)[0] for value in values])

    def truth(self, number: int, value: object) -> None:
        """One value whose truth is asked: an opaque one is asked for it."""
        text = _written(value)[0]
        if text.startswith('{"o"'):
            text = "true" if value else "false"
        self._add(number, text)

    def both(self, number: int, relation: str, left: object, right: object) -> None:
        """Two values; where one is opaque, or both are of classes that compare in ways of their
        own, also what they themselves say to be true."""
        first, second = _written(left), _written(right)
        texts = [first[0], second[0]]
        if first[1] or second[1] or (_compares(left) and _compares(right)):
            texts.append("true" if _OPERATORS[relation](left, right) else "false")
        self._add(number, *texts)

    def names(self) -> dict[str, Any]:
        return {
            "__judge__": self.judge,
            "__truth__": self.truth,
            "__both__": self.both,
            "__listed__": listed,
            "__raises__": raises,
            "__approx__": Approx,
        }


def listed(box: Any) -> Any:
    """What `in` looks through, as a container that can be written."""
    kind = type(box)
    if any(known in _WRITERS for known in _mro(kind)) and kind is not type:
        return box
    return [*_islice(box, _ITEMS)]


class Raises:
    """`pytest.raises` as a context."""

    def __init__(self, expected: Any, match: Any = None) -> None:
        self.type, self.value, self.tb = None, None, None
        self._expected, self._match = expected, match

    def __enter__(self) -> "Raises":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind is None:
            raise AssertionError(f"DID NOT RAISE {self._expected!r}")
        if not issubclass(kind, self._expected):
            return False
        self.type, self.value, self.tb = kind, error, trace
        return self._match is None or self.match(self._match)

    def match(self, pattern: Any) -> bool:
        if not re.search(pattern, str(self.value)):
            raise AssertionError(f"{pattern!r} is not in {str(self.value)!r}")
        return True


def raises(expected: Any, *call: Any, match: Any = None, **options: Any) -> Raises:
    """`pytest.raises`, as a context or with the call to be made."""
    context = Raises(expected, match)
    if call:
        with context:
            call[0](*call[1:], **options)
    return context


class Approx:
    """`pytest.approx` of a number, where the host does not see the comparison as one."""

    __hash__ = None  # type: ignore[assignment]  # it equals what has other hashes

    def __init__(self, expected: Any, rel: Any = None, abs: Any = None) -> None:
        self._expected = expected
        least = 1e-12 if abs is None else abs
        share = (1e-6 if abs is None else 0) if rel is None else rel
        self._tolerance = max(least, share * builtins.abs(expected))

    def __eq__(self, actual: Any) -> bool:
        same: bool = actual == self._expected
        return same or abs(actual - self._expected) <= self._tolerance
