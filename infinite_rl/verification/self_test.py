"""Does a row's verifier reject wrong answers? It judges corruptions and equivalents of the answer.

`corruptions` makes them from the row alone; `self_test` judges them with the row's own reward.
"""

import copy
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..layout import ANSWER_TAG, fenced, tagged
from ..reward_functions.reward_function import RewardFunction
from ..types import Execution, RewardFunctionScore, Sample
from ..workers.pool import Lost, default_count, in_workers

MAX_MUTANTS = 6  # of one program
MIN_MUTANTS = 3  # fewer say nothing about the tests
MIN_RECALL = 0.25  # share of the mutants that the tests must kill
_SLOWDOWN = 5.0  # the time limit of a mutant, as a multiple of the row's own program's time
_MIN_TIMEOUT_S = 0.1
_QUOTE_CHARS = 120
_MOST_FUEL, _METERED_SLOWDOWN = 10**15, 4  # no limit of its own; counting takes time
# A program that names one of these may behave differently in a second run.
_NONDETERMINISTIC = re.compile(
    r"\b(?:random|secrets|uuid|datetime|Date|performance|crypto)\b|\b(?:hash|id)\(|\btime\."
)


# --- corruptions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Corruption:
    """A response made from a row, and the kind of change.

    With `equal` it must pass: another spelling of the answer, or the same program reformatted. The
    others must fail. A corrupted answer is surely wrong; a mutant may happen to be equivalent.
    """

    kind: str
    response: str
    equal: bool = False


def corruptions(sample: Sample) -> Iterator[Corruption]:
    """Yield the responses to test a row's verifier with, equivalents first.

    They follow from the row alone: for mathematics from its answer, for code from the program in
    its response. Other types, and rows that cannot be read, have none. Nothing of the row runs
    here, and each response is made only when it is requested.
    """
    if sample.language:
        yield from _of_code(sample)
    elif sample.type == "math":
        from .math_corruptions import same_answers, wrong_answers  # code does not need the parser

        for kind, text in same_answers(sample.answer, sample.prompt):
            yield Corruption(kind, tagged(text), True)
        for kind, text in wrong_answers(sample.answer, sample.id):
            yield Corruption(kind, tagged(text))


def empty_response(language: str) -> str:
    """A response that solves nothing: no reference may accept it."""
    nothing = "0" if language else ""  # a program without effect: the reward runs no empty one
    return _program(nothing, language)


def _of_code(sample: Sample) -> Iterator[Corruption]:
    from ..reward_functions.coding import read_submission
    from .mutation import rewritten, some_mutants

    code = read_submission(sample.response, ANSWER_TAG, sample.language).code
    if not code.strip():
        return
    again = rewritten(sample.language, code)
    respelled = Corruption("rewritten", _program(again, sample.language), True)
    yield respelled if again else Corruption("itself", sample.response, True)
    for mutant in some_mutants(sample.language, code, MAX_MUTANTS, sample.id):
        yield Corruption(mutant.change, _program(mutant.code, sample.language))


def _program(code: str, language: str) -> str:
    return tagged(f"\n{fenced(code, language)}\n")


# --- the self-test -------------------------------------------------------------------------------


@dataclass(frozen=True)
class SelfTest:
    """How a row's verifier judged the row's corruptions.

    `killed` of `total` wrong responses were rejected, `passed_equivalents` of `total_equivalents`
    were accepted. `fault` says why the row is not to be trusted, "" if nothing speaks against it;
    with a `total` of 0 nothing could be tested. `fuel` counts the instructions that the row's own
    program took with its tests, 0 if they were not counted.
    """

    killed: int = 0
    total: int = 0
    passed_equivalents: int = 0
    total_equivalents: int = 0
    fault: str = ""
    fuel: int = 0

    @property
    def verifier_recall(self) -> float | None:
        """The share of the wrong responses that were rejected; None if there were none."""
        return self.killed / self.total if self.total else None

    def columns(self) -> dict[str, str]:
        """The result as columns of a row; the recall is "" if nothing could be tested."""
        recall = self.verifier_recall
        return {
            "verifier_recall": "" if recall is None else repr(round(recall, 4)),
            "mutants": str(self.total),
            "fuel": str(self.fuel or ""),
        }

    def record(self) -> dict[str, int]:
        """The counts, for the row's certificate."""
        names = ("killed", "total", "passed_equivalents", "total_equivalents")
        return {name: getattr(self, name) for name in names}


def self_test(
    sample: Sample, reward: RewardFunction, *, min_recall: float = MIN_RECALL
) -> SelfTest:
    """Let `reward` judge the corruptions of a row whose own response it accepts.

    Mathematics: accepting a wrong answer is a fault, and so is rejecting an equivalent one.

    Code: the row's program must also pass when it is reformatted, if the tests can see the source
    or the program may be nondeterministic. A mutant may be equivalent, so it is a fault only if the
    tests kill less than `min_recall` of at least three mutants that ran. Testing stops once that
    is decided. Mutants that do not compile, hit a limit or cannot be judged do not count. A mutant
    may run for five times as long as the row's own program, and at least 0.1 s. All programs of a
    row run in one call of a worker process.

    Raises what `reward.score` raises.
    """
    if not sample.language:
        return _of_answers(sample, reward)
    from ..reward_functions.coding import CodingRewardFunction  # not needed for mathematics
    from ..reward_functions.coding.judge import row_bound_s

    if not (isinstance(reward, CodingRewardFunction) and (settings := reward.settings())):
        return _of_programs(sample, reward, min_recall)
    row = (sample.type, sample.prompt, sample.answer, sample.response, sample.language)
    bound_s = (1 + MAX_MUTANTS) * (reward.bound_s + row_bound_s(sample.answer))
    jobs = [(settings, row, min_recall)]
    [result] = in_workers(f"{__name__}:self_test_job", jobs, default_count(), bound_s)
    # These programs killed two workers: nothing could be tested.
    return SelfTest() if isinstance(result, Lost) else SelfTest(**result)


