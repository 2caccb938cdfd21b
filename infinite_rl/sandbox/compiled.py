"""Compiled code of the runtimes: made once per machine, and kept in the user's cache.

Optimised code of a large runtime takes seconds to make. So the first process uses baseline code,
and starts another process, of low priority, that makes the optimised code and puts it in the cache:

    latest = LatestCode(runtime, host_function)
    prepared = latest.code()  # for one run: the optimised code from the moment it is there

`$INFINITE_RL_COMPILER` says `optimising` to wait for optimised code, or `baseline` to stay with
baseline code.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import platform
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from wasmtime import Engine, Module, WasmtimeError

from ..errors import RuntimeMissing, SandboxError, UsageError
from ..files.atomic import cache_folder
from ..workers.worker import import_path
from .engine import Code, config_of, engine_for
from .instance import HostFunction, Prepared
from .runtimes import Runtime, compiling, recorded_hash, runtime_file

_UNUSED_S = 30 * 24 * 3600
_LOOK_S = 1.0  # how often a process with baseline code looks for the optimised
_NICE = 10  # still a tenth of a busy core
_BORN = os.getpid()
# Any other machine has no baseline compiler; asking for it would abort the process.
_HAS_BASELINE = platform.machine().lower() in {"x86_64", "amd64", "aarch64", "arm64"}
_BOOT = (
    "import sys; sys.path[:] = sys.argv[6:]; "
    "from infinite_rl.sandbox.compiled import make_optimised; make_optimised(*sys.argv[1:6])"
)

logger = logging.getLogger(__name__)


class _Source(NamedTuple):
    """A runtime's WebAssembly."""

    name: str
    path: str
    sha256: str

    @classmethod
    def of(cls, runtime: Runtime) -> _Source:
        """Return the runtime's source. Raises `RuntimeMissing`."""
        name = runtime.shares or runtime.name
        return cls(name, str(runtime_file(runtime)), recorded_hash(runtime))

    def key(self, code: Code) -> str:
        """Hash the inputs of compilation: source, compiler, settings, processor."""
        parts = (self.sha256, version("wasmtime"), code.value, sys.platform, _processor())
        hashed = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return f"{self.name}-{hashed[:24]}"


# --- loading -------------------------------------------------------------------------------------

_loaded: dict[tuple[_Source, Code], Module] = {}
_loading = threading.Lock()


def _after_fork() -> None:
    """Reset the lock in a forked child: it may be locked."""
    global _loading
    _loading = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def load_compiled(runtime: Runtime, code: Code = Code.OPTIMISED) -> Module:
    """Return the runtime's module, compiled once per machine; all threads share it.

    Raises `RuntimeMissing` if the file is absent or does not have the recorded hash, and
    `SandboxError` if the compiler fails.
    """
    return _load(_Source.of(runtime), code)


def _load(source: _Source, code: Code) -> Module:
    with _loading:
        if (source, code) not in _loaded:
            _loaded[source, code] = _from_cache(source, code)
        return _loaded[source, code]


def load_program(
    name: str,
    sha256: str,
    code: Code,
    make: Callable[[], bytes],
    most: int,
    *,
    is_alone: bool = False,
) -> Module:
    """Return the module of a compiled program: from the cache, which keeps the `most` last used.

    `name` and `sha256` are those of the program's text, from which `make` returns its WebAssembly.
    With `is_alone`, other processes that need it wait until it is there. Raises what `make` raises,
    and `SandboxError` if the compiler fails.
    """
    source, engine, folder = _Source(name, name, sha256), engine_for(code), private_folder()
    key = source.key(code)
    if folder is not None and (cached := _find(folder, key, engine)):
        return cached
    if folder is not None and is_alone:
        with _locked(folder, f"{key}-alone"):
            return load_program(name, sha256, code, make, most)
    try:
        compiled = compile_module(make(), code)
    except WasmtimeError as error:
        raise SandboxError(f"{name} cannot be compiled: {error}") from error
    if folder is not None:
        with _locked(folder, name):
            _store(folder, source, code, compiled)
            _remove_oldest(folder, name, most)
    return Module.deserialize(engine, compiled)


def compile_module(wasm: bytes, code: Code) -> bytearray:
    """Return native code, for `Module.deserialize`. Raises `WasmtimeError`."""
    # The compiler's threads do not survive a fork: a forked child would wait for them forever.
    return Module(Engine(config_of(code, parallel=os.getpid() == _BORN)), wasm).serialize()


def is_compiled(runtime: Runtime, code: Code = Code.OPTIMISED) -> bool:
    """Whether the cache has the runtime's undamaged code, so that loading compiles nothing."""
    folder, key = _readable_folder(), _Source.of(runtime).key(code)
    try:
        return folder is not None and any(
            _is_private(path) and path.name == _content_name(key, path.read_bytes())
            for path in _files(folder, key)
        )
    except OSError:  # another process has removed it, or it cannot be read
        return False


