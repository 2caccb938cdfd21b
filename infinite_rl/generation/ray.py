"""Generation on many machines: the workers of a Ray cluster fill the shards of one folder.

    OUT_DIR/dataset.csv           the rows of all shards, without duplicates
    OUT_DIR/failed_dataset.csv    rows that are left out, because another shard has their prompt
    OUT_DIR/shards/02_of_08/      a shard: rows, failures, journal and manifest, as of one process

All machines must see the folder under the same path. A shard is a folder like any other: if its
worker dies, another one resumes it from its journal. A further round generates the rows that are
missing after the merge, because two shards made the same task.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..certificates import CertificateIndex
from ..dataset.parquet import keep_copy
from ..errors import UsageError, check_if_set
from ..files.logs import read_rows
from ..inference.budget import Estimate, Spending
from ..providers import PROVIDERS, resolve_provider
from ..providers.models import warnings_of
from ..providers.rate_limit import Limits
from ..store import DATASET, DATASET_COLUMNS, DATASET_LATER, JOURNAL, Store, slot_of_row
from ..types import Usage
from ..workers.ray_cluster import ActorPool, Reply, connected
from .novelty import Novelty
from .plan import GenerateOptions, Plan, Shard, shard_count, shard_folders
from .progress import Progress, RunManifest
from .run import STOPPED_ON_REQUEST, generate
from .solutions import merge_solutions

logger = logging.getLogger(__name__)

_SINGLE_PROCESS = ("batch", "extra_rewards")


def generate_on_ray(
    options: GenerateOptions, workers: int | None = None, address: str | None = None
) -> Progress:
    """Bring `out_dir/dataset.csv` up to `num_samples` verified rows on a Ray cluster.

    The first run has as many shards as workers; later runs may have any number of workers. The
    same call resumes.

    Args:
        options: those of `generate_dataset`: `num_threads` counts per worker; limits are divided
            by the workers, and `max_cost` by the shards. Models must be names, rewards are the
            built-in ones, and there are no batches. All machines see the files that it names.
        workers: parallel processes, by default one per CPU of the cluster.
        address: of the cluster, by default $RAY_ADDRESS, else a cluster is started on this machine
            for this call. An existing connection of Ray is used.

    Raises:
        UsageError: as `generate_dataset`; or Ray is not installed, or no cluster at the address.
        InfiniteRLError: a worker failed, or a file is unusable; completions are stored.
    """
    run = ShardedRun.of(options)
    if run.options.dry_run:
        return run.plan(workers or 1)
    check_if_set("workers", workers, 1)
    with connected(address) as ray:
        cores = ray.cluster_resources().get("CPU", 1)
        return run.go(ActorPool(ray, ShardWorker, workers or max(1, int(cores))))


@dataclass
class ShardedRun:
    """One folder and the options for its shards."""

    options: GenerateOptions
    planned: Plan
    rounds: list[Progress] = field(default_factory=list)  # of every shard, in order
    latest: dict[int, Progress] = field(default_factory=dict)  # by shard

    @classmethod
    def of(cls, options: GenerateOptions) -> ShardedRun:
        """Check and resolve the options. Raises UsageError."""
        for name in _SINGLE_PROCESS:
            if getattr(options, name):
                raise UsageError(f"{name} cannot be used on a cluster")
        models = (options.provider, options.verify_model, options.solver, options.judge,
                  options.deriver)  # fmt: skip
        if not all(isinstance(each, str) for each in models):
            raise UsageError("on a cluster the provider must be a name: each worker creates one")
        provider = resolve_provider(str(options.provider))
        options = replace(  # workers may have another working directory
            options, out_dir=options.folder.resolve(), provider=provider,
            seeds=options.seeds and Path(options.seeds).resolve(),
            rubric=options.rubric and Path(options.rubric).resolve(),
            benchmarks=[Path(path).resolve() for path in options.benchmarks],
        ).resolved()  # fmt: skip
        if PROVIDERS[provider].asks_a_model:
            named = [str(each) for each in (options.model_name, options.verify_model) if each]
            for line in warnings_of(
                named, options.temperature, provider=provider, thinking=options.thinking
            ):
                logger.warning("%s", line)
        plan = Plan.of_options(options)
        run = cls(options, plan)
        run._settings()  # raises for invalid levels and families
        return run

    def go(self, pool: ActorPool) -> Progress:
        """Run rounds until nothing is missing, or no more rows come."""
        folder, count = self.options.folder, shard_count(self.options.folder)
        if not count and (folder / JOURNAL).exists():
            raise UsageError(f"{folder} was made by one process: use --engine local")
        stop = self.options.stop or threading.Event()
        with Store(folder, Novelty() if self.options.novelty else None) as store:
            folders = shard_folders(folder, count or pool.size)
            limits = divided(self.options.limits or Limits(), min(pool.size, len(folders)))
            manifest = RunManifest(folder, self._settings(), self.options.timeout)
            if not self.options.extend:
                manifest.check()
            present = merge(store, folders)
            before, same = Counter(store.counts), len(store.rejected)
            progress = self._progress(before, store.counts)
            manifest.begin()
            try:
                while progress.left and not stop.is_set():
                    jobs = self._jobs(shares(progress.wanted, present), folders, limits)
                    failure = self._round(pool, jobs, stop, before, present)
                    rows, present = store.counts.total(), merge(store, folders)
                    progress = self._progress(before, store.counts)
                    progress.rejected += Counter(duplicate=len(store.rejected) - same)
                    if failure:
                        failure.result()  # raises
                    if progress.stopped or store.counts.total() == rows:
                        break
                merge_solutions(folder, folders)
                if stop.is_set() and not progress.complete:
                    progress.stopped = STOPPED_ON_REQUEST
                progress.explain()
            finally:
                manifest.end(progress)
        keep_copy(folder)
        return progress

    def plan(self, count: int) -> Progress:
        """Return what is missing, with an estimate; nothing is called, written or started."""
        folder = self.options.folder
        folders = shard_folders(folder, shard_count(folder) or count)
        present = merge(None, folders)
        merged = folder / DATASET
        every = read_rows(merged) if merged.exists() else ()
        rows = Counter(slot_of_row(row)[0] for row in every)
        jobs = self._jobs(shares(self._progress(rows, rows).wanted, present), folders, Limits())
        plans = {number: generate(replace(job, dry_run=True)) for number, job in jobs.items()}
        progress = self._progress(rows, rows, plans)
        estimates = [plan.estimate for plan in plans.values() if plan.estimate]
        costs = [each.cost for each in estimates if each.cost is not None]
        progress.estimate = Estimate(
            dict(_total(Counter(each.rows) for each in estimates)),
            sum(each.calls for each in estimates),
            sum((each.usage for each in estimates), Usage()),
            sum(costs) if len(costs) == len(estimates) else None,
            all(each.measured for each in estimates),
        )
        return progress

    def _settings(self) -> dict[str, object]:
        options = self.options
        solver = options.verify_model if options.verify else None
        return options.settings(self.planned, options.provider, options.model_name, solver)

    def _jobs(
        self, shards: Sequence[Shard], folders: Sequence[Path], limits: Limits
    ) -> dict[int, GenerateOptions]:
        """Return a job for each shard; one without missing rows still reports its spending."""
        cost = self.options.max_cost
        common = replace(
            self.options, limits=limits, stop=None, on_progress=_ignore, dry_run=False,
            max_cost=None if cost is None else cost / len(shards),
        )  # fmt: skip
        return {
            shard.number: replace(common, out_dir=folder, shard=shard)
            for shard, folder in zip(shards, folders, strict=True)
        }

    def _round(
        self,
        pool: ActorPool,
        jobs: Mapping[int, GenerateOptions],
        stop: threading.Event,
        before: Counter[str],
        present: Sequence[Counter[str]],
    ) -> Reply | None:
        """Run the jobs and return the first failure, if any."""
        failure: Reply | None = None
        latest: dict[int, Progress] = {}
        for results, progress in pool.run(jobs):
            latest |= progress
            for number, reply in results.items():
                if not isinstance(reply, Reply):  # an exception of Ray
                    reply = Reply(error=f"a worker died for good: {str(reply)[-500:]}")
                if reply.error is None:
                    latest[number] = reply.value
                else:
                    latest.pop(number, None)
                    failure = failure or reply
            if failure or stop.is_set():
                pool.stop()
            rows = _total(
                Counter(latest[number].present) + latest[number].accepted
                if number in latest
                else rows
                for number, rows in enumerate(present)
            )
            self.options.on_progress(self._progress(before, rows, latest))
        self.rounds += latest.values()
        self.latest |= latest
        return failure

    def _progress(
        self, before: Counter[str], rows: Counter[str], now: Mapping[int, Progress] | None = None
    ) -> Progress:
        """Return the progress of the whole run, including the running workers' `now`."""
        now = now or {}
        every, latest = [*self.rounds, *now.values()], {**self.latest, **now}.values()
        sums = ("in_flight", "cap", "most")
        progress = Progress(
            self.planned.targets,
            {family: before[family] for family in self.planned.targets},
            accepted=rows - before,
            rejected=_total(each.rejected for each in every),
            **{name: sum(getattr(each, name) for each in now.values()) for name in sums},
            pace=next((each.pace for each in now.values() if each.pace), ""),
            calls=sum(each.calls for each in every),
            retries=_total(each.retries for each in every),
            lost=sum(each.lost for each in latest),
            spending=sum((each.spending for each in latest), Spending()),
        )
        for each in every:
            progress.given_up |= each.given_up
            progress.stopped = progress.stopped or each.stopped
        return progress


