"""What an instruction's arguments may be. A reader raises a ValueError that says what it wants."""

from __future__ import annotations

from .compare import RELATIONS, Relation
from .language import LANGUAGES
from .words import seen


def number(value: object) -> int:
    """A whole number above 0, also where a table has made 3.0 of it."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("must be a whole number above 0")
    return value


def relation(value: object) -> Relation:
    """ "less than" or "at least"."""
    if not isinstance(value, str) or value not in RELATIONS:
        raise ValueError(f"must be one of: {', '.join(RELATIONS)}")
    return RELATIONS[value]


def phrase(value: object) -> str:
    """A text that is not blank, without the white space around it."""
    text = seen(value).strip() if isinstance(value, str) else ""
    if not text:
        raise ValueError("must be a text")
    return text


def phrases(value: object) -> tuple[str, ...]:
    """At least one such text."""
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError("must be a list of texts")
    return tuple(map(phrase, value))


def word(value: object) -> str:
    """A text without white space."""
    text = phrase(value)
    if len(text.split()) > 1:
        raise ValueError("must be one word")
    return text


def character(value: object) -> str:
    """One character."""
    text = phrase(value)
    if len(text) > 1:
        raise ValueError("must be one character")
    return text


def language_code(value: object) -> str:
    """The code of a language that can be told apart."""
    if not isinstance(value, str) or value not in LANGUAGES:
        raise ValueError(f"must be one of: {', '.join(LANGUAGES)}")
    return value
