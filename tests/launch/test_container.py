"""The launcher inside a job: its hosts are processes of this machine, with an address for each."""

from __future__ import annotations

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
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import s3_server

from infinite_rl.errors import InfiniteRLError, StoreError, UsageError
from infinite_rl.launch import container as container_program
from infinite_rl.launch.container import Evaluation, _beside, _stop, _unpack
from infinite_rl.launch.hosts import HostRendezvous, Hosts, WorkerHost, ip_of
from infinite_rl.launch.inputs import fetched
from infinite_rl.launch.ray_job import Node, trained
from infinite_rl.launch.resumable_run import ResumableRun
from infinite_rl.storage import fetch, list_published
from infinite_rl.training.runs import checkpoint
from infinite_rl.training.runs.config import TrainingConfig
from infinite_rl.training.runs.publishing import Publisher
from infinite_rl.training.runs.resuming import resume_checkpoint
from infinite_rl.training.runs.run_folder import RunFolder, read_events

ROOT = Path(__file__).parents[2]
NAMES = ("127.0.0.2", "127.0.0.3")  # all of 127.0.0.0/8 is this machine, on Linux

RAY = {"address": "x:1", "token": "secret"}

linux = pytest.mark.skipif(sys.platform != "linux", reason="one address a host, on the loopback")


def hosts(current: int, names: tuple[str, ...] = NAMES) -> Hosts:
    return Hosts(names, names[current])


