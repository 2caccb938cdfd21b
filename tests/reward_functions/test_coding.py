"""The coding reward in the real sandbox: what passes, what fails, and what cannot be judged."""

from __future__ import annotations

import json
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from infinite_rl.errors import UnknownName, UsageError
from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions.coding import CodingRewardFunction, read_submission
from infinite_rl.reward_functions.coding import reward as coding
from infinite_rl.reward_functions.coding.reference import (
    BadReference,
    Call,
    Calls,
    Cases,
    Output,
    Predicate,
    ReferenceCode,
    Tests,
    read_reference,
)
from infinite_rl.reward_functions.math import MathRewardFunction
from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Execution, Program, RewardFunctionScore, Sample, TestResult
from infinite_rl.workers.pool import Lost
from tests.support.labelled import Tables

tables = Tables(__file__)

REWARD = CodingRewardFunction(timeout=5)
HASTY = CodingRewardFunction(timeout=0.5)
DOUBLE = "def double(x):\n    return 2 * x"
DOUBLE_TESTS = {
    "tests": ["assert double(2) == 4", "assert double(0) == 0", "assert double(-3) == -6"]
}


def answer(code: str, language: str = "python") -> str:
    return f"Here it is.\n{tagged(fenced(code, language))}"


def judge(code: str, expected: Any, language: str = "python") -> RewardFunctionScore:
    return REWARD.compute_reward(answer(code, language), expected, language=language)


# --- the submission: which code is run, and what its format is worth


@tables
def test_the_format_score_follows_tag_and_fence(
    output: str, format_score: float, code: str
) -> None:
    submission = read_submission(output, "answer", "python")
    assert (submission.format_score, submission.code.strip()) == (format_score, code)
    assert bool(submission.error) == (not code)


@tables
def test_the_block_of_the_right_language_wins(blocks: list[tuple[str, str]], taken: str) -> None:
    content = "\n".join(fenced(code, language) for language, code in blocks)
    assert read_submission(tagged(content), "answer", "python").code.strip() == taken


def test_a_whole_block_wins_over_a_damaged_one() -> None:
    content = f"{fenced('print(1)', 'python')}\n```python\nprint(2)"
    assert read_submission(tagged(content), "answer", "python").code.strip() == "print(1)"


def test_the_last_tag_counts_and_thinking_does_not() -> None:
    output = f"<think>\n{answer('print(1)')}\n</think>\n{answer('print(2)')}\n{answer('print(3)')}"
    assert read_submission(output, "answer", "python").code.strip() == "print(3)"


def test_a_tag_of_another_name_is_read_on_request() -> None:
    output = answer("print(42)").replace("answer>", "solution>")
    assert REWARD.compute_reward(output, "42", answer_tag="solution").passed
    assert REWARD.compute_reward(output, "42").format_score == 0.0


# --- the reference: told apart by shape, never guessed


@tables
def test_text_is_a_text_even_where_it_looks_like_code(text: str) -> None:
    assert read_reference(text) == Output(text)


@pytest.mark.parametrize(
    ("expected", "reference"),
    [
        (42, Output("42")),
        (2.5, Output("2.5")),
        (True, Output("True")),
        ({"a": 1}, Output('{"a": 1}')),
        ([1, "é"], Output('[1, "é"]')),
        ("```python\nprint(1)\n```", ReferenceCode("print(1)", "python")),
        ("\n```js\n1\n```\n\n```\n2\n```\n", ReferenceCode("1\n2", "javascript")),
        ("```\nprint(1)\n```", ReferenceCode("print(1)", "")),
        ("```text\n42\n```", Output("42")),
        ('```json\n{"tests": ["a"]}\n```', Tests(("a",))),
        ({"tests": ["a", "b"]}, Tests(("a", "b"))),
        ({"tests": ["a"], "setup": ["import re", "pass"]}, Tests(("a",), "", "import re\npass")),
        ({"tests": "def check(c): ...", "entry_point": "f"}, Tests(("def check(c): ...",), "f")),
        ({"cases": [{"input": "1", "output": "2"}, {"output": 3}]}, Cases((("1", "2"), ("", "3")))),
        ({"cases": [{"output": 3}], "compare": "exact"}, Cases((("", "3"),), True)),
        ({"cases": [{"output": 3}], "compare": "tolerant"}, Cases((("", "3"),))),
        ({"output": " A\n", "compare": "exact"}, Output(" A\n", True)),
        ({"output": 4, "compare": "tolerant"}, Output("4")),
        ({"output": 4}, Output("4")),
        ({"output": "9", "file": "a.py", "language": "python"}, Output("9", language="python")),
        ({"output": {"output": 4}}, Output('{"output": 4}')),  # so the object itself is expected
        ({"output": 4, "total": 5}, Output('{"output": 4, "total": 5}')),
        ({"text": "a", "size": 5}, Output('{"text": "a", "size": 5}')),
        ({"language": "en", "name": "x"}, Output('{"language": "en", "name": "x"}')),
        ({"tests": "assert f(2) == 4"}, Tests(("assert f(2) == 4",))),
        ({"cases": [{"output": 3}], "file": "a.py"}, Cases((("", "3"),))),
        (
            {"entry_point": "f", "cases": [{"args": [1], "kwargs": {"k": 2}, "output": None}]},
            Calls("f", (Call((1,), {"k": 2}, None),)),
        ),
    ],
)  # fmt: skip
def test_each_form_of_reference_is_known_by_its_shape(expected: Any, reference: object) -> None:
    assert read_reference(expected) == reference
    if isinstance(expected, dict):
        assert read_reference(json.dumps(expected)) == reference


