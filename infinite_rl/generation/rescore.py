"""Judge every answer of a folder again, from its journal: other rewards cost no call."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from ..errors import StoreError, UsageError
from ..files.csv_log import read_rows
from ..manifest import judging_timeout, read_manifest, write_manifest
from ..proof.solves import MIN_AGREEMENT
from ..reward_functions import get_reward_functions
from ..reward_functions.reward_function import RewardFunction
from ..store import DATASET, FAILED, JOURNAL, Store
from ..tasks import TASKS
from ..types import Attempt, Completion, Outcome, Slot, TaskType
from ..workers.pool import default_count
from .journal import Call, Journal, Source, calls
from .outcomes import Answering, BlindSolves
from .plan import slot_seed
from .shards import shard_count, shard_folders, shard_rows

_FOLDER = "rescored.new"
_TOGETHER = 256  # answers that are held at a time


@dataclass
class Rescored:
    """What came of it: rows `kept` that were there, `gained`, and `dropped`; and what is rejected.

    `unproven` rows would be kept, but their blind solves were never paid for: the next run of
    `generate` sees to them.
    """

    kept: int = 0
    gained: int = 0
    dropped: int = 0
    unproven: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    def count(self, outcome: Outcome, before: Collection[str]) -> None:
        """Count what became of an answer; `before` are the slots whose rows were there."""
        if not outcome.accepted:
            self.rejected[outcome.reason] += 1
        elif str(outcome.attempt.slot) in before:
            self.kept += 1
        else:
            self.gained += 1


class _Unpaid(Exception):
    """The journal does not hold the answer of this slot."""

    def __init__(self, slot: Slot) -> None:
        super().__init__(str(slot))
        self.slot = slot


@dataclass(frozen=True)
class _Recorded:
    """The answers of a journal, for reading only."""

    journal: Journal

    @property
    def lost(self) -> set[str]:
        return self.journal.lost

    def complete(self, call: Call, source: Source) -> Completion:  # noqa: ARG002 -- nobody is asked
        found = self.journal.answer(call.slot)
        if found is None:
            raise _Unpaid(call.slot)
        return found


def rescore(
    out_dir: str | Path,
    *,
    timeout: float | None = None,
    min_agreement: float | None = None,
    extra_tasks: Mapping[str, TaskType] | None = None,
    extra_rewards: Mapping[str, RewardFunction] | None = None,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Rescored:
    """Write `dataset.csv` and `failed_dataset.csv` anew, as if today's rewards had judged the run.

    Rows that are there stay where they still hold; every other answer that holds is added. The
    files that were there stay beside the new ones, with ".before" at the end of their names.
    Of a folder that is made of shards each is judged anew, and all are merged anew.
    `timeout`, the seconds that one run of a program may take, and `min_agreement` are those of the
    run by default; `on_progress` is told how many answers are judged.

    Raises:
        UsageError: there is no journal, `min_agreement` is not in [0, 1], `timeout` not positive,
            or a task is not known.
        StoreError: the folder cannot be used, or its rows have no answers in its journal.
    """
    folder, tasks = Path(out_dir), {**TASKS, **(extra_tasks or {})}
    manifest = read_manifest(folder)
    if min_agreement is None:
        recorded = manifest.get("settings", {}).get("min_agreement")  # which may be 0
        min_agreement = MIN_AGREEMENT if recorded is None else recorded
    timeout = judging_timeout(folder) if timeout is None else timeout
    rewards = get_reward_functions(timeout=timeout, extra=extra_rewards)
    record = partial(_record, timeout=timeout, min_agreement=min_agreement)
    judge = partial(
        _rescored, min_agreement=min_agreement, tasks=tasks, rewards=rewards, record=record
    )
    if count := shard_count(folder):
        found = _rescored_shards(folder, shard_folders(folder, count), judge, on_progress)
        record(folder)
        return found
    return judge(folder, on_progress)


def _rescored(
    folder: Path,
    on_progress: Callable[[int], None],
    *,
    min_agreement: float,
    tasks: Mapping[str, TaskType],
    rewards: Mapping[str, RewardFunction],
    record: Callable[[Path], None],
) -> Rescored:
    verify = int(read_manifest(folder).get("settings", {}).get("verify", 0))
    blind = Source(_nobody)
    solves = BlindSolves(blind, verify, min_agreement)
    if next(calls(folder), None) is None:  # looked at before a store would make its files
        raise StoreError(f"no call is in the journal of {folder}")
    with Store(folder) as store, closing(Journal(folder)) as journal:
        before = _row_slots(folder)
        if strays := sum(slot not in journal for slot in before):
            raise StoreError(f"{strays} rows of {folder / DATASET} have no answer in the journal")
        seed_of = partial(slot_seed, 0)
        answering = Answering(_Recorded(journal), blind, rewards, seed_of, lambda _: False, solves)
        attempts = _attempts(folder, tasks, before)
        found = _judged_anew(folder / _FOLDER, attempts, answering, before, on_progress)
        store.sync()
        _put_in_place(folder)
    record(folder)
    return found


def _rescored_shards(
    folder: Path,
    shards: Sequence[Path],
    judge: Callable[[Path, Callable[[int], None]], Rescored],
    on_progress: Callable[[int], None],
) -> Rescored:
    """Each shard judged anew, and their rows merged anew: first those that were there."""
    found, judged = Rescored(), Counter[Path]()
    with Store(folder) as store:
        before = _row_slots(folder)
        for shard in filter(_has_calls, shards):

            def note(number: int, shard: Path = shard) -> None:
                judged[shard] = number
                on_progress(judged.total())

            part = judge(shard, note)
            found.unproven += part.unproven
            found.rejected += part.rejected
        _clear(folder / _FOLDER)
        with Store(folder / _FOLDER) as merged:
            for there in (True, False):
                for _, row in shard_rows(shards):
                    if (row["slot"] in before) == there:
                        merged.take(row)
            after = _row_slots(folder / _FOLDER)
            found.rejected["duplicate"] += len(merged.rejected)
        store.sync()
        _put_in_place(folder)
    found.kept, found.gained = len(before & after), len(after - before)
    found.dropped = len(before - after)
    return found


def _row_slots(folder: Path) -> set[str]:
    return {row["slot"] for row in read_rows(folder / DATASET)}


def _has_calls(folder: Path) -> bool:
    """Raises StoreError where the journal is damaged."""
    return (folder / JOURNAL).is_file() and next(calls(folder), None) is not None


def _record(folder: Path, *, timeout: float, min_agreement: float) -> None:
    """Let the folder be gone on with, and its rows be proven again, by what judged them now."""
    if manifest := read_manifest(folder):
        settings = manifest["settings"]
        if settings.get("verify"):
            settings = {**settings, "min_agreement": min_agreement}
        write_manifest(folder, {**manifest, "settings": settings, "timeout": timeout})


def _nobody(*_: object) -> Completion:
    raise AssertionError("nobody is asked when answers are judged again")


def _attempts(folder: Path, tasks: Mapping[str, TaskType], before: set[str]) -> Iterator[Attempt]:
    """The attempts that were asked, in their order, but those that made rows first."""
    seen: set[str] = set()  # a call that failed was asked again
    for rows in (True, False):
        for call in calls(folder):
            slot = str(call.slot)
            if call.slot.solve or slot in seen or (slot in before) != rows:
                continue
            if call.task not in tasks:
                raise UsageError(f"no task {call.task!r} is known, which the journal names")
            seen.add(slot)
            yield Attempt(call.slot, tasks[call.task], call.prompt, call.seed)


def _judged_anew(
    folder: Path,
    attempts: Iterator[Attempt],
    answering: Answering,
    before: set[str],
    on_progress: Callable[[int], None],
) -> Rescored:
    found, number = Rescored(), 0
    _clear(folder)
    with Store(folder) as store, ThreadPoolExecutor(default_count()) as pool:
        while some := list(islice(attempts, _TOGETHER)):
            for outcome in pool.map(partial(_outcome, answering), some):
                number += 1
                if isinstance(outcome, _Unpaid):
                    found.unproven += 1
                elif outcome:
                    found.count(store.settle(outcome), before)
                on_progress(number)
        found.dropped = len(before) - found.kept
    return found


def _clear(folder: Path) -> None:
    """Remove what a rescoring that was killed has left."""
    for name in (DATASET, FAILED):
        (folder / name).unlink(missing_ok=True)


def _outcome(answering: Answering, attempt: Attempt) -> Outcome | _Unpaid | None:
    if str(attempt.slot) in answering.journal.lost:
        return None
    try:
        return answering(attempt)
    except _Unpaid as missing:
        return missing if missing.slot.solve else None


def _put_in_place(folder: Path) -> None:
    """Replace both files; the failures first, so that no row is ever in neither."""
    new = folder / _FOLDER
    for name in (FAILED, DATASET):
        kept = folder / f"{name}.before"
        kept.unlink(missing_ok=True)
        os.link(folder / name, kept)
        (new / name).replace(folder / name)
    for leftover in new.iterdir():
        leftover.unlink()
    new.rmdir()
