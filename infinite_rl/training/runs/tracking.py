"""A run's numbers in TensorBoard and Weights & Biases, beside its own events."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import UsageError, look_up, reason_of
from ...redact import redact


def is_main_process() -> bool:
    """Whether this process is the one that writes: number 0, or the only one.

    torchrun, accelerate and their like set RANK.
    """
    return os.environ.get("RANK", "0") == "0"


def check(names: Sequence[str]) -> None:
    """See that the trackers named can be had, before anything is made.

    Raises:
        UnknownName: a tracker is not known.
        UsageError: the package of one is not installed.
    """
    for name in names:
        look_up("tracker", name, TRACKERS)
        if is_main_process():
            _package(name)


class Tracking:
    """Hands each step's numbers to the trackers named; in other processes than the main one to
    none.

    `tensorboard` writes event files into `run`/tensorboard. `wandb` writes into `run`/wandb, and
    sends where the user has logged in (`WANDB_MODE=offline` keeps it here); it is told the config
    without secrets, and neither code, nor arguments, nor the machine. `resumed_at` is the step that
    the run goes on from: what TensorBoard has of later ones is dropped.

    Use it as a context manager.

    Raises:
        UnknownName: a tracker is not known.
        UsageError: the package of one is not installed, or it refuses to begin.
    """

    def __init__(
        self,
        names: Sequence[str],
        run: Path,
        config: Mapping[str, Any],
        *,
        resumed_at: int | None = None,
    ) -> None:
        check(names)
        self._logs: list[Log] = []
        with ExitStack() as opened:
            for name in dict.fromkeys(names) if is_main_process() else ():
                log, close = TRACKERS[name](run, redact(config), resumed_at)
                opened.callback(close)
                self._logs.append(log)
            self._opened = opened.pop_all()

    def __enter__(self) -> Tracking:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._opened.close()

    def log(self, step: int, values: Mapping[str, Any]) -> None:
        """Hand on the numbers among the values, such as {"train/reward": 0.5}."""
        numbers = {
            name: float(value)
            for name, value in values.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        for log in self._logs:
            log(step, numbers)


Log = Callable[[int, Mapping[str, float]], None]
Opened = tuple[Log, Callable[[], None]]  # takes a step's numbers; ends


_MODULES = {"tensorboard": "torch.utils.tensorboard", "wandb": "wandb"}


def _package(name: str) -> Any:
    """The module of a tracker. Raises UsageError where it is not installed."""
    try:
        return import_module(_MODULES[name])
    except ModuleNotFoundError:
        raise UsageError(f"tracking by {name} needs it: pip install {name}") from None


def _tensorboard(run: Path, config: Mapping[str, Any], resumed_at: int | None) -> Opened:
    purge = None if resumed_at is None else resumed_at + 1
    try:
        writer = _package("tensorboard").SummaryWriter(str(run / "tensorboard"), purge_step=purge)
    except OSError as error:
        raise UsageError(f"tensorboard cannot begin: {error}") from None
    if resumed_at is None:
        writer.add_text("config", "\n".join(f"    {key}: {config[key]}" for key in config))

    def log(step: int, numbers: Mapping[str, float]) -> None:
        for name, value in numbers.items():
            writer.add_scalar(name, value, step)
        writer.flush()  # a run that is killed loses no step

    return log, writer.close


def _wandb(run: Path, config: Mapping[str, Any], resumed_at: int | None) -> Opened:
    wandb = _package("wandb")
    settings = wandb.Settings(
        console="off",
        disable_code=True,
        disable_git=True,
        x_disable_meta=True,  # it would hold the command's arguments
        x_save_requirements=False,
    )
    try:
        session = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "infinite-rl"),
            dir=str(run),
            id=run.name,
            name=run.name,
            config=dict(config),
            resume=None if resumed_at is None else "allow",
            settings=settings,
        )
    except (wandb.errors.Error, OSError) as error:
        said = reason_of(error)
        raise UsageError(f"wandb cannot begin (offline: WANDB_MODE=offline): {said}") from None

    def log(step: int, numbers: Mapping[str, float]) -> None:
        session.log(dict(numbers), step=step)

    return log, session.finish


# One row a tracker.
TRACKERS: Mapping[str, Callable[[Path, Mapping[str, Any], int | None], Opened]] = {
    "tensorboard": _tensorboard,
    "wandb": _wandb,
}
