"""Plain tests, compared on the host: a call of the program's, and the constant that it must give,
or an expression of its value that must hold.

The guest sends each value as JSON, in the forms of `build_src/python/guest`. What a program sends
is hostile. It becomes plain data of about the size of what is expected, or is unequal to it.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from ..json_values import same_json
from .expressions import COMPARISONS, Undecided, evaluated
from .shown import SHOWN_CHARS, cut, failed_assertion

_MAX_CHARS = 8_000_000  # of one value; the host needs a multiple of it in memory
_MAX_DIGITS = 1000  # hexadecimal, of an integer within a Fraction or a range
_MAX_PARTS, _MAX_MEMBERS = 20_000, 2000  # of a value in an expression; of a set in it
_MORE_PARTS = 100  # than those of what is expected: a value that has them is unequal
_UNREADABLE = "the value cannot be read, or is too large or too deep to be compared"


class Step(NamedTuple):
    """A call, as text, and what its value must be.

    `relation` is "==", "is" or "json"; or "holds", if what is expected is an expression.
    """

    text: str
    message: Any
    relation: str
    expected: Any
    parts: int  # of what is expected
    most: int  # members of a set or mapping in it


def plain_tests(steps: str, texts: Iterable[str], expected: Iterable[Any]) -> list[list[Step]]:
    """Read the steps that the guest has planned, which is trusted; or make those of JSON values."""
    if expected := tuple(expected):
        return [
            [_step(text, None, "json", value)] for text, value in zip(texts, expected, strict=True)
        ]
    read = _Forms(len(steps), len(steps)).value
    return [
        [_step(text, note, relation, read(form)) for text, note, relation, form in test]
        for test in json.loads(steps)
    ]


def _step(text: str, message: Any, relation: str, expected: Any) -> Step:
    return Step(text, message, relation, expected, *_size(expected))


def failure_of(step: Step, message: str) -> str | None:
    """Return why a step fails with the value or error that the program's side told, or None.

    Raises `Undecided` if an interpreter has to run the tests.
    """
    try:
        if len(message) > _MAX_CHARS:
            return _UNREADABLE
        is_error, form = json.loads(message)
        if is_error is not False:
            return _error_text(form)
        if step.relation == "holds":
            return _unheld(step, _Forms(_MAX_PARTS, _MAX_MEMBERS, is_exact=True).value(form))
        return None if _holds(step, form) else _difference(step, form)
    except _HOSTILE:
        return _UNREADABLE


# What a malformed message, or an odd number within it, leads to.
_HOSTILE = ArithmeticError, LookupError, AttributeError, TypeError, ValueError, RecursionError


def _holds(step: Step, form: Any) -> bool:
    try:
        value = _Forms(step.parts + _MORE_PARTS, step.most).value(form)
    except _LargerThanExpected:
        return False
    if step.relation == "json":
        return same_json(value, step.expected)
    return value is step.expected if step.relation == "is" else bool(value == step.expected)


def _unheld(step: Step, value: Any) -> str | None:
    """Return why an expression does not hold, or None."""
    kind, *parts = step.expected
    values = []
    if kind == "operation" and parts[0] in COMPARISONS:
        name, operands, options = parts
        values = [evaluated(each, value) for each in operands]
        constants = tuple(("constant", each) for each in values)
        holds = evaluated((kind, name, constants, options), value)
        values = [v for v, each in zip(values, operands, strict=True) if each[0] != "constant"]
    else:
        holds = evaluated(step.expected, value)
    if holds:
        return None
    shown = [cut(repr(each)) for each in values]
    return f"AssertionError: {failed_assertion(step.text, step.message, shown)}"


def _difference(step: Step, form: Any) -> str:
    text, shown = step.text, ""
    if step.relation == "json":
        text += f" == {cut(repr(step.expected))}"
    for piece in _pieces(form):
        shown += piece
        if len(shown) > SHOWN_CHARS:
            break
    return f"AssertionError: {failed_assertion(text, step.message, [cut(shown)])}"


def _error_text(form: Any) -> str:
    if isinstance(form, str):  # the test is no code
        return form
    _tag, _handle, cls, _arguments, text, *_ = form
    name = cls[2] if cls[0] in ("C", "std") else cls[1]
    return f"{name}: {text}".removesuffix(": ").encode("utf-8", "backslashreplace").decode()


# --- values --------------------------------------------------------------------------------------


class _LargerThanExpected(Exception):
    """A value has more parts than what is expected."""


class _Object:
    """An object of the program's that is no data: it equals nothing."""


