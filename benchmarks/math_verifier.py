"""How fast the math verdict is, next to Math-Verify on the same pairs in the same run.

    python -m benchmarks.math_verifier [--pairs FILE] [--sample N] [--batch N] [--data FOLDER]

The pairs are the labelled ones of the tests, plus plain integers and what stands in a box after
some prose. The batch is a random sample (seeded) of the integers and of all labelled pairs, each
answer in a box after prose, and both sides judge all of it. With `--data` there are long outputs,
too: composed of solutions of MATH-500 in `math500/test.jsonl`. Math-Verify is optional:
`pip install infinite-rl[math-verify]`; without it only our own column is printed.

All times are CPU times of this process and its children, those that still run and what these have
waited for among them. Both have sympy loaded before the clock starts: Math-Verify in this process,
we in a worker. A worker that is started later is counted with its loading. Every string is fresh to
both: nothing that was read before is used again. An import is measured as installed, with its
bytecode at hand. The targets are for a quiet machine; they are shown and not asserted.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import os
import platform
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks import math_pairs
from benchmarks.math_pairs import PAIRS, labelled
from benchmarks.rounds import Median
from infinite_rl.reward_functions.math import algebra, verify, verify_many
from infinite_rl.reward_functions.math.verify import CALCULUS, forget_forms

Pair = tuple[str, str]
Judge = Callable[[str, str], bool]

# More than a bare answer: a mark, a line break, or a sentence that ends.
_MARKED = re.compile(r"box|answer|#|\n|\. | .*\.\$*$", re.IGNORECASE)
PROSE = "We add the two parts, $a + b$, and simplify. "
IMPORT = (
    "import time; start = time.perf_counter(); "
    "import infinite_rl.reward_functions.math; print(time.perf_counter() - start)"
)
MATH_VERIFY_IMPORT = (
    "import time; start = time.perf_counter(); "
    "import math_verify; print(time.perf_counter() - start)"
)


def integers(count: int) -> list[Pair]:
    """Boxed integers after prose, a fifth of them wrong."""
    source = random.Random(7)
    golds = [source.randint(2, 99_999) for _ in range(count)]
    return [
        (rf"{PROSE}So the answer is \boxed{{{gold + (index % 5 == 0)}}}.", str(gold))
        for index, gold in enumerate(golds)
    ]


def boxed(pairs: Sequence[Pair]) -> list[Pair]:
    """Each prediction in a box after prose; one that has its own stays as it is."""
    return [
        (one if _MARKED.search(one) else rf"{PROSE}So the answer is $\boxed{{{one}}}$.", other)
        for one, other in pairs
    ]


def long_outputs(folder: Path, tags: bool, count: int = 200, parts: int = 12) -> list[Pair]:
    """Outputs as long as those of a model that reasons, a third of them wrong.

    A solution of MATH-500 stands at the end; before it are `parts` others, in think tags or without
    them, with the sentences between them that such a model writes. Half of these show their boxes.
    """
    lines = (folder / "math500" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if r"\boxed" in row["solution"]]
    source, pairs = random.Random(11), []
    for index, row in enumerate(rows[:count]):
        chosen = [other["solution"] for other in source.sample(rows, parts)]
        plain = [text.replace(r"\boxed", "") if n % 2 else text for n, text in enumerate(chosen)]
        think = "\n\nWait, let me try this in another way. ".join(plain)
        gold = rows[index - 1 if index % 3 == 0 else index]["answer"]
        head, end = ("<think>\n", "\n</think>") if tags else ("", "")
        pairs.append((f"{head}{think}{end}\n\n{row['solution']}", gold))
    return pairs


def mixed(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs as they are, and in a box after prose."""
    return list(dict.fromkeys([*pairs, *boxed(pairs)]))


