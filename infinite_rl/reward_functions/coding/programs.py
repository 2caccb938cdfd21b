"""The program in a completion.

`read_submission` takes it from a fence in the answer tag. `program_in` also finds it in the forms
of base models and chat models on benchmarks:

1. The text is the content of the last answer tag, or without a tag the completion less thinking.
2. As in MBPP, text up to a line `[BEGIN]` is dropped, and `[DONE]` ends the program.
3. Of fenced blocks the first that defines a wanted name counts, else the first one in the language,
   else the first.
4. If no tag, closed fence or `[DONE]` marks the end, a base model may have continued. Prose before
   the first line of code is dropped, and the program ends after the wanted definitions. Of the
   definitions right behind them, those stay that the program uses by name; a second definition of
   a wanted name does not.

So a helper function stays on either side of the function that calls it, and the next exercise,
which may stop in mid-line, is dropped. The scan is linear: nothing is parsed or run here.
"""

import re
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from ...layout import ANSWER_TAG, without_tag
from ...parsing.markup import code_blocks, split_thinking, tag_matches
from ...sandbox.javascript.tokens import tokens
from ...sandbox.runtimes import language_of, language_of_tests
from .reference import named_language

_DAMAGED_CHARS = 10  # a shorter rest of a damaged fence is not run


@dataclass(frozen=True)
class Submission:
    """The code of a completion; `error` says why there is none to run.

    `language` is the programming language that its fence names, or "".
    """

    format_score: float
    code: str = ""
    error: str = ""
    language: str = ""


def read_submission(model_output: str, answer_tag: str, language: str) -> Submission:
    """Read the code in the last answer tag of a completion, and score its format.

    1.0 for a fenced block inside the tag, 0.5 for a tag without a fence; for half a fence 0.3 with
    more than ten characters of code and 0.2 (nothing to run) with less; 0.0 without a tag. Of
    several blocks the first in `language` counts, else the first that names no language, else the
    first in a language with a runtime, else the first.
    """
    tags = tag_matches(model_output, answer_tag)
    if not tags:
        return Submission(0.0, error=without_tag(answer_tag))
    content, format_score, label = tags[-1].content, 0.5, ""
    blocks = code_blocks(content)
    closed = [block for block in blocks if block.closed]
    if closed:
        named = [b for b in closed if language in (b.language, language_of(b.language))]
        unnamed = [b for b in closed if not b.language]
        runnable = [b for b in closed if language_of(b.language)]
        block = [*named, *unnamed, *runnable, *closed][0]
        code, label, format_score = block.code, named_language(block.language), 1.0
    elif not blocks and "```" not in content:
        code = content
    else:
        code, format_score = content.replace("```", ""), 0.3
        if blocks:
            code, label = blocks[0].code, named_language(blocks[0].language)
        if len(code.strip()) <= _DAMAGED_CHARS:
            error = "the code fence is damaged and holds no code"
            return Submission(0.2, error=error, language=label)
    if code.lstrip("\r\n")[:1].isspace():  # the whole block was indented, fence included
        code = textwrap.dedent(code)
    error = "" if code.strip() else "the answer holds no code"
    return Submission(format_score, code, error, label)


# --- benchmark conventions -----------------------------------------------------------------------

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
_PREFIX = re.compile(r".*[^a-z]", re.DOTALL)  # all but the letters at the end


@dataclass(frozen=True)
class Excerpt:
    """Code, and whether its end was marked: "yes", "no", or by a "damaged" fence.

    `language` is the one that its fence names, or "".
    """

    code: str
    ended: str
    language: str = ""

    def submission(self) -> Submission:
        """The code with its format score."""
        if not self.code.strip():
            return Submission(0.0, error="the completion holds no code")
        format_score = 0.3 if self.ended == "damaged" else 1.0
        return Submission(format_score, self.code, language=self.language)


def program_in(output: str, wanted: Collection[str], tag: str, language: str) -> Excerpt:
    """Find the program of a completion by the rules above; `wanted` are names that it defines."""
    excerpt = marked(output, wanted, tag, language)
    if excerpt.ended == "yes" or language != "python":
        return excerpt
    return replace(excerpt, code=with_needed_definitions(from_first_line(excerpt.code), wanted))


def marked(
    output: str, wanted: Collection[str], tag: str = ANSWER_TAG, language: str = "python"
) -> Excerpt:
    """Find the code as far as tags, fences and `[DONE]` mark it."""
    visible, _ = split_thinking(output)
    tags = tag_matches(output, tag)
    text = _indented(visible, tags[-1].content) if tags else visible
    done = _DONE.search(text)
    text = text[: done.start()] if done else text
    begin = _BEGIN.search(text)
    text = text[begin.end() :] if begin else text
    blocks = code_blocks(text)
    named = [b for b in blocks if language in (b.language, language_of(b.language))]
    defining = [b for b in blocks if any(definition(b.code, name) for name in wanted)]
    for block in [*defining, *named, *blocks]:
        ended = "yes" if block.closed or done else "damaged"
        return Excerpt(block.code, ended, named_language(block.language))
    well_formed = tags and tags[-1].how == "well_formed"
    return Excerpt(text, "yes" if well_formed or done else "no")


