"""What to request next: the samples of each family in blocks, their ideas, and their attempts.

A sample is a row to be: its slot's seed draws its cell (concept, level, form, ...), and each draft
of it writes out one idea. Ideas are listed for a block of samples at once, again for those whose
ideas all repeat what is there. A draft may be repaired; a task that is too easy is made harder; any
other rejected draft is followed by one of another idea. One thread owns the planner.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import NoCompletion
from ..inference.journal import Journal, free_slots, slot_seed
from ..parsing.sections import ExampleParser
from ..prompts import TOPIC, harder_request, rectify_request, stated, task_request
from ..space import Cell
from ..store import Store, slot_of_row
from ..types import Attempt, Outcome, Reason, Slot, SlotRole, TaskType
from .attempts import cleaned, sample_from
from .band import Levels
from .ideas import (
    BLOCK,
    CONCEPTS_SYSTEM,
    SCREEN_SYSTEM,
    SCREENS,
    SYSTEM,
    IdeaCall,
    Ideas,
    Job,
    concepts_request,
    idea_request,
    read_concepts,
    screen_request,
)
from .novelty import Novelty
from .plan import Plan
from .seeds import Seeds

MAX_DRAFTS = 5  # of a sample that fail
MAX_REPAIRS = 2  # requests to repair one draft
MAX_HARDER = 2  # times that one task is made harder
MAX_ROUNDS = 6  # idea calls of one block
# Faults of form, or of an unreadable reference.
FORM = ("incomplete", "unscored", "format")
# The verdicts of the verification ("weak verifier", "disagreement") are never sent back: a model
# would change its answer until it passes. A response that fails its own reference is repaired only
# if independent solutions follow: the model may change the correct one of the two.
REPAIRABLE = (*FORM, "wrong")
REPEATED: tuple[Reason, ...] = ("repeat", "duplicate")
# The author wrote what was asked for, but the row is not new, true, of the right difficulty or
# good: no failure of the author, which would end a sample.
UNWANTED: tuple[Reason, ...] = (
    *(*REPEATED, "contaminated", "disagreement", "weak verifier"),
    *("too easy", "too hard", "judge"),
)
# The author has run dry if so many ideas hold few new ones, or so many drafts none. Two screenings
# of one that recognises seven of ten repeats let a tenth of them pass when it has none left.
_IDEAS_SEEN, _DRAFTS_SEEN, _FEW = 150, 25, 0.1
# Ideas that a request for ideas shows: the first ones of the family and of each concept. What an
# author thinks of first, it thinks of most often.
_OF_THE_FAMILY, _OF_CONCEPTS = 100, 400


@dataclass
class _Block:
    """The samples, from `first` on, that ideas are listed for at once.

    `active` ones are ready or in progress; those `without` an idea left wait for the others.
    """

    first: int
    rounds: int = 0
    active: set[int] = field(default_factory=set)
    without: set[int] = field(default_factory=set)


@dataclass
class _Sample:
    """A sample in progress; `ideas` is None before the first list of ideas, and without lists."""

    slot: Slot
    task: TaskType
    block: _Block
    cell: Cell = field(default_factory=dict)
    ideas: list[str] | None = None
    failures: int = 0
    harder: int = 0


class Planner:
    """Plans the requests of a run. `in_progress` counts samples by family, `waiting` are requests.

    Slots whose calls were lost when a run died are skipped: they may have been billed.
    `repairable` are the reasons that are sent back to the model. Without `ideas`, a draft's idea is
    left to its author, as for a provider that asks no model. With `seeds` a draft changes one of
    their tasks instead. `levels` choose the level of a cell.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        journal: Journal,
        *,
        topics: Sequence[str] = (),
        seed: int = 0,
        threads: int = 1,
        repairable: Collection[str] = REPAIRABLE,
        ideas: bool = False,
        gate: Novelty | None = None,
        seeds: Seeds | None = None,
        levels: Levels | None = None,
        widen: int = 0,
    ) -> None:
        self._gate = gate
        self._plan, self._store, self._journal = plan, store, journal
        self._topics, self._seed, self._repairable = topics, seed, repairable
        self._threads = threads
        self._lists_ideas, self._seeds, self._levels = ideas, seeds, levels
        self._widenings_left = Counter(dict.fromkeys(plan.tasks, widen))
        self._widening: set[str] = set()  # families that wait for new concepts
        self.waiting: deque[Job] = deque()
        self.in_progress: Counter[str] = Counter()
        self._expected: Counter[str] = Counter()  # samples whose first ideas are requested
        self._ready: defaultdict[str, deque[_Sample]] = defaultdict(deque)
        self._samples: dict[tuple[str, int], _Sample] = {}  # in progress, or ready
        self._blocks: defaultdict[str, list[_Block]] = defaultdict(list)  # not yet finished
        self._widened: dict[str, TaskType] = {}  # tasks with a wider space, by name
        self._indices: dict[str, Iterator[int]] = {}
        for family in plan.targets:
            self._indices[family] = plan.free_indices(family, ())
        # The ideas that requests show, by concept, and those of the family by "".
        self._existing: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        # In the order of their calls, as levels were learned then: what is newer counts for more.
        for labels in sorted(store.labels, key=lambda each: journal.position(each["slot"])):
            family, _ = slot_of_row(labels)
            if idea := labels["idea"]:
                self._remember(family, labels["concept"], idea)
            if levels:  # what is expected of a harder version is in the journal alone
                recorded = journal.labels(Slot.parse(labels["slot"])) if labels["parent"] else {}
                learn(levels, recorded or labels, family, labels)
        self._ideas_seen: defaultdict[str, deque[bool]] = defaultdict(
            lambda: deque(maxlen=_IDEAS_SEEN)
        )
        self._drafts_seen: defaultdict[str, deque[bool]] = defaultdict(
            lambda: deque(maxlen=_DRAFTS_SEEN)
        )

    def next(self, family: str, missing: int) -> Job | None:
        """Return the first request for a further sample; None if `missing` are in progress."""
        ready = self._ready[family]
        while self.in_progress[family] < missing and family not in self._widening:
            if ready:
                self.in_progress[family] += 1
                if attempt := self._first(ready.popleft()):
                    return attempt
            elif self._expected[family] >= min(missing - self.in_progress[family], self._threads):
                return None  # more lists of ideas at once would repeat each other
            elif call := self._refilled(family) or self._open_block(family):
                return call
        return None

    def after(self, outcome: Outcome) -> bool:
        """Queue what follows an outcome. False if its sample ends without a row, as failed."""
        slot = outcome.attempt.slot
        sample = self._samples[slot.family, slot.index]
        if outcome.accepted or outcome.reason in REPEATED:
            self._drafts_seen[slot.family].append(outcome.accepted)
        if self._levels and outcome.reason in ("", "too easy", "too hard"):
            learn(self._levels, outcome.attempt.labels, slot.family, outcome.certificate)
        if outcome.accepted:
            self._end(sample)
            return True
        if attempt := self._following(sample, outcome):
            self.waiting.append(attempt)
        return sample.failures < MAX_DRAFTS

    def take(self, ideas: Ideas) -> None:
        """Make the samples ready that a list of ideas is for, or use a list of concepts."""
        call = ideas.call
        if call.slot.role == "concepts":
            self._take_concepts(ideas)
            return
        if call.slot.role in SCREENS:
            new = sum(map(len, ideas.ideas.values()))
            repeats = sum(map(len, call.candidates.values())) - new
            self._ideas_seen[call.slot.family].extend([False] * repeats)
            if call.slot.role == "screen" and repeats and new:  # it overlooks some, too
                self.waiting.append(self._screen_call(ideas, "check"))
                return
        elif self._gate and ideas.ideas:
            ideas = self._without_known(ideas, self._gate)
            if any(ideas.ideas.values()):
                self.waiting.append(self._screen_call(ideas, "screen"))
                return
        for index, cell in call.samples.items():
            sample = self._samples[call.slot.family, index]
            sample.cell = ideas.cells.get(index, cell)
            sample.ideas = list(ideas.ideas.get(index, ())) if ideas.ideas else None
            if sample.ideas == []:  # else a short list would hide that its author knows no more
                self._ideas_seen[call.slot.family].append(False)
            self._expected[call.slot.family] -= 1
            self._ready[call.slot.family].append(sample)

    def is_dry(self, family: str) -> str:
        """Say why the author has nothing new to write; "" if it has."""
        ideas, drafts = self._ideas_seen[family], self._drafts_seen[family]
        if len(ideas) == _IDEAS_SEEN and sum(ideas) < _FEW * _IDEAS_SEEN:
            return f"of its last {_IDEAS_SEEN} ideas {sum(ideas)} are new"
        if len(drafts) == _DRAFTS_SEEN and not any(drafts):
            return f"its last {_DRAFTS_SEEN} tasks repeat earlier rows"
        return ""

    def widen(self, family: str) -> bool:
        """Request concepts beside those in use; False if the space is not to be widened again."""
        existing = self._concepts(family)
        if family in self._widening:
            return True
        if not existing or not self._widenings_left[family]:
            return False
        self._widenings_left[family] -= 1
        self._widening.add(family)
        slot = self._free(Slot(family, self._widenings_left[family], role="concepts", number=1))
        self.waiting.append(
            IdeaCall(slot, self._plan.tasks[family][0], {}, CONCEPTS_SYSTEM,
                     concepts_request(existing), slot_seed(self._seed, slot))
        )  # fmt: skip
        return True

    def give_up(self, family: str) -> None:
        """Drop the requests of a family that wait."""
        self.waiting = deque(each for each in self.waiting if each.slot.family != family)

    def _concepts(self, family: str) -> list[str]:
        """The concepts of a family's tasks, without those of weight 0."""
        tasks = self._plan.tasks[family]
        existing = [
            *tasks,
            *(self._widened[task.name] for task in tasks if task.name in self._widened),
        ]
        axes = [axis for task in existing for axis in task.space.axes if axis.name == "concept"]
        return sorted({value for axis in axes for value, weight in axis.values.items() if weight})

    def _take_concepts(self, ideas: Ideas) -> None:
        """Use new concepts in place of those that have run dry."""
        family = ideas.call.slot.family
        self._widening.discard(family)
        self._ideas_seen.pop(family, None)
        self._drafts_seen.pop(family, None)
        concepts = read_concepts(ideas.text, self._concepts(family))
        if not concepts:
            self._widenings_left[family] = 0
            return
        for task in self._plan.tasks[family]:
            space = task.space.with_values("concept", concepts)
            self._widened[task.name] = replace(task, space=space)

    # --- blocks and their ideas

    def _open_block(self, family: str) -> IdeaCall | None:
        """Make the samples of the next block; return the request for their ideas, if any."""
        filled = self._store.filled[family]
        every = list(itertools.islice(self._indices[family], BLOCK if self._lists_ideas else 1))
        indices = [index for index in every if index not in filled]
        block = _Block(every[0], active=set(indices))
        tasks = self._plan.tasks[family]
        for index in indices:
            sample = _Sample(Slot(family, index), tasks[index % len(tasks)], block)
            self._samples[family, index] = sample
            if not self._lists_ideas:
                self._ready[family].append(sample)
        if not self._lists_ideas or not indices:
            return None
        self._blocks[family].append(block)
        return self._idea_call(family, block, indices)

    def _refilled(self, family: str) -> IdeaCall | None:
        """Return a request for the samples of a block that have no idea left, once no other is in
        progress; after `MAX_ROUNDS` they are dropped, as other cells may have more to offer."""
        blocks = self._blocks[family] = [
            block for block in self._blocks[family] if block.active or block.without
        ]
        for block in blocks:
            if block.active:
                continue
            indices, block.without = sorted(block.without), set()
            if block.rounds < MAX_ROUNDS:
                block.active = set(indices)
                return self._idea_call(family, block, indices)
            for index in indices:
                del self._samples[family, index]
        return None

    def _idea_call(self, family: str, block: _Block, indices: Sequence[int]) -> IdeaCall:
        slot = self._free(Slot(family, block.first, block.rounds, role="ideas", number=1))
        block.rounds += 1
        self._expected[family] += len(indices)
        samples = {index: self._samples[family, index] for index in indices}
        cells = {index: self._cell(sample) for index, sample in samples.items()}
        described = [self._described(samples[index], cell) for index, cell in cells.items()]
        return IdeaCall(
            slot, self._plan.tasks[family][0], cells, SYSTEM,
            idea_request(described, self._shown(family, cells.values())),
            slot_seed(self._seed, slot),
        )  # fmt: skip

    def _shown(self, family: str, cells: Collection[Cell]) -> list[str]:
        """The ideas that exist of a family and of the concepts of cells."""
        concepts = sorted({cell.get("concept", "") for cell in cells})
        share = _OF_CONCEPTS // len(concepts)
        existing = self._existing[family, ""][:_OF_THE_FAMILY] + [
            idea for concept in concepts for idea in self._existing[family, concept][:share]
        ]
        return list(dict.fromkeys(existing))

    def _without_known(self, ideas: Ideas, gate: Novelty) -> Ideas:
        """Leave out the ideas whose words show that they repeat one that was written out."""
        new = {
            index: [idea for idea in those if not gate.knows_idea(idea)]
            for index, those in ideas.ideas.items()
        }
        repeats = sum(len(those) - len(new[index]) for index, those in ideas.ideas.items())
        self._ideas_seen[ideas.call.slot.family].extend([False] * repeats)
        return replace(ideas, ideas=new)

    def _screen_call(self, ideas: Ideas, role: SlotRole) -> IdeaCall:
        """Return the request that asks which ideas of a list are new."""
        existing = [each for those in ideas.ideas.values() for idea in those
                    for each in (self._gate.near_ideas(idea) if self._gate else ())]  # fmt: skip
        if role == "check":
            existing += self._shown(ideas.call.slot.family, ideas.call.samples.values())
        slot = self._free(replace(ideas.call.slot, role=role, number=1))
        # A recorded list may be for others, too, that are rows by now.
        samples = ideas.call.samples
        cells = {index: ideas.cells.get(index, cell) for index, cell in samples.items()}
        return IdeaCall(
            slot, ideas.call.task, cells, SCREEN_SYSTEM,
            screen_request(ideas.ideas, list(dict.fromkeys(existing))), slot_seed(self._seed, slot),
            ideas.ideas,
        )  # fmt: skip

    def _remember(self, family: str, concept: str, idea: str) -> None:
        for existing in (self._existing[family, ""], self._existing[family, concept]):
            if len(existing) < _OF_CONCEPTS:
                existing.append(idea)
        if self._gate:
            self._gate.add_idea(idea)

    # --- samples and their attempts

    def _first(self, sample: _Sample) -> Attempt | None:
        """Return the first attempt that is not judged yet; None if none is to be made now."""
        start = sample.slot.draft
        attempt = self._draft(sample, start)
        while attempt and (rejection := self._store.rejected.get(str(attempt.slot))):
            attempt = self._following(sample, rejection.outcome(attempt))
        return attempt

    def _following(self, sample: _Sample, outcome: Outcome) -> Attempt | None:
        """Return the attempt after a rejected one: a repair, a harder task, another task, none."""
        slot, reason = outcome.attempt.slot, outcome.reason
        text = self._text(outcome) if reason in self._repairable or reason == "too easy" else ""
        repair = self._free(replace(slot, repair=slot.repair + 1), "repair")
        if text and reason in self._repairable and repair.repair <= MAX_REPAIRS:
            request = rectify_request(outcome.score, text)
            return self._attempt(sample, repair, request, outcome.attempt.labels)
        if reason not in UNWANTED:
            sample.failures += 1
            if sample.failures >= MAX_DRAFTS:
                self._end(sample)
                return None
        if text and reason == "too easy" and sample.harder < MAX_HARDER:
            sample.harder += 1
            harder = self._free(Slot(slot.family, slot.index, slot.draft + 1), "draft")
            labels = self._journal.labels(harder) or self._labels_of_harder(sample, outcome, text)
            return self._attempt(sample, harder, harder_request(text), labels)
        sample.harder = 0
        return self._draft(sample, slot.draft + 1)

    def _labels_of_harder(
        self, sample: _Sample, outcome: Outcome, text: str
    ) -> Mapping[str, str]:  # fmt: skip
        parent = sample_from(sample.task, ExampleParser.parse_text(cleaned(text)))
        labels = {**outcome.attempt.labels, "parent": parent.id}
        if self._levels and outcome.certificate.get("attempts"):
            solved, attempts = (int(outcome.certificate[name]) for name in ("solved", "attempts"))
            logit = self._levels.harder(sample.slot.family, labels, solved, attempts)
            labels["logit"] = f"{logit:.3f}"
        return labels

    def _draft(self, sample: _Sample, number: int) -> Attempt | None:
        """Return the attempt at a new task; None if the sample has no idea left for it."""
        slot = self._free(Slot(sample.slot.family, sample.slot.index, number), "draft")
        sample.slot = replace(slot, draft=slot.draft)
        if stored := self._journal.labels(slot):  # as it was asked for
            idea = stored.get("idea", "")
            if sample.ideas and idea in sample.ideas:
                sample.ideas.remove(idea)
            if idea and not (self._gate and self._gate.knows_idea(idea)):
                self._remember(slot.family, stored.get("concept", ""), idea)
            return self._attempt(sample, slot, "", stored)
        if not self._plan.asks_a_model:
            return self._attempt(sample, slot, "", {})
        idea = ""
        if self._lists_ideas and sample.ideas is not None:
            idea = self._new_idea(sample)
            if not idea:
                sample.block.active.discard(slot.index)
                sample.block.without.add(slot.index)
                self.in_progress[slot.family] -= 1
                return None
        if self._seeds:
            request, parents = self._seeds.request(sample.task, slot_seed(self._seed, slot))
            return self._attempt(sample, slot, request, {"parent": parents})
        cell = sample.cell or self._cell(sample)
        topic = self._topic(sample)
        recent = () if idea else self._store.newest(slot.family, sample.task.language)
        request = task_request(self._task(sample), topic, recent, cell=cell, idea=idea)
        return self._attempt(sample, slot, request, labels_of(cell, idea))

    def _attempt(
        self, sample: _Sample, slot: Slot, request: str, labels: Mapping[str, str]
    ) -> Attempt:
        if sample.task.reward != sample.task.family:  # else the column `type` names it
            labels = {"family": sample.task.name, **labels}
        return Attempt(slot, sample.task, request, slot_seed(self._seed, slot), labels)

    def _free(self, slot: Slot, by: str = "number") -> Slot:
        return next(free_slots(slot, self._journal.lost, by))

    def _new_idea(self, sample: _Sample) -> str:
        """Return the first of a sample's ideas that repeats none that was written out."""
        family = sample.slot.family
        while sample.ideas:
            idea = sample.ideas.pop(0)
            is_new = not self._gate or not self._gate.knows_idea(idea)
            self._ideas_seen[family].append(is_new)
            if is_new:
                self._remember(family, sample.cell.get("concept", ""), idea)
                return idea
        return ""

    def _described(self, sample: _Sample, cell: Cell) -> str:
        lines, topic = stated(self._task(sample), cell), self._topic(sample)
        return " ".join([*lines, TOPIC.format(topic)] if topic else lines)

    def _topic(self, sample: _Sample) -> str:
        turn = sample.slot.index // len(self._plan.tasks[sample.slot.family])
        return self._topics[turn % len(self._topics)] if self._topics else ""

    def _task(self, sample: _Sample) -> TaskType:
        return self._widened.get(sample.task.name, sample.task)

    def _cell(self, sample: _Sample) -> Cell:
        family, index = sample.slot.family, sample.slot.index
        task = self._task(sample)
        seed, turn = f"{self._seed}/{task.name}", index // len(self._plan.tasks[family])
        cell = task.space.cell(seed, turn)
        if self._levels and "level" in cell:
            u = slot_seed(self._seed, sample.slot) / 2**31
            (axis,) = (axis for axis in task.space.axes if axis.name == "level")
            wanted = [value for value, weight in axis.values.items() if weight]
            if level := self._levels.level(family, cell.get("concept", ""), u, wanted):
                cell = task.space.cell(seed, turn, {"level": level})
        return cell

    def _end(self, sample: _Sample) -> None:
        family, index = sample.slot.family, sample.slot.index
        del self._samples[family, index]
        sample.block.active.discard(index)
        self.in_progress[family] -= 1

    def _text(self, outcome: Outcome) -> str:
        """Return the completion's text, of an earlier run from the journal."""
        if outcome.completion:
            return outcome.completion.text
        try:
            completion = self._journal.answer(outcome.attempt.slot)
        except NoCompletion:
            return ""
        return completion.text if completion else ""


def labels_of(cell: Cell, idea: str = "") -> dict[str, str]:
    """Return the columns of a row that say what was asked for."""
    own = ("concept", "level", "form")
    others = {axis: value for axis, value in cell.items() if axis not in own}
    labels = {axis: cell.get(axis, "") for axis in own}
    labels |= {"axes": json.dumps(others) if others else "", "idea": idea}
    return {name: value for name, value in labels.items() if value}


def learn(levels: Levels, labels: Mapping[str, str], family: str, rated: Mapping[str, str]) -> None:
    """Tell the controller of levels the pass rate of a task, if it was measured."""
    if rated.get("attempts"):
        levels.learn(family, labels, int(rated["solved"]), int(rated["attempts"]))
