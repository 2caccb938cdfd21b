"""The rows of each step, and the split of its sequences into forward passes."""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from random import Random

from ...errors import UsageError

# Tokens in the key-value cache for each token of a training pass, which keeps 34 bytes per layer
# and width for the gradient (Korthikanti et al., arXiv:2205.05198, section 4.1, 16 bits); a key and
# a value take at most 4.
CACHED_TOKENS = 8


def rows_of_step(count: int, size: int, step: int, seed: object) -> list[int]:
    """The indices of the rows of step number `step`, from 0, among `count` rows.

    Every row comes once an epoch, shuffled by the seed and the epoch, or in order if the seed is
    None. A batch may span two epochs, or several if it is larger than one. No state is needed to
    resume at a step.
    """
    if count < 1:
        raise UsageError("there are no rows")
    indices: list[int] = []
    position, end = step * size, (step + 1) * size
    while position < end:
        epoch, first = divmod(position, count)
        part = epoch_order(count, epoch, seed)[first : first + end - position]
        indices += part
        position += len(part)
    return indices


def epoch_order(count: int, epoch: int, seed: object) -> Sequence[int]:
    """The indices of `count` rows in the order of an epoch, from 0."""
    return range(count) if seed is None else _order(count, f"{seed}/{epoch}")


@lru_cache(maxsize=8)  # the epochs of a run's queues, for all steps of an epoch
def _order(count: int, seed: str) -> Sequence[int]:
    order = array("Q", range(count))  # eight bytes a row
    Random(seed).shuffle(order)
    return order


def microbatches(lengths: Sequence[Sequence[int]], budget: int) -> list[list[int]]:
    """Indices of sequences, split so that no part has more than `budget` tokens with padding.

    A sequence has the lengths of its pieces, for example prompt and response, which are padded
    separately. Sequences of similar length go together, the longest first, to limit padding.

    Raises:
        UsageError: one sequence alone is longer than the budget.
    """
    order = sorted(range(len(lengths)), key=lambda index: -sum(lengths[index]))  # stable
    parts: list[list[int]] = []
    padded: list[int] = []
    for index in order:
        length = sum(lengths[index])
        if length > budget:
            raise UsageError(f"a sequence has {length} tokens, but a pass at most {budget}")
        wider = [max(pair) for pair in zip(padded or lengths[index], lengths[index], strict=True)]
        if parts and sum(wider) * (len(parts[-1]) + 1) <= budget:
            parts[-1].append(index)
            padded = wider
        else:
            parts.append([index])
            padded = list(lengths[index])
    return parts
