"""Reads the Python source of a test: what of it the guest is to compute, what the host judges.

`assert f(2) == 4` becomes a call that reports the value of `f(2)`; the 4 stays here. Where that
would change what a test means, the test is left as it is.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product
from typing import Any

from .python_closed import Scope, bound, immutable, is_literal, literal_of, loads

_MOST_CHARS = 100_000
_MOST_ROWS = 1000  # of a table that a test loops over, and occurrences of one assertion
_MOST_VALUES = 5000  # that the clean instance computes for one program's tests
_PASSES = 6
_TEXT_CHARS = 300
_CACHED = 256

_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_NEGATED = {"==": "!=", "is": "is not", "in": "not in", "approx": "not approx"}
_NEGATED |= {negation: relation for relation, negation in _NEGATED.items()}
_Env = dict[str, ast.expr]  # what names stand for: closed expressions
_Values = list["list[ast.expr] | None"]


@dataclass(frozen=True)
class Literal:
    """A value that the test spells out."""

    value: Any


@dataclass(frozen=True)
class Closed:
    """A value that the clean instance computes: an index into `Reading.closed`."""

    index: int


@dataclass(frozen=True)
class Asked:
    """A value that is computed beside the program: its position in the report."""

    position: int


Operand = Literal | Closed | Asked


@dataclass(frozen=True)
class Assertion:
    """One `assert` of a test.

    `relations` stand between the operands ("==", ...), or are one of "true", "false", "near <",
    "near <=", "isclose", "approx" and "not approx" with the operands that these take. `rows` holds
    the operands of each time that it is reached. `exact` means that a test that ends well has
    reached it so many times; without it there is one row, for any number of times. `beside` means
    that values are compared, or that what is expected is computed, beside the program.
    """

    text: str
    relations: tuple[str, ...]
    rows: tuple[tuple[Operand, ...], ...]
    exact: bool
    beside: bool
    note: str = ""


@dataclass(frozen=True)
class Test:
    """A test as the guest is given it, and the assertions that it reports, by their numbers."""

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
    read = tuple(_read(text, setup, entry_point, closed, refused) for text in tests)
    return Reading(read, tuple(closed))


def _read(
    text: str, setup: str, entry_point: str, closed: dict[str, int], refused: frozenset[str]
) -> Test:
    known = dict(closed)
    try:
        if len(text) + len(setup) > _MOST_CHARS:
            return Test(text)
        tree, before = _prepared(text), ast.parse(setup)
        mutable: frozenset[str] | None = None
        for _ in range(_PASSES):
            reader = _Reader(tree, before, entry_point, dict(known), refused, mutable)
            source = reader.read()
            if not reader.mistaken:
                closed.update(reader.closed)
                return Test(source, tuple(reader.assertions))
            mutable = (reader.candidates if mutable is None else mutable) - reader.mistaken
    # Not Python that this host knows, or nested too deeply for it: the guest may still run it.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return Test(text)


# --- before reading: messages, `all`, `and`, pytest -------------------------------------------


def _prepared(text: str) -> ast.Module:
    tree = ast.parse(text)
    _Prepare(tree).visit(tree)
    return ast.fix_missing_locations(tree)


class _Prepare(ast.NodeTransformer):
    """Writes assertions in fewer ways, without a change of meaning.

    Messages go, since they may hold what is expected; the assertion remembers them as `note`.
    pytest's `raises` and `approx` get names of ours.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._modules: set[str] = set()
        self._names: dict[str, str] = {}
        for node in ast.walk(tree):
            for alias in getattr(node, "names", []) if _is_pytest(node) else []:
                if isinstance(node, ast.Import):
                    self._modules.add(alias.asname or alias.name)
                elif alias.name in ("raises", "approx"):
                    self._names[alias.asname or alias.name] = f"__{alias.name}__"
        self._fresh = 0

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self.generic_visit(node)
        if not self._modules & set(loads(node)):
            node.body = [part for part in node.body if not _is_pytest(part)] or [ast.Pass()]
        return node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        return node  # its assertions stay as they are: it may expect them to fail

    visit_TryStar = visit_Try  # noqa: N815 - the name that the base class looks for

    def visit_With(self, node: ast.With) -> ast.With:
        for item in node.items:
            item.context_expr = self.visit(item.context_expr)
        if not any(word in ast.unparse(item) for item in node.items for word in _CATCHERS):
            self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        of = node.value.id if isinstance(node.value, ast.Name) else ""
        if of in self._modules and node.attr in ("raises", "approx"):
            return ast.Name(f"__{node.attr}__", node.ctx)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt | list[ast.stmt]:
        text, note = _cut(ast.unparse(ast.Assert(node.test))), ""
        self.generic_visit(node)
        if isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str):
            note = _cut(node.msg.value)
        return [self._one(test, text, note) for test in _conjuncts(node.test)]

    def _one(self, test: ast.expr, text: str, note: str) -> ast.stmt:
        loop = self._loop(test)
        made = ast.Assert(test)
        made.text, made.note = text, note  # type: ignore[attr-defined]
        if loop is None:
            return made
        made.test, target, table = loop
        return ast.For(target, table, [made], [])

    def _loop(self, test: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr] | None:
        """`all(E for T in I)` as E, T and I, with names of its own in E and T."""
        if not (
            isinstance(test, ast.Call)
            and isinstance(test.func, ast.Name)
            and test.func.id == "all"
            and len(test.args) == 1
            and isinstance(test.args[0], (ast.GeneratorExp, ast.ListComp))
        ):
            return None
        made = test.args[0]
        (part, *others) = made.generators
        if others or part.ifs or part.is_async or _binds(made.elt):
            return None
        self._fresh += 1
        names = {name: f"__all{self._fresh}_{name}" for name in bound(part.target)}
        if _binds(part.iter) or any(isinstance(n, ast.Await) for n in ast.walk(made)):
            return None
        rename = _Rename(names)
        return rename.visit(made.elt), rename.visit(part.target), part.iter


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)


