"""New inputs for a search, each with its distance from the inputs that a row's tests show.

An input that a task never meant may have another value in another right program: see `distances`.
Deterministic.
"""

import ast
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..parsing.syntax import UNREADABLE, syntax_tree
from ..sandbox.javascript.tokens import tokens
from .distances import (
    FAR,
    MAX_CHARS,
    NUMBER,
    SHOWN,
    Allowed,
    counts_of,
    distance_of,
    kind_of_letter,
    parameters,
    relations_of,
    repaired,
    stdin_distance,
    values_of,
)  # fmt: skip
from .forms import Input
from .inputs import REGULAR, CallInput, changed_call, changed_text, in_order, key_of
from .variations import variations

_MAX_INPUT = 1_000  # characters of one input
_MAX_ITEMS = 40
_VARIED = 3  # calls of the tests that are varied by kind
_DIGITS = re.compile(r"[0-9]{1,9}")


class Proposals:
    """Inputs near those of the tests, those of a search's parents, and the constants of a program.

    `parents` are inputs that a search found useful: later proposals are often made of them.
    """

    def __init__(
        self, seen: Sequence[Input], code: str, language: str, prompt: str, seed: str
    ) -> None:
        self._seen, self._chance = list(seen), random.Random(seed)
        self._calls = [each for each in seen if isinstance(each, CallInput)]
        self._keys = {_key(each) for each in seen}
        self._numbers, self._texts = constants(code, language)
        self._prompt = prompt[:MAX_CHARS]
        names = parameters(code, self._calls[0].name) if self._calls else []
        self._allowed, self._relations = Allowed.by(prompt), relations_of(self._calls, names)
        self._counts = counts_of([each for each in seen if isinstance(each, str)])
        self.parents: list[Input] = []

    def next(self, count: int, reach: int) -> Iterator[tuple[Input, int]]:
        """Yield up to `count` new inputs with their distances, none above `reach`."""
        for _ in range(20 * count):
            if count == 0:
                return
            proposed, distance = self._call() if self._calls else self._text()
            key = _key(proposed)
            if distance > reach or key in self._keys or len(key) > _MAX_INPUT:
                continue
            self._keys.add(key)
            count -= 1
            yield proposed, distance

    def varied(self) -> Iterator[tuple[str, Input]]:
        """Yield the shown calls with one argument, or all, varied by kind (see `variations`)."""
        for call in self._calls[:_VARIED]:
            values, kinds = values_of(call), dict[str, list[Any]]()
            for n, value in enumerate(values):
                pairs = [*variations(value), *(("pair", each) for each in values if each != value)]
                for kind, other in pairs:
                    yield f"{n} {kind}", _with_values(call, [*values[:n], other, *values[n + 1 :]])
                    kinds.setdefault(kind, list(values))[n] = other
            if len(values) > 1:
                yield from ((f"all {kind}", _with_values(call, v)) for kind, v in kinds.items())

    def unseen(self, points: Sequence[Input]) -> list[Input]:
        """The inputs that were neither in the tests nor proposed; they count as proposed now."""
        fresh = {_key(each): each for each in points if _key(each) not in self._keys}
        self._keys |= fresh.keys()
        return list(fresh.values())

    def distance(self, call: Input) -> int:
        """How far an input is from those of the tests: the farthest of its parts decides."""
        if isinstance(call, str):
            shown = [each for each in self._seen if isinstance(each, str)]
            return stdin_distance(call, shown, self._allowed)
        most = SHOWN
        for n, value in enumerate(values_of(call)):
            shown = [values_of(each)[n] for each in self._calls]
            most = max(most, distance_of(value, shown, self._allowed))
        broken = any(not holds(values_of(call)) for holds in self._relations)
        return max(most, FAR) if broken else most

    def value_distance(self, value: Any, shown: Sequence[Any]) -> int:
        """How far a value is from those of the tests: an author may have chosen it freely.

        Of another type, -1, or a text of the program that neither tests nor prompt state: another
        program, just as right, may mark such an input in another way.
        """
        if not any(type(each) is type(value) for each in shown):
            numbers = (int, float)
            is_number = type(value) in numbers and any(type(each) in numbers for each in shown)
            return SHOWN if is_number else FAR
        is_mark = value == -1 or (isinstance(value, str) and value.strip() in self._texts)
        is_stated = value in shown or str(value).strip() in self._prompt
        return FAR if is_mark and not is_stated else SHOWN

    def _call(self) -> tuple[Input, int]:
        chance, group = self._chance, self._calls
        pool = [*group, *(each for each in self.parents if isinstance(each, CallInput))]
        base = chance.choice(pool[len(group) :] if self.parents and chance.random() < 0.5 else pool)
        if chance.random() < 0.4:
            call = changed_call(base, group, chance)
        else:
            values = values_of(base)
            which = chance.randrange(len(values))
            shown = [values_of(each)[which] for each in group]
            values[which] = self._fresh(values[which], shown)
            if chance.random() < 0.3:
                other = chance.randrange(len(values))
                values[other] = chance.choice([values_of(each)[other] for each in pool])
            call = _with_values(base, values)
        call = _with_values(base, repaired(values_of(call), self._relations))
        return call, self.distance(call)

    def _fresh(self, value: Any, shown: Sequence[Any]) -> Any:
        """Another value of a parameter, from boundaries, constants of the program, or at random."""
        chance = self._chance
        if isinstance(value, bool) or value is None:
            return chance.choice([True, False]) if isinstance(value, bool) else value
        if isinstance(value, int):
            return chance.choice(self._integers([n for n in shown if type(n) is int] or [value]))
        if isinstance(value, float):
            near = [n for n in shown if type(n) is float] or [value]
            number = chance.choice([chance.uniform(min(near), max(near)), chance.choice(near)])
            step = chance.choice([0, 0.5, 1, -1, 0.1, *self._numbers])
            return float(round(number + step, chance.choice([0, 1, 2])))
        if isinstance(value, str):
            return self._fresh_text(value, [text for text in shown if isinstance(text, str)])
        if isinstance(value, list | tuple):
            sequences = [list(each) for each in shown if isinstance(each, list | tuple) and each]
            return type(value)(self._items(list(value), sequences))
        if isinstance(value, dict):
            pool = [pair for each in shown if isinstance(each, dict) for pair in each.items()]
            pairs = [
                (key, self._fresh(item, [i for _, i in pool])) if chance.random() < 0.5
                else (key, item)
                for key, item in chance.sample(pool, min(len(pool), chance.randint(1, 5)))
            ]  # fmt: skip
            return dict(pairs)
        return value

    def _integers(self, shown: Sequence[int]) -> list[int]:
        low, high, chance = min(shown), max(shown), self._chance
        constants = [int(n) for n in self._numbers if n == int(n)]
        close = [number + step for number in chance.sample(constants, min(3, len(constants)))
                 for step in (-1, 0, 1)]  # fmt: skip
        return [
            *(low, high, low - 1, high + 1, 0, 1, 2, -1, -low, 2 * high, (low + high) // 2),
            *(chance.randint(low, high) for _ in range(6)),
            *(chance.randint(min(1, low), 2 * abs(high) + 10) for _ in range(6)),
            *close,
        ]

    def _fresh_text(self, text: str, shown: Sequence[str]) -> str:
        chance = self._chance
        letters = sorted({*"".join(shown)}) or ["a"]
        kinds = {kind_of_letter(letter) for letter in letters}
        letters += [c for c in "abcxyzABCXYZ0123456789" if kind_of_letter(c) in kinds]
        at, size = chance.randrange(len(text) + 1), chance.randint(1, max(2, 2 * len(text)))
        literals = [each for each in self._texts if len(each) < 20] or [""]
        a, b = sorted((chance.randrange(len(text) + 1), at))
        choices: list[str] = [
            "".join(chance.choices(letters, k=min(size, _MAX_ITEMS))),
            "".join(chance.choices(letters, k=chance.randint(1, 3))),
            chance.choice(letters) * chance.randint(1, 4),
            text[:at] + chance.choice(literals) + text[at:],
            *(text[:a] + text[b:], text[a:b], text + text, text + text[::-1], text[:at] + text[a:]),
            *(text.upper(), text.lower(), text.capitalize()),
            " ".join(chance.sample(text.split(" "), len(text.split(" ")))),
            changed_text(text, shown or [text], chance),
            *([self._other_number(text, shown)] * 4),
        ]
        return chance.choice(choices)

    def _other_number(self, text: str, shown: Sequence[str]) -> str:
        """A text with another number in it, as long as before: a date with another month."""
        spans = [match.span() for match in _DIGITS.finditer(text)]
        if not spans:
            return text[::-1]
        start, end = self._chance.choice(spans)
        numbers = [int(each) for one in (text, *shown) for each in _DIGITS.findall(one)]
        number = abs(self._chance.choice(self._integers(numbers)))
        return f"{text[:start]}{number:0{end - start}}{text[end:]}"

    def _items(self, items: list[Any], shown: Sequence[list[Any]]) -> list[Any]:
        chance, pool = self._chance, [item for each in shown for item in each] or items
        if not pool:
            return items
        size = chance.choice([1, 2, 3, len(items), chance.randint(1, max(3, 2 * len(items)))])
        drawn = [chance.choice(pool) for _ in range(min(size, _MAX_ITEMS))]
        fresh = [self._fresh(item, pool) for item in drawn]
        at = chance.randrange(len(items) + 1)
        one = [*items]
        if one:
            which = chance.randrange(len(one))
            position = [each[which] for each in shown if len(each) > which] or pool
            one[which] = self._fresh(one[which], position)
        new = chance.choice(
            [
                *(drawn, fresh, one, one, one, [*items, chance.choice(pool)], items[:at]),
                *(items[at:], items[::-1], items + items[:at], items[:at] + items[at + 1 :], []),
                [chance.choice(items)] * chance.randint(1, 3) if items else [],
            ]
        )
        if chance.random() < 0.3 or (shown and all(map(REGULAR[0], shown))):
            return in_order(new)
        return new

    def _text(self) -> tuple[Input, int]:
        """A text for the standard input: a number or word changed, or a counted line."""
        chance = self._chance
        shown = [each for each in self._seen if isinstance(each, str)]
        texts = [*shown, *(each for each in self.parents if isinstance(each, str))]
        lines = [line.split(" ") for line in chance.choice(texts).splitlines()] or [[""]]
        counts = [each for each in self._counts if each.fits(lines)]
        if counts and chance.random() < 0.5:
            count = chance.choice(counts)
            words = lines[count.line]
            drawn = [chance.choice(words) for _ in range(chance.randint(1, len(words) + 3))]
            lines[count.line] = drawn if chance.random() < 0.5 else [*words, *drawn][: len(drawn)]
            lines[count.row][count.column] = str(len(lines[count.line]))
        at = chance.randrange(len(lines))
        words = lines[at]
        which = chance.randrange(len(words))
        if not any((each.row, each.column) == (at, which) for each in counts):
            words[which] = self._word(words[which], texts)
        if len(words) > 1 and chance.random() < 0.2:
            chance.shuffle(words)
        text = "\n".join(map(" ".join, lines)) + "\n"
        return text, self.distance(text)

    def _word(self, word: str, texts: Sequence[str]) -> str:
        """Another number or word of a standard input."""
        words = [each for text in texts for each in text.split()]
        if re.fullmatch(r"-?\d{1,9}", word):
            numbers = [int(each) for each in words if re.fullmatch(r"-?\d{1,9}", each)]
            return str(self._chance.choice(self._integers(numbers)))
        if NUMBER.fullmatch(word):
            return str(round(float(word) * self._chance.uniform(0.5, 2), 2))
        return self._fresh_text(word, words or [word])


def _with_values(call: CallInput, values: Sequence[Any]) -> CallInput:
    count = len(call.args)
    kwargs = dict(zip(sorted(call.kwargs), values[count:], strict=True))
    return CallInput(call.name, tuple(values[:count]), kwargs)


def _key(point: Input) -> str:
    return point if isinstance(point, str) else key_of(point)


# --- constants -----------------------------------------------------------------------------------


def constants(code: str, language: str) -> tuple[list[float], list[str]]:
    """The numbers and short texts in a program; none if it cannot be read."""
    numbers: list[float] = []
    texts: list[str] = []
    if len(code) > MAX_CHARS:
        return numbers, texts
    if language == "javascript":
        for token in tokens(code):
            if NUMBER.fullmatch(token.text):
                numbers.append(float(token.text))
            elif token.kind == "string":
                texts.append(token.text[1:-1])
        return numbers, texts
    try:
        tree = syntax_tree(code)
    except UNREADABLE:
        return numbers, texts
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if type(node.value) in (int, float) and abs(node.value) < 10**6:  # type: ignore[arg-type]  # a number
                numbers.append(float(node.value))  # type: ignore[arg-type]  # as above
            elif isinstance(node.value, str) and len(node.value) < 20:
                texts.append(node.value)
    return numbers, texts
