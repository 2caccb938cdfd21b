"""Make a data set: ask, judge, keep, and ask again until every family has its rows.

Worker threads make one call each and judge its answer; one consumer, the calling thread, alone
touches counts, progress and files. Whatever happens to the process, the folder holds whole rows,
and the same call made again goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from .answering import Answering, BlindSolves
from .asked import Asked
from .asker import Asker
from .batches import Batches, Collecting
from .budget import Budget, estimate
from .errors import ProviderError, UnknownName, UsageError
from .journal import Journal
from .limits import LimitedProvider, Limits, RetryPolicy
from .manifest import Record
from .plan import parse_weights, slot_seed, split_total
from .prices import Price
from .progress import Progress
from .prompts import task_request
from .proof.solves import MIN_AGREEMENT
from .providers.provider import Provider
from .reward_functions import get_reward_functions
from .reward_functions.reward_function import RewardFunction
from .run import Run
from .runtimes import language_of
from .store import Store
from .tasks import TASKS
from .types import TaskType


def generate_dataset(
    model_name: str,
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
    topics: Sequence[str] = (),
    extra_tasks: Mapping[str, TaskType] | None = None,
    extra_rewards: Mapping[str, RewardFunction] | None = None,
    extend: bool = False,
    price: str | Price | None = None,
    max_cost: float | None = None,
    dry_run: bool = False,
    verify: int = 0,
    verify_model: str | Provider = "",
    min_agreement: float = MIN_AGREEMENT,
    base_url: str | None = None,
    structured: bool = False,
    batch: bool = False,
    limits: Limits | None = None,
    retry: RetryPolicy | None = None,
    stop: threading.Event | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Bring `out_dir/dataset.csv` up to `num_samples` verified rows, and say how it went.

    Only what is missing is generated. Every rejected attempt goes to `failed_dataset.csv`. Each
    answer goes to `journal.jsonl` before it is judged, so that none is paid for twice.

    Args:
        save_every: rows are appended at once; after so many they are forced to the disk.
        max_retries: consecutive failed samples of one family after which that family is given up.
        timeout: seconds that a reward may take for one judgement.
        task_dist: a weight per family, in the order coding, math and then those of `extra_tasks`;
            or a mapping by family.
        provider: "auto" (gemini where a key is set, else procedural), another name, or your own.
        seed: of the run; each call's own seed follows from it and from the call's place.
        topics: the subjects to go through in turn.
        extra_tasks, extra_rewards: your own, by name, beside or in place of the built-in ones.
        extend: go on in a folder that was made with other settings.
        price: of the model, in US dollars for a million tokens of input and output ("0.10,0.40");
            by default that of the table in `prices`.
        max_cost: US dollars that all calls of the folder may cost, those of earlier runs included.
        dry_run: ask and write nothing; the progress tells what is missing, and an estimate.
        verify: how often each task is solved from its prompt alone before its row is kept.
        verify_model: the model that solves them, or a provider of your own; by default the one that
            writes them.
        min_agreement: the share of these solves that must agree with the row's answer.
        base_url: where a provider that is named sends its requests.
        structured: have the model held to the three sections by a schema.
        batch: send the calls up as file batches, at half price, and return; the same call made
            again keeps what has come down, and sends up what is still owed.
        limits: requests and tokens a minute, and requests in flight, by default as many as threads;
            a blind solver that is another model has the same ones for itself.
        retry: how calls that meet passing trouble are repeated.
        stop: set it from anywhere to end the run; calls under way are still waited for and kept.
        on_progress: called by this thread when the run begins and after every outcome.

    Raises:
        UsageError: an argument cannot be used, or the folder was made with other settings; nothing
            was asked and nothing written.
        StoreError: the folder cannot be written, or holds foreign files.
        ProviderRefused: the provider cannot be set up. Trouble while the run goes on does not
            raise: the run stops, with `Progress.stopped` saying why.
    """
    counts = {"num_samples": num_samples, "num_threads": num_threads}
    counts |= {"save_every": save_every, "max_retries": max_retries}
    for name, count in counts.items():
        if count < 1:
            raise UsageError(f"{name} must be at least 1, not {count}")
    if verify < 0 or not 0 <= min_agreement <= 1:
        raise UsageError("verify must be at least 0, and min_agreement between 0 and 1")
    tasks = _by_family({**TASKS, **(extra_tasks or {})}, languages)
    weights = parse_weights(task_dist, list(tasks))
    targets = split_total(num_samples, weights)
    rewards = get_reward_functions(timeout=timeout, extra=extra_rewards)
    _check(tasks, targets, rewards)
    stop = stop or threading.Event()
    retries: list[float] = []  # the waits; a list can be appended to from any thread
    limits = limits or Limits()
    persist = partial(
        LimitedProvider,
        policy=retry,
        limits=replace(limits, max_concurrency=limits.max_concurrency or num_threads),
        stop=stop,
        on_retry=lambda _, wait_s: retries.append(wait_s),
    )
    options = {"temperature": temperature, "max_output_tokens": max_output_tokens}
    asked = Asked.by(
        provider, model_name, verify_model, price,
        {**options, "base_url": base_url}, persist, structured=structured, batch=batch,
    )  # fmt: skip
    writer, solver = asked.writer, asked.solver
    settings = {
        "provider": writer.name,
        "model": writer.model,
        "seed": seed,
        "task_dist": {family: round(weight, 9) for family, weight in weights.items()},
        "languages": sorted({task.language for kinds in tasks.values() for task in kinds} - {""}),
        "topics": list(topics),
        **options,
        "structured": structured,
        "prompts": _fingerprint(tasks),
        "verify": verify,
        "verify_model": solver.model if verify else "",
        "min_agreement": min_agreement if verify else None,
    }
    with ExitStack() as opened:
        folder = _folder(Path(out_dir), opened, dry_run=dry_run)
        store = opened.enter_context(Store(folder))
        journal = opened.enter_context(closing(Journal(folder)))
        record = Record(folder, settings)
        if not extend and (store.counts or journal.spending.calls):
            record.check()
        progress = Progress(targets, {family: store.counts[family] for family in tasks})
        progress.lost, progress.spending = len(journal.lost), journal.spending
        prices, chars = [writer.price, *[solver.price] * verify], _prompt_length(tasks)
        progress.estimate = estimate(progress, prices, chars)
        budget = Budget(max_cost, prices, journal.spending, chars, max_output_tokens)
        if dry_run:
            return progress
        _prepare(tasks, progress, rewards)
        if not batch and any(sent.slots for sent in journal.batches.values()):
            raise UsageError(
                f"a batch is under way: go on with `infinite-rl batch resume {folder}`"
            )
        answers = Collecting(journal) if batch else None
        run = Run(
            asker=Asker(tasks, tuple(topics), seed, store, journal),
            store=store,
            journal=journal,
            progress=progress,
            stop=stop,
            answer=Answering(
                journal if answers is None else answers,
                writer,
                rewards,
                partial(slot_seed, seed),
                store.has_prompt,
                BlindSolves(solver, verify, min_agreement) if verify else None,
            ),
            refusal=lambda flying: budget.refusal(
                flying + (0 if answers is None else len(answers))
            ),
            max_retries=max_retries,
            save_every=save_every,
            debug=debug,
            on_progress=on_progress,
        )
        record.begin()
        try:
            if answers is None:
                run.go(num_threads)
            else:
                _go_in_batches(run, num_threads, asked.batches(journal), answers)
        finally:
            progress.retries = len(retries)
            record.end(progress)
    return progress


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


