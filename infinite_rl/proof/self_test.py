"""Does a row's verifier tell wrong from right? It is given wrong answers and equivalent ones."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..reward_functions.reward_function import RewardFunction
from ..types import RewardFunctionScore, Sample
from .corruptions import Corruption, corruptions

LEAST_MUTANTS = 3  # fewer say nothing about the tests
LEAST_SHARE = 0.25  # of the mutants, which the tests must see
_SLOWER = 5.0  # times as long as the row's own program a mutant may run
_LEAST_S = 0.1
_QUOTE_CHARS = 120
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
    def mutation_score(self) -> float | None:
        """The share of the wrong responses that were rejected; None where there were none."""
        return self.killed / self.total if self.total else None

    def columns(self) -> dict[str, str]:
        """The result as a row records it; "" for the score where nothing could be tested."""
        score = self.mutation_score
        return {
            "mutation_score": "" if score is None else repr(round(score, 4)),
            "mutants": str(self.total),
        }


def self_test(
    sample: Sample, reward: RewardFunction, *, least_share: float = LEAST_SHARE
) -> SelfTest:
    """Let `reward` judge the corruptions of a row.

    Mathematics: a wrong answer that is accepted is a fault, and so is an equivalent one that is
    rejected. Code: what must pass is the row's response, and its program in another spelling. A
    changed program may do the same as the row's, so a fault is only that the tests see less than
    `least_share` of at least three that ran. One that does not compile, or that a limit stopped,
    shows nothing about the tests: it does not count, and neither does what the reward cannot judge.
    A changed program may run for five times as long as the row's own, and a tenth of a second.

    Raises what `reward.score` raises.
    """
    found = corruptions(sample)
    right = [each for each in found if each.equal]
    wrong = [each for each in found if not each.equal]
    started = time.monotonic()
    passing = reward.score_many([(sample, each.response) for each in right])
    best = max((score.format_score for score in passing), default=0.0)
    each_s = (time.monotonic() - started) / max(1, len(right))
    quick = _quicker(reward, each_s) if sample.language else reward
    equal = [pair for pair in zip(right, passing, strict=True) if _counts(pair[1])]
    passed = sum(score.passed for _, score in equal)
    if passed < len(equal):
        return SelfTest(0, 0, passed, len(equal), _rejected(equal))
    scores = quick.score_many([(sample, each.response) for each in wrong])
    least = best if sample.language else 0.0
    different = [pair for pair in zip(wrong, scores, strict=True) if _counts(pair[1], least)]
    killed, total, fault = sum(not score.passed for _, score in different), len(different), ""
    if not sample.language:
        fault = _accepted(different)
    elif total >= LEAST_MUTANTS and killed < least_share * total:
        fault = f"the verifier accepts {total - killed} of {total} programs with one thing wrong"
    return SelfTest(killed, total, passed, len(equal), fault)


def _quicker(reward: RewardFunction, took_s: float) -> RewardFunction:
    """The same reward with less time for each program: some mutants never end."""
    quick = copy.copy(reward)
    quick.timeout = min(reward.timeout, max(_LEAST_S, _SLOWER * took_s))
    return quick


def _counts(score: RewardFunctionScore, format_score: float = 0.0) -> bool:
    """Whether a verdict says something of the verifier."""
    compiled = score.format_score >= format_score
    return compiled and score.status != "unscored" and "limit" not in score.details


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
