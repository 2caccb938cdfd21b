"""Ray over the hosts of a job, and the training on it.

Each other host joins the head's Ray, and stays until the run has ended. Every process that is
started here ends with the job.
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
from typing import Any

from ..errors import InfiniteRLError
from ..workers.ray_cluster import connected
from .hosts import HostRendezvous, Hosts, WorkerHost, ip_of

PORT = 6380  # of the head's rendezvous
WAIT_S = 1800.0  # for which the hosts wait for each other
logger = logging.getLogger(__name__)

_POLL_S = 0.5
_START_S = 120.0  # for Ray on the head
_END_S = 60.0  # for a process to end after its signal


class RayNode:
    """Ray's processes on one host; a context manager that ends them, and no others."""

    def __init__(self, *args: str) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as Ray runs
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *args]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            start_new_session=True,  # Ctrl-C is for the training, which still needs Ray
        )  # fmt: skip

    def __enter__(self) -> RayNode:
        return self

    def __exit__(self, *exc_info: object) -> None:
        end_process(self._process, signal.SIGTERM)
        self._log.close()

    def check(self) -> None:
        """Raise InfiniteRLError with the last lines of Ray's output if Ray has ended."""
        if self._process.poll() is None:
            return
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").split("\n")
        last = " ".join(" ".join(lines[-12:]).split())[-500:]
        raise InfiniteRLError(f"Ray on this host has ended ({self._process.returncode}): {last}")

    def wait(self, is_done: Callable[[], bool], seconds: float, problem: str) -> None:
        """Wait while the node lives. Raises InfiniteRLError if it ends, or after that time."""
        deadline = time.monotonic() + seconds
        while not is_done():
            self.check()
            if time.monotonic() > deadline:
                raise InfiniteRLError(f"{problem} within {seconds:.0f} seconds")
            time.sleep(_POLL_S)


def end_process(process: subprocess.Popen[Any], number: int) -> None:
    """End a process by a signal, and kill it if it ignores that for a minute."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ray_arguments(hosts: Hosts, temp_dir: str = "", processes: int = 1) -> list[str]:
    """The arguments of Ray on this host.

    `temp_dir` is where Ray keeps its files ("": Ray's default). Ray counts at least one CPU for
    each of the run's `processes`.
    """
    args = ["--disable-usage-stats", f"--node-ip-address={ip_of(hosts.current)}"]
    args.append(f"--num-cpus={max(processes, os.cpu_count() or 1)}")
    if hosts.gpus is not None:
        args.append(f"--num-gpus={hosts.gpus}")
    return [*args, f"--temp-dir={temp_dir}"] if temp_dir else args


def lead(
    hosts: Hosts,
    args: Sequence[str],
    train: Sequence[str],
    rendezvous: HostRendezvous | None,
    wait_s: float = WAIT_S,
) -> int:
    """Start Ray over the hosts, train, and tell the others of the end; return the exit code.

    `args` are those of Ray; the hosts wait `wait_s` for each other.
    """
    ip = ip_of(hosts.current)
    with socket.create_server((ip, 0)) as server:
        port = server.getsockname()[1]  # a free one
    address, token = f"{ip}:{port}", os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32)
    _use_token(token)

    def is_up() -> bool:
        with suppress(OSError):
            socket.create_connection((ip, port), timeout=5).close()
            return True
        return False

    head = ("--head", f"--port={port}", "--include-dashboard=false")
    # The others hear of the end before Ray ends, which they would report as a failure.
    with RayNode(*head, *args) as node, rendezvous or nullcontext():
        node.wait(is_up, _START_S, "Ray has not started")
        if rendezvous:
            rendezvous.send({"address": address, "token": token})
            _wait_for_hosts(hosts, address, node, wait_s, rendezvous)
        code = run_training([*train, f"--ray_address={address}"], node)
        if rendezvous:
            rendezvous.end(code)
        return code


def follow(args: Sequence[str], worker: WorkerHost) -> int:
    """Join the head's Ray, and stay until the run has ended; return its exit code."""
    if ray := worker.ray():
        logger.info("joining Ray at %s, until the run has ended", ray["address"])
        _use_token(ray["token"])
        with RayNode(f"--address={ray['address']}", *args) as node:
            while worker.ended(_POLL_S) is None:
                node.check()
    code = worker.ended(0)
    assert code is not None
    return code


def _use_token(token: str) -> None:
    """Let the processes that are started here join this job's Ray, and no others."""
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token, RAY_USAGE_STATS_ENABLED="0")


def _wait_for_hosts(
    hosts: Hosts, address: str, node: RayNode, wait_s: float, rendezvous: HostRendezvous
) -> None:
    """Wait until all hosts are in the cluster."""
    count = len(hosts.names)
    with connected(address) as ray:

        def all_joined() -> bool:
            rendezvous.check()
            return bool(sum(each["Alive"] for each in ray.nodes()) >= count)

        logger.info("Ray has started; waiting for %d of %d hosts", count - 1, count)
        node.wait(all_joined, wait_s, f"not all of the {count} hosts have joined")


def run_training(command: Sequence[str], node: RayNode | None = None) -> int:
    """Run the training, and return its exit code. It is ended if Ray ends before it."""
    process = subprocess.Popen(command)
    try:
        while process.poll() is None:
            if node:
                node.check()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S)
    except KeyboardInterrupt:
        pass  # the training gets it as well, reports it, and has an exit code for it
    finally:
        end_process(process, signal.SIGINT)  # as Ctrl-C would: it closes its files
    code = process.returncode
    return code if code >= 0 else 128 - code
