"""Split a JavaScript test: expressions for the guest to compute, comparisons for the host to judge.

An assertion is cut at each name that a program can define: `f(2)` in
`assert.strictEqual(f(2), 4)`. The test that runs beside the program only reports those values; the
rest of the assertion, with the values inserted as data, is judged out of the program's reach.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ...parsing.word_tables import WordTables
from .modules import as_script
from .tokens import TokenTree

_MODULE = r"require\(\s*['\"](?:node:)?assert(?P<path>/strict)?['\"]\s*\)(?P<strict>\.strict)?"
_BOUND = re.compile(rf"(?P<name>[\w$]+)\s*=\s*{_MODULE}(?:\.default)?(?=\s*(?:[;,\n]|$|\?\?))")
_PICKED = re.compile(rf"\{{(?P<names>[^{{}}]*)\}}\s*=\s*{_MODULE}\s*(?:;|$)", re.MULTILINE)
_PICKED_ONE = re.compile(rf"(?P<name>[\w$]+)\s*=\s*{_MODULE}\.(?P<method>\w+)\s*(?=[;,\n]|$)")
_OWN_ASSERT = re.compile(
    r"(?:function|const|let|var|class)\s+assert\b|\bassert\s*=[^=]|[{,]\s*assert\s*[,}]|:\s*assert\b"
)


_TABLES = WordTables(__file__)
_BINARY = _TABLES.words("binary")
_OPERANDS = {"": 1, "ok": 1, "match": 2, "doesNotMatch": 2, **dict.fromkeys(_BINARY, 2)}
_PURE, _JUDGING = _TABLES.words("pure"), _TABLES.pattern("judging")
_OPERATORS, _SEPARATORS = _TABLES.words("operators"), _TABLES.words("separators")
_CALLING, _DATA_METHODS = _TABLES.words("calling"), _TABLES.words("data methods")
_REFUSED, _REFUSED_WORDS = _TABLES.words("refused marks"), _TABLES.words("refused words")
_SHORT = frozenset({"&&", "||", "??", "?"})
_CONTROL = ("if", "for", "while", "with", "await")  # `for await (...)`
_HEADER = '{const assert = require("assert");'
_LEAVING = ("return", "break", "continue")
_HEAD = 400  # characters before a function's body in which its name stands
_NAMED = re.compile(
    r"(?:function\s*\*?\s*(?P<one>[\w$]+)\s*\([^()]*\)"
    r"|\b(?P<two>[\w$]+)\s*=\s*(?:async\b\s*)?(?:function\b\s*)?(?:\([^()]*\)|[\w$]+)\s*(?:=>)?)\s*\Z"
)


@dataclass(frozen=True)
class GuestValue:
    """One assertion as a `script` that is judged in an instance without the program.

    It reads the reported values as `$value(0)`, `$value(1)`, ... A `required` assertion must be
    reported before its test ends.
    """

    script: str
    required: bool


@dataclass(frozen=True)
class TestReading:
    """A test for the program's instance: `source` reports values to the function `reporter`.

    `assertions` maps the number under which an assertion reports to the assertion.
    """

    __test__ = False  # a noun of ours, not a test class for pytest to collect

    source: str
    reporter: str
    assertions: Mapping[int, GuestValue] = field(default_factory=dict)


@lru_cache(maxsize=2048)
def read_test(test: str, entry_point: str = "", setup: str = "") -> TestReading:
    """Split one test; a test that cannot be parsed is returned unchanged, without assertions.

    `setup` is the code before it, which may import what the test uses.
    """
    source = as_script(test)
    reporter = "$report"
    while reporter in source:
        reporter += "_"
    return _Reader(source, reporter, entry_point, as_script(setup)).read()


def read_call(expression: str) -> TestReading:
    """Return a test that reports the value of an expression, for the host to compare."""
    return TestReading(f"$report(0, [{expression}\n]);", "$report", {0: GuestValue("", True)})


class _NotUnderstood(Exception):
    """The expression cannot be split: the guest reports its whole value."""


@dataclass
class _Holes:
    """The expressions of one assertion whose values the guest reports."""

    sources: list[str] = field(default_factory=list)

    def add(self, source: str) -> str:
        self.sources.append(source)
        return f"$value({len(self.sources) - 1})"


class _Reader(TokenTree):
    def __init__(self, source: str, reporter: str, entry_point: str, setup: str) -> None:
        super().__init__(source)
        self._reporter = reporter
        self._entry_point = entry_point
        self._assertions: dict[int, GuestValue] = {}
        self._leaving: dict[int, list[int]] = {}  # by the function body that is left
        self._running: dict[int, bool] = {}
        self._classes = self._constructed()
        self._modules, self._methods = _assert_names(f"{setup}\n{source}")

    def read(self) -> TestReading:
        if not self.is_balanced:
            return TestReading(self.source, self._reporter)
        for n, token in enumerate(self.tokens):
            if token.text in _LEAVING:
                self._leaving.setdefault(self._body(n), []).append(n)
        parts, at, n = [], 0, 0
        while n < len(self.tokens):
            edit = self._assertion(n) or self._guard(n)
            if edit is None:
                n += 1
                continue
            start, end, text, n = edit
            lines = self.source.count("\n", start, end) - text.count("\n")
            parts += [self.source[at:start], text, "\n" * lines]
            at = end
        source = "".join([self._known_assert(), *parts, self.source[at:]])
        return TestReading(source, self._reporter, self._assertions)

    def _constructed(self) -> list[str]:
        """The program's classes that the test itself makes objects of."""
        after = (self.text(n + 1) for n, token in enumerate(self.tokens) if token.text == "new")
        return sorted({name for name in after if name.isidentifier() and name not in _PURE})

    def _known_assert(self) -> str:
        """A declaration of `assert` where the test takes it for granted: a program can change the
        one that it shares with what ran before the test.
        """
        path = self._modules.get("assert")
        is_used = any(t.text == "assert" and t.kind == "word" for t in self.tokens)
        if path is None or not is_used or _OWN_ASSERT.search(self.source):
            return ""
        return f'const assert = require("assert"){path.removeprefix("assert")};'

    # --- assertions ------------------------------------------------------------------------------

    def _assertion(self, n: int) -> tuple[int, int, str, int] | None:
        """The assertion that starts at token `n`: what to replace, by what, where to go on."""
        called = self._called(n)
        if called is None:
            return None
        opening, callee, method = called
        closing = self.partner[opening]
        arguments = self._arguments(opening + 1, closing)
        operands = _OPERANDS.get(method, 1)
        if len(arguments) < operands or self._in_try(n):
            return None
        if any(self.text(a) == "..." for a, _ in arguments):
            return None
        holes = _Holes()
        parts = [self._cut(a, b, holes) for a, b in arguments[:operands]]
        if not holes.sources:
            return None
        parts += [self._slice(a, b) for a, b in arguments[operands:] if self._is_closed(a, b)]
        if len(parts) == operands == 1:
            source = json.dumps(f"{self._slice(*arguments[0])}; ")
            parts.append(f"{source} + {_values_text(holes)}")
        script = f"{callee}({', '.join(parts)})"
        span = (opening + 1, arguments[operands - 1][1])
        text = self._reported(script, holes, n, span)
        return self.tokens[n].start, self.tokens[closing].end, text, closing + 1

    def _guard(self, n: int) -> tuple[int, int, str, int] | None:
        """`if (f(2) !== 4) throw ...` is an assertion too. The condition becomes a report."""
        if self.text(n) != "if" or self.text(n + 1) != "(":
            return None
        closing = self.partner[n + 1]
        thrown = closing + 2 if self.text(closing + 1) == "{" else closing + 1
        if self.text(thrown) != "throw" or self._in_try(n) or not self._is_guard(n):
            return None
        holes = _Holes()
        condition = self._cut(n + 2, closing, holes)
        if not holes.sources:
            return None
        source = json.dumps(f"if ({self._slice(n + 2, closing)}) throw; ")
        script = f"console.assert(!({condition}), {source} + {_values_text(holes)})"
        text = self._reported(script, holes, n, (n + 2, closing))
        start, end = self.tokens[n + 1].end, self.tokens[closing].start
        return start, end, text, closing + 1

    def _reported(self, script: str, holes: _Holes, n: int, span: tuple[int, int]) -> str:
        number = len(self._assertions)
        is_lazy = any(self.text(k) in _SHORT for k in range(*span))
        if is_lazy and any(self.text(k) == "await" for k in range(*span)):
            is_lazy = False
        self._assertions[number] = GuestValue(f"{_HEADER}{script}}}", self._is_required(n))
        values = [f"() => ({source})" if is_lazy else source for source in holes.sources]
        rest = f", {str(is_lazy).lower()}, {json.dumps(self._classes)}" if self._classes else ""
        rest = rest or (", true" if is_lazy else "")
        return f"{self._reporter}({number}, [{', '.join(values)}]{rest})"

    def _called(self, n: int) -> tuple[int, str, str] | None:
        """Return the assertion's opening bracket, its name on the judging side, and its method."""
        if self.text(n - 1) in (".", "?.", "function", "new"):
            return None
        if self._texts(n, 4) == "console.assert(":
            return n + 3, "console.assert", ""
        name, at = self.text(n), n + 1
        if name in self._methods and self.text(at) == "(":
            path, method = self._methods[name]
            return at, f"{path}.{method}" if method else path, method
        if name in self._modules:
            path = self._modules[name]
        elif name == "require" and self.text(n + 1) == "(" and self.tokens[n + 2 : n + 3]:
            module = self.tokens[n + 2].text.strip("'\"").removeprefix("node:")
            if module not in ("assert", "assert/strict") or self.text(n + 3) != ")":
                return None
            path, at = ("assert.strict" if module == "assert/strict" else "assert"), n + 4
        else:
            return None
        if self._texts(at, 2) == ".strict":
            path, at = "assert.strict", at + 2
        method = ""
        if self.text(at) == ".":
            method, at = self.text(at + 1), at + 2
            if method not in _OPERANDS:
                return None
        if self.text(at) != "(":
            return None
        callee = f"{path}.{method}" if method else path
        return at, callee, method

    def _arguments(self, first: int, end: int) -> list[tuple[int, int]]:
        """The arguments between two brackets, as ranges of tokens."""
        ranges, start = [], first
        for n in self._level(first, end):
            if self.text(n) == ",":
                ranges.append((start, n))
                start = n + 1
        return [*ranges, (start, end)] if start < end else ranges

    def _level(self, first: int, end: int) -> Iterator[int]:
        """Tokens of a range that stand in no bracket of their own; of a bracket its first."""
        n = first
        while n < end:
            yield n
            n = self.partner[n] + 1 if self.tokens[n].opens else n + 1

    # --- where an assertion stands ---------------------------------------------------------------

    def _open_brackets(self, n: int) -> list[int]:
        """The brackets that are open at token `n`, the innermost first."""
        brackets, k = [], self.enclosing[n]
        while k >= 0:
            brackets.append(k)
            k = self.enclosing[k]
        return brackets

    def _in_try(self, n: int) -> bool:
        return any(
            self.text(k) == "{" and self.text(k - 1) == "try" for k in self._open_brackets(n)
        )

    def _is_branch(self, n: int) -> bool:
        """Whether what stands at `n` runs only under a condition, or once for each item."""
        before = self.text(n - 1)
        if before == ")":
            return self.text(self.partner[n - 1] - 1) in _CONTROL
        return before in ("else", "do", "&&", "||", "??", "?", ":", "=>")

    def _is_required(self, n: int) -> bool:
        """Whether every run of the test gets here: no branch, no loop, no early return."""
        brackets = self._open_brackets(n)
        if self._is_branch(n):
            return self._is_first_then(brackets, n) and self.text(n - 1) == "=>"
        if not (self._is_straight(brackets) or self._is_first_then(brackets, n)):
            return False
        left = self._leaving.get(self._body(n), [])
        return not left or left[0] > n

    def _body(self, n: int) -> int:
        """The bracket of the function that `n` stands in, -1 at the top of the test."""
        return next(
            (k for k in self._open_brackets(n) if self.text(k) == "{" and not self._is_control(k)),
            -1,
        )

    def _is_straight(self, brackets: list[int]) -> bool:
        """Whether the brackets are none, or the body of one function that the test calls."""
        if not brackets:
            return True
        return self.text(brackets[0]) == "{" and len(brackets) < 3 and self._runs(*brackets)

    def _runs(self, body: int, group: int = -1) -> bool:
        """Whether the function whose body opens at `body` is called at the top of the test."""
        if body not in self._running:
            self._running[body] = self._is_called(body, group)
        return self._running[body]

    def _is_called(self, body: int, group: int) -> bool:
        closing = self.partner[body]
        if group >= 0:  # (async () => { ... })()
            is_function = self.text(body - 1) in ("=>", ")")
            is_group = self.text(group) == "(" and self.partner[group] == closing + 1
            is_inside = self._texts(closing + 1, 2) == "()" and self.text(group) == "("
            called = self._texts(closing + 1, 2) == ")("
            return is_function and ((is_group and called) or is_inside)
        end = self.tokens[body].start
        named = _NAMED.search(self.source[max(end - _HEAD, 0) : end])
        if named is None:
            return False
        name = named["one"] or named["two"]
        if self._entry_point and name == "check":
            return True
        top = [n for n in range(len(self.tokens)) if self.enclosing[n] < 0]
        return any(
            self.text(n) == name and self.text(n + 1) == "(" and self.text(n - 1) != "function"
            for n in top
        )

    def _is_first_then(self, brackets: list[int], n: int) -> bool:
        """Whether this is in the first callback of a `then` at the top of the test."""
        if not brackets or len(brackets) > 2:
            return False
        outer = brackets[-1]
        if self.text(outer) != "(" or self._texts(outer - 2, 2) != ".then":
            return False
        first, end = self._arguments(outer + 1, self.partner[outer])[0]
        return first <= n < end and (len(brackets) == 1 or self.text(brackets[0]) == "{")

    def _is_guard(self, n: int) -> bool:
        """Whether a throw at `n` fails the test, and is not the work of a callback of its."""
        brackets = self._open_brackets(n)
        while brackets and self.text(brackets[0]) == "{" and self._is_control(brackets[0]):
            brackets = brackets[1:]
        return self._is_straight(brackets)

    def _is_control(self, body: int) -> bool:
        before = self.text(body - 1)
        if before == ")":
            return self.text(self.partner[body - 1] - 1) in (*_CONTROL, "catch")
        return before in ("else", "do", "finally", "{", "}", ";", "")

    # --- expressions -----------------------------------------------------------------------------

    def _cut(self, first: int, end: int, holes: _Holes) -> str:
        """Return an expression with the guest's parts moved to `holes`."""
        is_lazy = any(self.text(n) in _SHORT for n in range(first, end))
        if is_lazy and any(self.text(n) == "await" for n in range(first, end)):
            return holes.add(f"({self._slice(first, end)})")
        cuts = [n for n in self._level(first, end) if self.text(n) in _SEPARATORS]
        parts, start = [], first
        for cut in [*cuts, end]:
            parts.append(self._piece(start, cut, holes) if start < cut else "")
            if cut < end:
                parts.append(f" {self.text(cut)} ")
            start = cut + 1
        return "".join(parts)

    def _piece(self, first: int, end: int, holes: _Holes) -> str:
        """Return one operand; if it cannot be split, the guest computes all of it."""
        if self._is_closed(first, end):
            return self._slice(first, end)
        before = len(holes.sources)
        try:
            return self._split(first, end, holes)
        except _NotUnderstood:
            del holes.sources[before:]
            return holes.add(f"({self._slice(first, end)})")

    def _split(self, first: int, end: int, holes: _Holes) -> str:
        parts, at, n = [], self.tokens[first].start, first
        while n < end:
            token = self.tokens[n]
            if token.text in _REFUSED or token.text in _REFUSED_WORDS or token.kind == "template":
                raise _NotUnderstood
            if token.kind == "word" and not self._is_literal(n):
                stop, resume, is_asked = self._chain(n, end)
                if is_asked:
                    if self._is_called_back(n):
                        raise _NotUnderstood
                    spread = self.text(n - 1) == "..." and self._inside(n) in ("[", "(")
                    text = self._slice(n, stop)
                    value = holes.add(f"[...{text}]" if spread and n > first else text)
                    parts += [self.source[at : token.start], value]
                    at = self.tokens[stop - 1].end
                n = resume
                continue
            n += 1
        return "".join([*parts, self.source[at : self.tokens[end - 1].end]])

    def _is_called_back(self, n: int) -> bool:
        """Whether token `n` is an argument of a method that calls functions: `[2, 1].sort(f)`."""
        opening = self.enclosing[n]
        method = opening - 1 if self.text(opening) == "(" else -1
        return self.text(method) in _CALLING and self.text(method - 1) in (".", "?.")

    def _inside(self, n: int) -> str:
        brackets = self._open_brackets(n)
        return self.text(brackets[0]) if brackets else ""

    def _is_literal(self, n: int) -> bool:
        """Whether a word is no name: a number, a key, what follows a dot, a pattern's flags."""
        text = self.text(n)
        previous = self.text(n - 1)
        if text[0].isdigit() or previous in (".", "?.") or text in ("instanceof", "typeof", "void"):
            return True
        if self.tokens[n - 1].kind == "pattern" and self.tokens[n - 1].end == self.tokens[n].start:
            return True
        if previous in ("{", ",") and self._inside(n) == "{":
            if self.text(n + 1) != ":":
                raise _NotUnderstood
            return True
        return False

    def _chain(self, n: int, end: int) -> tuple[int, int, bool]:
        """Read the chain of names, calls and indexes at `n`. Return the end of the part that the
        guest computes, where to continue, and whether the guest computes anything.

        If a call only compares or computes, its arguments are split instead. Methods of plain data
        stay on the judging side: `f(3).every((x) => x > 0)`. If a class is named, or another method
        follows, the result may be an object with methods.
        """
        first = n
        while self.text(n) in ("new", "await"):
            n += 1
        if n >= end or self.tokens[n].kind != "word" or self.text(n) in _REFUSED_WORDS:
            raise _NotUnderstood
        name_end, call_end, stop = self._links(n, end)
        if stop < end and self.tokens[stop].kind != "mark" and self.text(stop) != "instanceof":
            raise _NotUnderstood
        if self.text(n) in _PURE:
            if self._is_closed(first, stop):
                return stop, stop, False
            if n == first and call_end and _JUDGING.fullmatch(self._slice(n, name_end)):
                return name_end, name_end, False
        if n == first and 0 < call_end < stop and self.text(call_end) == ".":
            methods = [self.text(k + 1) for k in self._level(call_end, stop) if self.text(k) == "."]
            is_data = methods[0] != "length" and all(
                name in _DATA_METHODS or name == "length" for name in methods
            )
            is_class = self.text(n)[0].isupper()
            if is_data and not is_class and self._is_closed(call_end, stop):
                return call_end, stop, True
        return stop, stop, True

    def _links(self, n: int, end: int) -> tuple[int, int, int]:
        """Where a chain's leading names end, its first call (0: it has none), and all of it."""
        names, call, at = 0, 0, n + 1
        while at < end:
            text = self.text(at)
            if text in (".", "?.") and at + 1 < end and self.tokens[at + 1].kind == "word":
                at += 2
            elif text == "?." and at + 1 < end and self.text(at + 1) in ("(", "["):
                at += 1
            elif text in ("(", "["):
                names = names or at
                at = self.partner[at] + 1
                call = call or (at if text == "(" else 0)
            else:
                break
        return names or at, call, at

    def _is_closed(self, first: int, end: int) -> bool:
        """Whether nothing in these tokens can come from a program."""
        own: set[str] = set()
        for n in range(first, end):
            if self.text(n) == "=>":
                own |= self._parameters(n)
        return all(self._is_closed_token(n, own) for n in range(first, end))

    def _parameters(self, arrow: int) -> set[str]:
        if self.text(arrow - 1) != ")":
            return {self.text(arrow - 1)}
        opening = self.partner[arrow - 1]
        return {t.text for t in self.tokens[opening + 1 : arrow - 1] if t.kind == "word"}

    def _is_closed_token(self, n: int, own: set[str]) -> bool:
        token = self.tokens[n]
        text = token.text
        if token.kind != "word":
            return text not in _REFUSED or text == "=>"
        if text in own or text in _OPERATORS:
            return True
        if text[0].isdigit() or self.text(n - 1) in (".", "?."):
            return text not in ("random", "now")
        if self.tokens[n - 1].kind == "pattern" and n > 0:
            return True
        if self.text(n + 1) == ":" and self.text(n - 1) in ("{", ","):
            return True
        if text == "Date":  # without arguments it is the time of day
            is_dated = self.text(n + 1) == "(" and self.text(n + 2) != ")"
            return self.text(n + 1) == "." or (self.text(n - 1) == "new" and is_dated)
        if text == "Symbol":
            return self.text(n + 1) == "."
        return text in _PURE

    # --- tokens ----------------------------------------------------------------------------------

    def _texts(self, n: int, count: int) -> str:
        return "".join(self.text(k) for k in range(n, n + count))

    def _slice(self, first: int, end: int) -> str:
        return self.source[self.tokens[first].start : self.tokens[end - 1].end]


def _values_text(holes: _Holes) -> str:
    return f"$told({', '.join(json.dumps(' '.join(s.split())) for s in holes.sources)})"


def _assert_names(source: str) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """The names that stand for the module `assert`, and those that stand for its functions."""
    modules = {} if _OWN_ASSERT.search(source) else {"assert": "assert"}
    methods: dict[str, tuple[str, str]] = {}
    for match in _BOUND.finditer(source):
        modules[match["name"]] = _path(match)
    for match in _PICKED_ONE.finditer(source):
        if match["method"] in _OPERANDS:
            methods[match["name"]] = (_path(match), match["method"])
    for match in _PICKED.finditer(source):
        for pair in match["names"].split(","):
            inner, _, outer = (part.strip() for part in pair.partition(":"))
            if inner == "strict":
                modules[outer or inner] = "assert.strict"
            elif inner in _OPERANDS and inner:
                methods[outer or inner] = (_path(match), inner)
    return modules, methods


def _path(match: re.Match[str]) -> str:
    return "assert.strict" if match["path"] or match["strict"] else "assert"
