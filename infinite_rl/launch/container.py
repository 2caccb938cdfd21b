"""What runs inside a job, on each of its hosts: Ray, the model and the data, then the training.

    python -m infinite_rl.launch.container CONFIG [--temp-dir PATH] [--KEY VALUE ...]

Without CONFIG it is a job that `submit` has begun, and what `request` says is in its input: the
source is unpacked, and the config is run in it. Where the source holds this package, it is what
runs.

The hosts are those of SM_HOSTS, of which this one is SM_CURRENT_HOST, or of SageMaker's
`resourceconfig.json`; without either there is this machine alone. The first host is the head. Its
Ray is up before it meets the others; the meeting is a connection that stays open as long as the
head lives, so each host learns at once that the run has ended, and how, or that the head is gone.
Each host fetches the model before it joins, so all that Ray places finds it on the disk.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cluster import connected
from ..errors import InfiniteRLError, StoreError, UsageError
from ..settings import read_yaml
from ..storage import fetch

logger = logging.getLogger(__name__)

INPUT = Path("/opt/ml/input")
_POLL_S = 0.5
_START_S = 120.0  # what Ray gets to start on the head
_END_S = 60.0  # what a process gets to end by itself, once it is told to
_STOPPED = 128 + signal.SIGTERM


@dataclass(frozen=True)
class Hosts:
    """The hosts of a job. `gpus` are those of this one; None: whatever Ray finds."""

    names: tuple[str, ...]
    current: str
    gpus: int | None = None

    def __post_init__(self) -> None:
        if self.current not in self.names:
            raise UsageError(f"{self.current!r} is none of the job's hosts: {list(self.names)}")

    @classmethod
    def of(cls, environment: Mapping[str, str], resources: Path) -> Hosts:
        """What the environment says, else SageMaker's file, else this machine alone.

        Raises:
            UsageError: what is said cannot be.
        """
        gpus = environment.get("SM_NUM_GPUS", "").strip()
        if gpus and not gpus.isdecimal():
            raise UsageError(f"SM_NUM_GPUS must be a number, not {gpus!r}")
        names, current = environment.get("SM_HOSTS"), environment.get("SM_CURRENT_HOST")
        where = "SM_HOSTS"
        if names is None and resources.is_file():
            where, found = str(resources), _mapping(resources)
            names, current = json.dumps(found.get("hosts")), found.get("current_host")
        if names is None:
            names, current = '["127.0.0.1"]', "127.0.0.1"
        return cls(_names(names, where), current or "", int(gpus) if gpus else None)

    @property
    def head(self) -> str:
        return self.names[0]

    @property
    def is_head(self) -> bool:
        return self.current == self.head


def _mapping(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return found if isinstance(found, dict) else {}


def _names(text: str, where: str) -> tuple[str, ...]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not (isinstance(found, list) and found and all(isinstance(each, str) for each in found)):
        raise UsageError(f'{where} must be a list of names such as ["algo-1"], not {text!r}')
    return tuple(found)


def ip_of(host: str) -> str:
    """The address of a host. Raises InfiniteRLError where it has none."""
    try:
        return socket.gethostbyname(host)
    except OSError as error:
        raise InfiniteRLError(f"the host {host} has no address: {error}") from None


# --- where the hosts meet ------------------------------------------------------------------------


class Meeting:
    """Open on the head as long as the run lives: tells the job's hosts of its Ray, and of its end.

    Only the job's own hosts are told; the token of Ray goes this way.
    """

    def __init__(self, hosts: Hosts, port: int, told: Mapping[str, Any]) -> None:
        self._told = json.dumps(told).encode() + b"\n"
        self._known = {ip_of(name) for name in hosts.names}
        self._guests: list[socket.socket] = []
        self._server = socket.create_server((ip_of(hosts.current), port))
        threading.Thread(target=self._receive, daemon=True).start()

    def end(self, code: int) -> None:
        """Tell all how the run has ended, and close."""
        _close(self._server)
        for guest in self._guests:
            with suppress(OSError):  # it has left before
                guest.sendall(json.dumps({"code": code}).encode() + b"\n")
            guest.close()

    def _receive(self) -> None:
        while True:
            try:
                guest, (address, _) = self._server.accept()
            except OSError:
                return  # closed: the run has ended
            if address not in self._known:
                guest.close()
                continue
            with suppress(OSError):  # it has left at once, and will come again
                guest.sendall(self._told)
                self._guests.append(guest)


def _close(server: socket.socket) -> None:
    """Close a socket that a thread waits on, so that the thread is told."""
    with suppress(OSError):
        server.shutdown(socket.SHUT_RDWR)
    server.close()


class Guest:
    """A host's side of the meeting."""

    def __init__(self, hosts: Hosts, port: int, wait_s: float) -> None:
        """Wait for the head. Raises InfiniteRLError where it does not come in time."""
        own, head = (ip_of(hosts.current), 0), (ip_of(hosts.head), port)
        deadline = time.monotonic() + wait_s
        while True:
            try:
                self._connection = socket.create_connection(head, timeout=10, source_address=own)
                self._keep_alive()
                self._lines = self._connection.makefile("rb")
                self.told: Mapping[str, Any] = json.loads(self._lines.readline())
                return
            except (OSError, ValueError) as error:  # not there yet, or gone before it has spoken
                if time.monotonic() > deadline:
                    message = f"the head {hosts.head} was not there within {wait_s:.0f} seconds"
                    raise InfiniteRLError(f"{message}: {error}") from None
                time.sleep(_POLL_S)

    def _keep_alive(self) -> None:
        """Let a head that is gone without a word be noticed: within a minute, where it can be."""
        self._connection.settimeout(None)
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4)):
            if hasattr(socket, name):
                self._connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def ended(self, wait_s: float) -> int | None:
        """The run's exit code, once it has one; 1 where the head has gone without a word."""
        if not select.select([self._connection], [], [], wait_s)[0]:
            return None
        try:
            return int(json.loads(self._lines.readline())["code"])
        except (OSError, ValueError):
            return 1

    def close(self) -> None:
        self._lines.close()
        self._connection.close()


