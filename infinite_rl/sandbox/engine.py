"""The engines that all guests share: their settings, threads and clock.

A guest loads its WebAssembly (`compiled.py`), gives each run a `fresh_store`, and calls into it
inside `shielded`, `with deadline(store, seconds)`.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from enum import Enum
from queue import SimpleQueue
from typing import Any, TypeVar

from wasmtime import Config, Engine, Store, Trap, TrapCode
from wasmtime import _ffi as ffi
from wasmtime._managed import Managed

from ..errors import SandboxError
from ..workers.interruptible import interruptible_get
from .runtimes import Limits

Result = TypeVar("Result")

TICK_S = 0.01
_MiB = 1024 * 1024
_MAX_TABLE_ELEMENTS, _MAX_ITEMS = 100_000, 100  # far beyond the needs of the packaged runtimes


# --- settings ----------------------------------------------------------------------------------


# Native stack that a guest may use. The engine does not check the size of a thread's stack: a guest
# that is allowed more would crash the host process. JavaScript's own limit (see its build) is
# usually reached first, except with much native code on the stack.
_WASM_STACK = 20 * _MiB
_THREAD_STACK = _WASM_STACK + 2 * _MiB  # and room for the host functions that the guest calls
# Its frames are 1.3 to 1.8 times smaller than those of optimised code. A program that exhausts the
# stack of that code thus exhausts this one, and is then run again: see `PythonGuest`.
_BASELINE_STACK = 4 * _MiB
_WINCH = 2  # WASMTIME_STRATEGY_WINCH of the C interface


class Code(Enum):
    """How a runtime is compiled. The value is part of the cache key: change it with `config_of`."""

    OPTIMISED = "epoch opt=speed fixed"
    METERED = "epoch opt=speed fixed fuel"  # counts instructions: slower, for `Limits.fuel` only
    BASELINE = "epoch winch fixed"  # compiled five times as fast as the optimised, and slower
    EXCEPTIONS = "epoch opt=speed fixed exceptions"  # with exceptions of WebAssembly
    METERED_EXCEPTIONS = "epoch opt=speed fixed exceptions fuel"


def config_of(code: Code, parallel: bool = True) -> Config:
    """Return the engine's settings. The names that the Python binding lacks are its own `_ffi`'s,
    whose version is pinned."""
    config = Config()
    config.consume_fuel = code in (Code.METERED, Code.METERED_EXCEPTIONS)
    config.epoch_interruption = True
    if code is Code.BASELINE:
        ffi.wasmtime_config_strategy_set(config.ptr(), _WINCH)
    else:
        config.cranelift_opt_level = "speed"
    if code in (Code.EXCEPTIONS, Code.METERED_EXCEPTIONS):
        config.wasm_exceptions = config.wasm_function_references = True
    # A forked process has no thread that would serve macOS' Mach ports: use signals as elsewhere.
    ffi.wasmtime_config_macos_use_mach_ports_set(config.ptr(), False)
    config.parallel_compilation = parallel
    stack = _BASELINE_STACK if code is Code.BASELINE else _WASM_STACK
    # The engine aborts the process if its asynchronous stack, which we never use, is the smaller.
    ffi.wasmtime_config_async_stack_size_set(config.ptr(), stack)
    config.max_wasm_stack = stack
    # `Instance` keeps the memory's address.
    ffi.wasmtime_config_memory_may_move_set(config.ptr(), False)
    return config


_engines: dict[Code, Engine] = {}


def engine_for(code: Code) -> Engine:
    """Return the engine that runs such code, one per process."""
    return _engines.get(code) or _engines.setdefault(code, Engine(config_of(code)))


def fresh_store(limits: Limits, engine: Engine) -> Store:
    """Return an empty store for one run, with limits on memory, tables, instances and fuel."""
    store = Store(engine)
    store.set_limits(limits.memory_bytes, _MAX_TABLE_ELEMENTS, _MAX_ITEMS, _MAX_ITEMS, _MAX_ITEMS)
    if limits.fuel is not None:
        store.set_fuel(limits.fuel)
    return store


def fuel_used(limits: Limits, store: Store) -> int:
    """Return the instructions of a run so far; 0 if they are not counted."""
    return 0 if limits.fuel is None else limits.fuel - store.get_fuel()


def timeout_reason(stop: Exception, limits: Limits) -> str:
    """Return what to say of a run that its time or its fuel ended; "" for any other end."""
    code = stop.trap_code if isinstance(stop, Trap) else None
    if code == TrapCode.INTERRUPT:
        return f"timed out after {limits.timeout_s:g} s"
    return f"ran out of fuel ({limits.fuel})" if code == TrapCode.OUT_OF_FUEL else ""


# --- signal handlers -----------------------------------------------------------------------------

# A trap, for example a full stack, arrives as a signal. Other libraries (Ray's client,
# `faulthandler`) replace the engine's handlers with their own and remove those again; the next trap
# would then kill the process. So the engine's handlers are restored before each run; they pass on
# signals that are not theirs to the handlers before them.
_FAULTS = (signal.SIGILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE)
_libc = ctypes.PyDLL(None)  # keeps the interpreter's lock: these calls are too short to release it
_handlers = {
    number: ctypes.create_string_buffer(512)  # bytes, more than a `struct sigaction` takes
    for number in (_FAULTS if sys.platform in ("linux", "darwin") else ())
}
engine_for(Code.OPTIMISED)  # the first engine of a process installs its handlers
for _number, _handler in _handlers.items():
    _libc.sigaction(_number, None, _handler)


# --- threads -----------------------------------------------------------------------------------


class _Runner:
    """A thread with a large enough stack for a guest. It makes one call after another."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], SimpleQueue[Any]] | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._work, name="wasm-run", daemon=True)
        with _starting:
            usual = threading.stack_size(_THREAD_STACK)
            try:
                self.thread.start()
            except RuntimeError as error:
                raise SandboxError(f"no thread for the sandbox: {error}") from error
            finally:
                threading.stack_size(usual)

    def start(self, call: Callable[[], Result]) -> Callable[[], Result]:
        """Return a function that waits for the result of `call`.

        An exception that a signal raises there leaves the call running.
        """
        done: SimpleQueue[Future[Result]] = SimpleQueue()
        self._calls.put((call, done))
        return lambda: interruptible_get(done).result()

    def end(self) -> None:
        """End the thread after its pending calls."""
        self._calls.put(None)

    def _work(self) -> None:
        _here.is_runner = True
        _runners.add(self)
        while (item := self._calls.get()) is not None:
            call, done = item
            future = _outcome(call)
            is_kept = len(_idle) < _MAX_IDLE_THREADS
            if is_kept:  # before the result: its receiver may call again
                _idle.append(self)
            done.put(future)
            del item, call, done, future  # their values may be large
            if not is_kept:
                break
        _runners.discard(self)


