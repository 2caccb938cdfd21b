"""Closed expressions of a Python test: those with the same value wherever they are computed.

They consist of literals, operators, pure built-in functions and pure parts of the standard library,
so their values can be computed out of the reach of the program under test.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping

# Names one a word; in a set, a linter would have them one a line.
_PURE_MODULES = frozenset(
    """bisect cmath collections datetime decimal fractions functools heapq itertools json math
    operator re statistics string textwrap""".split()  # noqa: SIM905 - as above
)
_PURE_BUILTINS = frozenset(
    """abs all any ascii bin bool bytearray bytes chr complex dict divmod enumerate filter float
    format frozenset hex int isinstance len list map max min oct ord pow range repr reversed round
    set slice sorted str sum tuple type zip ArithmeticError AssertionError IndexError KeyError
    TypeError ValueError ZeroDivisionError""".split()  # noqa: SIM905 - as above
)
_IMPURE_ATTRIBUTES = frozenset({"now", "today", "utcnow"})
_IMMUTABLE_CALLS = frozenset({"abs", "bool", "chr", "float", "int", "len", "ord", "round", "str"})
_EXPRESSIONS = (
    ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BinOp, ast.UnaryOp, ast.BoolOp,
    ast.Compare, ast.IfExp, ast.Call, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred,
    ast.JoinedStr, ast.FormattedValue, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.Name,
)  # fmt: skip
_PARTS = (
    ast.keyword, ast.arguments, ast.arg, ast.comprehension, ast.expr_context, ast.operator,
    ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


def is_literal(node: ast.expr) -> bool:
    """Whether the expression spells out its value."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def immutable(node: ast.expr) -> bool:
    """Whether the value surely cannot change once it is there."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Tuple):
        return all(map(immutable, node.elts))
    if isinstance(node, ast.UnaryOp):
        return immutable(node.operand)
    if isinstance(node, ast.BinOp):
        return immutable(node.left) and immutable(node.right)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _IMMUTABLE_CALLS
    )


def literal_of(number: int) -> ast.expr:
    """The expression that spells out an integer."""
    return ast.parse(repr(number), mode="eval").body


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, in the order of `ast.walk`, in a third of its time."""
    nodes = [node]
    for each in nodes:
        for name in each._fields:
            value = getattr(each, name, None)
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [part for part in value if isinstance(part, ast.AST)]
    return nodes


def loads(node: ast.AST) -> Iterator[str]:
    """The names that are read."""
    for part in walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            yield part.id


def bound(node: ast.AST) -> Iterator[str]:
    """The names that are bound or unbound in any way, each as often as it is."""
    for part in walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.alias):
            yield part.asname or part.name.partition(".")[0]
        elif isinstance(part, (ast.Global, ast.Nonlocal)):
            yield from part.names
        elif isinstance(part, ast.MatchMapping):
            yield part.rest or ""
        elif isinstance(part, _NAMED):
            yield part.name or ""


_NAMED = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs,
    ast.MatchStar,
)  # fmt: skip


class _Open(Exception):
    """The expression depends on what is not known."""


class Scope:
    """What the names of one test mean, with `setup` before it."""

    def __init__(self, tree: ast.Module, setup: ast.Module, entry_point: str) -> None:
        self._imports: dict[str, tuple[str, str]] = {}  # name: the statement, what it stands for
        imported: Counter[str] = Counter()
        self.starred = False
        for node in (*ast.walk(setup), *ast.walk(tree)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imported.update(self._add_import(node))
        self.bound = Counter(bound(setup)) + Counter(bound(tree))
        shadowed = {name for name, count in self.bound.items() if count != imported[name]}
        self._shadowed = shadowed | {entry_point, "candidate"}

    def _add_import(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        source = node.module if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            if alias.name == "*":
                self.starred = True
                continue
            name = alias.asname or alias.name
            if (source or alias.name) not in _PURE_MODULES or alias.name.startswith("_"):
                continue
            statement = f"from {source} import" if source else "import"
            meaning = f"{source}.{alias.name}" if source else alias.name
            known = self._imports.setdefault(name, (f"{statement} {alias.name} as {name}", meaning))
            if known[1] == meaning:  # else the name stands for two things
                yield name

    def imported(self, name: str) -> bool:
        """Whether the test imports the name from a pure module."""
        return name in self._imports and name not in self._shadowed

    def means(self, node: ast.expr, *meanings: str) -> bool:
        """Whether the expression is a built-in or an imported function with one of these names."""
        if isinstance(node, ast.Name) and node.id not in self._shadowed:
            return self._imports.get(node.id, ("", node.id))[1] in meanings
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = node.value.id
            return self.imported(name) and f"{self._imports[name][1]}.{node.attr}" in meanings
        return False

    def close(self, node: ast.expr, known: Mapping[str, ast.expr]) -> ast.expr | None:
        """The expression with what the `known` names stand for; None when it is not closed."""
        if isinstance(node, ast.Constant):
            return node
        inner = set(bound(node))
        if inner & known.keys():
            return None
        try:
            return self._closed(copy.deepcopy(node), known, inner)
        except _Open:
            return None

    def _closed(self, node: ast.AST, known: Mapping[str, ast.expr], inner: set[str]) -> ast.expr:
        made: ast.expr = _Substitute(self, known, inner).visit(node)
        return made

    def is_pure(self, name: str) -> bool:
        """Whether the name is the test's own import or Python's own function."""
        if name in self._shadowed or self.starred:
            return False
        return name in self._imports or name in _PURE_BUILTINS

    def source(self, node: ast.expr) -> str:
        """The program that reports the value of a closed expression."""
        inner = set(bound(node))
        names = sorted({name for name in loads(node) if name in self._imports} - inner)
        imports = "".join(f"{self._imports[name][0]}\n" for name in names)
        return f"{imports}__judge__(0, {ast.unparse(node)})"


class _Substitute(ast.NodeTransformer):
    """Puts expressions in the place of names, and refuses what is not closed."""

    def __init__(self, scope: Scope, known: Mapping[str, ast.expr], inner: set[str]) -> None:
        self._scope, self._known, self._inner = scope, known, inner

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, (*_EXPRESSIONS, *_PARTS)):
            raise _Open
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._known:
            return copy.deepcopy(self._known[node.id])
        if node.id in self._inner or self._scope.is_pure(node.id):
            return node
        raise _Open

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr.startswith("_") or node.attr in _IMPURE_ATTRIBUTES:
            raise _Open
        return self.generic_visit(node)
