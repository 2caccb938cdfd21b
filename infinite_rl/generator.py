"""Make a data set: ask, judge, keep, and ask again until every family has its rows.

Worker threads make one call each and judge its answer; one consumer, the calling thread, alone
touches counts, progress and files. Whatever happens to the process, the folder holds whole rows,
and the same call made again goes on from there.
"""

from __future__ import annotations

import logging
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from .errors import ProviderError, UsageError
from .generation.attempts import FORM, REPAIRABLE, AttemptPlanner
from .generation.outcomes import AttemptRunner, SelfConsistency
from .generation.plan import Plan, Shard, procedural_kinds
from .generation.progress import Progress, with_pacing
from .generation.run import Run
from .generation.run_log import RunLog
from .generation.run_record import RunManifest
from .generation.shards import shard_count
from .inference.batches import Batches, Collecting
from .inference.budget import Budget, Estimate, estimate
from .inference.calls import (
    ModelClients,
    RequestPolicy,
    Verification,
    check_procedural,
    is_offline,
    model_to_ask,
)
from .inference.journal import Journal, slot_seed
from .manifest import MANIFEST, read_manifest
from .providers import resolve_provider
from .providers.base import Provider
from .providers.models import (
    check_available,
    nearest_thinking,
    parse_thinking,
    thinking_request,
    warnings_of,
)
from .providers.prices import Price
from .providers.rate_limit import Limits, RetryPolicy
from .providers.remote import check_settings
from .reward_functions import get_reward_functions
from .reward_functions.reward_function import RewardFunction
from .settings import check_range
from .store import DATASET, FAILED, JOURNAL, Store
from .tasks import TASKS
from .types import TaskType
from .verification.self_consistency import MIN_AGREEMENT

logger = logging.getLogger(__name__)