# --- Ray on one host -----------------------------------------------------------------------------


class Node:
    """Ray's processes of one host, as a context: they end with it, and no others do."""

    def __init__(self, words: Sequence[str]) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as Ray runs
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *words]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *exc_info: object) -> None:
        end(self._process, signal.SIGTERM)
        self._log.close()

    def check(self) -> None:
        """Raise InfiniteRLError where Ray has ended; it says what Ray has said last."""
        if self._process.poll() is None:
            return
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").split("\n")
        last = " ".join(" ".join(said[-12:]).split())[-500:]
        raise InfiniteRLError(f"Ray on this host has ended ({self._process.returncode}): {last}")


def end(process: subprocess.Popen[Any], number: int) -> None:
    """Have a process end, by a signal that it can obey; after a time by one that it must."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _words(hosts: Hosts, given: Settings) -> list[str]:
    """What `ray start` is told on every host."""
    words = ["--disable-usage-stats", f"--node-ip-address={ip_of(hosts.current)}"]
    words.append(f"--num-cpus={max(given.cpus, os.cpu_count() or 1)}")
    if hosts.gpus is not None:
        words.append(f"--num-gpus={hosts.gpus}")
    if given.temp_dir:
        words.append(f"--temp-dir={given.temp_dir}")
    return words


def _free_port(ip: str) -> int:
    with socket.create_server((ip, 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _wait(until: Callable[[], bool], node: Node, seconds: float, what: str) -> None:
    """Wait for something of a node that must live. Raises InfiniteRLError where it fails."""
    deadline = time.monotonic() + seconds
    while not until():
        node.check()
        if time.monotonic() > deadline:
            raise InfiniteRLError(f"{what} within {seconds:.0f} seconds")
        time.sleep(_POLL_S)


def _answers(ip: str, port: int) -> bool:
    try:
        socket.create_connection((ip, port), timeout=5).close()
        return True
    except OSError:
        return False


# --- the two kinds of host -----------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What the launcher is told.

    port      of the head, on which the hosts meet
    temp_dir  where Ray keeps its files; "": where it likes
    wait_s    how long the hosts wait for each other
    cpus      that Ray counts on a host at least: as many as the run has processes
    """

    port: int = 6380
    temp_dir: str = ""
    wait_s: float = 1800.0
    cpus: int = 1


def lead(hosts: Hosts, given: Settings, train: Sequence[str]) -> int:
    """Start Ray over the hosts, train, and tell the hosts of the end; the training's exit code."""
    ip = ip_of(hosts.current)
    port = _free_port(ip)
    address, token = f"{ip}:{port}", os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32)
    _use_token(token)
    words = ["--head", f"--port={port}", "--include-dashboard=false"]
    with Node([*words, *_words(hosts, given)]) as node:
        _wait(lambda: _answers(ip, port), node, _START_S, "Ray has not started")
        with _meeting(hosts, given.port, {"address": address, "token": token}) as ended:
            _gather(hosts, address, node, given.wait_s)
            ended(code := trained([*train, f"--ray_address={address}"], node))
            return code


def follow(hosts: Hosts, given: Settings) -> int:
    """Join the head's Ray, and stay until the run has ended; the run's exit code."""
    with closing(Guest(hosts, given.port, given.wait_s)) as guest:
        _use_token(guest.told["token"])
        with Node([f"--address={guest.told['address']}", *_words(hosts, given)]) as node:
            while (code := guest.ended(_POLL_S)) is None:
                node.check()
    return code


