"""Split a Python test: expressions for the guest to compute, comparisons for the host to judge.

`assert f(2) == 4` becomes a call that reports the value of `f(2)`; the 4 stays on the host. A test
whose meaning that would change stays as it is.
"""

from __future__ import annotations

import ast
import copy
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product
from typing import Any

from .forms import (
    BOTH,
    TRUTHS,
    Form,
    Scope,
    assigned,
    bound,
    form_of,
    immutable,
    is_literal,
    is_own,
    loads,
    own_classes,
    own_names,
)
from .prepare import catches, prepared
from .suites import called_methods, called_name
from .tables import MOST_ROWS, rows_of, still_names, targets_of, unpacked
from .values import shown

_MOST_CHARS = 100_000
_MOST_VALUES = 5000  # that the clean instance computes for one program's tests
_PASSES = 6
_CACHED = 256

_Env = dict[str, ast.expr]  # what names stand for: closed expressions
_Values = list["list[ast.expr] | None"]


@dataclass(frozen=True)
class Literal:
    """A value that is a literal in the test."""

    value: Any


@dataclass(frozen=True)
class Closed:
    """A value that the clean instance computes: an index into `Reading.closed`."""

    index: int


@dataclass(frozen=True)
class GuestValue:
    """A value that is computed in the program's instance: its position in the report."""

    position: int


Operand = Literal | Closed | GuestValue


@dataclass(frozen=True)
class Assertion:
    """One `assert` of a test.

    `relations` stand between the operands ("==", ...), or are one of "true", "false", "near <",
    "near <=", "isclose", "approx", "not approx", "same items" and "json" with the operands that
    these take. `rows` holds the operands, one row per execution. `exact` means that a test
    without a failure executes it once per row; otherwise one row serves every execution. `beside`
    means that the program's instance compares values or computes an expected value. `own` means
    that an object of the program's own class compares itself.
    """

    text: str
    relations: tuple[str, ...]
    rows: tuple[tuple[Operand, ...], ...]
    exact: bool
    beside: bool
    note: str = ""
    own: bool = False


@dataclass(frozen=True)
class Test:
    """The source of a test for the guest, and the assertions that it reports, by number."""

    __test__ = False  # a noun of ours, not a test class for pytest to collect

    source: str
    assertions: tuple[Assertion, ...] = ()


@dataclass(frozen=True)
class Reading:
    """The tests of one program, and the closed expressions for the clean instance to compute."""

    tests: tuple[Test, ...]
    closed: tuple[str, ...] = ()


@lru_cache(_CACHED)
def read_tests(
    tests: tuple[str, ...],
    setup: str = "",
    entry_point: str = "",
    refused: frozenset[str] = frozenset(),
) -> Reading:
    """Read the tests of a program; pure. `refused` are closed expressions that give no value."""
    closed: dict[str, int] = {}
    classes = own_classes((setup, *tests))
    read = tuple(_read(text, setup, entry_point, closed, refused, classes) for text in tests)
    return Reading(read, tuple(closed))


def read_calls(expressions: Sequence[str], expected: Sequence[Any]) -> Reading:
    """Return tests that each report an expression's value; the host keeps the expected values."""
    tests = []
    for text, value in zip(expressions, expected, strict=True):
        row = (GuestValue(0), Literal(value))
        message = f"assert {text} == {shown(value)}"
        tests.append(
            Test(f"__judge__(0, {text}\n)", (Assertion(message, ("json",), (row,), True, False),))
        )
    return Reading(tuple(tests))


def _read(
    text: str,
    setup: str,
    entry_point: str,
    closed: dict[str, int],
    refused: frozenset[str],
    classes: frozenset[str],
) -> Test:
    previous = dict(closed)
    try:
        if len(text) + len(setup) > _MOST_CHARS:
            return Test(text)
        before = ast.parse(setup)
        mutable: frozenset[str] | None = None
        for _ in range(_PASSES):
            tree = prepared(text, entry_point)  # the reader changes it
            reader = _Reader(tree, before, entry_point, dict(previous), refused, mutable, classes)
            source = reader.read()
            if not reader.mistaken:
                closed.update(reader.closed)
                return Test(source, tuple(reader.assertions))
            mutable = (reader.candidates if mutable is None else mutable) - reader.mistaken
    # Not Python that this host knows, or nested too deeply for it: the guest may still run it.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return Test(text)


