"""How hard rows are for a model: it solves each some times from its prompt alone.

Every answer is in a journal before it is judged, so that none is paid for twice: the same call made
again goes on, and with more attempts asks for those only.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..asked import Asked, Patience
from ..budget import Budget, estimate_calls
from ..errors import InfiniteRLError, NoCompletion, UsageError, look_up
from ..estimators import wilson
from ..gate import Limits, RetryPolicy
from ..journal import JOURNAL, Call, Journal, Source
from ..layout import tagged
from ..plan import slot_seed
from ..prices import Price
from ..progress import Estimate, Spending
from ..proof.solves import default_system
from ..providers.provider import Provider
from ..reward_functions import get_reward_functions
from ..reward_functions.reward_function import RewardFunction
from ..store import locked
from ..types import Completion, RewardFunctionScore, Sample, Slot
from ..workers import in_order
from . import rows
from .rows import Row
from .scoring import score_columns
from .shelf import Shelf
from .unfinished import Lines

RATE_COLUMNS = ("attempts", "solved", "pass_rate", "pass_rate_low", "pass_rate_high")
CALLS = ".calls"  # after the name of the output: the folder of its journal
RATED = "rated.jsonl"  # in it, the rows that are rated, until all are


@dataclass(frozen=True)
class Solver:
    """Who solves, how often, and what it is told of the form of an answer.

    `system` None stands for what suits the row's type; `options` are what the model is given
    beside its prompt, and `seed` makes other attempts of them.
    """

    source: Source
    attempts: int
    seed: int = 0
    system: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise UsageError(f"attempts must be at least 1, not {self.attempts}")

    def calls(self, sample: Sample, again: int, lost: Iterable[str] = ()) -> Iterator[Call]:
        """The calls that solve a row, the `again`-th of those that ask the same.

        The place of an answer follows from all that it depends on, not from the row's place: rows
        may come and go. Calls that were lost when a run died may have been paid for, and are passed
        over.
        """
        system = default_system(sample) if self.system is None else self.system
        asked = [self.source.name, self.source.model, self.options, self.seed, system]
        text = json.dumps([*asked, sample.prompt], sort_keys=True)
        key = hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
        slots = (Slot(key, again, solve=number) for number in itertools.count(1))
        for slot in itertools.islice((s for s in slots if str(s) not in lost), self.attempts):
            yield Call(slot, sample.type, system, sample.prompt, slot_seed(self.seed, slot))


@dataclass(frozen=True)
class Rated:
    """A row with the columns `RATE_COLUMNS`, and a row for each of its attempts."""

    row: Row
    attempts: list[Row]


@dataclass
class Rating:
    """What came of it: rows by how many were solved always, never and sometimes; and the cost."""

    rows: int = 0
    always: int = 0
    never: int = 0
    unrated: int = 0
    calls: int = 0
    spending: Spending = field(default_factory=Spending)
    estimate: Estimate | None = None

    def add(self, row: Mapping[str, Any]) -> None:
        self.rows += 1
        self.unrated += not row["attempts"]
        if row["attempts"]:
            self.always += row["solved"] == row["attempts"]
            self.never += not row["solved"]


def difficulty(
    source: rows.Source,
    out: str | Path,
    *,
    provider: str | Provider,
    model: str = "",
    attempts: int = 4,
    keep: str | Path | None = None,
    calls: str | Path | None = None,
    system: str | None = None,
    seed: int = 0,
    temperature: float | None = None,
    max_output_tokens: int | None = None,
    base_url: str | None = None,
    price: str | Price | None = None,
    max_cost: float | None = None,
    dry_run: bool = False,
    threads: int = 8,
    timeout: float = 5,
    limits: Limits | None = None,
    retry: RetryPolicy | None = None,
    stop: threading.Event | None = None,
    on_row: Callable[[int], None] = lambda _: None,
) -> Rating:
    """Write the rows of `source` to `out` with how often a model solves them.

    `attempts` is how many are made and can be judged: one that was cut off counts, and has not
    solved; one that the reward could not judge is left out. `solved` is how many pass the row's
    reward, `pass_rate` their share, None where there is no attempt, and `pass_rate_low` and
    `pass_rate_high` bound it (see `wilson`). A row whose answer the reward cannot read is not
    asked.

    The answers are kept in the folder `calls`, by default `out` + ".calls", whatever happens: the
    same call made again goes on. `out` is written when all rows are rated; those that are rated
    meanwhile are in `RATED` in that folder, JSON lines, which stays there if it ends early.

    Args:
        provider, model, temperature, max_output_tokens, base_url, price: as in `generate_dataset`.
        keep: a file for the attempts themselves, one a row, with their scores: for `pairs`.
        system: what the model is told before each prompt; by default the form of an answer.
        seed: of the attempts: another one makes others.
        max_cost: US dollars that all calls of the folder may cost, those of earlier runs included.
        dry_run: ask and write nothing; `estimate` tells what is owed.
        on_row: told how many rows are rated.

    Raises:
        UsageError: an argument or a row cannot be used.
        ProviderError: the provider did not answer, or `stop` is set (`Stopped`); what it answered
            before is kept.
        InfiniteRLError: `max_cost` is reached, or nothing can be judged.
    """
    out, stop, rating = Path(out), stop or threading.Event(), Rating()
    rows.kind_of(out)
    if keep:
        rows.kind_of(Path(keep))
    patience = Patience(limits or Limits(), threads, retry, stop)
    options = {"temperature": temperature, "max_output_tokens": max_output_tokens}
    given = {**options, "base_url": base_url}
    asked = Asked.by(provider, model, "", price, given, patience).writer
    solver = Solver(asked, attempts, seed, system, options)
    folder = folder_of(out, calls)
    if dry_run and not (folder / JOURNAL).is_file():
        rating.estimate = _owed(rows.read(source), solver, None)
        return rating
    with locked(folder), closing(Journal(folder)) as journal:
        rating.spending = journal.spending
        rating.estimate = _owed(rows.read(source), solver, journal) if dry_run else None
        if dry_run:
            return rating
        purse = _Purse(Budget(max_cost, [asked.price], journal.spending, 0, max_output_tokens))
        solving = _Solving(solver, journal, get_reward_functions(timeout), purse)
        rated = _rated(rows.read(source), solving, threads, stop)
        keeping = Path(keep) if keep else None
        _write(rated, folder / RATED, out, keeping, rating, on_row)
        rating.calls = journal.made
    return rating


def folder_of(out: Path, calls: str | Path | None = None) -> Path:
    """Where the answers are kept."""
    return Path(calls) if calls else out.with_name(out.name + CALLS)


def _owed(given: Iterable[Mapping[str, Any]], solver: Solver, journal: Journal | None) -> Estimate:
    """What the calls that are not answered yet may take."""
    calls = chars = 0
    for task in _tasks(given):
        for call in solver.calls(task.sample, task.again, journal.lost if journal else ()):
            if journal is None or str(call.slot) not in journal:
                calls, chars = calls + 1, chars + len(call.system) + len(call.prompt)
    spent = journal.spending if journal else Spending()
    return estimate_calls(calls, chars, solver.source.price, spent)


def _write(
    rated: Iterator[Rated],
    meanwhile: Path,
    out: Path,
    keep: Path | None,
    rating: Rating,
    on_row: Callable[[int], None],
) -> None:
    shelf = Shelf()
    meanwhile.unlink(missing_ok=True)  # of an earlier run, whose answers are in the journal
    with closing(Lines(meanwhile)) as lines:
        for each in rated:
            rating.add(each.row)
            lines.add(each.row)
            for attempt in each.attempts if keep else ():
                shelf.add(attempt)
            on_row(rating.rows)
    rows.write(rows.read(meanwhile), out)
    if keep:
        rows.write(shelf, keep)
    meanwhile.unlink()


# --- solving -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """A row that is to be solved, the `again`-th that asks the same."""

    row: Mapping[str, Any]
    sample: Sample
    again: int


def _tasks(given: Iterable[Mapping[str, Any]]) -> Iterator[_Task]:
    """The rows as tasks."""
    seen: Counter[str] = Counter()
    for row in given:
        sample = rows.sample_of(row)
        yield _Task(row, sample, seen[sample.prompt])
        seen[sample.prompt] += 1


def _rated(
    given: Iterable[Mapping[str, Any]], solving: _Solving, threads: int, stop: threading.Event
) -> Iterator[Rated]:
    """Each row rated, in their order. When it ends early, calls under way are waited for."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="solver")
    try:
        yield from in_order(lambda task: pool.submit(solving, task), _tasks(given))
    except BaseException:  # whatever it is, nothing more is to be asked
        stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Solving:
    """Solves a task and judges what came; called from many threads."""

    solver: Solver
    journal: Journal
    rewards: Mapping[str, RewardFunction]
    purse: _Purse

    def __call__(self, task: _Task) -> Rated:
        sample = task.sample
        reward = look_up("reward", sample.type, self.rewards)
        own = sample.response or tagged("0")
        if reward.score(sample, own).status == "unscored":  # and so would be all that is bought
            return _rating_of(task, [], [], reward)
        calls = self.solver.calls(sample, task.again, self.journal.lost)
        completions = [self._answer(call) for call in calls]
        scores = reward.score_many([(sample, each.text) for each in completions])
        return _rating_of(task, completions, scores, reward)

    def _answer(self, call: Call) -> Completion:
        known = str(call.slot) in self.journal
        with nullcontext() if known else self.purse.room(len(call.system) + len(call.prompt)):
            try:
                return self.journal.complete(call, self.solver.source)
            except NoCompletion:
                return Completion("", self.solver.source.model)


