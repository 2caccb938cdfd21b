"""Inputs for differential tests: the calls in a row's tests, with their literals changed by type.

The tests are a model's: Python is read as a syntax tree, JavaScript as tokens, and nothing is run
or evaluated here. Pure: the inputs follow from the row and the seed alone.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..reward_functions.coding.reference import Calls, Cases, Reference, Tests
from ..sandbox.javascript.tokens import Token, tokens

MOST_WITHIN = 10  # inputs like those of the tests
MOST_BEYOND = 6  # inputs of other lengths, signs or characters
MOST_STDIN = 4  # each is a run by itself
_TRIES = 100
_MOST_CHARS = 20_000  # of a test, or of a program
_MOST_LITERAL = 2_000  # characters of one call's arguments
_MOST_INTEGER = 2**53
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, TypeError)
_NON_ASCII = "éß日"


class CallInput(NamedTuple):
    """A call of a function, and whether its arguments lie within the range of the tests' own."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    within: bool = True


def call_inputs(reference: Reference, code: str, language: str, seed: int) -> list[CallInput]:
    """New calls of the functions that a row's tests call; none where no call has literals only.

    `code` is the row's own program: only functions that it defines are called. An input is `within`
    where each argument has the type, sign, length and characters that the tests use in its place,
    and is sorted, distinct or rectangular where all of theirs are. The others are of the same
    types, but go beyond that: what they are to give may be undefined. Those `within` come first.
    """
    seen = list(_seen_calls(reference, code, language))
    chance, groups = random.Random(seed), _by_signature(seen)
    known = {_key(call) for call in seen}
    within: list[CallInput] = []
    beyond: list[CallInput] = []
    for _ in range(_TRIES if groups else 0):
        if len(within) + len(beyond) == MOST_WITHIN + MOST_BEYOND:
            break
        call = _changed_call(chance.choice(groups), chance)
        room = within if call.within else beyond
        if len(room) >= (MOST_WITHIN if call.within else MOST_BEYOND):
            continue
        key = _key(call)
        if key not in known and len(key) <= _MOST_LITERAL:
            known.add(key)
            room.append(call)
    return within + beyond


def stdin_inputs(cases: Cases, seed: int) -> list[str]:
    """New texts for the standard input: those of the cases, with words moved and numbers changed.

    Numbers stay between the least and the greatest of all cases.
    """
    texts = [given for given, _ in cases.cases if given.strip() and len(given) <= _MOST_LITERAL]
    numbers = sorted(int(word) for text in texts for word in re.findall(r"-?\b\d{1,15}\b", text))
    chance, known, found = random.Random(seed), set(texts), list[str]()
    for _ in range(_TRIES if texts else 0):
        lines = chance.choice(texts).splitlines()
        at = chance.randrange(len(lines))
        words = lines[at].split(" ")
        which = chance.randrange(len(words))
        if numbers and re.fullmatch(r"-?\d{1,15}", words[which]):
            words[which] = str(chance.randint(numbers[0], numbers[-1]))
        else:
            chance.shuffle(words)
        text = "\n".join([*lines[:at], " ".join(words), *lines[at + 1 :]]) + "\n"
        if text not in known:
            known.add(text)
            found.append(text)
        if len(found) == MOST_STDIN:
            break
    return found


def _key(call: CallInput) -> str:
    return repr((call.name, call.args, sorted(call.kwargs.items())))


@dataclass(frozen=True)
class _Group:
    """The calls of one function with as many arguments, and all values of each argument."""

    calls: Sequence[CallInput]

    def values(self, place: int | str) -> list[Any]:
        return [_argument(call, place) for call in self.calls]


def _argument(call: CallInput, place: int | str) -> Any:
    return call.args[place] if isinstance(place, int) else call.kwargs[place]


def _by_signature(calls: Sequence[CallInput]) -> list[_Group]:
    groups: dict[tuple[object, ...], list[CallInput]] = {}
    for call in calls:
        if call.args or call.kwargs:
            signature = (call.name, len(call.args), *sorted(call.kwargs))
            groups.setdefault(signature, []).append(call)
    return [_Group(group) for group in groups.values()]


def _changed_call(group: _Group, chance: random.Random) -> CallInput:
    """A call with some arguments changed, and some taken from another call."""
    base, within = chance.choice(group.calls), True
    places: list[int | str] = [*range(len(base.args)), *base.kwargs]
    chosen = chance.choice(places)
    new: dict[int | str, Any] = {}
    for place in places:
        seen = group.values(place)
        value = _argument(base, place)
        if place == chosen or chance.random() < 0.3:
            value = _changed(value, seen, chance)
        elif chance.random() < 0.3:
            value = chance.choice(seen)
        within = within and _is_within(value, seen)
        new[place] = value
    args = tuple(new[place] for place in range(len(base.args)))
    return CallInput(base.name, args, {name: new[name] for name in base.kwargs}, within)


