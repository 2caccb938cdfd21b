"""Answers by a schema: the three sections as JSON, turned back into the one text that we read."""

from __future__ import annotations

import json
from typing import Any

from ..layout import SECTIONS, render
from ..parsing.sections import ExampleParser

# Added to the system prompt, whose format is the one with heads. It says "JSON", without which
# some services refuse to be held to it.
INSTRUCTION = (
    "Instead of writing heads, give the three sections as the strings "
    + ", ".join(f'"{name}"' for name in SECTIONS)
    + " of one JSON object."
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in SECTIONS},
    "required": list(SECTIONS),
    "additionalProperties": False,
}


def instructed(system: str) -> str:
    """The system prompt with the instruction to answer in JSON."""
    return f"{system}\n\n{INSTRUCTION}" if system else INSTRUCTION


def three_heads(reply: str) -> str:
    """The three-head text of a reply that is JSON by the schema; any other reply as it came.

    So does one whose sections hold heads of their own, which would divide the text elsewhere: the
    parser reads the JSON itself.
    """
    try:
        content = json.loads(reply)
    except (ValueError, RecursionError):
        return reply
    if not isinstance(content, dict) or not all(isinstance(content.get(s), str) for s in SECTIONS):
        return reply
    text = render(*(content[name] for name in SECTIONS))
    same = ExampleParser.parse_text(text) == ExampleParser.parse_text(reply)
    return text if same else reply
