"""Writes the assertions of a Python test in fewer ways, before it is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .python_closed import bound, loads
from .python_records import unpack_records
from .python_suites import write_out

_TEXT_CHARS = 300


def prepared(text: str, entry_point: str) -> ast.Module:
    """The test's tree, its assertions marked with their `text` and `note`."""
    tree = ast.parse(text)
    if not entry_point:
        write_out(tree)
    _Prepare(tree).visit(tree)
    unpack_records(tree)
    return ast.fix_missing_locations(tree)


def catches(tree: ast.AST) -> bool:
    """Whether the test may catch a failed assertion of a function that it calls."""
    return any(map(_catches, ast.walk(tree)))


def _catches(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        return node.type is None or not _FAILURES.isdisjoint(_words(node.type))
    if not isinstance(node, ast.Call) or _CATCHERS.isdisjoint(_words(node.func)):
        return False
    return any(not _FAILURES.isdisjoint(_words(part)) for part in node.args)


def _words(node: ast.AST) -> Iterator[str]:
    """The names and attributes in it."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


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
        if not _CATCHERS & {word for item in node.items for word in _words(item)}:
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
        made.text, made.note = text, note  # type: ignore[attr-defined]  # marks of our own
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
_FAILURES = frozenset({"AssertionError", "Exception", "BaseException"})
_CATCHERS = frozenset({"raises", "__raises__", "suppress", "assertRaises", "assertRaisesRegex"})


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}..."
