"""Evaluation: a model, tasks, and the project's own rewards; every score with what it rests on.

    evaluate(EvaluationConfig("runs/a/checkpoints/step_200", ["gsm8k"], "out"))

    config.py        what one evaluation is told
    benchmarks.py    the table of tasks
    backends/        the table of who answers
    run.py           ask, judge, sum up, and go on where that ended
    shards.py        the same, in several processes
    answers.py       what the model has answered, kept as it comes
    score.py         from records to a score
    summary.py       scores to read

    harness.py       lm_eval in its own process, and its figures

    watch.py         the checkpoints of a run, evaluated as they come
    checkpoints.py   where they are found
    steps.py         how one is evaluated: by our own tasks, or by lm_eval
    figures.py       which step is best, and how sure that is

Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import EvaluationConfig
    from .run import evaluate
    from .score import Score

__all__ = ["EvaluationConfig", "Score", "evaluate"]

_HOME = {"EvaluationConfig": ".config", "Score": ".score", "evaluate": ".run"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name], __name__), name)
    globals()[name] = value
    return value
