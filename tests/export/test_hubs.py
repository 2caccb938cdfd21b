"""Exported environments pass the hubs' own checks, each hub in an environment of its own.

By hand, since each hub takes up to 300 MB: docs/environments.md says what was run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hub_environment import install, run
from openai_server import OpenAIServer, Reply, Request, streamed

from infinite_rl.export import export
from infinite_rl.layout import tagged

pytestmark = [pytest.mark.slow, pytest.mark.soak]
GOOD = {"type": "math", "prompt": "What is 2 + 5?", "answer": "7", "response": tagged("7")}
CODE = {
    "type": "coding",
    "language": "python",
    "prompt": "Write f(x), which returns 2 * x.",
    "answer": json.dumps({"tests": ["assert f(3) == 6", "assert f(-1) == -2"]}),
    "response": tagged("```python\ndef f(x):\n    return 2 * x\n```"),
}
WRONG = {**GOOD, "prompt": "What is 2 + 6?"} | {"response": tagged("7"), "answer": "8"}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Installs a package into a virtual environment that also has this one; gives its programs."""

    def installed(requirement: str) -> Path:
        return install(tmp_path_factory.mktemp("hub"), requirement, "hatchling", "uv")

    return installed


def answered(request: Request) -> Reply:
    """The worked response of the row that is asked for, as events."""
    words = next(row["response"] for row in (GOOD, CODE, WRONG) if row["prompt"] in request.prompt)
    return streamed({"content": words})


def test_verifiers_validates_a_package_names_a_wrong_gold_and_rewards_a_model(
    hub: Callable[[str], Path], tmp_path: Path
) -> None:
    programs = hub("verifiers==0.4.0")
    export([GOOD, CODE, WRONG], "verifiers", tmp_path / "some_tasks", system="")
    wheel = tmp_path / "some_tasks"
    run(programs, "pip", "install", "--no-deps", "--no-build-isolation", wheel, cwd=tmp_path)
    local = ("--runtime.type", "subprocess", "--no-rich")
    report = run(programs, "vf-validate", "some-tasks", *local, cwd=tmp_path)
    checks = json.loads(report[report.index("{\n") :])["checks"]
    assert (checks["gold"]["valid"], checks["gold"]["invalid"]) == (2, 1)
    assert checks["noop"]["valid"] == 3
    with OpenAIServer(answered, key=None) as server:
        words = ["--env.agent.runtime.type", "subprocess", "--env.agent.harness.id", "null"]
        words += ["--no-push", "-m", "m", "-o", "runs", "--client.base_url", server.base_url]
        run(programs, "vf-eval", "some-tasks", *words, cwd=tmp_path, OPENAI_API_KEY="any")
    (traces,) = (tmp_path / "runs").rglob("traces.jsonl")
    rollouts = [json.loads(line)["traces"][0] for line in traces.open()]
    rewards = [rollout["rewards"]["infinite_rl"]["score"] for rollout in rollouts]
    assert sorted(rewards) == [0.0, 1.0, 1.0]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="NeMo Gym needs Python 3.12")
def test_nemo_gym_finds_the_configuration_valid(hub: Callable[[str], Path], tmp_path: Path) -> None:
    programs = hub("nemo-gym==0.4.0")
    export([GOOD, CODE], "nemo-gym", tmp_path / "some_tasks", system="")
    config = "resources_servers/some_tasks/configs/some_tasks.yaml"
    model = ["--model-type", "openai_model", "--model", "m", "--model-api-key", "none"]
    model += ["--model-url", "http://127.0.0.1:9/v1"]
    words = ["gym", "env", "validate", "--config", config, *model]
    assert "Config is valid" in run(programs, *words, cwd=tmp_path / "some_tasks")


CLIENT = """
import json, sys
from openreward import OpenReward
environment = OpenReward(api_key="none").environments.get("sometasks", base_url=sys.argv[1])
tasks = environment.list_tasks("train")
rewards = []
for task, said in zip(tasks, json.loads(sys.argv[2])):
    with environment.session(task=task) as session:
        rewards.append(session.call_terminal_tool(said).reward)
print(json.dumps([rewards, [task.task_spec for task in tasks]]))
"""


def test_a_client_of_the_open_reward_standard_gets_rewards_and_no_gold(
    hub: Callable[[str], Path], tmp_path: Path
) -> None:
    programs = hub("openreward==0.1.167")
    rows = [GOOD, CODE, WRONG, GOOD]
    export(rows, "ors", tmp_path / "some_tasks", system="")
    said = [*(row["response"] for row in rows[:3]), ""]
    command = [str(programs / "python"), "server.py"]
    with subprocess.Popen(
        command,
        cwd=tmp_path / "some_tasks",
        env={**os.environ, "PORT": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr
        try:
            lines = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in server.stderr)
            address = next(filter(None, lines))[0]
            output = run(programs, "python", "-c", CLIENT, address, json.dumps(said), cwd=tmp_path)
        finally:
            server.kill()
    rewards, tasks = json.loads(output)
    assert rewards == [1.0, 1.0, 0.0, 0.0]
    assert [sorted(task) for task in tasks] == [["id", "number", "split"]] * 4
