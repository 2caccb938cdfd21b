"""A provider with scripted replies, for tests, ours and the users'."""

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from ..errors import ProviderRefused, UsageError
from ..types import Completion

Reply: TypeAlias = "str | Completion | Exception"


class Call(NamedTuple):
    """One call of `complete`."""

    system: str
    prompt: str
    seed: int


class ScriptedProvider:
    """Answers with `replies`, in order, or with what the function `replies` returns.

    A reply is the text of a completion, a `Completion`, or an exception to raise. `calls` records
    the calls, in order. Thread-safe; a function is called in the callers' threads, without a lock.
    It is no model, so by default its rows are not verified by independent solutions.

    Raises:
        UsageError: `replies` is one string, not a list.
    """

    asks_a_model = False

    def __init__(
        self, replies: Iterable[Reply] | Callable[[str, str, int], Reply], model: str = "scripted"
    ) -> None:
        if isinstance(replies, str):
            raise UsageError("replies are a list or a function, not one string")
        self._function = replies if callable(replies) else None
        self._replies = iter(()) if callable(replies) else iter(replies)
        self._model = model
        self._lock = threading.Lock()
        self._used = 0
        self.calls: list[Call] = []

    @property
    def model(self) -> str:
        """The model's name, as rows record it."""
        return self._model

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        """The next reply.

        Raises:
            ProviderRefused: every reply of the list has been used.
            UsageError: the reply is no text, `Completion` or exception.
            Exception: the reply, if it is one.
        """
        call = Call(system, prompt, seed)
        reply = self._next(call)
        if isinstance(reply, Exception):
            raise reply
        if not isinstance(reply, str | Completion):
            what = "the function must return" if self._function else "each reply must be"
            advice = f"a text (infinite_rl.layout.render makes one), not {type(reply).__name__}"
            raise UsageError(f"ScriptedProvider: {what} {advice}")
        return Completion(reply, self._model) if isinstance(reply, str) else reply

    def _next(self, call: Call) -> Reply:
        with self._lock:
            self.calls.append(call)
            if self._function is None:
                for reply in self._replies:
                    self._used += 1
                    return reply
                raise ProviderRefused(f"the script is at its end after replies: {self._used}")
        return self._function(*call)