# What binds names in ways that the text does not show.
_REBINDERS = frozenset({"exec", "eval", "globals", "locals", "vars", "__import__"})


# --- reading -------------------------------------------------------------------------------------


class _Reader:
    """Rewrite one test. Statements are read in the order of execution, if that is certain."""

    def __init__(
        self,
        tree: ast.Module,
        before: ast.Module,
        entry_point: str,
        closed: dict[str, int],
        refused: frozenset[str],
        mutable: frozenset[str] | None,
        classes: frozenset[str],
    ) -> None:
        self.assertions: list[Assertion] = []
        self.closed = closed
        self.mistaken: frozenset[str] = frozenset()
        self._tree = tree
        self._entry_point = entry_point
        self._scope = Scope(self._tree, before, entry_point)
        self._refused = refused
        self._mutable = mutable  # names that may stand for lists and the like; None: all
        deleted = [  # names that `del` needs to be there
            node.id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)
        ]
        self._loads = Counter([*loads(self._tree), *loads(before), *deleted])
        self._hidden: Counter[str] = Counter()  # loads that the guest never sees
        self._trusted: set[str] = set()  # names whose mutable value was relied upon
        self._assigned: list[tuple[list[ast.stmt], Any, str]] = []  # the second has a `value`
        self._loops: list[_Loop] = []
        self._still = still_names(self._tree)
        self._prints: list[tuple[list[ast.stmt], ast.stmt]] = []
        self._classes = classes - (self._scope.bound - Counter(_from_program(self._tree))).keys()
        self._own = own_names(self._tree, self._classes)
        self._approximate = {"__approx__"} | {
            name for name, value in assigned(self._tree) if "__approx__" in loads(value)
        }
        self._outer = {
            name
            for node in ast.walk(self._tree)
            if isinstance(node, (ast.Global, ast.Nonlocal))
            for name in node.names
        }
        self._certain = not _REBINDERS & self._loads.keys() and not self._scope.starred
        self._catching = catches(self._tree)
        self._called = _called_once(self._tree, entry_point)
        self.candidates = frozenset(self._loads)

    def read(self) -> str:
        body = self._tree.body
        self._block(body, [{}], exact=True)
        self._drop()
        return ast.unparse(ast.fix_missing_locations(self._tree))

    # --- statements

    def _block(self, body: list[ast.stmt], envs: list[_Env], exact: bool) -> None:
        """Rewrite statements in place; `envs` has an entry for each time that they run."""
        for index, node in enumerate(list(body)):
            _forget(envs, {w.target.id for w in ast.walk(node) if isinstance(w, ast.NamedExpr)})
            if isinstance(node, ast.Assert):
                if hasattr(node, "text"):  # else it is in a place that may expect it to fail
                    body[index] = self._assertion(node, envs, exact)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and _single_target(node):
                self._assign(body, node, envs)
            elif isinstance(node, ast.For):
                self._for(node, envs, exact)
            elif self._certain and _is_print(node) and not self._scope.bound["print"]:
                self._prints.append((body, node))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                _forget(envs, {node.name})
                self._function(node, envs)
            else:
                self._other(node, envs)
            exact = exact and not _may_leave(node)

    def _assign(self, body: list[ast.stmt], node: Any, envs: list[_Env]) -> None:
        name = _single_target(node)
        values = [self._close(node.value, env) for env in envs]
        if None not in values:
            for env in envs:
                self._trust(node.value, env)
        _forget(envs, {name})
        if None in values or name in self._outer or not self._certain:
            return
        for env, value in zip(envs, values, strict=True):
            if value is not None:
                env[name] = value
        self._assigned.append((body, node, name))

    def _for(self, node: ast.For, envs: list[_Env], exact: bool) -> None:
        changed = set(bound(node))
        _forget(envs, changed)
        table = None if _may_leave(node) or node.orelse else self._table(node, envs)
        if table is None or not exact:
            self._other(node, envs)
            return
        rows = [{**env, **row} for env, row in product(envs, table.rows)]
        self._loops.append(table)
        self._block(node.body, rows, exact=True)
        _forget(envs, changed)

    def _other(self, node: ast.stmt, envs: list[_Env]) -> None:
        """A statement that runs its parts any number of times, if it has any."""
        changed = set(bound(node))
        _forget(envs, changed)
        inner = {} if isinstance(node, ast.ClassDef) else _common(envs)
        for field in ("body", "orelse", "finalbody"):
            part = getattr(node, field, None)
            if isinstance(part, list) and not isinstance(node, ast.Try):
                self._block(part, [dict(inner)], exact=False)
        _forget(envs, changed)

    def _function(self, node: Any, envs: list[_Env]) -> None:
        called = node.name in self._called
        if self._catching and not called:
            return
        env: _Env = {}
        if called:
            outer = _common(envs)
            count = self._scope.bound
            env = {name: value for name, value in outer.items() if count[name] == 1}
            _forget([env], set(bound(node)))
        straight = called and not _has_yield(node)
        self._block(node.body, [env], exact=straight)

    # --- tables

    def _table(self, node: ast.For, envs: list[_Env]) -> _Loop | None:
        """The rows of a loop over something that the test spells out."""
        used = [name for name in loads(node.iter) if name in envs[0]]
        if len(envs) > 1 and used:
            return None
        source = self._scope.close(node.iter, {name: envs[0][name] for name in used})
        lengths = _lengths(node.iter)
        if any(
            not immutable(envs[0][name]) and name not in self._still for name in lengths & {*used}
        ):
            return None
        rows = source and rows_of(source, self._scope)
        targets = targets_of(node.target)
        if not rows or targets is None or len(rows) * len(envs) > MOST_ROWS:
            return None
        # Nobody else can have changed a table that is read in this place alone.
        if not all(map(immutable, rows)) and any(self._loads[name] != 1 for name in used):
            return None
        pieces = [unpacked(node.target, row) for row in rows]
        if any(piece is None for piece in pieces) or self._outer & set(targets):
            return None
        table_rows = [dict(zip(targets, piece or [], strict=True)) for piece in pieces]
        loop = _Loop(node, targets, table_rows, used, counted=bool(lengths))
        if lengths:
            self._hidden.update(used)
        return loop

    # --- what the guest need not see

    def _drop(self) -> None:
        """Remove from the guest's source everything that only the host uses."""
        hidden = Counter(self._hidden)
        if not _CAPTURES & self._loads.keys():
            hidden.update(chain.from_iterable(loads(node) for _, node in self._prints))
        removed: set[str] = set()
        while True:
            more = {n for n in self._loads if n not in removed and self._is_unused(n, hidden)}
            if not more:
                break
            removed |= more
            for _, node, name in self._assigned:
                if name in more:
                    hidden.update(loads(node.value))
            for loop in self._loops:
                if not loop.counted and removed & set(loop.targets):
                    loop.counted = True
                    hidden.update(loop.used)
        self.mistaken = frozenset(self._trusted - removed)
        for body, node, name in self._assigned:
            if name in removed:
                body[body.index(node)] = ast.Pass()
        for body, node in self._prints:
            if removed & set(loads(node)):
                body[body.index(node)] = ast.Pass()
        for loop in self._loops:
            if loop.counted:
                loop.strip(removed)

    def _is_unused(self, name: str, hidden: Counter[str]) -> bool:
        """Whether nothing that the guest runs reads the name."""
        named = {n for _, _, n in self._assigned} | {n for p in self._loops for n in p.targets}
        return name in named and 0 < hidden[name] == self._loads[name]

    # --- expressions

    def _close(self, node: ast.expr, env: _Env) -> ast.expr | None:
        """Substitute the names of an expression; None if it then depends on anything else."""
        values = {}
        for name in set(loads(node)):
            value = env.get(name)
            if value is not None and self._mutable is not None and name not in self._mutable:
                value = value if immutable(value) else None
            if value is not None:
                values[name] = value
        return self._scope.close(node, values)

    def _closed_values(self, node: ast.expr, envs: list[_Env]) -> list[ast.expr] | None:
        values = [self._close(node, env) for env in envs]
        if any(value is None for value in values):
            return None
        closed = [value for value in values if value is not None]
        if any(not is_literal(v) and self._scope.source(v) in self._refused for v in closed):
            return None
        return closed

    def _assertion(self, node: ast.Assert, envs: list[_Env], exact: bool) -> ast.stmt:
        envs = envs if exact else [_common(envs)]
        form = form_of(node.test, self._scope, lambda part: is_own(part, self._own, self._classes))
        host_values = self._host_values(form, envs)
        if host_values is None:
            form, host_values = Form(("true",), [node.test]), [None]
        guest_parts = [
            part for part, value in zip(form.operands, host_values, strict=True) if value is None
        ]
        self._hide(form, host_values, envs)
        note, text = node.note, node.text  # type: ignore[attr-defined]  # see `prepared`
        beside = len(guest_parts) > 1 or (form.relations in TRUTHS and _compares(form.operands[0]))
        rows = self._operands(host_values, len(envs))
        assertion = Assertion(text, form.relations, rows, exact, beside, note, form.own)
        self.assertions.append(assertion)
        return ast.Expr(_report(len(self.assertions) - 1, form, host_values, guest_parts))

    def _host_values(self, form: Form, envs: list[_Env]) -> _Values | None:
        """Return each operand's values, one per row, None for an operand that the guest computes.

        Return None if the guest can only compute the truth value of the whole assertion.
        """
        if form.own:
            return [None for _ in form.operands]
        host_values = [self._closed_values(part, envs) for part in form.operands]
        if form.relations[0] in ("is", "is not") and not any(map(_singletons, host_values)):
            return None
        if form.relations == ("same items",) and not any(host_values):
            return None
        if self._approximate & set(chain.from_iterable(map(loads, form.operands))):
            return None
        if all(values is not None for values in host_values):
            # What is called here may be the program's own, with the name of one of Python's, and
            # a name that stands for a literal may be a global that the program changes.
            spelled = [bool(v) and all(map(is_literal, v)) for v in host_values if v is not None]
            if all(spelled):
                spelled = list(map(is_literal, form.operands))
            host_values = [
                v if plain else None for v, plain in zip(host_values, spelled, strict=True)
            ]
        if len(form.relations) > 1 and host_values.count(None) > 1:
            return None
        return host_values

    def _hide(self, form: Form, host_values: _Values, envs: list[_Env]) -> None:
        for part, value in zip(form.operands, host_values, strict=True):
            if value is None:
                continue
            self._hidden.update(loads(part))
            for env in envs:
                self._trust(part, env)

    def _trust(self, node: ast.expr, env: _Env) -> None:
        """Note the names whose value may not change, if the expression is to keep its own."""
        for name in set(loads(node)) & env.keys():
            if not immutable(env[name]):
                self._trusted.add(name)

    def _operands(self, host_values: _Values, count: int) -> tuple[tuple[Operand, ...], ...]:
        columns: list[list[Operand]] = []
        guest_values = 0
        for values in host_values:
            if values is None:
                columns.append([GuestValue(guest_values)] * count)
                guest_values += 1
            else:
                columns.append([self._operand(value) for value in values])
        return tuple(zip(*columns, strict=True))

    def _operand(self, node: ast.expr) -> Operand:
        if is_literal(node):
            return Literal(ast.literal_eval(node))
        if len(self.closed) >= _MOST_VALUES:
            raise ValueError("too many values to compute")
        return Closed(self.closed.setdefault(self._scope.source(node), len(self.closed)))