def self_test_job(job: tuple[str, tuple[str, str, str, str, str], float]) -> dict[str, Any]:
    """The worker's half of `self_test`: a reward's settings, a row, the minimum recall."""
    from ..reward_functions.coding.reward import reward_like

    settings, row, min_recall = job
    sample, reward = Sample(*row), reward_like(settings)
    result = _of_programs(sample, reward, min_recall)
    return vars(result if result.fault else replace(result, fuel=fuel_of(sample, reward)))


def fuel_of(sample: Sample, reward: RewardFunction) -> int:
    """Return the instructions that judging a row's own program takes, equal on every machine.

    They are those of all its runs, with the seed 0. They are 0 if it does not pass so.
    """
    from ..reward_functions.coding import CodingRewardFunction
    from ..reward_functions.coding.reference import stated_bound
    from ..sandbox.calibration import time_factor
    from ..sandbox.executor import RewardExecutor

    class Meter(RewardExecutor):
        used = 0

        def execute(self, *args: Any, **kwargs: Any) -> Execution:
            execution = super().execute(*args, **kwargs)
            self.used += execution.fuel
            return execution

    limits = {**reward.limits, "timeout": _METERED_SLOWDOWN * reward.timeout}
    meter = Meter(**{**limits, "fuel": _MOST_FUEL, "seed": 0})
    factor = _METERED_SLOWDOWN * time_factor() if stated_bound(sample.answer) else None
    judge = CodingRewardFunction(timeout=meter.timeout, executor=meter, time_factor=factor)
    return meter.used if judge.passes(sample, sample.response, likely=True) else 0


def _of_answers(sample: Sample, reward: RewardFunction) -> SelfTest:
    every = list(corruptions(sample))
    equal = _judged(sample, [each for each in every if each.equal], reward)
    passed = sum(score.passed for _, score in equal)
    if passed < len(equal):
        return SelfTest(0, 0, passed, len(equal), _rejected(equal))
    wrong = _judged(sample, [each for each in every if not each.equal], reward)
    killed = sum(not score.passed for _, score in wrong)
    accepted = (each for each, score in wrong if score.passed)
    fault = next((f"the verifier accepts a wrong answer {_quoted(each)}" for each in accepted), "")
    return SelfTest(killed, len(wrong), passed, len(equal), fault)


_Judged = tuple[Corruption, RewardFunctionScore]


def _judged(sample: Sample, some: Sequence[Corruption], reward: RewardFunction) -> list[_Judged]:
    """Each corruption with its score, without those that the reward could not judge."""
    scores = reward.score_many([(sample, each.response) for each in some])
    pairs = zip(some, scores, strict=True)
    return [(each, score) for each, score in pairs if score.status != "unscored"]


def _of_programs(sample: Sample, reward: RewardFunction, min_recall: float) -> SelfTest:
    mutants = corruptions(sample)
    respelled = next(mutants, None)
    if respelled is None:
        return SelfTest()
    passed = total = killed = 0
    own_s = 0.0  # time of the row's own program; 0 while it is unknown
    if reward.sees_spelling(sample) or _NONDETERMINISTIC.search(sample.response):
        verdict, own_s = _timed(sample, respelled, reward)
        if verdict is False:
            score = reward.score(sample, respelled.response)
            return SelfTest(0, 0, 0, 1, _rejected([(respelled, score)]))
        passed = int(verdict is True)
    while True:
        quick, stopped = copy.copy(reward), []
        quick.timeout = min(reward.timeout, max(_MIN_TIMEOUT_S, _SLOWDOWN * own_s))
        for each in mutants:
            if (verdict := quick.passes(sample, each.response, likely=False)) is None:
                stopped.append(each)
                continue
            total += 1
            killed += not verdict
            possible = MAX_MUTANTS - len(stopped) if own_s else MAX_MUTANTS
            if killed >= min_recall * possible:  # enough, whatever the other mutants do
                return SelfTest(killed, total, passed, passed)
        if own_s or not stopped:
            break
        # The row's own program may be slow: run the stopped mutants again with a matching limit.
        mutants, (_, own_s) = iter(stopped), _timed(sample, respelled, reward)
    fault = ""
    if total >= MIN_MUTANTS and killed < min_recall * total:
        fault = f"the verifier accepts {total - killed} of {total} programs with one thing wrong"
    return SelfTest(killed, total, passed, passed, fault)


def _timed(
    sample: Sample, respelled: Corruption, reward: RewardFunction
) -> tuple[bool | None, float]:
    """Whether the row's own program passes, and the seconds that it took, above 0."""
    started = time.monotonic()
    verdict = reward.passes(sample, respelled.response, likely=True)
    return verdict, max(1e-6, time.monotonic() - started)


def _rejected(equal: Sequence[_Judged]) -> str:
    each, score = next(pair for pair in equal if not pair[1].passed)
    return f"the verifier rejects what is right {_quoted(each)}: {score.error_msg}"


def _quoted(each: Corruption) -> str:
    return f"({each.kind}): {each.response[:_QUOTE_CHARS]}"
