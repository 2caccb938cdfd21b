"""verifiers' own evaluation: rollouts share one process of tools, each with its own state.

By hand, since the hub takes up to 300 MB and fetches what its harness needs.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hub_environment import install, run
from openai_server import OpenAIServer, Reply, Request, streamed

from infinite_rl.export import export
from infinite_rl.layout import tagged

pytestmark = [pytest.mark.slow, pytest.mark.soak]

ROWS = [
    {"type": "math", "prompt": f"What is {n} * 7?", "answer": str(n * 7), "response": ""}
    for n in range(2, 6)
]


def spoken(request: Request, together: threading.Barrier) -> dict[str, Any]:
    """What the model says: it stores a number, multiplies it, and gives what the tool said."""
    messages = request.body["messages"]
    number = messages[1]["content"].split()[2]
    heard = [each["content"] for each in messages if each["role"] == "tool"]
    texts = [each if isinstance(each, str) else each[0]["text"] for each in heard]
    code = (f"xs = [*globals().get('xs', []), {number}]", "xs[0] * 7 if len(xs) == 1 else xs")
    if len(texts) == len(code):
        return {"content": tagged(texts[-1])}
    if texts:
        together.wait(120)  # every rollout has a session now
    arguments = json.dumps({"code": code[len(texts)]})
    function = {"name": "python", "arguments": arguments}
    call = {"index": 0, "id": f"call{len(texts)}", "type": "function", "function": function}
    return {"tool_calls": [call]}


def answered(request: Request, together: threading.Barrier) -> Reply:
    message = spoken(request, together)
    return streamed(message, "tool_calls" if "tool_calls" in message else "stop")


def evaluated(programs: Path, folder: Path, out: str, rollouts: int, *more: str) -> list[Any]:
    """The traces of an evaluation of the rows."""
    words = ["--env.agent.runtime.type", "subprocess", "--env.agent.harness.id", "null"]
    words += ["--env.taskset.tools.names", '["python"]', "-r", str(rollouts), "--no-push"]
    together = threading.Barrier(len(ROWS) * rollouts)
    with OpenAIServer(lambda request: answered(request, together), key=None) as server:
        words += ["-m", "m", "-o", out, "--client.base_url", server.base_url, *more]
        run(programs, "vf-eval", "some-tasks", *words, cwd=folder, OPENAI_API_KEY="any")
    (file,) = (folder / out).rglob("traces.jsonl")
    return [json.loads(line)["traces"][0] for line in file.open()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with verifiers in an environment, where the rows are installed."""
    folder = tmp_path_factory.mktemp("verifiers")
    programs = install(folder / "environment", "verifiers==0.4.0", "hatchling", "uv")
    export(ROWS, "verifiers", folder / "some_tasks", system="Use the tool.")
    words = ("install", "--no-deps", "--no-build-isolation", folder / "some_tasks")
    run(programs, "pip", *words, cwd=folder)
    return folder


def test_rollouts_share_a_process_of_tools_and_no_state(folder: Path) -> None:
    traces = evaluated(folder / "environment" / "bin", folder, "runs", 2)
    assert [trace["rewards"]["infinite_rl"]["score"] for trace in traces] == [1.0] * 8


def test_a_tool_that_fails_ends_its_rollout_without_a_reward(folder: Path) -> None:
    programs, only_one = folder / "environment" / "bin", "--env.taskset.tools.max_sessions"
    traces = evaluated(programs, folder, "few", 1, only_one, "1")
    rewards = [trace["rewards"].get("infinite_rl", {}).get("score") for trace in traces]
    assert sorted(rewards, key=str) == [1.0, None, None, None]
    assert all("make room" in str(trace["errors"]) for trace in traces if not trace["rewards"])
