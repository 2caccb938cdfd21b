"""A session: one interpreter that keeps its state from turn to turn, for models that use tools.

    session = ToolSession("python")
    session.run("x = 6")
    session.run("x * 7").value  # "42"
    other = session.fork()

A session is bounded in time, memory, turns and output. It starts with its first turn. No session
changes another one or a verdict, which always runs in fresh instances. A turn that stops the
interpreter in the middle of its work, for example at a time limit, ends the session, because its
state may be half changed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Literal, Protocol, TypeAlias, TypeVar

from ..errors import UsageError, check_range
from .runtimes import RUNTIMES, Limits, Output, runtime_file, runtime_named
from .sql.values import Image

TurnStatus: TypeAlias = Literal["ok", "error", "timeout", "memory", "ended"]
Result = TypeVar("Result")
START_S = 10.0  # seconds in which an interpreter is ready for its first turn


@dataclass(frozen=True)
class SessionLimits:
    """Bounds of a session: seconds of a turn and of all turns, a number of turns, MiB of memory.

    `output_chars` bounds what a turn prints, its value and its error, each: what is longer is cut.
    `code_chars` bounds the code of a turn. `seed` fixes the random numbers.
    """

    turn_s: float = 5.0
    total_s: float = 60.0
    turns: int = 50
    memory_mb: float = 256
    output_chars: int = 10_000
    code_chars: int = 100_000
    seed: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name != "seed":
                check_range(name, value, 1 if isinstance(value, int) else 1e-3)

    def of_turn(self, seconds: float) -> Limits:
        """Return the limits of one turn."""
        memory = int(self.memory_mb * 2**20)
        return Limits(seconds, memory, self.output_chars, seed=self.seed)


@dataclass(frozen=True)
class TurnResult:
    """The output and the status of one turn.

    `value` is the value of a last expression as the language shows it (SQL: the rows), `error` what
    the code raised. After "ok", "error" and "memory" the session continues, after "timeout" and
    "ended" it has ended: by the code, or before it, and then the code did not run. `is_cut` says
    that output was cut.
    """

    stdout: str = ""
    stderr: str = ""
    value: str = ""
    error: str = ""
    status: TurnStatus = "ok"
    is_cut: bool = False
    duration_s: float = 0.0

    @property
    def text(self) -> str:
        """The whole result as a model reads it."""
        parts = [each.rstrip("\n") for each in (self.stdout, self.stderr, self.value, self.error)]
        parts.append("[the output was cut]" if self.is_cut else "")
        return "\n".join(filter(None, parts)) or "(no output)"


def result_of(printed: Output, status: TurnStatus, error: str = "", value: str = "") -> TurnResult:
    """Return the result of a turn that has printed this."""
    return TurnResult(printed.text(1), printed.text(2), value, error, status, printed.is_cut)


class State(Protocol):
    """An interpreter's state between two turns."""

    def open(self) -> Interpreter:
        """Return a new interpreter in this state. Raises `SandboxError`."""


class Interpreter(Protocol):
    """What a language does for a session, inside `shielded`. Made from the limits of its turns."""

    def run(self, code: str, limits: Limits) -> TurnResult:
        """Run the code of one turn. Raises `SandboxError`.

        The session closes the interpreter after "timeout" or "ended", and cuts a long value or
        error.
        """

    def state(self) -> State:
        """Return the state, which later turns leave as it is."""

    def close(self) -> None:
        """Free the memory."""


@dataclass(frozen=True)
class Snapshot:
    """A session between two turns; any number of sessions can start from it."""

    language: str
    limits: SessionLimits
    setup: str
    database: Image | None
    turns: int
    used_s: float
    state: State | None  # None: no turn has run

    def open(self) -> ToolSession:
        """Return a new session in this state, which has used as many turns and as much time."""
        session = ToolSession(self.language, self.limits, self.setup, self.database)
        session.turns, session.used_s = self.turns, self.used_s
        session._origin = self.state
        return session


