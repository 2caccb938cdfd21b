"""How fast calls may begin: a set rate, a learned rate, a learned concurrency. Told the time."""

from __future__ import annotations

import math
from collections import OrderedDict, deque

# Travel times differ: two calls that begin 60 s apart may reach the server closer together.
_TRAVEL_S = 0.5
_WINDOW_S = 60.0

_STRETCH, _CLUSTER = 10, 8  # refusals among so many calls in a row that no chance explains
_BELOW = 0.97  # of what a limit let through: the rate to hold
_HOLD_S, _CREEP_S, _DOUBLE_S = 64.0, 14.0, 4.5  # at the rate, a little above it, and to twice it
_CREEP = 0.004  # of the rate, a second
_EPOCH_S, _EPOCH_CALLS = 15.0, 40  # over which a share of refusals is measured
_WINDOW_BLOCK_S = 3.0  # a block that lasts longer is a quota's, not that of too many at once
_FEWEST = 5  # calls let through that tell a rate
_LEAST = 1 / 60  # calls a second
_NEVER = float("inf")


class TokenBucket:
    """At most n units a minute, evenly spread.

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


class Clusters:
    """Whether refusals cluster: 8 of 10 calls that began one after another were refused.

    Where each call is refused by chance, one time in ten, this happens once in millions of calls.
    """

    def __init__(self) -> None:
        self._refused: deque[int] = deque(maxlen=200)

    def add(self, number: int) -> bool:
        """The `number`-th call was refused: whether it ends a cluster."""
        self._refused.append(number)
        return sum(number - _STRETCH < each <= number for each in self._refused) >= _CLUSTER


class AdaptiveConcurrency:
    """How many calls may be in flight: additive increase, multiplicative decrease.

    An overload halves the cap, once a burst: calls that began before the last halving do not count.
    A full window of successes adds one, up to `most`.
    """

    def __init__(self, most: int) -> None:
        self.most = self.cap = most
        self._peak = 0  # in flight, since the last halving
        self._halved_at = 0  # the last call begun before the last halving
        self._successes = 0  # since the cap last changed

    def begun(self, in_flight: int) -> None:
        """So many are in flight, with the call that begins."""
        self._peak = max(self._peak, in_flight)

    def succeeded(self) -> None:
        """A call was answered."""
        self._successes += 1
        if self.cap < self.most and self._successes >= self.cap:
            self.cap += 1
            self._successes = 0

    def overloaded(self, number: int, calls: int, in_flight: int) -> None:
        """The `number`-th of so many calls was refused for the load."""
        if number > self._halved_at:
            self.cap = max(1, min(self.cap, self._peak) // 2)
            self._halved_at, self._successes, self._peak = calls, 0, in_flight


class AdaptiveRate:
    """The rate that refusals (429) show a provider to allow; no limit before the first evidence.

    A single 429 is no evidence: providers that share their capacity refuse a share of all calls by
    chance, and no slower pace makes them answer. Evidence is a 429 that names a quota per minute, a
    cluster of 429s that lasts, or a share of 429s that a slower pace cures:

    - Block: after a named 429 or a cluster, one call at a time tests until one is answered. Then
      the rate is 97 % of what was let through in the minute before.
    - Trial: where a share of calls is refused, they are slowed to what is let through. If the share
      halves at least, the slower pace stays; else the share is the background, and the pace of
      before comes back.
    - Probe: a learned rate is held for most of a minute, then creeps past what was let through, and
      then doubles every 6 s until refusals beyond the background take it back to what was held, or
      it slows nothing. So a limit of 30 a minute or more that rises is found within two minutes.
    """

    def __init__(self) -> None:
        self.rate: float | None = None  # calls a second
        self.blocks = 0
        self._spacing = TokenBucket(1.0, tolerance_s=0.05)
        self._clusters = Clusters()
        self._let_through: OrderedDict[int, float] = OrderedDict()  # when they began, by number
        self._calls = 0
        self._held = 0.0  # the rate that is held between probes
        self._since_s = 0.0  # of the level: a rate that is held, tried or probed, or none
        self._level_call = 0  # the last call begun before it
        self._refused = 0  # of the calls since
        self._background = (0.0, 0.0)  # refused, of calls, at levels that are no evidence
        self._trial: tuple[float | None, float] | None = None  # the rate before it, and the share
        self._next_trial_s = 0.0
        self._trial_gap_s = 60.0
        self._probing = False
        self._blocked_s: float | None = None  # since when
        self._block_call = 0  # the last call begun before the last block
        self._block_passed = 0  # calls let through before it, in a minute or since the last one
        self._unblocked_s = _NEVER
        self._named = False
        self._test = 0  # the call that tests, while it is in flight
        self._test_s = self._test_wait_s = 0.0

    def ready_at(self) -> float:
        """The time from which a call may begin."""
        if self._blocked_s is not None:
            return _NEVER if self._test else self._test_s
        return self._spacing.ready_at() if self.rate else float("-inf")

    def begun(self, number: int, now: float) -> None:
        """A call begins; it counts as let through unless it fails."""
        if not self._calls:
            self._unblocked_s = self._since_s = now
        self._calls = number
        self._let_through[number] = now
        while next(iter(self._let_through.values())) < now - _WINDOW_S:
            self._let_through.popitem(last=False)
        if self._blocked_s is not None:
            self._test = number
        if self.rate:
            self._spacing.take(now)

    def answered(self, number: int, now: float) -> None:
        """A call was answered, whatever the answer."""
        if self._blocked_s is not None and number > self._block_call:
            self._unblock(now)
        self._grow(now)
        self._judge(now)

    def failed(self, number: int, now: float) -> None:
        """A call was not let through, for another reason than its rate."""
        self._let_through.pop(number, None)
        if number == self._test:
            self._test = 0
            self._wait_for_test(now, None)

    def refused(self, number: int, now: float, delay_s: float | None, *, named: bool) -> bool:
        """A 429, with the delay that it named; whether it is the first evidence of a cluster."""
        self.failed(number, now)
        if self._blocked_s is not None:
            if number > self._block_call:
                self._wait_for_test(now, delay_s)
                self._named |= named
            return False
        clustered = self._clusters.add(number)
        if number <= self._block_call:
            return False
        self._refused += number > self._level_call
        beyond = self._probing and self._refused > self._expected(self._calls - self._level_call)
        if named or beyond:
            self._block(now, delay_s, named=True)
        elif clustered:
            self._block(now, None, named=False)
        else:
            self._judge(now)
        return self.rate is None and clustered and not named

    # Blocks

    def _block(self, now: float, delay_s: float | None, *, named: bool) -> None:
        self.blocks += 1
        self._blocked_s, self._block_call, self._named = now, self._calls, named
        window_s = _WINDOW_S if named else min(_WINDOW_S, now - self._unblocked_s)
        self._block_passed = self._passed(now, window_s)
        self._test, self._test_wait_s = 0, 0.0
        self._wait_for_test(now, delay_s)

    def _wait_for_test(self, now: float, delay_s: float | None) -> None:
        least = min(4.0, max(0.25, 1.5 / (self._held or _NEVER)))
        self._test, self._test_wait_s = 0, min(8.0, max(least, 2 * self._test_wait_s))
        self._test_s = now + (self._test_wait_s if delay_s is None else min(delay_s, 30.0))

    def _unblock(self, now: float) -> None:
        assert self._blocked_s is not None
        began_s, self._blocked_s, self._test = self._blocked_s, None, 0
        cycle_s, self._unblocked_s = now - self._unblocked_s, now
        calls, rate = self._block_passed, self._block_passed / _WINDOW_S
        if not self._named and now - began_s > _WINDOW_BLOCK_S:
            rate = calls / min(_WINDOW_S, cycle_s)
        elif not self._named:
            if self.rate is None:  # too many at once: their number is cut first
                return
            calls = self._passed(now, now - self._since_s)
            rate = calls / max(1.0, began_s - self._since_s)
        if calls >= _FEWEST:
            self._met(_BELOW * rate, now)
        elif self.rate:
            self._met(self._held / 2, now)

    def _met(self, rate: float, now: float) -> None:
        """A limit was met: hold what lies below it."""
        if self.rate and self._probing:
            risen = rate > 1.5 * self._held
            rate = rate if risen else max(self._held, min(rate, 1.03 * self._held))
        elif self.rate:
            rate = min(max(rate, self._held / 2), 0.98 * self._held)
        self._trial = None
        self._hold(rate, now)

    # Levels

    def _level(self, rate: float | None, now: float, *, probing: bool = False) -> None:
        self._since_s, self._level_call, self._refused = now, self._calls, 0
        self._probing = probing
        self._set(rate)

    def _hold(self, rate: float, now: float) -> None:
        self._held = max(_LEAST, rate)
        self._level(self._held, now)
        self._spacing.take(now)  # what was met is still full: begin a call's time later

    def _set(self, rate: float | None) -> None:
        self.rate = rate
        if rate:
            self._spacing.step_s = 1 / rate

    def _passed(self, now: float, period_s: float) -> int:
        """The calls let through that began in the last so many seconds."""
        return sum(at > now - period_s for at in self._let_through.values())

    def _grow(self, now: float) -> None:
        """Probe, when the rate was held for long enough."""
        if self.rate is None or self._trial or self._blocked_s is not None:
            return
        # Under 30 a minute all takes longer, lest probes make up a large share of the calls.
        held_s = (now - self._since_s) / max(1.0, 0.5 / self._held)
        if not self._probing:
            if held_s > _HOLD_S:
                self._level(self.rate, now, probing=True)
            return
        over_s = held_s - _CREEP_S
        factor = 1 + _CREEP * min(held_s, _CREEP_S)
        self._set(self._held * factor * 2 ** (max(0.0, over_s) / _DOUBLE_S))
        if over_s > _DOUBLE_S and self.rate > 2 * self._passed(now, 5.0) / 5.0 + 1.0:
            self._level(None, now)  # it slows nothing

    def _learn_background(self) -> None:
        refused, calls = self._background
        self._background = (
            refused / 2 + self._refused,
            calls / 2 + self._calls - self._level_call,
        )

    def _expected(self, calls: int) -> float:
        """The most refusals that the background explains, of so many calls."""
        refused, of = self._background
        mean = calls * min(0.15, refused / of) if of else 0.0
        return mean + 2.5 * math.sqrt(mean)

    def _judge(self, now: float) -> None:
        """Whether the refusals of this level are evidence of a limit."""
        calls, lasted_s = self._calls - self._level_call, now - self._since_s
        if self._blocked_s is not None or self._probing:
            return
        if lasted_s < _EPOCH_S or calls < _EPOCH_CALLS:
            return
        passed = self._passed(now, lasted_s) / lasted_s
        if self._trial:
            before, share = self._trial
            self._trial = None
            if self._refused > 1.5 * share * calls + 3:  # it was not slow enough
                self._trial = (before, self._refused / calls)
                self._hold(_BELOW * passed, now)
            elif self._refused > share / 2 * calls:  # it cures nothing
                self._learn_background()
                self._next_trial_s = now + self._trial_gap_s
                self._trial_gap_s *= 2
                self._held = before or 0.0
                self._level(before, now)
            else:
                self._level(self.rate, now)
        elif self._refused > max(2.0, 0.01 * calls) + self._expected(calls):
            if now >= self._next_trial_s:
                self._trial = (self.rate, self._refused / calls)
                self._hold(_BELOW * passed, now)
            elif self.rate is None:
                self._level(None, now)
        elif self.rate is None:
            self._learn_background()
            self._level(None, now)
