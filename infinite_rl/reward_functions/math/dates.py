"""Dates and times of day: `March 5, 2020`, `2020-03-05`, `2:30 p.m.`, `14:30`."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction

from .tree import Node, number

_MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTH = r"(?P<month>[A-Za-z]{3,9})\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[0-9]{4})"
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_MONTH}\s*{_DAY}(?:\s*,?\s*{_YEAR})?",
        rf"(?:the\s+)?{_DAY}\s*(?:of\s+)?{_MONTH}(?:\s*,?\s*{_YEAR})?",
        rf"{_MONTH},?\s+{_YEAR}",
        rf"{_YEAR}[-/](?P<month>[0-9]{{1,2}})[-/]{_DAY}",
        rf"(?P<month>[0-9]{{1,2}})/{_DAY}/{_YEAR}",
    )
]
_WEEKDAY = re.compile(rf"({'|'.join(_DAYS)}),?\s+(?=\S)", re.IGNORECASE)
_TIME = re.compile(
    r"(?:at\s+)?(?P<hour>[0-9]{1,2})(?:[:.](?P<minute>[0-9]{2}))?(?::(?P<second>[0-9]{2}))?\s*"
    r"(?P<half>a\.?\s?m\.?|p\.?\s?m\.?|noon|midnight|o['\u2019]?clock)?"
    r"(?:\s+in\s+the\s+(?:morning|afternoon|evening)|\s+at\s+night)?",
    re.IGNORECASE,
)
_DIGIT = re.compile("[0-9]")
_LONGEST = 40  # characters of a date or a time


def moment(text: str) -> Node | None:
    """A date or a time of day as a node of its own; None for other texts.

    A `date` has the value `2020-03-05`, with dashes for what is not said; a `clock` has the minutes
    after midnight, and, where it could be one, the ratio that `2:30` also is.
    """
    text = " ".join(text.split())
    if len(text) > _LONGEST or _DIGIT.search(text) is None:
        return {"noon": _clock(12, 0), "midnight": _clock(0, 0)}.get(text.casefold())
    return _time(text) or _date(text)


def _clock(hour: int, minute: int, second: int = 0, ratio: tuple[Node, ...] = ()) -> Node:
    return Node("clock", ratio, Fraction(hour * 3600 + minute * 60 + second, 60))


def _time(text: str) -> Node | None:
    found = _TIME.fullmatch(text)
    if found is None or not (":" in text or found["half"]):
        return None
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    half = (found["half"] or "").casefold().replace(".", "").replace(" ", "")
    if hour > 24 or minute > 59 or second > 59:
        return None
    if half in ("noon", "midnight") and (hour, minute) != (12, 0):
        return None
    said = half in ("am", "pm", "noon", "midnight")
    later = {"noon": "pm", "midnight": "am"}.get(half, half) if said else _part_of_day(text)
    if later:
        if not 1 <= hour <= 12:
            return None
        return _clock(hour % 12 + 12 * (later == "pm"), minute, second)
    plain = found["minute"] and not found["second"] and not half
    return _clock(hour, minute, second, (number(hour), number(minute)) if plain else ())


def _part_of_day(text: str) -> str:
    last = text.casefold().rpartition(" ")[2]
    return {"morning": "am", "afternoon": "pm", "evening": "pm", "night": "pm"}.get(last, "")


def _date(text: str) -> Node | None:
    weekday = _WEEKDAY.match(text)
    for pattern in _DATES:
        found = pattern.fullmatch(text, weekday.end() if weekday else 0)
        if found is None:
            continue
        parts = found.groupdict()
        month = _month(parts["month"])
        if month is None:
            return None
        year, day = parts.get("year"), parts.get("day")
        try:  # a leap year stands in for a year that is not said
            date = datetime.date(int(year or 2000), month, int(day or 1))
        except ValueError:
            return None
        if weekday and year and _DAYS[date.weekday()] != weekday[1].casefold():
            return None
        unchecked = f" {weekday[1].casefold()}" if weekday and not year else ""
        return Node("date", (), f"{year or '-'}-{month:02}-{date.day if day else '-'}{unchecked}")
    return None


def _month(name: str) -> int | None:
    if name.isdigit():
        return int(name)
    name = name.casefold()
    for place, month in enumerate(_MONTHS, 1):
        if name == month or name == month[:3] or (name == "sept" and place == 9):
            return place
    return None
