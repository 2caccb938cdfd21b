"""Open Reward Standard: an environment of one turn over exported rows.

`infinite-rl export --to ors` writes a server around it. The contract is that of openreward 0.1.167:
`list_tasks` is public, so it has ids only; prompts, golds and responses stay on the server. The
tool marked `@terminal` gets the model's last plain message. What cannot be judged raises, so the
client gets an error and never a reward.
"""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any, ClassVar

from openreward.environments import (
    Environment,
    JSONObject,
    Message,
    Split,
    TextBlock,
    ToolOutput,
    terminal,
    tool,
)
from pydantic import BaseModel

from infinite_rl.adapters.scorer import scorer
from infinite_rl.dataset.ground_truth import unpack
from infinite_rl.dataset.rows import read
from infinite_rl.errors import InfiniteRLError, UsageError

__all__ = ["InfiniteRLEnvironment"]

_TYPES = ("validation", "test")  # all other splits are for training


class Submission(BaseModel):
    """The model's final message."""

    answer: str


class InfiniteRLEnvironment(Environment):
    """Judges the model's last message.

    A subclass sets the folder of its rows, which has a file for each split, and `rewards`, the
    folder of the user's own rewards.
    """

    rows: ClassVar[Path]
    rewards: ClassVar[Path | None] = None
    timeout: ClassVar[float] = 5.0

    @classmethod
    def list_splits(cls) -> list[Split]:
        """Return a split for each file."""
        names = sorted(path.stem for path in cls.rows.glob("*.jsonl"))
        return [Split(name=each, type=each if each in _TYPES else "train") for each in names]

    @classmethod
    def list_tasks(cls, split: str) -> list[JSONObject]:
        """Return the numbers and ids of a split's rows, and nothing else.

        Raises:
            UsageError: there is no such split.
        """
        rows = cls._split(split)
        return [{"split": split, "number": n, "id": row["id"]} for n, row in enumerate(rows)]

    def get_prompt(self) -> list[TextBlock]:
        """Return the instructions and the task as texts."""
        return [TextBlock(text=each["content"]) for each in self._row["prompt"]]

    def get_messages(self) -> list[Message]:
        """Return the instructions and the task as messages."""
        return [
            Message(role=each["role"], blocks=[TextBlock(text=each["content"])])
            for each in self._row["prompt"]
        ]

    @terminal
    @tool
    async def submit(self, params: Submission) -> ToolOutput:
        """Judge the final message. Raises InfiniteRLError if it could not be judged."""
        judge = scorer(timeout=self.timeout, rewards=self.rewards)
        sample = unpack(self._row["answer"])
        score = await asyncio.to_thread(judge.judge_one, sample, params.answer)
        reward = judge.reward(score)
        if reward is None:
            raise InfiniteRLError(f"not scored: {score.error_msg}")
        return ToolOutput(blocks=[TextBlock(text=score.status)], reward=reward, finished=True)

    @property
    def _row(self) -> dict[str, Any]:
        rows, number = self._split(self.task_spec.get("split")), self.task_spec.get("number")
        if type(number) is not int or not 0 <= number < len(rows):
            raise UsageError(f"there is no task {number!r}: they have the numbers from 0")
        return rows[number]

    @classmethod
    def _split(cls, split: object) -> list[dict[str, Any]]:
        # The client names the split, so it is looked up, never joined to a path.
        for path in cls.rows.glob("*.jsonl"):
            if path.stem == split:
                return _rows(path)
        raise UsageError(f"there is no split {split!r}")


@functools.cache
def _rows(path: Path) -> list[dict[str, Any]]:
    return list(read(path))
