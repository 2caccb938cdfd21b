"""How far an input is from those that a row's tests show.

An input is near only if it has the types, signs, lengths, characters and regularities that all
tests share: sorted or distinct items, a list as long as a number says, a word that occurs in a
text. What the prompt names ("empty", "negative") counts as shown. Pure.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from .inputs import REGULAR, CallInput

SHOWN, NEAR, FAR, OTHER = range(4)  # in the tests' ranges, close to them, beyond, of another type
REACHES = {"shown": SHOWN, "near": NEAR, "far": FAR}
MAX_CHARS = 20_000  # of a program, and of a prompt
_LETTERS = 4  # different letters of a kind that show that any letter may stand there
NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,6})?")


@dataclass(frozen=True)
class Allowed:
    """What the prompt names, so that it is as good as shown."""

    empty: bool = False
    zero: bool = False
    negative: bool = False
    repeated: bool = False

    @classmethod
    def by(cls, prompt: str) -> "Allowed":
        text = prompt[:MAX_CHARS].lower()
        bare = re.sub(r"non[- ]?(?:empty|negative|zero)", "", text)
        return cls(
            bool(re.search(r"\bempty\b", bare)),
            bool(re.search(r"\bzero\b|non[- ]?negative", text)),
            bool(re.search(r"\bnegative", bare)),
            bool(re.search(r"\b(?:duplicat|repeat|distinct|unique)", text)),
        )


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
    if value == 0 and 0 not in shown:  # many programs have a branch for zero
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


def kind_of_letter(letter: str) -> str:
    """Return the class of a character: lower case, upper case, digit, or the character itself."""
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
        kind = kind_of_letter(letter)
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
    kinds = Counter(map(kind_of_letter, letters))
    is_marked = kinds.keys() - {"a", "A", " "}  # words alone may be more or fewer
    shape = next(iter(shapes)) if is_marked and len(shapes) == 1 and len(shown) > 1 else ""
    has_numbers = kinds["9"] and kinds.keys() - {"9", " "} and not kinds.keys() & {"a", "A"}
    layouts = {_layout(each) for each in some} if has_numbers else set()
    return _TextProfile(letters, kinds, regular, shape, layouts)


def _layout(text: str) -> str:
    """A text with each digit as 9: "99-9" for "20-1"."""
    return "".join(map(kind_of_letter, text))


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


def stdin_distance(text: str, shown: Sequence[str], allowed: Allowed) -> int:
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
    numbers = [float(word) for word in words if NUMBER.fullmatch(word)]
    for word in text.split():
        if NUMBER.fullmatch(word) and numbers:
            if not any(NUMBER.fullmatch(n) and ("." in n) == ("." in word) for n in words):
                return FAR
            most = max(most, _number_distance(float(word), numbers, allowed))
        elif plain := [each for each in words if not NUMBER.fullmatch(each)]:
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
    every = [values_of(each) for each in calls]
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
    match = re.search(pattern, code[:MAX_CHARS])
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


def repaired(values: list[Any], relations: Sequence[Relation]) -> list[Any]:
    """The values with numbers set to the lengths that they state in every test."""
    for relation in relations:
        if relation.is_equal and relation.left % 3 == 0 and relation.right % 3 == 1:
            number, length = relation.left // 3, _features(values)[relation.right]
            if isinstance(length, int) and isinstance(values[number], int):
                values[number] = length
    return values


def values_of(call: CallInput) -> list[Any]:
    return [*call.args, *(call.kwargs[name] for name in sorted(call.kwargs))]
