"""Runs source code in a sandbox, and says how it ended."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from .errors import UnknownName, UsageError
from .runtimes import RUNTIMES, Guest, Limits, load_guest, runtime_named
from .types import Execution, Program


class RewardExecutor:
    """Runs programs in WebAssembly sandboxes, a fresh one for each. Safe to use from many threads.

    `timeout` is in seconds of wall time, `memory_limit_mb` in MiB, `output_limit` in characters of
    stdout and stderr together. `runtimes` adds languages, or replaces the packaged ones: name ->
    `Guest`. Raises `UsageError` for a limit that is not a positive number.

    It may be used as a context manager; there is nothing that must be closed.
    """

    def __init__(
        self,
        timeout: float = 5,
        memory_limit_mb: int = 256,
        output_limit: int = 1_000_000,
        runtimes: Mapping[str, Guest] | None = None,
    ) -> None:
        self.timeout = _positive("timeout", timeout)
        self.memory_limit_mb = _positive("memory_limit_mb", memory_limit_mb)
        self.output_limit = _positive("output_limit", output_limit)
        self._own = {name.lower(): guest for name, guest in (runtimes or {}).items()}

    def __enter__(self) -> RewardExecutor:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def execute(
        self,
        code: str,
        lang: str,
        *,
        stdin: str = "",
        timeout: float | None = None,
        tests: Iterable[str] = (),
        entry_point: str = "",
    ) -> Execution:
        """Run `code`, then each of `tests` in the same namespace (see `Program`).

        Whatever the code does is in the `Execution`: an uncaught exception leaves its traceback on
        stderr and exit code 1, `sys.exit(n)` gives n. `timeout` replaces the executor's.

        Raises:
            UnknownName: a language that there is no runtime for (a `ValueError`).
            UsageError: a timeout that is not a positive number, text that is not text.
            RuntimeMissing: the language's runtime has not been built.
            SandboxError: the sandbox itself broke.
        """
        if not (isinstance(code, str) and isinstance(stdin, str)):
            raise UsageError("code and stdin must be text")
        if isinstance(tests, str):
            raise UsageError("tests must be a sequence of texts, not one text")
        limits = Limits(
            timeout_s=self.timeout if timeout is None else _positive("timeout", timeout),
            memory_bytes=int(self.memory_limit_mb * 2**20),
            output_chars=int(self.output_limit),
        )
        return self._guest(lang).run(Program(code, stdin, tuple(tests), entry_point), limits)

    def run_single(self, code: str, lang: str) -> tuple[str, str]:
        """Run `code`: its stdout and stderr, stripped of whitespace. Raises as `execute`."""
        execution = self.execute(code, lang)
        return execution.stdout.strip(), execution.stderr.strip()

    def batch_run(
        self, codes: Iterable[str], lang: str, threads: int | None = None
    ) -> list[tuple[str, str]]:
        """`run_single` for each of `codes`, in their order, on `threads` threads.

        Without `threads` there is one for each processor. Raises as `execute`.
        """
        count = int(_positive("threads", (os.cpu_count() or 1) if threads is None else threads))
        self._guest(lang)  # a wrong language, a missing runtime: said once, before any thread
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(lambda code: self.run_single(code, lang), codes))

    def _guest(self, lang: str) -> Guest:
        name = lang.strip().lower()
        if name in self._own:
            return self._own[name]
        try:
            return load_guest(runtime_named(name))
        except UnknownName:
            known = {runtime.name for runtime in RUNTIMES} | set(self._own)
            raise UnknownName("language", lang, known) from None


Executor = RewardExecutor


def _positive(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"{name} must be a number, not {value!r}")
    if not (value > 0 and math.isfinite(value)):
        raise UsageError(f"{name} must be a positive number, not {value!r}")
    return value
