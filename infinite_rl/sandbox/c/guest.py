"""The C guest: how a program is compiled."""

from __future__ import annotations

from collections.abc import Mapping

from wasmtime import Module, Trap, TrapCode

from ..compiled import load_program
from ..engine import Code
from ..programs import (
    ABORTED,
    MOST_ON_DISK,
    Compiled,
    CompiledGuest,
    CompilerLimit,
    DoesNotCompile,
    Ended,
    digest_of,
    prepared_program,
)
from ..runtimes import Limits, runtime_file, runtime_named
from . import source
from .compiler import Undefined, Unsupported, compile_program, compiler


class CGuest(CompiledGuest):
    """Run C; see `CompiledGuest`. Raises `RuntimeMissing` without the extra."""

    name, entry, unused = "C", "_start", 1024

    def __init__(self) -> None:
        super().__init__()
        runtime_file(runtime_named("c"))
        self._recipe = compiler().digest

    def _compile(self, code: str, _headers: Mapping[str, str], engine_code: Code) -> Compiled:
        """Compile with numbers of 64 bits, as far as that compiles."""
        wide, with_sizes_apart = (source.widened(code, sizes=sizes) for sizes in (True, False))
        refusal: DoesNotCompile | None = None
        for text in dict.fromkeys((wide, with_sizes_apart, code)):
            try:
                module = self._module(text, engine_code)
            except CompilerLimit as limit:
                return Compiled(None, str(limit), str(limit))
            except DoesNotCompile as fault:
                refusal = refusal or fault
            else:
                narrow = "" if text == wide else "sizes have 32 bits here and 64 natively"
                return prepared_program(module, engine_code, source.doubt(code) or narrow)
        assert refusal
        return Compiled(None, f"SyntaxError: {refusal}", _lack(code, refusal))

    def _module(self, text: str, engine_code: Code) -> Module:
        def make() -> bytes:
            return compile_program(text)

        digest = digest_of(self._recipe, text)
        return load_program("c-program", digest, engine_code, make, MOST_ON_DISK)

    def _explained(self, fault: Exception, limits: Limits) -> Ended:
        trap = fault.trap_code if isinstance(fault, Trap) else None
        if trap == TrapCode.BAD_SIGNATURE:
            doubt = "a function is called as one of another type, which may do natively"
            return Ended(ABORTED, "error", f"{doubt}\n", doubt)
        return super()._explained(fault, limits)


def _lack(code: str, refusal: DoesNotCompile) -> str:
    """Why a program that is refused here may compile natively, or ""."""
    symbol = refusal.symbol if isinstance(refusal, Undefined) else ""
    if lack := source.absence(code, symbol):
        return lack
    return f"the compiler of C lacks this: {refusal}" if isinstance(refusal, Unsupported) else ""
