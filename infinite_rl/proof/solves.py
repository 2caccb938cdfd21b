"""Blind solves: a model that sees the prompt alone, judged by the row's reward and answer.

Question, answer and response of a row come from one call, so their agreement proves little. Solves
that never saw the answer are evidence: few wrong answers are met by chance, least of all twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..layout import ANSWER_TAG
from ..parser_tags import tag_matches
from ..reward_functions.reward_function import RewardFunction
from ..settings import check_range
from ..types import Completion, RewardFunctionScore, Sample, TaskType

MIN_AGREEMENT = 0.25
_LABEL_CHARS = 200

_SYSTEM = """Solve the task. Reason first, step by step. Then give the final content once, in
<{tag}> tags closed by </{tag}>{form}"""
_CODE = """: one fenced ```{language} block that defines exactly what the task names,
with the standard library only. Write no tests, and read no input unless the task asks for it."""
_VALUE = ": the value alone, exact, with no words around it."


class Request(NamedTuple):
    """What one call is asked."""

    system: str
    prompt: str


def solve_request(sample: Sample, task: TaskType) -> Request:
    """What a blind solver is asked: the row's prompt, and the form of an answer. Nothing else."""
    return Request(solver_prompt(task.language), sample.prompt)


def solver_prompt(language: str = "") -> str:
    """The system prompt of who solves a task: a program in `language`, or "" for a value."""
    form = _CODE.format(language=language) if language else _VALUE
    return _SYSTEM.format(tag=ANSWER_TAG, form=form)


def default_system(sample: Sample) -> str:
    """What who solves a row is told of the form of an answer.

    "" for instructions to follow: their text says all of the answer's form.
    """
    return "" if sample.type == "instruction" else solver_prompt(sample.language)


@dataclass(frozen=True)
class Solves:
    """What came of the blind solves of one row.

    Of `asked` solves, `judged` came to an end and could be judged; `agreeing` of these pass the
    row's reward against its answer. `rival` is how many of the others agree among themselves, at
    most. `majority_answer` is what the largest group answered, of two the one against the row; for
    code, how its programs end.
    """

    asked: int
    judged: int
    agreeing: int
    rival: int = 0
    majority_answer: str = ""

    @property
    def agreement(self) -> float:
        """The share of the judged solves that agree with the row's answer."""
        return self.agreeing / self.judged if self.judged else 0.0

    @property
    def solve_rate(self) -> float:
        """The share of all that were asked: a solve that was cut off has not solved it."""
        return self.agreeing / self.asked if self.asked else 0.0

    @property
    def majority_agrees(self) -> bool:
        """Whether more solves agree with the row's answer than with any other."""
        return self.agreeing > self.rival

    def columns(self) -> dict[str, str]:
        """The result as a row records it."""
        return {
            "agreement": repr(round(self.agreement, 4)),
            "solve_rate": repr(round(self.solve_rate, 4)),
            "majority_answer": self.majority_answer,
        }


def judge_solves(
    sample: Sample, completions: Sequence[Completion | None], reward: RewardFunction
) -> Solves:
    """Judge the solves of a row; None stands for a call that was answered without any text.

    A solve without an answer disagrees. One that was cut off at the token limit, or that the reward
    could not judge, is left out: it says nothing of the row's answer. Raises what `reward.score`
    raises.
    """
    ended = [each for each in completions if each is None or each.finish_reason != "length"]
    texts = ["" if each is None else each.text for each in ended]
    scores = reward.score_many([(sample, text) for text in texts])
    judged = [
        (text, score)
        for text, score in zip(texts, scores, strict=True)
        if score.status != "unscored"
    ]
    agreeing = [text for text, score in judged if score.passed]
    others = [pair for pair in judged if not pair[1].passed]
    groups = _by_behaviour(others) if sample.language else _by_answer(sample, others, reward)
    largest = max(groups, key=lambda group: group.size, default=_Group("", 0))
    own = "passes" if sample.language else _answer(agreeing[0]) if agreeing else ""
    majority = own if len(agreeing) > largest.size else largest.label
    return Solves(len(completions), len(judged), len(agreeing), largest.size, majority)


def decide(solves: Solves, min_agreement: float = MIN_AGREEMENT) -> str:
    """Why a row is not kept, "" where it is.

    It is kept where at least `min_agreement` of the judged solves agree with its answer, at least
    two (one, where one was asked), and more than with any other answer.

    Each solve agrees with the answer with probability a, with the likeliest other answer with b,
    and else with nothing. A row is then kept with probability

        sum over i >= m, j < i of K! / (i! j! (K-i-j)!) * a^i * b^j * (1-a-b)^(K-i-j)

    with m = max(2, ceil(min_agreement * K)). Where the answer is right, a is the solver's accuracy
    p and b small; where it is wrong, b is p and a = (1-p) * h, h being how often a wrong solve
    meets that very error. With h = 0.05 and K = 4 (8):

        accuracy p           0.6                0.8                0.9
        right rows kept      0.821 (0.991)      0.973 (1.000)      0.996 (1.000)
        wrong rows kept      0.0015 (0.0005)    0.0002 (0.0000)    0.0000 (0.0000)

    At least two, since one of K meets a wrong answer some K (1-p) h of the time. Where questions
    are easy or hard for the solver, the hard ones are lost. Against errors that solver and author
    share, h near 1, no rule helps: ask another model.

    Raises:
        UsageError: `min_agreement` is not in [0, 1].
    """
    check_range("min_agreement", min_agreement, 0, 1)
    if not solves.judged:
        return f"none of {solves.asked} blind solves came to an end"
    needed = needed_of(solves.asked, solves.judged, min_agreement)
    said = f"{solves.agreeing} of {solves.judged} blind solves agree with the answer"
    if solves.agreeing < needed:
        return f"{said}, not {needed}; most say {solves.majority_answer or 'nothing'}"
    if not solves.majority_agrees:
        return f"{said}, and {solves.rival} on another one: {solves.majority_answer}"
    return ""


def needed_of(asked: int, judged: int, min_agreement: float) -> int:
    """How many solves must agree."""
    # The tiny addend undoes float error in products such as 0.07 * 100 = 7.000000000000001.
    return max(min(2, asked), math.ceil(min_agreement * judged - 1e-9))


class _Group(NamedTuple):
    """Solves that say the same, but not what the row says."""

    label: str
    size: int


def _by_behaviour(judged: Sequence[tuple[str, RewardFunctionScore]]) -> list[_Group]:
    """Programs that fail the row's tests alike: as many, and with the same message."""
    sizes: dict[tuple[float, str], int] = {}
    for _, score in judged:
        key = score.correctness_score, score.error_msg
        sizes[key] = sizes.get(key, 0) + 1
    return [_Group(error[:_LABEL_CHARS], size) for (_, error), size in sizes.items()]


def _by_answer(
    sample: Sample, judged: Sequence[tuple[str, RewardFunctionScore]], reward: RewardFunction
) -> list[_Group]:
    """Answers that mean the same by the row's reward; a text without an answer is in no group."""
    groups: list[list[str]] = []
    for text, _ in judged:
        answer = _answer(text)
        if not answer:
            continue
        for group in groups:
            like = replace(sample, answer=group[0])
            if answer in group or reward.score(like, text).passed:
                group.append(answer)
                break
        else:
            groups.append([answer])
    return [_Group(group[0][:_LABEL_CHARS], len(group)) for group in groups]


def _answer(text: str) -> str:
    tags = tag_matches(text, ANSWER_TAG)
    return tags[-1].content if tags else ""
