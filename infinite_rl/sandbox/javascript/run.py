"""One run of JavaScript: the interpreter of the program, that of its tests, and what they tell.

The host passes the messages between the two on: see `build_src/javascript/prelude/peer.js`.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from wasmtime import Store, Trap, TrapCode, WasmtimeError

from ...types import Execution, ExecutionStatus, Program, TestResult
from ..engine import deadline_ticks, fuel_used, timeout_reason
from ..instance import OutOfBounds
from ..json_values import same_json, shown_json
from ..runtimes import STOPPED, STOPPED_FOR_TIME, Limits, Output, RunClock
from .machine import ASYNC_SCRIPT, GLOBAL_SCRIPT, Machine, OutOfMemory
from .modules import as_script
from .names import parsed_tests
from .plain import Judged, failure_of, value_fails

_RECOVERY_S = 0.1  # to read buffered output after a trap
_UNSETTLED = 13  # Node's exit code if a top-level await never ends
_RECOVERY_FUEL = 10**8
_MEMORY_SLACK = 1024 * 1024
_REPORT_ROOM = 8 * 1024 * 1024
_DEEPEST = 300  # calls from one side into the other and back, one inside the other
_FRAMES, _OWN_FRAMES = 4, 100  # of Python's stack that each takes, and all else
_MESSAGE_CHARS = 2000
_NEVER = (math.inf,)


class Stopped(Exception):
    """Raised by the host to stop the program, whose outcome is known."""


class Undecided(Exception):
    """The host cannot compare what the program told: the tests must run."""


class PlainTests(NamedTuple):
    """Tests that only call the program, and compare what it returns."""

    calls: str  # the names and the calls of all, as JSON
    tests: list[list[Judged]]


class ScriptResult(NamedTuple):
    """A script's value (a promise if it awaits), None if it threw, and an error not handled."""

    value: int | None
    error: int | None
    is_async: bool


_ENDS = (Stopped, OutOfMemory, OutOfBounds, Trap, WasmtimeError)  # of a run that did not return


