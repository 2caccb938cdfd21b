"""The guest of Python with libraries: a program in one interpreter, its tests in another.

As `python/guest.py`, with the same sources inside. But an interpreter of this runtime can be called
once. So each side has a thread: one is in its interpreter, the other waits within a call to its
host, which returns with what the first asks, or answers.
"""

from __future__ import annotations

import json
import re
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Any

from wasmtime import Trap, WasmtimeError

from ...types import Execution, ExecutionStatus, Program
from ..engine import Code, shielded, shielded_beside
from ..instance import HostFunction, Instance, OutOfBounds, Prepared
from ..python.expressions import Undecided
from ..python.guest import (
    NO_STEPS,
    PLAN_FUEL,
    PLANS,
    Left,
    Plan,
    Session,
    Side,
    Stop,
    clean,
    plan_key,
    stopped,
)
from ..python.plain import plain_tests
from ..python.wasi import NotOffered
from ..runtimes import Limits, too_long
from .image import load_image
from .wasi import FileSystem, system_function

DOUBT = "integers of numpy have 32 bits here in a place where they have 64 natively"
_GRACE_S = 0.5  # after the deadline, at which the other side is stopped
_ENTRY = b"_go()"  # see `image.py`


class _Ended(Exception):
    """Raised if an interpreter has done what it was called for."""


# What only a default integer of 32 bits is too small for.
_TOO_LARGE = re.compile(r"OverflowError: .*(?:C long|for int32|for intc)")


class _Session(Session):
    """As its base, and why the result may be another one natively."""

    doubt = ""


class _Side(Side):
    """One of a run's interpreters, and what it asks of its host."""

    def __init__(self, session: _Session, guest: ScientificGuest, task: str) -> None:
        limits = session.limits
        own = replace(limits, memory_bytes=limits.memory_bytes + guest.base_bytes)
        super().__init__(session, own, guest.prepared.engine)
        self.session: _Session = session
        self._task, self.is_judge = task, task == "judge"
        self.system = FileSystem(session.files, guest.library, self)
        self.inbox: SimpleQueue[bytes | BaseException] = SimpleQueue()
        self.other: _Side | None = None  # while tests run
        self.ready: Callable[[], None] | None = None  # what to call before it serves its tests
        self.arguments: tuple[dict[str, Any], bytes] = {}, b""
        self.ended: tuple[int, bool, bool] = 0, False, False  # exit code, memory, has left
        self._has_reported = False
        self.plan: tuple[bytes, str] = b"", ""
        self.instance = Instance(guest.prepared, self.store, self)
        self.system.memory = _Memory(self)

    def run(self, arguments: dict[str, Any], data: bytes = NO_STEPS) -> None:
        """Call the interpreter, once. Raises how it ended, unless it reported."""
        self.arguments = {"task": self._task, **arguments}, data
        left = self.session.ends_at - time.monotonic()
        with self.running(max(left, 0.0)):
            address = self.instance.call("host_alloc", len(_ENTRY))
            self.instance.write(address, _ENTRY)
            try:
                self.instance.call("turn", address, len(_ENTRY))
            except _Ended:
                return
        raise NotOffered("an end without a report")

    # --- what the interpreter asks ---------------------------------------------------------------

    def answer(self, request: bytes) -> bytes:
        """Return the answer to a message of the interpreter."""
        kind, rest = request[:1], request[1:]
        if kind in b"?!" and kind:
            return self._exchange(request)
        handler = _REQUESTS.get(kind)
        if handler is None:
            raise NotOffered("such a request")
        return handler(self, rest) or b""

    def _exchange(self, message: bytes) -> bytes:
        if self.other is None:
            raise NotOffered("another interpreter")
        self.other.inbox.put(message)
        return self.receive()

    def receive(self) -> bytes:
        """Return the next message of the other side. Raises what it was ended by."""
        left = self.session.ends_at - time.monotonic()
        try:
            message = self.inbox.get(timeout=max(left, 0.0) + _GRACE_S)
        except Empty:  # it waits, too, as no honest side does
            raise Stop("timeout") from None
        if isinstance(message, BaseException):
            raise message
        return message

    def _arguments(self, _request: bytes) -> bytes:
        values, data = self.arguments
        text = json.dumps(values).encode()
        return struct.pack("<I", len(text)) + text + data

    def _emit(self, request: bytes) -> None:
        self.emit(request[0], request[1:].decode("utf-8", "replace"))

    def _verdict(self, request: bytes) -> None:
        passed, is_unjudged = request[0] == 1, request[1] == 1
        self.verdict(passed, request[2:].decode("utf-8", "replace"), is_unjudged)

    def _nap(self, request: bytes) -> None:
        self.nap(*struct.unpack("<d", request))

    def _leave(self, request: bytes) -> None:
        self.leave(request[0])

    def _going_on(self, request: bytes) -> bytes:
        is_going_on = self.session.is_going_on(request.decode("utf-8", "replace"))
        return b"1" if is_going_on else b"0"

    def _plan(self, request: bytes) -> None:
        if self._task != "plan":
            raise NotOffered("a plan")
        (size,) = struct.unpack_from("<I", request)
        self.plan = request[4 : 4 + size], request[4 + size :].decode()
        raise _Ended

    def _doubt(self, _request: bytes) -> None:
        self.session.doubt = DOUBT

    def _report(self, request: bytes) -> bytes:
        if self._has_reported:
            raise NotOffered("a second report")
        self._has_reported = True
        exit_code, is_out_of_memory, has_left = request
        self.ended = exit_code, bool(is_out_of_memory), bool(has_left)
        if self.ready is None or has_left:
            raise _Ended
        self.ready()
        return self.receive()


