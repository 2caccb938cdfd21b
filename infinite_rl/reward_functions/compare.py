"""How close a program's output is to the expected output. Pure, with bounded work.

The ladder, tried in order; a pair of texts stands on the first rung that holds:

    exact       1.0   equal, letter case, ANSI codes, line ends and outer blank space aside
    json        1.0   equal JSON objects or arrays: key order and layout do not matter
    number      1.0   equal numbers, however they are written: 7, 7.0, 0.7e1
    close       0.99  numbers that differ by rounding only
    spaces      0.95  equal once each run of blank space is one space; letter case counts here
    tolerance   1.0   as `spaces`, but numbers may differ as far as a reference allows
    similarity  else  a ratio in [0, 0.94]: for shaping, never a pass

With a tolerance, texts are compared word by word, and the numbers in two words one by one: they may
stand in brackets or before commas. Integers written without a point must be equal, since counts are
not rounded. NaN and infinities are words.

That is the rule "tolerant". The judges of data sets have simpler rules, which forgive nothing else:

    exact             equal to the letter, up to one newline at the end
    tokens            the same words in order, whatever blank space stands between them
    tokens_any_case   also where A to Z are in upper or lower case
    lines             the same lines in order, outer blank space aside: of a line, of the text
    unordered_lines   the same lines, each as often, in any order
    unordered_tokens  the same words, each as often, in any order
    stripped          the same text, its outer blank space aside
    line_ends         the same lines in order, blank space at their ends and the text's aside
    line_sets         the same lines in order, empty ones aside; or the same set of lines, each a
                      set of words, or of numbers rounded to three decimals (texts up to 500 kB)

With a tolerance, two words that are numbers may differ by it, and integers too; for "lines", only
where all words of the two lines are numbers, for "line_sets" where each is one number.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from ..sandbox.json_values import same_json

Rung = Literal["exact", "json", "number", "close", "spaces", "tolerance", "rule", "similarity"]

TOLERANT = "tolerant"
RULES = (
    *(TOLERANT, "exact", "tokens", "tokens_any_case", "lines"),
    *("unordered_lines", "unordered_tokens", "stripped", "line_ends", "line_sets"),
)
WITH_TOLERANCE = (TOLERANT, "tokens", "tokens_any_case", "lines", "line_sets")

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
_INNER_NUMBER = re.compile(rf"(?<![\w.])({_NUMBER.pattern})(?!\w|\.\w)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_WORD, _LINE = re.compile(r"\S+"), re.compile(r"[^\n]+|(?<=\n)(?=\n)")

_JSON_CHARS, _SET_CHARS = 2_000_000, 500_000
_RATIO_CHARS = 200  # difflib can take cubic time: 200 characters of "a" against "ab" take 70 ms
_RATIO_MAX = 0.94  # a wrong output must not outrank a right one

# Wide enough for the difference of two doubles. It has no traps, so that nothing raises.
_DECIMAL = Context(prec=60, traps=[])


@dataclass(frozen=True)
class Tolerance:
    """How far a printed number may be from the expected one: either error is enough."""

    absolute: float = 0.0
    relative: float = 0.0


class Match(NamedTuple):
    """A score in [0, 1] and the rung of the ladder that gave it."""

    score: float
    rung: Rung

    @property
    def passed(self) -> bool:
        """True on every named rung, False for a mere similarity."""
        return self.rung != "similarity"


def compare(actual: str, expected: str, tolerance: Tolerance | None = None) -> Match:
    """Grade the output `actual` against the text `expected`, by the ladder above.

    The order of lines and of words matters. Two empty texts are equal. Work is linear in the
    length of the texts, plus a similarity over short windows. Never raises.
    """
    actual, expected = _normalize(actual), _normalize(expected)
    if actual.casefold() == expected.casefold():
        return Match(1.0, "exact")
    if _equal_json(actual, expected):
        return Match(1.0, "json")
    if number := _compare_numbers(actual, expected):
        return number
    if _same_words(actual, expected, None):
        return Match(0.95, "spaces")
    if tolerance and _within(actual, expected, tolerance):
        return Match(1.0, "tolerance")
    return Match(_similarity(actual.lower(), expected.lower()), "similarity")


def compare_by(rule: str, actual: str, expected: str, tolerance: Tolerance | None = None) -> Match:
    """Grade by one of `RULES`. Work is linear in the length of the texts. Never raises.

    Beside "tolerant" and "exact", texts that are not equal score 0.0: no similarity is measured.
    """
    if rule == TOLERANT:
        return compare(actual, expected, tolerance)
    if rule == "exact":
        return compare_exactly(actual, expected)
    is_same = actual == expected or _RULES[rule](actual, expected, tolerance)
    return Match(1.0, "rule") if is_same else Match(0.0, "similarity")


def compare_exactly(actual: str, expected: str) -> Match:
    """Grade by equality, up to one newline at the end, else by similarity. Never raises."""
    if actual.removesuffix("\n") == expected.removesuffix("\n"):
        return Match(1.0, "exact")
    return Match(_similarity(actual, expected), "similarity")


def _words(text: str) -> Iterator[str]:
    """The words of a text, one by one: a list of those of 10 MB takes 500 MB."""
    return (match[0] for match in _WORD.finditer(text))


def _lines(text: str) -> Iterator[str]:
    return (match[0].strip() for match in _LINE.finditer(text.strip()))


def _same_words(actual: str, expected: str, tolerance: Tolerance | None) -> bool:
    pairs = zip_longest(_words(actual), _words(expected), fillvalue="")
    return all(
        one == other or (tolerance is not None and _are_near(one, other, tolerance))
        for one, other in pairs
    )


def _same_words_any_case(actual: str, expected: str, tolerance: Tolerance | None) -> bool:
    return _same_words(_lower(actual), _lower(expected), tolerance)


def _lower(text: str) -> str:
    """The text with A to Z in lower case; other letters stay as they are."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _same_lines(actual: str, expected: str, tolerance: Tolerance | None) -> bool:
    pairs = zip_longest(_lines(actual), _lines(expected))
    return all(
        one == other or _same_numbers(one or "", other or "", tolerance) for one, other in pairs
    )