def _outcome(call: Callable[[], Result]) -> Future[Result]:
    future: Future[Result] = Future()
    try:
        future.set_result(call())
    except BaseException as error:  # it belongs to the calling thread
        future.set_exception(error)
    return future


_MAX_IDLE_THREADS = 8  # a deep recursion leaves its thread with a large stack in memory
_HURRY = 10_000  # epochs
_here = threading.local()
_starting = threading.Lock()
_runners: set[_Runner] = set()
_idle: list[_Runner] = []


def shielded(call: Callable[[], Result]) -> Result:
    """Return the result of `call`, which runs on a thread of the sandbox.

    That thread has a large enough stack for a guest, so no verdict depends on the caller's thread.
    Python runs signal handlers on the main thread, even while a guest calls the host. An exception
    of a handler there, such as KeyboardInterrupt, would crash the process inside the engine. Here
    it is raised at once; the call continues in the background, at most until its deadline or the
    end of the process. Raises `SandboxError` if no thread can be started.
    """
    return shielded_beside(call)()


def shielded_beside(call: Callable[[], Result]) -> Callable[[], Result]:
    """Start `call` as `shielded` does; return a function that waits for its result."""
    try:
        runner = _idle.pop()
    except IndexError:
        runner = _Runner()
    return runner.start(call)


def _end_runners() -> None:
    """End all runs before the interpreter ends: a guest must not return to a dead interpreter.

    The result of a program that still runs, for example after Ctrl-C, is not needed any more: its
    epochs are advanced to its deadline at once.
    """
    # What is left goes with the process. As modules are taken down, the binding's own functions go
    # before the objects that they would free.
    del Managed.__del__
    ending = list(_runners)
    for runner in ending:
        runner.end()
    for runner in ending:
        runner.thread.join(TICK_S)
        while runner.thread.is_alive():
            for _ in range(_HURRY):
                _advance()
            runner.thread.join(TICK_S)


atexit.register(_end_runners)


# --- time --------------------------------------------------------------------------------------


def _advance() -> None:
    for engine in tuple(_engines.values()):
        engine.increment_epoch()


class _Ticker:
    """Advance the engines' epochs by a clock while anything runs.

    A sleeping thread wakes late on a busy machine. So epochs are counted from the time that really
    passed, and updated before each run, which loses no time to late ticks.
    """

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._running = 0
        self._ticked_at = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        with self._wake:
            if self._running == 0:
                self._ticked_at = time.monotonic()
                if self._thread is None:
                    self._thread = threading.Thread(None, self._tick, "wasm-clock", daemon=True)
                    self._thread.start()
                self._wake.notify()
            else:
                self._catch_up()
            self._running += 1
        try:
            yield
        finally:
            with self._wake:
                self._running -= 1

    def _catch_up(self) -> None:
        ticks = int((time.monotonic() - self._ticked_at) / TICK_S)
        for _ in range(ticks):
            _advance()
        self._ticked_at += ticks * TICK_S

    def _tick(self) -> None:
        while True:
            with self._wake:
                while self._running == 0:
                    self._wake.wait()
                self._catch_up()
            time.sleep(TICK_S)


_ticker = _Ticker()


def _after_fork() -> None:
    """Reset threads and locks in a forked child: it has no threads, and a lock may be locked."""
    global _ticker, _starting
    _ticker = _Ticker()
    _starting = threading.Lock()
    _runners.clear()
    _idle.clear()


os.register_at_fork(after_in_child=_after_fork)


def deadline_ticks(timeout_s: float) -> int:
    """Return the epochs in `timeout_s` seconds, rounded up: a run is never cut short."""
    return math.ceil(timeout_s / TICK_S) + 1


@contextmanager
def deadline(store: Store, timeout_s: float) -> Iterator[None]:
    """Calls into `store` inside this block trap `timeout_s` seconds after its start.

    A trap of this kind has the code `TrapCode.INTERRUPT`. A host function that blocks is not
    interrupted. Raises `SandboxError` outside `shielded`: the thread may have too small a stack.
    """
    if not getattr(_here, "is_runner", False):
        raise SandboxError("a guest must be called inside `shielded`")
    for number, handler in _handlers.items():
        _libc.sigaction(number, handler, None)
    with _ticker.running():
        store.set_epoch_deadline(deadline_ticks(timeout_s))
        yield
