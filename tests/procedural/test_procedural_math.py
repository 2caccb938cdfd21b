"""What the embedded math tasks promise: the real reward proves them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infinite_rl.procedural import families, make_problem
from infinite_rl.procedural.wording import Problem
from infinite_rl.reward_functions.math import MathRewardFunction
from infinite_rl.types import Sample
from infinite_rl.verification.self_test import self_test

REWARD = MathRewardFunction()
FAMILIES = families("math")


def problems(family: str, count: int) -> Iterator[tuple[str, Problem]]:
    """Some problems of each level, each with a name for the report of a failure."""
    for level in (1, 2, 3):
        for seed in range(count):
            name = f"{family}, level {level}, seed {seed}"
            yield name, make_problem("math", seed, level, family)


def test_there_are_twelve_families_of_mathematics() -> None:
    assert len(FAMILIES) == 12


# --- the real reward


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reward_gives_full_marks_to_every_response(family: str) -> None:
    for name, problem in problems(family, 60):
        score = REWARD.compute_reward(problem.response, problem.answer)
        assert (score.format_score, score.correctness_score) == (1.0, 1.0), f"{name}: {score}"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reward_takes_no_other_answer_of_its_own_test(family: str) -> None:
    tested = 0
    for name, problem in problems(family, 10):
        row = Sample("math", problem.prompt, problem.answer, problem.response)
        result = self_test(row, REWARD)
        assert result.fault == "", f"{name}: {result.fault}"
        tested += result.total > 0
    assert tested > 6
