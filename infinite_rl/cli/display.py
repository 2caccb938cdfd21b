"""What a person sees while a data set is made, live or in plain lines, and what is said of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text

from ..generation.progress import Estimate, Progress, Spending
from ..providers.gate import Traffic

PLAIN_EVERY_S = 5.0  # between two lines where there are no bars
_NARROW = 60  # columns under which bars would push out the numbers


def rejections(rejected: Counter[str]) -> str:
    """Counts by reason: "12 rejected (wrong 9, duplicate 3)"."""
    total = sum(rejected.values())
    if not total:
        return "0 rejected"
    parts = ", ".join(f"{reason} {count}" for reason, count in rejected.most_common())
    return f"{total} rejected ({parts})"


def dollars(cost: float | None) -> str:
    """An amount of US dollars: "$0.0123", "$12.35", or that it is not known."""
    if cost is None:
        return "cost unknown (say --price)"
    return f"${cost:.2f}" if cost >= 10 else f"${cost:.4f}"


def spent(spending: Spending) -> str:
    """Tokens and cost: "12,345 tokens in, 6,789 out, $0.0123"."""
    usage = spending.usage
    out = usage.output_tokens + usage.thinking_tokens
    cost = dollars(None if spending.unpriced else spending.cost)
    return f"{usage.input_tokens:,} tokens in, {out:,} out, {cost}"


def in_flight(progress: Progress | Traffic) -> str:
    """Calls in flight, and whether the provider's trouble has slowed them: "64 in flight"."""
    shown = f"{progress.in_flight} in flight"
    if progress.cap >= progress.most:
        return shown
    slowed = f"slowed to {progress.cap} of {progress.most} calls at once by the provider"
    return f"{shown}, {slowed}"


def done(progress: Progress) -> str:
    """What a run has done: a line of its rows and calls, and one of what the folder has cost."""
    made, present = progress.accepted.total(), sum(progress.present.values())
    rows = f"rows made: {made}, there before: {present}, {rejections(progress.rejected)}"
    lost = f", lost when a run died: {progress.lost}" if progress.lost else ""
    calls = f"calls answered: {progress.calls}, repeated: {progress.retries.total()}{lost}"
    costs = f"\n{spent(progress.spending)}" if progress.spending.calls else ""
    return f"{rows}; {calls}{costs}"


def lacking(progress: Progress) -> list[str]:
    """A line for each family that lacks rows, with the reason. It may hold a server's text."""
    return [
        f"target not reached: {family} lacks {missing}: "
        + (progress.given_up.get(family) or progress.stopped or "not finished")
        for family in progress.targets
        if (missing := progress.missing(family))
    ]


def estimated(plan: Estimate) -> str:
    """What a run may take, in one line."""
    basis = "by the calls so far" if plan.measured else "by rule of thumb: no calls to go by yet"
    return (
        f"estimate, {basis}: {plan.calls:,} calls, {plan.usage.input_tokens:,} tokens in, "
        f"{plan.usage.output_tokens:,} out, {dollars(plan.cost)}"
    )


def planned(progress: Progress) -> str:
    """What a dry run has found: a line for each family, and one for what is missing."""
    plan = progress.estimate
    assert plan is not None, "every run begins with an estimate"
    rows = (
        f"{family}: {progress.present[family]} of {target} rows are there"
        for family, target in progress.targets.items()
    )
    return "\n".join((*rows, estimated(plan)))


def has_room(console: Console) -> bool:
    """Whether bars can be drawn there."""
    return console.is_terminal and console.width >= _NARROW


class NotedBars(Bars):
    """Bars with a line under them, which may be long and takes no width from them."""

    note = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        yield Text(self.note, style="dim", no_wrap=True, overflow="ellipsis")


class LiveDisplay:
    """A bar per family with its rate and time left, and a line of counts."""

    def __init__(self, console: Console) -> None:
        self._bars = NotedBars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=min(40, console.width - 52)),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", style="dim", markup=False),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}
        self._start = 0.0

    def __enter__(self) -> LiveDisplay:
        self._bars.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._bars.stop()

    def __call__(self, progress: Progress) -> None:
        self._start = self._start or time.monotonic()  # the first call: the run begins
        elapsed = time.monotonic() - self._start
        for family, target in progress.targets.items():
            made = progress.accepted[family]
            self._show(
                family,
                total=target,
                completed=progress.present[family] + made,
                rate=f"{made / elapsed:.1f}/s" if elapsed >= 1 else "",
                note="given up" if family in progress.given_up else "",
            )
        counts = f"{in_flight(progress)}, {rejections(progress.rejected)}"
        self._bars.note = f"{counts}, {spent(progress.spending)}"
        done = sum(progress.present.values()) + sum(progress.accepted.values())
        self._show("all", total=sum(progress.targets.values()), completed=done, rate="", note="")

    def _show(self, name: str, *, total: int, completed: int, rate: str, note: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=total, rate=rate, note=note)
        self._bars.update(self._tasks[name], completed=completed, rate=rate, note=note)


class PlainDisplay:
    """A line every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = self._last = 0.0

    def __enter__(self) -> PlainDisplay:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if not self._start:  # the first call: the run begins
            self._start = self._last = now
        if now - self._last < PLAIN_EVERY_S:
            return
        self._last = now
        made = sum(progress.accepted.values())
        left = sum(progress.missing(family) for family in progress.targets)
        rate = made / (now - self._start)
        counts = ", ".join(
            f"{family} {progress.present[family] + progress.accepted[family]}/{target}"
            for family, target in progress.targets.items()
        )
        eta = f", {left / rate:.0f} s left" if rate else ""
        self._console.print(
            f"{counts}, {rejections(progress.rejected)}, {in_flight(progress)}, "
            f"{rate:.1f}/s, {spent(progress.spending)}{eta}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def display(console: Console) -> LiveDisplay | PlainDisplay:
    """The display that fits the console."""
    return LiveDisplay(console) if has_room(console) else PlainDisplay(console)
