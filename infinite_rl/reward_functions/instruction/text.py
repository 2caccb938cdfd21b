"""How a text is cut into words and sentences, and which language it is in.

Pure, and linear in the text's length. Sentence boundaries are decided mark by mark, from the word
before and the word after. The language model comes with its package.
"""

import re
import unicodedata
from functools import cache
from typing import Any

from ...parsing.word_tables import WordTables

# Quotes, brackets and Markdown's asterisks after a mark belong to its sentence. The look behind
# keeps time linear: a run of marks is tried once.
_CLOSING = "\"'”’»」』）)\\]*_"
_END = re.compile(rf"(?<![.!?…؟۔])[.!?…؟۔]+[{_CLOSING}]*(?=\s|\Z)|[。！？｡।॥]+[{_CLOSING}]*")
_OPENING = "\"'“‘«([*_"
_WORD_AFTER = re.compile(r"[\s\"'“‘«(\[*_]*(\w*)")
_LIST_ITEM = re.compile(r"^[ \t]*(?:[*#>+-]+[ \t]+)?(?:\d{1,3}|[A-Za-z])[.)](?=\s)", re.MULTILINE)
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")  # U.S, a.m, e.g: without the last period

_TABLES = WordTables(__file__)
_NEVER_LAST, _BEFORE_NUMBERS = map(_TABLES.words, ("never last", "before numbers"))
_MAYBE_LAST, _STARTERS = map(_TABLES.words, ("maybe last", "starters"))


def words(text: str) -> list[str]:
    """The words of a text: runs of letters, digits and underscores, without combining marks."""
    if not text.isascii():
        text = "".join(char for char in text if unicodedata.category(char)[0] != "M")
    return re.findall(r"\w+", text)


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with at least one letter or digit."""
    text = _LIST_ITEM.sub("", text)
    parts: list[str] = []
    begin = 0
    for mark in _END.finditer(text):
        if _ends_sentence(text, mark):
            parts.append(text[begin : mark.end()])
            begin = mark.end()
    parts.append(text[begin:])
    return [part.strip() for part in parts if re.search(r"\w", part)]


def _ends_sentence(text: str, mark: re.Match[str]) -> bool:
    """Whether a mark that may end a sentence ends one."""
    marks = mark[0].rstrip(_CLOSING)
    after = _WORD_AFTER.match(text, mark.end())
    following = after[1] if after else ""
    if "\n\n" in text[mark.end() : mark.end() + 10]:
        return True
    if mark[0] != marks and following[:1].islower():
        return False  # "Stop!" he said.
    if marks != "." and set(marks) <= {".", "…"}:
        return not following[:1].islower()
    if marks != ".":
        return True
    before = text[max(0, mark.start() - 30) : mark.start()].split()[-1:] or [""]
    return _period_ends(before[0].lstrip(_OPENING).lower(), following)


def _period_ends(word: str, following: str) -> bool:
    """Whether a sentence ends at the period between a lower-cased word and the next word."""
    if word in _NEVER_LAST:
        return not following  # at the end of the text
    if word in _BEFORE_NUMBERS and following[:1].isdigit():
        return False
    if len(word) < 3 and word.isdigit() and following[:1].islower():
        return False  # do this: 1. sit 2. eat
    initial = len(word) == 1 and word.isalpha() and word != "i"
    if initial or word in _MAYBE_LAST or _DOTTED.fullmatch(word):
        starter = following[:1].isupper() and following.lower() in _STARTERS
        return starter or not following
    return True


def strip_invisible(text: str) -> str:
    """A text without zero-width characters, its lines ended by line feeds alone."""
    text = text.replace("\r\n", "\n")
    if text.isascii():
        return text
    return "".join(char for char in text if unicodedata.category(char) != "Cf")


# --- languages --------------------------------------------------------------------------------

LANGUAGES = tuple(_TABLES.listed("languages"))
_NOT_LATIN = _TABLES.words("not latin")
_MOST_CHARS = 10_000  # as langdetect
# A list of names or a word or two has no clear language: with fewer letters than this, and no
# language of an even chance, each counts that is at most 100 times less likely than the best.
_FEW, _EVEN, _PLAUSIBLE = 60, 0.5, 0.01


def is_in_language(text: str, language: str) -> bool:
    """Whether a text is in a language, by its ISO 639-1 code: one of `LANGUAGES`.

    A short text of no likely language, such as a list of names, counts as being in every language
    that is not plainly ruled out. From about five words on, the model tells English from other
    languages in 99 of 100 texts. A text without a letter is in no language.
    """
    text = text[:_MOST_CHARS]
    letters = sum(map(str.isalpha, text))
    if not letters or (language in _NOT_LATIN and text.isascii()):
        return False
    scores = dict(language_model().rank(text))
    best = max(scores.values())
    unsure = letters < _FEW and best < _EVEN
    return bool(scores[language] >= (best * _PLAUSIBLE if unsure else best))


def is_detected_as(text: str, language: str) -> bool:
    """Whether langdetect takes a text for one of a language, or cannot tell, as in IFEval.

    langdetect draws random numbers; a fixed seed makes its verdicts repeatable.
    """
    import langdetect

    langdetect.DetectorFactory.seed = 0
    try:
        return bool(langdetect.detect(text) == language)
    except langdetect.LangDetectException:
        return True


@cache
def language_model() -> Any:
    """The language model, loaded once and shared by all threads."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    model.set_languages(LANGUAGES)
    return model
