"""Python as people write it: the whole standard library, and what Python does as a program ends."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Execution
from tests.support.labelled import Tables, assert_none

tables = Tables(__file__)


def run(code: str, stdin: str = "", timeout: float = 5) -> Execution:
    return RewardExecutor(timeout=timeout).execute(code, "python", stdin=stdin)


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
    "another operating system": ("_overlapped _scproxy _winapi _wmi msvcrt nt winreg winsound"),
}
WALK = """
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
    assert set(run(WALK, timeout=20).stdout.split()) == absent


@tables
def test_modules_within_packages_are_there(module: str) -> None:
    code = f"import {module} as m\nprint(m.__name__, m.__spec__.name)"
    assert run(code).stdout == f"{module} {module}\n"


@pytest.mark.parametrize("module", ["numpy", "pandas", "requests", "scipy.stats", "this.that"])
def test_a_module_that_is_not_there_is_a_plain_module_not_found_error(module: str) -> None:
    execution = run(f"import {module}")
    error = execution.stderr.splitlines()[-1]
    assert error.startswith(f"ModuleNotFoundError: No module named '{module.partition('.')[0]}")
    assert execution.exit_code == 1


@pytest.mark.parametrize("length", [None, 1, 32, 70])
def test_pbkdf2_hmac_is_the_hosts(length: int | None) -> None:
    arguments = ("sha256", b"password", b"salt", 20, length)
    key = hashlib.pbkdf2_hmac(*arguments).hex()
    assert (
        run(f"import hashlib\nprint(hashlib.pbkdf2_hmac(*{arguments}).hex())").stdout == f"{key}\n"
    )


def test_pbkdf2_hmac_refuses_no_iterations() -> None:
    assert "ValueError" in run("import hashlib\nhashlib.pbkdf2_hmac('md5', b'', b'', 0)").stderr


def test_another_time_zone_is_not_found() -> None:
    execution = run("from zoneinfo import ZoneInfo\nZoneInfo('Europe/Berlin')")
    error = execution.stderr.splitlines()[-1]
    assert "ZoneInfoNotFoundError: 'No time zone found with key Europe/Berlin'" in error


# --- the end of a program ----------------------------------------------------------------------


@tables
def test_exit_codes_are_those_of_a_process(code: str, exit_code: int) -> None:
    assert run(f"import sys\nsys.exit({code})").exit_code == exit_code


@pytest.mark.parametrize(
    ("ending", "exit_code"), [("pass", 0), ("sys.exit(3)", 3), ("1 / 0", 1), ("exit('no')", 1)]
)
def test_exit_functions_run_however_a_program_ends(ending: str, exit_code: int) -> None:
    code = f"import atexit, sys\natexit.register(print, 'bye')\nprint('go')\n{ending}"
    execution = run(code)
    assert (execution.stdout, execution.exit_code) == ("go\nbye\n", exit_code)


def test_finalisers_of_globals_run_at_the_end_with_their_globals() -> None:
    code = (
        "word = 'freed'\n"
        "class A:\n    def __del__(self): print(word)\n"
        "def g():\n    try: yield\n    finally: print('closed')\n"
        "a, b = A(), g()\nnext(b)\nprint('end')"
    )
    assert sorted(run(code).stdout.split()) == ["closed", "end", "freed"]
    assert run(code).stdout.startswith("end\n")


@tables
def test_an_error_after_the_end_is_shown_and_changes_nothing(code: str) -> None:
    execution = run(f"{code}\nprint('end')")
    assert (execution.stdout, execution.status) == ("end\n", "ok")
    assert execution.stderr.startswith("Exception ignored")
    assert execution.stderr.endswith("ZeroDivisionError: division by zero\n")


@tables
def test_deep_structures_do_no_harm_at_the_end(code: str) -> None:
    assert run(f"{code}\nprint('end')") == Execution("end\n", "", 0, "ok")


@tables
def test_what_a_program_leaves_behind_does_no_harm_at_its_end(code: str) -> None:
    assert run(f"print('end')\n{code}") == Execution("end\n", "", 0, "ok")


def test_a_program_that_does_not_end_is_stopped_in_its_finalisers() -> None:
    code = "class A:\n    def __del__(self):\n        while True: pass\na = A()\nprint('end')"
    execution = run(code, timeout=0.3)
    assert (execution.stdout, execution.status) == ("end\n", "timeout")