def free_port() -> int:
    """One below those that the system gives to any program that asks for one meanwhile."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with suppress(OSError), socket.create_server((NAMES[0], port)):
            return port


# --- who the hosts are ---------------------------------------------------------------------------


def test_the_hosts_are_those_of_the_environment() -> None:
    told = {"SM_HOSTS": '["algo-1", "algo-2"]', "SM_CURRENT_HOST": "algo-2", "SM_NUM_GPUS": "8"}
    found = Hosts.of(told, Path())
    assert found == Hosts(("algo-1", "algo-2"), "algo-2", 8)
    assert (found.head, found.is_head) == ("algo-1", False)


def test_without_them_sagemakers_file_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "resourceconfig.json"
    file.write_text('{"current_host": "algo-1", "hosts": ["algo-1", "algo-2"]}')
    assert Hosts.of({}, file) == Hosts(("algo-1", "algo-2"), "algo-1")


def test_without_either_there_is_this_machine_alone(tmp_path: Path) -> None:
    found = Hosts.of({}, tmp_path / "none")
    assert found.is_head and len(found.names) == 1 and found.gpus is None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"SM_HOSTS": "algo-1", "SM_CURRENT_HOST": "algo-1"}, "SM_HOSTS must be a list of names"),
        ({"SM_HOSTS": "[]", "SM_CURRENT_HOST": "algo-1"}, "SM_HOSTS must be a list of names"),
        ({"SM_HOSTS": '["a"]', "SM_CURRENT_HOST": "b"}, "'b' is none of the job's hosts"),
        ({"SM_HOSTS": '["a"]'}, "'' is none of the job's hosts"),
        ({"SM_HOSTS": '["a", "a"]', "SM_CURRENT_HOST": "a"}, "SM_HOSTS must be a list of names"),
        ({"SM_HOSTS": '[""]', "SM_CURRENT_HOST": ""}, "SM_HOSTS must be a list of names"),
        ({"SM_HOSTS": "[" * 99_999}, "SM_HOSTS must be a list of names"),
        ({"SM_NUM_GPUS": "all"}, "SM_NUM_GPUS must be a number"),
        ({"SM_NUM_GPUS": "9" * 9_999}, "SM_NUM_GPUS must be a number"),
    ],
)
def test_what_cannot_be_is_said(told: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Hosts.of(told, Path())


@pytest.mark.parametrize("name", ["a\0b", "a" * 70, "\ud800", "..", "$(id)"])
def test_a_host_that_can_have_no_address_is_named(name: str) -> None:
    with pytest.raises(InfiniteRLError, match="has no address"):
        ip_of(name)


# --- where they meet -----------------------------------------------------------------------------


@linux
def test_a_host_is_told_of_ray_and_of_the_end() -> None:
    port = free_port()
    meeting = HostRendezvous(hosts(0), port)
    meeting.tell(RAY)
    with closing(WorkerHost(hosts(1), port, 10)) as guest:
        assert guest.ray() == RAY and guest.ended(0) is None
        meeting.end(3)
        assert guest.ended(10) == 3


@linux
def test_a_host_that_comes_as_the_run_ends_is_told_of_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send = socket.socket.sendall

    def send_and_pause(guest: socket.socket, line: bytes) -> None:
        send(guest, line)
        time.sleep(0.05)  # in which the run ends

    port = free_port()
    meeting = HostRendezvous(hosts(0), port)
    monkeypatch.setattr(socket.socket, "sendall", send_and_pause)
    with closing(WorkerHost(hosts(1), port, 10)) as guest:
        meeting.end(3)
        assert guest.ended(10) == 3


@linux
def test_a_host_that_comes_first_waits_for_the_head() -> None:
    port, met = free_port(), threading.Event()

    def come() -> None:
        with closing(WorkerHost(hosts(1), port, 30)):
            met.set()

    guest = threading.Thread(target=come)
    guest.start()
    meeting = HostRendezvous(hosts(0), port)
    assert met.wait(30)
    meeting.end(0)
    guest.join(30)


@linux
def test_a_head_that_fails_before_ray_is_there_tells_why_also_who_comes_late() -> None:
    port, codes = free_port(), dict[str, tuple[int | None, str]]()
    three = (*NAMES, "127.0.0.4")

    def come(name: str) -> None:
        with closing(WorkerHost(Hosts(three, name), port, 30)) as guest:
            assert guest.ray() is None
            codes[name] = guest.ended(0), guest.reason

    early, late = (threading.Thread(target=come, args=[name]) for name in three[1:])
    early.start()
    with suppress(UsageError), HostRendezvous(Hosts(three, three[0]), port, 30):
        late.start()
        raise UsageError("there is no model")
    early.join(30)
    late.join(30)
    assert codes == dict.fromkeys(three[1:], (2, "there is no model"))


@linux
def test_a_host_that_ends_before_the_training_is_noticed() -> None:
    port = free_port()
    with HostRendezvous(hosts(0), port) as meeting:
        meeting.check()  # nobody is here yet
        guest = WorkerHost(hosts(1), port, 10)
        meeting.check()
        guest.close()
        with pytest.raises(InfiniteRLError, match="the host 127.0.0.3 has ended before the train"):
            meeting.check()


@linux
def test_a_host_does_not_wait_for_ever() -> None:
    with pytest.raises(InfiniteRLError, match="the head 127.0.0.2 was not there within 0 seconds"):
        WorkerHost(hosts(1), free_port(), 0)


@linux
@pytest.mark.parametrize(
    "said", [b"", b"SSH-2.0\n", b"[]\n", b"[" * 60_000 + b"\n", b"x" * 9_999_999]
)
def test_what_is_no_head_is_not_waited_for_and_takes_no_memory(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinite_rl.launch.hosts._SAY_S", 0.1)
    with socket.create_server((NAMES[0], 0)) as server:

        def speak() -> None:
            with suppress(OSError), server.accept()[0] as guest:
                guest.sendall(said)
                guest.recv(1)

        threading.Thread(target=speak, daemon=True).start()
        with pytest.raises(InfiniteRLError, match="was not there within 0 seconds"):
            WorkerHost(hosts(1), server.getsockname()[1], 0)


@linux
@pytest.mark.parametrize("said", [b"{}\n", b"[]\n", b'{"code": "0"}\n', b'{"code": 0'])
def test_an_end_that_is_told_wrongly_is_a_failure(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinite_rl.launch.hosts._SAY_S", 0.1)
    with socket.create_server((NAMES[0], 0)) as server:
        guests = []

        def speak() -> None:
            guests.append(server.accept()[0])
            guests[0].sendall(b"{}\n")

        threading.Thread(target=speak, daemon=True).start()
        with closing(WorkerHost(hosts(1), server.getsockname()[1], 10)) as guest:
            assert guest.ended(0) is None
            guests[0].sendall(said)
            assert guest.ended(10) == 1
        guests[0].close()


@linux
def test_a_head_that_could_not_open_a_connection_opens_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accept, failed = socket.socket.accept, []

    def failing(server: socket.socket) -> Any:
        if not failed:
            failed.append(server)
            raise OSError(errno.EMFILE, "too many open files")
        return accept(server)

    monkeypatch.setattr(socket.socket, "accept", failing)
    port = free_port()
    meeting = HostRendezvous(hosts(0), port)
    meeting.tell(RAY)
    with closing(WorkerHost(hosts(1), port, 10)) as guest:
        assert failed and guest.ray() == RAY
    meeting.end(0)


@linux
def test_a_stranger_is_told_nothing() -> None:
    port = free_port()
    meeting = HostRendezvous(hosts(0), port)
    meeting.tell(RAY)
    with socket.create_connection((NAMES[0], port), source_address=("127.0.0.9", 0)) as stranger:
        assert stranger.recv(100) == b""
    meeting.end(0)


@linux
def test_a_head_that_is_gone_without_a_word_is_a_failure() -> None:
    port = free_port()
    program = (
        "import sys, time\n"
        "from infinite_rl.launch.hosts import Hosts, HostRendezvous\n"
        f"HostRendezvous(Hosts({NAMES}, {NAMES[0]!r}), {port})\n"
        "time.sleep(60)\n"
    )
    head = subprocess.Popen([sys.executable, "-c", program], env=environment())
    try:
        with closing(WorkerHost(hosts(1), port, 60)) as guest:
            head.kill()
            assert guest.ended(60) == 1
    finally:
        head.kill()
        head.wait()


# --- Ray over all of them ------------------------------------------------------------------------


def environment(**more: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        **more,
    }


HOST = """
import signal, sys
from infinite_rl.launch.hosts import WorkerHost, Hosts, HostRendezvous
from infinite_rl.launch.ray_job import Settings, follow, lead
number, port, temp_dir, *train = sys.argv[1:]
hosts = Hosts({names}, {names}[int(number)], 0)
given = Settings(temp_dir, 60)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
if not hosts.is_head:
    sys.exit(follow(hosts, given, WorkerHost(hosts, int(port), 60)))
