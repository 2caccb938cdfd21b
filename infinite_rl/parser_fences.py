"""Markdown code fences as models write them: one linear scan, shared with the rewards."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    """One fenced block: `language` is the lower-case first word after the fence, "" for none.

    `closed` is False where a fence is missing: at the end (the text was cut off, or the model
    forgot it) or at the beginning (the text before a lone closing fence). `start` and `end` are
    the block's place in the text it was found in, fences included.
    """

    language: str
    code: str
    closed: bool = True
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass
class _Open:
    """A fence that waits for its closing line."""

    marker: str
    size: int
    language: str
    start: int
    indent: int
    lines: list[str] = field(default_factory=list)
    quotes: int = 0  # triple ones: after an odd number, a string of Python is open

    def block(self, end: int, closed: bool) -> CodeBlock:
        return CodeBlock(self.language, "\n".join(self.lines), closed, self.start, end)

    def add(self, line: str) -> None:
        """Keep a line of code, less the indentation that its fence has too."""
        margin = min(self.indent, len(line) - len(line.lstrip(" \t")))
        self.lines.append(line[margin:].removesuffix("\r"))
        self.quotes += line.count('"""') + line.count("'''")

    def quotes_it(self, line: str) -> bool:
        """Whether a fence on this line stands in a docstring of the code."""
        return self.quotes % 2 == 1 and len(line) - len(line.lstrip(" \t")) > self.indent


def code_blocks(text: str | None) -> list[CodeBlock]:
    """The fenced code blocks of a text, in order; never raises.

    Fences are three or more backticks or tildes, at any indentation, also right behind a tag, a
    head or a label (`<answer>```python`) and right before a tag (```` ```</answer> ````). A line
    that names a language while a block is open means that the open one was never closed. A single
    line ```` ```print(1)``` ```` is a block too. A fence in a comment or, indented, in a docstring
    of the code is a part of it.
    """
    text = text or ""
    blocks = list(scan(text))
    if blocks and _is_stray(blocks[-1]):
        stray = blocks.pop()
        if not blocks and text[: stray.start].strip():
            code = text[: stray.start].replace("\r\n", "\n").strip("\n")
            blocks.append(CodeBlock("", code, False, 0, stray.end))
    return blocks


def _is_stray(block: CodeBlock) -> bool:
    """Whether a block is only a bare fence with nothing after it: it closes, it opens nothing."""
    return not (block.closed or block.language or block.code.strip())


def scan(text: str) -> Iterator[CodeBlock]:
    """Every fence with its closing line, in order; one that nothing closes ends at the next one."""
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
        elif fence.quotes_it(line):
            fence.add(line)
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


def _run(line: str) -> tuple[int, int]:
    """Where the fence of a line of backticks or tildes begins and ends; (-1, -1) if it is none."""
    start = line.find("```")
    marker = "`"
    if start < 0:
        marker, start = "~", line.find("~~~")
        if line[:start].strip():  # tildes mid-line are strike-through
            return -1, -1
    return start, len(line) - len(line[start:].lstrip(marker))


def _opening(line: str, offset: int) -> _Open | None:
    start, stop = _run(line)
    if start < 0:
        return None
    before, info = line[:start], line[stop:].strip()
    if line[start] == "`" and "`" in info:
        return None  # inline code
    if not (_LEAD.fullmatch(before) or _LANGUAGE_WORD.fullmatch(info)):
        return None  # prose that speaks of backticks
    indent = start if not before.strip() else 0
    return _Open(line[start], stop - start, _language(info), offset + start, indent)


def _language(info: str) -> str:
    found = _INFO.match(info)
    return found[1].lower() if found else ""


def _closing(line: str, fence: _Open) -> int | None:
    """Where on this line the open fence is closed, or None; keeps code that stands before it."""
    stripped = line.strip()
    if not stripped.startswith(fence.marker * fence.size):
        return _closing_after_code(line, fence)
    rest = stripped.lstrip(fence.marker)
    if rest and rest.lstrip()[0] not in "<[":
        return None
    return len(line.rstrip()) - len(rest)


def _closing_after_code(line: str, fence: _Open) -> int | None:
    """The same for a fence at the end of a line of code, or between that code and a tag."""
    run = line.find(fence.marker * fence.size)
    if run < 0 or fence.marker == "~" or _COMMENT.fullmatch(line[:run]):
        return None
    rest = line[run:].lstrip(fence.marker)
    if rest.strip() and not rest.lstrip().startswith("</"):
        return None
    fence.add(line[:run])
    return len(line) - len(rest)


def _reopens(line: str, fence: _Open) -> bool:
    stripped = line.strip()
    rest = stripped.lstrip(fence.marker)
    size = len(stripped) - len(rest)
    return size >= fence.size and _LANGUAGE_WORD.fullmatch(rest) is not None


def _inline(line: str, offset: int) -> CodeBlock | None:
    """A block whose two fences stand on one line."""
    start, stop = _run(line)
    if start < 0 or line[start] != "`" or not _LEAD.fullmatch(line[:start]):
        return None
    close = line.find("`" * (stop - start), stop)
    if close < 0:
        return None
    code, language = line[stop:close].strip(), ""
    first, _, others = code.partition(" ")
    if others and first.lower() in _INLINE_LANGUAGES:
        code, language = others.strip(), first.lower()
    return CodeBlock(language, code, True, offset + start, offset + close + stop - start)