def _binds(node: ast.AST) -> bool:
    """Whether an expression binds names of its own."""
    kinds = (ast.comprehension, ast.Lambda, ast.NamedExpr)
    return any(isinstance(part, kinds) for part in ast.walk(node))


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _conjuncts(value)
    else:
        yield test


def _is_pytest(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names] == ["pytest"]
    return isinstance(node, ast.ImportFrom) and node.module == "pytest"


# Blocks that may expect an assertion in them to fail.
_CATCHERS = ("raises", "suppress", "assertRaises")


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}..."


# What binds names in ways that the text does not show.
_REBINDERS = frozenset({"exec", "eval", "globals", "locals", "vars", "__import__"})


# --- reading -------------------------------------------------------------------------------------


class _Reader:
    """Rewrites one test. Reads it in the order in which it runs, as far as that is certain."""

    def __init__(
        self,
        tree: ast.Module,
        before: ast.Module,
        entry_point: str,
        closed: dict[str, int],
        refused: frozenset[str],
        mutable: frozenset[str] | None,
    ) -> None:
        self.assertions: list[Assertion] = []
        self.closed = closed
        self.mistaken: frozenset[str] = frozenset()
        self._tree = copy.deepcopy(tree)
        self._entry_point = entry_point
        self._scope = Scope(self._tree, before, entry_point)
        self._refused = refused
        self._mutable = mutable  # names that may stand for lists and the like; None: all
        self._loads = Counter(loads(self._tree))
        self._hidden: Counter[str] = Counter()  # loads that the guest never sees
        self._trusted: set[str] = set()  # names whose mutable value was relied upon
        self._assigned: list[tuple[list[ast.stmt], ast.stmt, str]] = []
        self._loops: list[_Loop] = []
        self._own = _own_names(self._tree)
        self._outer = {
            name
            for node in ast.walk(self._tree)
            if isinstance(node, (ast.Global, ast.Nonlocal))
            for name in node.names
        }
        self._certain = not _REBINDERS & self._loads.keys() and not self._scope.starred
        self._catching = any(isinstance(node, ast.Try) for node in ast.walk(self._tree))
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
        for place, node in enumerate(list(body)):
            _forget(envs, {w.target.id for w in ast.walk(node) if isinstance(w, ast.NamedExpr)})
            if isinstance(node, ast.Assert):
                if hasattr(node, "text"):  # else it is in a place that may expect it to fail
                    body[place] = self._assertion(node, envs, exact)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and _single_target(node):
                self._assign(body, node, envs)
            elif isinstance(node, ast.For):
                self._for(node, envs, exact)
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
        changed = _stored(node)
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
        changed = _stored(node)
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
            _forget([env], _stored(node))
        straight = called and not _has_yield(node)
        self._block(node.body, [env], exact=straight)

    # --- tables

    def _table(self, node: ast.For, envs: list[_Env]) -> _Loop | None:
        """The rows of a loop over something that the test spells out."""
        used = [name for name in loads(node.iter) if name in envs[0]]
        if len(envs) > 1 and used:
            return None
        source = self._scope.close(node.iter, {name: envs[0][name] for name in used})
        rows = source and _rows(source, self._scope)
        targets = _targets(node.target)
        if not rows or targets is None or len(rows) * len(envs) > _MOST_ROWS:
            return None
        # Nobody else can have changed a table that is read in this place alone.
        if not all(map(immutable, rows)) and any(self._loads[name] != 1 for name in used):
            return None
        pieces = [_unpacked(node.target, row) for row in rows]
        if any(piece is None for piece in pieces) or self._outer & set(targets):
            return None
        made = [dict(zip(targets, piece or [], strict=True)) for piece in pieces]
        return _Loop(node, targets, made, used)

    # --- what the guest need not see

    def _drop(self) -> None:
        """Take out of the guest's text what only the host uses."""
        hidden = Counter(self._hidden)
        gone: set[str] = set()
        while True:
            more = {name for name in self._loads if name not in gone and self._gone(name, hidden)}
            if not more:
                break
            gone |= more
            for _, node, name in self._assigned:
                if name in more:
                    hidden.update(loads(node.value))  # type: ignore[attr-defined]
            for loop in self._loops:
                if not loop.counted and gone & set(loop.targets):
                    loop.counted = True
                    hidden.update(loop.used)
        self.mistaken = frozenset(self._trusted - gone)
        for body, node, name in self._assigned:
            if name in gone:
                body[body.index(node)] = ast.Pass()
        for loop in self._loops:
            if loop.counted:
                loop.strip(gone)

    def _gone(self, name: str, hidden: Counter[str]) -> bool:
        """Whether nothing that the guest runs reads the name."""
        named = {n for _, _, n in self._assigned} | {n for p in self._loops for n in p.targets}
        return name in named and 0 < hidden[name] == self._loads[name]

    # --- expressions

    def _close(self, node: ast.expr, env: _Env) -> ast.expr | None:
        """The expression with what its names stand for, if it depends on nothing else."""
        usable = {}
        for name in set(loads(node)):
            value = env.get(name)
            if value is not None and self._mutable is not None and name not in self._mutable:
                value = value if immutable(value) else None
            if value is not None:
                usable[name] = value
        return self._scope.close(node, usable)

    def _known(self, node: ast.expr, envs: list[_Env]) -> list[ast.expr] | None:
        known = [self._close(node, env) for env in envs]
        if any(value is None for value in known):
            return None
        found = [value for value in known if value is not None]
        if any(not is_literal(v) and self._key(v) in self._refused for v in found):
            return None
        return found

    def _key(self, node: ast.expr) -> str:
        return self._scope.source(node)

    def _assertion(self, node: ast.Assert, envs: list[_Env], exact: bool) -> ast.stmt:
        envs = envs if exact else [_common(envs)]
        form = _form(node.test, self._scope, self._own)
        known = self._host_values(form, envs)
        if known is None:
            form, known = _Form(("true",), [node.test]), [None]
        asked = [part for part, value in zip(form.operands, known, strict=True) if value is None]
        self._hide(form, known, envs)
        note, text = node.note, node.text  # type: ignore[attr-defined]
        beside = len(asked) > 1 or (form.relations in _TRUTHS and _compares(form.operands[0]))
        rows = self._operands(known, len(envs))
        self.assertions.append(Assertion(text, form.relations, rows, exact, beside, note))
        return ast.Expr(_report(len(self.assertions) - 1, form, known, asked))

    def _host_values(self, form: _Form, envs: list[_Env]) -> _Values | None:
        """For each operand what it is known to be, each time, and None where the guest is asked.

        None for all of it when only its truth as a whole can be asked.
        """
        known = [self._known(part, envs) for part in form.operands]
        if form.relations[0] in ("is", "is not") and not any(map(_singletons, known)):
            return None
        if "__approx__" in chain.from_iterable(map(loads, form.operands)):
            return None
        if all(values is not None for values in known):
            # What is called here may be the program's own, with the name of one of Python's.
            known = [v if v and all(map(is_literal, v)) else None for v in known]
        if len(form.relations) > 1 and known.count(None) > 1:
            return None
        return known

    def _hide(self, form: _Form, known: _Values, envs: list[_Env]) -> None:
        for part, value in zip(form.operands, known, strict=True):
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

    def _operands(self, known: _Values, count: int) -> tuple[tuple[Operand, ...], ...]:
        columns: list[list[Operand]] = []
        asked = 0
        for values in known:
            if values is None:
                columns.append([Asked(asked)] * count)
                asked += 1
            else:
                columns.append([self._operand(value) for value in values])
        return tuple(zip(*columns, strict=True))

    def _operand(self, node: ast.expr) -> Operand:
        if is_literal(node):
            return Literal(ast.literal_eval(node))
        if len(self.closed) >= _MOST_VALUES:
            raise ValueError("too many values to compute")
        return Closed(self.closed.setdefault(self._key(node), len(self.closed)))


