"""What a JavaScript test needs besides the program: a test runner, or other files.

Only the text of the test and its setup decides, never the program. Linear time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ...parsing.word_tables import WordTables
from .tokens import TokenTree

_TABLES = WordTables(__file__)
_MODULES, _BLOCKS = _TABLES.words("modules"), _TABLES.words("blocks")
_MISSING, _JEST, _SNAPSHOTS = map(_TABLES.words, ("missing", "jest", "snapshots"))
_LISTS, _GLOBALS = _TABLES.words("lists"), _TABLES.words("globals")
_LIBRARIES = sorted(_TABLES.words("libraries"))
_MODIFIERS, _ASSERTIONS = _TABLES.words("modifiers"), _TABLES.words("assertions")
_CALLED = _TABLES.words("called") | _BLOCKS | _ASSERTIONS
_AFTER_PARAMETER = frozenset([",", ")", "=>", "=", ":", "}", "]", "in", "of"])
_LONGEST_CHAIN = 8  # names before the call of an assertion, as in `require("assert").strict.ok(`
_BEFORE_STATEMENT = frozenset(["", ";", "{", "}", ")", "]", "=>", "await", "return", "else"])


@lru_cache(maxsize=2048)
def runner_of(test: str, setup: str = "", own: tuple[str, ...] = ()) -> str:
    """Return the test runner that a test needs, such as "node:test" or "describe and it", or "".

    A test needs a runner if the test or its setup imports one, or if the test calls `describe`,
    `it`, `test` and the like, or `expect(...)`, as statements, without defining them. The program
    defines the names in `own`. Without an import, a test that also asserts outside of those calls
    needs no runner: the program itself is one.
    """
    before, text = _TestTokens(setup), _TestTokens(test)
    imported = before.imported() or text.imported()
    if imported:
        return imported
    defined_names = {*own, *before.defined(), *text.defined()}
    called = sorted({name for name in text.runner_calls() if name not in defined_names})
    if not called or text.asserts_itself():
        return ""
    return " and ".join(called)


@lru_cache(maxsize=2048)
def missing_runner(text: str) -> str:
    """Return the test runner that a test or a setup imports and that is not there, or ""."""
    return next((name for name in _TestTokens(text).modules() if name in _MISSING), "")


@lru_cache(maxsize=2048)
def missing_member(text: str) -> str:
    """Return what a test uses and no test runner here has, such as "jest.mock", or ""."""
    tokens = _TestTokens(text)
    for n, token in enumerate(tokens.tokens):
        if token.kind != "word" or tokens.text(n - 1) != ".":
            continue
        owner, argument = tokens.text(n - 2), tokens.text(n + 2)
        if token.text in _LISTS and argument in _GLOBALS and tokens.text(n + 3) == ")":
            return "list of the program's globals"  # each interpreter has its own
        if owner in ("jest", "vi") and token.text not in _JEST:
            return f"{owner}.{token.text}"
        if owner == ")" and token.text in _SNAPSHOTS:
            return token.text
        if owner == "require" and token.text == "cache" and tokens.text(n - 3) == "delete":
            return "require.cache"
    return ""


@lru_cache(maxsize=256)
def missing_library(texts: tuple[str, ...]) -> str:
    """Return the library that tests use and never import, such as "chai", or "".

    A program may be asked for a `_` of its own. So a name is a library's only if the tests also
    call a function that they do not define.
    """
    trees = [_TestTokens(text) for text in texts]
    named = [word for tree in trees for word in tree.outer_words()]
    used = [name for name in _LIBRARIES if any(name == word for word, _ in named)]
    if not used:
        return ""
    own = {name for tree in trees for name in tree.defined()}
    calls = {word for word, after in named if after == "("} - own - _CALLED
    # What stands before other marks may be a parameter or a key.
    other = {word for word, after in named if after in _AFTER_PARAMETER}
    return next((name for name in used if calls and name not in own | other), "")


@lru_cache(maxsize=2048)
def files_of(text: str) -> tuple[str, ...]:
    """Return the files that a test or a setup imports: paths that begin with a dot."""
    return tuple(name for name in _TestTokens(text).modules() if name.startswith("."))


class _TestTokens(TokenTree):
    """The tokens of a test."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._asserted: list[bool] = []  # whether a token stands in the arguments of an assertion
        opened: dict[int, bool] = {-1: False}
        for outer in self.enclosing:
            if outer not in opened:
                opened[outer] = self._asserted[outer] or self._is_asserted(outer)
            self._asserted.append(opened[outer])

    def imported(self) -> str:
        """The runner that a `require` or an `import` names."""
        return next((name for name in self.modules() if name in _MODULES), "")

    def modules(self) -> Iterator[str]:
        """The names that stand in a `require` or an `import`."""
        for n, token in enumerate(self.tokens):
            if token.kind == "string":
                called = self.text(n - 1) == "(" and self.text(n - 2) in ("require", "import")
                if called or self.text(n - 1) in ("from", "import"):
                    yield token.text[1:-1]

    def defined(self) -> Iterator[str]:
        """The names that the text declares, assigns, or takes out of an object or a module."""
        for n, token in enumerate(self.tokens):
            if token.kind != "word":
                continue
            outer = self.enclosing[n]
            closing = self.partner.get(outer, -1)
            destructured = outer >= 0 and self.text(closing + 1) in ("=", "from")
            declared = self.text(n - 1) in ("function", "*", "class", "import", "let", "var")
            if self.text(n + 1) == "=" or destructured or declared:
                yield token.text

    def outer_words(self) -> Iterator[tuple[str, str]]:
        """The words that are no property's name, each with what follows."""
        for n, token in enumerate(self.tokens):
            if token.kind == "word" and self.text(n - 1) not in (".", "?."):
                yield token.text, self.text(n + 1)

    def runner_calls(self) -> Iterator[str]:
        """The names of a runner's functions that are called as statements."""
        for n, token in enumerate(self.tokens):
            if not self._starts_statement(n):
                continue
            if token.text == "expect" and self.text(n + 1) == "(":
                closing = self.partner.get(n + 1, -1)
                if self.text(closing + 1) == "." and not self._asserted[n]:
                    yield token.text
            elif token.text in _BLOCKS and (self._is_modified(n) or self._takes_function(n)):
                yield token.text

    def asserts_itself(self) -> bool:
        """Whether an assertion stands in no bracket at all."""
        return any(
            self.enclosing[n] < 0 and (self._is_assertion(n) or token.text == "throw")
            for n, token in enumerate(self.tokens)
        )

    def _starts_statement(self, n: int) -> bool:
        if self.tokens[n].kind != "word" or self.text(n - 1) in (".", "?."):
            return False
        if n == 0 or self.text(n - 1) in _BEFORE_STATEMENT:
            return True
        before = self.tokens[n - 1]
        between = self.source[before.end : self.tokens[n].start]
        return before.kind != "mark" and "\n" in between

    def _is_modified(self, n: int) -> bool:
        return self.text(n + 1) == "." and self.text(n + 2) in _MODIFIERS

    def _takes_function(self, n: int) -> bool:
        """Whether it is called, and the second argument is a function."""
        end = self.partner.get(n + 1, -1)
        if self.text(n + 1) != "(" or end < 0:
            return False
        at = n + 2
        while at < end and self.text(at) != ",":
            at = self.partner.get(at, at) + 1
        first = self.text(at + 1)
        if at >= end or first in ("function", "async"):
            return at < end
        after = self.partner.get(at + 1, at + 1) + 1 if first == "(" else at + 2
        return after < end and self.text(after) == "=>"

    def _is_asserted(self, opening: int) -> bool:
        """Whether the bracket opens the arguments of an assertion."""
        if self.text(opening) != "(":
            return False
        first = opening - 1
        for _ in range(_LONGEST_CHAIN):
            if self.text(first - 1) not in (".", "?."):
                break
            first -= 2
            if self.text(first) == ")":
                first = self.partner.get(first, 0) - 1
        return self._is_assertion(first)

    def _is_assertion(self, n: int) -> bool:
        """Whether the call of an assertion begins here, such as `assert.ok(` or `equal(`."""
        name = self.text(n)
        if self.text(n - 1) in (".", "?.", "function"):
            return False
        if name == "require":
            return "assert" in self.text(n + 2) and self.text(n + 4) in (".", "(")
        if name in _ASSERTIONS:
            return self.text(n + 1) == "("
        if name not in ("assert", "console") or (
            name == "console" and self.text(n + 2) != "assert"
        ):
            return False
        while self.text(n + 1) == ".":
            n += 2
        return self.text(n + 1) == "("