class Run:
    """One program with its tests: what was printed, how it ended."""

    def __init__(self, program: Program, limits: Limits, store: Store) -> None:
        self.program, self.limits, self.store = program, limits, store
        self.tests: list[TestResult] = []
        self.skipped_ns = 0  # time that timers jumped over
        self.printed = Output(limits.output_chars)
        self._status: ExecutionStatus = "ok"
        self.exit_code = 0
        self._clock = RunClock(limits)
        self._day_ns: int | None = None  # less `skipped_ns`, while tests have stopped the clock
        self.sides: list[Side] = []

    def start(self, new_side: Callable[[Run], Side], plain: PlainTests | None) -> None:
        """Run the program and its tests, and store the outcome for `execution`.

        Raises `WasmtimeError` if there is no memory for an instance, `Undecided`.
        """
        side = new_side(self)
        self.sides.append(side)
        try:
            if not side.run_code():
                return
            if not self.program.tests:
                side.finish()
            elif side.machine.number(side.machine.drive("failed") or 0) > 0:
                self.error("the program's own assertions failed", 1)
                side.machine.drive("flush")
            elif plain is None or not side.compile(plain.calls):
                self._judge(side, new_side)
            else:
                side.run_plain(plain)
        except Stopped:
            return
        except OutOfMemory:
            self._out_of_memory()
        except (Trap, WasmtimeError, OutOfBounds) as trap:
            for each in self.sides:
                each.recover()
            self._explain(trap)

    def strip(self, side: Side, texts: str) -> list[str] | None:
        """Return JSON texts of TypeScript as JavaScript; None if that failed: see `execution`."""
        machine = side.machine
        self.sides.append(side)
        try:
            box = machine.drive("stripTypes", machine.new_string(texts))
            if box is not None:
                stripped: list[str] = json.loads(machine.text(box))
                return stripped
            self.error(machine.text(machine.exception()))
        except OutOfMemory:
            self._out_of_memory()
        except (Trap, WasmtimeError, OutOfBounds) as trap:
            self._explain(trap)
        return None

    def _judge(self, side: Side, new_side: Callable[[Run], Side]) -> None:
        judge = new_side(self)
        self.sides.append(judge)
        side.other, judge.other, judge.is_judge = judge, side, True
        side.machine.drive("flush")
        judge.run_tests()
        side.machine.drive("flush")

    def execution(self) -> Execution:
        """Return the execution with its test results."""
        out, err = (whole(self.printed.text(fd)) for fd in (1, 2))
        duration = self._clock.duration_ns() / 1e9
        tests, fuel = tuple(self.tests), self.limits.fuel
        used = fuel_used(self.limits, self.store)
        used = fuel if fuel and used < 0 else used  # a report after a trap is fuelled anew
        return Execution(out, err, self.exit_code, self._status, duration, tests, used)

    def now_ns(self, *, is_day: bool) -> int:
        """Return the nanoseconds since the start, or since 1970: by the clock or by the fuel."""
        if is_day and self._day_ns is not None:
            return self._day_ns + self.skipped_ns
        passed = self._clock.passed_ns(fuel_used(self.limits, self.store))
        return passed + self.skipped_ns + (self._clock.began_ns if is_day else 0)

    def stop_clock(self, day_ms: float) -> None:
        """Set the time of day, which then moves with timers alone; infinity lets it go on.

        NaN is the present time.
        """
        if math.isinf(day_ms):
            self._day_ns = None
        else:
            now_ns = self.now_ns(is_day=True)
            self._day_ns = (now_ns if day_ms != day_ms else int(day_ms) * 10**6) - self.skipped_ns

    def write(self, descriptor: int, text: str) -> None:
        """Keep what a side prints. Raises `Stopped` past the limit."""
        self.printed.write(descriptor, text)
        if self.printed.is_cut:
            reason = f"output longer than {self.limits.output_chars} characters"
            self.error(reason, STOPPED, "output")
            raise Stopped

    def exited(self, code: float) -> None:
        """Keep the exit code of a program that ended by itself."""
        self.exit_code = int(code) % 256 if code == code and abs(code) < 2**53 else 1
        self._status = "error" if self.exit_code else "ok"

    def error(self, reason: str, exit_code: int = 1, status: ExecutionStatus = "error") -> None:
        """Say why the program did not end well."""
        self._status, self.exit_code = status, exit_code
        self.printed.explain(reason)

    def report(self, side: Side, error: int) -> None:
        """Report an error that the program did not catch."""
        self._status, self.exit_code = "error", 1
        was_full = self.is_full()
        # The report needs memory too, and the program no longer runs.
        self.store.set_limits(memory_size=self.limits.memory_bytes + _REPORT_ROOM)
        box = side.machine.drive("fail", error)
        kind = 0 if box is None else side.machine.number(box)
        if kind == 1:
            self._status = "memory"
        elif was_full and (box is None or kind == 2):
            self._out_of_memory()
        elif box is None:
            self.error("Error: its report failed")

    def is_full(self) -> bool:
        """Whether the memory of an interpreter is nearly full."""
        nearly = self.limits.memory_bytes - _MEMORY_SLACK
        return any(side.machine.memory_size() > nearly for side in self.sides)

    def _out_of_memory(self) -> None:
        self.error("InternalError: out of memory", 1, "memory")

    def _explain(self, trap: Trap | WasmtimeError | OutOfBounds) -> None:
        if reason := timeout_reason(trap, self.limits):
            self.error(reason, STOPPED_FOR_TIME, "timeout")
        elif isinstance(trap, Trap) and trap.trap_code == TrapCode.STACK_OVERFLOW:
            self.error("RangeError: Maximum call stack size exceeded")
        elif self.is_full():
            self._out_of_memory()
        else:
            self.error(f"the JavaScript engine stopped: {str(trap).splitlines()[-1].strip()}")


