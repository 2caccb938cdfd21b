"""Evaluation: a model, tasks, and the project's own rewards; every score with what it rests on.

    evaluate(EvaluationConfig("runs/a/checkpoints/step_200", ["gsm8k"], "out"))

`config` says what can be told, `benchmarks` and `backends` are the tables of tasks and of who
answers, `watch` follows the checkpoints of a run, and `harness` runs lm_eval. Names are loaded when
they are first used.
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
