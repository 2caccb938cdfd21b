"""Tokenize JavaScript: strings, regular expressions, templates, operators. Linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["word", "string", "pattern", "template", "mark"]

# Each alternative takes its text at the first attempt, closed or not: time stays linear.
_TOKEN = re.compile(
    r"""(?P<blank>\s+ | //[^\n]* | /\*(?:.*?\*/|.*))
    | (?P<string>"(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'?)
    | (?P<word>[\w$\#]+)
    | (?P<mark>=>|[=!]==?|[<>]=|&&=?|\|\|=?|\?\?=?|\?\.(?!\d)|\.\.\.|\*\*=?|<<=?|>>>?=?|\+\+|--
        |[-+*/%&|^]=|.)""",
    re.DOTALL | re.VERBOSE,
)
_PATTERN = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]?|[^/\\\n\[])*/?")
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*(?:`|\$\{|\\?\Z)", re.DOTALL)
# A word after which "/" starts a pattern; after other words and closing marks it divides.
_BEFORE_PATTERN = re.compile(
    "return|typeof|case|in|of|delete|void|throw|new|do|else|instanceof|yield|await"
)


class Token(NamedTuple):
    """A piece of source that is neither white space nor a comment.

    A template without values is one "string"; of another each stretch of text is a "template", from
    its "`" or "}" to its "${" or "`". A pattern has its flags as a word of its own after it.
    """

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def opens(self) -> bool:
        """Whether a bracket opens here: one of ( [ { or a value inside a template."""
        return self.text in ("(", "[", "{") or (self.kind == "template" and self.text[0] == "`")

    @property
    def closes(self) -> bool:
        """Whether a bracket closes here."""
        return self.text in (")", "]", "}") or (self.kind == "template" and self.text[-1] == "`")


def tokens(source: str) -> Iterator[Token]:
    """Yield all tokens of any source; an unclosed string or comment ends with the source."""
    open_marks: list[str] = []
    before, at = "", 0
    while at < len(source):
        token = _next(source, at, before, in_template=open_marks[-1:] == ["`"])
        at = token.end if token else _end_of_blank(source, at)
        if token is None:
            continue
        if token.kind == "template":
            if token.text[0] == "`":
                open_marks.append("`")
            elif not token.text.endswith("${"):
                open_marks.pop()
        elif token.text in ("(", "[", "{"):
            open_marks.append(token.text)
        elif token.text in (")", "]", "}") and open_marks:
            open_marks.pop()
        yield token
        before = _before(token)


def _end_of_blank(source: str, at: int) -> int:
    blank = _TOKEN.match(source, at)
    assert blank is not None
    return blank.end()


def _next(source: str, at: int, before: str, in_template: bool) -> Token | None:
    """Return the token at `at`; None for white space and comments."""
    first = source[at]
    if first == "`" or (first == "}" and in_template):
        chunk = _TEMPLATE.match(source, at + 1)
        end = chunk.end() if chunk else len(source)
        text = source[at:end]
        is_whole = first == "`" and not text.endswith("${")
        return Token("string" if is_whole else "template", text, at, end)
    is_pattern = first == "/" and source[at + 1 : at + 2] not in ("/", "*")
    if is_pattern and _starts_pattern(before):
        match = _PATTERN.match(source, at)
        assert match is not None
        return Token("pattern", match[0], at, match.end())
    match = _TOKEN.match(source, at)
    assert match is not None  # `.` takes what nothing else does
    if match["blank"]:
        return None
    kind: Kind = "word" if match["word"] else "string" if match["string"] else "mark"
    return Token(kind, match[0], at, match.end())


def _before(token: Token) -> str:
    """What stands before the next token, as far as that decides on "/"."""
    if token.kind == "template":
        return "{" if token.text.endswith("${") else ")"
    return ")" if token.kind in ("string", "pattern") else token.text


def _starts_pattern(before: str) -> bool:
    if re.match(r"[\w$#]", before):
        return _BEFORE_PATTERN.fullmatch(before) is not None
    return before not in (")", "]")
