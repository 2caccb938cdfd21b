"""The TypeScript guest: types are stripped in an instance of their own, and JavaScript runs.

Nothing checks the types. The stripper is the npm package `sucrase`. It lies in the snapshot of the
JavaScript guest as text, which only an instance that strips compiles: no program runs there.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from ...types import Execution, Program
from ..runtimes import Limits, load_guest, runtime_named, too_long
from .guest import JavaScriptGuest
from .tokens import TokenTree

_CACHED, _CACHED_CHARS = 128, 100_000  # groups of texts, and the characters of each
_STRICT = '"use strict";'  # as the compiler of TypeScript 6 writes it by default
_MENTIONED = re.compile(
    r"@\s*[\w($]|\bstatic\s*\{|\b(?:namespace|module|accessor)\b|\b(?:import|export)\b[^;]*="
)
_DECLARES = frozenset(["const", "let", "var", "function", "class", "enum", "async", "abstract"])


class TypeScriptGuest:
    """Run TypeScript programs with tests in TypeScript or JavaScript; see `JavaScriptGuest`.

    An execution has a `doubt` if the program uses what the stripper cannot translate.
    """

    def __init__(self) -> None:
        guest = load_guest(runtime_named("javascript"))
        assert isinstance(guest, JavaScriptGuest)
        self._guest = guest
        self._kept = lru_cache(_CACHED)(guest.strip_types)

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance; see `Guest.run`. Raises `SandboxError`."""
        if stopped := too_long(program, limits):
            return stopped
        tests = () if program.expected else program.tests  # calls with constants have no types
        texts = (program.code, program.setup, *tests)
        is_short = sum(map(len, texts)) < _CACHED_CHARS
        stripped = (self._kept if is_short else self._guest.strip_types)(texts, limits)
        if isinstance(stripped, Execution):
            if stripped.status == "timeout":  # the machine may have been busy
                self._kept.cache_clear()
        else:
            code, setup, *tests_ = stripped
            code = code if code.startswith("#!") else _STRICT + code
            plain = replace(program, code=code, setup=setup, tests=tuple(tests_) or program.tests)
            stripped = self._guest.run(plain, limits)
        return replace(stripped, doubt=doubt_of(program.code))


def doubt_of(code: str) -> str:
    """Return what the program uses that cannot be translated, or ""."""
    if not _MENTIONED.search(code):
        return ""
    tree = TokenTree(code)
    for n, token in enumerate(tree.tokens):
        before, after = tree.text(n - 1), tree.text(n + 1)
        if token.text == "@" and (after == "(" or after[:1].isalpha() or after[:1] in "_$"):
            return "TypeScript's decorators cannot be run"
        if token.text == "accessor" and after[:1].isalpha() and before in ("{", "}", ";", "static"):
            return "TypeScript's accessor fields cannot be run"
        if token.text == "static" and after == "{":  # it would run before static fields are set
            return "TypeScript's static blocks cannot be run in order"
        if token.text in ("namespace", "module") and before not in (".", "declare"):
            body = _body_of_namespace(tree, n)
            if body > 0 and _has_values(tree, body):
                return "TypeScript's namespaces with values cannot be run"
        if token.text == "export" and after == "=" and tree.enclosing[n] < 0:
            return "TypeScript's `export =` cannot be run"
        if token.text == "import" and tree.text(n + 2) == "=" and tree.enclosing[n] < 0:
            return "TypeScript's `import =` cannot be run"
    return ""


def _body_of_namespace(tree: TokenTree, n: int) -> int:
    """Return where the body of a namespace opens, 0 if the word at `n` is none's."""
    at = n + 1
    if not (tree.text(at)[:1].isalpha() or tree.text(at)[:1] in ("_", "$")):
        return 0
    while tree.text(at + 1) == ".":
        at += 2
    return at + 1 if tree.text(at + 1) == "{" else 0


def _has_values(tree: TokenTree, body: int) -> bool:
    """Whether a namespace holds more than types."""
    inside = range(body + 1, tree.partner.get(body, len(tree.tokens)))
    return any(
        tree.text(n) in _DECLARES and tree.text(n - 1) != "declare" and tree.enclosing[n] == body
        for n in inside
    )
