"""Progress of a generation and of a training run on a terminal, and their summaries."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from datetime import timedelta
from math import nan
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..dataset.rows import as_number
from ..generation.progress import Progress
from ..inference.budget import KNOWN_AFTER, Estimate, Spending
from ..providers.rate_limit import RateLimiterStats
from ..sandbox.runtimes import compiling
from ..types import Usage
from .terminal import Lines, aligned

if TYPE_CHECKING:
    from ..generation.novelty import Distinct

_PICTURES_A_S = 4
_FEW = 3  # rows from which a pace is shown
_NARROW = 60  # columns under which bars would push out the numbers
_LONGEST_NAME = 20  # columns of a family's


def rejections(rejected: Counter[str]) -> str:
    """Counts by reason: "12 rejected (wrong 9, duplicate 3)"."""
    total = sum(rejected.values())
    if not total:
        return "0 rejected"
    parts = ", ".join(f"{reason} {count:,}" for reason, count in rejected.most_common())
    return f"{total:,} rejected ({parts})"


def dollars(cost: float | None) -> str:
    """An amount of US dollars: "$0.000021", "$0.0123", "$12.35", or that it is not known."""
    if cost is None:
        return "cost unknown (say --price)"
    if 0 < cost < 0.001:
        return f"${cost:.6f}"
    return f"${cost:,.2f}" if cost >= 10 else f"${cost:.4f}"


def tokens(usage: Usage) -> str:
    """Tokens: "12,345 tokens in, 6,789 out, 4,321 of thought", which is priced as output is."""
    thought = f", {usage.thinking_tokens:,} of thought" if usage.thinking_tokens else ""
    return f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{thought}"


def spent(spending: Spending) -> str:
    """Tokens and cost: "12,345 tokens in, 6,789 out, 4,321 of thought, $0.0123"."""
    return f"{tokens(spending.usage)}, {dollars(None if spending.unpriced else spending.cost)}"


def in_flight(progress: Progress | RateLimiterStats) -> str:
    """Calls in flight, and whether the provider's trouble has slowed them: "64 in flight"."""
    shown = f"{progress.in_flight} in flight"
    if progress.cap >= progress.most:
        return shown
    slowed = f"slowed to {progress.cap} of {progress.most} calls at once by the provider"
    return f"{shown}, {slowed}"


def retried(retries: Counter[str]) -> str:
    """Calls that were made again, by the kind of trouble: "429 x12, 503 x7"."""
    return ", ".join(f"{kind} x{count:,}" for kind, count in retries.most_common())


def judged(progress: Progress) -> str:
    """Rows made, the acceptance rate, and what was rejected: "900 rows made (79 % ...), ..."."""
    accepted, rate = progress.accepted.total(), progress.acceptance_rate
    share = (
        "" if rate is None else f" ({rate:.0%} of {accepted + progress.rejected.total():,} judged)"
    )
    return f"{accepted:,} {_rows(accepted)} made{share}, {rejections(progress.rejected)}"


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"


def costs(progress: Progress) -> str:
    """What the folder has cost, may cost in all, and costs a row, with its tokens; "" for free."""
    spending, each, whole = progress.spending, progress.cost_per_row, progress.projected_cost
    if spending.unpriced:
        return f"{dollars(None)}; {tokens(spending.usage)}"
    if not spending.cost and not whole:
        return ""
    parts = [f"{dollars(spending.cost)} spent"]
    if whole is not None:
        parts.append(f"about {dollars(whole)} in all")
    elif progress.rejected and not progress.rows:
        parts.append("in all unknown until a row is kept")
    if each is not None:
        parts.append(f"{dollars(each)} a row")
    return f"{', '.join(parts)}; {tokens(spending.usage)}"


