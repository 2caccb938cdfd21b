"""The programs and tests of foreign coding rows: what their tests call, and a right program."""

from __future__ import annotations

import ast
import doctest
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..layout import fenced, tagged
from ..parsing.syntax import UNREADABLE, syntax_tree
from ..reward_functions import get_reward_functions
from ..reward_functions.reward_function import RewardFunction

SENTINEL = "'no such value'"  # an expression of a value that no test expects
_ARGS = ("args", "inputs", "input", "stdin", "in", "arguments", "params")
_EXPECTED = (
    "expected", "outputs", "output", "stdout", "out", "expected_output", "result", "want", "return",
)  # fmt: skip
_TESTS = ("tests", "test_list", "test", "test_cases", "cases", "answer", "ground_truth")
_PROGRAMS = ("response", "solution", "canonical_solution", "code", "answer", "reference")


class Case(NamedTuple):
    """The arguments of a test, and the value that it expects."""

    args: tuple[Any, ...]
    expected: Any


def cases(columns: Mapping[str, Any]) -> tuple[str, list[Case]]:
    """The function that tests call, and those cases that are literals."""
    name = str(columns.get("entry_point") or "")
    for column in _TESTS:
        value = columns.get(column)
        parts = value if isinstance(value, list) else [value]
        each = [case for part in parts for case in _cases_in(part)]
        if each:
            return name or next((called for called, _ in each if called), ""), [c for _, c in each]
    if "inputs" in columns and "outputs" in columns:
        each = list(_cases_of(columns))
    else:
        values = [columns[column] for column in columns if column not in (*_TESTS, *_PROGRAMS)]
        each = [
            case for value in values if not isinstance(value, Mapping) for case in _cases_in(value)
        ]
    return name or next((called for called, _ in each if called), ""), [case for _, case in each]


def _cases_in(part: Any) -> Iterator[tuple[str, Case]]:
    if isinstance(part, str) and part.lstrip()[:1] in ("[", "{"):
        try:
            part = json.loads(part)
        except (ValueError, RecursionError):
            return
        for each in part if isinstance(part, list) else [part]:
            yield from _cases_in(each) if isinstance(each, Mapping) else ()
    elif isinstance(part, Mapping):
        yield from _cases_of(part)
    elif isinstance(part, str) and ">>>" in part:
        yield from _shown(part)
    elif isinstance(part, str) and "assert" in part:
        yield from _asserted(part)


def _cases_of(part: Mapping[str, Any]) -> Iterator[tuple[str, Case]]:
    """A case of a mapping, or those of lists of inputs and outputs."""
    name = str(part.get("fn_name") or part.get("fn") or part.get("entry_point") or "")
    if isinstance(part.get("cases", part.get("test_cases")), list):
        for each in part.get("cases", part.get("test_cases")):
            yield from ((called or name, case) for called, case in _cases_in(each))
        return
    args = next((part[key] for key in _ARGS if key in part), None)
    expected = next((part[key] for key in _EXPECTED if key in part), None)
    keys = (key in part for key in _EXPECTED)
    if args is None or not any(keys):
        return
    if "inputs" in part and isinstance(args, list) and isinstance(expected, list):
        pairs = list(zip(args, expected, strict=False))
    else:
        pairs = [(args, expected)]
    for arguments, value in pairs:
        if isinstance(arguments, list | tuple):
            yield name, Case(tuple(arguments), value)
        elif isinstance(arguments, str) and isinstance(value, str):
            yield name, Case((arguments,), value)


def parsed(text: str) -> ast.Module | None:
    """A text as a module of Python; None if it is none."""
    try:
        return syntax_tree(text)
    except UNREADABLE:
        return None


def _asserted(text: str) -> Iterator[tuple[str, Case]]:
    """The calls of asserts that compare with a literal."""
    tree = parsed(text)
    for node in ast.walk(tree) if tree else ():
        test = node.test if isinstance(node, ast.Assert) else None
        if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Call):
            continue
        if not isinstance(test.ops[0], ast.Eq | ast.Is) or not isinstance(test.left.func, ast.Name):
            continue
        try:
            args = tuple(ast.literal_eval(arg) for arg in test.left.args)
            yield test.left.func.id, Case(args, ast.literal_eval(test.comparators[0]))
        except (*UNREADABLE, TypeError):
            continue


