"""The program of a job's container: its hosts are processes of this machine, one address each."""

import errno
import io
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import s3_server
from labelled import assert_none, unlike

from infinite_rl.errors import InfiniteRLError, StoreError, UsageError
from infinite_rl.launch import container as container_program
from infinite_rl.launch import ray_job
from infinite_rl.launch.container import Evaluation, _beside, _terminate, unpack
from infinite_rl.launch.hosts import HostRendezvous, Hosts, WorkerHost, ip_of
from infinite_rl.launch.inputs import fetch_inputs
from infinite_rl.launch.ray_job import RayNode, run_training
from infinite_rl.launch.resumable_run import ResumableRun
from infinite_rl.storage import fetch, list_published
from infinite_rl.training.runs import checkpoint
from infinite_rl.training.runs.config import TrainingConfig
from infinite_rl.training.runs.publishing import Publisher
from infinite_rl.training.runs.resuming import resume_checkpoint
from infinite_rl.training.runs.run_folder import RunFolder, read_events

ROOT = Path(__file__).parents[2]
NAMES = ("127.0.0.2", "127.0.0.3")  # on Linux all of 127.0.0.0/8 is this machine
RAY = {"address": "x:1", "token": "secret"}

linux = pytest.mark.skipif(sys.platform != "linux", reason="one loopback address a host")


def hosts(current: int, names: tuple[str, ...] = NAMES) -> Hosts:
    return Hosts(names, names[current])


