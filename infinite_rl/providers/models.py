"""Which models can be asked: the default, another one to check it, and those that are shut down.

Pure, but for the date: functions take the day as an argument, by default that of `prices.today`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import date, timedelta

from ..errors import UsageError
from . import prices
from .prices import ALIASES, MODELS, known_as
from .thinking import thinking_request

DEFAULT_MODEL = "gemini-3.8-flash"

# Of the models that Google calls stable, the most capable one beside the default: read 2026-11-22.
_SECOND_MODEL = "gemini-3.6-flash"
_WARNED_BEFORE = timedelta(days=30)


def other_model(model: str, thinking: str | int | None = None) -> str:
    """The model that checks what `model` writes, if no other is asked for; "" if none is known.

    It has another name in the table than `model`: "gemini-3.7-flash" is answered by
    "gemini-3.8-flash", which does not check it. And it can think as much as is asked.
    """
    if not (name := known_as(model)).startswith("gemini-"):
        return ""
    for other in (DEFAULT_MODEL, _SECOND_MODEL):
        if other != name:
            with suppress(UsageError):
                thinking_request(other, thinking)
                return other
    return ""


def check_available(model: str, day: date | None = None) -> None:
    """Raises UsageError for a model that is shut down on this day, with the models to use."""
    row = MODELS.get(known_as(model))
    if row is None or row.shut_down is None or (day or prices.today()) < row.shut_down:
        return
    use = dict.fromkeys((row.instead, DEFAULT_MODEL, _SECOND_MODEL))
    raise UsageError(
        f"the model {model} was shut down on {row.shut_down}: use --model_name "
        f"{' or '.join(name for name in use if name)} (in a folder that holds its rows, with "
        "--extend)"
    )


def warnings_of(
    models: Iterable[str], temperature: float | None = None, day: date | None = None
) -> list[str]:
    """What to know before these models are asked, a line each: soon shut down, replaced, and a
    temperature that is not heeded."""
    day = day or prices.today()
    lines = []
    for model in dict.fromkeys(models):
        name = known_as(model)
        row = MODELS.get(name)
        if row is None:
            continue
        if row.shut_down and day < row.shut_down <= day + _WARNED_BEFORE:
            lines.append(f"{model} is shut down on {row.shut_down}; {row.instead} replaces it")
        if model in ALIASES:
            lines.append(f"{model} is answered by {ALIASES[model]}; rows record the name asked for")
        if temperature is not None and not row.sampling:
            lines.append(f"{model} does not heed --temperature: it is deprecated for this model")
    return lines
