"""Which rows a step takes, and how its sequences are cut into forward passes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from ..errors import UsageError


def rows_of_step(count: int, size: int, step: int, seed: object) -> list[int]:
    """The places of the rows that step number `step`, from 0, takes of `count` rows.

    Every row is taken once before one is taken again: each epoch has an order of its own, which
    follows from the seed. A batch may reach into the next epoch; one larger than an epoch reaches
    through several. Nothing needs to be remembered to go on at a step.
    """
    if count < 1:
        raise UsageError("there are no rows")
    places: list[int] = []
    at, end = step * size, (step + 1) * size
    while at < end:
        epoch, first = divmod(at, count)
        order = list(range(count))
        Random(f"{seed}/{epoch}").shuffle(order)
        taken = order[first : first + end - at]
        places += taken
        at += len(taken)
    return places


def microbatches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Places of sequences, cut so that no part has more than `budget` tokens, padding included.

    Sequences of like length come together, the longest first, so that little is padding.

    Raises:
        UsageError: one sequence alone is longer than the budget.
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])  # stable: reproducible
    parts: list[list[int]] = []
    for place in order:
        if lengths[place] > budget:
            raise UsageError(f"a sequence has {lengths[place]} tokens, but a pass at most {budget}")
        if parts and lengths[parts[-1][0]] * (len(parts[-1]) + 1) <= budget:
            parts[-1].append(place)
        else:
            parts.append([place])
    return parts
