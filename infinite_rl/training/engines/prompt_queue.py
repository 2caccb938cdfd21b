"""Which prompt is sampled next: every prompt once an epoch, none lost and none twice.

A prompt is pending, in flight, done or failed, once in every epoch. A prompt that is requeued,
because its worker died or its rollouts became too old, comes before all that are pending. Epochs do
not wait for each other: the next one begins while prompts of the last are in flight.
"""

import hashlib
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...errors import UsageError
from ..core.batches import epoch_order
from ..core.rollout_types import PromptRequest

TRIES = 3  # of a prompt in an epoch


class PromptQueue:
    """Hands out each prompt once an epoch, without end, until all prompts have failed.

    Each epoch is shuffled by the seed (as `batches.rows_of_step`), or keeps the given order if the
    seed is None. A prompt whose request failed `TRIES` times in an epoch has failed for good. Ids
    may repeat: a prompt is its index.

    For one thread. `pop` takes constant time, except for the first prompt of an epoch.

    Raises:
        UsageError: no prompts.
    """

    def __init__(self, ids: Sequence[str], *, seed: object = 0) -> None:
        if not ids:
            raise UsageError("there are no prompts")
        self._ids, self._seed = ids, None if seed is None else f"{seed}"
        self._digest = ""
        self._requeued: deque[PromptRequest] = deque()  # the next first
        # The three below have the key (epoch, index) or index.
        self._in_flight: dict[tuple[int, int], PromptRequest] = {}  # the oldest first
        self._faults: dict[tuple[int, int], int] = {}  # failed requests of unfinished prompts
        self._reasons: dict[int, str] = {}  # why prompts failed for good
        self._begin(0)

    def __len__(self) -> int:
        """The prompts of an epoch."""
        return len(self._ids)

    def pop(self) -> PromptRequest | None:
        """Request the next prompt; None if none can be handed out now.

        After None, a prompt in flight may still be requeued.
        """
        if self._requeued:
            last = self._requeued.popleft()
            request = replace(last, attempt=last.attempt + 1)
        else:
            if self._position == len(self._ids):
                if not self._has_next_epoch():
                    return None
                self._begin(self.epoch + 1)
            index = self._order[self._position]
            self._position += 1
            self._skip_failed()
            request = PromptRequest(index, self._ids[index], self.epoch)
        self._in_flight[request.epoch, request.index] = request
        return request

    def done(self, request: PromptRequest) -> None:
        """The prompt was trained on or filtered: it does not come again in its epoch.

        Raises:
            ValueError: the request is not in flight (here and in the methods below).
        """
        self._faults.pop(self._land(request), None)

    def failed(self, request: PromptRequest, why: str) -> None:
        """Give the prompt up, in this epoch and all later ones."""
        self._faults.pop(self._land(request), None)
        self._reasons.setdefault(request.index, why)
        self._skip_failed()

    def requeue(self, request: PromptRequest) -> None:
        """Hand the prompt out again before all that are pending, without counting a fault."""
        self._land(request)
        self._requeued.append(request)

    def retry(self, request: PromptRequest, why: str) -> bool:
        """Count a fault and requeue, or fail the prompt after its last try.

        Returns whether it was requeued.
        """
        key = (request.epoch, request.index)
        faults = self._faults.get(key, 0) + 1
        if faults >= TRIES:
            self.failed(request, why)
            return False
        self.requeue(request)
        self._faults[key] = faults
        return True

    def faults(self, request: PromptRequest) -> int:
        """How many requests for this prompt have failed in its epoch."""
        return self._faults.get((request.epoch, request.index), 0)

    def is_in_flight(self, request: PromptRequest) -> bool:
        """Whether this very request is in flight, not an earlier attempt."""
        return self._in_flight.get((request.epoch, request.index)) == request

    @property
    def failures(self) -> Mapping[str, str]:
        """Why prompts failed, by id."""
        return {self._ids[index]: why for index, why in self._reasons.items()}

    def state(self) -> dict[str, Any]:
        """The state for `restore`, as JSON values; its size does not grow with pending or done."""
        return {
            "prompts": self._fingerprint(),
            "epoch": self.epoch,
            "at": self._position,
            "in_flight": self._state_of(self._in_flight.values()),
            "waiting": self._state_of(self._requeued),
            "reasons": [[index, why] for index, why in self._reasons.items()],
        }

    def restore(self, state: Mapping[str, Any], buffered: Collection[PromptRequest] = ()) -> None:
        """Restore what `state` returned; requests in flight are requeued before all others.

        The `buffered` ones, whose rollouts are in the checkpoint, stay in flight.

        Raises:
            UsageError: other prompts or another order than the state's; or a buffered request was
                not in flight.
        """
        if state["prompts"] != self._fingerprint():
            raise UsageError("these are not the prompts, or not the seed, that the run began with")
        self._begin(state["epoch"])
        self._position = state["at"]
        self._reasons = {index: why for index, why in state["reasons"]}
        entries = [*state["in_flight"], *state["waiting"]]
        self._faults = {(epoch, index): faults for index, epoch, _, faults in entries if faults}
        requests = [
            PromptRequest(index, self._ids[index], epoch, attempt)
            for index, epoch, attempt, _ in entries
        ]
        split = len(state["in_flight"])
        if not set(buffered) <= set(requests[:split]):
            raise UsageError("a buffered group is of a prompt that was not in flight")
        self._in_flight = {(each.epoch, each.index): each for each in requests if each in buffered}
        self._requeued = deque(each for each in requests if each not in buffered)

    def _begin(self, epoch: int) -> None:
        self.epoch, self._position = epoch, 0
        self._order = epoch_order(len(self._ids), epoch, self._seed)
        self._skip_failed()

    def _has_next_epoch(self) -> bool:
        return len(self._reasons) < len(self._ids)

    def _skip_failed(self) -> None:
        """Advance past prompts that have failed for good."""
        while self._position < len(self._ids) and self._order[self._position] in self._reasons:
            self._position += 1

    def _land(self, request: PromptRequest) -> tuple[int, int]:
        if not self.is_in_flight(request):
            raise ValueError(f"{request} is not in flight")
        del self._in_flight[request.epoch, request.index]
        return request.epoch, request.index

    def _state_of(self, requests: Iterable[PromptRequest]) -> list[list[int]]:
        return [[each.index, each.epoch, each.attempt, self.faults(each)] for each in requests]

    def _fingerprint(self) -> str:
        """Identifies these prompts in this order."""
        if not self._digest:
            digest = hashlib.sha256(f"{self._seed!r}".encode())
            for each in self._ids:
                text = each.encode("utf-8", "surrogatepass")
                digest.update(b"%d:%b" % (len(text), text))
            self._digest = digest.hexdigest()
        return self._digest
