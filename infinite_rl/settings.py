"""What a long job is told: keys of a YAML file and flags, checked by name, type and range.

Each job has a frozen record of its own, a `Settings`, with one field for each key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from .errors import StoreError, UsageError

Kinds = Mapping[str, type]
Told = TypeVar("Told", bound="Settings")
Value = TypeVar("Value")

_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
# What a field's annotation asks of its value, where that is not the type itself.
_KINDS: Mapping[Any, type] = {
    str | float: float,
    Sequence[str]: tuple,
    Mapping[str, Any]: dict,
    Sequence[Mapping[str, Any]]: list,
}


def ranged(default: Value, low: float, high: float = math.inf) -> Value:
    """A key whose number lies from `low` to `high`."""
    return field(default=default, metadata={"range": (low, high)})


def one_of(default: Value, known: Sequence[str]) -> Value:
    """A key whose value, or each name of whose list, is one of those known."""
    return field(default=default, metadata={"known": known})


@dataclass(frozen=True)
class Settings:
    """All that one job is told; a field for each key, of a type that `_KINDS` or `typed` knows.

    A text that is a key's default is taken as it is, such as "auto" for a number. The docstring of
    a job's own class says what each key is for: a line with the name, two spaces and the words.

    Raises:
        UsageError: a value is of the wrong type, out of its range, none of those known, or missing
            where the key has no default; the message names the key.
    """

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not (isinstance(value, str) and value == each.default):
                value = typed(each.name, self.kinds()[each.name], value)
                object.__setattr__(self, each.name, value)
        for each in fields(self):
            self._check(each.name, getattr(self, each.name), each.metadata)
        for name in self._needed():
            if not str(getattr(self, name)).strip():
                raise UsageError(f"{name} is missing: {self.explained().get(name)}")

    @staticmethod
    def _check(name: str, value: Any, limits: Mapping[str, Any]) -> None:
        if "range" in limits and not isinstance(value, str):
            check_range(name, value, *limits["range"])
        if "known" in limits:
            for each in [value] if isinstance(value, str) else value:
                check_choice(name, each, limits["known"])

    @classmethod
    def _needed(cls) -> list[str]:
        """The keys without a default."""
        return [each.name for each in fields(cls) if each.name not in cls.defaults()]

    @classmethod
    @cache
    def kinds(cls) -> Kinds:
        """The type of each key, as `typed` takes it."""
        hints = get_type_hints(cls)
        return {each.name: _KINDS.get(hints[each.name], hints[each.name]) for each in fields(cls)}

    @classmethod
    def explained(cls) -> Mapping[str, str]:
        """What each key is for, in the words of the class."""
        return dict(re.findall(r"^(\w+) {2,}(.+)$", cleandoc(cls.__doc__ or ""), re.MULTILINE))

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The default of each key that has one."""
        found = {}
        for each in fields(cls):
            if each.default_factory is not MISSING:
                found[each.name] = each.default_factory()
            elif each.default is not MISSING:
                found[each.name] = each.default
        return found

    @classmethod
    def of(cls: type[Told], values: Mapping[str, Any]) -> Told:
        """The settings of values by key.

        Raises:
            UsageError: a key is not known (the nearest known one is named), or as the class.
        """
        check_keys(values, cls.kinds())
        return cls(**{**dict.fromkeys(cls._needed(), ""), **values})

    @classmethod
    def read(
        cls: type[Told],
        path: str | Path,
        changes: Mapping[str, Any] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> Told:
        """The settings of a YAML file, `changes` to it, and `defaults` of what it does not say.

        Raises:
            UsageError: there is no such file, it is no YAML mapping, or as `of`.
            StoreError: it cannot be read.
        """
        try:
            return cls.of({**(defaults or {}), **read_yaml(Path(path)), **(changes or {})})
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None

    def values(self) -> dict[str, Any]:
        """All values by key, as JSON and YAML can hold them; `of` takes them."""
        found = asdict(self)
        return {name: list(v) if isinstance(v, tuple) else v for name, v in found.items()}


def check_keys(values: Iterable[object], kinds: Kinds) -> None:
    """Raise UsageError for the first key that is not known; it names the nearest known one."""
    for key in values:
        if key not in kinds:
            hint = nearest(str(key), kinds) or f"; known: {', '.join(sorted(kinds))}"
            raise UsageError(f"unknown key {key!r}{hint}")


def of_texts(texts: Mapping[str, str | None], kinds: Kinds) -> dict[str, Any]:
    """The values of texts by key, such as a command line's: JSON where a key holds mappings.

    A key without a text has no value.

    Raises:
        UsageError: a key holds mappings, and its text is no JSON.
    """
    return {key: _of_text(key, kinds[key], text) for key, text in texts.items() if text is not None}


def _of_text(key: str, kind: type, text: str) -> Any:
    if kind is tuple:
        return [name for name in text.split(",") if name]
    if kind in (dict, list):
        try:
            return json.loads(text)
        except ValueError:
            such = '{"key": 1}' if kind is dict else '[{"key": 1}]'
            raise UsageError(f"--{key} takes JSON, such as {such}, not {text!r}") from None
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if kind is int:
        try:
            return int(text)
        except ValueError:
            return text  # refused with its key where all values are checked
    return text


def nearest(name: str, known: Iterable[str]) -> str:
    """What is said of a name that is not known: the nearest one that is, "" where none is near."""
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def typed(name: str, kind: type, value: Any) -> Any:
    """The value as its key's type: a number may be whole, and YAML reads 1e-6 as a text.

    Raises:
        UsageError: it is of another type; the message names the key.
    """
    if kind is float and isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    elif kind is tuple and isinstance(value, list | tuple):
        if all(isinstance(each, str) for each in value):
            return tuple(value)
    elif kind is dict:
        if _is_mapping(value):
            return dict(value)
    elif kind is list and isinstance(value, list | tuple):
        if all(_is_mapping(each) for each in value):
            return tuple(dict(each) for each in value)
    elif isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
        return value
    raise UsageError(f"{name} must be {_KIND_NAMES[kind]}, not {value!r}")


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(each, str) for each in value)


