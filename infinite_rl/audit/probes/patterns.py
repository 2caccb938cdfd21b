"""Texts on which the patterns of a target's own source backtrack.

Each unbounded repetition of a regular expression is reached by a text that matches what stands
before it, then filled with the repeated part, and broken at the end.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..surfaces import literals

# The parser of the library: private, but the same tree from Python 3.10 to 3.14.
_parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_MOST = 40  # attacks
_LONGEST = 500  # characters of a pattern
_MANY = 100  # from this bound on, a repetition is long
_CATEGORIES = {"DIGIT": "1", "SPACE": " ", "WORD": "a", "NOT_DIGIT": "a", "NOT_SPACE": "a",
               "NOT_WORD": " "}  # fmt: skip


class Attack(NamedTuple):
    """A text that leads to a repetition of a pattern, and one that it repeats."""

    before: str
    unit: str

    def text(self, size: int) -> str:
        """A text of about `size` characters, broken at its end."""
        return f"{self.before}{self.unit * (size // max(1, len(self.unit)))}\x00!"


def attacks(source: str) -> list[Attack]:
    """Attacks on the patterns in a source of Python."""
    chosen: dict[Attack, None] = {}
    for pattern in literals(source):
        if len(pattern) >= _LONGEST or not re.search(r"[*+]|\{\d+,", pattern):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = _parser.parse(pattern)
        except (re.error, RecursionError, OverflowError):
            continue
        for attack in _repeats(tree, ""):
            chosen[attack] = chosen[Attack("", attack.before + attack.unit)] = None
    return list(chosen)[:_MOST]


def _repeats(tree: Sequence[Any], before: str) -> Iterator[Attack]:
    """An attack on each long repetition."""
    for op, value in tree:
        name = str(op)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, most, body = value
            if int(most) >= _MANY and _sample(body):
                yield Attack(before, _sample(body))
            yield from _repeats(body, before)
        elif name == "SUBPATTERN":
            yield from _repeats(value[3], before)
        elif name == "BRANCH":
            for each in value[1]:
                yield from _repeats(each, before)
        before += _sample([(op, value)])


def _sample(tree: Sequence[Any]) -> str:
    """A short text that a part of a pattern matches, as far as that follows from it alone."""
    text = ""
    for op, value in tree:
        name = str(op)
        if name == "LITERAL":
            text += chr(value)
        elif name == "NOT_LITERAL":
            text += "b" if value == ord("a") else "a"
        elif name == "ANY":
            text += "a"
        elif name == "IN":
            text += _member(value)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            text += _sample(value[2]) * min(max(1, value[0]), 20)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            text += _sample(value[3] if name == "SUBPATTERN" else value)
        elif name == "BRANCH":
            text += _sample(value[1][0])
    return text


def _member(items: Sequence[Any]) -> str:
    """A character of a class."""
    if str(items[0][0]) == "NEGATE":
        named = {chr(value) for op, value in items if str(op) == "LITERAL"}
        return next(each for each in "a1 .,x\n\x00" if each not in named or each == "\x00")
    op, value = items[0]
    if str(op) == "CATEGORY":
        return _CATEGORIES.get(str(value).removeprefix("CATEGORY_"), "a")
    return chr(value[0] if str(op) == "RANGE" else value)
