"""Transport retry, with a clock that only waiting moves."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, replace

import pytest

from infinite_rl.errors import NoCompletion, ProviderRefused, ProviderUnavailable
from infinite_rl.limits import RetryingProvider, RetryPolicy
from infinite_rl.providers.scripted import Reply, ScriptedProvider


class Time:
    """A clock and the waits that moved it; `meanwhile` happens during each wait."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.now = 100.0
        self.waits: list[float] = []
        self._meanwhile = meanwhile

    def sleep(self, stop: threading.Event, seconds: float) -> None:
        assert not stop.is_set()
        self._meanwhile()
        self.waits.append(seconds)
        self.now += seconds

    def policy(self, jitter: float = 0.5) -> RetryPolicy:
        return RetryPolicy(sleep=self.sleep, clock=lambda: self.now, random=lambda: jitter)


def down(retry_after: float | None = None) -> ProviderUnavailable:
    return ProviderUnavailable("it is down", retry_after=retry_after)


def always_down(retry_after: float | None = None) -> ScriptedProvider:
    return ScriptedProvider(lambda *_: down(retry_after))


def once(call: Callable[[], object]) -> Callable[[], object]:
    """`call` the first time, nothing after."""
    calls = iter([call])
    return lambda: next(calls, lambda: None)()


def retrying(replies: Sequence[Reply], policy: RetryPolicy) -> RetryingProvider:
    return RetryingProvider(ScriptedProvider(replies, model="m"), policy)


def test_a_good_answer_is_passed_on_without_a_wait() -> None:
    time = Time()
    provider = retrying(["one"], time.policy())
    assert (provider.model, provider.complete("s", "p", 1).text) == ("m", "one")
    assert time.waits == []


def test_the_same_call_is_made_again() -> None:
    script = ScriptedProvider([down(), down(), "three"])
    answer = RetryingProvider(script, Time().policy()).complete("s", "p", 1)
    assert answer.text == "three"
    assert script.calls == [("s", "p", 1)] * 3


def test_the_bound_of_a_wait_doubles_up_to_a_maximum() -> None:
    time = Time()
    retrying([down()] * 9 + ["end"], time.policy(jitter=0.5)).complete("", "p", 1)
    assert time.waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize("jitter", [0.0, 0.999])
def test_a_wait_is_a_random_share_of_its_bound(jitter: float) -> None:
    assert Time().policy(jitter).wait_s(3, None) == 4 * jitter


def test_a_wait_after_any_number_of_failures_is_a_number() -> None:
    assert Time().policy().wait_s(100_000, None) == 30


def test_the_delay_that_the_provider_names_is_kept_and_spread() -> None:
    time = Time()
    retrying([down(13), "two"], time.policy(jitter=0.25)).complete("", "p", 1)
    assert time.waits == [13.25]


@pytest.mark.parametrize("error", [ProviderRefused("no"), NoCompletion("no"), ValueError("no")])
def test_no_other_error_is_retried(error: Exception) -> None:
    time = Time()
    with pytest.raises(type(error)) as caught:
        retrying([error, "two"], time.policy()).complete("", "p", 1)
    assert caught.value is error and time.waits == []


def test_it_gives_up_in_time_and_says_after_how_many_tries() -> None:
    time = Time()
    script = always_down(13)
    policy = replace(time.policy(), total_s=30)
    with pytest.raises(ProviderUnavailable) as caught:
        RetryingProvider(script, policy).complete("", "p", 1)
    assert str(caught.value) == "it is down (gave up after 3 tries: the limit is 30 s)"
    assert caught.value.retry_after == 13
    assert len(script.calls) == 3 and time.now <= 100 + 30


def test_a_delay_beyond_the_limit_is_not_waited_for() -> None:
    time = Time()
    with pytest.raises(ProviderUnavailable, match="after 1 try: the limit is 600 s"):
        RetryingProvider(always_down(3600), time.policy()).complete("", "p", 1)
    assert time.waits == []


def test_a_stop_ends_a_wait() -> None:
    stop = threading.Event()
    time = Time(meanwhile=stop.set)
    script = always_down()
    with pytest.raises(ProviderUnavailable, match=r"it is down \(stopped after 1 try\)"):
        RetryingProvider(script, time.policy(), stop=stop).complete("", "p", 1)
    assert len(script.calls) == 1


def test_no_wait_begins_after_a_stop() -> None:
    stop = threading.Event()
    stop.set()
    time = Time()
    with pytest.raises(ProviderUnavailable, match="stopped"):
        RetryingProvider(always_down(), time.policy(), stop=stop).complete("", "p", 1)
    assert time.waits == []


def test_a_real_wait_is_interrupted() -> None:
    stop = threading.Event()
    provider = RetryingProvider(
        always_down(60), stop=stop, on_retry=lambda *_: threading.Timer(0.05, stop.set).start()
    )
    with pytest.raises(ProviderUnavailable, match="stopped"):
        provider.complete("", "p", 1)


def test_a_delay_told_to_one_call_holds_for_the_others() -> None:
    time = Time(meanwhile=once(lambda: provider.complete("", "p", 2)))
    script = ScriptedProvider([down(13), "other", "one"])
    told: list[float] = []
    provider = RetryingProvider(
        script, time.policy(jitter=0.0), on_retry=lambda _, wait_s: told.append(wait_s)
    )
    assert provider.complete("", "p", 1).text == "one"
    assert [call.seed for call in script.calls] == [1, 2, 1]
    assert time.waits == [13, 13]
    assert told == [13]  # the other call was late, not made again


def test_a_trouble_without_a_delay_holds_nobody_else_up() -> None:
    time = Time(meanwhile=once(lambda: provider.complete("", "p", 2)))
    provider = retrying([down(), "other", "one"], time.policy())
    assert provider.complete("", "p", 1).text == "one"
    assert time.waits == [0.5]


def test_a_shared_delay_ends() -> None:
    time = Time()
    provider = retrying([down(13), "one", "two"], time.policy())
    provider.complete("", "p", 1)
    provider.complete("", "p", 2)
    assert time.waits == [13.5]


def test_a_delay_beyond_the_limit_costs_the_others_no_call() -> None:
    script = always_down(3600)
    provider = RetryingProvider(script, Time().policy())
    with pytest.raises(ProviderUnavailable, match="1 try"):
        provider.complete("", "p", 1)
    with pytest.raises(ProviderUnavailable, match="3600 s are left of it .*after 0 tries"):
        provider.complete("", "p", 2)
    assert len(script.calls) == 1


def test_each_retry_is_told_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "infinite_rl.limits")
    told: list[tuple[str, float]] = []
    provider = RetryingProvider(
        ScriptedProvider([down(), down(13), "three"], model="m"),
        Time().policy(),
        on_retry=lambda error, wait_s: told.append((str(error), wait_s)),
    )
    provider.complete("", "p", 1)
    assert told == [("it is down", 0.5), ("it is down", 13.5)]
    assert caplog.messages == [
        "m: 1 try failed, again in 0.5 s: it is down",
        "m: 2 tries failed, again in 13.5 s: it is down",
    ]


def test_a_policy_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        RetryPolicy().total_s = 1  # type: ignore[misc]  # it is frozen
