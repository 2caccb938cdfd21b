"""The groups between the samplers and the trainer: how many may be asked for, which are next.

Versions count updates. A group of version v may be learned from in the steps v to v + max_staleness
(steps from 0). So what is on its way is bounded: of any version v and all before it never more than
the steps left until v + max_staleness can take. And the trainer waits for what could else come too
late. So nothing that was sampled is thrown away for its age: long answers, which take long, are
learned from like short ones. That holds while no bound is made smaller on the way.

Plain bookkeeping, for one thread; nothing here waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

from .prompt_queue import PromptRequest
from .roles import Group, Rollout


@dataclass
class _Held:
    """A group in the buffer; `number` is that of its start."""

    number: int
    group: Group
    uses: int = 0


class Buffer:
    """What is on its way to the trainer, whose next batch is that of `step`, from 0.

    batch_size      groups in a batch
    steps           batches in all: what comes after needs no groups
    max_staleness   how many updates old a group may be when it is learned from
    num_iterations         batches that a group may be in, while it is young enough
    """

    def __init__(
        self,
        *,
        batch_size: int,
        steps: int,
        max_staleness: int = 0,
        num_iterations: int = 1,
        step: int = 0,
    ) -> None:
        self.step = step
        self._size, self._steps = batch_size, steps
        self._most, self._num_iterations = max_staleness, num_iterations
        self._numbers = count()
        self._flying: dict[PromptRequest, tuple[int, int]] = {}  # number and version, by task
        self._held: list[_Held] = []

    def room(self, version: int) -> int:
        """How many prompts may be asked for now with weights of that version."""
        left = self._left(version)
        if left < 1:
            return 0
        flying = sum(self._reads(version) for _, version in self._flying.values())
        held = sum(self._reads(each.group.version, each.uses) for each in self._held)
        return max(0, self._size * left - flying - held) // self._reads(version)

    def start(self, task: PromptRequest, version: int) -> None:
        """A prompt is asked for, with weights of that version."""
        self._flying[task] = next(self._numbers), version

    def add(self, group: Group) -> None:
        """The answers of a prompt that was started are there."""
        number, _ = self._flying.pop(group.task)
        self._held.append(_Held(number, group))

    def drop(self, task: PromptRequest) -> int:
        """A prompt that was started will not come; returns its version."""
        _, version = self._flying.pop(task)
        return version

    def take(self, *, last: bool = False) -> list[Group] | None:
        """The next batch, or None while it must be waited for; `step` then is the next one's.

        First come groups that were in no batch yet, the oldest policy's first, in the order in
        which they were asked for. With `last`, when no more can come, what there is makes a batch,
        however few; an empty one is the end.
        """
        new = sorted(
            (each for each in self._held if not each.uses and self._left(each.group.version) > 0),
            key=lambda each: (each.group.version, each.number),
        )
        used = sorted(
            (each for each in self._held if each.uses and self._left(each.group.version) > 0),
            key=lambda each: (each.uses, each.group.version, each.number),
        )
        chosen = (new + used)[: self._size] if new or not last else []
        if not last and (len(chosen) < self._size or self._late(new)):
            return None
        for each in chosen:
            each.uses += 1
        self.step += 1
        self._held = [
            each
            for each in self._held
            if not each.uses
            or each.uses < self._num_iterations
            and self._left(each.group.version) > 0
        ]
        return [each.group for each in chosen]

    def stale(self) -> list[Group]:
        """Take out the groups that have become too old before they were in a batch."""
        old = [each for each in self._held if not each.uses and self._left(each.group.version) < 1]
        self._held = [each for each in self._held if each not in old]
        return [each.group for each in old]

    @property
    def flying(self) -> int:
        """How many prompts are asked for whose answers are not here yet."""
        return len(self._flying)

    def versions(self) -> list[int]:
        """The versions with which they were asked for."""
        return [version for _, version in self._flying.values()]

    @property
    def unused(self) -> list[PromptRequest]:
        """The tasks of the groups that are here and were in no batch yet."""
        return [each.group.task for each in self._held if not each.uses]

    def state(self) -> list[dict[str, Any]]:
        """The groups that are here, for `restore`; not what is still asked for."""
        return [{"uses": each.uses, **asdict(each.group)} for each in self._held]

    def restore(self, state: Sequence[Mapping[str, Any]]) -> None:
        """Put back what `state` gave."""
        for kept in state:
            answers = [Rollout(**each) for each in kept["answers"]]
            group = Group(PromptRequest(**kept["task"]), kept["version"], answers)
            self._held.append(_Held(next(self._numbers), group, kept["uses"]))

    def _left(self, version: int) -> int:
        """How many batches, the next one included, a group of that version may be in."""
        return min(version + self._most + 1, self._steps) - self.step

    def _reads(self, version: int, uses: int = 0) -> int:
        """How many batches it will be in, at most."""
        return max(0, min(self._num_iterations - uses, self._left(version)))

    def _late(self, new: Sequence[_Held]) -> bool:
        """Whether something on its way could come too late, if the batch were taken without it."""
        for version in {version for _, version in self._flying.values()}:
            come = sum(each.group.version <= version for each in new)
            coming = sum(each <= version for _, each in self._flying.values())
            if come < self._size and coming > self._size * (self._left(version) - 1):
                return True
        return False
