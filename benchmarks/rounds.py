"""A figure that was measured in several rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable


class Median(float):
    """The median of rounds; `low` and `high` are the lowest and the highest round."""

    low: float
    high: float

    def __new__(cls, rounds: Iterable[float]) -> Median:
        values = sorted(rounds)
        median = super().__new__(cls, statistics.median(values))
        median.low, median.high = values[0], values[-1]
        return median

    def __mul__(self, factor: float) -> Median:
        return self._each(lambda value: value * factor)

    __rmul__ = __mul__

    def __rtruediv__(self, count: float) -> Median:
        return self._each(lambda value: count / value)

    def __reduce__(self) -> tuple[type[Median], tuple[tuple[float, ...]]]:
        return Median, ((self.low, float(self), self.high),)

    def _each(self, change: Callable[[float], float]) -> Median:
        return Median(change(value) for value in (self.low, float(self), self.high))
