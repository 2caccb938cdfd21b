"""How fast the sandboxes are, next to the same programs in bare subprocesses on this machine.

    python -m benchmarks.sandbox [--rounds N] [--candidates N] [--soak N] [--skip_compile]

It prints the machine and one table. Times are medians of rounds in which everybody takes turns, so
all meet the same load; a turn is two runs, of which the second counts, since the processor's caches
are full of somebody else's data at the first. The targets are for a quiet machine; they are shown
and not asserted.
`python3 -c` is the interpreter that runs this. `--soak N` looks for leaks over N more runs.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.rounds import Median
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.workers import pool as workers

HELLO = {"python": "print('hello')", "javascript": "console.log('hello')"}
IMPORTS = (
    "import collections, dataclasses, datetime, functools, heapq\n"
    "import itertools, json, math, random, re\nprint('hello')"
)
# These two print the seconds that the work itself took.
FIB = {
    "python": (
        "import time\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
        "start = time.perf_counter()\nfib(22)\nprint(time.perf_counter() - start)"
    ),
    "javascript": (
        "const fib = (n) => n < 2 ? n : fib(n - 1) + fib(n - 2);\n"
        "const start = performance.now();\nfib(22);\n"
        "console.log((performance.now() - start) / 1000)"
    ),
}
# A candidate, right with 2 and wrong with 3, and the form of a test.
DOUBLE = {
    "python": ("def double(x):\n    return {} * x", "assert double({}) == {}"),
    "javascript": (
        "function double(x) {{ return {} * x; }}",
        "require('assert').strictEqual(double({}), {})",
    ),
}
STUBBORN = {
    "a loop": ("python", "while True: pass"),
    "a sleeper": ("python", "import time\ntime.sleep(60)"),
    "a long C call": ("python", "9 ** 9 ** 9"),
    "a JavaScript loop": ("javascript", "for (;;);"),
    "a JavaScript regex": ("javascript", "/(a+)+$/.test('a'.repeat(40) + 'b')"),
}
TIMEOUT_S = 0.2
LOAD = (
    "import sys, time\nfrom infinite_rl.runtimes import load_guest, runtime_named\n"
    "start = time.perf_counter()\nload_guest(runtime_named(sys.argv[1]))\n"
    "print(time.perf_counter() - start)"
)
IMPORT = (
    "import time\nstart = time.perf_counter()\nimport infinite_rl\n"
    "print(time.perf_counter() - start)"
)
# What runs a program outside; nothing where there is no such command.
_NODE = shutil.which("node")
INTERPRETERS = {"python": (sys.executable, "-c"), "javascript": (_NODE, "-e") if _NODE else ()}
ROOT = Path(__file__).resolve().parent.parent
Call = Callable[[], float]  # runs something once and gives its seconds


@dataclass(frozen=True)
class Row:
    """One line of the table. `met` is None where the issue sets no target."""

    what: str
    figure: str
    target: str = ""
    met: bool | None = None

    def __str__(self) -> str:
        met = "" if self.met is None else "yes" if self.met else "no"
        return f"| {self.what} | {self.figure} | {self.target} | {met} |"


# --- ways to run a program -----------------------------------------------------------------------


def whole(run: Callable[[], str]) -> Call:
    """The time of the whole run."""

    def call() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return call


def timed_call(run: Callable[[], str]) -> Call:
    """The time that the program itself prints."""
    return lambda: float(run())


def sandboxed(executor: RewardExecutor, language: str, code: str) -> Callable[[], str]:
    def run() -> str:
        execution = executor.execute(code, language)
        if execution.status != "ok":
            raise SystemExit(f"the sandbox ended with {execution.status}: {execution.stderr}")
        return execution.stdout

    return run


def bare(*command: str, **environment: str) -> Callable[[], str]:
    def run() -> str:
        variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        finished = subprocess.run(
            command, capture_output=True, check=True, text=True, env=variables
        )
        return finished.stdout

    return run


def medians(calls: Mapping[str, Call], rounds: int) -> dict[str, float]:
    """Seconds of each call when warm, the median over rounds in which all take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            times[name].append(call())
    return {name: Median(seconds) for name, seconds in times.items()}


