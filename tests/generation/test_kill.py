"""A run that is killed at any moment loses nothing, and buys nothing twice."""

import pytest

from benchmarks.kill import Killing


@pytest.mark.slow
@pytest.mark.parametrize(
    ("threads", "rows", "kills"),
    [pytest.param(1, 10, 3, marks=pytest.mark.soak), (8, 20, 4)],
)
def test_random_kills_cost_no_row_and_no_second_answer(threads: int, rows: int, kills: int) -> None:
    """A sample of `python -m benchmarks.kill`, which kills a hundred times."""
    found = Killing(threads, rows, kills, seed=threads).go()
    assert found.kills == kills
    assert found.faults == []
