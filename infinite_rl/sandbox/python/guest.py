"""The Python guest: runs each program in a fresh instance of `python.wasm`, its tests in another.

The tests run in an interpreter that the program never enters: nothing that a program does to its
own can change what a test finds. The two talk through messages, which the host passes on.
"""

from __future__ import annotations

import marshal
import random
import secrets
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from wasmtime import Engine, Trap, TrapCode, WasmtimeError

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
    Output,
    is_installed,
    load_guest,
    runtime_named,
    too_long,
)
from ..scientific.libraries import imported_library
from .expressions import Undecided
from .files import OpenFiles, Tree, host_function
from .plain import Step, failure_of, plain_tests
from .wasi import NotOffered, put

MESSAGE_CHARS = 500
_FRAMES, _OWN_FRAMES = 4, 60  # of Python's stack that each message takes, and all else
EXHAUSTED = "RecursionError: the stack is exhausted"
PLAN_FUEL = 10**12  # the time limit is met before
PLANS = 256  # one plan serves every program that is judged by the same tests
NO_STEPS = marshal.dumps([])  # the guest reads no empty lists of bytes
Plan = tuple[bytes, list[list[Step]]]  # the code of tests, and the steps of plain ones


class Stop(Exception):
    """Raised by the host to stop the run with this status."""

    def __init__(self, status: ExecutionStatus) -> None:
        self.status = status


class Left(Exception):
    """Raised if the program exits at once, with this exit code."""

    def __init__(self, code: int) -> None:
        self.code = code


def plan_key(program: Program, is_judged: bool) -> tuple[str, list[str], tuple[object, ...]]:
    """Return the kind of plan of a program's tests, its modules' names, and what tells it apart."""
    kind = "judged" if is_judged else "expressions" if program.expected else "tests"
    names = sorted({"solution", "main", PurePosixPath(program.file).stem} - {""})
    expected = repr(program.expected)
    return kind, names, (kind, program.tests, program.setup, program.entry_point, expected, *names)


class Session:
    """The host's side of one run: its limits, what was printed, and the tests' results."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.started = time.monotonic()
        self.ends_at = self.started + limits.timeout_s
        self.results: list[TestResult] = []
        self.sides: list[Side] = []  # the program's, and that of its tests
        self.napped_ns = self.fuel = 0
        self.depth = 0  # of messages that are being answered
        self.files = Tree()
        self.plain: list[list[Step]] = []  # the tests that the host compares
        self._position = 0  # of the next step of the next plain test
        self._printed = Output(limits.output_chars)

    def emit(self, fd: int, text: str) -> None:
        self._printed.write(fd, text)
        if self._printed.is_cut:
            raise Stop("output")

    def is_going_on(self, message: str) -> bool:
        """Compare what the next step of a plain test gave; return whether the test goes on."""
        if len(self.results) >= len(self.plain):
            raise NotOffered("the result of a test")
        steps = self.plain[len(self.results)]
        failure = failure_of(steps[self._position], message)
        self._position += 1
        is_last = failure is not None or self._position == len(steps)
        if is_last:
            self.results.append(TestResult(failure is None, (failure or "")[:MESSAGE_CHARS]))
            self._position = 0
        return not is_last

    def execution(self, status: ExecutionStatus, exit_code: int, reason: str = "") -> Execution:
        """Return the execution so far."""
        stderr = self._printed.text(2)
        if reason:
            stderr += ("" if not stderr or stderr.endswith("\n") else "\n") + reason + "\n"
        duration = time.monotonic() - self.started
        results = tuple(self.results)
        stdout = self._printed.text(1)
        return Execution(stdout, stderr, exit_code, status, duration, results, self.fuel)

    def limit(self, status: ExecutionStatus, cause: str = "") -> Execution:
        """Return the execution of a run that met a limit."""
        if status == "timeout":
            reason = f"TimeoutError: {cause or 'the time limit was met'}"
            return self.execution(status, STOPPED_FOR_TIME, reason)
        return self.execution(status, STOPPED, "the output limit was met")


class Side:
    """One of a run's interpreters: its store, its clock, and what each may ask of the host."""

    def __init__(self, session: Session, limits: Limits, engine: Engine) -> None:
        self.session = session
        self.store = fresh_store(limits, engine)
        self.is_judge = False
        self.emit, self.is_going_on = session.emit, session.is_going_on
        self.chance = None if limits.seed is None else random.Random(limits.seed)

    @contextmanager
    def running(self, seconds: float) -> Iterator[None]:
        """Calls inside this block end after `seconds`; then the interpreter is gone."""
        with self.store, deadline(self.store, seconds):
            try:
                yield
            finally:
                self.session.fuel += self.fuel_used()

    def fuel_used(self) -> int:
        """Return the instructions of this interpreter; 0 if they are not counted."""
        fuel = self.session.limits.fuel
        return 0 if fuel is None else fuel - self.store.get_fuel()

    def clock_fuel(self) -> int:
        """Return the instructions by which the run's clock goes."""
        return self.fuel_used()

    def verdict(self, passed: bool, message: str, is_unjudged: bool) -> None:
        if not self.is_judge:
            raise NotOffered("a verdict")
        self.session.results.append(TestResult(passed, message[:MESSAGE_CHARS], is_unjudged))

    def leave(self, code: int) -> None:
        raise Left(code)

    def nap(self, seconds: float) -> None:
        left = self.session.ends_at - time.monotonic()
        if seconds > 0:
            time.sleep(max(0.0, min(seconds, left)))
        if not seconds < left:  # also not a number
            raise Stop("timeout")
        self.session.napped_ns += int(max(seconds, 0.0) * 1e9)

    def now_ns(self) -> int:
        """Nanoseconds since the start, by the clock or by the consumed fuel."""
        session = self.session
        if session.limits.fuel is None:
            return int((time.monotonic() - session.started) * 1e9)
        return self.clock_fuel() // FUEL_PER_NS + session.napped_ns

    def wall_clock_ns(self) -> int:
        """Return the time of day, in nanoseconds since 1970."""
        is_metered = self.session.limits.fuel is not None
        return FUEL_EPOCH_NS + self.now_ns() if is_metered else time.time_ns()

    def random_bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count) if self.chance is None else self.chance.randbytes(count)


