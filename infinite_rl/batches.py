"""Generation in file batches, at half price: calls go up together, and come down answered.

The journal holds all of it: each call that went up, under its batch's label, and the name by which
the service knows the batch. So any later process can go on.
"""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

from .errors import ProviderUnavailable
from .journal import Call, Journal, Pending, Source
from .providers.gemini_batch import ENDED
from .providers.provider import BatchProvider
from .types import Completion

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
        """The answer that the journal holds. Raises Pending, and NoCompletion as the journal."""
        found = self._journal.answer(call.slot)
        if found is None:
            with self._lock:
                self.wanted[source.role][str(call.slot)] = call
            raise Pending(str(call.slot))
        return found


@dataclass(frozen=True)
class Batches:
    """The batches of a folder: who is asked in each role, and what a call then costs."""

    journal: Journal
    sources: Mapping[str, Source]
    provider: Callable[[str], BatchProvider]

    def collect(self) -> list[str]:
        """Keep the answers of every batch that has ended; the names of those that have not.

        Raises:
            ProviderError: the service does not tell; nothing is lost.
        """
        running: list[str] = []
        for label, batch in self.journal.batches.items():
            if not batch.slots:
                continue
            provider = self.provider(batch.role)
            name = batch.name or next(iter(provider.find(label)), "")
            state = provider.state(name) if name else "never begun"
            if name and state not in ENDED:
                running.append(name)
                continue
            for slot, answer in provider.results(name) if name else ():
                if slot in batch.slots:
                    self.journal.settle(slot, answer, self.sources[batch.role])
            for slot in sorted(batch.slots):  # whatever was not answered may be asked again
                self.journal.settle(
                    slot, ProviderUnavailable(f"the batch is {state}"), self.sources[batch.role]
                )
        return running

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
