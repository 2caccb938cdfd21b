"""Checkers: functions of a data set that judge an output, where many outputs are right.

A checker runs in an instance of its own. The program was never there: it reaches the checker as
text, on standard input. What a checker returns is compared on the host.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from ...parsing.syntax import UNREADABLE, syntax_tree
from ..checkers import CheckerVerdict
from ..executor import RewardExecutor

# The functions' names; each takes the input, the program's output and the expected output.
_NAMES = "check", "output_judging_function"
# What runs text as code, which an output could use: names, and modules.
_RUNS_TEXT = {"eval", "exec", "compile"}
_RUNNERS = {"pickle", "marshal", "shelve", "code", "codeop", "runpy", "timeit", "builtins"}
_LIMITS = {"timeout": "time", "memory": "memory", "output": "output"}
# The texts follow each other in one; as JSON, a megabyte of short lines takes a second to read.
_CALL = """

import sys as _sys
_texts = _sys.stdin.buffer.read().decode()
_verdict = {name}(_texts[:{first}], _texts[{first}:{second}], _texts[{second}:])
"""


def run_checker(
    executor: RewardExecutor, checker: str, stdin: str, output: str, expected: str
) -> CheckerVerdict:
    """Judge a program's output by the text of a Python checker.

    The text defines `check(input, output, expected)` or `output_judging_function` with the same
    arguments, which returns a bool. There is no verdict if it does not, raises, leaves, meets a
    limit of the executor, returns anything else, or would run text that it is given as code.
    Raises as `RewardExecutor.execute`.
    """
    name, fault = _function_of(checker)
    if fault:
        return CheckerVerdict(None, fault)
    first = len(stdin)
    call = _CALL.format(name=name, first=first, second=first + len(output))
    execution = executor.execute(
        checker + call,
        "python",
        stdin=stdin + output + expected,
        tests=["_verdict is True", "_verdict is False"],
        expected=[True, True],
    )
    passed = [each.passed for each in execution.tests]
    if execution.status == "ok" and passed in ([True, False], [False, True]):
        return CheckerVerdict(passed[0])
    if execution.status in ("timeout", "memory", "output"):
        return CheckerVerdict(None, f"the checker met its limit of {_LIMITS[execution.status]}")
    last = (execution.stderr.strip().splitlines() or ["it returned no bool"])[-1]
    return CheckerVerdict(None, f"the checker gave no verdict: {last[:200]}")


@lru_cache(maxsize=64)
def _function_of(checker: str) -> tuple[str, str]:
    """The name of the function that a checker defines, and why it cannot be called, or ""."""
    try:
        tree = syntax_tree(checker)
    except UNREADABLE as error:
        return "", f"the checker is no Python: {error}"
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    name = next((each for each in _NAMES if each in defined), "")
    if not name:
        return "", f"the checker defines no function {' or '.join(_NAMES)}"
    runs = next((each for node in ast.walk(tree) if (each := _runner(node))), "")
    return name, runs and f"the checker may run the output as code, by {runs}"


def _runner(node: ast.AST) -> str:
    """What runs text as code here, or ""."""
    if isinstance(node, ast.Name):
        return node.id if node.id in _RUNS_TEXT else ""
    if isinstance(node, ast.Attribute):  # `re.compile` does not
        return node.attr if node.attr in _RUNS_TEXT - {"compile"} else ""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    return next((name for name in names if name.partition(".")[0] in _RUNNERS), "")
