"""What to generate: the options of a run, targets per family, and the slots of each shard. Pure."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..dataset.rows import files_hidden_by_a_run
from ..errors import StoreError, UnknownName, UsageError, check_if_set, check_range, look_up
from ..inference.clients import choose_models, is_offline
from ..manifest import MANIFEST, read_manifest
from ..prompts import task_request
from ..providers import ONLY_PROCEDURAL, resolve_provider
from ..providers.backoff import RetryPolicy
from ..providers.base import Provider
from ..providers.models import Price, parse_thinking
from ..providers.rate_limit import Limits
from ..reward_functions import REWARDS
from ..reward_functions.reward_function import RewardFunction
from ..sandbox.runtimes import language_of
from ..space import Axis, Space
from ..store import DATASET, FAILED, JOURNAL, SHARDS
from ..tasks import TASKS
from ..tasks.axes import OTHERS, reweighted
from ..types import TaskType
from ..verification import MIN_AGREEMENT, OFF, SEARCH, STRENGTHEN
from .band import Band
from .progress import Progress

ON_REQUEST = ("instruction", "logic", "sql")  # families without a weight by default
_RECORDED = ("name", "family", "reward", "language", "answer_form")  # of a task type
_SHARD_NAME = re.compile(r"([0-9]+)_of_([0-9]+)")


@dataclass(frozen=True)
class Shard:
    """The `number`-th of `count` shards, from 0, and its target rows per family.

    A turn takes one sample of each task of a family, and every `count`-th turn belongs to the same
    shard. So no slot is in two shards.
    """

    number: int
    count: int
    targets: Mapping[str, int]


@dataclass(frozen=True)
class GenerateOptions:
    """The arguments of `generate_dataset`, which documents them."""

    model_name: str | None
    num_samples: int
    out_dir: str | Path
    save_every: int = 10
    max_retries: int = 5
    timeout: float = 5
    task_dist: str | Sequence[float] | Mapping[str, float] = "0.5,0.5"
    debug: bool = False
    num_threads: int = 1
    provider: str | Provider = "auto"
    seed: int = 0
    languages: Sequence[str] = ("python", "javascript")
    temperature: float | None = None
    max_output_tokens: int | None = None
    thinking: str | int | None = None
    topics: Sequence[str] = ()
    extra_tasks: Mapping[str, TaskType] | None = None
    extra_rewards: Mapping[str, RewardFunction] | None = None
    extend: bool = False
    price: str | Price | None = None
    max_cost: float | None = None
    dry_run: bool = False
    verify: int | None = None
    verify_model: str | Provider = ""
    min_agreement: float = MIN_AGREEMENT
    axes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    ideas: bool | None = None
    novelty: bool | None = None
    widen: int = 0
    seeds: str | Path | None = None
    operators: Sequence[str] = ()
    benchmarks: Sequence[str | Path] = ()
    pass_rate: str | None = None
    solver: str | Provider = ""
    judge: str | Provider = ""
    deriver: str | Provider = ""
    rubric: str | Path | None = None
    strengthen: str | None = None
    base_url: str | None = None
    structured: bool = False
    batch: bool = False
    level: int | str | Sequence[int] | None = None
    families: Sequence[str] = ()
    limits: Limits | None = None
    retry: RetryPolicy | None = None
    shard: Shard | None = None
    stop: threading.Event | None = None
    on_progress: Callable[[Progress], None] = field(default=lambda _: None)

    @property
    def folder(self) -> Path:
        """The output folder."""
        return Path(self.out_dir)

    def resolved(self) -> GenerateOptions:
        """Return the options with the folder's recorded settings and the defaults filled in.

        Options without effect on a procedural provider are cleared: they are no settings.

        Raises:
            UsageError: an option is out of range, or does not suit the provider; the folder is
                none of a run and has row files, which its rows would hide from all readers.
        """
        for name in ("num_samples", "num_threads", "save_every", "max_retries"):
            check_range(name, getattr(self, name), 1)
        check_range("min_agreement", self.min_agreement, 0, 1)
        check_range("widen", self.widen, 0)
        if bool(self.pass_rate) != bool(self.solver):
            raise UsageError("pass_rate and solver belong together: the solver attempts each task")
        if self.ideas and self.seeds:
            raise UsageError("ideas and seeds exclude each other: a seed is the idea of its task")
        if self.pass_rate:
            Band.parse(self.pass_rate)
        if self.strengthen not in (None, *STRENGTHEN):
            raise UnknownName("strengthen", self.strengthen, STRENGTHEN)
        for name, low in (("temperature", 0), ("max_output_tokens", 1), ("verify", 0)):
            check_if_set(name, getattr(self, name), low)
        of_a_run = (DATASET, FAILED, JOURNAL, MANIFEST, SHARDS)
        is_new = not any((self.folder / name).exists() for name in of_a_run)
        if self.folder.is_dir() and is_new and (hidden := files_hidden_by_a_run(self.folder)):
            raise UsageError(
                f"{self.folder} has other rows, in {hidden[0]}, which all commands would ignore "
                f"beside {DATASET}: name a new folder"
            )
        recorded = read_manifest(self.folder).get("settings", {})
        thinking = recorded.get("thinking") if self.thinking is None else self.thinking
        model, verify, solver = choose_models(
            self.model_name, self.verify, self.verify_model, self.provider, recorded
        )
        thinking = None if thinking is None else parse_thinking(thinking)
        options = replace(
            self, model_name=model, thinking=thinking, verify=verify, verify_model=solver
        )
        if is_offline(self.provider):
            return replace(
                options, temperature=None, max_output_tokens=None, thinking=None, topics=(),
                structured=False, ideas=False, novelty=False, seeds=None, pass_rate=None,
                solver="", judge="", deriver="", strengthen=self.strengthen or OFF,
            )  # fmt: skip
        asks = isinstance(self.provider, str) or getattr(self.provider, "asks_a_model", True)
        ideas = asks and not self.seeds if self.ideas is None else self.ideas
        novelty = asks if self.novelty is None else self.novelty
        strength = self.strengthen or (SEARCH if asks else OFF)
        options = replace(options, ideas=ideas, novelty=novelty, strengthen=strength)
        if self.level is not None or self.families:
            named = isinstance(self.provider, str)
            kind = resolve_provider(str(self.provider)) if named else type(self.provider).__name__
            raise UsageError(ONLY_PROCEDURAL.format(kind))
        return options

    def request_settings(self) -> dict[str, object]:
        """Return the settings of each request."""
        names = ("temperature", "max_output_tokens", "thinking")
        return {name: getattr(self, name) for name in names}

    def settings(
        self, plan: Plan, provider: object, model: object, solver: object
    ) -> dict[str, object]:
        """Return the settings that the folder records; `solver` is the model that solves."""
        return {
            "provider": provider, "model": model, "verify": self.verify or 0,
            "verify_model": solver, "min_agreement": self.min_agreement if self.verify else None,
            "seed": self.seed, **plan.settings(), "topics": list(self.topics),
            **self.request_settings(), **procedural_kinds(self.level, self.families, plan),
            "structured": self.structured, **self._engine_settings(),
        }  # fmt: skip

    def _engine_settings(self) -> dict[str, object]:
        """The settings of the task engine that are not at their defaults."""
        values = {
            "axes": {name: dict(weights) for name, weights in self.axes.items()},
            "ideas": self.ideas, "novelty": self.novelty, "pass_rate": self.pass_rate,
            "strengthen": "" if self.strengthen == OFF else self.strengthen,
            "seeds": str(self.seeds or ""), "operators": list(self.operators),
            "solver": self.solver if isinstance(self.solver, str) else self.solver.model,
            "judge": self.judge if isinstance(self.judge, str) else self.judge.model,
            "deriver": self.deriver if isinstance(self.deriver, str) else self.deriver.model,
        }  # fmt: skip
        values["tasks"] = {
            task.name: {key: getattr(task, key) for key in _RECORDED}
            for task in (self.extra_tasks or {}).values()
        }
        return {name: value for name, value in values.items() if value}


def recorded_custom_tasks(manifest: Mapping[str, Any]) -> dict[str, TaskType]:
    """Return the task types that runs of a folder added: as much of them as judging needs.

    Raises StoreError if the manifest is damaged.
    """
    every = [*manifest.get("earlier_settings", ()), manifest.get("settings", {})]
    try:
        tasks = [keys for settings in every for keys in settings.get("tasks", {}).values()]
        recorded = [{key: keys[key] for key in _RECORDED if key in keys} for keys in tasks]
        types = [TaskType(**keys, system_prompt="", request="") for keys in recorded]
    except (AttributeError, TypeError):
        raise StoreError(f"{MANIFEST} is damaged: its task types cannot be read") from None
    return {task.name: task for task in types}


@dataclass(frozen=True)
class Plan:
    """The content of a data set by family: tasks in use, their weights and target rows.

    The tasks of a family take turns. With a `shard`, only its part is generated. A provider that
    asks no model draws its tasks itself: it is told no more than the task type and a seed.
    """

    tasks: Mapping[str, Sequence[TaskType]]
    weights: Mapping[str, float]
    targets: dict[str, int]
    shard: Shard | None = None
    asks_a_model: bool = True

    @classmethod
    def of(
        cls,
        num_samples: int,
        task_dist: str | Sequence[float] | Mapping[str, float],
        tasks: Mapping[str, TaskType],
        languages: Sequence[str],
        rewards: Mapping[str, object],
    ) -> Plan:
        """Return the plan for `num_samples` rows, with the chosen languages' tasks.

        Raises:
            UsageError: the weights are invalid, or a wanted family has no task left.
            UnknownName: a language, a family or a task's reward is unknown.
        """
        families = _by_family(tasks, languages)
        try:
            weights = parse_weights(task_dist, list(families), by_name=ON_REQUEST)
        except UnknownName as error:
            for task in tasks.values():
                if task.name == error.name:
                    advice = f"a task of the family {task.family!r}, by which task_dist names it"
                    raise UsageError(f"{task.name!r} is {advice}") from None
            raise
        for family in ON_REQUEST:
            if family in families and not weights[family]:
                del families[family], weights[family]
        targets = split_total(num_samples, weights)
        for family, kinds in families.items():
            if targets[family] and not kinds:
                raise UsageError(f"no language is chosen for {family} tasks")
            for task in kinds:
                look_up("reward", task.reward, rewards)
        return cls(families, weights, targets)

    @classmethod
    def of_options(cls, options: GenerateOptions) -> Plan:
        """Return the plan of a run, with the weights of the axes that it sets. Raises as `of`."""
        tasks = {**TASKS, **(options.extra_tasks or {})}
        if options.axes:
            tasks = weighted(tasks, options.axes)
        rewards = {**REWARDS, **(options.extra_rewards or {})}
        plan = cls.of(options.num_samples, options.task_dist, tasks, options.languages, rewards)
        return replace(plan, asks_a_model=not is_offline(options.provider))

    @property
    def rewards(self) -> set[str]:
        """The names of the rewards that judge this plan's rows."""
        wanted = (family for family, weight in self.weights.items() if weight)
        return {task.reward for family in wanted for task in self.tasks[family]}

    @property
    def prompt_chars(self) -> int:
        """The characters of the longest first prompt."""
        if not self.asks_a_model:
            return 0
        return max(len(task.system_prompt) + len(task_request(task)) for task in self._every_task())

    def free_indices(self, family: str, filled: Collection[int]) -> Iterator[int]:
        """Yield the indices of this plan's samples without a row, endless, lowest first."""
        shard, turn = self.shard or Shard(0, 1, {}), max(1, len(self.tasks[family]))
        turns = itertools.count(shard.number, shard.count)
        indices = (number * turn + offset for number in turns for offset in range(turn))
        return (index for index in indices if index not in filled)

    def settings(self) -> dict[str, object]:
        """Return the plan's part of the run settings: which rows, not how many."""
        tasks = self._every_task()
        texts = [[each.name, each.system_prompt, each.request, *each.examples] for each in tasks]
        texts += [[repr(each.space)] for each in tasks if each.space.axes]
        return {
            "task_dist": {family: round(weight, 9) for family, weight in self.weights.items()},
            "languages": sorted({task.language for task in tasks} - {""}),
            "prompts": hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16],
        }

    def _every_task(self) -> list[TaskType]:
        return [task for tasks in self.tasks.values() for task in tasks]


