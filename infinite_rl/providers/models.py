"""Which models can be called: the default, a second one that checks it, shut-down dates, thinking.

Pure, except for the date: functions take the day as an argument, by default `prices.today()`.

Gemini and OpenAI count thinking tokens against the limit on output, so the limit that is sent is
that of the answer plus a budget for thinking. A level's budget is the number of tokens to which
Google maps OpenAI's efforts for 2.5 models: https://ai.google.dev/gemini-api/docs/openai, read
2026-11-22. For 3.x models no service promises a number: the limit that is sent covers both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from ..errors import UsageError, nearest
from ..types import Usage
from . import prices
from .prices import ALIASES, MODELS, Thinking, known_as

DEFAULT_MODEL = "gemini-3.8-flash"
LEVELS = ("off", "minimal", "low", "medium", "high")

# Of the models that Google calls stable, the most capable one beside the default: read 2026-11-22.
_SECOND_MODEL = "gemini-3.6-flash"
_WARNED_BEFORE = timedelta(days=30)
# The last day of each public family, by the changelog (see `prices`).
_RETIRED = (
    (re.compile(r"gemini-(1\.0-.+|pro|pro-vision|ultra)"), date(2025, 2, 18)),
    (re.compile(r"gemini-1\.5-.+"), date(2025, 9, 29)),
    (re.compile(r"gemini-2\.0-.+"), date(2026, 6, 1)),
)
_BUDGETS = {"off": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576}
_MAX_TOKENS = 1_000_000


def other_model(model: str) -> str:
    """The model that checks what `model` writes by default; "" if none is known.

    It has another name in the table than `model`: "gemini-3.7-flash" is answered by
    "gemini-3.8-flash", so that one cannot check it.
    """
    if not (name := known_as(model)).startswith("gemini-"):
        return ""
    return _SECOND_MODEL if name == DEFAULT_MODEL else DEFAULT_MODEL


def check_available(model: str, day: date | None = None, option: str = "--model_name") -> None:
    """Raise UsageError if the model is shut down on this day; the error lists models to use.

    `option` is the flag that names the model.
    """
    row, name = MODELS.get(known_as(model)), model.removeprefix("models/").lower()
    retired = (last_day for family, last_day in _RETIRED if family.fullmatch(name))
    shut_down = row.shut_down if row else next(retired, None)
    if shut_down is None or (day or prices.today()) < shut_down:
        return
    use = dict.fromkeys((row.instead if row else "", DEFAULT_MODEL, _SECOND_MODEL))
    raise UsageError(
        f"the model {model} was shut down on {shut_down}: use {option} "
        f"{' or '.join(name for name in use if name)} (in a folder that holds its rows, with "
        "--extend)"
    )


def warnings_of(
    models: Iterable[str],
    temperature: float | None = None,
    day: date | None = None,
    *,
    provider: str = "",
    thinking: str | int | None = None,
) -> list[str]:
    """Warnings about these models, one line each.

    A model is soon shut down or replaced, ignores the temperature, or thinks at another level than
    requested; for the `provider` "gemini" also: its name is not in the table.
    """
    day = day or prices.today()
    lines = []
    for model in dict.fromkeys(models):
        name = known_as(model)
        row = MODELS.get(name)
        if provider == "gemini" and not name.startswith("gemini-"):
            gemini = [each for each in (*MODELS, *ALIASES) if each.startswith("gemini-")]
            lines.append(
                f"{model} is not in the table of Gemini models; it is asked all the same"
                f"{nearest(model.lower(), gemini)}"
            )
        if row is None:
            continue
        if (near := nearest_thinking(model, thinking)) != thinking:
            says = f"{near!r}, the nearest that it has to" if near else "not, in spite of"
            lines.append(f"{model} thinks {says} --thinking {thinking}")
        if row.shut_down and day < row.shut_down <= day + _WARNED_BEFORE:
            lines.append(f"{model} is shut down on {row.shut_down}; {row.instead} replaces it")
        if model in ALIASES:
            lines.append(f"{model} is answered by {ALIASES[model]}; rows record the name asked for")
        if temperature is not None and not row.sampling:
            lines.append(f"{model} does not heed --temperature: it is deprecated for this model")
    return lines


@dataclass(frozen=True)
class ThinkingRequest:
    """The thinking setting that a service gets: a level, or a number of tokens, or neither.

    `budget` is the number of tokens for thinking beside those of the answer; 0 if not known.
    """

    level: str = ""
    tokens: int | None = None
    budget: int = 0


def parse_thinking(value: str | int | None) -> str | int | None:
    """A level of `LEVELS` or a number of tokens (0 means "off"); None leaves it to the model.

    Raises:
        UsageError: the value is neither.
    """
    if value is None or value == "":
        return None
    text = str(value).strip().lower()
    if text in LEVELS:
        return text
    if re.fullmatch(r"[0-9]{1,7}", text) and int(text) <= _MAX_TOKENS:
        return int(text) or "off"
    raise UsageError(f"thinking is {', '.join(LEVELS)} or a number of tokens, not {value!r}")


def thinking_request(model: str, value: str | int | None) -> ThinkingRequest:
    """The request that makes `model` think at level `value`, or for `value` tokens.

    For a model that is not in the table nothing is refused: its service decides.

    Raises:
        UsageError: the model does not support this, in one line that says what it supports.
    """
    value, thinking = parse_thinking(value), _thinking_of(model)
    if value is None:
        return ThinkingRequest(budget=_BUDGETS.get(thinking.usual, 0) if thinking else 0)
    if thinking and not thinking.levels:
        if value == "off":
            return ThinkingRequest()
        raise UsageError(f"{model} does not think: leave --thinking {value} out")
    levels = ", ".join(thinking.levels) if thinking else ""
    least, most = thinking.budgets if thinking and thinking.budgets else (0, _MAX_TOKENS)
    if isinstance(value, int):
        if thinking and thinking.budgets is None:
            raise UsageError(f"{model} takes no number of thinking tokens: --thinking is {levels}")
        if not least <= value <= most:
            raise UsageError(f"{model} thinks in {least} to {most} tokens, not in {value}")
        return ThinkingRequest(tokens=value, budget=value)
    if thinking and value not in thinking.levels:
        cannot = "cannot switch its thinking off" if value == "off" else ""
        cannot = cannot or f"has no thinking level {value!r}"
        raise UsageError(f"{model} {cannot}: --thinking is {levels}")
    budget = _BUDGETS[value]
    if thinking and thinking.budgets:
        budget = min(max(least, budget), most) if budget else 0
        return ThinkingRequest(tokens=budget, budget=budget)
    return ThinkingRequest(value, budget=budget)


def nearest_thinking(model: str, value: str | int | None) -> str | int | None:
    """The setting nearest to `value` that `model` supports; None if it does not think.

    A number of tokens is clipped to the model's range, or becomes the level with the nearest
    budget; a level becomes the nearest level, of two the greater.
    """
    value, thinking = parse_thinking(value), _thinking_of(model)
    if value is None or thinking is None or value in thinking.levels:
        return value
    if not thinking.levels:
        return value if value == "off" else None
    if not isinstance(value, int):
        rank = LEVELS.index(value)
        ranks = [LEVELS.index(level) for level in thinking.levels]
        return LEVELS[min(ranks, key=lambda other: (abs(other - rank), -other))]
    if thinking.budgets:
        least, most = thinking.budgets
        return min(max(least, value), most)
    return min(thinking.levels, key=lambda level: abs(_BUDGETS[level] - value))


def cut_off_advice(usage: Usage) -> str:
    """What to do about an answer that was truncated at the token limit."""
    thoughts, answer = usage.thinking_tokens, usage.output_tokens
    if thoughts <= answer:
        return "raise --max_output_tokens"
    return (
        f"{thoughts:,} of its {thoughts + answer:,} tokens were thoughts: --max_output_tokens is "
        "too small; raise it, or lower --thinking"
    )


def _thinking_of(model: str) -> Thinking | None:
    row = MODELS.get(known_as(model))
    return row.thinking if row else None