# --- the rows ------------------------------------------------------------------------------------


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def at_most(what: str, seconds: float, limit_ms: float) -> Row:
    return Row(what, ms(seconds), f"<= {limit_ms:g} ms", seconds * 1000 <= limit_ms)


Times = dict[str, float]  # by who ran it; the first is the sandbox


def python_times(executor: RewardExecutor, rounds: int) -> Iterator[tuple[str, Times]]:
    """Seconds of programs in the sandbox, and in this interpreter with its site packages and
    without."""
    programs = {"hello": HELLO["python"], "ten imports": IMPORTS, "fib(22)": FIB["python"]}
    ways = {"python3 -c": (sys.executable, "-c"), "-I -S -c": (sys.executable, "-I", "-S", "-c")}
    for name, code in programs.items():
        timed = timed_call if name == "fib(22)" else whole
        calls = {"sandbox": timed(sandboxed(executor, "python", code))}
        calls |= {way: timed(bare(*command, code)) for way, command in ways.items()}
        yield name, medians(calls, rounds)


def python_rows(executor: RewardExecutor, rounds: int) -> Iterator[Row]:
    """Python in the sandbox against this interpreter, with and without its site packages."""
    limits_ms = {"hello": 3.0, "ten imports": 6.0}
    for name, took in python_times(executor, rounds):
        ours = took.pop("sandbox")
        if name in limits_ms:
            yield at_most(f"Python {name}", ours, limits_ms[name])
        else:
            yield Row(f"Python {name}, the work alone", ms(ours))
        for way, theirs in took.items():
            if name in limits_ms:
                target, met = ">= 10 times faster", theirs >= 10 * ours
                ratio = f"{theirs / ours:.1f} times faster"
            else:
                target, met = "<= 3.5 times slower", ours <= 3.5 * theirs
                ratio = f"{ours / theirs:.1f} times slower"
            yield Row(f"- against {way}: {ms(theirs)}", ratio, target, met)


def javascript_times(executor: RewardExecutor, rounds: int) -> Iterator[tuple[str, Times]]:
    """Seconds of programs in the sandbox and, where there is one, in node."""
    node = shutil.which("node")
    for name, code in (("hello", HELLO["javascript"]), ("fib(22)", FIB["javascript"])):
        timed = timed_call if name == "fib(22)" else whole
        calls = {"sandbox": timed(sandboxed(executor, "javascript", code))}
        if node:
            calls["node -e"] = timed(bare(node, "-e", code))
        yield name, medians(calls, rounds)


def javascript_rows(executor: RewardExecutor, rounds: int) -> Iterator[Row]:
    """JavaScript in the sandbox against node, where there is one."""
    for name, took in javascript_times(executor, rounds):
        ours, theirs = took["sandbox"], took.get("node -e")
        if name == "hello":
            yield at_most("JavaScript hello", ours, 1.0)
        else:
            yield Row("JavaScript fib(22), the work alone", ms(ours))
        if theirs is None:
            yield Row("- against node -e", "skipped: there is no node")
        elif name == "hello":
            ratio, met = f"{theirs / ours:.1f} times faster", theirs >= 10 * ours
            yield Row(f"- against node -e: {ms(theirs)}", ratio, ">= 10 times faster", met)
        else:  # node compiles it to machine code: there is no target
            yield Row(f"- against node -e: {ms(theirs)}", f"{ours / theirs:.1f} times slower")


def batch(executor: RewardExecutor, language: str, count: int, **how: int) -> float:
    """Programs a second."""
    start = time.perf_counter()
    executor.batch_run([HELLO[language]] * count, language, **how)
    return count / (time.perf_counter() - start)


def throughput(count: int, rounds: int) -> Iterator[tuple[str, Times]]:
    """Hello worlds a second: one after another, on threads, in two worker processes, and in two
    subprocesses at a time, each of which runs one."""
    with RewardExecutor() as executor:
        for language in HELLO:
            ways = {"2 threads": {"threads": 2}, "2 workers": {"workers": 2}}
            batch(executor, language, count, workers=2)  # they start, and load the runtime
            calls = {"one by one": _one_by_one(executor, language, count)}
            for name, how in ways.items():
                calls[name] = _batch_time(executor, language, count, how)
            if command := INTERPRETERS[language]:
                calls["2 subprocesses"] = _two_at_a_time(bare(*command, HELLO[language]), count)
            took = medians(calls, rounds)
            yield language, {name: count / seconds for name, seconds in took.items()}


