"""What a text contains: placeholders, a postscript, no comma."""

from __future__ import annotations

import re

_MARKS = {"P.P.S": r"p\.\s?p\.\s?s(?!\w)", "P.S.": r"p\.\s?s\."}
_COMMAS = re.compile("[,՝،߸፣᠂᠈、꓾꘍︐︑﹐﹑，､⹁⸲⸴]")


def number_placeholders(text: str, *, num_placeholders: int) -> bool:
    """At least so many pairs of square brackets with content, each on one line."""
    return sum(map(_placeholders, text.split("\n"))) >= num_placeholders


def _placeholders(line: str) -> int:
    """How many there are in a line. A bracket is looked for once, so that time stays linear."""
    count, begin = 0, line.find("[")
    while begin >= 0 and (end := line.find("]", begin)) >= 0:
        count += bool(line[begin:end].strip("[ \t"))
        begin = line.find("[", end)
    return count


def postscript(text: str, *, postscript_marker: str) -> bool:
    """The mark of a postscript stands somewhere; periods of P.S. and P.P.S may have a space."""
    pattern = _MARKS.get(postscript_marker) or re.escape(postscript_marker.lower())
    return bool(re.search(r"(?<![\w.])" + pattern, text.lower()))


def no_comma(text: str) -> bool:
    """The text has no comma, in whichever writing."""
    return not _COMMAS.search(text)
