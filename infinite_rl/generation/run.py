"""One generation run: request, judge, store, and repeat until every family has its rows.

Worker threads make one call each and judge its completion. One consumer, the calling thread, owns
counts, progress and files. Whenever the process dies, the folder holds whole rows, and the same
call resumes.
"""

from __future__ import annotations

import logging
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..dataset.parquet import keep_copy
from ..errors import ProviderError, UsageError
from ..inference.batches import Batches, BatchQueue
from ..inference.budget import Budget, Estimate, estimate
from ..inference.clients import DERIVER, JUDGE, LEARNER, ModelClients, RequestPolicy, is_offline
from ..inference.journal import BatchNotReady, Journal, slot_seed
from ..manifest import MANIFEST
from ..providers import resolve_provider
from ..providers.models import check_available, nearest_thinking, thinking_request, warnings_of
from ..reward_functions import get_reward_functions
from ..reward_functions.reward_function import RewardFunction
from ..store import DATASET, FAILED, JOURNAL, Store
from ..types import Attempt, Outcome
from ..verification import AUTHOR
from ..workers.interruptible import as_completed
from .attempts import AttemptRunner, check_examples
from .band import MAX_ATTEMPTS, Band, Levels
from .ideas import BLOCK, Ideas, Job
from .novelty import Novelty
from .plan import GenerateOptions, Plan, procedural_kinds, shard_count
from .planner import FORM, REPAIRABLE, REPEATED, UNWANTED, Planner
from .progress import Progress, RunLog, RunManifest, with_pacing
from .rubric import Rubric
from .seeds import Seeds
from .solutions import Solutions

if TYPE_CHECKING:
    from ..dataset.decontaminate import Benchmarks

logger = logging.getLogger(__name__)

# Rows in a row that independent solutions disagree with, after which a family is given up: with a
# solver that is right half of the time, this ends one family in ten.
MOST_DISAGREEMENTS = 40
MOST_UNWANTED = 200  # rows in a row that are true, but repeat others or have another pass rate
# Calls for one row at most, and for one that is kept on average (`docs/results/task_engine.md`).
_AIDS = "tests"  # the call that helps to test a row, of the solver
_MOST_CALLS = {LEARNER: MAX_ATTEMPTS, JUDGE: 1, DERIVER: 1, _AIDS: 1}
_MEAN_CALLS = {LEARNER: 8.0, JUDGE: 1.0, DERIVER: 1.0, _AIDS: 1.0}
STOPPED_ON_REQUEST = "stopped on request"


def generate(options: GenerateOptions) -> Progress:
    """Bring the folder up to its targets. Arguments and errors are those of `generate_dataset`."""
    options, stop = options.resolved(), options.stop or threading.Event()
    plan = _plan(options)
    rewards = get_reward_functions(options.timeout, options.extra_rewards, only=plan.rewards)
    log = RunLog(options.folder)
    policy = RequestPolicy(
        options.limits, options.num_threads, options.retry, stop,
        partial(log.write, "retry"),
    )  # fmt: skip
    queue = BatchQueue() if options.batch else None
    clients = _clients(options, plan, policy, queue)
    solver = clients.solver.model if options.verify else ""
    settings = options.settings(plan, clients.writer.name, clients.writer.model, solver)
    gate = Novelty() if options.novelty else None
    with _opened(options, settings, gate) as (store, journal, manifest):
        progress = Progress(plan.targets, {family: store.counts[family] for family in plan.tasks})
        progress.lost, progress.spending = len(journal.lost), journal.spending
        budget = _budget(options, plan, clients, journal, queue, progress)
        if not progress.complete:
            budget.check()
            warning = budget.crowded(min(options.num_threads, policy.most, progress.left))
            if warning and options.shard is None and queue is None:
                logger.warning("%s", warning)
        if options.dry_run:
            return progress
        _prepare(options, plan, rewards, progress)
        if journal.under_way and queue is None:
            raise UsageError(
                "a batch is in progress: resume it by "
                f"`infinite-rl generate --out_dir {options.out_dir} --resume`"
            )
        band = Band.parse(options.pass_rate) if options.pass_rate else None
        levels = Levels(band) if band else None
        planner = Planner(
            plan, store, journal, topics=options.topics, seed=options.seed,
            threads=options.num_samples if options.batch else options.num_threads,
            repairable=REPAIRABLE if options.verify else FORM, ideas=bool(options.ideas), gate=gate,
            seeds=Seeds.read(options.seeds, options.operators) if options.seeds else None,
            levels=levels, widen=options.widen,
        )  # fmt: skip
        runner = AttemptRunner(
            journal, clients.sources, rewards, partial(slot_seed, options.seed), store.repeats,
            options.verify or 0, options.min_agreement, band, levels,
            Rubric.read(options.rubric) if options.judge else None,
            _benchmarks(options.benchmarks), gate.suspects if gate else None,
            str(options.strengthen),
        )  # fmt: skip
        solved = Solutions(options.folder) if band else None
        run = Run(
            replace(options, stop=stop, on_progress=with_pacing(policy, options.on_progress)),
            plan, planner, runner, store, journal, budget, progress, stop, log,
            solved,
        )  # fmt: skip
        with (
            closing(log),
            closing(solved) if solved else nullcontext(),
            _recorded(manifest, progress, policy, log),
        ):
            if queue is None:
                run.go()
            else:
                _run_batches(run, Batches(journal, clients), queue)
    return progress


