"""Whether two boxes are one list, or only the last one counts: by the text between them.

Boxes are joined where nothing but these stands between them: white space and spacing commands,
delimiters of formulas, emphasis, `\\text{}`, a comma or a semicolon, "and", "or", "also" and the
like, the label of a part such as "(b)", and the name of a value ("x ="). One of them must separate:
`\\boxed{1}\\boxed{8}` is no list. Any other word, such as "wait" or "hence", begins a statement of
its own, and the last box wins.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

# A variable, maybe with an index, a prime or an argument: `x_1`, `\\alpha`, `f'(x)`.
_LETTER = r"(?:\\[a-z]{2,8}|[A-Za-z])"
VARIABLE = rf"{_LETTER}'{{0,2}}(?:_\{{?[0-9A-Za-z]{{1,3}}\}}?)?(?:\([0-9a-z]{{1,3}}\))?"
_WORDS = {"or": "or", "and/or": "or"}  # all others are "and"
_TOKEN = re.compile(
    rf"""
      (?P<line>\n\s*(?:[-*+\u2022>]\s|\#+\s)?|\\\\(?:\[[^\[\]\n]{{1,9}}\])?)
    | (?P<wide>\\q?quad(?![A-Za-z]))
    | (?P<label>(?<![A-Za-z0-9])
        (?:(?:answer|solution|for|to|part|case|problem|question)[ ~]+){{0,4}}
        (?:\((?:[a-h]|[ivx]{{1,4}}|[1-9][0-9]?)\)|(?:[a-h]|[ivx]{{1,4}}|[1-9][0-9]?)[.):](?=[\s*$])))
    | (?P<word>\b(?:and/or|(?:and\s+|or\s+)?also|and|or|as\s+well\s+as|together\s+with|along\s+with)
        (?![A-Za-z]))
    | (?P<name>(?<![A-Za-z0-9\\]){VARIABLE}[\s&$]{{0,5}}=)
    | (?P<text>\\(?:text(?:bf|it|rm|sf)?|math(?:rm|bf)|mbox|hbox)\s?\{{)
    | (?P<close>\}})
    | (?P<mark>[,;])
    | (?P<gap>[^\S\n]|[$*&~.:]|\\[()\[\],;:! ]|\\(?:displaystyle|left|right)(?![A-Za-z])
        |\\(?:begin|end)\{{(?:align|aligned|gather|gathered|equation|center)\*?\}})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = re.compile(
    rf"(?:{VARIABLE}\s*=\s*)?(-?)(?:([0-9]+(?:\.[0-9]+)?)(?:/([0-9]+))?"
    r"|\\[dt]?frac\{([0-9]+)\}\{([0-9]+)\})"
)
_LONGEST = 40  # characters of a number that is compared


class Joint(NamedTuple):
    """Of two boxes: the sign between them in a list, and the second one's name, `x = ` or "".

    The sign is "" where nothing separates them. The second is an answer of its own, even if it is
    the same, where it is of another `part`; it may repeat the first if no word or mark joins them.
    """

    sign: str
    name: str
    part: bool
    repeats: bool


def joint(text: str, start: int, stop: int) -> Joint | None:
    """What joins two boxes with `text[start:stop]` between them; None where that begins anew."""
    mark, word, name = "", "", ""
    separated = part = False
    depth = 0
    while start < stop:
        token = _TOKEN.match(text, start, stop)
        if token is None or (name and token.lastgroup not in ("gap", "text", "close")):
            return None
        start, kind = token.end(), token.lastgroup
        depth += (kind == "text") - (kind == "close")
        if depth < 0:
            return None  # a brace of what the first box stands in
        if kind == "mark":
            mark = token[0]
        elif kind == "word":
            word = _WORDS.get(token[0].lower(), "and")
        elif kind == "name":
            name = plain_name(token[0])
        part |= kind == "label"
        separated |= kind in ("line", "wide", "label")
    sign = mark + word or ("," if separated else "")
    return Joint(sign, name, part, not (mark or word or part))


def plain_name(text: str) -> str:
    """`x &=` and `x=` as `x = `."""
    return re.sub(r"[\s&$]*=\s*$", " = ", text)


def same_number(one: str, other: str) -> bool:
    """Whether both are plain numbers of one value, such as `\\frac{1}{2}` and `x = 0.5`."""
    values: list[Fraction] = []
    for text in (one, other):
        number = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
        if number is None:
            return False
        over, under = number[2] or number[4], number[3] or number[5] or "1"
        if not int(under):
            return False
        values.append(Fraction(f"{number[1]}{over}") / int(under))
    return values[0] == values[1]
