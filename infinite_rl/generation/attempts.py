"""One attempt: which task to request next, the judgement of its completion, and its verification.

The checks run from cheap to expensive: a duplicate prompt, then independent solutions, which
reject most wrong rows, then the test of the row's verifier.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import NoCompletion
from ..inference.journal import BatchNotReady, Call, Journal, Source, slot_seed
from ..parsing.sections import ExampleParser
from ..prompts import rectify_request, task_request
from ..providers.models import cut_off_advice
from ..reward_functions.coding.reference import Calls, Cases, Tests, read_reference
from ..reward_functions.reward_function import BadReference, RewardFunction
from ..store import Store
from ..types import (
    Attempt,
    Completion,
    Outcome,
    Reason,
    RewardFunctionScore,
    Sample,
    Slot,
    TaskType,
)
from ..verification.certificate import certificate_of
from ..verification.self_consistency import (
    INITIAL_SOLUTIONS,
    IndependentSolutions,
    rejection_reason,
    solver_request,
)
from ..verification.self_test import empty_response, self_test

MAX_DRAFTS = 5  # new tasks per sample
MAX_REPAIRS = 2  # requests to repair one draft
# Faults of form, or of an unreadable reference.
FORM = ("incomplete", "unscored", "format")
# The verdicts of the verification ("weak verifier", "disagreement") are never sent back: a model
# would change its answer until it passes. A response that fails its own reference is repaired only
# if independent solutions follow: the model may change the correct one of the two.
REPAIRABLE = (*FORM, "wrong")
_COMPUTED = {"ProceduralProvider": "procedural"}  # by provider class: answers by construction
_NO_SCORE = RewardFunctionScore(0.0, 0.0)
# Invisible characters that reorder or hide text: byte order marks, bidirectional embeddings,
# overrides and isolates ("Trojan Source", CVE-2021-42574), the deprecated format characters,
# interlinear annotations, and tags, except those of a flag's emoji.
_HIDING = re.compile(
    "(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)"
    "|[\ufeff\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]+"
)
# One variation selector styles a character; further ones can carry any bytes.
_SELECTORS = re.compile(
    "([\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)


@dataclass(frozen=True)
class AttemptPlanner:
    """Turns slots into attempts: task, topic, examples and seed.

    Slots whose calls were lost when a run died are skipped: they may have been billed.
    `repairable` are the reasons that are sent back to the model.
    """

    tasks: Mapping[str, Sequence[TaskType]]
    topics: Sequence[str]
    seed: int
    store: Store
    journal: Journal
    repairable: Collection[str] = REPAIRABLE

    def first(self, family: str, index: int) -> Attempt | None:
        """Return the first attempt at a sample that is not judged yet; None if all are used up."""
        attempt = self._new_attempt(Slot(family, index))
        while attempt and (rejection := self.store.rejected.get(str(attempt.slot))):
            attempt = self.after(rejection.outcome(attempt))
        return attempt

    def after(self, outcome: Outcome) -> Attempt | None:
        """Return the attempt after a rejected one: a repair, else a new draft, else None."""
        slot = outcome.attempt.slot
        text = self._text(outcome) if outcome.reason in self.repairable else ""
        repair = replace(slot, repair=slot.repair + 1)
        while str(repair) in self.journal.lost:
            repair = replace(repair, repair=repair.repair + 1)
        if text and repair.repair <= MAX_REPAIRS:
            request = rectify_request(outcome.score, text)
            return Attempt(repair, outcome.attempt.task, request, slot_seed(self.seed, repair))
        return self._new_attempt(Slot(slot.family, slot.index, slot.draft + 1))

    def _new_attempt(self, slot: Slot) -> Attempt | None:
        """Return the attempt at a new task in this slot, or in the next one that is not lost."""
        lost = self.journal.lost
        while str(slot) in lost:
            slot = replace(slot, draft=slot.draft + 1)
        used = sum(str(replace(slot, draft=draft)) not in lost for draft in range(slot.draft))
        if used >= MAX_DRAFTS:
            return None
        tasks = self.tasks[slot.family]
        turn, number = divmod(slot.index, len(tasks))
        task = tasks[number]
        recent = self.store.newest(slot.family, task.language)
        topic = self.topics[turn % len(self.topics)] if self.topics else ""
        return Attempt(slot, task, task_request(task, topic, recent), slot_seed(self.seed, slot))

    def _text(self, outcome: Outcome) -> str:
        """Return the completion's text, of an earlier run from the journal."""
        if outcome.completion:
            return outcome.completion.text
        try:
            completion = self.journal.answer(outcome.attempt.slot)
        except NoCompletion:
            return ""
        return completion.text if completion else ""


# --- judgement -----------------------------------------------------------------------------------


def visible(text: str) -> str:
    """Remove the characters that hide or reorder text, so that a reader sees what was judged.

    Characters that scripts and emoji need stay: joiners (ZWJ, ZWNJ), direction marks (LRM, RLM,
    ALM), zero-width spaces, soft hyphens, one variation selector; and escapes such as "\\u202e".
    """
    return _SELECTORS.sub(r"\1", _HIDING.sub(lambda match: match[1] or "", text))


