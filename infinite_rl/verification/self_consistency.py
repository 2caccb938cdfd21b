"""Self-consistency: independent solutions of a row's prompt, judged by its reward and answer.

Prompt, answer and response of a row come from one call, so their agreement proves little.
Solutions that never saw the answer are evidence: they rarely reach a wrong answer by chance, and
two of them hardly ever reach the same one.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..errors import check_range
from ..layout import ANSWER_TAG
from ..parsing.markup import tag_matches
from ..reward_functions.reward_function import RewardFunction
from ..types import Completion, RewardFunctionScore, Sample
from . import MIN_AGREEMENT
from .differential import Differences, Differential

_MIN_FOR_REPAIRED = 2  # solutions that must agree with a repaired row
_LABEL_CHARS = 200
_MISSING_MODULE = re.compile(r"ModuleNotFoundError|Cannot find module")
_ROUNDING = 1e-9  # undoes float error in products such as 0.07 * 100 = 7.000000000000001


@dataclass(frozen=True)
class ConsistencyResult:
    """The votes of the independent solutions of one row.

    Of `requested` solutions, `judged` were complete and could be judged. `agreeing` of these pass
    the row's reward against its answer; a program must also give the values of the row's own
    program on generated inputs. `rival` is the size of the largest group of other solutions that
    agree among themselves. `majority_answer` is the answer of the largest group (of two equal ones,
    the one against the row); for code, how its programs end. `compared` and `skipped` count the
    inputs on which two programs could and could not be compared.
    """

    requested: int
    judged: int
    agreeing: int
    rival: int = 0
    majority_answer: str = ""
    compared: int = 0
    skipped: int = 0

    @property
    def agreement(self) -> float:
        """The share of the judged solutions that agree with the row's answer."""
        return self.agreeing / self.judged if self.judged else 0.0

    @property
    def solve_rate(self) -> float:
        """The share of all requested solutions: a truncated solution did not solve the task."""
        return self.agreeing / self.requested if self.requested else 0.0

    def columns(self) -> dict[str, str]:
        """The result as columns of a row."""
        total = self.compared + self.skipped
        return {
            "inputs_compared": f"{self.compared} of {total}" if total else "",
            "agreement": repr(round(self.agreement, 4)),
            "solve_rate": repr(round(self.solve_rate, 4)),
            "majority_answer": self.majority_answer,
        }


class _Solution(NamedTuple):
    """A solution that could be judged."""

    text: str
    score: RewardFunctionScore
    differences: Differences


class _Group(NamedTuple):
    """Solutions with one answer, which is not the row's."""

    label: str
    size: int


class IndependentSolutions:
    """The solutions of one row, judged as they arrive. `seed` generates the inputs for programs.

    Raises what `reward.score` raises.
    """

    def __init__(self, sample: Sample, reward: RewardFunction, seed: int = 0) -> None:
        self._sample, self._reward, self._seed = sample, reward, seed
        self._requested = 0
        self._solutions: list[_Solution] = []
        self._differential: Differential | None = None

    def add(self, completions: Sequence[Completion | None]) -> None:
        """Judge further solutions; None stands for a call that returned no text.

        A solution without an answer disagrees. A truncated solution, or one that the reward could
        not judge, is left out: it is no evidence about the row's answer.
        """
        self._requested += len(completions)
        ended = [each for each in completions if each is None or each.finish_reason != "length"]
        texts = ["" if each is None else each.text for each in ended]
        scores = self._reward.score_many([(self._sample, text) for text in texts])
        self._solutions += [
            _Solution(text, score, self._differences(text, score))
            for text, score in zip(texts, scores, strict=True)
            if score.status != "unscored"
        ]

    def _differences(self, text: str, score: RewardFunctionScore) -> Differences:
        if not (self._sample.language and score.passed):
            return Differences()
        if self._differential is None:
            self._differential = Differential(self._sample, self._reward.timeout, self._seed)
        return self._differential.differences(text)

    def result(self) -> ConsistencyResult:
        """Count the votes of the solutions so far."""
        sample, solutions = self._sample, self._solutions
        passing = [each for each in solutions if each.score.passed]
        failing = [each for each in solutions if not each.score.passed]
        agreeing, groups = [], _by_behaviour(failing)
        for each in passing:
            others = (other.differences for other in passing if other is not each)
            shared = sum(map(each.differences.shares, others))
            if shared or each.differences.within:
                groups.append(_value_group(each.differences, 1 + shared))
            else:
                agreeing.append(each)
        if not sample.language:
            groups = _by_answer(sample, failing, self._reward)
        largest = max(groups, key=lambda group: group.size, default=_Group("", 0))
        majority = largest.label
        if len(agreeing) > largest.size:
            majority = "passes" if sample.language else _answer(agreeing[0].text)
        return ConsistencyResult(
            self._requested,
            len(solutions),
            len(agreeing),
            largest.size,
            majority,
            sum(each.differences.compared for each in solutions),
            sum(each.differences.skipped for each in solutions),
        )