class LatestCode:
    """The best code of a runtime that there is: baseline code until the optimised code is made.

    Metered code is always the optimising compiler's: the other one may count in another way. Raises
    as `load_compiled` does.
    """

    def __init__(
        self,
        runtime: Runtime,
        host_function: Callable[[str, str], HostFunction],
        is_metered: bool = False,
    ) -> None:
        # The files may be replaced while this process runs.
        self._source, self._host_function = _Source.of(runtime), host_function
        self._best = Code.METERED if is_metered else Code.OPTIMISED
        self._wish = os.environ.get("INFINITE_RL_COMPILER", "")
        if self._wish not in ("", "baseline", "optimising"):
            wrong = f"INFINITE_RL_COMPILER is baseline or optimising, not {self._wish!r}"
            raise UsageError(wrong)
        self._looked_at = 0.0
        self._baseline = self._load_baseline()
        self._code = self._baseline or self._prepare(self._best)

    def code(self) -> Prepared:
        """Return the code for one run. Compiles nothing."""
        looks = self.is_baseline(self._code) and not self._wish
        if looks and time.monotonic() > self._looked_at + _LOOK_S and self._is_optimised_there():
            return self.optimised()
        return self._code

    def optimised(self) -> Prepared:
        """Return optimised code: wait for the process that makes it, or compile it here."""
        if not self.is_baseline(self._code):
            return self._code
        optimised = self._prepare(self._best)
        if self._wish != "baseline":
            self._code = optimised
        return optimised

    def is_baseline(self, code: Prepared) -> bool:
        """Whether this is baseline code."""
        return code is self._baseline

    def _prepare(self, code: Code) -> Prepared:
        return Prepared(engine_for(code), _load(self._source, code), self._host_function)

    def _load_baseline(self) -> Prepared | None:
        """Return baseline code, and have another process make the optimised code.

        None if that is there or asked for, or could not be kept; or without a baseline compiler.
        """
        folder = private_folder()
        if self._best is Code.METERED or self._wish == "optimising" or not _HAS_BASELINE:
            return None
        if not self._wish and (folder is None or self._is_optimised_there()):
            return None
        try:
            prepared = self._prepare(Code.BASELINE)
        except SandboxError as error:
            logger.debug("there is no baseline code: %s", error)
            return None
        if not self._wish and folder:
            _start_optimising(self._source, folder)
        return prepared

    def _is_optimised_there(self) -> bool:
        self._looked_at = time.monotonic()
        folder = private_folder()
        return folder is not None and any(_files(folder, self._source.key(Code.OPTIMISED)))


# --- compiling -----------------------------------------------------------------------------------


def _from_cache(source: _Source, code: Code) -> Module:
    folder, engine = private_folder(), engine_for(code)
    if folder is None:
        kept = _readable_folder()
        if kept and (cached := _find(kept, source.key(code), engine)):
            return cached
        return Module.deserialize(engine, _compile(source, code))
    with _locked(folder, source.key(code)):  # others that need the same code wait for the cache
        cached = _find(folder, source.key(code), engine)
        if cached is not None:
            return cached
        compiled = _compile(source, code)
        path = _store(folder, source, code, compiled)
        if path is None:
            return Module.deserialize(engine, compiled)
        return Module.deserialize_file(engine, str(path))


def _compile(source: _Source, code: Code) -> bytearray:
    path = Path(source.path)
    wasm = path.read_bytes()
    if hashlib.sha256(wasm).hexdigest() != source.sha256:
        raise RuntimeMissing(
            f"{path} is not the file that was built: its SHA-256 is not {source.sha256}. "
            "Build it again with `bash build_src/build_wasm.sh`"
        )
    # A warning, since warnings are shown without any logging setup, and the wait is long.
    wait = "a few seconds" if code is Code.BASELINE else "up to a minute"
    what = "compiling %s for this machine, once (%s code); this takes %s"
    logger.warning(what, path.name, code.name.lower().replace("_", " "), wait)
    compiling.append(path.name)
    try:
        return compile_module(wasm, code)
    except WasmtimeError as error:
        raise SandboxError(f"{path.name} cannot be compiled: {error}") from error
    finally:
        compiling.remove(path.name)


def _start_optimising(source: _Source, folder: Path) -> None:
    """Start a process that makes the optimised code, unless there is one.

    It inherits the lock, which ends with it. Nobody waits for it, also not at the end of this one.
    """
    if not sys.executable:
        return
    with (folder / f"{source.key(Code.OPTIMISED)}.lock").open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        arguments = [str(lock.fileno()), str(folder.absolute()), *source]
        command = [sys.executable, "-I", "-c", _BOOT, *arguments, *import_path()]
        try:
            maker = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[lock.fileno()],
                start_new_session=True,
            )
            threading.Thread(None, maker.wait, "wasm-optimise", daemon=True).start()
        except (OSError, RuntimeError) as error:  # RuntimeError: no thread
            logger.debug("no process makes optimised code: %s", error)


