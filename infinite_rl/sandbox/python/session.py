"""Sessions in Python: one interpreter, in which `session.txt` runs turn after turn.

The interpreter of a program answers messages of its tests' interpreter (`guest/peer.py` in
`build_src/python/` describes them). Here the host sends them: each calls `run_turn`.
"""

from __future__ import annotations

import copy
import json
import random
import struct
import time
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from wasmtime import Trap, WasmtimeError

from ...errors import SandboxError
from ..compiled import load_compiled
from ..engine import Code, deadline, engine_for
from ..instance import Instance, MemoryImage, OutOfBounds, Prepared
from ..runtimes import Limits, Output, runtime_named
from ..session import START_S, TurnResult, TurnStatus, result_of
from .files import OpenFiles, host_function
from .guest import (
    NO_STEPS,
    Left,
    Session,
    Side,
    Stop,
    clean,
    instantiate,
    put_text,
    report,
    stopped,
)
from .wasi import NotOffered, put

_HANDLE = 1  # of `run_turn`, the first object that the interpreter tells of
_FIND = ["name", ["run_turn"], None]


class PythonState(NamedTuple):
    """An interpreter between two turns; see `State`."""

    limits: Limits
    memory: MemoryImage
    files: OpenFiles
    chance: random.Random | None
    started: float

    def open(self) -> PythonInterpreter:
        """Return a new interpreter in this state. Raises `SandboxError`."""
        return PythonInterpreter(self.limits, self)


class PythonInterpreter:
    """The interpreter of a session; see `Interpreter`. `state` is that of another.

    Raises `UsageError` if the memory is too small, and `SandboxError`.
    """

    def __init__(self, limits: Limits, state: PythonState | None = None) -> None:
        self._limits = limits
        self._side = _Side(limits, _code())
        if state is None:
            self._begin()
        else:
            self._restore(state)

    def run(self, code: str, limits: Limits) -> TurnResult:
        """Run the code of one turn; see `Interpreter.run`."""
        side = self._side
        side.begin(limits)
        call = ["call", [["h", -_HANDLE], ["t", clean(code), limits.output_chars]], None]
        try:
            with deadline(side.store, limits.timeout_s):
                answer = side.ask(call)
        except (Stop, Left, *_FAILURES) as failure:
            return result_of(side.printed, *_ending(failure, side.session))
        match answer:
            case ["t", str(value), str(error), "ok" | "error" | "memory" as status]:
                return result_of(side.printed, status, error, value)
        return result_of(side.printed, "ended", "The code has broken its interpreter")

    def state(self) -> PythonState:
        """Return the state; see `Interpreter.state`."""
        side, fresh = self._side, _Side(self._limits, _code())
        with fresh.store:
            memory = side.instance.image(fresh.instance)
        copies = copy.deepcopy((side.files, side.chance))
        return PythonState(self._limits, memory, *copies, side.session.started)

    def close(self) -> None:
        """Free the memory."""
        self._side.store.close()

    def _begin(self) -> None:
        side, seed = self._side, self._limits.seed
        try:
            with deadline(side.store, START_S):
                program = *put_text(side.instance, _program()), False, *put(side.instance, b"")
                steps = True, *put(side.instance, NO_STEPS)
                chance = (0, 0) if seed is None else (1, seed % 2**64)
                report(side.instance, "run", *program, *steps, *chance)
                answer = side.ask(_FIND)
        except _FAILURES as error:
            raise SandboxError(f"the session does not start: {error}") from error
        if answer[:2] != ["fn", _HANDLE]:
            raise SandboxError(f"the session does not start: {answer}")

    def _restore(self, state: PythonState) -> None:
        side = self._side
        side.session.started = state.started
        side.files, side.chance = copy.deepcopy((state.files, state.chance))
        side.instance.load(state.memory)


class _Side(Side):
    """The host of an interpreter whose output is that of one turn after another."""

    def __init__(self, limits: Limits, prepared: Prepared) -> None:
        super().__init__(Session(limits), limits, prepared.engine)
        self.files = OpenFiles(self.session.files)
        self.begin(limits)
        self.instance: Instance = instantiate(prepared, self)

    def begin(self, limits: Limits) -> None:
        """Begin a turn."""
        self.session.ends_at = time.monotonic() + limits.timeout_s
        self.printed = Output(limits.output_chars)
        self.emit = self.printed.write

    def ask(self, request: list[Any]) -> Any:
        """Return the form of what the interpreter answers; None if that cannot be read."""
        instance = self.instance
        message = json.dumps([request, [], []]).encode()
        at = int(instance.call("answer", *put(instance, message)))
        data = instance.read(*struct.unpack("<II", instance.read(at, 8)))
        instance.call("cabi_post_answer", at)
        try:
            (is_raised, form, _footer), _changed, _forgotten = json.loads(data)
        except (ValueError, TypeError, RecursionError):  # the code has changed what answers
            return None
        return None if is_raised else form

    def open_exchange(self) -> Instance:
        """Refuse: there is no other interpreter."""
        raise NotOffered("another interpreter")

    def close_exchange(self) -> None:
        """Do nothing."""


_FAILURES = (Trap, WasmtimeError, OutOfBounds, NotOffered)


def _ending(failure: Exception, session: Session) -> tuple[TurnStatus, str]:
    """Return how a turn ended that did not return."""
    if isinstance(failure, Left):
        return "ended", f"The code has left its interpreter with the exit code {failure.code}"
    if isinstance(failure, Stop):
        execution = session.limit(failure.status)
    else:
        execution = stopped(session, failure)
    status: TurnStatus = "timeout" if execution.status == "timeout" else "ended"
    return status, execution.stderr.strip()


@cache
def _code() -> Prepared:
    # Optimised code, even if it must be compiled first: a turn cannot be repeated in it.
    module = load_compiled(runtime_named("python"))
    return Prepared(engine_for(Code.OPTIMISED), module, host_function)


@cache
def _program() -> str:
    return files(__package__).joinpath("session.txt").read_text(encoding="utf-8")