def judge_solutions(
    sample: Sample, completions: Sequence[Completion | None], reward: RewardFunction
) -> ConsistencyResult:
    """Judge all solutions of a row at once, as `IndependentSolutions` does."""
    solutions = IndependentSolutions(sample, reward)
    solutions.add(completions)
    return solutions.result()


def rejection_reason(
    result: ConsistencyResult,
    min_agreement: float = MIN_AGREEMENT,
    *,
    max_solutions: int | None = None,
    repaired: bool = False,
) -> str | None:
    """Return why a row is rejected, "" if it is kept, None if another solution may still decide.

    At most `max_solutions` may be requested, by default those that were. The first answer that
    enough solutions share decides, the row's own or another: enough are `min_agreement` of
    `max_solutions`, and at least two (one, if only one may be requested). If none is shared, the
    row is kept if the share of its solutions is at least `min_agreement`; a repaired row needs two
    even then, and so does a row whose other solutions were no evidence. No further solution is
    requested once no outcome of the remaining ones can change the decision.

    Each solution agrees with the answer with probability a, with the likeliest other answer with b,
    and with no answer otherwise. If the answer is right, a is the solver's accuracy p, and b is
    (1-p) * h; if it is wrong, the other way round: h is how often a wrong solution makes that very
    error. With h = 0.2 and at most four solutions, exactly (`benchmarks.truth`):

        accuracy p           0.5       0.7       0.9
        right rows kept      0.904     0.979     0.999
        wrong rows kept      0.166     0.047     0.003
        solutions a row      3.2       2.7       2.2

    A rule that always requires two would lose a third of the right rows at p = 0.5. Against errors
    that solver and author share, h near 1, no rule helps: use another model as the solver.

    Raises:
        UsageError: `min_agreement` is not in [0, 1].
    """
    check_range("min_agreement", min_agreement, 0, 1)
    limit = result.requested if max_solutions is None else max_solutions
    left = max(0, limit - result.requested)
    enough = max(min(2, limit), math.ceil(min_agreement * limit - _ROUNDING))
    agreeing, rival, judged = result.agreeing, result.rival, result.judged
    if agreeing >= enough and agreeing > rival:
        return ""
    if rival >= max(2, enough):
        return _refusal(result, enough)

    def is_enough(agreeing: int, rival: int, judged: int) -> bool:
        needed = max(1, math.ceil(min_agreement * judged - _ROUNDING))
        needed = max(needed, min(_MIN_FOR_REPAIRED, limit)) if repaired else needed
        ahead = agreeing > rival or rival <= 1
        return judged >= min(2, limit) and agreeing >= needed and ahead

    if not left:
        return "" if is_enough(agreeing, rival, judged) else _refusal(result, enough)
    if not is_enough(agreeing + left, rival, judged + left):
        return _refusal(result, enough)
    # The worst cases: no answers at all, or all on the other side.
    worst = (is_enough(agreeing, rival, judged), is_enough(agreeing, rival + left, judged + left))
    return "" if all(worst) else None


def _refusal(result: ConsistencyResult, enough: int) -> str:
    if not result.judged:
        return f"none of {result.requested} independent solutions came to an end"
    text = f"{result.agreeing} of {result.judged} independent solutions agree with the answer"
    if result.rival > 1 or result.agreeing >= enough:
        return f"{text}, and {result.rival} on another one: {result.majority_answer}"
    return f"{text}, which is not enough; most say {result.majority_answer or 'nothing'}"


def _value_group(differences: Differences, size: int) -> _Group:
    """Programs that pass, but share another value than the row's own for some input.

    An input beyond the range of the tests may be undefined: there, one program alone is no
    evidence, and in no group.
    """
    number, value = next(iter([*differences.within.items(), *differences.beyond.items()]))
    label = f"another value for generated input {number}: {json.dumps(value, default=str)}"
    return _Group(label[:_LABEL_CHARS], size)


def _by_behaviour(failing: Sequence[_Solution]) -> list[_Group]:
    """Programs that fail as many of the row's tests, with the same message.

    A program that could not be tested is in no group: it is no evidence about the task.
    """
    sizes: Counter[tuple[float, str]] = Counter()
    for _, score, _ in failing:
        untested = not score.details or "limit" in score.details or score.format_score < 1.0
        if not untested and not _MISSING_MODULE.search(score.error_msg):
            sizes[score.correctness_score, score.error_msg] += 1
    return [_Group(error[:_LABEL_CHARS], size) for (_, error), size in sizes.items()]


def _by_answer(
    sample: Sample, failing: Sequence[_Solution], reward: RewardFunction
) -> list[_Group]:
    """Answers that are equal by the row's reward; a text without an answer is in no group."""
    groups: list[list[str]] = []
    for text, _, _ in failing:
        answer = _answer(text)
        if not answer:
            continue
        for group in groups:
            if answer in group or reward.score(replace(sample, answer=group[0]), text).passed:
                group.append(answer)
                break
        else:
            groups.append([answer])
    return [_Group(group[0][:_LABEL_CHARS], len(group)) for group in groups]


def _answer(text: str) -> str:
    tags = tag_matches(text, ANSWER_TAG)
    return tags[-1].content if tags else ""
