"""verifiers 0.4 and prime-rl: a taskset over an exported file.

    from infinite_rl.adapters.verifiers import InfiniteRLTaskset  # in a module of yours
    __all__ = ["InfiniteRLTaskset"]

The contract is that of verifiers 0.4.0: `Taskset.load` yields tasks, and `Task.score` awaits each
method marked `@vf.reward`. What that raises becomes the trace's error, and the reward stays None,
which stands for "not scored": so what could not be judged raises. For versions before 0.4 see
`rubric.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import verifiers.v1 as vf

from infinite_rl.adapters.scorer import scorer
from infinite_rl.dataset.ground_truth import unpack
from infinite_rl.dataset.rows import read
from infinite_rl.errors import InfiniteRLError

__all__ = ["InfiniteRLTaskset"]


class InfiniteRLData(vf.TaskData):
    """A task, and the ground truth of its row."""

    ground_truth: str


class InfiniteRLTaskConfig(vf.TaskConfig):
    """The settings of `Scorer`."""

    format_weight: float = 0.0
    partial: bool = False
    timeout: float = 5.0


class InfiniteRLTask(vf.Task[InfiniteRLData, vf.State, InfiniteRLTaskConfig]):
    """A task that is judged by the last reply."""

    @vf.reward
    async def infinite_rl(self, trace: vf.Trace) -> float:
        """The reward in [0, 1].

        Raises:
            InfiniteRLError: the reply could not be judged; or as `Scorer.judge`.
        """
        config = self.config
        judge = scorer(config.format_weight, config.partial, config.timeout)
        sample = unpack(self.data.ground_truth)
        score = await asyncio.to_thread(judge.judge_one, sample, trace.last_reply)
        reward = judge.reward(score)
        if reward is None:
            raise InfiniteRLError(score.error_msg)
        return reward


class InfiniteRLTasksetConfig(vf.TasksetConfig):
    """`path` is the file or folder that `infinite-rl export --to verifiers` wrote."""

    path: Path
    task: InfiniteRLTaskConfig = InfiniteRLTaskConfig()


class InfiniteRLTaskset(vf.Taskset[InfiniteRLTask, InfiniteRLTasksetConfig]):
    """The tasks of an export."""

    def load(self) -> Iterator[InfiniteRLTask]:
        """A task for each row of the file. Raises as `infinite_rl.dataset.rows.read`."""
        for row in read(self.config.path):
            truth, name = row["answer"], row.get("id")
            data = InfiniteRLData(id=name, prompt=row["prompt"], ground_truth=truth)
            yield InfiniteRLTask(data, self.config.task)
