"""What a verdict costs here, in an older checkout, and by other means of running programs.

    python -m benchmarks.rivals [--against CHECKOUT] [--pyeryx PYTHON] [--quickjs PYTHON]

All take turns in one run, and the medians are shown: CPU milliseconds of a program, those of child
processes included; candidates a second that two worker processes judge by ten tests each, and the
memory of a worker. CHECKOUT is a directory with another commit of this project and its runtimes,
PYTHON an interpreter whose environment has `pyeryx` (Python 3.12) or `quickjs-ng`. Those who judge
no single test run the ten as one script. What is not there is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.rival_drivers import DOUBLE
from benchmarks.rounds import Median
from benchmarks.sandbox import HELLO, ROOT, machine

DRIVERS = Path(__file__).with_name("rival_drivers.py")
REAL = """\
from collections import Counter, deque
from typing import List
import heapq, re, math

class Solution:
    def topk(self, nums: List[int], k: int) -> List[int]:
        count = Counter(nums)
        heap = [(-c, n) for n, c in count.items()]
        heapq.heapify(heap)
        return [heapq.heappop(heap)[1] for _ in range(k)]

def primes(n):
    sieve = [True] * (n + 1)
    sieve[0:2] = [False, False]
    for i in range(2, math.isqrt(n) + 1):
        if sieve[i]:
            sieve[i*i::i] = [False] * len(range(i*i, n + 1, i))
    return [i for i, p in enumerate(sieve) if p]

def words(text):
    return sorted({w.lower(): None for w in re.findall(r"[A-Za-z]+", text)})
"""
REAL_TESTS = [
    *(f"assert Solution().topk([1, 1, 1, 2, 2, {n}], 2) == [1, 2]" for n in (3, 4, 5, 6)),
    *(f"assert len(primes({n})) == {count}" for n, count in ((10, 4), (100, 25), (1000, 168))),
    *(f"assert words('The cat {word}') == ['cat', 'the', '{word}']" for word in ("up", "vat", "w")),
]
# Tests that the host cannot compare: they run in an interpreter of their own.
OTHER_TESTS = [f"x = double({number})\nassert x == {2 * number}" for number in range(1, 11)]


def programs(language: str) -> dict[str, dict[str, Any]]:
    """Return the programs by what they are called, with their tests."""
    code, test = DOUBLE[language]
    tests = [test.format(number, 2 * number) for number in range(1, 11)]
    code = code.format(2)
    table = {
        "hello": {"code": HELLO[language], "tests": []},
        "ten tests": {"code": code, "tests": tests},
    }
    if language == "python":
        table["five imports, a class, ten tests"] = {"code": REAL, "tests": REAL_TESTS}
        table["ten tests in an interpreter"] = {"code": code, "tests": OTHER_TESTS}
    return table


class Rival:
    """A process that runs programs in one way."""

    def __init__(
        self, way: str, language: str, python: str = sys.executable, root: Path = ROOT
    ) -> None:
        environment = {**os.environ, "PYTHONPATH": str(root), "INFINITE_RL_COMPILER": "optimising"}
        command = [python, str(DRIVERS), way, language]
        self._process = subprocess.Popen(
            command, stdin=-1, stdout=-1, text=True, env=environment, cwd="/"
        )

    def answer(self, line: str) -> list[float]:
        """Return the figures for a line. Raises `SystemExit` if the process has ended."""
        assert self._process.stdin and self._process.stdout
        print(line, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self._process.args!r} has failed with {line}")
        return [float(word) for word in answer.split()]

    def close(self) -> None:
        self._process.communicate()


def rivals(language: str, args: argparse.Namespace) -> dict[str, Rival]:
    """Start a process for each way that is there, this checkout's first."""
    ways = {"here": Rival("ours", language)}
    if args.against:
        ways["older checkout"] = Rival("ours", language, root=args.against.resolve())
    if language == "python":
        for way in ("python3 -I -S -c", "fork and exec", "warm worker"):
            ways[way] = Rival(way, language)
        if args.pyeryx:
            ways["pyeryx"] = Rival("pyeryx", language, args.pyeryx)
    elif shutil.which("node"):
        ways |= {way: Rival(way, language) for way in ("node -e", "warm node vm")}
    if language == "javascript" and args.quickjs:
        ways["quickjs-ng"] = Rival("quickjs-ng", language, args.quickjs)
    return ways


