"""Advantages: each rule by hand, equal rewards exactly 0, and no verdict no advantage."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from infinite_rl.errors import UnknownName, UsageError
from infinite_rl.training.core.advantages import (
    STDS,
    compute_group_normalized_rewards,
    group_advantages,
)

NAN = math.nan


@pytest.mark.parametrize(
    ("std", "expected"),
    [
        ("population", [-math.sqrt(1.5), 0.0, math.sqrt(1.5)]),
        ("sample", [-1 / 1.0001, 0.0, 1 / 1.0001]),
        ("none", [-1.0, 0.0, 1.0]),
    ],
)
def test_each_rule_is_the_one_worked_by_hand(std: str, expected: list[float]) -> None:
    values = group_advantages([0.0, 1.0, 2.0, 5.0, 6.0, 7.0], 3, std=std)
    assert values.dtype == torch.float32 and values.shape == (6,)
    assert values.tolist() == pytest.approx(expected * 2, abs=1e-6)


@pytest.mark.parametrize("std", STDS)
def test_equal_rewards_get_exactly_0(std: str) -> None:
    for reward in (0.0, 0.1, 1 / 3, -7.3, 1e30):
        assert group_advantages([reward] * 7, 7, std=std).tolist() == [0.0] * 7
    assert group_advantages([3.0, 4.0], 1, std=std).tolist() == [0.0, 0.0], "groups of one"


@pytest.mark.parametrize("std", STDS)
def test_what_has_no_verdict_is_left_out_of_its_group(std: str) -> None:
    values = group_advantages([0.0, NAN, 1.0, 2.0, NAN, NAN, NAN, NAN], 4, std=std).tolist()
    three = group_advantages([0.0, 1.0, 2.0], 3, std=std).tolist()
    assert values == [three[0], 0.0, *three[1:], 0.0, 0.0, 0.0, 0.0]


def test_rewards_must_be_whole_groups_of_finite_numbers() -> None:
    values = group_advantages([0.0, 2e-3], 2, eps=0.5)  # a spread below eps counts as eps
    assert values.tolist() == pytest.approx([-2e-3, 2e-3], abs=1e-9)
    for rewards, size in (([1.0, 2.0, 3.0], 2), ([1.0], 0), ([1.0], -1)):
        with pytest.raises(UsageError, match="whole number of groups"):
            group_advantages(rewards, size)
    with pytest.raises(UsageError, match="infinite"):
        group_advantages([1.0, math.inf], 2)
    with pytest.raises(UnknownName, match="population"):
        group_advantages([1.0, 2.0], 2, std="smaple")
    assert group_advantages([], 4).tolist() == []


def parts(truth: str, response: str) -> dict[str, float]:
    value = float(response) + float(truth)
    return {"reward": value, "format_reward": value / 10, "answer_reward": value * 0.9}


def test_the_four_tensors_of_scored_rollouts() -> None:
    responses, truths = ["0", "1", "2", "10", "10", "10"], ["0"] * 6
    values = compute_group_normalized_rewards(parts, responses, truths, 3, 1e-6, True)
    assert all(tensor.dtype == torch.float32 and tensor.shape == (6,) for tensor in values)
    advantages, rewards, forms, answers = (tensor.tolist() for tensor in values)
    assert advantages == pytest.approx([-math.sqrt(1.5), 0, math.sqrt(1.5), 0, 0, 0], abs=1e-6)
    assert advantages[3:] == [0.0, 0.0, 0.0]
    assert rewards == [0, 1, 2, 10, 10, 10]
    assert forms == pytest.approx([0, 0.1, 0.2, 1, 1, 1], abs=1e-6)
    assert answers == pytest.approx([0, 0.9, 1.8, 9, 9, 9], abs=1e-6)
    centred = compute_group_normalized_rewards(
        parts, ["5", "7", "1", "-1"], ["0"] * 4, 2, normalize_by_std=False
    )
    assert centred[0].tolist() == [-1, 1, 1, -1]
    rewards = compute_group_normalized_rewards(parts, ["1", "1"], ["2", "3"], 2)[1]
    assert rewards.tolist() == [3, 4], "each response has its ground truth"
    with pytest.raises(ValueError, match="2 responses, but 1 ground truths"):
        compute_group_normalized_rewards(parts, ["1", "1"], ["2"], 2)
