"""Reading Python tests: what the guest is asked, what the host keeps, and what stays the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.python.tests import Closed, GuestValue, Literal, Test, read_tests
from tests.support.labelled import Tables

tables = Tables(__file__)

HERE = Path(__file__).parent
PROGRAM = (HERE / "python_tests_program.txt").read_text(encoding="utf-8")
LINES = (HERE / "python_tests.txt").read_text(encoding="utf-8").splitlines()
CASES = [line.partition(" ")[::2] for line in LINES if not line.startswith("#")]


def read(text: str, entry_point: str = "", setup: str = "") -> Test:
    return read_tests((text,), setup, entry_point).tests[0]


# --- the meaning stays ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(CASES), 40))
def test_a_test_passes_where_it_passes_in_cpython(start: int) -> None:
    executor = RewardExecutor()
    for wanted, line in CASES[start : start + 40]:
        text = line.replace("\\n", "\n").replace("\\\\", "\\")
        (result,) = executor.execute(PROGRAM, "python", tests=[text]).tests
        assert result.passed is (wanted == "pass"), (text, result.message)


SUITES = (HERE / "python_suites.txt").read_text(encoding="utf-8").split("\n# ")[2:]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(SUITES)))
def test_each_program_is_judged_as_by_cpython(number: int) -> None:
    first, *others = (line.replace("\\n", "\n") for line in SUITES[number].splitlines())
    programs, executor = [first], RewardExecutor(timeout=3)
    for line in others:
        if line.startswith("~ "):
            old, _, new = line[2:].partition(" => ")
            programs.append(first.replace(old, new))
            continue
        _, wanted, test = line.split(" ", 2)
        for program, verdict in zip(programs, wanted, strict=True):
            results = executor.execute(program, "python", tests=[test]).tests
            assert [each.passed for each in results] in ([verdict == "p"], []), (program, test)
            assert results or verdict == "f", (program, test)


# --- what is asked -------------------------------------------------------------------------------


@tables
def test_the_guest_is_asked_for_values_alone(text: str, source: str) -> None:
    assert read(text).source == ast.unparse(ast.parse(source))  # as this Python writes it


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    assert f(1) == 2\nfinally:\n    pass",
        "with suppress(AssertionError):\n    assert f(1) == 2",
        "with __raises__(AssertionError):\n    assert f(1) == 2",
        "def h():\n    assert f(1) == 2\ntry:\n    h()\nexcept Exception:\n    pass",
        "a = = 1",
        "x" * 100_001,
    ],
)
def test_what_may_be_expected_to_fail_or_cannot_be_read_is_left_as_it_is(text: str) -> None:
    assert read(text) == Test(text)


@tables
def test_what_the_program_may_change_is_computed_beside_it(text: str) -> None:
    (assertion,) = read(text).assertions
    assert assertion.beside
    assert set(assertion.rows) == {(GuestValue(0), GuestValue(1))}


def test_literals_are_read_on_the_host() -> None:
    text = "assert f(1) == [-1, 2.5, (1 + 2j,), {'a': {3}}, b'x', None]"
    (assertion,) = read(text).assertions
    assert assertion.rows == (
        (GuestValue(0), Literal([-1, 2.5, (1 + 2j,), {"a": {3}}, b"x", None])),
    )


def test_closed_expressions_are_computed_elsewhere_with_their_imports() -> None:
    reading = read_tests(("assert f(1) == math.sqrt(2)", "assert f(2) == len('ab')"), "import math")
    assert reading.closed == (
        "import math as math\n__judge__(0, math.sqrt(2))",
        "__judge__(0, len('ab'))",
    )
    assert reading.tests[1].assertions[0].rows == ((GuestValue(0), Closed(1)),)


def test_a_name_of_the_program_or_the_test_is_never_closed() -> None:
    for text in ("assert f(1) == len('a')", "def len(x): return 1\nassert f(1) == len('a')"):
        entry_point = "" if "def" in text else "len"
        assert read_tests((text,), "", entry_point).closed == ()
    assert read_tests(("assert f(1) == len('a')",), "from lib import len").closed == ()


def test_a_refused_expression_is_asked_beside_the_program() -> None:
    refused = frozenset({"__judge__(0, 1 / 0)"})
    (test,) = read_tests(("assert f(1) == 1 / 0",), "", "", refused).tests
    assert test.source == "__both__(0, '==', f(1), 1 / 0)"


# --- what must be reported -------------------------------------------------------------------


@tables
def test_how_often_an_assertion_must_be_reached(text: str, times: int | None) -> None:
    assertion = read(text).assertions[-1]
    assert (len(assertion.rows) if assertion.exact else None) == times


def test_check_is_run_once_with_an_entry_point() -> None:
    text = "def check(candidate):\n    assert candidate(1) == 2"
    assert read(text, "f").assertions[0].exact
    assert not read(text).assertions[0].exact


def test_reading_leaves_no_expected_value_in_the_source() -> None:
    text = """
CASES = [((1,), 71717), ((2,), 71718)]
def check(candidate):
    want = 71719
    assert candidate(0) == want, f"not {want}"
    for number, (args, wanted) in enumerate(CASES):
        got = candidate(*args)
        assert got == wanted, f"case {number}: {got} is not {wanted}"
    assert candidate(3) in {71711, 71712} and candidate(4) != 71713
"""
    assert "7171" not in read(text, "f").source


# --- messages ------------------------------------------------------------------------------------


@tables
def test_a_failure_says_what_was_asserted_and_what_came(test: str, message: str) -> None:
    (result,) = RewardExecutor().execute(PROGRAM, "python", tests=[test]).tests
    assert message in result.message
    assert len(result.message) <= 500


# --- setup ---------------------------------------------------------------------------------------


def test_setup_runs_after_the_program_and_before_the_tests() -> None:
    executor = RewardExecutor()
    program = {"setup": "import math\nhalf = f(3) / 2", "tests": ["assert half == 1.5"]}
    assert executor.execute(PROGRAM, "python", **program).tests[0].passed


def test_a_name_that_the_setup_reads_stays_with_the_program() -> None:
    program = {"setup": "def h(): return f(n)", "tests": ["n = 8\nassert h() == n"]}
    assert RewardExecutor().execute(PROGRAM, "python", **program).tests[0].passed


def test_a_setup_that_fails_leaves_no_results() -> None:
    execution = RewardExecutor().execute(PROGRAM, "python", setup="1 / 0", tests=["assert True"])
    assert (execution.status, execution.tests) == ("error", ())
    assert "ZeroDivisionError" in execution.stderr


def test_a_closed_value_that_is_too_large_to_cross_is_judged_beside_the_program() -> None:
    test = "assert f(1) != set(range(0, 2**61 * 2**9, 2**61 - 1))"
    assert (
        RewardExecutor()
        .execute(PROGRAM, "python", tests=[test])
        .tests[0]
        .message.startswith("AssertionError: a value cannot be compared")
    )


def test_a_closed_expression_without_a_value_is_judged_beside_the_program() -> None:
    tests = ["assert f(1) == 1 / 0", "assert f(1) == int('1')"]
    execution = RewardExecutor().execute(PROGRAM, "python", tests=tests)
    assert [each.passed for each in execution.tests] == [False, True]
    assert execution.tests[0].message.startswith("ZeroDivisionError")
