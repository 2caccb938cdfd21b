"""Does a row's verifier tell wrong from right? It is given wrong answers and equivalent ones."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..reward_functions.reward_function import RewardFunction
from ..types import RewardFunctionScore, Sample
from ..workers.pool import Lost, default_count, in_workers
from .corruptions import MUTANTS, Corruption, corruptions

LEAST_MUTANTS = 3  # fewer say nothing about the tests
LEAST_SHARE = 0.25  # of the mutants, which the tests must see
_SLOWER = 5.0  # times as long as the row's own program a mutant may run
_LEAST_S = 0.1
_QUOTE_CHARS = 120
# A program that names one of these may do something else when it runs again.
_UNSTEADY = re.compile(
    r"\b(?:random|secrets|uuid|datetime|Date|performance|crypto)\b|\b(?:hash|id)\(|\btime\."
)
_Judged = tuple[Corruption, RewardFunctionScore]


@dataclass(frozen=True)
class SelfTest:
    """How a row's verifier judged what was made from the row.

    `killed` of `total` wrong responses were rejected, `passed_equivalents` of `total_equivalents`
    were accepted. `fault` says why the row is not to be trusted, "" where nothing speaks against
    it; with a `total` of 0 nothing could be tested either.
    """

    killed: int = 0
    total: int = 0
    passed_equivalents: int = 0
    total_equivalents: int = 0
    fault: str = ""

    @property
    def verifier_recall(self) -> float | None:
        """The share of the wrong responses that were rejected; None where there were none."""
        return self.killed / self.total if self.total else None

    def columns(self) -> dict[str, str]:
        """The result as a row records it; "" for the score where nothing could be tested."""
        score = self.verifier_recall
        return {
            "verifier_recall": "" if score is None else repr(round(score, 4)),
            "mutants": str(self.total),
        }


def self_test(
    sample: Sample, reward: RewardFunction, *, least_share: float = LEAST_SHARE
) -> SelfTest:
    """Let `reward` judge the corruptions of a row whose own response it accepts.

    Mathematics: a wrong answer that is accepted is a fault, and so is an equivalent one that is
    rejected. Code: the row's program must pass in another spelling, too, if the tests can see the
    spelling, or if the program names a source of chance or time. A changed program may do the same
    as the row's, so a fault is only that the tests see less than `least_share` of at least three
    that ran; no more of them are run once that is decided. One that does not compile, or that a
    limit stopped, shows nothing about the tests: it does not count, and neither does a mutant that
    the reward cannot judge. A changed program may run for five times as long as the row's own,
    and a tenth of a second. All programs of a row are run by one call of a worker process.

    Raises what `reward.score` raises.
    """
    if not sample.language:
        return _of_answers(sample, reward)
    from ..reward_functions.coding.reward import CodingRewardFunction  # not needed for mathematics

    if not (isinstance(reward, CodingRewardFunction) and (settings := reward.settings())):
        return _of_programs(sample, reward, least_share)
    row = (sample.type, sample.prompt, sample.answer, sample.response, sample.language)
    bound_s = (1 + MUTANTS) * reward.bound_s
    jobs = [(settings, row, least_share)]
    [result] = in_workers(f"{__name__}:self_test_job", jobs, default_count(), bound_s)
    # These programs have killed two workers: nothing could be tested.
    return SelfTest() if isinstance(result, Lost) else SelfTest(**result)


def self_test_job(job: tuple[str, tuple[str, str, str, str, str], float]) -> dict[str, Any]:
    """A worker's half of `self_test`: the settings of a reward, a row, the least share."""
    from ..reward_functions.coding.reward import reward_like

    settings, row, least_share = job
    return vars(_of_programs(Sample(*row), reward_like(settings), least_share))


def _of_answers(sample: Sample, reward: RewardFunction) -> SelfTest:
    found = list(corruptions(sample))
    right = [each for each in found if each.equal]
    wrong = [each for each in found if not each.equal]
    equal = _judged(right, reward.score_many([(sample, each.response) for each in right]))
    passed = sum(score.passed for _, score in equal)
    if passed < len(equal):
        return SelfTest(0, 0, passed, len(equal), _rejected(equal))
    different = _judged(wrong, reward.score_many([(sample, each.response) for each in wrong]))
    killed = sum(not score.passed for _, score in different)
    return SelfTest(killed, len(different), passed, len(equal), _accepted(different))


def _of_programs(sample: Sample, reward: RewardFunction, least_share: float) -> SelfTest:
    wrong = corruptions(sample)
    respelled = next(wrong, None)
    if respelled is None:
        return SelfTest()
    passed = total = killed = 0
    took_s = 0.0  # by the row's own program; 0 while it is not known
    if reward.sees_spelling(sample) or _UNSTEADY.search(sample.response):
        verdict, took_s = _timed(sample, respelled, reward)
        if verdict is False:
            score = reward.score(sample, respelled.response)
            return SelfTest(0, 0, 0, 1, _rejected([(respelled, score)]))
        passed = int(verdict is True)
    while True:
        quick, stopped = _quicker(reward, took_s), []
        for each in wrong:
            if (verdict := quick.passes(sample, each.response, likely=False)) is None:
                stopped.append(each)
                continue
            total += 1
            killed += not verdict
            most = MUTANTS - len(stopped) if took_s else MUTANTS
            if killed >= least_share * most:  # however the others end, enough are seen
                return SelfTest(killed, total, passed, passed)
        if took_s or not stopped:
            break
        # The row's own program may be slow: run the stopped mutants again, with time to match it.
        wrong, (_, took_s) = iter(stopped), _timed(sample, respelled, reward)
    fault = ""
    if total >= LEAST_MUTANTS and killed < least_share * total:
        fault = f"the verifier accepts {total - killed} of {total} programs with one thing wrong"
    return SelfTest(killed, total, passed, passed, fault)


def _timed(
    sample: Sample, respelled: Corruption, reward: RewardFunction
) -> tuple[bool | None, float]:
    """Whether the row's own program passes, and the seconds that it took, above 0."""
    started = time.monotonic()
    verdict = reward.passes(sample, respelled.response, likely=True)
    return verdict, max(1e-6, time.monotonic() - started)


def _judged(
    found: Sequence[Corruption], scores: Sequence[RewardFunctionScore]
) -> list[tuple[Corruption, RewardFunctionScore]]:
    """Those of which the verdict says something of the verifier."""
    pairs = zip(found, scores, strict=True)
    return [(each, score) for each, score in pairs if score.status != "unscored"]


def _quicker(reward: RewardFunction, took_s: float) -> RewardFunction:
    """The same reward with less time for each program: some mutants never end."""
    quick = copy.copy(reward)
    quick.timeout = min(reward.timeout, max(_LEAST_S, _SLOWER * took_s))
    return quick


def _rejected(equal: Sequence[_Judged]) -> str:
    each, score = next(pair for pair in equal if not pair[1].passed)
    shown = each.response[:_QUOTE_CHARS]
    return f"the verifier rejects what is right ({each.kind}): {shown}: {score.error_msg}"


def _accepted(different: Sequence[_Judged]) -> str:
    for each, score in different:
        if score.passed:
            shown = each.response[:_QUOTE_CHARS]
            return f"the verifier accepts a wrong answer ({each.kind}): {shown}"
    return ""
