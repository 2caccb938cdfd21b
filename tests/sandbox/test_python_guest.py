"""The Python sandbox: what programs get, how they are stopped, what they cannot reach or forge."""

from __future__ import annotations

from typing import Any

import pytest

from infinite_rl.errors import UsageError
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Execution
from tests.support.labelled import Tables

tables = Tables(__file__)

DOUBLE = "def f(x):\n    return 2 * x\n"


def run(code: str, stdin: str = "", timeout: float = 5, **limits: Any) -> Execution:
    return RewardExecutor(**limits).execute(code, "python", stdin=stdin, timeout=timeout)


def judge(code: str, *tests: str, entry_point: str = "", timeout: float = 5) -> Execution:
    executor = RewardExecutor(timeout=timeout)
    return executor.execute(code, "python", tests=tests, entry_point=entry_point)


def verdicts(execution: Execution) -> list[bool]:
    return [result.passed for result in execution.tests]


# --- programs ----------------------------------------------------------------------------------


def test_a_program_runs_as_main() -> None:
    execution = run("if __name__ == '__main__': print('hello')")
    assert execution == Execution("hello\n", "", 0, "ok")
    assert 0 < execution.duration_s < 5


def test_an_uncaught_exception_leaves_its_traceback_and_exit_code_1() -> None:
    execution = run("print('before')\n1 / 0")
    assert (execution.stdout, execution.exit_code, execution.status) == ("before\n", 1, "error")
    assert execution.stderr.startswith(
        'Traceback (most recent call last):\n  File "program.py", line 2, in <module>\n    1 / 0\n'
    )
    assert execution.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_a_syntax_error_shows_its_line() -> None:
    execution = run("x = = 1")
    assert execution.exit_code == 1
    assert "x = = 1" in execution.stderr
    assert "SyntaxError" in execution.stderr


@tables
def test_sys_exit_gives_its_code(leave: str, exit_code: int) -> None:
    execution = run(f"import sys\n{leave}")
    assert execution.exit_code == exit_code
    assert execution.status == ("error" if exit_code else "ok")


def test_sys_exit_with_a_message_prints_it_to_stderr() -> None:
    assert run("import sys\nsys.exit('no')") == Execution("", "no\n", 1, "error")


@tables
def test_standard_input_can_be_read_in_every_common_way(read: str) -> None:
    assert run(f"{read}\nprint(a + b)", stdin="π\n2\n").stdout == "π2\n"


def test_reading_past_the_input_is_an_eof_error() -> None:
    assert "EOFError" in run("input()").stderr


@tables
def test_streams_can_be_used_by_their_descriptors(code: str) -> None:
    execution = run(code, stdin="1\n2\n")
    assert (execution.stdout.split(), execution.status) == (["1", "2"], "ok")


def test_a_byte_order_mark_is_passed_over() -> None:
    assert run("\ufeffprint(1)").stdout == "1\n"


def test_lone_surrogates_are_an_error_on_stdout_and_escaped_on_stderr() -> None:
    execution = run("print('a\\ud800')")
    assert (execution.stdout, execution.exit_code) == ("", 1)
    assert "UnicodeEncodeError" in execution.stderr
    assert run("import sys; print('\\ud800', file=sys.stderr)").stderr == "\\ud800\n"


def test_lone_surrogates_in_the_source_do_no_harm() -> None:
    assert run("print('\ud800')").stdout == "?\n"


def test_a_null_character_is_a_syntax_error() -> None:
    assert "SyntaxError" in run("print(1)\0").stderr


def test_the_standard_library_is_there() -> None:
    modules = (
        "collections itertools functools math cmath re heapq bisect json string random operator "
        "typing dataclasses enum datetime decimal fractions statistics copy io sys traceback array "
        "struct hashlib textwrap queue contextlib abc types numbers calendar time uuid base64 csv "
        "asyncio unittest pprint zlib zoneinfo secrets inspect ast difflib pathlib logging "
        "argparse tomllib graphlib html.parser xml.etree.ElementTree urllib.parse "
        "concurrent.futures"
    )
    names = ", ".join(modules.split())
    assert run(f"import {names}\nprint('é'.encode('latin-1'))").stdout == "b'\\xe9'\n"


def test_random_differs_from_run_to_run_and_hashes_do_not() -> None:
    code = "import random\nprint(random.random(), hash('a'))"
    (first, hash_1), (second, hash_2) = run(code).stdout.split(), run(code).stdout.split()
    assert first != second
    assert hash_1 == hash_2