@dataclass(eq=False)
class _Loop:
    """A loop over a table that the test spells out: the names it binds, and to what."""

    node: ast.For
    targets: list[str]
    rows: list[_Env]
    used: list[str]  # the names that its table is made of
    counted: bool = False

    def strip(self, gone: set[str]) -> None:
        """Leave only the columns that the guest needs."""
        kept = [name for name in self.targets if name not in gone] or ["__row__"]
        table: list[ast.Tuple] = []
        for row in self.rows:
            cells = [copy.deepcopy(row.get(name, ast.Constant(0))) for name in kept]
            table.append(ast.Tuple(cells, ast.Load()))
        stored: list[ast.expr] = [ast.Name(name, ast.Store()) for name in kept]
        single = len(kept) == 1
        self.node.target = stored[0] if single else ast.Tuple(stored, ast.Store())
        self.node.iter = ast.List([row.elts[0] if single else row for row in table], ast.Load())


_ORDERS = frozenset({"==", "!=", "<", "<=", ">", ">="})


@dataclass(frozen=True)
class _Form:
    """An assertion as relations between expressions."""

    relations: tuple[str, ...]
    operands: list[ast.expr]


def _form(test: ast.expr, scope: Scope, own: set[str]) -> _Form:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _form(test.operand, scope, own)
        if inner.relations == ("true",):
            return _Form(("false",), inner.operands)
        if len(inner.relations) == 1 and inner.relations[0] in _NEGATED:
            return _Form((_NEGATED[inner.relations[0]],), inner.operands)
        return _Form(("false",), [test.operand])
    close = _isclose(test, scope)
    if close is not None:
        return close
    if isinstance(test, ast.BoolOp):
        test = _membership(test) or test
    if not isinstance(test, ast.Compare):
        return _Form(("true",), [test])
    operands = [test.left, *test.comparators]
    if any(isinstance(part, ast.Name) and part.id in own for part in operands):
        return _Form(("true",), [test])
    relations = tuple(_RELATIONS[type(op)] for op in test.ops)
    if len(operands) == 2:
        near = _near(operands, relations[0], scope) or _approx(operands, relations[0])
        if near is not None:
            return near
    elif not _ORDERS.issuperset(relations):
        return _Form(("true",), [test])
    return _Form(relations, operands)


