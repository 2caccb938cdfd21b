"""Which prompt is sampled next: each is done or failed once an epoch, whatever happens."""

import copy
import io
import json
from collections.abc import Callable

import pytest
from finite_queue import FiniteQueue
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from infinite_rl.errors import UsageError
from infinite_rl.training.core.batches import rows_of_step
from infinite_rl.training.core.rollout_types import PromptRequest
from infinite_rl.training.engines.prompt_queue import TRIES, PromptQueue

IDS = [f"gsm8k/{number}" for number in range(7)]


def popped(queue: PromptQueue, count: int) -> list[PromptRequest]:
    return [request for _ in range(count) if (request := queue.pop()) is not None]


def drained(queue: FiniteQueue) -> list[PromptRequest]:
    """All prompts still to come, each done at once."""
    requests = []
    while request := queue.pop():
        queue.done(request)
        requests.append(request)
    assert queue.finished
    return requests


class Interleaved(RuleBasedStateMachine):
    """Any events in any order, beside a plain record of them."""

    @initialize(
        count=st.integers(1, 6),
        epochs=st.integers(1, 3),
        seed=st.sampled_from([3, None]),
    )
    def begin(self, count: int, epochs: int, seed: int | None) -> None:
        self.ids = [f"id {number // 2}" for number in range(count)]  # two prompts may share an id
        self.epochs = epochs
        self.make: Callable[[], FiniteQueue] = lambda: FiniteQueue(
            self.ids, seed=seed, epochs=epochs
        )
        self.queue = self.make()
        self.flying: list[PromptRequest] = []
        self.ended: dict[tuple[int, int], str] = {}  # by epoch and index
        self.faults: dict[tuple[int, int], int] = {}
        self.requeued: list[tuple[int, int]] = []
        self.checkpoint()

    @rule()
    def checkpoint(self) -> None:
        record = (self.flying, self.ended, self.faults, self.requeued)
        self.saved = json.dumps(self.queue.state()), copy.deepcopy(record)

    @rule()
    def pop(self) -> None:
        request = self.queue.pop()
        if request is None:
            assert not self.requeued
            return
        key = (request.epoch, request.index)
        assert request.id == self.ids[request.index]
        assert key not in self.ended and request not in self.flying
        if self.requeued:
            assert key == self.requeued.pop(0) and request.attempt > 1
            assert self.queue.faults(request) == self.faults.get(key, 0)
        else:
            assert request.attempt == 1 and not self.queue.faults(request)
            assert request.index not in [i for (_, i), e in self.ended.items() if e == "failed"]
        self.flying.append(request)

    def landed(self, data: st.DataObject) -> PromptRequest:
        request: PromptRequest = data.draw(st.sampled_from(self.flying))
        self.flying.remove(request)
        return request

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        request = self.landed(data)
        self.queue.done(request)
        self.ended[request.epoch, request.index] = "done"
        with pytest.raises(ValueError, match="not in flight"):
            self.queue.done(request)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def failed(self, data: st.DataObject) -> None:
        request = self.landed(data)
        self.queue.failed(request, "why")
        self.ended[request.epoch, request.index] = "failed"

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def requeue(self, data: st.DataObject) -> None:
        request = self.landed(data)
        self.queue.requeue(request)
        self.requeued.append((request.epoch, request.index))

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        request = self.landed(data)
        key = (request.epoch, request.index)
        self.faults[key] = self.faults.get(key, 0) + 1
        again = self.queue.retry(request, "died")
        assert again == (self.faults[key] < TRIES)
        if again:
            self.requeued.append(key)
        else:
            self.ended[key] = "failed"

    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        """All since the checkpoint is void; of the prompts in flight some rollouts are buffered."""
        state, record = self.saved
        flying, self.ended, self.faults, requeued = copy.deepcopy(record)
        buffered = [request for request in flying if data.draw(st.booleans())]
        self.queue = self.make()
        self.queue.restore(json.loads(state), buffered)
        lost = [(each.epoch, each.index) for each in flying if each not in buffered]
        self.flying, self.requeued = buffered, lost + requeued
        self.checkpoint()

    @invariant()
    def what_is_in_flight_is_known(self) -> None:
        assert self.queue.in_flight == len(self.flying) and self.queue.epoch < self.epochs

    def teardown(self) -> None:
        if not hasattr(self, "queue"):
            return
        while not self.queue.finished:  # left in peace, the run comes to an end
            request = self.queue.pop() or self.flying.pop()
            self.queue.done(request)
            assert (request.epoch, request.index) not in self.ended
            self.ended[request.epoch, request.index] = "done"
        assert self.queue.pop() is None
        gone = {index for (_, index), end in self.ended.items() if end == "failed"}
        for index in range(len(self.ids)):
            for epoch in range(self.queue.epoch + 1):
                assert (epoch, index) in self.ended or index in gone
        assert self.queue.epoch + 1 == self.epochs or len(gone) == len(self.ids)


TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


def test_each_epoch_has_the_order_of_the_synchronous_run_or_the_given_one() -> None:
    indices = [request.index for request in drained(FiniteQueue(IDS, seed="42/prompts", epochs=3))]
    assert indices == [i for step in range(3) for i in rows_of_step(7, 7, step, "42/prompts")]
    assert indices[:7] != indices[7:14]
    requests = drained(FiniteQueue(IDS, seed=None, epochs=2))
    assert [request.id for request in requests] == IDS * 2
    assert [request.epoch for request in requests] == [0] * 7 + [1] * 7


def test_an_epoch_does_not_wait_for_the_one_before_and_epochs_have_no_end() -> None:
    queue = PromptQueue(IDS)
    first, *_, last = popped(queue, 14)
    assert (first.epoch, last.epoch) == (0, 1)
    queue.requeue(first)
    assert queue.pop() == PromptRequest(first.index, first.id, 0, attempt=2)
    for _ in range(100):
        queue.done(popped(queue, 1)[0])
    assert queue.epoch == (14 + 100 - 1) // 7


def test_an_earlier_attempt_is_not_in_flight() -> None:
    queue = PromptQueue(IDS)
    (request,) = popped(queue, 1)
    queue.requeue(request)
    (again,) = popped(queue, 1)
    assert not queue.is_in_flight(request) and queue.is_in_flight(again)
    for act in (queue.done, queue.requeue):
        with pytest.raises(ValueError, match="is not in flight"):
            act(request)
    assert len(queue.state()["in_flight"]) == 1


def test_a_prompt_that_failed_is_skipped_in_later_epochs_and_reported() -> None:
    queue = FiniteQueue(IDS, seed=None, epochs=3)
    for _ in range(TRIES):
        (request,) = popped(queue, 1)
        assert request.id == IDS[0]
        queue.retry(request, "its worker died")
    assert [request.id for request in drained(queue)] == IDS[1:] * 3
    assert queue.failures == {IDS[0]: "its worker died"}
    queue = FiniteQueue(IDS[:3], seed=None, epochs=2)  # the next epoch has reached it
    _, b, c, _ = popped(queue, 4)
    queue.failed(c, "no")
    queue.failed(b, "no")
    assert queue.in_flight == 2 and queue.pop() is None
    queue = FiniteQueue(IDS)  # all fail: endless epochs end
    for request in popped(queue, 7):
        queue.failed(request, "no")
    assert queue.pop() is None and queue.finished


def test_other_prompts_or_another_order_and_no_prompts_are_refused() -> None:
    state = PromptQueue(IDS, seed=1).state()
    for ids, seed in ((IDS[1:], 1), (IDS, 2), (IDS, None)):
        with pytest.raises(UsageError, match="not the prompts, or not the seed"):
            PromptQueue(ids, seed=seed).restore(state)
    with pytest.raises(UsageError, match="not in flight"):
        PromptQueue(IDS, seed=1).restore(state, buffered=[PromptRequest(0, IDS[0], 0)])
    with pytest.raises(UsageError, match="no prompts"):
        PromptQueue([])


def test_the_state_does_not_grow_with_the_rows_and_fits_into_a_checkpoint() -> None:
    torch = pytest.importorskip("torch")
    queue = PromptQueue([str(number) for number in range(100_000)])
    for request in popped(queue, 50_000):
        queue.done(request)
    queue.retry(popped(queue, 8)[0], "died")
    state = queue.state()
    assert len(json.dumps(state)) < 500
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    assert torch.load(file, weights_only=True) == state
