"""The reward as a function: the same pairs, called in other ways, must earn the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..foreign_reward.calls import BATCH, FORK, GROWTH, MAIN, MANY, THREAD, THREADS
from ..targets import Target, Witness
from . import SAME

_COPIES = 8  # of the pairs, for concurrent threads


def witnesses(
    target: Target, pairs: Sequence[tuple[Mapping[str, Any], str]], threshold: float
) -> Iterator[Witness]:
    """Other ways to call the same pairs."""

    def same(kind: str, how: str, some: Sequence[Any] = pairs) -> Witness:
        return Witness(kind, SAME, some, threshold, how)

    yield same("order", MAIN)
    yield same("repeated", MAIN, [*pairs, *pairs])
    yield same("side effect", MAIN)
    if target.in_batches and not target.claims.batch:
        yield same("batch zero", BATCH, [*pairs, *pairs, *pairs])
        yield same("batch zero", BATCH, [(row, pairs[0][1]) for row, _ in pairs] + [pairs[0]] * 8)
        yield same("batch", BATCH)
        yield same("batch", BATCH, pairs[::-1])
        yield same("batch", BATCH, [pairs[0]] * 4)
        yield same("batch", BATCH, [(row, pairs[0][1]) for row, _ in pairs])
    yield same("thread raises", THREAD)
    yield same("thread", THREAD)
    yield same("threads", THREADS, list(pairs) * _COPIES)
    yield same("fork", FORK)
    if target.about.source:  # a server may write logs, and its speed is not its own
        yield same("many calls", MANY)
        if not target.claims.bounded:
            yield same("growth", GROWTH, pairs[:1])
