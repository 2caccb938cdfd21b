"""Rewrite tests for pytest or unittest as plain statements."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from .forms import SAME_ITEMS, bound, loads

Function = ast.FunctionDef | ast.AsyncFunctionDef

_ELSEWHERE = frozenset(
    {"globals", "locals", "vars", "dir", "exec", "eval", "getattr"}
    | {"loadTestsFromModule", "loadTestsFromName", "loadTestsFromNames", "discover"}
)
_CASES = ("unittest.TestCase", "TestCase")
_SKIPS = frozenset({"skip", "skipIf", "skipUnless", "skipTest", "SkipTest"})
_SPECIAL = _SKIPS | {"addCleanup", "id"}
# What runs a class that does more than its own plain methods.
_RUNNER = """
import asyncio as __asyncio, io as __io, unittest as __unittest
if issubclass({name}, __unittest.TestCase):
    __found = __unittest.defaultTestLoader.loadTestsFromTestCase({name})
    __ran = __unittest.TextTestRunner(stream=__io.StringIO()).run(__found)
    for __bad in [*__ran.failures, *__ran.errors{skipped}]:
        raise AssertionError(__bad[1])
elif {name!r}.startswith("Test") and {name!r} not in __began__:
    getattr({name}, "setup_class", bool)()
    for __test in [__each for __each in dir({name}) if __each.startswith("test")]:
        __case = {name}()
        for __step in ("setup_method", __test, "teardown_method"):
            __result = getattr(__case, __step, bool)()
            if hasattr(__result, "__await__"):
                __asyncio.run(__result)
    getattr({name}, "teardown_class", bool)()
"""
_NO_PYTEST = "raise ModuleNotFoundError(\"No module named 'pytest', which gives {}\")"


def write_out(tree: ast.Module) -> None:
    """Append calls of the test functions and classes that the text defines.

    Where the text may run one of them itself, it is run if it has not begun by the end.
    """
    _Main().visit(tree)
    _Suites(tree).add()


def called_methods(tree: ast.Module) -> Iterator[str]:
    """Return the methods that the appended calls run."""
    for node in tree.body:
        match node:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name("__case"), method))):
                yield method


class _Suites:
    """The test functions and classes of one text."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._read = set(loads(tree))
        self._called = {called_name(node) for node in tree.body}
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._bases = {name for node in self._classes.values() for name in _bases(node)}
        self._words = {*self._read, *_attributes(tree)}
        self._may_run_all = bool(self._words & _ELSEWHERE)
        self._needs: list[str] = []  # what only pytest gives

    def add(self) -> None:
        added: list[ast.stmt] = []
        for node in self._tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if node.name in ("setup_module", "setUpModule") and not _needed(node):
                    added[:0] = ast.parse(f"{node.name}()").body
                added += self._function(node)
            elif isinstance(node, ast.ClassDef):
                added += self._class(node)
        self._tree.body += added
        before = [_NO_PYTEST.format(", ".join(self._needs))] if self._needs else []
        for name, statement in _PRELUDES.items():
            if any(name in loads(node) for node in self._tree.body):
                before.append(statement)
        at = sum(getattr(node, "module", "") == "__future__" for node in self._tree.body)
        self._tree.body[at:at] = ast.parse("\n".join(before)).body

    def _is_read(self, name: str) -> bool:
        return self._may_run_all or name in self._read

    def _function(self, node: Function) -> list[ast.stmt]:
        name = node.name
        if not name.startswith("test") or name in self._called:
            return []
        _unroll(node)
        is_async = isinstance(node, ast.AsyncFunctionDef)
        call = f"import asyncio\nasyncio.run({name}())" if is_async else f"{name}()"
        if not self._is_read(name):
            self._note_needs(node)
            return ast.parse(call).body
        _mark(node, repr(name))
        call = "\n    ".join(call.splitlines())
        return [] if _needed(node) else ast.parse(f"if {name!r} not in __began__:\n    {call}").body

    def _note_needs(self, node: Function, own: int = 0) -> None:
        if not node.decorator_list:
            self._needs += _needed(node)[own:]

    def _class(self, node: ast.ClassDef) -> list[ast.stmt]:
        """The statements that run the tests of a class, if it has any."""
        family = self._family(node)
        bases = {base for each in family for base in _bases(each)}
        tests = [name for each in family for name in _tests(each)]
        is_case = any(base.endswith("TestCase") for base in bases)
        if not (is_case or (tests and (bases - {"object"} or node.name.startswith("Test")))):
            return []
        if is_case and "expectedFailure" not in self._words:
            for each in family:
                _Assertions().visit(each)
        for method in _methods(node).values():
            _unroll(method)
        is_alone = bases <= {*_CASES, "object"} and node.name not in self._bases
        if not is_alone or self._is_read(node.name) or not _is_plain(node) or "runTest" in tests:
            return self._run(node, family)
        if is_case:
            return self._written(node, sorted(tests), f"{node.name}({{!r}})", _CASE_STEPS)
        return self._written(node, tests, f"{node.name}()", _PYTEST_STEPS)

    def _family(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """The class and all that it inherits from in this text."""
        classes, waiting = [], [node]
        while waiting:
            each = waiting.pop()
            if each not in classes:
                classes.append(each)
                waiting += [self._classes[name] for name in _bases(each) if name in self._classes]
        return classes

    def _run(self, node: ast.ClassDef, family: list[ast.ClassDef]) -> list[ast.stmt]:
        for each in family:
            for method in _methods(each).values():
                if _needed(method)[:1] == ["self"]:
                    _mark(method, "type(self).__name__")
        skipped = "" if self._words & _SKIPS else ", *__ran.skipped"
        return ast.parse(_RUNNER.format(name=node.name, skipped=skipped)).body

    def _written(
        self, node: ast.ClassDef, tests: list[str], call: str, steps: tuple[str, str, str, str]
    ) -> list[ast.stmt]:
        methods = _methods(node)
        first, before, after, last = steps
        lines = [f"{node.name}.{first}()"] if first in methods else []
        for name in tests:
            self._note_needs(methods[name], 1)
            called = [step for step in (before, name, after) if step == name or step in methods]
            lines.append(f"__case = {call.format(name)}")
            lines += [f"__case.{step}({_argument(methods[step], step, name)})" for step in called]
        lines += [f"{node.name}.{last}()"] if last in methods else []
        return ast.parse("\n".join(lines)).body


_CASE_STEPS = ("setUpClass", "setUp", "tearDown", "tearDownClass")
_PYTEST_STEPS = ("setup_class", "setup_method", "teardown_method", "teardown_class")
_PRELUDES = {
    "__began__": "__began__ = set()",
    "__math__": "import math as __math__",
    "__unittest__": "import unittest as __unittest__",
}


def called_name(node: ast.stmt) -> str:
    """f, of the statements `f()` and `asyncio.run(f())`."""
    match node:
        case ast.Expr(ast.Call(ast.Name(name), [], [])):
            return name
        case ast.Expr(
            ast.Call(ast.Attribute(ast.Name("asyncio"), "run"), [ast.Call(ast.Name(name), [])], [])
        ):
            return name
    return ""


def _tests(node: ast.ClassDef) -> list[str]:
    """Return the attributes of the class that are tests by their names."""
    assigned = (part for part in node.body if isinstance(part, ast.Assign))
    names = [*_methods(node), *(name for part in assigned for name in bound(part))]
    return [name for name in names if name.startswith("test") or name == "runTest"]


def _bases(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base) for base in node.bases]


