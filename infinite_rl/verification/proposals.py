"""New inputs for a search, each with its distance from the inputs that a row's tests show.

An input that a task never meant may have another value in another right program. So an input is
near only if it has the types, signs, lengths, characters and regularities that all tests share:
sorted or distinct items, a list as long as a number says, a word that occurs in a text. What the
prompt names ("empty", "negative") counts as shown. Pure and deterministic.
"""

import ast
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ..parsing.syntax import UNREADABLE, syntax_tree
from ..sandbox.javascript.tokens import tokens
from .forms import Input
from .inputs import REGULAR, CallInput, changed_call, changed_text, in_order, key_of
from .variations import variations

SHOWN, NEAR, FAR, OTHER = range(4)  # in the tests' ranges, close to them, beyond, of another type
REACHES = {"shown": SHOWN, "near": NEAR, "far": FAR}
_MAX_CHARS = 20_000  # of a program, and of a prompt
_MAX_INPUT = 1_000  # characters of one input
_MAX_ITEMS = 40
_VARIED = 3  # calls of the tests that are varied by kind
_LETTERS = 4  # different letters of a kind that show that any letter may stand there
_DIGITS = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,6})?")


@dataclass(frozen=True)
class Allowed:
    """What the prompt names, so that it is as good as shown."""

    empty: bool = False
    zero: bool = False
    negative: bool = False
    repeated: bool = False

    @classmethod
    def by(cls, prompt: str) -> "Allowed":
        text = prompt[:_MAX_CHARS].lower()
        bare = re.sub(r"non[- ]?(?:empty|negative|zero)", "", text)
        return cls(
            bool(re.search(r"\bempty\b", bare)),
            bool(re.search(r"\bzero\b|non[- ]?negative", text)),
            bool(re.search(r"\bnegative", bare)),
            bool(re.search(r"\b(?:duplicat|repeat|distinct|unique)", text)),
        )


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
        self._prompt = prompt[:_MAX_CHARS]
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
            values, kinds = _values(call), dict[str, list[Any]]()
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
            return _stdin_distance(call, shown, self._allowed)
        most = SHOWN
        for n, value in enumerate(_values(call)):
            shown = [_values(each)[n] for each in self._calls]
            most = max(most, distance_of(value, shown, self._allowed))
        broken = any(not holds(_values(call)) for holds in self._relations)
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
            values = _values(base)
            which = chance.randrange(len(values))
            shown = [_values(each)[which] for each in group]
            values[which] = self._fresh(values[which], shown)
            if chance.random() < 0.3:
                other = chance.randrange(len(values))
                values[other] = chance.choice([_values(each)[other] for each in pool])
            call = _with_values(base, values)
        call = _with_values(base, _repaired(_values(call), self._relations))
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
        kinds = {_kind(letter) for letter in letters}
        letters += [c for c in "abcxyzABCXYZ0123456789" if _kind(c) in kinds]
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
        if _NUMBER.fullmatch(word):
            return str(round(float(word) * self._chance.uniform(0.5, 2), 2))
        return self._fresh_text(word, words or [word])


# --- distances -----------------------------------------------------------------------------------


def distance_of(value: Any, shown: Sequence[Any], allowed: Allowed = Allowed()) -> int:  # noqa: B008 -- frozen
    """How far a value is from those that the tests show for the same parameter."""
    alike = [each for each in shown if type(each) is type(value)]
    if not alike:
        return OTHER
    if value is None or isinstance(value, bool):
        return SHOWN
    if isinstance(value, int | float):
        return _number_distance(value, alike, allowed)
    if isinstance(value, str):
        return _string_distance(value, alike, allowed)
    if not isinstance(value, list | tuple | dict):
        return OTHER
    most = _length_distance(len(value), [len(each) for each in alike], allowed)
    if isinstance(value, dict):
        pairs = [pair for each in alike for pair in each.items()]
        keys, items = [key for key, _ in pairs], [item for _, item in pairs]
        parts = [distance_of(key, keys, allowed) for key in value]
        return max(most, *parts, *(distance_of(v, items, allowed) for v in value.values()), SHOWN)
    lengths = {len(each) for each in alike}
    if isinstance(value, tuple) and len(lengths) == 1 and len(alike) > 1 or _is_record(alike):
        if len(value) not in lengths:
            return FAR  # a record: each position has its own meaning
        columns = zip(value, zip(*alike, strict=True), strict=True)
        return max([most, *(distance_of(item, column, allowed) for item, column in columns)])
    pool = [item for each in alike for item in each]
    most = max([most, *(distance_of(item, pool, allowed) for item in value)])
    for number, regular in enumerate(REGULAR):
        excused = number == 1 and allowed.repeated
        if not regular(value) and all(map(regular, alike)) and not excused:
            most = max(most, FAR)
    return most