def free_port() -> int:
    """A port below those that the system assigns to other programs meanwhile."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with suppress(OSError), socket.create_server((NAMES[0], port)):
            return port


# --- the names of the hosts ----------------------------------------------------------------------
def test_the_hosts_are_those_of_the_environment_else_of_sagemakers_file(tmp_path: Path) -> None:
    variables = {"SM_HOSTS": '["algo-1", "algo-2"]', "SM_CURRENT_HOST": "algo-2"}
    detected = Hosts.detect({**variables, "SM_NUM_GPUS": "8"}, Path())
    assert detected == Hosts(("algo-1", "algo-2"), "algo-2", 8)
    assert (detected.head, detected.is_head) == ("algo-1", False)
    file = tmp_path / "resourceconfig.json"
    file.write_text('{"current_host": "algo-1", "hosts": ["algo-1", "algo-2"]}')
    assert Hosts.detect({}, file) == Hosts(("algo-1", "algo-2"), "algo-1")
    alone = Hosts.detect({}, tmp_path / "none")
    assert alone.is_head and len(alone.names) == 1 and alone.gpus is None


def test_malformed_names_are_refused() -> None:
    cases: list[tuple[dict[str, str], str]] = [
        ({"SM_HOSTS": '["a"]', "SM_CURRENT_HOST": "b"}, "'b' is none of the job's hosts"),
        ({"SM_HOSTS": '["a"]'}, "'' is none of the job's hosts"),
        ({"SM_NUM_GPUS": "all"}, "SM_NUM_GPUS must be a number"),
        ({"SM_NUM_GPUS": "9" * 9_999}, "SM_NUM_GPUS must be a number"),
    ]
    for names in ("algo-1", "[]", '["a", "a"]', '[""]', "[" * 99_999):
        values = {"SM_HOSTS": names, "SM_CURRENT_HOST": "a"}
        cases.append((values, "SM_HOSTS must be a list of names"))
    calls = [(f"UsageError: {said}", partial(Hosts.detect, env, Path())) for env, said in cases]
    invalid = ["a\0b", "a" * 70, "\ud800", "..", "$(id)"]
    assert_none(unlike(calls + [("has no address", partial(ip_of, name)) for name in invalid]))


# --- the rendezvous ------------------------------------------------------------------------------
@linux
def test_a_host_receives_rays_address_and_the_end() -> None:
    port = free_port()
    rendezvous = HostRendezvous(hosts(0), port)
    rendezvous.send(RAY)
    with socket.create_connection((NAMES[0], port), source_address=("127.0.0.9", 0)) as stranger:
        assert stranger.recv(100) == b""
    with closing(WorkerHost(hosts(1), port, 10)) as worker:
        assert worker.ray() == RAY and worker.ended(0) is None
        rendezvous.end(3)
        assert worker.ended(10) == 3


@linux
def test_a_host_that_connects_at_the_end_receives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    send = socket.socket.sendall

    def send_and_pause(worker: socket.socket, line: bytes) -> None:
        send(worker, line)
        time.sleep(0.05)  # in which the run ends

    port = free_port()
    rendezvous = HostRendezvous(hosts(0), port)
    monkeypatch.setattr(socket.socket, "sendall", send_and_pause)
    with closing(WorkerHost(hosts(1), port, 10)) as worker:
        rendezvous.end(3)
        assert worker.ended(10) == 3


@linux
def test_a_head_that_fails_before_ray_is_up_says_why_to_early_and_late_hosts() -> None:
    port, three = free_port(), (*NAMES, "127.0.0.4")

    def connect(name: str) -> tuple[int | None, str]:
        with closing(WorkerHost(Hosts(three, name), port, 30)) as worker:
            assert worker.ray() is None
            return worker.ended(0), worker.reason

    with ThreadPoolExecutor(2) as pool:
        ends = [pool.submit(connect, three[1])]  # waits for the head
        with suppress(UsageError), HostRendezvous(Hosts(three, three[0]), port, 30):
            ends.append(pool.submit(connect, three[2]))
            raise UsageError("there is no model")
        assert [end.result(30) for end in ends] == [(2, "there is no model")] * 2


@linux
def test_a_host_that_ends_before_the_training_is_noticed() -> None:
    port = free_port()
    with HostRendezvous(hosts(0), port) as rendezvous:
        rendezvous.check()  # no host is connected yet
        worker = WorkerHost(hosts(1), port, 10)
        rendezvous.check()
        worker.close()
        with pytest.raises(InfiniteRLError, match="the host 127.0.0.3 has ended before the train"):
            rendezvous.check()


@linux
def test_another_program_at_the_port_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infinite_rl.launch.hosts._SEND_S", 0.1)
    late = "the head 127.0.0.2 was not there within 0 seconds"
    faults = unlike([(late, lambda: WorkerHost(hosts(1), free_port(), 0))])
    for greeting in (b"", b"SSH-2.0\n", b"[]\n", b"[" * 60_000 + b"\n", b"x" * 9_999_999):
        with socket.create_server((NAMES[0], 0)) as server:
            thread = threading.Thread(target=greet, args=(server, greeting), daemon=True)
            thread.start()
            port = server.getsockname()[1]
            faults += unlike([(late, lambda: WorkerHost(hosts(1), port, 0))])  # noqa: B023
    assert_none(faults)


def greet(server: socket.socket, greeting: bytes) -> None:
    with suppress(OSError), server.accept()[0] as worker:
        worker.sendall(greeting)
        worker.recv(1)


@linux
@pytest.mark.parametrize("message", [b"{}\n", b"[]\n", b'{"code": "0"}\n', b'{"code": 0'])
def test_a_malformed_end_is_a_failure(message: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infinite_rl.launch.hosts._SEND_S", 0.1)
    with socket.create_server((NAMES[0], 0)) as server:
        connections = []

        def accept() -> None:
            connections.append(server.accept()[0])
            connections[0].sendall(b"{}\n")

        threading.Thread(target=accept, daemon=True).start()
        with closing(WorkerHost(hosts(1), server.getsockname()[1], 10)) as worker:
            assert worker.ended(0) is None
            connections[0].sendall(message)
            assert worker.ended(10) == 1
        connections[0].close()


@linux
def test_a_head_that_could_not_accept_one_accepts_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    accept, failed = socket.socket.accept, []

    def failing(server: socket.socket) -> Any:
        if not failed:
            failed.append(server)
            raise OSError(errno.EMFILE, "too many open files")
        return accept(server)

    monkeypatch.setattr(socket.socket, "accept", failing)
    port = free_port()
    rendezvous = HostRendezvous(hosts(0), port)
    rendezvous.send(RAY)
    with closing(WorkerHost(hosts(1), port, 10)) as worker:
        assert failed and worker.ray() == RAY
    rendezvous.end(0)


@linux
def test_a_head_that_is_killed_is_a_failure() -> None:
    port = free_port()
    program = (
        "import time\n"
        "from infinite_rl.launch.hosts import HostRendezvous, Hosts\n"
        f"HostRendezvous(Hosts({NAMES}, {NAMES[0]!r}), {port})\n"
        "time.sleep(60)\n"
    )
    head = subprocess.Popen([sys.executable, "-c", program], env=environment())
    try:
        with closing(WorkerHost(hosts(1), port, 60)) as worker:
            head.kill()
            assert worker.ended(60) == 1
    finally:
        head.kill()
        head.wait()


# --- Ray over all of them ------------------------------------------------------------------------
def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return {**os.environ, "PYTHONPATH": path, **more}


HOST = """
import signal, sys
from infinite_rl.launch.hosts import HostRendezvous, Hosts, WorkerHost
from infinite_rl.launch.ray_job import follow, lead, ray_arguments
number, port, temp_dir, *train = sys.argv[1:]
hosts = Hosts({names}, {names}[int(number)], 0)
options = ray_arguments(hosts, temp_dir)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
if not hosts.is_head:
    sys.exit(follow(options, WorkerHost(hosts, int(port), 60)))
