"""A reward that does to its worker what a completion says, as rewards in the field have done."""

import os
import re
import signal
from typing import Any

from infinite_rl.layout import ANSWER_TAG
from infinite_rl.reward_functions import RewardFunction
from infinite_rl.reward_functions.reward_function import Expected
from infinite_rl.types import RewardFunctionScore

_HOARD: list[bytearray] = []


class ProbeReward(RewardFunction):
    """Passes the completion that is the answer. Some others freeze, kill or fill its process."""

    name = "probe"

    def compute_reward(
        self, model_output: str, expected_output: Expected, answer_tag: str = ANSWER_TAG
    ) -> RewardFunctionScore:
        if model_output == "freeze":  # in C, which lets no other thread run
            re.fullmatch(r"(a+)+", "a" * 60 + "!")
        if model_output == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if model_output == "raise":
            raise ZeroDivisionError("a bug of the reward")
        if model_output == "hoard":
            _HOARD.append(bytearray(b"x" * 150_000_000))
        if model_output.startswith("pid"):
            return RewardFunctionScore(1.0, 1.0, str(os.getpid()), status="passed")
        if model_output == expected_output:
            return RewardFunctionScore(1.0, 1.0, status="passed")
        return RewardFunctionScore(1.0, 0.0, "another text")


def row(answer: str = "7", **more: Any) -> dict[str, Any]:
    """A row that this reward judges."""
    return {"type": "probe", "answer": answer, **more}