def generate_dataset(
    model_name: str | None,
    num_samples: int,
    out_dir: str | Path,
    save_every: int = 10,
    max_retries: int = 5,
    timeout: float = 5,
    task_dist: str | Sequence[float] | Mapping[str, float] = "0.5,0.5",
    debug: bool = False,
    num_threads: int = 1,
    *,
    provider: str | Provider = "auto",
    seed: int = 0,
    languages: Sequence[str] = ("python", "javascript"),
    temperature: float | None = None,
    max_output_tokens: int | None = None,
    thinking: str | int | None = None,
    topics: Sequence[str] = (),
    extra_tasks: Mapping[str, TaskType] | None = None,
    extra_rewards: Mapping[str, RewardFunction] | None = None,
    extend: bool = False,
    price: str | Price | None = None,
    max_cost: float | None = None,
    dry_run: bool = False,
    verify: int | None = None,
    verify_model: str | Provider = "",
    min_agreement: float = MIN_AGREEMENT,
    base_url: str | None = None,
    structured: bool = False,
    batch: bool = False,
    level: int | str | Sequence[int] | None = None,
    families: Sequence[str] = (),
    limits: Limits | None = None,
    retry: RetryPolicy | None = None,
    shard: Shard | None = None,
    stop: threading.Event | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Bring `out_dir/dataset.csv` up to `num_samples` verified rows, and say how it went.

    Only what is missing is generated. Every rejected attempt goes to `failed_dataset.csv`. Each
    answer goes to `journal.jsonl` before it is judged, so that none is paid for twice.

    Args:
        model_name: None is the one that the folder was made with, else `providers.DEFAULT_MODEL`.
        save_every: rows are appended at once; after so many they are forced to the disk.
        max_retries: consecutive failed samples of one family after which that family is given up.
        timeout: seconds that one run of a program, or one comparison, may take.
        task_dist: a weight per family, in the order coding, math and then those of `extra_tasks`;
            or a mapping by family.
        provider: "auto" (gemini where a key is set, else procedural), another name, or your own.
        seed: of the run; each call's own seed follows from it and from the call's place.
        max_output_tokens: of an answer; what a model thinks is bounded apart from it.
        thinking: "off", "minimal", "low", "medium", "high" or a number of tokens, as the model has
            it; None is what the folder was made with, else the model's own.
        topics: the subjects to go through in turn.
        extra_tasks, extra_rewards: your own, by name, beside or in place of the built-in ones.
        extend: go on in a folder that was made with other settings.
        price: of the model, in US dollars for a million tokens of input and output ("0.10,0.40");
            by default that of the table in `prices`.
        max_cost: US dollars that all calls of the folder may cost, those of earlier runs included.
        dry_run: ask and write nothing; the progress tells what is missing, and an estimate.
        verify: how many independent solutions of a row, from its prompt alone, may be asked for
            until they decide whether it is kept: two, and more where they disagree. By default
            those of the folder's earlier runs, else 4 for a provider that asks a model, else 0.
        verify_model: the model that solves, or a provider of your own; by default that of the
            folder's earlier runs, else another one of the same kind where one is known, else the
            one that writes the rows.
        min_agreement: the share of these solutions that must agree with the row's answer.
        base_url: where a provider that is named sends its requests.
        structured: have the model held to the three sections by a schema.
        batch: send the calls up as file batches, at half price, and return; the same call made
            again keeps what has come down, and sends up what is still owed.
        level: of procedural tasks, 1 to 3: one, several ("1-2", [1, 3]), or None for all.
        families: of procedural tasks, by name (see `providers.procedural.families`); () for all.
        limits: requests and tokens a minute, and requests in flight, by default as many as threads;
            a solver that is another model has the same ones for itself.
        retry: how calls that meet passing trouble are repeated.
        shard: make only this part, in a folder of its own, with its targets in place of
            `num_samples`; `cluster` does so for all of them, and merges them.
        stop: set it from anywhere to end the run; calls under way are still waited for and kept.
        on_progress: called by this thread when the run begins, after every outcome, and now and
            then while it waits for one.

    Raises:
        UsageError: an argument cannot be used, the folder was made with other settings, or a batch
            is under way and `batch` not given; nothing was asked and no row written.
        StoreError: the folder cannot be written, or holds foreign files.
        ProviderRefused: the provider cannot be set up. Trouble while the run goes on does not
            raise: the run stops, with `Progress.stopped` saying why.
    """
    check_range("num_samples", num_samples, 1)
    check_range("num_threads", num_threads, 1)
    check_range("save_every", save_every, 1)
    check_range("max_retries", max_retries, 1)
    check_settings(temperature, max_output_tokens)
    stop = stop or threading.Event()
    rewards = get_reward_functions(timeout=timeout, extra=extra_rewards)
    tasks = {**TASKS, **(extra_tasks or {})}
    plan = _part(Plan.of(num_samples, task_dist, tasks, languages, rewards), shard, Path(out_dir))
    log = RunLog(Path(out_dir))
    policy = RequestPolicy(
        limits or Limits(), num_threads, retry, stop, partial(log.write, "retry")
    )
    recorded = read_manifest(Path(out_dir)).get("settings", {})
    model_name = model_to_ask(model_name, provider, recorded)
    thinking = parse_thinking(recorded.get("thinking") if thinking is None else thinking)
    if is_offline(provider):  # what nobody heeds is no setting of the folder
        temperature = max_output_tokens = thinking = None
        topics, structured = (), False
    options = {
        "temperature": temperature, "max_output_tokens": max_output_tokens, "thinking": thinking,
    }  # fmt: skip
    check_procedural(provider, level, families)
    kinds = procedural_kinds(level, families, plan)
    verification = Verification.of(verify, verify_model, provider, model_name, recorded)
    asked = ModelClients.by(
        provider, model_name, verification.model, price,
        {**options, "base_url": base_url, **kinds}, policy, structured=structured, batch=batch,
        dry_run=dry_run,
    )  # fmt: skip
    solves = SelfConsistency(asked.solver, verification.count, min_agreement, asked.writer.name)
    settings = {**asked.settings(), "seed": seed, **plan.settings(), "topics": list(topics)}
    settings |= {**options, **kinds, "structured": structured, **solves.settings()}
    with _opened(Path(out_dir), settings, timeout, extend=extend, dry_run=dry_run) as opened:
        store, journal, record = opened
        models = [asked.writer.model, *([asked.solver.model] if solves.count else [])]
        if batch and not journal.under_way:
            for model, option in zip(models, ("--model_name", "--verify_model"), strict=False):
                check_available(model, option=option)
        if shard is None:
            kind = resolve_provider(provider) if isinstance(provider, str) else ""
            for line in warnings_of(models, temperature, provider=kind, thinking=thinking):
                logger.warning("%s", line)
        thoughts = [thinking, nearest_thinking(models[-1], thinking)]
        room = max(thinking_request(*each).budget for each in zip(models, thoughts, strict=False))
        collecting = Collecting(journal)
        prices = [asked.writer.price, *[asked.solver.price] * solves.count]
        budget = Budget(
            max_cost,
            prices,
            journal.spending,
            plan.prompt_chars,
            max_output_tokens,
            collecting,
            room,
            batch=batch,
        )
        progress = _standing(plan, store, journal)
        missing = {family: progress.missing(family) for family in plan.targets}
        progress.estimate = (
            Estimate(missing)
            if is_offline(provider)
            else estimate(
                missing,
                prices,
                plan.prompt_chars,
                room,
                max_output_tokens,
                batch=batch,
                present=progress.rows,
                spent=progress.spending,
            )  # fmt: skip
        )
        if not progress.complete:
            budget.check()
            most = policy.limits.max_concurrency or num_threads
            at_once = min(num_threads, most, progress.left)
            if shard is None and not batch and (line := budget.crowded(at_once)):
                logger.warning("%s", line)
        if dry_run:
            return progress
        _prepare(plan, progress, rewards)
        if journal.under_way and not batch:
            raise UsageError(f"a batch is under way: `infinite-rl batch resume {out_dir}` goes on")
        answers, seed_of = collecting if batch else journal, partial(slot_seed, seed)
        run = Run(
            asker=AttemptPlanner(
                plan.tasks,
                tuple(topics),
                seed,
                store,
                journal,
                REPAIRABLE if solves.count else FORM,
            ),
            store=store,
            journal=journal,
            progress=progress,
            stop=stop,
            answer=AttemptRunner(answers, asked.writer, rewards, seed_of, store.has_prompt, solves),
            refusal=budget.refusal,
            max_retries=max_retries,
            save_every=save_every,
            debug=debug,
            on_progress=with_pacing(policy, on_progress),
            log=log,
            free=plan.free_indices,
        )
        with closing(log), _recorded(record, progress, policy, log):
            if batch:
                _go_in_batches(run, num_threads, asked.batches(journal), collecting)
            else:
                run.go(num_threads)
    return progress


def _part(plan: Plan, shard: Shard | None, out_dir: Path) -> Plan:
    """The shard's part of a plan, or all of it; raises UsageError where that is for a cluster."""
    if shard:
        return replace(plan, targets=dict(shard.targets), shard=shard)
    if shard_count(out_dir):
        raise UsageError(f"{out_dir} is made of shards: go on with it by --engine ray")
    return plan


@contextmanager
def _opened(
    out_dir: Path,
    settings: Mapping[str, object],
    timeout: float,
    *,
    extend: bool,
    dry_run: bool,
) -> Iterator[tuple[Store, Journal, RunManifest]]:
    """What is in the folder; for a dry run that of an empty one, where no run is there yet."""
    with ExitStack() as opened:
        if dry_run and not out_dir.is_file() and not _has_run(out_dir):
            out_dir = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        store = opened.enter_context(Store(out_dir))
        journal = opened.enter_context(closing(Journal(out_dir)))
        record = RunManifest(out_dir, settings, timeout)
        if not extend and (store.counts or journal.spending.calls):
            record.check()
        yield store, journal, record


def _has_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in (DATASET, FAILED, JOURNAL, MANIFEST))


