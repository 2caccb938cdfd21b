"""Ideas before tasks: one call lists ideas, a line each, for many samples; the new ones are used.

A list is cheap, and its author sees what it has written already: it repeats itself less than in
separate calls. Words alone do not show that two ideas are the same, so the author is then asked
which of its ideas repeat others: one more call for a whole block, which shows the ideas in similar
words. If it names some, it has overlooked others: it is asked again about those that are left,
beside the ideas of the same concepts, too.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..space import Cell
from ..types import Attempt, Completion, Slot, TaskType

SCREENS = ("screen", "check")  # roles of calls that ask which ideas of a list repeat others
BLOCK = 16  # samples of one call
IDEAS = 3  # for each of them
MAX_CONCEPTS = 40
_MAX_REPLY = 100_000  # characters that are read of a reply
_MAX_CHARS, _MIN_WORDS = 400, 4  # of an idea
_ITEM = re.compile(r"\W*(\d{1,4})\W+(.*)")  # of a line

SYSTEM = """You list ideas for tasks of a reinforcement-learning data set. A program will judge the
solutions, so each task must have one right result that a program can check.

An idea is one line of 10 to 30 words: what is given, what is asked, and what makes it tricky. It
names no solution. No two ideas may ask for the same thing in other words, with other numbers or in
another story."""
CONCEPTS_SYSTEM = """You extend the list of concepts that tasks of a reinforcement-learning data set
are about. Write one concept a line, in two to six words, with no number and nothing else."""

SCREEN_SYSTEM = """You compare ideas for tasks of a data set. Two ideas are the same if whoever can
solve one solves the other in the same way, whatever the words, the names, the numbers and the
story. Ideas of one subject that ask for other things are not the same."""


@dataclass(frozen=True)
class IdeaCall:
    """A request for ideas for `samples`, the cell of each by its index; or one for concepts.

    With `candidates`, ideas by the index of their sample, it asks which of them are not new.
    """

    slot: Slot
    task: TaskType
    samples: Mapping[int, Cell]
    system: str
    request: str
    seed: int
    candidates: Mapping[int, Sequence[str]] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, str]:
        """What was asked, stored with the reply: another run may draw other levels."""
        cells = {str(index): dict(cell) for index, cell in self.samples.items()}
        labels = {"cells": json.dumps(cells)}
        return labels | ({"ideas": json.dumps(self.candidates)} if self.candidates else {})


Job: TypeAlias = Attempt | IdeaCall


@dataclass(frozen=True)
class Ideas:
    """The reply to a call: its text, and the cells and ideas by the index of their sample.

    The cells are those that the journal has recorded with the reply; `ideas` is empty if the reply
    could not be read.
    """

    call: IdeaCall
    text: str = ""
    cells: Mapping[int, Cell] = field(default_factory=dict)
    ideas: Mapping[int, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, call: IdeaCall, completion: Completion) -> Ideas:
        """Read a reply."""
        recorded = json.loads(completion.labels.get("cells", "{}"))
        cells = {int(index): cell for index, cell in recorded.items()}
        if call.slot.role not in SCREENS:
            return cls(call, completion.text, cells, read_ideas(completion.text, list(cells)))
        recorded = json.loads(completion.labels.get("ideas", "{}"))
        candidates = {int(index): ideas for index, ideas in recorded.items()}
        call = replace(call, candidates=candidates)  # of these a resumed run lacks what is written
        return cls(call, completion.text, cells, without_repeats(completion.text, candidates))


def idea_request(cells: Sequence[str], existing: Sequence[str]) -> str:
    """Return the user prompt for `IDEAS` ideas for each of the described cells."""
    numbered = "\n".join(f"{number}. {cell}" for number, cell in enumerate(cells, 1))
    parts = [
        f"List {IDEAS} ideas for each of these kinds of task:\n\n{numbered}",
        "Begin each line with the number of its kind and a point. Write nothing else: "
        f"{IDEAS * len(cells)} lines.",
    ]
    if existing:
        listed = "\n".join(f"- {idea}" for idea in existing)
        parts.append(f"These tasks exist already; ask for other things:\n{listed}")
    return "\n\n".join(parts)


def read_ideas(text: str, indices: Sequence[int]) -> dict[int, list[str]]:
    """Return the ideas of a reply by the index of their sample, those of a list's first lines.

    Lines without the number of a kind, too short ones and repeated ones are left out.
    """
    ideas: dict[int, list[str]] = {}
    for line in text[:_MAX_REPLY].splitlines():
        if not (match := _ITEM.match(line)):
            continue
        number, idea = int(match[1]), " ".join(match[2].split())[:_MAX_CHARS]
        if not 1 <= number <= len(indices) or len(idea.split()) < _MIN_WORDS:
            continue
        those = ideas.setdefault(indices[number - 1], [])
        if idea not in those and len(those) < 2 * IDEAS:
            those.append(idea)
    return ideas


def screen_request(candidates: Mapping[int, Sequence[str]], existing: Sequence[str]) -> str:
    """Return the user prompt that asks which candidates repeat known ideas or one another."""
    ideas = itertools.chain.from_iterable(candidates.values())
    listed = "\n".join(f"{number}. {idea}" for number, idea in enumerate(ideas, 1))
    earlier = "\n".join(f"- {idea}" for idea in existing) or "- none yet"
    return (
        f"These tasks exist already:\n{earlier}\n\nThese are new ideas:\n{listed}\n\n"
        "Which of the new ideas are the same as a task that exists, or as an idea above them in "
        'their list? Reply with their numbers, separated by commas, or with "none". Write nothing '
        "else."
    )


def without_repeats(text: str, candidates: Mapping[int, Sequence[str]]) -> dict[int, list[str]]:
    """Return the candidates whose numbers a reply does not name; all if it is no such list."""
    is_list = re.fullmatch(r"[\d\s,.;]*", text) is not None
    repeats = {int(number) for number in re.findall(r"\b\d{1,4}\b", text)} if is_list else set()
    numbers = itertools.count(1)
    return {
        index: [idea for idea in ideas if next(numbers) not in repeats]
        for index, ideas in candidates.items()
    }


def concepts_request(existing: Sequence[str]) -> str:
    """Return the user prompt for concepts beside the known ones."""
    return (
        f"List {MAX_CONCEPTS} further concepts that tasks can be about. They are to be as specific "
        "as these, and none of these:\n" + "\n".join(existing)
    )


def read_concepts(text: str, existing: Sequence[str]) -> list[str]:
    """Return the new concepts of a reply, without numbers and bullets."""
    seen, concepts = {each.casefold() for each in existing}, []
    for line in text.splitlines():
        concept = re.sub(r"^[\W\d_]+", "", line).strip(" .*")
        if concept and len(concept) <= 80 and concept.casefold() not in seen:
            seen.add(concept.casefold())
            concepts.append(concept)
    return concepts[:MAX_CONCEPTS]
