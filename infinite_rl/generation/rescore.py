"""Judge every completion of a folder again, from its journal: new rewards cost no call."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, islice
from pathlib import Path

from ..certificates import digest_of_all
from ..dataset.parquet import keep_copy
from ..errors import StoreError, UsageError, check_range
from ..files.atomic import atomic_folder, clear_abandoned, locked
from ..files.logs import read_rows
from ..inference.clients import DERIVER, SOLVER, WRITER
from ..inference.journal import Call, Journal, Source, calls, slot_seed
from ..manifest import judging_timeout, read_manifest, write_manifest
from ..reward_functions import get_reward_functions
from ..reward_functions.reward_function import RewardFunction
from ..store import (
    DATASET,
    DATASET_COLUMNS,
    DATASET_LATER,
    JOURNAL,
    MEASURED_COLUMNS,
    SHARDS,
    SOLUTIONS,
    Store,
    failures,
)
from ..tasks import TASKS
from ..types import NOT_JUDGED, Attempt, Completion, Outcome, Reason, TaskType
from ..verification import MIN_AGREEMENT, OFF
from ..workers.pool import default_count
from .attempts import AttemptRunner
from .novelty import Novelty
from .plan import recorded_custom_tasks, shard_count, shard_folders
from .ray import shard_rows

_FOLDER = "rescored_"  # and a number, from 1
_CHUNK = 256  # completions in memory at a time


@dataclass
class Rescored:
    """The number of rows `kept`, `gained` and `dropped`, and of rejected completions by reason.

    `unproven` rows lack independent solutions that were never requested: the next run of `generate`
    in the folder `out` requests them. `out` is None if nothing was written.
    """

    kept: int = 0
    gained: int = 0
    dropped: int = 0
    unproven: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    out: Path | None = None


class _Missing(Exception):
    """The journal has no completion for this slot."""

    def __init__(self, call: Call) -> None:
        super().__init__(str(call.slot))
        self.slot = call.slot


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
    """Write the folder that today's rewards would have made of a run's completions.

    The run's own folder stays unchanged. The new one, `to`, is a run's folder as well: rows and
    failures by the new verdicts, with copies of the journal, the learner's attempts and the
    manifest, so that `generate` resumes there. By default it is the first of `rescored_1`,
    `rescored_2`, ... in the run's folder that does not exist. It is written whole or not at all; a
    `dry_run` only counts.

    Rows of the run that still pass come first, then other completions that pass. Shards are judged
    one by one, and merged again. `timeout`, in seconds for one run of a program, and
    `min_agreement` are those of the run by default; `on_progress` gets the number of judged
    completions.

    Raises:
        UsageError: there is no journal, `min_agreement` is not in [0, 1], `timeout` not positive,
            a task is unknown, or the folder `to` is not empty.
        StoreError: the folder is unusable, or its rows have no completions in its journal.
    """
    folder = Path(out_dir)
    manifest = read_manifest(folder)
    if min_agreement is None:
        recorded = manifest.get("settings", {}).get("min_agreement")  # which may be 0
        min_agreement = MIN_AGREEMENT if recorded is None else recorded
    check_range("min_agreement", min_agreement, 0, 1)
    timeout = judging_timeout(folder) if timeout is None else timeout
    rewards = get_reward_functions(timeout=timeout, extra=extra_rewards)
    tasks = {**TASKS, **recorded_custom_tasks(manifest), **(extra_tasks or {})}
    rescorer = _Rescorer(tasks, rewards, min_agreement, on_progress)
    number = shard_count(folder)
    if not number and next(calls(folder), None) is None:
        raise StoreError(f"no call is in the journal of {folder}")
    target = None if dry_run else _target(folder, to)
    with _draft(target) as draft:
        if number:
            rescored = rescorer.shards(folder, draft, shard_folders(folder, number))
        else:
            rescored = rescorer.folder(folder, draft)
        for copy in (draft, *draft.glob(f"{SHARDS}/*")) if target else ():
            _copy_records(folder / copy.relative_to(draft), copy, timeout, min_agreement)
        if target:
            keep_copy(draft)
    rescored.out = target
    return rescored


def _target(folder: Path, to: str | Path | None) -> Path:
    """Return the folder to write. Raises UsageError if it is not empty."""
    if to is None:
        return next(new for n in count(1) if not (new := folder / f"{_FOLDER}{n}").exists())
    target = Path(to)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise UsageError(f"{target} exists: name another folder, nothing is overwritten")
    return target


@contextmanager
def _draft(target: Path | None) -> Iterator[Path]:
    """Yield a folder that becomes `target` at the end, or is removed if that is None."""
    if target is None:
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary)
        return
    try:
        with atomic_folder(target) as draft:
            clear_abandoned(target.parent)
            yield draft
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error}") from None


def _copy_records(folder: Path, copy: Path, timeout: float, min_agreement: float) -> None:
    """Copy what was requested, and the manifest with the settings of the new verdicts."""
    for name in (JOURNAL, SOLUTIONS):
        if (folder / name).is_file():
            shutil.copyfile(folder / name, copy / name)
    if manifest := read_manifest(folder):
        settings = manifest["settings"]
        if settings.get("verify"):
            settings = {**settings, "min_agreement": min_agreement}
        new = {"settings": settings, "timeout": timeout, "certificates": digest_of_all(copy)}
        write_manifest(copy, {**manifest, **new})


@dataclass(frozen=True)
class _Rescorer:
    tasks: Mapping[str, TaskType]
    rewards: Mapping[str, RewardFunction]
    min_agreement: float
    on_progress: Callable[[int], None]
    judged: Iterator[int] = field(default_factory=lambda: count(1))

    def folder(self, folder: Path, draft: Path) -> Rescored:
        """Judge the completions of one folder into `draft`."""
        settings = read_manifest(folder).get("settings", {})
        source = Source(_refuse, name=str(settings.get("provider", "")), defer=_Missing)
        solver = replace(source, model=str(settings.get("verify_model") or ""))
        rescored = Rescored()
        with locked(folder), closing(Journal(folder)) as journal:
            before, unwanted = _row_slots(folder), _unwanted(folder)
            if strays := sum(slot not in journal for slot in before):
                raise StoreError(
                    f"{strays} rows of {folder / DATASET} have no completion in the journal"
                )
            sources = {WRITER: source, SOLVER: solver}
            if settings.get("deriver"):
                sources[DERIVER] = replace(source, model=str(settings["deriver"]))
            runner = AttemptRunner(
                journal, sources, self.rewards, partial(slot_seed, 0),
                lambda _: ("", ""), int(settings.get("verify", 0)), self.min_agreement,
                strengthen=str(settings.get("strengthen", OFF)),
            )  # fmt: skip
            attempts = self._attempts(folder, before, journal.lost)
            with Store(draft) as store, ThreadPoolExecutor(default_count()) as pool:
                while chunk := list(islice(attempts, _CHUNK)):
                    for outcome in pool.map(partial(_outcome, runner), chunk):
                        if isinstance(outcome, _Missing):
                            rescored.unproven += 1
                        elif outcome:
                            slot = str(outcome.attempt.slot)
                            measured = before.get(slot)
                            certificate = {**outcome.certificate, **(measured or {})}
                            outcome = replace(outcome, certificate=certificate)
                            if outcome.accepted and slot in unwanted:
                                outcome = outcome.rejected(*unwanted[slot])
                            outcome = store.append(outcome)
                            present = measured is not None
                            rescored.kept += outcome.accepted and present
                            rescored.gained += outcome.accepted and not present
                            if not outcome.accepted:
                                rescored.rejected[outcome.reason] += 1
                        self.on_progress(next(self.judged))
        rescored.dropped = len(before) - rescored.kept
        return rescored

    def shards(self, folder: Path, draft: Path, shards: Sequence[Path]) -> Rescored:
        """Judge each shard, and merge their rows: first those that were present."""
        rescored, copies = Rescored(), shard_folders(draft, len(shards))
        with locked(folder):
            before = _row_slots(folder)
            for shard, copy in zip(shards, copies, strict=True):
                if not (shard / JOURNAL).is_file() or next(calls(shard), None) is None:
                    continue
                part = self.folder(shard, copy)
                rescored.unproven += part.unproven
                rescored.rejected += part.rejected
            novelty = read_manifest(folder).get("settings", {}).get("novelty")
            with Store(draft, Novelty() if novelty else None) as merged:
                for present in (True, False):
                    for _, row, record in shard_rows(copies):
                        if (row["slot"] in before) == present:
                            merged.take(row, record)
                rescored.rejected += Counter(duplicate=len(merged.rejected))
            after = _row_slots(draft)
        kept = before.keys() & after.keys()
        rescored.kept, rescored.gained = len(kept), len(after) - len(kept)
        rescored.dropped = len(before) - len(kept)
        return rescored

    def _attempts(
        self, folder: Path, before: Collection[str], lost: Collection[str]
    ) -> Iterator[Attempt]:
        """Yield the attempts of a journal in order, but those that became rows first."""
        seen = set(lost)  # and a failed call was repeated
        for rows in (True, False):
            for call in calls(folder):
                slot = str(call.slot)
                if call.slot.role or slot in seen or (slot in before) != rows:
                    continue
                if call.task not in self.tasks:
                    names = ", ".join(self.tasks)
                    raise UsageError(f"the journal has an unknown task {call.task!r}, not {names}")
                seen.add(slot)
                yield Attempt(call.slot, self.tasks[call.task], call.prompt, call.seed)


def _row_slots(folder: Path) -> dict[str, dict[str, str]]:
    """The slots of the rows, and what no verdict measures again: the pass rate and the marks."""
    path = folder / DATASET
    rows = read_rows(path, DATASET_COLUMNS, DATASET_LATER) if path.is_file() else ()
    return {row["slot"]: {name: row[name] for name in MEASURED_COLUMNS} for row in rows}


def _unwanted(folder: Path) -> dict[str, tuple[Reason, str]]:
    """The rejections by slot that no reward decides: of repeats, and by pass rate and judge."""
    return {
        row["slot"]: (row["reason"], row["error_msg"].partition(": ")[2])
        for row in failures(folder)
        if row["reason"] in NOT_JUDGED
    }


def _refuse(*_: object) -> Completion:
    raise AssertionError("a rescoring makes no call")


def _outcome(runner: AttemptRunner, attempt: Attempt) -> Outcome | _Missing | None:
    """Judge an attempt; None if it has no completion."""
    try:
        return runner.judged(attempt)
    except _Missing as missing:
        return missing if missing.slot.role else None
