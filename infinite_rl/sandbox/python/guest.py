"""The Python guest: runs each program in a fresh instance of `python.wasm`."""

from __future__ import annotations

import random
import re
import secrets
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from wasmtime import Store, Trap, TrapCode, WasmtimeError

from ...errors import SandboxError, UsageError
from ...types import Execution, ExecutionStatus, Program, TestResult
from ..compiled import LatestCode
from ..engine import deadline, fresh_store, shielded
from ..instance import Instance, OutOfBounds, Prepared
from ..runtimes import (
    FUEL_EPOCH_NS,
    FUEL_PER_NS,
    STOPPED,
    STOPPED_FOR_TIME,
    Limits,
    runtime_named,
    too_long,
)
from .tests import Reading, Test, read_calls, read_tests
from .values import Unreadable, read_reports
from .verdicts import Forged, first_failure, is_opaque, judge
from .wasi import NotOffered, host_function, put

_MESSAGE_CHARS = 500
_EXHAUSTED = "RecursionError: the stack is exhausted"
_VALUES_CHARS = 8_000_000  # of all reported values; the host needs a multiple of it in memory
_ALIASES = '__import__("sys").modules.update(dict.fromkeys({}, __import__("__main__")))'
_FUTURE = re.compile(r"^from __future__ import (?:\([^()]*\))?[^\n]*\n?", re.MULTILINE)
_CACHED = 256  # one plan serves every program that is judged by the same tests


class _Stop(Exception):
    """Raised by the host to stop the program with this status."""

    def __init__(self, status: ExecutionStatus) -> None:
        self.status = status


class _Left(Exception):
    """Raised if the program exits at once, with this exit code."""

    def __init__(self, code: int) -> None:
        self.code = code


@dataclass(frozen=True)
class _TestReport:
    """The guest's report of one test; `values` are encoded, for the host to judge."""

    passed: bool
    message: str
    values: str


@dataclass(frozen=True)
class _Plan:
    """The tests of a run, and the values of closed expressions, which only the host knows."""

    reading: Reading
    closed: tuple[Any, ...] = ()

    def judge(self, number: int, report: _TestReport) -> TestResult:
        """Return the verdict on a test. Raises `Forged`."""
        test = self.reading.tests[number]
        try:
            values = read_reports(report.values)
        except Unreadable as error:
            return TestResult(False, f"AssertionError: a value cannot be compared: {error}")
        if report.passed:
            message = judge(test, values, self.closed)
        else:
            message = first_failure(test, values, self.closed) or report.message or "failed"
        return TestResult(not message, message[:_MESSAGE_CHARS])


class _Session:
    """The host's side of one run: limits, output and the reports of tests."""

    def __init__(self, tests: Sequence[Test], limits: Limits, store: Store) -> None:
        self.store = store
        self.instance: Instance  # set once there is one
        self.nonce = secrets.token_hex(8)
        self.started = time.monotonic()
        self.tests, self._traps = _with_traps(tests)
        self._ends_at = self.started + limits.timeout_s
        self.fuel, self.seed, self._napped_ns = limits.fuel, limits.seed, 0
        self._chance = None if limits.seed is None else random.Random(limits.seed)
        self._room, self._values_room = limits.output_chars, _VALUES_CHARS
        self._printed: dict[int, list[str]] = {1: [], 2: []}
        self.reports: list[_TestReport] = []

    def emit(self, fd: int, text: str) -> None:
        piece = text[: self._room]
        self._printed.get(fd, self._printed[2]).append(piece)
        self._room -= len(piece)
        if len(piece) < len(text):
            raise _Stop("output")

    def verdict(self, nonce: str, passed: bool, message: str, values: str) -> None:
        index = len(self.reports)
        if nonce != self.nonce or index >= len(self.tests) or (index in self._traps and passed):
            raise self.tampering()
        self._values_room -= len(values)
        if self._values_room < 0:
            raise _Stop("output")
        self.reports.append(_TestReport(passed, message[:_MESSAGE_CHARS], values))

    def complete(self) -> bool:
        """Whether every test was reported; a program that fails before them reports none."""
        return len(self.reports) in (0, len(self.tests))

    def real(self) -> list[_TestReport]:
        """Return the reports without those of traps, with the tests' own numbers in messages."""
        real = [(n, each) for n, each in enumerate(self.reports, 1) if n - 1 not in self._traps]
        return [
            replace(each, message=each.message.replace(f"test_{n}.py", f"test_{number}.py"))
            for number, (n, each) in enumerate(real, 1)
        ]

    def tampering(self) -> _Stop:
        """Drop the reports of a run that forged one; returns the exception that stops it."""
        self.reports.clear()
        return _Stop("error")

    def leave(self, code: int) -> None:
        raise _Left(code)

    def nap(self, seconds: float) -> None:
        left = self._ends_at - time.monotonic()
        if seconds > 0:
            time.sleep(max(0.0, min(seconds, left)))
            self._napped_ns += int(seconds * 1e9)
        if seconds >= left:
            raise _Stop("timeout")

    def now_ns(self) -> int:
        """Nanoseconds since the start, by the clock or by the consumed fuel."""
        if self.fuel is None:
            return int((time.monotonic() - self.started) * 1e9)
        return (self.fuel - self.store.get_fuel()) // FUEL_PER_NS + self._napped_ns

    def wall_clock_ns(self) -> int:
        """Return the time of day, in nanoseconds since 1970."""
        return time.time_ns() if self.fuel is None else FUEL_EPOCH_NS + self.now_ns()

    def random_bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count) if self._chance is None else self._chance.randbytes(count)

    def execution(self, status: ExecutionStatus, exit_code: int, reason: str = "") -> Execution:
        """Return the execution without test results."""
        stderr = "".join(self._printed[2])
        if reason:
            stderr += ("" if not stderr or stderr.endswith("\n") else "\n") + reason + "\n"
        duration = time.monotonic() - self.started
        return Execution("".join(self._printed[1]), stderr, exit_code, status, duration)

    def cut_short(self, status: ExecutionStatus, exit_code: int, reason: str) -> Execution:
        """Return the execution of a program that did not return, without its last test's report."""
        real = [n for n in range(len(self.tests)) if n not in self._traps]
        del self.reports[max(real, default=0) :]
        return self.execution(status, exit_code, reason)