with HostRendezvous(hosts, int(port)) as rendezvous:
    sys.exit(lead(hosts, options, train, rendezvous, 60))
"""
# A stand-in for the training: runs a task on each node, and goes on.
TRAIN = """
import sys, time
from infinite_rl.workers.ray_cluster import connected
with connected(sys.argv[1].partition("=")[2]) as ray:
    nodes = [each["NodeManagerAddress"] for each in ray.nodes() if each["Alive"]]
    where = ray.remote(ray.util.get_node_ip_address)
    found = ray.get([where.options(resources={f"node:{each}": 0.1}).remote() for each in nodes])
    print("nodes", *sorted(found), flush=True)
    time.sleep(600)
"""


def start(command: list[str], **options: Any) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, start_new_session=True, **pipes, **options)


@contextmanager
def job(folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Both hosts of a job whose training does not end."""
    port, program = str(free_port()), HOST.format(names=NAMES)
    train = [sys.executable, "-c", TRAIN]
    with ExitStack() as opened:
        processes = []
        for number in ("1", "0"):
            words = [sys.executable, "-c", program, number, port, str(folder), *train]
            host = start(words, env=environment())
            opened.callback(kill_all, host)
            processes.insert(0, host)
        yield processes


def kill_all(host: subprocess.Popen[str]) -> None:
    """Kill a host with all processes that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(host.pid, signal.SIGKILL)
    host.communicate()


def ray_processes(folder: Path) -> dict[int, str]:
    """The processes of Ray that run in a folder, by pid."""
    found = {}
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = process.read_bytes()
            if str(folder).encode() in words and b"-c\0" not in words:
                found[int(process.parent.name)] = words.decode(errors="replace")[:80]
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: the names of Ray's sockets must fit into 107 characters."""
    with tempfile.TemporaryDirectory(prefix="ray") as name:
        yield Path(name)
        for number in ray_processes(Path(name)):  # of a head that was killed
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


