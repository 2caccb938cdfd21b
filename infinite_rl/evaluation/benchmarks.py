"""The table of tasks: their rows, and their few-shot examples.

name       benchmark of `dataset.loaders`   token limit     examples
gsm8k      GSM8K, test                      1024 tokens     its train split
math500    MATH-500                         2048            a file: it has no other split
mbpp       MBPP, test                       1024            its prompt split, as Austin et al. do
humaneval  HumanEval                        1024            a file
ifeval     IFEval                           1280            none

Any other file of rows is a task, named after the file; the rows' types name the rewards.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from ..dataset import rows
from ..dataset.loaders import load
from ..dataset.rows import Row
from ..dataset.tokens import normalized_text
from ..errors import UnknownName, UsageError, look_up
from ..reward_functions import REWARDS

_PATH_CHARS = "/."  # a task with one of these is a file


@dataclass(frozen=True)
class Task:
    """One task: `benchmark` is the name of its loader, "" for a file of rows.

    `source` is a path, "" for the hub. `examples` is the split with few-shot examples.
    """

    name: str
    benchmark: str
    max_new_tokens: int = 1024
    examples: str = ""
    source: str = ""

    def items(self, limit: int = 0) -> list[Row]:
        """Return the rows with unique ids; of a benchmark those of its test split.

        Raises:
            UsageError: there are no rows, or the source is invalid.
            StoreError: the source is damaged.
        """
        every = list(self._rows(self.source))
        if self.benchmark:
            every = [row for row in every if row["split"] == "test"] or every
        items = list(_with_unique_ids(islice(every, limit or None)))
        if not items:
            raise UsageError(f"{self.name} has no rows in {self.source or 'its data set'}")
        return items

    def shots(self, count: int, file: str, items: Sequence[Row], seed: int) -> list[Row]:
        """Return `count` few-shot examples for all items; none has the prompt of an item.

        Raises:
            UsageError: there are too few.
        """
        if not count:
            return []
        prompts = {normalized_text(str(row.get("prompt"))) for row in items}
        solved = [row for row in self._examples(file) if str(row.get("response") or "").strip()]
        pool = [row for row in solved if normalized_text(str(row.get("prompt"))) not in prompts]
        if len(pool) < count:
            raise UsageError(
                f"{self.name}: {len(pool)} rows in {file or self.source or 'its data set'} can be "
                f"examples, not {count}: an example has a response and is no item"
            )
        return random.Random(seed).sample(pool, count)

    def _examples(self, file: str) -> Iterable[Row]:
        if file:
            return self._rows(file)
        if not self.examples:
            raise UsageError(f"{self.name} has no split with examples: shots must name a file")
        if not self.source:
            return load(self.benchmark, split=self.examples)
        examples = [row for row in self._rows(self.source) if row["split"] == self.examples]
        if not examples:
            raise UsageError(
                f"{self.source} has no row of the split {self.examples}: shots must name a file"
            )
        return examples

    def _rows(self, source: str) -> Iterator[Row]:
        if not self.benchmark:
            return rows.read(source)
        try:
            return load(self.benchmark, source)
        except UsageError as error:
            if source:
                raise
            message = f"{error}; or give a file of its rows: {self.name}=FILE"
            raise UsageError(message) from None


# One row a task.
TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task("gsm8k", "gsm8k", examples="train"),
        Task("math500", "math", 2048),
        Task("mbpp", "mbpp", examples="prompt"),
        Task("humaneval", "humaneval"),
        Task("ifeval", "ifeval", 1280),
    )
}


def task_of(argument: str) -> Task:
    """Return the task of NAME, NAME=FILE, or FILE.

    Raises:
        UnknownName: it is neither the name of a task nor that of a file; lists the names.
    """
    name, equals, source = argument.partition("=")
    if equals and name in TASKS:
        return replace(TASKS[name], source=source)
    if any(char in argument for char in _PATH_CHARS):
        path = Path(argument)
        if not path.exists():
            raise UsageError(f"there is no {argument}")
        if path.is_file():
            rows.kind_of(path)
        return Task(path.name.partition(".")[0] or "rows", "", source=argument)
    if equals:
        raise UnknownName("task", name, TASKS)
    return look_up("task", argument, TASKS)


def tasks_of(arguments: Sequence[str]) -> list[Task]:
    """Return the tasks of arguments. Raises UsageError if two would have the same folder."""
    tasks = [task_of(each) for each in arguments]
    names = Counter(task.name for task in tasks)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(f"two tasks are named {twice[0]}: evaluate them into two folders")
    return tasks


def _with_unique_ids(items: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows with unique ids: the second row of the same id is "id#2".

    Raises:
        UsageError: a row lacks a column, or its type names no reward.
    """
    used = Counter[str]()
    for row in items:
        look_up("reward", rows.sample_of(row).type, REWARDS)
        yield {**row, "id": rows.unused_name(rows.id_of(row), used)}
