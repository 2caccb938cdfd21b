"""Rewards applied to rows: to their own responses, or to any completions.

Judging runs on all cores of this machine, or on a Ray cluster, and yields the rows in order. Only
some hundreds are in memory at a time.
"""

import math
import re
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeAlias

from ..errors import InfiniteRLError, NoColumn, StoreError, UsageError, look_up, reason_of
from ..reward_functions import REWARDS, get_reward_functions, new_reward
from ..reward_functions.reward_function import RewardFunction, unscored
from ..store import FAILED_COLUMNS, FAILED_LATER, answer_of
from ..types import RewardFunctionScore, Sample
from ..workers.pool import Lost, beside_results, default_count, in_threads, in_workers
from ..workers.ray_cluster import connected
from ..workers.worker import raised, sent
from . import rows
from .ground_truth import packed_in
from .rows import Row
from .spill import to_json
from .unfinished import UnfinishedRows

SCORE_COLUMNS = (
    *("status", "reward", "reward_version", "format_score", "correctness_score"),
    *("aux_score", "quality_score", "error_msg"),
)
# Further columns of a score, which do not hold for another one.
_ALL_SCORE_COLUMNS = (*SCORE_COLUMNS, "limits", "runtime", "runtime_sha256")
# Columns of an export with the ground truth, besides nested ones.
_EXPORTED = ("answer", "ground_truth", "label")
_MARKERS = {"status", "reward_version"}  # columns of rows with a score of this package
_CHECKED_ROWS = 100  # of which one must have a response
_BOUND = 30  # timeouts: a program's cases may take twenty, and its reference five more
_RAY_CHUNK = 64  # completions per Ray task
_RAY_TASKS = 4  # in flight per core
_LISTED = 10  # unscored rows in a summary
_MOST_REASONS = 1000  # that are counted
# What of a reason is of one row alone: how many tests passed, and which failed.
_OF_ONE_ROW = re.compile(
    r"\A\d+ of \d+ (?:tests|cases) passed; (?:test \d+ failed: |case \d+ with input [^\n]*?: )?"
)

Job: TypeAlias = dict[str, Any]  # JSON values: one completion with what judges it
Spread: TypeAlias = Callable[[Iterator[Job]], Iterator[Row]]  # jobs to score columns, in order


@dataclass(frozen=True)
class Judging:
    """The columns to judge, and the reward.

    `completion`, `answer` and `prompt` name columns. An exported row, of any trainer format, is
    judged against its ground truth, unless `answer` names another column. `type` is a reward's
    name, and `language` that of the code, for all rows; if "", those of each row. `timeout` is in
    seconds.
    `first_failure` and `time_factor` are those of the coding reward, `convention` is that of the
    instruction reward.

    Raises:
        UsageError: the timeout is not positive.
    """

    completion: str = "response"
    answer: str = "answer"
    type: str = ""
    language: str = ""
    timeout: float = 5.0
    first_failure: bool = False
    time_factor: float | None = None
    convention: str = "own"
    prompt: str = "prompt"

    def __post_init__(self) -> None:
        if not (self.timeout > 0 and math.isfinite(self.timeout)):
            raise UsageError(f"the timeout must be a positive number, not {self.timeout!r}")

    @property
    def how(self) -> list[Any]:
        """What a job says of its reward: the arguments of `reward_by` behind the name."""
        return [self.timeout, self.first_failure, self.time_factor, self.convention]


@dataclass
class Summary:
    """The number of scored rows by reward and status, and the first unscored ones.

    `reasons` counts the failed ones by reward and reason (see `reason_of_failure`).
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    unscored: list[str] = field(default_factory=list)
    rows: int = 0
    there_before: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Count a scored row."""
        self.rows += 1
        self.counts[str(row["reward"]), str(row["status"])] += 1
        if row["status"] == "failed":
            reason = str(row["reward"]), reason_of_failure(str(row["error_msg"] or ""))
            if reason in self.reasons or len(self.reasons) < _MOST_REASONS:
                self.reasons[reason] += 1
        if row["status"] == "unscored" and len(self.unscored) < _LISTED:
            name = f" ({row['id']})" if row.get("id") else ""
            self.unscored.append(f"row {self.rows}{name}: {row['error_msg']}")

    @property
    def without_verdict(self) -> int:
        """The number of unscored rows."""
        return sum(count for (_, status), count in self.counts.items() if status == "unscored")


