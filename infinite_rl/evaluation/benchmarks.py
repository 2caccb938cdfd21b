"""The table of tasks: which rows a model is given, and which worked examples before them.

name       benchmark of `dataset.loaders`   answers up to   examples
gsm8k      GSM8K, test                      1024 tokens     its train split
math500    MATH-500                         2048            a file: it has none of its own
mbpp       MBPP, test                       1024            its prompt split, as Austin et al. do
humaneval  HumanEval                        1024            a file
ifeval     IFEval                           1280            none

Any other file of rows is a task of its own, named as the file; the rows' types name the rewards.
"""

from __future__ import annotations

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

_MARKS = "/."  # a word with one of these is a file


@dataclass(frozen=True)
class Task:
    """One kind of items: `benchmark` is their loader's name, "" for a file of rows.

    `source` is where they lie, "" for the hub. `examples` is the split that holds worked examples.
    """

    name: str
    benchmark: str
    max_new_tokens: int = 1024
    examples: str = ""
    source: str = ""

    def items(self, limit: int = 0) -> list[Row]:
        """The rows, each with an `id` of its own; of a benchmark those of its test split.

        Raises:
            UsageError: there are none, or the source is none.
            StoreError: the source is damaged.
        """
        found = list(self._rows(self.source))
        if self.benchmark:
            found = [row for row in found if row["split"] == "test"] or found
        named = list(_named(islice(found, limit or None)))
        if not named:
            raise UsageError(f"{self.name} has no rows in {self.source or 'its data set'}")
        return named

    def shots(self, count: int, file: str, items: Sequence[Row], seed: int) -> list[Row]:
        """`count` worked examples: the same for all items, and none asks what an item asks.

        Raises:
            UsageError: there are not as many.
        """
        if not count:
            return []
        known = {normalized_text(str(row.get("prompt"))) for row in items}
        pool = [
            row
            for row in self._examples(file)
            if str(row.get("response") or "").strip()
            and normalized_text(str(row.get("prompt"))) not in known
        ]
        if len(pool) < count:
            raise UsageError(
                f"{self.name}: {len(pool)} rows in {file or self.source or 'its data set'} can be "
                f"examples, not {count}: such rows have a response and are no items themselves"
            )
        return random.Random(seed).sample(pool, count)

    def _examples(self, file: str) -> Iterable[Row]:
        if file:
            return self._rows(file)
        if not self.examples:
            raise UsageError(
                f"{self.name} has no examples of its own: shots must name a file of some"
            )
        if not self.source:
            return load(self.benchmark, split=self.examples)
        found = [row for row in self._rows(self.source) if row["split"] == self.examples]
        if not found:
            raise UsageError(
                f"{self.source} has no row of the split {self.examples}: shots must name a file"
            )
        return found

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


def task_of(word: str) -> Task:
    """The task that a word means: NAME, NAME=FILE, or FILE.

    Raises:
        UnknownName: it is neither the name of a task nor that of a file; lists the names.
    """
    name, equals, source = word.partition("=")
    if equals and name in TASKS:
        return replace(TASKS[name], source=source)
    if any(mark in word for mark in _MARKS):
        path = Path(word)
        if not path.exists():
            raise UsageError(f"there is no {word}")
        if path.is_file():
            rows.kind_of(path)
        return Task(path.name.partition(".")[0] or "rows", "", source=word)
    if equals:
        raise UnknownName("task", name, TASKS)
    return look_up("task", word, TASKS)


def tasks_of(words: Sequence[str]) -> list[Task]:
    """The tasks that words mean. Raises UsageError where two would have the same folder."""
    found = [task_of(word) for word in words]
    names = Counter(task.name for task in found)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(f"two tasks are named {twice[0]}: evaluate them into two folders")
    return found


def _named(given: Iterable[Row]) -> Iterator[Row]:
    """The rows by an `id` that no other has: of those with the same, the second is "id#2".

    Raises:
        UsageError: a row lacks a column, or its type names no reward.
    """
    seen: set[str] = set()
    for row in given:
        look_up("reward", rows.sample_of(row).type, REWARDS)
        first = name = rows.id_of(row)
        again = 1
        while name in seen:
            again += 1
            name = f"{first}#{again}"
        seen.add(name)
        yield {**row, "id": name}
