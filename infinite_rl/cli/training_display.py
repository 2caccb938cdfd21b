"""What a person sees while a model is trained: a live bar, or plain lines."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from .display import PLAIN_EVERY_S, has_room

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
    found = {name: values.get(name) for name in _SHOWN}
    return ", ".join(
        _SHOWN[name].format(round(value, 4) + 0)  # no -0.0000
        for name, value in found.items()
        if isinstance(value, int | float) and (value or name not in _AS_A_RULE_NONE)
    )


class NotedBars(Progress):
    """Bars with a line under them, which may be long and takes no width from them."""

    note = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        yield Text(self.note, style="dim", no_wrap=True, overflow="ellipsis")


class LiveDisplay:
    """A bar of the steps with their numbers under it."""

    def __init__(self, console: Console, steps: int, begun: int) -> None:
        self._bar = NotedBars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=min(40, console.width - 40)),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._bar.add_task("step", total=steps, completed=begun)

    def __enter__(self) -> LiveDisplay:
        self._bar.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._bar.stop()

    def __call__(self, step: int, values: Mapping[str, Any]) -> None:
        self._bar.note = numbers(values)
        self._bar.update(self._task, completed=step)


class PlainDisplay:
    """A line every few seconds, and one for the last step."""

    def __init__(self, console: Console, steps: int, begun: int) -> None:
        self._console, self._steps, self._begun = console, steps, begun
        self._start = self._last = time.monotonic()

    def __enter__(self) -> PlainDisplay:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def __call__(self, step: int, values: Mapping[str, Any]) -> None:
        now = time.monotonic()
        if now - self._last < PLAIN_EVERY_S and step < self._steps:
            return
        self._last = now
        left = (now - self._start) / max(1, step - self._begun) * (self._steps - step)
        parts = (f"step {step}/{self._steps}", numbers(values), left and f"{left:.0f} s left")
        line = ", ".join(part for part in parts if part)
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def display(console: Console, steps: int, *, begun: int = 0) -> LiveDisplay | PlainDisplay:
    """The display that fits the console, for a run of `steps` of which `begun` are done.

    It is a context manager, and is called with each step's number and values.
    """
    return (LiveDisplay if has_room(console) else PlainDisplay)(console, steps, begun)
