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

from .asker import Asker
from .budget import Budget, estimate
from .errors import NoCompletion, UnknownName, UsageError
from .journal import Call, Journal
from .judge import judge, no_completion
from .limits import RetryingProvider, RetryPolicy
from .manifest import Record
from .plan import parse_weights, split_total
from .prices import Price, parse_price, price_of
from .progress import Progress
from .prompts import task_request
from .providers import PROVIDERS, make_provider, resolve_provider
from .providers.provider import Provider
from .reward_functions import get_reward_functions
from .reward_functions.reward_function import RewardFunction
from .run import Run
from .runtimes import language_of
from .store import Store
from .tasks import TASKS
from .types import Attempt, Completion, Outcome, TaskType


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
    tasks = _by_family({**TASKS, **(extra_tasks or {})}, languages)
    weights = parse_weights(task_dist, list(tasks))
    targets = split_total(num_samples, weights)
    rewards = get_reward_functions(timeout=timeout, extra=extra_rewards)
    _check(tasks, targets, rewards)
    if isinstance(provider, str):
        if not PROVIDERS[resolve_provider(provider)].asks_a_model:
            price = price or Price(0.0, 0.0)
        provider = make_provider(
            provider, model_name, temperature=temperature, max_output_tokens=max_output_tokens
        )
    price = parse_price(price) if isinstance(price, str) else price or price_of(provider.model)
    stop = stop or threading.Event()
    waits: list[float] = []  # one for each retry; a list can be appended to from any thread
    retrying = RetryingProvider(
        provider, retry, stop=stop, on_retry=lambda _, wait_s: waits.append(wait_s)
    )
    settings = {
        "provider": type(provider).__name__,
        "model": provider.model,
        "seed": seed,
        "task_dist": {family: round(weight, 9) for family, weight in weights.items()},
        "languages": sorted({task.language for kinds in tasks.values() for task in kinds} - {""}),
        "topics": list(topics),
        "temperature": temperature,
        "max_output_tokens": max_output_tokens,
        "prompts": _fingerprint(tasks),
    }
    with ExitStack() as opened:
        folder = _folder(Path(out_dir), opened, dry_run=dry_run)
        store = opened.enter_context(Store(folder))
        journal = opened.enter_context(closing(Journal(folder, price)))
        record = Record(folder, settings)
        if not extend and (store.counts or journal.spending.calls):
            record.check()
        progress = Progress(targets, {family: store.counts[family] for family in tasks})
        progress.lost, progress.spending = len(journal.lost), journal.spending
        chars = _prompt_length(tasks)
        progress.estimate = estimate(progress, price, chars)
        budget = Budget(max_cost, price, journal.spending, chars, max_output_tokens)
        if dry_run:
            return progress
        _prepare(tasks, progress, rewards)
        run = Run(
            asker=Asker(tasks, tuple(topics), seed, store, journal),
            store=store,
            journal=journal,
            progress=progress,
            stop=stop,
            answer=partial(_answer, journal=journal, ask=retrying.complete, rewards=rewards),
            refusal=budget.refusal,
            max_retries=max_retries,
            save_every=save_every,
            debug=debug,
            on_progress=on_progress,
        )
        record.begin()
        try:
            run.go(num_threads)
        finally:
            progress.retries = len(waits)
            record.end(progress)
    return progress


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


def _answer(
    attempt: Attempt,
    journal: Journal,
    ask: Callable[[str, str, int], Completion],
    rewards: Mapping[str, RewardFunction],
) -> Outcome:
    """One call and its judgement: what a worker thread does."""
    task = attempt.task
    call = Call(attempt.slot, task.name, task.system_prompt, attempt.request, attempt.seed)
    try:
        completion = journal.complete(call, ask)
    except NoCompletion as error:
        return no_completion(attempt, str(error))
    # Python 3.10 writes a NUL into a CSV file, but does not read it back.
    completion = replace(completion, text=completion.text.replace("\0", "\ufffd"))
    return judge(attempt, completion, rewards)


def _fingerprint(tasks: Mapping[str, Sequence[TaskType]]) -> str:
    """A hash of all that the tasks ask."""
    texts = [
        [task.name, task.system_prompt, task.request, *task.examples]
        for kinds in tasks.values()
        for task in kinds
    ]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
