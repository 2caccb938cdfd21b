"""Respellings of more than one token: `{}_5C_2`, `1h30`, `\\$1.2M`, `[1 2; 3 4]`, `5'6"`."""

from __future__ import annotations

import re

from .units import SINGLE_LETTERS, is_unit

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
    """The text with each of these in the one spelling that the parser knows."""
    if "integer" in text or "Z" in text or "ℤ" in text:
        text = " ".join(text.split())
        for pattern in _WHOLE:
            text = pattern.sub(r", \1 \\in \\mathbb{Z}", text)
    if "C" in text or "P" in text:
        text = _COUNTED.sub(_counted, text)
        if "base" not in text and "hex" not in text:
            text = _COUNTED_PLAIN.sub(_counted, text)
    if "\\prime" in text:
        text = _PRIMES.sub(lambda found: "'" * found[0].count("prime"), text)
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


def _each_under(found: re.Match[str]) -> str:
    units = [re.sub("[0-9^]", "", unit) for unit in found.groups()]
    known = all(unit in SINGLE_LETTERS or is_unit(unit) for unit in units)
    return f"/{found[1]}/{found[2]}" if known else found[0]


def _matrix(found: re.Match[str]) -> str:
    rows = [" & ".join(re.findall(_NUMBER, row)) for row in found[1].split(";")]
    return r"\begin{pmatrix} " + r" \\ ".join(rows) + r" \end{pmatrix}"


def _counted(found: re.Match[str]) -> str:
    top, letter, bottom = found.groups()
    if top.isdigit() and int(bottom) > int(top):
        return found[0]
    orders = rf" \cdot {bottom}!" if letter == "P" else ""
    return rf"(\binom{{{top}}}{{{bottom}}}{orders})"
