"""Sessions in SQL: one database, in memory and changed by the turns, or a file that they read."""

from __future__ import annotations

import copy
import random
from typing import NamedTuple

from wasmtime import Trap, WasmtimeError

from ...errors import UsageError
from ..engine import deadline, fresh_store
from ..instance import MemoryImage, OutOfBounds
from ..runtimes import Limits, load_guest, runtime_named
from ..session import START_S, TurnResult, TurnStatus
from .guest import BYTES_A_CHARACTER, Connection, SqlGuest, explained
from .values import Image, SqlError, read_results, shown

_FAILURES = (Trap, WasmtimeError, OutOfBounds)


class SqlState(NamedTuple):
    """A database between two turns; see `State`."""

    limits: Limits
    memory: MemoryImage
    database: Image | None
    chance: random.Random | None

    def open(self) -> SqlInterpreter:
        """Return a new connection in this state. Raises `SandboxError`."""
        return SqlInterpreter(self.limits, self.database, self)


class SqlInterpreter:
    """The connection of a session; see `Interpreter`. `state` is that of another.

    Without `database`, a file that is read, it is to an empty database. The value of a turn is the
    rows of its statements, below the names of their columns. A turn with an error keeps what its
    statements before it changed. Raises `UsageError` if the memory is too small, `SandboxError`.
    """

    def __init__(
        self, limits: Limits, database: Image | None = None, state: SqlState | None = None
    ) -> None:
        self._limits, self._database = limits, database
        self._connection = _new(limits)
        if state is None:
            self._begin()
        else:
            self._restore(state)

    def run(self, code: str, limits: Limits) -> TurnResult:
        """Run the statements of one turn; see `Interpreter.run`."""
        connection = self._connection
        connection.limits, connection.is_cut = limits, False
        connection.room = BYTES_A_CHARACTER * limits.output_chars
        status: TurnStatus = "ok"
        error = ""
        try:
            with deadline(connection.store, limits.timeout_s):
                connection.execute(code)
        except SqlError as failure:
            status = "memory" if failure.status == "memory" else "error"
            error = f"Error: {failure.reason}"
        except _FAILURES as failure:
            stop = explained(failure, limits, connection)
            status = "timeout" if stop.status == "timeout" else "ended"
            error = f"Error: {stop.reason}"
        value = _table(connection.emitted)
        return TurnResult(value=value, error=error, status=status, is_cut=connection.is_cut)

    def state(self) -> SqlState:
        """Return the state; see `Interpreter.state`."""
        fresh = _new(self._limits)
        with fresh.store:
            memory = self._connection.image(fresh)
        chance = copy.deepcopy(self._connection.chance)
        return SqlState(self._limits, memory, self._database, chance)

    def close(self) -> None:
        """Free the memory."""
        self._connection.store.close()

    def _begin(self) -> None:
        connection = self._connection
        try:
            with deadline(connection.store, START_S):
                connection.start(self._database, None)
        except (SqlError, *_FAILURES) as error:
            raise UsageError(f"the database of the session does not open: {error}") from error

    def _restore(self, state: SqlState) -> None:
        connection = self._connection
        connection.chance = copy.deepcopy(state.chance)
        if state.database is not None:
            connection.database = state.database
        connection.load(state.memory)


def _new(limits: Limits) -> Connection:
    guest = load_guest(runtime_named("sql"))
    assert isinstance(guest, SqlGuest)
    store = fresh_store(limits, guest.prepared.engine)
    try:
        connection = Connection(guest.prepared, store, limits)
    except WasmtimeError:
        store.close()
        raise UsageError("a database does not start in so little memory") from None
    connection.cuts = True
    return connection


def _table(emitted: list[bytes]) -> str:
    lines = []
    for result in read_results(b"".join(emitted)):
        lines += ["|".join(result.columns), *("|".join(map(shown, row)) for row in result.rows)]
    return "\n".join(lines)
