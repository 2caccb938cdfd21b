"""Waits that a signal always ends.

Python hands a signal to the main thread when that next looks. One that comes in the instant before
the thread falls asleep is not seen before it wakes. So it wakes now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

_LOOK_S = 0.5


def interruptible_get(queue: SimpleQueue[T], meanwhile: Callable[[], object] = lambda: None) -> T:
    """The next item of a queue; `meanwhile` is called now and then. Raises as a signal handler."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=_LOOK_S)
        meanwhile()


def interruptible_result(future: Future[T]) -> T:
    """The result of a future. Raises what the future, or a signal handler, raises."""
    while not future.done():
        with suppress(NotYet):
            future.exception(_LOOK_S)
    return future.result()
