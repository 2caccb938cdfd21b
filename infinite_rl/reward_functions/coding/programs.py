"""The program in a completion, wherever it stands: how base models and chat models hand in code.

1. What stands in the last answer tag is looked at, or without a tag all that is no thinking.
2. Of MBPP, a line `[BEGIN]` and what is before it is left out, and `[DONE]` ends everything.
3. Of fenced blocks the first counts that defines what was asked for, else the first one in the
   language, else the first.
4. Where no tag, no closed fence and no `[DONE]` says where the program ends, a base model has gone
   on writing. Prose before the first line of code is left out, and the program ends after what
   was asked for. Of the definitions right behind it those stay that it uses, by their names; a
   second definition of the same name does not.

So a helper function stays on either side of the one that calls it, and the next exercise, which may
stop in the middle of a line, goes. All is decided by a linear scan: nothing is parsed or run here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from ...layout import ANSWER_TAG
from ...parsing.fences import CodeBlock, code_blocks
from ...parsing.tags import split_thinking, tag_matches
from ...sandbox.javascript.tokens import tokens
from ...sandbox.runtimes import language_of
from .reference import named_language

_BEGIN = re.compile(r"^[` \t]*\[BEGIN\][ \t]*\n?", re.MULTILINE)
_DONE = re.compile(r"^[` \t]*\[DONE\]", re.MULTILINE)
_STRING = (
    r"""(\"""|''')(?:\\.|(?!\1)[^\\])*(?:\1|\\?\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?"""
)
_TOKEN = re.compile(rf"{_STRING}|#[^\n]*|\\\n|[()\[\]{{}}]|\n", re.DOTALL)
_NAME = r"[^\W\d]\w*"
# A top-level statement that defines something, and the names that it may define.
_DEFINITION = re.compile(
    rf"(?:(?:async[ \t]+)?def|class)[ \t]+(?P<name>{_NAME})"
    rf"|(?P<targets>{_NAME}(?:[ \t]*,[ \t]*{_NAME})*)[ \t]*(?::[^=\n]+)?=(?!=)"
    rf"|(?:import[ \t]|from[ \t]+[\w.]+[ \t]+import\b)(?P<imported>[^\n]*)"
)
_FIRST_LINE = re.compile(rf'^(?:{_DEFINITION.pattern}|@{_NAME}|#|"""|\'\'\')', re.MULTILINE)
_WORD = re.compile(_NAME)
_PREFIX = re.compile(r".*[^a-z]", re.DOTALL)  # what is before the letters at the end


@dataclass(frozen=True)
class Excerpt:
    """Code, and whether something marked its end: "yes", "no", or a "damaged" fence.

    `language` is the one that its fence names, or "".
    """

    code: str
    ended: str
    language: str = ""


def program_in(output: str, asked: Collection[str], tag: str, language: str) -> Excerpt:
    """The program of a completion by the rules above; `asked` are names that it is to define."""
    found = marked(output, asked, tag, language)
    if found.ended == "yes" or language != "python":
        return found
    return replace(found, code=until_complete(from_first_line(found.code), asked))


def marked(
    output: str, asked: Collection[str], tag: str = ANSWER_TAG, language: str = "python"
) -> Excerpt:
    """The code as far as tags, fences and `[DONE]` mark it."""
    visible, _ = split_thinking(output)
    tags = tag_matches(output, tag)
    text = _indented(visible, tags[-1].content) if tags else visible
    done = _DONE.search(text)
    text = text[: done.start()] if done else text
    begun = _BEGIN.search(text)
    text = text[begun.end() :] if begun else text
    blocks = code_blocks(text)
    if block := _chosen(blocks, asked, language):
        ended = "yes" if block.closed or done else "damaged"
        return Excerpt(block.code, ended, named_language(block.language))
    well_formed = tags and tags[-1].how == "well_formed"
    return Excerpt(text, "yes" if well_formed or done else "no")


