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

# What a program that knows the harness starts with: it walks up the stack, to all that is there.
WALK = """
import gc, sys
def up(name, frame=None):
    frame = frame or sys._getframe()
    while frame is not None:
        for space in (frame.f_locals, frame.f_globals):
            if name in space: return space[name]
        frame = frame.f_back
def spaces():
    frame = sys._getframe()
    while frame is not None:
        yield frame.f_globals
        frame = frame.f_back
nonce, world = up('nonce'), up('wit_world')
harness, values = up('_Run'), up('values')
assert nonce and world and harness and values
"""
# Blocks of a name, a program and the test that it attacks; %WALK% stands for the text above.
FILE = Path(__file__).with_name("python_forgeries.txt")
FORGERIES = {
    name: (code.replace("%WALK%\n", WALK), test)
    for name, code, test in re.findall(
        r"^=== ([^\n]+)\n(.*?)\n---\n(.*?)(?=\n(?:=== |## )|\n\Z)",
        FILE.read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
}


def run(code: str, test: str) -> Execution:
    entry_point = "f" if "def check" in test else ""
    executor = RewardExecutor(timeout=3)
    return executor.execute(code, "python", tests=[test], entry_point=entry_point)


def test_the_honest_solution_passes() -> None:
    for test, code in HONEST.items():
        assert [each.passed for each in run(code, test).tests] == [True], test


def test_no_forgery_passes_and_none_fails_for_a_mistake_of_ours() -> None:
    """Each has begun when it fails: it is not refused for a name that is not there."""
    assert len(FORGERIES) == 142
    faults = []
    for name, (code, test) in FORGERIES.items():
        execution = run(code, test)
        text = execution.stderr + "".join(each.message for each in execution.tests)
        refused = any(word in text for word in ("NameError", "SyntaxError"))
        if any(each.passed for each in execution.tests):
            faults.append(f"{name} passes")
        elif refused and name != "nothing is executed":  # so there is no `check`
            faults.append(f"{name} has not begun: {text}")
    assert_none(faults)
