"""How one checkpoint of a run is evaluated, and what those that are done amount to.

OUT/step_200/...    each as `evaluate` or lm_eval leaves it
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ..manifest import write_manifest
from ..training.runs.checkpoint import step_of
from . import figures, harness
from .benchmarks import tasks_of
from .checkpoints import Checkpoint
from .config import EvaluationConfig
from .figures import BestStep, MetricPoint
from .harness import Line
from .run import SCORE, TaskRun, check_settings, evaluate, refuse_others
from .score import Score
from .summary import in_words, markdown_lines, table, table_lines


class Evaluator(Protocol):
    """Evaluates checkpoints, and tells of all that are done."""

    def done(self, found: Checkpoint) -> bool:
        """Whether one is, with as many items as are asked for now."""
        ...

    def evaluate(
        self,
        found: Checkpoint,
        path: Path,
        stop: threading.Event,
        on_answer: Callable[[int], None],
    ) -> None:
        """Evaluate one, whose folder is `path`. Raises InfiniteRLError, as `evaluate`."""
        ...

    def lines(self, found: Checkpoint) -> Iterator[Found]:
        """What to say of one that is done."""
        ...

    def figures(self) -> list[MetricPoint]:
        """Those of all steps, in their order."""
        ...

    def records(self) -> Iterator[dict[str, Any]]:
        """The same as JSON holds it, with what else is known: a record for each step and task."""
        ...

    def table(self, best: Sequence[BestStep]) -> list[str]:
        """The same as lines of Markdown, with the best marked."""
        ...


def evaluator(config: EvaluationConfig) -> Evaluator:
    """That of the config's harness, once it is clear that all steps so far had its settings.

    Raises:
        UsageError: they had others, or the config cannot be used.
    """
    return NativeEvaluator.of(config) if config.harness == "native" else LmEval.of(config)


class Found(str):
    """A line that tells figures; `values` are these, as JSON can hold them."""

    values: Mapping[str, Any]

    def __new__(cls, line: str, values: Mapping[str, Any]) -> Found:
        found = super().__new__(cls, line)
        found.values = values
        return found


def _folders(out: Path) -> list[Path]:
    """Those of the steps that were evaluated, in their order."""
    return sorted((path for path in out.glob("step_*") if path.is_dir()), key=step_of)


# --- our own evaluation --------------------------------------------------------------------------


@dataclass(frozen=True)
class NativeEvaluator:
    """Our own tasks; a folder for each in that of a step."""

    config: EvaluationConfig
    items: Mapping[str, int]  # of each task

    @classmethod
    def of(cls, config: EvaluationConfig) -> NativeEvaluator:
        """Once it is clear that all steps so far had these settings. Raises UsageError."""
        works = [TaskRun.of(config, task) for task in tasks_of(config.tasks)]
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

    def lines(self, found: Checkpoint) -> Iterator[Found]:
        for name in self.items:
            score = Score.read(Path(self.config.out) / found.name / name / SCORE)
            values = {"step": found.step, "task": name, **asdict(score)}
            for line in in_words(table({f"{found.name}, {name}": score})):
                yield Found(line, values)

    def figures(self) -> list[MetricPoint]:
        scores = self._scores()
        return [
            each for step, name, score in scores for each in figures.of_score(step, name, score)
        ]

    def records(self) -> Iterator[dict[str, Any]]:
        for step, name, score in self._scores():
            yield {"step": step, "task": name, **asdict(score)}

    def table(self, best: Sequence[BestStep]) -> list[str]:
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
class LmEval:
    """lm_eval's tasks."""

    config: EvaluationConfig

    @classmethod
    def of(cls, config: EvaluationConfig) -> LmEval:
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

    def lines(self, found: Checkpoint) -> Iterator[Found]:
        for line in harness.read_lines(Path(self.config.out) / found.name):
            values = {"step": found.step, **asdict(line)}
            for said in in_words([["step", *harness.HEAD], [found.name, *line.cells()]]):
                yield Found(said, values)

    def figures(self) -> list[MetricPoint]:
        return [figures.of_line(step, line) for step, line in self._lines()]

    def records(self) -> Iterator[dict[str, Any]]:
        for step, line in self._lines():
            yield {"step": step, **asdict(line)}

    def table(self, best: Sequence[BestStep]) -> list[str]:
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
