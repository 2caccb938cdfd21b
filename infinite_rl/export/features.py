"""The types of columns in the words of `datasets`, as a dataset card declares them.

A feature is the name of a type ("string", "int64", "float64", "bool", "null" where there is no
value), a tuple of one feature for lists, a mapping of names for objects, and "" where values have
no such type in common.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import TypeAlias

Feature: TypeAlias = "str | tuple[Feature] | dict[str, Feature]"

_NAMES = {str: "string", int: "int64", float: "float64", bool: "bool", type(None): "null"}
_DEEPEST, _MOST = 10, 100  # objects with more names than that are maps, which have no type
_CHARS = 80


def feature_of(value: object, deepest: int = _DEEPEST) -> Feature:
    """The type of one JSON value."""
    if not deepest or (type(value) is int and not -(2**63) <= value < 2**63):
        return ""
    if isinstance(value, list):
        nothing: Feature = "null"
        return _listed(reduce(common, (feature_of(each, deepest - 1) for each in value), nothing))
    if isinstance(value, dict):
        return _object({name: feature_of(each, deepest - 1) for name, each in value.items()})
    return _NAMES.get(type(value), "")


def common(one: Feature, other: Feature) -> Feature:
    """The type that holds the values of both."""
    if one == other or other == "null":
        return one
    if one == "null":
        return other
    if isinstance(one, tuple) and isinstance(other, tuple):
        return _listed(common(one[0], other[0]))
    if isinstance(one, dict) and isinstance(other, dict):
        names = {**one, **other}
        return _object(
            {name: common(one.get(name, "null"), other.get(name, "null")) for name in names}
        )
    return "float64" if one in _NUMBERS and other in _NUMBERS else ""


def declared(columns: Mapping[str, Feature]) -> list[str]:
    """The columns as YAML, a line each; nothing where one has no type, or an odd name."""
    if not all(map(_is_known, columns.values())) or not all(map(_is_plain, _names(columns))):
        return []
    return [f"  - {json.dumps(each, ensure_ascii=False)}" for each in _fields(columns)]


_NUMBERS = ("int64", "float64")


def _listed(inner: Feature) -> Feature:
    return "" if inner == "" else (inner,)


def _object(fields: dict[str, Feature]) -> Feature:
    return "" if "" in fields.values() or len(fields) > _MOST else fields


def _is_known(feature: Feature) -> bool:
    """Whether it can be declared: `datasets` has no type for objects without any name."""
    if isinstance(feature, dict):
        return bool(feature) and all(map(_is_known, feature.values()))
    return _is_known(feature[0]) if isinstance(feature, tuple) else bool(feature)


def _fields(fields: Mapping[str, Feature]) -> list[dict[str, object]]:
    return [{"name": name, **_kind(feature)} for name, feature in fields.items()]


def _kind(feature: Feature) -> dict[str, object]:
    """As `Features` of `datasets` writes it: what a list holds stands without a word of its own."""
    if isinstance(feature, str):
        return {"dtype": feature}
    if isinstance(feature, dict):
        return {"struct": _fields(feature)}
    inner = _kind(feature[0])
    return {"list": inner.get("dtype") or inner.get("struct") or inner}


def _names(feature: Feature | Mapping[str, Feature]) -> Iterator[str]:
    if isinstance(feature, tuple):
        yield from _names(feature[0])
    elif isinstance(feature, Mapping):
        for name, inner in feature.items():
            yield name
            yield from _names(inner)


def _is_plain(name: str) -> bool:
    return name.isprintable() and len(name) <= _CHARS
