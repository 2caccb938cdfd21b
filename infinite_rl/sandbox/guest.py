"""The seam between the executor and a language's sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..types import Execution, Program

# Exit codes of programs that were stopped, the shell's own: for time, and otherwise.
STOPPED_FOR_TIME, STOPPED = 124, 137
FUEL_PER_NS = 5  # about what a program uses; the clocks of a guest that has fuel follow it
FUEL_EPOCH_NS = 1_767_225_600 * 10**9  # the time of day at which they begin: 2026-01-01, UTC


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


def too_long(program: Program, limits: Limits) -> Execution | None:
    """The failed run of a program that is longer than its limit; it is not even looked at.

    The same for an input longer than a quarter of the memory: to hand it over would take longer
    than any program may run.
    """
    size = sum(map(len, (program.code, program.setup, program.entry_point, *program.tests)))
    if size > limits.code_chars:
        reason = f"the code is longer than {limits.code_chars} characters: {size} with its tests"
    elif len(program.stdin) > (most := limits.memory_bytes // 4):
        reason = f"the input is longer than {most} characters: {len(program.stdin)}"
    else:
        return None
    return Execution("", f"{reason}\n", STOPPED, "error")


class Guest(Protocol):
    """One language's sandbox: a program in, its execution out, a fresh instance each time.

    Thread-safe. Whatever the program does is an `Execution`. A packaged guest raises
    `RuntimeMissing` when it is made and its `.wasm` is not there.
    """

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance, and stop it where it meets one of `limits`.

        Raises:
            UsageError: the memory is too small for any program.
            SandboxError: the sandbox itself broke.
        """
        ...
