"""Money before it is spent: an estimate of a run, and a limit that holds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass

from ..errors import UsageError
from ..providers.prices import Price, cost
from ..types import Usage
from ..verification.self_consistency import MEAN_SOLUTIONS

_CHARS_PER_TOKEN = 3  # fewer than English has, so that more tokens are expected than there are
_UNKNOWN_OUTPUT = 8192  # tokens that an answer may have, where nothing limits it
_TYPICAL_OUTPUT = 1500  # tokens of an answer, where none has been seen
_TYPICAL_YIELD = 0.7  # rows a call, where none has been seen
_TYPICAL_THOUGHT = 0.25  # of the room for thoughts, where none has been seen: tasks are short
KNOWN_AFTER = 20  # calls after which what was seen counts for more than what is assumed
_MARGIN = 1.25  # on the dearest call seen: the next one may be dearer


@dataclass
class Spending:
    """What calls have cost: in US dollars, `cost` of all whose price is known, `dearest` of one."""

    calls: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    dearest: float = 0.0
    unpriced: int = 0

    def add(self, usage: Usage, cost: float | None) -> None:
        """Count one call with its tokens."""
        self.usage = self.usage + usage
        self.count(cost)

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
    """What the rows that are missing may take. `measured` where the folder's own calls tell it.

    `cost` is in US dollars, None where the price is unknown.
    """

    rows: Mapping[str, int]
    calls: int = 0
    usage: Usage = Usage()
    cost: float | None = 0.0
    measured: bool = False


@dataclass
class Budget:
    """A limit on what all the calls of a folder cost, in US dollars; None is no limit.

    A call is made only where the dearest one to be expected still fits, with all those under way:
    the dearest of the calls so far and a quarter, or at the beginning a call with the longest
    answer, and thoughts that fill their `room`. `chars` is the length of a prompt; `prices` are
    those of the calls that one attempt may need, at most; `put_down` are calls to be sent later, in
    a batch: they are under way, too; `batch` says that calls go there, at their price. Once a call
    has come back whose cost nobody knows, no further one is made.

    Raises:
        UsageError: the limit is not above 0, or the price that it needs is not known.
    """

    most: float | None
    prices: Sequence[Price | None]
    spending: Spending
    chars: int
    longest_output: int | None = None
    put_down: Sized = ()
    room: int = 0
    batch: bool = False

    def __post_init__(self) -> None:
        self._unpriced_before = self.spending.unpriced
        if self.most is None:
            return
        if not self.most > 0:
            raise UsageError(f"max_cost must be above 0, not {self.most:g}")
        if None in self.prices:
            raise UsageError("max_cost needs the model's price, which is not known: give --price")

    def check(self) -> None:
        """Raise UsageError where the limit is less than one call may cost."""
        if self.most is not None and self._dearest() > self.most:
            raise UsageError(self._too_small())

    def crowded(self, at_once: int) -> str:
        """A line where the limit leaves room for fewer samples at once than may be; else ""."""
        if self.most is None or not (dearest := self._dearest()):
            return ""
        fit = int((self.most - self.spending.cost) / dearest)
        if not 0 < fit < at_once:  # where none fits, `check` and `refusal` say so
            return ""
        until = f" until {KNOWN_AFTER} calls have told more" * (self.spending.calls < KNOWN_AFTER)
        room = f"leaves room for {fit} of {at_once} samples at once{until}"
        return f"max_cost of ${self.most:g} {room}: one may cost ${dearest:.4f}, {self._basis()}"

    def refusal(self, in_flight: int) -> str:
        """ "" where one more attempt may be paid for, beside those in flight; else why not."""
        if self.most is None:
            return ""
        if self.spending.unpriced > self._unpriced_before:
            return "max_cost cannot hold: the service does not say how many tokens its answers have"
        dearest = self._dearest()
        if self.spending.cost + (in_flight + len(self.put_down) + 1) * dearest <= self.most:
            return ""
        if dearest > self.most:
            return self._too_small()
        return (
            f"the limit of ${self.most:g} is reached: ${self.spending.cost:.4f} is spent, and "
            f"one more sample may cost ${dearest:.4f}; --max_cost raises it"
        )

    def _too_small(self) -> str:
        calls = "one call"
        if more := len(self.prices) - 1:
            calls += f" and the {more} that may verify its row"
        return (
            f"max_cost of ${self.most:g} is too small for {calls}: that may cost "
            f"${self._dearest():.4f}, {self._basis()}"
        )

    def _basis(self) -> str:
        """How `_dearest` is reckoned."""
        if self.spending.calls >= KNOWN_AFTER:
            return "by the dearest call so far and a quarter"
        longest = f"{self.longest_output or _UNKNOWN_OUTPUT:,}"
        basis = f"with answers of {longest} tokens, which --max_output_tokens bounds"
        if self.room:
            basis += f", and {self.room:,} of thought, which --thinking bounds"
        return basis

    def _dearest(self) -> float:
        """What one attempt may cost."""
        if self.spending.calls >= KNOWN_AFTER:
            return len(self.prices) * self.spending.dearest * _MARGIN
        longest = Usage(
            self.chars // _CHARS_PER_TOKEN,
            self.longest_output or _UNKNOWN_OUTPUT,
            thinking_tokens=self.room,
        )
        return sum(
            max(self.spending.dearest, cost(longest, price, batch=self.batch))
            for price in self.prices
            if price
        )


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
) -> Estimate:
    """Estimate the calls, tokens and dollars for the missing `rows` of each family.

    `spent` is the spending so far, for `present` rows.

    `chars` is the length of a prompt; `prices` are those of the call that writes a row, and of the
    independent solutions that it may have, of which fewer are to be expected; `room` is that of the
    thoughts of one call, `longest_output` bounds its answer, and in a `batch` it costs less.
    """
    missing = sum(rows.values())
    if spent and spent.calls >= KNOWN_AFTER and present:
        return _extrapolated(rows, missing / present, spent)
    written = round(missing / _TYPICAL_YIELD)
    solved = round(missing * min(MEAN_SOLUTIONS, len(prices) - 1))
    calls, one = written + solved, _typical(chars, room, longest_output)
    pairs = zip((written, solved), (prices[0], prices[-1]), strict=True)
    costs = [count * cost(one, price, batch=batch) for count, price in pairs if price]
    dollars = None if None in prices else sum(costs)
    return Estimate(rows, calls, _times(one, calls), dollars, False)


def estimate_calls(
    calls: int, chars: int, price: Price | None, spent: Spending, room: int = 0
) -> Estimate:
    """The tokens and dollars of some calls whose prompts have so many characters in all.

    `spent` is what calls like them have cost so far.
    """
    if spent.calls >= KNOWN_AFTER:
        return _extrapolated({}, calls / spent.calls, spent)
    usage = _times(_typical(0, room), calls) + Usage(chars // _CHARS_PER_TOKEN)
    return Estimate({}, calls, usage, None if price is None else cost(usage, price), False)


def _extrapolated(rows: Mapping[str, int], each: float, spent: Spending) -> Estimate:
    """So many times what is spent."""
    usage = _times(spent.usage, each)
    dollars = None if spent.unpriced else each * spent.cost
    return Estimate(rows, round(each * spent.calls), usage, dollars, True)


def _typical(chars: int, room: int, longest_output: int | None = None) -> Usage:
    """The tokens of a call like those to be made."""
    thoughts = round(_TYPICAL_THOUGHT * room)
    answer = min(_TYPICAL_OUTPUT, longest_output or _TYPICAL_OUTPUT)
    return Usage(chars // _CHARS_PER_TOKEN, answer, thinking_tokens=thoughts)


def _times(usage: Usage, each: float) -> Usage:
    """So many times the tokens."""
    return Usage(
        round(each * usage.input_tokens),
        round(each * usage.output_tokens),
        thinking_tokens=round(each * usage.thinking_tokens),
    )
