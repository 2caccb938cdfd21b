"""Expressions of a Python test that surely create objects of the program's own classes."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator

from .closed import bound

_CONSTRUCTION = re.compile(r"\b[A-Z]\w*\(")
_PLAIN = (list, str, dict, set, tuple, int, float, complex, bytes, range, Counter, OrderedDict)
_PLAIN_ATTRIBUTES = frozenset(name for kind in (*_PLAIN, deque) for name in dir(kind))


def own_classes(texts: Iterable[str]) -> frozenset[str]:
    """Names with a capital letter that the tests of a program use as classes.

    That they are called is not enough, since functions may have capital letters, too.
    """
    found: set[str] = set()
    for text in texts:
        if _CONSTRUCTION.search(text):
            try:
                found.update(_shown(ast.parse(text)))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    return frozenset(found) - vars(builtins).keys() - {""}


def own_names(tree: ast.Module, classes: frozenset[str]) -> frozenset[str]:
    """The names that are bound once, to such an object."""
    counts = Counter(bound(tree))
    names: frozenset[str] = frozenset()
    for name, value in assigned(tree):
        if counts[name] == 1 and is_own(value, names, classes):
            names |= {name}
    return names


def is_own(node: ast.expr, names: frozenset[str], classes: frozenset[str]) -> bool:
    """Whether it is a construction, a name of one, or made of these by operators.

    What a method gives is not: `Solution().solve(1)` may be a plain value.
    """
    if isinstance(node, ast.BinOp):
        return is_own(node.left, names, classes) or is_own(node.right, names, classes)
    if isinstance(node, ast.UnaryOp):
        return is_own(node.operand, names, classes)
    return (isinstance(node, ast.Name) and node.id in names) or _made(node) in classes


def _made(node: ast.AST) -> str:
    """The name with a capital letter that is called."""
    of = node.func if isinstance(node, ast.Call) else None
    return of.id if isinstance(of, ast.Name) and of.id[:1].isupper() else ""


def assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names, and what they are bound to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            if isinstance(node.targets[0], ast.Name):
                yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            yield node.target.id, node.value


def _shown(tree: ast.Module) -> Iterator[str]:
    made = {name: _made(value) for name, value in assigned(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr not in _PLAIN_ATTRIBUTES:
            of = node.value
            yield made.get(of.id, "") if isinstance(of, ast.Name) else _made(of)
        elif isinstance(node, ast.BinOp) and _made(node.left) == _made(node.right):
            yield _made(node.left)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            yield from (part.id for part in node.args[1:] if isinstance(part, ast.Name))
        elif isinstance(node, ast.Compare) and _made(node.left) == _made(node.comparators[0]):
            yield _made(node.left)
