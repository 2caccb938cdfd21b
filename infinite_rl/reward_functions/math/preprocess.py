"""Rewriting of the answer's text: numbers in words, and notations of more than one token.

`twenty-one`, `three quarters`; `{}_5C_2`, `1h30`, `\\$1.2M`, `[1 2; 3 4]`, `5'6"`.
"""

from __future__ import annotations

import re
from fractions import Fraction

from .units import PARTS, SINGLE_LETTERS, is_unit, multiple

_PER_CENT = re.compile(r"^(?:an?|the) +(?=[0-9.]+ ?\\?%)")  # "a 25% decrease"
_SHORT_MONEY = re.compile(  # "$1.2M"
    r"((?:\\?\$|[€£¥₹])\s?[0-9](?:[0-9.,]|\{,\})*)\s?(?:\\text\{ ?)?(K|k|M|mn|B|bn)\}?(?=[\s.$]*$)"
)
_IN_FULL = {"k": "thousand", "m": "million", "b": "billion"}
_HOURS = re.compile(r"^([0-9]{1,2}) ?h ?([0-5][0-9]|[0-9](?= ?m))(?: ?m(?:in|ins)?)?$")  # "1h30"
_FEET = re.compile(r"^([0-9]{1,9})\s?['′’]\s?([0-9]{1,9}(?:\.[0-9]+)?)\s?(?:[\"″”]|'')$")  # 5'6"
_NUMBER = r"-?[0-9]+(?:[./][0-9]+)?"
_ROW = rf"{_NUMBER}(?:(?:\s*,\s*|\s+){_NUMBER})+"
_ROWS = re.compile(rf"\[\s*({_ROW}(?:\s*;\s*{_ROW})+)\s*\]")  # "[1 2; 3 4]"
_ANGLES = re.compile(r"^<([^<>=]+,[^<>=]+)>$")  # "<1, 2>"
_TEXT_DIGITS = re.compile(r"\\(?:text|mathrm)\{([0-9A-Z]+)\}(?=_)")  # "\text{1F}_{16}"
_BASE_IN_BRACKETS = re.compile(r"(?<=[0-9])_\{\(([0-9]{1,2})\)\}")
# "15^\\prime": a mark of minutes, or of a derivative.
_PRIMES = re.compile(r"\^\s?(?:\{\s?((?:\\prime\s?)+)\}|(\\prime)(?![a-z]))")
# Choices and arrangements, `{}_5C_2` and `{}^5P_2`, and plainly `5C2`. Nothing may stand before
# the first number that it could be an index of.
_OPEN = r"(?:\{\}|(?<![^=+*(,-]))[_^]\{?([0-9]{1,3}|[a-z])\}?\s?(?:\\mathrm ?)?"
_COUNTED = re.compile(_OPEN + r"\{?([CP])\}?_\{?([0-9]{1,3})\}?")
_COUNTED_PLAIN = re.compile(r"(?<![0-9A-Za-z_^.{])([0-9]{1,3})([CP])([0-9]{1,3})(?![0-9A-Za-z_.])")
_UNDER = re.compile(  # "J/(mol K)"
    r"/\s?\(([A-Za-z]+(?:\^?[0-9])?)(?:\s?(?:\\cdot|[*\u00b7\u22c5])\s?|\s)([A-Za-z]+(?:\^?[0-9])?)\)"
)
# "for all integers k", "where k is an integer", "(k in Z)": what closes a class of numbers.
_JOINT = r"[,;(]? ?(?:\\q?quad|\\ )? ?(?:\\text\{ ?\(?)?(?:where|for|with)? ?"
_WHOLE = [
    re.compile(pattern)
    for pattern in (
        _JOINT + r"(?:all|any|some|every|an)? ?integers? ?\}? ?\$?([a-zA-Z])\$?\)?$",
        _JOINT
        + r"\}? ?\$?([a-zA-Z])\$? ?(?:\\text\{ ?)?(?:is )?(?:an|any|some) integer ?\)?\}?\)?$",
        _JOINT + r"(?:all|any|some)? ?\}? ?([a-zA-Z]) ?(?:\\in|∈) ?(?:\\mathbb ?\{?Z\}?|ℤ)\)?$",
    )
]


