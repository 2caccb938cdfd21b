"""The content of tags such as `<answer>`, and how each was found; thinking parts do not count."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from .layout import ANSWER_TAG
from .parser_fences import code_blocks

How = Literal["well_formed", "malformed", "unclosed", "orphan_close"]

_THINKING = re.compile(
    r"<(/?)think(?:ing)?>|<(/?)thought>|\[(/?)THINK\]|◁(/?)think▷", re.IGNORECASE
)
_TAG_MARKS = ("<", "&lt;", "[", "`")  # what a tag, or what is meant as one, begins with
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&"))
_NEAR = ("'", '"', "`", "\\")  # beside a tag, they may make it a word of the text
_MAX_PEEL = 4  # a tag in a tag in a tag: deeper nesting is no slip of a model


@dataclass(frozen=True)
class TagMatch:
    """The stripped content of one tag, and how it was found.

    `how` is "well_formed" for `<answer>42</answer>` (any case, spaces and attributes allowed),
    "malformed" for a pair in square brackets, backticks or HTML escapes, or with a damaged closing
    tag, "unclosed" for everything after a lone opening tag, and "orphan_close" for everything
    before a lone closing one.
    """

    content: str
    how: How
    start: int = field(default=0, compare=False)


def format_of(tags: Sequence[TagMatch]) -> float:
    """How well an answer is tagged: 1.0 for exactly one well-formed tag, 0.4 for several or for a
    damaged one, 0.0 without any."""
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


_Pair = tuple[_Token, _Token]


def tag_matches(text: str | None, tag: str = ANSWER_TAG) -> list[TagMatch]:
    """Every content of one tag in order; the last is the one that counts. Never raises.

    The best reading wins for the whole text: well-formed pairs, else malformed ones, else an
    opening tag without its end, else a closing one without its beginning. Tags in quotes are
    text; tags inside a closed code fence count only where there is no pair outside of one. What
    stands in a thinking part is never an answer, also when the text ends before the thinking does.
    """
    text = text or ""
    lowered = text.lower()
    if tag.lower() not in lowered or not any(mark in lowered for mark in _TAG_MARKS):
        return []  # most texts of a benchmark have a box instead: looking for that is quick
    visible, _ = split_thinking(text)
    return _one_plain_pair(visible, tag) or _best_reading(visible, tag)


def _one_plain_pair(text: str, tag: str) -> list[TagMatch]:
    """The commonest text in one step: a single pair, as it should be, and no fence; else []."""
    before, opening, rest = text.partition(f"<{tag}>")
    content, closing, after = rest.partition(f"</{tag}>")
    if not closing or not text.isascii() or "```" in text or "~~~" in text:
        return []  # beyond ASCII, letters may be equal but for their case that do not look so
    if text.lower().count(tag.lower()) != 2:
        return []
    if before[-1:] in _NEAR or content[:1] in _NEAR or content[-1:] in _NEAR or after[:1] in _NEAR:
        return []
    return [TagMatch(content.strip(), "well_formed", len(before))]


def _best_reading(visible: str, tag: str) -> list[TagMatch]:
    tokens = _tokens(visible, tag)
    if not tokens:
        return []
    proper = [token for token in tokens if token.proper]
    tries: tuple[tuple[How, list[_Token]], ...] = (
        ("well_formed", _outside_fences(visible, proper)),
        ("well_formed", proper),
        ("malformed", _outside_fences(visible, tokens)),
        ("malformed", tokens),
    )
    for how, candidates in tries:
        pairs = _pairs(candidates)
        if pairs:
            return [_match(visible, pair, how, tag) for pair in pairs]
    return _lone(visible, proper, tag)


def answer_tags(text: str | None, tags: Iterable[str] | str) -> list[str]:
    """The contents of several tags, in the order of the text; each tag is read on its own."""
    names = [tags] if isinstance(tags, str) else dict.fromkeys(tags)
    found = [match for name in names for match in tag_matches(text, name)]
    return [match.content for match in sorted(found, key=lambda match: match.start)]


def split_thinking(text: str) -> tuple[str, str]:
    """A text without its thinking parts, and the last one if it never ended ("" otherwise).

    A part runs from `<think>` at the beginning of a line to its end tag. An end tag without a
    beginning, at either end of a line, closes a part that began with the text: chat templates
    often put the opening tag into the prompt. `<thinking>`, `<thought>`, `[THINK]` and `◁think▷`
    are the same.
    """
    lowered = text.lower()
    if "think" not in lowered and "thought" not in lowered:
        return text, ""
    kept: list[str] = []
    position, opened = 0, None
    for token in _THINKING.finditer(text):
        if not any(token.groups()):
            if opened is None and _begins_line(text, token.start()):
                opened = token
        elif opened is not None:
            kept.append(text[position : opened.start()])
            position, opened = token.end(), None
        elif _begins_line(text, token.start()) or _ends_line(text, token.end()):
            kept.clear()
            position = token.end()
    if opened is None:
        return "".join([*kept, text[position:]]), ""
    return "".join([*kept, text[position : opened.start()]]), text[opened.end() :]


def _begins_line(text: str, position: int) -> bool:
    # A window, not the whole line: a hostile line of a million tags must not be read each time.
    return not text[max(0, position - 20) : position].rpartition("\n")[2].strip()


def _ends_line(text: str, position: int) -> bool:
    return not text[position : position + 20].partition("\n")[0].strip()


@lru_cache(64)
def _pattern(tag: str) -> re.Pattern[str]:
    name = re.escape(tag)
    angle = (
        rf"(?P<lt>\\?<|&lt;)\s{{0,3}}(?P<slash>[/\\]{{0,2}})\s{{0,3}}{name}"
        r"(?:\s{1,3}[\w:-]{1,40}\s{0,3}=[^<>]{0,200})?\s{0,3}"
        r"(?:(?P<self>/)?(?P<gt>\\?>|&gt;)|(?P<cut>(?=[\s<]|\Z)))"
    )
    square = rf"\[\s{{0,3}}(?P<square>/?)\s{{0,3}}{name}\s{{0,3}}\]"
    ticked = rf"`(?P<ticked>/?){name}`"
    return re.compile(f"{angle}|{square}|{ticked}", re.IGNORECASE)


def _tokens(text: str, tag: str) -> list[_Token]:
    tokens = (_token(text, found) for found in _pattern(tag).finditer(text)) if tag else ()
    return [token for token in tokens if token is not None]


def _token(text: str, found: re.Match[str]) -> _Token | None:
    """The tag at a match, or None where the text only speaks of it."""
    start, end = found.span()
    if found["lt"] is None:
        return _Token(start, end, bool(found["square"] or found["ticked"]), proper=False)
    slash, opener = found["slash"], found["lt"]
    if opener == "\\<" and found["gt"] == ">":
        start, opener = start + 1, "<"  # LaTeX that ends in a backslash, then a tag
    if found["cut"] is not None and not slash:
        return None  # `<answer` without its bracket is no opening tag; `</answer` is a closing one
    before, after = text[start - 1 : start], text[end : end + 1]
    if before == after and before in ('"', "'"):
        return None  # a string in a program, or a word in quotes
    proper = opener == "<" and found["gt"] == ">" and slash in ("", "/") and not found["self"]
    if before == after == "`":
        return _Token(start - 1, end + 1, bool(slash), proper=False)
    return _Token(start, end, bool(slash or found["self"]), proper)


def _outside_fences(text: str, tokens: list[_Token]) -> list[_Token]:
    blocks = [block for block in code_blocks(text) if block.closed]
    starts = [block.start for block in blocks]

    def outside(token: _Token) -> bool:
        index = bisect_right(starts, token.start) - 1
        return index < 0 or blocks[index].end <= token.start

    return [token for token in tokens if outside(token)]


def _pairs(tokens: Sequence[_Token]) -> list[_Pair]:
    """Outermost matching pairs; an opening tag that nothing closes is only a mention."""
    waiting: list[_Token] = []
    pairs: list[_Pair] = []
    for token in tokens:
        if not token.closing:
            waiting.append(token)
        elif waiting:
            opened = waiting.pop()
            while pairs and pairs[-1][0].start > opened.start:
                pairs.pop()
            pairs.append((opened, token))
    return pairs


def _match(text: str, pair: _Pair, how: How, tag: str) -> TagMatch:
    opened, closed = pair
    content = text[opened.end : closed.start]
    if text.startswith("&lt;", opened.start):  # where the tags were escaped, so was what they hold
        for entity, character in _ENTITIES:
            content = content.replace(entity, character)
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
    if opened:
        last = opened[-1]
        content = text[last.end :].strip()
        if not content and len(opened) > 1:  # `<answer>42<answer>`: the slash was forgotten
            return [_match(text, (opened[-2], last), "malformed", tag)]
        return [TagMatch(_without_cut_tag(content, tag), "unclosed", last.start)]
    closed = [token for token in proper if token.closing]
    if not closed:
        return []
    begin = closed[-2].end if len(closed) > 1 else 0
    return [TagMatch(text[begin : closed[-1].start].strip(), "orphan_close", begin)]


def _without_cut_tag(content: str, tag: str) -> str:
    """Content without the beginning of a closing tag that the token limit cut off."""
    cut = content.rfind("<", max(0, len(content) - len(tag) - 2))
    if cut >= 0 and f"</{tag}>".startswith(content[cut:].lower()):
        return content[:cut].rstrip()
    return content
