"""Python as people write it: the whole standard library, and what Python does as a program ends."""

from __future__ import annotations

import hashlib

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Execution
from tests.support.labelled import Tables

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


def test_find_spec_tells_what_is_there() -> None:
    code = "from importlib.util import find_spec as f\nprint(f('numpy'), f('wsgiref').name)"
    assert run(code).stdout == "None wsgiref\n"


@pytest.mark.parametrize("length", [None, 1, 32, 70])
def test_pbkdf2_hmac_is_the_hosts(length: int | None) -> None:
    arguments = ("sha256", b"password", b"salt", 20, length)
    key = hashlib.pbkdf2_hmac(*arguments).hex()
    assert (
        run(f"import hashlib\nprint(hashlib.pbkdf2_hmac(*{arguments}).hex())").stdout == f"{key}\n"
    )


def test_pbkdf2_hmac_refuses_no_iterations() -> None:
    assert "ValueError" in run("import hashlib\nhashlib.pbkdf2_hmac('md5', b'', b'', 0)").stderr


def test_utc_is_a_time_zone() -> None:
    code = (
        "from datetime import datetime\nfrom zoneinfo import ZoneInfo\n"
        "t = datetime(2024, 7, 1, tzinfo=ZoneInfo('UTC'))\nprint(t, t.tzname(), t.dst())"
    )
    assert run(code).stdout == "2024-07-01 00:00:00+00:00 UTC 0:00:00\n"


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


def test_logging_is_flushed_at_the_end() -> None:
    code = (
        "import logging.handlers, sys\n"
        "handler = logging.handlers.MemoryHandler(9, target=logging.StreamHandler(sys.stdout))\n"
        "logging.getLogger().addHandler(handler)\nlogging.warning('kept')\nprint('end')"
    )
    assert run(code).stdout == "end\nkept\n"


def test_nothing_is_left_of_what_the_build_has_run() -> None:
    code = (
        "import atexit, linecache, logging, multiprocessing.util, sys\n"
        "print('program' in sys.modules, [*linecache.cache], atexit._ncallbacks())\n"
        "print(logging.lastResort._closed, multiprocessing.util.is_exiting(), sys.stdin.read())"
    )
    assert run(code).stdout == "False ['program.py'] 2\nFalse False \n"


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


def test_python_functions_recur_5000_deep() -> None:
    code = (
        "import sys\nsys.setrecursionlimit(10**6)\n"
        "def f(n): return n and 1 + f(n - 1)\n"
        "class A:\n"
        "    def __init__(self, n): self.next = A(n - 1) if n else None\n"
        "    def depth(self): return 1 + self.next.depth() if self.next else 0\n"
        "def g(n):\n    if n: yield from g(n - 1)\n    yield n\n"
        "print(f(5000), A(5000).depth(), sum(1 for _ in g(5000)))"
    )
    assert run(code).stdout == "5000 5000 5001\n"


def test_cached_functions_recur_2000_deep() -> None:
    code = (
        "import functools, sys\nsys.setrecursionlimit(10**6)\n"
        "@functools.lru_cache(None)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(2000))"
    )
    assert run(code).stdout == "2000\n"


def test_input_can_be_read_until_it_ends() -> None:
    code = "n = 0\nwhile True:\n    try: n += int(input())\n    except EOFError: break\nprint(n)"
    assert run(code, stdin="1\n2\n3").stdout == "6\n"


def test_a_traceback_points_at_the_expression() -> None:
    execution = run("def f(a):\n    return a['x']['y']['z']\nf({'x': {'y': None}})")
    assert "    return a['x']['y']['z']\n           ~~~~~~~~~~~^^^^^\n" in execution.stderr


def test_the_source_of_the_programs_functions_can_be_had() -> None:
    source = "def f(x):\n    # kept\n    return x\n"
    assert run(f"{source}import inspect\nprint(inspect.getsource(f), end='')").stdout == source


def test_streams_mix_in_the_order_of_writing() -> None:
    code = (
        "import sys\nprint('a', end='', flush=True)\nsys.stdout.write('b')\nsys.stdout.flush()\n"
        "sys.stdout.buffer.write(b'c')\nprint('d')"
    )
    assert run(code).stdout == "abcd\n"


def test_asyncio_times_out_and_groups() -> None:
    code = (
        "import asyncio\n"
        "async def f(i):\n    await asyncio.sleep(i / 100)\n    return i\n"
        "async def main():\n"
        "    print(await asyncio.gather(f(2), f(1)), await asyncio.to_thread(pow, 2, 3))\n"
        "    try: await asyncio.wait_for(f(500), 0.02)\n"
        "    except TimeoutError: print('late')\n"
        "    async with asyncio.TaskGroup() as group: t = group.create_task(f(1))\n"
        "    print(t.result())\n"
        "asyncio.run(main())"
    )
    assert run(code).stdout == "[2, 1] 8\nlate\n1\n"


def test_typing_of_python_3_14() -> None:
    code = (
        "from typing import NamedTuple, get_type_hints\n"
        "class N(NamedTuple):\n    a: Later = 1\n"
        "class Later[T]: pass\ntype L = list[L]\n"
        "def f(x: Later[int]) -> N: ...\nprint(get_type_hints(f)['return'] is N, L, t'{1}'.values)"
    )
    assert run(code).stdout == "True L (1,)\n"


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


def test_a_wait_with_a_limit_ends_there() -> None:
    code = (
        "import queue, threading\nprint(threading.Event().wait(0.01))\n"
        "try: queue.Queue().get(timeout=0.01)\nexcept queue.Empty: print('empty')"
    )
    assert run(code).stdout == "False\nempty\n"


def test_a_queue_carries_from_one_thread_to_the_next() -> None:
    code = (
        "import queue, threading\nq, out = queue.Queue(), []\n"
        "def put():\n    for i in (1, 2, None): q.put(i)\n"
        "def take():\n    while (x := q.get()) is not None: out.append(x)\n"
        "ts = [threading.Thread(target=f) for f in (put, take)]\n"
        "for t in ts: t.start()\nfor t in ts: t.join()\nprint(out)"
    )
    assert run(code).stdout == "[1, 2]\n"
