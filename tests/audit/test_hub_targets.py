"""Tasksets of verifiers and resources servers of NeMo Gym are audited as the hubs call them.

By hand, since each hub takes minutes to install: they live in environments of their own.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hub_environment import environment

from infinite_rl.audit import Limits, Report, Settings, audit, audit_rows, own_rows, replay
from infinite_rl.audit.process import Process
from infinite_rl.errors import UsageError

pytestmark = [pytest.mark.slow, pytest.mark.soak]
LIMITS = Limits(seconds=30, rows=2)
NEWER = f"python3.{max(12, sys.version_info.minor)}"
TASKSET = """
import re

import verifiers.v1 as vf


class SumData(vf.TaskData):
    answer: str


class SumTask(vf.Task[SumData]):
    def _said(self, trace):
        return re.findall(r"<answer>([^<]*)</answer>", trace.last_reply)

    @vf.reward(weight=0.75)
    async def right(self, trace: vf.Trace) -> float:
        said = self._said(trace)
        return float(trace.is_completed and RIGHT)

    @vf.reward(weight=0.25)
    async def sound_in_a_runtime(self, trace: vf.Trace, runtime: vf.Runtime) -> float:
        said = self._said(trace)[-1:] or [""]
        same = await runtime.run(["test", said[0].strip(), "=", self.data.answer], {})
        return float(same.exit_code == 0 and await runtime.read("gold") == b"staged")

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        await runtime.write("gold", b"staged")


class Sums(vf.Taskset[SumTask, vf.TasksetConfig]):
    INFINITE = True

    def load(self):
        n = 3
        while True:
            prompt = [{"role": "user", "content": f"What is {n} + 40?"}]
            yield SumTask(SumData(prompt=prompt, answer=str(n + 40)), self.config.task)
            n += 1


__all__ = ["Sums"]
"""
ROWS = [{"question": "What is 3 + 4?", "answer": 7}, {"question": "Is it 12?", "answer": 12}]
SOUND, LOOSE = "len(said) == 1 and said[0].strip() == self.data.answer", "self.data.answer in said"


def interpreter(folder: Path, python: str, requirement: str) -> Path:
    """That of a new environment; skips the test if there can be none."""
    try:
        return environment(folder, requirement, python=python) / "python"
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"{requirement} cannot be installed: {error}")


@pytest.fixture(scope="module")
def verifiers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return interpreter(tmp_path_factory.mktemp("hub"), sys.executable, "verifiers==0.4.0")


@pytest.fixture(scope="module")
def nemo_gym(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return interpreter(tmp_path_factory.mktemp("hub"), NEWER, "nemo-gym==0.4.0")


def taskset(folder: Path, right: str) -> str:
    path = folder / f"sums{len(right)}.py"
    path.write_text(TASKSET.replace("RIGHT", right), encoding="utf-8")
    return str(path)


def test_the_tasks_of_a_taskset_are_scored_as_a_rollout_scores_them(
    verifiers: Path, tmp_path: Path
) -> None:
    settings = Settings(python=str(verifiers), timeout=60)
    sound, loose = taskset(tmp_path, SOUND), taskset(tmp_path, LOOSE)
    rows = own_rows(sound, settings)  # its name is that of __all__
    assert [row.gold for row in rows[:3]] == ["43", "44", "45"] and len(rows) == 200
    assert rows[0].prompt == "What is 3 + 40?"
    right, wrong = (rows[0].sent(), "<answer>43</answer>"), (rows[0].sent(), "<answer>4</answer>")
    with Process(f"{sound}:Sums", settings) as process:
        request = {"kind": "verifiers", "how": "main"}
        assert process.description.kind == "verifiers" and "right" in process.description.source
        replies = process.ask([right, wrong, (rows[0].sent(), "")], request)
        assert [reply.reward for reply in replies] == [1.0, 0.0, 0.0]
        replies = process.ask([right] * 4, {**request, "how": "threads"})
        assert [reply.reward for reply in replies] == [1.0] * 4
    report = audit(f"{loose}:SumTask", list(audit_rows(ROWS)), settings, LIMITS)
    [finding] = [each for each in report.findings if each.kind == "several answers"]
    assert report.full == 1.0
    assert replay(f"{loose}:SumTask", finding.witness, settings, report.chat)[0]


def test_rows_that_do_not_fit_a_task_are_one_clear_line(verifiers: Path, tmp_path: Path) -> None:
    settings = Settings(python=str(verifiers), timeout=60)
    path = Path(taskset(tmp_path, SOUND))
    code = path.read_text().replace("    answer: str", "    answer: str\n    unit: str")
    path.write_text(code, encoding="utf-8")
    with pytest.raises(UsageError, match="SumTask requires unit: the rows need such a column"):
        audit(f"{path}:SumTask", list(audit_rows(ROWS)), settings)
    with pytest.raises(UsageError, match="has no rows"):
        own_rows(f"{path}:SumTask", settings)


SERVER = """
import socket
from unittest.mock import MagicMock

import uvicorn
from fastapi import Request
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig, BaseSeedSessionResponse, BaseVerifyRequest, BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.server_utils import SESSION_ID_KEY, ServerClient


class SumRequest(BaseVerifyRequest):
    expected_answer: str


class Sums(SimpleResourcesServer):
    golds: dict[str, str] = {}

    async def seed_session(self, request: Request, body: dict) -> BaseSeedSessionResponse:
        self.golds[request.session[SESSION_ID_KEY]] = body["expected_answer"]
        return BaseSeedSessionResponse()

    async def verify(self, request: Request, body: SumRequest) -> BaseVerifyResponse:
        gold = self.golds.pop(request.session[SESSION_ID_KEY])
        boxes = body.response.output_text.split("boxed{")[1:]
        said = [box.partition("}")[0] for box in boxes]
        return BaseVerifyResponse(**body.model_dump(), reward=float(RIGHT))


config = BaseResourcesServerConfig(
    host="127.0.0.1", port=1, entrypoint="app.py", name="sums", domain="math"
)
server = Sums(config=config, server_client=MagicMock(spec=ServerClient))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(server.setup_webserver())).run(sockets=[listener])
"""


@contextmanager
def serving(python: Path, right: str) -> Iterator[str]:
    """The address of a resources server, which keeps the gold of a row in its session."""
    command = [str(python), "-c", SERVER.replace("RIGHT", right)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}/verify"
        finally:
            server.kill()


def test_a_resources_server_is_asked_as_an_agent_of_nemo_gym_asks_it(nemo_gym: Path) -> None:
    asked = {"input": [{"role": "user", "content": "What is 3 + 4? Use \\boxed{}."}]}
    golds = ({"expected_answer": gold} for gold in ("7", "12"))
    rows = list(audit_rows([{**gold, "responses_create_params": asked} for gold in golds]))
    assert rows[0].prompt == asked["input"][0]["content"]

    def audited(right: str) -> Report:
        with serving(nemo_gym, right) as url:
            with pytest.raises(UsageError, match=r"422.*expected_answer"):
                audit(url, list(audit_rows(ROWS)))
            return audit(url, rows, Settings(timeout=20), Limits(seconds=20, rows=1))

    report = audited("said[-1:] == [gold]")
    assert report.kind == "nemo_gym" and report.full == 1.0 and not report.findings
    assert "retracted" in {each.kind for each in audited("said[:1] == [gold]").findings}
