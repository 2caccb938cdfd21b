"""Programs of languages that are compiled: once for a text, and a fresh instance for each run.

A guest says how a text becomes a module; the rest is here: what is kept, how a module runs in the
system of `wasi.py`, and how it ended.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from wasmtime import FuncType, Module, Store, Trap, TrapCode, WasmtimeError

from ..types import Execution, ExecutionStatus, Program
from .engine import Code, deadline, engine_for, fresh_store, fuel_used, shielded, timeout_reason
from .instance import Instance, OutOfBounds, Prepared
from .runtimes import STOPPED, STOPPED_FOR_TIME, Limits, too_long
from .wasi import Stopped, System, host_function

MOST_ON_DISK = 200  # programs of a language
NOT_COMPILED = 126  # exit code, as a shell: it cannot be executed
_MOST_KEPT = 64  # programs in memory; one serves all cases of a completion
_BEYOND = b"\xf5"  # a pointer of four such bytes is beyond any memory
ABORTED, FAULTED = 134, 139  # as a shell: by SIGABRT, by SIGSEGV


class DoesNotCompile(Exception):
    """The compiler refuses a program; the message is fit to be shown to a model."""


class CompilerLimit(Exception):
    """A program met a limit of the compiler."""


class Compiled(NamedTuple):
    """A program that is ready to run, or why it is not; `doubt` is that of an `Execution`."""

    prepared: Prepared | None
    error: str = ""
    doubt: str = ""


@dataclass(frozen=True)
class Ended:
    """How a program ended that did not leave by itself; `doubt` is that of an `Execution`."""

    code: int
    status: ExecutionStatus
    message: str
    doubt: str = ""


class CompiledGuest(ABC):
    """Run programs of a compiled language; see `Guest`.

    There are no tests: a program is judged by what it prints. `name` is the language's in
    messages. `entry` is the function of a module that runs the program, and `rest`, if there is
    one, prints what a program had printed before a trap. The first `unused` bytes of the memory
    hold nothing: a program that changes them wrote through a null pointer. What is read there
    points beyond the memory.
    """

    name: str
    entry: str
    rest: str = ""
    unused: int = 0

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, Code], Compiled] = OrderedDict()
        self._unlock()
        os.register_at_fork(after_in_child=self._unlock)  # another thread may hold the lock

    def _unlock(self) -> None:
        self._compiling = threading.Lock()

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance; see `Guest.run`. Raises `SandboxError`."""
        if stopped := too_long(program, limits):
            return stopped
        if program.tests or program.setup or program.entry_point:
            message = f"{self.name} programs have no tests here, only cases"
            return Execution("", f"{message}\n", 1, "error", doubt=message)
        return self.run_with(program.code, limits, stdin=program.stdin)

    def run_with(
        self,
        code: str,
        limits: Limits,
        *,
        stdin: str = "",
        arguments: tuple[str, ...] = ("program",),
        files: Mapping[str, bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Execution:
        """Run a program with arguments and files.

        `headers` are files of the user, not of a model, that it may include by name.
        """
        engine_code = Code.EXCEPTIONS if limits.fuel is None else Code.METERED_EXCEPTIONS
        compiled = self._compiled(code, dict(headers or {}), engine_code)
        if compiled.prepared is None:
            error = f"{compiled.error}\n"
            return Execution("", error, NOT_COMPILED, "error", doubt=compiled.doubt)
        prepared = compiled.prepared
        data = stdin.encode("utf-8", "surrogatepass")
        system = System(data, limits, arguments, files)
        return shielded(lambda: self._run(prepared, system, limits, compiled.doubt))

    @abstractmethod
    def _compile(self, code: str, headers: Mapping[str, str], engine_code: Code) -> Compiled:
        """Compile a program, or say why not."""

    def _compiled(self, code: str, headers: Mapping[str, str], engine_code: Code) -> Compiled:
        key = digest_of(code, *headers, *headers.values()), engine_code
        with self._compiling:  # a compiler takes a core and much memory: one at a time
            if key not in self._kept:
                self._kept[key] = self._compile(code, headers, engine_code)
                while len(self._kept) > _MOST_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]

    def _run(self, prepared: Prepared, system: System, limits: Limits, doubt: str) -> Execution:
        began, ended = time.monotonic(), Ended(0, "ok", "")
        with fresh_store(limits, prepared.engine) as store, deadline(store, limits.timeout_s):
            try:
                instance = SystemInstance(prepared, store, system, limits)
                instance.write(0, _BEYOND * self.unused)
                instance.call(self.entry)
                ended = self._after(instance, ended)
            except Stopped as stop:
                ended = Ended(stop.code, "error" if stop.code else "ok", "")
                if stop.is_output:
                    message = f"output longer than {limits.output_chars} characters\n"
                    ended = Ended(STOPPED, "output", message)
                else:
                    ended = self._after(instance, ended)
            except (Trap, WasmtimeError, OutOfBounds) as fault:
                ended = self._explained(fault, limits)
                if ended.status == "error" and self.rest:
                    with suppress(Trap, WasmtimeError, OutOfBounds, Stopped):
                        instance.call(self.rest)
            fuel = fuel_used(limits, store)
        seconds = time.monotonic() - began
        out, stderr = system.text(1), system.text(2)
        code, status, doubt = ended.code, ended.status, doubt or ended.doubt
        if code == ABORTED and "std::bad_alloc" in stderr[-200:]:
            status = "memory"
        return Execution(out, stderr + ended.message, code, status, seconds, (), fuel, doubt)

    def _after(self, instance: Instance, ended: Ended) -> Ended:
        """Say of a program that left by itself whether it wrote through a null pointer."""
        if instance.read(0, self.unused) == _BEYOND * self.unused:
            return ended
        return Ended(FAULTED, "error", "the program wrote through a null pointer\n")

    def _explained(self, fault: Exception, limits: Limits) -> Ended:
        """Say how a program ended that did not leave by itself."""
        if reason := timeout_reason(fault, limits):
            return Ended(STOPPED_FOR_TIME, "timeout", f"{reason}\n")
        trap = fault.trap_code if isinstance(fault, Trap) else None
        if trap in (TrapCode.STACK_OVERFLOW, TrapCode.MEMORY_OUT_OF_BOUNDS):
            message = "stack overflow, or an address outside of the memory\n"
            return Ended(FAULTED, "error", message)
        if trap in (TrapCode.INTEGER_DIVISION_BY_ZERO, TrapCode.INTEGER_OVERFLOW):
            return Ended(136, "error", "division by zero, or of the least number by -1\n")
        if trap == TrapCode.UNREACHABLE:
            return Ended(ABORTED, "error", "aborted\n")
        if "memory" in str(fault) and trap is None and "minimum size" in str(fault):
            return Ended(1, "memory", "out of memory\n")
        return Ended(ABORTED, "error", "an exception that nothing catches, or a fault\n")


class SystemInstance(Instance):
    """An instance of a program, which its system reads and writes."""

    def __init__(self, prepared: Prepared, store: Store, system: System, limits: Limits) -> None:
        super().__init__(prepared, store, system)
        self._limits, system.memory = limits, self

    def fuel_used(self) -> int:
        """Return the instructions so far; 0 if they are not counted."""
        return fuel_used(self._limits, self.store)


def digest_of(*texts: str) -> str:
    """Return the hexadecimal SHA-256 of texts."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def prepared_program(module: Module, engine_code: Code, doubt: str) -> Compiled:
    """Link a program with its system, unless it asks for more than that offers."""
    for wanted in module.imports:
        if not isinstance(wanted.type, FuncType) or wanted.module != "wasi_snapshot_preview1":
            foreign = f"the program needs {wanted.module}.{wanted.name}, which is not there"
            return Compiled(None, foreign, foreign)
    return Compiled(Prepared(engine_for(engine_code), module, host_function), "", doubt)
