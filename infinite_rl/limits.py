"""Transport retry: the same call again while the provider has passing trouble."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from .errors import ProviderUnavailable
from .providers.provider import Provider
from .types import Completion

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RetryPolicy:
    """How long to wait between the tries of one call, in seconds.

    Where the provider names a delay: that delay and up to `first_wait_s` more, lest many threads
    return at one instant. Else a random time up to a bound that starts at `first_wait_s` and
    doubles to `max_wait_s` ("full jitter"). No wait begins that would end more than `total_s` after
    the call's begin.

    `sleep(stop, seconds)` waits until the time is over or the event is set; `clock` gives seconds;
    `random` a number in [0, 1). Tests pass their own.
    """

    first_wait_s: float = 1.0
    max_wait_s: float = 60.0
    total_s: float = 600.0
    sleep: Callable[[threading.Event, float], object] = threading.Event.wait
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random

    def wait_s(self, failures: int, retry_after: float | None) -> float:
        """The seconds to wait after the `failures`-th failed try (1 is the first)."""
        if retry_after is not None:
            return retry_after + self.random() * self.first_wait_s
        doublings = min(failures - 1, 60)  # a larger power says nothing and would overflow
        return float(self.random() * min(self.max_wait_s, self.first_wait_s * 2.0**doublings))


class RetryingProvider:
    """A provider that makes a call again while `provider` raises `ProviderUnavailable`.

    Shared by all threads: a delay that the provider names to one of them holds for all, so that the
    others wait as well and burn no calls. `stop` ends every wait. `on_retry(error, wait_s)` is told
    of each call that will be made again, before the wait, in the thread that waits.
    """

    def __init__(
        self,
        provider: Provider,
        policy: RetryPolicy | None = None,
        *,
        stop: threading.Event | None = None,
        on_retry: Callable[[ProviderUnavailable, float], None] | None = None,
    ) -> None:
        self._provider = provider
        self._policy = policy or RetryPolicy()
        self._stop = stop or threading.Event()
        self._on_retry = on_retry
        self._lock = threading.Lock()
        self._closed_until = float("-inf")

    @property
    def model(self) -> str:
        return self._provider.model

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        """Answer as the provider does, after as many tries as it takes.

        Raises:
            ProviderUnavailable: the policy's time is up or `stop` is set; the message holds the
                last trouble and the number of tries.
            ProviderRefused, NoCompletion: as the provider raised it, at once.
        """
        deadline = self._policy.clock() + self._policy.total_s
        failures = 0
        while True:
            self._wait_for_the_others(deadline)
            try:
                return self._provider.complete(system, prompt, seed)
            except ProviderUnavailable as error:
                failures += 1
                self._wait_after(error, failures, deadline)

    def _wait_for_the_others(self, deadline: float) -> None:
        """Sit out what is left of a delay that another thread was told."""
        with self._lock:
            left_s = self._closed_until - self._policy.clock()
        if left_s > 0:
            spread_s = self._policy.random() * self._policy.first_wait_s
            trouble = ProviderUnavailable(
                f"the provider asked for a pause, {left_s:.0f} s are left of it", retry_after=left_s
            )
            self._wait(left_s + spread_s, deadline, trouble, 0)

    def _wait_after(self, error: ProviderUnavailable, failures: int, deadline: float) -> None:
        wait_s = self._policy.wait_s(failures, error.retry_after)
        if error.retry_after is not None:
            with self._lock:
                until = self._policy.clock() + error.retry_after
                self._closed_until = max(self._closed_until, until)
        self._wait(wait_s, deadline, error, failures)

    def _wait(
        self, wait_s: float, deadline: float, trouble: ProviderUnavailable, failures: int
    ) -> None:
        """Wait, unless that would end too late; raise the trouble if it would, or when stopped."""
        tries = "1 try" if failures == 1 else f"{failures} tries"
        if self._policy.clock() + wait_s > deadline:
            late = f"gave up after {tries}: the limit is {self._policy.total_s:g} s"
            raise ProviderUnavailable(f"{trouble} ({late})", retry_after=trouble.retry_after)
        if not self._stop.is_set():
            if failures:
                self._tell(trouble, wait_s, tries)
            self._policy.sleep(self._stop, wait_s)
        if self._stop.is_set():
            raise ProviderUnavailable(f"{trouble} (stopped after {tries})")

    def _tell(self, error: ProviderUnavailable, wait_s: float, tries: str) -> None:
        if self._on_retry is not None:
            self._on_retry(error, wait_s)
        logger.info("%s: %s failed, again in %.1f s: %s", self.model, tries, wait_s, error)
