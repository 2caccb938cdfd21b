"""The pace of calls: set, or taught by refusals."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from infinite_rl.providers.pace import LearnedPace, Spacing


def most_in(times: list[float], window_s: float) -> int:
    """The most of the sorted times that any window of this length holds, both its ends included."""
    first, most = 0, 0
    for last, time in enumerate(times):
        while times[first] < time - window_s:
            first += 1
        most = max(most, last - first + 1)
    return most


@pytest.mark.parametrize("rpm", [1, 2, 7, 60, 61, 1000, 100_000])
@pytest.mark.parametrize("late_s", [0.0, 0.01, 0.4, 3.0])
def test_no_window_of_a_minute_holds_more_calls_than_set(rpm: int, late_s: float) -> None:
    """Even where threads are late, and where calls travel up to half a second."""
    chance = random.Random(rpm)
    spacing, times, now = Spacing(rpm), [], 0.0
    for _ in range(min(3 * rpm + 5, 30_000)):
        now = max(now, spacing.ready_at()) + chance.choice([0.0, late_s * chance.random()])
        spacing.take(now)
        times.append(now)
    assert most_in(times, 60.0) <= rpm
    assert most_in(times, 60.49) <= rpm


def test_the_set_pace_is_reached() -> None:
    spacing, now = Spacing(600), 0.0
    for _ in range(6000):
        now = max(now, spacing.ready_at()) + 0.001
        spacing.take(now)
    assert 595 > 6000 / now * 60 > 585


def test_nothing_is_saved_up_while_nobody_calls() -> None:
    spacing = Spacing(60)
    spacing.take(0.0)
    spacing.take(5000.0)
    assert spacing.ready_at() > 5000


def test_units_hold_up_the_calls_after_them_and_can_be_given_back() -> None:
    spacing = Spacing(1000, tolerance_s=0.0)
    spacing.take(0.0, units=500)
    assert spacing.ready_at() == pytest.approx(30, rel=0.02)
    spacing.correct(-400)
    assert spacing.ready_at() == pytest.approx(6, rel=0.02)


def learned(calls: int, every_s: float) -> tuple[LearnedPace, float]:
    """A pace that so many accepted calls, and then a refusal, have taught; and the time."""
    pace, now = LearnedPace(), 0.0
    for number in range(1, calls + 1):
        pace.begun(number, now)
        now += every_s
    pace.begun(calls + 1, now)
    pace.failed(calls + 1)
    pace.refused(now, 0.0, of_a_new_burst=True)
    return pace, now


def test_without_a_refusal_there_is_no_pace() -> None:
    pace = LearnedPace()
    for number in range(1000):
        pace.begun(number, 1.0)
        pace.succeeded(1.0)
    assert pace.rate is None and pace.ready_at() == float("-inf")


@pytest.mark.parametrize(("calls", "every_s"), [(600, 1.0), (40, 5.0), (3000, 0.05)])
def test_a_refusal_sets_the_pace_a_little_below_what_was_accepted(
    calls: int, every_s: float
) -> None:
    pace, _ = learned(calls, every_s)
    assert pace.rate == pytest.approx(0.97 / every_s, rel=0.02)


def test_the_delay_that_is_named_counts_as_time_without_calls() -> None:
    pace = LearnedPace()
    for number in range(60):  # a fixed window: all of a minute's calls in one second
        pace.begun(number, 0.0)
    pace.refused(1.0, 59.0, of_a_new_burst=True)
    assert pace.rate == pytest.approx(0.97)


def test_refusals_of_one_burst_count_once() -> None:
    pace, now = learned(600, 1.0)
    rate = pace.rate
    for _ in range(50):
        pace.refused(now, 0.0, of_a_new_burst=False)
    assert pace.rate == rate


def test_a_burst_takes_half_of_the_rate_at_the_most() -> None:
    pace, now = learned(600, 1.0)
    assert pace.rate is not None
    rate = pace.rate
    pace.refused(now + 3600, 0.0, of_a_new_burst=True)
    assert pace.rate == pytest.approx(rate / 2 * 0.97)


def test_successes_raise_the_pace_and_soon_the_more() -> None:
    pace, now = learned(600, 1.0)
    rates = []
    for minute in range(6):
        for second in range(60):
            pace.succeeded(now + 60 * minute + second + 1)
        assert pace.rate is not None
        rates.append(pace.rate)
    growth = [later / earlier for earlier, later in pairwise(rates)]
    assert rates[0] == pytest.approx(1.0, rel=0.04)
    assert growth == sorted(growth) and growth[-1] > 2


def test_many_successes_in_a_second_raise_it_no_more_than_one() -> None:
    pace, now = learned(600, 1.0)
    assert pace.rate is not None
    rate = pace.rate
    for call in range(1000):
        pace.succeeded(now + call / 1000)
    assert pace.rate < rate * 1.0011
