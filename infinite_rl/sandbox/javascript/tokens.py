"""Tokenize JavaScript: strings, regular expressions, templates, operators. Linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
        if isinstance(token, int):
            at = token
            continue
        at = token.end
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


class TokenTree:
    """The tokens of a source with their brackets.

    `partner` maps the index of each bracket to the index of its other half. `enclosing` has one
    entry per token: the index of the innermost bracket around it, or -1. `is_balanced` is true if
    every bracket has its other half.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens: Sequence[Token] = list(tokens(source))
        self.partner: dict[int, int] = {}
        self.enclosing: list[int] = []
        self.is_balanced = True
        stack: list[int] = []
        for n, token in enumerate(self.tokens):
            if token.closes and stack:
                opening = stack.pop()
                self.partner[opening], self.partner[n] = n, opening
            elif token.closes:
                self.is_balanced = False
            self.enclosing.append(stack[-1] if stack else -1)
            if token.opens:
                stack.append(n)
        self.is_balanced = self.is_balanced and not stack

    def text(self, n: int) -> str:
        """Return the text of a token, "" before the first and after the last."""
        return self.tokens[n].text if 0 <= n < len(self.tokens) else ""


def _next(source: str, at: int, before: str, in_template: bool) -> Token | int:
    """Return the token at `at`, or where white space or a comment ends."""
    first = source[at]
    if first == "`" or (first == "}" and in_template):
        chunk = _TEMPLATE.match(source, at + 1)
        end = chunk.end() if chunk else len(source)
        text = source[at:end]
        is_whole = first == "`" and not text.endswith("${")
        return Token("string" if is_whole else "template", text, at, end)
    is_pattern = first == "/" and source[at + 1 : at + 2] not in ("/", "*")
    starts_pattern = (
        _BEFORE_PATTERN.fullmatch(before)
        if re.match(r"[\w$#]", before)
        else before not in (")", "]")
    )
    if is_pattern and starts_pattern:
        match = _PATTERN.match(source, at)
        assert match is not None
        return Token("pattern", match[0], at, match.end())
    match = _TOKEN.match(source, at)
    assert match is not None  # `.` takes what nothing else does
    if match["blank"]:
        return match.end()
    kind: Kind = "word" if match["word"] else "string" if match["string"] else "mark"
    return Token(kind, match[0], at, match.end())


def _before(token: Token) -> str:
    """What stands before the next token, as far as that decides on "/"."""
    if token.kind == "template":
        return "{" if token.text.endswith("${") else ")"
    return ")" if token.kind in ("string", "pattern") else token.text
