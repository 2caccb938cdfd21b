"""Rows with many large tests: time, and the peak memory of this process and of its workers.

    python -m benchmarks.large_tests [--rows 1000] [--tests 100] [--megabytes 1] [--seconds N]
        [--fail_at first|last] [--first_failure]

The rows are generated while they are judged, as `infinite-rl score` judges a file. Every fourth
program is wrong in its last test, or in its first; with --first_failure its other tests do not
run then. Each verdict is checked. With --seconds no row begins after that.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from collections import Counter
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from infinite_rl.dataset.scoring import Judging, score_rows
from infinite_rl.layout import fenced, tagged
from infinite_rl.workers import pool

_PAGE, _MiB = resource.getpagesize(), 2**20
_READ = "import sys\ndata = sys.stdin.buffer.read()\nn = int(data[:data.index(b'\\n')])\n"
_RIGHT = _READ + "print(n, data.count(b'\\n'))"
_WRONG = _READ + "print(n, data.count(b'\\n') + (n % 1000 == {wrong}))"


def main() -> int:
    """Judge the rows and print the figures; 1 if a verdict is wrong."""
    args = _parser().parse_args()
    started, resident, statuses = time.monotonic(), [], Counter[tuple[bool, str]]()
    end = started + args.seconds
    numbers = takewhile(lambda _: time.monotonic() < end, range(args.rows))
    wrong = 0 if args.fail_at == "first" else args.tests - 1
    rows = (_row(number, args.tests, args.megabytes, wrong) for number in numbers)
    judging = Judging(
        language="python",
        timeout=args.timeout,
        first_failure=args.first_failure,
        time_factor=args.time_factor,
    )
    for number, scored in zip(count(), score_rows(rows, judging), strict=False):
        statuses[scored["is_right"], scored["status"]] += 1
        resident.append(_resident())
        if (number + 1) % 50 == 0:
            print(f"{number + 1} rows, {time.monotonic() - started:.0f} s", file=sys.stderr)
    seconds, done = time.monotonic() - started, sum(statuses.values())
    pool.close()
    ours, theirs = (
        resource.getrusage(who).ru_maxrss // 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(f"rows: {done} of {args.rows}, with {args.tests} tests of {args.megabytes:g} MB")
    print(f"time: {seconds:.0f} s, {seconds / done:.2f} s a row, {done * args.tests / seconds:.0f} "
          "tests a second")  # fmt: skip
    print(f"workers: {pool.default_count()}")
    print(f"peak memory: {ours} MiB here, {theirs} MiB in the largest worker")
    tenth = max(1, done // 10)
    first, last = max(resident[:tenth]), max(resident[-tenth:])
    print(f"memory here in the first and the last tenth: {first} and {last} MiB at most")
    print(f"verdicts (right program, status): {dict(statuses)}")
    return int(statuses.keys() - {(True, "passed"), (False, "failed")} != set())


def _row(number: int, tests: int, megabytes: float, wrong: int) -> dict[str, Any]:
    chance = random.Random(number)
    lines = [f"{chance.getrandbits(40)}\n" for _ in range(1000)]
    block = "".join(lines)
    body = block * max(1, int(megabytes * 1e6 / len(block)))
    cases = []
    for test in range(tests):
        first = number * 1000 + test
        cases.append({"input": f"{first}\n{body}", "output": f"{first} {body.count(chr(10)) + 1}"})
    is_right = number % 4 != 3
    code = _RIGHT if is_right else _WRONG.format(wrong=wrong)
    answer = json.dumps({"cases": cases, "compare": "tokens", "limits": {"timeout": 5}})
    response = tagged(fenced(code, "python"))
    return {"type": "coding", "answer": answer, "response": response, "is_right": is_right}


def _resident() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * _PAGE // _MiB


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--tests", type=int, default=100)
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--fail_at", choices=("first", "last"), default="last")
    parser.add_argument("--first_failure", action="store_true")
    parser.add_argument("--timeout", type=float, default=5.0)
    parser.add_argument("--time_factor", type=float, default=None)
    return parser


if __name__ == "__main__":
    sys.exit(main())