class _Side(Side):
    """One of two interpreters that call each other on one thread."""

    def __init__(self, session: Session, prepared: Prepared) -> None:
        super().__init__(session, session.limits, prepared.engine)
        self.other: _Side | None = None  # while tests run
        self.files = OpenFiles(session.files)
        session.sides.append(self)
        self.instance = instantiate(prepared, self)

    def clock_fuel(self) -> int:
        """Return the instructions of both interpreters."""
        return sum(side.fuel_used() for side in self.session.sides)

    def open_exchange(self) -> Instance:
        """Return the interpreter that is to answer a message of this one."""
        if self.other is None:
            raise NotOffered("another interpreter")
        self.session.depth += 1
        if self.session.depth * _FRAMES > sys.getrecursionlimit() - _OWN_FRAMES:
            raise NotOffered("calls this deep between the program and its tests")
        return self.other.instance

    def close_exchange(self) -> None:
        self.session.depth -= 1


class PythonGuest:
    """Run Python programs. Raises `RuntimeMissing` if `python.wasm` is missing.

    The guest has no access to the host: no sockets, environment variables or arguments, and its
    files are in memory. A program that imports a library such as numpy runs in the runtime
    `scientific`, if that is installed.
    """

    def __init__(self, is_metered: bool = False) -> None:
        self._latest = LatestCode(runtime_named("python"), host_function, is_metered)
        self._plans: dict[tuple[object, ...], Plan] = {}

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance.

        Raises `UsageError` if the memory is too small for any program (42 MiB), and
        `SandboxError` if the sandbox itself breaks.

        The output of a stopped program is kept, except for the last few milliseconds of one that
        prints much. Stopped programs have the exit codes 124 (time) and 137 (other limits).
        """
        if stopped := too_long(program, limits):
            return stopped
        doubt = ""
        if name := imported_library(program):
            runtime = runtime_named("scientific")
            if is_installed(runtime):
                return load_guest(runtime).run(program, limits)
            doubt = f"{name} is not there. Install it: {runtime.install}"
        guest = self if limits.fuel is None else self._metered
        execution = shielded(lambda: guest._run(program, limits))
        return replace(execution, doubt=doubt) if doubt else execution

    def cpu_seconds(self, program: Program, limits: Limits) -> float:
        """Return the processor time of a run, without that of the process's other threads."""

        def timed() -> float:
            started = time.thread_time()
            self._run(program, limits)
            return time.thread_time() - started

        return shielded(timed)

    @cached_property
    def _metered(self) -> PythonGuest:
        return PythonGuest(is_metered=True)

    def _run(self, program: Program, limits: Limits) -> Execution:
        """Run a program; again in optimised code if baseline code met a limit of time or stack."""
        code = self._latest.code()
        execution = self._run_with(code, program, limits)
        met_limit = execution.status == "timeout" or execution.stderr.endswith(f"{EXHAUSTED}\n")
        if met_limit and self._latest.is_baseline(code):
            return self._run_with(self._latest.optimised(), program, limits)
        return execution

    def _run_with(
        self, code: Prepared, program: Program, limits: Limits, is_judged: bool = False
    ) -> Execution:
        session = Session(limits)
        try:
            return self._run_sides(code, program, session, is_judged)
        except Undecided:  # the tests look plain, but a value is not
            return self._run_with(code, program, limits, is_judged=True)
        except Stop as stop:
            return session.limit(stop.status)
        except Left as left:
            return session.execution("error" if left.code else "ok", left.code)
        except (Trap, WasmtimeError, OutOfBounds, NotOffered) as error:
            return stopped(session, error)

    def _run_sides(
        self, prepared: Prepared, program: Program, session: Session, is_judged: bool
    ) -> Execution:
        limits, plan = session.limits, b""
        if program.tests:
            plan, session.plain = self._plan(prepared, program, limits, is_judged)
        steps = plan if session.plain else NO_STEPS
        side = _Side(session, prepared)
        seed = (0, 0) if limits.seed is None else (1, limits.seed % 2**64)
        code = clean(program.code).removeprefix("\ufeff")  # a byte order mark, as in a file
        with side.running(limits.timeout_s):
            instance = side.instance
            stdin = program.stdin.encode("utf-8", "replace")
            texts = *put_text(instance, code), bool(stdin), *put(instance, stdin)
            program_texts = *texts, bool(program.tests), *put(instance, steps)
            ended = report(instance, "run", *program_texts, *seed)
            if program.tests and not ended.has_left and not session.plain:
                judge = _Side(session, prepared)
                judge.is_judge, judge.other, side.other = True, side, judge
                left = session.ends_at - time.monotonic()
                with judge.running(max(left, 0.0)):
                    ended = report(judge.instance, "judge", *put(judge.instance, plan), *seed)
        return session.execution(ended.status, ended.exit_code)

    def _plan(self, prepared: Prepared, program: Program, limits: Limits, is_judged: bool) -> Plan:
        """Return the plan of a program's tests: they are compiled once, by themselves.

        It is one for an interpreter of the tests if they are plain no more than by their looks.
        """
        kind, names, key = plan_key(program, is_judged)
        if key not in self._plans:
            # No program pays for what is made once: each would pass with less fuel than the first.
            own = limits if limits.fuel is None else replace(limits, fuel=PLAN_FUEL)
            side = _Side(Session(own), prepared)
            with side.running(limits.timeout_s):
                instance = side.instance
                result = instance.call(
                    "plan",
                    *put_text(instance, clean(program.setup)),
                    *put_texts(instance, [clean(test) for test in program.tests]),
                    *put_text(instance, clean(program.entry_point)),
                    *(*put_texts(instance, names), *put_text(instance, kind)),
                )
                code, count, *steps = struct.unpack("<IIII", instance.read(result, 16))
                text = instance.read(*steps).decode()
                tests = plain_tests(text, program.tests, program.expected) if text else []
                plan = instance.read(code, count), tests
            if len(self._plans) >= PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return self._plans[key]


