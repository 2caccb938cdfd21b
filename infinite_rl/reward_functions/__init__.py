"""Rewards by name. Importing this package loads none of them."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name

from ..errors import UsageError
from .reward_function import RewardFunction

__all__ = ["REWARDS", "RewardFunction", "get_reward_functions"]

# One row a reward: its name, and where its class is.
REWARDS: Mapping[str, str] = {
    "coding": "infinite_rl.reward_functions.coding:CodingRewardFunction",
    "instruction": "infinite_rl.reward_functions.instruction:InstructionRewardFunction",
    "math": "infinite_rl.reward_functions.math:MathRewardFunction",
    "gsm8k": "infinite_rl.reward_functions.gsm8k:Gsm8kRewardFunction",
    "mbpp": "infinite_rl.reward_functions.mbpp:MbppRewardFunction",
    "humaneval": "infinite_rl.reward_functions.humaneval:HumanEvalRewardFunction",
    "reasoning_gym": "infinite_rl.reward_functions.reasoning_gym:ReasoningGymRewardFunction",
}


def get_reward_functions(
    timeout: float = 5, extra: Mapping[str, RewardFunction] | None = None
) -> dict[str, RewardFunction]:
    """Every reward by its name, ready to be called from any thread.

    `timeout` is the seconds that one run of a program, or one comparison, may take. `extra` adds
    rewards of your own, or puts one in the place of a built-in one.

    Raises:
        UsageError: a timeout that is not positive, or an `extra` that is no reward.
    """
    rewards: dict[str, RewardFunction] = {
        name: resolve_name(where)(name, timeout) for name, where in REWARDS.items()
    }
    for name, reward in (extra or {}).items():
        if not isinstance(name, str) or not name:
            raise UsageError(f"the name of an extra reward must be a text, not {name!r}")
        if not isinstance(reward, RewardFunction):
            raise UsageError(f"the extra reward {name!r} is no RewardFunction: {reward!r}")
        rewards[name] = reward
    return rewards
