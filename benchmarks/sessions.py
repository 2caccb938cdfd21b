"""A thousand sessions at once: the memory of each, its turns, snapshots and forks.

    python -m benchmarks.sessions [--sessions N] [-o docs/results/sessions.md]

Each session keeps another list of a hundred numbers and is asked for their sum; in a second
run one in twenty loops without end, fills its memory or prints without end meanwhile. Memory is
what the process shares with no other (`Private_Dirty` of Linux): pages that all sessions share, for
example the interpreter's stored image, are not part of it.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.sandbox import machine
from infinite_rl.sandbox.session import SessionLimits, ToolSession

_THREADS = 4
_KEEP = {
    "python": "xs = [{n} + i for i in range(100)]",
    "javascript": "const xs = Array.from({{length: 100}}, (_, i) => {n} + i)",
    "sql": "CREATE TABLE t(x); WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c "
    "LIMIT 100) INSERT INTO t SELECT x + {n} FROM c",
}
_SUM = {"python": "sum(xs)", "javascript": "xs.reduce((a, b) => a + b)",
        "sql": "SELECT sum(x) FROM t"}  # fmt: skip
_HOSTILE = {
    "python": ("while True: pass", "y = []\nwhile True: y.append(' ' * 10**6)",
               "while True: print('y' * 1000)"),
    "javascript": ("while (true);", "var y = []; while (true) y.push(new Uint8Array(1e6))",
                   "while (true) console.log('y'.repeat(1000))"),
    "sql": ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
            "INSERT INTO t SELECT zeroblob(500000000)",
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"),
}  # fmt: skip
_EVERY = 20  # one session in 20 is hostile


def private_mib() -> float:
    """The memory that no other process shares, in MiB."""
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/smaps_rollup has no Private_Dirty")


def _all(
    pool: ThreadPoolExecutor, sessions: Sequence[ToolSession], codes: Sequence[str]
) -> list[str]:
    turns = pool.map(lambda pair: pair[0].run(pair[1]), zip(sessions, codes, strict=True))
    return [turn.value.split("\n")[-1] for turn in turns]


def row(language: str, count: int) -> str:
    """Return the line of the table for a language."""
    limits = SessionLimits(turn_s=5, memory_mb=64)
    ToolSession(language, limits).run(_SUM[language])  # the code is loaded
    before = private_mib()
    sessions = [ToolSession(language, limits) for _ in range(count)]
    keep = [_KEEP[language].format(n=n) for n in range(count)]
    wanted = [str(sum(n + i for i in range(100))) for n in range(count)]
    with ThreadPoolExecutor(_THREADS) as pool:
        began = time.perf_counter()
        _all(pool, sessions, keep)
        first = time.perf_counter() - began
        began = time.perf_counter()
        right = _all(pool, sessions, [_SUM[language]] * count) == wanted
        second = time.perf_counter() - began
        memory = private_mib() - before
        hostile = [n % _EVERY == 0 for n in range(count)]
        bad = _HOSTILE[language]
        codes = [bad[n // _EVERY % 3] if hostile[n] else _SUM[language] for n in range(count)]
        for session in sessions:
            session.limits = SessionLimits(turn_s=0.5, memory_mb=64)
        answers = _all(pool, sessions, codes)
        kept = sum(answer == want for answer, want, is_bad in
                   zip(answers, wanted, hostile, strict=True) if not is_bad)  # fmt: skip
    snapshots, forks, pages = [], [], 0
    for session in [each for each, is_bad in zip(sessions, hostile, strict=True) if not is_bad][
        :20
    ]:
        began = time.perf_counter()
        snapshot = session.snapshot()
        snapshots.append(time.perf_counter() - began)
        began = time.perf_counter()
        snapshot.open().run(_SUM[language])
        forks.append(time.perf_counter() - began)
        pages = len(snapshot.state.memory.pages)  # type: ignore[union-attr] # of each language
    for session in sessions:
        session.close()
    gc.collect()
    return (
        f"| {language} | {memory / count * 1024:.0f} KiB | {memory:.0f} MiB | "
        f"{first / count * 1000:.1f} ms | {second / count * 1000:.2f} ms | "
        f"{'all' if right else 'NOT all'} | {kept} of {count - sum(hostile)} | "
        f"{statistics.median(snapshots) * 1000:.0f} ms, {pages * 4} KiB | "
        f"{statistics.median(forks) * 1000:.1f} ms |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=1000, metavar="N")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="write the page here, too")
    args = parser.parse_args()
    lines = [
        f"# {args.sessions:,} sessions at once", "",
        f"`python -m benchmarks.sessions`; {machine()}. All sessions of a language live at the "
        "same time in one process; nothing but their turns runs, on four threads. Memory is what "
        "each session adds to the process. In the last run one session in twenty loops, fills its "
        "memory or prints without end.", "",
        "| language | memory a session | of all | first turn | second turn | right sums | right "
        "beside hostile ones | snapshot | fork and turn |",
        "|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for language in _KEEP:
        lines.append(row(language, args.sessions))
    text = "\n".join(lines) + "\n"
    print(text)
    if args.out:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