with HostRendezvous(hosts, int(port)) as meeting:
    sys.exit(lead(hosts, given, train, meeting))
"""
# What stands for the training: asks each node for a sign of life, and ends as it is told.
TRAIN = """
import sys, time
from infinite_rl.workers.ray_cluster import connected
code, seconds, address = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3].partition("=")[2]
with connected(address) as ray:
    nodes = [each["NodeManagerAddress"] for each in ray.nodes() if each["Alive"]]
    where = ray.remote(ray.util.get_node_ip_address)
    found = ray.get([where.options(resources={f"node:{each}": 0.1}).remote() for each in nodes])
    print("nodes", *sorted(found), flush=True)
    time.sleep(seconds)
sys.exit(code)
"""


@contextmanager
def job(folder: Path, code: int = 0, seconds: float = 0) -> Iterator[list[subprocess.Popen[str]]]:
    """Both hosts of a job whose training takes so long and ends with that code."""
    port = free_port()
    program = HOST.format(names=NAMES)
    train = [sys.executable, "-c", TRAIN, str(code), str(seconds)]
    with ExitStack() as opened:
        found = []
        for number in ("1", "0"):
            words = [sys.executable, "-c", program, number, str(port), str(folder), *train]
            host = subprocess.Popen(
                words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                start_new_session=True,
            )  # fmt: skip
            opened.callback(kill_all, host)
            found.insert(0, host)
        yield found


def kill_all(host: subprocess.Popen[str]) -> None:
    """End a host with all that it has started."""
    with ExitStack() as ignored:
        ignored.push(lambda kind, *_: kind is ProcessLookupError)
        os.killpg(host.pid, signal.SIGKILL)
    host.communicate()


def ray_processes(folder: Path) -> dict[int, str]:
    """Those of Ray that still run there, by their number."""
    found = {}
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes()
        except OSError:
            continue
        if str(folder).encode() in words and b"-c\0" not in words:
            found[int(process.parent.name)] = words.decode(errors="replace")[:80]
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short one: the names of Ray's sockets must fit into 107 characters."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="ray") as made:
        yield Path(made)
        for number in ray_processes(Path(made)):  # of a head that was killed: nobody else ends them
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


@linux
@pytest.mark.slow
def test_ray_runs_over_all_hosts_and_all_end_as_the_training_does(folder: Path) -> None:
    pytest.importorskip("ray")
    with job(folder, code=3) as (head, other):
        said, errors = head.communicate(timeout=180)
        assert said == f"nodes {' '.join(NAMES)}\n", errors
        assert (head.returncode, other.wait(90)) == (3, 3)
        assert next(folder.glob("session_*/logs")).is_dir(), "Ray's folder is another one"
        assert not ray_processes(folder)


@linux
@pytest.mark.slow
def test_when_the_head_is_killed_the_others_end_with_an_error(folder: Path) -> None:
    pytest.importorskip("ray")
    with job(folder, seconds=600) as (head, other):
        assert head.stdout and head.stdout.readline().startswith("nodes")
        head.kill()
        assert other.wait(90) == 1


@linux
@pytest.mark.slow
def test_a_job_that_is_stopped_leaves_no_process(folder: Path) -> None:
    pytest.importorskip("ray")
    with job(folder, seconds=600) as (head, other):
        assert head.stdout and head.stdout.readline().startswith("nodes")
        head.terminate()
        assert (head.wait(90), other.wait(90)) == (143, 1)
        assert not ray_processes(folder)


# --- a whole job ---------------------------------------------------------------------------------


def lay_out(base: Path, config: dict[str, Any], rows: list[dict[str, Any]], **places: str) -> None:
    """What a container finds in /opt/ml, with the rows in the source."""
    import tarfile

    for name in ("input/config", "input/data/config", "input/data/source", "output", "code"):
        (base / name).mkdir(parents=True)
    told = {"config": "train.yaml", "checkpoint_uri": str(base / "checkpoints"), **places}
    (base / "input/config/hyperparameters.json").write_text(json.dumps(told))
    (base / "input/data/config/train.yaml").write_text(json.dumps(config))
    (base / "code/rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with tarfile.open(base / "input/data/source/source.tar.gz", "w:gz") as archive:
        archive.add(base / "code/rows.jsonl", "rows.jsonl")


def container(base: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "infinite_rl.launch.container", "--input", str(base / "input")]
    return subprocess.Popen(
        [*command, *words], env=environment(**more), cwd=base, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


ROWS = [
    {"type": "math", "prompt": f"{n}+1=", "answer": str(n + 1), "id": f"n{n}"} for n in range(8)
]
SMALL = {"prompt_template": "plain", "max_steps": 2, "batch_size": 2, "group_size": 2,
         "max_new_tokens": 4, "tokens_per_batch": 96, "data": "rows.jsonl", "out": "runs",
         "keep_zero_std_groups": True}  # fmt: skip


@linux
@pytest.mark.slow
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
    (run,) = (folder / f"work-{NAMES[0]}" / "source" / "runs").iterdir()
    assert (folder / "checkpoints" / f"{run.name}_final" / "model.safetensors").is_file()
    assert not (folder / "output" / "failure").exists()


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with s3_server.serving() as endpoint:
        s3_server.credentials(monkeypatch, endpoint)
        with s3_server.bucket("jobs"):
            yield "s3://jobs/"


@pytest.mark.slow
def test_a_job_that_is_started_again_goes_on_from_its_newest_checkpoint(
    s3: str, tmp_path: Path
) -> None:
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
    assert f"the run {run} goes on from step " in errors
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
    final = fetch(f"{places['checkpoints']}{run}_final/")
    assert (final / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


class Before:
    """A first start of a job, which published checkpoints of these steps, and traces."""

    def __init__(self, folder: Path, *steps: int, ended: bool = False, **values: Any) -> None:
        places = {name: str(folder / "far" / name) for name in ("checkpoint_uri", "trace_uri")}
        self.told = {"model": str(folder), "max_steps": 9, **places, **values}
        config = TrainingConfig.of(self.told)
        with RunFolder.create(folder / "before", self.told) as opened:
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
        return TrainingConfig.of({**self.told, "out": str(folder / "again"), **values})


def test_the_newest_whole_checkpoint_is_fetched_with_what_happened_before_it(
    tmp_path: Path,
) -> None:
    before = Before(tmp_path, 2, 4, 6)
    (tmp_path / f"far/checkpoint_uri/{before.run}_step6/trainer_state.pt").unlink()
    told = before.again(tmp_path, max_steps=12)  # which is no other curve
    begun = ResumableRun.of(told)
    assert begun and (begun.name, begun.newest.step, begun.ended) == (before.run, 4, False)
    run = begun.fetched(told)
    assert run == tmp_path / "again" / before.run
    assert resume_checkpoint(run, told) == run / "checkpoints" / "step_4"
    assert (run / "checkpoints" / "step_4" / "trainer_state.pt").read_text() == "state 4"
    with RunFolder.open(run) as folder:
        folder.resumed(4)
        assert [event["step"] for event in read_events(run, "train")] == [2, 4]
    assert {path.name for path in run.parent.iterdir()} == {before.run}
    assert begun.fetched(told) == run  # what is here stays: no event is lost
    assert [event["step"] for event in read_events(run, "resumed")] == [4]


def test_a_run_without_traces_goes_on_from_its_checkpoint_alone(tmp_path: Path) -> None:
    told = Before(tmp_path, 2, trace_uri="").again(tmp_path, trace_uri="")
    begun = ResumableRun.of(told)
    assert begun and resume_checkpoint(run := begun.fetched(told), told)
    with RunFolder.open(run) as folder:
        folder.resumed(2)


def test_a_run_goes_on_with_the_same_settings_alone(tmp_path: Path) -> None:
    told = Before(tmp_path, 2).again(tmp_path, learning_rate=1e-3)
    begun = ResumableRun.of(told)
    said = r"the run at .*_step2, but .*learning_rate was 1e-06, is 0.001.*`checkpoint_uri`"
    with pytest.raises(UsageError, match=said):
        begun and begun.fetched(told)
    with pytest.raises(UsageError, match=said):
        begun and begun.check(told)


def test_of_two_runs_in_one_place_none_is_gone_on_with(tmp_path: Path) -> None:
    first, second = Before(tmp_path, 2), Before(tmp_path, 2)
    said = f"checkpoints of 2 runs, {first.run}, {second.run}, .* name another place"
    with pytest.raises(UsageError, match=said):
        ResumableRun.of(first.again(tmp_path))


def test_where_nothing_was_published_a_run_is_begun(tmp_path: Path) -> None:
    assert ResumableRun.of(TrainingConfig("m")) is None
    assert ResumableRun.of(TrainingConfig("m", checkpoint_uri=str(tmp_path / "far"))) is None


def test_a_run_that_has_ended_is_not_trained_again(tmp_path: Path) -> None:
    data = {"data": "rows.jsonl", "algorithm": "sft"}
    before = Before(tmp_path, 2, ended=True, **data)
    lay_out(tmp_path / "again", {**before.told, "out": "runs"}, ROWS)
    job = container(tmp_path / "again", "--work", str(tmp_path / "work"))
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 0, errors
    assert f"the run {before.run} has ended with step 2" in errors
    assert "is not trained again" in errors
    assert not (tmp_path / "again" / "output" / "failure").exists()


def test_what_is_wrong_with_a_job_is_said_in_one_line_and_left_for_sagemaker(
    tmp_path: Path,
) -> None:
    lay_out(tmp_path, {"model": "m", "max_stepz": 3}, ROWS)
    job = container(tmp_path, "--work", str(tmp_path / "work"))
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 2
    assert errors.startswith("error: ") and errors.count("\n") == 1
    assert "train.yaml: unknown key 'max_stepz'; did you mean max_steps?" in errors
    assert (tmp_path / "output" / "failure").read_text() in errors


def test_without_a_config_and_a_job_one_clear_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert container_program.main(["--input", str(tmp_path / "input")]) == 2
    signal.signal(signal.SIGTERM, before)
    said = capsys.readouterr().err
    assert said.startswith("error: no job has begun here: there is no ") and said.count("\n") == 1
    assert "hyperparameters.json; name a CONFIG" in said and "Errno" not in said


def test_an_interruption_before_the_training_is_said_in_one_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(container_program, "run", interrupt)
    before = signal.getsignal(signal.SIGTERM)
    assert container_program.main([]) == 130
    signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().err == "interrupted\n"


def test_an_interrupted_training_ends_by_itself_and_has_the_word() -> None:
    child = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(130))\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "time.sleep(60)"
    )
    assert trained([sys.executable, "-c", child]) == 130


def test_ctrl_c_at_a_terminal_does_not_reach_ray() -> None:
    with Node([]) as node:
        process = node._process.pid
        assert os.getsid(process) == process


def test_an_engine_of_one_host_is_refused_for_many(tmp_path: Path) -> None:
    lay_out(tmp_path, {"model": str(tmp_path), "engine": "asyncio", **SMALL}, ROWS)
    told = {"SM_HOSTS": json.dumps(NAMES), "SM_CURRENT_HOST": NAMES[0]}
    words = ["--port", str(free_port()), "--wait", "0"]
    job = container(tmp_path, "--work", str(tmp_path / "work"), *words, **told)
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 2
    assert "error: the engine asyncio uses one host, and the job has 2: engine ray" in errors


@linux
def test_all_hosts_end_with_the_head_that_cannot_fetch(tmp_path: Path) -> None:
    """The other one has all that it needs, and would wait for the head's Ray."""
    port, bases = str(free_port()), [tmp_path / "head", tmp_path / "other"]
    jobs = []
    with ExitStack() as opened:
        for base, name, data in zip(bases, NAMES, ("s3://BUCKET", "rows.jsonl"), strict=True):
            lay_out(base, {"model": str(tmp_path), **SMALL, "engine": "ray", "data": data}, ROWS)
            told = {"SM_HOSTS": json.dumps(NAMES), "SM_CURRENT_HOST": name}
            words = ["--port", port, "--work", str(base / "work")]
            jobs.append(container(base, *words, **told))
            opened.callback(kill_all, jobs[-1])
        (_, of_head), (_, of_other) = (job.communicate(timeout=90) for job in jobs)
    assert [job.returncode for job in jobs] == [2, 2]
    reason = "s3://BUCKET is no place in S3"
    assert of_head.startswith(f"error: {reason}")
    assert f"error: the head has ended: {reason}" in of_other
    assert reason in (bases[1] / "output" / "failure").read_text()


