"""ES modules as scripts: static `import` and `export` become declarations and `require`.

A true module would hide its top-level names from the tests, which are scripts of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .tokens import tokens

_MENTIONED = re.compile(r"\b(?:import|export)\b")
_NAME = r"[^\W\d][\w$]*|\$[\w$]*"
_LITERAL = r"\"[^\"\n]*\"|'[^'\n]*'"
_COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*"
_IMPORT = re.compile(
    rf"import(?P<clause>(?:[\w$\s{{}},*]|{_COMMENT}){{0,4000}})(?P<source>{_LITERAL})[ \t]*;?"
)
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
STRICT = '"use strict";'  # how the script of a module begins
_CHANGEABLE = re.compile(r"(?:let|var)\b")
_MOST_TOKENS = 100_000
_PROGRAM = r"require(?:\.import)?\(\s*['\"]\.{1,2}/[^'\"\n]*['\"]\s*\)"
REQUIRES_PROGRAM = re.compile(
    rf"{_PROGRAM}|\b(?:from|import)\s*\(?['\"]\.{{1,2}}/"
)  # whatever the path: there is no other file


class _NotAModule(Exception):
    """The source is not a valid ES module; the engine will report the error."""


def as_script(source: str) -> str:
    """Convert an ES module to a script; a source without `import` and `export` is unchanged.

    Lines stay where they are. A default or whole import is the module itself, callable where the
    module is. Exported names stay top-level names and are added to `module.exports` at the end.
    Where the source is not understood it comes back unchanged, for the engine to refuse; so does
    one of more than 100,000 tokens, which take a quarter of a second to read.
    """
    if not _MENTIONED.search(source):
        return source
    try:
        edits = list(_edits(source))
    except _NotAModule:
        return source
    if not edits:
        return source
    parts, exported, at, is_module = [], dict[str, str](), 0, False
    for start, end, text, export in edits:
        parts += [source[at:start], text, "\n" * source.count("\n", start, end)]
        exported |= export
        is_module = is_module or not text.startswith("require.")
        at = end
    strict = STRICT if is_module else ""
    closing = f"\n;{''.join(exported[name] for name in sorted(exported))}" if exported else ""
    return f"{strict}{''.join(parts)}{source[at:]}{closing}"


def _edits(source: str) -> Iterator[tuple[int, int, str, dict[str, str]]]:
    """What to replace: start, end, new text, and what the script's end must say, by name."""
    done = 0
    for start, is_top in _keywords(source):
        if start < done:
            continue
        rest = re.compile(r"import\s*([(.])").match(source, start)
        if rest:
            yield start, rest.end(), "require.import(" if rest[1] == "(" else "require.", {}
            continue
        if is_top:
            change = _imported if source.startswith("import", start) else _exported
            done, text, export = change(source, start)
            yield start, done, text, export


def _keywords(source: str) -> Iterator[tuple[int, bool]]:
    """Where `import` and `export` stand as words, and whether outside all brackets."""
    depth, before = 0, ""
    for count, token in enumerate(tokens(source)):
        if count == _MOST_TOKENS:
            raise _NotAModule
        if token.text in ("import", "export") and before != ".":
            yield token.start, depth == 0
        depth = max(depth + token.opens - token.closes, 0)
        before = token.text


def _imported(source: str, start: int) -> tuple[int, str, dict[str, str]]:
    match = _IMPORT.match(source, start)
    if match is None:
        raise _NotAModule
    required = f"require({match['source']})"
    clause = _without_comments(match["clause"])
    if not clause:
        return match.end(), f"{required};", {}
    shape = _CLAUSE.fullmatch(clause.removesuffix("from").rstrip())
    if shape is None or not clause.endswith("from"):
        raise _NotAModule
    bindings = [f"{shape['whole']} = {required}"] if shape["whole"] else []
    if shape["default"]:
        bindings.append(f"{shape['default']} = {required}.default ?? {required}")
    for inner, outer in _pairs(shape["names"] or ""):
        value = f"{required}.default ?? {required}" if inner == "default" else f"{required}.{inner}"
        bindings.append(f"{outer} = {value}")
    return match.end(), f"const {', '.join(bindings)};" if bindings else f"{required};", {}


def _exported(source: str, start: int) -> tuple[int, str, dict[str, str]]:
    default = _DEFAULT.match(source, start)
    if default:
        if default["named"] is None:
            return default.end(), f"{_EXPORTS}.default = ", {}
        return default.end(), " ", {"default": f"{_EXPORTS}.default = {default['name']};"}
    declared = _DECLARED.match(source, start)
    if declared:
        name = declared["name"]
        is_live = _CHANGEABLE.match(source, declared.end())
        statement = f"{_EXPORTS}.{name} = {name};"
        if is_live:
            getter = f"{{ get: () => {name}, enumerable: true, configurable: true }}"
            statement = f'Object.defineProperty({_EXPORTS}, "{name}", {getter});'
        return declared.end(), " ", {name: statement} if name else {}
    listed = _LISTED.match(source, start)
    if listed is None:
        raise _NotAModule
    pairs = [] if listed["elsewhere"] else _pairs(_without_comments(listed["names"] or ""))
    exported = {outer: f"{_EXPORTS}.{outer} = {inner};" for inner, outer in pairs}
    return listed.end(), ";", exported


def _without_comments(clause: str) -> str:
    return " ".join(re.sub(_COMMENT, " ", clause).split())


def _pairs(names: str) -> list[tuple[str, str]]:
    """`a, b as c` as (inside the exporting module, outside of it)."""
    matches = [_RENAMED.fullmatch(name.strip()) for name in names.split(",") if name.strip()]
    if None in matches:
        raise _NotAModule
    return [(pair["inner"], pair["outer"] or pair["inner"]) for pair in matches if pair]