def definition(code: str, name: str) -> re.Match[str] | None:
    """The line that defines a function or a class of that name at the top level of Python code."""
    return re.search(rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{re.escape(name)}\b", code, re.M)


def is_method_of_solution(code: str, name: str, language: str) -> bool:
    """Whether a class `Solution`, as on LeetCode, has the method, and nothing else has the name."""
    if "Solution" not in code:
        return False
    if language_of_tests(language) == "javascript":
        return _is_method_in_javascript(code, name)
    statements = list(_statements(code))
    if any(name in each.names for each in statements):
        return False
    method = re.compile(rf"^[ \t]+(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", re.MULTILINE)
    classes = [each.text for each in statements if "Solution" in each.names]
    return any(definition(text, "Solution") and method.search(text) for text in classes)


def _is_method_in_javascript(code: str, name: str) -> bool:
    is_method = is_class = False
    depth, before = 0, ""
    for token in tokens(code):
        if depth == 0 and token.text == "Solution" and before == "class":
            is_class = True
        elif token.text == name and before != ".":
            if not is_class:
                return False
            is_method = is_method or depth == 1
        depth = max(depth + token.opens - token.closes, 0)
        if token.closes and depth == 0:
            is_class = False
        before = token.text
    return is_method


def with_needed_definitions(code: str, wanted: Collection[str]) -> str:
    """Python code up to where all `wanted` names are defined, and the definitions that this uses.

    Code that defines none of them is returned as it is.
    """
    statements, names = list(_statements(code)), {*wanted}
    first = {name: n for n, each in reversed([*enumerate(statements)]) for name in each.names}
    last = max((first[name] for name in names & first.keys()), default=None)
    if last is None:
        return code
    following = list(takewhile(lambda each: each.names, statements[last + 1 :]))
    again = next((n for n, each in enumerate(following) if each.names & names), len(following))
    base = statements[: last + 1]
    return "".join(each.text for each in [*base, *_used(following[:again], base)])


@dataclass(frozen=True)
class _Statement:
    """A top-level statement with its comments and inner lines, and the names that it defines."""

    text: str
    names: frozenset[str]


def _used(following: list[_Statement], base: list[_Statement]) -> list[_Statement]:
    """The following definitions that `base` uses by name, directly or indirectly."""
    owners: dict[str, list[int]] = {}
    for n, each in enumerate(following):
        for name in each.names:
            owners.setdefault(name, []).append(n)
    needed: set[int] = set()
    waiting = list(base)
    while waiting:
        for word in _words(waiting.pop().text):
            more = owners.pop(word, [])
            waiting += [following[n] for n in more if n not in needed]
            needed.update(more)
    return [following[n] for n in sorted(needed)]


def _words(code: str) -> list[str]:
    """The names in Python code, also those in f-strings, but not those in text and comments."""

    def without_text(token: re.Match[str]) -> str:
        is_text = token[0][0] in "#\"'"
        prefix = code[max(0, token.start() - 2) : token.start()].lower()
        return " " if is_text and "f" not in _PREFIX.sub("", prefix) else token[0]

    return _WORD.findall(_TOKEN.sub(without_text, code))


def _statements(code: str) -> Iterator[_Statement]:
    """The top-level statements of Python code.

    One begins at the start of a line outside of strings and brackets, with neither white space nor
    a comment; a decorator belongs to the statement below it.
    """
    begin = head = depth = 0
    for token in _TOKEN.finditer(code):
        mark, end = token[0], token.end()
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth = max(0, depth - 1)
        elif mark == "\n" and not depth and code[end : end + 1].strip(" \t\r\n#)]}"):
            if not code.startswith("@", head):
                yield _Statement(code[begin:end], _defined(code, head))
                begin = end
            head = end
    yield _Statement(code[begin:], _defined(code, head))


def _defined(code: str, head: int) -> frozenset[str]:
    match = _DEFINITION.match(code, head)
    return frozenset(_WORD.findall(" ".join(filter(None, match.groups() if match else ()))))


def from_first_line(code: str) -> str:
    """Drop the prose before the first line of code; all text stays if no line looks like code."""
    match = _FIRST_LINE.search(code)
    return code[match.start() :] if match else code


def _indented(text: str, content: str) -> str:
    """The content of a tag, with the indentation of its first line."""
    before = text[: max(0, text.rfind(content))]
    return before[len(before.rstrip(" \t")) :] + content
