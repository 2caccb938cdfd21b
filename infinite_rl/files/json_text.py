"""Values of tables as JSON: dates and times as ISO 8601, decimal numbers and UUIDs as text."""

import json
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID


def plain_text(value: Any) -> str | None:
    """Return the exact text of a date, a time, a Decimal or a UUID; None for any other value."""
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | UUID) else None


def json_text(value: Any) -> str:
    """Return a value as one line of ASCII JSON.

    Raises:
        TypeError, ValueError, RecursionError: it has no JSON, is too long, or contains itself.
    """
    return _ENCODER.encode(value)


def _default(value: Any) -> str:
    text = plain_text(value)
    if text is None:
        raise TypeError(f"a value of type {type(value).__name__} has no JSON")
    return text


_ENCODER = json.JSONEncoder(default=_default)
