"""Markdown code fences as models write them: one linear scan, shared with the rewards."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_INFO = re.compile(r"[{.\s]*([\w+#-]*)")
_LANGUAGE_WORD = re.compile(r"[ \t]*[{.]*[A-Za-z][\w+#.:-]*")
# What may stand before a fence on its line: nothing, a tag, a head, a label or a list marker.
_LEAD = re.compile(r"\s*|.*[>\]】:：*+-]\s*|\s*\d{1,3}[.)]\s*", re.DOTALL)
# What may stand before a fence that is part of a comment in code: `* `, `# `, `// `.
_COMMENT = re.compile(r"\s*(?:\*|#|//)\s*")
_INLINE_LANGUAGES = frozenset({"python", "python3", "py", "javascript", "js", "json", "text"})


@dataclass(frozen=True)
class CodeBlock:
    """One fenced block: `language` is the lower-case first word after the fence, or "".

    `closed` is False if a fence is missing: at the end (the text was truncated, or the model forgot
    it) or at the beginning (the text before a lone closing fence). `start` and `end` are the
    block's offsets in the text, fences included.
    """

    language: str
    code: str
    closed: bool = True
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass
class _Open:
    """A fence without its closing line so far."""

    marker: str
    language: str
    start: int
    indent: int
    lines: list[str] = field(default_factory=list)
    quotes: int = 0  # triple ones: after an odd number, a string of Python is open

    def block(self, end: int, closed: bool) -> CodeBlock:
        return CodeBlock(self.language, "\n".join(self.lines), closed, self.start, end)

    def add(self, line: str) -> None:
        """Keep a line of code, without the indentation of its fence."""
        self.lines.append(line[min(self.indent, _indent(line)) :].removesuffix("\r"))
        self.quotes += line.count('"""') + line.count("'''")


def code_blocks(text: str | None) -> list[CodeBlock]:
    """Return the fenced code blocks of a text, in order. Never raises.

    Fences are three or more backticks or tildes, at any indentation, also directly after a tag, a
    head or a label (`<answer>```python`) and directly before a tag (```` ```</answer> ````). A line
    that names a language while a block is open means that the open block was never closed. A single
    line ```` ```print(1)``` ```` is a block, too. A fence in a comment or, indented, in a docstring
    of the code belongs to the code.
    """
    text = text or ""
    blocks = list(scan(text))
    last = blocks[-1] if blocks else None
    if last and not (last.closed or last.language or last.code.strip()):
        blocks.pop()  # a bare fence with nothing after it is a closing one
        if not blocks and text[: last.start].strip():
            code = text[: last.start].replace("\r\n", "\n").strip("\n")
            blocks.append(CodeBlock("", code, False, 0, last.end))
    return blocks


def fenced(text: str) -> Callable[[int], bool]:
    """Return a test of whether an offset in the text is inside a closed fence."""
    blocks = [block for block in scan(text) if block.closed]

    def inside(offset: int) -> bool:
        before = bisect_right(blocks, offset, key=lambda block: block.start)
        return before > 0 and offset < blocks[before - 1].end

    return inside


def scan(text: str) -> Iterator[CodeBlock]:
    """Yield every fence with its closing line; an unclosed one ends at the next fence."""
    fence: _Open | None = None
    offset = 0
    for line in text.split("\n"):
        if "```" not in line and "~~~" not in line:
            if fence is not None:
                fence.add(line)
        elif fence is None:
            inline = _inline(line, offset)
            if inline is not None:
                yield inline
            else:
                fence = _opening(line, offset)
        elif fence.quotes % 2 == 1 and _indent(line) > fence.indent:
            fence.add(line)  # in a docstring of the code
        elif (end := _closing(line, fence)) is not None:
            yield fence.block(offset + end, closed=True)
            fence = None
        elif _reopens(line, fence):
            yield fence.block(offset, closed=False)
            fence = _opening(line, offset)
        else:
            fence.add(line)
        offset += len(line) + 1
    if fence is not None:
        yield fence.block(len(text), closed=False)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _run(line: str) -> tuple[int, int]:
    """The start and end of the backticks or tildes of a fence; (-1, -1) if there is none."""
    start = line.find("```")
    marker = "`"
    if start < 0:
        marker, start = "~", line.find("~~~")
        if line[:start].strip():  # tildes mid-line are strike-through
            return -1, -1
    return start, len(line) - len(line[start:].lstrip(marker))


def _opening(line: str, offset: int) -> _Open | None:
    start, stop = _run(line)
    before, info = line[:start], line[stop:].strip()
    if start < 0 or (line[start] == "`" and "`" in info):
        return None  # inline code
    if not (_LEAD.fullmatch(before) or _LANGUAGE_WORD.fullmatch(info)):
        return None  # prose about backticks
    language = match[1].lower() if (match := _INFO.match(info)) else ""
    return _Open(line[start:stop], language, offset + start, 0 if before.strip() else start)


def _closing(line: str, fence: _Open) -> int | None:
    """Where this line closes the open fence, or None; keeps code that stands before that."""
    stripped = line.strip()
    if stripped.startswith(fence.marker):
        rest = stripped.lstrip(fence.marker[0])
        return len(line.rstrip()) - len(rest) if not rest or rest.lstrip()[0] in "<[" else None
    run = line.find(fence.marker)  # at the end of a line of code, or between that code and a tag
    if run < 0 or fence.marker[0] == "~" or _COMMENT.fullmatch(line[:run]):
        return None
    rest = line[run:].lstrip("`")
    if rest.strip() and not rest.lstrip().startswith("</"):
        return None
    fence.add(line[:run])
    return len(line) - len(rest)


def _reopens(line: str, fence: _Open) -> bool:
    rest = line.strip().lstrip(fence.marker[0])
    return line.strip().startswith(fence.marker) and bool(_LANGUAGE_WORD.fullmatch(rest))


def _inline(line: str, offset: int) -> CodeBlock | None:
    """A block whose two fences stand on one line."""
    start, stop = _run(line)
    close = line.find(line[start:stop], stop) if start >= 0 and line[start] == "`" else -1
    if close < 0 or not _LEAD.fullmatch(line[:start]):
        return None
    language, _, code = line[stop:close].strip().partition(" ")
    if not code or language.lower() not in _INLINE_LANGUAGES:
        language, code = "", line[stop:close]
    end = offset + close + stop - start
    return CodeBlock(language.lower(), code.strip(), True, offset + start, end)
