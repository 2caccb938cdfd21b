"""Normalize the assertions of a Python test to few forms, before it is split."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from .forms import bound, loads
from .suites import write_out
from .tables import unpack_records

_TEXT_CHARS = 300
_MAIN = "__name__ == '__main__'"


def prepared(text: str, entry_point: str) -> ast.Module:
    """Parse a test and mark its assertions with their `text` and `note`."""
    tree = ast.parse(text)
    tree.body = [part for node in tree.body for part in (node.body if _is_main(node) else [node])]
    if not entry_point:
        write_out(tree)
    _Prepare(tree).visit(tree)
    unpack_records(tree)
    return ast.fix_missing_locations(tree)


def _is_main(node: ast.stmt) -> TypeGuard[ast.If]:
    """Whether it is `if __name__ == "__main__":`, which is true for tests."""
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) == _MAIN


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
    """Normalize assertions to fewer forms of the same meaning.

    Messages go, since they may hold what is expected; the assertion remembers them as `note`.
    pytest's `raises` and `approx` get private names.
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
        self._is_catching = catches(tree)

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
        assertions = [ast.Assert(test) for test in _conjuncts(node.test)]
        for each in assertions:
            each.text, each.note = text, note  # type: ignore[attr-defined]  # marks of our own
        return [self._loop(each) or each for each in assertions]

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        assertion = None if self._is_catching else _guard(node)
        if assertion is None:
            self.generic_visit(node)
            return node
        return self.visit_Assert(assertion)

    def _loop(self, node: ast.Assert) -> ast.For | None:
        """`all(E for T in I if C)` as a loop with names of its own, and `not any(...)` too."""
        match node.test:
            case ast.UnaryOp(ast.Not(), ast.Call(ast.Name("any"), [parts], [])):
                is_any = True
            case ast.Call(ast.Name("all"), [parts], []):
                is_any = False
            case _:
                return None
        if not isinstance(parts, (ast.GeneratorExp, ast.ListComp)):
            return None
        (part, *others) = parts.generators
        if others or part.is_async or any(map(_binds, (parts.elt, part.iter, *part.ifs))):
            return None
        if any(isinstance(n, ast.Await) for n in ast.walk(parts)):
            return None
        self._fresh += 1
        rename = _Rename({name: f"__all{self._fresh}_{name}" for name in bound(part.target)})
        node.test = rename.visit(ast.UnaryOp(ast.Not(), parts.elt) if is_any else parts.elt)
        body: list[ast.stmt] = [node]
        for condition in reversed(part.ifs):
            body = [ast.If(rename.visit(condition), body, [])]
        return ast.For(rename.visit(part.target), part.iter, body, [])


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
    """What must hold, each part by itself."""
    parts = _parts(test)
    if parts == [test]:
        yield test
        return
    for part in parts:
        yield from _conjuncts(part)


def _parts(test: ast.expr) -> list[ast.expr]:
    """`A and B`, `all([A, B])` as A and B; `bool(A)`, `(A) is True`, `not not A` as A.

    `not (A or B)` as `not A` and `not B`.
    """
    match test:
        case ast.BoolOp(ast.And(), values):
            return values
        case ast.Call(ast.Name("bool"), [inner], []):
            return [inner]
        case ast.Call(ast.Name("all"), [ast.List(parts) | ast.Tuple(parts)], []):
            return [test] if any(isinstance(part, ast.Starred) for part in parts) else parts
        case ast.Compare(ast.Compare() as inner, [ast.Is() | ast.Eq()], [ast.Constant(True)]):
            return [inner]
        case ast.UnaryOp(ast.Not(), ast.BoolOp(ast.Or(), values)):
            return [ast.UnaryOp(ast.Not(), value) for value in values]
        case ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), inner)):
            return [inner]
    return [test]


def _guard(node: ast.If) -> ast.Assert | None:
    """`if A: raise AssertionError(B)`, or `assert False, B`, as `assert not A, B`."""
    note: ast.expr | None = None
    match node:
        case ast.If(_, [ast.Assert(ast.Constant(False), message)], []):
            note = message
        case ast.If(_, [ast.Raise(ast.Name(kind))], []) if kind in _FAILURES:
            pass
        case ast.If(_, [ast.Raise(ast.Call(ast.Name(kind), args))], []) if kind in _FAILURES:
            note = next(iter(args), None)
        case _:
            return None
    return ast.Assert(ast.UnaryOp(ast.Not(), node.test), note)


def _is_pytest(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names] == ["pytest"]
    return isinstance(node, ast.ImportFrom) and node.module == "pytest"


# Blocks that may expect an assertion in them to fail.
_FAILURES = frozenset({"AssertionError", "Exception", "BaseException"})
_CATCHERS = frozenset({"raises", "__raises__", "suppress", "assertRaises", "assertRaisesRegex"})


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}..."
