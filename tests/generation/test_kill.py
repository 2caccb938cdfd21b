"""A run that is killed at any moment loses nothing, and buys nothing twice."""

from __future__ import annotations

import pytest

from benchmarks.kill import Killing


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 8])
def test_kills_at_random_moments_cost_no_row_and_no_second_answer(threads: int) -> None:
    found = Killing(threads, rows=20, kills=6, seed=threads).go()
    assert found.kills == 6
    assert found.faults == []
