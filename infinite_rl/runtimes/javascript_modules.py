"""ES modules as scripts: static `import` and `export` become declarations and `require`.

A true module would hide its top-level names from the tests, which are scripts of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MENTIONED = re.compile(r"\b(?:import|export)\b")
# Each alternative takes its text at the first attempt, closed or not: time stays linear.
_TOKEN = re.compile(
    r"""(?P<blank>\s+ | //[^\n]* | /\*(?:.*?\*/|.*))
    | (?P<string>"(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'?)
    | (?P<word>[\w$\#]+)
    | (?P<mark>.)""",
    re.DOTALL | re.VERBOSE,
)
_PATTERN = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]?|[^/\\\n\[])*/?")
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*(?:`|\$\{|\\?\Z)", re.DOTALL)
# A word after which "/" starts a pattern; after other words and closing marks it divides.
_BEFORE_PATTERN = re.compile(
    "return|typeof|case|in|of|delete|void|throw|new|do|else|instanceof|yield|await"
)

_NAME = r"[^\W\d][\w$]*|\$[\w$]*"
_LITERAL = r"\"[^\"\n]*\"|'[^'\n]*'"
_IMPORT = re.compile(rf"import(?P<clause>[\w$\s{{}},*]{{0,4000}})(?P<source>{_LITERAL})[ \t]*;?")
_CLAUSE = re.compile(
    rf"(?P<default>{_NAME})? ?,? ?(?:\* ?as (?P<whole>{_NAME})|\{{(?P<names>[^{{}}]*)\}})?"
)
_DECLARED = re.compile(
    rf"export\s+(?=(?:const|let|var|class|function|async\s+function)\b"
    rf"(?:\s+function)?[\s*]+(?P<name>{_NAME})?)"
)
_DEFAULT = re.compile(
    rf"export\s+default\b\s*(?P<named>(?=(?:class|function|async\s+function)\b(?:\s+function)?"
    rf"[\s*]+(?!extends\b)(?P<name>{_NAME})))?"
)
_LISTED = re.compile(
    rf"export\s*(?:\{{(?P<names>[^{{}}]*)\}}|\*(?:\s*as\s+(?:{_NAME}))?(?=\s*from\b))"
    rf"(?P<elsewhere>\s*from\s*(?:{_LITERAL}))?[ \t]*;?"
)
_RENAMED = re.compile(rf"(?P<inner>{_NAME})(?: as (?P<outer>{_NAME}))?")
_EXPORTS = "require.main.exports"


class _NotAModule(Exception):
    """The source is not written as ES modules are; the engine will say what is wrong."""


def as_script(source: str) -> str:
    """The source as a script; one without `import` and `export` comes back as it is.

    Lines stay where they are. A default or whole import is the module itself, callable where the
    module is. Exported names stay top-level names and are added to `module.exports` at the end.
    Where the source is not understood it comes back unchanged, for the engine to refuse.
    """
    if not _MENTIONED.search(source):
        return source
    try:
        edits = list(_edits(source))
    except _NotAModule:
        return source
    if not edits:
        return source
    parts, exported, at, is_module = [], "", 0, False
    for start, end, text, export in edits:
        parts += [source[at:start], text, "\n" * source.count("\n", start, end)]
        exported += export
        is_module = is_module or not text.startswith("require.")
        at = end
    strict = '"use strict";' if is_module else ""
    closing = f"\n;{exported}" if exported else ""
    return f"{strict}{''.join(parts)}{source[at:]}{closing}"


def _edits(source: str) -> Iterator[tuple[int, int, str, str]]:
    """What to replace: start, end, new text, and what the script's end must say."""
    done = 0
    for start, is_top in _keywords(source):
        if start < done:
            continue
        rest = re.compile(r"import\s*([(.])").match(source, start)
        if rest:
            yield start, rest.end(), "require.import(" if rest[1] == "(" else "require.", ""
            continue
        if is_top:
            change = _imported if source.startswith("import", start) else _exported
            done, text, export = change(source, start)
            yield start, done, text, export


def _keywords(source: str) -> Iterator[tuple[int, bool]]:
    """Where `import` and `export` stand as words, and whether outside all brackets."""
    open_marks: list[str] = []
    before, at = "", 0  # the last token that is not blank
    while at < len(source):
        if source[at] == "`" or (source[at] == "}" and open_marks[-1:] == ["`"]):
            if source[at] == "}":
                open_marks.pop()
            chunk = _TEMPLATE.match(source, at + 1)
            if chunk is None:
                raise _NotAModule
            if chunk[0].endswith("${"):
                open_marks.append("`")
            before, at = ("{" if chunk[0].endswith("${") else ")"), chunk.end()
            continue
        is_pattern = source[at] == "/" and source[at + 1 : at + 2] not in ("/", "*")
        token = (_PATTERN if is_pattern and _starts_pattern(before) else _TOKEN).match(source, at)
        assert token is not None  # `.` takes what nothing else does
        text, at = token[0], token.end()
        if token.re is _TOKEN and token.lastgroup == "blank":
            continue
        if text in ("import", "export") and before != ".":
            yield token.start(), not open_marks
        elif text in ("(", "[", "{"):
            open_marks.append(text)
        elif text in (")", "]", "}") and open_marks:
            open_marks.pop()
        before = ")" if token.re is _PATTERN or token.lastgroup == "string" else text


def _starts_pattern(before: str) -> bool:
    if re.match(r"[\w$#]", before):
        return _BEFORE_PATTERN.fullmatch(before) is not None
    return before not in (")", "]")


def _imported(source: str, start: int) -> tuple[int, str, str]:
    found = _IMPORT.match(source, start)
    if found is None:
        raise _NotAModule
    required = f"require({found['source']})"
    clause = " ".join(found["clause"].split())
    if not clause:
        return found.end(), f"{required};", ""
    shape = _CLAUSE.fullmatch(clause.removesuffix("from").rstrip())
    if shape is None or not clause.endswith("from"):
        raise _NotAModule
    made = [f"{shape['whole']} = {required}"] if shape["whole"] else []
    if shape["default"]:
        made.append(f"{shape['default']} = {required}.default ?? {required}")
    for inner, outer in _pairs(shape["names"] or ""):
        value = f"{required}.default ?? {required}" if inner == "default" else f"{required}.{inner}"
        made.append(f"{outer} = {value}")
    return found.end(), f"const {', '.join(made)};" if made else f"{required};", ""


def _exported(source: str, start: int) -> tuple[int, str, str]:
    default = _DEFAULT.match(source, start)
    if default:
        if default["named"] is None:
            return default.end(), f"{_EXPORTS}.default = ", ""
        return default.end(), " ", f"{_EXPORTS}.default = {default['name']};"
    declared = _DECLARED.match(source, start)
    if declared:
        name = declared["name"]
        return declared.end(), " ", f"{_EXPORTS}.{name} = {name};" if name else ""
    listed = _LISTED.match(source, start)
    if listed is None:
        raise _NotAModule
    pairs = [] if listed["elsewhere"] else _pairs(" ".join((listed["names"] or "").split()))
    return listed.end(), ";", "".join(f"{_EXPORTS}.{outer} = {inner};" for inner, outer in pairs)


def _pairs(names: str) -> list[tuple[str, str]]:
    """`a, b as c` as (inside the exporting module, outside of it)."""
    found = [_RENAMED.fullmatch(name.strip()) for name in names.split(",") if name.strip()]
    if None in found:
        raise _NotAModule
    return [(pair["inner"], pair["outer"] or pair["inner"]) for pair in found if pair]
