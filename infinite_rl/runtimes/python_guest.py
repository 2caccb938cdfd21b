"""The Python sandbox: one fresh instance of `python.wasm` for each program."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from wasmtime import ExitTrap, Store, Trap, WasiConfig, WasmtimeError
from wasmtime.component import Component, Func, Linker

from ..errors import SandboxError, UsageError
from ..types import Execution, ExecutionStatus, Program, TestResult
from . import runtime_named
from .engine import ENGINE, deadline, load_component, shielded
from .guest import STOPPED, STOPPED_FOR_TIME, Limits

_CLOCK = "wasi:clocks/monotonic-clock@"
_MESSAGE_CHARS = 500


class _Stop(Exception):
    """The program is to be stopped, with this status."""

    def __init__(self, status: ExecutionStatus) -> None:
        self.status = status


class _Session:
    """What one run has told the host so far."""

    def __init__(self, program: Program, limits: Limits) -> None:
        self.nonce = secrets.token_hex(8)
        self.started = time.monotonic()
        self._ends_at = self.started + limits.timeout_s
        self._room = limits.output_chars
        self._expected = len(program.tests)
        self._printed: dict[int, list[str]] = {1: [], 2: []}
        self.results: list[TestResult] = []
        self.fault: BaseException | None = None

    def emit(self, fd: int, text: str) -> None:
        kept = text[: self._room]
        self._printed.get(fd, self._printed[2]).append(kept)
        self._room -= len(kept)
        if len(kept) < len(text):
            raise _Stop("output")

    def verdict(self, nonce: str, passed: bool, message: str) -> None:
        # After the program's tests comes one that must fail: see `_arguments`.
        last = len(self.results) - self._expected
        if nonce != self.nonce or last > 0 or (last == 0 and passed):
            raise self.tampering()
        self.results.append(TestResult(passed, message[:_MESSAGE_CHARS]))

    def tampering(self) -> _Stop:
        """What stops a run whose results cannot be true: none of them counts."""
        self.results.clear()
        return _Stop("error")

    def nap(self, seconds: float) -> None:
        left = self._ends_at - time.monotonic()
        if seconds > 0:
            time.sleep(max(0.0, min(seconds, left)))
        if seconds >= left:
            raise _Stop("timeout")

    def execution(self, status: ExecutionStatus, exit_code: int, reason: str = "") -> Execution:
        stderr = "".join(self._printed[2])
        if reason:
            stderr += ("" if not stderr or stderr.endswith("\n") else "\n") + reason + "\n"
        duration = time.monotonic() - self.started
        tests = tuple(self.results[: self._expected])
        return Execution("".join(self._printed[1]), stderr, exit_code, status, duration, tests)

    def cut_short(self, status: ExecutionStatus, exit_code: int, reason: str) -> Execution:
        """A program that did not return: it cannot have reported its last test."""
        del self.results[max(0, self._expected - 1) :]
        return self.execution(status, exit_code, reason)


class PythonGuest:
    """Runs Python programs. Raises `RuntimeMissing` when `python.wasm` is not there.

    Nothing of the host can be reached: no file, no socket, no environment variable, no argument.
    """

    def __init__(self) -> None:
        self._component = load_component(runtime_named("python"))
        self._current = threading.local()  # the session of the run on this thread
        self._linker = self._link()
        export = self._component.get_export_index("run")
        if export is None:
            raise SandboxError("python.wasm does not export `run`: build it again")
        self._export = export

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance.

        Raises `UsageError` when the memory is too small for any program (it needs about 30 MiB) and
        `SandboxError` when the sandbox itself breaks.

        What was printed before a program is stopped is kept, but for the last few milliseconds of
        one that prints much. Stopped programs have the exit codes 124 (time) and 137 (otherwise).
        """
        return shielded(lambda: self._run(program, limits))

    def _run(self, program: Program, limits: Limits) -> Execution:
        session = _Session(program, limits)
        self._current.session = session
        try:
            with Store(ENGINE) as store:
                store.set_wasi(WasiConfig())
                store.set_limits(memory_size=limits.memory_bytes)
                with deadline(store, limits.timeout_s):
                    entry = self._instantiate(store, limits)
                    report = entry(store, *_arguments(program, session.nonce))
        except (WasmtimeError, Trap) as error:
            return _stopped(session, error)
        finally:
            del self._current.session
        if session.results and len(session.results) != len(program.tests) + 1:
            return _limit(session, session.tampering().status)
        exit_code = getattr(report, "exit-code")
        if getattr(report, "out-of-memory"):
            return session.execution("memory", exit_code)
        return session.execution("error" if exit_code else "ok", exit_code)

    def _instantiate(self, store: Store, limits: Limits) -> Func:
        try:
            instance = self._linker.instantiate(store, self._component)
        except (WasmtimeError, Trap) as error:
            if "exceeds memory limits" in str(error):
                memory = limits.memory_bytes // 2**20
                raise UsageError(f"Python does not start in {memory} MiB of memory") from error
            raise SandboxError(f"Python does not start: {error}") from error
        entry = instance.get_func(store, self._export)
        if entry is None:
            raise SandboxError("python.wasm exports a `run` that is no function: build it again")
        return entry

    def _link(self) -> Linker:
        linker = Linker(ENGINE)
        linker.allow_shadowing = True
        linker.add_wasip2()
        with linker.root() as root:
            for name in ("emit", "verdict", "nap"):
                root.add_func(name, self._host_function(name))
            # An epoch cannot interrupt a host call that waits, and this clock offers such calls.
            # A definition replaces the whole instance, so the harmless half is written anew.
            with root.add_instance(_clock_name(self._component)) as clock:
                clock.add_func("now", lambda _store: time.monotonic_ns())
                clock.add_func("resolution", lambda _store: 1000)
                clock.add_func("subscribe-instant", _refuse_to_wait)
                clock.add_func("subscribe-duration", _refuse_to_wait)
        return linker

    def _host_function(self, name: str) -> Callable[..., None]:
        def call(_store: object, *arguments: Any) -> None:
            session: _Session = self._current.session
            try:
                getattr(session, name)(*arguments)
            # No exception may travel through the engine, whose binding keeps it in a global that
            # another thread may take. It is raised again by `_stopped`.
            except BaseException as error:
                session.fault = error
                raise WasmtimeError("stopped by the host") from None

        return call