_KIND_NAMES: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "a mapping of names",
    tuple: "a list of names",
    list: "a list of mappings of names",
}


def check_range(name: str, value: float, low: float, high: float = math.inf) -> None:
    """Raise UsageError where a number is not from `low` to `high`, or not finite."""
    if not (low <= value <= high and value < math.inf):  # also refuses nan
        least = f"at least {low:g}" if high == math.inf else f"in [{low:g}, {high:g}]"
        raise UsageError(f"{name} must be {least}, not {value!r}")


def check_device(name: str) -> None:
    """Raise UsageError where a `device` is none that torch can be asked for."""
    if not _DEVICE.fullmatch(name):
        raise UsageError(f"device is auto, cpu, mps, cuda or cuda:N, not {name!r}")


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    """Raise UsageError where a value is none of those known."""
    if value not in known:
        raise UsageError(f"{name} is one of {', '.join(known)}, not {value!r}")


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds.

    Raises:
        UsageError: there is no such file, or it is no YAML mapping.
        StoreError: it cannot be read.
    """
    yaml = _yaml()
    try:
        text = path.read_text(encoding="utf-8-sig")
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        endless = _holds_itself(tree)
        found = yaml.safe_load(text)
    except (FileNotFoundError, IsADirectoryError):
        raise UsageError("there is no such file") from None
    except UnicodeDecodeError:
        raise UsageError("it is not UTF-8") from None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"it is no YAML: {' '.join(str(error).split())}") from None
    if endless:
        raise UsageError("an alias in it holds itself")
    if not isinstance(found, dict):
        raise UsageError("it holds no mapping of keys to values")
    keys = [key.value for key, _ in tree.value]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise UsageError(f"the key {twice[0]!r} is there twice")
    return found


def _holds_itself(node: Any, above: tuple[Any, ...] = (), seen: set[Any] | None = None) -> bool:
    """Whether a YAML node is among those that it holds, through an alias."""
    seen = set() if seen is None else seen
    if any(node is each for each in above):
        return True
    if node in seen or not isinstance(getattr(node, "value", None), list):
        return False
    seen.add(node)
    held = [each for item in node.value for each in (item if isinstance(item, tuple) else (item,))]
    return any(_holds_itself(each, (*above, node), seen) for each in held)


def to_yaml(values: Mapping[str, Any]) -> str:
    """Values by key as YAML, in their order. Raises UsageError where PyYAML is missing."""
    text: str = _yaml().safe_dump(dict(values), sort_keys=False)
    return text


def _yaml() -> Any:
    try:
        import yaml
    except ModuleNotFoundError:
        raise UsageError("YAML needs PyYAML: pip install 'infinite-rl[train]'") from None
    return yaml
