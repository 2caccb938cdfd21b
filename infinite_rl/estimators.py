"""What a sample says of a rate: estimates without bias, and intervals that hold it.

Intervals are those of 95 %. Pure functions, on numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .errors import UsageError

_Z = 1.959963984540054  # a normal variable is within so many deviations 95 % of the time
_RESAMPLES = 2_000
_AT_ONCE = 1_000_000  # numbers that a resampling holds at a time


class Interval(NamedTuple):
    """The two ends."""

    low: float
    high: float


def wilson(solved: int, attempts: int) -> Interval:
    """The 95 % confidence interval of a pass rate, Wilson's: (0, 1) without any attempt.

    With p = solved / n it is (p + z^2/2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2/n).
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of
    the American Statistical Association 22 (1927), 209-212.
    """
    if not attempts:
        return Interval(0.0, 1.0)
    share, squared = solved / attempts, _Z * _Z / attempts
    spread = _Z * math.sqrt(share * (1 - share) / attempts + squared / (4 * attempts))
    low = 0.0 if not solved else (share + squared / 2 - spread) / (1 + squared)
    high = 1.0 if solved == attempts else (share + squared / 2 + spread) / (1 + squared)
    return Interval(low, high)


def pass_at_k(attempts: int, solved: int, k: int) -> float:
    """The chance that one of k attempts passes, estimated from more of them without bias.

    It is 1 - C(n - c, k) / C(n, k): the share of the sets of k among the n attempts that hold one
    of the c that passed. M. Chen et al., Evaluating large language models trained on code,
    arXiv:2107.03374 (2021), equation 1.

    Raises:
        UsageError: k is not in 1..attempts, or `solved` not in 0..attempts.
    """
    if not 1 <= k <= attempts:
        raise UsageError(f"k must be from 1 to the {attempts} attempts, not {k}")
    if not 0 <= solved <= attempts:
        raise UsageError(f"of {attempts} attempts, {solved} cannot have passed")
    # Whole numbers, divided once at the end: products of floats lose digits where n is large.
    return 1 - math.comb(attempts - solved, k) / math.comb(attempts, k)


def bootstrap(values: Sequence[float], seed: int = 42) -> Interval:
    """The 95 % interval of the mean of `values`, one for each item: the percentile bootstrap's.

    Items are drawn anew with replacement, each with all that was sampled of it: answers to one
    question are alike, so that drawing single answers would give too narrow an interval. Values
    that are all alike say nothing of their spread; where these lie in [0, 1], they get Wilson's
    interval of as many attempts. B. Efron, Bootstrap methods: another look at the jackknife, Annals
    of Statistics 7 (1979), 1-26.

    Raises:
        UsageError: there are no values.
    """
    import numpy  # takes a tenth of a second, and the core needs none of it

    if not values:
        raise UsageError("there is nothing to draw from")
    given, count = numpy.asarray(values, dtype=float), len(values)
    if given.min() == given.max() and 0 <= given[0] <= 1:
        low, high = wilson(round(given[0] * count), count)
        return Interval(min(low, float(given[0])), max(high, float(given[0])))
    generator = numpy.random.default_rng(seed)
    rows = max(1, _AT_ONCE // count)
    means: list[float] = []
    while len(means) < _RESAMPLES:
        drawn = generator.integers(0, count, (min(rows, _RESAMPLES - len(means)), count))
        means.extend(given[drawn].mean(axis=1).tolist())
    low, high = numpy.percentile(means, [2.5, 97.5])
    return Interval(float(low), float(high))


def percentile(values: Sequence[int], share: float) -> int | None:
    """The smallest value that `share` of all values do not exceed (nearest rank); None of none."""
    rank = max(1, math.ceil(share * len(values)))
    return sorted(values)[rank - 1] if values else None