def definition(code: str, name: str) -> re.Match[str] | None:
    """Where a line of the code defines a function or a class of that name, at its top level."""
    return re.search(rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{re.escape(name)}\b", code, re.M)


def is_method_of_solution(code: str, name: str, language: str) -> bool:
    """Whether a class `Solution`, as LeetCode has it, has the method, and no other has the name."""
    if "Solution" not in code:
        return False
    if language == "javascript":
        return _is_method_in_javascript(code, name)
    statements = list(_statements(code))
    if any(name in each.names for each in statements):
        return False
    method = re.compile(rf"^[ \t]+(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", re.MULTILINE)
    classes = [each.text for each in statements if "Solution" in each.names]
    return any(definition(text, "Solution") and method.search(text) for text in classes)


def _is_method_in_javascript(code: str, name: str) -> bool:
    found = is_class = False
    depth, before = 0, ""
    for token in tokens(code):
        if depth == 0 and token.text == "Solution" and before == "class":
            is_class = True
        elif token.text == name and before != ".":
            if not is_class:
                return False
            found = found or depth == 1
        depth = max(depth + token.opens - token.closes, 0)
        if token.closes and depth == 0:
            is_class = False
        before = token.text
    return found


def until_complete(code: str, asked: Collection[str]) -> str:
    """Python code up to where all of `asked` is defined, and what of the rest that needs.

    Code that defines none of it is left as it is.
    """
    statements, wanted = list(_statements(code)), {*asked}
    places = {name: n for n, each in reversed([*enumerate(statements)]) for name in each.names}
    last = max((places[name] for name in wanted & places.keys()), default=None)
    if last is None:
        return code
    following = list(takewhile(lambda each: each.names, statements[last + 1 :]))
    again = next((n for n, each in enumerate(following) if each.names & wanted), len(following))
    kept = statements[: last + 1]
    return "".join(each.text for each in [*kept, *_used(following[:again], kept)])


@dataclass(frozen=True)
class _Statement:
    """A top-level statement, with its comments and all lines inside it, and what it defines."""

    text: str
    names: frozenset[str]


def _used(following: list[_Statement], kept: list[_Statement]) -> list[_Statement]:
    """Those of the definitions that are used by name, by what is kept or by one another."""
    owners: dict[str, list[int]] = {}
    for n, each in enumerate(following):
        for name in each.names:
            owners.setdefault(name, []).append(n)
    needed: set[int] = set()
    waiting = list(kept)
    while waiting:
        for word in _words(waiting.pop().text):
            more = owners.pop(word, [])
            waiting += [following[n] for n in more if n not in needed]
            needed.update(more)
    return [following[n] for n in sorted(needed)]


def _words(code: str) -> list[str]:
    """The names in Python code, those inside f-strings too, but not what text and comments say."""

    def kept(token: re.Match[str]) -> str:
        is_text = token[0][0] in "#\"'"
        prefix = code[max(0, token.start() - 2) : token.start()].lower()
        return " " if is_text and "f" not in _PREFIX.sub("", prefix) else token[0]

    return _WORD.findall(_TOKEN.sub(kept, code))


def _statements(code: str) -> Iterator[_Statement]:
    """The top-level statements of Python code.

    One begins where a line does, outside of strings and brackets, with neither white space nor a
    comment; a decorator belongs to what it decorates.
    """
    begin = head = depth = 0
    for token in _TOKEN.finditer(code):
        mark, place = token[0], token.end()
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth = max(0, depth - 1)
        elif mark == "\n" and not depth and code[place : place + 1].strip(" \t\r\n#)]}"):
            if not code.startswith("@", head):
                yield _Statement(code[begin:place], _defined(code, head))
                begin = place
            head = place
    yield _Statement(code[begin:], _defined(code, head))


def _defined(code: str, head: int) -> frozenset[str]:
    found = _DEFINITION.match(code, head)
    return (
        frozenset(_WORD.findall(" ".join(filter(None, found.groups())))) if found else frozenset()
    )


def from_first_line(code: str) -> str:
    """Code without the prose before its first line; all of the text where no line looks like it."""
    found = _FIRST_LINE.search(code)
    return code[found.start() :] if found else code


def _chosen(blocks: list[CodeBlock], asked: Collection[str], language: str) -> CodeBlock | None:
    named = [b for b in blocks if language in (b.language, language_of(b.language))]
    defining = [b for b in blocks if any(definition(b.code, name) for name in asked)]
    return next(iter([*defining, *named, *blocks]), None)


def _indented(text: str, content: str) -> str:
    """What a tag holds, with the white space that its first line began with."""
    before = text[: max(0, text.rfind(content))]
    return before[len(before.rstrip(" \t")) :] + content
