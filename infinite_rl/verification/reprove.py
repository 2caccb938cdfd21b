"""A whole data set proven again, offline: each row as it was when it was accepted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from ..reward_functions.reward_function import RewardFunction
from ..store import sample_of
from ..tasks import TASKS
from ..types import RewardFunctionScore, Sample, TaskType
from .corruptions import empty_response
from .record import judge_of
from .self_test import self_test

_TOGETHER = 256  # rows that are held, and judged, at a time
_WHICH = ("reward_version", "runtime_sha256")
_SCORES = ("format_score", "correctness_score", "aux_score", "quality_score")


class Reproved(NamedTuple):
    """One row: its number, from 1, its sample, and what is wrong with it; "" for nothing.

    `changes` says what judges otherwise today than when the row was made, which is no fault of it.
    """

    number: int
    sample: Sample
    fault: str
    changes: str = ""


def reprove(
    rows: Iterable[Mapping[str, str]],
    rewards: Mapping[str, RewardFunction],
    tasks: Mapping[str, TaskType] = TASKS,
) -> Iterator[Reproved]:
    """Prove the rows of a data set again, and yield each in its order.

    A row holds where its id is the hash of its content, its response passes with the scores that
    are recorded, an empty response does not pass, and, if a verifier recall is recorded, its
    verifier still tells wrong answers from right ones. A response that does not pass is judged once
    more by itself: it may be that the machine was busy. Where another version of the reward, or
    another build of the runtime, judged the row when it was made, `changes` says so.

    `rewards` judge in batches, and so on as many processor cores as they use. Some hundred rows are
    held at a time, however many there are.

    Raises:
        RuntimeMissing, SandboxError: nothing can be judged.
    """
    kinds = {(task.family, task.language): task for task in tasks.values()}
    judges = {kind: _judge_of(task, rewards) for kind, task in kinds.items()}
    remaining = enumerate(rows, start=1)
    while some := list(islice(remaining, _TOGETHER)):
        judged = [_Row(number, sample_of(row), row) for number, row in some]
        faults = _faults(judged, kinds, rewards)
        for row in judged:
            judge = judges.get((row.sample.type, row.sample.language), {})
            yield Reproved(row.number, row.sample, faults[row.number], _changes(row, judge))


def _judge_of(task: TaskType, rewards: Mapping[str, RewardFunction]) -> dict[str, str]:
    """Which version and which build judge a task today."""
    found = judge_of(task, rewards[task.reward]) if task.reward in rewards else {}
    return {name: found[name] for name in _WHICH if name in found}


def _changes(row: _Row, judge: Mapping[str, str]) -> str:
    then = {name: row.recorded.get(name) for name in judge}
    return "; ".join(
        f"{name} was {then[name]}, is {now}"
        for name, now in judge.items()
        if then[name] and then[name] != now
    )


class _Row(NamedTuple):
    number: int
    sample: Sample
    recorded: Mapping[str, str]


def _faults(
    rows: Sequence[_Row],
    kinds: Mapping[tuple[str, str], TaskType],
    rewards: Mapping[str, RewardFunction],
) -> dict[int, str]:
    """What is wrong with each row, by its number."""
    faults: dict[int, str] = {}
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        task = kinds.get((row.sample.type, row.sample.language))
        if row.recorded.get("id") != row.sample.id:
            faults[row.number] = f"its id is not that of its content, {row.sample.id}"
        elif task is None or task.reward not in rewards:
            named = " ".join(filter(None, (row.sample.type, row.sample.language)))
            faults[row.number] = f"no reward judges rows of the type {named!r}"
        else:
            groups.setdefault(task.reward, []).append(row)
    for name, group in groups.items():
        faults |= _judged(group, rewards[name])
    return faults


def _judged(rows: Sequence[_Row], reward: RewardFunction) -> dict[int, str]:
    pairs = [(row.sample, row.sample.response) for row in rows]
    pairs += [(row.sample, empty_response(row.sample.language)) for row in rows]
    scores = reward.score_many(pairs)
    return {
        row.number: _fault(row, own, empty, reward)
        for row, own, empty in zip(rows, scores, scores[len(rows) :], strict=False)
    }


def _fault(
    row: _Row, score: RewardFunctionScore, empty: RewardFunctionScore, reward: RewardFunction
) -> str:
    sample = row.sample
    if not score.passed:
        score = reward.score(sample, sample.response)
    if not score.passed:
        return f"its response does not pass: {score.error_msg}"
    if empty.passed:
        return "its reference accepts an empty solution"
    for name in _SCORES:
        recorded = row.recorded.get(name, "")
        if recorded and not _is(recorded, getattr(score, name)):
            return f"its {name} is {getattr(score, name)!r}, and {recorded!r} is recorded"
    return self_test(sample, reward).fault if row.recorded.get("verifier_recall") else ""


def _is(recorded: str, value: float) -> bool:
    """Whether a recorded score is this one, but for the last digits of other libraries."""
    try:
        return math.isclose(float(recorded), value, abs_tol=1e-9)
    except ValueError:
        return False
