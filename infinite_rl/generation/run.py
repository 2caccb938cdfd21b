"""One generation run: request, judge, store, and repeat until every family has its rows.

Worker threads make one call each and judge its completion. One consumer, the calling thread, owns
counts, progress and files. Whenever the process dies, the folder holds whole rows, and the same
call resumes.
"""

from __future__ import annotations

import logging
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ..errors import ProviderError, UsageError
from ..inference.batches import Batches, BatchQueue
from ..inference.budget import Budget, Estimate, estimate
from ..inference.clients import ModelClients, RequestPolicy, is_offline
from ..inference.journal import BatchNotReady, Journal, slot_seed
from ..manifest import MANIFEST
from ..providers import resolve_provider
from ..providers.models import check_available, nearest_thinking, thinking_request, warnings_of
from ..reward_functions import REWARDS, get_reward_functions
from ..store import DATASET, FAILED, JOURNAL, Store
from ..tasks import TASKS
from ..types import Attempt, Outcome
from ..workers.interruptible import as_completed
from .attempts import FORM, REPAIRABLE, AttemptPlanner, AttemptRunner
from .plan import GenerateOptions, Plan, procedural_kinds, shard_count
from .progress import Progress, RunLog, RunManifest, with_pacing

logger = logging.getLogger(__name__)

# Rows in a row that independent solutions disagree with, after which a family is given up: with a
# solver that is right half of the time, this ends one family in ten.
MOST_DISAGREEMENTS = 40
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
    kinds = procedural_kinds(options.level, options.families, plan)
    queue = BatchQueue() if options.batch else None
    clients = ModelClients.of(
        options.provider, str(options.model_name), options.verify_model, options.price,
        {**options.request_settings(), "base_url": options.base_url, **kinds}, policy,
        structured=options.structured, defer=None if queue is None else queue.add,
        dry_run=options.dry_run,
    )  # fmt: skip
    solutions = options.verify or 0
    solver = clients.solver.model if solutions else ""
    settings = options.settings(plan, clients.writer.name, clients.writer.model, solver)
    with _opened(options, settings) as (store, journal, manifest):
        room = _thinking_room(options, clients, journal)
        prices = [clients.writer.price, *[clients.solver.price] * solutions]
        longest, batch = options.max_output_tokens, options.batch
        budget = Budget(
            options.max_cost, prices, journal.spending, plan.prompt_chars, longest,
            () if queue is None else queue, room, batch=batch,
        )  # fmt: skip
        progress = Progress(plan.targets, {family: store.counts[family] for family in plan.tasks})
        progress.lost, progress.spending = len(journal.lost), journal.spending
        missing = {family: progress.missing(family) for family in plan.targets}
        progress.estimate = Estimate(missing)
        if not is_offline(options.provider):
            progress.estimate = estimate(
                missing, prices, plan.prompt_chars, room, longest, batch=batch,
                present=progress.rows, spent=progress.spending,
            )  # fmt: skip
        if not progress.complete:
            budget.check()
            warning = budget.crowded(min(options.num_threads, policy.most, progress.left))
            if warning and options.shard is None and not batch:
                logger.warning("%s", warning)
        if options.dry_run:
            return progress
        for family, tasks in plan.tasks.items():
            for task in tasks if missing[family] else ():
                rewards[task.reward].prepare(task.language)  # raises before any payment
        if journal.under_way and not batch:
            raise UsageError(
                "a batch is in progress: resume it by "
                f"`infinite-rl generate --out_dir {options.out_dir} --resume`"
            )
        repairable = REPAIRABLE if solutions else FORM
        run = Run(
            replace(options, stop=stop, on_progress=with_pacing(policy, options.on_progress)),
            plan,
            AttemptPlanner(plan.tasks, options.topics, options.seed, store, journal, repairable),
            AttemptRunner(
                journal, clients.writer, clients.solver, rewards,
                partial(slot_seed, options.seed), store.has_prompt, solutions,
                options.min_agreement,
            ),
            store, journal, budget, progress, stop, log,
        )  # fmt: skip
        with closing(log), _recorded(manifest, progress, policy, log):
            if queue is None:
                run.go()
            else:
                _run_batches(run, Batches(journal, clients), queue)
    return progress


