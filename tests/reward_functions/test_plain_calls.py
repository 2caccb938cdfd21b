"""Tests that only call the program: which ones are known to, without a run."""

from __future__ import annotations

from infinite_rl.reward_functions.coding.plain_calls import are_plain_calls
from infinite_rl.reward_functions.coding.reference import Tests
from infinite_rl.sandbox.executor import RewardExecutor
from tests.support.labelled import Tables

tables = Tables(__file__)


@tables
def test_plain_calls_are_known_and_fail_without_a_program(language: str, text: str) -> None:
    assert are_plain_calls(Tests((text,)), language)
    (result,) = RewardExecutor().execute("", language, tests=[text]).tests
    assert not result.passed and ("NameError" in result.message or "Reference" in result.message)


# Each passes without a program, cannot run, looks at more than values, or leaves the call out.
@tables
def test_everything_else_is_for_a_run_to_show(language: str, text: str) -> None:
    assert not are_plain_calls(Tests((text,)), language)


def test_one_test_that_is_no_plain_call_decides_for_all() -> None:
    assert not are_plain_calls(Tests(("assert f(1)", "import numpy")), "python")
    assert not are_plain_calls(Tests(("assert f(1)",), setup="f = abs"), "python")
    assert not are_plain_calls(Tests(("def check(f): assert f(1)",), entry_point="f"), "python")
    assert not are_plain_calls(Tests(()), "python")
    assert not are_plain_calls(Tests(("assert f(1)",)), "cobol")
    assert not any(are_plain_calls(Tests(("(" * 3000,)), each) for each in ("python", "javascript"))