def _attributes(tree: ast.AST) -> Iterator[str]:
    return (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def _methods(node: ast.ClassDef) -> dict[str, Function]:
    return {
        part.name: part
        for part in node.body
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def _mark(node: Function, what: str) -> None:
    """Make the function record that it started."""
    node.body[:0] = ast.parse(f"__began__.add({what})").body


def _needed(node: Function) -> list[str]:
    """Return the names of the required arguments."""
    arguments = [*node.args.posonlyargs, *node.args.args]
    required = len(arguments) - len(node.args.defaults)
    return [argument.arg for argument in arguments[:required]]


def _argument(method: Function, step: str, test: str) -> str:
    """What pytest hands to `setup_method(self, method)`."""
    return f"__case.{test}" if step != test and len(_needed(method)) == 2 else ""


def _is_plain(node: ast.ClassDef) -> bool:
    """Whether calling its methods one by one is all that unittest or pytest would do."""
    methods = _methods(node)
    return not {*_attributes(node)} & _SPECIAL and all(
        isinstance(methods.get(name), ast.FunctionDef) and not methods[name].decorator_list
        for name in _tests(node)
    )


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
        match node.value:
            case ast.Call(ast.Attribute(ast.Name("unittest" | "pytest"), "main")):
                return ast.Pass()
        return node


_COMPARED = {
    "Equal": "==", "ListEqual": "==", "DictEqual": "==", "SetEqual": "==", "TupleEqual": "==",
    "MultiLineEqual": "==", "NotEqual": "!=", "Is": "is", "IsNot": "is not", "In": "in",
    "NotIn": "not in", "Less": "<", "LessEqual": "<=", "Greater": ">", "GreaterEqual": ">=",
}  # fmt: skip
_COMPARISONS = {name: f"({{0}}) {relation} ({{1}})" for name, relation in _COMPARED.items()}
_FORMS = _COMPARISONS | {
    "True": "{0}",
    "False": "not ({0})",
    "IsNone": "({0}) is None",
    "IsNotNone": "({0}) is not None",
    "IsInstance": "isinstance({0}, {1})",
    "NotIsInstance": "not isinstance({0}, {1})",
    "SequenceEqual": "[*({0})] == [*({1})]",
    "CountEqual": f"{SAME_ITEMS}([*({{0}})], [*({{1}})]) is None",
}
_FORMS = {f"assert{name}": form for name, form in _FORMS.items()}


class _Assertions(ast.NodeTransformer):
    """Writes `self.assertEqual(a, b)` and its like as `assert a == b`."""

    def visit_With(self, node: ast.With) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if all(ast.unparse(item).startswith("self.subTest(") for item in node.items):
            return node.body
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        match node.value:
            case ast.Call(ast.Attribute(ast.Name("self"), "fail"), args):
                return ast.Assert(ast.Constant(False), next(iter(args), None))
            case ast.Call(ast.Attribute(ast.Name("self"), method)) as call:
                form = _near(call) if method == "assertAlmostEqual" else _FORMS.get(method, "")
                count = form.count("{")
                if count and len(call.args) >= count:
                    texts = map(ast.unparse, call.args)
                    return ast.parse("assert " + form.format(*texts)).body[0]
        return node


def _near(call: ast.Call) -> str:
    """`assertAlmostEqual`: rounded to that many places, the difference is 0."""
    options = {word.arg: word.value for word in call.keywords}
    digits = call.args[2] if len(call.args) > 2 else options.get("places", ast.Constant(7))
    if "delta" in options:
        within = ast.unparse(options["delta"])
    elif isinstance(digits, ast.Constant) and type(digits.value) is int:
        within = repr(0.5 * 10**-digits.value)
    else:
        return ""
    return f"__math__.isclose({{0}}, {{1}}, rel_tol=0.0, abs_tol={within})"
