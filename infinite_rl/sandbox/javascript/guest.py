"""The JavaScript guest: QuickJS with a prelude that prints and behaves as Node does.

The build of the WebAssembly module and the prelude are in `build_src/javascript/`.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property

from wasmtime import Trap, TrapCode, WasmtimeError

from ...types import Execution, ExecutionStatus, Program, TestResult
from ..compiled import load_compiled
from ..engine import Code, deadline, deadline_ticks, engine_for, fresh_store, shielded
from ..instance import HostFunction, OutOfBounds, Prepared
from ..runtimes import (
    FUEL_EPOCH_NS,
    FUEL_PER_NS,
    STOPPED,
    STOPPED_FOR_TIME,
    Limits,
    runtime_named,
    too_long,
)
from .machine import ASYNC_SCRIPT, GLOBAL_SCRIPT, Machine, OutOfMemory, exported_numbers
from .modules import as_script, lending
from .tests import TestReading, read_call, read_test
from .verdicts import Ended, ReportedAssertion, Returned, Verdicts

_RECOVERY_S = 0.1  # to read buffered output after a trap
_UNSETTLED = 13  # Node's exit code if a top-level await never ends
_FIRST_S, _FIRST_FUEL = 10.0, 10**6  # for the first instance, which only reads the addresses
_RECOVERY_FUEL = 10**8
_MEMORY_SLACK = 1024 * 1024
_REPORT_ROOM = 8 * 1024 * 1024
_REPORT_CHARS = 16_000_000  # of all values that one test reports
_REPORT_COST = 100  # added to the characters of each report
_EBADF = 8


class JavaScriptGuest:
    """Run JavaScript programs; see `Guest`.

    Timers do not wait: time jumps to the next one. A failed `console.assert` makes the run an
    error. Static `import` and `export` are rewritten (see `as_script`), so a module's top-level
    names stay visible to its tests. Tests also see what a program puts into `module.exports`: by
    name, and as `require('./anything')`. With tests, `console`, `JSON` and `require` are fixed
    before the program runs. Raises `RuntimeMissing` if the module was not built.
    """

    def __init__(self, is_metered: bool = False) -> None:
        code = Code.METERED if is_metered else Code.OPTIMISED  # small: compiled in half a second
        module = load_compiled(runtime_named("javascript"), code)
        self._prepared = Prepared(engine_for(code), module, _host_function)
        self._verdicts = Verdicts()
        self._constants = shielded(lambda: self._first_instance(is_metered))

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance; see `Guest.run`. Raises `SandboxError`."""
        guest = self if limits.fuel is None else self._metered
        return too_long(program, limits) or shielded(lambda: guest._run(program, limits))

    @cached_property
    def _metered(self) -> JavaScriptGuest:
        return JavaScriptGuest(is_metered=True)

    def _run(self, program: Program, limits: Limits) -> Execution:
        started = time.monotonic()
        run = self._in_instance(program, limits, _Run.start)
        if run is None:  # the memory limit is too small for the engine itself
            return Execution("", "out of memory\n", 1, "memory")
        tests = self._verdicts.results(
            run.ended, lambda assertions: self._judge(assertions, limits)
        )
        return run.execution(time.monotonic() - started, tests)

    def _judge(self, assertions: Sequence[ReportedAssertion], limits: Limits) -> Sequence[str]:
        """Return why each assertion fails, or "", judged in an instance without a program.

        Shorter than `assertions` if a limit was met.
        """
        messages: list[str] = []
        self._in_instance(Program(""), limits, lambda run: run.judge(assertions, messages))
        return messages

    def _in_instance(
        self, program: Program, limits: Limits, work: Callable[[_Run], None]
    ) -> _Run | None:
        store = fresh_store(limits, self._prepared.engine)
        with deadline(store, limits.timeout_s):
            run = _Run(program, limits)
            try:
                run.machine = Machine(self._prepared, store, run, self._constants)
            except WasmtimeError:
                return None
            work(run)
        return run

    def _first_instance(self, is_metered: bool) -> Mapping[str, int]:
        limits = Limits(timeout_s=_FIRST_S, fuel=_FIRST_FUEL if is_metered else None)
        store = fresh_store(limits, self._prepared.engine)
        with deadline(store, limits.timeout_s):
            return exported_numbers(self._prepared, store)