def throughput_rows(count: int, rounds: int) -> Iterator[Row]:
    """Hello worlds a second, in all these ways."""
    for language, rates in throughput(count, rounds):
        one = rates.pop("one by one")
        yield Row(f"{language}: programs a second, one by one", f"{one:.0f}")
        for name, rate in rates.items():
            target, met = (">= 1.8 times", rate >= 1.8 * one) if "work" in name else ("", None)
            yield Row(f"{language}: on {name}", f"{rate:.0f} ({rate / one:.2f} times)", target, met)


def _one_by_one(executor: RewardExecutor, language: str, count: int) -> Call:
    def call() -> float:
        start = time.perf_counter()
        for _ in range(count):
            executor.execute(HELLO[language], language)
        return time.perf_counter() - start

    return call


def _batch_time(executor: RewardExecutor, language: str, count: int, how: dict[str, int]) -> Call:
    return lambda: count / batch(executor, language, count, **how)


def _two_at_a_time(run: Callable[[], str], count: int) -> Call:
    """The time of `count` runs, from a tenth of them: a subprocess takes that much longer."""
    few = max(2, count // 10)

    def call() -> float:
        start = time.perf_counter()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: run(), range(few)))
        return (time.perf_counter() - start) * count / few

    return call


def judging(candidates: int, rounds: int) -> Iterator[tuple[str, Times]]:
    """Candidates a second, with ten tests each, judged by the reward one by one and at once."""
    for language, (right, test) in DOUBLE.items():
        outputs = [
            f"<answer>\n```{language}\n{right.format(2 + (number % 4 == 0))}\n```\n</answer>"
            for number in range(candidates)
        ]
        tests = {"tests": [test.format(number, 2 * number) for number in range(1, 11)]}
        reward = CodingRewardFunction()
        scores = reward.compute_rewards(outputs, [tests] * candidates, language=language)
        if sum(score.passed for score in scores) != candidates - -(-candidates // 4):
            raise SystemExit("the verdicts are wrong")
        took = medians(_ways_to_judge(reward, outputs, tests, language), rounds)
        yield language, {name: candidates / seconds for name, seconds in took.items()}
    workers.close()


def judging_rows(candidates: int, rounds: int) -> Iterator[Row]:
    """Candidates with ten tests each, judged by the reward one by one and all at once."""
    for language, rates in judging(candidates, rounds):
        one, many = rates["one by one"], rates["at once"]
        what = f"{language}: {candidates} candidates x 10 tests"
        yield Row(f"{what}, one by one: candidates a second", f"{one:.0f}")
        figure = f"{many:.0f} ({many / one:.2f} times)"
        yield Row(f"{what}, at once", figure, ">= 1.8 times", many >= 1.8 * one)


def _ways_to_judge(
    reward: CodingRewardFunction, outputs: list[str], tests: dict[str, Any], language: str
) -> dict[str, Call]:
    def one_by_one() -> str:
        for output in outputs:
            reward.compute_reward(output, tests, language=language)
        return ""

    def at_once() -> str:
        reward.compute_rewards(outputs, [tests] * len(outputs), language=language)
        return ""

    return {"one by one": whole(one_by_one), "at once": whole(at_once)}


def overshoots(executor: RewardExecutor, rounds: int) -> dict[str, list[float]]:
    """By how many seconds programs that do not end miss their time limit, each time."""
    over: dict[str, list[float]] = {name: [] for name in STUBBORN}
    for _ in range(rounds):
        for name, (language, code) in STUBBORN.items():
            start = time.perf_counter()
            execution = executor.execute(code, language, timeout=TIMEOUT_S)
            over[name].append(time.perf_counter() - start - TIMEOUT_S)
            if execution.status != "timeout":
                raise SystemExit(f"{name} was not stopped: {execution.status}")
    return over


def overshoot_rows(executor: RewardExecutor, rounds: int) -> Iterator[Row]:
    """By how much programs that do not end miss their time limit."""
    for name, late in overshoots(executor, rounds).items():
        figure = f"{ms(statistics.median(late))}, worst {ms(max(late))}"
        what = f"{name}, beyond its {TIMEOUT_S} s"
        yield Row(what, figure, "< 50 ms", max(late) < 0.05)


def load_times(rounds: int) -> Times:
    """Seconds that a fresh process pays for the import, and for a runtime from the cache."""
    calls = {"import infinite_rl": timed_call(_fresh(IMPORT))}
    for language in HELLO:
        calls[f"{language}: load from the cache"] = timed_call(_fresh(LOAD, language))
    return medians(calls, rounds)


def load_rows(rounds: int, compiles: bool) -> Iterator[Row]:
    """What a fresh process pays: the import, a runtime from the cache, and compiling it."""
    for what, seconds in load_times(rounds).items():
        yield Row(what, ms(seconds))
    if compiles:
        for what, seconds in compile_times().items():
            yield Row(what, f"{seconds:.1f} s")


def compile_times() -> Times:
    """Seconds until a runtime is loaded where nothing is compiled yet, once a machine."""
    took: Times = {}
    ways = [("python", "baseline"), ("python", "optimising"), ("javascript", "optimising")]
    for language, compiler in ways:
        with tempfile.TemporaryDirectory() as folder:
            load = _fresh(LOAD, language, INFINITE_RL_CACHE=folder, INFINITE_RL_COMPILER=compiler)
            took[f"{language}: compile and load, {compiler} compiler"] = float(load())
    return took


def _fresh(code: str, *arguments: str, **environment: str) -> Callable[[], str]:
    return bare(sys.executable, "-c", code, *arguments, **environment)


def soak_rows(executor: RewardExecutor, count: int) -> Iterator[Row]:
    """Whether memory, threads and files stay as they are over many runs, some of them hostile."""
    programs = [*HELLO.items(), ("python", "bytes(10**9)"), ("javascript", "null.x")]
    for language, code in programs * 50:  # what the first runs take is kept and used again
        executor.execute(code, language)
    before = _resources()
    for number in range(count):
        language, code = programs[number % len(programs)]
        executor.execute(code, language)
    after = _resources()
    for name, value in after.items():
        grown = value - before[name]
        flat = grown <= (16 if name == "MiB of memory" else 0)
        yield Row(f"{name} after {count} runs", f"{value} ({grown:+})", "flat", flat)


def _resources() -> dict[str, int]:
    """What this process holds now; files and memory only where the system lists them."""
    counts = {"threads": threading.active_count()}
    if Path("/proc/self/fd").is_dir():
        counts["open files"] = len(os.listdir("/proc/self/fd"))
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        counts["MiB of memory"] = pages * os.sysconf("SC_PAGE_SIZE") // 2**20
    return counts


# --- the machine ---------------------------------------------------------------------------------


def machine() -> str:
    node = shutil.which("node")
    parts = [
        processor(),
        f"{os.cpu_count()} cores",
        f"load {os.getloadavg()[0]:.1f}",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        f"wasmtime {version('wasmtime')}",
        f"node {bare(node, '--version')().strip()}" if node else "no node",
    ]
    return ", ".join(parts)


def processor() -> str:
    """The name of the processor's model, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown processor")


def rows(rounds: int, candidates: int, soak: int, compiles: bool) -> Iterator[Row]:
    executor = RewardExecutor()
    yield from python_rows(executor, rounds)
    yield from javascript_rows(executor, rounds)
    yield from throughput_rows(20 * rounds, max(3, rounds // 4))
    yield from judging_rows(candidates, 1)
    yield from overshoot_rows(executor, max(3, rounds // 4))
    yield from load_rows(max(3, rounds // 4), compiles)
    if soak:
        yield from soak_rows(executor, soak)


def main() -> None:
    parser = argparse.ArgumentParser(description="Print how fast the sandboxes are.")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--candidates", type=int, default=1000, help="to be judged at once")
    parser.add_argument("--soak", type=int, default=0, help="look for leaks over so many runs")
    parser.add_argument("--skip_compile", action="store_true", help="do not time the compiler")
    options = parser.parse_args()
    print(f"{machine()}; medians of {options.rounds} rounds\n")
    print("| what | measured | target | met |\n|---|---|---|---|")
    for row in rows(options.rounds, options.candidates, options.soak, not options.skip_compile):
        print(row, flush=True)


if __name__ == "__main__":
    main()