def test_a_run_leaves_nothing_for_the_next() -> None:
    run("import math, builtins\nmath.pi = builtins.x = 3")
    assert run("import math\nprint(math.pi > 3, 'x' in dir(__builtins__))").stdout == "True False\n"


# --- limits ------------------------------------------------------------------------------------


@tables
def test_the_time_limit_stops_it(code: str) -> None:
    execution = run(f"print('kept')\n{code}", timeout=0.2)
    assert (execution.stdout, execution.status) == ("kept\n", "timeout")
    assert 0.2 <= execution.duration_s < 2
    assert "time limit" in execution.stderr


@pytest.mark.parametrize("wait", ["select.select([], [], [], 60)", "lock.acquire(timeout=60)"])
def test_no_wait_outlives_the_time_limit(wait: str) -> None:
    code = f"import select, threading\nlock = threading.Lock()\nlock.acquire()\n{wait}"
    assert run(code, timeout=0.2).duration_s < 2


@pytest.mark.parametrize("code", ["x = []\nwhile True: x.append(bytes(10**7))", "'x' * 10**9"])
def test_the_memory_limit_holds(code: str) -> None:
    execution = run(code, memory_limit_mb=64)
    assert execution.status == "memory"
    assert "MemoryError" in execution.stderr


def test_a_memory_limit_below_what_python_needs_is_refused() -> None:
    with pytest.raises(UsageError, match="8 MiB"):
        run("", memory_limit_mb=8)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_output_limit_holds(stream: str) -> None:
    execution = run(f"import sys\nwhile True: print('spam', file=sys.{stream})", output_limit=1000)
    assert execution.status == "output"
    assert len(getattr(execution, stream).split("the output limit")[0].rstrip("\n")) <= 1000


def test_output_up_to_the_limit_is_kept_whole() -> None:
    execution = run("print('x' * 999)", output_limit=1000)
    assert (execution.status, len(execution.stdout)) == ("ok", 1000)


def test_deep_recursion_is_a_recursion_error() -> None:
    execution = run("def f(): f()\nf()")
    assert (execution.status, execution.exit_code) == ("error", 1)
    assert execution.stderr.endswith("RecursionError: maximum recursion depth exceeded\n")


@pytest.mark.slow
@tables
def test_no_recursion_hurts_the_host(code: str) -> None:
    execution = run(f"import sys\nsys.setrecursionlimit(10**8)\n{code}", timeout=2)
    assert execution.status in {"ok", "error", "timeout"}
    assert run("print('alive')").stdout == "alive\n"


def test_a_trap_is_an_error_with_a_reason_in_one_line() -> None:
    execution = run("import os\nprint('kept')\nos.abort()")
    assert (execution.stdout, execution.exit_code, execution.status) == ("kept\n", 1, "error")
    assert execution.stderr.count("\n") == 1


# --- the host is out of reach ------------------------------------------------------------------


@tables
def test_the_host_cannot_be_reached(code: str) -> None:
    execution = run(code)
    assert (execution.stdout, execution.status) == ("", "error")
    assert "rror: " in execution.stderr  # gaierror is written small


def test_nothing_of_the_host_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    code = "import os, sys\nprint(dict(os.environ), sys.argv, sys.path)"
    assert run(code).stdout == "{} ['program.py'] []\n"


# --- tests -------------------------------------------------------------------------------------


def test_each_test_reports_in_order() -> None:
    execution = judge(DOUBLE, "assert f(2) == 4", "assert f(2) == 5", "f()", "assert f(0) == 0")
    assert verdicts(execution) == [True, False, False, True]
    assert execution.status == "ok"


def test_a_failed_test_says_why_in_short() -> None:
    tests = ("assert f(2) == 5", "assert f(2) == 5, 'not five'", "f('x' * 10**6, 1)", "boom" * 999)
    messages = [result.message for result in judge(DOUBLE, *tests).tests]
    assert messages[0] == "AssertionError: assert f(2) == 5 (got 4)"
    assert messages[1] == "AssertionError: not five: assert f(2) == 5 (got 4)"
    assert messages[2].startswith("TypeError: ")
    assert all(len(message) <= 500 for message in messages)


def test_a_passed_test_has_no_message() -> None:
    assert judge(DOUBLE, "assert f(1) == 2").tests[0].message == ""