def weighted(
    tasks: Mapping[str, TaskType], weights: Mapping[str, Mapping[str, float]]
) -> dict[str, TaskType]:
    """Return the tasks with the weights of values of their axes (see `tasks.axes.reweighted`).

    A task keeps the axes and values that it does not have in common with `weights`.

    Raises:
        UsageError: no task has an axis or a value, or a weight is no number from 0 on.
    """
    axes: dict[str, Axis] = {}
    for task in tasks.values():
        for axis in task.space.axes:
            values_so_far = axes[axis.name].values if axis.name in axes else {}
            axes[axis.name] = replace(axis, values={**values_so_far, **axis.values})
    reweighted(Space(tuple(axes.values())), weights)  # raises
    result = {}
    for name, task in tasks.items():
        own = {axis.name: {*axis.values, OTHERS} for axis in task.space.axes}
        factors = {
            axis: {value: each for value, each in values.items() if value in own[axis]}
            for axis, values in weights.items()
            if axis in own
        }
        result[name] = replace(task, space=reweighted(task.space, factors))
    return result


def procedural_kinds(
    level: int | str | Sequence[int] | None, families: Sequence[str], plan: Plan
) -> dict[str, Any]:
    """Return the chosen levels and families of procedural tasks, None for all.

    Raises UsageError for an unknown one, or if no chosen family makes a wanted task or has a level.
    """
    if level is None and not families:
        return {"level": None, "families": None}
    from ..procedural.families import check_families, levels_of  # loads every template

    levels, names = levels_of(level), sorted(set(families))
    wanted = [task.name for family, tasks in plan.tasks.items() for task in tasks
              if plan.targets[family]]  # fmt: skip
    check_families(names, wanted, levels or ())
    return {"level": list(levels) if levels else None, "families": names or None}