def _is_record(alike: Sequence[Any]) -> bool:
    """Whether sequences have one length and items of different types, as in ["a", 1]."""
    kinds = {tuple(type(item) for item in each) for each in alike}
    return len(kinds) == 1 and len(set(next(iter(kinds)))) > 1


def _number_distance(value: float, shown: Sequence[float], allowed: Allowed) -> int:
    low, high = min(shown), max(shown)
    if value == 0 and 0 not in shown:  # often a case of its own: neither positive nor negative
        return NEAR if allowed.zero else FAR
    if low <= value <= high:
        return SHOWN
    if abs(value) > 2 * max(abs(low), abs(high)) + 10:
        return FAR
    if value < 0 and not (low < 0 or allowed.negative):
        return FAR
    return FAR if value > 0 and high < 0 else NEAR


def _length_distance(length: int, shown: Sequence[int], allowed: Allowed) -> int:
    low, high = min(shown), max(shown)
    if low <= length <= high:
        return SHOWN
    if length == 0:
        return NEAR if allowed.empty else FAR
    return NEAR if length <= 2 * high + 2 else FAR


def _kind(letter: str) -> str:
    """Lower case, upper case or digit; any other character is a kind of its own."""
    if not letter.isascii():
        return "other"
    return (
        "a"
        if letter.islower()
        else "A"
        if letter.isupper()
        else "9"
        if letter.isdigit()
        else letter
    )


def _string_distance(text: str, shown: Sequence[str], allowed: Allowed) -> int:
    most = _length_distance(len(text), [len(each) for each in shown], allowed)
    profile = _text_profile(tuple(shown))
    for letter in {*text} - profile.letters:
        kind = _kind(letter)
        most = max(most, NEAR if kind in "aA9" and profile.kinds[kind] >= _LETTERS else FAR)
    if not text:
        return most
    is_like = all(holds(text) for holds in profile.regular)
    is_like = is_like and (not profile.shape or _shape(text) == profile.shape)
    is_like = is_like and (not profile.layouts or _layout(text) in profile.layouts)
    return most if is_like else FAR


class _TextProfile(NamedTuple):
    """The letters of texts, how many of each kind, what holds for all, their shape and layouts."""

    letters: set[str]
    kinds: Counter[str]
    regular: list[Callable[[str], bool]]
    shape: str  # of all, "" if it differs
    layouts: set[str]  # of numbers with marks, as in dates, {} for other texts


@lru_cache(maxsize=256)
def _text_profile(shown: tuple[str, ...]) -> _TextProfile:
    letters, some = {*"".join(shown)}, [each for each in shown if each]
    regular = [holds for holds in _TEXT_REGULAR if all(map(holds, some))]
    shapes = {_shape(each) for each in some}
    kinds = Counter(map(_kind, letters))
    is_marked = kinds.keys() - {"a", "A", " "}  # words alone may be more or fewer
    shape = next(iter(shapes)) if is_marked and len(shapes) == 1 and len(shown) > 1 else ""
    has_numbers = kinds["9"] and kinds.keys() - {"9", " "} and not kinds.keys() & {"a", "A"}
    layouts = {_layout(each) for each in some} if has_numbers else set()
    return _TextProfile(letters, kinds, regular, shape, layouts)


def _layout(text: str) -> str:
    """A text with each digit as 9: "99-9" for "20-1"."""
    return "".join(map(_kind, text))


def _shape(text: str) -> str:
    """The kinds of a text's characters, each run once: "9-9" for "2020-01"."""
    return re.sub(r"(.)\1+", r"\1", _layout(text), flags=re.DOTALL)


_TEXT_REGULAR: tuple[Callable[[str], bool], ...] = (
    lambda text: text == text.strip(),
    lambda text: "  " not in text,
    lambda text: not re.search(r"\b0\d", text),  # numbers do not begin with 0
    lambda text: len({*text} - {" "}) == len(text.replace(" ", "")),
    lambda text: len(text) == 1 or len({*text}) > 1,
    lambda text: text == text[::-1],
    lambda text: all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}", "<>")),
)


@dataclass(frozen=True)
class Count:
    """A number of a standard input, by row and column, that states the words of another line."""

    row: int
    column: int
    line: int

    def fits(self, lines: Sequence[Sequence[str]]) -> bool:
        """Whether a text has such a number."""
        if max(self.row, self.line) >= len(lines) or self.column >= len(lines[self.row]):
            return False
        return lines[self.row][self.column] == str(len(lines[self.line]))


def counts_of(texts: Sequence[str]) -> list[Count]:
    """The numbers that state the words of a line in all texts."""
    every = [[line.split() for line in text.splitlines()] for text in texts]
    rows = range(min((len(lines) for lines in every), default=0))
    counts = [
        Count(row, column, line)
        for row in rows
        for column in range(min(len(lines[row]) for lines in every))
        for line in rows
        if row != line
    ]
    return [each for each in counts if all(map(each.fits, every))]