def _standing(plan: Plan, store: Store, journal: Journal) -> Progress:
    """Where the run begins."""
    progress = Progress(plan.targets, {family: store.counts[family] for family in plan.tasks})
    progress.lost, progress.spending = len(journal.lost), journal.spending
    return progress


def _prepare(plan: Plan, progress: Progress, rewards: Mapping[str, RewardFunction]) -> None:
    """Have every reward that will be needed load what it needs, before anything is paid for."""
    for family, kinds in plan.tasks.items():
        for task in kinds if progress.missing(family) else ():
            rewards[task.reward].prepare(task.language)


@contextmanager
def _recorded(
    record: RunManifest, progress: Progress, policy: RequestPolicy, log: RunLog
) -> Iterator[None]:
    """Has the folder's manifest and its log tell of the run, however it ends."""
    record.begin()
    log.write("began", f"rows wanted: {_said(progress.targets)}; there: {_said(progress.present)}")
    try:
        yield
    finally:
        made, rejected = _said(progress.accepted), _said(progress.rejected)
        log.write("ended", f"rows made: {made or 0}; rejected: {rejected or 0}")
        progress.retries = policy.retries
        record.end(progress)


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _go_in_batches(run: Run, threads: int, batches: Batches, answers: Collecting) -> None:
    """Judge what has come down, and send up what is owed then."""
    progress = run.progress
    try:
        progress.batches = batches.collect()
        if not progress.batches:
            run.go(threads)
            if answers.wanted and not run.stop.is_set():
                progress.batches = batches.submit(answers.wanted)
    except ProviderError as error:
        progress.stopped = str(error)
    if progress.batches:
        progress.stopped = "a batch is under way"
