"""When a call may begin: the limits, the retry policy, and a state machine told the time.

Nothing here waits, locks or looks at a clock.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import NoCompletion, ProviderError, ProviderUnavailable
from ..settings import check_range
from ..types import Completion, Usage
from .pace import AdaptiveConcurrency, AdaptiveRate, Clusters, TokenBucket

_MOST_IN_FLIGHT = 1000  # where no limit is set
_CHARS_PER_TOKEN = 4  # of English; an estimate until the provider has counted
_FIRST_ANSWER = 1000.0  # tokens that an answer is thought to have before the first
_NEVER = float("inf")
# A server that has just been started may need some seconds.
_UNREACHABLE_TRIES, _UNREACHABLE_S = 4, 5.0


@dataclass(frozen=True)
class Limits:
    """What may be asked of a provider; None where there is no limit.

    `rpm`: requests that begin in any 60 s, retries included. `tpm`: tokens, of prompts and answers,
    thoughts included: estimated when a call begins and set right when it ends, so that up to a
    call's tokens more can fall into 60 s. `max_concurrency`: requests in flight (None: 1,000).

    Raises:
        UsageError: a limit is less than 1.
    """

    rpm: int | None = None
    tpm: int | None = None
    max_concurrency: int | None = None

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            if limit is not None:
                check_range(name, limit, 1)


@dataclass(frozen=True)
class RetryPolicy:
    """How long to wait between the tries of one call, in seconds, and when to give up.

    Where the provider names a delay: that delay and up to a quarter more, but at most
    `first_wait_s` more. Else a random time up to a bound that starts at `first_wait_s` and doubles
    to `max_wait_s` ("full jitter"). No wait
    begins that would end more than `total_s` after the call's first try.

    `down_tries` failed tries in a row, of all calls, and they are made one at a time, with such
    waits between, until one succeeds. If none has `down_s` after the first failed, all calls end.

    `sleep(event, seconds)` waits until the time is over or the event is set; `clock` gives seconds;
    `random` a number in [0, 1). Tests pass their own.
    """

    first_wait_s: float = 1.0
    max_wait_s: float = 60.0
    total_s: float = 1800.0
    down_tries: int = 10
    down_s: float = 900.0
    sleep: Callable[[threading.Event, float], object] = threading.Event.wait
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random

    def wait_s(self, failures: int, retry_after: float | None) -> float:
        """The seconds to wait after the `failures`-th failed try (1 is the first)."""
        if retry_after is not None:
            return retry_after + self.random() * min(self.first_wait_s, retry_after / 4)
        doublings = min(failures - 1, 60)  # a larger power says nothing and would overflow
        return float(self.random() * min(self.max_wait_s, self.first_wait_s * 2.0**doublings))


class Traffic(NamedTuple):
    """A look at a gate: calls in flight, how many may be, calls that wait, pauses so far.

    `most` is how many may be in flight where nothing has slowed them, and `rpm` the pace that
    refusals have taught, None while there is none. `retries` counts the calls that were made again,
    by the kind of trouble (`ProviderUnavailable.kind`).
    """

    in_flight: int
    cap: int
    waiting: int
    pauses: int
    rpm: float | None
    most: int
    retries: Counter[str]

    @property
    def pace(self) -> str:
        """What refusals have slowed, and the option that overrides it; "" where nothing is."""
        slowed = []
        if self.rpm is not None:
            slowed.append(f"at most {self.rpm:.0f} calls a minute (--rpm overrides)")
        if self.cap < self.most:
            slowed.append(f"{self.cap} of {self.most} calls at once (--max_concurrency bounds)")
        return f"slowed by the provider to {' and '.join(slowed)}" if slowed else ""


class Call(NamedTuple):
    """A call that has begun, the `number`-th, with the tokens reserved for it."""

    number: int
    tokens: float


class Gate:
    """Decides when the next call may begin, from how the calls before it ended.

    - The set limits hold for every try. A set `rpm` takes the place of a learned rate.
    - The delay that a provider names to a call is that call's own.
    - At the very start, and after failures in a row, the calls in flight rise from 1 to the cap
      over `first_wait_s`, lest all come at once.
    - Clustered 429s and 503s halve the cap on calls in flight (`AdaptiveConcurrency`), and evidence
      of a rate limit teaches a pace (`AdaptiveRate`). Refusals by chance do neither.
    - After `down_tries` failures in a row one call at a time tries, as `RetryPolicy` says.
    - Where no call was ever answered, and the tries of `_UNREACHABLE_S` seconds met no server, all
      calls end.
    """

    def __init__(self, limits: Limits, policy: RetryPolicy) -> None:
        self._policy = policy
        self.in_flight = 0
        self.paused_until = float("-inf")
        self._concurrency = AdaptiveConcurrency(limits.max_concurrency or _MOST_IN_FLIGHT)
        self._requests = TokenBucket(limits.rpm or _NEVER)
        self._tokens = TokenBucket(limits.tpm or _NEVER)
        self._pace = AdaptiveRate()
        self._learns_rate = limits.rpm is None
        self._overloads = Clusters()
        self._answer_tokens = _FIRST_ANSWER
        self._calls = 0
        self._row = 0  # failures in a row
        self._row_began = 0.0
        self._probes_after = self._probes = 0
        self._reached = False  # whether a server has ever answered, whatever it said

    @property
    def cap(self) -> int:
        """How many calls may be in flight."""
        return self._concurrency.cap

    @property
    def most(self) -> int:
        """How many may be where nothing has slowed them."""
        return self._concurrency.most

    @property
    def pauses(self) -> int:
        """How often a rate limit has stopped all calls but one that tests it."""
        return self._pace.blocks

    @property
    def rpm(self) -> float | None:
        """The pace that refusals have taught."""
        return self._pace.rate and self._pace.rate * 60

    @property
    def probing(self) -> bool:
        """Whether one call at a time tries."""
        return self._row >= self._policy.down_tries

    def ready_at(self) -> float:
        """The time from which a call may begin; infinite where one must end before."""
        if self.in_flight >= (1 if self.probing else self.cap):
            return _NEVER
        ramp_s = self._policy.first_wait_s * self.in_flight / self.cap
        return max(
            self.paused_until + ramp_s,
            self._requests.ready_at(),
            self._tokens.ready_at(),
            self._pace.ready_at(),
        )

    def begin(self, now: float, prompt_chars: int) -> Call:
        """A call begins."""
        if not self._calls:
            self.paused_until = now  # only so that the first calls do not come all at once
        self._calls += 1
        self.in_flight += 1
        self._concurrency.begun(self.in_flight)
        call = Call(self._calls, prompt_chars / _CHARS_PER_TOKEN + self._answer_tokens)
        self._requests.take(now)
        self._tokens.take(now, call.tokens)
        self._pace.begun(call.number, now)
        return call

    def end(
        self, call: Call, now: float, outcome: Completion | ProviderError | None, tries: int
    ) -> float:
        """A call ends after so many tries, None if it broke; the wait before the next.

        The wait is 0 unless the outcome is `ProviderUnavailable`.
        """
        self.in_flight -= 1
        if isinstance(outcome, ProviderUnavailable):
            return self._failed(call, now, outcome, tries)
        if outcome is None:
            self._pace.failed(call.number, now)
        else:
            self._succeeded(call, now)
        if isinstance(outcome, Completion | NoCompletion):
            self._settle(call, outcome.usage)
        return 0.0

    def down_for_s(self, now: float) -> float | None:
        """For how long the provider has been down; None while there is hope."""
        down_s = now - self._row_began
        return down_s if self.probing and down_s >= self._policy.down_s else None

    def unreachable(self, now: float) -> bool:
        """Whether no server was ever met, in tries enough."""
        tried = self._row >= _UNREACHABLE_TRIES and now - self._row_began >= _UNREACHABLE_S
        return tried and not self._reached

    @property
    def tries_in_a_row(self) -> int:
        """Tries, of all calls, that have failed since the last success."""
        return self._row

    def _settle(self, call: Call, usage: Usage) -> None:
        answer = usage.output_tokens + usage.thinking_tokens
        if usage.input_tokens or answer:
            self._tokens.correct(usage.input_tokens + answer - call.tokens)
            self._answer_tokens += (answer - self._answer_tokens) / 8

    def _succeeded(self, call: Call, now: float) -> None:
        if self.probing:
            self.paused_until = now  # the others follow, not all at once
        self._row, self._reached = 0, True
        self._pace.answered(call.number, now)
        self._concurrency.succeeded()

    def _failed(self, call: Call, now: float, error: ProviderUnavailable, tries: int) -> float:
        self._reached |= error.kind != "unreachable"
        overloaded = False
        if self.probing:  # one call at a time says nothing about the rate or the load
            self._pace.failed(call.number, now)
        elif error.status == 429 and self._learns_rate:
            overloaded = self._pace.refused(
                call.number, now, error.retry_after, named=error.rate_limit
            )
        else:
            self._pace.failed(call.number, now)
            overloaded = error.status in (429, 503) and self._overloads.add(call.number)
        if overloaded:
            self._concurrency.overloaded(call.number, self._calls, self.in_flight)
        self._count(call, now)
        return self._policy.wait_s(tries, error.retry_after)

    def _count(self, call: Call, now: float) -> None:
        """Count a failure in the row, and put off the next try of all where they try in turn."""
        if not self._row:
            self._row_began = now
        self._row += 1
        if self._row == self._policy.down_tries:
            self._probes_after, self._probes = self._calls, 0
        if self.probing and (call.number > self._probes_after or not self._probes):
            self._probes += 1
            self.paused_until = max(
                self.paused_until, now + self._policy.wait_s(self._probes, None)
            )
