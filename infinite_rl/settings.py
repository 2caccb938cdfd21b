"""What a long job is told: keys of a YAML file and flags, checked by name, type and range.

Each job has a frozen record of its own, and beside it `kinds`: the type of each key.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from .errors import StoreError, UsageError

Kinds = Mapping[str, type]


def check_keys(values: Iterable[object], kinds: Kinds) -> None:
    """Raise UsageError for the first key that is not known; it names the nearest known one."""
    for key in values:
        if key not in kinds:
            raise UsageError(f"unknown key {key!r}{_nearest(str(key), kinds)}")


def from_flags(words: Sequence[str], kinds: Kinds) -> dict[str, Any]:
    """The values of flags: `--steps 20`, `--steps=20`, and JSON where a key holds a mapping.

    Raises:
        UsageError: a word is no flag, has no value or is there twice, or a key is not known.
    """
    found: dict[str, Any] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("--"):
            raise UsageError(f"{word!r} is no flag: --key value")
        key, equals, text = word[2:].partition("=")
        key = key.replace("-", "_")
        if key not in kinds:
            raise UsageError(f"unknown flag --{key}{_nearest(key, kinds, '--')}")
        if key in found:
            raise UsageError(f"--{key} is there twice")
        if not equals and not left:
            raise UsageError(f"--{key} needs a value")
        found[key] = _of_text(key, kinds[key], text if equals else left.pop(0))
    return found


def _of_text(key: str, kind: type, text: str) -> Any:
    if kind is tuple:
        return [name for name in text.split(",") if name]
    if kind is dict:
        try:
            return json.loads(text)
        except ValueError:
            raise UsageError(f'--{key} takes JSON, such as {{"key": 1}}, not {text!r}') from None
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if kind is int:
        try:
            return int(text)
        except ValueError:
            return text  # refused with its key where all values are checked
    return text


def _nearest(name: str, known: Kinds, dashes: str = "") -> str:
    near = get_close_matches(name, known, 1)
    others = ", ".join(sorted(known))
    return f"; did you mean {dashes}{near[0]}?" if near else f"; known: {others}"


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
    elif kind is dict and isinstance(value, Mapping):
        if all(isinstance(each, str) for each in value):
            return dict(value)
    elif isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
        return value
    raise UsageError(f"{name} must be {_KIND_NAMES[kind]}, not {value!r}")


_KIND_NAMES: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "a mapping of names",
    tuple: "a list of names",
}


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Raise UsageError where a number is not from `low` to `high`."""
    if not (low <= value <= high and value < math.inf):  # also refuses nan
        least = f"at least {low:g}" if high == math.inf else f"in [{low:g}, {high:g}]"
        raise UsageError(f"{name} must be {least}, not {value!r}")


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
        found = yaml.safe_load(text)
    except (FileNotFoundError, IsADirectoryError):
        raise UsageError("there is no such file") from None
    except UnicodeDecodeError:
        raise UsageError("it is not UTF-8") from None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"it is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise UsageError("it holds no mapping of keys to values")
    keys = [key.value for key, _ in tree.value]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise UsageError(f"the key {twice[0]!r} is there twice")
    return found


def _yaml() -> Any:
    try:
        import yaml
    except ModuleNotFoundError:
        raise UsageError("YAML needs PyYAML: pip install 'infinite-rl[train]'") from None
    return yaml
