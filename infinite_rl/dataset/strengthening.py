"""The coding rows of a file with stronger tests, on all cores; resumable.

Each row is strengthened by the program in its own response (see `verification/strengthen.py`), and
by the programs that an author writes, a model that is asked once a row. Rows whose tests cannot be
strengthened keep them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import Stopped, StoreError, UsageError
from ..reward_functions import get_reward_functions
from ..reward_functions.coding import CodingRewardFunction
from ..types import Sample
from ..verification.aids import Aids, aids_request
from ..verification.distances import REACHES
from ..verification.search import SearchLimits
from ..verification.strengthen import Strengthened, strengthen
from ..workers.pool import Lost, beside_results, default_count, in_workers
from . import rows
from .loaders import load
from .rows import Row, sample_of
from .solving import Ask, Cost, SolveConfig, Task, asking, estimate, folder_of
from .spill import to_json
from .unfinished import UnfinishedRows

COLUMN = "strengthening"
_BENCHMARKS = ("mbpp", "humaneval")
_TYPES = ("coding", "program", *_BENCHMARKS)
_BOUND_S = 900.0  # of one row: its runs have fuel, this is for a machine that hangs
_LISTED = 5  # wrong programs, and disagreements, that a row names
_WHY_CHARS = 200


@dataclass(frozen=True)
class Settings:
    """How the rows are read and strengthened.

    `benchmark` is "mbpp" or "humaneval" for a file as its authors publish it, else "". `reach`,
    `max_tests` and `inputs` are those of `SearchLimits`; `timeout` bounds one run of the row's own
    tests, in seconds.

    Raises:
        UsageError: a value is not one of these.
    """

    benchmark: str = ""
    reach: str = "near"
    max_tests: int = 120
    inputs: int = 600
    timeout: float = 5.0

    def __post_init__(self) -> None:
        if self.benchmark and self.benchmark not in _BENCHMARKS:
            raise UsageError(f"benchmark must be one of {', '.join(_BENCHMARKS)}")
        if self.reach not in REACHES:
            raise UsageError(f"reach must be one of {', '.join(REACHES)}, not {self.reach!r}")
        if self.max_tests < 1 or self.inputs < 1:
            raise UsageError("max_tests and inputs must be positive")


@dataclass
class Summary(Cost):
    """What came of the rows, the counts of all their mutants, and what the author's calls cost.

    `left_alone` counts rows by the reason, `wrong_golds` names those whose own program fails their
    own tests, `doubtful` those whose author's solution has another value for an input that the
    author's validator accepts. `wrong_programs` is the number of mutants that the old tests accept
    and the new ones reject, `far` that of those which only inputs beyond the reach would kill.
    """

    rows: int = 0
    strengthened: int = 0
    added: int = 0
    mutants: int = 0
    killed_before: int = 0
    killed: int = 0
    killable: int = 0
    far: int = 0
    wrong_programs: int = 0
    wrong_golds: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)
    left_alone: Counter[str] = field(default_factory=Counter)

    def add(self, row: Mapping[str, Any]) -> None:
        """Count a row that `strengthen_rows` yields."""
        result = row[COLUMN]
        self.rows += 1
        self.strengthened += result["added"] > 0
        for name in ("added", "mutants", "killed_before", "killed", "killable", "far"):
            setattr(self, name, getattr(self, name) + result[name])
        self.wrong_programs += result["killed"] - result["killed_before"]
        name = f"row {self.rows} ({rows.id_of(row)})"
        if result["gold_fails"]:
            self.wrong_golds.append(f"{name}: {result['why']}")
        if result["validated"] and result["disagreements"]:
            self.doubtful.append(f"{name}: another solution fails {result['disagreements'][0]}")
        if result["why"]:
            self.left_alone[result["why"].partition(":")[0]] += 1


def strengthen_rows(
    source: Iterator[tuple[Row, str]], settings: Settings | None = None
) -> Iterator[Row]:
    """Yield each row with stronger tests in `answer`, in order, and what was done in `COLUMN`.

    With each row is an author's reply to `aids_request`, "" for none. An `id` that is the hash of
    the row's content becomes that of the new content.

    Raises:
        RuntimeMissing, SandboxError: nothing can be run.
    """
    settings = settings or Settings()

    def strengthened(pairs: Iterator[tuple[Row, str]]) -> Iterator[Any]:
        jobs = ([_parts(sample_of(row)), asdict(settings), reply] for row, reply in pairs)
        return in_workers(f"{__name__}:strengthen_job", jobs, default_count(), _BOUND_S)

    for (row, _), result in beside_results(source, strengthened):
        sample = sample_of(row)
        if isinstance(result, Lost):
            lost = Strengthened(sample.answer, f"its search ended its process: {result.reason}")
            result = _columns(lost)
        answer = result.pop("answer")
        new = {**row, "answer": answer if result["added"] else row.get("answer")}
        if row.get("id") == sample.id:
            new["id"] = sample_of({**new, "id": ""}).id
        yield {**new, COLUMN: result}


@contextmanager
def replies(
    source: Iterator[Row], folder: Path, author: SolveConfig, cost: Cost
) -> Iterator[Iterator[tuple[Row, str]]]:
    """The rows, each with the author's reply to `aids_request`; "" if it is not asked.

    It is asked once, about rows whose own program passes their tests. Completions are journalled in
    `folder`, and none is paid for twice.

    Raises:
        ProviderError: the provider failed, or `author.stop` is set (`Stopped`).
        InfiniteRLError: `max_cost` is reached, or judging is impossible.
    """

    def reply(task: Task, ask: Ask) -> tuple[Row, str]:
        return dict(task.row), ask(task)[0].text if task.calls else ""

    with asking(source, folder, _once(author), cost, reply) as pairs:
        yield pairs


def _once(author: SolveConfig) -> SolveConfig:
    """The author, who is asked once for aids, about rows that pass their own tests."""

    def asks(sample: Sample) -> bool:
        if not _system(sample):
            return False
        return _reward(sample.type, author.timeout).score(sample, sample.response).passed

    return replace(author, attempts=1, system=_system, asks=asks)


def _system(sample: Sample) -> str:
    """The system prompt of the request for aids; "" if no test can be added to a row."""
    request = aids_request(sample, _reward(sample.type, 5)) if sample.type in _TYPES else None
    return request.system if request else ""


def strengthen_file(
    source: rows.Source,
    out: str | Path,
    settings: Settings | None = None,
    *,
    author: SolveConfig | None = None,
    calls: str | Path | None = None,
    report: str | Path | None = None,
    overwrite: bool = False,
    on_row: Callable[[int], None] = lambda _: None,
) -> Summary:
    """Strengthen the rows of `source` into the file `out`.

    Until all are done they are in `out` + ".part", so that the same call resumes after a kill; with
    `overwrite`, rows of another run there are dropped. `report` is a file for the wrong programs
    that the old tests accept, each with the new test that rejects it. `on_row` gets the number of
    rows done. An `author` is asked about each row (see `replies`); its completions are stored in
    the folder `calls`, by default `out` + ".calls".

    Raises:
        StoreError: a file is not writable, or the rows in `out` + ".part" are of another source.
        ProviderError, InfiniteRLError: as `replies`; all completions are stored.
        UsageError, RuntimeMissing, SandboxError: as `strengthen_rows`; there is no row.
    """
    settings, out, summary = settings or Settings(), Path(out), Summary()
    rows.kind_of(out)  # an unsupported format shows before the work
    if report:
        rows.kind_of(Path(report))
    todo, header, pairs = _read(source, settings), asdict(settings), None
    if author:
        folder = folder_of(out, calls)
        if author.dry_run:
            estimate(todo, folder, _once(author), summary)
            return summary
        header["author"] = [getattr(author.provider, "model", author.model), author.seed]
        pairs = replies(todo, folder, author, summary)
    with (
        UnfinishedRows(out, header, overwrite=overwrite) as unfinished,
        pairs or nullcontext((row, "") for row in todo) as supplied,
    ):
        for done in unfinished.done():
            row, _ = next(supplied, (None, ""))
            if row is None or to_json(_unchanged(row)) != to_json(_unchanged(done)):
                raise StoreError(
                    f"{unfinished.path} was made of other rows: strengthen those, or remove it"
                )
            summary.add(done)
        for row in strengthen_rows(supplied, settings):
            unfinished.add(row)
            summary.add(row)
            on_row(summary.rows)
            if author and author.stop.is_set():
                raise Stopped(f"stopped after {summary.rows} rows")
        if report:
            rows.write(_wrong_programs(unfinished.done()), report, _REPORT)
        unfinished.finish()
    return summary


_REPORT = ("row", "id", "change", "program", "test")


def _wrong_programs(done: Iterator[Row]) -> Iterator[Row]:
    for number, row in enumerate(done, 1):
        for each in row[COLUMN]["wrong"]:
            yield {"row": number, "id": rows.id_of(row), **each}


def _read(source: rows.Source, settings: Settings) -> Iterator[Row]:
    if not settings.benchmark:
        return rows.read_some(source)
    if not isinstance(source, str | Path):
        raise UsageError("a benchmark is read from a file")
    return load(settings.benchmark, source)


def _unchanged(row: Mapping[str, Any]) -> Row:
    """The columns that strengthening leaves as they are."""
    return {name: row[name] for name in row if name not in ("id", "answer", COLUMN)}


def _parts(sample: Sample) -> list[str]:
    return [sample.type, sample.prompt, sample.answer, sample.response, sample.language]


def strengthen_job(job: tuple[list[str], dict[str, Any], str]) -> Row:
    """Strengthen one row: the work of a worker process.

    A job is the parts of a sample, settings, and an author's reply or "", as JSON.
    """
    (kind, prompt, answer, response, language), values, reply = job
    sample = Sample(kind, prompt, answer, response, language)
    settings = Settings(**values)
    if sample.type not in _TYPES:
        return _columns(Strengthened(sample.answer, "no coding row"))
    limits = SearchLimits(
        inputs=settings.inputs, max_tests=settings.max_tests, reach=settings.reach
    )
    reward = _reward(sample.type, settings.timeout)
    return _columns(strengthen(sample, reward, limits, Aids.of(reply, language or "python")))


@lru_cache(maxsize=8)
def _reward(name: str, timeout: float) -> CodingRewardFunction:
    reward = get_reward_functions(timeout, only=[name])[name]
    assert isinstance(reward, CodingRewardFunction)
    return reward


def _columns(result: Strengthened) -> Row:
    """What a row records of its search, and the `answer`."""
    names = ("answer", "added", "mutants", "killed_before", "killed", "killable", "inputs")
    return {
        **{name: getattr(result, name) for name in (*names, "gold_fails", "voters", "validated")},
        "disagreements": list(result.disagreements[:_LISTED]),
        "why": result.why[:_WHY_CHARS],
        "far": len(result.far),
        "wrong": [
            {"change": each.change, "program": each.code, "test": each.test}
            for each in result.survivors[:_LISTED]
        ],
    }