def respelled(text: str) -> str:
    """The text with each notation rewritten in the spelling that the parser reads."""
    if "integer" in text or "Z" in text or "ℤ" in text:
        text = " ".join(text.split())
        for pattern in _WHOLE:
            text = pattern.sub(r", \1 \\in \\mathbb{Z}", text)
    if "C" in text or "P" in text:
        text = _COUNTED.sub(_counted, text)
        if "base" not in text and "hex" not in text:
            text = _COUNTED_PLAIN.sub(_counted, text)
    if "\\prime" in text:
        text = _PRIMES.sub(lambda match: "'" * match[0].count("prime"), text)
    if text[-1:] in "\"'″”":
        text = _FEET.sub(r"\1 ft \2 in", text)
    if ";" in text:
        text = _ROWS.sub(_matrix, text)
    if text[:1] == "<":
        text = _ANGLES.sub(r"(\1)", text)
    if "h" in text:
        text = _HOURS.sub(r"\1 h \2 min", text)
    if "%" in text:
        text = _PER_CENT.sub("", text)
    if "$" in text or not text.isascii():
        text = _SHORT_MONEY.sub(
            lambda money: f"{money[1]} {_IN_FULL[money[2][0].casefold()]}", text
        )
    if "/(" in text or "/ (" in text:
        text = _UNDER.sub(_each_under, text)
    if '"' in text and ("circ" in text or "°" in text):
        text = text.replace('"', "''")  # seconds
    if "_" in text:
        text = _BASE_IN_BRACKETS.sub(r"_{\1}", _TEXT_DIGITS.sub(r"\1", text))
    return text


def _each_under(match: re.Match[str]) -> str:
    units = [re.sub("[0-9^]", "", unit) for unit in match.groups()]
    all_units = all(unit in SINGLE_LETTERS or is_unit(unit) for unit in units)
    return f"/{match[1]}/{match[2]}" if all_units else match[0]


def _matrix(match: re.Match[str]) -> str:
    rows = [" & ".join(re.findall(_NUMBER, row)) for row in match[1].split(";")]
    return r"\begin{pmatrix} " + r" \\ ".join(rows) + r" \end{pmatrix}"


def _counted(match: re.Match[str]) -> str:
    top, letter, bottom = match.groups()
    if top.isdigit() and int(bottom) > int(top):
        return match[0]
    orders = rf" \cdot {bottom}!" if letter == "P" else ""
    return rf"(\binom{{{top}}}{{{bottom}}}{orders})"


def _numbered(names: str, first: int, step: int = 1) -> dict[str, int]:
    return {name: first + step * position for position, name in enumerate(names.split())}


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
    if not words or (words[0][0] not in CARDINALS and words[0][0] not in _SIGNS | {"a", "half"}):
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
    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.position = 0

    def at(self, ahead: int = 0) -> str:
        position = self.position + ahead
        return self.words[position] if position < len(self.words) else ""

    def signed(self) -> Fraction | None:
        sign = -1 if self.at() in _SIGNS else 1
        self.position += sign < 0
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
            elif self.at() == "point":
                value += self.decimals()
            elif self.at() == "and":
                self.position += 1
                more = self.fraction()
                self.position -= more is None
                value += more or 0
        if self.at(0) == "a" and self.at(1) in ("dozen", *_LARGE):  # "half a dozen"
            self.position += 1
        while factor := multiple(self.at()) if self.at() in ("dozen", *_LARGE) else None:
            value *= factor
            self.position += 1
        return value

    def fraction(self) -> Fraction | None:
        """`half`, `a half`, `two thirds`."""
        if self.at() == "half":
            self.position += 1
            return Fraction(1, 2)
        top = 1 if self.at() == "a" else CARDINALS.get(self.at())
        bottom = _PARTS.get(self.at(1)) or _PARTS.get(self.at(1).removesuffix("s"))
        if not top or bottom is None:
            return None
        self.position += 2
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
            self.position += 1
            below = 0
            start = self.position
            self.position += self.at() == "and"
            more = self.hundreds()
            if more is None:
                self.position = start
                break
            below = more
        return total + below

    def hundreds(self) -> int | None:
        """Up to three digits: `nine hundred and ninety-nine`."""
        value = self.tens()
        if value is None or self.at() != "hundred":
            return value
        self.position += 1
        start = self.position
        self.position += self.at() == "and"
        part = self.at(1) in _PARTS or self.at(1).removesuffix("s") in _PARTS  # of a fraction
        rest = None if part else self.tens()
        if rest is None:
            self.position = start
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
        """`point one four`."""
        self.position += 1
        digits = ""
        while self.at() in CARDINALS and CARDINALS[self.at()] < 10:
            digits += str(CARDINALS[self.at()])
            self.position += 1
        return Fraction(int(digits or "0"), 10 ** len(digits))