def reason_of_failure(message: str) -> str:
    """The error message of a score without what is of one row alone: numbers, texts, lines.

    >>> reason_of_failure("0 of 1 tests passed; test 1 failed: AssertionError: assert f(2) == 4")
    'AssertionError'
    """
    first, *others = _OF_ONE_ROW.sub("", message, count=1).splitlines() or [""]
    if others:  # of a traceback the exception
        first = f"{first.partition(': ')[0]}: {others[-1]}"
    shared = re.split(r"['\"`]|(?<=AssertionError)", first, maxsplit=1)[0]
    shared = re.sub(r"\d+(?:\.\d+)?", "N", shared)
    return shared.strip().removesuffix(" in:").rstrip(" :;,(") or "no reason given"


def score_rows(
    source: Iterable[Mapping[str, Any]],
    judging: Judging | None = None,
    *,
    rewards: Mapping[str, RewardFunction] | None = None,
    spread: Spread | None = None,
    overwrite_columns: bool = False,
) -> Iterator[Row]:
    """Yield each row with the columns `SCORE_COLUMNS`, in order.

    Earlier scores are replaced, and the columns that describe them (`limits`, `runtime`,
    `runtime_sha256`) dropped. Other columns with these names are replaced only with
    `overwrite_columns`.

    `reward` and `reward_version` name the reward, `status` is "passed", "failed" or "unscored", and
    `quality_score` is the mean of format and correctness. A row is unscored if its completion or
    answer is no text; an answer that is a number, list or mapping counts as its JSON.

    The built-in rewards run on all cores (or as `spread` says), `rewards` by name on threads of
    this process.

    Raises:
        UsageError: a row lacks a column, or has other columns with these names; the message names
            the row.
        UnknownName: a reward or language is unknown.
        RuntimeMissing, SandboxError: judging is impossible.
    """
    judging = judging or Judging()

    def jobs(every: Iterator[Mapping[str, Any]]) -> Iterator[Job]:
        for number, row in enumerate(every, 1):
            foreign = [name for name in SCORE_COLUMNS if name in row]
            if foreign and not overwrite_columns and not _has_score_columns(row):
                raise UsageError(
                    f"row {number} has columns that scores would replace: {', '.join(foreign)}; "
                    "rename them, or use --overwrite_columns"
                )
            yield job_of(row, number, judging, rewards or REWARDS)

    def scores(every: Iterator[Mapping[str, Any]]) -> Iterable[Row]:
        if rewards is not None:
            return in_threads(partial(judged_by_own, rewards=rewards), jobs(every), default_count())
        return (spread or partial(_on_cores, judging))(jobs(every))

    for row, columns in beside_results(source, scores):
        yield {**_without_score(row), **columns}