_REQUESTS: dict[bytes, Callable[[_Side, bytes], bytes | None]] = {
    b"a": _Side._arguments,
    b"d": _Side._doubt,
    b"e": _Side._emit,
    b"g": _Side._going_on,
    b"l": _Side._leave,
    b"n": _Side._nap,
    b"p": _Side._plan,
    b"r": _Side._report,
    b"v": _Side._verdict,
}


class _Memory:
    """The memory of a side's interpreter, for its system."""

    def __init__(self, side: _Side) -> None:
        self.read, self.write = side.instance.read, side.instance.write

    def fuel_used(self) -> int:
        return 0


def _door(host: _Side, address: int, size: int, result: int, result_size: int) -> int:
    instance = host.instance
    reply = host.answer(instance.read(address, size))
    at = instance.call("host_alloc", len(reply) or 1)
    instance.write(at, reply)
    instance.write(result, struct.pack("<i", at))
    instance.write(result_size, struct.pack("<I", len(reply)))
    return 0


def host_function(interface: str, name: str) -> HostFunction:
    """Return the host's function for an import of the module."""
    return _door if interface == "host" else system_function(name)


class ScientificGuest:
    """Run Python programs that import numpy, pandas and the like; see `Guest`.

    Raises `RuntimeMissing` without the package. The first guest of a machine compiles it, which
    takes minutes. A memory limit is for what a program adds to the interpreter with its libraries.
    """

    def __init__(self, is_metered: bool = False) -> None:
        code = Code.METERED_EXCEPTIONS if is_metered else Code.EXCEPTIONS
        image = load_image(code)
        self.prepared = Prepared(image.engine, image.module, host_function)
        self.library, self.base_bytes = image.library, image.memory_bytes
        self._plans: dict[tuple[object, ...], Plan] = {}

    @cached_property
    def _metered(self) -> ScientificGuest:
        return ScientificGuest(is_metered=True)

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance; see `Guest.run`."""
        guest = self if limits.fuel is None else self._metered
        return too_long(program, limits) or shielded(lambda: guest._run(program, limits))

    def _run(self, program: Program, limits: Limits, is_judged: bool = False) -> Execution:
        session = _Session(limits)
        execution = self._execution(session, program, limits, is_judged)
        is_narrow = bool(_TOO_LARGE.search(execution.stderr))
        is_narrow |= any(_TOO_LARGE.search(each.message) for each in execution.tests)
        return replace(execution, doubt=session.doubt or DOUBT * is_narrow)

    def _execution(
        self, session: _Session, program: Program, limits: Limits, is_judged: bool
    ) -> Execution:
        try:
            return self._run_sides(program, session, is_judged)
        except Undecided:  # the tests look plain, but a value is not
            return self._run(program, limits, is_judged=True)
        except Stop as stop:
            return session.limit(stop.status)
        except Left as left:
            return session.execution("error" if left.code else "ok", left.code)
        except (Trap, WasmtimeError, OutOfBounds, NotOffered) as error:
            return stopped(session, error)

    def _run_sides(self, program: Program, session: _Session, is_judged: bool) -> Execution:
        limits, plan = session.limits, b""
        if program.tests:
            plan, session.plain = self._plan(program, limits, is_judged)
        side = _Side(session, self, "run")
        steps = plan if session.plain else NO_STEPS
        arguments = {
            "code": clean(program.code).removeprefix("\ufeff"),  # a byte order mark, as in a file
            "stdin": clean(program.stdin),
            "is_tested": bool(program.tests),
            "seed": limits.seed,
        }
        if not program.tests or session.plain:
            side.run(arguments, steps)
            ended = side.ended
        else:
            ended = self._judged(side, arguments, plan)
        exit_code, is_out_of_memory, _has_left = ended
        status: ExecutionStatus = "memory" if is_out_of_memory else "error" if exit_code else "ok"
        return session.execution(status, exit_code)

    def _judged(
        self, side: _Side, arguments: dict[str, Any], plan: bytes
    ) -> tuple[int, bool, bool]:
        """Run the program on a thread of its own, then its tests here."""
        session = side.session
        is_ready: SimpleQueue[bool] = SimpleQueue()
        side.ready = lambda: is_ready.put(True)
        judge = _Side(session, self, "judge")

        def serve() -> None:
            try:
                side.run(arguments)
            except BaseException as error:  # the tests end by it, too
                judge.inbox.put(error)
                raise
            finally:
                is_ready.put(False)

        end_of_program = shielded_beside(serve)
        if not is_ready.get():
            end_of_program()
            return side.ended
        judge.other, side.other = side, judge
        try:
            judge.run({"seed": arguments["seed"]}, plan)
        finally:
            side.inbox.put(_Ended())
            while is_ready.get():
                pass
        return judge.ended

    def _plan(self, program: Program, limits: Limits, is_judged: bool) -> Plan:
        """Return the plan of a program's tests, as `PythonGuest` does."""
        kind, names, key = plan_key(program, is_judged)
        if key not in self._plans:
            own = limits if limits.fuel is None else replace(limits, fuel=PLAN_FUEL)
            side = _Side(_Session(own), self, "plan")
            texts = {
                "setup": clean(program.setup),
                "tests": [clean(test) for test in program.tests],
                "entry_point": clean(program.entry_point),
            }
            side.run({**texts, "modules": names, "kind": kind})
            code, text = side.plan
            tests = plain_tests(text, program.tests, program.expected) if text else []
            if len(self._plans) >= PLANS:
                self._plans.clear()
            self._plans[key] = code, tests
        return self._plans[key]
