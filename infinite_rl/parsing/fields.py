"""Sections in structured text (JSON and its kin, XML, tables), read as heads that hold a value.

No grammar is enforced, since models break it: keys and tags that are names of sections are read in
order, each with its value. What a value holds is content.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile

from ..layout import SECTIONS
from .fences import scan
from .heads import NAMES, Head, known

_KEY = re.compile(
    r"(?:^|(?P<brace>[{,(\[]))\s{0,80}(?:-\s{1,3})?(?P<quote>\\?[\"'`“])?"
    r"[\[<*#]{0,3}(?P<key>[^\W\d][^\W_]{0,30}(?:[ _-][^\W_]{1,30}){0,3})[\]>*:]{0,3}"
    r"(?(quote)\\?[\"'`”])"
    r"[ \t]{0,3}(?::=|=>|[:=：])(?!=)[ \t]*\n?[ \t]*",
    re.MULTILINE,
)
# A quote ends a string where the structure goes on behind it: models forget to escape others.
_AFTER = (
    r"(?=\s{0,200}(?:[}\])]|,\s{0,200}(?:[\"'`“{\[}\])\d/#-]|\w+\s?[:=]|true|null|false|None|\Z|\n)"
    r"|\Z|</|```|;|\n\s{0,80}(?:#[^\n]{0,80}\n)?[\"']?[\w ]{1,40}[\"']?\s?[:=]))"
)
_AFTER_LINE = r"(?=[ \t]*,?[ \t]*(?:#[^\n]*)?(?:\n|\Z|```|</))"
_BARE = re.compile(r"-?[\w.][\w.+/%^-]{0,60}(?=\s*(?:[,}\])\n]|\Z))")
_BARE_LINE = re.compile(r"-?\d[\d.,/e%]*(?=[ \t]*(?:\n|\Z))")
_NESTED = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_NAME_KEYS = {"section", "name", "role", "type", "title", "heading", "label", "key", "field"}
_VALUE_KEYS = {"content", "text", "value", "body", "data"}
# Commands of LaTeX whose backslash was not doubled are kept: no text has a tab before "imes".
_ESCAPE = re.compile(
    r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|(?:t(?:imes|ext\w{0,6}|heta|an|au|riangle|frac|o)"
    r"|n(?:abla|eq(?!\s*=)|ot)|r(?:ight|ho|angle)|[bf]\w{2,12})(?![a-z])|.)",
    re.DOTALL,
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\n": "", **{mark: mark for mark in "\"'`\\/"}}
_MAX_DEPTH = 4

_OPENING = re.compile(  # `<<PROMPT>>` is a head
    r"(?<!<)<(?P<tag>[^\W\d][\w:.-]{0,40})(?P<rest>(?:\s[^<>]{0,200}|=[^<>]{1,60})?)>(?!>)"
)
_ATTRIBUTE = re.compile(r"=\s?[\"']?([^\"'<>=]{1,40}?)[\"']?(?=\s|$)")
_CELL = re.compile(r"(?<!\\)\|")


def structured_heads(text: str) -> Iterator[list[Head]]:
    """The heads that each reader of structured text finds."""
    yield list(_elements(text))
    yield list(_fields(text))
    yield list(_cells(text))
    yield [
        Head("fence", name, block.start, block.end, value=block.code)
        for block in scan(text)
        if (name := known(block.language))
    ]


def _fields(text: str, depth: int = 0) -> Iterator[Head]:
    """The fields of objects in JSON, JavaScript, Python, YAML or TOML, or of a call's arguments."""
    position, named, dead = 0, "", set[str]()
    while found := _KEY.search(text, position):
        key, braced = found["key"].lower(), bool(found["brace"] or found["quote"])
        value, position = _value(text, found.end(), braced, dead)
        if value is None:
            position = max(found.end() - 1, found.start() + 1)
            continue
        name = known(found["key"])
        inner = list(_fields(value, depth + 1)) if value[:1] in "{[" and depth < _MAX_DEPTH else []
        if inner and (not name or _has_all(inner)):
            yield from (replace(head, start=found.start()) for head in inner)
            continue
        if key in _VALUE_KEYS and named:
            name, named = named, ""
        elif key in _NAME_KEYS:
            name, named = "", known(value)
        if name:
            kind = "json" if braced else "yaml" if ":" in found[0] else "toml"
            yield Head(kind, name, found.start("key"), position, value=value)


def _has_all(heads: list[Head]) -> bool:
    return {role for head in heads for role in NAMES[head.name]} == {*SECTIONS}


