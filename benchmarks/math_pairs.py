"""The labelled pairs of `math_pairs.txt`, for the tests and the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

PAIRS = Path(__file__).resolve().parent.parent / "tests" / "reward_functions" / "math_pairs.txt"


class Pair(NamedTuple):
    """A prediction and a gold answer; are they equal, what decides it, and on which line it is."""

    prediction: str
    gold: str
    equal: bool
    reason: str
    line: int = 0

    @property
    def sides(self) -> tuple[str, str]:
        return self.prediction, self.gold


def labelled(path: Path = PAIRS) -> list[Pair]:
    """The pairs of a table; the reason is the section that a pair stands in."""
    pairs: list[Pair] = []
    section = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        right, wrong = line.rfind(" == "), line.rfind(" != ")
        cut = max(right, wrong)
        if cut >= 0 and not line.startswith("# "):
            one, other = (side.replace("¶", "\n") for side in (line[:cut], line[cut + 4 :]))
            pairs.append(Pair(one, other, right > wrong, section, number))
        elif line.startswith("["):
            section = line.strip("[]")
    return pairs
