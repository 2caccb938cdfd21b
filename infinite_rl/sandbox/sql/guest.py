"""The SQL guest: SQLite, a fresh instance a run, with typed rows in place of printed text.

`run` executes a script against an empty database. `select` executes one query against the image of
a database, which the engine reads page by page from the host, read-only: a large database costs no
memory of the guest. `image` makes such an image from a script.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from wasmtime import Store, Trap, WasmtimeError

from ...types import Execution, ExecutionStatus, Program, TestResult
from ..compiled import load_compiled
from ..engine import Code, deadline, engine_for, fresh_store, fuel_used, shielded, timeout_reason
from ..instance import HostFunction, Instance, OutOfBounds, Prepared
from ..json_values import same_json, shown_json
from ..runtimes import STOPPED, STOPPED_FOR_TIME, Limits, RunClock, runtime_named, too_long
from .values import Image, ResultSet, SqlError, TooManyValues, Value, read_results, shown

BYTES_A_CHARACTER = 5  # of emitted rows, at most, for each character that is printed
_MOST_READ = 65536  # bytes, of `host.c`
_OUT_OF_MEMORY = 7  # SQLITE_NOMEM
_OWN_ERRORS = {  # of host.c
    -1: "only one statement is allowed",
    -2: "the statement is not a query: begin with SELECT, WITH or VALUES",
    -3: "there is no statement",
    -4: "the query has parameters, which have no values",
}
_DENIED = 23  # SQLITE_AUTH


class SqlGuest:
    """Run SQL; see `Guest`.

    A program's output is the rows of all its statements, as SQLite's shell prints them. A test is a
    statement, which passes if the first value that it returns is a number other than zero; with
    `expected`, it is an expression. There is no input. Raises `RuntimeMissing` if the module was
    not built.
    """

    def __init__(self, is_metered: bool = False) -> None:
        code = Code.METERED if is_metered else Code.OPTIMISED
        module = load_compiled(runtime_named("sql"), code)
        self.prepared = Prepared(engine_for(code), module, _host_function)

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance; see `Guest.run`. Raises `SandboxError`."""
        guest = self._for(limits)
        return too_long(program, limits) or shielded(lambda: guest._run(program, limits))

    def select(
        self, query: str, image: Image, limits: Limits, now_ns: int | None = None
    ) -> ResultSet:
        """Run one query, which can change nothing, against a database.

        `limits.output_chars` are bytes of the rows, `now_ns` the nanoseconds since 1970 that stand
        for the present. Raises `SqlError`: also for several statements, and for any that is not a
        query.
        """

        def call() -> ResultSet:
            with self._for(limits)._session(limits, image, now_ns) as session:
                return session.results(query, is_query=True)[0]

        _check_length(query, limits)
        return shielded(call)

    def image(self, script: str, limits: Limits) -> bytes:
        """Return the file of the database that a script builds. Raises `SqlError`."""

        def call() -> bytes:
            with self._for(limits)._session(limits, None) as session:
                session.execute(script)
                session.emitted.clear()
                session.room = limits.memory_bytes
                session.check(session.call("image"))
                return b"".join(session.emitted)

        _check_length(script, limits)
        return shielded(call)

    @cached_property
    def _metered(self) -> SqlGuest:
        return SqlGuest(is_metered=True)

    def _for(self, limits: Limits) -> SqlGuest:
        return self if limits.fuel is None else self._metered

    @contextmanager
    def _session(
        self, limits: Limits, image: Image | None, now_ns: int | None = None
    ) -> Iterator[Connection]:
        """Yield an instance with an open database. Raises `SqlError` for how it ended."""
        with fresh_store(limits, self.prepared.engine) as store, deadline(store, limits.timeout_s):
            session = None
            try:
                session = Connection(self.prepared, store, limits)
                session.start(image, now_ns)
                yield session
            except TooManyValues:
                raise SqlError("the results have too many values", "output") from None
            except (Trap, WasmtimeError, OutOfBounds) as stop:
                raise explained(stop, limits, session) from None

    def _run(self, program: Program, limits: Limits) -> Execution:
        began, output, error, used = time.monotonic(), "", "", 0
        tests: list[TestResult] = []
        status: ExecutionStatus = "ok"
        try:
            with self._session(limits, None) as session:
                try:
                    session.execute(program.code)
                finally:
                    output, used = _printed(session.emitted), session.fuel_used()
                if len(output) > limits.output_chars:
                    raise SqlError(_too_much(limits), "output")
                if program.setup:
                    session.execute(program.setup)
                for number, test in enumerate(program.tests):
                    tests.append(_tested(session, program, number, test))
                used = session.fuel_used()
        except SqlError as stop:
            error, status = f"{stop.reason}\n", stop.status
        codes = {"ok": 0, "error": 1, "memory": 1, "timeout": STOPPED_FOR_TIME, "output": STOPPED}
        output, seconds = output[: limits.output_chars], time.monotonic() - began
        return Execution(output, error, codes[status], status, seconds, tuple(tests), used)


