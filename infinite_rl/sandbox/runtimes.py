"""The runtimes: one row a language, its WebAssembly file and its guest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

from ..errors import RuntimeMissing, UnknownName
from .guest import Guest, Limits

__all__ = [
    "RUNTIMES",
    "Guest",
    "Limits",
    "Runtime",
    "language_of",
    "load_guest",
    "recorded_hash",
    "runtime_file",
    "runtime_named",
]

_FOLDER = Path(__file__).parents[1] / "runtimes"
_WAYS_OUT = (
    "Build it with `bash build_src/build_wasm.sh` in a checkout, or install released runtimes "
    "with `RUNTIME_RELEASE_TAG=... pip install .`"
)


@dataclass(frozen=True)
class Runtime:
    """One language's runtime.

    `filename` lies in this folder. `sha256` is its pinned hash, or "" where builds differ: then the
    build records the hash in `<filename>.sha256` beside it. `guest` names the `Guest` class as
    "module:Class"; it is imported on first use. `trial` is a program that prints 42.
    """

    name: str
    aliases: tuple[str, ...]
    filename: str
    sha256: str
    guest: str
    trial: str = ""


RUNTIMES: tuple[Runtime, ...] = (
    Runtime(
        "python",
        ("py", "python3"),
        "python.wasm",
        "",
        "infinite_rl.sandbox.python.guest:PythonGuest",
        "print(6 * 7)",
    ),
    Runtime(
        "javascript",
        ("js", "node"),
        "universal_js.wasm",
        "e20414814cf76b602bc9d4a827787545d1e4fd2b4444d8410dc6447db3474837",
        "infinite_rl.sandbox.javascript.guest:JavaScriptGuest",
        "console.log(6 * 7)",
    ),
)
_BY_LABEL = {label: row for row in RUNTIMES for label in (row.name, *row.aliases)}


def runtime_named(name: str) -> Runtime:
    """The runtime with that name or alias. Raises `UnknownName`."""
    if name not in _BY_LABEL:
        raise UnknownName("language", name, (runtime.name for runtime in RUNTIMES))
    return _BY_LABEL[name]


def language_of(label: str) -> str:
    """The runtime that a label names in any case ("py" is python), "" for any other label."""
    runtime = _BY_LABEL.get(label.lower())
    return runtime.name if runtime else ""


def runtime_file(runtime: Runtime) -> Path:
    """Where the runtime's WebAssembly lies. Raises `RuntimeMissing`, naming the ways out."""
    path = _FOLDER / runtime.filename
    if not path.is_file():
        raise RuntimeMissing(f"the {runtime.name} runtime is missing: {path}. {_WAYS_OUT}")
    return path


def recorded_hash(runtime: Runtime) -> str:
    """The SHA-256 that the runtime's file must have, in hexadecimal. Raises `RuntimeMissing`."""
    if runtime.sha256:
        return runtime.sha256
    path = _FOLDER / f"{runtime.filename}.sha256"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for line in lines:
        if line.split() and not line.startswith("#"):
            return line.split()[0]
    raise RuntimeMissing(f"no hash is recorded for {runtime.filename}: {path}. {_WAYS_OUT}")


@cache
def load_guest(runtime: Runtime) -> Guest:
    """The runtime's sandbox, one for the process. Raises `RuntimeMissing`."""
    guest: Guest = resolve_name(runtime.guest)()
    return guest