class Side:
    """One of a run's two interpreters. The `on_` methods answer calls from the guest."""

    machine: Machine  # set once there is one

    def __init__(self, run: Run) -> None:
        self.run = run
        self.other: Side | None = None  # while tests run
        self.is_judge = False
        self._rejected: dict[int, tuple[int, int]] = {}  # unhandled promises, by identity
        self._exchanges = self._depth = 0
        self._has_timers = self._has_run = self._has_failed = False

    # --- the program ------------------------------------------------------------------------------

    def run_code(self) -> bool:
        """Run the program to its end. If it fails, report the error and return False."""
        value, error, is_async = self.run_script(self.run.program.code)
        if error is not None:
            self.run.report(self, error)
            return False
        if value is not None and is_async and self.machine.is_pending(value):
            self.run.error("Warning: Detected unsettled top-level await", _UNSETTLED)
            return False
        return True

    def run_script(self, code: str) -> ScriptResult:
        """Run a script with its promises and timers, as long as the code handles its errors."""
        script = as_script(code)
        is_async = "await" in script
        flags = ASYNC_SCRIPT if is_async else GLOBAL_SCRIPT
        value = self.machine.evaluate(script, "main_name", flags)
        error = self.machine.exception() if value is None else self._run_tasks()
        while error is not None and self._is_caught("caught", error):
            error = self._run_tasks()
        return ScriptResult(value, error, is_async)

    def finish(self) -> None:
        """End a program without tests."""
        code = self.machine.drive("finish")
        if code is None:
            self.run.report(self, self.machine.exception())
        else:
            self.run.exited(self.machine.number(code))

    def _is_caught(self, event: str, *values: int) -> bool:
        """Whether the program handles its errors. A listener that throws handles nothing."""
        answer = self.machine.drive(event, *values)
        if answer is None:
            self.machine.call("qjs_free_value", self.machine.exception())
            return False
        return self.machine.number(answer) == 1

    def _run_tasks(self) -> int | None:
        """Run promises and timers until none is left. Return the error that stopped them, if any.

        A program that listens for unhandled rejections gets them.
        """
        machine = self.machine
        more = machine.drive("ticks")
        while more is not None:
            if machine.call("drain") < 0:
                return machine.exception()
            if self._rejected:
                promise, reason = next(iter(self._rejected.values()))
                self._rejected.clear()
                if not self._is_caught("rejected", reason, promise):
                    return reason
            more = machine.drive("next")
            if more is not None and machine.number(more) == 0:
                return None
        return machine.exception()

    def recover(self) -> None:
        """Read the output that is still buffered in the guest, if the trap left it intact."""
        with suppress(*_ENDS):
            self.machine.store.set_epoch_deadline(deadline_ticks(_RECOVERY_S))
            if self.run.limits.fuel is not None:
                self.machine.store.set_fuel(_RECOVERY_FUEL)
            self.machine.after_trap()
            self.machine.drive("flush")

    # --- tests ------------------------------------------------------------------------------------

    def run_tests(self) -> None:
        """Run the tests of the program that the other side ran."""
        machine, tests = self.machine, parsed_tests(self.run.program)
        plan = tests.guest_settings(self.run.program.code)
        if self.run.skipped_ns:
            self._advance(self.run.skipped_ns / 1e6)  # both sides have one time
        ready = machine.drive("prepare", machine.new_string(plan)) is not None
        if not ready or (self._set_up(tests.setup) and machine.drive("judge") is None):
            self.run.report(self, machine.exception())

    def compile(self, calls: str) -> bool:
        """Compile expressions. Whether they are, and all functions are there."""
        box = self.machine.drive("compile", self.machine.new_string(calls))
        if box is None:
            self.machine.call("qjs_free_value", self.machine.exception())
        return box is not None and self.machine.number(box) == 1

    def constants(self, texts: list[str]) -> list[tuple[str, str]] | None:
        """Return the values of constants, as text and as they are shown; None if one is none."""
        if not self.compile(json.dumps([[], texts])):
            return None
        answers = [(self._value(n), self._shown()) for n in range(len(texts))]
        return answers if all(value.startswith("=") for value, _shown in answers) else None

    def _value(self, number: int) -> str:
        box = self.machine.drive("valueOf", self.machine.call("qjs_new_number", float(number)))
        if box is None:
            raise Undecided
        return self.machine.text(box)

    def _shown(self) -> str:
        box = self.machine.drive("shownValue")
        return "" if box is None else self.machine.text(box)

    def run_plain(self, plain: PlainTests) -> None:
        """Ask the program for the values of plain tests. Raises `Undecided`."""
        first = 0
        for test in plain.tests:
            message = self._plain_failure(test, first)[:_MESSAGE_CHARS]
            if self.machine.call("drain") != 0 or self._rejected or self._due() != _NEVER:
                raise Undecided
            self.run.tests.append(TestResult(not message, message))
            first += len(test)
        self.machine.drive("flush")

    def _plain_failure(self, test: list[Judged], first: int) -> str:
        """Return why a test fails, or "". Only `console.assert` goes on after a failure."""
        failure = ""
        for number, judged in enumerate(test, first):
            value = self._value(number)
            if value.startswith("#"):
                return value[1:]
            fails = value_fails(judged, value)
            if fails is None:
                raise Undecided
            if fails:
                reason = failure_of(judged, self._shown())
                if judged.step.assertion != "console.assert":
                    return reason
                failure = failure or reason
        return failure

    def _set_up(self, setup: str) -> bool:
        """Run what comes before the tests. If it fails, report the error and return False."""
        if not setup:
            return True
        flags = ASYNC_SCRIPT if "await" in setup else GLOBAL_SCRIPT
        if self.machine.evaluate(setup, "test_name", flags) is None:
            self.run.report(self, self.machine.exception())
            return False
        self._settle()
        return True

    def _script(self, source: str) -> int:
        """Run a test that awaits. Its completion value comes as a promise."""
        box = self.machine.evaluate(source, "test_name", ASYNC_SCRIPT)
        if box is not None:
            return box
        self._blame(self, self.machine.exception())
        return int(self.machine.call("qjs_get_undefined"))

    def _settle(self, until: float = math.inf, drains: bool = True) -> None:
        """Run the promises of both sides, and the timers that are due until then (in ms).

        Ends when none is left, or one fails. Promises wait where `drains` is false.
        """
        other = self.other
        assert other is not None
        sides = (self, other)
        self._exchanges = other._exchanges = 0
        is_turn = until == math.inf  # of the event loop: what follows are ticks, then promises
        while True:
            if other._has_run or other._has_timers:
                other._has_run = False
                other.machine.drive("sync")
                self._exchanges = other._exchanges = 0
            if is_turn and (self._ticks_fail(self) or other._ticks_fail(self)):
                return
            if drains and (self._drain_fails(self) or other._drain_fails(self)):
                return
            is_turn = False
            if drains and (other._has_run or self._exchanges or other._exchanges):
                self._exchanges = other._exchanges = 0
                continue
            if not (self._has_timers or other._has_timers):
                return
            due = {side: side._due() for side in sides}
            first = min(due, key=lambda side: due[side])
            if due[first][0] > until or due[first] == _NEVER:
                return
            first._has_run = True
            if first.machine.drive("next") is None:
                self._blame(first, first.machine.exception())
                return
            is_turn = drains
            if due[first][0] > 0:
                (self if first is other else other)._advance(due[first][0])

    def _advance(self, clock: float) -> float:
        """Set the side's time of timers; return how far it moved."""
        box = self.machine.drive("advance", self.machine.call("qjs_new_number", clock))
        return 0 if box is None else self.machine.number(box)

    def _pass_time(self, until: float, drains: bool) -> None:
        """Run the timers that are due until then, for tests that move the clock themselves."""
        self._settle(until, drains)
        if until < math.inf and self.other is not None:
            self.other._advance(until)
            self.run.skipped_ns += int(self._advance(until) * 1e6)

    def _due(self) -> tuple[float, ...]:
        """When the next timer is due: its time, its kind, and when it was made."""
        if not self._has_timers:
            return _NEVER
        box = self.machine.drive("due")
        due = () if box is None else tuple(map(float, self.machine.text(box).split()))
        self._has_timers = bool(due)
        return due or _NEVER

    def _ticks_fail(self, judge: Side) -> bool:
        """Run the side's ticks. Whether one failed, which is the test's failure."""
        if not self._has_timers:
            return False
        self._has_run = True
        if self.machine.drive("ticks") is not None:
            return False
        judge._blame(self, self.machine.exception())
        return True

    def _drain_fails(self, judge: Side) -> bool:
        """Run the side's promises. Whether one failed, which is the test's failure."""
        drained = self.machine.call("drain")
        if drained < 0:
            judge._blame(self, self.machine.exception())
            return True
        self._has_run = self._has_run or drained > 0
        if self._rejected:
            _promise, reason = next(iter(self._rejected.values()))
            self._rejected.clear()
            judge._blame(self, reason)
            return True
        return False

    def _blame(self, side: Side, error: int) -> None:
        """Fail the running test for an uncaught error of either side."""
        if side is self:
            done = self.machine.drive("blame", error)
        else:
            box = side.machine.drive("explain", error)
            text = "the test failed" if box is None else side.machine.text(box)
            done = self.machine.drive("note", self.machine.new_string(text))
        self._has_failed = done is None

    def _verdict(self, text: str) -> None:
        program, number = self.run.program, len(self.run.tests)
        if not self.is_judge or number >= len(program.tests):
            raise OutOfBounds("a verdict")
        message = text[1 : _MESSAGE_CHARS + 1] if text.startswith("!") else ""
        if self._has_failed:  # and there was no memory to say so
            message, self._has_failed = "the test failed", False
        if text.startswith("="):
            message = _difference(program.tests[number], program.expected[number], text[1:])
        self.run.tests.append(TestResult(not message, message))

    def _question(self, box: int) -> tuple[int, ...] | None:
        """Put a message into the other side, to be answered there; None if that is too deep."""
        other, most = self.other, (sys.getrecursionlimit() - _OWN_FRAMES) // _FRAMES
        if other is None or self._depth + other._depth >= min(most, _DEEPEST):
            return None
        self._exchanges += 1
        self._depth += 1
        return other.machine.question("serve", self.machine.bytes_of(box))

    def _answered(self, start: int) -> int:
        """Return the answer of the other side, or undefined."""
        assert self.other is not None
        self._depth -= 1
        text = self.other.machine.take_answer(start)
        if text is None:
            return int(self.machine.call("qjs_get_undefined"))
        return self.machine.new_string_of(text)

    # --- calls from the guest ---------------------------------------------------------------------

    def on_host_call(self, name: int, size: int, _this: int, count: int, values: int) -> int:
        """Run one of the prelude's host functions. Returns a value, which the guest frees."""
        machine = self.machine
        function = machine.read(name, size)
        value = machine.word(values) if count else 0
        if function == b"exchange":
            question = self._question(value)
            if question is None or self.other is None:
                return int(machine.call("qjs_get_undefined"))
            # Here, since each level of calls takes Python's own frames.
            return self._answered(self.other.machine.call("answer", *question))
        if function == b"settle" and self.is_judge:
            self._settle()
        elif function == b"verdict":
            self._verdict(machine.text(value) if count else "")
        elif function == b"write":
            self.run.write(int(machine.number(value)), machine.text(machine.word(values + 4)))
        elif function == b"exit":
            self.run.exited(machine.number(value))
            raise Stopped
        elif function == b"timers":
            self._has_timers = True
        elif function == b"skip":
            self.run.skipped_ns += int(machine.number(value) * 1e6)
        elif function == b"advance" and self.is_judge:
            self._pass_time(machine.number(value), machine.number(machine.word(values + 4)) > 0)
        elif function == b"day" and self.is_judge:
            self.run.stop_clock(machine.number(value))
        else:
            return self._answer_of(function, value)
        return int(machine.call("qjs_get_undefined"))

    def _answer_of(self, function: bytes, value: int) -> int:
        machine = self.machine
        if function == b"promiseState":
            state = machine.call("qjs_promise_state", value)
            return int(machine.call("qjs_new_number", float(state)))
        if function == b"promiseResult":
            return int(machine.call("qjs_promise_result", value))
        if function == b"stdinBytes":
            return machine.new_bytes(self.run.program.stdin)
        if function == b"stdin":
            return machine.new_string(self.run.program.stdin)
        if function == b"script" and self.is_judge:
            return self._script(machine.text(value))
        return int(machine.call("qjs_get_undefined"))

    def on_host_promise_rejection(self, promise: int, reason: int, is_handled: int) -> None:
        """Track a promise that was rejected without a handler, or got a handler later."""
        identity = self.machine.word(promise)
        if is_handled:
            self._rejected.pop(identity, None)
        else:
            self._rejected[identity] = (promise, reason)

    def on_clock_time_get(self, clock: int, _precision: int, out: int) -> int:
        self.machine.write(out, self.run.now_ns(is_day=clock == 0).to_bytes(8, "little"))
        return 0

    def on_random_get(self, out: int, size: int) -> int:
        self.machine.write(out, os.urandom(size))
        return 0


def _difference(expression: str, expected: Any, text: str) -> str:
    """Return why a value, as JSON after "=", is not the one that is expected, or ""."""
    if not text.startswith("="):
        return f"the value of {expression} is no JSON: {text[1:]}"
    try:
        value = json.loads(text[1:])
    except RecursionError:
        return f"the value of {expression} is no JSON: it is nested too deeply"
    if same_json(value, expected):
        return ""
    return f"{expression} is {shown_json(value)}, and should be {shown_json(expected)}"


def whole(text: str) -> str:
    """Join pairs of surrogates that arrived apart; half a pair becomes U+FFFD."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