@linux
def test_the_exit_code_of_the_training_is_that_of_every_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = MagicMock()  # Ray itself is started by the tests below
    monkeypatch.setattr(ray_job, "RayNode", lambda *args: nullcontext(node))
    monkeypatch.setattr(ray_job, "_wait_for_hosts", lambda *args: None)
    monkeypatch.setattr(ray_job, "_use_token", lambda token: None)
    port, train = free_port(), [sys.executable, "-c", "raise SystemExit(3)"]
    rendezvous = HostRendezvous(hosts(0), port)
    with closing(WorkerHost(hosts(1), port, 10)) as worker:
        assert ray_job.lead(hosts(0), [], train, rendezvous, 10) == 3
        assert worker.ended(10) == 3


@linux
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "codes"),
    # `test_a_head_that_is_killed_is_a_failure` has the first without Ray.
    [pytest.param(9, (-9, 1), marks=pytest.mark.soak), (15, (143, 1))],
)
def test_ray_ends_on_all_hosts_if_the_head_does(
    folder: Path, number: int, codes: tuple[int, int]
) -> None:
    pytest.importorskip("ray")
    with job(folder) as (head, other):
        assert head.stdout and head.stdout.readline() == f"nodes {' '.join(NAMES)}\n"
        assert next(folder.glob("session_*/logs")).is_dir(), "Ray's folder is another one"
        head.send_signal(number)
        assert (head.wait(90), other.wait(90)) == codes
        assert number == 9 or not ray_processes(folder)