def first_requests(options: GenerateOptions) -> list[Attempt]:
    """Return the requests for the rows of a new folder. Nothing is asked, and nothing kept.

    They are those of a run without ideas, which a model would list. Raises UsageError as `Plan.of`.
    """
    plan = replace(Plan.of_options(options), asks_a_model=True)
    seeds = Seeds.read(options.seeds, options.operators) if options.seeds else None
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        store = opened.enter_context(Store(folder))
        journal = opened.enter_context(closing(Journal(folder)))
        topics, seed = options.topics, options.seed
        planner = Planner(plan, store, journal, topics=topics, seed=seed, seeds=seeds)
        wanted = [family for family, target in plan.targets.items() for _ in range(target)]
        jobs = [planner.next(family, plan.targets[family]) for family in wanted]
    return [job for job in jobs if isinstance(job, Attempt)]


def _clients(
    options: GenerateOptions, plan: Plan, policy: RequestPolicy, queue: BatchQueue | None
) -> ModelClients:
    """Return the clients of all models of a run. Raises UsageError, ProviderRefused."""
    kinds = procedural_kinds(options.level, options.families, plan)
    others = {LEARNER: options.solver, JUDGE: options.judge, DERIVER: options.deriver}
    return ModelClients.of(
        options.provider, str(options.model_name), options.verify_model, options.price,
        {**options.request_settings(), "base_url": options.base_url, **kinds}, policy,
        others={role: model for role, model in others.items() if model},
        structured=options.structured, defer=None if queue is None else queue.add,
        dry_run=options.dry_run,
    )  # fmt: skip


def _budget(
    options: GenerateOptions,
    plan: Plan,
    clients: ModelClients,
    journal: Journal,
    queue: BatchQueue | None,
    progress: Progress,
) -> Budget:
    """Return the budget of a run, and put in `progress` what the missing rows may cost."""
    room = _thinking_room(options, clients, journal)
    prices = [clients.writer.price, *[clients.solver.price] * (options.verify or 0)]
    others = {role: clients.sources[role].price for role in _MOST_CALLS if role in clients.sources}
    if options.strengthen == AUTHOR:
        others[_AIDS] = clients.solver.price
    longest, batch = options.max_output_tokens, options.batch
    missing = {family: progress.missing(family) for family in plan.targets}
    progress.estimate = Estimate(missing)
    if not is_offline(options.provider):
        progress.estimate = estimate(
            missing, prices, plan.prompt_chars, room, longest, batch=batch,
            present=progress.rows, spent=progress.spending,
            more=[(_MEAN_CALLS[role], price) for role, price in others.items()]
            + ([(3 / BLOCK, prices[0])] if options.ideas else []),
        )  # fmt: skip
    most = [price for role, price in others.items() for _ in range(_MOST_CALLS[role])]
    return Budget(
        options.max_cost, [*prices, *most], journal.spending, plan.prompt_chars, longest,
        () if queue is None else queue, room, batch=batch,
    )  # fmt: skip


def _prepare(
    options: GenerateOptions,
    plan: Plan,
    rewards: Mapping[str, RewardFunction],
    progress: Progress,
) -> None:
    """Load what the rewards of missing rows need, which raises before any payment."""
    added = (options.extra_tasks or {}).values()
    for family, tasks in plan.tasks.items():
        for task in tasks if progress.missing(family) else ():
            rewards[task.reward].prepare(task.language)
            if task in added:
                check_examples(task, rewards[task.reward])
    for task in added if options.shard is None else ():
        if not plan.weights[task.family]:
            logger.warning("the task type %s has no share in task_dist", task.name)


def _benchmarks(paths: Sequence[str | Path]) -> Benchmarks | None:
    """Read the benchmarks whose prompts are kept out."""
    if not paths:
        return None
    from ..dataset.decontaminate import Benchmarks  # numpy is slow to import

    return Benchmarks({str(path): path for path in paths})


def _plan(options: GenerateOptions) -> Plan:
    """Return the plan of a folder or shard. Raises UsageError if the folder belongs to Ray."""
    plan = Plan.of_options(options)
    if options.shard:
        return replace(plan, targets=dict(options.shard.targets), shard=options.shard)
    if shard_count(options.folder):
        raise UsageError(f"{options.out_dir} is made of shards: resume it by --engine ray")
    return plan


