"""Numbers in words: `twenty-one`, `three quarters`, `five dozen`, `third`."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from .word_tables import WordTables

_TABLES = WordTables(__file__)
_MULTIPLES = {name: Fraction(value) for name, value in _TABLES.mapping("multiples").items()}


def _numbered(table: str, first: int, step: int = 1) -> dict[str, int]:
    return {name: first + step * n for n, name in enumerate(_TABLES.listed(table))}


CARDINALS = {**_numbered("small", 0), **_numbered("tens", 20, 10)}
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINALS = _numbered("ordinals", 1)
_PARTS_ALONE = {name: value for name, value in _ORDINALS.items() if value > 2}
_PARTS_ALONE |= {name: int(value) for name, value in _TABLES.mapping("parts").items()}
_PARTS = {**_PARTS_ALONE, "half": 2, "halves": 2, "quarter": 4}
# fullmatch: '3rd', '3^{rd}', '21 st', 'twenty-first', 'third'; not 'three', '3'
_ORDINAL = re.compile(
    r"([0-9]{1,9}) ?\^?\{?(st|nd|rd|th)\}?|"
    rf"(?:({'|'.join(_numbered('tens', 0))})[- ])?({'|'.join(_ORDINALS)})"
)
# fullmatch: 'dozen'; not 'two dozen', '2'
_WORD = re.compile(r"[A-Za-z]+")
# fullmatch: 'two, and a half', 'one 1/2'; not '2 dozen', 'five!'
_SPOKEN = re.compile(r"[A-Za-z][A-Za-z\s,.'/^0-9-]*")
_SIGNS = ("minus", "negative")
Value = TypeVar("Value", int, Fraction)


def multiple(word: str, *, one: bool = False) -> Fraction | None:
    """The factor of `million` or `tenths` behind a number; None for other words.

    A fraction in the singular counts after `one` only: "20 seventh graders" are 20.
    """
    word = word.casefold()
    single = word.removesuffix("s")
    if single in _PARTS_ALONE:
        return Fraction(1, _PARTS_ALONE[single]) if one or word != single else None
    return _MULTIPLES.get(word, _MULTIPLES.get(single))


def normalized_ordinal(text: str) -> str | None:
    """`3rd`, `3^{rd}` and `third` as "3rd"; None for other texts."""
    match = _ORDINAL.fullmatch(text)
    if match is None:
        return None
    digits, suffix, tens, ones = match.groups()
    if digits is None and ones is None:
        return None
    value = int(digits) if digits else CARDINALS.get(tens or "", 0) + _ORDINALS[ones]
    last = 0 if value % 100 in (11, 12, 13) else value % 10
    right = {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
    return f"{value}{right}" if suffix in (None, right) else None


def number_in_words(text: str) -> tuple[Fraction, str] | None:
    """The number that a text begins with, and the rest; None if it begins with no number.

    >>> number_in_words("five dozen eggs")
    (Fraction(60, 1), 'eggs')
    """
    if not _SPOKEN.fullmatch(text):
        return None
    words = [(match[0].casefold(), match.start()) for match in _WORD.finditer(text)]
    if not words or (words[0][0] not in CARDINALS and words[0][0] not in {*_SIGNS, "a", "half"}):
        return None
    reader = _Reader([word for word, _ in words])
    value = reader.signed()
    if value is None:
        return None
    end = words[reader.position][1] if reader.position < len(words) else len(text)
    rest = text[end:]
    if any(mark.isdigit() or mark in "/^" for mark in text[:end]):
        return None  # "five 6"
    return value, rest.strip(" .")


class _Reader:
    """A reader of numbers in words. Each method returns None, and reads nothing, for others."""

    def __init__(self, words: list[str]) -> None:
        self.words = [*words, "", ""]
        self.position = 0

    def at(self, ahead: int = 0) -> str:
        return self.words[self.position + ahead]

    def accept(self, *words: str) -> bool:
        accepted = self.at() in words
        self.position += accepted
        return accepted

    def after_and(self, read: Callable[[], Value | None]) -> Value | None:
        """What follows, perhaps after "and"."""
        start = self.position
        self.accept("and")
        value = read()
        if value is None:
            self.position = start
        return value

    def signed(self) -> Fraction | None:
        sign = -1 if self.accept(*_SIGNS) else 1
        value = self.amount()
        return None if value is None else sign * value

    def amount(self) -> Fraction | None:
        """A whole number, a fraction or both, with the words that multiply it."""
        if self.at() == "a" and (self.at(1) in _LARGE or self.at(1) in ("dozen", "hundred")):
            self.words[self.position] = "one"
        value = self.fraction()
        if value is None:
            whole = self.whole()
            if whole is None:
                return None
            value = Fraction(whole)
            part = _PARTS.get(self.at().removesuffix("s")) if self.at() not in _PARTS else None
            if part and whole < 100:  # "twenty-one hundredths"
                self.position += 1
                value /= part
            elif self.accept("point"):
                value += self.decimals()
            elif self.at() == "and":
                value += self.after_and(self.fraction) or 0
        if self.at() == "a" and self.at(1) in ("dozen", *_LARGE):  # "half a dozen"
            self.position += 1
        while factor := multiple(self.at()) if self.at() in ("dozen", *_LARGE) else None:
            value *= factor
            self.position += 1
        return value

    def part(self, ahead: int) -> int | None:
        """The parts of a whole that a word names: `thirds`."""
        word = self.at(ahead)
        return _PARTS.get(word) or _PARTS.get(word.removesuffix("s"))

    def fraction(self) -> Fraction | None:
        """`half`, `a half`, `two thirds`."""
        if self.accept("half"):
            return Fraction(1, 2)
        top, bottom = 1 if self.at() == "a" else CARDINALS.get(self.at()), self.part(1)
        if not top or bottom is None:
            return None
        self.position += 2
        return Fraction(top, bottom)

    def whole(self) -> int | None:
        """`one hundred and twenty-three thousand four hundred`."""
        total, below, last = 0, self.hundreds(), max(_LARGE.values()) + 1
        while below is not None and _LARGE.get(self.at(), last) < last:
            last = _LARGE[self.at()]
            total += below * last
            self.position += 1
            below = self.after_and(self.hundreds)
            if below is None:
                return total
        return None if below is None else total + below

    def hundreds(self) -> int | None:
        """Up to three digits: `nine hundred and ninety-nine`."""
        value = self.tens()
        if value is None or not self.accept("hundred"):
            return value
        rest = self.after_and(lambda: None if self.part(1) else self.tens())  # of a fraction
        return value * 100 + (rest or 0)

    def tens(self) -> int | None:
        value = CARDINALS.get(self.at())
        if value is None:
            return None
        self.position += 1
        ones = CARDINALS.get(self.at(), 0)
        if value >= 20 and 0 < ones < 10 and self.at(1) not in _PARTS:
            self.position += 1
            value += ones
        return value

    def decimals(self) -> Fraction:
        """`one four` behind "point"."""
        digits = ""
        while CARDINALS.get(self.at(), 10) < 10:
            digits += str(CARDINALS[self.at()])
            self.position += 1
        return Fraction(int(digits or "0"), 10 ** len(digits))
