"""The engine that all sandboxes share: its settings, its clock, and the cache of compiled code.

A guest loads its WebAssembly with `load_module` or `load_component`, gives each run a fresh `Store`
of `ENGINE`, and calls into it inside `with deadline(store, seconds)`.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import logging
import math
import os
import platform
import resource
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from wasmtime import Config, Engine, Module, Store, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import Component

from ..errors import RuntimeMissing, SandboxError
from . import Runtime, recorded_hash, runtime_file

Compiled = TypeVar("Compiled", Module, Component)
Result = TypeVar("Result")

TICK_S = 0.01
_MiB = 1024 * 1024
_SETTINGS = "epoch opt=speed"  # part of the cache key: change it with `_config`
_UNUSED_S = 30 * 24 * 3600
_BORN = os.getpid()

logger = logging.getLogger(__name__)


# --- settings ----------------------------------------------------------------------------------


def _wasm_stack() -> int:
    """Bytes of native stack that a guest may use: three quarters of a thread's, at most 6 MiB.

    The guest runs on the stack of the calling thread, and the engine does not look at how large
    that is: a guest allowed more than there is would take the host process down with it.
    """
    limit = threading.stack_size() or resource.getrlimit(resource.RLIMIT_STACK)[0]
    if limit == resource.RLIM_INFINITY:
        limit = 2 * _MiB  # what the C library gives a thread when the limit is unlimited
    return min(6 * _MiB, limit * 3 // 4)


_WASM_STACK = _wasm_stack()
_STACK_NEEDED = _WASM_STACK + _MiB // 4
_checked = threading.local()  # which threads are known to have stack enough


def _config(parallel: bool = True) -> Config:
    config = Config()
    config.epoch_interruption = True
    config.cranelift_opt_level = "speed"
    config.parallel_compilation = parallel
    # The engine aborts the process if its asynchronous stack, which we never use, is the smaller.
    # The setting has no public name in the Python binding; its version is pinned.
    ffi.wasmtime_config_async_stack_size_set(config.ptr(), 8 * _MiB)
    config.max_wasm_stack = _WASM_STACK
    return config


ENGINE = Engine(_config())


def _thread_stack() -> int:
    """Bytes of stack that the calling thread has."""
    pthread, size = ctypes.CDLL(None), ctypes.c_size_t()
    pthread.pthread_self.restype = ctypes.c_void_p
    thread = ctypes.c_void_p(pthread.pthread_self())
    if sys.platform == "darwin":
        pthread.pthread_get_stacksize_np.restype = ctypes.c_size_t
        return int(pthread.pthread_get_stacksize_np(thread))
    attributes = ctypes.create_string_buffer(256)  # a pthread_attr_t; none is as large
    if pthread.pthread_getattr_np(thread, attributes):
        return 0
    pthread.pthread_attr_getstacksize(attributes, ctypes.byref(size))
    pthread.pthread_attr_destroy(attributes)
    return size.value


def _require_stack() -> None:
    """Refuse a thread on which a deep recursion in the guest would crash the process."""
    if getattr(_checked, "roomy", False):
        return
    stack = _thread_stack()
    if stack < _STACK_NEEDED:
        raise SandboxError(
            f"this thread has {stack // 1024} KiB of stack and the sandbox needs "
            f"{_STACK_NEEDED // 1024}: "
            "raise threading.stack_size() before starting it"
        )
    _checked.roomy = True


# --- signals ---------------------------------------------------------------------------------


_shield: ThreadPoolExecutor | None = None  # one thread; only the main thread uses it


def shielded(call: Callable[[], Result]) -> Result:
    """The result of `call`, which is made on another thread where this one is the main thread.

    Python runs signal handlers on the main thread, also when a guest has just called the host. What
    a handler raises there, such as KeyboardInterrupt, crashes the process inside the engine. Here
    it is raised at once; the call goes on by itself, at most until its deadline.
    """
    global _shield
    stack = threading.stack_size()
    roomy = stack == 0 or stack >= _STACK_NEEDED
    if threading.current_thread() is not threading.main_thread() or not roomy:
        return call()
    pool = _shield = _shield or ThreadPoolExecutor(1, thread_name_prefix="wasm-run")
    future = pool.submit(call)
    try:
        return future.result()
    finally:
        if not future.done():  # the next call must not wait for this one
            _shield = None
            pool.shutdown(wait=False)


# --- time --------------------------------------------------------------------------------------


class _Ticker:
    """Advances the engine's epochs from a clock, while anything runs.

    A sleeping thread is late on a busy machine. Epochs are therefore counted from the time that
    really passed, and brought up to date before each run, which so loses nothing to late ticks.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._running = 0
        self._ticked_at = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        with self._wake:
            if self._running == 0:
                self._ticked_at = time.monotonic()
                self._start()
            else:
                self._catch_up()
            self._running += 1
        try:
            yield
        finally:
            with self._wake:
                self._running -= 1

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._tick, name="wasm-clock", daemon=True)
            self._thread.start()
        self._wake.notify()

    def _catch_up(self) -> None:
        owed = int((time.monotonic() - self._ticked_at) / TICK_S)
        for _ in range(owed):
            self._engine.increment_epoch()
        self._ticked_at += owed * TICK_S

    def _tick(self) -> None:
        while True:
            with self._wake:
                while self._running == 0:
                    self._wake.wait()
                self._catch_up()
            time.sleep(TICK_S)


_ticker = _Ticker(ENGINE)
_loading = threading.Lock()


def _after_fork() -> None:
    """A forked child has none of our threads, and may have copied a lock that somebody held."""
    global _ticker, _loading, _shield
    _ticker = _Ticker(ENGINE)
    _loading = threading.Lock()
    _shield = None


