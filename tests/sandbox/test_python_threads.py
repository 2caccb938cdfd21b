"""Python threads in the sandbox: programs whose threads wait for one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.python.guest import PythonGuest
from infinite_rl.types import Execution, Program

# "==>" stands between a program and what Python 3.13 prints for it.
PROGRAMS = [
    tuple(entry.split("\n==>\n"))
    for entry in (Path(__file__).parent / "python_threads.txt").read_text("utf-8").split("----\n")
]


@pytest.fixture(scope="module")
def guest() -> PythonGuest:
    return PythonGuest()


def run(guest: PythonGuest, code: str, timeout_s: float = 5) -> Execution:
    return guest.run(Program(code), Limits(timeout_s=timeout_s))


@pytest.mark.slow
def test_threads_print_what_python_prints(guest: PythonGuest) -> None:
    assert len(PROGRAMS) >= 40
    for code, expected in PROGRAMS:
        execution = run(guest, code)
        ended = (execution.stdout, execution.exit_code, execution.stderr)
        assert (code, *ended) == (code, expected, 0, "")


def test_an_error_in_a_thread_is_told_and_ends_that_thread_alone(guest: PythonGuest) -> None:
    code = "import threading\ndef w(): 1 / 0\nt = threading.Thread(target=w, name='W')\n"
    execution = run(guest, f"{code}t.start(); t.join(); print('on')")
    assert execution.stdout == "on\n"
    assert "Exception in thread W:" in execution.stderr
    assert "ZeroDivisionError" in execution.stderr


@pytest.mark.parametrize(
    "code",
    [
        "lock = threading.Lock(); lock.acquire(); lock.acquire()",
        "e = threading.Event(); t = threading.Thread(target=e.wait); t.start(); t.join()",
        "e = threading.Event(); threading.Thread(target=e.wait).start()",
    ],
)
def test_a_deadlock_is_an_error_that_names_it(guest: PythonGuest, code: str) -> None:
    execution = run(guest, f"import threading\n{code}")
    assert execution.exit_code == 1
    assert "RuntimeError: deadlock" in execution.stderr


def test_a_lock_that_is_taken_is_waited_for_as_long_as_asked(guest: PythonGuest) -> None:
    code = "import threading\nl = threading.Lock(); l.acquire()\n"
    printed = run(guest, f"{code}print(l.acquire(timeout=0.01), l.acquire(False))").stdout
    assert printed == "False False\n"


def test_recursion_in_a_thread_that_never_waits_goes_as_deep_as_elsewhere(
    guest: PythonGuest,
) -> None:
    code = (
        "import threading\ndef deep(n): return 0 if n == 0 else 1 + deep(n - 1)\n"
        "t = threading.Thread(target=lambda: print(deep(900))); t.start(); t.join()"
    )
    assert run(guest, code).stdout == "900\n"


def test_the_traceback_of_a_thread_shows_the_frames_of_the_program_alone(
    guest: PythonGuest,
) -> None:
    code = "import threading\ne = threading.Event()\ndef f(): 1 / 0\ndef w():\n    e.wait(); f()\n"
    execution = run(guest, f"{code}t = threading.Thread(target=w); t.start(); e.set(); t.join()")
    frames = [line for line in execution.stderr.splitlines() if line.startswith("  File")]
    assert frames == ['  File "program.py", line 5, in w', '  File "program.py", line 3, in f']


def test_what_a_thread_lets_go_of_is_gone_at_once(guest: PythonGuest) -> None:
    code = (
        "import threading, weakref\ne = threading.Event()\nclass O: pass\n"
        "def make(): return O()\n"
        "def w():\n    e.wait(); o = make(); r = weakref.ref(o); del o; print(r())\n"
        "t = threading.Thread(target=w); t.start(); e.set(); t.join()"
    )
    assert run(guest, code).stdout == "None\n"
