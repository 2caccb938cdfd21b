"""Function-call cases written out as tests, in the language of the program. Pure."""

from __future__ import annotations

import json
import keyword
import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import shown
from .reference import Call, Calls, Tests
from .reward_function import BadReference

_EXACT = 2**53  # JavaScript's numbers hold every integer up to here
_DEPTH = 100  # CPython's parser gives up at 200 brackets


def call_tests(calls: Calls, language: str) -> Tests:
    """One test for each call: in Python an `==`, in JavaScript a `deepStrictEqual`.

    Raises:
        BadReference: a value or a name that the language cannot write, or a language that is
            neither.
    """
    write = {"python": _python_test, "javascript": _javascript_test}.get(language)
    if write is None:
        raise BadReference(f"cases with arguments are for python and javascript, not {language}")
    for call in calls.calls:
        _check_depth([*call.args, *call.kwargs.values(), call.output])
    return Tests(tuple(write(calls.entry_point, call) for call in calls.calls))


def _check_depth(values: list[Any]) -> None:
    for _ in range(_DEPTH):
        if not values:
            return
        values = [part for value in values for part in _parts(value)]
    raise BadReference("a value in a case is nested too deeply")


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _python_test(name: str, call: Call) -> str:
    for word in (name, *call.kwargs):
        if not word.isidentifier() or keyword.iskeyword(word):
            raise BadReference(f"{word!r} is no name in Python")
    arguments = [_python(value) for value in call.args]
    arguments += [f"{key}={_python(value)}" for key, value in call.kwargs.items()]
    return f"assert {name}({', '.join(arguments)}) == {_python(call.output)}"


def _javascript_test(name: str, call: Call) -> str:
    if call.kwargs:
        raise BadReference("JavaScript has no keyword arguments")
    arguments = ", ".join(map(_javascript, call.args))
    output = _javascript(call.output)
    return f"require('assert').deepStrictEqual({name}({arguments}), {output});"


def _python(value: Any) -> str:
    """A literal that is exactly this value."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_python(key)}: {_python(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_python, value))}]"
    if isinstance(value, tuple):
        return f"({''.join(f'{_python(item)}, ' for item in value)})"
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return ascii("".join(value))  # a subclass may show itself in another way
    return _number(value)


def _javascript(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(map(_member, value.items()))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_javascript, value))}]"
    if value is None or isinstance(value, bool | str):
        return json.dumps(value)
    if isinstance(value, int) and abs(value) > _EXACT:
        raise BadReference(f"JavaScript has no number that is exactly {_number(value)}")
    return _number(value)


def _member(member: tuple[Any, Any]) -> str:
    key, value = member
    if not isinstance(key, str):
        raise BadReference(f"a key of a JavaScript object must be a text, not {shown(key)}")
    # In brackets, for a bare `__proto__` is not a key but sets the prototype.
    return f"[{json.dumps(key)}]: {_javascript(value)}"


def _number(value: Any) -> str:
    if isinstance(value, float) and math.isnan(value):
        raise BadReference("a case holds NaN, which equals nothing")
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    if not isinstance(value, int | float):
        raise BadReference(f"a case holds what is no JSON: {shown(value)}")
    try:
        return int.__repr__(value) if isinstance(value, int) else float.__repr__(value)
    except ValueError:  # more digits than Python writes
        raise BadReference("a case holds a number of thousands of digits") from None