def _ignore(_: Progress) -> None:
    """Ignore progress."""


def _total(counts: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counts, Counter[str]())


# --- shards --------------------------------------------------------------------------------------


class ShardRow(NamedTuple):
    """A row of a shard, with the shard's number and the row's certificate."""

    number: int
    row: dict[str, str]
    certificate: dict[str, Any] | None


def shard_rows(folders: Sequence[Path]) -> Iterator[ShardRow]:
    """Yield every row of the shards."""
    for number, folder in enumerate(folders):
        if (folder / DATASET).exists():
            certificates = CertificateIndex(folder)
            for row in read_rows(folder / DATASET, DATASET_COLUMNS, DATASET_LATER):
                yield ShardRow(number, row, certificates.take(row["id"]))


def merge(store: Store | None, folders: Sequence[Path]) -> list[Counter[str]]:
    """Add the shards' missing rows to a store, if any; return the rows per family of each shard.

    Raises:
        StoreError: a file is damaged or not writable.
    """
    present: list[Counter[str]] = [Counter() for _ in folders]
    for number, row, record in shard_rows(folders):
        present[number][slot_of_row(row)[0]] += 1
        if store is not None:
            store.take(row, record)
    if store is not None:
        store.sync()
    return present


def shares(missing: Mapping[str, int], present: Sequence[Mapping[str, int]]) -> list[Shard]:
    """Divide the missing rows among the shards, in addition to their `present` rows."""
    count = len(present)
    return [
        Shard(
            number,
            count,
            {
                family: present[number].get(family, 0) + total // count + (number < total % count)
                for family, total in missing.items()
            },
        )
        for number in range(count)
    ]


def divided(limits: Limits, parts: int) -> Limits:
    """Divide limits among workers, so that the sum keeps the given ones.

    Raises:
        UsageError: a worker would have less than one.
    """
    for name, limit in vars(limits).items():
        if limit is not None and limit < parts:
            raise UsageError(f"{name} is {limit}, less than one for each of {parts} workers")
    return replace(
        limits, **{name: limit and limit // parts for name, limit in vars(limits).items()}
    )


class ShardWorker:
    """The actor of one shard; it may be stopped and asked for its progress while it runs."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._latest: Progress | None = None

    def run(self, job: GenerateOptions) -> Reply:
        """Bring a shard up to its targets; the value is its `Progress`."""
        job = replace(job, stop=self._stop, on_progress=self._note)
        reply = Reply.of(lambda: generate(job))
        return replace(reply, error=reply.error and f"{job.out_dir}: {reply.error}")

    def stop(self) -> None:
        """End the run as soon as nothing is lost."""
        self._stop.set()

    def progress(self) -> Progress | None:
        """Return the latest progress; None before the run begins."""
        return self._latest

    def _note(self, progress: Progress) -> None:
        self._latest = deepcopy(progress)  # the run mutates its own
