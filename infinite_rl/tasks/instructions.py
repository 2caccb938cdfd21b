"""Tasks of instruction following: which verifiable instructions a prompt gives, drawn by the seed.

The instructions are those of IFEval (see `reward_functions/instruction/`). Of its conflicts (Zhou
et al. 2023, `instructions_registry.py`) all are kept, and some are added: instructions that can be
followed together in principle, but not in a text that anybody would write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from ..space import Axis, Cell, Space
from .axes import packaged_axes

INSTRUCTIONS = "instructions"  # in a cell: the answer of its row, as JSON
_LISTS = Path(__file__).parent / "taxonomy" / "instructions.txt"
_AT_LEAST, _LESS = "at least", "less than"


class _Draw:
    """Draws the arguments of one prompt's instructions. No word is drawn twice."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._lists = {name: random.sample(words, len(words)) for name, words in _lists().items()}

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def bound(self, least: Sequence[int], below: Sequence[int]) -> tuple[int, str]:
        """A number and its relation: one of `least` to reach, or of `below` to stay under."""
        relation, numbers = self._random.choice([(_AT_LEAST, least), (_LESS, below)])
        return self._random.choice(numbers), relation

    def one(self, name: str) -> str:
        return self._lists[name].pop()

    def some(self, name: str, count: int) -> list[str]:
        return [self.one(name) for _ in range(count)]

    def language(self) -> str:
        """The code of a language."""
        return self.one("languages").split()[0]


_Arguments: TypeAlias = Callable[[_Draw], dict[str, Any]]


def _nothing(draw: _Draw) -> dict[str, Any]:
    del draw
    return {}


def _counted(number: str, relation: str, least: Sequence[int], below: Sequence[int]) -> _Arguments:
    def arguments(draw: _Draw) -> dict[str, Any]:
        value, bound = draw.bound(least, below)
        return {number: value, relation: bound}

    return arguments


def _letter(draw: _Draw) -> dict[str, Any]:
    value, relation = draw.bound((5, 8, 10, 15), (2, 3, 4))
    letters = "common letters" if relation == _AT_LEAST else "rare letters"
    return {"letter": draw.one(letters), "let_frequency": value, "let_relation": relation}


def _paragraphs(draw: _Draw) -> dict[str, Any]:
    count = draw.number(2, 4)
    return {
        "num_paragraphs": count,
        "nth_paragraph": draw.number(1, count),
        "first_word": draw.one("first words"),
    }


