"""The checkpoints of a run, evaluated as they come: one table, a row a step.

RUN/evaluations/step_200/...    each as `evaluate` leaves it
RUN/evaluations/steps.md        the table
RUN/evaluations/steps.jsonl     the same figures, a line for each step and task
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from ..dataset.rows import write
from ..errors import InfiniteRLError, UsageError
from ..replacing import write_text
from ..training.checkpoint import is_ready, ready, step_of
from .config import EvaluationConfig
from .run import SCORE, Work, check_settings, evaluate
from .score import Score
from .summary import table_lines
from .tasks import tasks_of

FOLDER, TABLE, LINES = "evaluations", "steps.md", "steps.jsonl"


def watch(
    run: Path,
    config: EvaluationConfig,
    *,
    every_s: float = 30.0,
    once: bool = False,
    stop: threading.Event | None = None,
    on_answer: Callable[[int], None] = lambda _: None,
    wait: Callable[[float], object] | None = None,
) -> Iterator[str]:
    """Evaluate each whole checkpoint of a run, those that come later too; the table's lines.

    The model of `config` is that of each checkpoint, its `out` the folder RUN/evaluations where it
    names no other. What was evaluated before is not again, but for items that a greater `limit`
    adds. A checkpoint that the run throws away meanwhile is passed over. It ends when `stop` is
    set, or with `once` when all are done.

    Raises:
        UsageError: there is no such run, the config cannot be used, or steps were evaluated with
            other settings.
        InfiniteRLError: as `evaluate`.
    """
    if not run.is_dir():
        raise UsageError(f"there is no run {run}")
    stop = stop or threading.Event()
    wait = wait or stop.wait
    out = Path(config.out) if config.out else run / FOLDER
    items = _items(replace(config, model=str(run)), out)
    names = list(items)
    gone: set[Path] = set()
    while not stop.is_set():
        left = [path for path in ready(run) if path not in gone]
        todo = [path for path in left if not _done(out / path.name, items)]
        if not todo and once:
            return
        if not todo:
            wait(every_s)
        for path in todo:
            told = replace(config, model=str(path), out=str(out / path.name))
            if _evaluated(path, told, stop, on_answer):
                _write_tables(out, names)
                for name in names:
                    score = Score.read(out / path.name / name / SCORE)
                    yield from table_lines({f"{path.name}, {name}": score})[2:]
            else:
                gone.add(path)
                yield f"{path.name} was thrown away before it was evaluated"


def steps(out: Path, names: Sequence[str]) -> Iterator[tuple[int, str, Score]]:
    """The step, the task and the score of all that is evaluated, in the order of the steps."""
    folders = [path for path in out.glob("step_*") if path.is_dir()]
    for folder in sorted(folders, key=step_of):
        for name in names:
            path = folder / name / SCORE
            if path.is_file():
                yield step_of(folder), name, Score.read(path)


def _items(config: EvaluationConfig, out: Path) -> dict[str, int]:
    """How many items each task has, once it is clear that all steps so far had these settings."""
    works = [Work.of(config, task) for task in tasks_of(config.tasks)]
    for folder in out.glob("step_*"):
        for work in works:
            of_step = replace(work, config=replace(config, out=str(folder)))
            check_settings(of_step, but=("model", "weights"))
    return {work.task.name: len(work.items) for work in works}


def _done(folder: Path, items: Mapping[str, int]) -> bool:
    """Whether a step's scores are there, each of all items."""
    return all(
        (path := folder / name / SCORE).is_file() and Score.read(path).items == count
        for name, count in items.items()
    )


def _evaluated(
    checkpoint: Path,
    config: EvaluationConfig,
    stop: threading.Event,
    on_answer: Callable[[int], None],
) -> bool:
    """Evaluate a checkpoint; False where the run has thrown it away before that was done."""
    try:
        evaluate(config, stop=stop, on_answer=on_answer)
    except (InfiniteRLError, OSError):
        if is_ready(checkpoint):
            raise
        return False
    return True


def _write_tables(out: Path, names: Sequence[str]) -> None:
    found = list(steps(out, names))
    write(
        ({"step": step, "task": name, **asdict(score)} for step, name, score in found), out / LINES
    )
    scores = {f"step {step}, {name}": score for step, name, score in found}
    write_text(out / TABLE, "\n".join(["# Evaluation by step", "", *table_lines(scores), ""]))
