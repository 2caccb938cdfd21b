"""The curves of a run as PNG files, drawn from its events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import UsageError
from ...files.atomic import atomic_file
from .run_folder import read_events

FOLDER = "plots"
# What is drawn, where events have it, and what its axis says.
CURVES: Mapping[str, str] = {
    "reward": "mean reward",
    "kl": "KL divergence from the reference (nats a token)",
    "length": "mean length of a completion (tokens)",
    "loss": "loss",
    "clip_share": "share of tokens that were clipped",
    "tokens_per_s": "tokens a second",
}
_SMOOTHED = 40  # points from which on a running mean is drawn over them
_WINDOW = 10  # points in it

Curve: TypeAlias = "tuple[list[int], list[float]]"  # steps and values


def plot(run: Path) -> list[Path]:
    """Draw the curves of `CURVES` that the run's events have, into `run`/plots/<name>.png.

    Each kind of event is a line of its own. Values that are null are left out.

    Raises:
        UsageError: matplotlib is not installed.
        StoreError: the events are damaged, or a file cannot be written.
    """
    figure = figure_type()
    found, drawn = curves(read_events(run)), []
    for name, title in CURVES.items():
        if lines := found.get(name):
            drawn.append(run / FOLDER / f"{name}.png")
            _draw(figure(figsize=(7, 4), layout="constrained"), title, lines, drawn[-1])
    return drawn


def curves(events: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Curve]]:
    """The steps and values of each name in `CURVES`, by name and then by kind of event."""
    found: dict[str, dict[str, Curve]] = defaultdict(dict)
    for event in events:
        for name in CURVES:
            value = event.get(name)
            if isinstance(value, int | float):
                steps, values = found[name].setdefault(event["kind"], ([], []))
                steps.append(event["step"])
                values.append(value)
    return dict(found)


def running_mean(values: Sequence[float], window: int = _WINDOW) -> list[float]:
    """The mean of each value and those before it, `window` at most."""
    means = []
    for end in range(1, len(values) + 1):
        part = values[max(0, end - window) : end]
        means.append(sum(part) / len(part))
    return means


def _draw(figure: Any, title: str, lines: Mapping[str, Curve], path: Path) -> None:
    axes = figure.add_subplot(xlabel="step", ylabel=title)
    for kind, (steps, values) in lines.items():
        if len(values) < _SMOOTHED:
            axes.plot(steps, values, marker=".", label=kind)
            continue
        (raw,) = axes.plot(steps, values, alpha=0.3)
        axes.plot(steps, running_mean(values), color=raw.get_color(), label=kind)
    axes.grid(alpha=0.3)
    if len(lines) > 1:
        axes.legend()
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write a figure, as the kind of picture that the path's ending names. Raises StoreError."""
    with atomic_file(path) as draft:
        figure.savefig(draft, format=path.suffix[1:].lower(), dpi=120)


def figure_type() -> Any:
    """A figure that needs no display and no state that threads would share: no pyplot."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise UsageError("plots need matplotlib: pip install 'infinite-rl[train]'") from None
    return Figure
