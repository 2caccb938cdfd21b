"""Inputs for differential tests: the calls in a row's tests, with their literals changed by type.

The tests are a model's: Python is read as a syntax tree, JavaScript as tokens, and nothing runs
here. Deterministic: the inputs follow from the row and the seed alone.
"""

import ast
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..parsing.syntax import UNREADABLE, syntax_tree
from ..reward_functions.coding.reference import Calls, Cases, Reference, Tests
from ..sandbox.javascript.tokens import Token, tokens

MAX_WITHIN = 10  # inputs like those of the tests
MAX_BEYOND = 6  # inputs of other lengths, signs or characters
MAX_STDIN = 4  # each is one run
_TRIES = 100
_MAX_CHARS = 20_000  # of a test, or of a program
_MAX_LITERAL = 2_000  # characters of one call's arguments
_MAX_INTEGER = 2**53
_NO_LITERAL = (*UNREADABLE, TypeError)
_NON_ASCII = "éß日"


class CallInput(NamedTuple):
    """A call of a function, and whether its arguments are within the range of the tests'."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    within: bool = True


def call_inputs(reference: Reference, code: str, language: str, seed: int) -> list[CallInput]:
    """Return new calls of the functions that a row's tests call with literals only.

    `code` is the row's own program: only functions that it defines are called. An input is `within`
    if each argument has the type, sign, length and characters that the tests use for it, and is
    sorted, distinct or rectangular if all of theirs are. The others have the same types but go
    beyond that range, where results may be undefined. Inputs `within` come first.
    """
    seen = list(seen_calls(reference, code, language))
    chance, groups = random.Random(seed), _by_signature(seen)
    keys = {key_of(call) for call in seen}
    within: list[CallInput] = []
    beyond: list[CallInput] = []
    for _ in range(_TRIES if groups else 0):
        if len(within) + len(beyond) == MAX_WITHIN + MAX_BEYOND:
            break
        group = chance.choice(groups)
        call = changed_call(chance.choice(group), group, chance)
        inputs = within if call.within else beyond
        if len(inputs) >= (MAX_WITHIN if call.within else MAX_BEYOND):
            continue
        key = key_of(call)
        if key not in keys and len(key) <= _MAX_LITERAL:
            keys.add(key)
            inputs.append(call)
    return within + beyond


def stdin_inputs(cases: Cases, seed: int) -> list[str]:
    """Return new texts for the standard input: the cases' texts, words shuffled, numbers changed.

    Numbers stay between the smallest and the largest of all cases.
    """
    texts = [text for text, _ in cases.cases if text.strip() and len(text) <= _MAX_LITERAL]
    numbers = sorted(int(word) for text in texts for word in re.findall(r"-?\b\d{1,15}\b", text))
    chance, seen, inputs = random.Random(seed), set(texts), list[str]()
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
        if text not in seen:
            seen.add(text)
            inputs.append(text)
        if len(inputs) == MAX_STDIN:
            break
    return inputs


def key_of(call: CallInput) -> str:
    """A text that equal calls share."""
    return repr((call.name, call.args, sorted(call.kwargs.items())))


def _argument(call: CallInput, parameter: int | str) -> Any:
    return call.args[parameter] if isinstance(parameter, int) else call.kwargs[parameter]


def _by_signature(calls: Sequence[CallInput]) -> list[list[CallInput]]:
    groups: dict[tuple[object, ...], list[CallInput]] = {}
    for call in calls:
        if call.args or call.kwargs:
            signature = (call.name, len(call.args), *sorted(call.kwargs))
            groups.setdefault(signature, []).append(call)
    return list(groups.values())


def changed_call(base: CallInput, group: Sequence[CallInput], chance: random.Random) -> CallInput:
    """A call with some arguments changed by type, and some copied from another of the group."""
    within = True
    parameters: list[int | str] = [*range(len(base.args)), *base.kwargs]
    chosen = chance.choice(parameters)
    new: dict[int | str, Any] = {}
    for parameter in parameters:
        seen = [_argument(call, parameter) for call in group]
        value = _argument(base, parameter)
        if parameter == chosen or chance.random() < 0.3:
            value = _changed(value, seen, chance)
        elif chance.random() < 0.3:
            value = chance.choice(seen)
        within = within and _is_within(value, seen)
        new[parameter] = value
    args = tuple(new[n] for n in range(len(base.args)))
    return CallInput(base.name, args, {name: new[name] for name in base.kwargs}, within)


# --- values --------------------------------------------------------------------------------------


def _changed(value: Any, seen: Sequence[Any], chance: random.Random) -> Any:
    """Another value of the same type; `seen` are the tests' values of this parameter."""
    if not any(type(each) is type(value) for each in seen):
        seen = [*seen, value]  # a part that a search moved to where the tests have none of its type
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
        return changed_text(value, [each for each in seen if isinstance(each, str)], chance)
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


