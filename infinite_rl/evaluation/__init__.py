"""Evaluation of a model on tasks, by the project's rewards; each score with its interval.

    evaluate(EvaluationConfig("runs/a/checkpoints/step_200", ["gsm8k"], "out"))

    config.py        the settings of an evaluation
    benchmarks.py    the table of tasks
    backends/        the table of backends that generate answers
    completions.py   the answers of a model, stored as they arrive
    run.py           requests answers, judges them, computes scores, and resumes
    score.py         from records to a score
    summary.py       scores for people

    harness.py       lm_eval in its own process, and its metrics

    watch.py         the checkpoints of a run, evaluated as they appear
    checkpoints.py   the present checkpoints of a run
    metrics.py       metrics by step, the best step, and how certain it is
    recipe.py        rows, evaluation, training, evaluation and comparison by one command

Names are loaded on first use.
"""

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
