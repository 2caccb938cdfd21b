"""Which words and letters a text has, and how often. Case does not count."""

from __future__ import annotations

import re

from .compare import Relation


def existence(text: str, *, keywords: tuple[str, ...]) -> bool:
    """Each keyword occurs, also as a part of a word."""
    folded = text.casefold()
    return all(keyword.casefold() in folded for keyword in keywords)


def frequency(text: str, *, keyword: str, frequency: int, relation: Relation) -> bool:
    """The keyword occurs so often, also as a part of words."""
    return relation(text.casefold().count(keyword.casefold()), frequency)


def forbidden_words(text: str, *, forbidden_words: tuple[str, ...]) -> bool:
    """None of the words occurs as a whole word."""
    folded = text.casefold()
    return not any(re.search(_whole(word.casefold()), folded) for word in forbidden_words)


def _whole(word: str) -> str:
    """A pattern for a word that is no part of a longer one."""
    before = r"(?<!\w)" if re.match(r"\w", word) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", word) else ""
    return before + re.escape(word) + after


def letter_frequency(text: str, *, letter: str, let_frequency: int, let_relation: Relation) -> bool:
    """The letter, small or capital, occurs so often."""
    return let_relation(text.lower().count(letter.lower()), let_frequency)