def _use_token(token: str) -> None:
    """Have all that this process starts take part in this job's Ray, and nobody without it."""
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token, RAY_USAGE_STATS_ENABLED="0")


@contextmanager
def _meeting(hosts: Hosts, port: int, told: Mapping[str, Any]) -> Iterator[Callable[[int], None]]:
    """The meeting, where there is somebody to meet; what it yields notes how the run has ended."""
    codes = [1]
    meeting = Meeting(hosts, port, told) if len(hosts.names) > 1 else None
    try:
        yield codes.append
    finally:
        if meeting:
            meeting.end(codes[-1])


def _gather(hosts: Hosts, address: str, node: Node, wait_s: float) -> None:
    """Wait until all hosts are in the cluster."""
    count = len(hosts.names)
    if count == 1:
        return
    with connected(address) as ray:
        _wait(
            lambda: sum(each["Alive"] for each in ray.nodes()) >= count,
            node, wait_s, f"not all of the {count} hosts have joined",
        )  # fmt: skip


def trained(command: Sequence[str], node: Node | None = None) -> int:
    """Run the training; its exit code. It is ended where Ray ends before it."""
    process = subprocess.Popen(command)
    try:
        while process.poll() is None:
            if node:
                node.check()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S)
    finally:
        end(process, signal.SIGINT)  # as Ctrl-C would: it closes what it holds
    code = process.returncode
    return code if code >= 0 else 128 - code


# --- what is run ---------------------------------------------------------------------------------


def fetched(values: Mapping[str, Any], mirror: str = "") -> dict[str, Any]:
    """A config's values with its model and its data on this machine's disk.

    What is named as of the hub is looked for in the `mirror` first: a model NAME in
    MIRROR/models/NAME/, a data set hf:NAME:SPLIT in MIRROR/data/NAME/SPLIT/.

    Raises:
        UsageError: something is not there, or may not be read.
        StoreError: it could not be fetched whole.
    """
    found = dict(values)
    if found.get("model"):
        found["model"] = _model(str(found["model"]), mirror)
    if found.get("data"):
        found["data"] = _data(str(found["data"]), mirror)
    if found.get("datasets"):
        found["datasets"] = [_dataset(each, mirror) for each in found["datasets"]]
    return found


def _dataset(given: Mapping[str, Any], mirror: str) -> dict[str, Any]:
    there = {key: str(given[key]) for key in ("path", "order") if given.get(key)}
    return {**given, **{key: _data(uri, mirror) for key, uri in there.items()}}


def _model(name: str, mirror: str) -> str:
    if ":" not in name:
        if Path(name).expanduser().exists() or name.startswith(("/", ".", "~")):
            return name
        name = f"hf-model:{name}"
    return _first(name, mirror and f"{mirror.rstrip('/')}/models/{name.partition(':')[2]}/")


def _data(uri: str, mirror: str) -> str:
    if ":" not in uri:
        return uri
    name = uri.partition(":")[2].replace(":", "/")
    return _first(uri, mirror and f"{mirror.rstrip('/')}/data/{name}/")


def _first(uri: str, copy: str) -> str:
    """Where `uri` is on this machine now: from the mirror's copy, if there is one."""
    if copy and uri.startswith(("hf:", "hf-model:")):
        try:
            return _told(copy, fetch(copy))
        except UsageError as error:
            logger.info("not in the mirror: %s", error)
    return _told(uri, fetch(uri))


def _told(uri: str, path: Path) -> str:
    logger.info("%s is at %s", uri, path)
    return str(path)