# --- a whole job ---------------------------------------------------------------------------------
def lay_out(base: Path, config: dict[str, Any], rows: list[dict[str, Any]], **uris: str) -> None:
    """What a container finds in /opt/ml, with the rows in the source."""
    for name in ("input/config", "input/data/config", "input/data/source", "output", "code"):
        (base / name).mkdir(parents=True)
    values = {"config": "train.yaml", "checkpoint_uri": str(base / "checkpoints"), **uris}
    (base / "input/config/hyperparameters.json").write_text(json.dumps(values))
    (base / "input/data/config/train.yaml").write_text(json.dumps(config))
    (base / "code/rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with tarfile.open(base / "input/data/source/source.tar.gz", "w:gz") as archive:
        archive.add(base / "code/rows.jsonl", "rows.jsonl")


def container(base: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "infinite_rl.launch.container", "--input", str(base / "input")]
    return start([*command, *words], env=environment(**more), cwd=base)


ROWS = [
    {"type": "math", "prompt": f"{n}+1=", "answer": str(n + 1), "id": f"n{n}"} for n in range(8)
]
SMALL = {"prompt_template": "plain", "max_steps": 2, "batch_size": 2, "group_size": 2,
         "max_new_tokens": 4, "tokens_per_batch": 96, "data": "rows.jsonl", "out": "runs",
         "keep_zero_std_groups": True}  # fmt: skip


@linux
@pytest.mark.slow(40)
def test_a_job_trains_on_all_its_hosts_and_publishes(folder: Path) -> None:
    pytest.importorskip("ray")
    pytest.importorskip("transformers")
    from tiny_models import save_tiny

    save_tiny(folder / "model")
    lay_out(folder, {**SMALL, "engine": "ray", "model": str(folder / "model")}, ROWS)
    words = ["--port", str(free_port()), "--temp_dir", str(folder / "ray")]
    told = {"SM_HOSTS": json.dumps(NAMES), "SM_NUM_GPUS": "0"}
    with ExitStack() as opened:
        hosts = []
        for name in NAMES:
            work = ["--work", str(folder / f"work-{name}")]
            hosts.append(container(folder, *work, *words, SM_CURRENT_HOST=name, **told))
            opened.callback(kill_all, hosts[-1])
        head, other = hosts
        said, errors = head.communicate(timeout=400)
        assert head.returncode == 0, errors
        assert said.startswith("trained: ")
        assert other.wait(90) == 0
    assert not ray_processes(folder)
    (run,) = (folder / f"work-{NAMES[0]}" / "source" / "runs").iterdir()
    assert (folder / "checkpoints" / f"{run.name}_final" / "model.safetensors").is_file()
    assert not (folder / "output" / "failure").exists()


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with s3_server.serving() as endpoint:
        s3_server.credentials(monkeypatch, endpoint)
        with s3_server.bucket("jobs"):
            yield "s3://jobs/"


@pytest.mark.slow(28)
def test_a_job_started_again_resumes_its_newest_checkpoint(s3: str, tmp_path: Path) -> None:
    """On a machine that has nothing of the first, after a kill -9."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tiny_models import save_tiny

    from infinite_rl.training import train

    save_tiny(tmp_path / "model")
    rows = [{**row, "response": row["answer"]} for row in ROWS]
    told = {"model": str(tmp_path / "model"), "algorithm": "sft", "max_steps": 30, "save_every": 2}
    told |= {"prompt_template": "plain", "batch_size": 2, "learning_rate": 1e-3, "warmup_steps": 10}
    told |= {"data": "rows.jsonl", "out": "runs", "device": "cpu"}
    places = {"checkpoint_uri": f"{s3}checkpoints/", "trace_uri": f"{s3}traces/"}

    def start(name: str) -> subprocess.Popen[str]:
        base = tmp_path / name
        lay_out(base, told, rows, **places)
        cache = str(base / "cache")
        one_thread = {"OMP_NUM_THREADS": "1"}  # else sums are rounded now so, now so
        work = str(base / "work")
        return container(base, "--work", work, INFINITE_RL_CACHE=cache, **one_thread)

    first = start("first")
    deadline = time.monotonic() + 120
    while not (there := list_published(places["checkpoint_uri"])):
        assert first.poll() is None and time.monotonic() < deadline
        time.sleep(0.2)
    kill_all(first)
    run = there[0].name.rpartition("_")[0]
    assert f"{run}_final" not in [each.name for each in list_published(places["checkpoint_uri"])]
    again = start("again")
    said, errors = again.communicate(timeout=300)
    assert again.returncode == 0, errors
    assert f"the run {run} resumes from step " in errors
    there = list_published(places["checkpoint_uri"])
    assert {each.name.rpartition("_")[0] for each in there} == {run}
    assert there[0].name == f"{run}_final" and there[0].note["step"] == 30
    events = fetch(f"{places['trace_uri']}{run}/")
    assert [each["step"] for each in read_events(events, "train")] == [*range(1, 31)]
    assert 0 < next(read_events(events, "resumed"))["step"] < 30
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    whole = train(rows, None, TrainingConfig.of({**told, "out": str(tmp_path / "whole")}))
    torch.set_num_threads(threads)
    final = fetch(f"{places['checkpoint_uri']}{run}_final/")
    assert (final / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


class Before:
    """A first start of a job, which published checkpoints of these steps, and traces."""

    def __init__(self, folder: Path, *steps: int, ended: bool = False, **values: Any) -> None:
        uris = {name: str(folder / "far" / name) for name in ("checkpoint_uri", "trace_uri")}
        self.values = {"model": str(folder), "max_steps": 9, **uris, **values}
        config = TrainingConfig.of(self.values)
        with RunFolder.create(folder / "before", self.values) as opened:
            self.run = opened.path.name
            with suppress(ZeroDivisionError), Publisher(opened, config) as publisher:
                for step in steps:
                    opened.event("train", step)
                    publisher.saved(self._saved(opened.path, step))
                if not ended:
                    raise ZeroDivisionError

    def _saved(self, run: Path, step: int) -> Path:
        path = run / "checkpoints" / f"step_{step}"
        path.mkdir(parents=True)
        (path / "trainer_state.pt").write_text(f"state {step}")
        sizes = {"trainer_state.pt": len(f"state {step}")}
        (path / checkpoint.READY).write_text(json.dumps({"files": sizes}))
        return path

    def again(self, folder: Path, **values: Any) -> TrainingConfig:
        """The config of the second start, elsewhere."""
        return TrainingConfig.of({**self.values, "out": str(folder / "again"), **values})


def test_the_newest_whole_checkpoint_is_fetched_with_the_events_before_it(tmp_path: Path) -> None:
    before = Before(tmp_path, 2, 4, 6)
    (tmp_path / f"far/checkpoint_uri/{before.run}_step6/trainer_state.pt").unlink()
    config = before.again(tmp_path, max_steps=12)  # which may change
    published = ResumableRun.find(config)
    assert published
    assert (published.name, published.newest.step, published.ended) == (before.run, 4, False)
    run = published.fetch(config)
    assert run == tmp_path / "again" / before.run
    assert resume_checkpoint(run, config) == run / "checkpoints" / "step_4"
    assert (run / "checkpoints" / "step_4" / "trainer_state.pt").read_text() == "state 4"
    with RunFolder.open(run) as folder:
        folder.resumed(4)
        assert [event["step"] for event in read_events(run, "train")] == [2, 4]
    assert {path.name for path in run.parent.iterdir()} == {before.run}
    assert published.fetch(config) == run  # local files stay: no event is lost
    assert [event["step"] for event in read_events(run, "resumed")] == [4]


def test_only_one_run_with_the_same_settings_is_resumed(tmp_path: Path) -> None:
    config = Before(tmp_path / "bare", 2, trace_uri="").again(tmp_path, trace_uri="")
    published = ResumableRun.find(config)  # resumed from its checkpoint alone
    assert published and resume_checkpoint(run := published.fetch(config), config)
    with RunFolder.open(run) as folder:
        folder.resumed(2)
    assert ResumableRun.find(TrainingConfig("m")) is None
    assert ResumableRun.find(TrainingConfig("m", checkpoint_uri=str(tmp_path / "far"))) is None
    first = Before(tmp_path, 2)
    config = first.again(tmp_path, learning_rate=1e-3)
    published = ResumableRun.find(config)
    assert published
    said = "would resume .*_step2, but .*learning_rate was 1e-06, is 0.001.*another `checkpoint_uri"
    calls = [(said, lambda: published.fetch(config)), (said, lambda: published.check(config))]
    faults = unlike(calls)
    second = Before(tmp_path, 2)
    said = f"checkpoints of 2 runs, {first.run}, {second.run}, .*set another `checkpoint_uri`"
    assert_none(faults + unlike([(said, lambda: ResumableRun.find(config))]))


def test_a_run_that_has_ended_is_not_trained_again(tmp_path: Path) -> None:
    data = {"data": "rows.jsonl", "algorithm": "sft"}
    before = Before(tmp_path, 2, ended=True, **data)
    lay_out(tmp_path / "again", {**before.values, "out": "runs"}, ROWS)
    host = container(tmp_path / "again", "--work", str(tmp_path / "work"))
    _, errors = host.communicate(timeout=60)
    assert host.returncode == 0, errors
    assert f"the run {before.run} has ended with step 2" in errors
    assert "is not trained again" in errors
    assert not (tmp_path / "again" / "output" / "failure").exists()


def test_a_wrong_config_is_one_line_that_sagemaker_gets_as_well(tmp_path: Path) -> None:
    lay_out(tmp_path, {"model": "m", "max_stepz": 3}, ROWS)
    host = container(tmp_path, "--work", str(tmp_path / "work"))
    _, errors = host.communicate(timeout=60)
    assert host.returncode == 2
    assert errors.startswith("error: ") and errors.count("\n") == 1
    assert "train.yaml: unknown key 'max_stepz'; did you mean max_steps?" in errors
    assert (tmp_path / "output" / "failure").read_text() in errors


@pytest.fixture
def main() -> Iterator[Callable[[list[str]], int]]:
    """The program in this process, whose signal handler is put back."""
    before = signal.getsignal(signal.SIGTERM)
    yield container_program.main
    signal.signal(signal.SIGTERM, before)


def test_without_a_config_and_a_job_one_clear_line_says_so(
    tmp_path: Path, main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--input", str(tmp_path / "input")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: there is no job here: ") and error.count("\n") == 1
    assert "hyperparameters.json is missing; name a CONFIG" in error and "Errno" not in error


def test_flags_override_the_config_and_no_secret_is_printed(
    tmp_path: Path,
    main: Callable[[list[str]], int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HUB_TOKEN", "hf_abcdefghijklmnopqrstuvw")
    (tmp_path / "c.yaml").write_text(f"model: {tmp_path}\ndata: hf_abcdefghijklmnopqrstuvw:\x1b[2J")
    words = ["--work", str(tmp_path), "--max-steps=3", "--learning-rate", "1e-3"]
    assert main([str(tmp_path / "c.yaml"), *words]) == 2
    error = capsys.readouterr().err
    assert "hf_abc" not in error and "\x1b" not in error
    (tmp_path / "c.yaml").write_text(f"model: {tmp_path}\ndata: rows.jsonl\nmax_steps: 9\n")
    monkeypatch.setattr(container_program, "run_training", lambda command: 7)
    assert main([str(tmp_path / "c.yaml"), *words]) == 7
    values = json.loads((tmp_path / "train.json").read_text())
    assert (values["max_steps"], float(values["learning_rate"])) == (3, 1e-3)


def test_an_interruption_has_its_exit_code_and_the_training_ends_by_itself(
    monkeypatch: pytest.MonkeyPatch,
    main: Callable[[list[str]], int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(container_program, "run", interrupt)
    assert main([]) == 130
    assert capsys.readouterr().err == "interrupted\n"
    child = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(130))\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "time.sleep(60)"
    )
    assert run_training([sys.executable, "-c", child]) == 130
    with RayNode() as node:  # which a terminal's Ctrl-C does not reach
        assert os.getsid(node._process.pid) == node._process.pid


def test_an_engine_of_one_host_is_refused_for_many(tmp_path: Path) -> None:
    lay_out(tmp_path, {"model": str(tmp_path), "engine": "asyncio", **SMALL}, ROWS)
    variables = {"SM_HOSTS": json.dumps(NAMES), "SM_CURRENT_HOST": NAMES[0]}
    words = ["--port", str(free_port()), "--wait", "0"]
    host = container(tmp_path, "--work", str(tmp_path / "work"), *words, **variables)
    _, errors = host.communicate(timeout=60)
    assert host.returncode == 2
    assert "error: the engine asyncio uses one host, and the job has 2: set engine: ray" in errors


@linux
def test_all_hosts_end_with_the_head_that_cannot_fetch(tmp_path: Path) -> None:
    """The other one has all that it needs, and would wait for the head's Ray."""
    port, bases = str(free_port()), [tmp_path / "head", tmp_path / "other"]
    processes = []
    with ExitStack() as opened:
        for base, name, data in zip(bases, NAMES, ("s3://BUCKET", "rows.jsonl"), strict=True):
            lay_out(base, {"model": str(tmp_path), **SMALL, "engine": "ray", "data": data}, ROWS)
            variables = {"SM_HOSTS": json.dumps(NAMES), "SM_CURRENT_HOST": name}
            words = ["--port", port, "--work", str(base / "work")]
            processes.append(container(base, *words, **variables))
            opened.callback(kill_all, processes[-1])
        (_, of_head), (_, of_other) = (each.communicate(timeout=90) for each in processes)
    assert [each.returncode for each in processes] == [2, 2]
    reason = "s3://BUCKET is no S3 URI"
    assert of_head.startswith(f"error: {reason}")
    assert f"error: the head has ended: {reason}" in of_other
    assert reason in (bases[1] / "output" / "failure").read_text()


def test_an_unsafe_source_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(os.urandom(50_000))
    good, bad = tmp_path / "good.tar.gz", tmp_path / "bad.tar.gz"
    evil = tmp_path / "evil.tar.gz"
    with tarfile.open(good, "w:gz") as archive:
        archive.add("a")
    with tarfile.open(evil, "w:gz") as archive:
        entry = tarfile.TarInfo("../../evil")
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"x"))
    data = good.read_bytes()
    for content in (data[:20_000], data[:-8] + bytes(8), evil.read_bytes()):
        bad.write_bytes(content)
        with pytest.raises(StoreError, match="cannot be unpacked"):
            unpack(bad, tmp_path / "deep" / "out")
    assert not (tmp_path / "evil").exists()


