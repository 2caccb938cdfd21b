"""How much a model is asked to think, and how many tokens that leaves for its thoughts.

Gemini and OpenAI count thoughts against the limit on an answer, so the limit that is sent is that
of the answer and a room for thoughts beside it. A level's room is the number of tokens onto which
Google maps OpenAI's efforts for models of 2.5: https://ai.google.dev/gemini-api/docs/openai, read
2026-11-22. For models of 3.x no service promises a number: the limit that is sent holds for both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import UsageError
from ..types import Usage
from .prices import MODELS, known_as

LEVELS = ("off", "minimal", "low", "medium", "high")
_ROOM = {"off": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576}
_MOST_TOKENS = 1_000_000


@dataclass(frozen=True)
class ThinkingRequest:
    """What is sent to a service: a level, or a number of tokens, or neither.

    `room` is the number of tokens for thoughts beside those of the answer; 0 if not known.
    """

    level: str = ""
    tokens: int | None = None
    room: int = 0


def parse_thinking(asked: str | int | None) -> str | int | None:
    """A level of `LEVELS` or a number of tokens, which 0 is "off"; None leaves it to the model.

    Raises:
        UsageError: it is neither.
    """
    if asked is None or asked == "":
        return None
    text = str(asked).strip().lower()
    if text in LEVELS:
        return text
    if re.fullmatch(r"[0-9]{1,7}", text) and int(text) <= _MOST_TOKENS:
        return int(text) or "off"
    raise UsageError(f"thinking is {', '.join(LEVELS)} or a number of tokens, not {asked!r}")


def thinking_request(model: str, asked: str | int | None) -> ThinkingRequest:
    """The request that makes `model` think as much as is `asked`.

    For a model that is not in the table nothing is refused: its service decides.

    Raises:
        UsageError: the model cannot think so, in one line that says how it can.
    """
    asked = parse_thinking(asked)
    row = MODELS.get(known_as(model))
    thinking = row.thinking if row else None
    if asked is None:
        return ThinkingRequest(room=_ROOM.get(thinking.usual, 0) if thinking else 0)
    if thinking is None:
        if isinstance(asked, int):
            return ThinkingRequest(tokens=asked, room=asked)
        return ThinkingRequest(asked, room=_ROOM[asked])
    levels = ", ".join(thinking.levels)
    if not thinking.levels:
        if asked == "off":
            return ThinkingRequest()
        raise UsageError(f"{model} does not think: leave --thinking {asked} out")
    if isinstance(asked, int):
        if thinking.budgets is None:
            raise UsageError(f"{model} takes no number of thinking tokens: --thinking is {levels}")
        least, most = thinking.budgets
        if not least <= asked <= most:
            raise UsageError(f"{model} thinks in {least} to {most} tokens, not in {asked}")
        return ThinkingRequest(tokens=asked, room=asked)
    if asked == "off" and asked not in thinking.levels:
        raise UsageError(f"{model} cannot switch its thinking off: --thinking is {levels}")
    if asked not in thinking.levels:
        raise UsageError(f"{model} has no thinking level {asked!r}: --thinking is {levels}")
    if thinking.budgets:
        least, most = thinking.budgets
        tokens = min(max(least, _ROOM[asked]), most) if _ROOM[asked] else 0
        return ThinkingRequest(tokens=tokens, room=tokens)
    return ThinkingRequest(asked, room=_ROOM[asked])


def nearest_thinking(model: str, asked: str | int | None) -> str | int | None:
    """What `model` can do that is nearest to what is `asked`; None where it does not think.

    A number of tokens goes into the model's range, else to the level whose room is nearest; a level
    to the nearest one, of two to the greater.
    """
    row = MODELS.get(known_as(model))
    thinking = row.thinking if row else None
    asked = parse_thinking(asked)
    if asked is None or thinking is None or asked in thinking.levels:
        return asked
    if not thinking.levels:
        return asked if asked == "off" else None
    if not isinstance(asked, int):
        place = LEVELS.index(asked)
        places = [LEVELS.index(level) for level in thinking.levels]
        return LEVELS[min(places, key=lambda other: (abs(other - place), -other))]
    if thinking.budgets:
        least, most = thinking.budgets
        return min(max(least, asked), most)
    return min(thinking.levels, key=lambda level: abs(_ROOM[level] - asked))


def cut_off_advice(usage: Usage) -> str:
    """What to do about an answer that ended at the token limit."""
    thoughts, answer = usage.thinking_tokens, usage.output_tokens
    if thoughts <= answer:
        return "raise --max_output_tokens"
    return (
        f"{thoughts:,} of its {thoughts + answer:,} tokens were thoughts: --max_output_tokens is "
        "too small; raise it, or lower --thinking"
    )