def _by_family(
    tasks: Mapping[str, TaskType], languages: Sequence[str]
) -> dict[str, list[TaskType]]:
    supported = {task.language for task in tasks.values() if task.language}
    chosen = {name if name in supported else language_of(name) or name for name in languages}
    for language in chosen - supported:
        raise UnknownName("language", language, supported)
    families: dict[str, list[TaskType]] = {task.family: [] for task in tasks.values()}
    for task in tasks.values():
        if not task.language or task.language in chosen:
            families[task.family].append(task)
    return families


def parse_weights(
    text: str | Sequence[float] | Mapping[str, float],
    families: Sequence[str],
    by_name: Collection[str] = (),
) -> dict[str, float]:
    """Return the weight of each family, normalised to a sum of 1.

    `text` is "0.5,0.5" or a sequence of numbers in the order of `families`, or "coding=1,math=2"
    or a mapping by family, in which a missing family has weight 0. The families `by_name` have a
    weight only there.

    Raises:
        UsageError: a wrong number of weights, no numbers, a negative or infinite one, or all zero.
        UnknownName: an unknown family.
    """
    if isinstance(text, str) and "=" in text:
        pairs = [part.partition("=") for part in text.split(",")]
        named: Mapping[str, Any] | None = {name.strip(): value for name, _, value in pairs}
    else:
        named = text if isinstance(text, Mapping) else None
    if named is not None:
        for name in named:
            if name not in families:
                raise UnknownName("family", name, families)
    in_order = [family for family in families if family not in by_name]
    wanted = f"task_dist needs {len(in_order)} weights ({', '.join(in_order)})"
    parts: list[Any] = text.split(",") if isinstance(text, str) else list(text)
    if named is not None:
        in_order, parts = list(families), [named.get(name, 0.0) for name in families]
    if len(parts) != len(in_order):
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
    by_family = dict(zip(in_order, values, strict=True))
    return {name: by_family.get(name, 0.0) / largest / total for name in families}


def split_total(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Return integer targets that sum to `total`: each share rounded down, and the remainder for
    the first family with a positive weight."""
    # The tiny addend undoes float error in products such as 0.29 * 100 = 28.999999999999996.
    targets = {name: math.floor(total * weight + 1e-9) for name, weight in weights.items()}
    first = next(name for name, weight in weights.items() if weight > 0)
    targets[first] += total - sum(targets.values())
    return targets


def shard_folders(out_dir: Path, count: int) -> list[Path]:
    """Return the folders of `count` shards in order, existing or not."""
    return [out_dir / SHARDS / f"{number + 1:02}_of_{count:02}" for number in range(count)]


def shard_count(out_dir: Path) -> int:
    """Return the number of shards of a folder; 0 if it has none.

    Raises:
        StoreError: the folder `shards` has foreign content.
    """
    folder = out_dir / SHARDS
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    matches = [_SHARD_NAME.fullmatch(name) for name in names]
    counts = {int(match[2]) if match else 0 for match in matches}
    if len(counts) > 1 or 0 in counts:
        raise StoreError(f"{folder} holds other things than one set of shards: {', '.join(names)}")
    return counts.pop() if counts else 0