def _thinking_room(options: GenerateOptions, clients: ModelClients, journal: Journal) -> int:
    """Return the thinking budget of one call in tokens, and warn of unsuitable options.

    Raises:
        UsageError, ProviderRefused: a model of a batch is not available.
    """
    thinking, provider = options.thinking, options.provider
    if is_offline(provider):
        return 0
    models = [clients.writer.model, *([clients.solver.model] if options.verify else [])]
    if options.batch and not journal.under_way:
        for model, option in zip(models, ("--model_name", "--verify_model"), strict=False):
            check_available(model, option=option)
    if options.shard is None:
        kind = resolve_provider(provider) if isinstance(provider, str) else ""
        for line in warnings_of(models, options.temperature, provider=kind, thinking=thinking):
            logger.warning("%s", line)
    choices = zip(models, (thinking, nearest_thinking(models[-1], thinking)), strict=False)
    return max(thinking_request(*choice).budget for choice in choices)


@contextmanager
def _opened(
    options: GenerateOptions, settings: Mapping[str, object], gate: Novelty | None
) -> Iterator[tuple[Store, Journal, RunManifest]]:
    """Open the folder; for a dry run of a new folder, an empty temporary one."""
    folder = options.folder
    with ExitStack() as opened:
        has_earlier_run = any(
            (folder / name).exists() for name in (DATASET, FAILED, JOURNAL, MANIFEST)
        )
        if options.dry_run and not folder.is_file() and not has_earlier_run:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        store = opened.enter_context(Store(folder, gate))
        journal = opened.enter_context(closing(Journal(folder)))
        manifest = RunManifest(folder, settings, options.timeout)
        if not options.extend and (store.counts or journal.spending.calls):
            manifest.check()
        yield store, journal, manifest
    if not options.dry_run and options.shard is None:
        keep_copy(folder)


@contextmanager
def _recorded(
    manifest: RunManifest, progress: Progress, policy: RequestPolicy, log: RunLog
) -> Iterator[None]:
    """Record the begin and the end of the run in the folder's manifest and log."""

    def listed(counts: Mapping[str, int]) -> str:
        return ", ".join(f"{name} {count}" for name, count in counts.items())

    manifest.begin()
    targets, present = listed(progress.targets), listed(progress.present)
    log.write("began", f"target rows: {targets}; present: {present}")
    try:
        yield
    finally:
        accepted, rejected = listed(progress.accepted), listed(progress.rejected)
        log.write("ended", f"rows accepted: {accepted or 0}; rejected: {rejected or 0}")
        progress.retries = policy.retries
        manifest.end(progress)


def _run_batches(run: Run, batches: Batches, queue: BatchQueue) -> None:
    """Judge the results of finished batches, and upload the calls that are missing then."""
    progress = run.progress
    try:
        progress.batches = batches.collect()
        if not progress.batches:
            run.go()
            if queue.calls and not run.stop.is_set():
                progress.batches = batches.submit(queue.calls)
    except ProviderError as error:
        progress.stopped = str(error)
    if progress.batches:
        progress.stopped = "a batch is in progress"