class PythonGuest:
    """Run Python programs. Raises `RuntimeMissing` if `python.wasm` is missing.

    The guest has no access to the host: no files, sockets, environment variables or arguments.
    """

    def __init__(self, is_metered: bool = False) -> None:
        self._latest = LatestCode(runtime_named("python"), host_function, is_metered)
        self._plans: dict[tuple[tuple[str, ...], str, str], _Plan] = {}

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance.

        Raises `UsageError` if the memory is too small for any program (42 MiB), and
        `SandboxError` if the sandbox itself breaks.

        The output of a stopped program is kept, except for the last few milliseconds of one that
        prints much. Stopped programs have the exit codes 124 (time) and 137 (other limits).
        """
        guest = self if limits.fuel is None else self._metered
        return too_long(program, limits) or shielded(lambda: guest._run(program, limits))

    @cached_property
    def _metered(self) -> PythonGuest:
        return PythonGuest(is_metered=True)

    def _run(self, program: Program, limits: Limits) -> Execution:
        plan = self._plan(program, limits)
        session, execution = self._call(program, plan.reading.tests, limits)
        try:
            reports = session.real()[: len(program.tests)]
            results = tuple(plan.judge(number, each) for number, each in enumerate(reports))
        except Forged:
            return _limit(session, session.tampering().status)
        return replace(execution, tests=results)

    def _plan(self, program: Program, limits: Limits) -> _Plan:
        """Plan the tests; their expected values are computed in an instance without a program."""
        if program.expected:
            return _Plan(read_calls(tuple(map(_clean, program.tests)), program.expected))
        key = (program.tests, program.setup, program.entry_point)
        if cached := self._plans.get(key):
            return cached
        refused: frozenset[str] = frozenset()
        tests, setup = tuple(map(_clean, program.tests)), _clean(program.setup)
        sound = True
        while True:
            reading = read_tests(tests, setup, _clean(program.entry_point), refused)
            values, ended = self._compute(reading.closed, limits)
            sound = sound and ended
            plan = _Plan(reading, tuple(values.values()))
            failed = frozenset(reading.closed) - values.keys()
            if not failed:
                break
            refused |= failed
        if sound:  # otherwise the machine may have been busy
            if len(self._plans) >= _CACHED:
                self._plans.clear()
            self._plans[key] = plan
        return plan

    def _compute(self, closed: tuple[str, ...], limits: Limits) -> tuple[dict[str, Any], bool]:
        """Compute the closed expressions. Return the values, and whether all were attempted."""
        if not closed:
            return {}, True
        tests = [Test(text) for text in closed]
        session, execution = self._call(Program(""), tests, limits)
        values = {}
        for text, report in zip(closed, session.real(), strict=False):
            if not report.passed:
                continue
            try:
                ((_, (value,)),) = read_reports(report.values)
            except Unreadable:  # too large to be read
                continue
            if not is_opaque(value):
                values[text] = value
        return values, execution.status == "ok"

    def _call(
        self, program: Program, tests: Sequence[Test], limits: Limits
    ) -> tuple[_Session, Execution]:
        """Run a program with split tests in a fresh instance.

        A limit of time or stack that baseline code met is for optimised code to judge.
        """
        code = self._latest.code()
        session, execution = _call_in(code, program, tests, limits)
        met_limit = execution.status == "timeout" or execution.stderr.endswith(f"{_EXHAUSTED}\n")
        if met_limit and self._latest.is_baseline(code):
            return _call_in(self._latest.optimised(), program, tests, limits)
        return session, execution


def _call_in(
    code: Prepared, program: Program, tests: Sequence[Test], limits: Limits
) -> tuple[_Session, Execution]:
    store = fresh_store(limits, code.engine)
    session = _Session(tests, limits, store)
    try:
        with store, deadline(store, limits.timeout_s):
            session.instance = _instantiate(code, store, limits, session)
            exit_code, is_out_of_memory = _call_run(program, session)
    except _Stop as stop:
        return session, _limit(session, stop.status)
    except _Left as left:
        status: ExecutionStatus = "error" if left.code else "ok"
        return session, session.cut_short(status, left.code, "")
    except (WasmtimeError, Trap, OutOfBounds, NotOffered) as error:
        return session, _stopped(session, error)
    if not session.complete():
        return session, _limit(session, session.tampering().status)
    status = "memory" if is_out_of_memory else "error" if exit_code else "ok"
    return session, session.execution(status, exit_code)


def _instantiate(code: Prepared, store: Store, limits: Limits, session: _Session) -> Instance:
    try:
        return Instance(code, store, session)
    except (WasmtimeError, Trap) as error:
        if "exceeds memory limits" in str(error):
            memory = limits.memory_bytes / 2**20
            raise UsageError(f"Python does not start in {memory:g} MiB of memory") from error
        if isinstance(error, Trap):
            raise  # a limit was met before the program's first line
        raise SandboxError(f"Python does not start: {error}") from error


def _call_run(program: Program, session: _Session) -> tuple[int, bool]:
    """Call the guest's `run`; return its exit code, and whether the memory was exhausted."""
    instance = session.instance

    def text(value: str) -> tuple[int, int]:
        return put(instance, value.encode())

    code = _clean(program.code).removeprefix("\ufeff")  # a byte order mark, as in a file
    tests = b"".join(struct.pack("<ii", *text(source)) for source in session.tests)
    result = instance.call(
        "run",
        *(*text(code), *text(_clean(program.stdin)), *text(_with_modules(program))),
        *(put(instance, tests, 4)[0], len(session.tests)),
        *(*text(_clean(program.entry_point)), *text(session.nonce)),
        *((0, 0) if session.seed is None else (1, session.seed % 2**64)),
    )
    exit_code, is_out_of_memory = instance.read(result, 2)
    instance.call("cabi_post_run", result)
    return exit_code, bool(is_out_of_memory)