def judge(
    attempt: Attempt, completion: Completion, rewards: Mapping[str, RewardFunction]
) -> Outcome:
    """Judge one completion; the outcome has its text as `visible`.

    A sample is accepted if it is complete, its format scores 1.0, its response passes the reward
    against its own reference, and an empty response does not.
    """
    task = attempt.task
    completion = replace(completion, text=visible(completion.text))
    sections = ExampleParser.parse_text(completion.text)
    sample = sample_from(task, sections)
    outcome = Outcome(attempt, sample, _NO_SCORE, completion)
    if completion.finish_reason == "length":
        advice = cut_off_advice(completion.usage)
        return outcome.rejected("cut off", f"the text ends at the token limit: {advice}")
    if sections.lacking:  # an answer taken from the response would prove itself
        return outcome.rejected("incomplete", f"no such section: {', '.join(sections.lacking)}")

    reward = rewards[task.reward]
    score = reward.score(sample, sample.response)
    if not score.passed and (advice := _form_advice(task, sample)):
        score = replace(score, error_msg=f"{score.error_msg}; {advice}")
    reason: Reason = "" if score.format_score >= 1.0 else "format"
    if not score.passed:
        reason = "unscored" if score.status == "unscored" else "wrong"
    outcome = replace(outcome, score=score, reason=reason)
    if outcome.accepted and reward.accepts_empty(sample, empty_response(task.language)):
        return outcome.rejected("vacuous", "the reference accepts an empty solution")
    return outcome


def sample_from(task: TaskType, sections: Mapping[str, str]) -> Sample:
    """Return the sample of a task from the sections of a text."""
    return Sample(
        task.family, sections["prompt"], sections["answer"], sections["response"], task.language
    )


def _form_advice(task: TaskType, sample: Sample) -> str:
    """Return a hint for the author of an answer that is not the requested JSON; else ""."""
    if not task.answer_form:
        return ""
    try:
        if isinstance(read_reference(sample.answer), Tests | Calls | Cases):
            return ""
    except BadReference:
        pass
    return f"the answer has to be a JSON object of the form {task.answer_form}"


# --- from an attempt to its outcome --------------------------------------------------------------


@dataclass(frozen=True)
class AttemptRunner:
    """Turns attempts into outcomes; called from many threads.

    `has_prompt` says whether a row with the same prompt exists: then no further check runs. The
    solver makes up to `solutions` of each task, of which `min_agreement` must agree.
    """

    journal: Journal
    writer: Source
    solver: Source
    rewards: Mapping[str, RewardFunction]
    seed_of: Callable[[Slot], int]
    has_prompt: Callable[[str], bool]
    solutions: int
    min_agreement: float

    def __call__(self, attempt: Attempt) -> Outcome:
        """Request and judge one completion; verify the row if it is accepted."""
        outcome = self._judged(attempt)
        verified_by = _COMPUTED.get(self.writer.name, "self")  # "self": only its author agrees
        verified_by = "self-consistency" if self.solutions else verified_by
        certificate = {"verified_by": verified_by, "repairs": str(attempt.slot.repair)}
        outcome = replace(outcome, certificate=certificate)
        if self.solutions and self._is_new(outcome):
            outcome = self._solved(outcome)
        if self._is_new(outcome):
            outcome = self._tested(outcome)
        return outcome

    def _is_new(self, outcome: Outcome) -> bool:
        return outcome.accepted and not self.has_prompt(outcome.sample.prompt)

    def _judged(self, attempt: Attempt) -> Outcome:
        task = attempt.task
        call = Call(attempt.slot, task.name, task.system_prompt, attempt.request, attempt.seed)
        try:
            completion = self.journal.complete(call, self.writer)
        except NoCompletion as error:
            empty = Sample(task.family, "", "", "", task.language)
            return Outcome(attempt, empty, _NO_SCORE).rejected("no completion", str(error))
        # Python 3.10 writes a NUL into a CSV file, but does not read it back.
        completion = replace(completion, text=completion.text.replace("\0", "\ufffd"))
        return judge(attempt, completion, self.rewards)

    def _tested(self, outcome: Outcome) -> Outcome:
        reward = self.rewards[outcome.attempt.task.reward]
        report = self_test(outcome.sample, reward)
        certificate = certificate_of(outcome.score, outcome.attempt.task, reward)
        columns = {**certificate, "limits": json.dumps(certificate["limits"]), **report.columns()}
        return _certified(outcome, columns, "weak verifier", report.fault)

    def _solved(self, outcome: Outcome) -> Outcome:
        """Return the row after its independent solutions: two, then one at a time until decided.

        Raises BatchNotReady if the next ones are in a batch.
        """
        attempt = outcome.attempt
        reward = self.rewards[attempt.task.reward]
        solutions = IndependentSolutions(outcome.sample, reward, attempt.seed)
        slots = (replace(attempt.slot, solve=number) for number in itertools.count(1))
        # A lost call may have been billed: another slot replaces it.
        free = (slot for slot in slots if str(slot) not in self.journal.lost)
        wanted, fault = min(INITIAL_SOLUTIONS, self.solutions), None
        while fault is None:
            solutions.add(self._solutions(outcome, list(itertools.islice(free, wanted))))
            result, wanted = solutions.result(), 1
            fault = rejection_reason(
                result,
                self.min_agreement,
                max_solutions=self.solutions,
                repaired=attempt.slot.repair > 0,
            )
        return _certified(outcome, result.columns(), "disagreement", fault)

    def _solutions(self, outcome: Outcome, slots: Sequence[Slot]) -> list[Completion | None]:
        request = solver_request(outcome.sample, outcome.attempt.task)
        completions: list[Completion | None] = []
        pending: BatchNotReady | None = None
        for slot in slots:
            call = Call(slot, outcome.attempt.task.name, *request, self.seed_of(slot))
            try:
                completions.append(self.journal.complete(call, self.solver))
            except NoCompletion:
                completions.append(None)
            except BatchNotReady as error:
                pending = error  # the other calls are queued for the same batch
        if pending:
            raise pending
        return completions


def _certified(outcome: Outcome, columns: Mapping[str, str], reason: Reason, fault: str) -> Outcome:
    outcome = replace(outcome, certificate={**outcome.certificate, **columns})
    return outcome.rejected(reason, fault) if fault else outcome
