"""Tests that need no interpreter of their own, as most are: `assert f(literals) == literal`.

Such a test asks the program for the value of a call and compares it with a constant, which the host
can do. So it is with an expression that has an expected JSON value. One test of any other form, and
all tests of the program run in the interpreter of the tests.
"""

import ast
import builtins
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

_UNREAD = frozenset(("METADATA",))  # HumanEval's, which nothing reads
_CONSTANT_PARTS = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp),
    *(ast.operator, ast.unaryop, ast.expr_context),
)


class Step(NamedTuple):
    """A call whose value is compared with a constant; its text and message; `==` or `is`."""

    code: types.CodeType
    text: str
    message: Any
    relation: str
    expected: Any


class NotPlain(Exception):
    """The tests need an interpreter."""


def plain_steps(
    setup: str, texts: list[str], entry_point: str, modules: list[str]
) -> list[list[Step]]:
    """Return the steps of each test. Raises `NotPlain`, and what `ast.parse` raises."""
    if setup.strip() or (entry_point and not entry_point.isidentifier()):
        raise NotPlain
    return [_Reading(entry_point, modules).steps(text) for text in texts]


class _Reading:
    def __init__(self, entry_point: str, modules: list[str]) -> None:
        self._entry_point, self._modules = entry_point, modules
        self._candidate = ""  # the name of the function within `check`
        self._has_check = False

    def steps(self, text: str) -> list[Step]:
        steps = [step for node in ast.parse(text).body for step in self._top(node)]
        if not steps or self._has_check != bool(self._entry_point):
            raise NotPlain
        return steps

    def _top(self, node: ast.stmt) -> Iterator[Step]:
        if isinstance(node, ast.ImportFrom):
            if node.module not in self._modules or any(
                each.asname or each.name == "*" for each in node.names
            ):
                raise NotPlain
        elif isinstance(node, ast.Assign):
            names = {each.id for each in node.targets if isinstance(each, ast.Name)}
            if not (names <= _UNREAD and _is_constant(node.value)):
                raise NotPlain
        elif isinstance(node, ast.FunctionDef):
            yield from self._function(node)
        else:
            yield from self._assertion(node)

    def _function(self, node: ast.FunctionDef) -> Iterator[Step]:
        arguments = node.args
        names = [each.arg for each in arguments.args]
        others = arguments.posonlyargs or arguments.kwonlyargs or arguments.vararg
        if others or arguments.kwarg or arguments.defaults or node.decorator_list:
            raise NotPlain
        if self._entry_point and node.name == "check" and len(names) == 1 and not self._has_check:
            self._has_check, self._candidate = True, names[0]
        elif self._entry_point or names or not node.name.startswith("test"):
            raise NotPlain
        for each in node.body:
            yield from self._assertion(each)
        self._candidate = ""

    def _assertion(self, node: ast.stmt) -> Iterator[Step]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if not isinstance(node, ast.Assert) or not isinstance(node.test, ast.Compare):
            raise NotPlain
        (relation,), left, (right,) = node.test.ops, node.test.left, node.test.comparators
        if isinstance(relation, ast.Eq) and _is_constant(left):
            left, right = right, left
        if not _is_constant(right) or not isinstance(node.msg, ast.Constant | None):
            raise NotPlain
        expected = eval(compile(ast.Expression(right), "expected", "eval"), {})
        is_single = expected is None or isinstance(expected, bool)
        if not (isinstance(relation, ast.Eq) or (isinstance(relation, ast.Is) and is_single)):
            raise NotPlain
        text, message = ast.unparse(node.test), node.msg and node.msg.value
        code = compile(ast.Expression(self._call(left)), "test.py", "eval")
        yield Step(code, text, message, "==" if isinstance(relation, ast.Eq) else "is", expected)

    def _call(self, node: ast.expr) -> ast.Call:
        """Return a call of something of the program's with constants."""
        if not isinstance(node, ast.Call):
            raise NotPlain
        values = [*node.args, *(each.value for each in node.keywords)]
        if not all(map(_is_constant, values)) or any(each.arg is None for each in node.keywords):
            raise NotPlain
        of = node.func
        if isinstance(of, ast.Attribute) and not of.attr.startswith("_"):
            if isinstance(of.value, ast.Name):
                self._check_name(of.value)
            else:
                self._call(of.value)
        elif isinstance(of, ast.Name):
            self._check_name(of)
        else:
            raise NotPlain
        return node

    def _check_name(self, node: ast.Name) -> None:
        if node.id == self._candidate:
            node.id = self._entry_point
        elif hasattr(builtins, node.id) or node.id in self._modules or node.id == "check":
            raise NotPlain


def _is_constant(node: ast.expr) -> bool:
    parts = (each for each in ast.walk(node) if not isinstance(each, _CONSTANT_PARTS))
    return all(each is None for each in parts)
