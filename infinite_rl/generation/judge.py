"""From an attempt and its completion to an outcome: parse, score, say why a sample is not kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ..parsing.sections import ExampleParser
from ..providers.models import cut_off_advice
from ..reward_functions.coding.reference import Calls, Cases, Tests, read_reference
from ..reward_functions.reward_function import BadReference, RewardFunction
from ..types import Attempt, Completion, Outcome, Reason, RewardFunctionScore, Sample, TaskType
from ..verification.self_test import empty_response

_NO_SCORE = RewardFunctionScore(0.0, 0.0)
# Characters that nobody sees and that show a text in another order than it runs, or hide one: byte
# order marks, bidirectional embeddings, overrides and isolates ("Trojan Source", CVE-2021-42574),
# the deprecated format characters, interlinear annotations, and tags, but those of a flag's emoji.
_HIDING = re.compile(
    "(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)"
    "|[\ufeff\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]+"
)
# One variation selector says how a character looks; further ones can carry any bytes.
_SELECTORS = re.compile(
    "([\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)


def visible(text: str) -> str:
    """A model's text as a reader sees it: without the characters that hide or reorder text.

    They are removed, not refused: the row is judged without them, so what is shown is what was
    verified. What scripts and emoji need stays: joiners (ZWJ, ZWNJ), direction marks (LRM, RLM,
    ALM), zero-width spaces, soft hyphens, a variation selector; and escapes such as "\\u202e".
    """
    return _SELECTORS.sub(r"\1", _HIDING.sub(lambda found: found[1] or "", text))


def judge(
    attempt: Attempt, completion: Completion, rewards: Mapping[str, RewardFunction]
) -> Outcome:
    """Judge one completion, whose text the outcome has as `visible`.

    A sample is accepted when it is complete, its format scores 1.0, its response passes the reward
    against its own reference, and an empty response does not.
    """
    task = attempt.task
    completion = replace(completion, text=visible(completion.text))
    parsed = ExampleParser.parse_text(completion.text)
    sample = sample_from(task, parsed)
    outcome = Outcome(attempt, sample, _NO_SCORE, completion)
    if completion.finish_reason == "length":
        advice = cut_off_advice(completion.usage)
        return outcome.rejected("cut off", f"the text ends at the token limit: {advice}")
    if parsed.lacking:  # an answer taken from the response would prove itself
        return outcome.rejected("incomplete", f"no such section: {', '.join(parsed.lacking)}")

    reward = rewards[task.reward]
    score = reward.score(sample, sample.response)
    if not score.passed and (advice := _form_advice(task, sample)):
        score = replace(score, error_msg=f"{score.error_msg}; {advice}")
    outcome = replace(outcome, score=score, reason=_fault(score))
    if outcome.accepted and reward.accepts_empty(sample, empty_response(task.language)):
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


def _form_advice(task: TaskType, sample: Sample) -> str:
    """What an author is told of an answer that is not the JSON that was asked for; else ""."""
    if not task.answer_form:
        return ""
    try:
        if isinstance(read_reference(sample.answer), Tests | Calls | Cases):
            return ""
    except BadReference:
        pass
    return f"the answer has to be a JSON object of the form {task.answer_form}"


def _fault(score: RewardFunctionScore) -> Reason:
    if score.status == "unscored":
        return "unscored"
    if not score.passed:
        return "wrong"
    return "format" if score.format_score < 1.0 else ""
