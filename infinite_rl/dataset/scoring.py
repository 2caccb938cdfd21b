"""Rewards applied to rows: to their own responses, or to completions from anywhere.

Judging is spread over the cores of this machine, or of a Ray cluster, and the rows come out in
their order. Only some hundreds are held at a time, however many there are.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeAlias

from ..errors import InfiniteRLError, NoColumn, StoreError, UsageError, look_up
from ..reward_functions import REWARDS
from ..reward_functions.reward_function import RewardFunction, unscored
from ..store import FAILED_COLUMNS, FAILED_LATER, answer_of
from ..types import RewardFunctionScore, Sample
from ..workers.pool import Lost, default_count, in_threads, in_workers
from ..workers.ray_cluster import connected
from ..workers.worker import raised
from . import rows
from .ground_truth import packed_in
from .rows import Row
from .spill import to_json
from .unfinished import UnfinishedRows

SCORE_COLUMNS = (
    *("status", "reward", "reward_version", "format_score", "correctness_score"),
    *("aux_score", "quality_score", "error_msg"),
)
# What else a row may say of how its score was made; of another score it would be wrong.
_OF_A_SCORE = (*SCORE_COLUMNS, "limits", "runtime", "runtime_sha256")
# Columns of an export that hold the ground truth, beside nested ones.
_EXPORTED = ("answer", "ground_truth", "label")
_OURS = {"status", "reward_version"}  # which rows have whose scores come from here
_LOOKED_AT = 100  # rows of which one must have a response
_BOUND = 30  # timeouts: a program's cases may take twenty, and its reference five more
_A_TASK = 64  # completions that one Ray task judges
_TASKS_A_CORE = 4  # under way at a time
_NAMED = 10  # unscored rows that a summary names

Job: TypeAlias = "dict[str, Any]"  # JSON values: what `judge_job` needs to know of a completion
Spread: TypeAlias = "Callable[[Iterator[Job]], Iterator[Row]]"  # jobs to score columns, in order


@dataclass(frozen=True)
class Judging:
    """What is judged in a row, and by what.

    `completion` and `answer` name columns. An exported row, for whatever trainer, is judged against
    its ground truth, unless `answer` names another column. `type` is a reward's name, and
    `language` that of the code, for all rows; where they are "", those of each row. `timeout` is in
    seconds.

    Raises:
        UsageError: a timeout that is no positive number.
    """

    completion: str = "response"
    answer: str = "answer"
    type: str = ""
    language: str = ""
    timeout: float = 5.0

    def __post_init__(self) -> None:
        if not (self.timeout > 0 and math.isfinite(self.timeout)):
            raise UsageError(f"the timeout must be a positive number, not {self.timeout!r}")


@dataclass
class Summary:
    """What scoring has found: rows by type and status, and the first of those without a verdict."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    unscored: list[str] = field(default_factory=list)
    rows: int = 0
    there_before: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Count a row that has its score."""
        self.rows += 1
        self.counts[str(row["reward"]), str(row["status"])] += 1
        if row["status"] == "unscored" and len(self.unscored) < _NAMED:
            name = f" ({row['id']})" if row.get("id") else ""
            self.unscored.append(f"row {self.rows}{name}: {row['error_msg']}")

    @property
    def without_verdict(self) -> int:
        """How many rows are unscored."""
        return sum(count for (_, status), count in self.counts.items() if status == "unscored")


def score_rows(
    given: Iterable[Mapping[str, Any]],
    judging: Judging | None = None,
    *,
    rewards: Mapping[str, RewardFunction] | None = None,
    spread: Spread | None = None,
    overwrite_columns: bool = False,
) -> Iterator[Row]:
    """Each row with the columns `SCORE_COLUMNS`, in their order.

    Scores that a row had are replaced, and what it says of how they were made (`limits`, `runtime`,
    `runtime_sha256`) is left out. Other columns of such a name are replaced with
    `overwrite_columns` only.

    `reward` names what has judged, `reward_version` which version of it, `status` is "passed",
    "failed" or "unscored", and `quality_score` the mean of format and correctness. A row whose
    completion or answer is no text is unscored; an answer that is a number, list or mapping is
    taken as its JSON.

    The built-in rewards judge, on all cores (or as `spread` says), or `rewards` by name, on
    threads of this process.

    Raises:
        UsageError: a row lacks a column that is to be judged, or has columns of its own that the
            scores would replace; the message says which row.
        UnknownName: no such reward, or language.
        RuntimeMissing, SandboxError: nothing can be judged.
    """
    judging = judging or Judging()
    waiting: deque[Mapping[str, Any]] = deque()

    def jobs() -> Iterator[Job]:
        for number, row in enumerate(given, 1):
            waiting.append(row)
            if not overwrite_columns:
                _refuse_own(row, number)
            yield _job(row, number, judging, rewards or REWARDS)

    if rewards is not None:
        judge = partial(_judged, rewards=rewards)
        found = in_threads(judge, jobs(), default_count())
    else:
        found = (spread or _on_cores(judging.timeout))(jobs())
    for columns in found:
        yield {**_without_score(waiting.popleft()), **columns}


def score_file(
    source: rows.Source,
    out: str | Path,
    judging: Judging | None = None,
    *,
    spread: Spread | None = None,
    overwrite: bool = False,
    overwrite_columns: bool = False,
    on_row: Callable[[int], None] = lambda _: None,
) -> Summary:
    """Score the rows of `source` into the file `out`.

    Until all are judged they are in `out` + ".part", so that the same call made again after the
    process was killed goes on where that one was. With `overwrite`, what is there of another run
    is thrown away. `on_row` is told how many rows are done.

    Raises:
        StoreError: the file cannot be written, or what is there was made of other rows.
        UsageError, UnknownName, RuntimeMissing, SandboxError: as `score_rows`.
    """
    judging, out, summary = judging or Judging(), Path(out), Summary()

    def given() -> Iterator[Row]:
        return _with_responses(rows.read_some(source), judging.completion)

    rows.kind_of(out)  # whether it can be written at all should show now
    with UnfinishedRows(out, _settings(judging), overwrite=overwrite) as unfinished:
        todo = given()
        for done in unfinished.done():
            if not _same(next(todo, None), done):
                if not overwrite:
                    raise StoreError(
                        f"{unfinished.path} was made of other rows: go on with those, or begin "
                        "anew with --overwrite"
                    )
                unfinished.discard()
                todo, summary = given(), Summary()
                break
            summary.add(done)
        summary.there_before = summary.rows
        for row in score_rows(todo, judging, spread=spread, overwrite_columns=overwrite_columns):
            unfinished.add(row)
            summary.add(row)
            on_row(summary.rows)
        unfinished.finish()
    return summary


def _settings(judging: Judging) -> dict[str, Any]:
    """What a verdict depends on, as a file that is being made records it."""
    versions = {name: resolve_name(where).version for name, where in REWARDS.items()}
    return {**asdict(judging), "reward_versions": versions}


def _same(row: Mapping[str, Any] | None, done: Mapping[str, Any]) -> bool:
    """Whether a scored row is this one."""
    if row is None:
        return False
    scores = {name: done[name] for name in SCORE_COLUMNS if name in done}
    return to_json({**_without_score(row), **scores}) == to_json(done)


def _without_score(row: Mapping[str, Any]) -> Row:
    names = _OF_A_SCORE if _is_scored(row) else SCORE_COLUMNS
    return {name: value for name, value in row.items() if name not in names}


def _is_scored(row: Mapping[str, Any]) -> bool:
    """Whether its scores are of this package."""
    return row.keys() >= _OURS or row.keys() >= {*FAILED_COLUMNS} - FAILED_LATER.keys()


def _refuse_own(row: Mapping[str, Any], number: int) -> None:
    own = [] if _is_scored(row) else [name for name in SCORE_COLUMNS if name in row]
    if own:
        raise UsageError(
            f"row {number} has columns of its own that scores would replace: {', '.join(own)}; "
            "rename them, or give --overwrite_columns"
        )


def _with_responses(given: Iterable[Row], column: str) -> Iterator[Row]:
    """The rows; refused where the first have no response of their own."""
    rest = iter(given)
    first = list(islice(rest, _LOOKED_AT))
    if column == Judging.completion and first and not any(row.get(column, 1) for row in first):
        raise UsageError(
            f"there is nothing in {column!r} of the first {len(first)} rows: "
            "name the column of the completions with --completion"
        )
    return chain(first, rest)


# --- one completion ------------------------------------------------------------------------------


def _job(row: Mapping[str, Any], number: int, judging: Judging, known: Mapping[str, object]) -> Job:
    exported = packed_in(row) if judging.answer in _EXPORTED else None
    wanted = dict.fromkeys((judging.completion, judging.answer, "type"))
    if judging.type:
        del wanted["type"]
    if exported:
        wanted, row = {judging.completion: None}, {**row, **_judged_by(exported, judging)}
    for column in wanted:
        if column not in row:
            raise NoColumn(column, row, f"row {number}")
    name = judging.type or row["type"]
    look_up("reward", name, known)
    completion, answer = row[judging.completion], answer_of(row[judging.answer])
    parts = {"type": name, "prompt": row.get("prompt"), "answer": answer}
    parts["language"] = judging.language or row.get("language")
    sample = {part: text if isinstance(text, str) else "" for part, text in parts.items()}
    fault = ""
    if answer is None:
        fault = f"there is nothing in {judging.answer!r}"
    elif completion is None:
        fault = f"there is nothing in {judging.completion!r}"
    elif not isinstance(completion, str):
        fault = f"{judging.completion!r} holds {type(completion).__name__}, no text"
    return {"sample": sample, "completion": completion, "timeout": judging.timeout, "fault": fault}


def _judged_by(exported: Sample, judging: Judging) -> Row:
    """The columns of an exported row's ground truth."""
    parts = {judging.answer: exported.answer, "type": exported.type}
    return {**parts, "language": exported.language}


