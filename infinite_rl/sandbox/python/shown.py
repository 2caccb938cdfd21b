"""What a failed assertion says. The guest has a copy of this file."""

from __future__ import annotations

from typing import Any


def failed_assertion(text: str, message: Any, values: list[str]) -> str:
    """Return what a failed assertion says, with the texts of its operands' values."""
    note = "" if message is None else f"{message}: "
    return f"{note}assert {text}" + (f" (got {' and '.join(values)})" if values else "")
