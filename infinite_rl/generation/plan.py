"""What to make: targets per family from weights, and the slots in which they are made. Pure."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import UnknownName, UsageError, look_up
from ..prompts import task_request
from ..sandbox.runtimes import language_of
from ..types import TaskType


@dataclass(frozen=True)
class Shard:
    """The `number`-th of `count` shards, from 0, and how many rows per family it is to hold.

    Samples are dealt out by turns: a turn takes a sample of each task of a family, and every
    `count`-th turn belongs to the same shard. So no slot is in two shards.
    """

    number: int
    count: int
    targets: Mapping[str, int]


@dataclass(frozen=True)
class Plan:
    """What a data set is to hold: the tasks in use, their weights and the rows wanted, by family.

    The tasks of a family take turns. Of a plan with a `shard`, only that part is made.
    """

    tasks: Mapping[str, Sequence[TaskType]]
    weights: Mapping[str, float]
    targets: dict[str, int]
    shard: Shard | None = None

    @classmethod
    def of(
        cls,
        num_samples: int,
        task_dist: str | Sequence[float] | Mapping[str, float],
        tasks: Mapping[str, TaskType],
        languages: Sequence[str],
        rewards: Mapping[str, object],
    ) -> Plan:
        """The plan for so many rows in all; of the tasks with a language, only the chosen ones'.

        What could only fail once calls have been paid for is refused here.

        Raises:
            UsageError: the weights cannot be used, or a family that is wanted has no task left.
            UnknownName: a language or a family is not known, nor a task's reward in `rewards`.
        """
        families = _by_family(tasks, languages)
        weights = parse_weights(task_dist, list(families))
        targets = split_total(num_samples, weights)
        for family, kinds in families.items():
            if targets[family] and not kinds:
                raise UsageError(f"no language is chosen for {family} tasks")
            for task in kinds:
                look_up("reward", task.reward, rewards)
        return cls(families, weights, targets)

    @property
    def kinds(self) -> list[TaskType]:
        """All tasks in use."""
        return [task for tasks in self.tasks.values() for task in tasks]

    @property
    def task_names(self) -> list[str]:
        """The names of the tasks of which rows are wanted."""
        return [
            task.name
            for family, tasks in self.tasks.items()
            for task in tasks
            if self.targets[family]
        ]

    @property
    def prompt_chars(self) -> int:
        """The characters of the longest first prompt."""
        return max(len(task.system_prompt) + len(task_request(task)) for task in self.kinds)

    def free_indices(self, family: str, filled: Collection[int]) -> Iterator[int]:
        """The indices of samples that are to be made and hold no row yet, endless."""
        if self.shard is None:
            return free_indices(filled)
        turn = max(1, len(self.tasks[family]))
        return free_indices(filled, turn, self.shard.number, self.shard.count)

    def settings(self) -> dict[str, object]:
        """The part of a run's settings that is the plan's: not how many rows, but which."""
        texts = [
            [each.name, each.system_prompt, each.request, *each.examples] for each in self.kinds
        ]
        return {
            "task_dist": {family: round(weight, 9) for family, weight in self.weights.items()},
            "languages": sorted({task.language for task in self.kinds} - {""}),
            "prompts": hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16],
        }


def procedural_kinds(
    level: int | str | Sequence[int] | None, families: Sequence[str], plan: Plan
) -> dict[str, list[int] | list[str] | None]:
    """The levels and families that a run chooses among procedural tasks, None for all.

    Raises UsageError for one that there is not, or a wanted task that no chosen family makes.
    """
    if level is None and not families:
        return {"level": None, "families": None}
    from ..procedural.families import check_families, levels_of  # loads every template

    levels, names = levels_of(level), sorted(set(families))
    check_families(names, plan.task_names)
    return {"level": list(levels) if levels else None, "families": names or None}


def _by_family(
    tasks: Mapping[str, TaskType], languages: Sequence[str]
) -> dict[str, list[TaskType]]:
    known = {task.language for task in tasks.values() if task.language}
    chosen = {name if name in known else language_of(name) or name for name in languages}
    for language in chosen - known:
        raise UnknownName("language", language, known)
    families: dict[str, list[TaskType]] = {task.family: [] for task in tasks.values()}
    for task in tasks.values():
        if not task.language or task.language in chosen:
            families[task.family].append(task)
    return families


def parse_weights(
    text: str | Sequence[float] | Mapping[str, float], families: Sequence[str]
) -> dict[str, float]:
    """Weights per family, normalised to a sum of 1.

    `text` is "0.5,0.5" or the numbers themselves, one for each family in the order of `families`,
    or a mapping by family, where those left out get 0.

    Raises:
        UsageError: another count, not numbers, a negative or infinite one, or all zero.
        UnknownName: the mapping names a family that is not there.
    """
    if isinstance(text, Mapping):
        for name in text:
            if name not in families:
                raise UnknownName("family", name, families)
        text = [text.get(name, 0.0) for name in families]
    parts = [part.strip() for part in text.split(",")] if isinstance(text, str) else list(text)
    wanted = f"task_dist needs {len(families)} weights ({', '.join(families)})"
    if len(parts) != len(families):
        raise UsageError(f"{wanted}, got {len(parts)}: {text!r}")
    try:
        values = [float(part) for part in parts]
    except (TypeError, ValueError):
        raise UsageError(f"{wanted}, and they must be numbers: {text!r}") from None
    if not all(math.isfinite(value) and value >= 0 for value in values):
        raise UsageError(f"{wanted}, and none may be negative, infinite or nan: {text!r}")
    if not any(values):
        raise UsageError(f"{wanted}, and at least one must be above 0: {text!r}")
    largest = max(values)  # divided out first, so that the sum cannot overflow
    total = sum(value / largest for value in values)
    return {name: value / largest / total for name, value in zip(families, values, strict=True)}


def split_total(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Whole targets that add up to `total`: each weight's share rounded down, and what is left over
    to the first family with a weight above 0."""
    # The tiny addend undoes float error in products such as 0.29 * 100 = 28.999999999999996.
    targets = {name: math.floor(total * weight + 1e-9) for name, weight in weights.items()}
    first = next(name for name, weight in weights.items() if weight > 0)
    targets[first] += total - sum(targets.values())
    return targets


def free_indices(
    filled: Collection[int], turn: int = 1, first: int = 0, step: int = 1
) -> Iterator[int]:
    """The indices of samples that hold no row yet, endless, lowest first.

    Of the turns, each `turn` indices long, only the `first` one and every `step`-th after it count.
    """
    indices = (
        number * turn + place for number in itertools.count(first, step) for place in range(turn)
    )
    return (index for index in indices if index not in filled)
