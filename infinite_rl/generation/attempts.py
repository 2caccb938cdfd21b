"""One attempt: the judgement of its completion, and the verification of the row.

The checks run from cheap to expensive: whether the row is new, then the test of its verifier or
independent solutions, which reject most wrong rows, then its pass rate and its judge.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..certificates import Solver, TestStrength
from ..errors import NoCompletion, UsageError, shown
from ..estimators import wilson
from ..inference.clients import DERIVER, JUDGE, LEARNER, SOLVER, WRITER
from ..inference.journal import BatchNotReady, Call, Journal, Source, free_slots
from ..parsing.sections import ExampleParser
from ..providers.models import cut_off_advice
from ..reward_functions.coding.reference import Calls, Cases, Tests, read_reference
from ..reward_functions.reward_function import BadReference, RewardFunction, certificate_of
from ..solver_prompts import INITIAL_SOLUTIONS, Request, solver_request
from ..store import MEASURED_COLUMNS
from ..types import (
    Attempt,
    Completion,
    Outcome,
    Reason,
    RewardFunctionScore,
    Sample,
    Slot,
    SlotRole,
    Solution,
    TaskType,
)
from ..verification import AUTHOR, OFF
from ..verification.cross_tests import same_function
from ..verification.self_consistency import (
    ConsistencyResult,
    IndependentSolutions,
    rejection_reason,
)
from ..verification.self_test import empty_response, self_test
from .band import MAX_ATTEMPTS, Band, BandTest, Levels
from .ideas import IdeaCall, Ideas, Job
from .rubric import Rubric

if TYPE_CHECKING:
    from ..dataset.decontaminate import Benchmarks

_COMPUTED = {"ProceduralProvider": "procedural"}  # by provider class: answers by construction
_IN_A_BATCH = 4  # attempts of the learner at once: each batch may take a day
_NO_SCORE = RewardFunctionScore(0.0, 0.0)
_AGREEING_FOR_UNSOLVED, _MOST_FOR_UNSOLVED = 3, 8  # solutions of a row that no attempt solves
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


# --- judgement -----------------------------------------------------------------------------------


def visible(text: str) -> str:
    """Remove the characters that hide or reorder text, so that a reader sees what was judged.

    Characters that scripts and emoji need stay: joiners (ZWJ, ZWNJ), direction marks (LRM, RLM,
    ALM), zero-width spaces, soft hyphens, one variation selector; and escapes such as "\\u202e".
    """
    return _SELECTORS.sub(r"\1", _HIDING.sub(lambda match: match[1] or "", text))


def cleaned(text: str) -> str:
    """Return what is judged of a completion: the visible text, without NUL.

    Python 3.10 writes a NUL into a CSV file, but does not read it back.
    """
    return visible(text.replace("\0", "\ufffd"))


def judge(
    attempt: Attempt, completion: Completion, rewards: Mapping[str, RewardFunction]
) -> Outcome:
    """Judge one completion; the outcome has its text as `visible`.

    A sample is accepted if it is complete, its format scores 1.0, its response passes the reward
    against its own reference, and an empty response does not.
    """
    task = attempt.task
    completion = replace(completion, text=cleaned(completion.text))
    sections = ExampleParser.parse_text(completion.text)
    sample = sample_from(task, sections)
    drawn = json.loads(completion.labels.get("axes") or "{}")
    if "instructions" in drawn and sample.answer:  # the author states them, and changes none
        sample = replace(sample, answer=drawn["instructions"])
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
    if not score.passed and not score.error_msg:  # a reward of one's own may give no reason
        why = f"the reward {task.reward} gives no reason (answer {shown(sample.answer)}, response "
        why += f"{shown(sample.response)})"
        if score.correctness_score >= 1.0:
            why = f"its score is 1.0 but its status is {score.status!r}: set status='passed'"
        score = replace(score, error_msg=why)
    reason: Reason = "" if score.format_score >= 1.0 else "format"
    if not score.passed:
        reason = "unscored" if score.status == "unscored" else "wrong"
    outcome = replace(outcome, score=score, reason=reason)
    empty = empty_response(task.language)
    if outcome.accepted and reward.accepts_empty(sample, empty):
        return outcome.rejected(
            "vacuous", f"the reference accepts an empty solution, {shown(empty)}"
        )
    return outcome


def sample_from(task: TaskType, sections: Mapping[str, str]) -> Sample:
    """Return the sample of a task from the sections of a text."""
    return Sample(
        task.reward, sections["prompt"], sections["answer"], sections["response"], task.language
    )


def check_examples(task: TaskType, reward: RewardFunction) -> None:
    """Raise UsageError for an example that its own reward rejects: authors would follow it."""
    for number, text in enumerate(task.examples, 1):
        sample = sample_from(task, ExampleParser.parse_text(text))
        score = reward.score(sample, sample.response)
        if not score.passed or score.format_score < 1.0:
            why = score.error_msg or "its response is not in the required form"
            raise UsageError(f"example {number} of the task type {task.name} is wrong: {why}")


def _form_advice(task: TaskType, sample: Sample) -> str:
    """Return a hint for the author of an answer that is not the requested JSON; else ""."""
    if not task.answer_form or task.reward != "coding":
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
    """Turns attempts into outcomes, and calls for ideas into ideas; called from many threads.

    `repeats` says why a sample is not new (see `Store.repeats`): then no further check runs. The
    solver makes up to `solutions` of each task, of which `min_agreement` must agree. With a `band`
    the learner attempts the task until its pass rate is inside or outside of it, expecting what
    `levels` say; with a `rubric` the judge marks the row.
    """

    journal: Journal
    sources: Mapping[str, Source]
    rewards: Mapping[str, RewardFunction]
    seed_of: Callable[[Slot], int]
    repeats: Callable[[Sample], tuple[Reason, str]]
    solutions: int
    min_agreement: float
    band: Band | None = None
    levels: Levels | None = None
    rubric: Rubric | None = None
    benchmarks: Benchmarks | None = None
    suspects: Callable[[Sample], list[tuple[str, Sample]]] | None = None
    strengthen: str = OFF

    def __call__(self, job: Job) -> Outcome | Ideas:
        """Request one completion, and judge or read it."""
        return self._ideas(job) if isinstance(job, IdeaCall) else self.judged(job)

    def _ideas(self, job: IdeaCall) -> Ideas:
        call = Call(job.slot, job.task.name, job.system, job.request, job.seed, job.labels)
        try:
            completion = self.journal.complete(call, self.sources[WRITER])
            return Ideas.of(job, replace(completion, text=cleaned(completion.text)))
        except NoCompletion:
            return Ideas(job, ideas=job.candidates)

    def judged(self, attempt: Attempt) -> Outcome:
        """Request and judge one completion; verify the row if it is accepted."""
        outcome = self._completed(attempt)
        writer = self.sources[WRITER].name
        verified_by = _COMPUTED.get(writer, "self")  # "self": only its author agrees
        verified_by = "self-consistency" if self.solutions else verified_by
        certificate = {"verified_by": verified_by, "repairs": str(attempt.slot.repair),
                       "provider": writer}  # fmt: skip
        outcome = replace(outcome, certificate=certificate)
        steps: list[tuple[object, Callable[[Outcome], Outcome]]] = [
            (self.benchmarks, self._decontaminated), (self.suspects, self._cross_tested),
            (True, self._derived), (self.solutions, self._solved),
            (self.strengthen != OFF, self._strengthened), (True, self._tested),
            (self.band, self._rated), (self.rubric, self._reviewed),
        ]  # fmt: skip
        for wanted, step in steps:
            if not wanted:
                continue
            if not outcome.accepted or any(self.repeats(outcome.sample)):
                return outcome  # the store rejects a repeat
            outcome = step(outcome)
        return outcome

    def _completed(self, attempt: Attempt) -> Outcome:
        task = attempt.task
        call = Call(
            attempt.slot, task.name, task.system_prompt, attempt.request, attempt.seed,
            attempt.labels,
        )  # fmt: skip
        try:
            completion = self.journal.complete(call, self.sources[WRITER])
        except NoCompletion as error:
            empty = Sample(task.reward, "", "", "", task.language)
            return Outcome(attempt, empty, _NO_SCORE).rejected("no completion", str(error))
        return judge(attempt, completion, self.rewards)

    def _tested(self, outcome: Outcome) -> Outcome:
        reward = self.rewards[outcome.attempt.task.reward]
        report = self_test(outcome.sample, reward)
        certificate = certificate_of(outcome.score, outcome.attempt.task, reward)
        columns = {**certificate, "limits": json.dumps(certificate["limits"]), **report.columns()}
        columns["self_test"] = report.record()
        return _certified(outcome, columns, "weak verifier", report.fault)

    def _solved(self, outcome: Outcome) -> Outcome:
        """Return the row after its independent solutions: two, then one at a time until decided.

        Raises BatchNotReady if the next ones are in a batch.
        """
        attempt = outcome.attempt
        reward = self.rewards[attempt.task.reward]
        solutions = IndependentSolutions(outcome.sample, reward, attempt.seed)
        slots = self._slots(attempt, "solve")
        wanted, fault = min(INITIAL_SOLUTIONS, self.solutions), None
        while fault is None:
            solutions.add(self._solutions(outcome, list(itertools.islice(slots, wanted)), SOLVER))
            result, wanted = solutions.result(), 1
            fault = rejection_reason(
                result,
                self.min_agreement,
                max_solutions=self.solutions,
                repaired=attempt.slot.repair > 0,
            )
        outcome = _agreed(outcome, self.sources[SOLVER], result)
        return _certified(outcome, {}, "disagreement", fault)

    def _strengthened(self, outcome: Outcome) -> Outcome:
        """Return a coding row with tests that no killable mutant of its program passes.

        The row is rejected if its tests leave one alive, or if most other solutions contradict it
        on an input that the task allows. One that has no room for more tests stays as it is.

        Raises:
            BatchNotReady: the call that helps to test it is in a batch.
            RuntimeMissing, SandboxError: nothing can be run.
        """
        # Not needed for maths.
        from ..reward_functions.coding import CodingRewardFunction
        from ..verification.aids import Aids, aids_request
        from ..verification.strengthen import strengthen

        attempt, sample = outcome.attempt, outcome.sample
        reward = self.rewards[attempt.task.reward]
        if not isinstance(reward, CodingRewardFunction):
            return outcome
        aids: Completion | None = None
        if self.strengthen == AUTHOR and (request := aids_request(sample, reward)):
            aids = self._once(attempt, "tests", request, SOLVER)
        # Those that decided on the row: a later check may have asked for more since.
        solved = sum(each.attempts for each in outcome.certificate.get("solvers", ()))
        slots = list(itertools.islice(self._slots(attempt, "solve"), solved))
        others = [each.text for each in self._solutions(outcome, slots, SOLVER) if each]
        helpers = Aids.of(aids.text if aids else "", sample.language, others)
        result = strengthen(sample, reward, aids=helpers)
        if result.validated and result.disagreements:
            fault = f"other solutions have another value: {result.disagreements[0]}"
            return outcome.rejected("disagreement", fault)
        if result.why:
            return outcome
        strength = TestStrength(result.mutants, result.killed, len(result.equivalent), result.added)
        certificate = {**outcome.certificate, "tests": strength}
        stronger = replace(sample, answer=result.answer)
        outcome = replace(outcome, sample=stronger, certificate=certificate)
        if result.recall is not None and result.recall < 1:
            alive = result.killable - result.killed
            return outcome.rejected("weak verifier", f"{alive} killable mutants pass the tests")
        return outcome

    def _derived(self, outcome: Outcome) -> Outcome:
        """Return a maths row with its answer derived a second time; refuse one that differs.

        Raises BatchNotReady if the program is in a batch.
        """
        sample = outcome.sample
        if sample.type != "math":
            return outcome
        # Not needed for code: it loads the reader of mathematics.
        from ..verification.derivation import derive, derive_by_program, program_request

        derivation = derive(sample)
        if derivation.agrees is None and DERIVER in self.sources:
            request = program_request(sample)
            completion = self._once(outcome.attempt, "derive", request, DERIVER)
            reward = self.rewards[outcome.attempt.task.reward]
            text = completion.text if completion else ""
            derivation = derive_by_program(sample, text, reward)
        return _certified(outcome, derivation.columns(), "disagreement", derivation.fault)

    def _cross_tested(self, outcome: Outcome) -> Outcome:
        """Reject a coding row whose program passes the tests of an earlier row, and the reverse."""
        assert self.suspects
        reward = self.rewards[outcome.attempt.task.reward]
        for row_id, row in self.suspects(outcome.sample):
            if same_function(outcome.sample, row, reward):
                return outcome.rejected("repeat", f"it has the same function as row {row_id}")
        return outcome

    def _rated(self, outcome: Outcome) -> Outcome:
        """Return the row after its pass rate is known to be inside or outside of the band.

        Raises BatchNotReady if the next attempts are in a batch.
        """
        assert self.band
        attempt, labels = outcome.attempt, outcome.attempt.labels
        prior = self.levels.expected(attempt.slot.family, labels) if self.levels else None
        test = BandTest(self.band, prior) if prior else BandTest(self.band)
        reward = self.rewards[attempt.task.reward]
        slots = self._slots(attempt, "rate")
        solutions: list[Solution] = []
        while not test.verdict and len(solutions) < 2 * MAX_ATTEMPTS:
            at_once = _IN_A_BATCH if self.sources[LEARNER].defer else 1
            several = self._solutions(outcome, list(itertools.islice(slots, at_once)), LEARNER)
            for completion in several:
                text = completion.text if completion else ""
                score = reward.score(outcome.sample, text)
                passed = score.passed and not (completion and completion.finish_reason == "length")
                solutions.append(Solution(completion or Completion("", ""), score))
                if score.status != "unscored":
                    test.add(passed)
        if not test.verdict:
            fault = "the reward cannot judge the attempts at it"
            return _certified(outcome, {}, "weak verifier", fault)
        low, high = wilson(test.solved, test.attempts)
        rate = test.solved / test.attempts
        values = (test.attempts, test.solved, *(round(each, 4) for each in (rate, low, high)))
        columns: dict[str, Any] = dict(zip(MEASURED_COLUMNS, map(str, values), strict=False))
        solver = Solver(LEARNER, self.sources[LEARNER].model, test.attempts, test.solved)
        columns["solvers"] = [*outcome.certificate.get("solvers", ()), solver]
        outcome = replace(outcome, solutions=tuple(solutions))
        if test.verdict == "inside":
            outcome = _certified(outcome, columns, "too easy", "")
            return outcome if test.solved or not self.solutions else self._confirmed(outcome)
        fault = f"solved {test.solved} of {test.attempts} times, outside of {self.band}"
        return _certified(outcome, columns, test.verdict, fault)

    def _confirmed(self, outcome: Outcome) -> Outcome:
        """Return a row that the learner never solved, if enough independent solutions agree with
        it: a wrong answer looks hard, too. Those that exist are counted; others are requested.

        Raises BatchNotReady if the next one is in a batch.
        """
        attempt = outcome.attempt
        reward = self.rewards[attempt.task.reward]
        solutions = IndependentSolutions(outcome.sample, reward, attempt.seed)
        for slot in itertools.islice(self._slots(attempt, "solve"), _MOST_FOR_UNSOLVED):
            solutions.add(self._solutions(outcome, [slot], SOLVER))
            if solutions.result().agreeing >= _AGREEING_FOR_UNSOLVED:
                return _agreed(outcome, self.sources[SOLVER], solutions.result())
        agreeing = solutions.result().agreeing
        fault = (
            f"the learner never solved it, and of {_MOST_FOR_UNSOLVED} solutions {agreeing} agree"
        )
        outcome = _agreed(outcome, self.sources[SOLVER], solutions.result())
        return _certified(outcome, {}, "disagreement", fault)

    def _reviewed(self, outcome: Outcome) -> Outcome:
        """Return the row with its judge's marks; a reply that is no judgement leaves it as it is.

        Raises BatchNotReady if the judgement is in a batch.
        """
        assert self.rubric
        request = self.rubric.request(outcome.sample)
        completion = self._once(outcome.attempt, "judge", request, JUDGE)
        marks = self.rubric.read_marks(completion.text if completion else "")
        columns = {"judge": json.dumps(marks) if marks else ""}
        return _certified(outcome, columns, "judge", self.rubric.fault(marks))

    def _decontaminated(self, outcome: Outcome) -> Outcome:
        assert self.benchmarks
        hits = self.benchmarks.hits({"prompt": outcome.sample.prompt}, ("prompt",))
        fault = f"its prompt is in {hits[0].benchmark}: {hits[0].text!r}" if hits else ""
        return _certified(outcome, {}, "contaminated", fault)

    def _slots(self, attempt: Attempt, role: SlotRole) -> Iterator[Slot]:
        """Yield the slots of an attempt's further calls."""
        return free_slots(replace(attempt.slot, role=role, number=1), self.journal.lost)

    def _solutions(
        self, outcome: Outcome, slots: Sequence[Slot], role: str
    ) -> list[Completion | None]:
        request = solver_request(outcome.sample)
        completions: list[Completion | None] = []
        pending: BatchNotReady | None = None
        for slot in slots:
            try:
                completions.append(self._completion(outcome.attempt, slot, request, role))
            except BatchNotReady as error:
                pending = error  # the other calls are queued for the same batch
        if pending:
            raise pending
        return completions

    def _once(
        self, attempt: Attempt, kind: SlotRole, request: Request, role: str
    ) -> Completion | None:
        """Return the completion of the one further call of its kind; None if it has no text."""
        return self._completion(attempt, next(self._slots(attempt, kind)), request, role)

    def _completion(
        self, attempt: Attempt, slot: Slot, request: Request, role: str
    ) -> Completion | None:
        """Return the completion of a further call; None if it has no text."""
        call = Call(slot, attempt.task.name, *request, self.seed_of(slot))
        try:
            return self.journal.complete(call, self.sources[role])
        except NoCompletion:
            return None


def _agreed(outcome: Outcome, source: Source, result: ConsistencyResult) -> Outcome:
    """Return an outcome with the votes of its independent solutions."""
    before = outcome.certificate.get("solvers", ())
    solver = Solver(SOLVER, source.model, result.requested, result.agreeing)
    solvers = [solver, *(each for each in before if each.role != SOLVER)]
    return _certified(outcome, {**result.columns(), "solvers": solvers}, "disagreement", "")


def _certified(outcome: Outcome, columns: Mapping[str, Any], reason: Reason, fault: str) -> Outcome:
    outcome = replace(outcome, certificate={**outcome.certificate, **columns})
    return outcome.rejected(reason, fault) if fault else outcome
