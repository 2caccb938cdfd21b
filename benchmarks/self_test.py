"""The verifier's own test over good rows: what it sees, whom it wrongs, and what it costs.

    python -m benchmarks.self_test [--rows N] [--data DIR]

The references of HumanEval, HumanEval JS, MBPP, GSM8K and MATH-500 as rows: all of them good, so
that each fault is a false alarm. Beside the share of wrong responses that are rejected stands how
many rows could be tested at all (three mutants for code, one wrong answer for mathematics).
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.humaneval import DATA, SUITES, Suite
from benchmarks.sandbox import machine
from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.reward_functions.reward_function import RewardFunction
from infinite_rl.types import Sample
from infinite_rl.verification.self_test import MIN_MUTANTS, SelfTest, self_test
from infinite_rl.workers.pool import close

_MATH = {"GSM8K": "gsm8k/test.jsonl", "MATH-500": "math500/test.jsonl"}
_SHARES = (0.01, 0.25, 0.5, 0.75)


def code_rows(suite: Suite, path: Path) -> Iterator[Sample]:
    """The references of a suite, each with its tests."""
    for problem in suite.read(path):
        spec = {"tests": list(problem.tests), "entry_point": problem.entry_point}
        response = tagged(f"\n{fenced(problem.code, suite.language)}\n")
        yield Sample("coding", problem.name, json.dumps(spec), response, suite.language)


def math_rows(path: Path) -> Iterator[Sample]:
    """The answers of GSM8K or of MATH-500."""
    for line in path.read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)["answer"].rpartition("#### ")[2].strip()
        yield Sample("math", line, answer, tagged(answer))


def cpu_s() -> float:
    """The processor time of this process and of its workers, which are ended for it."""
    close()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def share_below(results: Sequence[SelfTest], share: float, least: int) -> int:
    """How many rows would be rejected if less than this share were too little."""
    return sum(result.total >= least and result.killed < share * result.total for result in results)


def line(title: str, rows: Sequence[Sample], reward: RewardFunction) -> str:
    """One line of the table; prints each row with a fault."""
    least = MIN_MUTANTS if rows[0].language else 1
    before, started = cpu_s(), time.monotonic()
    results = [self_test(row, reward) for row in rows]
    wall = time.monotonic() - started
    each_ms = 1000 * (cpu_s() - before) / len(rows)
    for row, result in zip(rows, results, strict=True):
        if result.fault:
            print(f"{title}: {row.prompt[:60]}: {result.fault}", file=sys.stderr)
    killed, total = sum(each.killed for each in results), sum(each.total for each in results)
    tested = sum(each.total >= least for each in results)
    below = " / ".join(str(share_below(results, share, least)) for share in _SHARES)
    return (
        f"| {title} | {len(rows)} | {tested} | {killed} of {total} ({killed / total:.1%}) "
        f"| {sum(bool(each.fault) for each in results)} | {below} "
        f"| {each_ms:.1f} ms | {1000 * wall / len(rows):.0f} ms |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Test the verifiers of good rows.")
    parser.add_argument("--rows", type=int, default=10**9, help="of each set (all)")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the data sets ({DATA})")
    options = parser.parse_args()
    if not options.data.is_dir():
        sys.exit(f"the data is missing: there is no folder {options.data}; name one with --data")
    rewards = get_reward_functions()
    shares = " / ".join(f"{share:g}" for share in _SHARES)
    print(f"{machine()}\n")
    print("| set | rows | tested | wrong ones rejected | faults ", end="")
    print(f"| under a share of {shares} | CPU a row | wall |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for suite in SUITES:
        rows = list(code_rows(suite, options.data / suite.path))[: options.rows]
        self_test(rows[0], rewards["coding"])  # compile the runtime before the clock starts
        print(line(suite.title, rows, rewards["coding"]), flush=True)
    for title, path in _MATH.items():
        rows = list(math_rows(options.data / path))[: options.rows]
        print(line(title, rows, rewards["math"]), flush=True)


if __name__ == "__main__":
    main()
