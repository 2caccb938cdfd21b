"""The seam between the executor and a language's sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..types import Execution, Program


@dataclass(frozen=True)
class Limits:
    """Bounds of one run: seconds of wall time, bytes of guest memory, characters of output."""

    timeout_s: float = 5.0
    memory_bytes: int = 256 * 1024 * 1024
    output_chars: int = 1_000_000


class Guest(Protocol):
    """One language's sandbox: a program in, its execution out, a fresh instance each time.

    Thread-safe. Whatever the program does is an `Execution`; only a fault of ours is raised
    (`RuntimeMissing`, `SandboxError`).
    """

    def run(self, program: Program, limits: Limits) -> Execution: ...
