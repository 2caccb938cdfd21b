"""Which prompt is asked next: each is done or failed once an epoch, whatever happens meanwhile."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from infinite_rl.errors import UsageError
from infinite_rl.training.core.batches import rows_of_step
from infinite_rl.training.engines.prompt_queue import Counts, PromptQueue, PromptRequest

IDS = [f"gsm8k/{number}" for number in range(7)]


def taken(schedule: PromptQueue, count: int) -> list[PromptRequest]:
    found = [schedule.take() for _ in range(count)]
    return [task for task in found if task is not None]


def drained(schedule: PromptQueue) -> list[PromptRequest]:
    """All that is still to come, each done at once."""
    found = []
    while task := schedule.take():
        schedule.done(task)
        found.append(task)
    assert schedule.finished
    return found


def through_json(state: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(state))
    return found


class Interleaved(RuleBasedStateMachine):
    """Anything that may happen to prompts, in any order, beside a plain record of it."""

    @initialize(
        count=st.integers(1, 6),
        epochs=st.integers(1, 3),
        seed=st.sampled_from([3, None]),
        tries=st.integers(1, 3),
    )
    def begin(self, count: int, epochs: int, seed: int | None, tries: int) -> None:
        # Two prompts may have one id.
        self.ids = [f"id {number // 2}" for number in range(count)]
        self.epochs = epochs
        self.make: Callable[[], PromptQueue] = lambda: PromptQueue(
            self.ids, seed=seed, epochs=epochs, tries=tries
        )
        self.tries = tries
        self.schedule = self.make()
        self.flying: list[PromptRequest] = []
        self.ended: dict[tuple[int, int], str] = {}  # what became of each, by epoch and place
        self.faults: dict[tuple[int, int], int] = {}
        self.returned: list[tuple[int, int]] = []
        self.saved = self.snapshot()

    def snapshot(self) -> Any:
        record = (self.flying, self.ended, self.faults, self.returned)
        return through_json(self.schedule.state()), copy.deepcopy(record)

    @rule()
    def take(self) -> None:
        task = self.schedule.take()
        if task is None:
            assert not self.returned
            return
        key = (task.epoch, task.place)
        assert task.id == self.ids[task.place]
        assert key not in self.ended and task not in self.flying
        if self.returned:
            assert key == self.returned.pop(0) and task.attempt > 1
        else:
            assert task.attempt == 1
            gone = [place for (_, place), end in self.ended.items() if end == "failed"]
            assert task.place not in gone
        self.flying.append(task)

    def landed(self, data: st.DataObject) -> PromptRequest:
        task: PromptRequest = data.draw(st.sampled_from(self.flying))
        self.flying.remove(task)
        return task

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        task = self.landed(data)
        self.schedule.done(task)
        self.ended[task.epoch, task.place] = "done"
        with pytest.raises(ValueError, match="not in flight"):
            self.schedule.done(task)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def failed(self, data: st.DataObject) -> None:
        task = self.landed(data)
        self.schedule.failed(task, "why")
        self.ended[task.epoch, task.place] = "failed"

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def back(self, data: st.DataObject) -> None:
        task = self.landed(data)
        self.schedule.back(task)
        self.returned.append((task.epoch, task.place))

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        task = self.landed(data)
        key = (task.epoch, task.place)
        self.faults[key] = self.faults.get(key, 0) + 1
        again = self.schedule.retry(task, "died")
        assert again == (self.faults[key] < self.tries)
        if again:
            self.returned.append(key)
        else:
            self.ended[key] = "failed"

    @rule()
    def checkpoint(self) -> None:
        self.saved = self.snapshot()

    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        """All since the checkpoint is void; of what was in flight some answers are kept."""
        state, record = self.saved
        flying, self.ended, self.faults, returned = copy.deepcopy(record)
        held = [task for task in flying if data.draw(st.booleans())]
        self.schedule = self.make()
        self.schedule.restore(state, held)
        lost = [(task.epoch, task.place) for task in flying if task not in held]
        self.flying, self.returned = held, lost + returned
        self.saved = self.snapshot()

    @invariant()
    def every_prompt_is_somewhere(self) -> None:
        found = self.schedule.counts
        begun = self.schedule.epoch + 1
        total = found.pending + found.in_flight + found.done + found.failed
        assert total == begun * len(self.ids) <= self.epochs * len(self.ids)
        assert found.in_flight == len(self.flying)
        assert found.done == list(self.ended.values()).count("done")

    def teardown(self) -> None:
        if not hasattr(self, "schedule"):
            return
        while not self.schedule.finished:  # the run is left in peace: it comes to an end
            task = self.schedule.take()
            if task is None:
                task = self.flying.pop()
            self.schedule.done(task)
            assert (task.epoch, task.place) not in self.ended
            self.ended[task.epoch, task.place] = "done"
        assert self.schedule.take() is None
        gone = {place for (_, place), end in self.ended.items() if end == "failed"}
        for place in range(len(self.ids)):
            for epoch in range(self.schedule.epoch + 1):
                assert (epoch, place) in self.ended or place in gone
        assert self.schedule.epoch + 1 == self.epochs or len(gone) == len(self.ids)


TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_each_epoch_has_the_order_that_the_synchronous_run_has() -> None:
    schedule = PromptQueue(IDS, seed="42/prompts", epochs=3)
    places = [task.place for task in drained(schedule)]
    assert places == [p for step in range(3) for p in rows_of_step(7, 7, step, "42/prompts")]
    assert places[:7] != places[7:14]


def test_without_shuffling_the_order_is_the_one_given_in_every_epoch() -> None:
    tasks = drained(PromptQueue(IDS, seed=None, epochs=2))
    assert [task.id for task in tasks] == IDS * 2
    assert [task.epoch for task in tasks] == [0] * 7 + [1] * 7


def test_an_epoch_does_not_wait_for_the_one_before() -> None:
    schedule = PromptQueue(IDS, epochs=2)
    first, *_, last = taken(schedule, 14)
    assert (first.epoch, last.epoch) == (0, 1)
    assert schedule.counts == Counts(0, 14, 0, 0)
    assert schedule.take() is None and not schedule.finished  # one may come back
    schedule.back(first)
    assert schedule.take() == PromptRequest(first.place, first.id, 0, attempt=2)


def test_epochs_may_be_without_end() -> None:
    schedule = PromptQueue(IDS)
    for _ in range(100):
        task = schedule.take()
        assert task
        schedule.done(task)
    assert schedule.epoch == 14 and not schedule.finished


def test_what_comes_back_is_asked_first_and_the_first_to_come_back_before_others() -> None:
    schedule = PromptQueue(IDS, seed=None)
    a, b, c = taken(schedule, 3)
    schedule.back(b)
    assert schedule.retry(a, "its worker died")
    assert [task.id for task in taken(schedule, 3)] == [b.id, a.id, IDS[3]]


def test_late_news_of_a_task_that_was_given_up_is_no_news() -> None:
    schedule = PromptQueue(IDS)
    (task,) = taken(schedule, 1)
    schedule.back(task)
    again = schedule.take()
    assert again and not schedule.is_in_flight(task) and schedule.is_in_flight(again)
    for act in (schedule.done, schedule.back):
        with pytest.raises(ValueError, match="is not in flight"):
            act(task)
    assert schedule.counts.in_flight == 1


def test_a_prompt_that_has_failed_is_not_asked_in_later_epochs_and_is_told_of() -> None:
    schedule = PromptQueue(IDS, seed=None, epochs=3)
    for _ in range(3):
        task = schedule.take()
        assert task and task.id == IDS[0]
        schedule.retry(task, "its worker died")
    assert IDS[0] not in [task.id for task in drained(schedule)]
    assert schedule.counts == Counts(0, 0, 18, 3)
    assert schedule.failures == {IDS[0]: "its worker died"}


def test_who_fails_while_the_next_epoch_has_come_to_him_is_passed_over_there() -> None:
    schedule = PromptQueue(IDS[:3], seed=None, epochs=2)
    _, b, c, _ = taken(schedule, 4)
    schedule.failed(c, "no")
    schedule.failed(b, "no")
    assert schedule.counts == Counts(0, 2, 0, 4) and schedule.take() is None


def test_where_all_have_failed_endless_epochs_end() -> None:
    schedule = PromptQueue(IDS)
    for task in taken(schedule, 7):
        schedule.failed(task, "no")
    assert schedule.take() is None and schedule.finished


def test_what_was_in_flight_at_a_kill_is_asked_first() -> None:
    schedule = PromptQueue(IDS, seed=None)
    a, b, c, d = taken(schedule, 4)
    schedule.done(b)
    schedule.back(a)
    state = through_json(schedule.state())
    again = PromptQueue(IDS, seed=None)
    again.restore(state, held=[d])
    assert [task.id for task in taken(again, 3)] == [c.id, a.id, IDS[4]]
    again.done(d)


def test_a_run_may_be_given_more_epochs_when_it_goes_on() -> None:
    schedule = PromptQueue(IDS, epochs=1)
    drained(schedule)
    more = PromptQueue(IDS, epochs=2)
    more.restore(schedule.state())
    assert not more.finished and len(drained(more)) == 7


def test_a_state_of_other_prompts_or_another_order_is_refused() -> None:
    state = PromptQueue(IDS, seed=1).state()
    for other in (
        PromptQueue(IDS[1:], seed=1),
        PromptQueue(IDS, seed=2),
        PromptQueue(IDS, seed=None),
    ):
        with pytest.raises(UsageError, match="not the prompts, or not the seed"):
            other.restore(state)
    with pytest.raises(UsageError, match="not in flight"):
        PromptQueue(IDS, seed=1).restore(state, held=[PromptRequest(0, IDS[0], 0)])


def test_the_state_does_not_grow_with_the_rows() -> None:
    schedule = PromptQueue([str(number) for number in range(100_000)])
    for task in taken(schedule, 50_000):
        schedule.done(task)
    taken(schedule, 8)
    assert len(json.dumps(schedule.state())) < 500


def test_a_checkpoint_holds_the_state() -> None:
    torch = pytest.importorskip("torch")
    import io

    schedule = PromptQueue(IDS)
    (task,) = taken(schedule, 1)
    schedule.retry(task, "died")
    file = io.BytesIO()
    torch.save(schedule.state(), file)
    file.seek(0)
    assert torch.load(file, weights_only=True) == schedule.state()


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"tries": 0}, {"ids": []}])
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        PromptQueue(**{"ids": IDS, **wrong})


def test_faults_are_counted_in_their_epoch_and_not_for_what_only_came_back() -> None:
    schedule = PromptQueue(["a"], seed=None)
    task = schedule.take()
    assert task and schedule.faults(task) == 0
    schedule.back(task)
    again = schedule.take()
    assert again and schedule.faults(again) == 0 and schedule.retry(again, "it died")
    third = schedule.take()
    assert third and schedule.faults(third) == 1
    schedule.done(third)
    other = schedule.take()
    assert other and other.epoch == 1 and schedule.faults(other) == 0
