"""From an attempt to its outcome, in a worker thread: ask, judge, and prove what would be kept.

What costs least comes first: a row that is there already, then independent solutions, which keep
out most that is wrong, then the test of the row's verifier.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ..errors import NoCompletion
from ..inference.journal import BatchNotReady, Call, Source
from ..reward_functions.reward_function import RewardFunction
from ..settings import check_range
from ..types import Attempt, Completion, Outcome, Reason, Slot
from ..verification.certificate import certificate_of
from ..verification.self_consistency import (
    INITIAL_SOLUTIONS,
    MIN_AGREEMENT,
    IndependentSolutions,
    decide,
    solver_request,
)
from ..verification.self_test import self_test
from .judge import judge, no_completion

_COMPUTED = {"ProceduralProvider": "procedural"}  # by the provider: answers by construction


class CompletionSource(Protocol):
    """Where answers come from: a journal, or what reads one."""

    @property
    def lost(self) -> Collection[str]:
        """Slots that must not be used."""
        ...

    def complete(self, call: Call, source: Source) -> Completion:
        """The answer to a call. Raises what `Journal.complete` raises."""
        ...


@dataclass(frozen=True)
class SelfConsistency:
    """Who solves each task from its prompt alone, how often at most, and the share to agree.

    `writer` is the kind of provider that writes the rows.

    Raises:
        UsageError: there are no such numbers.
    """

    source: Source
    count: int = 0
    min_agreement: float = MIN_AGREEMENT
    writer: str = ""

    def __post_init__(self) -> None:
        check_range("verify", self.count, 0)
        check_range("min_agreement", self.min_agreement, 0, 1)

    @property
    def verified_by(self) -> str:
        """How rows that are kept were verified: "self" where nothing but their author agrees."""
        return "self-consistency" if self.count else _COMPUTED.get(self.writer, "self")

    def settings(self) -> dict[str, object]:
        """The part of a run's settings that says how rows are proven."""
        return {
            "verify": self.count,
            "verify_model": self.source.model if self.count else "",
            "min_agreement": self.min_agreement if self.count else None,
        }


@dataclass(frozen=True)
class AttemptRunner:
    """Turns attempts into outcomes; called from many threads.

    `known(prompt)` says whether a row asks the same already: then nothing more is done for it.
    """

    journal: CompletionSource
    source: Source
    rewards: Mapping[str, RewardFunction]
    seed_of: Callable[[Slot], int]
    known: Callable[[str], bool]
    solves: SelfConsistency

    def __call__(self, attempt: Attempt) -> Outcome:
        """One call and its judgement; for a row that would be kept, also its certificate."""
        outcome = self._judged(attempt)
        certificate = {"verified_by": self.solves.verified_by, "repairs": str(attempt.slot.repair)}
        outcome = replace(outcome, certificate=certificate)
        if self.solves.count and self._is_new(outcome):
            outcome = self._solved(outcome)
        if self._is_new(outcome):
            outcome = self._tested(outcome)
        return outcome

    def _is_new(self, outcome: Outcome) -> bool:
        return outcome.accepted and not self.known(outcome.sample.prompt)

    def _judged(self, attempt: Attempt) -> Outcome:
        task = attempt.task
        call = Call(attempt.slot, task.name, task.system_prompt, attempt.request, attempt.seed)
        try:
            completion = self.journal.complete(call, self.source)
        except NoCompletion as error:
            return no_completion(attempt, str(error))
        # Python 3.10 writes a NUL into a CSV file, but does not read it back.
        completion = replace(completion, text=completion.text.replace("\0", "\ufffd"))
        return judge(attempt, completion, self.rewards)

    def _tested(self, outcome: Outcome) -> Outcome:
        reward = self.rewards[outcome.attempt.task.reward]
        found = self_test(outcome.sample, reward)
        certificate = certificate_of(outcome.score, outcome.attempt.task, reward)
        columns = {**certificate, "limits": json.dumps(certificate["limits"]), **found.columns()}
        return _proven(outcome, columns, "weak verifier", found.fault)

    def _solved(self, outcome: Outcome) -> Outcome:
        """The row after its independent solutions: two, then one after another until it is decided.

        Raises BatchNotReady where those that are wanted next are not answered yet.
        """
        attempt, solves = outcome.attempt, self.solves
        reward = self.rewards[attempt.task.reward]
        solutions = IndependentSolutions(outcome.sample, reward, attempt.seed)
        slots = (replace(attempt.slot, solve=number) for number in itertools.count(1))
        # One that was under way when a run died may have been paid for: another takes its place.
        free = (slot for slot in slots if str(slot) not in self.journal.lost)
        wanted, fault = min(INITIAL_SOLUTIONS, solves.count), None
        while fault is None:
            solutions.add(self._solutions(outcome, list(itertools.islice(free, wanted))))
            found, wanted = solutions.result(), 1
            fault = decide(
                found,
                solves.min_agreement,
                max_solutions=solves.count,
                repaired=attempt.slot.repair > 0,
            )
        return _proven(outcome, found.columns(), "disagreement", fault)

    def _solutions(self, outcome: Outcome, slots: Sequence[Slot]) -> list[Completion | None]:
        request = solver_request(outcome.sample, outcome.attempt.task)
        completions: list[Completion | None] = []
        pending: BatchNotReady | None = None
        for slot in slots:
            call = Call(slot, outcome.attempt.task.name, *request, self.seed_of(slot))
            try:
                completions.append(self.journal.complete(call, self.solves.source))
            except NoCompletion:
                completions.append(None)
            except BatchNotReady as error:
                pending = error  # the others are wanted all the same
        if pending:
            raise pending
        return completions


def _proven(outcome: Outcome, columns: Mapping[str, str], reason: Reason, fault: str) -> Outcome:
    outcome = replace(outcome, certificate={**outcome.certificate, **columns})
    return outcome.rejected(reason, fault) if fault else outcome
