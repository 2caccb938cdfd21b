"""Verdicts on rows that bring their own tests, beside the harness of their set, run natively.

KodCode runs a pytest file beside `solution.py`, AceCode each assertion after the program, and
BigCodeBench a unittest class after the program. CodeContests+ runs the problem's checker in C++
with testlib, here the stock checkers of testlib by g++. The programs are MBPP's references and
wrong ones made of them; those that try to forge a verdict are left out: natively they succeed.
"""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from infinite_rl.dataset.rows import read
from infinite_rl.dataset.shapes import SHAPES
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.reward_functions.coding.judge import judge_printed
from infinite_rl.reward_functions.coding.reference import Cases, read_reference

ROOT = Path(__file__).resolve().parent.parent
_TIMEOUT = 2  # seconds of one program

# Reads [[harness, program, tests]] and prints which pass; each runs in a process of its own.
_DRIVER = """
import json, os, signal, sys, tempfile, types, unittest
import pytest

def acecode(program, tests):
    for test in tests:
        names = {}
        exec(program, names)
        exec(test, names)
    return True

def bigcodebench(program, tests):
    module = types.ModuleType("__test__")
    exec(program + "\\n" + tests, module.__dict__)
    suite = unittest.TestLoader().loadTestsFromTestCase(module.TestCases)
    result = unittest.TestResult()
    suite.run(result)
    return not result.errors and not result.failures

def kodcode(program, tests):
    for name, text in (("solution.py", program), ("test_solution.py", tests)):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, os.getcwd())
    return pytest.main(["-q", "-p", "no:cacheprovider", "test_solution.py"]) == 0

def in_child(harness, program, tests, seconds):
    child = os.fork()
    if child == 0:
        verdict = 1
        try:
            os.chdir(tempfile.mkdtemp())
            quiet = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(quiet, number)
            signal.alarm(seconds)
            verdict = 0 if globals()[harness](program, tests) else 1
        except BaseException:
            verdict = 1
        finally:
            os._exit(verdict)
    return os.waitpid(child, 0)[1] == 0

jobs, seconds = json.load(sys.stdin)
print(json.dumps([in_child(*job, seconds) for job in jobs]))
"""


class Job(NamedTuple):
    """A published row, the kind of a program, the program, and what the set's harness takes."""

    shape: str
    published: dict[str, Any]
    kind: str
    program: str
    tests: Any


# --- programs ------------------------------------------------------------------------------------


class _Change(ast.NodeTransformer):
    """Changes the node with a number: an operator, a comparison, a number, a text or a return."""

    def __init__(self, at: int) -> None:
        self.left, self.kind = at, ""

    def visit(self, node: ast.AST) -> Any:
        changed = self._changed(node)
        if changed is not None:
            self.left -= 1
            if self.left == -1:
                self.kind = type(node).__name__
                return ast.copy_location(changed, node)
        return self.generic_visit(node)

    @staticmethod
    def _changed(node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            other: ast.operator = ast.Add() if isinstance(node.op, ast.Sub) else ast.Sub()
            return ast.BinOp(node.left, other, node.right)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            turned = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
            turned |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In}
            if type(node.ops[0]) in turned:
                return ast.Compare(node.left, [turned[type(node.ops[0])]()], node.comparators)
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return ast.Constant(node.value + 1)
        if isinstance(node, ast.Constant) and type(node.value) is str:
            return ast.Constant(node.value + "x")
        if isinstance(node, ast.Return) and node.value is not None:
            return ast.Return(None)
        return None


def mutants(code: str, draw: random.Random, most: int) -> Iterator[tuple[str, str]]:
    """Wrong programs, most of them, with one node changed."""
    for at in draw.sample(range(40), 40):
        change = _Change(at)
        text = ast.unparse(ast.fix_missing_locations(change.visit(ast.parse(code))))
        if change.kind and most:
            most -= 1
            yield f"one {change.kind} changed", text