def judge_job(job: Job) -> Row:
    """The score columns of a job, by a built-in reward: what a worker process does."""
    name = job["sample"]["type"]
    return _judged(job, {name: _reward(name, job["timeout"])})


@lru_cache(maxsize=16)
def _reward(name: str, timeout: float) -> RewardFunction:
    found: RewardFunction = resolve_name(REWARDS[name])(name, timeout)
    return found


def _judged(job: Job, rewards: Mapping[str, RewardFunction]) -> Row:
    reward = rewards[job["sample"]["type"]]
    if job["fault"]:
        score = unscored(0.0, job["fault"])
    else:
        score = reward.score(Sample(**job["sample"], response=""), job["completion"])
    return score_columns(score, job["sample"]["type"], reward.version)


def score_columns(score: RewardFunctionScore, reward: str, version: str) -> Row:
    """A score as columns of a row; `reward` and `version` say what has judged."""
    return {
        "status": score.status,
        "reward": reward,
        "reward_version": version,
        "format_score": score.format_score,
        "correctness_score": score.correctness_score,
        "aux_score": score.aux_score,
        "quality_score": score.quality_score,
        "error_msg": score.error_msg,
    }


# --- many, spread --------------------------------------------------------------------------------


def _on_cores(timeout: float) -> Spread:
    def spread(jobs: Iterator[Job]) -> Iterator[Row]:
        sent: deque[Job] = deque()

        def kept() -> Iterator[Job]:
            for job in jobs:
                sent.append(job)
                yield job

        work = f"{__name__}:judge_job"
        for found in in_workers(work, kept(), default_count(), _BOUND * timeout):
            job = sent.popleft()
            yield _lost(job, found.reason) if isinstance(found, Lost) else found

    return spread


