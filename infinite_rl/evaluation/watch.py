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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ..dataset.rows import write
from ..errors import InfiniteRLError, StoreError, UsageError
from ..files.replacing import write_text
from ..manifest import write_manifest
from ..storage import Transfer, publish, ready
from ..training.checkpoint import step_of
from . import figures, harness
from .benchmarks import tasks_of
from .checkpoints import LINES, Checkpoint, Checkpoints, cache_in, checkpoints
from .config import EvaluationConfig
from .figures import Best, Figure
from .harness import Line
from .run import SCORE, Work, check_settings, evaluate, refuse_others
from .score import Score
from .summary import in_words, markdown_lines, plain, table, table_lines

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
    a greater `limit` adds. A checkpoint that is thrown away meanwhile is passed over. It ends when
    the run's last checkpoint is evaluated, when `stop` is set, or with `once` when all that are
    there are done; the last lines say which step is best. Lines that tell figures are `Found`.
    With `publish_to`, all that is in OUT is published there after each step; what fails is said,
    and tried again after the next.

    Raises:
        UsageError: there is no such run, the config cannot be used, steps were evaluated with
            other settings, or `publish_to` cannot be written to.
        StoreError: with `once`, that S3 does not answer; else it is asked again.
        InfiniteRLError: as `evaluate`.
    """
    stop = stop or threading.Event()
    out = _out(str(run), config)
    found = checkpoints(str(run), cache_in(out, Transfer(stop=stop)))
    own = config.harness == "own"
    told = replace(config, model=str(run), out=str(out))
    settings = refuse_others(out, {"harness": config.harness})
    judge: _Judge = _Own.of(told) if own else _LmEval.of(told)
    write_manifest(out, {"settings": settings})
    if publish_to:
        with suppress(StoreError):  # that it does not answer now is no reason not to evaluate
            ready(publish_to)
    watching = _Watching(found, judge, out, stop, on_answer, publish_to)
    yield from watching.lines(every_s, once, wait or stop.wait)


def _out(run: str, config: EvaluationConfig) -> Path:
    if config.out:
        return Path(config.out)
    if run.startswith(("s3:", "file:")):
        raise UsageError(f"out is missing: the folder that the results of {run} go to")
    return Path(run) / (FOLDER if config.harness == "own" else f"{FOLDER}_{config.harness}")


class Found(str):
    """A line that a watch yields of figures; `values` are these, as JSON can hold them."""

    values: Mapping[str, Any]

    def __new__(cls, line: str, values: Mapping[str, Any]) -> Found:
        found = super().__new__(cls, line)
        found.values = values
        return found


class _NoAnswer(StoreError):
    """Where checkpoints are published to does not answer, or cuts the line."""


@dataclass
class _Watching:
    """One watch: where checkpoints are found, how they are judged, and where that is written."""

    found: Checkpoints
    judge: _Judge
    out: Path
    stop: threading.Event
    on_answer: Callable[[int], None]
    publish_to: str = ""

    def lines(self, every_s: float, once: bool, wait: Callable[[float], object]) -> Iterator[str]:
        gone: set[str] = set()
        said = ""
        while not self.stop.is_set():
            try:
                there = self._there()
                todo = [each for each in there if not (each.name in gone or self.judge.done(each))]
                for each in todo:
                    if (path := self._fetched(each)) and self._evaluated(each, path):
                        yield from self.judge.lines(each)
                        yield from self._publish()
                    else:
                        gone.add(each.name)
                        yield f"{each.name} was thrown away before it was evaluated"
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
                return
            if not todo:
                wait(every_s)

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
            raise (_NoAnswer(str(error)) if isinstance(error, StoreError) else error) from None

    def _evaluated(self, checkpoint: Checkpoint, path: Path) -> bool:
        """Evaluate one; False where it has been thrown away before that was done."""
        try:
            self.judge.evaluate(checkpoint, path, self.stop, self.on_answer)
        except (InfiniteRLError, OSError):
            if self.stop.is_set() or self._is_there(checkpoint):
                raise
            return False
        finally:
            self.found.leave(path)
        self._write(self.judge.figures())
        return True

    def _is_there(self, checkpoint: Checkpoint) -> bool:
        return checkpoint.name in [each.name for each in self._there()]

    def _write(self, found: Sequence[Figure]) -> None:
        best = figures.all_best(found)
        write(self.judge.records(), self.out / LINES)
        table = [*self.judge.table(best), "", *(f"- {plain(note)}" for note in figures.notes(best))]
        write_text(self.out / TABLE, "\n".join(["# Evaluation by step", "", *table, ""]))
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
        found = self.judge.figures()
        if not found:
            yield "there is no checkpoint yet"
        best = figures.all_best(found)
        if any(each.steps > 1 for each in best):
            yield from (Found(str(each), {"best": each.values()}) for each in best)
            yield from figures.notes(best)[len(best) :]


class _Judge(Protocol):
    """How checkpoints are evaluated into folders, and what came of it."""

    def done(self, found: Checkpoint) -> bool: ...
    def evaluate(
        self,
        found: Checkpoint,
        path: Path,
        stop: threading.Event,
        on_answer: Callable[[int], None],
    ) -> None: ...
    def lines(self, found: Checkpoint) -> Iterator[str]:
        """What to say of one that is done."""
        ...

    def figures(self) -> list[Figure]: ...
    def records(self) -> Iterator[dict[str, Any]]: ...
    def table(self, best: Sequence[Best]) -> list[str]: ...


def _folders(out: Path) -> list[Path]:
    """Those of the steps that were evaluated, in their order."""
    return sorted((path for path in out.glob("step_*") if path.is_dir()), key=step_of)


# --- our own evaluation --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Own:
    config: EvaluationConfig
    items: Mapping[str, int]  # of each task

    @classmethod
    def of(cls, config: EvaluationConfig) -> _Own:
        """Once it is clear that all steps so far had these settings. Raises UsageError."""
        works = [Work.of(config, task) for task in tasks_of(config.tasks)]
        for folder in _folders(Path(config.out)):
            for work in works:
                of_step = replace(work, config=replace(config, out=str(folder)))
                check_settings(of_step, but=("model", "weights"))
        return cls(config, {work.task.name: len(work.items) for work in works})

    def done(self, found: Checkpoint) -> bool:
        """Whether its scores are there, each of all items."""
        folder = Path(self.config.out) / found.name
        return all(
            (path := folder / name / SCORE).is_file() and Score.read(path).items == count
            for name, count in self.items.items()
        )

    def evaluate(
        self,
        found: Checkpoint,
        path: Path,
        stop: threading.Event,
        on_answer: Callable[[int], None],
    ) -> None:
        out = str(Path(self.config.out) / found.name)
        evaluate(replace(self.config, model=str(path), out=out), stop=stop, on_answer=on_answer)

    def lines(self, found: Checkpoint) -> Iterator[str]:
        for name in self.items:
            score = Score.read(Path(self.config.out) / found.name / name / SCORE)
            values = {"step": found.step, "task": name, **asdict(score)}
            for line in in_words(table({f"{found.name}, {name}": score})):
                yield Found(line, values)

    def figures(self) -> list[Figure]:
        scores = self._scores()
        return [
            each for step, name, score in scores for each in figures.of_score(step, name, score)
        ]

    def records(self) -> Iterator[dict[str, Any]]:
        for step, name, score in self._scores():
            yield {"step": step, "task": name, **asdict(score)}

    def table(self, best: Sequence[Best]) -> list[str]:
        """The best by pass@1 is marked."""
        named = {}
        for step, name, score in self._scores():
            said = [f"step {step}", name]
            for figure in list(figures.of_score(step, name, score))[:1]:
                said += [mark] if (mark := figures.mark(figure, best)) else []
            named[", ".join(said)] = score
        return table_lines(named)

    def _scores(self) -> Iterator[tuple[int, str, Score]]:
        for folder in _folders(Path(self.config.out)):
            for name in self.items:
                path = folder / name / SCORE
                if path.is_file():
                    yield step_of(folder), name, Score.read(path)


# --- lm_eval -------------------------------------------------------------------------------------

# What an lm_eval figure does not depend on.
_ELSEWHERE = ("model", "out", "device", "batch_size", "threads", "shards", "timeout")


@dataclass(frozen=True)
class _LmEval:
    config: EvaluationConfig

    @classmethod
    def of(cls, config: EvaluationConfig) -> _LmEval:
        """Once it is clear that lm_eval can do it, and all steps so far had these settings."""
        harness.check_installed()
        harness.command(config)
        judge = cls(config)
        for folder in _folders(Path(config.out)):
            if judge._is_done(folder):  # where lm_eval has failed, nothing depends on them
                refuse_others(folder, judge._settings())
        return judge

    def _settings(self) -> dict[str, Any]:
        values = self.config.values()
        return {name: value for name, value in values.items() if name not in _ELSEWHERE}

    def done(self, found: Checkpoint) -> bool:
        return self._is_done(Path(self.config.out) / found.name)

    @staticmethod
    def _is_done(folder: Path) -> bool:
        return (folder / harness.LINES).is_file()

    def evaluate(
        self,
        found: Checkpoint,
        path: Path,
        stop: threading.Event,  # noqa: ARG002  # a signal ends lm_eval by itself
        on_answer: Callable[[int], None],  # noqa: ARG002  # it counts by itself
    ) -> None:
        folder = Path(self.config.out) / found.name
        folder.mkdir(parents=True, exist_ok=True)
        write_manifest(folder, {"settings": self._settings()})
        harness.run_harness(replace(self.config, model=str(path), out=str(folder)))

    def lines(self, found: Checkpoint) -> Iterator[str]:
        for line in harness.read_lines(Path(self.config.out) / found.name):
            values = {"step": found.step, **asdict(line)}
            for said in in_words([["step", *harness.HEAD], [found.name, *line.cells()]]):
                yield Found(said, values)

    def figures(self) -> list[Figure]:
        return [figures.of_line(step, line) for step, line in self._lines()]

    def records(self) -> Iterator[dict[str, Any]]:
        for step, line in self._lines():
            yield {"step": step, **asdict(line)}

    def table(self, best: Sequence[Best]) -> list[str]:
        cells = []
        for step, line in self._lines():
            mark = figures.mark(figures.of_line(step, line), best)
            cells.append([f"{step}, {mark}" if mark else str(step), *line.cells()])
        return markdown_lines([["step", *harness.HEAD], *cells])

    def _lines(self) -> Iterator[tuple[int, Line]]:
        for folder in _folders(Path(self.config.out)):
            if self._is_done(folder):
                for line in harness.read_lines(folder):
                    yield step_of(folder), line
