"""Markup in a completion: Markdown fences, tags such as `<answer>`, thinking blocks.

Each scan is linear. The rewards use the same scans as the parser.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import Literal

from ..layout import ANSWER_TAG

# match: 'python', ' {.json}', 'c++ x'; not '`'
_INFO = re.compile(r"[{.\s]*([\w+#-]*)")
# fullmatch: 'python', ' {.js', 'c++'; not '', 'print(1)', '1'
_LANGUAGE_WORD = re.compile(r"[ \t]*[{.]*[A-Za-z][\w+#.:-]*")
# What may stand before a fence on its line: nothing, a tag, a head, a label or a list marker.
# fullmatch: '  ', '<answer>', 'Answer: ', '- ', '2. '; not 'a word ', '2 '
_LEAD = re.compile(r"\s*|.*[>\]】:：*+-]\s*|\s*\d{1,3}[.)]\s*", re.DOTALL)
# What may stand before a fence that is part of a comment in code: `* `, `# `, `// `.
# fullmatch: ' * ', '# ', '//'; not '', 'x # '
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


How = Literal["well_formed", "malformed", "unclosed", "orphan_close"]

# search: '<think>', '</thinking>', '</THOUGHT>', '[THINK]', '◁think▷'; not '<thinks>'
THINKING = re.compile(r"<(/?)think(?:ing)?>|<(/?)thought>|\[(/?)THINK\]|◁(/?)think▷", re.IGNORECASE)
_TAG_MARKS = ("<", "＜", "&lt;", "[", "`")  # what a tag, or what is meant as one, begins with
_NEAR = frozenset("'\"`\\")  # beside a tag, they may make it a word of the text
_MAX_PEEL = 4  # a tag in a tag in a tag: deeper nesting is no slip of a model


@dataclass(frozen=True)
class TagMatch:
    """The stripped content of one tag, and the tag's form.

    `how` is "well_formed" for `<answer>42</answer>` (any case, spaces and attributes allowed),
    "malformed" for a pair in square brackets, backticks or HTML escapes, or with a damaged closing
    tag, "unclosed" for everything after a lone opening tag, and "orphan_close" for everything
    before a lone closing one.
    """

    content: str
    how: How
    start: int = field(default=0, compare=False)


def format_of(tags: Sequence[TagMatch]) -> float:
    """The format score of an answer's tags: 1.0 for exactly one well-formed tag, 0.4 for several or
    a damaged one, 0.0 for none."""
    if len(tags) == 1 and tags[0].how == "well_formed":
        return 1.0
    return 0.4 if tags else 0.0


@dataclass(frozen=True)
class _Token:
    """One tag in the text, with the backticks around it."""

    start: int
    end: int
    closing: bool
    proper: bool


def tag_matches(text: str | None, tag: str = ANSWER_TAG) -> list[TagMatch]:
    """Return the contents of a tag in order; the last one counts. Never raises.

    One reading holds for the whole text: well-formed pairs, else malformed ones, else an opening
    tag without its end, else a closing tag without its beginning. Tags in quotes are text; tags
    inside a closed code fence count only if there is no pair outside of one. A thinking block never
    has an answer, even if the text ends before the block does.
    """
    text = text or ""
    lowered = text.lower()
    named = tag.lower() in lowered or (len(tag) > 4 and f"/{tag[0].lower()}" in lowered)
    if not named or not any(mark in lowered for mark in _TAG_MARKS):
        return []  # quick: most benchmark completions have a box instead
    visible, _ = split_thinking(text)
    return _one_plain_pair(visible, tag) or _best_reading(visible, tag)


def _one_plain_pair(text: str, tag: str) -> list[TagMatch]:
    """The most common text in one step: a single well-formed pair and no fence; else []."""
    before, opening, rest = text.partition(f"<{tag}>")
    content, closing, after = rest.partition(f"</{tag}>")
    if not closing or not text.isascii() or "```" in text or "~~~" in text:
        return []  # beyond ASCII, letters may be equal but for their case that do not look so
    if text.lower().count(tag.lower()) != 2:
        return []
    near = {before[-1:], content[:1], content[-1:], after[:1]}
    return [] if near & _NEAR else [TagMatch(content.strip(), "well_formed", len(before))]


def _best_reading(visible: str, tag: str) -> list[TagMatch]:
    tokens = _tokens(visible, tag)
    proper = [token for token in tokens if token.proper]
    tries: tuple[tuple[How, list[_Token]], ...] = (("well_formed", proper), ("malformed", tokens))
    if not tokens:
        return []
    inside = fenced(visible)
    for how, every in tries:
        for candidates in ([token for token in every if not inside(token.start)], every):
            if pairs := _pairs(candidates):
                return [_match(visible, *pair, how, tag) for pair in pairs]
    return _lone(visible, proper, tag)


def split_thinking(text: str) -> tuple[str, str]:
    """A text without its thinking parts, and the last one if it never ended ("" otherwise).

    A part runs from `<think>` at the beginning of a line to its end tag. An end tag without a
    beginning, at either end of a line, closes a part that began with the text: chat templates
    often put the opening tag into the prompt. `<thinking>`, `<thought>`, `[THINK]` and `◁think▷`
    are the same.
    """
    near = (
        text[position + 1 : position + 3].lower()
        for sign in "<["
        for position in _positions(text, sign)
    )
    if "\u25c1" not in text and not any(letters in ("th", "/t") for letters in near):
        return text, ""
    parts: list[str] = []
    position, opened = 0, None
    for token in THINKING.finditer(text):
        closes = any(token.groups())
        if opened is not None:
            if closes:
                parts.append(text[position : opened.start()])
                position, opened = token.end(), None
            continue
        # Windows, not the whole line: a hostile line of a million tags must not be read each time.
        before = text[max(0, token.start() - 20) : token.start()]
        after = text[token.end() : token.end() + 20].partition("\n")[0]
        begins_line = not before.rpartition("\n")[2].strip()
        if not closes:
            opened = token if begins_line else None
        elif begins_line or not after.strip():
            parts.clear()
            position = token.end()
    if opened is None:
        return "".join([*parts, text[position:]]), ""
    return "".join([*parts, text[position : opened.start()]]), text[opened.end() :]


@lru_cache(64)
def _pattern(tag: str) -> re.Pattern[str]:
    name = rf"(?P<name>{re.escape(tag)}" + (r"|[A-Za-z]{4,12})" if len(tag) > 4 else ")")
    angle = (
        rf"(?P<lt>\\?<|&lt;|＜)\s{{0,3}}(?P<slash>[/\\／]{{0,2}})\s{{0,3}}{name}"
        r"(?:\s{1,3}[\w:-]{1,40}\s{0,3}=[^<>]{0,200})?\s{0,3}"
        r"(?:(?P<self>/)?(?P<gt>\\?>|&gt;|＞)|(?P<cut>(?=[\s<]|\Z)))"
    )
    square = rf"\[\s{{0,3}}(?P<square>/?)\s{{0,3}}{re.escape(tag)}\s{{0,3}}\]"
    ticked = rf"`(?P<ticked>/?){re.escape(tag)}`"
    return re.compile(f"{angle}|{square}|{ticked}", re.IGNORECASE)


def _tokens(text: str, tag: str) -> list[_Token]:
    tokens = (_token(text, match, tag) for match in _matches(text, tag)) if tag else ()
    return [token for token in tokens if token is not None]


def _matches(text: str, tag: str) -> Iterator[re.Match[str]]:
    """The places of a tag, which is looked for only where one of its first signs stands."""
    pattern, end = _pattern(tag), 0
    for position in sorted(position for sign in _TAG_SIGNS for position in _positions(text, sign)):
        near = text[position : position + len(tag) + 9]
        if near[0] in "[`" and near.isascii() and tag.lower() not in near.lower():
            continue  # most often a bracket of a formula
        start = position - 1 if text.startswith("\\<", max(0, position - 1)) else position
        match = pattern.match(text, max(start, end)) if position >= end else None
        if match is not None:
            end = match.end()
            yield match


_TAG_SIGNS = "<\uff1c&[`"


def _positions(text: str, sign: str) -> Iterator[int]:
    position = text.find(sign)
    while position >= 0:
        yield position
        position = text.find(sign, position + 1)


def _token(text: str, match: re.Match[str], tag: str) -> _Token | None:
    """The tag at a match, or None if the text only mentions it."""
    start, end = match.span()
    if match["lt"] is None:
        return _Token(start, end, bool(match["square"] or match["ticked"]), proper=False)
    slash, opener, name = match["slash"], match["lt"], match["name"].lower()
    misspelt = name != tag.lower()
    if misspelt and (match["cut"] is not None or not is_slip(name, tag.lower())):
        return None
    if opener == "\\<" and match["gt"] == ">":
        start, opener = start + 1, "<"  # LaTeX that ends in a backslash, then a tag
    if match["cut"] is not None and not slash:
        return None  # `<answer` without its bracket is no opening tag; `</answer` is a closing one
    before, after = text[start - 1 : start], text[end : end + 1]
    if before == after and before in ('"', "'"):
        return None  # a string in a program, or a word in quotes
    proper = opener == "<" and match["gt"] == ">" and slash in ("", "/") and not match["self"]
    if before == after == "`":
        return _Token(start - 1, end + 1, bool(slash), proper=False)
    return _Token(start, end, bool(slash or match["self"]), proper and not misspelt)


def is_slip(word: str, meant: str) -> bool:
    """Whether two words differ by letters swapped, or one wrong, missing or too many; no plural."""
    if abs(len(word) - len(meant)) > 1 or word[:1] != meant[:1] or word in (meant, meant + "s"):
        return False
    same = next((i for i, (a, b) in enumerate(zip_longest(word, meant)) if a != b), 0)
    left, right = word[same:], meant[same:]
    return left[1::-1] + left[2:] == right or left[1:] in (right, right[1:]) or left == right[1:]


def _pairs(tokens: list[_Token]) -> list[tuple[_Token, _Token]]:
    """Outermost matching pairs; an opening tag that nothing closes is only a mention."""
    waiting: list[_Token] = []
    pairs: list[tuple[_Token, _Token]] = []
    for token in tokens:
        if not token.closing:
            waiting.append(token)
        elif waiting:
            opened = waiting.pop()
            while pairs and pairs[-1][0].start > opened.start:
                pairs.pop()
            pairs.append((opened, token))
    return pairs


def _match(text: str, opened: _Token, closed: _Token, how: How, tag: str) -> TagMatch:
    content = text[opened.end : closed.start]
    if text.startswith("&lt;", opened.start):  # where the tags were escaped, so was what they hold
        content = html.unescape(content)
    return TagMatch(_peeled(content.strip(), tag), how, opened.start)


def _peeled(content: str, tag: str) -> str:
    """Content that is wholly one more tag, without it."""
    first, last = f"<{tag}>".lower(), f"</{tag}>".lower()
    for _ in range(_MAX_PEEL):
        lowered = content.lower()
        if not (lowered.startswith(first) and lowered.endswith(last)):
            break
        inner = lowered[len(first) : -len(last)]
        if last in inner.partition(first)[0]:
            break  # two tags side by side
        content = content[len(first) : -len(last)].strip()
    return content


def _lone(text: str, proper: list[_Token], tag: str) -> list[TagMatch]:
    """What follows an opening tag without an end, else what precedes an end without a beginning."""
    opened = [token for token in proper if not token.closing]
    closed = [token for token in proper if token.closing]
    if opened:
        last = opened[-1]
        content = text[last.end :].strip()
        if not content and len(opened) > 1:  # `<answer>42<answer>`: the slash was forgotten
            return [_match(text, opened[-2], last, "malformed", tag)]
        cut = content.rfind("<", max(0, len(content) - len(tag) - 2))
        if cut >= 0 and f"</{tag}>".startswith(content[cut:].lower()):
            content = content[:cut].rstrip()  # the token limit cut the closing tag
        return [TagMatch(content, "unclosed", last.start)]
    begin = closed[-2].end if len(closed) > 1 else 0
    return [TagMatch(text[begin : end.start].strip(), "orphan_close", begin) for end in closed[-1:]]