# By the name of an instruction: how a prompt may state it, and its arguments.
_TABLE: Mapping[str, tuple[str, _Arguments]] = {
    "keywords:existence": (
        "it contains the words {keywords}",
        lambda draw: {"keywords": draw.some("words", draw.number(1, 3))},
    ),
    "keywords:frequency": (
        "the word {keyword} occurs {relation} {frequency} times",
        lambda draw: {
            "keyword": draw.one("words"),
            "frequency": draw.number(2, 4),
            "relation": _AT_LEAST,
        },
    ),
    "keywords:forbidden_words": (
        "it does not contain the words {forbidden_words}",
        lambda draw: {"forbidden_words": draw.some("words", draw.number(1, 4))},
    ),
    "keywords:letter_frequency": (
        "the letter {letter} occurs {let_relation} {let_frequency} times, small or capital",
        _letter,
    ),
    "language:response_language": (
        "it is written in {language}, and in no other language",
        lambda draw: {"language": draw.language()},
    ),
    "length_constraints:number_sentences": (
        "it has {relation} {num_sentences} sentences",
        _counted("num_sentences", "relation", (4, 5, 6, 8, 10), (6, 8, 10, 12)),
    ),
    "length_constraints:number_paragraphs": (
        "it has exactly {num_paragraphs} paragraphs, divided by lines of three asterisks: ***",
        lambda draw: {"num_paragraphs": draw.number(2, 5)},
    ),
    "length_constraints:number_words": (
        "it has {relation} {num_words} words",
        _counted("num_words", "relation", (120, 150, 200, 250, 300), (120, 150, 200, 300)),
    ),
    "length_constraints:nth_paragraph_first_word": (
        "it has exactly {num_paragraphs} paragraphs, divided by empty lines alone, and paragraph "
        "{nth_paragraph} begins with the word {first_word}",
        _paragraphs,
    ),
    "detectable_content:number_placeholders": (
        "it has at least {num_placeholders} placeholders in square brackets, such as [name]",
        lambda draw: {"num_placeholders": draw.number(2, 5)},
    ),
    "detectable_content:postscript": (
        "it has a postscript at its end, which begins with {postscript_marker}",
        lambda draw: {"postscript_marker": draw.one("postscripts")},
    ),
    "detectable_format:number_bullet_lists": (
        "it has exactly {num_bullets} bullet points in Markdown, such as * this one",
        lambda draw: {"num_bullets": draw.number(3, 7)},
    ),
    "detectable_format:constrained_response": (
        'it answers a question by one of the sentences "My answer is yes.", "My answer is no.", '
        '"My answer is maybe."',
        _nothing,
    ),
    "detectable_format:number_highlighted_sections": (
        "at least {num_highlights} parts are highlighted in Markdown, such as *this one*",
        lambda draw: {"num_highlights": draw.number(2, 5)},
    ),
    "detectable_format:multiple_sections": (
        "it has {num_sections} sections, each of which begins with {section_spliter} and its "
        "number, such as {section_spliter} 1",
        lambda draw: {"section_spliter": draw.one("sections"), "num_sections": draw.number(2, 5)},
    ),
    "detectable_format:json_format": (
        "all of it is JSON; a Markdown fence around it is possible",
        _nothing,
    ),
    "detectable_format:title": (
        "it has a title in double angle brackets, such as <<a title>>",
        _nothing,
    ),
    "combination:two_responses": (
        "it consists of two different responses, divided by six asterisks: ******",
        _nothing,
    ),
    "startend:end_checker": (
        "it ends with the exact phrase {end_phrase}, and nothing follows",
        lambda draw: {"end_phrase": draw.one("end phrases")},
    ),
    "startend:quotation": ("all of it stands between double quotation marks", _nothing),
    "change_case:capital_word_frequency": (
        "words all in capitals occur {capital_relation} {capital_frequency} times",
        lambda draw: {"capital_frequency": draw.number(2, 8), "capital_relation": _AT_LEAST},
    ),
    "change_case:english_capital": ("it is in English and in capital letters only", _nothing),
    "change_case:english_lowercase": (
        "it is in English and in small letters only, without a capital",
        _nothing,
    ),
    "punctuation:no_comma": ("it has no comma", _nothing),
}


def _named(*parts: str) -> frozenset[str]:
    """The instructions of which one of these is the whole name, or the part before its colon."""
    chosen = {name for name in _TABLE if {name, name.split(":")[0], name.split(":")[1]} & {*parts}}
    return frozenset(chosen)


_ALL = frozenset(_TABLE)
_CAPITALS = _named("english_capital", "english_lowercase")
# Instructions, and those that none of them goes with.
_CONFLICTS: Sequence[tuple[frozenset[str], frozenset[str]]] = (
    (_named("constrained_response"), _ALL),
    (_named("json_format"), _ALL - _named("existence", "forbidden_words")),
    (
        _named("two_responses"),
        _ALL - _named("existence", "forbidden_words", "language", "title", "punctuation"),
    ),
    (
        _named("language"),
        # English words and letters; not all languages divide words by spaces.
        _named("keywords", "multiple_sections", "change_case", "end_checker", "postscript")
        | _named("nth_paragraph_first_word", "number_words"),
    ),
    (
        _named("number_paragraphs"),
        _named("number_sentences", "nth_paragraph_first_word", "number_highlighted_sections"),
    ),
    (_named("multiple_sections"), _named("number_highlighted_sections") | _CAPITALS),
    (_named("change_case"), _named("change_case")),
    (_named("quotation"), _named("title", "postscript")),
    (_named("end_checker"), _named("postscript")),
    # Other parts count as paragraphs or as sentences, too.
    (
        _named("nth_paragraph_first_word"),
        _named("title", "postscript", "multiple_sections", "number_bullet_lists"),
    ),
    (_named("number_sentences"), _named("number_words", "number_bullet_lists")),
)