def _lost(job: Job, why: str) -> Row:
    name = job["sample"]["type"]
    return score_columns(unscored(0.0, why), name, _reward(name, job["timeout"]).version)


@contextmanager
def on_ray(address: str | None = None) -> Iterator[Spread]:
    """Spreads over a Ray cluster: that at `address`, at $RAY_ADDRESS, or one made here meanwhile.

    A task judges some dozens of completions, on one CPU.

    Raises:
        UsageError: Ray is not installed, or there is no cluster at the address.
    """
    with connected(address) as ray:
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield partial(_by_tasks, ray, _TASKS_A_CORE * cores)


def _by_tasks(ray: Any, most: int, jobs: Iterator[Job]) -> Iterator[Row]:
    task, under_way = ray.remote(_judge_jobs), deque[Any]()
    while some := list(islice(jobs, _A_TASK)):
        under_way.append((some, task.remote(some)))
        if len(under_way) >= most:
            yield from _results(ray, *under_way.popleft())
    while under_way:
        yield from _results(ray, *under_way.popleft())


def _judge_jobs(jobs: list[Job]) -> list[Row] | tuple[str, str]:
    """The score columns of some jobs, or the error that keeps all of them from being judged."""
    try:
        return [judge_job(job) for job in jobs]
    except InfiniteRLError as error:  # not all of them can be pickled
        return type(error).__name__, str(error)


def _results(ray: Any, jobs: list[Job], call: Any) -> list[Row]:
    try:
        found = ray.get(call)
    except ray.exceptions.RayError as error:  # its worker died, and died again
        return [_lost(job, f"a worker ended: {str(error)[-500:]}") for job in jobs]
    if isinstance(found, tuple):
        raise raised(*found)
    results: list[Row] = found
    return results