def batch(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """A random sample of the integers and the labelled pairs, in which no string comes twice.

    A gold that comes again has more spaces behind it. There are no more than the table holds.
    """
    pool = [*integers(500), *boxed(pairs)]
    random.Random(3).shuffle(pool)
    turns: dict[str, int] = {}
    values: dict[str, str] = {}
    for one, other in pool:
        if one not in values and len(values) < count:
            turns[other] = turns.get(other, -1) + 1
            values[one] = other + " " * turns[other]
    return list(values.items())


def cpu_s() -> float:
    """CPU seconds of this process, its threads and its children, ended or not.

    Of a child that runs the system tells hundredths.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + _running_s()


def _running_s() -> float:
    """CPU seconds of the children that run, and of those that they have waited for (Linux)."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended since
        if int(fields[1]) == os.getpid():
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def each_us(judge: Judge, pairs: Sequence[Pair]) -> list[float]:
    """Sorted CPU microseconds of each pair."""
    values: list[float] = []
    for pair in pairs:
        forget_forms()
        algebra_may_work = any(sign in text for text in pair for sign in CALCULUS)
        before = _running_s() if algebra_may_work else 0.0
        start = time.process_time_ns()
        judge(*pair)
        used = (time.process_time_ns() - start) / 1000
        values.append(used + ((_running_s() - before) * 1e6 if algebra_may_work else 0.0))
    return sorted(values)


def ours(prediction: str, gold: str) -> bool:
    return verify(prediction, gold).equal


def math_verify() -> Judge | None:
    """Math-Verify as its page shows it, with its timeouts; None where it is not installed."""
    if importlib.util.find_spec("math_verify") is None:
        return None
    from math_verify import parse
    from math_verify import verify as same

    logging.disable(logging.ERROR)  # it logs each timeout

    def judge(prediction: str, gold: str) -> bool:
        return bool(same(parse(f"${gold}$"), parse(prediction)))

    judge(r"\boxed{1}", "1")  # builds its tables
    return judge


def row(name: str, values: Sequence[str]) -> str:
    return f"| {name:<38} |" + "|".join(f" {value:>12} " for value in values) + "|"


def spread(
    judges: Sequence[Judge], pairs: Sequence[Pair], most: int, rounds: int = 1
) -> dict[str, list[float]]:
    """CPU microseconds of a pair by each judge: the median, the 99th percentile and the mean.

    Only our own judges all pairs, the others `most`. They take turns; of each figure it is the
    median of the rounds.
    """
    chosen = random.Random(1).sample(list(pairs), min(most, len(pairs)))
    times = [
        [each_us(judge, pairs if judge is ours else chosen) for judge in judges]
        for _ in range(rounds)
    ]
    return {
        name: [Median(map(figure, values)) for values in zip(*times, strict=True)]
        for name, figure in FIGURES.items()
    }


FIGURES: Mapping[str, Callable[[list[float]], float]] = {
    "median": lambda values: values[len(values) // 2],
    "99th percentile": lambda values: values[int(len(values) * 0.99)],
    "mean": lambda values: sum(values) / len(values),
}


def rates(judges: Sequence[Judge], pairs: Sequence[Pair], rounds: int = 1) -> list[float]:
    """Pairs a CPU second: ours on the whole batch at once, Math-Verify on one after the other.

    They take turns, and the medians count. Ours takes less than a second, so its turn is five.
    """
    values: list[list[float]] = [[] for _ in judges]
    for _ in range(rounds):
        for judge, seen in zip(judges, values, strict=True):
            seen.extend(_rate(judge, pairs) for _ in range(5 if judge is ours else 1))
    return [Median(seen) for seen in values]


def _rate(judge: Judge, pairs: Sequence[Pair]) -> float:
    forget_forms()
    algebra.forget_closed_forms()
    start = cpu_s()
    if judge is ours:
        verify_many(pairs)
    else:
        for pair in pairs:
            judge(*pair)
    return len(pairs) / (cpu_s() - start)


def import_ms(code: str, runs: int = 10) -> float:
    """Milliseconds of an import in a fresh process, the best of runs that find its bytecode."""
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
        command = [sys.executable, "-c", code]
        done = [
            subprocess.run(command, capture_output=True, env=environment, check=True)
            for _ in range(1 + runs)  # the first one writes it
        ]
    return min(float(run.stdout) for run in done[1:]) * 1000


class Marks(NamedTuple):
    """How many pairs get their label; wrong answers accepted, and right ones refused."""

    right: int
    false_accepts: int
    false_rejects: int


def accuracy(judge: Judge, pairs: Sequence[tuple[Pair, bool]]) -> Marks:
    """How the verdicts on labelled pairs agree with their labels."""
    values = [(judge(*pair), equal) for pair, equal in pairs]
    return Marks(
        sum(got == equal for got, equal in values),
        sum(got > equal for got, equal in values),
        sum(got < equal for got, equal in values),
    )


def labelled_boxes(table: Sequence[math_pairs.Pair]) -> list[tuple[Pair, bool]]:
    """The bare answers of a table, in boxes after prose, with their labels."""
    bare = [pair for pair in table if not _MARKED.search(pair.prediction)]
    answers = boxed([pair.sides for pair in bare])
    return list(zip(answers, [pair.equal for pair in bare], strict=True))


def load() -> None:
    """Load what is not to be timed: mpmath, and sympy in its worker."""
    ours(r"\sqrt{2}", "1.5")
    algebra.wait_until_ready()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, default=PAIRS, help="a table of labelled pairs")
    parser.add_argument("--sample", type=int, default=200, help="single pairs for Math-Verify")
    parser.add_argument("--batch", type=int, default=4096, help="pairs of the mixed batch")
    parser.add_argument("--data", type=Path, help="holds math500/test.jsonl, for long outputs")
    options = parser.parse_args()
    table = labelled(options.pairs)
    pairs = [pair.sides for pair in table]
    other = math_verify()
    judges: list[Judge] = [ours] if other is None else [ours, other]
    load()

    print(f"Python {platform.python_version()} on {platform.machine()}, mpmath {version('mpmath')}")
    names = ["Infinite RL"] + ([] if other is None else [f"MV {version('math-verify')}"])
    print(row("", names))
    print(row("", ["-" * 12] * len(names)).replace(" ", "-"))
    kinds = [("integer", integers(500)), ("mixed pair", mixed(pairs))]
    if options.data:
        kinds.append(("long, tags", long_outputs(options.data, tags=True)))
        kinds.append(("long, no tags", long_outputs(options.data, tags=False)))
    for name, singles in kinds:
        for figure, values in spread(judges, singles, options.sample).items():
            print(row(f"{name}, {figure}, us", [f"{value:,.0f}" for value in values]))
    mixture = batch(pairs, options.batch)
    speeds = rates(judges, mixture)
    print(row(f"batch of {len(mixture)}, pairs a second", [f"{rate:,.0f}" for rate in speeds]))
    if other is not None:
        print(row("ratio of the rates", [f"{speeds[0] / speeds[1]:,.0f}", "1"]))
    imports = [import_ms(code) for code in (IMPORT, MATH_VERIFY_IMPORT)[: len(judges)]]
    print(row("import, ms", [f"{value:,.0f}" for value in imports]))
    boxes = labelled_boxes(table)
    marks = [accuracy(judge, boxes) for judge in judges]
    names = [f"right of {len(boxes)} labelled pairs, boxed", "wrong answers accepted"]
    for name, counts in zip(
        (*names, "right answers refused"), zip(*marks, strict=True), strict=True
    ):
        print(row(name, [str(count) for count in counts]))
    print("\nTargets: integer median 20 us; mixed median 150 us, 99th percentile 5 ms; ratio 100;")
    print("import 50 ms; no wrong answer accepted.")


if __name__ == "__main__":
    main()
