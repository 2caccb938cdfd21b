"""verifiers 0.4 and prime-rl: tasksets over exported rows and over procedural families.

`infinite-rl export --to verifiers` writes a package around `InfiniteRLTaskset`. Tasks without end:

    from infinite_rl.adapters.verifiers import ProceduralTaskset  # in a module of yours
    __all__ = ["ProceduralTaskset"]

The contract is that of verifiers 0.4.0: `Taskset.load` yields tasks, `Task.score` awaits each
method marked `@vf.reward`, and `vf-validate` awaits `Task.validate`. What `score` raises becomes
the trace's error, and the reward stays None, which stands for "not scored": so what could not be
judged raises. For versions before 0.4 see `rubric.py`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import verifiers.v1 as vf

from infinite_rl.adapters.scorer import scorer
from infinite_rl.adapters.tools import database_of
from infinite_rl.adapters.verifiers_tools import SandboxToolset, SandboxToolsetConfig, ToolState
from infinite_rl.dataset.ground_truth import pack, unpack
from infinite_rl.dataset.rows import read
from infinite_rl.errors import InfiniteRLError, UsageError
from infinite_rl.procedural.families import check_families, draw_level_and_family, make_problem
from infinite_rl.solver_prompts import default_system_prompt
from infinite_rl.types import Sample

__all__ = ["InfiniteRLTask", "InfiniteRLTaskset", "InfiniteRLTasksetConfig", "ProceduralTaskset"]


class InfiniteRLData(vf.TaskData):
    """A task, the ground truth of its row, and its worked response ("" if it has none)."""

    ground_truth: str
    response: str = ""


class InfiniteRLTaskConfig(vf.TaskConfig):
    """The settings of `Scorer`."""

    format_weight: float = 0.0
    partial: bool = False
    timeout: float = 5.0


class InfiniteRLTask(vf.Task[InfiniteRLData, ToolState, InfiniteRLTaskConfig]):
    """A task that is judged by the last reply.

    For the user's own rewards a package has a subclass that sets `rewards`, and a taskset of that
    subclass: verifiers creates a task again from its data, without other settings.
    """

    rewards: ClassVar[Path | None] = None

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:  # noqa: ARG002
        """Name the session of the rollout's tools, and the database that they read."""
        trace.state.session = uuid.uuid4().hex
        trace.state.database = database_of(unpack(self.data.ground_truth))

    @vf.reward
    async def infinite_rl(self, trace: vf.Trace) -> float:
        """The reward in [0, 1]. Raises InfiniteRLError if the reply could not be judged."""
        return await self._judged(reply_of(trace))

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """Whether the worked response passes; None without one.

        Raises:
            InfiniteRLError: it could not be judged.
        """
        response = self.data.response
        return await self._judged(response, format_weight=0) == 1 if response else None

    async def _judged(self, text: str, format_weight: float | None = None) -> float:
        config = self.config
        weight = config.format_weight if format_weight is None else format_weight
        judge = scorer(weight, config.partial, config.timeout, self.rewards)
        sample = unpack(self.data.ground_truth)
        score = await asyncio.to_thread(judge.judge_one, sample, text)
        reward = judge.reward(score)
        if reward is None:
            raise InfiniteRLError(score.error_msg)
        return reward


def reply_of(trace: vf.Trace) -> str:
    """The model's last message as it is: `trace.last_reply` has lost the first indentation."""
    if trace.root_reply is not None:
        return str(trace.root_reply)
    messages = trace.assistant_messages
    return (messages[-1].content or "") if messages else ""


class InfiniteRLTasksetConfig(vf.TasksetConfig):
    """`path` is a file or folder of rows that `infinite-rl export --to verifiers` wrote.

    `tools.names` gives the model tools, for example `--env.taskset.tools.names '["python"]'`.
    """

    path: Path | None = None
    task: InfiniteRLTaskConfig = InfiniteRLTaskConfig()
    tools: SandboxToolsetConfig = SandboxToolsetConfig()


class InfiniteRLTaskset(vf.Taskset[InfiniteRLTask, InfiniteRLTasksetConfig]):
    """The tasks of an export. A package of rows names them in `rows`, the default of `path`."""

    rows: ClassVar[Path | None] = None

    @classmethod
    def toolsets(cls, config: InfiniteRLTasksetConfig) -> list[vf.Toolset]:
        """Return the tools that all rollouts share."""
        return _toolsets(config.tools)

    def load(self) -> Iterator[InfiniteRLTask]:
        """Yield a task for each row.

        Raises:
            UsageError: no path is known; or as `infinite_rl.dataset.rows.read`.
        """
        path = self.config.path or self.rows
        if path is None:
            raise UsageError(
                "which rows? Say --taskset.path FILE (vf-eval: --env.taskset.path FILE), a file "
                "that `infinite-rl export --to verifiers` wrote"
            )
        kind: type[InfiniteRLTask] = self.task_type()
        for row in read(path):
            response = json.loads(row["info"]).get("response", "")
            data = InfiniteRLData(
                id=row.get("id"),
                prompt=row["prompt"],
                ground_truth=row["answer"],
                response=response,
            )
            yield kind(data, self.config.task)


class ProceduralConfig(vf.TasksetConfig):
    """Which procedural tasks: `families` are names, all if empty; `levels` of 1 to 5, all if empty.

    Equal seeds give equal tasks.
    """

    kind: Literal["math", "python", "javascript"] = "math"
    families: list[str] = []
    levels: list[int] = []
    seed: int = 0
    task: InfiniteRLTaskConfig = InfiniteRLTaskConfig()
    tools: SandboxToolsetConfig = SandboxToolsetConfig()


class ProceduralTaskset(vf.Taskset[InfiniteRLTask, ProceduralConfig]):
    """Tasks without end, made from a seed when they are needed. `--num-tasks` takes the first n."""

    INFINITE = True

    @classmethod
    def toolsets(cls, config: ProceduralConfig) -> list[vf.Toolset]:
        """Return the tools that all rollouts share."""
        return _toolsets(config.tools)

    def load(self) -> Iterator[InfiniteRLTask]:
        """Yield tasks. Raises UsageError for an unknown family, or a level that none has."""
        config = self.config
        check_families(config.families, [config.kind], config.levels)
        for seed in itertools.count(config.seed):
            level, family = draw_level_and_family(config.kind, seed, config.levels, config.families)
            problem = make_problem(config.kind, seed, level, family)
            type_, language = ("math", "") if config.kind == "math" else ("coding", config.kind)
            sample = Sample(type_, problem.prompt, problem.answer, problem.response, language)
            messages = [{"role": "user", "content": sample.prompt}]
            if system := default_system_prompt(sample):
                messages.insert(0, {"role": "system", "content": system})
            yield InfiniteRLTask(
                InfiniteRLData(
                    id=f"{config.kind}-{level}-{family}-{seed}",
                    prompt=messages,
                    ground_truth=pack(sample),
                    response=problem.response,
                ),
                config.task,
            )


def _toolsets(config: SandboxToolsetConfig) -> list[vf.Toolset]:
    return [SandboxToolset(config)] if config.names else []