def instantiate(prepared: Prepared, side: Side) -> Instance:
    """Return an interpreter. Raises `UsageError` if its memory is too small, `SandboxError`."""
    try:
        return Instance(prepared, side.store, side)
    except (WasmtimeError, Trap) as error:
        if "exceeds memory limits" in str(error):
            memory = side.session.limits.memory_bytes / 2**20
            raise UsageError(f"Python does not start in {memory:g} MiB of memory") from error
        if isinstance(error, Trap):
            raise  # a limit was met before the program's first line
        raise SandboxError(f"Python does not start: {error}") from error


class _Report(NamedTuple):
    """How an export of the guest ended."""

    status: ExecutionStatus
    exit_code: int
    has_left: bool


def report(instance: Instance, name: str, *arguments: float) -> _Report:
    """Call an export that returns a report."""
    result = instance.call(name, *arguments)
    exit_code, is_out_of_memory, has_left = instance.read(result, 3)
    instance.call(f"cabi_post_{name}", result)  # also ends the call for the interpreter's own state
    status: ExecutionStatus = "memory" if is_out_of_memory else "error" if exit_code else "ok"
    return _Report(status, exit_code, bool(has_left))


def put_text(instance: Instance, text: str) -> tuple[int, int]:
    """Copy a text; return its address and its count of bytes."""
    return put(instance, text.encode())


def put_texts(instance: Instance, texts: Sequence[str]) -> tuple[int, int]:
    """Copy a list of texts; return its address and the count of texts."""
    entries = b"".join(struct.pack("<iI", *put_text(instance, text)) for text in texts)
    return put(instance, entries, 4)[0], len(texts)


def clean(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def stopped(session: Session, error: Exception) -> Execution:
    """Return the execution of a call that did not return."""
    code = error.trap_code if isinstance(error, Trap) else None
    if code == TrapCode.INTERRUPT:
        return session.limit("timeout")
    if code == TrapCode.OUT_OF_FUEL:
        return session.limit("timeout", f"ran out of fuel ({session.limits.fuel})")
    if code == TrapCode.STACK_OVERFLOW:
        return session.execution("error", 1, EXHAUSTED)
    cause = str(error).splitlines()[-1].strip()
    return session.execution("error", 1, f"the sandbox stopped the program: {cause}")
