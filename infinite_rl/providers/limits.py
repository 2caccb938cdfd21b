"""Calls within limits: each waits for its turn, and is made again while trouble passes."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from ..errors import ProviderError, ProviderUnavailable, Stopped
from ..types import Completion
from .gate import Call, Gate, Limits, RetryPolicy, Traffic
from .provider import Provider

__all__ = ["LimitedProvider", "Limits", "RetryPolicy", "Traffic"]

logger = logging.getLogger(__name__)

_POLL_S = 0.05  # the longest that a stop goes unnoticed
_STOPPED = "stopped"
_NEVER = float("inf")


@dataclass(order=True)
class _Turn:
    """One call's place in line: the older call goes first, also when it has to come again."""

    number: int
    prompt_chars: int = field(compare=False)
    tries: int = field(default=0, compare=False)
    deadline: float = field(default=0.0, compare=False)  # set at the first try
    call: Call | None = field(default=None, compare=False)  # while it is in flight
    error: ProviderUnavailable | None = field(default=None, compare=False)  # of the last try
    ended: str = field(default="", compare=False)  # why it will not be made any more
    woken: threading.Event = field(default_factory=threading.Event, compare=False)


class LimitedProvider:
    """A provider that is asked within `limits`, and again while it raises `ProviderUnavailable`.

    Shared by all threads, which wait in one line: for the set limits, for a learned pace, and for
    fewer calls in flight where the provider is overloaded (see `Gate`). A call that failed waits by
    itself before it joins the line again. Waiting in line costs a call none of its time; only
    `policy` bounds its tries. `stop` ends every wait.
    `on_retry(error, wait_s)` is told of each call that will be made again, before the wait, in the
    thread that waits.
    """

    def __init__(
        self,
        provider: Provider,
        policy: RetryPolicy | None = None,
        *,
        limits: Limits | None = None,
        stop: threading.Event | None = None,
        on_retry: Callable[[ProviderUnavailable, float], None] | None = None,
    ) -> None:
        self._provider = provider
        self._policy = policy or RetryPolicy()
        self._gate = Gate(limits or Limits(), self._policy)
        self._stop = stop or threading.Event()
        self._on_retry = on_retry
        self._lock = threading.Lock()
        self._numbers = 0
        self._retries: Counter[str] = Counter()
        self._line: list[_Turn] = []  # a heap: they may begin when the gate opens
        self._later: list[tuple[float, _Turn]] = []  # a heap: they join the line at that time
        self._keeper: _Turn | None = None  # its thread, of those that wait, looks at the clock
        self._looks_at = 0.0

    @property
    def model(self) -> str:
        """The model's name, as the provider has it."""
        return self._provider.model

    @property
    def traffic(self) -> Traffic:
        """A look at the gate, and at who waits before it."""
        with self._lock:
            gate, waiting = self._gate, len(self._line) + len(self._later)
            return Traffic(
                gate.in_flight,
                gate.cap,
                waiting,
                gate.pauses,
                gate.rpm,
                gate.most,
                self._retries.copy(),
            )

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        """Answer as the provider does, after as many tries as it takes.

        Raises:
            ProviderUnavailable: the policy's time is up, the provider is down, cannot be reached
                or wants a longer pause than the policy's time, or `stop` is set (`Stopped`); the
                message says which, after how many tries, and what the last trouble was.
            ProviderRefused, NoCompletion: as the provider raised it, at once.
        """
        turn = self._join(len(system) + len(prompt))
        while True:
            self._wait(turn)
            outcome: Completion | ProviderError
            try:
                outcome = self._provider.complete(system, prompt, seed)
            except ProviderError as error:
                outcome = error
            except BaseException:  # whatever it is, the call is no longer in flight
                self._end(turn, None)
                raise
            wait_s = self._end(turn, outcome)
            if isinstance(outcome, Completion):
                return outcome
            if not isinstance(outcome, ProviderUnavailable):
                raise outcome
            self._come_again(turn, outcome, wait_s)

    def _join(self, prompt_chars: int) -> _Turn:
        """Put a new call at the end of the line."""
        with self._lock:
            self._numbers += 1
            turn = _Turn(self._numbers, prompt_chars)
            heappush(self._line, turn)
            return turn

    def _wait(self, turn: _Turn) -> None:
        """Wait until the call has begun; raise what is the matter if it will not."""
        while (wait_s := self._look(turn)) > 0:
            try:
                self._policy.sleep(turn.woken, wait_s)
            except BaseException:  # such as Ctrl-C: the place in line becomes free
                self._withdraw(turn)
                raise
        if turn.ended == _STOPPED:
            raise Stopped(
                f"{turn.error} (stopped after {_tries(turn.tries)})"
                if turn.error
                else "stopped before it was tried"
            )
        if turn.ended:
            raise ProviderUnavailable(turn.ended)

    def _look(self, turn: _Turn) -> float:
        """The seconds to sleep before the next look: 0 where the wait is over.

        Of the threads that wait, one looks at the clock and at `stop`; it and those whose calls end
        wake the others.
        """
        with self._lock:
            now = self._policy.clock()
            upcoming = self._dispatch(now)
            if turn.call or turn.ended:
                self._hand_on(turn)
                return 0.0
            turn.woken.clear()
            self._keeper = self._keeper or turn
            if self._keeper is not turn:
                return threading.TIMEOUT_MAX
            self._looks_at = min(now + _POLL_S, upcoming)
            return max(1e-6, self._looks_at - now)

    def _dispatch(self, now: float) -> float:
        """Begin all calls that may begin now; the time at which the next one may, if none ends."""
        if self._stop.is_set():
            self._end_all(_STOPPED)
        while self._later and self._later[0][0] <= now:
            heappush(self._line, heappop(self._later)[1])
        while self._line and (opens := self._gate.ready_at()) <= now:
            turn = heappop(self._line)
            if not turn.tries:
                turn.deadline = now + self._policy.total_s
            turn.tries += 1
            turn.call = self._gate.begin(now, turn.prompt_chars)
            turn.woken.set()
        upcoming = min(
            opens if self._line else _NEVER, self._later[0][0] if self._later else _NEVER
        )
        if self._keeper and upcoming < self._looks_at:
            self._keeper.woken.set()
        return upcoming

    def _end(self, turn: _Turn, outcome: Completion | ProviderError | None) -> float:
        """The call is over; the wait before it may be made again."""
        with self._lock:
            now, gate = self._policy.clock(), self._gate
            assert turn.call is not None
            wait_s = gate.end(turn.call, now, outcome, turn.tries)
            turn.call = None
            if isinstance(outcome, ProviderUnavailable):
                turn.error = outcome
                if gate.unreachable(now):
                    turn.ended = self._unreachable(outcome)
                    self._end_all(turn.ended)
                elif down_s := gate.down_for_s(now):
                    turn.ended = self._down(down_s, outcome)
                    self._end_all(turn.ended)
            self._dispatch(now)
            return wait_s

    def _come_again(self, turn: _Turn, error: ProviderUnavailable, wait_s: float) -> None:
        """Join the line again after a wait, unless that would be too late."""
        tries, now = _tries(turn.tries), self._policy.clock()
        if turn.ended:
            return
        if now + wait_s > turn.deadline:
            raise ProviderUnavailable(
                f"{error} (gave up after {tries}: the limit is {self._policy.total_s:g} s)",
                retry_after=error.retry_after,
                status=error.status,
            )
        if not self._stop.is_set():
            if self._on_retry is not None:
                self._on_retry(error, wait_s)
            logger.info("%s: %s failed, again in %.1f s: %s", self.model, tries, wait_s, error)
        with self._lock:
            self._retries[error.kind] += 1
            heappush(self._later, (now + wait_s, turn))

    def _end_all(self, why: str) -> None:
        """End every call that waits."""
        for turn in [*self._line, *(turn for _, turn in self._later)]:
            turn.ended = why
            turn.woken.set()
        self._line, self._later = [], []

    def _hand_on(self, turn: _Turn) -> None:
        """Let another thread look at the clock, if this one did, or if it was woken to do so."""
        if self._keeper is turn or self._keeper is None:
            self._keeper = None
            for other in [*self._line[:1], *(turn for _, turn in self._later[:1])]:
                other.woken.set()

    def _withdraw(self, turn: _Turn) -> None:
        """Forget a turn whose thread has something else to do."""
        with self._lock:
            if turn.call:
                self._gate.end(turn.call, self._policy.clock(), None, turn.tries)
            self._line = [other for other in self._line if other is not turn]
            self._later = [(at, other) for at, other in self._later if other is not turn]
            heapify(self._line)
            heapify(self._later)
            self._hand_on(turn)

    def _unreachable(self, last: ProviderUnavailable) -> str:
        return (
            f"{last}: {self._gate.tries_in_a_row} tries, and no call was ever answered. Look at "
            "the base URL, the network and the proxy, then run the same command again"
        )

    def _down(self, down_s: float, last: ProviderUnavailable) -> str:
        return (
            f"{self.model} seems to be down: {self._gate.tries_in_a_row} tries in a row failed "
            f"within {down_s:.0f} s, the last as: {last}. Look at the provider's status page and "
            "at your quota, then run the same command again"
        )


def _tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"
