"""How far apart calls begin: a pace that is set, and one that refusals teach. Told the time."""

from __future__ import annotations

from collections import OrderedDict

# Travel times differ: two calls that begin 60 s apart may reach the server closer together.
_TRAVEL_S = 0.5
_WINDOW_S = 60.0
_FEWEST = 50  # calls that a rate is measured over, should they take longer than the window
_BELOW = 0.97  # of what was accepted: where to go on after a refusal
_GROWTH = 0.001  # of the rate, a second
_LEAST, _AS_GOOD_AS_NONE = 1 / 60, 10_000.0  # calls a second


class Spacing:
    """At most so many units a minute, evenly spread.

    The units of all calls that begin in any 60 s, and in any 60 s as the server sees them where
    travel times differ by up to half a second, are at most `per_minute`, and those of one call
    more where a call is more than one unit. It is the virtual scheduling algorithm of ITU-T I.371
    ("leaky bucket"): constant memory, and no units saved up while nobody calls.
    """

    def __init__(self, per_minute: float, tolerance_s: float = 0.5) -> None:
        self.step_s = (_WINDOW_S + tolerance_s + _TRAVEL_S) / per_minute
        self._tolerance_s = tolerance_s
        self._due = float("-inf")

    def ready_at(self) -> float:
        """The time from which a call may begin."""
        return self._due - self._tolerance_s

    def take(self, now: float, units: float = 1.0) -> None:
        """A call of so many units begins."""
        self._due = max(self._due, now) + units * self.step_s

    def correct(self, units: float) -> None:
        """So many more units were taken than was said; fewer where it is negative."""
        self._due += units * self.step_s


class LearnedPace:
    """The rate that a provider's refusals (429) show it to allow; no limit before the first.

    A refusal sets it to 97 % of what was accepted, measured over the last minute or the last 50
    calls, whichever is longer, and the delay that the refusal names. Those that a burst of calls
    meets together count as one, which takes away half of the rate at the most. Each second with a
    success adds 0.1 %, times the square of the minutes since the last refusal from the first minute
    on, so that a wrong guess is mended soon.
    """

    def __init__(self) -> None:
        self.rate: float | None = None  # calls a second
        self._before_burst: float | None = None
        self._spacing = Spacing(1.0, tolerance_s=0.05)
        self._accepted: OrderedDict[int, float] = OrderedDict()  # when they began, by number
        self._first = float("inf")
        self._refused_at = self._grown_at = 0.0

    def ready_at(self) -> float:
        """The time from which a call may begin."""
        return self._spacing.ready_at() if self.rate else float("-inf")

    def begun(self, number: int, now: float) -> None:
        """A call begins; it counts as accepted unless it fails."""
        self._first = min(self._first, now)
        self._accepted[number] = now
        while len(self._accepted) > _FEWEST:
            oldest = next(iter(self._accepted))
            if self._accepted[oldest] > now - _WINDOW_S:
                break
            del self._accepted[oldest]
        if self.rate:
            self._spacing.take(now)

    def failed(self, number: int) -> None:
        """The call was not accepted."""
        self._accepted.pop(number, None)

    def refused(self, now: float, delay_s: float, *, of_a_new_burst: bool) -> None:
        """A refusal that named a delay, or 0."""
        if of_a_new_burst:
            self._before_burst = self.rate
        self._refused_at = self._grown_at = now
        since = min(now - _WINDOW_S, next(iter(self._accepted.values()), now))
        period_s = now - max(self._first, since) + delay_s
        measured = len(self._accepted) / period_s if period_s > 0 else 0.0
        if self._before_burst:
            measured = min(max(measured, self._before_burst / 2), self._before_burst)
        if measured:
            self._set(_BELOW * measured)

    def succeeded(self, now: float) -> None:
        """A call was answered."""
        if self.rate is None:
            return
        minutes = max(1.0, (now - self._refused_at) / 60)
        grown = self.rate * (1 + _GROWTH * min(1.0, now - self._grown_at) * minutes**2)
        self._grown_at = now
        self._set(grown)

    def _set(self, rate: float) -> None:
        self.rate = max(_LEAST, rate) if rate < _AS_GOOD_AS_NONE else None
        self._spacing.step_s = 1 / max(_LEAST, rate)