def _same_numbers(actual: str, expected: str, tolerance: Tolerance | None) -> bool:
    if tolerance is None:
        return False
    pairs = zip_longest(_words(actual), _words(expected), fillvalue="")
    return all(_are_near(one, other, tolerance) for one, other in pairs)


def _same_members(
    split: Callable[[str], Iterator[str]],
) -> Callable[[str, str, Tolerance | None], bool]:
    def is_same(actual: str, expected: str, _tolerance: Tolerance | None) -> bool:
        return Counter(split(actual)) == Counter(split(expected))

    return is_same


def _stripped(actual: str, expected: str, _tolerance: Tolerance | None) -> bool:
    return actual.strip() == expected.strip()


def _same_line_ends(actual: str, expected: str, _tolerance: Tolerance | None) -> bool:
    one, other = (map(str.rstrip, text.rstrip().split("\n")) for text in (actual, expected))
    return all(left == right for left, right in zip_longest(one, other))


def _same_line_sets(actual: str, expected: str, tolerance: Tolerance | None) -> bool:
    def each(near: Callable[[str, str], bool]) -> bool:
        one, other = (filter(None, _lines(text)) for text in (actual, expected))
        return all(near(left, right) for left, right in zip_longest(one, other, fillvalue=""))

    if each(str.__eq__):
        return True
    if tolerance and each(lambda left, right: _are_near(left, right, tolerance)):
        return True
    if max(len(actual), len(expected)) > _SET_CHARS:
        return False
    sets, wanted = (
        {frozenset(line.split()) for line in _lines(text) if line} for text in (actual, expected)
    )
    words = frozenset[str]().union(*sets, *wanted)
    if sets == wanted or not all(map(_NUMBER.fullmatch, words)):
        return sets == wanted
    # As texts: the hashes of sets of numbers collide, and numbers could be chosen so that they do.
    rounded = {word: repr(round(float(word), 3) + 0.0) for word in words}
    one_set, other_set = (
        {frozenset(rounded[word] for word in line) for line in lines} for lines in (sets, wanted)
    )
    return one_set == other_set


_RULES: Mapping[str, Callable[[str, str, Tolerance | None], bool]] = {
    "tokens": _same_words,
    "tokens_any_case": _same_words_any_case,
    "lines": _same_lines,
    "unordered_lines": _same_members(_lines),
    "unordered_tokens": _same_members(_words),
    "stripped": _stripped,
    "line_ends": _same_line_ends,
    "line_sets": _same_line_sets,
}


def _normalize(text: str) -> str:
    """Drop ANSI codes and trailing white space of lines; line ends become "\\n"."""
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()


class _Constant(str):
    """NaN or Infinity in JSON: equal only to itself, not to a string of the same letters."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's members. Raises ValueError for a repeated key: readers differ on those."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is repeated")
    return members


def _read_json(text: str) -> Any:
    """Read a JSON value with its numbers exactly as written.

    Raises ValueError for other text, ArithmeticError for a huge exponent, RecursionError for
    thousands of brackets.
    """
    return json.loads(
        text,
        parse_int=Decimal,
        parse_float=Decimal,
        parse_constant=_Constant,
        object_pairs_hook=_unique_keys,
    )


def _equal_json(actual: str, expected: str) -> bool:
    """Whether both are a JSON object or array, and equal."""
    if not expected or expected[0] not in "[{" or actual[:1] != expected[0]:
        return False
    if max(len(actual), len(expected)) > _JSON_CHARS:
        return False
    try:
        return same_json(_read_json(actual), _read_json(expected), _is_same)
    except (ValueError, ArithmeticError, RecursionError):
        return False


def _is_same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 is 1.0, but unlike in Python true is not 1."""
    return type(left) is type(right) and bool(left == right)


