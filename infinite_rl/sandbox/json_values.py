"""Compare JSON values: by default what a program returned with what is expected. Pure.

A tuple is an array, as in `json.dumps`. Numbers are compared by value: 3 is 3.0, and `true` is not
a number. If one of the two is not an integer, they may differ by a rounding error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

_RELATIVE = 1e-9
_ZERO = 1e-12  # absolute, if 0 is expected
_WHOLE = 1e-6  # absolute, between an integer and a fraction
_EXACT = 2**53  # every integer up to here is a float, and none is a rounding of another
_SHOWN_CHARS = 160
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)


def shown_json(value: Any) -> str:
    """Write a value as JSON, cut to about 160 characters."""
    text, parts = "", _ENCODER.iterencode(value)
    while len(text) <= _SHOWN_CHARS and (part := next(parts, "")):
        text += part
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def same_json(
    actual: Any, expected: Any, same_leaf: Callable[[Any, Any], bool] | None = None
) -> bool:
    """Whether `actual` is the JSON value `expected`.

    `actual` is plain data. `expected` consists of None, booleans, numbers, texts, lists, tuples and
    mappings. `same_leaf` compares what is neither a list nor a mapping; by default NaN is NaN, and
    numbers may differ by rounding. Work is linear in the size of `expected`. Never raises.
    """
    same_leaf = same_leaf or _same_leaf
    pairs = [(actual, expected)]  # a work list, since nesting may be deep
    while pairs:
        one, other = pairs.pop()
        if isinstance(other, Mapping):
            if not isinstance(one, Mapping) or len(one) != len(other):
                return False
            keys = {(type(key) is bool, key): key for key in one}  # True is no 1 here either
            if keys.keys() != {(type(key) is bool, key) for key in other}:
                return False
            pairs.extend((one[key], item) for key, item in other.items())
        elif isinstance(other, (list, tuple)):
            if not isinstance(one, (list, tuple)) or len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif not same_leaf(one, other):
            return False
    return True


def _same_leaf(actual: Any, expected: Any) -> bool:
    if expected is None or isinstance(expected, bool):
        return actual is expected
    if isinstance(expected, str):
        return isinstance(actual, str) and actual == expected
    if isinstance(actual, bool) or not isinstance(actual, (int, float, Decimal, Fraction, complex)):
        return False
    try:
        return bool(actual == expected) or _is_rounding(actual, expected)
    except (ValueError, ArithmeticError):  # a huge integer beside a decimal or a float
        return False


def _is_rounding(actual: Any, expected: Any) -> bool:
    """Whether two unequal numbers may differ by a rounding error only.

    Two integers never do: a program that counts one too many is wrong at any size.
    """
    is_float = [isinstance(number, float) for number in (actual, expected)]
    if isinstance(actual, complex) or not any(is_float):
        return False
    one, other = float(actual), float(expected)
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.isnan(one) and math.isnan(other)
    gap, size = abs(one - other), max(abs(one), abs(other))
    if other == 0:
        return gap <= _ZERO
    whole = one.is_integer() + other.is_integer()
    if whole == 2 and not (all(is_float) and size > _EXACT):
        return False
    return gap <= _RELATIVE * size and (whole != 1 or gap <= _WHOLE)
