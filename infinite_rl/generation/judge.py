"""From an attempt and its completion to an outcome: parse, score, say why a sample is not kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..parser import ExampleParser
from ..proof.corruptions import empty_response
from ..reward_functions.reward_function import RewardFunction
from ..types import Attempt, Completion, Outcome, Reason, RewardFunctionScore, Sample, TaskType

_NO_SCORE = RewardFunctionScore(0.0, 0.0)


def judge(
    attempt: Attempt, completion: Completion, rewards: Mapping[str, RewardFunction]
) -> Outcome:
    """Judge one completion.

    A sample is accepted when it is complete, its format scores 1.0, its response passes the reward
    against its own reference, and an empty response does not.
    """
    task = attempt.task
    parsed = ExampleParser.parse_text(completion.text)
    sample = sample_from(task, parsed)
    outcome = Outcome(attempt, sample, _NO_SCORE, completion)
    if completion.finish_reason == "length":
        return outcome.rejected("cut off", "the text ends at the token limit")
    if parsed.lacking:  # an answer taken from the response would prove itself
        return outcome.rejected("incomplete", f"no such section: {', '.join(parsed.lacking)}")

    reward = rewards[task.reward]
    score = reward.score(sample, sample.response)
    outcome = replace(outcome, score=score, reason=_fault(score))
    if outcome.accepted and reward.score(sample, empty_response(task.language)).passed:
        return outcome.rejected("vacuous", "the reference accepts an empty solution")
    return outcome


def sample_from(task: TaskType, parsed: Mapping[str, str]) -> Sample:
    """The sample that a parsed text holds for a task."""
    return Sample(
        task.family, parsed["prompt"], parsed["answer"], parsed["response"], task.language
    )


def no_completion(attempt: Attempt, error: str) -> Outcome:
    """The outcome of an attempt that was answered without any text."""
    task = attempt.task
    nothing = Outcome(attempt, Sample(task.family, "", "", "", task.language), _NO_SCORE)
    return nothing.rejected("no completion", error)


def _fault(score: RewardFunctionScore) -> Reason:
    if score.status == "unscored":
        return "unscored"
    if not score.passed:
        return "wrong"
    return "format" if score.format_score < 1.0 else ""
