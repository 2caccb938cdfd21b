"""Judge every answer of a folder again, from its journal: other rewards cost no call."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from pathlib import Path

from ..errors import StoreError, UsageError
from ..files.atomic import atomic_folder, clear_abandoned
from ..files.csv_log import read_rows
from ..files.lock import locked
from ..inference.journal import Call, Journal, Source, calls, slot_seed
from ..manifest import judging_timeout, read_manifest, write_manifest
from ..reward_functions import get_reward_functions
from ..reward_functions.reward_function import RewardFunction
from ..settings import check_range
from ..store import DATASET, JOURNAL, Store
from ..tasks import TASKS
from ..types import Attempt, Completion, Outcome, Slot, TaskType
from ..verification.self_consistency import MIN_AGREEMENT
from ..workers.pool import default_count
from .attempts import AttemptRunner, SelfConsistency
from .plan import SHARDS, shard_count, shard_folders
from .ray import shard_rows

_FOLDER = "rescored_"  # and a number, from 1
_TOGETHER = 256  # answers that are held at a time


@dataclass
class Rescored:
    """Counts of rows `kept`, `gained` and `dropped`, and of rejected answers by reason.

    `unproven` rows lack independent solutions that were never asked for: the next run of `generate`
    in the folder `out` asks for them. `out` is None if nothing was written.
    """

    kept: int = 0
    gained: int = 0
    dropped: int = 0
    unproven: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    out: Path | None = None

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
    to: str | Path | None = None,
    dry_run: bool = False,
    timeout: float | None = None,
    min_agreement: float | None = None,
    extra_tasks: Mapping[str, TaskType] | None = None,
    extra_rewards: Mapping[str, RewardFunction] | None = None,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Rescored:
    """Write the folder beside the run that today's rewards would have made of its answers.

    The run's own folder stays as it is. The new one, `to`, is a run's folder as well: rows and
    failures as they are judged now, with copies of the journal and the manifest, so `generate` goes
    on there. By default it is the first of `rescored_1`, `rescored_2`, ... in the run's folder that
    is not there yet. It is there whole or not at all; a `dry_run` only counts.

    Rows of the run that still pass come first, then other answers that pass. The shards of a folder
    are judged one by one, and merged again. `timeout`, the seconds that one run of a program may
    take, and `min_agreement` are those of the run by default; `on_progress` gets the number of
    judged answers.

    Raises:
        UsageError: there is no journal, `min_agreement` is not in [0, 1], `timeout` not positive,
            a task is not known, or there is something in the folder `to`.
        StoreError: the folder cannot be used, or its rows have no answers in its journal.
    """
    folder, tasks = Path(out_dir), {**TASKS, **(extra_tasks or {})}
    manifest = read_manifest(folder)
    if min_agreement is None:
        recorded = manifest.get("settings", {}).get("min_agreement")  # which may be 0
        min_agreement = MIN_AGREEMENT if recorded is None else recorded
    check_range("min_agreement", min_agreement, 0, 1)
    timeout = judging_timeout(folder) if timeout is None else timeout
    rewards = get_reward_functions(timeout=timeout, extra=extra_rewards)
    judge = partial(_rescored, min_agreement=min_agreement, tasks=tasks, rewards=rewards)
    record = partial(_record, timeout=timeout, min_agreement=min_agreement)
    number = shard_count(folder)
    if not number and next(calls(folder), None) is None:
        raise StoreError(f"no call is in the journal of {folder}")
    target = None if dry_run else _target(folder, to)
    with _draft(target) as draft:
        if number:
            shards = shard_folders(folder, number)
            found = _rescored_shards(folder, draft, shards, judge, on_progress)
        else:
            found = judge(folder, draft, on_progress)
        if target:
            for made in (draft, *draft.glob(f"{SHARDS}/*")):
                record(folder / made.relative_to(draft), made)
    found.out = target
    return found


def _target(folder: Path, to: str | Path | None) -> Path:
    """The folder to make. Raises UsageError where something is in it."""
    if to is None:
        return next(new for n in count(1) if not (new := folder / f"{_FOLDER}{n}").exists())
    target = Path(to)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise UsageError(f"{target} is there already: name another folder, nothing is replaced")
    return target


@contextmanager
def _draft(target: Path | None) -> Iterator[Path]:
    """Where the new folder is made, which then becomes `target`; without one, it is removed."""
    if target is None:
        with tempfile.TemporaryDirectory() as room:
            yield Path(room)
        return
    try:
        with atomic_folder(target) as draft:
            clear_abandoned(target.parent)
            yield draft
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error}") from None


def _rescored(
    folder: Path,
    draft: Path,
    on_progress: Callable[[int], None],
    *,
    min_agreement: float,
    tasks: Mapping[str, TaskType],
    rewards: Mapping[str, RewardFunction],
) -> Rescored:
    settings = read_manifest(folder).get("settings", {})
    nobody = Source(_nobody)
    solves = SelfConsistency(
        nobody, int(settings.get("verify", 0)), min_agreement, str(settings.get("provider", ""))
    )
    with locked(folder), closing(Journal(folder)) as journal:
        before = _row_slots(folder)
        if strays := sum(slot not in journal for slot in before):
            raise StoreError(f"{strays} rows of {folder / DATASET} have no answer in the journal")
        seed_of = partial(slot_seed, 0)
        answering = AttemptRunner(
            _Recorded(journal), nobody, rewards, seed_of, lambda _: False, solves
        )
        attempts = _attempts(folder, tasks, before)
        return _judged_anew(draft, attempts, answering, before, on_progress)


def _rescored_shards(
    folder: Path,
    draft: Path,
    shards: Sequence[Path],
    judge: Callable[[Path, Path, Callable[[int], None]], Rescored],
    on_progress: Callable[[int], None],
) -> Rescored:
    """Each shard judged anew, and their rows merged anew: first those that were there."""
    found, judged = Rescored(), Counter[Path]()
    copies = shard_folders(draft, len(shards))
    with locked(folder):
        before = _row_slots(folder)
        for shard, copy in zip(shards, copies, strict=True):
            if not _has_calls(shard):
                continue

            def note(number: int, shard: Path = shard) -> None:
                judged[shard] = number
                on_progress(judged.total())

            part = judge(shard, copy, note)
            found.unproven += part.unproven
            found.rejected += part.rejected
        with Store(draft) as merged:
            for there in (True, False):
                for _, row in shard_rows(copies):
                    if (row["slot"] in before) == there:
                        merged.take(row)
            after = _row_slots(draft)
            found.rejected += Counter(duplicate=len(merged.rejected))  # adds no reason without rows
    found.kept, found.gained = len(before & after), len(after - before)
    found.dropped = len(before - after)
    return found


def _row_slots(folder: Path) -> set[str]:
    path = folder / DATASET
    return {row["slot"] for row in read_rows(path)} if path.is_file() else set()


def _has_calls(folder: Path) -> bool:
    """Raises StoreError where the journal is damaged."""
    return (folder / JOURNAL).is_file() and next(calls(folder), None) is not None


def _record(folder: Path, draft: Path, *, timeout: float, min_agreement: float) -> None:
    """Let the new folder be gone on with, and its rows be proven again, by what judged them now."""
    if (folder / JOURNAL).is_file():
        shutil.copyfile(folder / JOURNAL, draft / JOURNAL)
    if manifest := read_manifest(folder):
        settings = manifest["settings"]
        if settings.get("verify"):
            settings = {**settings, "min_agreement": min_agreement}
        write_manifest(draft, {**manifest, "settings": settings, "timeout": timeout})


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
    answering: AttemptRunner,
    before: set[str],
    on_progress: Callable[[int], None],
) -> Rescored:
    found, number = Rescored(), 0
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


def _outcome(answering: AttemptRunner, attempt: Attempt) -> Outcome | _Unpaid | None:
    if str(attempt.slot) in answering.journal.lost:
        return None
    try:
        return answering(attempt)
    except _Unpaid as missing:
        return missing if missing.slot.solve else None
