"""Self-consistency: independent solutions of a row's prompt, judged by its reward and answer.

Question, answer and response of a row come from one call, so their agreement proves little.
Solutions that never saw the answer are evidence: few wrong answers are met by chance, least of all
twice.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..layout import ANSWER_TAG
from ..parsing.tags import tag_matches
from ..reward_functions.reward_function import RewardFunction
from ..settings import check_range
from ..types import Completion, RewardFunctionScore, Sample, TaskType
from .differential import Differences, Differential

MOST_SOLUTIONS = 4  # of a row that a model has written
FIRST_SOLUTIONS = 2  # these are asked for together, each further one where they do not decide
TYPICAL_SOLUTIONS = 2.5  # of a row, with solvers right eight times in ten
MIN_AGREEMENT = 0.25
_LABEL_CHARS = 200
_LACKS_MODULE = re.compile(r"ModuleNotFoundError|Cannot find module")
_LEAST_REPAIRED = 2  # solutions that must agree with a repaired row

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
    """What a solver is asked: the row's prompt, and the form of an answer. Nothing else."""
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
    """What came of the independent solutions of one row.

    Of `asked` solutions, `judged` came to an end and could be judged; `agreeing` of these pass the
    row's reward against its answer, and a program also gives the values of the row's own program
    for generated inputs. `rival` is how many of the others agree among themselves, at most.
    `majority_answer` is what the largest group answered, of two the one against the row; for code,
    how its programs end. `compared` and `skipped` count the inputs on which two programs could be
    compared, and could not.
    """

    asked: int
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
        """The share of all that were asked: a solution that was cut off has not solved it."""
        return self.agreeing / self.asked if self.asked else 0.0

    @property
    def majority_agrees(self) -> bool:
        """Whether more solutions agree with the row's answer than with any other."""
        return self.agreeing > self.rival

    def columns(self) -> dict[str, str]:
        """The result as a row records it."""
        total = self.compared + self.skipped
        return {
            "inputs_compared": f"{self.compared} of {total}" if total else "",
            "agreement": repr(round(self.agreement, 4)),
            "solve_rate": repr(round(self.solve_rate, 4)),
            "majority_answer": self.majority_answer,
        }


class _Judged(NamedTuple):
    """A solution that could be judged."""

    text: str
    score: RewardFunctionScore
    differences: Differences

    @property
    def agrees(self) -> bool:
        """Whether it agrees with the row where the row's own tests look."""
        return self.score.passed and not self.differences.within


class IndependentSolutions:
    """The solutions of one row, judged as they come. `seed` is that of the generated inputs.

    Raises what `reward.score` raises.
    """

    def __init__(self, sample: Sample, reward: RewardFunction, seed: int = 0) -> None:
        self._sample, self._reward, self._seed = sample, reward, seed
        self._asked = 0
        self._judged: list[_Judged] = []
        self._differential: Differential | None = None

    def add(self, completions: Sequence[Completion | None]) -> None:
        """Judge further solutions; None stands for a call that was answered without any text.

        A solution without an answer disagrees. One that was cut off at the token limit, or that the
        reward could not judge, is left out: it says nothing of the row's answer.
        """
        self._asked += len(completions)
        ended = [each for each in completions if each is None or each.finish_reason != "length"]
        texts = ["" if each is None else each.text for each in ended]
        scores = self._reward.score_many([(self._sample, text) for text in texts])
        self._judged += [
            _Judged(text, score, self._differences(text, score))
            for text, score in zip(texts, scores, strict=True)
            if score.status != "unscored"
        ]

    def _differences(self, text: str, score: RewardFunctionScore) -> Differences:
        if not (self._sample.language and score.passed):
            return Differences()
        if self._differential is None:
            self._differential = Differential(self._sample, self._reward.timeout, self._seed)
        return self._differential.differences(text)

    def result(self) -> Solves:
        """What has come of the solutions so far."""
        sample, judged = self._sample, self._judged
        opposed = set(_opposed(judged))
        agreeing = [n for n, each in enumerate(judged) if each.agrees and n not in opposed]
        others = [(each.text, each.score) for each in judged if not each.score.passed]
        if sample.language:
            groups = [*_by_behaviour(others), *_by_values(judged, opposed)]
        else:
            groups = _by_answer(sample, others, self._reward)
        largest = max(groups, key=lambda group: group.size, default=_Group("", 0))
        own = "passes" if sample.language else _answer(judged[agreeing[0]].text) if agreeing else ""
        majority = own if len(agreeing) > largest.size else largest.label
        return Solves(
            self._asked,
            len(judged),
            len(agreeing),
            largest.size,
            majority,
            sum(each.differences.compared for each in judged),
            sum(each.differences.skipped for each in judged),
        )


def judge_solves(
    sample: Sample, completions: Sequence[Completion | None], reward: RewardFunction
) -> Solves:
    """Judge all solutions of a row at once, as `IndependentSolutions` does."""
    solutions = IndependentSolutions(sample, reward)
    solutions.add(completions)
    return solutions.result()