def _compare_numbers(actual: str, expected: str) -> Match | None:
    """The rung of two numbers; None if they differ or one text is not a number.

    Labels must be equal: "x = 5.0" is "x = 5", and is neither "5" nor "y = 5".
    """
    actual_label, _, actual = actual.rpartition("=")
    expected_label, _, expected = expected.rpartition("=")
    if actual_label.casefold().split() != expected_label.casefold().split():
        return None
    actual, expected = actual.strip(), expected.strip()
    if not (_NUMBER.fullmatch(actual) and _NUMBER.fullmatch(expected)):
        return None
    left, right = Decimal(actual), Decimal(expected)
    if left == right:
        return Match(1.0, "number")
    if _INTEGER.fullmatch(actual) and _INTEGER.fullmatch(expected):
        return None  # integers are not rounded
    return Match(0.99, "close") if _close(left, right) else None


def _close(left: Decimal, right: Decimal) -> bool:
    """Whether two unequal numbers differ as roundings of one number do.

    The tolerance is 1e-9 between 1 and 1000, and also against zero; below 1 it shrinks with the
    numbers (1e-12 is not 2e-12), above 1000 it grows like the error of doubles (1e-12 of them).
    """
    gap = _DECIMAL.subtract(left, right).copy_abs()
    size = max(left.copy_abs(), right.copy_abs())
    if left == 0 or right == 0:
        return gap <= Decimal("1e-9")
    small = _DECIMAL.multiply(min(size, Decimal(1)), Decimal("1e-9"))
    large = _DECIMAL.multiply(size, Decimal("1e-12"))
    return gap <= max(small, large)


def _within(actual: str, expected: str, tolerance: Tolerance) -> bool:
    """Whether all words are equal, up to numbers that differ by at most the tolerance."""
    for one, other in zip_longest(_words(actual), _words(expected), fillvalue=""):
        parts, wanted = _INNER_NUMBER.split(one), _INNER_NUMBER.split(other)
        if len(parts) != len(wanted) or parts[::2] != wanted[::2]:
            return False
        pairs = zip(parts[1::2], wanted[1::2], strict=True)
        if not all(_is_near(left, right, tolerance) for left, right in pairs):
            return False
    return True


def _is_near(actual: str, expected: str, tolerance: Tolerance) -> bool:
    if _INTEGER.fullmatch(actual) and _INTEGER.fullmatch(expected):
        return Decimal(actual) == Decimal(expected)
    return _within_errors(Decimal(actual), Decimal(expected), tolerance)


def _are_near(actual: str, expected: str, tolerance: Tolerance) -> bool:
    """Whether two words are numbers that differ by at most the tolerance.

    With a tolerance, a number with a point or an exponent is a double, as the sets' judges read it.
    """
    if not (_NUMBER.fullmatch(actual) and _NUMBER.fullmatch(expected)):
        return False
    are_integers = _INTEGER.fullmatch(actual) and _INTEGER.fullmatch(expected)
    is_loose = not are_integers and (tolerance.absolute or tolerance.relative)
    if is_loose and float(actual) == float(expected) < float("inf"):
        return True
    return _within_errors(Decimal(actual), Decimal(expected), tolerance)


def _within_errors(left: Decimal, right: Decimal, tolerance: Tolerance) -> bool:
    if left == right:
        return True
    share = _DECIMAL.multiply(Decimal(tolerance.relative), right.copy_abs())
    gap = _DECIMAL.subtract(left, right).copy_abs()
    return gap <= max(Decimal(tolerance.absolute), share)


def _similarity(one: str, other: str) -> float:
    """The share of characters that match in order, in [0, 0.94].

    In long texts only the common ends and a window of 200 characters between them are compared.
    """
    total = len(one) + len(other)
    ends = 0
    if max(len(one), len(other)) > _RATIO_CHARS:
        start = _common_start(one, other)
        one, other = one[start:], other[start:]
        end = _common_start(one[::-1], other[::-1])
        one, other = one[: len(one) - end], other[: len(other) - end]
        ends = start + end
    one, other = one[:_RATIO_CHARS], other[:_RATIO_CHARS]
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return min(2 * (ends + sum(block.size for block in blocks)) / total, _RATIO_MAX)


def _common_start(one: str, other: str) -> int:
    """The number of characters that two texts share at their start."""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return index
    return min(len(one), len(other))