def score_file(
    source: rows.Source,
    out: str | Path,
    judging: Judging | None = None,
    *,
    own: Mapping[str, RewardFunction] | None = None,
    spread: Spread | None = None,
    overwrite: bool = False,
    overwrite_columns: bool = False,
    on_row: Callable[[int], None] = lambda _: None,
) -> Summary:
    """Score the rows of `source` into the file `out`.

    Until all are judged they are in `out` + ".part", so that the same call resumes after a kill.
    With `overwrite`, rows of another run there are dropped. `own` are rewards of one's own by name;
    with them, all rewards run on threads of this process. `on_row` gets the number of rows.

    Raises:
        StoreError: the file is not writable, or its rows are not those of `source`.
        UsageError, UnknownName, RuntimeMissing, SandboxError: as `score_rows`.
    """
    judging, out, summary = judging or Judging(), Path(out), Summary()
    versions = {name: resolve_name(path).version for name, path in REWARDS.items()}
    versions |= {name: reward.version for name, reward in (own or {}).items()}
    options = asdict(judging)
    settings = {**options, "reward_versions": versions}
    rewards = get_reward_functions(judging.timeout, own, options=options) if own else None
    rows.kind_of(out)  # an unsupported format shows before the work
    with UnfinishedRows(out, settings, overwrite=overwrite) as unfinished:
        todo = _with_responses(rows.read_some(source), judging.completion)
        for done in unfinished.done():
            if not _same(next(todo, None), done):
                if not overwrite:
                    raise StoreError(
                        f"{unfinished.path} was made of other rows: score those, or start again "
                        "with --overwrite"
                    )
                unfinished.discard()
                todo = _with_responses(rows.read_some(source), judging.completion)
                summary = Summary()
                break
            summary.add(done)
        summary.there_before = summary.rows
        for row in score_rows(
            todo, judging, rewards=rewards, spread=spread, overwrite_columns=overwrite_columns
        ):
            unfinished.add(row)
            summary.add(row)
            on_row(summary.rows)
        unfinished.finish()
    return summary


def _same(row: Mapping[str, Any] | None, done: Mapping[str, Any]) -> bool:
    """Whether a scored row is the result of this one."""
    if row is None:
        return False
    scores = {name: done[name] for name in SCORE_COLUMNS if name in done}
    return to_json({**_without_score(row), **scores}) == to_json(done)


def _without_score(row: Mapping[str, Any]) -> Row:
    names = _ALL_SCORE_COLUMNS if _has_score_columns(row) else SCORE_COLUMNS
    return {name: value for name, value in row.items() if name not in names}


def _has_score_columns(row: Mapping[str, Any]) -> bool:
    """Whether the row has a score of this package."""
    return row.keys() >= _MARKERS or row.keys() >= {*FAILED_COLUMNS} - FAILED_LATER.keys()


def _with_responses(source: Iterable[Row], column: str) -> Iterator[Row]:
    """Yield the rows; raise UsageError if none of the first ones has a response."""
    rest, first = iter(source), list[Row]()
    for row in islice(rest if column == Judging.completion else (), _CHECKED_ROWS):
        first.append(row)
        if row.get(column, 1):  # long rows are not all read for this
            break
    else:
        if first:
            raise UsageError(
                f"there is nothing in {column!r} of the first {len(first)} rows: "
                "name the column of the completions with --completion"
            )
    return chain(first, rest)


# --- one completion ------------------------------------------------------------------------------


def job_of(
    row: Mapping[str, Any], number: int, judging: Judging, rewards: Mapping[str, object]
) -> Job:
    """Return the job that judges the `number`-th row. Raises UsageError if it lacks a column."""
    required = dict.fromkeys((judging.completion, judging.answer, "type"))
    if judging.type:
        del required["type"]
    if exported := packed_in(row) if judging.answer in _EXPORTED else None:
        required = {judging.completion: None}
        truth = {judging.answer: exported.answer, "type": exported.type}
        row = {**row, **truth, "language": exported.language}
    if missing := [column for column in required if column not in row]:
        raise NoColumn(missing, row, f"row {number}")
    name = judging.type or row["type"]
    look_up("reward", name, rewards, f"row {number}: ")
    completion, answer = row[judging.completion], answer_of(row[judging.answer])
    parts = {"type": name, "prompt": row.get(judging.prompt), "answer": answer}
    parts["language"] = judging.language or row.get("language")
    sample = {part: text if isinstance(text, str) else "" for part, text in parts.items()}
    fault = ""
    if answer is None:
        fault = f"there is nothing in {judging.answer!r}"
    elif completion is None:
        fault = f"there is nothing in {judging.completion!r}"
    elif not isinstance(completion, str):
        fault = f"{judging.completion!r} holds {type(completion).__name__}, not text"
    return {
        "row": number,
        "sample": sample,
        "completion": completion,
        "how": judging.how,
        "fault": fault,
    }


def judge_job(job: Job) -> Row:
    """Return the score columns of a job, by a built-in reward: the work of a worker process."""
    name = job["sample"]["type"]
    return judged(job, {name: reward_by(name, *job["how"])})