@dataclass(eq=False)
class _Loop:
    """A loop over a literal table: the names that it binds, and their values per row."""

    node: ast.For
    targets: list[str]
    rows: list[_Env]
    used: list[str]  # the names that its table is made of
    counted: bool = False

    def strip(self, removed: set[str]) -> None:
        """Leave only the columns that the guest needs."""
        columns = [name for name in self.targets if name not in removed] or ["__row__"]
        table: list[ast.Tuple] = []
        for row in self.rows:
            cells = [copy.deepcopy(row.get(name, ast.Constant(0))) for name in columns]
            table.append(ast.Tuple(cells, ast.Load()))
        stored: list[ast.expr] = [ast.Name(name, ast.Store()) for name in columns]
        single = len(columns) == 1
        self.node.target = stored[0] if single else ast.Tuple(stored, ast.Store())
        self.node.iter = ast.List([row.elts[0] if single else row for row in table], ast.Load())


def _singletons(values: list[ast.expr] | None) -> bool:
    """Whether the values are constants that `is` compares the same everywhere."""
    return values is not None and all(
        isinstance(node, ast.Constant) and any(node.value is single for single in _SINGLE)
        for node in values
    )


_SINGLE = (None, True, False, ...)


def _compares(node: ast.expr) -> bool:
    return any(isinstance(part, (ast.Compare, ast.BoolOp)) for part in ast.walk(node))


