"""Tests that only call the program: which ones are known to, without a run."""

from __future__ import annotations

import pytest

from infinite_rl.reward_functions.coding.plain_calls import are_plain_calls
from infinite_rl.reward_functions.coding.reference import Tests
from infinite_rl.sandbox.executor import RewardExecutor
from tests.support.labelled import Tables

tables = Tables(__file__)

# Each passes without a program, cannot run, looks at more than values, or leaves the call out.
OTHERS = {
    "python": [
        "assert 1 == 1, f(2)",
        "assert True or f(2)",
        "assert 2 < 1 < f(2) or 1",
        "assert [f(x) for x in ()] == []",
        "assert (lambda: f(2))",
        "assert sum([1, 2]) == 3",
        "assert compile",
        "assert __name__",
        "assert f(2).__code__",
        "assert str(f.__doc__)",
        "import numpy\nassert f(2) == 4",
        "def f(x): return x\nassert f(2) == 2",
        "assert f(2) == 4; assert 1",
        "assert (f := 4) == 4",
        "assert 'é' 4",
        "",
        "(" * 3000,
        "x = f(2)",
    ],
    "javascript": [
        "assert(true || f(2))",
        "assert(true ? 1 : f(2))",
        "assert(typeof f(2))",
        "assert(parseInt('3') === 3)",
        "assert(Number('3') === 3)",
        "assert(() => f(2))",
        "assert(f.toString() === 'x')",
        "assert(`${f(2)}`)",
        "assert(/f(2)/)",
        "assert(1); f(2)",
        "require('lodash').equal(f(2), 4)",
        "require(name('assert')).equal(f(2), 4)",
        "if (f(2) !== 4) throw new Error('wrong')",
        "assert(globalThis)",
        "function f(x) { return x }",
        "assert.ok([1].map(f))",
        "assert(x = f(2))",
        "assert('f(2)')",
        "",
        "(" * 3000,
    ],
}


@tables
def test_plain_calls_are_known_and_fail_without_a_program(language: str, text: str) -> None:
    assert are_plain_calls(Tests((text,)), language)
    (result,) = RewardExecutor().execute("", language, tests=[text]).tests
    assert not result.passed and ("NameError" in result.message or "Reference" in result.message)


@pytest.mark.parametrize(
    ("language", "text"), [(lang, text) for lang in OTHERS for text in OTHERS[lang]]
)
def test_everything_else_is_for_a_run_to_show(language: str, text: str) -> None:
    assert not are_plain_calls(Tests((text,)), language)


def test_one_test_that_is_no_plain_call_decides_for_all() -> None:
    assert not are_plain_calls(Tests(("assert f(1)", "import numpy")), "python")
    assert not are_plain_calls(Tests(("assert f(1)",), setup="f = abs"), "python")
    assert not are_plain_calls(Tests(("def check(f): assert f(1)",), entry_point="f"), "python")
    assert not are_plain_calls(Tests(()), "python")
    assert not are_plain_calls(Tests(("assert f(1)",)), "cobol")