def programs(code: str, name: str, draw: random.Random) -> Iterator[tuple[str, str]]:
    """Kinds and texts of programs that define `name`, right and wrong ones."""
    head = f"def {name}(*args, **kwargs):\n    "
    yield "the reference", code
    yield "the reference, which also prints", f"{code}\nprint('done')"
    yield (
        "the reference behind a guard",
        f"{code}\nif __name__ == '__main__':\n    raise ValueError",
    )
    yield "the reference as another name", f"{code}\n_own = {name}\n{name} = lambda *a: _own(*a)"
    yield from mutants(code, draw, 5)
    yield "returns nothing", f"{head}pass"
    yield "raises", f"{head}raise ValueError('no')"
    yield "exits in the call", f"import sys\n{head}sys.exit(0)"
    yield "exits at import", f"{code}\nimport sys\nsys.exit(0)"
    yield "recurses for ever", f"{head}return {name}(*args)"
    yield "does not compile", f"{code}\ndef ("
    yield "has another name", code.replace(name, f"{name}_2")
    yield "reads standard input", f"{code}\ninput()"
    yield "returns its arguments", f"{head}return args"
    yield "returns the text", f"{code}\n_own = {name}\n{name} = lambda *a: str(_own(*a))"
    yield "imports what is not there", f"import no_such_module\n{code}"


# --- rows ----------------------------------------------------------------------------------------


