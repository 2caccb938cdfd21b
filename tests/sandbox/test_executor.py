"""The executor's promises, language by language where they differ."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import pytest

from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.executor import Executor, RewardExecutor
from infinite_rl.types import Execution, Program, TestResult
from tests.support.labelled import Tables, assert_none, unlike

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


def test_wrong_usage_is_refused_in_one_line(echo: Echo) -> None:
    run: Any = RewardExecutor(runtimes={"echo": echo}).execute
    batch: Any = RewardExecutor(runtimes={"echo": echo}).batch_run

    def many(program: Any, **options: Any) -> list[Execution]:
        return list(RewardExecutor().execute_many([program] * 4, "python", **options))

    numbers = [0, -1, float("nan"), float("inf"), "5", None, True]
    limits = [(name, value) for name in ("timeout", "memory_limit_mb") for value in numbers]
    limits += [(name, value) for name in ("output_limit", "code_limit") for value in numbers]
    limits += [("fuel", value) for value in (0, -1, float("nan"), "5", True)]
    fields: list[dict[str, Any]] = [{"tests": [1]}, {"tests": 5}, {"tests": "x"}]
    fields += [{"setup": 5}, {"entry_point": 5}]
    assert_none(
        unlike(
            [
                *((each[0], partial(RewardExecutor, **dict([each]))) for each in limits),
                *(("seed", partial(run, "", "python", seed=value)) for value in (1.5, "5", True)),
                *(("text", partial(run, "x = 1", "python", **wrong)) for wrong in fields),
                *(("text", partial(many, Program("x = 1", **wrong))) for wrong in fields),
                ("timeout", partial(run, "", "echo", timeout=0)),
                ("tests", partial(run, "", "echo", tests="assert True")),
                ("text", partial(run, None, "echo")),
                *(("text", partial(batch, [None] * count, "python")) for count in (1, 5)),
                ("threads", partial(batch, ["x"], "echo", threads=0)),
                ("not one text", partial(batch, "print(1)", "python")),
                ("must be a Program", partial(many, "print(1)")),
                *(("whole", partial(many, Program("1"), threads=count)) for count in (0.5, 1.5)),
                *(("whole", partial(many, Program("1"), workers=count)) for count in (0.5, 1.5)),
            ]
        )
    )


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_fuel_and_seed_hold_in_worker_processes(language: str) -> None:
    loop = {"python": "while True: pass", "javascript": "for (;;);"}[language]
    executor = RewardExecutor(fuel=10**8, timeout=60)
    ends = executor.execute_many([Program(loop)] * 3, language, workers=1)
    assert [end.status for end in ends] == ["timeout"] * 3


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


def test_it_is_a_context_manager(echo: Echo) -> None:
    with RewardExecutor(runtimes={"echo": echo}) as executor:
        assert executor.execute("x", "echo").status == "ok"


@tables
def test_every_language_ends_alike(lang: str, code: str, ending: tuple[str, int]) -> None:
    executor = RewardExecutor(timeout=0.3 if ending[0] == "timeout" else 5, output_limit=100_000)
    execution = executor.execute(code, lang)
    assert (execution.status, execution.exit_code) == ending


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

    run = RewardExecutor(runtimes={"echo": Trusting()}).execute
    many = RewardExecutor(runtimes={"echo": Trusting()}).execute_many
    program = Program("x", tests=("f()",), expected=(1,))
    packaged = "packaged languages, not for echo"
    assert_none(
        unlike(
            [
                (packaged, partial(run, "x", "echo", tests=["f()"], expected=[1])),
                (packaged, lambda: list(many([program], "echo"))),
                ("one value for each", partial(run, "x", "python", tests=["f"] * 2, expected=[1])),
                (
                    "no entry_point",
                    partial(run, "x", "python", tests=["f()"], expected=[1], entry_point="f"),
                ),
            ]
        )
    )