@lru_cache(maxsize=16)
def reward_by(
    name: str, timeout: float, first_failure: bool, factor: float | None, convention: str
) -> RewardFunction:
    """Return the reward of a name, by what `how` of a job says of it."""
    options = {"first_failure": first_failure, "time_factor": factor, "convention": convention}
    return new_reward(name, timeout, options)


def judged(job: Job, rewards: Mapping[str, RewardFunction]) -> Row:
    """Return the score columns of a job, by that one of `rewards` which its row names."""
    name = job["sample"]["type"]
    reward, score = rewards[name], unscored(0.0, job["fault"])
    if not job["fault"]:
        score = reward.score(Sample(**job["sample"], response=""), job["completion"])
    return score_columns(score, name, reward.version)


def judged_by_own(job: Job, rewards: Mapping[str, RewardFunction]) -> Row:
    """As `judged`, where rewards of one's own may raise anything. Raises UsageError for that."""
    try:
        return judged(job, rewards)
    except InfiniteRLError:
        raise
    except (Exception, SystemExit) as error:  # of code that is not ours
        name, last = job["sample"]["type"], traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        message = f"{type(error).__name__}: {reason_of(error)} ({where})"
        raise UsageError(f"row {job['row']}: the reward {name!r} raised {message}") from error


def score_columns(score: RewardFunctionScore, reward: str, version: str) -> Row:
    """Return a score as columns; `reward` and `version` name the reward."""
    reward_columns = {"reward": reward, "reward_version": version}
    return {
        name: reward_columns[name] if name in reward_columns else getattr(score, name)
        for name in SCORE_COLUMNS
    }


# --- parallel ------------------------------------------------------------------------------------


def _on_cores(judging: Judging, jobs: Iterator[Job]) -> Iterator[Row]:
    from ..reward_functions.coding.judge import row_bound_s  # rows of other rewards need none

    def bound_s(job: Job) -> float:
        row_s = row_bound_s(job["sample"]["answer"], judging.time_factor)
        return _BOUND * judging.timeout + row_s

    def judged(sent: Iterator[Job]) -> Iterator[Any]:
        return in_workers(f"{__name__}:judge_job", sent, default_count(), bound_s)

    for job, result in beside_results(jobs, judged):
        yield judge_job({**job, "fault": result.reason}) if isinstance(result, Lost) else result


@contextmanager
def on_ray(address: str | None = None) -> Iterator[Spread]:
    """Judge on a Ray cluster: that at `address` or $RAY_ADDRESS, else a local one is started.

    Each task judges some dozens of completions on one CPU.

    Raises:
        UsageError: Ray is not installed, or there is no cluster at the address.
    """
    with connected(address) as ray:
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield partial(_by_tasks, ray, _RAY_TASKS * cores)


def _by_tasks(ray: Any, most: int, jobs: Iterator[Job]) -> Iterator[Row]:
    task, in_flight = ray.remote(_judge_jobs), deque[Any]()
    while chunk := list(islice(jobs, _RAY_CHUNK)):
        in_flight.append((chunk, task.remote(chunk)))
        if len(in_flight) >= most:
            yield from _results(ray, *in_flight.popleft())
    while in_flight:
        yield from _results(ray, *in_flight.popleft())


def _judge_jobs(jobs: list[Job]) -> list[Row] | tuple[str, str, Row]:
    """Return the score columns of jobs, or the error that prevents all of them."""
    try:
        return [judge_job(job) for job in jobs]
    except InfiniteRLError as error:  # not all of them can be pickled
        return sent(error)


def _results(ray: Any, jobs: list[Job], call: Any) -> list[Row]:
    try:
        results: list[Row] | tuple[str, str, Row] = ray.get(call)
    except ray.exceptions.RayError as error:  # its worker died twice
        fault = f"a worker died: {str(error)[-500:]}"
        return [judge_job({**job, "fault": fault}) for job in jobs]
    if isinstance(results, tuple):
        raise raised(*results)
    return results