def conflict(one: str, other: str) -> bool:
    """Whether two instructions do not go together; each conflicts with itself."""
    return one == other or any(
        (one in these and other in those) or (other in these and one in those)
        for these, those in _CONFLICTS
    )


def draw_instructions(seed: str, count: int, first: str = "") -> list[dict[str, Any]]:
    """Draw up to `count` instructions without conflict, `first` among them if that is possible.

    They are the answer of a row, as JSON.
    """
    random = Random(seed)
    order = sorted(_TABLE, key=lambda name: (name != first, random.random()))
    for start in range(len(order)):
        chosen: list[str] = []
        for name in chain(order[start:], order[:start]):
            if len(chosen) < count and not any(conflict(name, each) for each in chosen):
                chosen.append(name)
        if len(chosen) == count:
            break
    draw = _Draw(random)
    return [{"instruction_id": name, "kwargs": _TABLE[name][1](draw)} for name in chosen]


def sentence(instruction: Mapping[str, Any]) -> str:
    """An instruction in words, of the text that it is about: "it has no comma"."""
    values = {
        name: ", ".join(value) if isinstance(value, list) else value
        for name, value in instruction["kwargs"].items()
    }
    if "language" in values:
        values["language"] = dict(each.split() for each in _lists()["languages"])[
            values["language"]
        ]
    return _TABLE[instruction["instruction_id"]][0].format(**values)


@dataclass(frozen=True)
class InstructionSpace(Space):
    """A space whose cells hold the instructions of a prompt as well, `level` of them."""

    def cell(self, seed: int | str, index: int, fixed: Mapping[str, str] | None = None) -> Cell:
        """Draw a cell as `Space.cell`, with `instructions`: JSON that is the row's answer."""
        cell = super().cell(seed, index, fixed)
        drawn = draw_instructions(
            f"{seed}/{INSTRUCTIONS}/{index}", int(cell.get("level", 1)), cell.get("instruction", "")
        )
        first = drawn[0]["instruction_id"]
        return {**cell, "instruction": first, INSTRUCTIONS: json.dumps(drawn, ensure_ascii=False)}

    def lines(self, cell: Cell) -> list[str]:
        """State a cell as `Space.lines`, then its instructions and the answer that they are."""
        lines = super().lines(cell)
        if INSTRUCTIONS not in cell:
            return lines
        listed = "\n".join(f"- {sentence(each)}" for each in json.loads(cell[INSTRUCTIONS]))
        return [
            *lines,
            "The prompt asks for a text of which all of this is true. It says so in words of its "
            f"own, with exactly these words and numbers:\n{listed}",
            f"The answer is exactly this JSON:\n{cell[INSTRUCTIONS]}",
        ]


def instruction_space() -> InstructionSpace:
    """Return the space of packaged instructions: text, instruction, level, setting."""
    levels = {str(count): 1.0 for count in range(1, 6)}
    notes = {count: f"The prompt gives {count} instructions." for count in levels}
    return InstructionSpace(
        (
            Axis("text", dict.fromkeys(_lists()["texts"], 1.0), phrase="The text: {value}"),
            Axis("instruction", dict.fromkeys(_TABLE, 1.0), phrase=""),
            Axis("level", levels, notes | {"1": "The prompt gives one instruction."},
                 phrase="Level {value} of 5"),
            packaged_axes("code")["setting"],
        )
    )  # fmt: skip


@cache
def _lists() -> Mapping[str, Sequence[str]]:
    """The lists of the text: "name: item; item", each in one line."""
    lines = _LISTS.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    return {name: items.split("; ") for name, items in pairs}
