"""Reading Python tests: what the guest is asked, what the host keeps, and what stays the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.python.tests import Asked, Closed, Literal, Test, read_tests

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


# --- what is asked -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("assert f(2) == 4", "__judge__(0, f(2))"),
        ("assert 4 == f(2), 'wanted 4'", "__judge__(0, f(2))"),
        ("assert f(2) == sorted([3, 1])", "__judge__(0, f(2))"),
        ("assert f(1) == 1 and f(2) == 4", "__judge__(0, f(1))\n__judge__(1, f(2))"),
        ("assert abs(f(1) - 0.5) < 1e-6", "__judge__(0, f(1))"),
        ("import math\nassert math.isclose(0.5, f(1))", "import math\n__judge__(0, f(1))"),
        ("import pytest\nassert f(1) == pytest.approx(0.5)", "__judge__(0, f(1))"),
        ("assert 1 < f(1) < 5", "__judge__(0, f(1))"),
        ("assert f(1) == 4 or f(1) == 5", "__judge__(0, f(1))"),
        ("assert f(1) in (4, 5)", "__judge__(0, f(1))"),
        ("assert 4 in f(1)", "__judge__(0, __listed__(f(1)))"),
        ("assert f(1) is None", "__judge__(0, f(1))"),
        ("assert not f(1)", "__truth__(0, f(1))"),
        ("assert f(1) == g(1)", "__both__(0, '==', f(1), g(1))"),
        ("x = f(1)\nassert x == 4 or x == 5", "x = f(1)\n__judge__(0, x)"),
        ("want = [4]\nassert f(1) == want", "pass\n__judge__(0, f(1))"),
        ("n = 4\nassert f(n) == n", "n = 4\n__judge__(0, f(n))"),
        ("for a, w in [(1, 2)]:\n    assert f(a) == w", "for a in [1]:\n    __judge__(0, f(a))"),
        (
            "for c in [{'a': 1, 'w': 2}]:\n    assert f(c['a']) == c['w']",
            "for __row0_0 in [1]:\n    __judge__(0, f(__row0_0))",
        ),
        (
            "for c in [(1, 2)]:\n    a, w = c\n    print(f'{w}')\n    assert f(a) == w",
            "for __row0_0 in [1]:\n    a = __row0_0\n    pass\n    pass\n    __judge__(0, f(a))",
        ),
        (
            "a, w = 1, 2\nx = [3, 4]\nw = [5, 6]\nfor i in range(len(x)):\n"
            "    assert f(x[i]) == w[i]",
            "a, w = (1, 2)\nx = [3, 4]\npass\nfor i in [0, 1]:\n    __judge__(0, f(x[i]))",
        ),
        (
            "assert all(f(a) == w for a, w in [(1, 2)])",
            "for __all1_a in [1]:\n    __judge__(0, f(__all1_a))",
        ),
    ],
)
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


@pytest.mark.parametrize(
    "text",
    [
        "a = [3]\nassert f(a) == sorted(a)",
        "want = [3]\nwant.append(4)\nassert f(1) == want",
        "for a in [[3], [4]]:\n    assert f(a) == sorted(a)",
        "want = 1\nexec('want = 2')\nassert f(1) == want",
        "import random\nassert f(1) == random.random()",
    ],
)
def test_what_the_program_may_change_is_computed_beside_it(text: str) -> None:
    (assertion,) = read(text).assertions
    assert assertion.beside
    assert set(assertion.rows) == {(Asked(0), Asked(1))}


def test_literals_are_read_on_the_host() -> None:
    text = "assert f(1) == [-1, 2.5, (1 + 2j,), {'a': {3}}, b'x', None]"
    (assertion,) = read(text).assertions
    assert assertion.rows == ((Asked(0), Literal([-1, 2.5, (1 + 2j,), {"a": {3}}, b"x", None])),)


def test_closed_expressions_are_computed_elsewhere_with_their_imports() -> None:
    reading = read_tests(("assert f(1) == math.sqrt(2)", "assert f(2) == len('ab')"), "import math")
    assert reading.closed == (
        "import math as math\n__judge__(0, math.sqrt(2))",
        "__judge__(0, len('ab'))",
    )
    assert reading.tests[1].assertions[0].rows == ((Asked(0), Closed(1)),)


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


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("assert f(1) == 2", 1),
        ("for a in range(5):\n    assert f(a) == 2", 5),
        ("for a in [1, 2]:\n    for b in 'x', 'y':\n        assert f(a) == b", 4),
        ("def test_f():\n    assert f(1) == 2\ntest_f()", 1),
        ("for a in f(1):\n    assert a == 2", None),
        ("if f(1):\n    assert f(2) == 2", None),
        ("def h():\n    assert f(1) == 2\nh()\nh()", None),
        ("def h():\n    return\n    assert f(1) == 2\nh()", None),
        ("for a in [1, 2]:\n    if f(a): break\n    assert f(a) == 2", None),
    ],
)
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


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("assert f(2) == 5", "AssertionError: assert f(2) == 5 (got 2)"),
        ("assert f(2) == 5, 'five'", "AssertionError: five: assert f(2) == 5 (got 2)"),
        ("assert f(P(1)) == 5", "AssertionError: assert f(P(1)) == 5 (got <P object>)"),
        ("assert f('a') < 5", "TypeError: '<' not supported between instances of 'str' and 'int'"),
        ("assert f(2) == g(2)", "AssertionError: assert f(2) == g(2) (got 2 and 4)"),
        ("assert f(1) == 1\nassert f(2) == 5\nboom(1)", "AssertionError: assert f(2) == 5 (got 2)"),
        ("assert f(10 ** 9999) == 5", "(got <an integer of 33216 bits>)"),
        ("assert f('x' * 10 ** 6) == 5", "xxx"),
        ("f()", "TypeError: f() missing 1 required positional argument: 'x'"),
    ],
)
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
