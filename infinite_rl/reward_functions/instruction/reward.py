"""The instruction reward: the share of a row's instructions that a completion follows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import UnknownName, UsageError, import_extra, look_up, shown
from ...layout import ANSWER_TAG
from ...parsing.markup import format_of, split_thinking, tag_matches
from ...types import RewardFunctionScore
from ..reward_function import AnswerRewardFunction, unscored
from .checks import CHECKS, PUBLISHED
from .text import language_model, strip_invisible

if TYPE_CHECKING:
    from ..shaping import Shaping


CONVENTIONS = ("own", "published")


@dataclass(frozen=True)
class Instruction:
    """One instruction with its arguments, ready to be checked."""

    id: str
    follows: partial[bool]


class InstructionRewardFunction(AnswerRewardFunction):
    """Judge whether a text follows instructions that a program can check (IFEval).

    The judged text is the content of the last answer tag, or without a tag the completion itself.
    Thinking is never part of it.

    Format: 1.0 for a text without a tag and for exactly one well-formed tag, 0.4 for several tags
    or a damaged one, 0.0 for an empty text.

    Correctness: the share of the instructions that are followed. The status is "passed" only if
    all are. `details["instructions"]` lists each with its verdict. A blank answer follows none.

    The status is "unscored" if the reference cannot be read; `read_instructions` raises instead.

    With `loose`, an instruction counts as followed if any of IFEval's eight variants of the text
    follows it: with and without its first and its last line, each with and without asterisks.

    With the `convention` "published", a text's language is that of `langdetect`, in the case that
    the text has, as in IFEval's own checker: ours is more lenient with short and upper-case texts.
    """

    name = "instruction"
    version = "3"
    options = frozenset({"convention"})

    def __init__(
        self,
        task_name: str = "",
        timeout: float = 5,
        *,
        shaping: Shaping | None = None,
        loose: bool = False,
        convention: str = "own",
    ) -> None:
        super().__init__(task_name, timeout, shaping=shaping)
        look_up("convention", convention, dict.fromkeys(CONVENTIONS))
        if convention == "published":
            import_extra("langdetect", "IFEval's own checker needs", "eval")
        self.loose, self.convention = loose, convention

    def prepare(self, language: str = "") -> None:
        """Load the language model."""
        del language
        language_model()

    def _content(self, text: str, answer_tag: str) -> tuple[float, str]:
        return judged_text(text, answer_tag)

    def _judged(self, format_score: float, content: str, expected: object) -> RewardFunctionScore:
        """Score a text. `expected` is what `read_instructions` reads."""
        try:
            instructions = read_instructions(expected)
            if self.convention == "published":
                instructions = tuple(map(_as_published, instructions))
        except UsageError as fault:
            return unscored(format_score, str(fault))
        verdicts = [
            {"id": each.id, "followed": follows(content, each, loose=self.loose)}
            for each in instructions
        ]
        missed = [str(verdict["id"]) for verdict in verdicts if not verdict["followed"]]
        return RewardFunctionScore(
            format_score,
            1 - len(missed) / len(verdicts),
            f"not followed: {', '.join(missed)}" if missed else "",
            status="failed" if missed else "passed",
            details={"instructions": verdicts},
        )


def judged_text(text: str, answer_tag: str = ANSWER_TAG) -> tuple[float, str]:
    """The format score, and the text that is judged, without zero-width characters."""
    tags = tag_matches(text, answer_tag)
    if tags:
        content, format_score = tags[-1].content, format_of(tags)
    else:
        visible, _ = split_thinking(text)
        content = text if visible == text else visible.strip()
        format_score = 1.0 if content.strip() else 0.0
    return format_score, strip_invisible(content)


def follows(text: str, instruction: Instruction, *, loose: bool = False) -> bool:
    """Whether a text, or with `loose` one of its eight variants, follows; a blank never does."""
    variants = [text]
    if loose:
        lines = text.split("\n")
        variants += ("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))
        variants += [variant.replace("*", "") for variant in variants]
    return any(variant.strip() and instruction.follows(variant) for variant in variants)


def _as_published(instruction: Instruction) -> Instruction:
    """The instruction with the published check of a language, where it has one."""
    check = PUBLISHED.get(instruction.id)
    if check is None:
        return instruction
    return replace(instruction, follows=partial(check, **instruction.follows.keywords))


# --- a row's instructions -------------------------------------------------------------------------


def read_instructions(expected: Any) -> tuple[Instruction, ...]:
    """Read the instructions of a reference, as JSON text or decoded.

    A reference is a list of objects with `instruction_id` and `kwargs`, one such object, or an
    object with `instruction_id_list` and a list of `kwargs` (IFEval's own form).

    Raises:
        UnknownName: an instruction is not in `CHECKS`.
        UsageError: an argument is missing, unknown or invalid, or the list is empty.
    """
    if isinstance(expected, str):
        try:
            expected = json.loads(expected)
        except (ValueError, RecursionError):
            raise UsageError(f"the instructions are not JSON: {expected[:80]!r}") from None
    instructions = tuple(_read(name, kwargs) for name, kwargs in _pairs(expected))
    if not instructions:
        raise UsageError("the list of instructions is empty")
    return instructions


def _pairs(expected: Any) -> list[tuple[Any, Any]]:
    """The id and the arguments of each instruction."""
    if isinstance(expected, Mapping) and "instruction_id_list" in expected:
        names: Any = expected["instruction_id_list"]
        all_kwargs: Any = expected.get("kwargs")
        if not _is_list(names) or not _is_list(all_kwargs) or len(names) != len(all_kwargs):
            raise UsageError("instruction_id_list and kwargs must be lists of equal length")
        return list(zip(names, all_kwargs, strict=True))
    entries = [expected] if isinstance(expected, Mapping) else expected
    if not _is_list(entries) or not all(isinstance(entry, Mapping) for entry in entries):
        raise UsageError(f"not a list of instructions: {shown(expected)}")
    return [(entry.get("instruction_id"), entry.get("kwargs")) for entry in entries]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _read(name: object, kwargs: object) -> Instruction:
    if not isinstance(name, str) or name not in CHECKS:
        raise UnknownName("instruction", name, CHECKS)
    if not isinstance(kwargs, Mapping | None):
        raise UsageError(f"the kwargs of {name} are not an object: {shown(kwargs)}")
    values = {key: value for key, value in (kwargs or {}).items() if value is not None}
    readers = CHECKS[name].arguments
    if values.keys() != readers.keys():
        wanted, got = ", ".join(readers) or "no arguments", ", ".join(values) or "none"
        raise UsageError(f"{name} needs {wanted}, not {got}")
    arguments: dict[str, Any] = {}
    for key, value in values.items():
        try:
            arguments[key] = readers[key](value)
        except ValueError as error:
            raise UsageError(f"{key} of {name} {error}, not {shown(value)}") from None
    if arguments.get("nth_paragraph", 0) > arguments.get("num_paragraphs", 0):
        raise UsageError(f"nth_paragraph of {name} is larger than num_paragraphs")
    return Instruction(name, partial(CHECKS[name].follows, **arguments))
