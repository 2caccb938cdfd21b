"""The table of instructions: what checks each, and the arguments that it must be given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import case, content, edges, form, keywords, length
from .arguments import character, language_code, number, phrase, phrases, relation, word
from .language import is_in

Argument = Callable[[Any], Any]


@dataclass(frozen=True)
class Check:
    """`follows(text, **arguments)`; each argument is read from JSON, or refused by a ValueError."""

    follows: Callable[..., bool]
    arguments: Mapping[str, Argument]


def _check(follows: Callable[..., bool], **arguments: Argument) -> Check:
    return Check(follows, arguments)


CHECKS: Mapping[str, Check] = {
    "keywords:existence": _check(keywords.existence, keywords=phrases),
    "keywords:frequency": _check(
        keywords.frequency, keyword=phrase, frequency=number, relation=relation
    ),
    "keywords:forbidden_words": _check(keywords.forbidden_words, forbidden_words=phrases),
    "keywords:letter_frequency": _check(
        keywords.letter_frequency, letter=character, let_frequency=number, let_relation=relation
    ),
    "language:response_language": _check(is_in, language=language_code),
    "length_constraints:number_sentences": _check(
        length.number_sentences, num_sentences=number, relation=relation
    ),
    "length_constraints:number_paragraphs": _check(length.number_paragraphs, num_paragraphs=number),
    "length_constraints:number_words": _check(
        length.number_words, num_words=number, relation=relation
    ),
    "length_constraints:nth_paragraph_first_word": _check(
        length.nth_paragraph_first_word,
        num_paragraphs=number,
        nth_paragraph=number,
        first_word=word,
    ),
    "detectable_content:number_placeholders": _check(
        content.number_placeholders, num_placeholders=number
    ),
    "detectable_content:postscript": _check(content.postscript, postscript_marker=phrase),
    "detectable_format:number_bullet_lists": _check(form.number_bullet_lists, num_bullets=number),
    "detectable_format:constrained_response": _check(form.constrained_response),
    "detectable_format:number_highlighted_sections": _check(
        form.number_highlighted_sections, num_highlights=number
    ),
    "detectable_format:multiple_sections": _check(
        form.multiple_sections, section_spliter=phrase, num_sections=number
    ),
    "detectable_format:json_format": _check(form.json_format),
    "detectable_format:title": _check(form.title),
    "combination:two_responses": _check(edges.two_responses),
    "combination:repeat_prompt": _check(edges.repeat_prompt, prompt_to_repeat=phrase),
    "startend:end_checker": _check(edges.end_checker, end_phrase=phrase),
    "startend:quotation": _check(edges.quotation),
    "change_case:capital_word_frequency": _check(
        case.capital_word_frequency, capital_frequency=number, capital_relation=relation
    ),
    "change_case:english_capital": _check(case.english_capital),
    "change_case:english_lowercase": _check(case.english_lowercase),
    "punctuation:no_comma": _check(content.no_comma),
}
