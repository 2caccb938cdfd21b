"""Which of the rows shown ask nearly the same: something to look at, not a verdict."""

from __future__ import annotations

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations

_WORDS, _KEPT, _COMMON, _SHOWN = 3, 64, 6, 20
_READ = 20_000  # characters of a prompt
_LEAST = 0.3  # a likeness below is none


def nearest(prompts: Sequence[str]) -> list[tuple[int, int, float]]:
    """The pairs of prompts that are most alike, with their likeness in (0, 1], the best first.

    The likeness is the share of runs of three words that both have among those that either has
    (Jaccard), estimated by the 64 smallest hashes of each (Broder 1997). Numbers are words like
    others. Of prompts that share a run with more than five others, only neighbours are compared, so
    that the work stays in proportion to the rows.
    """
    sketches = [_sketch(prompt) for prompt in prompts]
    holders: defaultdict[int, list[int]] = defaultdict(list)
    for number, sketch in enumerate(sketches):
        for run in sketch:
            holders[run].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in holders.values():
        few = len(numbers) <= _COMMON
        shared.update(combinations(numbers, 2) if few else zip(numbers, numbers[1:], strict=False))
    likely = [pair for pair, _ in shared.most_common(50 * _SHOWN)]
    found = [(a, b, round(_likeness(sketches[a], sketches[b]), 3)) for a, b in likely]
    alike = [pair for pair in found if pair[2] >= _LEAST]
    return sorted(alike, key=lambda pair: (-pair[2], pair[:2]))[:_SHOWN]


def _sketch(prompt: str) -> frozenset[int]:
    words = re.findall(r"\w+|[^\w\s]", prompt[:_READ].casefold())
    runs = (" ".join(words[i : i + _WORDS]) for i in range(max(1, len(words) - _WORDS + 1)))
    hashes = {zlib.crc32(run.encode("utf-8", "surrogatepass")) for run in runs} if words else set()
    return frozenset(sorted(hashes)[:_KEPT])


def _likeness(one: frozenset[int], other: frozenset[int]) -> float:
    smallest = sorted(one | other)[:_KEPT]
    return sum(run in one and run in other for run in smallest) / len(smallest)