def make_optimised(lock: str, folder: str, *source: str) -> None:
    """Compile optimised code into the cache, in a process that no verdict waits for."""
    os.nice(_NICE)
    with suppress(OSError):  # where memory is short, this process is the one to kill
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    cache, runtime_source = Path(folder), _Source(*source)
    try:
        key = runtime_source.key(Code.OPTIMISED)
        if not any(_files(cache, key)) and _store(
            cache, runtime_source, Code.OPTIMISED, _compile(runtime_source, Code.OPTIMISED)
        ):
            baseline = runtime_source.key(Code.BASELINE)
            with _locked(cache, baseline):  # no process loads it meanwhile
                for path in _files(cache, baseline):
                    path.unlink()
    finally:
        fcntl.flock(int(lock), fcntl.LOCK_UN)


@cache
def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                return f"{platform.machine()} {line}"
    return f"{platform.machine()} {platform.processor()}"


# --- the cache -----------------------------------------------------------------------------------


def private_folder() -> Path | None:
    """Return a folder that only this user can write to, or None.

    Compiled code is native code: write access to it grants the user's rights.
    """
    folder = _readable_folder()
    return folder if folder and os.access(folder, os.W_OK) else None


def _readable_folder() -> Path | None:
    """Return a folder that only this user and root can write to, or None: also one in an image."""
    try:
        folder = cache_folder().resolve()  # systemd gives services a link to theirs
        fit = _is_private(folder) and os.access(folder, os.R_OK | os.X_OK)
    except (OSError, RuntimeError) as error:  # RuntimeError: no home directory
        _say_no_cache(str(error))
        return None
    if not fit:
        _say_no_cache(f"{folder} is not private to this user, or cannot be read")
    return folder if fit else None


@lru_cache(maxsize=8)  # warn once per reason
def _say_no_cache(reason: str) -> None:
    logger.warning("no cache of compiled runtimes: %s", reason)


def _is_private(path: Path) -> bool:
    status = path.lstat()
    kind_fits = stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
    return kind_fits and status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022


@contextmanager
def _locked(folder: Path, key: str) -> Iterator[None]:
    """Hold the lock of one code. A forked process that has a copy of the file does not hold it."""
    with (folder / f"{key}.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)


def _files(folder: Path, key: str) -> Iterator[Path]:
    """Yield the files of one code: one, or none."""
    return folder.glob(f"{key}-*.cwasm")


def _find(folder: Path, key: str, engine: Engine) -> Module | None:
    """Return the compiled code under `key`, or None. Damaged code is removed.

    The file's name contains the hash of its content: the engine does not detect a changed byte.
    """
    for path in _files(folder, key):
        if not (_is_private(path) and os.access(path, os.R_OK)):
            logger.warning("%s is not private to this user: it is not used", path)
            continue
        if path.name == _content_name(key, path.read_bytes()):
            try:
                with suppress(OSError):  # in an image nothing can be written
                    path.touch()  # the time of the last use
                return Module.deserialize_file(engine, str(path))
            except WasmtimeError as error:
                logger.warning("%s does not load (%s): compiling again", path, error)
        with suppress(OSError):
            path.unlink()
    return None


def _store(folder: Path, source: _Source, code: Code, compiled: bytearray) -> Path | None:
    """Store compiled code atomically, under the lock; None if the disk is full."""
    key = source.key(code)
    path = folder / _content_name(key, compiled)
    for draft in folder.glob(f"{key}-*.tmp"):  # of a process that was killed
        draft.unlink()
    draft = path.with_suffix(".tmp")
    try:
        draft.write_bytes(compiled)
        draft.chmod(0o600)
        draft.replace(path)
    except OSError as error:
        logger.warning("compiled code is not kept: %s", error)
        draft.unlink(missing_ok=True)
        return None
    _remove_unused(folder, source.name)
    return path


def _remove_unused(folder: Path, name: str) -> None:
    """Remove code compiled from other builds, unless it was used within a month."""
    for path in [*folder.glob(f"{name}-*.cwasm"), *folder.glob(f"{name}-*.lock")]:
        with suppress(FileNotFoundError):  # another process removes code, too
            if time.time() - path.stat().st_mtime > _UNUSED_S:
                path.unlink()


def _remove_oldest(folder: Path, name: str, most: int) -> None:
    """Keep the code of the programs that were used last."""
    paths = sorted(folder.glob(f"{name}-*.cwasm"), key=lambda path: path.stat().st_mtime)
    for path in paths[: max(0, len(paths) - most)]:
        path.unlink(missing_ok=True)


def _content_name(key: str, compiled: bytes | bytearray) -> str:
    return f"{key}-{hashlib.sha256(compiled).hexdigest()[:32]}.cwasm"
