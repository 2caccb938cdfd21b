"""Programs that try to pass Python tests without doing the work: none does, and honest ones do."""

from __future__ import annotations

import re
from pathlib import Path

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Execution
from tests.support.labelled import assert_none

HONEST = {
    "assert f(2) == 40": "def f(x): return 20 * x",
    "assert f(2) == [1, 2]": "def f(x): return [1, x]",
    "assert f(2) != 3 and f(2) in (4, 5)": "def f(x): return 2 * x",
    "assert 7 in f(2)": "def f(x): return [7]",
    "assert 0 < f(2) < 3": "def f(x): return 1",
    "assert f(2) is True": "def f(x): return x == 2",
    "assert abs(f(2) - 0.125) < 1e-6": "def f(x): return x / 16",
    "import math\nassert math.isclose(f(2), math.sqrt(2))": "def f(x): return x ** 0.5",
    "import pytest\nassert f(2) == pytest.approx(0.125)": "def f(x): return x / 16",
    "assert len(f(2)) == 3": "def f(x): return 'abc'",
    "assert sorted(f(2)) == [1, 2, 3]": "def f(x): return [3, 1, 2]",
    "for x, want in [(2, 40), (3, 60)]:\n    assert f(x) == want": "def f(x): return 20 * x",
    "assert all(f(x) == y for x, y in [(2, 40), (3, 60)])": "def f(x): return 20 * x",
    "want = sorted([5, 4])\nassert f(2) == want": "def f(x): return [4, 5]",
    "def check(candidate):\n    assert candidate(2) == 40": "def f(x): return 20 * x",
}
HERE = Path(__file__).parent


def read_blocks(name: str) -> dict[str, tuple[str, list[str]]]:
    """The programs of a file and the tests that they attack, by their names."""
    text = (HERE / name).read_text(encoding="utf-8")
    channel, *_ = text.partition("\n=== ")
    blocks = re.findall(r"^=== ([^\n]+)\n(.*?)(?=\n(?:=== |## )|\n?\Z)", text, re.DOTALL | re.M)
    found = {}
    for title, block in blocks:
        program, *tests = block.split("\n---\n")
        found[title] = (program.replace("%CHANNEL%", channel), tests)
    return found


FORGERIES = read_blocks("python_forgeries.txt")
# Passes in CPython too: a weak test, a lookup table, or two objects of the program's own classes.
BY_NATURE = " (CPython)"


def run(code: str, tests: list[str]) -> Execution:
    entry_point = "f" if any("def check(" in test for test in tests) else ""
    executor = RewardExecutor(timeout=1)
    return executor.execute(code, "python", tests=tests, entry_point=entry_point)


def is_passed(execution: Execution, tests: list[str]) -> bool:
    return [each.passed for each in execution.tests] == [True] * len(tests)


def test_the_honest_solution_passes() -> None:
    for test, code in HONEST.items():
        assert is_passed(run(code, [test]), [test]), test


def test_no_forgery_passes_that_cpython_would_not_accept() -> None:
    """Each has begun when it fails: it is not refused for a name that is not there."""
    assert len(FORGERIES) == 268
    faults = []
    for name, (code, tests) in FORGERIES.items():
        execution = run(code, tests)
        text = execution.stderr + "".join(each.message for each in execution.tests)
        if is_passed(execution, tests):
            if not name.endswith(BY_NATURE):
                faults.append(f"{name} passes")
        elif "SyntaxError" in text:
            faults.append(f"{name} has not begun: {text}")
    assert_none(faults)


def test_no_program_that_speaks_to_its_tests_passes() -> None:
    attacks = read_blocks("python_attacks.txt")
    assert len(attacks) == 118
    assert_none(
        name for name, (code, tests) in attacks.items() if is_passed(run(code, tests), tests)
    )


# Programs that keep a failure of their tests to themselves, and honest twins.
FAILURES = read_blocks("python_failures.txt")


def test_no_program_keeps_a_failure_of_its_tests_to_itself() -> None:
    """Each begins with "forged" or "honest"; that one passes says that it may."""
    faults = []
    for name, (code, tests) in FAILURES.items():
        execution = run(code, tests)
        if is_passed(execution, tests) != name.startswith("honest: "):
            faults.append((name, execution.tests))
        elif "SyntaxError" in "".join(each.message for each in execution.tests):
            faults.append((name, "has not begun"))
    assert_none(faults)
    assert len(FAILURES) == 100
