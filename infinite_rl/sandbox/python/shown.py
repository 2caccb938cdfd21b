"""What a failed assertion says. The guest has a copy of this file."""

from __future__ import annotations

from typing import Any

SHOWN_CHARS = 160  # of one value


def cut(text: str) -> str:
    """Return a value's text, cut to about 160 characters."""
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."


def failed_assertion(text: str, message: Any, values: list[str]) -> str:
    """Return what a failed assertion says, with the texts of its operands' values."""
    note = "" if message is None else f"{message}: "
    return f"{note}assert {text}" + (f" (got {' and '.join(values)})" if values else "")
