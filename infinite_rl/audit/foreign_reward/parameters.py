"""Arguments for a function, by the names of its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

# Names of parameters, the surest first.
COMPLETION = (
    "completion", "response", "solution_str", "output", "prediction", "predicted", "pred",
    "model_output", "generation", "generated", "completion_text", "response_text", "reply",
    "candidate", "student", "model_response", "text", "code", "program", "solution",
)  # fmt: skip
GOLD = (
    "answer", "gold", "ground_truth", "target", "reference", "expected", "label", "truth", "gt",
    "correct_answer", "ref", "solution", "tests", "reference_answer", "gold_answer", "correct",
    "final_answer",
)  # fmt: skip
PROMPT = ("prompt", "question", "problem", "query", "instruction", "input")
ROW = ("row", "doc", "example", "sample", "item", "task", "info", "extra_info", "state")


class Unfit(ValueError):
    """The row or the target does not fit the call, which is no fault of the reward."""


def required(fn: Callable[..., Any]) -> list[str]:
    """The names of the parameters without a default."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(fn).parameters.values()
    return [p.name for p in parameters if p.kind not in kinds and p.default is p.empty]


def call_accepted(fn: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Call a function with those of the values that it takes, and None for what else it needs."""
    parameters = inspect.signature(fn).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    args = {name: value for name, value in values.items() if takes_all or name in parameters}
    return fn(**{**dict.fromkeys(required(fn)), **args})


def call_by_name(fn: Callable[..., Any], completion: Any, row: dict[str, Any]) -> Any:
    """Call a function of one completion: by the names of its parameters, else by position."""
    columns, needed = row["columns"], required(fn)
    first = next((name for name in COMPLETION if name in needed), (needed or [""])[0])
    parameters = inspect.signature(fn).parameters
    values: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if name == first:
            values[name] = completion
        elif parameter.kind is parameter.VAR_KEYWORD:
            values.update({n: v for n, v in columns.items() if n not in values})
        elif name in columns:
            values[name] = columns[name]
        elif name in PROMPT:
            values[name] = row["prompt"]
        elif name in ROW and name in needed:
            values[name] = columns
        elif name in GOLD or name in needed:
            values[name] = row["answer"]
    fixed = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_ONLY]
    args = [values.pop(name) for name in fixed if name in values]
    return fn(*args, **values)