# --- Values --------------------------------------------------------------------------------------


def _changed(value: Any, seen: Sequence[Any], chance: random.Random) -> Any:
    """Another value of the same type; `seen` are the values that the tests have in this place."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        numbers = [each for each in seen if _is_number(each)]
        low, high = int(min(numbers)), int(max(numbers))
        return chance.choice(
            [chance.randint(low, high), value - 1, value + 1, 0, -value, high + low + 2]
        )
    if isinstance(value, float):
        return chance.choice([value / 2, -value, 0.0, value + 1.0, round(value), value + 0.25])
    if isinstance(value, str):
        return _changed_text(value, [each for each in seen if isinstance(each, str)], chance)
    if isinstance(value, list | tuple):
        kind = type(value)
        others = [list(each) for each in seen if isinstance(each, kind)]
        return kind(_changed_items(list(value), others, chance))
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        if chance.random() < 0.2:
            return {name: item for name, item in value.items() if name != key}
        items = [each[key] for each in seen if isinstance(each, dict) and key in each]
        return {**value, key: _changed(value[key], items, chance)}
    return value


def _changed_text(text: str, seen: Sequence[str], chance: random.Random) -> str:
    letters = sorted({*"".join(seen)}) or ["a"]
    at = chance.randrange(len(text) + 1)
    other = chance.choice(seen)
    changed: list[str] = [
        text[:at] + text[at + 1 :],
        text[:at] + chance.choice(letters) + text[at:],
        text[:at] + chance.choice(letters) + text[at + 1 :],
        text[::-1],
        "".join(chance.sample(text, len(text))),
        text[at:] + other[: chance.randrange(len(other) + 1)],
        "".join(chance.choices(letters, k=len(other))),
        text.swapcase(),
        "",
        text[:at] + chance.choice(_NON_ASCII) + text[at:],
    ]
    return chance.choice(changed)


def _changed_items(items: list[Any], seen: Sequence[list[Any]], chance: random.Random) -> list[Any]:
    pool = [item for each in seen for item in each]
    at = chance.randrange(len(items) + 1)
    changed = [*items]
    if items and pool:
        which = chance.randrange(len(items))
        changed[which] = _changed(items[which], pool, chance)
    choices = [
        items[:at] + items[at + 1 :],
        items[:at] + [chance.choice(pool)] + items[at:] if pool else items,
        changed,
        changed,
        items[::-1],
        chance.sample(items, len(items)),
        items[at:] + chance.choice(seen)[:at],
        [],
    ]
    found = chance.choice(choices)
    if all(map(_is_sorted, seen)) and chance.random() < 0.8:
        found = sorted(found)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_within(value: Any, seen: Sequence[Any]) -> bool:
    """Whether a value is like those that were seen in its place."""
    if value is None or isinstance(value, bool):
        return any(type(each) is type(value) for each in seen)
    if isinstance(value, int | float):
        same = [each for each in seen if type(each) is type(value)]
        return bool(same) and min(same) <= value <= max(same)
    alike = [each for each in seen if isinstance(each, type(value))]
    lengths = [len(each) for each in alike]
    if not alike or not min(lengths) <= len(value) <= max(lengths):
        return False
    if isinstance(value, str):
        return {*value} <= {*"".join(alike)}
    if isinstance(value, dict):
        return all(
            any(key in each for each in alike)
            and _is_within(item, [each[key] for each in alike if key in each])
            for key, item in value.items()
        )
    pool = [item for each in alike for item in each]
    return all(_is_within(item, pool) for item in value) and all(
        holds(value) or not all(map(holds, alike)) for holds in _REGULAR
    )


def _is_sorted(items: Sequence[Any]) -> bool:
    try:
        return all(left <= right for left, right in zip(items, items[1:], strict=False))
    except TypeError:
        return False


def _is_distinct(items: Sequence[Any]) -> bool:
    return len({repr(item) for item in items}) == len(items)


def _is_rectangular(items: Sequence[Any]) -> bool:
    return len({len(item) for item in items if isinstance(item, list | tuple | str)}) <= 1


_REGULAR: tuple[Callable[[Sequence[Any]], bool], ...] = (_is_sorted, _is_distinct, _is_rectangular)


def _is_plain(value: Any) -> bool:
    """Whether a value is made of what both languages can write."""
    if isinstance(value, dict):
        return all(isinstance(key, str | int) for key in value) and all(
            map(_is_plain, value.values())
        )
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, int | float):
        return -_MOST_INTEGER <= value <= _MOST_INTEGER
    return value is None or isinstance(value, str)


# --- The calls in the tests ----------------------------------------------------------------------


def _seen_calls(reference: Reference, code: str, language: str) -> Iterator[CallInput]:
    if isinstance(reference, Calls):
        for call in reference.calls:
            named = all(map(str.isidentifier, call.kwargs))
            if named and _is_plain([*call.args, *call.kwargs.values()]):
                yield CallInput(reference.entry_point, call.args, call.kwargs)
    read = {"python": _python_calls, "javascript": _javascript_calls}.get(language)
    if not isinstance(reference, Tests) or read is None or len(code) > _MOST_CHARS:
        return
    for test in reference.tests:
        if len(test) > _MOST_CHARS:
            continue
        try:
            found = list(read(test, code, reference.entry_point))
        except _UNREADABLE:
            continue
        yield from (call for call in found if _is_plain([*call.args, *call.kwargs.values()]))


def _python_calls(test: str, code: str, entry_point: str) -> Iterator[CallInput]:
    names = {
        node.name: node.name
        for node in ast.parse(code).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    if entry_point:
        names["candidate"] = entry_point
    for node in ast.walk(ast.parse(test)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        name = names.get(node.func.id)
        if name is None:
            continue
        try:
            args = tuple(ast.literal_eval(each) for each in node.args)
            kwargs = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
        except _UNREADABLE:  # an argument that is no literal
            continue
        if all(kwargs):  # a key of None stands for **arguments
            yield CallInput(name, args, {str(key): value for key, value in kwargs.items()})


_FUNCTION = re.compile(
    r"\bfunction\s*\*?\s*([\w$]+)\s*\(|\b(?:const|let|var)\s+([\w$]+)\s*=(?!=)", re.ASCII
)


def _javascript_calls(test: str, code: str, entry_point: str) -> Iterator[CallInput]:
    names = {name: name for pair in _FUNCTION.findall(code) for name in pair if name}
    if entry_point:
        names["candidate"] = entry_point
    found = list(tokens(test))
    for at, token in enumerate(found[:-1]):
        before = found[at - 1].text if at else ""
        called = found[at + 1].text == "(" and before not in (".", "function")
        if token.kind == "word" and token.text in names and called:
            try:
                args, _ = _Literals(test, found).items(at + 2, ")")
            except _UNREADABLE:
                continue
            yield CallInput(names[token.text], tuple(args), {})


_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?![\w$.])", re.ASCII)
_SIMPLE_ESCAPES = re.compile(r"""(?:[^\\]|\\[nt"'\\])*""")
_ESCAPE = re.compile(r"\\(.)")
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class _Literals:
    """JavaScript literals, read from tokens. Raises ValueError for anything else."""

    source: str
    found: Sequence[Token]

    def items(self, at: int, end: str) -> tuple[list[Any], int]:
        """Values up to a closing mark, and the token after that."""
        values: list[Any] = []
        while self._text(at) != end:
            value, at = self._value(at)
            values.append(value)
            if self._text(at) == ",":
                at += 1
            elif self._text(at) != end:
                raise ValueError(self._text(at))
        return values, at + 1

    def _text(self, at: int) -> str:
        if at >= len(self.found):
            raise ValueError("the end of the text")
        return self.found[at].text

    def _value(self, at: int) -> tuple[Any, int]:
        text, token = self._text(at), self.found[at]
        if text == "[":
            return self.items(at + 1, "]")
        if text == "{":
            return self._members(at + 1)
        if text in "+-":
            value, at = self._value(at + 1)
            if not _is_number(value):
                raise ValueError(text)
            return (-value if text == "-" else value), at
        if token.kind == "string":
            return self._string(token), at + 1
        if text in _WORDS:
            return _WORDS[text], at + 1
        number = _NUMBER.match(self.source, token.start)
        if number is None:
            raise ValueError(text)
        while at < len(self.found) and self.found[at].start < number.end():
            at += 1
        return json.loads(str(int(number[0])) if number[0].isdecimal() else number[0]), at

    def _members(self, at: int) -> tuple[dict[str, Any], int]:
        members: dict[str, Any] = {}
        while (name := self._text(at)) != "}":
            token = self.found[at]
            if self._text(at + 1) != ":" or token.kind not in ("word", "string"):
                raise ValueError(name)
            key = self._string(token) if token.kind == "string" else name
            members[key], at = self._value(at + 2)
            if self._text(at) == ",":
                at += 1
            elif self._text(at) != "}":
                raise ValueError(self._text(at))
        return members, at + 1

    def _string(self, token: Token) -> str:
        inner = token.text[1:-1]
        if token.text[-1] != token.text[0] or not _SIMPLE_ESCAPES.fullmatch(inner):
            raise ValueError(token.text)
        return _ESCAPE.sub(lambda each: {"n": "\n", "t": "\t"}.get(each[1], each[1]), inner)
