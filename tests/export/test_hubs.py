"""Exported environments pass the hubs' own checks, each hub in an environment of its own.

By hand, since each hub takes up to 300 MB: docs/environments.md says what was run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hub_environment import install, run
from openai_server import OpenAIServer, Reply, Request, streamed

from infinite_rl.export import export
from infinite_rl.layout import tagged

SOURCE = Path(__file__).parents[1] / "support" / "sorted_words.py"

pytestmark = [pytest.mark.slow, pytest.mark.soak]
GOOD = {"type": "math", "prompt": "What is 2 + 5?", "answer": "7", "response": tagged("7")}
CODE = {
    "type": "coding",
    "language": "python",
    "prompt": "Write f(x), which returns 2 * x.",
    "answer": json.dumps({"tests": ["assert f(3) == 6", "assert f(-1) == -2"]}),
    "response": tagged("```python\ndef f(x):\n    return 2 * x\n```"),
}
OWN = {
    "type": "sorted_words",
    "prompt": "Sort: pear fig",
    "answer": "fig pear",
    "response": tagged("fig pear"),
}
OWN_WRONG = {**OWN, "prompt": "Sort: lime fig"}
WRONG = {**GOOD, "prompt": "What is 2 + 6?"} | {"response": tagged("7"), "answer": "8"}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Installs a package into a virtual environment that also has this one; gives its programs."""

    def installed(requirement: str) -> Path:
        return install(tmp_path_factory.mktemp("hub"), requirement, "hatchling", "uv")

    return installed


@pytest.fixture
def alone(tmp_path: Path) -> dict[str, Any]:
    """A working directory and a HOME that hold nothing."""
    (tmp_path / "home").mkdir()
    (tmp_path / "cwd").mkdir()
    return {"cwd": tmp_path / "cwd", "HOME": str(tmp_path / "home")}


def export_with_own_reward(to: str, folder: Path) -> None:
    """Export rows of a reward whose file is gone before the hub sees the folder."""
    source = folder.parent / "of_the_user" / "sorted_words.py"
    source.parent.mkdir()
    shutil.copy(SOURCE, source)
    own = f"sorted_words={source}:SortedWords"
    export([GOOD, OWN, OWN_WRONG], to, folder, system="", rewards=[own])
    shutil.rmtree(source.parent)


def answered(request: Request) -> Reply:
    """The worked response of the row that is asked for, as events."""
    rows = (GOOD, CODE, WRONG, OWN, OWN_WRONG)
    words = next(row["response"] for row in rows if row["prompt"] in request.prompt)
    return streamed({"content": words})


def validated_and_evaluated(programs: Path, **where: Any) -> Path:
    """Have verifiers find one of three golds wrong, and run a model; the path of its traces."""
    local = ("--runtime.type", "subprocess", "--no-rich")
    report = run(programs, "vf-validate", "some-tasks", *local, **where)
    checks = json.loads(report[report.index("{\n") :])["checks"]
    assert (checks["gold"]["valid"], checks["gold"]["invalid"]) == (2, 1)
    assert checks["noop"]["valid"] == 3
    with OpenAIServer(answered, key=None) as server:
        words = ["--env.agent.runtime.type", "subprocess", "--env.agent.harness.id", "null"]
        words += ["--no-push", "-m", "m", "-o", "runs", "--client.base_url", server.base_url]
        run(programs, "vf-eval", "some-tasks", *words, **where, OPENAI_API_KEY="any")
    (traces,) = (where["cwd"] / "runs").rglob("traces.jsonl")
    return Path(traces)


def rewards_in(traces: Path) -> list[float]:
    """The rewards of the rollouts, sorted."""
    rollouts = [json.loads(line)["traces"][0] for line in traces.open()]
    return sorted(rollout["rewards"]["infinite_rl"]["score"] for rollout in rollouts)


def test_verifiers_validates_a_package_names_a_wrong_gold_and_rewards_a_model(
    hub: Callable[[str], Path], tmp_path: Path
) -> None:
    programs = hub("verifiers==0.4.0")
    export([GOOD, CODE, WRONG], "verifiers", tmp_path / "some_tasks", system="")
    wheel = tmp_path / "some_tasks"
    run(programs, "pip", "install", "--no-deps", "--no-build-isolation", wheel, cwd=tmp_path)
    traces = validated_and_evaluated(programs, cwd=tmp_path)
    assert rewards_in(traces) == [0.0, 1.0, 1.0]


def test_verifiers_judges_by_a_reward_of_ones_own(
    hub: Callable[[str], Path], tmp_path: Path, alone: dict[str, Any]
) -> None:
    programs = hub("verifiers==0.4.0")
    export_with_own_reward("verifiers", tmp_path / "some_tasks")
    wheel = tmp_path / "some_tasks"
    run(programs, "pip", "install", "--no-deps", "--no-build-isolation", wheel, cwd=tmp_path)
    shutil.rmtree(wheel)
    traces = validated_and_evaluated(programs, **alone)
    # It makes the tasks anew from their data alone, as a server of environments does.
    run(programs, "vf-replay", traces.parent, "--no-rich", "--no-push", "-o", "replayed", **alone)
    (replayed,) = (alone["cwd"] / "replayed").rglob("traces.jsonl")
    for path in (traces, replayed):
        assert rewards_in(path) == [0.0, 1.0, 1.0]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="NeMo Gym needs Python 3.12")
