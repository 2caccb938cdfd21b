"""Generation on many machines: a Ray cluster's workers fill the shards of one folder.

The folder must be one that all machines see under the same path. Each worker is a process of its
own, with a provider of its own that reads its key from its machine's environment; it fills a shard
by `generate_dataset`, so whatever happens to it, the worker that takes its place goes on from the
shard's journal. What is lacking after the shards are merged, because two of them made the same
task, is made in a further round.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..errors import InfiniteRLError, UsageError
from ..files.csv_log import read_rows
from ..generator import generate_dataset
from ..inference.budget import Estimate, Spending
from ..inference.calls import Verification, check_procedural, is_offline, model_to_ask
from ..manifest import read_manifest
from ..providers import PROVIDERS, resolve_provider
from ..providers.models import parse_thinking, warnings_of
from ..providers.rate_limit import Limits
from ..reward_functions import get_reward_functions
from ..settings import check_range
from ..store import DATASET, JOURNAL, Store
from ..tasks import TASKS
from ..types import Usage
from ..workers.ray_cluster import connected
from .plan import Plan, Shard, procedural_kinds
from .progress import Progress
from .run import STOPPED_ON_REQUEST
from .run_record import RunManifest
from .shards import divided, merge, shard_count, shard_folders, shard_rows, shares

logger = logging.getLogger(__name__)

_POLL_S = 1.0  # how often the workers are asked how far they are
_RESTARTS = 20  # of one worker: each may lose the calls that were under way
# What workers are not given: objects of this process, and what concerns the whole folder.
_OURS = ("out_dir", "shard", "stop", "on_progress", "dry_run")
_ONE_PROCESS = ("batch", "extra_tasks", "extra_rewards")

Job = Mapping[str, Any]  # the arguments of `generate_dataset` for one shard


@dataclass(frozen=True)
class Failure:
    """Why a worker could not do its job; `usage` where the caller asked for what cannot be."""

    message: str
    usage: bool = False


class Crew(Protocol):
    """Whoever does jobs, some at a time."""

    size: int

    def do(
        self,
        jobs: Mapping[int, Job],
        stop: threading.Event,
        show: Callable[[Mapping[int, Progress]], None],
    ) -> dict[int, Progress | Failure]:
        """Do the jobs, each of which has the number of its shard, and say how each has ended.

        `show` is told now and then how far they are. Once `stop` is set, or one has failed, no more
        are begun, and those under way end as soon as nothing is lost by it.
        """
        ...


def generate_on_ray(
    model_name: str | None,
    num_samples: int,
    out_dir: str | Path,
    *,
    workers: int | None = None,
    address: str | None = None,
    **options: Any,
) -> Progress:
    """Bring `out_dir/dataset.csv` up to `num_samples` verified rows by the workers of a cluster.

    The folder is made of as many shards as the first run had workers; later ones may have any
    number. The same call made again goes on.

    Args:
        workers: processes at a time, by default one for each CPU of the cluster.
        address: the cluster's, by default that of $RAY_ADDRESS, else a cluster is started on this
            machine for this call. Where Ray is connected already, that cluster is used.
        options: those of `generate_dataset`. `num_threads` are those of each worker; limits are
            divided by the workers, and `max_cost` by the shards. The provider must be a name, the
            built-in tasks and rewards are used, and there are no batches.

    Raises:
        UsageError: as `generate_dataset`; or Ray is not installed, or no cluster at the address.
        InfiniteRLError: a worker failed, or a file cannot be used; what was paid for is kept.
    """
    run = _Filling.by(model_name, num_samples, out_dir, options)
    if run.options["dry_run"]:
        return run.plan(workers or 1)
    if workers is not None:
        check_range("workers", workers, 1)
    with connected(address) as ray:
        cores = ray.cluster_resources().get("CPU", 1)
        return run.go(_RayCrew(ray, workers or max(1, int(cores))))


@dataclass
class _Filling:
    """One folder and how its shards are to be filled. `options` are all of `generate_dataset`."""

    out_dir: Path
    options: dict[str, Any]
    planned: Plan
    rounds: list[Progress] = field(default_factory=list)  # of every shard, one after the other
    latest: dict[int, Progress] = field(default_factory=dict)  # by shard

    @classmethod
    def by(
        cls,
        model_name: str | None,
        num_samples: int,
        out_dir: str | Path,
        options: Mapping[str, Any],
    ) -> _Filling:
        bound = inspect.signature(generate_dataset).bind(
            model_name, num_samples, out_dir, **options
        )
        bound.apply_defaults()
        given = bound.arguments
        for name in _ONE_PROCESS:
            if given[name]:
                raise UsageError(f"{name} cannot be used on a cluster")
        if not all(isinstance(given[name], str) for name in ("provider", "verify_model")):
            raise UsageError("on a cluster a provider must be a name: each worker makes its own")
        check_range("num_samples", num_samples, 1)
        given["provider"] = resolve_provider(given["provider"])
        folder = Path(out_dir).resolve()
        recorded = read_manifest(folder).get("settings", {})
        model = model_to_ask(model_name, given["provider"], recorded)
        thinking = parse_thinking(
            recorded.get("thinking") if given["thinking"] is None else given["thinking"]
        )
        verification = Verification.of(
            given["verify"], given["verify_model"], given["provider"], model, recorded
        )
        if is_offline(given["provider"]):
            thinking = None
            given |= {"temperature": None, "max_output_tokens": None, "topics": ()}
            given["structured"] = False
        given |= {"model_name": model, "thinking": thinking}
        given |= {"verify": verification.count, "verify_model": verification.model}
        if PROVIDERS[given["provider"]].asks_a_model:
            told = {"provider": given["provider"], "thinking": thinking}
            asked = [each for each in (model, given["verify_model"]) if each]
            for line in warnings_of(asked, given["temperature"], **told):
                logger.warning("%s", line)
        chosen = given["task_dist"], TASKS, given["languages"]
        plan = Plan.of(num_samples, *chosen, get_reward_functions())
        check_procedural(given["provider"], given["level"], given["families"])
        procedural_kinds(given["level"], given["families"], plan)
        return cls(folder, given, plan)

    @property
    def targets(self) -> dict[str, int]:
        return self.planned.targets

    def go(self, crew: Crew) -> Progress:
        """Round after round, until nothing is missing or nothing more is to be had."""
        if not shard_count(self.out_dir) and (self.out_dir / JOURNAL).exists():
            raise UsageError(f"{self.out_dir} was made by one process: go on by --engine local")
        stop = self.options["stop"] or threading.Event()
        with Store(self.out_dir) as store:
            folders = shard_folders(self.out_dir, shard_count(self.out_dir) or crew.size)
            limits = divided(self.options["limits"] or Limits(), min(crew.size, len(folders)))
            record = RunManifest(self.out_dir, self._settings(), self.options["timeout"])
            if not self.options["extend"]:
                record.check()
            held = merge(store, folders)
            before, same = Counter(store.counts), len(store.rejected)
            progress = self._progress(before, store.counts)
            record.begin()
            try:
                while any((missing := self._missing(progress)).values()) and not stop.is_set():
                    jobs = self._jobs(shares(missing, held), folders, limits)
                    failure = self._round(crew, jobs, stop, before, held)
                    made, held = store.counts.total(), merge(store, folders)
                    progress = self._progress(before, store.counts)
                    progress.rejected["duplicate"] += len(store.rejected) - same
                    if failure:
                        raise (UsageError if failure.usage else InfiniteRLError)(failure.message)
                    if progress.stopped or store.counts.total() == made:
                        break
                if stop.is_set() and not progress.complete:
                    progress.stopped = STOPPED_ON_REQUEST
            finally:
                record.end(progress)
        return progress

    def plan(self, count: int) -> Progress:
        """What is missing, and an estimate; nothing is asked, written or started."""
        folders = shard_folders(self.out_dir, shard_count(self.out_dir) or count)
        held: list[Counter[str]] = [Counter() for _ in folders]
        for number, row in shard_rows(folders):
            held[number][row["type"]] += 1
        merged = self.out_dir / DATASET
        rows = Counter(row["type"] for row in read_rows(merged)) if merged.exists() else Counter()
        progress = self._progress(rows, rows)
        jobs = self._jobs(shares(self._missing(progress), held), folders, Limits())
        plans = {number: generate_dataset(**job, dry_run=True) for number, job in jobs.items()}
        progress = self._progress(rows, rows, plans)
        progress.estimate = _sum([plan.estimate for plan in plans.values() if plan.estimate])
        return progress

    def _settings(self) -> dict[str, object]:
        names = ("provider", "seed", "topics", "temperature", "max_output_tokens", "thinking")
        given = {name: self.options[name] for name in (*names, "structured")}
        verify = self.options["verify"]
        solves = {name: self.options[name] for name in ("verify_model", "min_agreement") if verify}
        model = {"model": self.options["model_name"]}
        kinds = procedural_kinds(self.options["level"], self.options["families"], self.planned)
        return {**given, **model, **kinds, **self.planned.settings(), "verify": verify, **solves}

    def _missing(self, progress: Progress) -> dict[str, int]:
        """Rows to be asked for, by family."""
        given_up = progress.given_up
        missing = {family: progress.missing(family) for family in self.targets}
        return {family: 0 if family in given_up else count for family, count in missing.items()}

    def _jobs(
        self, shards: Sequence[Shard], folders: Sequence[Path], limits: Limits
    ) -> dict[int, Job]:
        """A job for each shard; one with nothing to make still tells what it has spent."""
        common = {name: each for name, each in self.options.items() if name not in _OURS}
        if common["max_cost"] is not None:
            common["max_cost"] /= len(shards)
        return {
            shard.number: {**common, "out_dir": folder, "limits": limits, "shard": shard}
            for shard, folder in zip(shards, folders, strict=True)
        }

    def _round(
        self,
        crew: Crew,
        jobs: Mapping[int, Job],
        stop: threading.Event,
        before: Counter[str],
        held: Sequence[Counter[str]],
    ) -> Failure | None:
        """Have the jobs done; the first failure, if any."""

        def show(now: Mapping[int, Progress]) -> None:
            rows = sum(
                (
                    Counter(now[number].present) + now[number].accepted if number in now else rows
                    for number, rows in enumerate(held)
                ),
                Counter[str](),
            )
            self.options["on_progress"](self._progress(before, rows, now))

        failure = None
        for number, each in crew.do(jobs, stop, show).items():
            if isinstance(each, Failure):
                failure = failure or each
            else:
                self.rounds.append(each)
                self.latest[number] = each
        return failure

    def _progress(
        self, before: Counter[str], rows: Counter[str], now: Mapping[int, Progress] | None = None
    ) -> Progress:
        """Where the whole run stands, with the workers that are under way `now`."""
        now = now or {}
        every, latest = [*self.rounds, *now.values()], {**self.latest, **now}.values()
        progress = Progress(
            self.targets,
            {family: before[family] for family in self.targets},
            accepted=rows - before,
            rejected=sum((each.rejected for each in every), Counter[str]()),
            in_flight=sum(each.in_flight for each in now.values()),
            cap=sum(each.cap for each in now.values()),
            most=sum(each.most for each in now.values()),
            pace=next((each.pace for each in now.values() if each.pace), ""),
            calls=sum(each.calls for each in every),
            retries=sum((each.retries for each in every), Counter[str]()),
            lost=sum(each.lost for each in latest),
            spending=_total(each.spending for each in latest),
        )
        for each in every:
            progress.given_up |= each.given_up
            progress.stopped = progress.stopped or each.stopped
        return progress


def _total(parts: Iterable[Spending]) -> Spending:
    total = Spending()
    for part in parts:
        total.calls += part.calls
        total.usage += part.usage
        total.cost += part.cost
        total.dearest = max(total.dearest, part.dearest)
        total.unpriced += part.unpriced
    return total


def _sum(parts: Sequence[Estimate]) -> Estimate:
    costs = [part.cost for part in parts if part.cost is not None]
    return Estimate(
        dict(sum((Counter(part.rows) for part in parts), Counter[str]())),
        sum(part.calls for part in parts),
        sum((part.usage for part in parts), Usage()),
        sum(costs) if len(costs) == len(parts) else None,
        all(part.measured for part in parts),
    )


# --- Ray -----------------------------------------------------------------------------------------


class ShardWorker:
    """What runs in a worker's process. It is told to stop, and asked how far it is, meanwhile."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._newest: Progress | None = None

    def make(self, job: Job) -> Progress | Failure:
        """Bring a shard up to its targets."""
        try:
            return generate_dataset(**job, stop=self._stop, on_progress=self._note)
        except InfiniteRLError as error:  # not all of them can be pickled
            return Failure(f"{job['out_dir']}: {error}", isinstance(error, UsageError))

    def stop(self) -> None:
        """Let the run end as soon as nothing is lost by it."""
        self._stop.set()

    def progress(self) -> Progress | None:
        """Where the run stands; None before it begins."""
        return self._newest

    def _note(self, progress: Progress) -> None:
        self._newest = deepcopy(progress)  # the run goes on with its own


