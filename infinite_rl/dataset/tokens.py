"""Normalized tokens of a text: two texts with the same tokens ask for the same.

Case, white space, Unicode forms, invisible characters, quotes, sentence punctuation and Markdown
emphasis do not matter. Numbers, operators, brackets and every other sign do. In a word with Latin
and Cyrillic letters, letters that look the same are the same.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import NoColumn
from ..parsing.word_tables import WordTables

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Hashes: TypeAlias = "npt.NDArray[np.uint64]"

_LONG = 64  # characters of a word that its hash covers, so that the cache stays small
PROMPT_COLUMNS = ("prompt", "question", "problem", "instruction", "messages", "query", "text")
BREAK = "\n"  # between two clauses in the result of `clauses`

# All repetitions are bounded: no text takes more than linear time.
_INVISIBLE = re.compile(
    "[\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u180b-\u180f\u3164\ufe00-\ufe0f\ufff9-\ufffb\U000e0100-\U000e01ef]"
)
_ACCENT = re.compile("(?<=[A-Za-z\u0300-\u036f])[\u0300-\u036f]")
_ENTITY = re.compile("&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_TAG = re.compile(
    r"</?(?:a|b|br|code|div|em|i|li|ol|p|pre|span|strong|sub|sup|u|ul)(?:\s[^<>]{0,200})?/?>", re.I
)
_ALIKE = str.maketrans("−‐‑‒–—―×⋅·∙∗÷∶′‘’“”„«»", '-------*****/:\'\'\'"""""')
# Cyrillic letters that look like Latin ones: a word with both hides a copy.
_MIXED = re.compile(
    "[A-Za-z][\u0430-\u044f\u0410-\u042f\u0455\u0456\u0458]|[\u0430-\u044f\u0410-\u042f\u0455\u0456\u0458][A-Za-z]"
)
_LOOK_ALIKE = str.maketrans("аеорсухѕіјАВЕКМНОРСТХІЈЅ", "aeopcyxsijABEKMHOPCTXIJS")
# A pattern that begins with a character or a set of them is searched for several times as fast as
# one that begins with an alternative or a look behind; so are sets without other alphabets.
_LETTER = r"[^\W\d_]"
_JOINED = re.compile(rf"'(?<={_LETTER}')(?={_LETTER})")  # it's
_BREAKS = re.compile(
    rf"[.,;:?…!。、\n](?:(?:(?<=[.,;:?…])|(?<={_LETTER}{{2}}!))(?:[.,;:?…]|(?<={_LETTER}{{2}})!){{0,8}}"
    r"(?=[\"')\]*]{0,9}(?:\s|$))\s*|(?<=[。、])|(?<=\n)\s*)"
)
_IDLE = re.compile(
    rf"(?=[^A-Za-z0-9\s])(?=[^\w\s]|_)(?:{WordTables(__file__).pattern('idle').pattern})"
)
_LITERAL = re.compile(r"\"[^\"\n]{1,80}\"|\b[A-Z]{2,}\b")
# Ideographs, kana and hangul have no spaces between words: each is a token.
_ALONE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
_WORD = rf"[^\W\d_{_ALONE}]"
_TOKEN = re.compile(
    rf"[a-z]+(?!{_WORD})|{_WORD}+"
    r"|\d{1,3}(?:,\d{3}){1,9}(?![\d,])|\d+(?:\.\d+)?|(?<![\w)])\.\d+"
    rf"|[{_ALONE}]|\n|\S"
)


def tokens(text: str) -> list[str]:
    """The words, numbers and signs of a text, in order."""
    return [token for token in clauses(text) if token != BREAK]


def normalized_text(text: str) -> str:
    """The tokens as one string."""
    return " ".join(tokens(text))


def clauses(text: str) -> list[str]:
    """The tokens, with a `BREAK` at the end of each clause."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text).translate(_ALIKE)
        if not unicodedata.is_normalized("NFKC", text):
            text = unicodedata.normalize("NFKC", "".join(map(_apart, text)))
        text = text.translate(_LOOK_ALIKE) if _MIXED.search(text) else text
    text = _BREAKS.sub("\n", "\n" + _JOINED.sub("", text.casefold()))
    parts = _TOKEN.findall(_IDLE.sub(" ", text))
    return [token.replace(",", "") if token[0].isdigit() else token for token in parts]


def words(parts: Iterable[str]) -> list[str]:
    """The words and numbers among tokens, without signs: the units of n-grams."""
    return [token for token in parts if token[0].isalnum() or token[0] == "."]


def without_tags_and_accents(text: str) -> str:
    """The text without entities, tags, accents and invisible characters."""
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", _UNSEEN.sub("", text))
    return unicodedata.normalize("NFC", _ACCENT.sub("", parts))


def literals(text: str) -> list[str]:
    """The data in a text: strings in double quotes and words in capitals, sorted."""
    return sorted(literal.casefold() for literal in _LITERAL.findall(text.translate(_ALIKE)))


def hash_of(text: str) -> int:
    """A hash of 64 bits, the same on every machine."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def hashes(parts: Sequence[str]) -> Hashes:
    """The hash of each word."""
    import numpy as np  # slow to import, and only needed here

    short = (_cached_hash(word[:_LONG]) for word in parts)
    return np.fromiter(short, np.uint64, len(parts))


_cached_hash = lru_cache(maxsize=1 << 16)(hash_of)


def prompt_column(row: Mapping[str, Any]) -> str:
    """The column with the prompt: the first of `PROMPT_COLUMNS` that the row has."""
    return next((name for name in PROMPT_COLUMNS if name in row), PROMPT_COLUMNS[0])


def text_of(row: Mapping[str, Any], columns: Sequence[str] = ()) -> str:
    """The text of columns of a row, by default of its prompt.

    Of a list of chat messages, the assistant's are left out.

    Raises:
        NoColumn: the row lacks one of these columns.
    """
    columns = columns or [prompt_column(row)]
    if missing := [name for name in columns if name not in row]:
        raise NoColumn(missing, row)
    return "\n\n".join(flat_text(row[name], "assistant") for name in columns)


def flat_text(value: object, without: str = "") -> str:
    """A value as one text: the contents of chat messages, except of the role `without`."""
    if isinstance(value, str) or value is None:
        return value or ""
    if isinstance(value, Mapping):
        return flat_text(value.get("content")) if value.get("role", "user") != without else ""
    if isinstance(value, Iterable):
        return "\n".join(flat_text(part, without) for part in value)
    return str(value)


def _apart(char: str) -> str:
    """The character for NFKC, where 10² stays apart from 102, and 2½ from 21/2."""
    form = unicodedata.decomposition(char)
    if form.startswith("<super>"):
        return f"^{char}"
    if form.startswith("<sub>"):
        return f"_{char} "
    return f" {char}" if form.startswith("<fraction>") else char
