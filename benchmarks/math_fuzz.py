"""Fuzz the math verdict: it must not raise, must not be slow, must not depend on the order.

    pip install atheris
    python -m benchmarks.math_fuzz [-max_total_time=60] [CORPUS_FOLDER ...]

Arguments are libFuzzer's. Without atheris the texts are random mixtures of what mathematics is
written with, `--seconds N` of them.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.math_verifier import PAIRS, labelled
from infinite_rl.reward_functions.math import verify
from infinite_rl.reward_functions.math.verify import forget_forms

MOST_CPU_S = 0.25  # of one verdict in both orders: 100 ms each, with room for a busy machine
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


def check(first: str, second: str) -> None:
    """Raises AssertionError where a promise is broken, and whatever `verify` raises."""
    forget_forms()
    start = time.process_time()
    verdict = verify(first, second, timeout=0.05)
    swapped = verify(second, first, timeout=0.05)
    took = time.process_time() - start
    assert took < MOST_CPU_S, f"{took:.3f} s"
    timed = "timeout" in (verdict.status, swapped.status)
    assert timed or verdict.status == swapped.status, (verdict, swapped)
    assert verify(first, first, timeout=0.05).status != "different", "not itself"


def one_input(data: bytes) -> None:
    first, _, second = data.decode("utf-8", "replace").partition("\0")
    check(first, second)


def random_pair(source: random.Random, seeds: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """A mixture of pieces, or a labelled pair, with a few characters of one side replaced."""
    if source.random() < 0.5:
        first = second = "".join(source.choices(PIECES, k=source.randint(1, 24)))
    else:
        first, second = source.choice(seeds)
    for _ in range(source.randint(1, 3)):
        place, length = source.randrange(len(second) + 1), source.randint(0, 2)
        second = second[:place] + source.choice(PIECES) + second[place + length :]
    return first, second


def without_atheris() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    source, count = random.Random(options.seed), 0
    seeds = [pair for pair, _ in labelled(PAIRS)]
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        pair = random_pair(source, seeds)
        count += 1
        try:
            check(*pair)
        except BaseException:
            print(f"failed on {pair!r}")
            raise
    print(f"{count} pairs, nothing found")


def main() -> None:
    if importlib.util.find_spec("atheris") is None:
        without_atheris()
        return
    atheris: Any = importlib.import_module("atheris")
    atheris.instrument_all()
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