# --- habits ------------------------------------------------------------------------------------


def test_unittest_main_runs_the_programs_cases() -> None:
    code = (
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_a(self): self.assertEqual(1, 1)\n"
        "    def test_b(self): self.assertEqual(1, 2)\n"
        "unittest.main({})\nprint('after')"
    )
    execution = run(code.format("exit=False"))
    assert (execution.stdout, execution.status) == ("after\n", "ok")
    assert "Ran 2 tests" in execution.stderr
    assert "FAILED (failures=1)" in execution.stderr
    assert run(code.format("")).exit_code == 1


def test_doctest_finds_the_programs_examples() -> None:
    code = (
        'def f(x):\n    """\n    >>> f(2)\n    4\n    >>> f(3)\n    7\n    """\n    return 2 * x\n'
    )
    execution = run(f"{code}import doctest\nprint(doctest.testmod())")
    assert "Expected:\n    7\nGot:\n    6\n" in execution.stdout
    assert execution.stdout.endswith("TestResults(failed=1, attempted=2)\n")


def test_input_can_be_read_until_it_ends() -> None:
    code = "n = 0\nwhile True:\n    try: n += int(input())\n    except EOFError: break\nprint(n)"
    assert run(code, stdin="1\n2\n3").stdout == "6\n"


def test_a_traceback_points_at_the_expression() -> None:
    execution = run("def f(a):\n    return a['x']['y']['z']\nf({'x': {'y': None}})")
    assert "    return a['x']['y']['z']\n           ~~~~~~~~~~~^^^^^\n" in execution.stderr


# --- threads and processes ---------------------------------------------------------------------


@tables
def test_pools_do_their_work_in_place(pool: str) -> None:
    code = (
        f"{pool}\n"
        "with Pool(2) as p:\n"
        "    print(p.map(abs, [-1, -2]), p.starmap(pow, [(2, 3)]), list(p.imap(abs, [-3])))\n"
        "    r = p.apply_async(int, ('x',), error_callback=lambda e: print(type(e).__name__))\n"
        "    print(r.successful(), p.apply(int, ('11',), {'base': 2}))\n"
        "    r.get()"
    )
    execution = run(code)
    assert execution.stdout == "[1, 2] [8] [3]\nValueError\nFalse 3\n"
    assert "ValueError: invalid literal" in execution.stderr


@pytest.mark.parametrize("kind", ["Thread", "Process"])
def test_executors_do_their_work_in_place(kind: str) -> None:
    code = (
        f"from concurrent.futures import {kind}PoolExecutor as E, as_completed\n"
        "with E(max_workers=2) as e:\n"
        "    fs = [e.submit(pow, i, 2) for i in range(3)]\n"
        "    print(sorted(f.result() for f in as_completed(fs)), list(e.map(abs, [-1])))"
    )
    assert run(code).stdout == "[0, 1, 4] [1]\n"


def test_a_closed_pool_takes_no_work() -> None:
    code = "from multiprocessing import Pool\np = Pool()\np.close()\np.join()\np.map(abs, [])"
    assert run(code).stderr.endswith("ValueError: Pool not running\n")


@pytest.mark.parametrize(
    "wait", ["queue.Queue().get()", "threading.Event().wait()", "threading.Semaphore(0).acquire()"]
)
def test_a_wait_that_cannot_end_is_an_error_that_says_so(wait: str) -> None:
    execution = run(f"import queue, threading\n{wait}")
    assert "RuntimeError: deadlock: every thread waits" in execution.stderr
    assert execution.exit_code == 1


# --- programs and their output -------------------------------------------------------------------

FILE = Path(__file__).with_name("python_programs.txt")
PROGRAMS = re.findall(
    r"^=== (\w+)\n(.*?)\n==>\n(.*?)\n?(?=^=== |\Z)",
    FILE.read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)


def test_programs_print_what_python_prints() -> None:
    assert len(PROGRAMS) == 19
    faults = []
    for name, code, printed in PROGRAMS:
        execution = run(code)
        if (execution.stdout, execution.exit_code) != (printed.rstrip("\n") + "\n", 0):
            faults.append((name, execution))
    assert_none(faults)
