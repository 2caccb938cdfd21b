"""From the text of a program to its module, by TinyCC in an instance of its own.

The compiler is a program in WebAssembly like any other: it sees the files of its wheel and the
program's text, all in memory, and writes one file there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from wasmtime import Engine, Module, Trap, WasmtimeError

from ..binary import CODE, GLOBALS, MEMORY, module_of, read_unsigned, sections, signed, unsigned
from ..compiled import load_program
from ..engine import Code, config_of, deadline, engine_for, fresh_store, shielded
from ..instance import HostFunction, OutOfBounds, Prepared
from ..programs import CompilerLimit, DoesNotCompile, SystemInstance
from ..runtimes import Limits, runtime_named
from ..wasi import Stopped, System, host_function

_COMPILER = "tcc/tcc-shellsim.wasm"  # files of the wheel; each program is linked with the other
_OWN = {"tcc/shellsim_libc.c": "support.txt", "prelude.h": "prelude.txt"}
_ARGUMENTS = (
    *("cc", "-O2", "-std=c11", "-w", "-freverse-funcargs", "-include", "/prelude.h"),
    *("-D_WASI_EMULATED_PROCESS_CLOCKS", "-D_WASI_EMULATED_GETPID"),
)
_FILES = ("/main.c", "-o", "/main.wasm")
# The lengths in the formats of <inttypes.h>, which the headers ask of their compiler.
_LENGTHS = {"8": "hh", "16": "h", "32": "", "64": "ll"}
# A native compiler has the types of these functions also where a program forgets to include them.
_USUAL = "".join(
    f"#include <{name}.h>\n" for name in ["stdio", "stdlib", "string", "math", "ctype"]
)
# Types that glibc's <stdlib.h> has, too. They are followed by a name, or end a cast.
_TYPES = {"uint": "unsigned", "ulong": "unsigned long long", "ushort": "unsigned short"}
_LIMITS = Limits(timeout_s=20, memory_bytes=256 * 2**20, output_chars=2_000_000)
_STACK_PAGES = 256  # of 64 KiB
_MOST_CODE = 2**20  # bytes of a module's functions: the host compiles them, a second for this much
_MESSAGE = re.compile(r"^/?main\.c:(\d+): error: (.*)$", re.MULTILINE)
_UNDEFINED = re.compile(r"undefined (?:symbol|function) '([^']*)'")


class Undefined(DoesNotCompile):
    """A program calls a function that is nowhere defined."""

    def __init__(self, symbol: str) -> None:
        super().__init__(f"undefined symbol {symbol}")
        self.symbol = symbol


class Unsupported(DoesNotCompile):
    """A program needs what the compiler lacks."""


class Compiler(NamedTuple):
    """The compiler, the files that it reads, and the hash of all that.

    `validator` is an engine without threads, which would not survive a fork.
    """

    prepared: Prepared
    files: dict[str, bytes]
    digest: str
    validator: Engine


@lru_cache(maxsize=1)
def compiler() -> Compiler:
    """Return the compiler, whose own code is compiled once a machine; the extra is installed."""
    runtime = runtime_named("c")
    spec = find_spec(runtime.package)
    assert spec and spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0], "_assets")
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for top in ("tcc", "wasi-sysroot")
        for path in (folder / top).rglob("*")
        if path.is_file()
    }
    for name, source in _OWN.items():
        files[name] = Path(__file__).with_name(source).read_bytes()
    files["prelude.h"] += _formats().encode()
    wasm = files.pop(_COMPILER)
    key = hashlib.sha256(wasm).hexdigest()
    module = load_program("c-compiler", key, Code.EXCEPTIONS, lambda: wasm, 2)
    recipe = "\0".join([version(runtime.package), *_ARGUMENTS, str(_STACK_PAGES)])
    own = b"\0".join(files[name] for name in _OWN)
    digest = hashlib.sha256(recipe.encode() + own).hexdigest()
    prepared = Prepared(engine_for(Code.EXCEPTIONS), module, _for_compiler)
    validator = Engine(config_of(Code.EXCEPTIONS, parallel=False))
    return Compiler(prepared, files, digest, validator)


def _formats() -> str:
    lengths = {"MAX": "ll", "PTR": "ll"}
    for bits, length in _LENGTHS.items():
        lengths |= {bits: length, f"_LEAST{bits}": length, f"_FAST{bits}": length}
    lengths["_FAST16"] = ""
    return "".join(
        f'#define __{"U" * (kind not in "di")}INT{size}_FMT{kind}__ "{length}{kind}"\n'
        for size, length in lengths.items()
        for kind in "diouxX"
    )


def compile_program(code: str) -> bytes:
    """Return the module of a program. Raises `DoesNotCompile` or `CompilerLimit`."""
    kit, text, types = compiler(), code.encode("utf-8", "replace"), _native_types(code)
    wasm, message = _compiled(kit, text, types)
    if not wasm:
        raise _refusal(message)
    if not _is_valid(kit, wasm):  # a function is called with other types than its own
        usual = {"usual.h": _USUAL.encode()}
        wasm, _ = _compiled(kit, text, (*types, "-include", "/usual.h"), usual)
    if not (wasm and _is_valid(kit, wasm)):
        raise Unsupported("a function is called with other types than its own")
    return with_stack(wasm)


def _native_types(code: str) -> tuple[str, ...]:
    if not re.search(r"<stdlib\.h>", code):
        return ()
    return tuple(
        f"-D{name}={kind}"
        for name, kind in _TYPES.items()
        if name in code
        and not re.search(rf"\b{name}\b(?!\s*\**\s*[A-Za-z_)])|define\s+{name}\b", code)
    )


def _is_valid(kit: Compiler, wasm: bytes) -> bool:
    try:
        Module.validate(kit.validator, wasm)
    except WasmtimeError:
        return False
    return True


def _compiled(
    kit: Compiler, text: bytes, options: tuple[str, ...], more: Mapping[str, bytes] | None = None
) -> tuple[bytes, str]:
    """The module, b"" if there is none, and the compiler's messages. Raises `CompilerLimit`."""
    files = {**kit.files, "main.c": text, **(more or {})}
    system = System(b"", _LIMITS, (*_ARGUMENTS, *options, *_FILES), files, "main.wasm")
    exit_code = shielded(lambda: _exit_code(kit.prepared, system))
    return b"" if exit_code else bytes(system.produced), system.text(2) + system.text(1)


