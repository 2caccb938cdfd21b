"""The executor's promises, language by language where they differ."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest

from infinite_rl.errors import UsageError
from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.executor import Executor, RewardExecutor
from infinite_rl.types import Execution, Program, TestResult
from tests.support.labelled import Tables

tables = Tables(__file__)


class Echo:
    """A user's own language: it prints its source, and remembers what it was given."""

    def __init__(self) -> None:
        self.calls: list[tuple[Program, Limits]] = []

    def run(self, program: Program, limits: Limits) -> Execution:
        self.calls.append((program, limits))
        return Execution(f"  {program.code}\n", " warning ", 0, "ok")


@pytest.fixture
def echo() -> Echo:
    return Echo()


def test_the_short_name_is_the_same_class() -> None:
    assert Executor is RewardExecutor


def test_run_single_strips_stdout_and_stderr(echo: Echo) -> None:
    assert RewardExecutor(runtimes={"echo": echo}).run_single("hi", "echo") == ("hi", "warning")


@pytest.mark.parametrize("name", ["python", "py", "python3", " Python "])
def test_python_has_these_names(name: str) -> None:
    assert RewardExecutor().run_single("print(6 * 7)", name) == ("42", "")


def test_an_unknown_language_is_a_value_error_that_lists_the_known_ones(echo: Echo) -> None:
    with pytest.raises(ValueError, match="'cobol'.*echo, javascript, python"):
        RewardExecutor(runtimes={"echo": echo}).execute("", "cobol")


def test_an_own_runtime_gets_the_program_and_the_limits(echo: Echo) -> None:
    executor = RewardExecutor(3, 64, 500, runtimes={"Echo": echo})
    executor.execute("code", "echo", stdin="in", timeout=2, tests=["t"], entry_point="f")
    assert echo.calls == [(Program("code", "in", ("t",), "f"), Limits(2, 64 * 2**20, 500))]


def test_the_executors_timeout_holds_where_none_is_given(echo: Echo) -> None:
    RewardExecutor(timeout=3, runtimes={"echo": echo}).execute("", "echo")
    assert echo.calls[0][1].timeout_s == 3


def test_fuel_and_seed_of_one_run_replace_the_executors(echo: Echo) -> None:
    executor = RewardExecutor(fuel=10**6, seed=3, runtimes={"echo": echo})
    executor.execute("", "echo")
    executor.execute("", "echo", fuel=5, seed=-4)
    assert [(limits.fuel, limits.seed) for _, limits in echo.calls] == [(10**6, 3), (5, -4)]


def test_with_fuel_the_seed_is_zero_unless_it_is_given(echo: Echo) -> None:
    executor = RewardExecutor(runtimes={"echo": echo})
    executor.execute("", "echo", fuel=5)
    executor.execute("", "echo")
    assert [limits.seed for _, limits in echo.calls] == [0, None]


@pytest.mark.parametrize("value", [0, -1, float("nan"), "5", True])
def test_fuel_that_is_no_positive_number_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="fuel"):
        RewardExecutor(fuel=value)


@pytest.mark.parametrize("value", [1.5, "5", True])
def test_a_seed_that_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="seed"):
        RewardExecutor().execute("", "python", seed=value)


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_fuel_and_seed_hold_in_worker_processes(language: str) -> None:
    loop = {"python": "while True: pass", "javascript": "for (;;);"}[language]
    executor = RewardExecutor(fuel=10**8, timeout=60)
    ends = executor.execute_many([Program(loop)] * 3, language, workers=1)
    assert [end.status for end in ends] == ["timeout"] * 3


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "5", None, True])
@pytest.mark.parametrize("name", ["timeout", "memory_limit_mb", "output_limit", "code_limit"])
def test_a_limit_that_is_no_positive_number_is_refused(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name):
        RewardExecutor(**{name: value})


def test_a_wrong_timeout_of_one_run_is_refused(echo: Echo) -> None:
    with pytest.raises(UsageError, match="timeout"):
        RewardExecutor(runtimes={"echo": echo}).execute("", "echo", timeout=0)


def test_tests_given_as_one_text_are_refused(echo: Echo) -> None:
    with pytest.raises(UsageError, match="tests"):
        RewardExecutor(runtimes={"echo": echo}).execute("", "echo", tests="assert True")


def test_code_that_is_not_text_is_refused(echo: Echo) -> None:
    wrong: Any = None
    with pytest.raises(UsageError, match="text"):
        RewardExecutor(runtimes={"echo": echo}).execute(wrong, "echo")


@pytest.mark.parametrize("count", [1, 5])
def test_code_of_a_batch_that_is_not_text_is_refused(count: int) -> None:
    wrong: Any = None
    with pytest.raises(UsageError, match="text"):
        RewardExecutor().batch_run([wrong] * count, "python")


def test_batch_run_keeps_the_order() -> None:
    codes = [f"print({number})" for number in range(20)]
    results = RewardExecutor().batch_run(codes, "python", threads=4)
    assert results == [(str(number), "") for number in range(20)]


