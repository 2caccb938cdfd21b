"""The programs and tests of foreign coding rows: what their tests call, and a right program."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

SENTINEL = "'no such value'"  # an expression of a value that no test expects


class Case(NamedTuple):
    """The arguments of a test, and the value that it expects."""

    args: tuple[Any, ...]
    expected: Any


def cases(columns: Mapping[str, Any]) -> tuple[str, list[Case]]:
    """The function that tests call, and those cases that are literals."""
    name = str(columns.get("entry_point") or "")
    for column in ("tests", "test_list", "test", "test_cases", "cases", "answer", "ground_truth"):
        value = columns.get(column)
        parts = value if isinstance(value, list) else [value]
        each = [case for part in parts for case in _cases_in(part)]
        if each:
            return name or next((called for called, _ in each if called), ""), [c for _, c in each]
    return name, []


def _cases_in(part: Any) -> Iterator[tuple[str, Case]]:
    if isinstance(part, Mapping) and isinstance(part.get("args"), list) and "expected" in part:
        yield "", Case(tuple(part["args"]), part["expected"])
    if isinstance(part, Mapping) and "args" not in part:
        texts = [part.get("input", part.get("stdin")), part.get("output", part.get("stdout"))]
        if isinstance(texts[0], str) and isinstance(texts[1], str):
            yield "", Case((texts[0],), texts[1])
    if not isinstance(part, str) or "assert" not in part:
        return
    try:
        tree = ast.parse(part)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        test = node.test if isinstance(node, ast.Assert) else None
        if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Call):
            continue
        if not isinstance(test.ops[0], ast.Eq | ast.Is) or not isinstance(test.left.func, ast.Name):
            continue
        try:
            args = tuple(ast.literal_eval(arg) for arg in test.left.args)
            yield test.left.func.id, Case(args, ast.literal_eval(test.comparators[0]))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue


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
    """A right program of a row: its solution, or a table of the values that its tests expect."""
    for column in ("response", "solution", "canonical_solution", "code", "answer", "reference"):
        value = columns.get(column)
        if isinstance(value, str) and (code := _unfenced(value)) and is_program(code):
            return code
    name, some = cases(columns)
    return table(name, some) if some else ""


def _unfenced(text: str) -> str:
    if "```" not in text:
        return text
    block = text.split("```")[1]
    return block.partition("\n")[2]


def is_program(code: str) -> bool:
    """Whether a text is a Python program that does something besides asserting."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    body = [each for each in tree.body if not isinstance(each, ast.Assert)]
    return any(
        isinstance(part, ast.FunctionDef | ast.Call) for each in body for part in ast.walk(each)
    )
