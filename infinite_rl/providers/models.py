"""Which models can be asked: the default, another one to check it, and those that are shut down.

Pure, but for the date: functions take the day as an argument, by default that of `prices.today`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta

from ..errors import UsageError
from ..settings import nearest
from . import prices
from .prices import ALIASES, MODELS, known_as
from .thinking import nearest_thinking

DEFAULT_MODEL = "gemini-3.8-flash"

# Of the models that Google calls stable, the most capable one beside the default: read 2026-11-22.
_SECOND_MODEL = "gemini-3.6-flash"
_WARNED_BEFORE = timedelta(days=30)
# The last day of each public family, whatever its models are called: the changelog, as above.
_RETIRED = (
    (re.compile(r"gemini-(1\.0-.+|pro|pro-vision|ultra)"), date(2025, 2, 18)),
    (re.compile(r"gemini-1\.5-.+"), date(2025, 9, 29)),
    (re.compile(r"gemini-2\.0-.+"), date(2026, 6, 1)),
)


def other_model(model: str) -> str:
    """The model that checks what `model` writes, if no other is asked for; "" if none is known.

    It has another name in the table than `model`: "gemini-3.7-flash" is answered by
    "gemini-3.8-flash", which does not check it.
    """
    if not (name := known_as(model)).startswith("gemini-"):
        return ""
    return _SECOND_MODEL if name == DEFAULT_MODEL else DEFAULT_MODEL


def check_available(model: str, day: date | None = None, option: str = "--model_name") -> None:
    """Raises UsageError for a model that is shut down on this day, with the models to use.

    `option` is the one that names the model.
    """
    row, name = MODELS.get(known_as(model)), model.removeprefix("models/").lower()
    retired = (gone for family, gone in _RETIRED if family.fullmatch(name))
    gone = row.shut_down if row else next(retired, None)
    if gone is None or (day or prices.today()) < gone:
        return
    use = dict.fromkeys((row.instead if row else "", DEFAULT_MODEL, _SECOND_MODEL))
    raise UsageError(
        f"the model {model} was shut down on {gone}: use {option} "
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
    """What to know before these models are asked, a line each.

    A model is soon shut down, or replaced; it does not heed a temperature, or thinks otherwise than
    is asked; for the `provider` "gemini" also: its name is not known.
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
