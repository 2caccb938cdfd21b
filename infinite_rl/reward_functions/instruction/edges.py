"""How a text begins and ends, and two texts in one."""

from __future__ import annotations


def end_checker(text: str, *, end_phrase: str) -> bool:
    """The text ends with the phrase; case and a double quotation mark after it do not count."""
    return text.strip().strip('"').lower().endswith(end_phrase.lower())


def quotation(text: str) -> bool:
    """The whole text stands between double quotation marks, and is not blank."""
    text = text.strip()
    return text.startswith('"') and text.endswith('"') and bool(text.strip('" \t\n'))


def repeat_prompt(text: str, *, prompt_to_repeat: str) -> bool:
    """The text begins with the prompt, word for word; case does not count."""
    return text.strip().lower().startswith(prompt_to_repeat.lower())


def two_responses(text: str) -> bool:
    """`******` divides the text into two different responses; it may also stand at the ends."""
    parts = [part.strip() for part in text.split("******")]
    given = [part for part in parts if part]
    return all(parts[1:-1]) and len(given) == 2 and given[0] != given[1]