def _refuse_to_wait(*_arguments: object) -> NoReturn:
    raise WasmtimeError("waiting on a clock is not possible here")


def _clock_name(component: Component) -> str:
    """The clock's name as the component imports it: it carries the version of the interface."""
    names = component.type.imports(ENGINE)
    return next(name for name in names if name.startswith(_CLOCK))


def _arguments(program: Program, nonce: str) -> tuple[Any, ...]:
    """What `run` is called with.

    A test is added that must fail, against programs that make every test pass.
    """
    texts = [_clean(text) for text in program.tests]
    if texts:
        fails = f"raise AssertionError({secrets.token_hex(4)!r})"
        texts.append(f"def check(candidate): {fails}" if program.entry_point else fails)
    code = _clean(program.code).removeprefix("\ufeff")  # a byte order mark, as in a file
    return code, _clean(program.stdin), texts, _clean(program.entry_point), nonce


def _clean(text: str) -> str:
    """The text without lone surrogates, which no UTF-8 can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _stopped(session: _Session, error: WasmtimeError | Trap) -> Execution:
    """Why the call did not return, as an execution."""
    if isinstance(session.fault, _Stop):
        return _limit(session, session.fault.status)
    if session.fault is not None:
        raise session.fault
    if isinstance(error, ExitTrap):
        status: ExecutionStatus = "error" if error.code else "ok"
        return session.cut_short(status, error.code, "")
    cause = str(error).rpartition("Caused by:")[2].strip()
    if "wasm trap: interrupt" in cause:
        return _limit(session, "timeout")
    if "call stack exhausted" in cause:
        return session.cut_short("error", 1, "RecursionError: the stack is exhausted")
    return session.cut_short("error", 1, f"the sandbox stopped the program: {cause}")


def _limit(session: _Session, status: ExecutionStatus) -> Execution:
    if status == "timeout":
        return session.cut_short(status, STOPPED_FOR_TIME, "TimeoutError: the time limit was met")
    if status == "output":
        return session.cut_short(status, STOPPED, "the output limit was met")
    return session.cut_short(status, STOPPED, "the program tampered with its test results")