def _value(text: str, begin: int, braced: bool, dead: set[str]) -> tuple[str | None, int]:
    """The value that begins here, and where it ends; None where there is none.

    `dead` are the quotes and brackets that nothing closes any more. A string that the end of the
    text cuts off is a value only if its answer is whole.
    """
    found = re.compile(r'"""|\'\'\'|\\"|["\'`“{\[]').match(text, begin)
    mark = found[0] if found else ""
    if mark in dead:
        return None, begin
    if mark in ("{", "["):
        level = 0
        for nested in _NESTED.finditer(text, begin):
            level += {"[": 1, "{": 1, "]": -1, "}": -1}.get(nested[0], 0)
            if level == 0:
                return text[begin : nested.end()], nested.end()
    elif mark:
        start = begin + len(mark)
        if closing := _closing(mark, braced).search(text, start):
            return _decoded(text[start : closing.start()], mark, braced), closing.end()
        rest = text[start:].rstrip().removesuffix("```").rstrip(" \n}])")
        if braced and rest.endswith("</answer>"):
            return _decoded(rest, mark, braced), len(text)
    elif bare := (_BARE if braced else _BARE_LINE).match(text, begin):
        return "" if bare[0] in ("null", "None", "undefined") else bare[0], bare.end()
    if mark:
        dead.add(mark)
    return None, begin


@lru_cache
def _closing(mark: str, braced: bool) -> re.Pattern[str]:
    closer = re.escape("”" if mark == "“" else mark)
    if len(mark) == 3:
        return re.compile(closer)
    unescaped = "" if mark == '\\"' else r"(?<!\\)(?:\\\\){0,20}"
    return re.compile(f"{unescaped}{closer}{_AFTER if braced else _AFTER_LINE}")


def _decoded(text: str, mark: str, braced: bool) -> str:
    """What a string literal holds."""

    def character(found: re.Match[str]) -> str:
        code = found[1]
        is_number = code[0] in "ux" and len(code) > 1
        return chr(int(code[1:], 16)) if is_number else _ESCAPED.get(code, found[0])

    if mark in ("'", "'''") and not braced:
        return text.replace("''", "'")
    for _ in range(1 + (mark == '\\"')):
        text = _ESCAPE.sub(character, text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _elements(text: str, depth: int = 0) -> Iterator[Head]:
    """The elements of XML or HTML that are named as a section, or have its name as an attribute."""
    position, dead = 0, set[str]()
    while found := _OPENING.search(text, position):
        position, tag = found.end(), found["tag"].lower()
        names = map(known, [tag, *_ATTRIBUTE.findall(found["rest"])])
        if tag in dead or not (name := next(filter(None, names), "")):
            continue
        head = Head("xml", name, found.start(), position)
        closing = _closing_tag(tag).search(text, position)
        if closing is None:
            dead.add(tag)
            yield head
            continue
        value = text[position : closing.start()].strip()
        value = value.removeprefix("<![CDATA[").removesuffix("]]>")
        inner = list(_elements(value, depth + 1)) if depth < _MAX_DEPTH else []
        position = closing.end()
        if _has_all(inner):
            yield from (replace(each, start=head.start) for each in inner)
        else:
            yield replace(head, value=value if "<" in value else html.unescape(value))


@lru_cache
def _closing_tag(tag: str) -> re.Pattern[str]:
    return re.compile(rf"<\s?[/\\]\s?{re.escape(tag)}\s?>", re.IGNORECASE)


def _cells(text: str) -> Iterator[Head]:
    """The cells of a Markdown table under a row of section names, row by row."""
    names: list[str] = []
    offset = 0
    for line in text.split("\n"):
        cells = _CELL.split(line.strip().strip("|")) if line.lstrip().startswith("|") else []
        words = [known(cell.strip(" *`")) for cell in cells]
        roles = {role for word in words for role in NAMES.get(word, ())}
        if len({*words} - {""}) > 2 and roles == {*SECTIONS}:
            names = words
        elif len(cells) != len(names):
            names = []
        elif set(line) - set("|-: "):
            for name, cell in zip(names, cells, strict=True):
                if name:
                    yield Head("table", name, offset, offset, value=unescaped_cell(cell))
        offset += len(line) + 1


def unescaped_cell(cell: str) -> str:
    """What a cell of a Markdown table holds."""
    return re.sub(r"<br\s?/?>", "\n", cell).replace("\\|", "|").strip()


def unquoted(text: str) -> str:
    """A string of YAML or TOML without its quotes."""
    quoted = re.fullmatch(r"(\"\"\"|'''|\"|')(.*)\1", text, re.DOTALL)
    return _decoded(quoted[2], quoted[1], braced=False) if quoted else text


def dedented(text: str, column: int = -1) -> str:
    """The lines that are indented by more than `column`, less what all of them are indented by."""
    indents = ((len(line) - len(line.lstrip(" ")), line) for line in text.split("\n"))
    lines = [*takewhile(lambda each: each[0] > column or not each[1].strip(), indents)]
    margin = min((indent for indent, line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for _, line in lines)