def _shown(text: str) -> Iterator[tuple[str, Case]]:
    """The examples of a doctest that call a function with literals and show a literal."""
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return
    for each in examples:
        yield from _asserted(f"assert ({each.source.strip()}) == ({each.want.strip()})")


def table(name: str, some: list[Case]) -> str:
    """A program that has the expected values of some cases, and no other."""
    if not name:  # it reads a standard input
        printed = {str(case.args[0]).strip(): case.expected for case in some}
        return f"import sys\nprint({printed!r}.get(sys.stdin.read().strip(), {SENTINEL}))\n"
    values = {repr(case.args): case.expected for case in some}
    return (
        f"_VALUES = {values!r}\ndef {name}(*args):\n"
        f"    return _VALUES.get(repr(args), {SENTINEL})\n"
    )


def program_of(columns: Mapping[str, Any]) -> str:
    """A right program of a row: its solution, or a table of the values that its tests expect.

    A solution may be the body of a function whose head is the prompt, as in HumanEval. "" if the
    row has neither.
    """
    prompt = columns.get("prompt")
    for column in _PROGRAMS:
        value = columns.get(column)
        if not isinstance(value, str) or not (code := _unfenced(value)):
            continue
        whole = f"{prompt}{code}"
        if is_program(code):
            return code
        if code[:1].isspace() and isinstance(prompt, str) and is_program(whole):
            return whole
    name, some = cases(columns)
    return table(name, some) if some else ""


def _unfenced(text: str) -> str:
    if "```" not in text:
        return text
    block = text.split("```")[1]
    return block.partition("\n")[2]


def is_program(code: str) -> bool:
    """Whether a text is a Python program that does something besides asserting."""
    tree = parsed(code)
    body = [each for each in tree.body if not isinstance(each, ast.Assert)] if tree else []
    return any(
        isinstance(part, ast.FunctionDef | ast.Call) for each in body for part in ast.walk(each)
    )


def is_script(columns: Mapping[str, Any]) -> bool:
    """Whether the tests feed a standard input and compare the output."""
    name, some = cases(columns)
    texts = [(*case.args, case.expected) for case in some]
    is_printed = all(len(each) == 2 and all(isinstance(t, str) for t in each) for each in texts)
    return bool(some) and not name and is_printed


def references(columns: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """References of the coding reward, one a test; none if the tests cannot be read."""
    for column in _TESTS:
        value = columns.get(column)
        values = value if isinstance(value, list) else [value]
        texts = [text for text in values if isinstance(text, str) and "assert" in text]
        each = [part for text in texts for part in _single_asserts(text)]
        if each and len(texts) == len(values):
            return [{"tests": [part]} for part in each]
    _, some = cases(columns)
    if is_script(columns):
        return [{"cases": [{"input": case.args[0], "output": case.expected}]} for case in some]
    return [
        {"entry_point": name, "cases": [{"args": list(case.args), "output": case.expected}]}
        for case in some
        if name
    ]


def _single_asserts(text: str) -> Iterator[str]:
    """A text of tests for each assert at its top level, with what stands before it."""
    tree = parsed(text)
    body = tree.body if tree else []
    others = [each for each in body if not isinstance(each, ast.Assert)]
    for each in body:
        if isinstance(each, ast.Assert):
            try:
                yield ast.unparse(ast.Module([*others, each], []))
            except RecursionError:  # the parser reads deeper than this writes
                return


def passed_share(
    program: str, tests: Sequence[dict[str, Any]], check_time: Callable[[], None] = lambda: None
) -> float | None:
    """The share of tests that a program passes in this package's sandbox; None if unknown.

    `check_time` is called before each test, which takes a second at most.

    Raises:
        RuntimeMissing: the sandbox is not built; what `check_time` raises.
    """
    text = tagged(f"\n{fenced(program, 'python')}\n")
    scores = []
    for test in tests:
        check_time()
        scores.append(_coding().compute_reward(text, test))
    if not scores or any(score.status == "unscored" for score in scores):
        return None
    return sum(score.passed for score in scores) / len(scores)


@lru_cache(maxsize=1)
def _coding() -> RewardFunction:
    return get_reward_functions(timeout=1, only=("coding",))["coding"]