def in_turns(
    runners: Mapping[str, Rival], lines: Mapping[str, str], rounds: int
) -> dict[str, dict[str, list[float]]]:
    """Return the medians of each runner's figures for each line, by the names of both."""
    figures: dict[tuple[str, str], list[list[float]]] = {}
    for _ in range(rounds):
        for what, line in lines.items():
            for name, runner in runners.items():
                figures.setdefault((what, name), []).append(runner.answer(line))
    for runner in runners.values():
        runner.close()
    return {
        what: {
            name: [Median(column) for column in zip(*figures[what, name], strict=True)]
            for name in runners
        }
        for what in lines
    }


def costs(language: str, args: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    """Return the CPU seconds of each program by each way."""
    lines = {what: json.dumps(program) for what, program in programs(language).items()}
    return in_turns(rivals(language, args), lines, args.rounds)


def fuel_costs(language: str, rounds: int) -> dict[str, float]:
    """Return how many times as long programs take whose instructions are counted."""
    lines = {}
    for what, program in programs(language).items():
        lines[what] = json.dumps(program)
        lines[f"{what}, fuel"] = json.dumps({**program, "fuel": 10**10})
    seconds = in_turns({"here": Rival("ours", language)}, lines, rounds)
    return {
        what: seconds[f"{what}, fuel"]["here"][0] / seconds[what]["here"][0]
        for what in programs(language)
    }


def rates(language: str, args: argparse.Namespace) -> dict[str, list[float]]:
    """Return candidates a second, and the MiB of a worker, here and in the older checkout."""
    roots = {"here": ROOT} | ({"older checkout": args.against.resolve()} if args.against else {})
    judges = {name: Rival("candidates", language, root=root) for name, root in roots.items()}
    for judge in judges.values():
        judge.answer("100")  # the workers start, and load the runtime
    return in_turns(judges, {"": str(args.candidates)}, max(3, args.rounds // 7))[""]


def rows(args: argparse.Namespace) -> Iterator[str]:
    for language in HELLO:
        for what, seconds in costs(language, args).items():
            ours = seconds.pop("here")[0]
            yield f"| {language}: {what} | here | {ours * 1000:.2f} ms | |"
            for name, (theirs,) in seconds.items():
                yield f"| | {name} | {theirs * 1000:.2f} ms | {ours / theirs:.2f} |"
        for what, ratio in fuel_costs(language, args.rounds).items():
            yield f"| {language}: {what}, with fuel | here, without | | {ratio:.2f} |"
        judged = rates(language, args)
        rate, memory = judged.pop("here")
        what = f"{language}: {args.candidates} candidates x 10 tests"
        yield f"| {what} | here | {rate:.0f} a second, {memory:.0f} MiB | |"
        for name, (their_rate, their_memory) in judged.items():
            figures = f"{their_rate:.0f} a second, {their_memory:.0f} MiB"
            yield f"| | {name} | {figures} | {rate / their_rate:.2f}, {memory / their_memory:.2f} |"


def parser() -> argparse.ArgumentParser:
    """Return the flags. An interpreter can be named by the environment, too."""
    flags = argparse.ArgumentParser(description="Print what a verdict costs, here and elsewhere.")
    flags.add_argument("--against", type=Path, metavar="CHECKOUT", help="of another commit")
    for name in ("pyeryx", "quickjs"):
        variable = f"{name.upper()}_PYTHON"
        wanted = f"an interpreter that has {name}; ${variable}"
        flags.add_argument(f"--{name}", metavar="PYTHON", help=wanted, default=os.getenv(variable))
    flags.add_argument("--rounds", type=int, default=21)
    flags.add_argument("--candidates", type=int, default=1000, help="to be judged at once")
    return flags


def main() -> None:
    args = parser().parse_args()
    print(f"{machine()}; medians of {args.rounds} rounds\n")
    print("| what | by | figure | ours, as a multiple |\n|---|---|---:|---:|")
    for row in rows(args):
        print(row, flush=True)


if __name__ == "__main__":
    main()