def _near(operands: list[ast.expr], relation: str, scope: Scope) -> _Form | None:
    """`abs(A - B) < tolerance`."""
    call, tolerance = operands
    if relation in (">", ">="):
        call, tolerance, relation = tolerance, call, relation.replace(">", "<")
    if not (isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords):
        return None
    inside = call.args[0]
    if relation not in ("<", "<=") or not (
        isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Sub)
    ):
        return None
    if not scope.means(call.func, "abs", "math.fabs"):
        return None
    return _Form((f"near {relation}",), [inside.left, inside.right, tolerance])


def _isclose(test: ast.expr, scope: Scope) -> _Form | None:
    """`math.isclose(A, B, rel_tol=..., abs_tol=...)`."""
    if not (isinstance(test, ast.Call) and scope.means(test.func, "math.isclose")):
        return None
    options = {word.arg: word.value for word in test.keywords}
    if len(test.args) != 2 or not options.keys() <= {"rel_tol", "abs_tol"}:
        return None
    tolerances = [
        options.get("rel_tol", ast.Constant(1e-09)),
        options.get("abs_tol", ast.Constant(0.0)),
    ]
    return _Form(("isclose",), [*test.args, *tolerances])


def _approx(operands: list[ast.expr], relation: str) -> _Form | None:
    """`A == pytest.approx(B, rel=..., abs=...)`."""
    actual, call = operands
    if isinstance(actual, ast.Call) and _is_approx(actual):
        actual, call = call, actual
    if relation not in _APPROX or not (isinstance(call, ast.Call) and _is_approx(call)):
        return None
    options = {word.arg: word.value for word in call.keywords}
    given = [*call.args[1:]]
    for name in ("rel", "abs")[len(given) :]:
        given.append(options.pop(name, ast.Constant(None)))
    if options or len(given) != 2 or not call.args:
        return None
    return _Form((_APPROX[relation],), [actual, call.args[0], *given])


