"""Sessions in JavaScript: one instance of QuickJS, whose global scripts are the turns.

As in Node's own prompt, a name of `const` or `let` cannot be declared again. Timers and promises
run to their end within their turn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from wasmtime import Store, Trap, WasmtimeError

from ...errors import SandboxError, UsageError
from ...types import Program
from ..engine import deadline, fresh_store, timeout_reason
from ..instance import MemoryImage, OutOfBounds
from ..runtimes import Limits, Output, load_guest, runtime_named
from ..session import START_S, TurnResult, TurnStatus, result_of
from .guest import JavaScriptGuest
from .machine import GLOBAL_SCRIPT, OutOfMemory
from .run import Run, Side, Stopped, whole

# A function that shows a value as Node's prompt does, and undefined as nothing. The value of a
# script that awaits is in an object.
_INSPECTOR = """(() => { const { inspect } = require('util');
    return (value, awaits) => {
        const shown = awaits ? value.value : value;
        return shown === undefined ? '' : inspect(shown);
    }; })()"""
_FAILURES = (Trap, WasmtimeError, OutOfBounds)


class JavaScriptState(NamedTuple):
    """An interpreter between two turns; see `State`."""

    limits: Limits
    memory: MemoryImage
    skipped_ns: int
    inspector: int  # the function of `_INSPECTOR`

    def open(self) -> JavaScriptInterpreter:
        """Return a new interpreter in this state. Raises `SandboxError`."""
        return JavaScriptInterpreter(self.limits, self)


class JavaScriptInterpreter:
    """The interpreter of a session; see `Interpreter`. `state` is that of another.

    Raises `UsageError` if the memory is too small, and `SandboxError`.
    """

    def __init__(self, limits: Limits, state: JavaScriptState | None = None) -> None:
        self._limits = limits
        self._turns, self._side = _new(limits)
        self._inspector = self._begin() if state is None else self._restore(state)

    def run(self, code: str, limits: Limits) -> TurnResult:
        """Run the code of one turn; see `Interpreter.run`."""
        turns, side = self._turns, self._side
        turns.begin(limits)
        try:
            with deadline(turns.store, limits.timeout_s):
                try:
                    status, value, error = self._executed(code)
                    side.machine.drive("flush")
                except _FAILURES:
                    side.recover()
                    raise
        except OutOfMemory:
            return turns.turn("memory", "InternalError: out of memory")
        except Stopped:
            error = f"The code has left its interpreter with the exit code {turns.exit_code}"
            return turns.turn("ended", error)
        except _FAILURES as failure:
            reason = timeout_reason(failure, limits)
            error = f"TimeoutError: {reason}" if reason else _cause(failure)
            return turns.turn("timeout" if reason else "ended", error)
        return turns.turn(status, error, value)

    def state(self) -> JavaScriptState:
        """Return the state; see `Interpreter.state`."""
        turns, fresh = _new(self._limits)
        with turns.store:
            memory = self._side.machine.image(fresh.machine)
        return JavaScriptState(self._limits, memory, self._turns.skipped_ns, self._inspector)

    def close(self) -> None:
        """Free the memory."""
        self._turns.store.close()

    def _begin(self) -> int:
        try:
            with deadline(self._turns.store, START_S):
                inspector = self._side.machine.evaluate(_INSPECTOR, "main_name", GLOBAL_SCRIPT)
        except _FAILURES as error:
            raise SandboxError(f"the session does not start: {error}") from error
        if inspector is None:
            raise UsageError("JavaScript does not start in so little memory")
        return inspector

    def _restore(self, state: JavaScriptState) -> int:
        self._turns.skipped_ns = state.skipped_ns
        self._side.machine.load(state.memory)
        return state.inspector

    def _executed(self, code: str) -> tuple[TurnStatus, str, str]:
        """Run a script; return the status, the value, the error."""
        machine = self._side.machine
        value, error, is_async = self._side.run_script(code)
        if error is not None:
            return self._uncaught(error)
        if value is None:  # it threw, and a listener of the code has handled it
            return "ok", "", ""
        if is_async:
            if machine.is_pending(value):
                return "error", "", "Error: the top-level await has not settled"
            value = int(machine.call("qjs_promise_result", value))
        shown = machine.apply(self._inspector, value, int(machine.call("qjs_new_number", is_async)))
        if shown is None:
            return self._uncaught(machine.exception())
        return "ok", machine.text(shown), ""

    def _uncaught(self, error: int) -> tuple[TurnStatus, str, str]:
        """Return what the prelude says of an error that nothing caught."""
        turns, machine = self._turns, self._side.machine
        machine.drive("flush")
        # The report is the error of the turn: it needs no room in the output, which may be full.
        # One character beyond the limit shows that the report is cut.
        printed, report = turns.printed, Output(turns.limits.output_chars + 1)
        turns.printed = report
        try:
            box = machine.drive("fail", error)
        finally:
            turns.printed = printed
        printed.write(1, report.text(1))
        kind = 0 if box is None else machine.number(box)
        text = report.text(2) or "InternalError: out of memory"
        is_full = kind == 1 or ((box is None or kind == 2) and turns.is_full())
        return "memory" if is_full else "error", "", text


class _Turns(Run):
    """A run whose output is that of one turn after another."""

    def __init__(self, limits: Limits, store: Store) -> None:
        super().__init__(Program(""), limits, store)
        self.begin(limits)

    def begin(self, limits: Limits) -> None:
        """Begin a turn."""
        self.limits, self.exit_code = limits, 0
        self.printed = Output(limits.output_chars)

    def write(self, descriptor: int, text: str) -> None:
        """Keep what is printed, as far as there is room."""
        self.printed.write(descriptor, text)

    def turn(self, status: TurnStatus, error: str = "", value: str = "") -> TurnResult:
        """Return the result of the turn."""
        turn = result_of(self.printed, status, whole(error), whole(value))
        return replace(turn, stdout=whole(turn.stdout), stderr=whole(turn.stderr))


def _new(limits: Limits) -> tuple[_Turns, Side]:
    guest = load_guest(runtime_named("javascript"))
    assert isinstance(guest, JavaScriptGuest)
    turns = _Turns(limits, fresh_store(limits, guest.prepared.engine))
    try:
        return turns, guest.new_side(turns)
    except WasmtimeError:
        turns.store.close()
        raise UsageError("JavaScript does not start in so little memory") from None


def _cause(failure: Exception) -> str:
    return f"The code has stopped its interpreter: {str(failure).splitlines()[-1].strip()}"
