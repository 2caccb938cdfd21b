"""The form of a coding row's tests: what they call, how they compare, and how to write another one.

Pure: nothing runs here. A new test compares as the row's own tests do, so that it accepts each
program that they would accept: a set stays a set, a tolerance stays that tolerance. Floats are
never compared exactly.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from ..parsing.syntax import UNREADABLE, syntax_tree
from ..reward_functions.coding.calls import call_tests, javascript_literal
from ..reward_functions.coding.language import Runnable
from ..reward_functions.coding.reference import Call, Calls, Cases, Reference, Tests
from ..reward_functions.reward_function import BadReference
from .inputs import CallInput, seen_calls

_CALL, _VALUE = "_call_", "_value_"
_MAX_CHARS = 2_000  # of the literal of a value
_TOLERANCE = 1e-6  # absolute below 1, relative above
_NO_LITERAL = (*UNREADABLE, TypeError)
_WRAPPERS = {"set", "sorted", "list", "tuple", "len", "sum", "round", "str", "abs", "dict", "bool"}
_DOCTEST = re.compile(r"^[ \t]*>>>[ \t]*([^\n]+)", re.MULTILINE)
_ASSERT = r"""(?:assert|require\((?P<q>['"])(?:node:)?assert(?:/strict)?(?P=q)\))(?:\.strict)?"""
_EQUALITY = re.compile(rf"({_ASSERT})\.(?:deepStrictEqual|deepEqual|strictEqual|equal)\(")

Input: TypeAlias = "CallInput | str"  # a call, or the text of the standard input


class Check(NamedTuple):
    """A new test: an input, what states it, and the value.

    It is stated by the test's source text, the call's value, or the printed text.
    """

    input: Input
    test: Any
    value: Any


@dataclass(frozen=True)
class Form:
    """How the tests of a row call its program and compare.

    `seen` are the inputs of the tests, and of the examples in the prompt. `observe` is the
    expression whose value a test states, `template` the test, both in the language and with
    placeholders; with a `tolerance` the template holds it.
    """

    reference: Reference
    language: str
    seen: tuple[Input, ...]
    observe: str = _CALL
    template: str = ""
    tolerance: str = ""  # the template for a number, if the tests state a tolerance

    def expression(self, call: CallInput) -> str:
        """The source text whose value a test for this call states."""
        return self.observe.replace(_CALL, call_text(call, self.language))

    def value(self, text: str) -> Any:
        """The value that a text of `Trials.values` states. Raises `ValueError` if there is none."""
        if isinstance(self.reference, Cases):
            return text
        try:
            return (
                ast.literal_eval(syntax_tree(text.lstrip(), "eval"))
                if self.language == "python"
                else json.loads(text)[0]
            )
        except (*_NO_LITERAL, LookupError) as error:
            raise ValueError(text[:80]) from error

    def check(self, point: Input, text: str) -> Check | None:
        """A test of an input whose value is `text`: a literal, JSON, or what was printed.

        None for a value that no literal states, or that a test could not compare safely.
        """
        if isinstance(point, str):
            return Check(point, text, text) if text.strip() else None
        try:
            value = self.value(text)
            if len(text) > _MAX_CHARS:
                return None
            if isinstance(self.reference, Calls):
                Calls(point.name, (Call(point.args, point.kwargs, value),))
                json.dumps(value, allow_nan=False)
                return Check(point, value, value)
            test = self._test(call_text(point, self.language), value)
        except (*_NO_LITERAL, BadReference, LookupError):
            return None
        return Check(point, test, value) if test else None

    def _test(self, call: str, value: Any) -> str:
        if self.language == "javascript":
            return _javascript_test(call, value, self.template)
        observed = self.observe.replace(_CALL, call)
        if self.template == "truth":
            return f"assert {observed}" if value else f"assert not {observed}"
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if self.tolerance and is_number:
            return self.tolerance.replace(_CALL, call).replace(_VALUE, literal(value))
        floats = list(_floats(value))
        if isinstance(value, float):
            return f"assert abs({observed} - {literal(value)}) <= {_bound(floats)}"
        is_flat = isinstance(value, list | tuple) and all(type(v) in (int, float) for v in value)
        if floats and is_flat:
            pairs = f"zip({observed}, {literal(value)}, strict=True)"
            return f"assert all(abs(a - b) <= {_bound(floats)} for a, b in {pairs})"
        if floats and not all((64 * each).is_integer() for each in floats):
            return ""  # no short test compares nested floats with a tolerance
        return self.template.replace(_CALL, call).replace(_VALUE, literal(value))

    def runnable(self, checks: Sequence[Check]) -> Runnable:
        """Some new tests alone, to be judged as any reference. Raises `BadReference`."""
        reference = self.reference
        if isinstance(reference, Cases):
            return replace(reference, cases=tuple((str(c.input), c.test) for c in checks))
        if isinstance(reference, Calls):
            return call_tests(replace(reference, calls=_calls(checks)), self.language)
        assert isinstance(reference, Tests)
        texts = tuple(each.test for each in checks)
        return replace(reference, tests=texts, entry_point="", expected=())

    def extended(self, answer: str, checks: Sequence[Check]) -> str:
        """The row's answer with new tests after its own."""
        if not checks:
            return answer
        try:
            spec = json.loads(answer)
        except ValueError:
            spec = None
        if not isinstance(spec, dict):
            return _extended_text(answer, checks)
        if isinstance(self.reference, Calls):
            spec["cases"] = [*spec["cases"], *map(_case, _calls(checks))]
        elif isinstance(self.reference, Cases):
            new = [{"input": each.input, "output": each.test} for each in checks]
            spec["cases"] = [*spec["cases"], *new]
        else:
            old = [spec["tests"]] if isinstance(spec["tests"], str) else spec["tests"]
            spec["tests"] = [*old, *self._texts(checks)]
        return json.dumps(spec)

    def _texts(self, checks: Sequence[Check]) -> list[str]:
        assert isinstance(self.reference, Tests)
        texts = [str(each.test) for each in checks]
        if not self.reference.entry_point or self.language != "python":
            return texts
        name = self.reference.entry_point
        called = (re.sub(rf"(?<![\w.]){re.escape(name)}\(", "candidate(", text) for text in texts)
        return ["def check(candidate):\n" + "\n".join(f"    {text}" for text in called)]


def form_of(reference: Reference, code: str, language: str, prompt: str = "") -> Form | None:
    """The form of a row's tests; None if no test compares a call of literals with a value.

    `code` is the row's own program, `prompt` a text with examples, such as `>>> f(1)`.
    """
    if isinstance(reference, Cases):
        texts = tuple(dict.fromkeys(text for text, _ in reference.cases if text.strip()))
        return Form(reference, language, texts) if texts else None
    if not isinstance(reference, Tests | Calls):
        return None
    seen = _of_one_function(list(seen_calls(reference, code, language)))
    if not seen:
        return None
    seen += [each for each in _examples(code, prompt, seen, language) if each not in seen]
    if isinstance(reference, Calls):
        return Form(reference, language, tuple(seen))
    if language == "javascript":
        match = _EQUALITY.search("\n".join(reference.tests))
        return Form(reference, language, tuple(seen), template=match[1] if match else "console")
    names = {seen[0].name, "candidate"} if reference.entry_point else {seen[0].name}
    forms = Counter(each for test in reference.tests for each in _python_forms(test, names))
    exact = [each for each in forms.most_common() if not each[0].tolerance]
    tolerance = next((each.tolerance for each in forms if each.tolerance), "")
    if not exact and not tolerance:
        return None
    chosen = exact[0][0] if exact else _PythonForm(_CALL, f"assert {_CALL} == {_VALUE}")
    return Form(reference, language, tuple(seen), chosen.observe, chosen.template, tolerance)


def call_text(call: CallInput, language: str) -> str:
    """A call as an expression of a language. Raises `BadReference`."""
    if language == "javascript":
        calls = Calls(call.name, (Call(call.args, call.kwargs, None),))
        return call_tests(calls, language).tests[0]
    words = [f"{name}={literal(value)}" for name, value in call.kwargs.items()]
    return f"{call.name}({', '.join([*map(literal, call.args), *words])})"


def _of_one_function(calls: Sequence[CallInput]) -> list[CallInput]:
    """The calls of the function and signature that the tests use most often."""
    counts = Counter((call.name, len(call.args), *sorted(call.kwargs)) for call in calls)
    if not counts:
        return []
    most = counts.most_common(1)[0][0]
    return [
        c for c in calls if (c.name, len(c.args), *sorted(c.kwargs)) == most and most[1:] != (0,)
    ]


def _examples(
    code: str, prompt: str, seen: Sequence[CallInput], language: str
) -> Iterator[CallInput]:
    """The calls of the same function in the examples of the prompt and of docstrings."""
    lines = dict.fromkeys(_DOCTEST.findall(f"{prompt}\n{code}")) if language == "python" else ()
    for line in lines:
        for call in seen_calls(Tests((line,)), code, language):
            if call.name == seen[0].name and len(call.args) == len(seen[0].args):
                yield call


def literal(value: Any) -> str:
    """Python's literal of a value; the members of a set are sorted, for the same text each time."""
    if isinstance(value, set):
        return f"{{{', '.join(sorted(map(literal, value)))}}}" if value else "set()"
    if isinstance(value, dict):
        items = (f"{literal(key)}: {literal(item)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    return ascii(value)


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _floats(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from _floats(item)


def _bound(floats: Sequence[float]) -> str:
    return f"{_TOLERANCE * max(1.0, *map(abs, floats), 1.0):.0e}"


def _calls(checks: Sequence[Check]) -> tuple[Call, ...]:
    inputs = [(each.input, each.test) for each in checks]
    return tuple(Call(c.args, c.kwargs, v) for c, v in inputs if isinstance(c, CallInput))


def _case(call: Call) -> dict[str, Any]:
    kwargs = {"kwargs": call.kwargs} if call.kwargs else {}
    return {"args": list(call.args), **kwargs, "output": call.output}


def _extended_text(answer: str, checks: Sequence[Check]) -> str:
    """Lines of assertions with more lines, before the fence that closes them if there is one."""
    lines = "\n".join(str(each.test) for each in checks)
    head, fence, tail = answer.rstrip().rpartition("\n```")
    if fence and not tail.strip("`"):
        return f"{head}\n{lines}{fence}{tail}"
    return f"{answer.rstrip()}\n{lines}\n"


# --- Python --------------------------------------------------------------------------------------


class _PythonForm(NamedTuple):
    """The observed expression and the test, with placeholders; or a tolerance alone."""

    observe: str
    template: str
    tolerance: str = ""


def _python_forms(test: str, names: set[str]) -> Iterator[_PythonForm]:
    try:
        asserts = [node for node in ast.walk(syntax_tree(test)) if isinstance(node, ast.Assert)]
        for node in asserts:
            if form := _python_form(node.test, names):
                yield form
    except _NO_LITERAL:
        return


def _python_form(test: ast.expr, names: set[str]) -> _PythonForm | None:
    """The form of one assertion that calls the program once; None for any other."""
    marker = _Marker(names)
    test = marker.visit(test)
    if marker.count != 1:
        return None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        if isinstance(test.ops[0], ast.Eq | ast.Is):
            if not _is_observed(left):
                left, right = right, left
            same = ast.unparse(right).replace(_VALUE, _CALL) == ast.unparse(left)
            if _is_observed(left) and (_is_literal(right) or same):
                mark = "is" if isinstance(test.ops[0], ast.Is) else "=="
                observed = ast.unparse(left)
                return _PythonForm(observed, f"assert {observed} {mark} {_VALUE}")
        elif isinstance(test.ops[0], ast.Lt | ast.LtE) and _is_literal(right):
            gap = next(iter(_called(left, ("abs", "fabs"))), None)
            if not (isinstance(gap, ast.BinOp) and isinstance(gap.op, ast.Sub)):
                return None
            if ast.unparse(gap.left) == _CALL and _is_literal(gap.right):
                test.left = _with_first(left, ast.BinOp(gap.left, ast.Sub(), _HOLE))
                return _PythonForm("", "", f"assert {ast.unparse(test)}")
    elif isinstance(test, ast.Call) and len(args := _called(test, ("isclose",))) > 1:
        if ast.unparse(args[0]) != _CALL or not _is_literal(args[1]):
            return None
        test.args = [args[0], _HOLE, *args[2:]]
        return _PythonForm("", "", f"assert {ast.unparse(test)}")
    inside = test.operand if isinstance(test, ast.UnaryOp) else test
    if ast.unparse(inside) == _CALL:
        return _PythonForm(_CALL, "truth")
    return None


_HOLE = ast.Name(_VALUE, ast.Load())


class _Marker(ast.NodeTransformer):
    """Put a placeholder in place of each call of the program."""

    def __init__(self, names: set[str]) -> None:
        self._names, self.count = names, 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in self._names:
            self.count += 1
            return ast.Name(_CALL, ast.Load())
        return self.generic_visit(node)


def _is_observed(node: ast.expr) -> bool:
    """Whether an expression is the call, or a plain function of its value."""
    if isinstance(node, ast.Name):
        return node.id == _CALL
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    allowed = (ast.Name, ast.Call, ast.Subscript, ast.Constant, ast.Load, ast.Slice)
    plain = all(isinstance(each, allowed) for each in ast.walk(node))
    return _CALL in names and plain and names - {_CALL} <= _WRAPPERS


def _is_literal(node: ast.expr) -> bool:
    """Whether an expression has no name but those of plain functions."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return names <= _WRAPPERS and not any(isinstance(n, ast.Attribute) for n in ast.walk(node))


def _called(node: ast.expr, names: Sequence[str]) -> list[ast.expr]:
    """The arguments of a call of one of these functions; [] for anything else."""
    if not isinstance(node, ast.Call):
        return []
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    return node.args if name in names else []


def _with_first(call: ast.expr, argument: ast.expr) -> ast.expr:
    assert isinstance(call, ast.Call)
    return ast.Call(call.func, [argument, *call.args[1:]], call.keywords)


# --- JavaScript ----------------------------------------------------------------------------------


def _javascript_test(call: str, value: Any, assertion: str) -> str:
    """An assertion on a JSON value, by the row's own assertions; "" for nested fractions."""
    text = javascript_literal(value)
    fractions = [each for each in _floats(value) if not each.is_integer()]
    module = "require('assert')" if assertion == "console" else assertion
    if fractions and not isinstance(value, float):
        return ""
    if fractions:
        near = f"Math.abs({call} - {text}) <= {_bound(fractions)}"
        return f"console.assert({near})" if assertion == "console" else f"{module}.ok({near})"
    if isinstance(value, dict | list):
        return f"{module}.deepStrictEqual({call}, {text})"
    if assertion == "console":
        return f"console.assert({call} === {text})"
    return f"{module}.strictEqual({call}, {text})"
