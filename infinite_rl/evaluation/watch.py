"""The checkpoints of a run, evaluated as they come: one table, a row a step, and the best marked.

OUT/step_200/...    each as `evaluate` or lm_eval leaves it
OUT/steps.md        the table, and which step is the best
OUT/steps.jsonl     the same figures, a line for each step and task
OUT/best.json       the best step of each task and metric, its ties, and what it is not told from
OUT/plots/TASK.png  the curves

OUT is RUN/evaluations, or for lm_eval RUN/evaluations_lm_eval, where the config names no other.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..dataset.rows import write
from ..errors import Damaged, InfiniteRLError, StoreError, UsageError
from ..files.atomic import write_text
from ..manifest import write_manifest
from ..storage import Transfer, list_published, publish
from . import figures
from .checkpoints import LINES, Checkpoint, Checkpoints, cache_in, checkpoints
from .config import EvaluationConfig
from .figures import MetricPoint
from .run import refuse_others
from .steps import Evaluator, Found, evaluator
from .summary import plain

FOLDER, TABLE, BEST, PLOTS = "evaluations", "steps.md", "best.json", "plots"


def watch(
    run: str | Path,
    config: EvaluationConfig,
    *,
    every_s: float = 30.0,
    once: bool = False,
    stop: threading.Event | None = None,
    publish_to: str = "",
    on_answer: Callable[[int], None] = lambda _: None,
    wait: Callable[[float], object] | None = None,
) -> Iterator[str]:
    """Evaluate each whole checkpoint of a run, those that come later too; a line each.

    `run` is a run's folder, or where it publishes its checkpoints: see `checkpoints`. The model of
    `config` is that of each checkpoint. What was evaluated before is not again, but for items that
    a greater `limit` adds. A checkpoint that is thrown away meanwhile is passed over, and so is one
    whose content is not what was published. It ends when the run's last checkpoint is evaluated,
    when `stop` is set, or with `once` when all that are there are done; the last lines say which
    step is best. Lines that tell figures are `Found`.
    With `publish_to`, all that is in OUT is published there after each step; what fails is said,
    and tried again after the next.

    Raises:
        UsageError: there is no such run, the config cannot be used, steps were evaluated with
            other settings, or `publish_to` cannot be written to.
        StoreError: with `once`, that S3 does not answer; else it is asked again. At the end, that
            checkpoints were damaged.
        InfiniteRLError: as `evaluate`.
    """
    stop = stop or threading.Event()
    out = _out(str(run), config)
    found = checkpoints(str(run), cache_in(out, Transfer(stop=stop)))
    settings = refuse_others(out, {"harness": config.harness})
    evaluates = evaluator(replace(config, model=str(run), out=str(out)))
    write_manifest(out, {"settings": settings})
    if publish_to:
        with suppress(StoreError):  # that it does not answer now is no reason not to evaluate
            list_published(publish_to)
    watching = _Watching(found, evaluates, out, stop, on_answer, publish_to)
    yield from watching.lines(every_s, once, wait or stop.wait)


def _out(run: str, config: EvaluationConfig) -> Path:
    if config.out:
        return Path(config.out)
    if run.startswith(("s3:", "file:")):
        raise UsageError(f"out is missing: the folder that the results of {run} go to")
    return Path(run) / (FOLDER if config.harness == "native" else f"{FOLDER}_{config.harness}")


class _NoAnswer(StoreError):
    """Where checkpoints are published to does not answer, or cuts the line."""


@dataclass
class _Watching:
    """One watch: where checkpoints are found, how they are evaluated, where that is written, and
    the names of those that are passed over."""

    found: Checkpoints
    evaluator: Evaluator
    out: Path
    stop: threading.Event
    on_answer: Callable[[int], None]
    publish_to: str = ""
    gone: set[str] = field(default_factory=set)
    damaged: list[str] = field(default_factory=list)

    def lines(self, every_s: float, once: bool, wait: Callable[[float], object]) -> Iterator[str]:
        said = ""
        while not self.stop.is_set():
            try:
                there = self._there()
                todo = [each for each in there if self._is_owed(each)]
                for each in todo:
                    yield from self._step(each)
            except _NoAnswer as error:
                if once or self.stop.is_set():
                    raise
                if str(error) != said:
                    said = str(error)
                    yield f"{said}; it is tried again"
                wait(every_s)
                continue
            if not todo and (once or any(each.final for each in there)):
                yield from self._end()
                yield from self._publish()
                if self.damaged:
                    raise StoreError(f"damaged, and not evaluated: {', '.join(self.damaged)}")
                return
            if not todo:
                wait(every_s)

    def _is_owed(self, checkpoint: Checkpoint) -> bool:
        passed_over = checkpoint.name in self.gone or checkpoint.name in self.damaged
        return not passed_over and not self.evaluator.done(checkpoint)

    def _step(self, checkpoint: Checkpoint) -> Iterator[str]:
        """Evaluate one; what there is to say of it."""
        try:
            path = self._fetched(checkpoint)
        except Damaged as error:  # and it would be the next time
            self.damaged.append(checkpoint.name)
            yield f"{checkpoint.name} is passed over: {error}"
            return
        if path and self._evaluated(checkpoint, path):
            yield from self.evaluator.lines(checkpoint)
            yield from self._publish()
        else:
            self.gone.add(checkpoint.name)
            yield f"{checkpoint.name} was thrown away before it was evaluated"

    def _there(self) -> list[Checkpoint]:
        try:
            return self.found.there()
        except StoreError as error:
            raise _NoAnswer(str(error)) from None

    def _fetched(self, checkpoint: Checkpoint) -> Path | None:
        """Its folder; None where it has been thrown away."""
        try:
            return self.found.fetch(checkpoint)
        except (UsageError, StoreError) as error:
            if not self._is_there(checkpoint):
                return None
            if isinstance(error, Damaged):
                raise
            raise (_NoAnswer(str(error)) if isinstance(error, StoreError) else error) from None

    def _evaluated(self, checkpoint: Checkpoint, path: Path) -> bool:
        """Evaluate one; False where it has been thrown away before that was done."""
        try:
            self.evaluator.evaluate(checkpoint, path, self.stop, self.on_answer)
        except (InfiniteRLError, OSError):
            if self.stop.is_set() or self._is_there(checkpoint):
                raise
            return False
        finally:
            self.found.leave(path)
        self._write(self.evaluator.figures())
        return True

    def _is_there(self, checkpoint: Checkpoint) -> bool:
        return checkpoint.name in [each.name for each in self._there()]

    def _write(self, found: Sequence[MetricPoint]) -> None:
        best = figures.all_best(found)
        write(self.evaluator.records(), self.out / LINES)
        notes = [f"- {plain(note)}" for note in figures.notes(best)]
        lines = ["# Evaluation by step", "", *self.evaluator.table(best), "", *notes, ""]
        write_text(self.out / TABLE, "\n".join(lines))
        told = json.dumps([each.values() for each in best], indent=1)
        write_text(self.out / BEST, f"{told}\n")
        figures.try_to_plot(found, self.out / PLOTS)

    def _publish(self) -> Iterator[str]:
        """Publish all that is there; a line where that fails."""
        if self.publish_to:
            try:
                publish(self.out, self.publish_to, transfer=Transfer(stop=self.stop))
            except InfiniteRLError as error:
                yield f"the results are not published: {error}"

    def _end(self) -> Iterator[str]:
        found = self.evaluator.figures()
        if not found:
            yield "there is no checkpoint yet"
        best = figures.all_best(found)
        if any(each.steps > 1 for each in best):
            yield from (Found(str(each), {"best": each.values()}) for each in best)
            yield from figures.notes(best)[len(best) :]
