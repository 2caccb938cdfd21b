"""Generation on a Ray cluster of two nodes, on this machine."""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gemini_server as gemini
import pytest
from authors import PUZZLES, Author, Judge, Learner
from ray_nodes import ROOT, nodes
from sums import task

from infinite_rl.dataset.rows import read as rows_of
from infinite_rl.dataset.traces import traces_of_attempts
from infinite_rl.errors import UsageError
from infinite_rl.files.logs import read_rows
from infinite_rl.generation.plan import GenerateOptions, shard_folders
from infinite_rl.generation.progress import Progress
from infinite_rl.generation.ray import generate_on_ray
from infinite_rl.generation.rescore import rescore
from infinite_rl.inference.journal import answers, calls
from infinite_rl.providers import DEFAULT_MODEL
from infinite_rl.report import report
from infinite_rl.store import DATASET, FAILED, SOLUTIONS, failures

pytestmark = pytest.mark.slow

ROWS, THREADS = 40, 2


class Service:
    """Answers half of the rows at once, and the others when a worker has been killed."""

    def __init__(self) -> None:
        self.killed = threading.Event()
        self.answered: Counter[int] = Counter()
        learner = Learner(lambda number: (0.5, 1.0)[number % 2])
        self.models = {"author": Author(known=200), "learner": learner, "judge": Judge()}

    def __call__(self, request: gemini.Request) -> str:
        seed = request.seed or 0
        if model := self.models.get(request.model):
            return model.complete(request.system, request.prompt, seed).text
        if self.answered.total() >= ROWS // 2:
            self.killed.wait(60)
        self.answered[seed] += 1
        number = seed % 5_000  # rarely two shards make the same task: each round takes seconds
        return task(number, shown=number + 1 + (number % 9 == 0))


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    service = Service()
    with gemini.GeminiServer(service) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)  # of both nodes, which are started after it
        yield service
        service.killed.set()


@pytest.fixture(scope="module")
def cluster(service: Service) -> Iterator[Any]:  # noqa: ARG001 -- its nodes ask that
    pytest.importorskip("ray")
    with nodes(1, 1) as cluster:
        yield cluster


def holder(path: Path) -> int:
    """The process that has a file open; 0 where none has."""
    for opened in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if opened.readlink() == path:
                return int(opened.parts[2])
        except OSError:  # a process that has ended, or is not ours
            continue
    return 0


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="finds the worker in Linux's /proc")
def test_a_killed_worker_loses_nothing(cluster: Any, service: Service, tmp_path: Path) -> None:
    folders = shard_folders(tmp_path, 2)
    seen: list[Progress] = []

    def kill_one(progress: Progress) -> None:
        seen.append(progress)
        begun = [each for each in folders if (each / DATASET).exists()]
        begun = [each for each in begun if any(read_rows(each / DATASET))]
        process = holder(begun[0] / ".lock") if begun else 0
        if process and not service.killed.is_set():
            assert process != os.getpid()
            os.kill(process, signal.SIGKILL)
            service.killed.set()

    options = GenerateOptions(
        DEFAULT_MODEL, ROWS, tmp_path, provider="gemini", task_dist="0,1", num_threads=THREADS,
        verify=0, on_progress=kill_one, novelty=False,  # its sums differ by their numbers alone
    )  # fmt: skip
    done = generate_on_ray(options, address=cluster.address)
    assert service.killed.is_set() and done.complete and len(seen) > 1
    rows, left_out = list(read_rows(tmp_path / DATASET)), list(read_rows(tmp_path / FAILED))
    assert len(rows) == ROWS == done.present["math"] + done.accepted["math"]
    for name in ("slot", "prompt", "id"):
        assert len({row[name] for row in rows}) == ROWS
    made = {row["slot"] for folder in folders for row in read_rows(folder / DATASET)}
    assert made == {row["slot"] for row in rows + left_out}
    assert max(service.answered.values()) == 1, "a call was answered twice"
    bought = sum(1 for folder in folders for _ in answers(folder))
    assert len(service.answered) - bought <= THREADS, "more was lost than was under way"
    assert done.spending.calls == bought
    offline = GenerateOptions("", 2, tmp_path / "out", provider="procedural")
    with pytest.raises(UsageError, match="no Ray cluster at 127.0.0.1"):
        generate_on_ray(offline, address="127.0.0.1:1")
    assert not (tmp_path / "out").exists()


def test_ideas_pass_rates_and_marks_are_those_of_the_workers(
    cluster: Any, service: Service, tmp_path: Path
) -> None:
    options = GenerateOptions(
        "author", 30, tmp_path, provider="gemini", verify=0, num_threads=THREADS,
        extra_tasks={"puzzles": PUZZLES}, task_dist={"puzzles": 1},
        pass_rate="0.2:0.8", solver="learner", judge="judge",
    )  # fmt: skip
    done = generate_on_ray(options, address=cluster.address)
    rows = list(read_rows(tmp_path / DATASET))
    assert done.complete and len({row["answer"] for row in rows}) == len(rows) == 30
    assert all(row["idea"] and row["judge"] and int(row["attempts"]) >= 1 for row in rows)
    assert done.rejected["too easy"] > 0
    folders = shard_folders(tmp_path, 2)
    slots = [str(call.slot) for folder in folders for call in calls(folder)]
    assert len(slots) == len(set(slots)) == sum(len(m.asks) for m in service.models.values())
    rejected = Counter(row["reason"] for row in failures(tmp_path))
    assert rejected["too easy"] == done.rejected["too easy"], "those of the shards, too"
    report(tmp_path, page := tmp_path.parent / "page.html")
    assert '"too easy"' in page.read_text("utf-8")
    solutions = list(rows_of(tmp_path / SOLUTIONS))
    every = [row for folder in folders for row in rows_of(folder / SOLUTIONS)]
    assert solutions == every and len(solutions) == len(service.models["learner"].asks)
    again = generate_on_ray(options, address=cluster.address)
    assert again.complete and not again.calls and list(rows_of(tmp_path / SOLUTIONS)) == every
    rescored = rescore(tmp_path)
    assert (rescored.kept, rescored.dropped) == (30, 0) and rescored.out
    assert list(rows_of(rescored.out / SOLUTIONS)) == every
    made = traces_of_attempts(tmp_path / SOLUTIONS, tmp_path.parent / "traces.jsonl")
    assert made.kept == sum(row["status"] == "passed" for row in every) > 30


def test_the_sandbox_still_takes_traps_when_ray_has_come_and_gone(cluster: Any) -> None:
    code = (
        "import ray\n"
        "from infinite_rl.sandbox.executor import RewardExecutor\n"
        "sandbox = RewardExecutor(timeout=5)\n"
        "sandbox.run_single('1', 'javascript')\n"
        f"for call in (lambda: ray.init({cluster.address!r}), ray.shutdown):\n"
        "    call()\n"
        "    said = sandbox.run_single('function f() { return f() + 1 } f()', 'javascript')\n"
        "    assert 'RangeError' in said[1], said\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=120)
