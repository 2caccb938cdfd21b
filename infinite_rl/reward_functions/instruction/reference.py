"""What a row asks for: its instructions, read from JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...errors import UnknownName, UsageError, shown
from .checks import CHECKS


@dataclass(frozen=True)
class Instruction:
    """One instruction with its arguments, ready to be checked."""

    id: str
    follows: partial[bool]


def read_instructions(expected: Any) -> tuple[Instruction, ...]:
    """The instructions of a reference: JSON text, or what such text holds.

    Either a list of objects with `instruction_id` and `kwargs`, or one such object, or an object
    with `instruction_id_list` and a list of `kwargs`, as IFEval has it.

    Raises:
        UnknownName: there is no such instruction.
        UsageError: an argument is missing, unknown or of a wrong kind; or there is no instruction.
    """
    if isinstance(expected, str):
        try:
            expected = json.loads(expected)
        except (ValueError, RecursionError):
            raise UsageError(f"the instructions are no JSON: {expected[:80]!r}") from None
    instructions = tuple(_read(name, kwargs) for name, kwargs in _pairs(expected))
    if not instructions:
        raise UsageError("a row of no instruction")
    return instructions


def _pairs(expected: Any) -> list[tuple[Any, Any]]:
    """Each instruction's id with its arguments."""
    if isinstance(expected, Mapping) and "instruction_id_list" in expected:
        names: Any = expected["instruction_id_list"]
        all_kwargs: Any = expected.get("kwargs")
        if not _is_list(names) or not _is_list(all_kwargs) or len(names) != len(all_kwargs):
            raise UsageError("as many kwargs as there are names in instruction_id_list are needed")
        return list(zip(names, all_kwargs, strict=True))
    each = [expected] if isinstance(expected, Mapping) else expected
    if not _is_list(each) or not all(isinstance(one, Mapping) for one in each):
        raise UsageError(f"no list of instructions: {shown(expected)}")
    return [(one.get("instruction_id"), one.get("kwargs")) for one in each]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _read(name: object, kwargs: object) -> Instruction:
    if not isinstance(name, str) or name not in CHECKS:
        raise UnknownName("instruction", name, CHECKS)
    if not isinstance(kwargs, Mapping | None):
        raise UsageError(f"the kwargs of {name} are no object: {shown(kwargs)}")
    given = {key: value for key, value in (kwargs or {}).items() if value is not None}
    wanted = CHECKS[name].arguments
    if given.keys() != wanted.keys():
        raise UsageError(
            f"{name} needs {', '.join(wanted) or 'no arguments'}, not {', '.join(given) or 'none'}"
        )
    read: dict[str, Any] = {key: _argument(name, key, value) for key, value in given.items()}
    if read.get("nth_paragraph", 0) > read.get("num_paragraphs", 0):
        raise UsageError(f"{name} asks for a paragraph after the last one")
    return Instruction(name, partial(CHECKS[name].follows, **read))


def _argument(name: str, key: str, value: object) -> object:
    try:
        return CHECKS[name].arguments[key](value)
    except ValueError as error:
        raise UsageError(f"{key} of {name} {error}, not {shown(value)}") from None
