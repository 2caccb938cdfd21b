"""The hosts of a job, and how they meet: who they are, and how each learns of the end.

They are those of SM_HOSTS, of which this one is SM_CURRENT_HOST, or of SageMaker's
`resourceconfig.json`; without either there is this machine alone. The first host is the head. The
meeting is a connection that stays open as long as the head lives, so each host learns at once that
the run has ended, and how, or that the head is gone.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InfiniteRLError, UsageError

_POLL_S = 0.5
_SAY_S = 10.0  # what a head gets to say a line
_LONGEST = 1 << 16  # bytes of it


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
        if gpus and not (gpus.isdecimal() and len(gpus) < 5):
            raise UsageError(f"SM_NUM_GPUS must be a number, not {gpus!r}")
        names, current = environment.get("SM_HOSTS"), environment.get("SM_CURRENT_HOST")
        where = "SM_HOSTS"
        if names is None and resources.is_file():
            where, found = str(resources), mapping_of(resources)
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


def mapping_of(path: Path) -> dict[str, Any]:
    """What a file of JSON holds; nothing where that is no object. Raises UsageError."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return found if isinstance(found, dict) else {}


def _names(text: str, where: str) -> tuple[str, ...]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    named = isinstance(found, list) and all(isinstance(each, str) and each for each in found)
    if not (named and found and len(set(found)) == len(found)):
        raise UsageError(f'{where} must be a list of names such as ["algo-1"], not {text[:200]!r}')
    return tuple(found)


def ip_of(host: str) -> str:
    """The address of a host. Raises InfiniteRLError where it has none."""
    try:
        return socket.gethostbyname(host)
    except (OSError, ValueError, TypeError) as error:  # the latter: what no name can hold
        raise InfiniteRLError(f"the host {host} has no address: {error}") from None


class Meeting:
    """Open on the head as long as the run lives: tells the job's hosts of its Ray, and of its end.

    Only the job's own hosts are told; the token of Ray goes this way.
    """

    def __init__(self, hosts: Hosts, port: int, told: Mapping[str, Any]) -> None:
        self._told = json.dumps(told).encode() + b"\n"
        self._known = {ip_of(name) for name in hosts.names}
        self._guests: list[socket.socket] = []
        self._ended = threading.Event()
        self._server = socket.create_server((ip_of(hosts.current), port))
        self._door = threading.Thread(target=self._receive, daemon=True)
        self._door.start()

    def end(self, code: int) -> None:
        """Tell all how the run has ended, and close."""
        self._ended.set()
        _close(self._server)
        self._door.join(_SAY_S)  # who has come last has been told of Ray, and is known
        for guest in self._guests:
            with suppress(OSError):  # it has left before
                guest.sendall(json.dumps({"code": code}).encode() + b"\n")
            guest.close()

    def _receive(self) -> None:
        while True:
            try:
                guest, (address, _) = self._server.accept()
            except OSError:
                if self._ended.wait(_POLL_S):
                    return
                continue  # as where no further file may be opened at this moment
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
                self._connection = socket.create_connection(head, _SAY_S, source_address=own)
                self._keep_alive()
                self._lines = self._connection.makefile("rb")
                self.told = self._said()
                return
            except (OSError, ValueError) as error:  # not there yet, or gone before it has spoken
                if time.monotonic() > deadline:
                    message = f"the head {hosts.head} was not there within {wait_s:.0f} seconds"
                    raise InfiniteRLError(f"{message}: {error}") from None
                time.sleep(_POLL_S)

    def _keep_alive(self) -> None:
        """Let a head that is gone without a word be noticed: within a minute, where it can be."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4)):
            if hasattr(socket, name):
                self._connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def ended(self, wait_s: float) -> int | None:
        """The run's exit code, once it has one; 1 where the head has gone without a word."""
        if not select.select([self._connection], [], [], wait_s)[0]:
            return None
        try:
            code = self._said().get("code")
        except (OSError, ValueError):
            return 1
        return code if isinstance(code, int) else 1

    def _said(self) -> dict[str, Any]:
        """What the head says next. Raises OSError, or ValueError for what no head would say."""
        try:
            found = json.loads(self._lines.readline(_LONGEST))
        except RecursionError:
            found = None
        if not isinstance(found, dict):
            raise ValueError("another program answers there")
        return found

    def close(self) -> None:
        self._lines.close()
        self._connection.close()
