"""This package's reward as a plain function: the drop-in that `audit --fix` offers.

The type of a row follows from its columns, else from its answer, as in an audit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..reward_functions import REWARDS, get_reward_functions
from ..reward_functions.reward_function import RewardFunction
from ..types import Sample


def compute_reward(
    completion: str, answer: Any, type: str = "", language: str = "", prompt: Any = ""
) -> float | None:
    """1.0 if the completion is right, 0.0 if it is wrong, None if that cannot be judged.

    `type` names the reward (default: coding with a `language`, else math). Some rewards read the
    `prompt` if it is a text. Thread-safe.

    Raises:
        RuntimeMissing, SandboxError: nothing can be judged.
    """
    name = type if type in REWARDS else ("coding" if language else "math")
    prompt = prompt if isinstance(prompt, str) else ""
    score = _reward(name).score(Sample(name, prompt, answer, "", language), completion)
    return None if score.status == "unscored" else float(score.passed)


@lru_cache(maxsize=16)
def _reward(name: str) -> RewardFunction:
    return get_reward_functions(only=(name,))[name]