def _report(number: int, form: Form, host_values: _Values, guest_parts: list[ast.expr]) -> ast.expr:
    """Return the call that reports the values of `guest_parts`."""
    values = list(guest_parts)
    if form.relations[-1] in ("in", "not in") and host_values[-1] is None and not form.own:
        values[-1] = _call("__listed__", [values[-1]])
    if form.relations in TRUTHS:
        return _call("__truth__" if values else "__judge__", [ast.Constant(number), *values])
    if len(values) == 2 and form.relations[0] in BOTH:
        relation = ast.Constant(form.relations[0])
        return _call("__both__", [ast.Constant(number), relation, *values])
    return _call("__judge__", [ast.Constant(number), *values])


def _call(name: str, args: Sequence[ast.expr]) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _lengths(node: ast.expr) -> set[str]:
    """The names of which a loop over `range(len(name))` reads the length."""
    match node:
        case ast.Call(ast.Name("range")):
            return set(loads(node))
    return set()


def _is_print(node: ast.stmt) -> bool:
    """Whether it is a `print` of nothing but names and constants, as in f"{got} {want}"."""
    match node:
        case ast.Expr(ast.Call(ast.Name("print"), arguments)):
            parts = (part for argument in arguments for part in ast.walk(argument))
            return all(isinstance(part, _PRINTED) for part in parts)
    return False


