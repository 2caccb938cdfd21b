"""Task types in YAML files: what a model is told, the axes that tell tasks apart, the reward.

    name: conversions
    reward: math
    axes:
      quantity: [length, mass]
      unit: {refines: quantity, values: {length: [mile, fathom], mass: [stone, troy ounce]}}
      level: math
    request: Write a riddle about the {{ unit }}.
    answer: The value only, exact.
    response: The tag holds the value alone.

An axis is a list of values; or "code", "math", "logic" or "sql", whose axis of that name it is
(`concept` brings `area` and `skill`); or a mapping with some of these keys:

    values   a list; or by value its weight (a number), its note for the author (a text), or both:
             {weight: 2, note: "..."}; with `refines`, such values by value of that axis
    phrase   how a request states a value: "It is about {value}"; "" does not state it
    when     values of earlier axes, by axis: the axis is drawn only with one of them each
    refines  an earlier axis, whose value decides which values there are
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import UnionType
from typing import Any

from ..config import Config, Strings
from ..errors import UsageError, check_range, nearest, shown
from ..parsing.sections import ExampleParser
from ..space import Axis, Space
from ..types import TaskType
from . import TASKS, system_prompt
from .axes import PACKAGED, packaged_axes
from .templates import IDEA, NOTES, check_template

_LANGUAGES = [task.language for task in TASKS.values() if task.language]
_AXIS_KEYS = {"values": list | dict, "phrase": str, "when": dict, "refines": str}
_VALUE_KEYS = {"weight": int | float, "note": str}


class TaskFile(Config):
    """The keys of a task type's file.

    name      its name, in `task_dist` and in the journal
    reward    the reward that judges it: coding, math, instruction, ...
    request   what the author is asked for: a Jinja2 template of the axes
    answer    what the reference answer is, for the author
    response  what the final content of the worked solution is, for the author
    family    its key in `task_dist`; the types of a family take turns (default: the name)
    language  the programming language of its answers, for the reward coding
    form      an example of the JSON that an answer must be
    rules     sentences that the author is to follow
    examples  samples for the author: three-head texts, or files of them
    axes      how tasks differ: by axis, its values
    """

    name: str
    reward: str
    request: str
    answer: str
    response: str
    family: str = ""
    language: str = ""
    form: str = ""
    rules: Strings = ()
    examples: Strings = ()
    axes: Mapping[str, Any] = field(default_factory=dict)


def read_task_type(path: str | Path) -> TaskType:
    """Read a task type from a YAML or JSON file.

    Raises:
        UsageError: there is no such file, or one line that names the key that is at fault.
        StoreError: the file cannot be read.
    """
    path = Path(path)
    config = TaskFile.read(path)
    try:
        for key in ("name", "family"):
            if not re.fullmatch(r"[\w.-]*", value := getattr(config, key)):
                raise UsageError(
                    f"{key}: {shown(value)} has other characters than letters, digits, _-."
                )
        if config.reward == "coding" and config.language not in _LANGUAGES:
            names = " or ".join(_LANGUAGES)
            raise UsageError(f"language must be {names}, not {shown(config.language)}")
        task = TaskType(
            name=config.name,
            family=config.family or config.name,
            reward=config.reward,
            language=config.language,
            system_prompt=system_prompt(config.answer, config.response, config.rules),
            request=config.request,
            examples=tuple(_example(text, path.parent) for text in config.examples),
            answer_form=config.form,
            space=read_axes(config.axes),
            template=True,
        )
        check_template(task)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return task


def _example(text: str, folder: Path) -> str:
    """An example's text: that of a file, if it is one line."""
    if "\n" not in text.strip():
        try:
            text = (folder / text.strip()).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise UsageError(f"examples: cannot read {shown(text)}") from None
    if lacking := ExampleParser.parse_text(text).lacking:
        raise UsageError(f"examples: {shown(text)} has no section {', '.join(lacking)}")
    return text


def read_axes(entries: Mapping[str, Any]) -> Space:
    """Read the axes of a task type.

    Raises UsageError, with the key that is at fault.
    """
    axes: dict[str, Axis] = {}
    for name, entry in entries.items():
        if not name.isidentifier() or name in (IDEA, NOTES):
            raise UsageError(f"axes: {name!r} cannot name an axis: use letters, digits and _")
        try:
            axes |= {axis.name: axis for axis in _read_axis(name, entry, axes)}
        except UsageError as error:
            raise UsageError(f"axes.{name}: {error}") from None
    return Space(tuple(axes.values()))