def _plan(options: GenerateOptions) -> Plan:
    """Return the plan of a folder or shard. Raises UsageError if the folder belongs to Ray."""
    tasks = {**TASKS, **(options.extra_tasks or {})}
    rewards = {**REWARDS, **(options.extra_rewards or {})}
    plan = Plan.of(options.num_samples, options.task_dist, tasks, options.languages, rewards)
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
    options: GenerateOptions, settings: Mapping[str, object]
) -> Iterator[tuple[Store, Journal, RunManifest]]:
    """Open the folder; for a dry run of a new folder, an empty temporary one."""
    folder = options.folder
    with ExitStack() as opened:
        has_earlier_run = any(
            (folder / name).exists() for name in (DATASET, FAILED, JOURNAL, MANIFEST)
        )
        if options.dry_run and not folder.is_file() and not has_earlier_run:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        store = opened.enter_context(Store(folder))
        journal = opened.enter_context(closing(Journal(folder)))
        manifest = RunManifest(folder, settings, options.timeout)
        if not options.extend and (store.counts or journal.spending.calls):
            manifest.check()
        yield store, journal, manifest


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
    planner: AttemptPlanner
    runner: AttemptRunner
    store: Store
    journal: Journal
    budget: Budget
    progress: Progress
    stop: threading.Event
    log: RunLog
    waiting: deque[Attempt] = field(default_factory=deque)  # after rejected attempts
    in_progress: Counter[str] = field(default_factory=Counter)  # samples in progress, per family
    failures: Counter[str] = field(default_factory=Counter)  # failed samples in a row, per family
    # Rows in a row that independent solutions disagree with, per family; and their samples.
    disagreements: Counter[str] = field(default_factory=Counter)
    disputed: set[tuple[str, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.indices: dict[str, Iterator[int]] = {
            family: self.plan.free_indices(family, self.store.filled[family])
            for family in self.progress.targets
        }

    def go(self) -> None:
        """Run until nothing is missing, every family is given up, or the run is stopped."""
        error: BaseException | None = None
        progress, show = self.progress, partial(self.options.on_progress, self.progress)
        threads = self.options.num_threads
        show()
        futures = as_completed(self._next, self.runner, threads, wait=False, meanwhile=show)
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

    def _end(self, why: str) -> None:
        """Stop the run. The first reason counts: once stopped, calls fail because of it."""
        if not self.progress.stopped:
            self.progress.stopped = STOPPED_ON_REQUEST if self.stop.is_set() else why
            self.log.write("stopped", self.progress.stopped)
        self.stop.set()

    def _next(self) -> Attempt | None:
        """Return the next attempt: of begun samples first, then of the family furthest behind."""
        if self.stop.is_set():
            return None
        progress = self.progress
        missing = {
            family: progress.missing(family) - self.in_progress[family]
            for family in progress.targets
            if family not in progress.given_up
        }
        family = max(missing, key=lambda f: missing[f] / max(1, progress.targets[f]), default="")
        if not self.waiting and (not family or missing[family] <= 0):
            return None
        if refusal := self.budget.refusal(progress.in_flight):
            if not progress.in_flight:
                self._end(refusal)
            return None
        progress.in_flight += 1
        if self.waiting:
            return self.waiting.popleft()
        self.in_progress[family] += 1
        # A sample whose drafts an earlier run has used up is skipped.
        attempts = (self.planner.first(family, index) for index in self.indices[family])
        return next(attempt for attempt in attempts if attempt)

    def _settle(self, outcome: Outcome) -> None:
        self.progress.calls = self.journal.answered
        outcome = self.store.append(outcome)
        slot = outcome.attempt.slot
        if outcome.accepted:
            logger.debug("%s accepted", slot)
        else:
            verdict = f"{slot} {outcome.reason}: {outcome.score.error_msg}"
            logger.info("rejected %s", verdict)
            self.log.write("rejected", verdict)
        if self.options.debug:
            self._write_debug(outcome)
        if not outcome.accepted:
            self._retry(outcome)
            return
        family, accepted = slot.family, self.progress.accepted
        accepted[family] += 1
        self.in_progress[family] -= 1
        self.failures[family] = self.disagreements[family] = 0
        if accepted.total() % self.options.save_every == 0:
            self.journal.sync()
            self.store.sync()

    def _retry(self, outcome: Outcome) -> None:
        """Queue the next attempt after a rejected outcome, or end its sample."""
        slot, max_retries = outcome.attempt.slot, self.options.max_retries
        family, sample = slot.family, (slot.family, slot.index)
        self.progress.rejected[outcome.reason] += 1
        if outcome.reason == "disagreement":
            self._dispute(outcome)
        following = self.planner.after(outcome)
        if following and family not in self.progress.given_up:
            self.waiting.append(following)
            return
        self.in_progress[family] -= 1
        if sample in self.disputed:  # its author wrote rows, though no correct one
            self.disputed.discard(sample)
            return
        if not self.journal.answered_now(slot):
            return  # an earlier run paid for this failure, and counted it
        self.failures[family] += 1
        if self.failures[family] == max_retries:
            error = outcome.score.error_msg[:200]
            advice = ": ask for other tasks by --topics" if outcome.reason == "duplicate" else ""
            why = f"{max_retries} samples in a row failed, the last as {error!r}{advice}"
            self._give_up(family, why)

    def _dispute(self, outcome: Outcome) -> None:
        """Count a wrong row; a solver that agrees with none must not cost forever."""
        slot = outcome.attempt.slot
        self.disputed.add((slot.family, slot.index))
        self.disagreements[slot.family] += 1
        if self.disagreements[slot.family] == MOST_DISAGREEMENTS:
            self._give_up(
                slot.family,
                f"independent solutions disagreed with {MOST_DISAGREEMENTS} rows in a row, the "
                f"last as {outcome.score.error_msg[:200]!r}: ask another --verify_model",
            )

    def _give_up(self, family: str, why: str) -> None:
        """End all samples of a family: each further call costs money."""
        self.progress.given_up[family] = why
        self.log.write("given up", f"{family}: {why}")
        self.waiting = deque(each for each in self.waiting if each.slot.family != family)

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
