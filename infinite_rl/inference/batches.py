"""Generation in file batches, at half price: calls go up together, and come down answered.

The journal holds all of it: each call that went up, under its batch's label, and the name by which
the service knows the batch. So any later process can go on.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

from ..errors import ProviderError, ProviderUnavailable
from ..providers.base import BatchProvider
from ..providers.batch import ENDED
from ..types import Completion
from .journal import Batch, BatchNotReady, Call, Journal, Source

logger = logging.getLogger(__name__)

MOST_VAIN = 3  # batches that a call goes up in, unanswered, before the run ends
MOST = 10_000  # calls in one batch: its results are held in memory


class Collecting:
    """Answers from a journal; the calls that it lacks are put down in `wanted`, by role."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self.wanted: defaultdict[str, dict[str, Call]] = defaultdict(dict)

    @property
    def lost(self) -> set[str]:
        """Slots that must not be used."""
        return self._journal.lost

    def __len__(self) -> int:
        return sum(map(len, self.wanted.values()))

    def complete(self, call: Call, source: Source) -> Completion:
        """Return the answer in the journal. Raises BatchNotReady or NoCompletion."""
        found = self._journal.answer(call.slot)
        if found is None:
            with self._lock:
                self.wanted[source.role][str(call.slot)] = call
            raise BatchNotReady(str(call.slot))
        return found


@dataclass(frozen=True)
class Batches:
    """The batches of a folder: who is asked in each role, and what a call then costs."""

    journal: Journal
    sources: Mapping[str, Source]
    provider: Callable[[str], BatchProvider]

    def collect(self) -> list[str]:
        """Keep the answers of every batch that has ended; the names of those that have not.

        A call that was not answered may be sent up again. Where no call was, and one of them for
        the third time, the run had better end: each further batch may go the same way.

        Raises:
            ProviderError: the service does not tell, or answers nothing; nothing is lost.
        """
        running: list[str] = []
        troubles: dict[str, str] = {}  # of all slots that were not answered, by slot
        answered = False
        for label, batch in self.journal.batches.items():
            if not batch.slots:
                continue
            provider = self.provider(batch.role)
            name = batch.name or next(iter(provider.find(label)), "")
            state = provider.state(name) if name else "never begun"
            if name and state not in ENDED:
                running.append(name)
                continue
            size, found = len(batch.slots), self._settle(batch, name, state)
            if name and found:
                why = next(iter(found.values()))
                logger.warning("%s: %d of %d calls not answered: %s", name, len(found), size, why)
            answered = answered or len(found) < size or not name
            troubles |= found
        vain = [slot for slot in troubles if self.journal.failures[slot] % MOST_VAIN == 0]
        if vain and not answered and not running:
            raise ProviderUnavailable(
                f"{MOST_VAIN} batches came down without an answer ({troubles[vain[0]]}); "
                "the same command sends their calls up once more"
            )
        return running

    def _settle(self, batch: Batch, name: str, state: str) -> dict[str, str]:
        """Keep what has come down of a batch; why its other slots have no answer, by slot."""
        troubles: dict[str, str] = {}

        def settle(slot: str, answer: Completion | ProviderError) -> None:
            self.journal.settle(slot, answer, self.sources[batch.role])
            if isinstance(answer, ProviderUnavailable):
                troubles[slot] = str(answer)

        for slot, answer in self.provider(batch.role).results(name) if name else ():
            if slot in batch.slots:
                settle(slot, answer)
        for slot in sorted(batch.slots):
            settle(slot, ProviderUnavailable(f"the batch is {state}"))
        return troubles

    def submit(self, wanted: Mapping[str, Mapping[str, Call]]) -> list[str]:
        """Send the calls up, and give the names of their batches.

        Raises:
            ProviderError: the service did not take them. Whether it has begun a batch all the same
                is asked by the next `collect`.
        """
        names: list[str] = []
        for role, calls in wanted.items():
            rest = iter(calls.values())
            while some := list(islice(rest, MOST)):
                label = f"infinite-rl-{uuid.uuid4().hex[:12]}"
                self.journal.send_up(label, role, some)
                requests = {str(c.slot): (c.system, c.prompt, c.seed) for c in some}
                name = self.provider(role).submit(requests, label)
                self.journal.name_batch(label, name)
                names.append(name)
        return names
