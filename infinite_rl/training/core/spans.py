"""What each worker of a run did when, told as events; `timeline` reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..engines.roles import WorkerLost

SPAN = "span"  # the kind of event


class Spans:
    """Tells how long things took, by one clock for all workers.

    `tell` takes an event, as `RunFolder.event`; `step` gives the update that is being made, from 1.
    """

    def __init__(
        self, tell: Callable[..., None], clock: Callable[[], float], step: Callable[[], int]
    ) -> None:
        self._tell, self._clock, self._step = tell, clock, step
        self._began = clock()

    def go_on(self, elapsed: float) -> None:
        """Go on from so many seconds: those between an end and a resumption do not count."""
        self._began -= elapsed

    def now(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._began

    @contextmanager
    def span(
        self, stage: str, worker: str, version: int, prompts: int = 0, step: int | None = None
    ) -> Iterator[None]:
        """Tell how long something took, also where its worker died of it."""
        began = self.now()
        try:
            yield
        except WorkerLost:
            self._ended(stage, worker, began, version, prompts, step, lost=True)
            raise
        self._ended(stage, worker, began, version, prompts, step)

    def idle(self, worker: str, began: float, version: int) -> None:
        """Tell that a worker has waited until now."""
        self._ended("idle", worker, began, version, 0, None)

    def _ended(
        self,
        stage: str,
        worker: str,
        began: float,
        version: int,
        prompts: int,
        step: int | None,
        **more: Any,
    ) -> None:
        times = {"began_s": round(began, 6), "ended_s": round(self.now(), 6)}
        told = {"stage": stage, "worker": worker, **times, "version": version, "prompts": prompts}
        self._tell(SPAN, self._step() if step is None else step, **told, **more)