def changed_text(text: str, seen: Sequence[str], chance: random.Random) -> str:
    """A text with characters dropped, added, replaced or moved; `seen` are the tests' texts."""
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
    new = chance.choice(choices)
    return in_order(new) if all(map(_is_sorted, seen)) and chance.random() < 0.8 else new


def in_order(items: list[Any]) -> list[Any]:
    """The items sorted; as they are if they have no order."""
    try:
        return sorted(items)
    except TypeError:
        return items


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_within(value: Any, seen: Sequence[Any]) -> bool:
    """Whether a value is like the tests' values of this parameter."""
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
        holds(value) or not all(map(holds, alike)) for holds in REGULAR
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


REGULAR: tuple[Callable[[Sequence[Any]], bool], ...] = (_is_sorted, _is_distinct, _is_rectangular)


def _is_plain(value: Any) -> bool:
    """Whether both languages can write a value."""
    if isinstance(value, dict):
        return all(isinstance(key, str | int) for key in value) and all(
            map(_is_plain, value.values())
        )
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, int | float):
        return -_MAX_INTEGER <= value <= _MAX_INTEGER
    return value is None or isinstance(value, str)


# --- the calls in the tests ----------------------------------------------------------------------


def seen_calls(reference: Reference, code: str, language: str) -> Iterator[CallInput]:
    """Yield the calls in a row's tests whose arguments are literals.

    `code` is the row's own program: only functions that it defines count.
    """
    if isinstance(reference, Calls):
        for call in reference.calls:
            named = all(map(str.isidentifier, call.kwargs))
            if named and _is_plain([*call.args, *call.kwargs.values()]):
                yield CallInput(reference.entry_point, call.args, call.kwargs)
    read = {"python": _python_calls, "javascript": _javascript_calls}.get(language)
    if not isinstance(reference, Tests) or read is None or len(code) > _MAX_CHARS:
        return
    for test in reference.tests:
        if len(test) > _MAX_CHARS:
            continue
        try:
            calls = list(read(test, code, reference.entry_point))
        except _NO_LITERAL:
            continue
        yield from (call for call in calls if _is_plain([*call.args, *call.kwargs.values()]))


def _python_calls(test: str, code: str, entry_point: str) -> Iterator[CallInput]:
    names = {
        node.name: node.name
        for node in syntax_tree(code).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    if entry_point:
        names["candidate"] = entry_point
    for node in ast.walk(syntax_tree(test)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        name = names.get(node.func.id)
        if name is None:
            continue
        try:
            args = tuple(ast.literal_eval(each) for each in node.args)
            kwargs = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
        except _NO_LITERAL:  # an argument that is not a literal
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
    stream = list(tokens(test))
    for at, token in enumerate(stream[:-1]):
        before = stream[at - 1].text if at else ""
        is_call = stream[at + 1].text == "(" and before not in (".", "function")
        if token.kind == "word" and token.text in names and is_call:
            try:
                args = ast.literal_eval(syntax_tree(_as_python(stream, at + 2).lstrip(), "eval"))
            except _NO_LITERAL:  # an argument that is not a literal
                continue
            yield CallInput(names[token.text], tuple(args), {})


_SIMPLE_STRING = re.compile(r"""(["'`])((?:[^\\]|\\[nt"'\\])*)\1""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t"}
_CONSTANTS = {"true": "True", "false": "False", "null": "None"}


def _as_python(stream: Sequence[Token], at: int) -> str:
    """The JavaScript literals from a token up to their closing bracket, as a list in Python.

    Raises ValueError for tokens that are in no literal.
    """
    parts, depth, end = ["["], 1, 0
    for n in range(at, len(stream)):
        token, text = stream[n], stream[n].text
        depth += token.opens - token.closes
        if depth == 0:
            return "".join([*parts, "]"])
        if token.kind == "string":
            match = _SIMPLE_STRING.fullmatch(text)
            if match is None:
                raise ValueError(text)
            text = repr(_ESCAPE.sub(lambda each: _ESCAPED.get(each[1], each[1]), match[2]))
        elif token.kind == "word" and stream[n + 1 : n + 2] and stream[n + 1].text == ":":
            text = repr(text)
        elif text in "()":
            raise ValueError(text)
        parts += [" " if token.start > end else "", _CONSTANTS.get(text, text)]
        end = token.end
    raise ValueError("the list does not end")
