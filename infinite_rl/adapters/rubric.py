"""verifiers before 0.4: a reward function for a `Rubric`.

The contract is that of verifiers 0.2.1 (`Rubric._call_individual_reward_func`): called with those
of `prompt`, `completion`, `answer`, `info`, `state` that it names, a float back. What it raises is
logged there, and counts 0.0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from ..dataset.ground_truth import unpack
from ..reward_functions.reward_function import RewardFunction
from .scorer import Scorer, text_of


def for_rubric(
    *,
    format_weight: float = 0.0,
    partial: bool = False,
    timeout: float = 5,
    extra: Mapping[str, RewardFunction] | None = None,
    rewards: str | Path | None = None,
) -> Callable[[Any, str], Awaitable[float]]:
    """A reward function for `Rubric(funcs=[...])`, with the settings of `Scorer`.

    The rows are those of `export --to verifiers`: `answer` is the ground truth. A completion that
    could not be judged gets 0.0 and a warning: a rubric requires a number.
    """
    scorer = Scorer(
        format_weight=format_weight, partial=partial, timeout=timeout, extra=extra, rewards=rewards
    )

    async def infinite_rl(completion: Any, answer: str) -> float:
        sample, text = unpack(answer), text_of(completion)
        return scorer.number(await asyncio.to_thread(scorer.judge_one, sample, text))

    return infinite_rl
