"""Which rows a step takes, and how its sequences are cut into forward passes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from random import Random

from ...errors import UsageError


def rows_of_step(count: int, size: int, step: int, seed: object) -> list[int]:
    """The places of the rows that step number `step`, from 0, takes of `count` rows.

    Every row is taken once before one is taken again: each epoch has an order of its own, which
    follows from the seed, or that of the rows where it is None. A batch may reach into the next
    epoch; one larger than an epoch reaches through several. Nothing needs to be remembered to go on
    at a step.
    """
    if count < 1:
        raise UsageError("there are no rows")
    places: list[int] = []
    at, end = step * size, (step + 1) * size
    while at < end:
        epoch, first = divmod(at, count)
        taken = epoch_order(count, epoch, seed)[first : first + end - at]
        places += taken
        at += len(taken)
    return places


def epoch_order(count: int, epoch: int, seed: object) -> Sequence[int]:
    """The places of `count` rows in the order of an epoch, from 0: by the seed, or as they are
    where it is None."""
    return range(count) if seed is None else _order(count, f"{seed}/{epoch}")


@lru_cache(maxsize=8)  # the epochs of a run's schedules, which all of an epoch's steps ask for
def _order(count: int, seed: str) -> Sequence[int]:
    order = array("Q", range(count))  # eight bytes a row
    Random(seed).shuffle(order)
    return order


def microbatches(lengths: Sequence[Sequence[int]], budget: int) -> list[list[int]]:
    """Places of sequences, cut so that no part has more than `budget` tokens, padding included.

    A sequence has the lengths of its pieces, say prompt and answer, which are padded each by
    itself. Sequences of like length come together, the longest first, so that little is padding.

    Raises:
        UsageError: one sequence alone is longer than the budget.
    """
    order = sorted(range(len(lengths)), key=lambda place: -sum(lengths[place]))  # stable
    parts: list[list[int]] = []
    padded: list[int] = []
    for place in order:
        length = sum(lengths[place])
        if length > budget:
            raise UsageError(f"a sequence has {length} tokens, but a pass at most {budget}")
        wider = [max(pair) for pair in zip(padded or lengths[place], lengths[place], strict=True)]
        if parts and sum(wider) * (len(parts[-1]) + 1) <= budget:
            parts[-1].append(place)
            padded = wider
        else:
            parts.append([place])
            padded = list(lengths[place])
    return parts