def _with_modules(program: Program) -> str:
    """The setup, with aliases of the program as modules if the tests import it by a name.

    The added code is an expression: it defines no name that a program could lack.
    """
    setup = _clean(program.setup)
    names = sorted({"solution", "main", PurePosixPath(program.file).stem} - {""})
    source = "\n".join([setup, *program.tests])
    if "import" not in source or not any(name in source for name in names):
        return setup
    # An import from `__future__` must come first.
    future = list(_FUTURE.finditer(setup))
    at = future[-1].end() if future else 0
    return f"{setup[:at]}\n{_ALIASES.format(names)}\n{setup[at:]}"


def _with_traps(tests: Sequence[Test]) -> tuple[list[str], frozenset[int]]:
    """Insert traps among the tests: tests that must fail. Returns all texts and the traps' indices.

    Traps catch programs that make every test pass. Each is a real test that fails in its first
    line, so that no part of the program runs an extra time.
    """
    texts = [test.source for test in tests]
    if not texts:
        return texts, frozenset()
    number, word = secrets.randbelow(10**4), secrets.token_hex(4)
    failing = (
        f"assert {number} == {number + 1}",
        f"raise AssertionError({word!r})",
        f"__judge__({number}, int({word + 'g'!r}))",
        "__judge__()",
        f"__truth__({number % 10})",
    )
    count = 1 if all(map(_is_hidden, tests)) else 3
    indices = secrets.SystemRandom().sample(range(len(texts) + count), count)
    for index in sorted(indices):
        texts.insert(index, f"{secrets.choice(failing)}\n{secrets.choice(tests).source}")
    return texts, frozenset(indices)


def _is_hidden(test: Test) -> bool:
    """Whether passing the test requires values that the guest does not know."""
    return any(each.exact and not each.beside for each in test.assertions)


def _clean(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _stopped(
    session: _Session, error: WasmtimeError | Trap | OutOfBounds | NotOffered
) -> Execution:
    """Return the execution of a call that did not return."""
    code = error.trap_code if isinstance(error, Trap) else None
    if code == TrapCode.INTERRUPT:
        return _limit(session, "timeout")
    if code == TrapCode.OUT_OF_FUEL:
        return _limit(session, "timeout", f"ran out of fuel ({session.fuel})")
    if code == TrapCode.STACK_OVERFLOW:
        return session.cut_short("error", 1, _EXHAUSTED)
    cause = str(error).splitlines()[-1].strip()
    return session.cut_short("error", 1, f"the sandbox stopped the program: {cause}")


def _limit(session: _Session, status: ExecutionStatus, cause: str = "") -> Execution:
    if status == "timeout":
        reason = f"TimeoutError: {cause or 'the time limit was met'}"
        return session.cut_short(status, STOPPED_FOR_TIME, reason)
    if status == "output":
        return session.cut_short(status, STOPPED, "the output limit was met")
    return session.cut_short(status, STOPPED, "the program tampered with its test results")
