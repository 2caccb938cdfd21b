"""The 25 verifiable instructions of IFEval: their checks, arguments and the table `CHECKS`.

A check is a pure function `check(text, *, argument=...)` that runs in linear time. Argument values
come from JSON; the argument's type has the reader that validates it.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, get_type_hints

from .text import LANGUAGES, is_detected_as, is_in_language, sentences, strip_invisible, words

Argument: TypeAlias = Callable[[Any], Any]
Relation: TypeAlias = Callable[[int, int], bool]
RELATIONS: Mapping[str, Relation] = {"less than": operator.lt, "at least": operator.ge}


# --- arguments: a reader raises a ValueError that says what the value must be --------------------


def _number(value: object) -> int:
    """A positive integer; 3.0 is accepted, since tables of rows turn integers into floats."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("must be a positive integer")
    return value


def _one_of(names: Mapping[str, Any] | tuple[str, ...], value: object) -> str:
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"must be one of: {', '.join(names)}")
    return value


def _phrase(value: object) -> str:
    text = strip_invisible(value).strip() if isinstance(value, str) else ""
    if not text:
        raise ValueError("must be a text that is not blank")
    return text


def _phrases(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError("must be a list of texts")
    return tuple(map(_phrase, value))


def _one_word(value: object) -> str:
    text = _phrase(value)
    if len(text.split()) > 1:
        raise ValueError("must be one word")
    return text


def _character(value: object) -> str:
    text = _phrase(value)
    if len(text) > 1:
        raise ValueError("must be one character")
    return text


# What the arguments of the checks are, each with its reader.
_Number = Annotated[int, _number]
_Compared = Annotated[Relation, lambda value: RELATIONS[_one_of(RELATIONS, value)]]
_Phrase = Annotated[str, _phrase]
_Phrases = Annotated[tuple[str, ...], _phrases]
_OneWord = Annotated[str, _one_word]
_Character = Annotated[str, _character]
_Language = Annotated[str, lambda value: _one_of(LANGUAGES, value)]


# --- keywords: words and letters, and how often they occur; case is ignored ----------------------


def existence(text: str, *, keywords: _Phrases) -> bool:
    """Each keyword occurs; a part of a longer word counts."""
    folded = text.casefold()
    return all(keyword.casefold() in folded for keyword in keywords)


def frequency(text: str, *, keyword: _Phrase, frequency: _Number, relation: _Compared) -> bool:
    """The keyword occurs this often; parts of longer words count."""
    return relation(text.casefold().count(keyword.casefold()), frequency)


def forbidden_words(text: str, *, forbidden_words: _Phrases) -> bool:
    """None of the words occurs as a whole word."""
    folded = text.casefold()
    return not any(re.search(_whole_word(word.casefold()), folded) for word in forbidden_words)


def _whole_word(word: str) -> str:
    """A pattern for a word that is not part of a longer one."""
    before = r"(?<!\w)" if re.match(r"\w", word) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", word) else ""
    return before + re.escape(word) + after


def letter_frequency(
    text: str, *, letter: _Character, let_frequency: _Number, let_relation: _Compared
) -> bool:
    """The letter, in either case, occurs this often."""
    return let_relation(text.lower().count(letter.lower()), let_frequency)


# --- length_constraints: words, sentences, paragraphs --------------------------------------------

_QUOTES = "\"'“”‘’«»"
_AFTER_WORD = re.compile(r"[.,?!'\"’”»:;)\]…—–]")


def number_words(text: str, *, num_words: _Number, relation: _Compared) -> bool:
    """The text has this many words."""
    return relation(len(words(text)), num_words)


def number_sentences(text: str, *, num_sentences: _Number, relation: _Compared) -> bool:
    """The text has this many sentences."""
    return relation(len(sentences(text)), num_sentences)


def number_paragraphs(text: str, *, num_paragraphs: _Number) -> bool:
    """`***` divides the text into exactly n paragraphs.

    A divider may also precede the first and follow the last paragraph, but not another divider.
    """
    parts = [part.strip() for part in text.split("***")]
    return all(parts[1:-1]) and sum(map(bool, parts)) == num_paragraphs


def nth_paragraph_first_word(
    text: str, *, num_paragraphs: _Number, nth_paragraph: _Number, first_word: _OneWord
) -> bool:
    """Empty lines divide the text into exactly n paragraphs, and one begins with the word."""
    paragraphs = [part for part in text.split("\n\n") if part.strip()]
    if len(paragraphs) != num_paragraphs:
        return False
    token = paragraphs[nth_paragraph - 1].split()[0].lstrip(_QUOTES + "(")
    bare = _AFTER_WORD.split(token, maxsplit=1)[0]
    spellings = (bare, token.rstrip(_QUOTES + ".,?!:;"), token)
    return first_word.casefold() in map(str.casefold, spellings)


# --- detectable_content, punctuation: placeholders, a postscript, commas -------------------------

_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s(?!\w)", "P.S.": r"p\.\s?s\."}
_COMMAS = re.compile("[,՝،߸፣᠂᠈、꓾꘍︐︑﹐﹑，､⹁⸲⸴]")


def number_placeholders(text: str, *, num_placeholders: _Number) -> bool:
    """At least n pairs of square brackets have content; each pair stands on one line."""
    return sum(map(bool, _enclosed(text, "[", "]"))) >= num_placeholders


def _enclosed(text: str, opener: str, closer: str) -> Iterator[str]:
    """What stands between two brackets on one line. Each is visited once: time stays linear."""
    for line in text.split("\n"):
        begin = line.find(opener)
        while begin >= 0 and (end := line.find(closer, begin + len(opener))) >= 0:
            yield line[begin:end].strip(f"{opener} \t")
            begin = line.find(opener, end)


def postscript(text: str, *, postscript_marker: _Phrase) -> bool:
    """The postscript marker occurs; a space may follow the periods of P.S. and P.P.S."""
    pattern = _POSTSCRIPTS.get(postscript_marker) or re.escape(postscript_marker.lower())
    return bool(re.search(r"(?<![\w.])" + pattern, text.lower()))


def no_comma(text: str) -> bool:
    """The text has no comma of any script."""
    return not _COMMAS.search(text)


# --- detectable_format: bullets, highlights, sections, a title, JSON, one of three answers -------

_RULE = re.compile(r"([-*])(?:[ \t]*\1){2,}[ \t]*")
_EMPHASIS = re.compile(r"\*[^\s*][^*]*\*")
_HIGHLIGHT = re.compile(r"(?<!\*)(\*{1,3})(?![\s*])[^*\n]*(?<!\s)\1(?!\*)")
_FENCE = re.compile(r"```(?:json)?", re.IGNORECASE)
_RESPONSES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


def number_bullet_lists(text: str, *, num_bullets: _Number) -> bool:
    """Exactly n lines are Markdown bullets."""
    return sum(map(_is_bullet, text.split("\n"))) == num_bullets


def _is_bullet(line: str) -> bool:
    line = line.strip()
    if line[:1] not in ("*", "-") or line[:2] in ("**", "--") or len(line) == 1:
        return False
    return not (_RULE.fullmatch(line) or _EMPHASIS.match(line))


def number_highlighted_sections(text: str, *, num_highlights: _Number) -> bool:
    """At least n runs of text stand between asterisks, each on one line."""
    return sum(1 for _ in _HIGHLIGHT.finditer(text)) >= num_highlights


def multiple_sections(text: str, *, section_spliter: _Phrase, num_sections: _Number) -> bool:
    """A number follows the section marker at least n times."""
    return len(re.findall(re.escape(section_spliter) + r"\s?\d+", text)) >= num_sections


def title(text: str) -> bool:
    """The text has a title in double angle brackets, on one line and not blank."""
    return any(_enclosed(text, "<<", ">>"))


def json_format(text: str) -> bool:
    """The whole text is one JSON value, with or without a fence."""
    text = text.strip()
    if fence := _FENCE.match(text):
        text = text[fence.end() :].removesuffix("```")
    try:  # numbers stay text: their values are unused, and long ones take long to convert
        json.loads(text.strip(), parse_int=str, parse_float=str, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _reject_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def constrained_response(text: str) -> bool:
    """The text contains exactly one of the three answers."""
    return sum(response in text for response in _RESPONSES) == 1


# --- startend, combination: how a text begins and ends, two texts in one -------------------------


def end_checker(text: str, *, end_phrase: _Phrase) -> bool:
    """The text ends with the phrase; case and a closing double quote are ignored."""
    return text.strip().strip('"').lower().endswith(end_phrase.lower())


def quotation(text: str) -> bool:
    """The whole text stands between double quotes and is not blank."""
    text = text.strip()
    return text.startswith('"') and text.endswith('"') and bool(text.strip('" \t\n'))


def repeat_prompt(text: str, *, prompt_to_repeat: _Phrase) -> bool:
    """The text begins with the prompt, word for word; case is ignored."""
    return text.strip().lower().startswith(prompt_to_repeat.lower())


def two_responses(text: str) -> bool:
    """`******` divides the text into two different responses; it may also stand at the ends."""
    parts = [part.strip() for part in text.split("******")]
    responses = [part for part in parts if part]
    return all(parts[1:-1]) and len(responses) == 2 and responses[0] != responses[1]


# --- change_case, language -----------------------------------------------------------------------

_WORD = re.compile(r"\w+(?:[-./'’]\w+)*")
_CLITIC = re.compile(r"(?<=\w)['’](?:s|m|d|t|ll|re|ve)\Z")


def english_capital(text: str) -> bool:
    """The text is English and all its letters are capitals."""
    return text.isupper() and is_in_language(text, "en")


def english_lowercase(text: str) -> bool:
    """The text is English and all its letters are lower-case."""
    return text.islower() and is_in_language(text, "en")


def capital_word_frequency(
    text: str, *, capital_frequency: _Number, capital_relation: _Compared
) -> bool:
    """This many words are all capitals; a hyphenated word counts once."""
    capital = sum(_CLITIC.sub("", word).isupper() for word in _WORD.findall(text))
    return capital_relation(capital, capital_frequency)


def response_language(text: str, *, language: _Language) -> bool:
    """The text is in the language."""
    return is_in_language(text, language)


# --- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """`follows(text, **arguments)`; each argument has a reader of JSON values."""

    follows: Callable[..., bool]
    arguments: Mapping[str, Argument]


def _arguments(check: Callable[..., bool]) -> dict[str, Argument]:
    hints = get_type_hints(check, include_extras=True).items()
    return {name: hint.__metadata__[0] for name, hint in hints if name not in ("text", "return")}


_GROUPS: Mapping[str, Sequence[Callable[..., bool]]] = {
    "keywords": (existence, frequency, forbidden_words, letter_frequency),
    "language": (response_language,),
    "length_constraints": (
        *(number_sentences, number_paragraphs, number_words),
        nth_paragraph_first_word,
    ),
    "detectable_content": (number_placeholders, postscript),
    "detectable_format": (
        *(number_bullet_lists, constrained_response, number_highlighted_sections),
        *(multiple_sections, json_format, title),
    ),
    "combination": (two_responses, repeat_prompt),
    "startend": (end_checker, quotation),
    "change_case": (capital_word_frequency, english_capital, english_lowercase),
    "punctuation": (no_comma,),
}
CHECKS: Mapping[str, Check] = {
    f"{group}:{check.__name__}": Check(check, _arguments(check))
    for group, checks in _GROUPS.items()
    for check in checks
}

# The checks of the published checker that judge a language, by their ids.
PUBLISHED: Mapping[str, Callable[..., bool]] = {
    "change_case:english_capital": lambda text: text.isupper() and is_detected_as(text, "en"),
    "change_case:english_lowercase": lambda text: text.islower() and is_detected_as(text, "en"),
    "language:response_language": lambda text, *, language: is_detected_as(text, language),
}
