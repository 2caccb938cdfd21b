"""Which prompt is asked next, and what has become of all: nothing is lost, nothing comes twice.

A prompt is pending, in flight, done or failed, once in every epoch. One that comes back, because
its worker died or its answers have become too old, is asked again before any that is pending.
There is no waiting anywhere: an epoch follows the one before while prompts of that are in flight.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import UsageError
from ..core.batches import epoch_order

TRIES = 3


@dataclass(frozen=True)
class PromptRequest:
    """A prompt that is asked for: its place in the rows, its id, the epoch, from 0.

    `attempt` says how often it has been asked for in this epoch, from 1: so two tasks that were
    handed out are never equal.
    """

    place: int
    id: str
    epoch: int
    attempt: int = 1


@dataclass(frozen=True)
class Counts:
    """What has become of the prompts, over all epochs begun: the sum is prompts times epochs.

    Who failed in one epoch is not asked in a later one, and counts as failed there, too.
    """

    pending: int
    in_flight: int
    done: int
    failed: int


class PromptQueue:
    """Hands out each prompt once an epoch, for `epochs` epochs, without end where it is None.

    Each epoch has an order of its own, which follows from the seed (that of
    `batches.rows_of_step`); where the seed is None, all have the order that is given. A
    prompt whose asking has failed `tries` times in an epoch is failed for good. Ids need not
    differ: a place counts.

    It belongs to one thread. `take` takes constant time, but for an epoch's first.

    Raises:
        UsageError: there are no prompts, or fewer than one epoch or try.
    """

    def __init__(
        self,
        ids: Sequence[str],
        *,
        seed: object = 0,
        epochs: int | None = None,
        tries: int = TRIES,
    ) -> None:
        if not ids:
            raise UsageError("there are no prompts")
        if epochs is not None and epochs < 1 or tries < 1:
            raise UsageError(f"epochs ({epochs}) and tries ({tries}) must be at least 1")
        self._ids, self._seed = ids, None if seed is None else f"{seed}"
        self._epochs, self._tries = epochs, tries
        self._digest = ""
        self._done = self._failed = 0
        self._waiting: deque[PromptRequest] = deque()  # to be asked again, the next first
        self._in_flight: dict[
            tuple[int, int], PromptRequest
        ] = {}  # by epoch and place, the oldest first
        self._faults: dict[tuple[int, int], int] = {}  # how often, of those that are not done yet
        self._reasons: dict[int, str] = {}  # of those that failed for good, by place
        self._begin(0)

    def __len__(self) -> int:
        """The prompts of an epoch."""
        return len(self._ids)

    def take(self) -> PromptRequest | None:
        """The next prompt, which is then in flight; None where there is none to be handed out now.

        That is the end where `finished`; else what is in flight may still come back.
        """
        if self._waiting:
            again = self._waiting.popleft()
            return self._handed_out(replace(again, attempt=again.attempt + 1))
        if self._at == len(self._ids):
            if not self._goes_on():
                return None
            self._begin(self.epoch + 1)
        place = self._order[self._at]
        self._at += 1
        self._pass_over()
        return self._handed_out(PromptRequest(place, self._ids[place], self.epoch))

    def done(self, task: PromptRequest) -> None:
        """It is dealt with: learned from, or filtered out, and not asked again in its epoch.

        Raises:
            ValueError: the task is not in flight (nor below).
        """
        self._landed(task)
        self._faults.pop((task.epoch, task.place), None)
        self._done += 1

    def failed(self, task: PromptRequest, why: str) -> None:
        """It is given up, in this epoch and all later ones."""
        self._landed(task)
        self._faults.pop((task.epoch, task.place), None)
        self._reasons.setdefault(task.place, why)
        self._failed += 1
        self._pass_over()

    def back(self, task: PromptRequest) -> None:
        """Ask it again, before all that is pending, and through no fault of its own."""
        self._landed(task)
        self._waiting.append(task)

    def retry(self, task: PromptRequest, why: str) -> bool:
        """Ask it again, as `back`; or if this was the last of its tries, it has `failed`.

        Returns whether it is asked again.
        """
        key = (task.epoch, task.place)
        faults = self._faults.get(key, 0) + 1
        if faults >= self._tries:
            self.failed(task, why)
            return False
        self.back(task)
        self._faults[key] = faults
        return True

    def faults(self, task: PromptRequest) -> int:
        """How often its asking has failed in its epoch."""
        return self._faults.get((task.epoch, task.place), 0)

    def is_in_flight(self, task: PromptRequest) -> bool:
        """Whether this very task is awaited: what a worker sends that was given up is not."""
        return self._in_flight.get((task.epoch, task.place)) == task

    @property
    def finished(self) -> bool:
        """Whether every prompt of every epoch is done or failed: nothing can come any more."""
        left = self._in_flight or self._waiting or self._at < len(self._ids)
        return not left and not self._goes_on()

    @property
    def counts(self) -> Counts:
        """How many prompts are where."""
        pending = len(self._ids) - self._at + len(self._waiting)
        return Counts(pending, len(self._in_flight), self._done, self._failed)

    @property
    def failures(self) -> Mapping[str, str]:
        """Why prompts have failed, by their ids."""
        return {self._ids[place]: why for place, why in self._reasons.items()}

    def state(self) -> dict[str, Any]:
        """What it takes to go on, as JSON can say it: nothing of prompts that are pending or done.

        It grows with what is in flight, waits to be asked again, or has failed.
        """
        return {
            "prompts": self._name(),
            "epoch": self.epoch,
            "at": self._at,
            "done": self._done,
            "failed": self._failed,
            "in_flight": self._told(self._in_flight.values()),
            "waiting": self._told(self._waiting),
            "reasons": [[place, why] for place, why in self._reasons.items()],
        }

    def restore(self, state: Mapping[str, Any], held: Collection[PromptRequest] = ()) -> None:
        """Go on from what `state` gave: what was in flight is asked again, before all else.

        Of that the `held` stay in flight: their answers are there, they wait to be learned from.

        Raises:
            UsageError: these are not the prompts of the state, or have another order; or one is
                held that was not in flight.
        """
        if state["prompts"] != self._name():
            raise UsageError("these are not the prompts, or not the seed, that the run began with")
        self._begin(state["epoch"])
        self._at, self._done, self._failed = state["at"], state["done"], state["failed"]
        self._reasons = {place: why for place, why in state["reasons"]}
        told = [*state["in_flight"], *state["waiting"]]
        self._faults = {(epoch, place): faults for place, epoch, _, faults in told if faults}
        flying = [self._task(*each) for each in state["in_flight"]]
        if not set(held) <= set(flying):
            raise UsageError("answers are held to prompts that were not in flight")
        self._in_flight = {(each.epoch, each.place): each for each in flying if each in held}
        waiting = map(lambda each: self._task(*each), state["waiting"])
        self._waiting = deque([*(each for each in flying if each not in held), *waiting])

    def _begin(self, epoch: int) -> None:
        self.epoch, self._at = epoch, 0
        self._order = epoch_order(len(self._ids), epoch, self._seed)
        self._pass_over()

    def _goes_on(self) -> bool:
        """Whether an epoch follows this one."""
        left = self._epochs is None or self.epoch + 1 < self._epochs
        return left and len(self._reasons) < len(self._ids)

    def _pass_over(self) -> None:
        """Go past those next in order that have failed for good."""
        while self._at < len(self._ids) and self._order[self._at] in self._reasons:
            self._at += 1
            self._failed += 1

    def _handed_out(self, task: PromptRequest) -> PromptRequest:
        self._in_flight[task.epoch, task.place] = task
        return task

    def _landed(self, task: PromptRequest) -> None:
        if not self.is_in_flight(task):
            raise ValueError(f"{task} is not in flight")
        del self._in_flight[task.epoch, task.place]

    def _told(self, tasks: Iterable[PromptRequest]) -> list[list[int]]:
        return [
            [each.place, each.epoch, each.attempt, self._faults.get((each.epoch, each.place), 0)]
            for each in tasks
        ]

    def _task(self, place: int, epoch: int, attempt: int, _faults: int) -> PromptRequest:
        return PromptRequest(place, self._ids[place], epoch, attempt)

    def _name(self) -> str:
        """What tells these prompts, in this order, from others."""
        if not self._digest:
            digest = hashlib.sha256(f"{self._seed!r}".encode())
            for each in self._ids:
                text = each.encode("utf-8", "surrogatepass")
                digest.update(b"%d:%b" % (len(text), text))
            self._digest = digest.hexdigest()
        return self._digest
