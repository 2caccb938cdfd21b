"""Ray over the hosts of a job, and the training on it.

Each of the other hosts joins the head's Ray once that is up, and stays until the run has ended.
What is started here ends with the job, and no other process does.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from ..errors import InfiniteRLError
from ..workers.ray_cluster import connected
from .hosts import HostRendezvous, Hosts, WorkerHost, ip_of

PORT = 6380  # of the head, where the hosts meet
logger = logging.getLogger(__name__)

_POLL_S = 0.5
_START_S = 120.0  # what Ray gets to start on the head
_END_S = 60.0  # what a process gets to end by itself, once it is told to


@dataclass(frozen=True)
class Settings:
    """What the launcher is told.

    temp_dir  where Ray keeps its files; "": where it likes
    wait_s    how long the hosts wait for each other
    cpus      that Ray counts on a host at least: as many as the run has processes
    """

    temp_dir: str = ""
    wait_s: float = 1800.0
    cpus: int = 1


class Node:
    """Ray's processes of one host, as a context: they end with it, and no others do."""

    def __init__(self, words: Sequence[str]) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as Ray runs
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *words]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            start_new_session=True,  # a terminal's Ctrl-C is for the training, which needs Ray yet
        )  # fmt: skip

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


def lead(
    hosts: Hosts, given: Settings, train: Sequence[str], meeting: HostRendezvous | None
) -> int:
    """Start Ray over the hosts, train, and tell the hosts of the end; the training's exit code.

    The meeting is that with the other hosts, where there are any.
    """
    ip = ip_of(hosts.current)
    port = _free_port(ip)
    address, token = f"{ip}:{port}", os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32)
    _use_token(token)
    words = ["--head", f"--port={port}", "--include-dashboard=false"]
    with Node([*words, *_words(hosts, given)]) as node, meeting or nullcontext():
        _wait(lambda: _answers(ip, port), node, _START_S, "Ray has not started")
        if meeting:
            meeting.tell({"address": address, "token": token})
            _gather(hosts, address, node, given.wait_s, meeting)
        code = trained([*train, f"--ray_address={address}"], node)
        if meeting:
            meeting.end(code)  # before Ray ends, which the others would take for a failure
        return code


def follow(hosts: Hosts, given: Settings, guest: WorkerHost) -> int:
    """Join the head's Ray, and stay until the run has ended; the run's exit code."""
    told = guest.ray()
    if told:
        logger.info("joining Ray at %s, until the run has ended", told["address"])
        _use_token(told["token"])
        with Node([f"--address={told['address']}", *_words(hosts, given)]) as node:
            while guest.ended(_POLL_S) is None:
                node.check()
    code = guest.ended(0)
    assert code is not None
    return code


def _use_token(token: str) -> None:
    """Have all that this process starts take part in this job's Ray, and nobody without it."""
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token, RAY_USAGE_STATS_ENABLED="0")


def _gather(hosts: Hosts, address: str, node: Node, wait_s: float, meeting: HostRendezvous) -> None:
    """Wait until all hosts are in the cluster."""
    count = len(hosts.names)
    with connected(address) as ray:

        def all_are_there() -> bool:
            meeting.check()
            return bool(sum(each["Alive"] for each in ray.nodes()) >= count)

        logger.info("Ray has started; %d of %d hosts are to join it", count - 1, count)
        _wait(all_are_there, node, wait_s, f"not all of the {count} hosts have joined")


def trained(command: Sequence[str], node: Node | None = None) -> int:
    """Run the training; its exit code. It is ended where Ray ends before it."""
    process = subprocess.Popen(command)
    try:
        while process.poll() is None:
            if node:
                node.check()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S)
    except KeyboardInterrupt:
        pass  # the training is sent it as well, says so, and has a code for it
    finally:
        end(process, signal.SIGINT)  # as Ctrl-C would: it closes what it holds
    code = process.returncode
    return code if code >= 0 else 128 - code