class ToolSession:
    """An interpreter that keeps its state from turn to turn; see the module. Thread-safe.

    `setup` runs before the first turn, and does not count as a turn: for example the schema and
    the rows of a database. In SQL, `database` is a file that is only read; without it turns change
    an empty database. `turns` and `used_s` count the turns and seconds used. `ended` says why the
    session has ended; it is "" while the session lasts.

    Raises:
        UnknownName: there is no such language, or it has no sessions.
        RuntimeMissing: the language's runtime is not installed.
    """

    def __init__(
        self,
        language: str = "python",
        limits: SessionLimits | None = None,
        setup: str = "",
        database: Image | None = None,
    ) -> None:
        runtime = runtime_named(language.strip().lower())
        if not runtime.session:
            languages = ", ".join(each.name for each in RUNTIMES if each.session)
            raise UsageError(f"there are no sessions in {language}; sessions are in: {languages}")
        if database is not None and runtime.name != "sql":
            raise UsageError(f"a session in {language} has no database: setup is code")
        runtime_file(runtime)
        self.language, self._target = runtime.name, runtime.session
        self.limits, self.setup = limits or SessionLimits(), setup
        self.database = database
        self.turns, self.used_s, self.ended = 0, 0.0, ""
        self._interpreter: Interpreter | None = None
        self._origin: State | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> ToolSession:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def run(self, code: str) -> TurnResult:
        """Run one turn. What the code does wrong is in the `TurnResult`.

        Raises:
            UsageError: the setup fails, or the memory is too small for the language.
            SandboxError: the sandbox itself broke.
        """
        with self._lock:
            if not self.ended and self.turns >= self.limits.turns:
                self._end(f"all {self.limits.turns} turns are used")
            if self.ended:
                return TurnResult(error=f"The session has ended: {self.ended}.", status="ended")
            self.turns += 1
            if len(code) > self.limits.code_chars:
                error = f"The code is longer than {self.limits.code_chars} characters."
                return TurnResult(error=error, status="error")
            interpreter = self._started()
            began = time.monotonic()
            left = self.limits.total_s - self.used_s
            try:
                turn = self._turn(interpreter, code, min(self.limits.turn_s, left))
            except BaseException:
                # After Ctrl-C the call still runs: its interpreter is left to it.
                self._interpreter, self.ended = None, "a turn was interrupted"
                raise
            duration = time.monotonic() - began
            self.used_s += duration
            if turn.status in ("timeout", "ended"):
                self._end(turn.error)
            elif self.used_s >= self.limits.total_s:
                self._end(f"its {self.limits.total_s:g} s are used")
            if self.ended and turn.status != "ok":
                error = f"{turn.error}. The session has ended, and its state is lost."
                turn = replace(turn, error=error)
            return replace(turn, duration_s=duration)

    def snapshot(self) -> Snapshot:
        """Return the present state. Raises `UsageError` if the session has ended."""
        with self._lock:
            if self.ended:
                raise UsageError(f"the session has ended: {self.ended}")
            state = _shielded(self._interpreter.state) if self._interpreter else self._origin
            counts = self.turns, self.used_s
            start = self.limits, self.setup, self.database
            return Snapshot(self.language, *start, *counts, state)

    def fork(self) -> ToolSession:
        """Return another session in the present state. Raises `UsageError` as `snapshot` does."""
        return self.snapshot().open()

    def restart(self) -> ToolSession:
        """Return a new session, without this one's state, for what turns and time are left."""
        session = ToolSession(self.language, self.limits, self.setup, self.database)
        session.turns, session.used_s = self.turns, self.used_s
        if self.is_used_up:
            session.ended = self.ended
        return session

    @property
    def is_used_up(self) -> bool:
        """Whether no turn or no time is left."""
        return self.turns >= self.limits.turns or self.used_s >= self.limits.total_s

    def close(self) -> None:
        """End the session and free its memory."""
        with self._lock:
            self._end(self.ended or "it was closed")

    def _started(self) -> Interpreter:
        if self._interpreter is None and self._origin is not None:
            self._interpreter, self._origin = _shielded(self._origin.open), None
        elif self._interpreter is None:
            limits = self.limits.of_turn(self.limits.total_s)
            options = {} if self.database is None else {"database": self.database}
            make: Callable[..., Interpreter] = resolve_name(self._target)
            interpreter = _shielded(lambda: make(limits, **options))
            if self.setup:
                turn = self._turn(interpreter, self.setup, self.limits.total_s)
                if turn.status != "ok":
                    interpreter.close()
                    self._end("its setup failed")
                    raise UsageError(f"the setup of the session fails: {turn.text}")
            self._interpreter = interpreter  # now: no turn runs after half a setup
        return self._interpreter

    def _turn(self, interpreter: Interpreter, code: str, seconds: float) -> TurnResult:
        limits, most = self.limits.of_turn(seconds), self.limits.output_chars
        turn = _shielded(lambda: interpreter.run(code, limits))
        is_cut = turn.is_cut or max(len(turn.value), len(turn.error)) > most
        return replace(turn, value=turn.value[:most], error=turn.error[:most], is_cut=is_cut)

    def _end(self, reason: str) -> None:
        self.ended, interpreter = reason.rstrip("."), self._interpreter
        self._interpreter = self._origin = None
        if interpreter is not None:
            interpreter.close()


def _shielded(call: Callable[[], Result]) -> Result:
    from .engine import shielded  # which loads wasmtime: not before the first turn

    return shielded(call)