@tables
def test_text_that_is_nothing_but_assertions_is_tests(text: str, language: str, count: int) -> None:
    read = read_reference(text)
    assert isinstance(read, Tests)
    assert (read.language, len(read.tests)) == (language, count)
    codes = {
        "python": "def f(x): return {} * x",
        "javascript": "function f(x) {{ return {} * x; }}",
    }
    for name in [language] if language else codes:
        assert judge(codes[name].format(2), text, name).passed
        assert judge(codes[name].format(3), text, name).status == "failed"
        shown = "print" if name == "python" else "console.log"
        assert judge(f"{shown}({json.dumps(text)})", text, name).status == "failed"


@tables
def test_text_that_is_more_than_assertions_stays_a_text(text: str) -> None:
    assert read_reference(text) == Output(text)


def test_assertions_are_found_in_linear_time() -> None:
    for part in ("assert f(2)\n", "assert (", "console.assert(f(", "console.assert(f(1))\n"):
        started = time.process_time()
        read_reference(part * (200_000 // len(part)))
        assert time.process_time() - started < 2


def test_a_callable_is_a_predicate() -> None:
    assert read_reference(str.isdigit) == Predicate(str.isdigit)


CIRCULAR: list[Any] = []
CIRCULAR.append(CIRCULAR)
UNWRITABLE: list[Any] = [
    CIRCULAR,
    10**5000,  # more digits than Python writes
    {"cases": [{"output": 10**5000}]},
    {"output": "9", "tolerance": float("nan")},
]


def check_unscored(expected: Any) -> None:
    with pytest.raises(BadReference):
        read_reference(expected)
    score = judge("print('anything')", expected)
    assert (score.status, score.correctness_score, score.format_score) == ("unscored", 0.0, 1.0)
    assert score.error_msg.startswith("cannot judge: ")


@tables
def test_a_malformed_reference_is_unscored_with_its_reason(expected: Any) -> None:
    check_unscored(expected)


@pytest.mark.parametrize("expected", UNWRITABLE, ids=range(len(UNWRITABLE)))
def test_a_reference_that_cannot_be_written_is_unscored(expected: Any) -> None:
    check_unscored(expected)


@tables
def test_the_reason_says_what_was_meant(reference: dict[str, Any], reason: str) -> None:
    for given in (reference, json.dumps(reference)):
        score = judge("print(9)", given)
        assert score.status == "unscored"
        assert reason in score.error_msg
        assert score.error_msg.endswith(reason) or reason.endswith(("[", ": "))


def test_an_object_with_many_keys_is_read_quickly_as_a_text() -> None:
    many = {"output": 1} | {f"key{n}" * 20: n for n in range(20_000)}
    assert read_reference(many) == Output(json.dumps(many))


# --- expected output


@pytest.mark.parametrize(
    "more", [{}, {"tolerance": 1e-6}, {"language": "python"}, {"file": "a.py"}]
)
def test_the_output_of_an_object_is_what_is_printed(more: dict[str, Any]) -> None:
    reference = {"output": "0.3 ok", **more}
    for given in (reference, json.dumps(reference), f"```json\n{json.dumps(reference)}\n```"):
        assert judge("print('0.3 ok')", given).passed
        assert judge("print(0.3000001, 'ok')", given).passed is ("tolerance" in more)
        assert judge("print('0.4 ok')", given).status == "failed"
        assert judge(f"print({json.dumps(reference)!r})", given).status == "failed"


@tables
def test_a_right_output_passes_with_the_score_of_its_rung(
    code: str, expected: Any, correctness: float
) -> None:
    score = judge(code, expected)
    assert (score.status, score.correctness_score) == ("passed", correctness)
    assert (score.format_score, score.error_msg) == (1.0, "")


@tables
def test_a_similar_output_fails_however_similar_and_says_what_was_wanted(
    code: str, expected: Any
) -> None:
    score = judge(code, expected)
    assert score.status == "failed"
    assert score.correctness_score < 0.95
    assert score.error_msg.startswith(f"wrong output: expected {str(expected)!r}, got ")


@tables
def test_a_program_that_ends_badly_fails_whatever_it_printed(code: str) -> None:
    score = judge(code, "42")
    assert (score.status, score.correctness_score) == ("failed", 0.0)
    assert "exit code" in score.error_msg


def test_the_error_of_the_program_is_told() -> None:
    assert "ZeroDivisionError: division by zero" in judge("1 / 0", "1").error_msg


def test_messages_are_short_however_long_the_texts() -> None:
    long = judge("print('a' * 100_000)", "b" * 100_000)
    assert len(long.error_msg) < 500
    assert "(100000 characters)" in long.error_msg
    assert len(judge("raise ValueError('a' * 100_000)", "1").error_msg) < 700


def test_code_that_does_not_compile_is_no_code_of_its_language() -> None:
    score = judge("print(42", "42")
    assert (score.format_score, score.correctness_score) == (0.5, 0.0)
    assert "SyntaxError" in score.error_msg
    assert judge("def f(:", DOUBLE_TESTS).format_score == 0.5
    assert judge("def f(:", {"cases": [{"output": "1"}]}).format_score == 0.5
    assert judge("eval('1 +')", "42").format_score == 1.0  # it compiles, then fails


def test_prose_in_the_tag_fails_with_half_the_format() -> None:
    score = REWARD.compute_reward(tagged("I am not able to do that."), "42")
    assert (score.format_score, score.correctness_score, score.status) == (0.5, 0.0, "failed")


def test_the_limits_are_named() -> None:
    loop = HASTY.compute_reward(answer("while True: pass"), "1")
    assert (loop.status, loop.error_msg) == (
        *("failed", "timeout: the program ran longer than 0.5 seconds"),
    )
    assert "memory" in judge("x = 'a' * 10**9", "1").error_msg
    assert "printed too much" in judge("for _ in range(10**4): print('a' * 1000)", "1").error_msg


# --- reference code and predicates


def test_reference_code_is_run_for_its_output() -> None:
    reference = fenced("print(sum(range(10)))", "python")
    assert judge("print(45)", reference).passed
    assert not judge("print(44)", reference).passed
    assert judge("print(45)", fenced("print(45)", "")).passed


def test_what_is_in_fences_that_hold_no_code_is_read_on_but_not_without_end() -> None:
    program = fenced("print(45)", "python")
    assert judge("print(45)", fenced(program, "markdown")).passed
    for _ in range(500):
        program = fenced(program, "text")
    score = judge("print(45)", program)
    assert (score.status, score.correctness_score) == ("unscored", 0.0)


def test_reference_code_runs_in_its_own_language() -> None:
    assert judge("console.log(45)", fenced("print(45)", "python"), "javascript").passed


@pytest.mark.parametrize("code", ["1 / 0", "import sys; print(1); sys.exit(2)", "x = 1", "print("])
def test_reference_code_that_fails_or_prints_nothing_leaves_no_verdict(code: str) -> None:
    score = judge("pass", fenced(code, "python"))
    assert (score.status, score.correctness_score) == ("unscored", 0.0)
    assert "reference" in score.error_msg


def test_reference_code_is_run_once_for_a_group() -> None:
    runs: list[str] = []

    class Counting(RewardExecutor):
        def execute(self, code: str, *args: Any, **options: Any) -> Execution:
            runs.append(code)
            return super().execute(code, *args, **options)

    reward = CodingRewardFunction(executor=Counting())
    for _ in range(3):
        assert reward.compute_reward(answer("print(5)"), fenced("print(2 + 3)", "python")).passed
    assert sum("2 + 3" in code for code in runs) == 1


@pytest.mark.parametrize(
    ("predicate", "status", "correctness"),
    [
        (lambda text: text == "42", "passed", 1.0),
        (lambda text: text == "41", "failed", 0.0),
        (lambda _: 1, "passed", 1.0),
        (lambda _: 0.25, "failed", 0.25),
        (lambda _: 0.99, "failed", 0.99),
        (lambda _: 1 / 0, "unscored", 0.0),
        (lambda _: None, "unscored", 0.0),
        (lambda _: "yes", "unscored", 0.0),
        (lambda _: 7, "unscored", 0.0),
        (lambda _: -0.5, "unscored", 0.0),
        (lambda _: float("nan"), "unscored", 0.0),
    ],
)  # fmt: skip
def test_a_predicate_gives_credit_and_passes_only_in_full(
    predicate: Any, status: str, correctness: float
) -> None:
    score = judge("print(42)", predicate)
    assert (score.status, score.correctness_score) == (status, correctness)


def test_a_predicate_is_not_asked_about_a_program_that_failed() -> None:
    assert judge("1 / 0", lambda _: True).status == "failed"


# --- tests and cases


def test_all_tests_must_pass() -> None:
    score = judge(DOUBLE, DOUBLE_TESTS)
    assert (score.status, score.correctness_score, score.error_msg) == ("passed", 1.0, "")


def test_some_tests_give_their_share_and_name_the_first_that_failed() -> None:
    score = judge("def double(x):\n    return 4 if x else 0", DOUBLE_TESTS)
    assert (score.status, score.correctness_score) == ("failed", pytest.approx(2 / 3))
    assert score.error_msg.startswith("2 of 3 tests passed; test 3 failed: AssertionError")
    assert "double(-3) == -6" in score.error_msg
    assert score.details == {"tests": 3, "tests_passed": 2}


def test_an_error_in_one_test_leaves_the_others() -> None:
    score = judge("def double(x):\n    return [0, 0, 4][x] if x >= 0 else 1 / 0", DOUBLE_TESTS)
    assert score.correctness_score == pytest.approx(2 / 3)
    assert "ZeroDivisionError" in score.error_msg


def test_a_check_function_is_called_with_the_entry_point() -> None:
    check = "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == 6"
    assert judge(DOUBLE, {"tests": check, "entry_point": "double"}).passed
    assert not judge("def double(x): return 4", {"tests": check, "entry_point": "double"}).passed
    assert not judge(DOUBLE, {"tests": check, "entry_point": "missing"}).passed


def test_setup_is_there_for_the_tests() -> None:
    spec = {"tests": ["assert math.isclose(half(1), 0.5)"], "setup": ["import math"]}
    assert judge("from __future__ import annotations\ndef half(x): return x / 2", spec).passed


def test_a_test_that_never_ends_is_a_timeout() -> None:
    code = "def double(x):\n    while x == 0: pass\n    return 2 * x"
    score = HASTY.compute_reward(answer(code), DOUBLE_TESTS)
    assert (score.status, score.correctness_score) == ("failed", pytest.approx(1 / 3))
    assert score.error_msg.startswith("1 of 3 tests passed; timeout")


SUM_CASES = {"cases": [{"input": "1 2\n", "output": "3"}, {"input": "-5 5", "output": 0}]}


def test_cases_give_the_program_its_input() -> None:
    assert judge("print(sum(map(int, input().split())))", SUM_CASES).passed
    assert judge("import sys; print(sum(map(int, sys.stdin.read().split())))", SUM_CASES).passed


def test_some_cases_give_their_share_and_name_the_first_that_failed() -> None:
    score = judge("print(3)", SUM_CASES)
    assert (score.status, score.correctness_score) == ("failed", 0.5)
    assert score.error_msg == (
        "1 of 2 cases passed; case 2 with input '-5 5': wrong output: expected '0', got '3'"
    )
    assert score.details == {"cases": 2, "cases_passed": 1}


def test_a_case_that_crashes_fails_and_the_others_count() -> None:
    score = judge(
        "a, b = map(int, input().split()); print(3 // (3 if a > 0 else 0) * 3)", SUM_CASES
    )
    assert (score.status, score.correctness_score) == ("failed", 0.5)


def test_after_a_limit_was_met_the_other_cases_are_not_run() -> None:
    runs: list[str] = []

    class Slow:
        def execute(self, *_: Any, stdin: str = "", **__: Any) -> Execution:
            runs.append(stdin)
            return Execution("", "", 1, "timeout")

    cases = {"cases": [{"input": str(number), "output": "1"} for number in range(50)]}
    score = CodingRewardFunction(executor=Slow()).compute_reward(answer("loop()"), cases)
    assert (score.status, score.correctness_score, runs) == ("failed", 0.0, ["0"])


@pytest.mark.parametrize(("each_s", "runs", "status"), [(0.9, 23, "failed"), (0.4, 50, "passed")])
def test_all_cases_together_take_twenty_timeouts_at_most(
    each_s: float, runs: int, status: str
) -> None:
    ran = []

    class Slow:
        def execute(self, *_: Any, **__: Any) -> Execution:
            ran.append(1)
            return Execution("1", "", 0, "ok", each_s)

    reward = CodingRewardFunction(timeout=1, executor=Slow())
    score = reward.compute_reward(answer("print(1)"), {"cases": [{"output": 1}] * 50})
    assert (len(ran), score.status) == (runs, status)
    assert score.passed or "23 of 50 cases passed; timeout" in score.error_msg


EXACT = {"cases": [{"input": "1", "output": "A  b\n"}], "compare": "exact"}


@pytest.mark.parametrize("code", ["print('A  b')", "print('A  b', end='')"])
@pytest.mark.parametrize("expected", [EXACT, {"output": "A  b", "compare": "exact"}])
def test_an_exact_comparison_forgives_one_last_newline(code: str, expected: Any) -> None:
    assert judge(code, expected).passed


@pytest.mark.parametrize("text", ["A b", "a  b", " A  b", "A  b ", "A  b\n", "A  b\r", ""])
@pytest.mark.parametrize("expected", [EXACT, {"output": "A  b", "compare": "exact"}])
def test_an_exact_comparison_forgives_nothing_else(text: str, expected: Any) -> None:
    score = judge(f"print({text!r})", expected)
    assert score.status == "failed"
    assert score.correctness_score < 0.95


def test_an_exact_comparison_tells_numbers_apart_by_how_they_are_written() -> None:
    assert judge("print(7.0)", {"output": 7, "compare": "tolerant"}).passed
    assert not judge("print(7.0)", {"output": 7, "compare": "exact"}).passed


# --- calls of a function

VALUES: list[Any] = [
    *(None, True, False, 0, -1, 2**53, 0.1, -0.0, 1e300, 1e-300, float("inf"), -float("inf")),
    *("", 'it\'s "so"', "\\n\n\0", "${x}`", "\u2028 é 🦆", "\ud800", "__proto__", [], {}, [[]]),
    *([1, [2, {"a": [None]}]], {"__proto__": 1, "": 2, "a b": {"é": [3]}}),
]


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_values_go_in_and_come_out_exactly(language: str) -> None:
    same = {"python": "def same(x): return x", "javascript": "function same(x) { return x; }"}
    cases = [{"args": [value], "output": value} for value in VALUES if value != "\ud800"]
    assert judge(same[language], {"entry_point": "same", "cases": cases}, language).passed


@pytest.mark.parametrize("language", ["python", "javascript"])
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_value_is_not_taken_for_another(language: str, value: Any) -> None:
    other = {"python": "def f(): return [7]", "javascript": "function f() { return [7]; }"}
    spec = {"entry_point": "f", "cases": [{"args": [], "output": value}]}
    assert judge(other[language], spec, language).status == "failed"


def test_a_call_may_have_several_arguments_some_by_name() -> None:
    spec = {
        "entry_point": "f",
        "cases": [
            {"args": [1, 2], "kwargs": {"scale": 10}, "output": 30},
            {"args": [1, 2], "output": 3},
        ],
    }
    assert judge("def f(a, b, scale=1): return (a + b) * scale", spec).passed
    half = judge("def f(a, b, scale=1): return a + b", json.dumps(spec))
    assert (half.status, half.correctness_score) == ("failed", 0.5)
    assert "assert f(1, 2, scale=10) == 30" in half.error_msg


def test_a_tuple_is_an_array_of_json_as_an_argument_it_stays_one() -> None:
    spec = {"entry_point": "f", "cases": [{"args": [], "output": (1, (2,), ())}]}
    assert judge("def f(): return (1, (2,), ())", spec).passed
    assert judge("def f(): return [1, [2], ()]", spec).passed
    assert not judge("def f(): return [1, [2], [()]]", spec).passed
    hashed = {"entry_point": "f", "cases": [{"args": [(1, 2)], "output": 1}]}
    assert judge("def f(pair): return len({pair})", hashed).passed


@pytest.mark.parametrize(
    ("language", "case"),
    [
        ("javascript", {"args": [], "kwargs": {"a": 1}, "output": 1}),
        ("javascript", {"args": [2**53 + 1], "output": 1}),
        ("javascript", {"args": [{1: 2}], "output": 1}),
        ("python", {"args": [], "kwargs": {"class": 1}, "output": 1}),
        ("python", {"args": [], "kwargs": {"a b": 1}, "output": 1}),
        ("python", {"args": [{1, 2}], "output": 1}),
        ("python", {"args": [10**5000], "output": 1}),
        *(
            (language, {"args": [], "output": output})
            for language in ("python", "javascript")
            for output in (b"", object(), json.loads("[" * 150 + "]" * 150))
        ),
    ],
)
def test_a_call_that_the_language_cannot_write_is_unscored(language: str, case: Any) -> None:
    score = judge("pass", {"entry_point": "f", "cases": [case]}, language)
    assert score.status == "unscored"
    assert score.error_msg.startswith("cannot judge: ")


def test_a_function_with_no_possible_name_is_unscored() -> None:
    spec = {"cases": [{"args": [], "output": 1}]}
    assert judge("x = 1", {**spec, "entry_point": "class"}).status == "unscored"
    assert judge("x = 1", {**spec, "entry_point": "$f"}).status == "unscored"
    code = "function $f() { return 1; }"
    assert judge(code, {**spec, "entry_point": "$f"}, "javascript").passed


# --- many at once


@pytest.mark.slow
def test_many_are_judged_like_one() -> None:
    reward = CodingRewardFunction(timeout=2, shaping={"repetition": 0.1})
    outputs = [
        *(answer("print(42)"), answer("print(41)"), answer("print(42"), "no tag", ""),
        *(answer(DOUBLE), answer("def double(x): return 4"), answer("while True: pass")),
        *(answer("print(42)"), answer("print(6)"), answer("print('\ud800')")),
    ]
    expected: list[Any] = [
        *("42", 42, "42", "42", "42", DOUBLE_TESTS, json.dumps(DOUBLE_TESTS), "1"),
        *(None, {"cases": [{"output": (1, 2)}]}, {"output": "?", "compare": "exact"}),
    ]
    one_by_one = [
        reward.compute_reward(output, wanted)
        for output, wanted in zip(outputs, expected, strict=True)
    ]
    many = reward.compute_rewards(outputs, expected)
    assert many == one_by_one
    assert [score.details for score in many] == [score.details for score in one_by_one]


def test_rows_of_several_languages_are_judged_each_in_its_own() -> None:
    python = Sample("coding", "", "1", "", language="python")
    javascript = Sample("coding", "", "1", "", language="js")
    right = {"python": answer("print(1)"), "js": answer("console.log(1)", "javascript")}
    pairs = [(row, right[name]) for row in (python, javascript) * 3 for name in right]
    told = [score.passed for score in CodingRewardFunction().score_many(pairs)]
    assert told == [True, False, False, True] * 3


def test_a_predicate_is_asked_in_this_process_among_the_others() -> None:
    asked: list[str] = []

    def predicate(text: str) -> bool:
        asked.append(text)
        return text == "2"

    outputs = [answer(f"print({number})") for number in range(4)]
    told = CodingRewardFunction().compute_rewards(outputs, ["0", predicate, predicate, "4"])
    assert [score.passed for score in told] == [True, False, True, False]
    assert asked == ["1", "2"]


def test_as_many_references_as_outputs_are_needed() -> None:
    for reward in (CodingRewardFunction(), MathRewardFunction()):
        with pytest.raises(UsageError, match="2 outputs cannot be judged by 1"):
            reward.compute_rewards(["a", "b"], ["1"])
        assert reward.compute_rewards([], []) == []


def test_a_completion_whose_worker_died_twice_is_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Lost("the worker process was killed by signal 11, 2 times")
    monkeypatch.setattr(coding, "in_workers", lambda *_: [lost] * 3)
    for score in CodingRewardFunction().compute_rewards([answer("print(1)")] * 3, ["1"] * 3):
        assert (score.status, score.format_score, score.correctness_score) == ("unscored", 1.0, 0.0)
        assert "signal 11" in score.error_msg


def test_a_reward_derived_from_this_one_judges_many_by_its_own_rules() -> None:
    class Lenient(CodingRewardFunction):
        def compute_reward(self, *_: Any, **__: Any) -> RewardFunctionScore:
            return RewardFunctionScore(1.0, 0.5, status="passed")

    row = Sample("coding", "", "1", "", language="python")
    assert all(score.passed for score in Lenient().compute_rewards(["a"] * 4, ["1"] * 4))
    assert all(score.passed for score in Lenient().score_many([(row, "a")] * 4))


def test_the_limits_of_the_executor_hold_for_many_too() -> None:
    reward = CodingRewardFunction(executor=RewardExecutor(output_limit=10))
    told = reward.compute_rewards([answer("print('a' * 100)")] * 4, ["a" * 100] * 4)
    assert all("printed too much" in score.error_msg for score in told)


def test_an_executor_of_ones_own_is_used_for_many_too() -> None:
    reward = CodingRewardFunction(executor=Reports(True, True, True))
    told = reward.compute_rewards([answer(DOUBLE)] * 4, [DOUBLE_TESTS] * 4)
    assert all(score.passed for score in told)


# --- hostile answers


@tables
def test_no_forgery_passes_the_tests(code: str) -> None:
    score = REWARD.compute_reward(answer(code), DOUBLE_TESTS)
    assert score.status == "failed"
    assert score.correctness_score == 0.0
    assert score.error_msg


@pytest.mark.parametrize("code", ["", "  \n\t"])
@pytest.mark.parametrize("expected", ["", {"tests": ["assert True"]}, lambda _: True])
def test_no_code_is_no_answer_whatever_is_expected(code: str, expected: Any) -> None:
    assert judge(code, expected).status == "failed"
    assert REWARD.compute_reward(tagged(code), expected).status == "failed"


@pytest.mark.parametrize(
    "output",
    ["\x00", "\ud800", "<answer>" * 10_000, "<answer>\ud800print(1)\x00</answer>", "`" * 100_000]
    + [answer("print(1)\x00"), answer("\ud800"), answer("(" * 50_000), answer("-" * 50_000 + "1")],
    ids=range(9),
)
def test_whatever_the_model_wrote_is_scored(output: str) -> None:
    for expected in ("42", DOUBLE_TESTS, SUM_CASES):
        score = REWARD.compute_reward(output, expected)
        assert (score.status, score.correctness_score < 0.95) == ("failed", True)


class Reports:
    """An executor that says what it was told to, of programs; without one nothing passes."""

    def __init__(self, *passed: bool, status: Any = "ok") -> None:
        results = tuple(TestResult(each, "" if each else "wrong") for each in passed)
        self.execution = Execution("", "", int(status != "ok"), status, tests=results)

    def execute(self, code: str, *_: Any, **__: Any) -> Execution:
        return self.execution if code else Execution("", "", 1, "error")


@pytest.mark.parametrize(
    ("executor", "correctness"),
    [
        (Reports(), 0.0),
        (Reports(True, True), 2 / 3),
        (Reports(True, True, True, status="error"), 0.0),
        (Reports(True, True, True, status="timeout"), 0.0),
        (Reports(True, True, True, True), 0.0),
        (Reports(True, True, True, False), 0.0),
        (Reports(True, False, True, status="error"), 2 / 3),
    ],
    ids=range(7),
)
def test_only_all_tests_reported_and_passed_in_a_good_run_is_a_pass(
    executor: Reports, correctness: float
) -> None:
    score = CodingRewardFunction(executor=executor).compute_reward(answer(DOUBLE), DOUBLE_TESTS)
    assert (score.status, score.correctness_score) == ("failed", pytest.approx(correctness))
    assert score.error_msg


# --- languages, threads, construction


def test_set_language_is_for_the_calls_that_name_none() -> None:
    reward = CodingRewardFunction()
    assert reward.language == "python"
    reward.set_language("javascript")
    assert reward.language == "javascript"
    assert reward.compute_reward(answer("print(1)"), "1", language="python").passed
    reward.set_language("py")
    assert reward.compute_reward(answer("print(1)"), "1").passed


@pytest.mark.parametrize("language", ["ruby", "", "Python 2", None])
def test_an_unknown_language_is_refused_with_the_known_ones(language: Any) -> None:
    with pytest.raises(ValueError, match="known: javascript, python"):
        CodingRewardFunction().set_language(language)


def test_an_executor_may_bring_languages_of_its_own() -> None:
    class Echo:
        def run(self, program: Program, _: Limits) -> Execution:
            return Execution(program.code, "", 0, "ok")

    reward = CodingRewardFunction(executor=RewardExecutor(runtimes={"echo": Echo()}))
    content = f"{fenced('other', 'python')}\n{fenced('hello', 'echo')}"
    assert reward.compute_reward(tagged(content), "hello", language="echo").passed
    with pytest.raises(UnknownName):
        reward.compute_reward(tagged(content), "hello", language="ruby")


def test_a_row_is_scored_in_its_own_language() -> None:
    reward = CodingRewardFunction()
    reward.set_language("javascript")
    row = Sample("coding", "Print 1.", "1", "", language="python")
    assert reward.score(row, answer("print(1)")).passed


def test_javascript_is_judged_like_python() -> None:
    double = "function double(x) { return 2 * x; }"
    tests = {"tests": ["console.assert(double(2) === 4)", "console.assert(double(3) === 6)"]}
    assert judge("console.log(6 * 7)", "42", "javascript").passed
    assert judge(double, tests, "javascript").passed
    wrong = judge("function double(x) { return 4; }", tests, "javascript")
    assert (wrong.status, wrong.correctness_score) == ("failed", 0.5)
    line = "const text = require('fs').readFileSync(0, 'utf8'); console.log(text.trim().length)"
    assert judge(line, {"cases": [{"input": "four", "output": "4"}]}, "javascript").passed
    assert judge("throw new Error('no')", "42", "javascript").status == "failed"
    assert judge("function (", "42", "javascript").format_score == 0.5
    assert judge("JSON.parse('{')", "42", "javascript").format_score == 1.0


@tables
def test_no_forgery_in_javascript_passes_the_tests(code: str) -> None:
    equal = "require('assert').strictEqual(double(2), 4)"
    score = judge(code, {"tests": [equal, equal]}, "javascript")
    assert (score.status, score.correctness_score) == ("failed", 0.0)
    assert score.error_msg


def test_one_reward_serves_many_threads() -> None:
    def passed(number: int) -> bool:
        return REWARD.compute_reward(answer(f"print({number})"), number, language="python").passed

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(passed, range(32)))


def test_a_reward_can_be_sent_to_another_process() -> None:
    copy = pickle.loads(pickle.dumps(CodingRewardFunction(shaping={"repetition": 0.1})))
    assert copy.compute_reward(answer("print(1)"), "1").passed


def test_shaping_fills_aux_and_leaves_the_verdict() -> None:
    reward = CodingRewardFunction(shaping={"repetition": 0.1, "length": 0.1})
    score = reward.compute_reward(answer("print(1)"), "1")
    assert set(score.details["aux"]) == {"repetition", "length"}
    assert score.aux_score == pytest.approx(0.2, abs=0.01)
    assert (score.status, score.details["rung"]) == ("passed", "exact")
    assert judge("print(1)", "1").aux_score == 0.0


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_must_be_positive(timeout: float) -> None:
    with pytest.raises(UsageError):
        CodingRewardFunction(timeout=timeout)


@tables
def test_tests_that_cannot_run_at_all_are_the_references_fault(
    language: str, reference: dict[str, Any]
) -> None:
    code = {"python": "def f(x): return 2", "javascript": "const f = x => 2"}[language]
    score = CodingRewardFunction().compute_reward(
        f"<answer>{code}</answer>", reference, language=language
    )
    assert score.status == "unscored" and "cannot run" in score.error_msg


@tables
def test_tests_that_pass_without_a_program_prove_none(language: str, tests: dict[str, Any]) -> None:
    code = {"python": "def f(x): return 4", "javascript": "const f = x => 4"}[language]
    score = CodingRewardFunction().compute_reward(
        f"<answer>{code}</answer>", tests, language=language
    )
    assert score.status == "unscored" and "pass without a program" in score.error_msg


@tables
def test_tests_that_need_a_program_prove_one(
    language: str, code: str, tests: dict[str, Any]
) -> None:
    setup = "const assert = require('assert')" if language == "javascript" else ""
    score = CodingRewardFunction().compute_reward(
        f"<answer>{code}</answer>", {**tests, "setup": setup}, language=language
    )
    assert score.passed, score.error_msg


@pytest.mark.parametrize("runner", ["test", "it", "describe"])
def test_tests_for_a_runner_that_is_not_there_fail_nobody(runner: str) -> None:
    tests = [f"{runner}('f', () => {{ expect(f(2)).toBe(4) }})"]
    score = CodingRewardFunction().compute_reward(
        "<answer>const f = x => 4</answer>", {"tests": tests}, language="javascript"
    )
    assert score.status == "unscored" and "cannot run" in score.error_msg


def test_a_program_that_lacks_the_function_test_has_failed() -> None:
    score = CodingRewardFunction().compute_reward(
        "<answer>const f = x => 4</answer>",
        {"tests": ["console.assert(test(2) === 4)"]},
        language="javascript",
    )
    assert score.status == "failed"


@tables
def test_no_program_can_put_its_fault_on_the_tests(language: str, code: str) -> None:
    tests = {"python": "assert f(1) == 2", "javascript": "console.assert(f(1) === 2)"}
    score = CodingRewardFunction().compute_reward(
        f"<answer>{code}</answer>", {"tests": [tests[language]]}, language=language
    )
    assert score.status == "failed"


@tables
def test_a_test_that_expects_a_syntax_error_is_no_broken_one(
    language: str, reference: dict[str, Any]
) -> None:
    code = {"python": "def f(x): return 2", "javascript": "const f = x => 2"}[language]
    score = CodingRewardFunction().compute_reward(
        f"<answer>{code}</answer>", reference, language=language
    )
    assert score.status == "failed"


def test_a_program_cannot_make_a_package_that_the_sandbox_lacks() -> None:
    code = (
        "import sys, types\nnumpy = types.ModuleType('numpy')\nnumpy.allclose = lambda *_: True\n"
    )
    code += "sys.modules['numpy'] = numpy\ndef f(x): return 0"
    for reference in (
        {"tests": ["import numpy as np\nassert np.allclose(f(1), 1)"]},
        {"setup": "import numpy as np", "tests": ["assert np.allclose(f(1), 1)"]},
    ):
        score = CodingRewardFunction().compute_reward(f"<answer>{code}</answer>", reference)
        assert score.status == "unscored"


@pytest.mark.parametrize("key", ["test", "case"])
def test_a_misspelt_reference_is_not_blamed_on_the_program(key: str) -> None:
    reference: dict[str, Any] = {key: ["assert f(1) == 1"]}
    for expected in (reference, json.dumps(reference)):
        score = CodingRewardFunction().compute_reward(
            "<answer>def f(x): return x</answer>", expected
        )
        assert score.status == "unscored" and f"{key}s" in score.error_msg


def test_a_reference_in_a_language_that_cannot_be_run_is_no_text() -> None:
    score = CodingRewardFunction().compute_reward(
        "<answer>print(4)</answer>", "```ruby\nputs 4\n```"
    )
    assert score.status == "unscored" and "ruby" in score.error_msg


def test_an_exact_difference_is_shown_with_its_white_space() -> None:
    score = CodingRewardFunction().compute_reward(
        "<answer>print(4)</answer>", {"output": "4 ", "compare": "exact"}
    )
    assert "expected '4 ', got '4\\n'" in score.error_msg


def test_a_program_without_fuel_is_not_said_to_have_been_slow() -> None:
    reward = CodingRewardFunction(executor=RewardExecutor(fuel=5_000_000))
    score = reward.compute_reward("<answer>while True: pass</answer>", "4")
    assert score.status == "failed" and "fuel" in score.error_msg


def test_one_text_is_no_list_of_outputs() -> None:
    with pytest.raises(UsageError, match="not one text"):
        CodingRewardFunction().compute_rewards("abc", ["1", "2", "3"])