def test_tests_share_the_programs_namespace() -> None:
    assert verdicts(judge("", "import math\nx = math.floor(2.5)", "assert x == 2")) == [True, True]


def test_an_entry_point_is_checked_by_the_tests_check() -> None:
    check = "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == {}"
    execution = judge(DOUBLE, check.format(6), check.format(7), entry_point="f")
    assert verdicts(execution) == [True, False]


@tables
def test_an_entry_point_that_cannot_be_checked_fails(code: str, test: str) -> None:
    execution = judge(code, test, entry_point="f")
    assert verdicts(execution) == [False]
    assert "NameError" in execution.tests[0].message


def test_with_tests_the_program_is_imported_not_main() -> None:
    assert judge("print(__name__ == '__main__')", "pass").stdout == "False\n"


def test_a_program_that_fails_reports_no_test() -> None:
    execution = judge("1 / 0", "pass")
    assert (execution.tests, execution.status) == ((), "error")


def test_tests_before_a_timeout_are_kept() -> None:
    execution = judge(DOUBLE, "assert f(1) == 2", "while True: pass", "pass", timeout=0.2)
    assert (verdicts(execution), execution.status) == ([True], "timeout")


# --- no forged verdicts ------------------------------------------------------------------------


@tables
def test_tampering_is_never_a_pass(code: str) -> None:
    execution = judge(code, "assert f(2) == 4")
    assert execution.status != "ok" or verdicts(execution) != [True]


def test_tests_see_the_builtins_that_python_has() -> None:
    code = "import builtins\nbuiltins.sorted = builtins.len = lambda *_: 3"
    assert verdicts(judge(code, "assert sorted([]) == 3", "assert len([]) == 3")) == [False, False]


def test_tests_can_open_the_standard_streams() -> None:
    assert verdicts(judge("", "assert open(0).read() == ''")) == [True]


def test_tests_run_untraced() -> None:
    code = "import sys\ntrace = lambda *_: trace\nsys.settrace(trace)"
    assert verdicts(judge(code, "import sys\nassert sys.gettrace() is None")) == [True]


# What a program that knows the harness can do: walk up the stack to it.
FORGE = """
import os, sys
frame = sys._getframe()
while 'nonce' not in frame.f_locals: frame = frame.f_back
nonce, report = frame.f_locals['nonce'], frame.f_globals['wit_world'].verdict
print('found')
"""


def test_a_verdict_with_a_guessed_nonce_ends_the_run() -> None:
    execution = judge(f"{FORGE}report('guess', True, '', '[]')\nos._exit(0)", "pass", "pass")
    assert execution.stdout == "found\n"
    assert (execution.status, execution.tests) == ("error", ())


def test_more_verdicts_than_tests_end_the_run() -> None:
    execution = judge(f"{FORGE}report(nonce, True, '', '[]')", "assert False")
    assert execution.stdout == "found\n"
    assert (execution.status, execution.tests) == ("error", ())


def test_a_program_that_does_not_return_has_not_reported_its_last_test() -> None:
    execution = judge(f"{FORGE}report(nonce, True, '', '[]')\nos._exit(0)", "assert False")
    assert execution.stdout == "found\n"
    assert execution.tests == ()


@pytest.mark.parametrize("test", ["assert False", "def check(candidate): assert False"])
@tables
def test_a_harness_that_passes_everything_is_not_believed(attack: str, test: str) -> None:
    code = f"{FORGE}def f(*_): pass\n{attack}"
    execution = judge(code, test, entry_point="f" if "check" in test else "")
    assert execution.stdout == "found\n"
    assert execution.status != "ok" or verdicts(execution) != [True]


def test_a_message_is_short_whoever_wrote_it() -> None:
    execution = judge(f"{FORGE}report(nonce, False, 'x' * 10**6)\n1 / 0", "pass", "pass")
    assert all(len(result.message) <= 500 for result in execution.tests)


def test_a_huge_text_is_stopped_by_the_output_limit_not_by_memory() -> None:
    execution = run("print('x' * 2 * 10**7)", output_limit=1000)
    assert (execution.status, len(execution.stdout)) == ("output", 1000)


def test_a_message_names_the_test_by_its_own_number() -> None:
    tests = ["assert True", "assert f(1) =="]
    execution = RewardExecutor().execute("def f(x): return x", "python", tests=tests)
    assert 'File "test_2.py"' in execution.tests[1].message
