"""What to ask next: slots to attempts, rejected outcomes to the attempts that follow them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..errors import NoCompletion
from ..inference.journal import Journal, slot_seed
from ..prompts import rectify_request, task_request
from ..store import Store
from ..types import Attempt, Outcome, Slot, TaskType

MAX_DRAFTS = 5  # new tasks tried for one sample
MAX_REPAIRS = 2  # times that one draft is asked for again, told what failed
# Faults of form, and of a reference that cannot be read.
FORM = ("incomplete", "unscored", "format")
# Nothing that the proof has found ("weak verifier", "disagreement"): told of it, a model would mend
# its answer until it passes. A response that fails its own reference is mended only where
# independent solutions follow: the model may bend the right one of the two.
REPAIRABLE = (*FORM, "wrong")


class AttemptPlanner:
    """Turns slots into attempts: which task, which topic, what is shown, which seed.

    Slots whose calls were lost when a run died are passed over: they may have been paid for.
    `repairable` are the reasons that are sent back.
    """

    def __init__(
        self,
        tasks: Mapping[str, Sequence[TaskType]],
        topics: Sequence[str],
        seed: int,
        store: Store,
        journal: Journal,
        repairable: Collection[str] = REPAIRABLE,
    ) -> None:
        self._tasks, self._topics, self._seed = tasks, topics, seed
        self._repairable = repairable
        self._store, self._journal = store, journal

    def first(self, family: str, index: int) -> Attempt | None:
        """The first attempt at a sample that is not judged yet; None where all are used up."""
        attempt = self._draft(Slot(family, index))
        while attempt and (known := self._store.rejected.get(str(attempt.slot))):
            attempt = self.after(known.outcome(attempt))
        return attempt

    def after(self, outcome: Outcome) -> Attempt | None:
        """The attempt that follows a rejected one: a repair, else a redraw, else none."""
        slot = outcome.attempt.slot
        text = self._text(outcome) if outcome.reason in self._repairable else ""
        repair = replace(slot, repair=slot.repair + 1)
        while str(repair) in self._journal.lost:
            repair = replace(repair, repair=repair.repair + 1)
        if text and repair.repair <= MAX_REPAIRS:
            request = rectify_request(outcome.score, text)
            return Attempt(repair, outcome.attempt.task, request, slot_seed(self._seed, repair))
        return self._draft(Slot(slot.family, slot.index, slot.draft + 1))

    def _draft(self, slot: Slot) -> Attempt | None:
        """The attempt at a new task in this slot, or in the next one that was not lost."""
        lost = self._journal.lost
        while str(slot) in lost:
            slot = replace(slot, draft=slot.draft + 1)
        used = sum(str(replace(slot, draft=draft)) not in lost for draft in range(slot.draft))
        if used >= MAX_DRAFTS:
            return None
        tasks = self._tasks[slot.family]
        turn, which = divmod(slot.index, len(tasks))
        task = tasks[which]
        shown = self._store.newest(slot.family, task.language)
        topic = self._topics[turn % len(self._topics)] if self._topics else ""
        return Attempt(slot, task, task_request(task, topic, shown), slot_seed(self._seed, slot))

    def _text(self, outcome: Outcome) -> str:
        """What was answered; of an outcome of an earlier run, as the journal has it."""
        if outcome.completion:
            return outcome.completion.text
        try:
            found = self._journal.answer(outcome.attempt.slot)
        except NoCompletion:
            return ""
        return found.text if found else ""
