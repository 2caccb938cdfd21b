"""Capital and small letters."""

from __future__ import annotations

import re

from .compare import Relation
from .language import is_in

_WORD = re.compile(r"\w+(?:[-./'’]\w+)*")
_CLITIC = re.compile(r"(?<=\w)['’](?:s|m|d|t|ll|re|ve)\Z")


def english_capital(text: str) -> bool:
    """The text is English, and all its letters are capitals."""
    return text.isupper() and is_in(text, "en")


def english_lowercase(text: str) -> bool:
    """The text is English, and all its letters are small."""
    return text.islower() and is_in(text, "en")


def capital_word_frequency(
    text: str, *, capital_frequency: int, capital_relation: Relation
) -> bool:
    """So many words are all in capitals; what hyphens join is one word."""
    capital = sum(_CLITIC.sub("", word).isupper() for word in _WORD.findall(text))
    return capital_relation(capital, capital_frequency)
