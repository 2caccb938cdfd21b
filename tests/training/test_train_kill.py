"""A training run that is killed at any moment goes on as if nothing had happened."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from benchmarks.train_kill import RUNS, killed  # noqa: E402 -- it needs both


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_kills_at_random_moments_change_no_step_no_answer_and_no_weight(name: str) -> None:
    found = killed(name, kills=2, steps=28)
    assert found.kills == 2
    assert found.faults == []