@dataclass(frozen=True)
class Work:
    """What a job has to run: the training by its engine, and where asked the evaluation beside."""

    engine: str
    train: Sequence[str]
    processes: int
    evaluate: Sequence[str] = ()


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack a job's source, and go there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as source:
            source.extractall(folder, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise StoreError(f"{archive} cannot be unpacked into {folder}: {error}") from None
    _lend_runtimes(folder / "infinite_rl" / "runtimes")
    os.chdir(folder)


def _lend_runtimes(folder: Path) -> None:
    """Put this package's sandboxes, which no git holds, where a checkout of it lacks them."""
    own = Path(__file__).parent.parent / "runtimes"
    for runtime in own.glob("*.wasm*") if folder.is_dir() else ():
        if not (folder / runtime.name).exists():
            shutil.copy(runtime, folder)


def _prepared(given: argparse.Namespace, work: Path) -> Work:
    """What is to be run, all that it needs having been fetched."""
    from ..cli import arguments
    from ..training.config import TrainingConfig

    told: dict[str, Any] = {}
    if given.config:
        path = fetch(given.config)
    else:
        told = _mapping(given.input / "config" / "hyperparameters.json")
        archive = given.input / "data" / "source" / "source.tar.gz"
        if archive.is_file():
            _unpack(archive, work / "source")
        path = given.input / "data" / "config" / str(told.get("config", "train.yaml"))
    own = {key: told[key] for key in ("checkpoints", "traces") if told.get(key)}
    try:
        values = {**own, **read_yaml(path), **arguments.keys_given(given, TrainingConfig)}
        TrainingConfig.of(values)  # before hours of fetching
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    values = fetched(values, given.mirror)
    config = TrainingConfig.of(values)
    file = work / "train.json"  # which YAML reads as well
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(values, indent=2), encoding="utf-8")
    program = [sys.executable, "-m", "infinite_rl"]
    train = [*program, "train", config.algorithm, str(file)]
    processes = 1 + config.rollout_workers + config.reward_workers
    if not told.get("eval_config"):
        return Work(config.engine, train, processes)
    evaluation = str(given.input / "data" / "config" / str(told["eval_config"]))
    out = str(given.input.parent / "output" / "data" / "evaluation")
    place = config.checkpoints
    if ":" not in place:  # a path would be taken for a run's folder, as nothing is there yet
        place = Path(place).absolute().as_uri() + "/"
    watch = ["evaluate", evaluation, "--watch", place, "--out", out]
    return Work(config.engine, train, processes, [*program, *watch])


def run(given: argparse.Namespace) -> int:
    """What this host does in its job; the exit code."""
    hosts = Hosts.of(os.environ, given.input / "config" / "resourceconfig.json")
    with tempfile.TemporaryDirectory() as made, ExitStack() as opened:
        work = _prepared(given, Path(given.work or made).resolve())
        if work.engine != "ray" and len(hosts.names) > 1:
            count = len(hosts.names)
            raise UsageError(
                f"the engine {work.engine} uses one host, and the job has {count}: engine ray"
            )
        settings = Settings(given.port, given.temp_dir, given.wait, work.processes)
        if not hosts.is_head:
            return follow(hosts, settings)
        evaluated = opened.enter_context(_beside(work.evaluate))
        code = lead(hosts, settings, work.train) if work.engine == "ray" else trained(work.train)
        if code == 0:
            evaluated()
        return code


@contextmanager
def _beside(command: Sequence[str]) -> Iterator[Callable[[], None]]:
    """Evaluate while the training goes on; what it yields waits for the last checkpoint's turn.

    An evaluation that fails says so itself; it takes nothing from a training that went well.
    """
    if not command:
        yield lambda: None
        return
    process = subprocess.Popen(command)
    try:
        yield lambda: logger.info("the evaluation ended with exit code %d", process.wait())
    finally:
        end(process, signal.SIGINT)


def _parser() -> argparse.ArgumentParser:
    from ..cli import arguments
    from ..training.config import TrainingConfig

    parser = argparse.ArgumentParser(
        prog="python -m infinite_rl.launch.container",
        description="Run a training config on all hosts of a job: start Ray over them, fetch the "
        "model and the data, train, and end with the exit code of the training on every host.",
    )
    parser.add_argument("config", nargs="?", help="a YAML file; without it the input of a job")
    option = arguments.option
    option(parser, "--input", INPUT, "the input of a job", Path)
    option(parser, "--work", "", "where the source is unpacked, the same on every host")
    option(parser, "--mirror", "", "s3://BUCKET/FOLDER to look in before the hub")
    option(parser, "--port", Settings.port, "of the head, where the hosts meet", int)
    option(parser, "--temp-dir", "", "where Ray keeps its files")
    option(parser, "--wait", Settings.wait_s, "seconds that the hosts wait for each other", float)
    arguments.keys(parser, TrainingConfig)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and return the exit code; what went wrong is said in one line, also to SageMaker."""
    from ..cli.terminal import NOT_DONE, WRONG_USAGE, plain, show_logs

    given = _parser().parse_args(argv)
    given.input = given.input.resolve()  # the work is done in another folder
    show_logs()
    logging.getLogger("infinite_rl").setLevel(logging.INFO)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_STOPPED))  # so that all contexts are left
    try:
        code = run(given)
        reason = f"the training ended with exit code {code}" if code else ""
    except InfiniteRLError as error:
        code, reason = WRONG_USAGE if isinstance(error, UsageError) else NOT_DONE, str(error)
        print(f"error: {plain(reason)}", file=sys.stderr)
    _tell_failure(given.input.parent / "output", plain(reason))
    return code


def _tell_failure(folder: Path, reason: str) -> None:
    """Leave the reason where SageMaker looks for it."""
    if reason and folder.is_dir():
        with suppress(OSError):  # the exit code says it, too
            (folder / "failure").write_text(reason[:1024], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
