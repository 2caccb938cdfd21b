"""Fuzz the math verdict: it must not raise, must not be slow, must not depend on the order.

    pip install atheris
    python -m benchmarks.math_fuzz [--seconds N] [--threads N] [--random] [LIBFUZZER_ARGUMENT ...]

atheris starts from the labelled pairs of the tests and looks for texts that reach new code. Without
it, or with `--random`, the texts are labelled pairs with a few characters replaced, and mixtures of
what mathematics is written with. With `--threads` each pair is judged in so many threads at once,
and all must find the same. Prints what was tried at the end; what breaks a promise is raised.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from benchmarks.math_pairs import labelled
from infinite_rl.reward_functions.math import verify
from infinite_rl.reward_functions.math.verify import forget_forms

TIMEOUT_S = 0.05  # for what needs algebra; hardly anything else takes as long
MOST_CPU_S = 0.25  # of one verdict: 100 ms, with room for a fuzzer that counts every branch
PIECES = [
    *"0123456789xyeinkC+-*/^_=<>(){}[]|,;:!%&'. $\n",
    *[
        "\\frac",
        "\\sqrt",
        "\\binom",
        "\\pi",
        "\\infty",
        "\\sum_{k=1}^{9}",
        "\\int_0^1",
        "dx",
        "\\to",
    ],
    *[
        "\\lim_{x \\to",
        "\\frac{d}{dx}",
        "\\begin{cases}",
        "\\begin{pmatrix}",
        "\\end{pmatrix}",
        "\\\\",
    ],
    *[
        "\\text{ cm}",
        "\\pmod",
        "\\cup",
        "\\in",
        "\\le",
        "\\overline",
        "\\boxed{",
        "<answer>",
        "#### ",
    ],
    *["sin", "log_2", "twenty", "half", "and", "or", "pm", "²", "½", "√", "10^", "9^{9", "°", "!"],
]


class Findings:
    """What came of the verdicts so far."""

    def __init__(self, threads: int) -> None:
        self.statuses: Counter[str] = Counter()
        self.pairs = 0
        self.slowest_s = 0.0
        self.started = time.monotonic()
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.threads = threads

    def check(self, first: str, second: str) -> None:
        """Raises AssertionError where a promise is broken, and whatever `verify` raises."""
        forget_forms()
        if self.pool is None:
            looks = [look(first, second)]
        else:
            futures = [self.pool.submit(look, first, second) for _ in range(self.threads)]
            looks = [one.result() for one in futures]
        statuses = {status for one in looks for status in one.statuses}
        assert len(statuses - {"timeout"}) <= 1, statuses
        self.pairs += 1
        self.statuses[min(statuses)] += 1
        self.slowest_s = max(self.slowest_s, *(one.took_s for one in looks))
        assert self.slowest_s < MOST_CPU_S, f"{self.slowest_s:.3f} s"

    def line(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in self.statuses.most_common())
        return (
            f"{self.pairs} pairs in {time.monotonic() - self.started:.0f} s, each in both orders, "
            f"on {self.threads} threads: {counts}; slowest {1000 * self.slowest_s:.0f} ms of work"
        )


class Look(NamedTuple):
    """The statuses of a pair in both orders, and the slower one's seconds of work."""

    statuses: tuple[str, str]
    took_s: float


def look(first: str, second: str) -> Look:
    start = time.thread_time()
    verdict = verify(first, second, timeout=TIMEOUT_S)
    middle = time.thread_time()
    swapped = verify(second, first, timeout=TIMEOUT_S)
    took = max(middle - start, time.thread_time() - middle)
    for text in (first, second):
        same = verify(text, text, timeout=TIMEOUT_S)
        assert same.status != "different" or not same.gold_form, f"not itself: {text!r}"
    return Look((verdict.status, swapped.status), took)


def random_pair(source: random.Random, seeds: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """A mixture of pieces, or a labelled pair; then one side with a few characters replaced."""
    if source.random() < 0.2:
        first = second = "".join(source.choices(PIECES, k=source.randint(1, 12)))
    else:
        first, second = source.choice(seeds)
    for _ in range(source.choice((0, 1, 1, 2))):
        index, length = source.randrange(len(second) + 1), source.randint(0, 2)
        second = second[:index] + fragment(source, seeds) + second[index + length :]
    return (first, second) if source.random() < 0.5 else (second, first)


def fragment(source: random.Random, seeds: Sequence[tuple[str, str]]) -> str:
    """A character, a piece of mathematics, or a whole labelled answer."""
    kinds: list[Sequence[str]] = ["0123456789x+-, ()/^", PIECES, source.choice(seeds)]
    return source.choice(source.choice(kinds))


def at_random(findings: Findings, seconds: float, seed: int) -> None:
    source, seeds = random.Random(seed), [pair.sides for pair in labelled()]
    while time.monotonic() < findings.started + seconds:
        pair = random_pair(source, seeds)
        try:
            findings.check(*pair)
        except BaseException:
            print(f"failed on {pair!r}")
            raise
    print(findings.line())


def by_coverage(findings: Findings, seconds: float, arguments: Sequence[str]) -> None:
    atheris: Any = importlib.import_module("atheris")
    for function in [one for one in gc.get_objects() if isinstance(one, FunctionType)]:
        if (function.__module__ or "").startswith(verify.__module__.rpartition(".")[0]):
            atheris.instrument_func(function)
    findings.started = time.monotonic()

    def one_input(data: bytes) -> None:
        first, _, second = data.decode("utf-8", "replace").partition("\0")
        findings.check(first, second)
        if time.monotonic() > findings.started + seconds:
            print(findings.line(), flush=True)
            os._exit(0)  # libFuzzer knows no other end that is no failure

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "corpus").mkdir()
        for number, pair in enumerate(labelled()):
            (folder / "corpus" / str(number)).write_text("\0".join(pair.sides), encoding="utf-8")
        words = [piece.replace("\\", "\\\\") for piece in PIECES if piece.isprintable()]
        words = [word for word in words if word.isascii() and word != '"']
        (folder / "words").write_text("".join(f'"{word}"\n' for word in words), encoding="ascii")
        inputs = [f"-dict={folder / 'words'}", "-max_len=400", str(folder / "corpus")]
        atheris.Setup([sys.argv[0], *arguments, *inputs], one_input)
        atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--random", action="store_true", help="without atheris")
    options, arguments = parser.parse_known_args()
    verify(r"\sqrt{2}", "1.5")  # loads what is loaded once
    findings = Findings(options.threads)
    if options.random or importlib.util.find_spec("atheris") is None:
        at_random(findings, options.seconds, options.seed)
    else:
        by_coverage(findings, options.seconds, arguments)


if __name__ == "__main__":
    main()
