"""Cost before it is spent: an estimate for a run, and a limit that is enforced."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass

from ..errors import InfiniteRLError, UsageError
from ..providers.models import Price, cost
from ..solver_prompts import MEAN_SOLUTIONS
from ..types import Usage

_CHARS_PER_TOKEN = 3  # below the ratio of English, so that token counts are overestimated
_UNKNOWN_OUTPUT = 8192  # tokens of the longest completion, if nothing limits it
_TYPICAL_OUTPUT = 1500  # tokens of a completion, before any was measured
_TYPICAL_YIELD = 0.7  # rows per call, before any was measured
_TYPICAL_THOUGHT = 0.25  # share of the thinking budget in use: tasks are short
KNOWN_AFTER = 20  # calls after which measured costs replace the assumptions
_MARGIN = 1.25  # on the most expensive call so far: the next one may cost more


@dataclass
class Spending:
    """Total spending of a folder's calls, in US dollars.

    `cost` sums the calls with a known price, `dearest` is the most expensive of them, and
    `unpriced` counts the others.
    """

    calls: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    dearest: float = 0.0
    unpriced: int = 0

    def add(self, usage: Usage, cost: float | None) -> None:
        """Count one call with its tokens."""
        self.usage = self.usage + usage
        self.count(cost)

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            self.calls + other.calls,
            self.usage + other.usage,
            self.cost + other.cost,
            max(self.dearest, other.dearest),
            self.unpriced + other.unpriced,
        )

    def count(self, cost: float | None) -> None:
        """Count one call."""
        self.calls += 1
        if cost is None:
            self.unpriced += 1
        else:
            self.cost += cost
            self.dearest = max(self.dearest, cost)


@dataclass(frozen=True)
class Estimate:
    """Expected calls, tokens and cost of the missing rows of each family.

    `measured` is true if the folder's own calls are the basis. `cost` is in US dollars, None if
    the price is unknown.
    """

    rows: Mapping[str, int]
    calls: int = 0
    usage: Usage = Usage()
    cost: float | None = 0.0
    measured: bool = False


@dataclass
class Budget:
    """A limit on the cost of all calls of a folder, in US dollars; None is no limit.

    A call starts only if the most expensive one to be expected still fits beside all calls in
    flight: 1.25 times the most expensive call so far, or at the beginning a call with the longest
    completion and `room` tokens of thinking. `chars` is the length of a prompt. `prices` are those
    of the calls that one attempt may need, at most. `queued` are calls for a later batch, which
    count as in flight; `batch` applies the batch price. After a call of unknown cost no further
    call starts.

    Raises:
        UsageError: the limit is not above 0, or a price is unknown.
    """

    most: float | None
    prices: Sequence[Price | None]
    spending: Spending
    chars: int
    longest_output: int | None = None
    queued: Sized = ()
    room: int = 0
    batch: bool = False

    def __post_init__(self) -> None:
        self._unpriced_before = self.spending.unpriced
        self._change, self._in_flight = threading.Condition(), 0
        if self.most is None:
            return
        if not self.most > 0:
            raise UsageError(f"max_cost must be above 0, not {self.most:g}")
        if None in self.prices:
            raise UsageError("max_cost needs the price of the model, which is unknown: use --price")

    def check(self) -> None:
        """Raise UsageError if the limit is below the possible cost of one attempt."""
        if self.most is not None and self._dearest() > self.most:
            raise UsageError(self._too_small())

    def crowded(self, at_once: int) -> str:
        """Return a warning if the limit allows fewer than `at_once` samples in flight, else ""."""
        if self.most is None or not (dearest := self._dearest()):
            return ""
        fit = int((self.most - self.spending.cost) / dearest)
        if not 0 < fit < at_once:  # if none fits, `check` and `refusal` say so
            return ""
        until = f" until {KNOWN_AFTER} calls have been measured"
        until *= self.spending.calls < KNOWN_AFTER
        return (
            f"max_cost of ${self.most:g} leaves room for {fit} of {at_once} samples at once{until}:"
            f" one may cost ${dearest:.4f}, {self._basis()}"
        )

    def refusal(self, in_flight: int) -> str:
        """Return why one more attempt beside `in_flight` others does not fit, "" if it does."""
        if self.most is None:
            return ""
        if self.spending.unpriced > self._unpriced_before:
            return "max_cost cannot be enforced: the service does not report output tokens"
        dearest = self._dearest()
        if self.spending.cost + (in_flight + len(self.queued) + 1) * dearest <= self.most:
            return ""
        if dearest > self.most:
            return self._too_small()
        return (
            f"the limit of ${self.most:g} is reached: ${self.spending.cost:.4f} is spent, and "
            f"one more sample may cost ${dearest:.4f}; --max_cost raises it"
        )

    @contextmanager
    def reserve(self, chars: int) -> Iterator[None]:
        """Hold room for one call with a prompt of `chars` characters; safe from many threads.

        Waits while calls in flight may still free room. Raises InfiniteRLError if none is left.
        """
        with self._change:
            self.chars = max(self.chars, chars)
            while refusal := self.refusal(self._in_flight):
                if not self._in_flight:
                    raise InfiniteRLError(refusal)
                self._change.wait()
            self._in_flight += 1
        try:
            yield
        finally:
            with self._change:
                self._in_flight -= 1
                self._change.notify_all()

    def _too_small(self) -> str:
        calls = "one call"
        if more := len(self.prices) - 1:
            calls += f" and the {more} that may verify its row"
        return (
            f"max_cost of ${self.most:g} is too small for {calls}: that may cost "
            f"${self._dearest():.4f}, {self._basis()}"
        )

    def _basis(self) -> str:
        """Say how `_dearest` is computed."""
        if self.spending.calls >= KNOWN_AFTER:
            return f"{_MARGIN} times the most expensive call so far"
        longest = f"{self.longest_output or _UNKNOWN_OUTPUT:,}"
        basis = f"with completions of {longest} tokens (--max_output_tokens lowers this)"
        if self.room:
            basis += f" and {self.room:,} tokens of thinking (--thinking lowers this)"
        return basis

    def _dearest(self) -> float:
        """Return the most that one attempt may cost."""
        if self.spending.calls >= KNOWN_AFTER:
            return len(self.prices) * self.spending.dearest * _MARGIN
        longest = Usage(
            self.chars // _CHARS_PER_TOKEN,
            self.longest_output or _UNKNOWN_OUTPUT,
            thinking_tokens=self.room,
        )
        costs = [cost(longest, price, batch=self.batch) for price in self.prices if price]
        return sum(max(self.spending.dearest, each) for each in costs)


def estimate(
    rows: Mapping[str, int],
    prices: Sequence[Price | None],
    chars: int,
    room: int = 0,
    longest_output: int | None = None,
    *,
    batch: bool = False,
    present: int = 0,
    spent: Spending | None = None,
    more: Sequence[tuple[float, Price | None]] = (),
) -> Estimate:
    """Estimate the calls, tokens and dollars for the missing `rows` of each family.

    `chars` is the length of a prompt. `prices` are those of the call that writes a row and of its
    independent solutions, of which fewer are expected than allowed; `more` are further calls, as
    their number for a row that is kept, and their price. `room` is the thinking budget
    of one call, `longest_output` bounds its completion. `spent` is the spending so far, for
    `present` rows.
    """
    missing = sum(rows.values())
    if spent and spent.calls >= KNOWN_AFTER and present:
        return _extrapolated(rows, missing / present, spent)
    written = round(missing / _TYPICAL_YIELD)
    solved = round(missing * min(MEAN_SOLUTIONS, len(prices) - 1))
    pairs = [(written, prices[0]), (solved, prices[-1])]
    pairs += [(round(missing * calls), price) for calls, price in more]
    calls, one = sum(count for count, _ in pairs), _typical(chars, room, longest_output)
    costs = [count * cost(one, price, batch=batch) for count, price in pairs if price]
    dollars = None if None in [price for _, price in pairs] else sum(costs)
    return Estimate(rows, calls, _times(one, calls), dollars, False)


def estimate_calls(
    calls: int, chars: int, price: Price | None, spent: Spending, room: int = 0
) -> Estimate:
    """Estimate the tokens and dollars of `calls` with `chars` characters of prompts in all.

    `spent` is the spending of similar calls so far.
    """
    if spent.calls >= KNOWN_AFTER:
        return _extrapolated({}, calls / spent.calls, spent)
    usage = _times(_typical(0, room), calls) + Usage(chars // _CHARS_PER_TOKEN)
    return Estimate({}, calls, usage, None if price is None else cost(usage, price), False)


def _extrapolated(rows: Mapping[str, int], factor: float, spent: Spending) -> Estimate:
    dollars = None if spent.unpriced else factor * spent.cost
    usage = _times(spent.usage, factor)
    return Estimate(rows, round(factor * spent.calls), usage, dollars, True)


def _typical(chars: int, room: int, longest_output: int | None = None) -> Usage:
    """Return the expected tokens of one call."""
    thoughts = round(_TYPICAL_THOUGHT * room)
    answer = min(_TYPICAL_OUTPUT, longest_output or _TYPICAL_OUTPUT)
    return Usage(chars // _CHARS_PER_TOKEN, answer, thinking_tokens=thoughts)


def _times(usage: Usage, factor: float) -> Usage:
    counts = (usage.input_tokens, usage.output_tokens, 0, usage.thinking_tokens)
    return Usage(*(round(factor * count) for count in counts))
