"""Rewards by name: a row and a completion in, a score out.

    reward_function.py  what every reward is
    shaping.py          how long, how repetitive, in which language: signals beside the verdict

    compare.py          how close one printed text is to another
    mbpp.py             programs as answers to MBPP hand them in
    humaneval.py        functions that the prompt begins

    gsm8k.py            a number, wherever an answer states it
    around.py           what the words around a number say of it

    reasoning_gym.py    the puzzles of that package, judged by its own scorers

`coding/` judges programs, `math/` mathematics, `instruction/` instructions that a program can
check. Importing this package loads no reward.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pkgutil import resolve_name

from ..errors import UsageError
from .reward_function import RewardFunction

__all__ = ["REWARDS", "RewardFunction", "get_reward_functions"]

# One row a reward: its name, and where its class is.
REWARDS: Mapping[str, str] = {
    "coding": "infinite_rl.reward_functions.coding.reward:CodingRewardFunction",
    "instruction": "infinite_rl.reward_functions.instruction:InstructionRewardFunction",
    "math": "infinite_rl.reward_functions.math:MathRewardFunction",
    "gsm8k": "infinite_rl.reward_functions.gsm8k:Gsm8kRewardFunction",
    "mbpp": "infinite_rl.reward_functions.mbpp:MbppRewardFunction",
    "humaneval": "infinite_rl.reward_functions.humaneval:HumanEvalRewardFunction",
    "reasoning_gym": "infinite_rl.reward_functions.reasoning_gym:ReasoningGymRewardFunction",
}


def get_reward_functions(
    timeout: float = 5,
    extra: Mapping[str, RewardFunction] | None = None,
    *,
    only: Collection[str] | None = None,
) -> dict[str, RewardFunction]:
    """Create every reward, by name. Any thread may call them.

    `timeout` is the seconds that one run of a program, or one comparison, may take. `extra` adds
    rewards or replaces built-in ones. `only` names the built-in ones to create, by default all.

    Raises:
        UsageError: a timeout that is not positive, or an `extra` that is no reward.
    """
    rewards: dict[str, RewardFunction] = {
        name: resolve_name(where)(name, timeout)
        for name, where in REWARDS.items()
        if only is None or name in only
    }
    for name, reward in (extra or {}).items():
        if not isinstance(name, str) or not name:
            raise UsageError(f"the name of an extra reward must be a text, not {name!r}")
        if not isinstance(reward, RewardFunction):
            raise UsageError(f"the extra reward {name!r} is no RewardFunction: {reward!r}")
        rewards[name] = reward
    return rewards