# --- the evaluation beside the training ----------------------------------------------------------
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import time; time.sleep(600)", "was stopped 0.1 seconds after the training"),
        ("raise SystemExit(3)", "ended with exit code 3"),
    ],
)
def test_an_evaluation_is_stopped_in_time_and_what_it_missed_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, program: str, said: str
) -> None:
    before, out = Before(tmp_path, 2, 4, 6), tmp_path / "out"
    out.mkdir()
    (out / "steps.jsonl").write_text('{"step": 2, "task": "a"}\n')
    uri = str(before.values["checkpoint_uri"])
    evaluation = Evaluation([sys.executable, "-c", program], uri, out)
    with _beside(evaluation, 0.1 if "sleep" in program else 60) as wait:
        wait()
    (line,) = [line for line in caplog.messages if said in line]
    assert "; not evaluated: step_4, step_6. " in line
    assert f"`infinite-rl evaluate CONFIG --watch {uri}`" in line


def test_a_second_signal_does_not_interrupt_the_clean_up() -> None:
    before = signal.signal(signal.SIGTERM, _terminate)
    left = []
    try:
        with pytest.raises(SystemExit, match="143"), ExitStack() as opened:
            opened.callback(left.append, "the second")
            opened.callback(signal.raise_signal, signal.SIGTERM)
            opened.callback(left.append, "the first")
            signal.raise_signal(signal.SIGTERM)
        assert left == ["the first", "the second"]
    finally:
        signal.signal(signal.SIGTERM, before)