def _function_in(code: str, tests: Sequence[str]) -> str:
    """The function of a program that tests call, or ""."""
    defined = [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    called = {
        node.func.id
        for test in tests
        for node in ast.walk(ast.parse(test))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return next((name for name in defined if name in called), "")


def _pytest_file(name: str, tests: Sequence[str], draw: random.Random) -> str:
    """The assertions as functions, as a class, or as parameters of one function."""
    lines = [f"from solution import {name}", "import pytest", ""]
    style = draw.randrange(3)
    if style == 0:
        for number, test in enumerate(tests):
            lines += [f"def test_{number}():", f"    {test}", ""]
    elif style == 1:
        lines += ["class TestAll:", "    @pytest.fixture", "    def function(self):"]
        lines += [f"        return {name}"]
        for number, test in enumerate(tests):
            lines += [f"    def test_{number}(self, function):", f"        {test}"]
    else:
        cases = ", ".join(f"lambda: {ast.unparse(ast.parse(test).body[0].test)}" for test in tests)  # type: ignore[attr-defined]
        lines += [f"@pytest.mark.parametrize('case', [{cases}])", "def test_case(case):"]
        lines += ["    assert case()"]
    return "\n".join(lines) + "\n"


def _unittest_class(tests: Sequence[str]) -> str:
    lines = ["import unittest", "class TestCases(unittest.TestCase):"]
    lines += ["    def setUp(self):", "        self.seen = []"]
    for number, test in enumerate(tests):
        condition = ast.parse(test).body[0].test  # type: ignore[attr-defined]
        text = f"self.assertTrue({ast.unparse(condition)})"
        if isinstance(condition, ast.Compare) and isinstance(condition.ops[0], ast.Eq):
            one, other = ast.unparse(condition.left), ast.unparse(condition.comparators[0])
            text = f"self.assertEqual({one}, {other})"
        lines += [f"    def test_{number}(self):", f"        {text}"]
    return "\n".join(lines) + "\n"


def jobs(mbpp: Path, count: int, seed: int) -> Iterator[Job]:
    """Programs for rows of the three sets, of the first tasks of a file of MBPP."""
    draw = random.Random(seed)
    tasks = json.loads(mbpp.read_text(encoding="utf-8"))
    for task in draw.sample(tasks, len(tasks)):
        code, tests = task["code"].replace("\r\n", "\n"), task["test_list"]
        imports = "\n".join(task["test_imports"])
        name = _function_in(code, tests)
        if not name or imports or task["task_id"] == 123:  # the last one takes 10 s
            continue
        count -= 1
        if count < 0:
            return
        question, files = task["prompt"], (_pytest_file(name, tests, draw), _unittest_class(tests))
        rows = {
            "acecode": ({"question": question, "test_cases": tests}, tests),
            "kodcode": (
                {"question": question, "solution": code, "test": files[0], "test_info": "[]"},
                files[0],
            ),
            "bigcodebench": (
                {
                    **{
                        "task_id": "B/1",
                        "complete_prompt": "import re",
                        "code_prompt": "import re",
                    },
                    **{"instruct_prompt": question, "canonical_solution": code, "libs": "[]"},
                    "test": files[1],
                },
                files[1],
            ),
        }
        for kind, program in programs(code, name, draw):
            for shape, (published, own) in rows.items():
                yield Job(shape, published, kind, program, own)


def fixtures() -> Iterator[Job]:
    """The published rows of the tests with a right, a wrong and an empty program."""
    for shape in ("acecode", "kodcode", "bigcodebench"):
        for row in read(ROOT / "tests" / "dataset" / "shapes" / f"{shape}.jsonl"):
            published = row["published"]
            tests = published.get("test") or published.get("test_cases")
            tests = json.loads(tests) if shape == "acecode" and isinstance(tests, str) else tests
            for kind in ("gold", "wrong", "noop"):
                if row.get(kind) and tests:
                    yield Job(shape, published, f"a published row: {kind}", row[kind], tests)


def natively(listed: Sequence[Job]) -> list[bool]:
    """The verdicts of the sets' own harnesses."""
    work = [[job.shape, job.program, job.tests] for job in listed]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TMPDIR": folder, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(
            [sys.executable, "-c", _DRIVER],
            input=json.dumps([work, _TIMEOUT]),
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
            env=environment,
        )
    verdicts: list[bool] = json.loads(done.stdout.splitlines()[-1])
    return verdicts


def tests_compared(mbpp: Path, count: int, seed: int) -> Iterator[tuple[Any, ...]]:
    """Set, kind, our verdict (None for unscored), the harness's, our reason, and the program."""
    reward = get_reward_functions(_TIMEOUT, only=["program"])["program"]
    listed = [*fixtures(), *jobs(mbpp, count, seed)]
    for job, theirs in zip(listed, natively(listed), strict=True):
        answer = SHAPES[job.shape].row(job.published)["answer"]
        score = reward.compute_reward(f"```python\n{job.program}\n```", answer)
        ours = None if score.status == "unscored" else score.passed
        yield job.shape, job.kind, ours, theirs, score.error_msg, job.program


# --- checkers in C++ -----------------------------------------------------------------------------

# One row a kind of expected text, by the checker that suits it.
_EXPECTED: dict[str, Callable[[random.Random], str]] = {
    "wcmp": lambda draw: " ".join(draw.choice(("ab", "Ab", "x1", "7")) for _ in range(4)) + "\n",
    "ncmp": lambda draw: "\n".join(str(draw.randint(-(10**12), 10**12)) for _ in range(4)) + "\n",
    "dcmp": lambda draw: f"{draw.uniform(-9, 9):.9f}\n",
    "yesno": lambda draw: draw.choice(("YES\n", "NO\n", "yes\n")),
}


def checkers_compared(
    folder: Path, kinds: dict[str, Callable[[str, random.Random], str]], count: int, seed: int
) -> Iterator[tuple[str, str, bool, bool, str, str]]:
    """CodeContests+: set, kind, both verdicts, expected and actual text, of testlib's checkers."""
    draw = random.Random(seed)
    testlib = Path(os.environ["INFINITE_RL_TESTLIB"]).resolve().parent
    with tempfile.TemporaryDirectory() as scratch:
        for name, expected_text in _EXPECTED.items():
            source, binary = folder / f"{name}.cpp", f"{scratch}/{name}"
            command = ["g++", "-O1", "-w", "-std=gnu++20", f"-I{testlib}", str(source)]
            subprocess.run([*command, "-o", binary], check=True)
            for _ in range(count):
                expected = expected_text(draw)
                published = {
                    **{"description": "q", "checker": source.read_text(encoding="utf-8")},
                    "correct_submissions": [],
                    "test_cases": [{"input": "1\n", "output": expected}],
                }
                reference = read_reference(SHAPES["codecontests_plus"].row(published)["answer"])
                assert isinstance(reference, Cases)
                for kind, make in kinds.items():
                    actual = make(expected, draw)
                    ours = judge_printed("1\n", actual, expected, reference.how).passed
                    theirs = _by_binary(binary, Path(scratch), actual, expected)
                    yield "codecontests_plus", kind, ours, theirs, expected, actual


def _by_binary(binary: str, folder: Path, actual: str, expected: str) -> bool:
    for name, text in (("input", "1\n"), ("output", actual), ("answer", expected)):
        (folder / name).write_bytes(text.encode())
    paths = [str(folder / name) for name in ("input", "output", "answer")]
    return subprocess.run([binary, *paths], capture_output=True).returncode == 0