_APPROX = {"==": "approx", "!=": "not approx"}


def _is_approx(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "__approx__"


def _membership(test: ast.BoolOp) -> ast.Compare | None:
    """`x == 1 or x == 2` as `x in (1, 2)`, for a name x."""
    options: list[ast.expr] = []
    names = set()
    for part in test.values:
        if not (
            isinstance(part, ast.Compare)
            and [type(op) for op in part.ops] == [ast.Eq]
            and isinstance(part.left, ast.Name)
        ):
            return None
        names.add(part.left.id)
        options.append(part.comparators[0])
    if len(names) != 1 or not isinstance(test.op, ast.Or):
        return None
    box = ast.Tuple(options, ast.Load())
    return ast.Compare(ast.Name(names.pop(), ast.Load()), [ast.In()], [box])


def _singletons(values: list[ast.expr] | None) -> bool:
    """Whether the values are constants that `is` compares the same everywhere."""
    return values is not None and all(
        isinstance(node, ast.Constant) and any(node.value is single for single in _SINGLE)
        for node in values
    )


_SINGLE = (None, True, False, ...)
_TRUTHS = (("true",), ("false",))


def _compares(node: ast.expr) -> bool:
    return any(isinstance(part, (ast.Compare, ast.BoolOp)) for part in ast.walk(node))


def _report(number: int, form: _Form, known: _Values, asked: list[ast.expr]) -> ast.expr:
    """The call that reports the values that are asked."""
    values = list(asked)
    if form.relations[-1] in ("in", "not in") and known[-1] is None:
        values[-1] = _call("__listed__", [values[-1]])
    if form.relations in _TRUTHS:
        return _call("__truth__" if values else "__judge__", [ast.Constant(number), *values])
    if len(values) == 2 and form.relations[0] in _BOTH:
        relation = ast.Constant(form.relations[0])
        return _call("__both__", [ast.Constant(number), relation, *values])
    return _call("__judge__", [ast.Constant(number), *values])


_BOTH = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")


def _call(name: str, args: Sequence[ast.expr]) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


# --- names ---------------------------------------------------------------------------------------


def _stored(node: ast.AST) -> set[str]:
    """The names that a statement binds, in any of its parts."""
    return set(bound(node))


def _single_target(node: ast.AST) -> str:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    only = targets[0] if len(targets) == 1 else None
    return only.id if isinstance(only, ast.Name) else ""


def _forget(envs: list[_Env], names: set[str]) -> None:
    for env in envs:
        for name in names & env.keys():
            del env[name]


def _common(envs: list[_Env]) -> _Env:
    """What holds in all of them."""
    first, *others = envs
    return {
        name: value
        for name, value in first.items()
        if all(name in env and ast.dump(env[name]) == ast.dump(value) for env in others)
    }


def _may_leave(node: ast.stmt) -> bool:
    """Whether what follows the statement may be skipped without an error."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
        return True
    return any(
        _may_leave(part) if isinstance(part, ast.stmt) else _parts_may_leave(part)
        for part in ast.iter_child_nodes(node)
    )


def _parts_may_leave(node: ast.AST) -> bool:
    """The same for what is neither statement nor expression: handlers and cases."""
    if isinstance(node, (ast.ExceptHandler, ast.match_case)):
        return any(_may_leave(part) for part in node.body)
    return False


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
    straight = {name for name in map(_called_name, tree.body) if name}
    once = {name for name in straight if functions[name] == 1 and calls[name] == 1}
    if entry_point and functions["check"] == 1 and not calls["check"]:
        once.add("check")
    count = Counter(bound(tree))
    return {name for name in once if count[name] == 1}


def _called_name(node: ast.stmt) -> str:
    """f, of the statements `f()` and `asyncio.run(f())`."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.keywords:
        return ""
    if ast.unparse(call.func) == "asyncio.run" and len(call.args) == 1:
        call = call.args[0]
    if isinstance(call, ast.Call) and not call.args and isinstance(call.func, ast.Name):
        return call.func.id
    return ""


def _own_names(tree: ast.Module) -> set[str]:
    """Names of objects whose class is the program's: `p = Point(1, 2)`, if it is then used as one.

    The second is asked for since functions may have capital letters, too.
    """
    made: dict[str, str] = {}
    for node in ast.walk(tree):
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            made[_single_target(node)] = value.func.id
    used = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr not in _PLAIN_ATTRIBUTES
    }
    classes = {name for name, kind in made.items() if kind[:1].isupper() and name in used}
    return {name for name, kind in made.items() if kind == "__approx__"} | classes - {""}