class _Forms:
    """Reads one value of at most so many parts; one that is there twice counts twice.

    A set or mapping of more than `most` members is no data: to build it takes long, if the program
    has chosen integers of one hash. Only values of Python's own types are `exact`.
    """

    def __init__(self, parts: int, most: int, is_exact: bool = False) -> None:
        self._left, self._most, self._is_exact = parts, most, is_exact
        self._seen: dict[Any, tuple[Any, int]] = {}  # values and their parts, by name or handle

    def value(self, form: Any) -> Any:
        if not isinstance(form, list):
            return form
        tag, *parts = form
        if self._is_exact and tag not in ("m", "M", "t", "F", "u", "b"):
            raise Undecided
        before = self._left
        if tag in ("m", "h"):
            value, count = self._seen.get(parts[0]) or (self._object(), 1)
            self._take(count)
        elif tag == "o":
            value = self.value(parts[2]) if len(parts) > 2 else _Object()
            self._seen[parts[0]] = value, before - self._left
        elif tag == "M":
            name, kind, content = parts
            value = self._container(kind, content)
            self._seen[name] = value, before - self._left
        else:
            value = self._scalar(tag, parts)
        return value

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Undecided if self._is_exact else _LargerThanExpected

    def _object(self) -> _Object:
        if self._is_exact:
            raise Undecided
        return _Object()

    def _scalar(self, tag: str, parts: list[Any]) -> Any:
        if tag == "i":
            return int(parts[0], 16)
        if tag == "u":
            return bytes.fromhex(parts[0]).decode("utf-8", "surrogatepass")
        if tag == "nan":
            return float("nan")
        if tag == "b":
            return bytes.fromhex(parts[0])
        self._take(len(parts) if tag in ("t", "F", "vw") else 0)
        if tag == "t":
            return tuple(map(self.value, parts))
        if tag == "F" or (tag == "vw" and parts[0] != "values"):
            members = parts[tag == "vw" :]
            is_few = len(members) <= self._most
            return frozenset(map(self.value, members)) if is_few else self._object()
        if tag == "De" and len(parts[0]) <= _MAX_DIGITS:
            return Decimal(parts[0])
        if tag in _NUMBERS and all(map(_is_short, parts)):
            return _NUMBERS[tag](*map(self.value, parts))
        return _Object()

    def _container(self, kind: str, content: Any) -> Any:
        if kind == "B":
            return self._object() if self._is_exact else bytes.fromhex(content)
        is_raw, items, extra = content
        if self._is_exact and kind not in "lds":
            raise Undecided
        self._take(len(items))
        count = len(items) // (2 if kind in "dOKD" else 1)
        if kind in "dOKDs" and count > self._most:
            return self._object()
        items = items if is_raw else [*map(self.value, items)]
        if kind in "dOKD":
            pairs = zip(items[:count], items[count:], strict=True)
            return collections.Counter(dict(pairs)) if kind == "K" else dict(pairs)
        if kind == "s":
            return set(items)
        return collections.deque(items, extra) if kind == "q" else items


_NUMBERS: dict[str, Callable[..., Any]] = {"c": complex, "r": range, "Fr": Fraction}


def _is_short(form: Any) -> bool:
    """Whether a number is no text and no huge integer."""
    if isinstance(form, list):
        return form[0] == "i" and len(form[1]) <= _MAX_DIGITS
    return isinstance(form, int | float)


def _size(value: Any) -> tuple[int, int]:
    """Return how many parts a value has, and how many members its largest set or mapping."""
    if isinstance(value, Mapping):
        children, count, most = [*value, *value.values()], 2 * len(value), len(value)
    elif isinstance(value, list | tuple | set | frozenset):
        children, count = [*value], len(value)
        most = count if isinstance(value, set | frozenset) else 0
    else:
        return 0, 0
    sizes = [*map(_size, children)]
    return count + sum(parts for parts, _ in sizes), max([most, *(each for _, each in sizes)])


# --- their text ----------------------------------------------------------------------------------

_BRACKETS = {"t": "()", "l": "[]", "s": "{}", "d": "{}", "O": "{}", "K": "{}", "D": "{}", "q": "[]"}
_NAMES = {"fn": "function", "g": "generator", "co": "coroutine", "T": "type", "C": "type"}


def _pieces(form: Any) -> Iterator[str]:
    """Yield the text of a value, as `repr` would write it, as far as somebody reads."""
    if not isinstance(form, list):
        yield repr(form[:SHOWN_CHARS] if isinstance(form, str) else form)
        return
    tag, *parts = form
    if tag == "M":
        yield from _container_pieces(*parts[1:])
    elif tag == "t":
        yield from _joined("(", parts, ",)" if len(parts) == 1 else ")")
    elif tag == "o" and len(parts) > 2:
        yield from _pieces(parts[2])
    elif tag == "o":
        cls = parts[1]
        yield f"<{cls[2]} object>" if cls[0] == "C" else "<object>"
    elif tag == "i":
        yield f"<an integer of {int(parts[0], 16).bit_length()} bits>"
    elif tag == "nan":
        yield "nan"
    elif tag in ("De", "Fr", "r", "c", "b"):
        yield f"{_VALUE_NAMES[tag]}({str(parts)[1:-1][:SHOWN_CHARS]})"
    elif tag in ("F", "vw"):
        yield from _joined("frozenset({", parts[tag == "vw" :], "})")
    else:
        yield f"<{_NAMES.get(tag, 'object')}>"


_VALUE_NAMES = {"De": "Decimal", "Fr": "Fraction", "r": "range", "c": "complex", "b": "bytes"}


def _container_pieces(kind: str, content: Any) -> Iterator[str]:
    if kind == "B":
        yield f"bytearray({content[:SHOWN_CHARS]!r})"
        return
    _is_raw, items, _extra = content
    opening, closing = _BRACKETS[kind][0], _BRACKETS[kind][1]
    if kind in "dOKD":
        count = len(items) // 2
        yield opening
        for number in range(count):
            yield ", " if number else ""
            yield from _pieces(items[number])
            yield ": "
            yield from _pieces(items[count + number])
        yield closing
    else:
        yield from _joined(opening, items, closing)


def _joined(opening: str, items: list[Any], closing: str) -> Iterator[str]:
    yield opening
    for number, item in enumerate(items):
        yield ", " if number else ""
        yield from _pieces(item)
    yield closing