def _stdin_distance(text: str, shown: Sequence[str], allowed: Allowed) -> int:
    """How far a standard input is: its layout, its numbers and its words are those of the tests."""
    counts = counts_of(shown)
    if not all(each.fits([line.split() for line in text.splitlines()]) for each in counts):
        return FAR
    lines = {each.line for each in counts}

    def layout(each: str) -> tuple[int, ...]:
        sizes = enumerate(len(line.split()) for line in each.splitlines())
        return tuple(min(size, 1) if number in lines else size for number, size in sizes)

    most = SHOWN if layout(text) in set(map(layout, shown)) else FAR
    words = [word for each in shown for word in each.split()]
    numbers = [float(word) for word in words if _NUMBER.fullmatch(word)]
    for word in text.split():
        if _NUMBER.fullmatch(word) and numbers:
            if not any(_NUMBER.fullmatch(n) and ("." in n) == ("." in word) for n in words):
                return FAR
            most = max(most, _number_distance(float(word), numbers, allowed))
        elif plain := [each for each in words if not _NUMBER.fullmatch(each)]:
            most = max(most, _string_distance(word, plain, allowed))
        else:
            return FAR
    return most


# --- relations between the parameters of a call ---------------------------------------------------


@dataclass(frozen=True)
class Relation:
    """A relation between two features of the parameters, that holds in every test."""

    left: int
    right: int
    holds: Callable[[Any, Any], bool]
    is_equal: bool = False

    def __call__(self, values: Sequence[Any]) -> bool:
        features = _features(values)
        left, right = features[self.left], features[self.right]
        try:
            return left is None or right is None or self.holds(left, right)
        except TypeError:
            return False


def relations_of(calls: Sequence[CallInput], names: Sequence[str] = ()) -> list[Relation]:
    """The relations that hold in all calls: one number at most another, a length, an occurrence.

    `names` are those of the parameters: of two numbers called alike, as `a` and `b`, either may be
    the larger.
    """
    if not calls:
        return []
    every = [_values(each) for each in calls]
    count = len(_features(every[0]))
    numeric: list[tuple[Callable[[Any, Any], bool], bool]] = [
        (lambda one, other: one == other, True),
        (lambda one, other: one < other, False),
        (lambda one, other: one <= other, False),
    ]
    relations: list[Relation] = []
    for left in range(count):
        for right in range(count):
            if left == right or left // 3 == right // 3:
                continue
            kinds = numeric if {left % 3, right % 3} <= {0, 1} else []
            if left % 3 == right % 3 == 0 and _are_alike(
                names[left // 3 :][:1], names[right // 3 :][:1]
            ):
                kinds = numeric[:1]
            if left % 3 == 2 and right % 3 == 2:
                kinds = [(lambda one, other: one in other, False)]
            for holds, is_equal in kinds:
                relation = Relation(left, right, holds, is_equal)
                features = [(_features(v)[left], _features(v)[right]) for v in every]
                if not any(a is None or b is None for a, b in features) and all(
                    map(relation, every)
                ):
                    relations.append(relation)
                    break
    return relations


def _are_alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two names differ by a number, or are letters of one kind: n1 and n2, x and y."""
    if not one or not other:
        return False
    first, second = sorted((one[0], other[0]))
    stems = {re.sub(r"[0-9]+", "", name) for name in (first, second)}
    are_letters = any(first in row and second in row for row in ("abcd", "wxyz"))
    return len(stems) == 1 or (len(first) == len(second) == 1 and are_letters)


def parameters(code: str, name: str) -> list[str]:
    """The names of the parameters of a function in a program; [] if it is not there."""
    name = re.escape(name)
    pattern = rf"\b(?:def|function)\s+{name}\s*\(([^()]*)\)|\b{name}\s*=[^=(]*\(([^()]*)\)"
    match = re.search(pattern, code[:_MAX_CHARS])
    inside = (match[1] or match[2] or "") if match else ""
    return [re.split(r"[:=]", each)[0].strip() for each in inside.split(",")]


def _features(values: Sequence[Any]) -> list[Any]:
    """Of each parameter: the number, the length, and the value itself; None if it has none."""
    features: list[Any] = []
    for value in values:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_sized = isinstance(value, str | list | tuple | dict)
        features += [value if is_number else None, len(value) if is_sized else None, value]
    return features


def _repaired(values: list[Any], relations: Sequence[Relation]) -> list[Any]:
    """The values with numbers set to the lengths that they state in every test."""
    for relation in relations:
        if relation.is_equal and relation.left % 3 == 0 and relation.right % 3 == 1:
            number, length = relation.left // 3, _features(values)[relation.right]
            if isinstance(length, int) and isinstance(values[number], int):
                values[number] = length
    return values


def _values(call: CallInput) -> list[Any]:
    return [*call.args, *(call.kwargs[name] for name in sorted(call.kwargs))]


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
    if len(code) > _MAX_CHARS:
        return numbers, texts
    if language == "javascript":
        for token in tokens(code):
            if _NUMBER.fullmatch(token.text):
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