@pytest.mark.parametrize("options", [{}, {"threads": 2}])
def test_batches_of_a_subclass_go_through_its_execute(options: Any) -> None:
    class Counting(RewardExecutor):
        codes: ClassVar[list[str]] = []

        def execute(self, code: str, lang: str, **options: Any) -> Execution:
            self.codes.append(code)
            return super().execute(code, lang, **options)

    codes = ["print(1)"] * 5
    assert Counting().batch_run(codes, "python", **options) == [("1", "")] * 5
    assert Counting.codes == codes


def test_batch_run_of_nothing_is_nothing(echo: Echo) -> None:
    assert RewardExecutor(runtimes={"echo": echo}).batch_run([], "echo") == []


def test_batch_run_refuses_zero_threads(echo: Echo) -> None:
    with pytest.raises(UsageError, match="threads"):
        RewardExecutor(runtimes={"echo": echo}).batch_run(["x"], "echo", threads=0)


def test_it_is_a_context_manager(echo: Echo) -> None:
    with RewardExecutor(runtimes={"echo": echo}) as executor:
        assert executor.execute("x", "echo").status == "ok"


def test_programs_on_many_threads_do_not_mix() -> None:
    executor, outputs = RewardExecutor(), {}

    def work(number: int) -> None:
        execution = executor.execute("print(input())", "python", stdin=str(number))
        outputs[number] = execution.stdout

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {number: f"{number}\n" for number in range(16)}


def test_a_slow_program_does_not_cost_its_neighbour_time() -> None:
    executor, ended = RewardExecutor(), []
    slow = threading.Thread(
        target=lambda: ended.append(executor.execute("while True: pass", "python", timeout=0.3))
    )
    slow.start()
    assert executor.execute("print('x')", "python", timeout=5).status == "ok"
    slow.join()
    assert ended[0].status == "timeout"


@tables
def test_every_language_ends_alike(lang: str, code: str, ending: tuple[str, int]) -> None:
    executor = RewardExecutor(timeout=0.3 if ending[0] == "timeout" else 5, output_limit=100_000)
    execution = executor.execute(code, lang)
    assert (execution.status, execution.exit_code) == ending


@pytest.mark.parametrize(
    "wrong", [{"tests": [1]}, {"tests": 5}, {"tests": "x"}, {"setup": 5}, {"entry_point": 5}]
)
def test_what_is_not_text_is_wrong_usage_for_one_program_and_for_many(wrong: Any) -> None:
    executor = RewardExecutor()
    with pytest.raises(UsageError, match="text"):
        executor.execute("x = 1", "python", **wrong)
    with pytest.raises(UsageError, match="text"):
        list(executor.execute_many([Program("x = 1", **wrong)] * 4, "python"))


@pytest.mark.parametrize("number", [{"threads": 0.5}, {"workers": 0.5}, {"workers": 1.5}])
def test_half_a_worker_is_wrong_usage(number: Any) -> None:
    with pytest.raises(UsageError, match="whole"):
        RewardExecutor().batch_run(["1"] * 4, "python", **number)


def test_one_text_is_no_batch_and_a_text_is_no_program() -> None:
    with pytest.raises(UsageError, match="not one text"):
        RewardExecutor().batch_run("print(1)", "python")
    with pytest.raises(UsageError, match="must be a Program"):
        list(RewardExecutor().execute_many(["print(1)"], "python"))  # type: ignore[list-item]


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_fuel_too_small_for_a_start_is_a_program_out_of_fuel(language: str) -> None:
    execution = RewardExecutor().execute("1", language, fuel=1)
    assert execution.status == "timeout" and "fuel" in execution.stderr


def test_expected_values_are_compared_in_worker_processes_too() -> None:
    expected = ([1, 0.3], float("nan"), {"a": [True]})
    program = Program("def f(x): return x", tests=("f((1, 0.1 + 0.2))",) * 3, expected=expected)
    told = RewardExecutor().execute_many([program] * 4, "python", workers=2)
    assert [[test.passed for test in each.tests] for each in told] == [[True, False, False]] * 4


def test_values_are_expected_of_each_test_or_of_none_and_of_packaged_languages() -> None:
    class Trusting:
        def run(self, program: Program, _: Limits) -> Execution:
            return Execution("", "", 0, "ok", tests=(TestResult(True),) * len(program.tests))

    executor = RewardExecutor(runtimes={"echo": Trusting()})
    with pytest.raises(UsageError, match="packaged languages, not for echo"):
        executor.execute("x", "echo", tests=["f()"], expected=[1])
    with pytest.raises(UsageError, match="packaged languages, not for echo"):
        list(executor.execute_many([Program("x", tests=("f()",), expected=(1,))], "echo"))
    with pytest.raises(UsageError, match="one value for each test"):
        executor.execute("x", "python", tests=["f()", "f()"], expected=[1])
    with pytest.raises(UsageError, match="no entry_point"):
        executor.execute("x", "python", tests=["f()"], expected=[1], entry_point="f")