def pace(progress: Progress, elapsed_s: float, waited_s: float = 0.0) -> str:
    """How fast rows are made, and for how long still: "1.2 rows/s, 0:10:20 gone, ...".

    `waited_s` passed before the first row, as while a sandbox was compiled: no pace of the rest.
    """
    accepted = progress.accepted.total()
    parts = [f"{timedelta(seconds=int(elapsed_s))} gone"]
    if accepted >= _FEW and elapsed_s - waited_s >= 1:
        rate = accepted / (elapsed_s - waited_s)
        parts.insert(0, f"{rate:.1f} rows/s" if rate >= 1 else f"{60 * rate:.1f} rows/min")
        parts.append(f"about {timedelta(seconds=int(progress.left / rate))} left")
    return ", ".join(parts)


def standing(progress: Progress, elapsed_s: float, waited_s: float = 0.0) -> list[str]:
    """Where a run stands, in a few lines: rows, dollars, pace, and what the provider does."""
    again = f"calls made again: {retried(progress.retries)}" if progress.retries else ""
    timing = f"{pace(progress, elapsed_s, waited_s)}; {progress.in_flight} in flight"
    wait = f"compiling {', '.join(compiling)}, once a machine: coding rows wait" * bool(compiling)
    return [*filter(None, (judged(progress), costs(progress), timing, wait, again, progress.pace))]


def done(progress: Progress, *, verified: bool = False, models: str = "") -> str:
    """What a run has done: its rows, its calls, and what the folder has cost.

    `verified` says that independent solutions checked the rows: then it says what they stopped.
    `models` names the models that the cost is of.
    """
    total, present = progress.accepted.total(), sum(progress.present.values())
    rate = progress.acceptance_rate
    accepted = "" if rate is None else f", acceptance rate {rate:.0%}"
    rows = f"rows made: {total}, there before: {present}, {rejections(progress.rejected)}{accepted}"
    lost = f", lost when a run died: {progress.lost}" if progress.lost else ""
    kinds = f" ({retried(progress.retries)})" if progress.retries else ""
    calls = f"calls answered: {progress.calls}, repeated: {progress.retries.total()}{kinds}{lost}"
    stopped = progress.wrong_answers_stopped
    lines = [rows, calls]
    if verified or stopped:
        lines.append(f"wrong answers stopped by independent solutions: {stopped}")
    if progress.spending.calls:
        each = progress.cost_per_row
        a_row = f", {dollars(each)} a row" if each else ""
        of_models = f" ({models})" if models else ""
        lines.append(f"{spent(progress.spending)}{a_row}{of_models}")
    return "\n".join([*lines, *filter(None, [progress.pace])])


