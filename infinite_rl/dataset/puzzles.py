"""Rows of the tasks that the package reasoning-gym makes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..errors import UnknownName, UsageError
from ..layout import tagged
from ..reward_functions.reasoning_gym import REFUSED, load
from .rows import Row


def puzzles(task: str, count: int, seed: int = 0, **config: Any) -> Iterator[Row]:
    """`count` rows of a task; equal seeds give equal rows. `config` is of the task's own settings.

    Raises:
        UnknownName: no such task.
        UsageError: a task whose scorer is not trusted (see `REFUSED`), a setting that it has not,
            or the package is not installed.
    """
    load()
    from reasoning_gym.factory import DATASETS, create_dataset

    if task in REFUSED:
        raise UsageError(f"no rows of {task}: {REFUSED[task]}")
    if task not in DATASETS:
        raise UnknownName("task", task, DATASETS.keys() - REFUSED.keys())
    try:
        made = create_dataset(task, seed=seed, size=count, **config)
    except (TypeError, ValueError, AssertionError) as error:
        raise UsageError(f"{task} cannot be made so: {error}") from None
    return (_row(task, config, made[index], f"{task}-{seed}-{index}") for index in range(count))


def _row(task: str, config: dict[str, Any], made: dict[str, Any], key: str) -> Row:
    # As another process will have it: a scorer must do with what JSON keeps.
    entry = json.loads(json.dumps(made))
    return {
        "id": f"reasoning_gym-{key}",
        "type": "reasoning_gym",
        "prompt": entry["question"],
        "answer": json.dumps({"task": task, "config": config, "entry": entry}),
        "response": tagged(entry["answer"]),
        "language": "",
        "source": f"reasoning_gym:{task}",
        "split": "train",
    }
