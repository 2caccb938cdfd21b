"""The engine that all guests share: its settings, threads, clock, and cache of compiled code.

A guest loads its WebAssembly with `load_compiled`, gives each run a `fresh_store`, and calls into
it inside `shielded`, `with deadline(store, seconds)`.

There are two engines, `ENGINE` and `METERED`. The second counts instructions, which slows down the
code that it compiles, and is used only for runs with `Limits.fuel`.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import hashlib
import logging
import math
import os
import platform
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from wasmtime import Config, Engine, Module, Store, WasmtimeError
from wasmtime import _ffi as ffi

from ..errors import RuntimeMissing, SandboxError
from ..files.folders import cache_folder
from ..workers.interruptible import interruptible_get
from .runtimes import Limits, Runtime, recorded_hash, runtime_file

Result = TypeVar("Result")

TICK_S = 0.01
_MiB = 1024 * 1024
_SETTINGS = "epoch opt=speed fixed"  # part of the cache key: change it with `_config`
_MAX_TABLE_ELEMENTS, _MAX_ITEMS = 100_000, 100  # far beyond the needs of the packaged runtimes
_UNUSED_S = 30 * 24 * 3600
_BORN = os.getpid()

logger = logging.getLogger(__name__)


# --- settings ----------------------------------------------------------------------------------


# Native stack that a guest may use. The engine does not check the size of a thread's stack: a guest
# that is allowed more would crash the host process. JavaScript's own limit (see its build) is
# usually reached first, except with much native code on the stack.
_WASM_STACK = 20 * _MiB
_THREAD_STACK = _WASM_STACK + 2 * _MiB  # and room for the host functions that the guest calls


def _config(is_metered: bool, parallel: bool = True) -> Config:
    config = Config()
    config.consume_fuel = is_metered
    config.epoch_interruption = True
    config.cranelift_opt_level = "speed"
    config.parallel_compilation = parallel
    # The engine aborts the process if its asynchronous stack, which we never use, is the smaller.
    # The setting has no public name in the Python binding; its version is pinned.
    ffi.wasmtime_config_async_stack_size_set(config.ptr(), _WASM_STACK)
    config.max_wasm_stack = _WASM_STACK
    # `Instance` keeps the memory's address.
    ffi.wasmtime_config_memory_may_move_set(config.ptr(), False)
    return config


ENGINE, METERED = Engine(_config(False)), Engine(_config(True))


def engine_for(is_metered: bool) -> Engine:
    """Return `METERED` or `ENGINE`."""
    return METERED if is_metered else ENGINE


def fresh_store(limits: Limits) -> Store:
    """Return an empty store for one run, with limits on memory, tables, instances and fuel."""
    store = Store(engine_for(limits.fuel is not None))
    store.set_limits(limits.memory_bytes, _MAX_TABLE_ELEMENTS, _MAX_ITEMS, _MAX_ITEMS, _MAX_ITEMS)
    if limits.fuel is not None:
        store.set_fuel(limits.fuel)
    return store


# --- signal handlers -----------------------------------------------------------------------------

# On Linux a trap, for example a full stack, arrives as a signal. Other libraries (Ray's client,
# `faulthandler`) replace the engine's handlers with their own and remove those again; the next trap
# would then kill the process. So the engine's handlers are restored before each run; they pass on
# signals that are not theirs to the handlers before them.
_FAULTS = (signal.SIGILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE)
_libc = ctypes.PyDLL(None)  # keeps the interpreter's lock: these calls are too short to release it
_handlers = {
    number: ctypes.create_string_buffer(512)  # bytes, more than a `struct sigaction` takes
    for number in (_FAULTS if sys.platform == "linux" else ())
}
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

    def call(self, call: Callable[[], Result]) -> Result:
        """Return the result of `call`. An exception that a signal raises here leaves it running."""
        done: SimpleQueue[Future[Result]] = SimpleQueue()
        self._calls.put((call, done))
        return interruptible_get(done).result()

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
    try:
        runner = _idle.pop()
    except IndexError:
        runner = _Runner()
    return runner.call(call)


def _end_runners() -> None:
    """End all runs before the interpreter ends: a guest must not return to a dead interpreter.

    The result of a program that still runs, for example after Ctrl-C, is not needed any more: its
    epochs are advanced to its deadline at once.
    """
    ending = list(_runners)
    for runner in ending:
        runner.end()
    for runner in ending:
        runner.thread.join(TICK_S)
        while runner.thread.is_alive():
            for _ in range(_HURRY):
                ENGINE.increment_epoch()
                METERED.increment_epoch()
            runner.thread.join(TICK_S)


atexit.register(_end_runners)


# --- time --------------------------------------------------------------------------------------


class _Ticker:
    """Advance the engines' epochs by a clock while anything runs.

    A sleeping thread wakes late on a busy machine. So epochs are counted from the time that really
    passed, and updated before each run, which loses no time to late ticks.
    """

    def __init__(self, *engines: Engine) -> None:
        self._engines = engines
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
            for engine in self._engines:
                engine.increment_epoch()
        self._ticked_at += ticks * TICK_S

    def _tick(self) -> None:
        while True:
            with self._wake:
                while self._running == 0:
                    self._wake.wait()
                self._catch_up()
            time.sleep(TICK_S)


_ticker = _Ticker(ENGINE, METERED)
_loading = threading.Lock()


def _after_fork() -> None:
    """Reset threads and locks in a forked child: it has no threads, and a lock may be locked."""
    global _ticker, _loading, _starting
    _ticker = _Ticker(ENGINE, METERED)
    _loading, _starting = threading.Lock(), threading.Lock()
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


# --- compiled code -----------------------------------------------------------------------------

_loaded: dict[tuple[Runtime, bool], Module] = {}


def load_compiled(runtime: Runtime, is_metered: bool = False) -> Module:
    """Return the runtime's module, compiled once per machine.

    All threads share it. It belongs to `METERED` or to `ENGINE`. Raises `RuntimeMissing` if the
    file is absent or does not have the recorded hash.
    """
    with _loading:
        if (runtime, is_metered) not in _loaded:
            _loaded[runtime, is_metered] = _from_cache(runtime, is_metered)
        return _loaded[runtime, is_metered]


def is_compiled(runtime: Runtime) -> bool:
    """Whether the cache has the runtime's undamaged code, so that loading compiles nothing."""
    folder = _cache_folder()
    if folder is None:
        return False
    key = _key(runtime, recorded_hash(runtime), False)
    return any(
        _is_private(path) and path.name == _content_name(key, path.read_bytes())
        for path in folder.glob(f"{key}-*.cwasm")
    )


