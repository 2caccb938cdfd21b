"""What a long run's folder costs: to append to it, to open it again, and in memory.

    python -m benchmarks.resume [--rows 100000] [--generated 50000]

Appending is a call through the journal and its accepted row, as a run writes them. Opening is
`generate_dataset` on a folder that has all its rows, in a process of its own; its memory is the
peak of that process. The memory of a run is measured while sums are made by a provider in this
process, so that nothing but the run itself takes any. Tables in Markdown.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.rounds import Median
from benchmarks.sandbox import machine
from infinite_rl.generation.progress import Progress
from infinite_rl.generator import generate_dataset
from infinite_rl.inference.journal import Call, Journal, Source
from infinite_rl.layout import render, tagged
from infinite_rl.store import Store
from infinite_rl.tasks import TASKS
from infinite_rl.types import Attempt, Completion, Outcome, RewardFunctionScore, Sample, Slot, Usage

_BODY = "Let us work through the whole thing, step by step. " * 12
_BLOCKS, _IN_A_BLOCK = 11, 50  # of appended rows; what counts is the median block


class Sums:
    """A provider that makes another sum of each seed."""

    model = "sums"
    asks_a_model = False  # nothing solves its sums

    def complete(self, system: str, prompt: str, seed: int) -> Completion:  # noqa: ARG002 -- as a provider's
        text = render(f"What is {seed} + 1?", str(seed + 1), f"Add one. {tagged(str(seed + 1))}")
        return Completion(text, self.model, usage=Usage(300, 50))


def _append(store: Store, journal: Journal, index: int) -> None:
    """One row of a usual length, with the two lines of its call."""
    task, slot, answer = TASKS["math"], Slot("math", index), str(index + 1)
    prompt, response = f"What is {index} + 1? {_BODY[:300]}", _BODY + tagged(answer)
    completion = Completion(render(prompt, answer, response), "m", usage=Usage(100, 400), cost=1e-4)
    attempt = Attempt(slot, task, "Make a task. " * 100, index)
    call = Call(slot, task.name, "", attempt.request, index)
    journal.complete(call, Source(lambda *_: completion))
    score = RewardFunctionScore(1.0, 1.0, status="passed")
    store.append(Outcome(attempt, Sample("math", prompt, answer, response), score, completion))


def filled(folder: Path, rows: int) -> list[tuple[int, Median]]:
    """Append so many rows; the milliseconds of CPU that one takes after some, more, and all."""
    indices, opening_times, row_count = itertools.count(), [], 0
    with Store(folder) as store, closing(Journal(folder)) as journal:

        def append(count: int) -> float:
            began = time.process_time()
            for index in itertools.islice(indices, count):
                _append(store, journal, index)
            return (time.process_time() - began) / count * 1000

        for count in sorted({min(100, rows), min(10_000, rows), rows}):
            append(max(1, count - row_count))
            each = Median(append(_IN_A_BLOCK) for _ in range(_BLOCKS))
            opening_times.append((count, each))
            row_count = count + _BLOCKS * _IN_A_BLOCK
    return opening_times


def _open(folder: Path, rows: int) -> None:
    """Open a folder that has all its rows; print seconds of CPU, seconds, and the peak in MB."""
    cpu, began = time.process_time(), time.monotonic()
    progress = generate_dataset("sums", rows, folder, task_dist="0,1", provider=Sums())
    cpu, seconds = time.process_time() - cpu, time.monotonic() - began
    assert progress.complete and not progress.calls, progress
    print(cpu, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def opened(folder: Path, rows: int) -> tuple[float, ...]:
    """Seconds of CPU, seconds, and the peak in MB of a process that opens a whole folder."""
    command = [sys.executable, "-m", "benchmarks.resume", "--open", str(folder)]
    done = subprocess.run(
        [*command, "--rows", str(rows)], check=True, stdout=subprocess.PIPE, text=True
    )
    return tuple(map(float, done.stdout.split()))


def _memory(rows: int, threads: int) -> list[tuple[int, float]]:
    """The megabytes that this process holds while so many rows are made, ten times."""
    opening_times: list[tuple[int, float]] = []

    def look(progress: Progress) -> None:
        row_count = progress.accepted["math"]
        if row_count >= (len(opening_times) + 1) * rows // 10:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            opening_times.append((row_count, pages * resource.getpagesize() / 2**20))

    with tempfile.TemporaryDirectory() as folder:
        generate_dataset(
            *("sums", rows, folder), save_every=1000, task_dist="0,1", num_threads=threads,
            provider=Sums(), on_progress=look,
        )  # fmt: skip
    return opening_times


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    for line in (heads, ["---"] * len(heads), *lines):
        print("| " + " | ".join(line) + " |", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--generated", type=int, default=50_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--open", type=Path, help="only open this folder")
    args = parser.parse_args()
    if args.open:
        _open(args.open, args.rows)
        return
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as name:
        appended = filled(Path(name), args.rows)
        _table(
            ["rows before", "ms CPU to append one"], [(f"{n:,}", f"{ms:.3f}") for n, ms in appended]
        )
        opening_times = [opened(Path(name), args.rows) for _ in range(3)]
        size = sum(file.stat().st_size for file in Path(name).iterdir()) // 2**20
    seen = [(f"{cpu:.2f}", f"{took:.2f}", f"{peak:.0f}") for cpu, took, peak in opening_times]
    print(f"Opened again, {args.rows:,} rows, {size} MB:\n")
    _table(["s CPU", "s", "peak MB"], seen)
    row_count = _memory(args.generated, args.threads)
    print(f"Generating with {args.threads} threads:\n")
    _table(
        ["rows", "MB held"], [(f"{rows:,}", f"{megabytes:.0f}") for rows, megabytes in row_count]
    )


if __name__ == "__main__":
    main()