# --- the inputs ----------------------------------------------------------------------------------
def test_inputs_come_from_mirror_or_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder stands for S3, and a hub has everything."""
    from infinite_rl.launch import inputs

    def fetch(uri: str, _: Any) -> Path:
        if uri.startswith("hf"):
            return Path("/hub") / uri.partition(":")[2]
        if not Path(uri).exists():
            raise UsageError(f"there is no {uri}")
        return Path(uri)

    monkeypatch.setattr(inputs, "fetch", fetch)
    mirror = str(tmp_path)
    (tmp_path / "models" / "Qwen" / "Qwen3").mkdir(parents=True)
    (tmp_path / "data" / "openai" / "gsm8k" / "main" / "test").mkdir(parents=True)
    (tmp_path / "order.txt").touch()
    gsm8k, here = f"{mirror}/data/openai/gsm8k/main/test", {"model": mirror, "data": "rows.jsonl"}
    assert fetch_inputs(
        {"model": "Qwen/Qwen3", "data": "hf:openai/gsm8k:main:test", "max_steps": 3}, mirror
    ) == {"model": f"{mirror}/models/Qwen/Qwen3", "data": gsm8k, "max_steps": 3}
    assert fetch_inputs({"model": "other/model", "data": "hf:other:train"}, mirror) == {
        "model": "/hub/other/model",
        "data": "/hub/other:train",
    }
    assert fetch_inputs({"model": "Qwen/Qwen3"}) == {"model": "/hub/Qwen/Qwen3"}
    assert fetch_inputs(here, mirror) == here
    order = f"{mirror}/order.txt"
    each = {"name": "gsm8k", "path": "hf:openai/gsm8k:main:test", "order": order}
    (fetched,) = fetch_inputs({"model": mirror, "datasets": [each]}, mirror)["datasets"]
    assert fetched == {"name": "gsm8k", "path": gsm8k, "order": order}
