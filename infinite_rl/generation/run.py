"""One run's consumer: hands out attempts, settles outcomes, and knows when it is done."""

from __future__ import annotations

import logging
import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from ..errors import ProviderError
from ..inference.journal import BatchNotReady, Journal
from ..store import Store
from ..types import Attempt, Outcome
from ..workers.interruptible import interruptible_get
from .attempts import AttemptPlanner
from .progress import Progress
from .run_log import RunLog

logger = logging.getLogger(__name__)

# Rows in a row that independent solutions disagreed with, after which a family is given up: with a
# solver right half of the time, one row in ten meets that fate.
MOST_DISAGREEMENTS = 40
STOPPED_ON_REQUEST = "stopped on request"


@dataclass
class Run:
    """Brings a folder up to its targets.

    `answer` turns an attempt into an outcome, in a worker thread; everything else happens in the
    thread that calls `go`, so no lock is needed. It raises BatchNotReady if the answer is still in
    a batch. `refusal(in_flight)` says why no further attempt may be paid for beside those in
    flight, "" if one may. `free(family, filled)` gives the indices that this run may fill.
    """

    asker: AttemptPlanner
    store: Store
    journal: Journal
    progress: Progress
    stop: threading.Event
    answer: Callable[[Attempt], Outcome]
    refusal: Callable[[int], str]
    max_retries: int
    save_every: int
    debug: bool
    on_progress: Callable[[Progress], None]
    log: RunLog
    free: Callable[[str, Collection[int]], Iterator[int]]
    waiting: deque[Attempt] = field(default_factory=deque)  # what follows rejected attempts
    begun: Counter[str] = field(default_factory=Counter)  # samples not settled yet, per family
    failures: Counter[str] = field(default_factory=Counter)  # failed samples in a row, per family
    # Rows in a row that independent solutions disagreed with, per family; and samples with such.
    disagreements: Counter[str] = field(default_factory=Counter)
    disputed: set[tuple[str, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        filled = self.store.filled
        self.indices: dict[str, Iterator[int]] = {
            family: self.free(family, filled[family]) for family in self.progress.targets
        }

    def go(self, threads: int) -> None:
        """Run until nothing is missing, all is given up, or the run is stopped."""
        done: queue.SimpleQueue[Future[Outcome]] = queue.SimpleQueue()
        error: BaseException | None = None
        pool = ThreadPoolExecutor(threads, thread_name_prefix="infinite-rl")
        self.on_progress(self.progress)
        try:
            while True:
                while self.progress.in_flight < threads and (attempt := self._next()):
                    self.progress.in_flight += 1
                    pool.submit(self.answer, attempt).add_done_callback(done.put)
                if not self.progress.in_flight:
                    break
                future = interruptible_get(done, lambda: self.on_progress(self.progress))
                self.progress.in_flight -= 1
                failure = future.exception()
                if failure is None:
                    self._settle(future.result())
                elif not isinstance(failure, BatchNotReady):
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
            self.log.write("stopped", self.progress.stopped)
        self.stop.set()

    def _next(self) -> Attempt | None:
        """The next attempt, if any: begun samples first, then the family furthest behind."""
        if self.stop.is_set():
            return None
        progress = self.progress
        owed = {
            family: progress.missing(family) - self.begun[family]
            for family in progress.targets
            if family not in progress.given_up
        }
        family = max(owed, key=lambda name: owed[name] / max(1, progress.targets[name]), default="")
        if not self.waiting and (not family or owed[family] <= 0):
            return None
        if refusal := self.refusal(progress.in_flight):
            if not progress.in_flight:
                self._end(refusal)
            return None
        if self.waiting:
            return self.waiting.popleft()
        self.begun[family] += 1
        # A sample whose drafts an earlier run has used up is passed over.
        attempts = (self.asker.first(family, index) for index in self.indices[family])
        return next(attempt for attempt in attempts if attempt)

    def _settle(self, outcome: Outcome) -> None:
        self.progress.calls = self.journal.made
        outcome = self.store.settle(outcome)
        if outcome.accepted:
            logger.debug("%s accepted", outcome.attempt.slot)
        else:
            verdict = f"{outcome.attempt.slot} {outcome.reason}: {outcome.score.error_msg}"
            logger.info("rejected %s", verdict)
            self.log.write("rejected", verdict)
        if self.debug:
            self._write_debug(outcome)
        if outcome.accepted:
            self._count(outcome.attempt.slot.family)
        else:
            self._go_on(outcome)

    def _count(self, family: str) -> None:
        """A row was made."""
        self.progress.accepted[family] += 1
        self.begun[family] -= 1
        self.failures[family] = self.disagreements[family] = 0
        if self.progress.accepted.total() % self.save_every == 0:
            self.journal.sync()
            self.store.sync()

    def _go_on(self, outcome: Outcome) -> None:
        """Try once more after an outcome that was rejected, or end its sample."""
        slot = outcome.attempt.slot
        family, sample = slot.family, (slot.family, slot.index)
        self.progress.rejected[outcome.reason] += 1
        if outcome.reason == "disagreement":
            self._dispute(outcome)
        following = self.asker.after(outcome)
        if following and family not in self.progress.given_up:
            self.waiting.append(following)
            return
        self.begun[family] -= 1
        if sample in self.disputed:  # its author made rows, though none that is true
            self.disputed.discard(sample)
            return
        if not self.journal.answered_now(slot):
            return  # an earlier run paid for this failure, and counted it
        self.failures[family] += 1
        if self.failures[family] == self.max_retries:
            error = outcome.score.error_msg[:200]
            advice = ": ask for other tasks by --topics" if outcome.reason == "duplicate" else ""
            why = f"{self.max_retries} samples in a row failed, the last as {error!r}{advice}"
            self._give_up(family, why)

    def _dispute(self, outcome: Outcome) -> None:
        """Count a row that is not true; a solver that agrees with none must not cost forever."""
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
        """End a family's samples, those that are begun as well: each further call costs money."""
        self.progress.given_up[family] = why
        self.log.write("given up", f"{family}: {why}")
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
