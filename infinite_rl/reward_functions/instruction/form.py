"""The form of a text: bullets, highlights, sections, a title, JSON, one of three answers."""

from __future__ import annotations

import json
import re

_RULE = re.compile(r"([-*])(?:[ \t]*\1){2,}[ \t]*")
_EMPHASIS = re.compile(r"\*[^\s*][^*]*\*")
_HIGHLIGHT = re.compile(r"(?<!\*)(\*{1,3})(?![\s*])[^*\n]*(?<!\s)\1(?!\*)")
_FENCE = re.compile(r"```(?:json)?", re.IGNORECASE)
_RESPONSES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


def number_bullet_lists(text: str, *, num_bullets: int) -> bool:
    """Exactly so many lines are Markdown bullets."""
    return sum(map(_is_bullet, text.split("\n"))) == num_bullets


def _is_bullet(line: str) -> bool:
    line = line.strip()
    if line[:1] not in ("*", "-") or line[:2] in ("**", "--") or len(line) == 1:
        return False
    return not (_RULE.fullmatch(line) or _EMPHASIS.match(line))


def number_highlighted_sections(text: str, *, num_highlights: int) -> bool:
    """At least so many runs of text on one line stand between asterisks."""
    return sum(1 for _ in _HIGHLIGHT.finditer(text)) >= num_highlights


def multiple_sections(text: str, *, section_spliter: str, num_sections: int) -> bool:
    """At least so often the mark of a section is followed by a number."""
    return len(re.findall(re.escape(section_spliter) + r"\s?\d+", text)) >= num_sections


def title(text: str) -> bool:
    """There is a title in double angular brackets, on one line and not blank."""
    return any(map(_has_title, text.split("\n")))


def _has_title(line: str) -> bool:
    begin = line.find("<<")
    while begin >= 0 and (end := line.find(">>", begin + 2)) >= 0:
        if line[begin:end].strip("< \t"):
            return True
        begin = line.find("<<", end)
    return False


def json_format(text: str) -> bool:
    """The whole text is one JSON value, in a fence or without one."""
    text = text.strip()
    if fence := _FENCE.match(text):
        text = text[fence.end() :].removesuffix("```")
    try:  # numbers stay text: nobody needs their values, and long ones take long
        json.loads(text.strip(), parse_int=str, parse_float=str, parse_constant=_no_value)
    except (ValueError, RecursionError):
        return False
    return True


def _no_value(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def constrained_response(text: str) -> bool:
    """The text contains exactly one of the three answers."""
    return sum(response in text for response in _RESPONSES) == 1
