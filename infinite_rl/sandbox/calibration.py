"""How much slower a program runs in this machine's sandbox than natively.

The time limits of data sets are for native programs on their judge's machine. A small program runs
once a machine; its time, over that of CPython on a server of 2023, is kept in the user's cache.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..files.atomic import cache_folder, write_text
from ..types import Program
from .runtimes import Limits, load_guest, recorded_hash, runtime_named

_NATIVE_S = 0.039  # of CPython 3.11 on a Xeon of 2023
_RUNS, _MOST = 5, 20.0
_PROGRAM = """
def work():
    count, total, seen = 200_000, 0, {}
    for i in range(count):
        total += i * i % 7
        seen[i % 1000] = seen.get(i % 1000, 0) + total % 3
    words = sorted(str(i * 7919 % 100_003) for i in range(20_000))
    sieve = [True] * count
    for p in range(2, 450):
        if sieve[p]:
            for q in range(p * p, count, p):
                sieve[q] = False
    return total + len(" ".join(words)) + sum(sieve) + sum(seen.values())
print(work())
"""

logger = logging.getLogger(__name__)


@cache
def time_factor() -> float:
    """Return by what the time limits of native programs are multiplied here: 1 or more.

    Processor time of its thread, the least of five runs: other load does not count.

    Raises `RuntimeMissing`.
    """
    import hashlib  # slow to load, like the engine; rows without limits need none of them
    import platform
    from importlib.metadata import version

    from .compiled import is_compiled
    from .python.guest import PythonGuest

    runtime = runtime_named("python")
    guest = load_guest(runtime)
    assert isinstance(guest, PythonGuest)
    parts = recorded_hash(runtime), version("wasmtime"), platform.machine(), _processor(), _PROGRAM
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]
    path = None
    with suppress(OSError, RuntimeError):
        path = cache_folder() / f"time-factor-{key}.txt"
        with suppress(ValueError):
            return _bounded(float(path.read_text(encoding="ascii")))
    program, limits = Program(_PROGRAM), Limits(timeout_s=60)
    factor = _bounded(min(guest.cpu_seconds(program, limits) for _ in range(_RUNS)) / _NATIVE_S)
    logger.info("time limits of native programs are multiplied by %s here", factor)
    if path and is_compiled(runtime):  # else the code that ran is the slower one
        with suppress(OSError):
            write_text(path, f"{factor}\n")
    return factor


def _bounded(factor: float) -> float:
    return round(min(max(factor, 1.0), _MOST), 2)


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.startswith("model name"):
                return line
    import platform

    return platform.processor()