def _host_function(_interface: str, name: str) -> HostFunction:
    """Return the host function for an import of the module; WASI calls without one fail."""
    function: HostFunction | None = getattr(_Run, f"on_{name}", None)
    return function or (lambda *_arguments: _EBADF)


class _Stopped(Exception):
    """Raised by the host to stop the program, whose outcome is known."""


_ENDS = (_Stopped, OutOfMemory, OutOfBounds, Trap, WasmtimeError)  # of a run that did not return


class _Run:
    """One program in one instance. The `on_` methods answer calls from the guest."""

    machine: Machine  # set once there is one

    def __init__(self, program: Program, limits: Limits) -> None:
        self._program = program
        self._limits = limits
        self._output: dict[int, list[str]] = {1: [], 2: []}
        self._room = limits.output_chars
        self._status: ExecutionStatus = "ok"
        self._exit_code = 0
        self._began_ns = time.time_ns() if limits.fuel is None else FUEL_EPOCH_NS
        self._started_ns = time.monotonic_ns()
        self._skipped_ns = 0  # time that timers jumped over
        self._rejected: dict[int, tuple[int, int]] = {}  # unhandled promises, by identity
        self.ended: list[Ended | Returned] = []  # one per finished test
        self._reports: list[str] = []  # of the running test
        self._report_room = _REPORT_CHARS

    # --- the program, step by step ---------------------------------------------------------------

    def start(self) -> None:
        """Run the program and its tests, and store the outcome for `execution`."""
        self.machine.seed(self._limits.seed)
        try:
            if self._program.tests:
                self._judge()
            elif self._run_code():
                code = self.machine.drive("finish")
                if code is None:
                    self._report(self.machine.exception())
                else:
                    self._exited(self.machine.number(code))
        except _Stopped:
            return
        except OutOfMemory:
            self._out_of_memory()
        except (Trap, WasmtimeError, OutOfBounds) as trap:
            self._recover()
            self._explain(trap)

    def judge(self, assertions: Sequence[ReportedAssertion], messages: list[str]) -> None:
        """Append to `messages` why each assertion fails, or "", as far as the limits allow."""
        with suppress(*_ENDS):
            self.machine.drive("arm")
            for assertion in assertions:
                messages.append(self._answer(assertion))

    def _answer(self, assertion: ReportedAssertion) -> str:
        machine = self.machine
        if machine.drive("give", machine.new_string(assertion.values)) is None:
            return self._message(machine.drive("explain", machine.exception()))
        message = self._ended(machine.evaluate(assertion.script, "test_name", GLOBAL_SCRIPT))
        machine.drive("arm")
        return message

    def execution(self, duration_s: float, tests: tuple[TestResult, ...]) -> Execution:
        """Return the execution with its test results."""
        out, err = (_whole("".join(self._output[n])) for n in (1, 2))
        return Execution(out, err, self._exit_code, self._status, duration_s, tests)

    def _run_code(self) -> bool:
        """Run the program to its end. If it fails, report the error and return False."""
        setup = f"\n{self._program.setup}" if self._program.setup else ""
        code = as_script(self._program.code + setup)
        flags = ASYNC_SCRIPT if "await" in code else GLOBAL_SCRIPT
        box = self.machine.evaluate(code, "main_name", flags)
        error = self.machine.exception() if box is None else self._run_tasks(is_listening=True)
        while error is not None:
            if not self._is_caught("caught", error):
                self._report(error)
                return False
            error = self._run_tasks(is_listening=True)
        if box is not None and flags == ASYNC_SCRIPT and self.machine.is_pending(box):
            self._error("Warning: Detected unsettled top-level await", _UNSETTLED)
            return False
        return True

    def _is_caught(self, event: str, *values: int) -> bool:
        """Whether the program handles its errors. A listener that throws handles nothing."""
        answer = self.machine.drive(event, *values)
        if answer is None:
            self.machine.call("qjs_free_value", self.machine.exception())
            return False
        return self.machine.number(answer) == 1

    def _run_tasks(self, is_listening: bool = False) -> int | None:
        """Run promises and timers until none is left. Return the error that stopped them, if any.

        With `is_listening`, a program that listens for unhandled rejections gets them; it never
        gets those of its tests, which it could silence.
        """
        machine = self.machine
        more = machine.drive("ticks")
        while more is not None:
            if machine.call("drain") != 0:
                return machine.exception()
            if self._rejected:
                promise, reason = next(iter(self._rejected.values()))
                self._rejected.clear()
                if not is_listening or not self._is_caught("rejected", reason, promise):
                    return reason
            more = machine.drive("next")
            if more is not None and machine.number(more) == 0:
                return None
        return machine.exception()

    def _judge(self) -> None:
        """Run the program, then each test as a separate script, and store one result per test."""
        machine = self.machine
        machine.drive("lock")
        if not self._run_code():
            return
        if machine.drive("expose") is None:
            self._report(machine.exception())
            return
        failed = machine.drive("arm")
        if failed is None or machine.number(failed) > 0:
            self._error("the program's own assertions failed", 1)
            machine.drive("flush")
            return
        if script := lending((self._program.setup, *self._program.tests)):
            self._ended(machine.evaluate(script, "test_name", GLOBAL_SCRIPT))
            machine.drive("arm")
        for number, test in enumerate(self._program.tests):
            self._reports = []
            self._report_room = _REPORT_CHARS
            if self._program.expected:
                value = self._program.expected[number]
                message = self._test(read_call(test))
                self.ended.append(Returned(test, value, message, self._reports))
            else:
                reading = read_test(test, self._program.entry_point, self._program.setup)
                self.ended.append(Ended(reading, self._test(reading), self._reports))
            machine.drive("arm")

    def _test(self, test: TestReading) -> str:
        """Return why the test fails in the program's instance, or ""."""
        machine = self.machine
        entry = self._program.entry_point
        call = f"\n;check({entry});" if entry else ""
        reporter = ""
        if test.assertions:
            name = f"${secrets.token_hex(16)}"
            if machine.drive("offer", machine.new_string(name)) is None:
                return self._message(machine.drive("explain", machine.exception()))
            reporter = f"const {test.reporter} = {name}();"
        # A block: each test may declare `const assert` again.
        source = f"{{{reporter}{test.source}\n{call}}}"
        flags = ASYNC_SCRIPT if "await" in test.source else GLOBAL_SCRIPT
        message = self._ended(machine.evaluate(source, "test_name", flags))
        return message if self._report_room >= 0 else "the test computed too much to be judged"

    def _ended(self, box: int | None) -> str:
        """Return why a script with the result `box` failed after all its tasks ended, or ""."""
        machine = self.machine
        error = machine.exception() if box is None else self._run_tasks()
        message = None
        if error is not None:
            message = machine.drive("explain", error)
        elif box is not None:
            message = machine.drive("verdict", box)
            if message is None:
                message = machine.drive("explain", machine.exception())
        machine.drive("flush")
        return self._message(message)

    def _message(self, box: int | None) -> str:
        return "the test failed" if box is None else self.machine.text(box)

    # --- ends ------------------------------------------------------------------------------------

    def _exited(self, code: float) -> None:
        self._exit_code = int(code) % 256 if code == code and abs(code) < 2**53 else 1
        self._status = "error" if self._exit_code else "ok"

    def _error(self, reason: str, exit_code: int = 1, status: ExecutionStatus = "error") -> None:
        self._status, self._exit_code = status, exit_code
        self._output[2].append(f"{reason}\n")

    def _report(self, error: int) -> None:
        """Report an error that the program did not catch."""
        self._status, self._exit_code = "error", 1
        was_full = self._is_full()
        # The report needs memory too, and the program no longer runs.
        self.machine.store.set_limits(memory_size=self._limits.memory_bytes + _REPORT_ROOM)
        box = self.machine.drive("fail", error)
        kind = 0 if box is None else self.machine.number(box)
        if kind == 1:
            self._status = "memory"
        elif was_full and (box is None or kind == 2):
            self._out_of_memory()
        elif box is None:
            self._error("Error: its report failed")

    def _is_full(self) -> bool:
        return self.machine.memory_size() > self._limits.memory_bytes - _MEMORY_SLACK

    def _out_of_memory(self) -> None:
        self._error("InternalError: out of memory", 1, "memory")

    def _explain(self, trap: Trap | WasmtimeError | OutOfBounds) -> None:
        code = trap.trap_code if isinstance(trap, Trap) else None
        if code == TrapCode.INTERRUPT:
            self._error(
                f"timed out after {self._limits.timeout_s:g} s", STOPPED_FOR_TIME, "timeout"
            )
        elif code == TrapCode.OUT_OF_FUEL:
            self._error(f"ran out of fuel ({self._limits.fuel})", STOPPED_FOR_TIME, "timeout")
        elif code == TrapCode.STACK_OVERFLOW:
            self._error("RangeError: Maximum call stack size exceeded")
        elif self._is_full():
            self._out_of_memory()
        else:
            self._error(f"the JavaScript engine stopped: {str(trap).splitlines()[-1].strip()}")

    def _recover(self) -> None:
        """Read the output that is still buffered in the guest, if the trap left it intact."""
        with suppress(*_ENDS):
            self.machine.store.set_epoch_deadline(deadline_ticks(_RECOVERY_S))
            if self._limits.fuel is not None:
                self.machine.store.set_fuel(_RECOVERY_FUEL)
            self.machine.after_trap()
            self.machine.drive("flush")

    # --- calls from the guest ---------------------------------------------------------------------

    def on_host_call(self, name: int, size: int, _this: int, count: int, values: int) -> int:
        """Run one of the prelude's host functions. Returns a value, which the guest frees."""
        machine = self.machine
        function = machine.read(name, size)
        value = machine.word(values) if count else 0
        if function == b"write":
            return self._write(int(machine.number(value)), machine.word(values + 4))
        if function == b"report":
            return self._keep_report(value)
        if function == b"promiseState":
            return int(
                machine.call("qjs_new_number", float(machine.call("qjs_promise_state", value)))
            )
        if function == b"promiseResult":
            return int(machine.call("qjs_promise_result", value))
        if function == b"exit":
            self._exited(machine.number(value))
            raise _Stopped
        if function == b"skip":
            self._skipped_ns += int(machine.number(value) * 1e6)
            return int(machine.call("qjs_get_undefined"))
        if function == b"stdinBytes":
            return machine.new_bytes(self._program.stdin)
        return machine.new_string(self._program.stdin)

    def _keep_report(self, box: int) -> int:
        text = self.machine.text(box)
        self._report_room -= len(text) + _REPORT_COST
        if self._report_room >= 0:
            self._reports.append(text)
        return int(self.machine.call("qjs_get_undefined"))

    def _write(self, descriptor: int, box: int) -> int:
        text = self.machine.text(box)
        self._output[descriptor].append(text[: self._room])
        self._room -= len(text)
        if self._room < 0:
            self._room = 0
            self._error(
                f"output longer than {self._limits.output_chars} characters", STOPPED, "output"
            )
            raise _Stopped
        return int(self.machine.call("qjs_get_undefined"))

    def on_host_promise_rejection(self, promise: int, reason: int, is_handled: int) -> None:
        """Track a promise that was rejected without a handler, or got a handler later."""
        identity = self.machine.word(promise)
        if is_handled:
            self._rejected.pop(identity, None)
        else:
            self._rejected[identity] = (promise, reason)

    def on_clock_time_get(self, clock: int, _precision: int, out: int) -> int:
        nanoseconds = self._passed_ns() + (self._began_ns if clock == 0 else 0)
        self.machine.write(out, (nanoseconds + self._skipped_ns).to_bytes(8, "little"))
        return 0

    def _passed_ns(self) -> int:
        """Return the nanoseconds since the start, by the clock or by the consumed fuel."""
        if self._limits.fuel is None:
            return time.monotonic_ns() - self._started_ns
        return (self._limits.fuel - self.machine.store.get_fuel()) // FUEL_PER_NS

    def on_random_get(self, out: int, size: int) -> int:
        self.machine.write(out, os.urandom(size))
        return 0


def _whole(text: str) -> str:
    """Join pairs of surrogates that arrived apart; half a pair becomes U+FFFD."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