def decide(
    solves: Solves,
    min_agreement: float = MIN_AGREEMENT,
    *,
    most: int | None = None,
    repaired: bool = False,
) -> str | None:
    """Why a row is not kept, "" where it is, None where another solution may decide it otherwise.

    `most` solutions may be asked for, by default those that were. The first answer that enough
    solutions share decides, the row's own or another: enough are `min_agreement` of `most`, and at
    least two (one, where only one may be asked for). Where none is shared, the row is kept if the
    share of its solutions is at least `min_agreement`; a repaired row needs two all the same. So
    does one whose other solutions said nothing. No further solution is asked for once no outcome of
    the remaining ones can change the decision.

    Each solution agrees with the answer with probability a, with the likeliest other answer with b,
    and else with nothing. Where the answer is right, a is the solver's accuracy p, and b is
    (1-p) * h; where it is wrong, the other way round: h is how often a wrong solution meets that
    very error. With h = 0.2 and four solutions at most, exact (`benchmarks.truth`):

        accuracy p           0.5       0.7       0.9
        right rows kept      0.904     0.979     0.999
        wrong rows kept      0.166     0.047     0.003
        solutions a row      3.2       2.7       2.2

    Two that must agree whatever the others say would lose a third of the right rows at p = 0.5.
    Against errors that solver and author share, h near 1, no rule helps: ask another model.

    Raises:
        UsageError: `min_agreement` is not in [0, 1].
    """
    check_range("min_agreement", min_agreement, 0, 1)
    most = solves.asked if most is None else most
    left, enough = max(0, most - solves.asked), needed_of(most, most, min_agreement)
    agreeing, rival = solves.agreeing, solves.rival
    if agreeing >= enough and agreeing > rival:
        return ""
    if rival >= max(2, enough):
        return _refusal(solves, enough)

    def kept(agreeing: int, rival: int, judged: int) -> bool:
        needed = max(1, math.ceil(min_agreement * judged - _ROUNDING))
        needed = max(needed, min(_LEAST_REPAIRED, most)) if repaired else needed
        ahead = agreeing > rival or rival <= 1
        return judged >= min(2, most) and agreeing >= needed and ahead

    judged = solves.judged
    if not left:
        return "" if kept(agreeing, rival, judged) else _refusal(solves, enough)
    if not kept(agreeing + left, rival, judged + left):
        return _refusal(solves, enough)
    # The worst that may come: no answers at all, or all on the other side.
    worst = (kept(agreeing, rival, judged), kept(agreeing, rival + left, judged + left))
    return "" if all(worst) else None


def _refusal(solves: Solves, enough: int) -> str:
    if not solves.judged:
        return f"none of {solves.asked} independent solutions came to an end"
    said = f"{solves.agreeing} of {solves.judged} independent solutions agree with the answer"
    if solves.rival > 1 or solves.agreeing >= enough:
        return f"{said}, and {solves.rival} on another one: {solves.majority_answer}"
    return f"{said}, which is not enough; most say {solves.majority_answer or 'nothing'}"


# Undoes float error in products such as 0.07 * 100 = 7.000000000000001.
_ROUNDING = 1e-9


def needed_of(asked: int, judged: int, min_agreement: float) -> int:
    """How many solutions that agree decide at once."""
    return max(min(2, asked), math.ceil(min_agreement * judged - _ROUNDING))


class _Group(NamedTuple):
    """Solutions that say the same, but not what the row says."""

    label: str
    size: int


def _opposed(judged: Sequence[_Judged]) -> Iterator[int]:
    """The programs that pass, but of which another gives the same value against the row's own."""
    passing = [(n, each.differences) for n, each in enumerate(judged) if each.score.passed]
    for n, found in passing:
        if any(found.shares(other) for m, other in passing if m != n):
            yield n


def _by_values(judged: Sequence[_Judged], opposed: Collection[int]) -> Iterator[_Group]:
    """Programs that pass, but give another value than the row's own for some input.

    An input beyond the range of the tests may be undefined: there, one program alone says nothing.
    """
    for n, each in enumerate(judged):
        found = each.differences
        with_it = [m for m in opposed if m == n or found.shares(judged[m].differences)]
        if n in opposed or found.within:
            number, value = next(iter([*found.within.items(), *found.beyond.items()]))
            label = f"another value for generated input {number}: {json.dumps(value, default=str)}"
            yield _Group(label[:_LABEL_CHARS], max(1, len(with_it)))


def _by_behaviour(judged: Sequence[tuple[str, RewardFunctionScore]]) -> list[_Group]:
    """Programs that fail the row's tests alike: as many, and with the same message.

    One that could not be tested is in no group: it says nothing of what the task asks for.
    """
    sizes: dict[tuple[float, str], int] = {}
    for _, score in judged:
        untested = not score.details or "limit" in score.details or score.format_score < 1.0
        if untested or _LACKS_MODULE.search(score.error_msg):
            continue
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