def by_model(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """A table of the rows of each type, language and model: mean quality and median lengths."""
    groups: dict[tuple[str, ...], list[tuple[float, int, int]]] = {}
    for row in rows:
        key = (row["type"], row["language"], row["model"])
        quality = as_number(row["quality_score"])
        lengths = (len(row["prompt"]), len(row["response"]))
        groups.setdefault(key, []).append((nan if quality is None else quality, *lengths))
    names = ("type", "language", "model", "rows", "quality", "prompt_chars", "response_chars")
    table: list[tuple[str, ...]] = [names]
    for name, group in sorted(groups.items()):
        qualities, prompts, responses = zip(*group, strict=True)
        figures = (fmean(qualities), median(prompts), median(responses))
        table.append((*name, f"{len(group)}", *map("{:g}".format, figures)))
    return aligned(table) if groups else []


def diversity(progress: Progress, distinct: Distinct) -> list[str]:
    """How many tasks the rows of a model are, and what it takes to get new ones; short lines."""
    from ..generation.planner import REPEATED  # slow to import, and not needed for training

    if not distinct.rows:
        return []
    repeats = sum(progress.rejected[reason] for reason in REPEATED)
    parts = [f"repeats rejected: {repeats:,}"]
    if progress.spending.calls and progress.rows:
        parts.append(f"calls a row: {progress.spending.calls / progress.rows:.2f}")
    return [f"{distinct}, effective number {distinct.effective:,.1f}", ", ".join(parts)]


def difficulty(band: str, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The pass rates of the rows, beside the band that was asked for; short lines."""
    rated = [row for row in rows if row.get("pass_rate")]
    if not rated:
        return []
    rate = fmean(float(row["pass_rate"]) for row in rated)
    attempts = fmean(float(row["attempts"]) for row in rated)
    return [
        f"pass rate: {rate:.2f} on average, {band} wanted; attempts at a row kept: {attempts:.1f}"
    ]


def lacking(progress: Progress) -> list[str]:
    """A line for each reason why families lack rows. It may hold a server's text."""
    lacks: dict[str, list[str]] = {}
    for family in progress.targets:
        if missing := progress.missing(family):
            why = progress.given_up.get(family) or progress.stopped or "not finished"
            lacks.setdefault(why, []).append(f"{family} lacks {missing}")
    return [f"target not reached: {', '.join(each)}: {why}" for why, each in lacks.items()]


def estimated(plan: Estimate, calls: int = 0) -> str:
    """What a run may take, in one line; `calls` are those that the folder holds."""
    if not plan.calls:
        return "estimate: 0 calls, $0"
    if plan.measured:
        basis = "by the calls so far"
    elif calls >= KNOWN_AFTER:
        basis = f"by rule of thumb: none of {calls:,} calls has made a row to go by"
    elif calls:
        basis = f"by rule of thumb: {calls:,} calls so far, and {KNOWN_AFTER} are enough to go by"
    else:
        basis = "by rule of thumb: no calls to go by yet"
    return f"estimate, {basis}: {plan.calls:,} calls, {tokens(plan.usage)}, {dollars(plan.cost)}"


def planned(progress: Progress) -> str:
    """What a dry run has found: a line for each family, and one for what is missing."""
    plan = progress.estimate
    assert plan is not None, "every run begins with an estimate"
    rows = (
        f"{family}: {progress.present[family]} of {target} rows are there"
        for family, target in progress.targets.items()
        if target
    )
    return "\n".join((*rows, estimated(plan, progress.spending.calls)))


def has_room(console: Console) -> bool:
    """Whether bars can be drawn there."""
    return console.is_terminal and console.width >= _NARROW


class RunDisplay:
    """What is shown of a generation: a bar per family over the lines of `standing`, or one line."""

    def __init__(self, console: Console) -> None:
        self._console, self._say = console, Lines()
        self._progress: Progress | None = None
        self._start = self._waited_s = 0.0

    def __call__(self, progress: Progress) -> None:
        self._start = self._start or time.monotonic()  # the first call: the run begins
        if not progress.accepted.total():
            self._waited_s = time.monotonic() - self._start
        if not has_room(self._console):
            self._say(lambda: self.line(progress))
            return
        # Pictures are drawn in another thread, while the run changes its counters.
        self._progress = deepcopy(progress)

    def _standing(self, progress: Progress) -> list[str]:
        return standing(progress, time.monotonic() - self._start, self._waited_s)

    def line(self, progress: Progress) -> str:
        """All of it in one line."""
        counts = (f"{name} {rows:,}/{wanted:,}" for name, rows, wanted, _ in _bars(progress))
        return "; ".join([", ".join(counts), *self._standing(progress)])

    def picture(self) -> RenderableType:
        """The latest progress, drawn."""
        if self._progress is None:
            return Group()
        lines = self._standing(self._progress)
        texts = (Text(line, style="dim", overflow="fold") for line in lines)
        return Group(self._grid(self._progress), *texts)

    def _grid(self, progress: Progress) -> Table:
        bars = [*_bars(progress)]
        if len(bars) > 1:
            bars.append(("all", progress.rows, sum(progress.targets.values()), ""))
        counts = [f"{completed:,}/{total:,}" for _, completed, total, _ in bars]
        names = [Text(name) for name, *_ in bars]
        for name in names:
            name.truncate(_LONGEST_NAME, overflow="ellipsis")
        used = max(name.cell_len for name in names) + max(map(len, counts))
        used += max(len(note) for *_, note in bars) + 4  # and a space after each column
        width = max(4, min(40, self._console.width - used))
        grid = Table.grid(padding=(0, 1))
        for name, count, (_, completed, total, note) in zip(names, counts, bars, strict=True):
            bar = ProgressBar(total=max(1, total), completed=completed, width=width)
            grid.add_row(name, bar, Text(count, no_wrap=True), Text(note, style="dim"))
        return grid


def _bars(progress: Progress) -> Iterator[tuple[str, int, int, str]]:
    """A name, the rows that are there and wanted, and a note, for each family."""
    for family, target in progress.targets.items():
        if target:
            completed = progress.present[family] + progress.accepted[family]
            yield family, completed, target, "given up" if family in progress.given_up else ""


@contextmanager
def display(console: Console, *, quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """The display of a generation that fits the console; it is called with the progress."""
    show = RunDisplay(console)
    if quiet:
        yield lambda _: None
    elif has_room(console):
        with Live(get_renderable=show.picture, console=console, refresh_per_second=_PICTURES_A_S):
            yield show
    else:
        yield show


# --- training ------------------------------------------------------------------------------------

# What is shown of a step, where it has it, and how.
_SHOWN: Mapping[str, str] = {
    "reward": "reward {:.3f}",
    "loss": "loss {:.4f}",
    "kl": "KL {:.4f}",
    "length": "{:.0f} tokens",
    "tokens_per_s": "{:,.0f} tokens/s",
    "staleness": "{:.1f} updates old",
    "idle": "{:.0%} idle",
    "dropped_groups": "{:.0f} groups of equal rewards",
    "filtered": "{:.0f} groups of equal rewards passed over",
    "frac_reward_zero_std": "{:.0%} of groups of equal rewards",
    "unscored": "{:.0f} unscored",
}
_AS_A_RULE_NONE = ("staleness", "dropped_groups", "filtered", "frac_reward_zero_std", "unscored")


def numbers(values: Mapping[str, Any]) -> str:
    """A step's numbers in words: "reward 0.512, KL 0.0031, 87 tokens, 1,203 tokens/s"."""
    shown = {name: values.get(name) for name in _SHOWN}
    return ", ".join(
        _SHOWN[name].format(round(value, 4) + 0)  # no -0.0000
        for name, value in shown.items()
        if isinstance(value, int | float) and (value or name not in _AS_A_RULE_NONE)
    )


class _NotedBars(Bars):
    """Bars with a line under them, which may be long and takes no width from them."""

    note = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        yield Text(self.note, style="dim", no_wrap=True, overflow="ellipsis")


@contextmanager
def training_display(
    console: Console, steps: int, first_step: int = 0
) -> Iterator[Callable[[int, Mapping[str, Any]], None]]:
    """The display of a run that goes from `first_step` to `steps`; it is called with each step."""
    if not has_room(console):
        say, start = Lines(), time.monotonic()

        def on_step(step: int, values: Mapping[str, Any]) -> None:
            left = (time.monotonic() - start) / max(1, step - first_step) * (steps - step)
            parts = (f"step {step}/{steps}", numbers(values), left and f"{left:.0f} s left")
            say(lambda: ", ".join(part for part in parts if part), last=step >= steps)

        yield on_step
        return
    bars = _NotedBars(
        TextColumn("{task.description}"),
        BarColumn(bar_width=min(40, console.width - 40)),
        *(MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()),
        console=console,
    )
    task = bars.add_task("step", total=steps, completed=first_step)

    def on_bar(step: int, values: Mapping[str, Any]) -> None:
        bars.note = numbers(values)
        bars.update(task, completed=step)

    with bars:
        yield on_bar
