"""What to make: targets per family from weights, and the slots in which they are made. Pure."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from .errors import UnknownName, UsageError
from .types import Slot


def parse_weights(
    text: str | Sequence[float] | Mapping[str, float], families: Sequence[str]
) -> dict[str, float]:
    """Weights per family, normalised to a sum of 1.

    `text` is "0.5,0.5" or the numbers themselves, one for each family in the order of `families`,
    or a mapping by family, where those left out get 0.

    Raises:
        UsageError: another count, not numbers, a negative or infinite one, or all zero.
        UnknownName: the mapping names a family that is not there.
    """
    if isinstance(text, Mapping):
        for name in text:
            if name not in families:
                raise UnknownName("family", name, families)
        text = [text.get(name, 0.0) for name in families]
    parts = [part.strip() for part in text.split(",")] if isinstance(text, str) else list(text)
    wanted = f"task_dist needs {len(families)} weights ({', '.join(families)})"
    if len(parts) != len(families):
        raise UsageError(f"{wanted}, got {len(parts)}: {text!r}")
    try:
        values = [float(part) for part in parts]
    except (TypeError, ValueError):
        raise UsageError(f"{wanted}, and they must be numbers: {text!r}") from None
    if not all(math.isfinite(value) and value >= 0 for value in values):
        raise UsageError(f"{wanted}, and none may be negative, infinite or nan: {text!r}")
    if not any(values):
        raise UsageError(f"{wanted}, and at least one must be above 0: {text!r}")
    largest = max(values)  # divided out first, so that the sum cannot overflow
    total = sum(value / largest for value in values)
    return {name: value / largest / total for name, value in zip(families, values, strict=True)}


def split_total(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Whole targets that add up to `total`: each weight's share rounded down, and what is left over
    to the first family with a weight above 0."""
    # The tiny addend undoes float error in products such as 0.29 * 100 = 28.999999999999996.
    targets = {name: math.floor(total * weight + 1e-9) for name, weight in weights.items()}
    first = next(name for name, weight in weights.items() if weight > 0)
    targets[first] += total - sum(targets.values())
    return targets


def free_indices(filled: Collection[int]) -> Iterator[int]:
    """The indices of samples that hold no row yet, endless, lowest first."""
    return (index for index in itertools.count() if index not in filled)


def slot_seed(run_seed: int, slot: Slot) -> int:
    """The seed of one call, from 0 to 2**31 - 1: it follows from the run's seed and the slot."""
    digest = hashlib.sha256(f"{run_seed}/{slot}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