@dataclass
class Run:
    """The consumer of one run: hands out attempts and settles outcomes.

    `runner` turns an attempt into an outcome in a worker thread; everything else happens in the
    thread that calls `go`, so no lock is needed.
    """

    options: GenerateOptions
    plan: Plan
    planner: Planner
    runner: AttemptRunner
    store: Store
    journal: Journal
    budget: Budget
    progress: Progress
    stop: threading.Event
    log: RunLog
    solutions: Solutions | None = None  # of the learner
    failures: Counter[str] = field(default_factory=Counter)  # failed samples in a row, per family
    # Drafts in a row that were written but not wanted, per family: of these, how many the
    # independent solutions disagree with.
    unwanted: Counter[str] = field(default_factory=Counter)
    disagreements: Counter[str] = field(default_factory=Counter)

    def go(self) -> None:
        """Run until nothing is missing, every family is given up, or the run is stopped."""
        error: BaseException | None = None
        progress, show = self.progress, partial(self.options.on_progress, self.progress)
        threads = self.options.num_threads
        show()
        work: Callable[[Any], Outcome | Ideas] = self.runner  # mypy infers no union as the job
        futures = as_completed(self._next, work, threads, wait=False, meanwhile=show)
        with closing(futures):
            for future in futures:
                progress.in_flight -= 1
                failure = future.exception()
                if failure is None:
                    self._settle(future.result())
                elif not isinstance(failure, BatchNotReady):
                    self._end(str(failure))
                    if not isinstance(failure, ProviderError):
                        error = error or failure
                show()
        if error:
            raise error
        if self.stop.is_set() and not progress.complete:
            self._end(STOPPED_ON_REQUEST)
        elif not self.options.shard:  # the other shards of a run may go on
            progress.explain()

    def _end(self, why: str) -> None:
        """Stop the run. The first reason counts: once stopped, calls fail because of it."""
        if not self.progress.stopped:
            self.progress.stopped = STOPPED_ON_REQUEST if self.stop.is_set() else why
            self.log.write("stopped", self.progress.stopped)
        self.stop.set()

    def _next(self) -> Job | None:
        """Return the next request: of begun samples first, then of the family furthest behind."""
        if self.stop.is_set():
            return None
        progress, planner = self.progress, self.planner
        if refusal := self.budget.refusal(progress.in_flight):
            if not progress.in_flight:
                self._end(refusal)
            return None
        job = planner.waiting.popleft() if planner.waiting else None
        behind = {
            family: (progress.missing(family) - planner.in_progress[family]) / max(1, target)
            for family, target in progress.targets.items()
            if family not in progress.given_up
        }
        for family in sorted(behind, key=lambda family: -behind[family]):
            job = job or planner.next(family, progress.missing(family))
        progress.in_flight += job is not None
        return job

    def _settle(self, result: Outcome | Ideas) -> None:
        self.progress.calls = self.journal.answered
        if isinstance(result, Ideas):
            self.planner.take(result)
            self._check_dry(result.call.slot.family)
            return
        if self.solutions:
            self.solutions.add(result)
        outcome = self.store.append(result)
        slot = outcome.attempt.slot
        if outcome.accepted:
            logger.debug("%s accepted", slot)
        else:
            verdict = f"{slot} {outcome.reason}: {outcome.score.error_msg}"
            logger.info("rejected %s", verdict)
            self.log.write("rejected", verdict)
        if self.options.debug:
            self._write_debug(outcome)
        given_up = slot.family in self.progress.given_up
        failed = not given_up and not self.planner.after(outcome)
        if not outcome.accepted:
            self.progress.rejected[outcome.reason] += 1
            if not given_up:
                self._count_rejection(outcome, failed)
            return
        family, accepted = slot.family, self.progress.accepted
        accepted[family] += 1
        for count in (self.failures, self.unwanted, self.disagreements):
            count[family] = 0
        if accepted.total() % self.options.save_every == 0:
            self.journal.sync()
            self.store.sync()

    def _count_rejection(self, outcome: Outcome, failed: bool) -> None:
        """Give a family up whose author fails, or whose tasks are never wanted."""
        slot, max_retries, error = outcome.attempt.slot, self.options.max_retries, ""
        family, error = slot.family, outcome.score.error_msg[:200]
        if outcome.reason in UNWANTED:
            self.unwanted[family] += 1
            self.disagreements[family] += outcome.reason == "disagreement"
            if self.disagreements[family] == MOST_DISAGREEMENTS:
                self._give_up(
                    family,
                    f"independent solutions disagreed with {MOST_DISAGREEMENTS} rows in a row, the "
                    f"last as {error!r}: ask another --verify_model",
                )
            elif self.unwanted[family] == MOST_UNWANTED:
                self._give_up(family, f"of {MOST_UNWANTED} tasks in a row none was kept, the last "
                              f"as {outcome.reason}: {error!r}")  # fmt: skip
            elif outcome.reason in REPEATED:
                self._check_dry(family)
        elif failed and self.journal.answered_now(slot):  # else an earlier run counted it
            self.failures[family] += 1
            if self.failures[family] == max_retries:
                why = f"{max_retries} samples in a row failed, the last as {error!r}"
                self._give_up(family, why)

    def _check_dry(self, family: str) -> None:
        """Give a family up whose author has nothing new to write, unless its space can be wider."""
        why = "" if family in self.progress.given_up else self.planner.is_dry(family)
        if why and not self.planner.widen(family):
            advice = "ask for other tasks by --topics, --axes, --seeds or --widen"
            self._give_up(family, f"its author has run dry: {why}; {advice}")

    def _give_up(self, family: str, why: str) -> None:
        """End all samples of a family: each further call costs money."""
        self.progress.given_up[family] = why
        self.log.write("given up", f"{family}: {why}")
        self.planner.give_up(family)

    def _write_debug(self, outcome: Outcome) -> None:
        attempt, completion = outcome.attempt, outcome.completion
        parts = {
            "system": attempt.task.system_prompt,
            "request": attempt.request,
            "response": completion.text if completion else "",
            "outcome": outcome.reason or "accepted",
        }
        text = "\n\n".join(f"===== {name} =====\n{part}" for name, part in parts.items())
        self.store.write_debug(str(attempt.slot).replace("/", "_"), text)
