"""When a call may begin, decided without threads or clocks."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from infinite_rl.errors import NoCompletion, ProviderRefused, ProviderUnavailable, UsageError
from infinite_rl.providers.rate_limit import Call, Limits, RateLimiter, RetryPolicy
from infinite_rl.types import Completion, Usage

GOOD = Completion("text", "m")
AT_ONCE = RetryPolicy(first_wait_s=0.0, max_wait_s=0.0, random=lambda: 0.5)
HALF = RetryPolicy(random=lambda: 0.5)


def trouble(status: int | None = None, retry_after: float | None = None) -> ProviderUnavailable:
    return ProviderUnavailable("trouble", status=status, retry_after=retry_after)


def begun(gate: RateLimiter, calls: int, now: float = 0.0) -> list[Call]:
    return [gate.begin(now, 0) for _ in range(calls)]


def succeed(gate: RateLimiter, calls: int, now: float = 0.0) -> None:
    for _ in range(calls):
        gate.end(gate.begin(now, 0), now, GOOD, 1)


@pytest.mark.parametrize("name", ["rpm", "tpm", "max_concurrency"])
@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_is_at_least_one(name: str, limit: int) -> None:
    with pytest.raises(UsageError, match=f"{name} must be at least 1, not {limit}"):
        Limits(**{name: limit})


def test_a_policy_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        RetryPolicy().total_s = 1  # type: ignore[misc]  # it is frozen


@pytest.mark.parametrize("jitter", [0.0, 0.999])
def test_a_wait_is_a_random_share_of_its_bound(jitter: float) -> None:
    assert RetryPolicy(random=lambda: jitter).wait_s(3, None) == 4 * jitter


def test_the_bound_of_a_wait_doubles_up_to_a_maximum() -> None:
    waits = [HALF.wait_s(failures, None) for failures in (*range(1, 10), 100_000)]
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30]


# Calls in flight


def test_no_more_calls_are_in_flight_than_the_cap() -> None:
    gate = RateLimiter(Limits(max_concurrency=3), AT_ONCE)
    calls = begun(gate, 3)
    assert gate.ready_at() == float("inf")
    gate.end(calls[0], 0.0, GOOD, 1)
    assert gate.ready_at() <= 0.0


@pytest.mark.parametrize("status", [429, 503])
def test_a_cluster_of_429s_or_503s_halves_the_cap_once_a_burst(status: int) -> None:
    gate = RateLimiter(Limits(max_concurrency=64), AT_ONCE)
    burst = begun(gate, 64)
    for call in burst[:7]:
        gate.end(call, 0.0, trouble(status), 1)
    assert gate.cap == 64, "so few may be chance"
    for call in burst[7:]:
        gate.end(call, 0.0, trouble(status), 1)
    assert gate.cap == 32


@pytest.mark.parametrize("status", [429, 503])
def test_single_429s_and_503s_change_neither_the_cap_nor_the_pace(status: int) -> None:
    gate = RateLimiter(Limits(max_concurrency=8), AT_ONCE)
    for _ in range(200):
        gate.end(gate.begin(0.0, 0), 0.0, trouble(status, retry_after=30), 1)
        succeed(gate, 9)
    assert (gate.cap, gate.stats().rpm, gate.stats().pauses) == (8, None, 0)


@pytest.mark.parametrize("status", [None, 408, 500, 502, 504])
def test_no_other_trouble_changes_the_cap(status: int | None) -> None:
    gate = RateLimiter(Limits(max_concurrency=8), AT_ONCE)
    for call in begun(gate, 8) + begun(gate, 8):
        gate.end(call, 0.0, trouble(status), 1)
    assert gate.cap == 8


def test_each_full_window_of_successes_adds_one_up_to_the_limit() -> None:
    gate = RateLimiter(Limits(max_concurrency=8), AT_ONCE)
    for call in begun(gate, 8):
        gate.end(call, 0.0, trouble(503), 1)
    caps = [gate.cap]
    for _ in range(4 + 5 + 6 + 7 + 20):
        succeed(gate, 1)
        caps.append(gate.cap)
    assert caps == [4] * 4 + [5] * 5 + [6] * 6 + [7] * 7 + [8] * 21


# Delays


def test_a_named_delay_is_its_own_calls() -> None:
    gate = RateLimiter(Limits(), HALF)
    first, _ = begun(gate, 2)
    assert gate.end(first, 1.0, trouble(429, 30), 1) == 30.5
    assert gate.end(gate.begin(1.0, 0), 2.0, trouble(429, 1), 1) == 1.125
    assert gate.ready_at() <= 2.0 and gate.stats().pauses == 0


def test_a_named_quota_stops_all_but_one_call_that_tests_it() -> None:
    gate = RateLimiter(Limits(), HALF)
    succeed(gate, 30)
    call = gate.begin(1.0, 0)
    gate.end(call, 1.0, ProviderUnavailable("429", status=429, rate_limit=True), 1)
    assert gate.stats().pauses == 1 and 1.0 < gate.ready_at() < 10
    gate.begin(10.0, 0)
    assert gate.ready_at() == float("inf")


def test_the_very_first_calls_do_not_come_at_once() -> None:
    gate = RateLimiter(Limits(max_concurrency=10), HALF)
    times = [5.0]
    gate.begin(5.0, 0)
    for _ in range(9):
        times.append(gate.ready_at())
        gate.begin(gate.ready_at(), 0)
    assert times == pytest.approx([5.0 + share / 10 for share in range(10)])


# Tokens


def test_tokens_are_estimated_before_and_set_right_after() -> None:
    gate = RateLimiter(Limits(tpm=60_000), AT_ONCE)
    call = gate.begin(0.0, 4000)
    assert call.tokens == 2000
    assert gate.ready_at() == pytest.approx(2.0, abs=0.6)
    usage = Usage(input_tokens=1000, output_tokens=9000, cached_tokens=800, thinking_tokens=20_000)
    gate.end(call, 1.0, Completion("text", "m", usage=usage), 1)
    assert gate.ready_at() == pytest.approx(30.0, abs=0.6)
    assert gate.begin(31.0, 0).tokens == 1000 + (29_000 - 1000) / 8, "it has learned"


def test_an_answer_without_text_is_counted_too() -> None:
    gate = RateLimiter(Limits(tpm=60_000), AT_ONCE)
    gate.end(gate.begin(0.0, 0), 0.0, NoCompletion("no", usage=Usage(30_000, 0)), 1)
    assert gate.ready_at() == pytest.approx(30.0, abs=0.6)


def test_where_the_provider_counts_nothing_the_estimate_stays() -> None:
    gate = RateLimiter(Limits(tpm=1000), AT_ONCE)
    gate.end(gate.begin(0.0, 0), 0.0, GOOD, 1)
    assert gate.ready_at() == pytest.approx(60.0, abs=2)


# A provider that is down


def fail(gate: RateLimiter, times: int, now: float = 0.0) -> None:
    for call in begun(gate, times, now):
        gate.end(call, now, trouble(), 1)


def test_after_failures_in_a_row_one_call_at_a_time_tries() -> None:
    gate = RateLimiter(Limits(), HALF)
    fail(gate, 9)
    assert not gate.probing
    fail(gate, 1)
    assert gate.probing
    assert gate.ready_at() == 0.5
    gate.begin(0.5, 0)
    assert gate.ready_at() == float("inf")


def test_the_waits_between_such_tries_grow_only_with_their_number() -> None:
    gate = RateLimiter(Limits(), HALF)
    fail(gate, 500)
    waits = [gate.ready_at()]
    for _ in range(8):
        now = gate.ready_at()
        fail(gate, 1, now)
        waits.append(gate.ready_at() - now)
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_a_success_opens_the_gate_again_by_and_by() -> None:
    gate = RateLimiter(Limits(max_concurrency=10), HALF)
    fail(gate, 20)
    gate.end(gate.begin(7.0, 0), 8.0, GOOD, 1)
    assert not gate.probing and gate.ready_at() == 8.0
    gate.begin(8.0, 0)
    assert gate.ready_at() == 8.1


def test_an_answer_without_text_shows_that_the_provider_is_up() -> None:
    for answer in (NoCompletion("blocked"), ProviderRefused("bad key")):
        gate = RateLimiter(Limits(), HALF)
        fail(gate, 20)
        gate.end(gate.begin(7.0, 0), 8.0, answer, 1)
        assert not gate.probing


def test_a_call_that_broke_shows_nothing() -> None:
    gate = RateLimiter(Limits(), HALF)
    fail(gate, 20)
    gate.end(gate.begin(7.0, 0), 8.0, None, 1)
    assert gate.probing and gate.in_flight == 0


def test_it_is_down_after_so_many_tries_and_so_long() -> None:
    gate = RateLimiter(Limits(), HALF)
    fail(gate, 9, now=100.0)
    assert gate.down_for_s(5000.0) is None, "too few tries"
    fail(gate, 1, now=200.0)
    assert gate.down_for_s(999.0) is None, "too soon"
    assert gate.down_for_s(1000.0) == 900
    assert gate.failures_in_a_row == 10


def test_one_call_at_a_time_says_nothing_about_the_load() -> None:
    gate = RateLimiter(Limits(max_concurrency=64), HALF)
    for call in begun(gate, 64):
        gate.end(call, 0.0, trouble(503), 1)
    for _ in range(50):
        gate.end(gate.begin(0.0, 0), 0.0, trouble(503), 1)
    assert gate.cap == 32


def test_only_a_server_that_was_never_met_is_unreachable() -> None:
    gone = ProviderUnavailable("refused", kind="unreachable")
    for met, expected in (([], True), ([trouble(503)], False), ([GOOD], False)):
        gate = RateLimiter(Limits(), HALF)
        for outcome in [*met, gone, gone, gone, gone]:
            gate.end(gate.begin(0.0, 0), 0.0, outcome, 1)
        assert not gate.unreachable(4.9), "it may be starting"
        assert gate.unreachable(5.0) is expected