os.register_at_fork(after_in_child=_after_fork)


def deadline_ticks(timeout_s: float) -> int:
    """How many epochs make up `timeout_s` seconds, rounded up: a run is never cut short."""
    return math.ceil(timeout_s / TICK_S) + 1


@contextmanager
def deadline(store: Store, timeout_s: float) -> Iterator[None]:
    """Calls into `store` inside this block trap `timeout_s` seconds after its start.

    A trap of this kind has the code `TrapCode.INTERRUPT`; from a component it is a `WasmtimeError`
    whose text holds "wasm trap: interrupt". A host function that blocks is not interrupted. Raises
    `SandboxError` on a thread whose stack is too small for the guest's.
    """
    _require_stack()
    with _ticker.running():
        store.set_epoch_deadline(deadline_ticks(timeout_s))
        yield


# --- compiled code -----------------------------------------------------------------------------

_loaded: dict[Runtime, Module | Component] = {}


def load_module(runtime: Runtime) -> Module:
    """The runtime's core module, compiled once a machine and shared by all threads.

    Raises `RuntimeMissing` when the file is absent or not the one whose hash is recorded.
    """
    return _load(runtime, Module)


def load_component(runtime: Runtime) -> Component:
    """The runtime's component; everything else as for `load_module`."""
    return _load(runtime, Component)


def _load(runtime: Runtime, kind: type[Compiled]) -> Compiled:
    with _loading:
        known = _loaded.get(runtime)
        if not isinstance(known, kind):
            known = _from_cache(runtime, kind)
            _loaded[runtime] = known
        return known


def _from_cache(runtime: Runtime, kind: type[Compiled]) -> Compiled:
    source, digest = runtime_file(runtime), recorded_hash(runtime)
    folder = _cache_folder()
    if folder is None:
        return kind.deserialize(ENGINE, _compile(source, digest, kind))
    key = f"{runtime.name}-{_cache_key(digest)}"
    with _locked(folder / f"{runtime.name}.lock"):
        found = _find(folder, key, kind)
        if found is None:
            code = _compile(source, digest, kind)
            path = _keep(folder, key, code)
            if path is None:
                return kind.deserialize(ENGINE, code)
            _forget_unused(folder, runtime.name)
            found = kind.deserialize_file(ENGINE, str(path))
        return found


def _compile(source: Path, digest: str, kind: type[Compiled]) -> bytearray:
    wasm = source.read_bytes()
    if hashlib.sha256(wasm).hexdigest() != digest:
        raise RuntimeMissing(
            f"{source} is not the file that was built: its SHA-256 is not {digest}. "
            "Build it again with `bash build_src/build_wasm.sh`"
        )
    # A warning, since it is the one that shows where nobody has set up logging: the wait is long.
    logger.warning("compiling %s for this machine, once; this takes up to a minute", source.name)
    # The compiler's threads do not survive a fork: a forked child would wait for them for ever.
    engine = Engine(_config(parallel=os.getpid() == _BORN))
    try:
        return kind(engine, wasm).serialize()
    except WasmtimeError as error:
        raise SandboxError(f"{source.name} cannot be compiled: {error}") from error


def _cache_key(digest: str) -> str:
    """What compiled code depends on: the source, the compiler, its settings, the processor."""
    parts = (digest, version("wasmtime"), _SETTINGS, sys.platform, _processor())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                return f"{platform.machine()} {line}"
    return f"{platform.machine()} {platform.processor()}"


def _cache_folder() -> Path | None:
    """A folder that only this user can write to, or None where there is none to be had.

    Compiled code is native code: whoever can write it can do what the user can.
    """
    chosen = os.environ.get("INFINITE_RL_CACHE")
    try:
        if chosen:
            folder = Path(chosen)
        elif sys.platform == "darwin":
            folder = Path.home() / "Library" / "Caches" / "infinite_rl"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
            folder = Path(base) / "infinite_rl"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fit = _is_private(folder) and os.access(folder, os.W_OK)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        logger.warning("no cache of compiled runtimes: %s", error)
        return None
    if not fit:
        logger.warning("no cache of compiled runtimes: %s is not private to this user", folder)
    return folder if fit else None


def _is_private(path: Path) -> bool:
    status = path.lstat()
    kind_fits = stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
    return kind_fits and status.st_uid == os.geteuid() and not status.st_mode & 0o022


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process compiles, the others wait for what it leaves in the cache."""
    with path.open("w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _find(folder: Path, key: str, kind: type[Compiled]) -> Compiled | None:
    """The compiled code under `key`; None when there is none, or it is damaged (it is removed).

    The file's name carries the hash of its content: the engine itself does not notice a changed
    byte in the code.
    """
    for path in folder.glob(f"{key}-*.cwasm"):
        if not _is_private(path):
            logger.warning("%s is not private to this user: it is not used", path)
            continue
        if path.name == _content_name(key, path.read_bytes()):
            try:
                path.touch()  # the time of the last use
                return kind.deserialize_file(ENGINE, str(path))
            except WasmtimeError as error:
                logger.warning("%s does not load (%s): compiling again", path, error)
        path.unlink()
    return None


def _keep(folder: Path, key: str, code: bytearray) -> Path | None:
    """Store compiled code, whole or not at all; None when the disk is full."""
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


def _forget_unused(folder: Path, name: str) -> None:
    """Remove what was compiled from other builds, unless it was used within a month."""
    for path in folder.glob(f"{name}-*.cwasm"):
        if time.time() - path.stat().st_mtime > _UNUSED_S:
            path.unlink()


def _content_name(key: str, code: bytes | bytearray) -> str:
    return f"{key}-{hashlib.sha256(code).hexdigest()[:32]}.cwasm"