def test_a_source_that_would_write_elsewhere_is_refused(tmp_path: Path) -> None:
    lay_out(tmp_path, {"model": str(tmp_path), **SMALL}, ROWS)
    with tarfile.open(tmp_path / "input/data/source/source.tar.gz", "w:gz") as archive:
        evil = tarfile.TarInfo("../../evil")
        evil.size = 1
        archive.addfile(evil, io.BytesIO(b"x"))
    job = container(tmp_path, "--work", str(tmp_path / "work"))
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 1 and "cannot be unpacked" in errors
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("flaw", ["cut off", "another checksum"])
def test_a_source_that_did_not_come_whole_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flaw: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(os.urandom(50_000))
    archive = tmp_path / "source.tar.gz"
    with tarfile.open(archive, "w:gz") as made:
        made.add("a")
    data = archive.read_bytes()
    archive.write_bytes(data[:20_000] if flaw == "cut off" else data[:-8] + bytes(8))
    with pytest.raises(StoreError, match="cannot be unpacked"):
        _unpack(archive, tmp_path / "out")


# --- the evaluation beside -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import time; time.sleep(600)", "was given up 0.1 seconds after the training"),
        ("raise SystemExit(3)", "ended with exit code 3"),
    ],
)
def test_an_evaluation_is_not_waited_for_without_end_and_what_is_left_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, program: str, said: str
) -> None:
    before, out = Before(tmp_path, 2, 4, 6), tmp_path / "out"
    out.mkdir()
    (out / "steps.jsonl").write_text('{"step": 2, "task": "a"}\n')
    place = str(before.told["checkpoint_uri"])
    evaluation = Evaluation([sys.executable, "-c", program], place, out)
    with _beside(evaluation, 0.1 if "sleep" in program else 60) as evaluated:
        evaluated()
    (line,) = [line for line in caplog.messages if said in line]
    assert f"; not evaluated: step_4, step_6. `infinite-rl evaluate CONFIG --watch {place}`" in line