def _read_axis(name: str, entry: object, earlier: Mapping[str, Axis]) -> Sequence[Axis]:
    if isinstance(entry, str):
        return _packaged(name, entry, earlier)
    keys = _checked({"values": entry} if isinstance(entry, list) else entry, _AXIS_KEYS)
    if "values" not in keys:
        raise UsageError("values is missing: a list, or a weight or a note by value")
    refines, when = keys.get("refines", ""), keys.get("when", {})
    values: dict[str, tuple[float, str]] = {}  # weight and note
    within: dict[str, Sequence[str]] = {}
    if refines:
        parent = _axis(refines, earlier)
        if not isinstance(keys["values"], Mapping):
            raise UsageError(f"values must be by value of {refines}, not {shown(keys['values'])}")
        for key, part in keys["values"].items():
            allowed = _read_values(part)
            within[_value(_text(key), parent)] = tuple(allowed)
            values |= allowed
    else:
        values = _read_values(keys["values"])
    weights = {value: weight for value, (weight, _) in values.items()}
    notes = {value: note for value, (_, note) in values.items() if note}
    conditions = {key: _read_condition(key, part, earlier) for key, part in when.items()}
    phrase = keys.get("phrase", Axis.phrase)
    return [Axis(name, weights, notes, conditions, phrase, refines, within)]


def _packaged(name: str, space: str, earlier: Mapping[str, Axis]) -> Sequence[Axis]:
    if space not in PACKAGED:
        hint = nearest(space, PACKAGED) or f"; known: {', '.join(PACKAGED)}"
        raise UsageError(f"there is no packaged space {space!r}{hint}")
    axes = packaged_axes(space)
    if name not in axes:
        raise UsageError(f"{space} has no such axis; it has {', '.join(axes)}")
    names = ("area", "concept", "skill") if name == "concept" else (name,)
    for other in axes[name].when:
        _axis(other, earlier)
    return [axes[each] for each in names]


def _checked(entry: object, kinds: Mapping[str, type | UnionType]) -> Mapping[str, Any]:
    """A mapping whose keys are known and have values of their kinds."""
    if not isinstance(entry, Mapping):
        raise UsageError(f"must be a list or a mapping, not {shown(entry)}")
    for key, value in entry.items():
        if key not in kinds:
            raise UsageError(f"unknown key {shown(key)}{nearest(str(key), kinds)}")
        if not isinstance(value, kinds[key]) or isinstance(value, bool):
            raise UsageError(f"{key}: {shown(value)} is not possible here")
    return entry


def _read_values(entry: object) -> dict[str, tuple[float, str]]:
    """The weight and the note of each value of a list or a mapping."""
    pairs = dict.fromkeys(map(_text, entry), 1) if isinstance(entry, list) else entry
    if not isinstance(pairs, Mapping) or not pairs:
        raise UsageError(f"values must be a list or a mapping, not {shown(entry)}")
    values = {_text(key): _read_value(key, each) for key, each in pairs.items()}
    if not any(weight for weight, _ in values.values()):
        raise UsageError("values: all weights are 0")
    return values


def _read_value(name: object, entry: object) -> tuple[float, str]:
    if isinstance(entry, str):
        return 1.0, entry
    try:
        keys = _checked(entry if isinstance(entry, Mapping) else {"weight": entry}, _VALUE_KEYS)
        weight = keys.get("weight", 1.0)
        check_range("weight", weight, 0)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
    return float(weight), keys.get("note", "")


def _read_condition(name: str, allowed: object, earlier: Mapping[str, Axis]) -> Sequence[str]:
    axis = _axis(name, earlier)
    values = allowed if isinstance(allowed, list) else [allowed]
    return tuple(_value(_text(value), axis) for value in values)


def _axis(name: str, earlier: Mapping[str, Axis]) -> Axis:
    if name not in earlier:
        hint = nearest(name, earlier) or f"; earlier are: {', '.join(earlier) or 'none'}"
        raise UsageError(f"{name!r} is no earlier axis{hint}")
    return earlier[name]


def _value(value: str, axis: Axis) -> str:
    if value not in axis.values:
        hint = nearest(value, axis.values) or f"; known: {', '.join(list(axis.values)[:12])}"
        raise UsageError(f"{axis.name} has no value {value!r}{hint}")
    return value


def _text(value: object) -> str:
    """A value as text: YAML reads 1 as a number, and no as false."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise UsageError(f"{shown(value)} is no text: write it in quotes")
    return str(value)