_PLAIN = (list, str, dict, set, tuple, int, float, complex, bytes, range, Counter, OrderedDict)
_PLAIN_ATTRIBUTES = frozenset(name for kind in (*_PLAIN, deque) for name in dir(kind))


# --- tables --------------------------------------------------------------------------------------


def _rows(node: ast.expr, scope: Scope) -> list[ast.expr] | None:
    """What a loop over the expression gives, one expression a turn."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return None if any(isinstance(e, ast.Starred) for e in node.elts) else node.elts
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if isinstance(node.func, ast.Attribute):
        box = node.func.value
        if node.func.attr != "items" or node.args or not isinstance(box, ast.Dict):
            return None
        return _dict_rows(box)
    if scope.means(node.func, "range"):
        return _range_rows(node.args)
    if scope.means(node.func, "enumerate") and len(node.args) == 1:
        inner = _rows(node.args[0], scope)
        return inner and [_pair(ast.Constant(i), row) for i, row in enumerate(inner)]
    if scope.means(node.func, "zip") and node.args:
        columns = [_rows(part, scope) for part in node.args]
        if any(column is None for column in columns):
            return None
        return [ast.Tuple(list(row), ast.Load()) for row in zip(*filter(None, columns))]  # noqa: B905 - as zip cuts
    return None


def _dict_rows(node: ast.Dict) -> list[ast.expr] | None:
    keys = [key for key in node.keys if key is not None and is_literal(key)]
    if len(keys) != len(node.values):
        return None
    try:
        if len({ast.literal_eval(key) for key in keys}) != len(keys):
            return None
    except TypeError:
        return None
    return [_pair(key, value) for key, value in zip(keys, node.values, strict=True)]


def _range_rows(args: list[ast.expr]) -> list[ast.expr] | None:
    if not 1 <= len(args) <= 3 or not all(map(is_literal, args)):
        return None
    numbers = [ast.literal_eval(part) for part in args]
    if not all(type(number) is int for number in numbers) or numbers[2:] == [0]:
        return None
    span = range(*numbers)
    if len(span[: _MOST_ROWS + 1]) > _MOST_ROWS:
        return None
    return [literal_of(number) for number in span]


def _pair(left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.Tuple([left, right], ast.Load())


def _targets(target: ast.expr) -> list[str] | None:
    """The names of a loop's target, in order, each once."""
    if isinstance(target, ast.Name):
        return [target.id]
    if not isinstance(target, (ast.Tuple, ast.List)):
        return None
    names: list[str] = []
    for part in target.elts:
        inner = _targets(part)
        if inner is None:
            return None
        names += inner
    return names if len(set(names)) == len(names) else None


def _unpacked(target: ast.expr, row: ast.expr) -> list[ast.expr] | None:
    """The parts of a row, in the order of the target's names."""
    if isinstance(target, ast.Name):
        return [row]
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(row, (ast.Tuple, ast.List)):
        return None
    if len(target.elts) != len(row.elts):
        return None
    parts: list[ast.expr] = []
    for name, cell in zip(target.elts, row.elts, strict=True):
        inner = _unpacked(name, cell)
        if inner is None:
            return None
        parts += inner
    return parts