def test_a_second_signal_does_not_break_off_the_end_of_what_was_started() -> None:
    before = signal.signal(signal.SIGTERM, _stop)
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


# --- what is fetched -----------------------------------------------------------------------------


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of S3, and a hub that has everything."""
    from infinite_rl.launch import inputs

    def fetch(uri: str, _: Any) -> Path:
        if uri.startswith("hf"):
            return Path("/hub") / uri.partition(":")[2]
        if not Path(uri).exists():
            raise UsageError(f"there is no {uri}")
        return Path(uri)

    monkeypatch.setattr(inputs, "fetch", fetch)
    (tmp_path / "models" / "Qwen" / "Qwen3").mkdir(parents=True)
    (tmp_path / "data" / "openai" / "gsm8k" / "main" / "test").mkdir(parents=True)
    return tmp_path


def test_the_mirror_is_asked_before_the_hub(mirror: Path) -> None:
    told = {"model": "Qwen/Qwen3", "data": "hf:openai/gsm8k:main:test", "max_steps": 3}
    assert fetched(told, str(mirror)) == {
        "model": f"{mirror}/models/Qwen/Qwen3",
        "data": f"{mirror}/data/openai/gsm8k/main/test",
        "max_steps": 3,
    }


def test_the_hub_has_what_the_mirror_lacks(mirror: Path) -> None:
    told = {"model": "other/model", "data": "hf:other:train"}
    assert fetched(told, str(mirror)) == {"model": "/hub/other/model", "data": "/hub/other:train"}
    assert fetched({"model": "Qwen/Qwen3"}) == {"model": "/hub/Qwen/Qwen3"}


def test_what_is_on_this_machine_stays_where_it_is(mirror: Path) -> None:
    told = {"model": str(mirror), "data": "rows.jsonl"}
    assert fetched(told, str(mirror)) == told


def test_each_data_set_of_a_mixture_is_fetched_with_its_order(mirror: Path) -> None:
    (mirror / "order.txt").touch()
    each = {"name": "gsm8k", "path": "hf:openai/gsm8k:main:test", "order": f"{mirror}/order.txt"}
    (found,) = fetched({"model": str(mirror), "datasets": [each]}, str(mirror))["datasets"]
    assert found["path"] == f"{mirror}/data/openai/gsm8k/main/test"
