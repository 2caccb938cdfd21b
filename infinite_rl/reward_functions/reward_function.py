"""The base class of every reward: a row and a completion in, a score out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

from ..layout import ANSWER_TAG
from ..types import RewardFunctionScore

# A reference: text, a number, a JSON-like mapping, or a predicate on what the model produced.
Expected: TypeAlias = "str | int | float | dict[str, Any] | Callable[[str], Any]"


class RewardFunction(ABC):
    """Scores completions of one kind of task. Safe to call from many threads at once."""

    def __init__(self, task_name: str, timeout: float = 5) -> None:
        self.task_name = task_name
        self.timeout = timeout

    @abstractmethod
    def compute_reward(
        self, model_output: str, expected_output: Expected, answer_tag: str = ANSWER_TAG
    ) -> RewardFunctionScore:
        """Score `model_output` against `expected_output`.

        Whatever the model wrote is scored, never raised. A reference that cannot be read gives the
        status "unscored". `answer_tag` names the tag that holds the final content.
        """
