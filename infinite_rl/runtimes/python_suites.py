"""Writes out as statements what pytest or unittest would run of a Python test."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator

from .python_closed import loads

Function = ast.FunctionDef | ast.AsyncFunctionDef

_ELSEWHERE = frozenset({"globals", "locals", "vars", "dir", "exec", "eval", "getattr"})
_CASES = ("unittest.TestCase", "TestCase")
_SPECIAL = frozenset({"skip", "skipIf", "skipUnless", "skipTest", "addCleanup", "id"})
# What runs a class that does more than its own plain methods.
_RUNNER = """
import io as __io, unittest as __unittest
__found = __unittest.defaultTestLoader.loadTestsFromTestCase({name})
__ran = __unittest.TextTestRunner(stream=__io.StringIO()).run(__found)
for __bad in [*__ran.failures, *__ran.errors]:
    raise AssertionError(__bad[1])
"""


def write_out(tree: ast.Module) -> None:
    """Add calls of the test functions and classes that the text defines and does not run."""
    read = set(loads(tree))
    if read & _ELSEWHERE:  # they may be found and run in ways that the text does not show
        return
    _Main().visit(tree)
    bases = {ast.unparse(base) for node in _classes(tree) for base in node.bases}
    added: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name.startswith("test") and node.name not in read:
                _unroll(node)
                added += _call(node, f"{node.name}()")
        elif isinstance(node, ast.ClassDef) and node.name not in bases:
            added += _runs(node, node.name in read)
    if "__math__" in loads(tree):
        added = [*ast.parse("import math as __math__").body, *added]
    tree.body += added


def called_methods(tree: ast.Module) -> Iterator[str]:
    """The methods that the calls written out here run."""
    for node in tree.body:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            of = call.func.value
            if isinstance(of, ast.Name) and of.id == "__case":
                yield call.func.attr


def _classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in tree.body if isinstance(node, ast.ClassDef))


def _methods(node: ast.ClassDef) -> dict[str, Function]:
    return {
        part.name: part
        for part in node.body
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def _runs(node: ast.ClassDef, is_read: bool) -> Iterable[ast.stmt]:
    """The statements that run the tests of a class, if it has any."""
    bases = [ast.unparse(base) for base in node.bases]
    methods = _methods(node)
    tests = [name for name in methods if name.startswith("test")]
    if any(base.endswith("TestCase") for base in bases):
        if is_read or len(bases) > 1 or bases[0] not in _CASES or not _is_plain(node):
            return ast.parse(_RUNNER.format(name=node.name)).body
        _Assertions().visit(node)
        made, before, after = f"{node.name}({{!r}})", ("setUp",), ("tearDown",)
        ends = [f"{node.name}.{name}()" for name in ("setUpClass", "tearDownClass")]
        tests.sort()
    elif bases or is_read or not node.name.startswith("Test") or "__init__" in methods:
        return []
    else:
        made, before, after = f"{node.name}()", ("setup_method",), ("teardown_method",)
        ends = [f"{node.name}.{name}()" for name in ("setup_class", "teardown_class")]
    for name in tests:
        _unroll(methods[name])
    lines = [ends[0]] if ends[0].split(".")[1][:-2] in methods else []
    for name in tests:
        around = [*(n for n in before if n in methods), name, *(n for n in after if n in methods)]
        lines += [f"__case = {made.format(name)}", *(f"__case.{step}()" for step in around)]
    lines += [ends[1]] if ends[1].split(".")[1][:-2] in methods else []
    return ast.parse("\n".join(lines)).body


def _is_plain(node: ast.ClassDef) -> bool:
    """Whether calling its methods one by one is all that unittest would do."""
    words = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    return not words & _SPECIAL and all(
        isinstance(each, ast.FunctionDef)
        and (not each.decorator_list or not each.name.startswith("test"))
        for each in _methods(node).values()
    )


def _call(node: Function, text: str) -> list[ast.stmt]:
    if isinstance(node, ast.AsyncFunctionDef):
        return ast.parse(f"import asyncio\nasyncio.run({text})").body
    return ast.parse(text).body


def _unroll(node: Function) -> None:
    """`@pytest.mark.parametrize` as a loop in the function."""
    if any(isinstance(part, (ast.Return, ast.Yield, ast.YieldFrom)) for part in ast.walk(node)):
        return
    for mark in reversed(list(node.decorator_list)):
        if not isinstance(mark, ast.Call) or len(mark.args) != 2:
            continue
        names = _parameters(mark)
        arguments = {each.arg for each in node.args.args}
        if not names or not set(names) <= arguments:
            continue
        stored: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
        target = stored[0] if len(names) == 1 else ast.Tuple(stored, ast.Store())
        node.body = [ast.For(target, copy.deepcopy(mark.args[1]), node.body, [])]
        node.args.args = [each for each in node.args.args if each.arg not in names]
        node.decorator_list.remove(mark)


def _parameters(mark: ast.Call) -> list[str]:
    if ast.unparse(mark.func) not in ("pytest.mark.parametrize", "mark.parametrize"):
        return []
    try:
        names = ast.literal_eval(mark.args[0])
    except ValueError:
        return []
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


class _Main(ast.NodeTransformer):
    """Takes out `unittest.main()`: the classes are run without it."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        is_main = isinstance(call, ast.Call) and ast.unparse(call.func) in (
            "unittest.main",
            "pytest.main",
        )
        return ast.Pass() if is_main else node


_COMPARED = {
    "Equal": "==",
    "NotEqual": "!=",
    "ListEqual": "==",
    "DictEqual": "==",
    "SetEqual": "==",
    "TupleEqual": "==",
    "MultiLineEqual": "==",
    "Is": "is",
    "IsNot": "is not",
    "In": "in",
    "NotIn": "not in",
    "Less": "<",
    "LessEqual": "<=",
    "Greater": ">",
    "GreaterEqual": ">=",
}
_FORMS = {name: f"({{0}}) {relation} ({{1}})" for name, relation in _COMPARED.items()} | {
    "True": "{0}",
    "False": "not ({0})",
    "IsNone": "({0}) is None",
    "IsNotNone": "({0}) is not None",
    "IsInstance": "isinstance({0}, {1})",
    "NotIsInstance": "not isinstance({0}, {1})",
}


class _Assertions(ast.NodeTransformer):
    """Writes `self.assertEqual(a, b)` and its like as `assert a == b`."""

    def visit_With(self, node: ast.With) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if all(ast.unparse(item).startswith("self.subTest(") for item in node.items):
            return node.body
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            return node
        if not ast.unparse(call.func).startswith("self.assert"):
            return node
        name = call.func.attr.removeprefix("assert")
        form = _near(call) if name == "AlmostEqual" else _FORMS.get(name, "")
        count = form.count("{")
        if not count or len(call.args) < count:
            return node
        (made,) = ast.parse("assert " + form.format(*map(ast.unparse, call.args))).body
        return made


def _near(call: ast.Call) -> str:
    """`assertAlmostEqual`: rounded to that many places, the difference is 0."""
    options = {word.arg: word.value for word in call.keywords}
    places = call.args[2] if len(call.args) > 2 else options.get("places", ast.Constant(7))
    if "delta" in options:
        within = ast.unparse(options["delta"])
    elif isinstance(places, ast.Constant) and type(places.value) is int:
        within = repr(0.5 * 10**-places.value)
    else:
        return ""
    return f"__math__.isclose({{0}}, {{1}}, rel_tol=0.0, abs_tol={within})"
