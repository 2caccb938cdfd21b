"""Money before it is spent: an estimate of a run, and a limit that holds. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import UsageError
from .prices import Price, cost
from .progress import Estimate, Progress, Spending
from .types import Usage

_CHARS_PER_TOKEN = 3  # fewer than English has, so that more tokens are expected than there are
_UNKNOWN_OUTPUT = 8192  # tokens that an answer may have, where nothing limits it
_TYPICAL_OUTPUT = 1500  # tokens of an answer, where none has been seen
_TYPICAL_YIELD = 0.7  # rows a call, where none has been seen
_KNOWN_AFTER = 20  # calls after which what was seen counts for more than what is assumed
_MARGIN = 1.25  # on the dearest call seen: the next one may be dearer


@dataclass
class Budget:
    """A limit on what all the calls of a folder cost, in US dollars; None is no limit.

    A call is made only where the dearest one to be expected still fits, with all those under way:
    the dearest of the calls so far and a quarter, or at the beginning a call with the longest
    answer. `chars` is the length of a prompt, `calls` the number of calls that an attempt may need.

    Raises:
        UsageError: the limit is not above 0, or the price that it needs is not known.
    """

    most: float | None
    price: Price | None
    spending: Spending
    chars: int
    longest_output: int | None = None
    calls: int = 1

    def __post_init__(self) -> None:
        if self.most is None:
            return
        if not self.most > 0:
            raise UsageError(f"max_cost must be above 0, not {self.most:g}")
        if self.price is None:
            raise UsageError("max_cost needs the model's price, which is not known: give --price")

    def refusal(self, in_flight: int) -> str:
        """ "" where one more attempt may be paid for, beside those in flight; else why not."""
        if self.most is None or self.price is None:
            return ""
        dearest = self._dearest(self.price)
        if self.spending.cost + (in_flight + 1) * self.calls * dearest <= self.most:
            return ""
        return (
            f"the limit of ${self.most:g} is reached: ${self.spending.cost:.4f} is spent, and "
            f"one more sample may cost ${self.calls * dearest:.4f}; --max_cost raises it"
        )

    def _dearest(self, price: Price) -> float:
        if self.spending.calls >= _KNOWN_AFTER:
            return self.spending.dearest * _MARGIN
        longest = Usage(self.chars // _CHARS_PER_TOKEN, self.longest_output or _UNKNOWN_OUTPUT)
        return max(self.spending.dearest, cost(longest, price))


def estimate(progress: Progress, price: Price | None, chars: int, solves: int = 0) -> Estimate:
    """The calls, tokens and dollars for the rows that `progress` lacks.

    `chars` is the length of a prompt, `solves` the number of further calls for each row.
    """
    rows = {family: progress.missing(family) for family in progress.targets}
    spent, present = progress.spending, sum(progress.present.values())
    measured = bool(spent.calls >= _KNOWN_AFTER and present)
    if measured:
        calls = round(sum(rows.values()) * spent.calls / present)
        into = spent.usage.input_tokens / spent.calls
        out = (spent.usage.output_tokens + spent.usage.thinking_tokens) / spent.calls
    else:
        calls = round(sum(rows.values()) / _TYPICAL_YIELD) + sum(rows.values()) * solves
        into, out = chars / _CHARS_PER_TOKEN, _TYPICAL_OUTPUT
    usage = Usage(round(calls * into), round(calls * out))
    return Estimate(rows, calls, usage, None if price is None else cost(usage, price), measured)