class Connection(Instance):
    """An instance with one open database. The `on_` methods answer calls from the engine."""

    def __init__(self, prepared: Prepared, store: Store, limits: Limits) -> None:
        super().__init__(prepared, store, self)
        self.limits = limits
        self.emitted: list[bytes] = []
        self.room = limits.output_chars * BYTES_A_CHARACTER
        self.cuts, self.is_cut = False, False  # what has no room, rather than failing
        self.chance = None if limits.seed is None else random.Random(limits.seed)
        self.database: Image = b""  # that the engine reads
        self._now_ns: int | None = None
        self._clock = RunClock(limits)

    def start(self, image: Image | None, now_ns: int | None) -> None:
        """Open the database: read-only that of the image, else an empty one."""
        self._now_ns = now_ns
        if image is not None:
            self.database, self.room = image, self.limits.output_chars
        self.call("_initialize")
        self.check(self.call("open", int(image is not None)))

    def execute(self, sql: str, *, is_query: bool = False) -> None:
        """Run a script, or one query. Raises `SqlError`."""
        self.emitted.clear()
        text = sql.encode("utf-8", "surrogatepass")
        address = self.call("allocate", len(text) + 1)
        if not address:
            raise SqlError("out of memory", "memory")
        self.write(address, text + b"\0")
        self.check(self.call("run", address, len(text), int(is_query)))

    def results(self, sql: str, *, is_query: bool = False) -> list[ResultSet]:
        """Run it, and return the rows of each statement that has columns. Raises as `execute`."""
        self.execute(sql, is_query=is_query)
        return read_results(b"".join(self.emitted))

    def check(self, code: int) -> None:
        """Raise `SqlError` unless a call succeeded."""
        if code in _OWN_ERRORS:
            raise SqlError(_OWN_ERRORS[code])
        if code:
            message = self.read(self.call("message"), self.call("message_size"))
            reason = message.decode("utf-8", "replace")
            if code == _DENIED:
                reason = f"{_OWN_ERRORS[-2]} ({reason})"
            raise SqlError(reason, "memory" if code & 0xFF == _OUT_OF_MEMORY else "error")

    def fuel_used(self) -> int:
        """Return the instructions so far; 0 if they are not counted."""
        return fuel_used(self.limits, self.store)

    # --- calls from the engine --------------------------------------------------------------------

    def on_read(self, address: int, size: int, offset: int) -> int:
        if offset < 0:
            raise OutOfBounds(f"offset {offset}")
        size = _checked(size)
        if isinstance(self.database, bytes):
            data = self.database[offset : offset + size]
        else:
            data = os.pread(self.database.fileno(), size, offset)
        self.write(address, data)
        return len(data)

    def on_size(self) -> int:
        if isinstance(self.database, bytes):
            return len(self.database)
        return os.fstat(self.database.fileno()).st_size

    def on_emit(self, address: int, size: int) -> None:
        if size > self.room:
            if not self.cuts:
                raise SqlError(_too_much(self.limits), "output")
            size, self.is_cut = self.room, True
        self.emitted.append(self.read(address, size))
        self.room -= size

    def on_random(self, address: int, size: int) -> None:
        size = _checked(size)
        self.write(address, self.chance.randbytes(size) if self.chance else os.urandom(size))

    def on_milliseconds(self) -> int:
        now_ns = self._now_ns
        if now_ns is None:
            now_ns = self._clock.began_ns + self._clock.passed_ns(self.fuel_used())
        return now_ns // 10**6


def _checked(size: int) -> int:
    """Return the bytes that the engine asks for. Raises `OutOfBounds`."""
    if not 0 <= size <= _MOST_READ:
        raise OutOfBounds(f"{size} bytes at once")
    return size


def _host_function(_interface: str, name: str) -> HostFunction:
    function: HostFunction = getattr(Connection, f"on_{name}")
    return function


def explained(stop: Exception, limits: Limits, session: Connection | None) -> SqlError:
    if reason := timeout_reason(stop, limits):
        return SqlError(reason, "timeout")
    if session is None:  # the memory limit is too small for the engine itself
        return SqlError("out of memory", "memory")
    return SqlError("the statement is nested too deeply")


def _tested(session: Connection, program: Program, number: int, test: str) -> TestResult:
    try:
        if program.expected:
            results = session.results(f"SELECT (\n{test}\n)")
        else:
            results = session.results(test)
    except SqlError as error:
        if error.status != "error":
            raise
        return TestResult(False, error.reason)
    value: Value = results[-1].rows[0][0] if results and results[-1].rows else None
    if not program.expected:
        passed = isinstance(value, int | float) and value != 0
        return TestResult(passed, "" if passed else f"the test returned {shown_json(value)}")
    wanted = program.expected[number]
    if not isinstance(value, bytes) and same_json(value, wanted):
        return TestResult(True)
    return TestResult(False, f"{test} is {shown(value)!r}, and should be {shown_json(wanted)}")


def _printed(emitted: list[bytes]) -> str:
    results = read_results(b"".join(emitted))
    return "".join(f"{'|'.join(map(shown, row))}\n" for each in results for row in each.rows)


def _check_length(sql: str, limits: Limits) -> None:
    if stopped := too_long(Program(sql), limits):
        raise SqlError(stopped.stderr.strip())


def _too_much(limits: Limits) -> str:
    return f"output longer than {limits.output_chars} characters"
