"""A run that learns nothing from its rewards says so, and one that does says nothing."""

from __future__ import annotations

import logging

import pytest

from infinite_rl.training.runs.config import TrainingConfig
from infinite_rl.training.runs.telling import EARLY_WARNING_STEPS, ZeroAdvantageMonitor

NOTHING = {"dropped_groups": 4}


@pytest.fixture
def telling(caplog: pytest.LogCaptureFixture) -> ZeroAdvantageMonitor:
    caplog.set_level(logging.WARNING)
    return ZeroAdvantageMonitor(TrainingConfig("m", batch_size=4))


def test_it_warns_once_after_steps_that_told_nothing(
    telling: ZeroAdvantageMonitor, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(EARLY_WARNING_STEPS - 1):
        telling.step(NOTHING)
    assert not caplog.messages
    for _ in range(EARLY_WARNING_STEPS):
        telling.step(NOTHING)
    (line,) = caplog.messages
    assert line.startswith("40 groups in a row had equal rewards, or no verdict")


def test_one_group_that_tells_something_ends_the_row(
    telling: ZeroAdvantageMonitor, caplog: pytest.LogCaptureFixture
) -> None:
    for step in range(3 * EARLY_WARNING_STEPS):
        telling.step({"dropped_groups": 3 if step % EARLY_WARNING_STEPS == 0 else 4})
    telling.end()
    assert not caplog.messages


def test_a_short_run_of_nothing_is_told_of_at_its_end(
    telling: ZeroAdvantageMonitor, caplog: pytest.LogCaptureFixture
) -> None:
    telling.step(NOTHING)
    telling.end()
    (line,) = caplog.messages
    assert line.startswith("all 4 groups of the run had equal rewards")


def test_sft_has_no_groups(telling: ZeroAdvantageMonitor, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2 * EARLY_WARNING_STEPS):
        telling.step({"loss": 0.5})
    telling.end()
    assert not caplog.messages


def test_trl_says_a_share(telling: ZeroAdvantageMonitor, caplog: pytest.LogCaptureFixture) -> None:
    for share in [0.75, *[1.0] * EARLY_WARNING_STEPS]:
        telling.step({"frac_reward_zero_std": share})
    assert len(caplog.messages) == 1
