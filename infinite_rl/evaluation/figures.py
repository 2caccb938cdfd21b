"""What each step of a run scored, which step is best, and how sure that is.

The best is the highest value (or the lowest, where less is better). Steps of the same value are
ties, all of them named; of these the earliest is marked. Steps whose 95 % intervals overlap with
that of the best are named too: as many items as these do not tell them apart.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..estimators import wilson
from ..training.runs.plots import figure_type, save
from .harness import Line
from .score import Score

logger = logging.getLogger(__name__)

_95 = 1.96  # standard errors on either side
_MARKS = 25  # steps from which on a plot has no dots


@dataclass(frozen=True)
class MetricPoint:
    """One value of one step. The interval is None where there is none, `higher_is_better` where
    nobody can tell."""

    step: int
    task: str
    metric: str
    value: float
    low: float | None
    high: float | None
    items: int
    higher_is_better: bool | None = True

    @property
    def curve(self) -> tuple[str, str]:
        """What it is a point of."""
        return self.task, self.metric

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.4g} (no interval)"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True)
class BestStep:
    """The best step of a curve; `tied` have its value, `not_told_apart` an interval that overlaps.

    `steps` is how many it is the best of.
    """

    figure: MetricPoint
    tied: tuple[int, ...]
    not_told_apart: tuple[int, ...]
    steps: int

    def __str__(self) -> str:
        figure = self.figure
        said = (
            f"{figure.task}, {figure.metric}: best of {self.steps} is step {figure.step}, {figure}"
        )
        if self.tied:
            said += f"; the same value: step {_listed(self.tied)}"
        if self.not_told_apart:
            items = f"{figure.items} items do not tell it from step {_listed(self.not_told_apart)}"
            said += f"; {items} (95 % intervals overlap)"
        return said

    def values(self) -> dict[str, Any]:
        """It as JSON can hold it."""
        return asdict(self)


def of_score(step: int, task: str, score: Score) -> Iterator[MetricPoint]:
    """pass@k of one of our own tasks."""
    for k, found in score.pass_at.items():
        yield MetricPoint(step, task, f"pass@{k}", found.value, found.low, found.high, found.items)


def of_line(step: int, line: Line) -> MetricPoint:
    """A figure of lm_eval's; the interval is 1.96 standard errors to either side.

    Where all items agree these have no width: it is Wilson's of as many items then, if all or none
    were right.
    """
    low: float | None = None
    high: float | None = None
    if line.stderr:
        low, high = line.value - _95 * line.stderr, line.value + _95 * line.stderr
    elif line.stderr == 0 and line.value in (0, 1) and line.items:
        low, high = wilson(round(line.value) * line.items, line.items)
    better = line.higher_is_better
    return MetricPoint(step, line.task, line.metric, line.value, low, high, line.items, better)


def curves(figures: Iterable[MetricPoint]) -> dict[tuple[str, str], list[MetricPoint]]:
    """The figures of each task and metric, in the order of the steps."""
    found: dict[tuple[str, str], list[MetricPoint]] = defaultdict(list)
    for figure in sorted(figures, key=lambda each: each.step):
        found[figure.curve].append(figure)
    return dict(found)


def best(curve: Sequence[MetricPoint]) -> BestStep | None:
    """The best of a curve; None where there is none, or nobody can say which way is better."""
    if not curve or curve[0].higher_is_better is None:
        return None
    value = (max if curve[0].higher_is_better else min)(each.value for each in curve)
    first, *tied = [each for each in curve if each.value == value]
    others = [each for each in curve if each.value != value and _overlap(first, each)]
    return BestStep(
        first,
        tuple(each.step for each in tied),
        tuple(each.step for each in others),
        len(curve),
    )


def all_best(figures: Iterable[MetricPoint]) -> list[BestStep]:
    """The best of each task and metric."""
    return [found for curve in curves(figures).values() if (found := best(curve))]


def mark(figure: MetricPoint, found: Iterable[BestStep]) -> str:
    """What a table says beside a figure: that it is the best, or as good; else ""."""
    for each in found:
        if each.figure.curve == figure.curve:
            if each.figure.step == figure.step:
                return "best, tied" if each.tied else "best"
            if figure.step in each.tied:
                return "tied with the best"
    return ""


def notes(found: Sequence[BestStep]) -> list[str]:
    """Lines on the best steps, and what to make of them."""
    if not found:
        return []
    chance = "the best of several looks better than it is: judge it anew on items of its own"
    return [*map(str, found), *([chance] if any(each.steps > 1 for each in found) else [])]


def _overlap(one: MetricPoint, other: MetricPoint) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low <= other.high and other.low <= one.high


def _listed(steps: Sequence[int]) -> str:
    return ", ".join(map(str, steps))


# --- plots ---------------------------------------------------------------------------------------


def plot(figures: Iterable[MetricPoint], folder: Path) -> list[Path]:
    """Draw the curves of each task into `folder`/TASK.png, with the best step marked.

    Raises:
        UsageError: matplotlib is not installed.
        StoreError: a file cannot be written.
    """
    of_task: dict[str, dict[str, list[MetricPoint]]] = defaultdict(dict)
    for (task, metric), curve in curves(figures).items():
        of_task[task][metric] = curve
    drawn = []
    for task, lines in of_task.items():
        path = folder / f"{_file_name(task)}.png"
        _draw(figure_type()(figsize=(7, 4), layout="constrained"), task, lines, path)
        drawn.append(path)
    return drawn


def try_to_plot(figures: Iterable[MetricPoint], folder: Path) -> bool:
    """As `plot`; False, and a line in the log, where matplotlib is missing."""
    try:
        plot(figures, folder)
    except UsageError as error:
        logger.warning("no plots: %s", error)
        return False
    return True


def _draw(figure: Any, task: str, lines: Mapping[str, Sequence[MetricPoint]], path: Path) -> None:
    axes = figure.add_subplot(xlabel="step", ylabel="with 95 % intervals", title=_shown(task))
    axes.xaxis.get_major_locator().set_params(integer=True)
    for metric, curve in lines.items():
        steps, values = [each.step for each in curve], [each.value for each in curve]
        (line,) = axes.plot(
            steps, values, marker="." if len(steps) < _MARKS else "", label=_shown(metric)
        )
        lows = [each.value if each.low is None else each.low for each in curve]
        highs = [each.value if each.high is None else each.high for each in curve]
        axes.fill_between(steps, lows, highs, alpha=0.15, color=line.get_color(), linewidth=0)
        if found := best(curve):
            _star(axes, found, line.get_color())
    axes.grid(alpha=0.3)
    axes.legend()
    save(figure, path)


def _star(axes: Any, found: BestStep, color: str) -> None:
    """A full star at the best, hollow ones where others have its value."""
    where = {"marker": "*", "linestyle": "", "markersize": 14, "color": color}
    value = found.figure.value
    axes.plot([found.figure.step], [value], label=f"best: step {found.figure.step}", **where)
    if found.tied:
        tied = [value] * len(found.tied)
        axes.plot(found.tied, tied, label="the same value", fillstyle="none", **where)


def _file_name(task: str) -> str:
    return re.sub(r"[^\w.+-]", "_", task).lstrip(".") or "_"


def _shown(text: str) -> str:
    return text.replace("$", r"\$")  # which would begin a formula