class _RayCrew:
    """Ray's actors, one for each job; one that is killed is made anew, and its job done again."""

    def __init__(self, ray: Any, size: int) -> None:
        self._ray, self.size = ray, size
        self._worker = ray.remote(ShardWorker).options(
            num_cpus=1,
            max_concurrency=4,  # calls of its methods at a time
            max_restarts=_RESTARTS,
            max_task_retries=-1,
            scheduling_strategy="SPREAD",
        )

    def do(
        self,
        jobs: Mapping[int, Job],
        stop: threading.Event,
        show: Callable[[Mapping[int, Progress]], None],
    ) -> dict[int, Progress | Failure]:
        waiting, halted = deque(jobs.items()), False
        running: dict[Any, tuple[int, Any]] = {}
        ended: dict[int, Progress | Failure] = {}
        newest: dict[int, Progress | Failure] = {}
        while running or (waiting and not halted):
            while waiting and len(running) < self.size and not halted:
                number, job = waiting.popleft()
                actor = self._worker.remote()
                running[actor.make.remote(job)] = number, actor
            done, _ = self._ray.wait(list(running), timeout=_POLL_S)
            for call in done:
                number, actor = running.pop(call)
                ended[number] = newest[number] = self._result(call)
                self._ray.kill(actor)
            halted = stop.is_set() or any(isinstance(each, Failure) for each in ended.values())
            if halted:
                for _, actor in running.values():
                    actor.stop.remote()
            newest |= self._look(running)
            show({number: each for number, each in newest.items() if isinstance(each, Progress)})
        return ended

    def _result(self, call: Any) -> Progress | Failure:
        try:
            found: Progress | Failure = self._ray.get(call)
        except self._ray.exceptions.RayError as error:
            return Failure(f"a worker ended for good: {str(error)[-500:]}")
        return found

    def _look(self, running: Mapping[Any, tuple[int, Any]]) -> dict[int, Progress]:
        """How far those are that say so within the time between two looks."""
        asked = {
            actor.progress.options(max_task_retries=0).remote(): number
            for number, actor in running.values()
        }
        if not asked:
            return {}
        told, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=_POLL_S)
        found = {asked[call]: self._result(call) for call in told}
        return {number: each for number, each in found.items() if isinstance(each, Progress)}
