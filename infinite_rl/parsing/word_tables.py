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
from pathlib import Path

# search: 'months: may june', 'doubt, any case:\n    wrong'; not '# A comment: x', '    april'
_TABLE = re.compile(r"^([a-z][a-z ]*)(, any case)?:(.*(?:\n .*)*)", re.MULTILINE)
# search: '{{not}} right'; not '{not}', '{{Not}}'
_INSERTED = re.compile(r"\{\{([a-z ]+)\}\}")


class WordTables:
    """The tables in the text file that bears a module's name."""

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
        return " ".join(self._rows[name]).split()

    def words(self, name: str) -> frozenset[str]:
        """The words of a table."""
        return frozenset(self.listed(name))

    def mapping(self, name: str) -> dict[str, str]:
        """Each word of a row but the first, with the first word as its value."""
        rows = map(str.split, self._rows[name])
        return {word: value for value, *words in rows for word in words}

    def pattern(self, name: str) -> re.Pattern[str]:
        """The pattern that matches any row of a table, compiled when it is first needed."""
        if name not in self._patterns:
            self._patterns[name] = re.compile(self.source(name), self._flags[name])
        return self._patterns[name]

    def source(self, name: str) -> str:
        """The rows of a table as alternatives, with the tables that they name inserted."""
        return _INSERTED.sub(self._inserted, "|".join(self._rows[name]))

    def _inserted(self, name: re.Match[str]) -> str:
        source = self.source(name[1])
        return f"(?:{source})" if len(self._rows[name[1]]) > 1 else source