_PRINTED = (ast.Name, ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.expr_context)
_CAPTURES = frozenset({"redirect_stdout", "contextlib", "io", "StringIO", "sys", "patch", "mock"})


# --- names ---------------------------------------------------------------------------------------


def _from_program(tree: ast.AST) -> Iterator[str]:
    """The names that the test imports from no module of Python's: they are the program's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module not in sys.stdlib_module_names:
            yield from (alias.name for alias in node.names if not alias.asname)


def _single_target(node: ast.AST) -> str:
    match node:
        case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name), _, ast.expr()):
            return name
    return ""


def _forget(envs: list[_Env], names: set[str]) -> None:
    for env in envs:
        for name in names & env.keys():
            del env[name]


def _common(envs: list[_Env]) -> _Env:
    """Return the entries that all environments share."""
    first, *others = envs
    return {
        name: value
        for name, value in first.items()
        if all(name in env and ast.dump(env[name]) == ast.dump(value) for env in others)
    }


def _may_leave(node: ast.AST) -> bool:
    """Whether what follows the statement may be skipped without an error."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
        return True
    parts = (part for part in ast.iter_child_nodes(node) if isinstance(part, _STATEMENTS))
    return any(map(_may_leave, parts))


_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def _has_yield(node: ast.AST) -> bool:
    return any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(node))


def _called_once(tree: ast.Module, entry_point: str) -> set[str]:
    """Functions of the test that surely run once: `check`, and those called with no arguments."""
    functions = Counter(
        node.name
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.decorator_list
    )
    calls = Counter(loads(tree))
    for node in (part for part in tree.body if isinstance(part, ast.ClassDef)):
        functions.update(part.name for part in node.body if isinstance(part, ast.FunctionDef))
    straight = {name for name in map(called_name, tree.body) if name} | {*called_methods(tree)}
    once = {name for name in straight if functions[name] == 1 and calls[name] <= 1}
    if entry_point and functions["check"] == 1 and not calls["check"]:
        once.add("check")
    count = Counter(bound(tree))
    return {name for name in once if count[name] == 1}