def _exit_code(prepared: Prepared, system: System) -> int:
    limit = CompilerLimit("the compiler met its limit of time or memory")
    with fresh_store(_LIMITS, prepared.engine) as store, deadline(store, _LIMITS.timeout_s):
        try:
            SystemInstance(prepared, store, system, _LIMITS).call("_start")
        except Stopped as stop:
            if stop.is_output:
                raise limit from None
            return stop.code
        except (Trap, WasmtimeError, OutOfBounds):
            raise limit from None
    return 0


def _for_compiler(interface: str, name: str) -> HostFunction:
    """A module needs no permission to be run, which the compiler asks for."""
    return (lambda *_: 0) if name == "path_chmod" else host_function(interface, name)


def _refusal(message: str) -> Exception:
    """What to say of a program: one line, without control characters."""
    if undefined := _UNDEFINED.search(message):
        return Undefined(undefined[1])
    if "memory full" in message:
        return CompilerLimit("the compiler met its limit of memory")
    first = _MESSAGE.search(message)
    text = f"line {first[1]}: {first[2]}" if first else "it does not compile"
    text = "".join(each if each.isprintable() else "?" for each in text)[:200]
    if re.search(r"internal|unsupported|not implemented|local functions|not supported", message):
        return Unsupported(text)
    return DoesNotCompile(text)


# --- the stack -----------------------------------------------------------------------------------


def with_stack(wasm: bytes) -> bytes:
    """Return a module with a larger stack, behind all of its memory.

    The compiler's own is 1 MiB, and below it are the program's variables, which a deep recursion
    would change. Raises `CompilerLimit` for a module with too much code.
    """
    parts = list[tuple[int, bytes]]()
    pages = 0
    for kind, body in sections(wasm):
        if kind == MEMORY:
            old, _ = read_unsigned(body, 2)  # after their count and the flags
            pages = old + _STACK_PAGES
            body = bytes([1, 0]) + unsigned(pages)
        elif kind == GLOBALS:  # one, the stack's pointer: i32.const of a signed number
            body = bytes([1, 0x7F, 1, 0x41]) + signed(pages << 16) + b"\x0b"
        elif kind == CODE and len(body) > _MOST_CODE:
            raise CompilerLimit("the program has too much code")
        parts.append((kind, body))
    return module_of(parts)
