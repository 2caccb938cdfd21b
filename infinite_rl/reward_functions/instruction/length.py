"""How long a text is: words, sentences, paragraphs."""

from __future__ import annotations

import re

from .compare import Relation
from .words import sentences, words

_QUOTES = "\"'“”‘’«»"
_AFTER_WORD = re.compile(r"[.,?!'\"’”»:;)\]…—–]")


def number_words(text: str, *, num_words: int, relation: Relation) -> bool:
    """The text has so many words."""
    return relation(len(words(text)), num_words)


def number_sentences(text: str, *, num_sentences: int, relation: Relation) -> bool:
    """The text has so many sentences."""
    return relation(len(sentences(text)), num_sentences)


def number_paragraphs(text: str, *, num_paragraphs: int) -> bool:
    """`***` divides the text into exactly so many paragraphs.

    A divider may also stand before the first and after the last, but not beside another.
    """
    parts = [part.strip() for part in text.split("***")]
    if not all(parts[1:-1]):
        return False
    return sum(map(bool, parts)) == num_paragraphs


def nth_paragraph_first_word(
    text: str, *, num_paragraphs: int, nth_paragraph: int, first_word: str
) -> bool:
    """Empty lines divide the text into exactly so many paragraphs, and one begins with the word."""
    paragraphs = [part for part in text.split("\n\n") if part.strip()]
    if len(paragraphs) != num_paragraphs:
        return False
    token = paragraphs[nth_paragraph - 1].split()[0].lstrip(_QUOTES + "(")
    bare = _AFTER_WORD.split(token, maxsplit=1)[0]
    wanted = first_word.casefold()
    return wanted in (
        bare.casefold(),
        token.rstrip(_QUOTES + ".,?!:;").casefold(),
        token.casefold(),
    )
