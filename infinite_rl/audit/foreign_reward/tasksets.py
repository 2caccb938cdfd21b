"""Tasksets and task classes of verifiers 0.4, whose data are the rows."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from .parameters import GOLD, PROMPT, Unfit


class Tasks:
    """A taskset or a task class of verifiers 0.4: the data of each task is a row.

    A task is made from its data anew, as `vf-replay` makes it.
    """

    def __init__(self, target: Any) -> None:
        from verifiers.v1.configs.taskset import TasksetConfig
        from verifiers.v1.task import Task
        from verifiers.v1.taskset import Taskset
        from verifiers.v1.utils.generic import concrete_type

        cls: Any = target if inspect.isclass(target) else type(target)
        self.taskset: Any = None
        if issubclass(cls, Taskset):
            if target is cls:
                target = cls((concrete_type(cls, TasksetConfig, origin=Taskset) or TasksetConfig)())
            self.taskset, self.config = target, target.config.task
            cls = cls.task_type()
            if cls is Task:  # the taskset does not state its type
                cls = type(next(iter(target)))
        else:
            self.config = cls.config_type()()
        self.task, self.__name__ = cls, cls.__name__

    @classmethod
    def fits(cls, target: Any) -> bool:
        """Whether a target is a taskset or a task class, without an import of verifiers."""
        bases = inspect.getmro(target if inspect.isclass(target) else type(target))
        names = {f"{base.__module__}.{base.__qualname__}" for base in bases}
        is_task = "verifiers.v1.task.Task" in names and inspect.isclass(target)
        return is_task or "verifiers.v1.taskset.Taskset" in names

    def rows(self, most: int) -> Iterator[dict[str, Any]]:
        """The data of the first tasks of the taskset, as columns that JSON can hold."""
        from pydantic_core import to_jsonable_python

        if self.taskset is None:
            raise ValueError("a task class has no rows: give it some with --rows FILE")
        for task in islice(self.taskset, most):
            data = task.data
            columns = {name: value for name, value in data if name in data.model_fields_set}
            yield to_jsonable_python(columns)

    async def reward(self, row: dict[str, Any], completion: Any) -> float:
        """Score a finished trace of one completion in a separate folder."""
        from verifiers.v1.configs.agent import WireAgentConfig
        from verifiers.v1.runtimes import SubprocessConfig, provision_runtime
        from verifiers.v1.state import state_cls
        from verifiers.v1.trace import AgentInfo, Trace, TraceTask

        task = self.task(self._data(row), self.config)
        if task.NEEDS_CONTAINER or task.data.image:
            raise Unfit("the task needs a container: the audit has the subprocess runtime")
        kind = {"type": type(task).__name__, "key": task.key, "hash": task.hash}
        trace = Trace(
            task=TraceTask(data=task.data, **kind),
            state=state_cls(self.task)(),
            agent=AgentInfo(config=WireAgentConfig()),
            nodes=_nodes(task.data, completion),
        )
        environment = task.runtime_env()
        async with provision_runtime(SubprocessConfig(), trace.id, environment) as runtime:
            await task.setup(trace, runtime)
            trace.stop("agent_completed")
            await task.finalize(trace, runtime)
            await task.score(trace, runtime)
        if not trace.rewards:
            raise Unfit(f"{self.__name__} has no rewards")
        return float(trace.reward)

    def _data(self, row: dict[str, Any]) -> Any:
        """The row as the data of a task. Raises Unfit if it lacks a required field."""
        cls, columns = self.task.data_type(), row["columns"]
        takes_all = cls.model_config.get("extra") == "allow"
        values = {n: v for n, v in columns.items() if takes_all or n in cls.model_fields}
        values = {n: v for n, v in values.items() if v is not None}
        values.setdefault("prompt", row["prompt"])
        for name, field in cls.model_fields.items():
            if name in values and field.annotation is str and not isinstance(values[name], str):
                values[name] = str(values[name])
            elif name not in values and field.is_required():
                if name not in GOLD + PROMPT:
                    raise Unfit(
                        f"the data of {self.__name__} requires {name}: the rows need such a "
                        "column, or leave --rows out to take those of the taskset"
                    )
                gold = row["answer"]
                gold = str(gold) if field.annotation is str else gold
                values[name] = row["prompt"] if name in PROMPT else gold
        try:
            return cls.model_validate_json(json.dumps(values))
        except ValueError as error:  # pydantic's
            raise Unfit(f"a row is not the data of {self.__name__}: {error}") from None


def _nodes(data: Any, completion: list[dict[str, Any]]) -> list[Any]:
    """The messages of a prompt and a completion, each the parent of the next."""
    from verifiers.v1.graph import MessageNode

    messages = []
    for message in completion:
        calls = [
            {"id": str(at), **call["function"]}
            for at, call in enumerate(message.get("tool_calls") or ())
        ]
        messages.append({**message, "tool_calls": calls} if calls else message)
    own_prompt = data.prompt or ""
    prompt = (
        own_prompt if isinstance(own_prompt, list) else [{"role": "user", "content": own_prompt}]
    )
    system = [{"role": "system", "content": data.system_prompt}] if data.system_prompt else []
    before = len(system) + len(prompt)
    return [
        MessageNode(message=message, parent=at - 1 if at else None, sampled=at >= before)
        for at, message in enumerate([*system, *prompt, *messages])
    ]
