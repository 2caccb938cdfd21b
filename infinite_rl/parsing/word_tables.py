"""Tables of words, phrases and patterns, in a text file beside the module that reads them.

    # A comment.
    months: january february march
        april

    doubt, any case:
        \\b(?:wrong|incorrect)\\b
        {{not}}\\s+(?:right|correct
            |it\\b)

    not: \\bnot
        n't

A table is a name and its rows: the rest of that line, and the lines that are indented. A line that
is indented by eight spaces or more belongs to the row above it. The rows of a pattern are its
alternatives, and `{{not}}` in a row stands for the pattern of the table of that name; one of a
single row may also be a part of a set of characters.
"""

import re
from functools import partial
from pathlib import Path
from typing import Any, cast

# search: 'months: may june', 'doubt, any case:\n    wrong'; not '# A comment: x', '    april'
_TABLE = re.compile(r"^([a-z][a-z ]*)(, any case)?:(.*(?:\n .*)*)", re.MULTILINE)
# search: '{{not}} right'; not '{not}', '{{Not}}'
_INSERTED = re.compile(r"\{\{([a-z ]+)\}\}")


class _LazyPattern:
    """Stands for a pattern, and compiles it when a method is first used: imports stay fast."""

    def __init__(self, source: str, flags: int) -> None:
        self._compiled = partial(re.compile, source, flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._compiled(), name)
        setattr(self, name, value)  # so that the next use is as fast as the pattern's own
        return value


def lazily_compiled(source: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that is compiled at its first use."""
    return cast(re.Pattern[str], _LazyPattern(source, flags))  # whose class can have no subclass


class WordTables:
    """The tables in the text file that bears a module's name.

    A table that does not exist is a KeyError: names are bound when a module is imported.
    """

    def __init__(self, module_file: str) -> None:
        text = Path(module_file).with_suffix(".txt").read_text(encoding="utf-8")
        self._rows: dict[str, list[str]] = {}
        self._flags: dict[str, int] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}
        for name, any_case, body in _TABLE.findall(text):
            rows = re.sub("\n {8,}", "", body).split("\n")
            self._rows[name] = [row.strip(" ") for row in rows if row.strip(" ")]
            self._flags[name] = re.IGNORECASE if any_case else 0
        self.names = tuple(self._rows)

    def rows(self, name: str) -> list[str]:
        """The rows of a table."""
        return self._rows[name]

    def listed(self, name: str) -> list[str]:
        """The words of a table, in their order."""
        return " ".join(self.rows(name)).split()

    def words(self, name: str) -> frozenset[str]:
        """The words of a table."""
        return frozenset(self.listed(name))

    def mapping(self, name: str) -> dict[str, str]:
        """Each word of a row but the first, with the first word as its value."""
        rows = map(str.split, self.rows(name))
        return {word: value for value, *words in rows for word in words}

    def pattern(self, name: str) -> re.Pattern[str]:
        """The pattern that matches any row of a table, compiled when it is first used."""
        if name not in self._patterns:
            self._patterns[name] = lazily_compiled(self.source(name), self._flags[name])
        return self._patterns[name]

    def source(self, name: str) -> str:
        """The rows of a table as alternatives, with the tables that they name inserted."""
        return _INSERTED.sub(self._inserted, "|".join(self._rows[name]))

    def _inserted(self, name: re.Match[str]) -> str:
        source = self.source(name[1])
        return f"(?:{source})" if len(self._rows[name[1]]) > 1 else source
