"""Make a data set: ask, judge, keep, and ask again until every family has its rows.

Worker threads make one call each and judge its answer; one consumer, the calling thread, alone
touches counts, progress and files. Whatever happens to the process, the folder holds whole rows,
and the same call made again goes on from there.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from .errors import NoCompletion, ProviderError, UnknownName, UsageError
from .judge import judge, no_completion
from .limits import RetryingProvider, RetryPolicy
from .plan import free_slots, parse_weights, slot_seed, split_total
from .prompts import rectify_request, task_request
from .providers import make_provider
from .providers.provider import Provider
from .reward_functions import get_reward_functions
from .reward_functions.reward_function import RewardFunction
from .runtimes import language_of
from .store import Store
from .tasks import TASKS
from .types import Attempt, Outcome, Slot, TaskType

logger = logging.getLogger(__name__)

MAX_DRAFTS = 5  # new tasks tried for one sample
MAX_REPAIRS = 2  # times that one draft is asked for again, told what failed
SHOWN = 3  # earlier prompts that a model is shown
STOPPED_ON_REQUEST = "stopped on request"
REPAIRABLE = ("incomplete", "unscored", "wrong", "format")


@dataclass
class Progress:
    """Where a run stands.

    `targets`, `present` and `accepted` are rows per family: the total wanted, those found at the
    start, and those made since. `calls` counts the answered ones, `retries` those that met passing
    trouble; `given_up` holds a reason per family, `stopped` why the whole run ended early.
    """

    targets: dict[str, int]
    present: dict[str, int]
    accepted: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    calls: int = 0
    retries: int = 0
    given_up: dict[str, str] = field(default_factory=dict)
    stopped: str = ""

    def missing(self, family: str) -> int:
        """Rows still to be made, 0 where there are enough."""
        return max(0, self.targets[family] - self.present[family] - self.accepted[family])

    @property
    def complete(self) -> bool:
        return not any(self.missing(family) for family in self.targets)


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
    retry: RetryPolicy | None = None,
    stop: threading.Event | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Bring `out_dir/dataset.csv` up to `num_samples` verified rows, and say how it went.

    Only what is missing is generated. Every rejected attempt goes to `failed_dataset.csv`.

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
        retry: how calls that meet passing trouble are repeated.
        stop: set it from anywhere to end the run; calls under way are still waited for and kept.
        on_progress: called by this thread when the run begins and after every outcome.

    Raises:
        UsageError: an argument cannot be used; nothing was asked and nothing written.
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
    targets = split_total(num_samples, parse_weights(task_dist, list(tasks)))
    rewards = get_reward_functions(timeout=timeout, extra=extra_rewards)
    _check(tasks, targets, rewards)
    if isinstance(provider, str):
        provider = make_provider(
            provider, model_name, temperature=temperature, max_output_tokens=max_output_tokens
        )
    stop = stop or threading.Event()
    waits: list[float] = []  # one for each retry; a list can be appended to from any thread
    retrying = RetryingProvider(
        provider, retry, stop=stop, on_retry=lambda _, wait_s: waits.append(wait_s)
    )
    with Store(Path(out_dir)) as store:
        asker = _Asker(tasks, tuple(topics), seed, store)
        progress = Progress(targets, {family: store.counts[family] for family in tasks})
        _prepare(tasks, progress, rewards)
        run = _Run(asker, store, progress, stop, max_retries, save_every, debug, on_progress)
        run.go(lambda attempt: _answer(attempt, retrying, rewards), num_threads)
        progress.retries = len(waits)
    return progress


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


def _answer(attempt: Attempt, provider: Provider, rewards: Mapping[str, RewardFunction]) -> Outcome:
    """One call and its judgement: what a worker thread does."""
    try:
        completion = provider.complete(attempt.task.system_prompt, attempt.request, attempt.seed)
    except NoCompletion as error:
        return no_completion(attempt, str(error))
    # Python 3.10 writes a NUL into a CSV file, but does not read it back.
    completion = replace(completion, text=completion.text.replace("\0", "\ufffd"))
    return judge(attempt, completion, rewards)


class _Asker:
    """Turns slots into attempts: which task, which topic, what is shown, which seed."""

    def __init__(
        self,
        tasks: Mapping[str, Sequence[TaskType]],
        topics: Sequence[str],
        seed: int,
        store: Store,
    ) -> None:
        self._tasks, self._topics, self._seed, self._store = tasks, topics, seed, store

    def draft(self, slot: Slot) -> Attempt:
        """The attempt at a new task."""
        tasks = self._tasks[slot.family]
        turn, which = divmod(slot.index, len(tasks))
        task = tasks[which]
        shown = self._store.frozen(slot, self._store.recent(slot.family, task.language, SHOWN))
        topic = self._topics[turn % len(self._topics)] if self._topics else ""
        return Attempt(slot, task, task_request(task, topic, shown), slot_seed(self._seed, slot))

    def after(self, outcome: Outcome) -> Attempt | None:
        """The attempt that follows a rejected one: a repair, else a redraw, else none."""
        slot, text = outcome.attempt.slot, outcome.completion and outcome.completion.text
        if text and outcome.reason in REPAIRABLE and slot.repair < MAX_REPAIRS:
            repair = replace(slot, repair=slot.repair + 1)
            request = rectify_request(outcome.score, text)
            return Attempt(repair, outcome.attempt.task, request, slot_seed(self._seed, repair))
        if slot.draft + 1 < MAX_DRAFTS:
            return self.draft(Slot(slot.family, slot.index, slot.draft + 1))
        return None


@dataclass
class _Run:
    """One run's consumer: hands out attempts, settles outcomes, and knows when it is done."""

    asker: _Asker
    store: Store
    progress: Progress
    stop: threading.Event
    max_retries: int
    save_every: int
    debug: bool
    on_progress: Callable[[Progress], None]
    waiting: deque[Attempt] = field(default_factory=deque)  # what follows rejected attempts
    begun: Counter[str] = field(default_factory=Counter)  # samples not settled yet, per family
    failures: Counter[str] = field(default_factory=Counter)  # failed samples in a row, per family

    def __post_init__(self) -> None:
        filled = self.store.filled
        self.slots = {name: free_slots(name, filled[name]) for name in self.progress.targets}

    def go(self, answer: Callable[[Attempt], Outcome], threads: int) -> None:
        """Run until nothing is missing, all is given up, or the run is stopped."""
        done: queue.SimpleQueue[Future[Outcome]] = queue.SimpleQueue()
        error: BaseException | None = None
        pool = ThreadPoolExecutor(threads, thread_name_prefix="infinite-rl")
        self.on_progress(self.progress)
        try:
            while True:
                while self.progress.in_flight < threads and (attempt := self._next()):
                    self.progress.in_flight += 1
                    pool.submit(answer, attempt).add_done_callback(done.put)
                if not self.progress.in_flight:
                    break
                future = done.get()
                self.progress.in_flight -= 1
                failure = future.exception()
                if failure is None:
                    self._settle(future.result())
                else:
                    self._end(str(failure))
                    if not isinstance(failure, ProviderError):
                        error = error or failure
                self.on_progress(self.progress)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if error:
            raise error
        if self.stop.is_set() and not self.progress.complete:
            self._end(STOPPED_ON_REQUEST)

    def _end(self, why: str) -> None:
        """Stop the run. The first reason counts: once stopped, calls fail for that alone."""
        if not self.progress.stopped:
            self.progress.stopped = STOPPED_ON_REQUEST if self.stop.is_set() else why
        self.stop.set()

    def _next(self) -> Attempt | None:
        """The next attempt, if any: begun samples first, then the family furthest behind."""
        if self.stop.is_set():
            return None
        if self.waiting:
            return self.waiting.popleft()
        progress = self.progress
        owed = {
            family: progress.missing(family) - self.begun[family]
            for family in progress.targets
            if family not in progress.given_up
        }
        family = max(owed, key=lambda name: owed[name] / max(1, progress.targets[name]), default="")
        if not family or owed[family] <= 0:
            return None
        self.begun[family] += 1
        return self.asker.draft(next(self.slots[family]))

    def _settle(self, outcome: Outcome) -> None:
        family = outcome.attempt.slot.family
        if outcome.accepted and self.store.has_prompt(outcome.sample.prompt):
            score = replace(outcome.score, error_msg="a row asks the same")
            outcome = replace(outcome, reason="duplicate", score=score)
        self.progress.calls += 1
        verdict = f"{outcome.reason}: {outcome.score.error_msg}" if outcome.reason else "accepted"
        logger.debug("%s %s", outcome.attempt.slot, verdict)
        if self.debug:
            self._write_debug(outcome)
        if outcome.accepted:
            self.store.accept(outcome)
            self.progress.accepted[family] += 1
            self.begun[family] -= 1
            self.failures[family] = 0
            if sum(self.progress.accepted.values()) % self.save_every == 0:
                self.store.sync()
            return
        self.store.reject(outcome)
        self.progress.rejected[outcome.reason] += 1
        following = self.asker.after(outcome)
        if following and family not in self.progress.given_up:
            self.waiting.append(following)
            return
        self.begun[family] -= 1
        self.failures[family] += 1
        if self.failures[family] == self.max_retries:
            self._give_up(family, outcome.score.error_msg)

    def _give_up(self, family: str, error: str) -> None:
        """End a family's samples, those that are begun as well: each further call costs money."""
        self.progress.given_up[family] = (
            f"{self.max_retries} samples in a row failed, the last as {error[:200]!r}"
        )
        self.waiting = deque(next_ for next_ in self.waiting if next_.slot.family != family)

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
