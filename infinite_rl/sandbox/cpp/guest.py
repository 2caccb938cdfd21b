"""The C++ guest: how a program is compiled."""

from __future__ import annotations

from collections.abc import Mapping

from wasmtime import Module

from ..compiled import compile_module, load_program
from ..engine import Code, engine_for
from ..programs import (
    MOST_ON_DISK,
    Compiled,
    CompiledGuest,
    CompilerLimit,
    DoesNotCompile,
    digest_of,
    prepared_program,
)
from . import source
from .cage import has_namespace
from .compiler import compile_program, tools


class CppGuest(CompiledGuest):
    """Run C++; see `CompiledGuest`.

    Raises `RuntimeMissing` without the extra; the first guest of a machine builds the library,
    which takes a minute or two.
    """

    name, entry, rest = "C++", "begin", "rest"

    def __init__(self) -> None:
        super().__init__()
        self._tools = tools()

    def _compile(self, code: str, headers: Mapping[str, str], engine_code: Code) -> Compiled:
        is_caged = has_namespace(self._tools.zig.parent, self._tools.built)
        if refused := source.refusal(code, is_caged=is_caged):
            return Compiled(None, refused, "" if "#include" in refused else refused)
        doubt = source.doubt(code)
        recipe = self._tools.built.name, source.widened(code, sizes=True)
        digest = digest_of(*recipe, code, *headers, *headers.values())

        def make() -> bytes:
            return _module(code, headers)

        try:
            module = load_program("cpp-program", digest, engine_code, make, MOST_ON_DISK)
        except _Narrow as narrow:  # not for the cache, which does not know it
            compiled = compile_module(narrow.wasm, engine_code)
            module = Module.deserialize(engine_for(engine_code), compiled)
            doubt = doubt or "long has 32 bits here and 64 natively"
        except DoesNotCompile as fault:
            return Compiled(None, f"SyntaxError: {fault}", source.absence(code))
        except CompilerLimit as fault:
            return Compiled(None, str(fault))
        return prepared_program(module, engine_code, doubt)


class _Narrow(Exception):
    """The module of a program that compiles only with a `long` of 32 bits."""

    def __init__(self, wasm: bytes) -> None:
        super().__init__()
        self.wasm = wasm


def _module(code: str, headers: Mapping[str, str]) -> bytes:
    """Compile a program with numbers of 64 bits.

    A program for another library may lack headers that came with others there. Raises `_Narrow`, or
    `DoesNotCompile` of the first way.
    """
    with_sizes = source.widened(code, sizes=True)
    without = source.widened(code, sizes=False)
    has_all = "bits/stdc++.h" in code
    ways = [(with_sizes, has_all), (without, True)]
    if without != code:
        ways.append((code, True))
    first: DoesNotCompile | None = None
    for text, whole in dict.fromkeys(ways):
        try:
            wasm = compile_program(text, headers, whole=whole)
        except DoesNotCompile as fault:
            first = first or fault
        else:
            if text == code != without:
                raise _Narrow(wasm)
            return wasm
    assert first
    raise first