def _rating_of(
    task: _Task,
    completions: list[Completion],
    scores: list[RewardFunctionScore],
    reward: RewardFunction,
) -> Rated:
    made = list(zip(completions, scores, strict=True))
    judged = [pair for pair in made if pair[1].status != "unscored"]
    solved = sum(score.passed and each.finish_reason != "length" for each, score in judged)
    low, high = wilson(solved, len(judged))
    rate = solved / len(judged) if judged else None
    values = (len(judged), solved, rate, low, high)
    row = {**task.row, **dict(zip(RATE_COLUMNS, values, strict=True))}
    sample = task.sample
    shared = {"type": sample.type, "prompt": sample.prompt, "answer": sample.answer}
    shared |= {"language": sample.language, "id": rows.id_of(task.row)}
    attempts = [
        {
            **shared,
            "attempt": number,
            "completion": each.text,
            "model": each.model,
            "finish_reason": each.finish_reason,
            **score_columns(score, sample.type, reward.version),
        }
        for number, (each, score) in enumerate(made, 1)
    ]
    return Rated(row, attempts)


class _Purse:
    """Lets a call begin where the budget has room for it beside those under way."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._change = budget, threading.Condition()
        self._under_way = 0

    @contextmanager
    def room(self, chars: int) -> Iterator[None]:
        """Room for a call with a prompt of so many characters. Waits, while others are under way,
        for what they leave; raises InfiniteRLError where there is none."""
        with self._change:
            self._budget.chars = max(self._budget.chars, chars)
            while refusal := self._budget.refusal(self._under_way):
                if not self._under_way:
                    raise InfiniteRLError(refusal)
                self._change.wait()
            self._under_way += 1
        try:
            yield
        finally:
            with self._change:
                self._under_way -= 1
                self._change.notify_all()