def _from_cache(runtime: Runtime, is_metered: bool) -> Module:
    engine = engine_for(is_metered)
    source, digest = runtime_file(runtime), recorded_hash(runtime)
    folder = _cache_folder()
    if folder is None:
        return Module.deserialize(engine, _compile(source, digest, is_metered))
    key = _key(runtime, digest, is_metered)
    with (folder / f"{key}.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others that need the same code wait for the cache
        cached = _find(folder, key, engine)
        if cached is not None:
            return cached
        code = _compile(source, digest, is_metered)
        path = _store(folder, key, code)
        if path is None:
            return Module.deserialize(engine, code)
        _remove_unused(folder, runtime.name)
        return Module.deserialize_file(engine, str(path))


def _compile(source: Path, digest: str, is_metered: bool) -> bytearray:
    wasm = source.read_bytes()
    if hashlib.sha256(wasm).hexdigest() != digest:
        raise RuntimeMissing(
            f"{source} is not the file that was built: its SHA-256 is not {digest}. "
            "Build it again with `bash build_src/build_wasm.sh`"
        )
    # A warning, since warnings are shown without any logging setup, and the wait is long.
    logger.warning("compiling %s for this machine, once; this takes up to a minute", source.name)
    # The compiler's threads do not survive a fork: a forked child would wait for them forever.
    engine = Engine(_config(is_metered, parallel=os.getpid() == _BORN))
    try:
        return Module(engine, wasm).serialize()
    except WasmtimeError as error:
        raise SandboxError(f"{source.name} cannot be compiled: {error}") from error


def _key(runtime: Runtime, digest: str, is_metered: bool) -> str:
    """Hash the inputs of compilation: source, compiler, settings, processor."""
    settings = f"{_SETTINGS} fuel" if is_metered else _SETTINGS
    parts = (digest, version("wasmtime"), settings, sys.platform, _processor())
    hashed = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f"{runtime.name}-{hashed[:24]}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                return f"{platform.machine()} {line}"
    return f"{platform.machine()} {platform.processor()}"


def _cache_folder() -> Path | None:
    """Return a folder that only this user can write to, or None.

    Compiled code is native code: write access to it grants the user's rights.
    """
    try:
        folder = cache_folder()
        fit = _is_private(folder) and os.access(folder, os.W_OK)
    except (OSError, RuntimeError) as error:  # RuntimeError: no home directory
        _say_no_cache(str(error))
        return None
    if not fit:
        _say_no_cache(f"{folder} is not private to this user")
    return folder if fit else None


@lru_cache(maxsize=8)  # warn once per reason
def _say_no_cache(reason: str) -> None:
    logger.warning("no cache of compiled runtimes: %s", reason)


def _is_private(path: Path) -> bool:
    status = path.lstat()
    kind_fits = stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
    return kind_fits and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _find(folder: Path, key: str, engine: Engine) -> Module | None:
    """Return the compiled code under `key`, or None. Damaged code is removed.

    The file's name contains the hash of its content: the engine does not detect a changed byte.
    """
    for path in folder.glob(f"{key}-*.cwasm"):
        if not _is_private(path):
            logger.warning("%s is not private to this user: it is not used", path)
            continue
        if path.name == _content_name(key, path.read_bytes()):
            try:
                path.touch()  # the time of the last use
                return Module.deserialize_file(engine, str(path))
            except WasmtimeError as error:
                logger.warning("%s does not load (%s): compiling again", path, error)
        path.unlink()
    return None


def _store(folder: Path, key: str, code: bytearray) -> Path | None:
    """Store compiled code atomically; None if the disk is full."""
    path = folder / _content_name(key, code)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        draft.write_bytes(code)
        draft.chmod(0o600)
        draft.replace(path)
    except OSError as error:
        logger.warning("compiled code is not kept: %s", error)
        draft.unlink(missing_ok=True)
        return None
    return path


def _remove_unused(folder: Path, name: str) -> None:
    """Remove code compiled from other builds, unless it was used within a month."""
    for path in [*folder.glob(f"{name}-*.cwasm"), *folder.glob(f"{name}-*.lock")]:
        if time.time() - path.stat().st_mtime > _UNUSED_S:
            path.unlink()


def _content_name(key: str, code: bytes | bytearray) -> str:
    return f"{key}-{hashlib.sha256(code).hexdigest()[:32]}.cwasm"
