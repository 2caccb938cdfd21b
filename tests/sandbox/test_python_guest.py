"""The Python sandbox: what programs get, how they end, what they cannot reach or forge."""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.python.guest import PythonGuest
from infinite_rl.sandbox.runtimes import Limits
from infinite_rl.types import Program
from tests.support.labelled import Tables
from tests.support.sandbox_runs import Block, check, groups_of

tables = Tables(__file__)
EXECUTOR = RewardExecutor()


@groups_of(Path(__file__).with_name("python_runs.txt"))
def test_programs_end_as_their_blocks_say(blocks: list[Block]) -> None:
    check(blocks)


def test_the_processor_time_of_a_run_leaves_out_other_threads() -> None:
    guest, is_over, used = PythonGuest(), threading.Event(), list[float]()

    def spin() -> None:
        while not is_over.is_set():
            used[:] = [time.thread_time()]

    guest.run(Program("1"), Limits())
    started = time.process_time()
    thread = threading.Thread(target=spin)
    thread.start()
    program, own = Program("for i in range(300_000): pass"), 0.0
    while not used or used[0] < 0.2:  # until a busy machine has run the other thread
        own += guest.cpu_seconds(program, Limits(timeout_s=60))
    is_over.set()
    thread.join()
    assert 0 < own <= time.process_time() - started - 0.9 * used[0]


def test_an_uncaught_exception_leaves_its_traceback() -> None:
    stderr = EXECUTOR.execute("print('before')\n1 / 0", "python").stderr
    assert stderr.startswith(
        'Traceback (most recent call last):\n  File "program.py", line 2, in <module>\n    1 / 0\n'
    )
    assert stderr.endswith("ZeroDivisionError: division by zero\n")


def test_odd_characters_in_the_source_are_read_as_in_a_file() -> None:
    assert EXECUTOR.run_single("\ufeffprint(1)", "python") == ("1", "")  # a byte order mark
    assert EXECUTOR.run_single("print('\ud800')", "python") == ("?", "")
    assert "SyntaxError" in EXECUTOR.execute("print(1)\0", "python").stderr


@pytest.mark.slow
@tables
def test_no_recursion_hurts_the_host(code: str) -> None:
    code = f"import sys\nsys.setrecursionlimit(10**8)\n{code}"
    assert EXECUTOR.execute(code, "python", timeout=2).status in {"ok", "error", "timeout"}
    assert EXECUTOR.run_single("print('alive')", "python") == ("alive", "")


def test_a_message_is_short_whoever_wrote_it() -> None:
    code = "def f(x, *more):\n    assert not more, 'y' * 10**6\n    return x * 10**6\n"
    results = EXECUTOR.execute(code, "python", tests=["assert f('x') == 1", "f(1, 2)"]).tests
    assert [result.passed for result in results] == [False, False]
    assert all(len(result.message) <= 500 for result in results)


# --- the standard library ----------------------------------------------------------------------

# Every module of the standard library that cannot be had, by the reason.
MISSING = {
    "a C library that the build for WebAssembly does not have": (
        "_bz2 bz2 _lzma lzma _zstd _ctypes ctypes _curses _curses_panel curses _dbm _gdbm _hashlib "
        "_ssl ssl _uuid readline"
    ),
    "processes, shared memory, and interpreters beside this one": (
        "_interpchannels _interpqueues _interpreters _multiprocessing _posixshmem _posixsubprocess "
        "_remote_debugging mmap"
    ),
    "terminals, users and limits of a Unix system": (
        "fcntl grp pty pwd resource syslog termios tty"
    ),
    "windows on a screen": "_tkinter idlelib tkinter turtle turtledemo",
    "another operating system": "_overlapped _scproxy _winapi _wmi msvcrt nt winreg winsound",
}
IMPORT_ALL = """
import contextlib, importlib, io, sys
for name in sorted(sys.stdlib_module_names):
    with contextlib.redirect_stdout(io.StringIO()):  # `this` prints
        try:
            importlib.import_module(name)
            continue
        except ModuleNotFoundError:
            pass
    print(name)
"""


def test_every_module_is_there_but_those_with_a_reason() -> None:
    absent = {name for names in MISSING.values() for name in names.split()}
    assert set(EXECUTOR.execute(IMPORT_ALL, "python", timeout=20).stdout.split()) == absent


@tables
def test_modules_within_packages_are_there(module: str) -> None:
    code = f"import {module} as m\nprint(m.__name__, m.__spec__.name)"
    assert EXECUTOR.execute(code, "python").stdout == f"{module} {module}\n"


def test_pbkdf2_hmac_is_the_hosts() -> None:
    for length in (None, 1, 32, 70):
        arguments = ("sha256", b"password", b"salt", 20, length)
        code = f"import hashlib\nprint(hashlib.pbkdf2_hmac(*{arguments}).hex())"
        key = hashlib.pbkdf2_hmac(*arguments).hex()
        assert EXECUTOR.execute(code, "python").stdout == f"{key}\n"


def test_what_is_made_once_for_tests_takes_no_fuel_of_a_program() -> None:
    tests = [f"x = f({number})\nassert x == {number + 1}" for number in range(20)]
    executor = RewardExecutor(fuel=8 * 10**6, timeout=60)
    for _ in range(2):
        execution = executor.execute("def f(x): return x + 1", "python", tests=tests)
        assert (execution.status, len(execution.tests)) == ("ok", 20)
