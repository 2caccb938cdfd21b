"""Where the answer stands in a text: answer tags after the thinking, the last box, or a marker.

All scans are linear. Nothing is guessed: a text without any of these is itself the answer.
"""

from __future__ import annotations

import re

from ...layout import ANSWER_TAG
from ...parser_tags import split_thinking, tag_matches
from .limits import Unparsed

MAX_TEXT = 1_000_000  # characters of a completion; beyond this nothing is read
_MARKED = re.compile(r"box|answer|#|think|thought|&lt;|</", re.IGNORECASE)
_BOXES = ("\\boxed", "\\fbox")
_MARKERS = ("final answer is", "final answer:", "the answer is", "answer is:", "answer:", "####")


def answer_text(text: str, tag: str = ANSWER_TAG) -> str:
    """The part of a text that is its answer. Raises Unparsed for an empty or unclosed box."""
    if len(text) > MAX_TEXT:
        raise Unparsed(f"a text of more than {MAX_TEXT} characters")
    if not _MARKED.search(text):
        return text  # a bare answer, the commonest
    tags = tag_matches(text, tag)
    content = tags[-1].content if tags else split_thinking(text)[0]
    box = last_box(content)
    if box is not None:
        return box
    return content if tags else after_marker(content)


def last_box(text: str) -> str | None:
    """The content of the last `\\boxed{...}` or `\\fbox{...}`, None where there is none."""
    start, name = max((text.rfind(name), name) for name in _BOXES)
    if start < 0:
        return None
    opening = start + len(name)
    while opening < len(text) and text[opening] in " \t\n":
        opening += 1
    if opening >= len(text) or text[opening] != "{":
        raise Unparsed("a box without braces")
    end = closing_brace(text, opening)
    content = text[opening + 1 : end]
    if not content.strip():
        raise Unparsed("an empty box")
    return content


def closing_brace(text: str, opening: int) -> int:
    """The place of the brace that closes the one at `opening`; escaped braces do not count."""
    depth, place = 0, opening
    while place < len(text):
        character = text[place]
        if character == "\\":
            place += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return place
        place += 1
    raise Unparsed("a box that is not closed")


def after_marker(text: str) -> str:
    """The rest of the line after the last marker, such as `#### ` or `The answer is`."""
    lowered = text.lower()
    if len(lowered) != len(text):  # some capital letters lower to two characters
        return text
    place, length = max((lowered.rfind(marker), len(marker)) for marker in _MARKERS)
    if place < 0:
        return text
    rest = text[place + length :].lstrip(" \t:*\n")
    return rest.split("\n", 1)[0].strip(" \t*")