def _folder(out_dir: Path, opened: ExitStack, *, dry_run: bool) -> Path:
    """The folder to work in: for a dry run an empty one, where `out_dir` is not there."""
    if not dry_run or out_dir.exists():
        return out_dir
    return Path(opened.enter_context(tempfile.TemporaryDirectory()))


def _prompt_length(tasks: Mapping[str, Sequence[TaskType]]) -> int:
    """The characters of the longest first prompt."""
    kinds = [task for kinds in tasks.values() for task in kinds]
    return max(len(task.system_prompt) + len(task_request(task)) for task in kinds)


def _by_family(
    tasks: Mapping[str, TaskType], languages: Sequence[str]
) -> dict[str, list[TaskType]]:
    """The tasks in use, by family; of those with a language, only the chosen languages'."""
    known = {task.language for task in tasks.values() if task.language}
    chosen = {name if name in known else language_of(name) or name for name in languages}
    for language in chosen - known:
        raise UnknownName("language", language, known)
    families: dict[str, list[TaskType]] = {task.family: [] for task in tasks.values()}
    for task in tasks.values():
        if not task.language or task.language in chosen:
            families[task.family].append(task)
    return families


def _check(
    tasks: Mapping[str, Sequence[TaskType]],
    targets: Mapping[str, int],
    rewards: Mapping[str, RewardFunction],
) -> None:
    """Refuse what could only fail once calls have been paid for."""
    for family, kinds in tasks.items():
        if targets[family] and not kinds:
            raise UsageError(f"no language is chosen for {family} tasks")
        for task in kinds:
            if task.reward not in rewards:
                raise UnknownName("reward", task.reward, rewards)


def _prepare(
    tasks: Mapping[str, Sequence[TaskType]],
    progress: Progress,
    rewards: Mapping[str, RewardFunction],
) -> None:
    """Have every reward that will be needed load what it needs, before anything is paid for."""
    for family, kinds in tasks.items():
        for task in kinds if progress.missing(family) else ():
            rewards[task.reward].prepare(task.language)


def _fingerprint(tasks: Mapping[str, Sequence[TaskType]]) -> str:
    """A hash of all that the tasks ask."""
    texts = [
        [task.name, task.system_prompt, task.request, *task.examples]
        for kinds in tasks.values()
        for task in kinds
    ]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
