"""Numbers in English words: `twenty-one`, `three quarters`, `two and a half dozen`."""

from __future__ import annotations

import re
from fractions import Fraction

from .units import PARTS, multiple


def _numbered(names: str, first: int, step: int = 1) -> dict[str, int]:
    return {name: first + step * place for place, name in enumerate(names.split())}


CARDINALS = {
    **_numbered("zero one two three four five six seven eight nine ten eleven twelve", 0),
    **_numbered("thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 13),
    **_numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10),
}
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS = {**PARTS, "half": 2, "halves": 2, "quarter": 4}
_ORDINALS = {
    **_numbered("first second third fourth fifth sixth seventh eighth ninth tenth eleventh", 1),
    **_numbered("twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth", 12),
    **_numbered("nineteenth twentieth", 19),
}
_ORDINAL = re.compile(
    r"([0-9]{1,9}) ?\^?\{?(st|nd|rd|th)\}?|"
    rf"(?:(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[- ])?({'|'.join(_ORDINALS)})"
)
_WORD = re.compile(r"[A-Za-z]+")
_SPOKEN = re.compile(r"[A-Za-z][A-Za-z\s,.'/^0-9-]*")
_SIGNS = frozenset(["minus", "negative"])


def ordinal(text: str) -> str | None:
    """`3rd`, `3^{rd}` and `third` as "3rd"; None for other texts."""
    found = _ORDINAL.fullmatch(text)
    if found is None:
        return None
    digits, suffix, tens, ones = found.groups()
    if digits is None and ones is None:
        return None
    value = int(digits) if digits else CARDINALS.get(tens or "", 0) + _ORDINALS[ones]
    last = 0 if value % 100 in (11, 12, 13) else value % 10
    right = {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
    return f"{value}{right}" if suffix in (None, right) else None


def number_in_words(text: str) -> tuple[Fraction, str] | None:
    """The number that a text begins with, and what follows it; None where it begins with none.

    >>> number_in_words("five dozen eggs")
    (Fraction(60, 1), 'eggs')
    """
    if not _SPOKEN.fullmatch(text):
        return None
    words = [(found[0].casefold(), found.start()) for found in _WORD.finditer(text)]
    if not words or (words[0][0] not in CARDINALS and words[0][0] not in _SIGNS | {"a", "half"}):
        return None
    reader = _Reader([word for word, _ in words])
    value = reader.signed()
    if value is None:
        return None
    end = words[reader.place][1] if reader.place < len(words) else len(text)
    rest = text[end:]
    if any(mark.isdigit() or mark in "/^" for mark in text[:end]):
        return None  # "five 6"
    return value, rest.strip(" .")


class _Reader:
    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.place = 0

    def at(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.words[place] if place < len(self.words) else ""

    def signed(self) -> Fraction | None:
        sign = -1 if self.at() in _SIGNS else 1
        self.place += sign < 0
        value = self.amount()
        return None if value is None else sign * value

    def amount(self) -> Fraction | None:
        """A whole number, a fraction or both, with the words that multiply it."""
        if self.at() == "a" and (self.at(1) in _LARGE or self.at(1) in ("dozen", "hundred")):
            self.words[self.place] = "one"
        value = self.fraction()
        if value is None:
            whole = self.whole()
            if whole is None:
                return None
            value = Fraction(whole)
            part = _PARTS.get(self.at().removesuffix("s")) if self.at() not in _PARTS else None
            if part and whole < 100:  # "twenty-one hundredths"
                self.place += 1
                value /= part
            elif self.at() == "point":
                value += self.decimals()
            elif self.at() == "and":
                self.place += 1
                more = self.fraction()
                self.place -= more is None
                value += more or 0
        if self.at(0) == "a" and self.at(1) in ("dozen", *_LARGE):  # "half a dozen"
            self.place += 1
        while factor := multiple(self.at()) if self.at() in ("dozen", *_LARGE) else None:
            value *= factor
            self.place += 1
        return value

    def fraction(self) -> Fraction | None:
        """`half`, `a half`, `two thirds`."""
        if self.at() == "half":
            self.place += 1
            return Fraction(1, 2)
        top = 1 if self.at() == "a" else CARDINALS.get(self.at())
        bottom = _PARTS.get(self.at(1)) or _PARTS.get(self.at(1).removesuffix("s"))
        if not top or bottom is None:
            return None
        self.place += 2
        return Fraction(top, bottom)

    def whole(self) -> int | None:
        """`one hundred and twenty-three thousand four hundred`."""
        total, below = 0, self.hundreds()
        if below is None:
            return None
        last = max(_LARGE.values()) + 1
        while self.at() in _LARGE and _LARGE[self.at()] < last:
            last = _LARGE[self.at()]
            total += below * last
            self.place += 1
            below = 0
            start = self.place
            self.place += self.at() == "and"
            more = self.hundreds()
            if more is None:
                self.place = start
                break
            below = more
        return total + below

    def hundreds(self) -> int | None:
        """Up to three digits: `nine hundred and ninety-nine`."""
        value = self.tens()
        if value is None or self.at() != "hundred":
            return value
        self.place += 1
        start = self.place
        self.place += self.at() == "and"
        rest = self.tens() if self.fraction_ahead() else None
        if rest is None:
            self.place = start
        return value * 100 + (rest or 0)

    def fraction_ahead(self) -> bool:
        """Whether what follows is a number of its own, not the top of a fraction."""
        return self.at(1) not in _PARTS and self.at(1).removesuffix("s") not in _PARTS

    def tens(self) -> int | None:
        value = CARDINALS.get(self.at())
        if value is None:
            return None
        self.place += 1
        ones = CARDINALS.get(self.at(), 0)
        if value >= 20 and 0 < ones < 10 and self.at(1) not in _PARTS:
            self.place += 1
            value += ones
        return value

    def decimals(self) -> Fraction:
        """`point one four`."""
        self.place += 1
        digits = ""
        while self.at() in CARDINALS and CARDINALS[self.at()] < 10:
            digits += str(CARDINALS[self.at()])
            self.place += 1
        return Fraction(int(digits or "0"), 10 ** len(digits))
