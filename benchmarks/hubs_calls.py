"""What a hub's own code says of completions, for `hubs.py`: arguments HUB, ROWS and TEXTS.

Runs in the environment of the hub. ROWS is the file of the exported rows (for `ors`, the server's
address), TEXTS a JSON list with a completion for each row. Prints the rewards as JSON: a number,
null if the hub says that the answer could not be judged, or a text that says what else happened.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import MagicMock

Reward: TypeAlias = "float | str | None"
AT_ONCE = 4


def verifiers(rows: str, texts: Sequence[str]) -> list[Reward]:
    """Score a trace of each task with `Task.score`, the tasks loaded by the installed package."""
    import verifiers.v1 as vf
    from verifiers.v1.configs.taskset import TasksetConfig
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, TraceTask
    from verifiers.v1.utils.generic import concrete_type
    from verifiers.v1.utils.loaders import taskset_class

    cls = taskset_class("hub_rows")
    config = concrete_type(cls, TasksetConfig).model_validate({"id": "hub_rows", "path": rows})
    turn = asyncio.Semaphore(AT_ONCE)

    async def scored(task: Any, text: str) -> Reward:
        trace = vf.Trace.model_construct(
            task=TraceTask.model_construct(data=task.data),
            agent=AgentInfo.model_construct(),
            nodes=[MessageNode(message=vf.AssistantMessage(content=text), sampled=True)],
            rewards={},
            metrics={},
            root_reply=None,
        )
        async with turn:
            try:
                await task.score(trace)
            except vf.TaskError as error:
                return None if trace.rewards == {"infinite_rl": None} else str(error)
        return float(trace.rewards["infinite_rl"].score)

    async def all_scored() -> list[Reward]:
        return list(await asyncio.gather(*map(scored, cls(config), texts)))

    return asyncio.run(all_scored())


def ors(address: str, texts: Sequence[str]) -> list[Reward]:
    """Submit each text through the client, in a session of its task."""
    from openreward import OpenReward

    environment = OpenReward(api_key="none").environments.get("hubrows", base_url=address)

    def submitted(task: Any, text: str) -> Reward:
        try:
            with environment.session(task=task) as session:
                return session.call_terminal_tool(text).reward  # type: ignore[no-any-return]
        except Exception as error:  # the client raises what the server said, as several types
            return None if "not scored" in str(error) else f"{type(error).__name__}: {error}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(submitted, environment.list_tasks("train"), texts))


def nemo_gym(rows: str, texts: Sequence[str]) -> list[Reward]:
    """POST each row with the text as the model's response to /verify, in this process."""
    from fastapi.testclient import TestClient
    from nemo_gym.server_utils import ServerClient

    from infinite_rl.adapters.nemo_gym import InfiniteRLConfig, InfiniteRLResourcesServer

    config = InfiniteRLConfig(host="127.0.0.1", port=8080, entrypoint="app.py", name="hub_rows")
    server = InfiniteRLResourcesServer(config=config, server_client=MagicMock(spec=ServerClient))
    with TestClient(server.setup_webserver()) as client:

        def verified(line: str, text: str) -> Reward:
            part = {"type": "output_text", "text": text, "annotations": []}
            message = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
            response = {
                **{"id": "r", "created_at": 0.0, "model": "any", "object": "response"},
                **{"parallel_tool_calls": False, "tool_choice": "none", "tools": []},
                "output": [{**message, "content": [part]}],
            }
            answer = client.post("/verify", json={**json.loads(line), "response": response})
            if answer.status_code != 200:
                return str(answer.text)
            verdict = answer.json()
            return (
                None
                if verdict["mask_sample"] and verdict["failure_reason"]
                else float(verdict["reward"])
            )

        with ThreadPoolExecutor(AT_ONCE) as pool:
            lines = Path(rows).read_text(encoding="utf-8").splitlines()
            return list(pool.map(verified, lines, texts))


CALLS: Mapping[str, Callable[[str, Sequence[str]], list[Reward]]] = {
    "verifiers": verifiers,
    "ors": ors,
    "nemo-gym": nemo_gym,
}

if __name__ == "__main__":
    hub, where, path = sys.argv[1:]
    rewards = CALLS[hub](where, json.loads(Path(path).read_text(encoding="utf-8")))
    print(json.dumps(rewards))
