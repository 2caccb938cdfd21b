"""Where a run's time went: what each worker did when, by the spans of its events.

The engines `asyncio` and `ray` write an event of the kind "span" for all that a worker does (its
stage, and when it began and ended, in seconds since the run's beginning), and one of the kind
"fate" for what became of the prompts that each version of the policy answered.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import UsageError
from ..core.spans import SPAN
from ..engines.async_controller import OUTCOME, OUTCOMES
from .plots import FOLDER, figure_type, save
from .run_folder import EVENTS, read_events

# What a worker may be at, and its colour (of Okabe and Ito, which the colour-blind can tell apart).
STAGES: Mapping[str, str] = {
    "rollout": "#0072b2",
    "reward": "#009e73",
    "train": "#e69f00",
    "sync": "#cc79a7",
    "save": "#56b4e9",
    "idle": "#e5e5e5",
}
_OTHER = "#999999"
_ROLES = ("trainer", "rollout", "reward")  # how their workers' names begin, in the picture's order
_LONGEST_S = 1e12
_LANES, _WIDTH, _MARKS = 64, 2000, 200  # in a picture: workers, points in time, versions

Interval: TypeAlias = "tuple[float, float]"


@dataclass(frozen=True)
class Span:
    """Something that a worker did, from `began` to `ended`, in seconds; `lost` if it died of it.

    `version` is that of the policy by which it was done.
    """

    stage: str
    worker: str
    began: float
    ended: float
    version: int
    lost: bool = False


@dataclass(frozen=True)
class Timeline:
    """The spans of a run, and the fates of its prompts by the version that answered them."""

    spans: Sequence[Span]
    fates: Mapping[int, Mapping[str, int]]

    @property
    def extent(self) -> Interval:
        """From the first span's beginning to the last one's end."""
        return min(each.began for each in self.spans), max(each.ended for each in self.spans)

    @property
    def workers(self) -> list[str]:
        """Their names: the trainer first, then those who sample, those who judge, and others."""
        return sorted({each.worker for each in self.spans}, key=_rank)


def read(run: Path) -> Timeline:
    """The timeline of a run's folder, also while it runs; a resumed run's is of one piece.

    What was done again after a kill is there once. Spans that are no spans are passed over.

    Raises:
        UsageError: it is not the folder of a run, or no spans are there.
        StoreError: the events are damaged.
    """
    if not (run / EVENTS).is_file():
        raise UsageError(f"{run} is not the folder of a run: it has no {EVENTS}")
    spans, fates = list[Span](), defaultdict[int, Counter[str]](Counter)
    for event in read_events(run, SPAN, OUTCOME):
        if event["kind"] == SPAN:
            spans += filter(None, [_span(event)])
        else:
            counts = {name: event.get(name) for name in OUTCOMES}
            known = {name: n for name, n in counts.items() if isinstance(n, int)}
            fates[_version(event)].update(known)
    if not spans:
        raise UsageError(f"{run} tells of no spans: only the engines asyncio and ray write them")
    return Timeline(spans, {version: dict(fates[version]) for version in sorted(fates)})


def summary(timeline: Timeline) -> dict[str, Any]:
    """Where the time went, as JSON can say it; times are in seconds, shares of the run's extent.

    seconds    the extent
    stages     by stage: the time of all its spans, and how many they are
    workers    by worker: the time in each stage, and `idle`, the share of the extent in which it
               did nothing
    idle       by role (trainer, rollout, reward): the mean of its workers' shares
    overlap    in which some worker sampled and the trainer learned; `of_training`, the share of the
               time in which it learned
    lost       by worker: how often it died
    fates      by version of the policy, and `all`
    """
    begin, end = timeline.extent
    by_worker = defaultdict[str, list[Span]](list)
    for span in timeline.spans:
        by_worker[span.worker].append(span)
    workers = {name: _of_worker(by_worker[name], end - begin) for name in timeline.workers}
    totals = Counter[str]()
    for counts in timeline.fates.values():
        totals.update(counts)
    return {
        "seconds": end - begin,
        "stages": _stages(timeline.spans),
        "workers": workers,
        "idle": _idle(workers),
        "overlap": _overlap(timeline.spans),
        "lost": dict(Counter(span.worker for span in timeline.spans if span.lost)),
        "fates": {
            "all": {name: totals[name] for name in OUTCOMES},
            **{str(version): dict(counts) for version, counts in timeline.fates.items()},
        },
    }


def draw(timeline: Timeline, paths: Iterable[Path], title: str = "") -> None:
    """Draw one lane a worker, coloured by stage, with a line at each new version of the weights.

    The kind of picture is that of the path's ending: .png, or .svg, which loads nothing. What is
    too close together to be told apart is drawn as one; of very many workers the first are shown.

    Raises:
        UsageError: matplotlib is not installed, or a path has another ending.
        StoreError: a file cannot be written.
    """
    paths = list(paths)
    for path in paths:
        if path.suffix.lower() not in (".png", ".svg"):
            raise UsageError(f"{path} is no name for a picture: let it end in .png or .svg")
    lanes = timeline.workers[:_LANES]
    figure = figure_type()(figsize=(12, 1.6 + 0.3 * len(lanes)), layout="constrained")
    axes = figure.add_subplot(xlabel="seconds since the run began")
    _bars(axes, timeline, lanes)
    left_out = len(timeline.workers) - len(lanes)
    axes.set_yticks(range(len(lanes)), [_label(name) for name in lanes])
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    begin, end = timeline.extent
    axes.set_xlim(begin, end if end > begin else begin + 1)
    more = f" ({left_out} more workers are not shown)" if left_out else ""
    axes.set_title(_label(title) + more)
    _mark_versions(axes, timeline)
    figure.legend(loc="outside lower center", ncols=8, frameon=False)
    for path in paths:
        save(figure, path)


def pictures(run: Path) -> list[Path]:
    """Where the pictures of a run go, where nothing else is said."""
    return [run / FOLDER / "timeline.png", run / FOLDER / "timeline.svg"]


# --- reading -------------------------------------------------------------------------------------


def _span(event: Mapping[str, Any]) -> Span | None:
    began, ended = event.get("began_s"), event.get("ended_s")
    if not (isinstance(began, int | float) and isinstance(ended, int | float)):
        return None
    if not -_LONGEST_S < began <= ended < _LONGEST_S:  # a picture could not show it
        return None
    stage, worker = str(event.get("stage")), str(event.get("worker"))
    return Span(stage, worker, began, ended, _version(event), bool(event.get("lost")))


def _version(event: Mapping[str, Any]) -> int:
    found = event.get("version")
    return found if isinstance(found, int) else -1


def _rank(worker: str) -> tuple[int, list[Any]]:
    """The trainer first; rollout-2 before rollout-10."""
    words = [(int(word), "") if word.isdecimal() else (-1, word)
             for word in re.split(r"(\d{1,18})", worker)]  # fmt: skip
    return _ROLES.index(role) if (role := _role(worker)) in _ROLES else len(_ROLES), words


def _role(worker: str) -> str:
    return next((role for role in _ROLES if worker.startswith(role)), "other")


# --- reckoning -----------------------------------------------------------------------------------


def _stages(spans: Iterable[Span]) -> dict[str, dict[str, float]]:
    seconds, counts = defaultdict[str, float](float), Counter[str]()
    for span in spans:
        seconds[span.stage] += span.ended - span.began
        counts[span.stage] += 1
    known = [*(name for name in STAGES if name in counts), *sorted({*counts} - {*STAGES})]
    return {name: {"seconds": seconds[name], "spans": counts[name]} for name in known}


def _of_worker(spans: Sequence[Span], extent: float) -> dict[str, float]:
    busy = union((span.began, span.ended) for span in spans if span.stage != "idle")
    times = {name: each["seconds"] for name, each in _stages(spans).items() if name != "idle"}
    return {**times, "idle": 1 - _length(busy) / extent if extent else 0.0}


def _idle(workers: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    shares = defaultdict[str, list[float]](list)
    for name, found in workers.items():
        shares[_role(name)].append(found["idle"])
    return {role: math.fsum(each) / len(each) for role, each in shares.items()}


def _overlap(spans: Iterable[Span]) -> dict[str, float]:
    times = defaultdict[str, list[Interval]](list)
    for span in spans:
        times[span.stage].append((span.began, span.ended))
    sampling, training = union(times["rollout"]), union(times["train"])
    both, alone = _length(common(sampling, training)), _length(training)
    return {"seconds": both, "of_training": both / alone if alone else 0.0}


def union(intervals: Iterable[Interval], gap: float = 0.0) -> list[Interval]:
    """Intervals that cover the same, in their order and apart by more than the gap."""
    found: list[Interval] = []
    for began, ended in sorted(intervals):
        if found and began - found[-1][1] <= gap:
            found[-1] = found[-1][0], max(found[-1][1], ended)
        else:
            found.append((began, ended))
    return found


def common(first: Sequence[Interval], second: Sequence[Interval]) -> Iterator[Interval]:
    """What two unions of intervals both cover."""
    one = other = 0
    while one < len(first) and other < len(second):
        began = max(first[one][0], second[other][0])
        ended = min(first[one][1], second[other][1])
        if began < ended:
            yield began, ended
        if first[one][1] < second[other][1]:
            one += 1
        else:
            other += 1


def _length(intervals: Iterable[Interval]) -> float:
    return math.fsum(ended - began for began, ended in intervals)


# --- drawing -------------------------------------------------------------------------------------


def _bars(axes: Any, timeline: Timeline, lanes: Sequence[str]) -> None:
    """The lanes; stages that are short lie over the long ones."""
    begin, end = timeline.extent
    point = (end - begin) / _WIDTH
    bars = defaultdict[tuple[str, int], list[Interval]](list)
    place = {name: number for number, name in enumerate(lanes)}
    for span in timeline.spans:
        if span.worker in place:
            bars[span.stage, place[span.worker]].append((span.began, span.ended))
    stages = [*reversed(list(STAGES)), *sorted({stage for stage, _ in bars} - {*STAGES})]
    for stage in stages:
        drawn, label = [lane for name, lane in bars if name == stage], _label(stage)
        for lane in sorted(drawn):
            whole = union(bars[stage, lane], point)
            widths = [(began, max(ended - began, point)) for began, ended in whole]
            colour = STAGES.get(stage, _OTHER)
            axes.broken_barh(widths, (lane - 0.4, 0.8), color=colour, label=label, linewidth=0)
            label = ""  # the legend has each once
    died = [(span.ended, place[span.worker]) for span in timeline.spans
            if span.lost and span.worker in place]  # fmt: skip
    if died:
        axes.plot(*zip(*died, strict=True), "kx", label="died", linestyle="none")


def _mark_versions(axes: Any, timeline: Timeline) -> None:
    """A line where the trainer hands out new weights, and some of their versions above."""
    found = {span.version: span.ended for span in timeline.spans
             if span.stage == "sync" and _role(span.worker) == "trainer"}  # fmt: skip
    marked = sorted(found.items())
    marked = marked[:: math.ceil(len(marked) / _MARKS) or 1]
    for _, when in marked:
        axes.axvline(when, color="black", linewidth=0.5, alpha=0.5)
    labelled = marked[:: math.ceil(len(marked) / 20) or 1]
    above = axes.secondary_xaxis("top")
    above.set_xticks([when for _, when in labelled], [str(version) for version, _ in labelled])
    above.set_xlabel("version of the weights")


def _label(text: str) -> str:
    """A name as a picture can show it, whatever it is; a dollar would begin a formula."""
    shown = "".join(char if " " <= char <= "~" and char != "$" else "?" for char in text)
    return shown if len(shown) <= 40 else f"{shown[:37]}..."