def test_nemo_gym_finds_the_configuration_valid(hub: Callable[[str], Path], tmp_path: Path) -> None:
    programs = hub("nemo-gym==0.4.0")
    export([GOOD, CODE], "nemo-gym", tmp_path / "some_tasks", system="")
    config = "resources_servers/some_tasks/configs/some_tasks.yaml"
    model = ["--model-type", "openai_model", "--model", "m", "--model-api-key", "none"]
    model += ["--model-url", "http://127.0.0.1:9/v1"]
    words = ["gym", "env", "validate", "--config", config, *model]
    assert "Config is valid" in run(programs, *words, cwd=tmp_path / "some_tasks")


VERIFY = """
import json, runpy, sys
from unittest.mock import MagicMock
from fastapi.testclient import TestClient
from nemo_gym.server_utils import ServerClient
from infinite_rl.adapters.nemo_gym import InfiniteRLConfig

rows, texts = open(sys.argv[2]).read().splitlines(), json.loads(sys.argv[3])
config = InfiniteRLConfig(host="127.0.0.1", port=8080, entrypoint="app.py", name="some_tasks")
kind = runpy.run_path(sys.argv[1])["SomeTasks"]
server = kind(config=config, server_client=MagicMock(spec=ServerClient))
with TestClient(server.setup_webserver()) as client:
    for row, text in zip(rows, texts, strict=True):
        part = {"type": "output_text", "text": text, "annotations": []}
        message = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
        response = {"id": "r", "created_at": 0.0, "model": "any", "object": "response"}
        response |= {"parallel_tool_calls": False, "tool_choice": "none", "tools": []}
        response["output"] = [{**message, "content": [part]}]
        answer = client.post("/verify", json={**json.loads(row), "response": response})
        print("reward:", answer.json()["reward"])
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="NeMo Gym needs Python 3.12")
def test_nemo_gym_judges_by_a_reward_of_ones_own(
    hub: Callable[[str], Path], tmp_path: Path, alone: dict[str, Any]
) -> None:
    programs = hub("nemo-gym==0.4.0")
    export_with_own_reward("nemo-gym", tmp_path / "some_tasks")
    inside = tmp_path / "some_tasks" / "resources_servers" / "some_tasks"
    texts = json.dumps([row["response"] for row in (GOOD, OWN, OWN_WRONG)])
    words = (VERIFY, inside / "app.py", inside / "rows" / "train.jsonl", texts)
    output = run(programs, "python", "-c", *words, **alone)
    assert re.findall(r"reward: (\S+)", output) == ["1.0", "1.0", "0.0"]


def can_mount() -> bool:
    """Whether commands may have mounts of their own, as the tests of Harbor do without Docker."""
    words = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return (
        bool(shutil.which("unshare")) and not subprocess.run(words, capture_output=True).returncode
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Harbor needs Python 3.12")
@pytest.mark.skipif(not can_mount(), reason="the stand-in for Docker mounts")
def test_harbor_judges_by_a_reward_of_ones_own(
    hub: Callable[[str], Path], tmp_path: Path, alone: dict[str, Any]
) -> None:
    programs = hub("harbor==0.24.0")
    export_with_own_reward("harbor", tmp_path / "some_tasks")
    words = ["-p", tmp_path / "some_tasks" / "train", "-o", "jobs", "-n", "1", "-q"]
    words += ["-e", "benchmarks.hubs_harbor:LocalEnvironment"]
    rewards = {}
    for agent in ("oracle", "nop"):
        run(programs, "harbor", "run", *words, "-a", agent, "--job-name", agent, **alone)
        trials = sorted((alone["cwd"] / "jobs" / agent).glob("*/result.json"))
        results = [json.loads(path.read_text("utf-8")) for path in trials]
        rewards[agent] = [
            each["verifier_result"]["rewards"]["reward"]
            for each in sorted(results, key=lambda each: str(each["task_name"]))
        ]
    assert rewards == {"oracle": [1.0, 1.0, 0.0], "nop": [0.0, 0.0, 0.0]}


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
    rewards, tasks = submitted(programs, tmp_path / "some_tasks", said, tmp_path)
    assert rewards == [1.0, 1.0, 0.0, 0.0]
    assert [sorted(task) for task in tasks] == [["id", "number", "split"]] * 4


def test_an_open_reward_server_judges_by_a_reward_of_ones_own(
    hub: Callable[[str], Path], tmp_path: Path, alone: dict[str, Any]
) -> None:
    programs = hub("openreward==0.1.167")
    export_with_own_reward("ors", tmp_path / "some_tasks")
    said = [row["response"] for row in (GOOD, OWN, OWN_WRONG)]
    rewards, _ = submitted(programs, tmp_path / "some_tasks", said, **alone)
    assert rewards == [1.0, 1.0, 0.0]


def submitted(
    programs: Path, folder: Path, said: list[str], cwd: Path, **more: str
) -> tuple[list[float], list[dict[str, Any]]]:
    """The rewards of the messages, one a task, and the tasks, by a client of a folder's server."""
    command = [str(programs / "python"), folder / "server.py"]
    with subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, **more, "PORT": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr
        try:
            lines = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in server.stderr)
            address = next(filter(None, lines))[0]
            words = ("python", "-c", CLIENT, address, json.dumps(said))
            rewards, tasks = json.loads(run(programs, *words, cwd=cwd, **more))
        finally:
            server.kill()
    return rewards, tasks
