"""The hosts of a job, and how they meet: who they are, and how each learns of the end.

They are those of SM_HOSTS, of which this one is SM_CURRENT_HOST, or of SageMaker's
`resourceconfig.json`; without either there is this machine alone. The first host is the head. The
meeting is a connection that stays open as long as the head lives, so each host learns at once that
the run has ended, and how, or that the head is gone.
"""

from __future__ import annotations

import json
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
_REASON = 1024  # characters of why a run has ended


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
        """The name of the host that starts Ray, and trains."""
        return self.names[0]

    @property
    def is_head(self) -> bool:
        """Whether this host is the head."""
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


def code_of(error: InfiniteRLError) -> int:
    """The exit code of a host that ends by an error."""
    return 2 if isinstance(error, UsageError) else 1


class HostRendezvous:
    """Open on the head as long as it lives: tells the job's hosts of its Ray, and of its end.

    Only the job's own hosts are told; the token of Ray goes this way. Each line is a JSON object:
    a greeting, where Ray is, the end. Who comes late is told all of them. Use it as a context
    manager: an error ends the run for all, with its reason; hosts that are not here by then get
    `late_s` to come and hear it.

    Raises:
        InfiniteRLError: the head cannot be reached at that port.
    """

    def __init__(self, hosts: Hosts, port: int, late_s: float = 0.0) -> None:
        self._names, self._late_s = hosts.names, late_s
        self._said = b"{}\n"
        self._guests: dict[str, socket.socket] = {}  # by their addresses
        self._changed = threading.Condition()  # who was here, or what was said
        self._ended = threading.Event()
        own = ip_of(hosts.current)
        try:
            self._server = socket.create_server((own, port))
        except OSError as error:
            raise InfiniteRLError(f"the head cannot open {own}:{port}: {error}") from None
        self._door = threading.Thread(target=self._receive, daemon=True)
        self._door.start()

    def __enter__(self) -> HostRendezvous:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if isinstance(error, InfiniteRLError):
            self.end(code_of(error), str(error), self._late_s)
        else:
            self.end(1)  # where it has not ended before

    def tell(self, told: Mapping[str, Any]) -> None:
        """Tell all who are here, and who come."""
        line = json.dumps(told).encode() + b"\n"
        with self._changed:
            self._said += line
            for guest in self._guests.values():
                with suppress(OSError):  # it has left before
                    guest.sendall(line)

    def check(self) -> None:
        """Raise InfiniteRLError where a host that was here has left."""
        with self._changed:
            for address, guest in self._guests.items():
                with suppress(BlockingIOError):  # it is here, and says nothing, as it should
                    if not guest.recv(1, socket.MSG_DONTWAIT):
                        raise InfiniteRLError(f"the host {address} has ended before the training")

    def end(self, code: int, reason: str = "", wait_s: float = 0.0) -> None:
        """Tell all how the run has ended, and close; hosts that are not here yet get a while."""
        if self._ended.is_set():
            return
        with self._changed:
            self._changed.wait_for(lambda: len(self._guests) == len(self._names) - 1, wait_s)
        self.tell({"code": code, "reason": reason[:_REASON]})
        self._ended.set()
        _close(self._server)
        self._door.join(_SAY_S)  # who has come last has been told
        for guest in self._guests.values():
            guest.close()

    def _receive(self) -> None:
        while True:
            try:
                guest, (address, _) = self._server.accept()
            except OSError:
                if self._ended.wait(_POLL_S):
                    return
                continue  # as where no further file may be opened at this moment
            if not self._knows(address):
                guest.close()
                continue
            with suppress(OSError), self._changed:  # it has left at once, and will come again
                guest.sendall(self._said)
                self._guests[address] = guest
                self._changed.notify()

    def _knows(self, address: str) -> bool:
        """Whether it is one of the hosts, which may get their names only after the head has."""
        for name in self._names:
            with suppress(InfiniteRLError):
                if ip_of(name) == address:
                    return True
        return False


def _close(server: socket.socket) -> None:
    """Close a socket that a thread waits on, so that the thread is told."""
    with suppress(OSError):
        server.shutdown(socket.SHUT_RDWR)
    server.close()


class WorkerHost:
    """A host's side of the meeting. `over` is set once the run has ended, or the head is gone."""

    def __init__(self, hosts: Hosts, port: int, wait_s: float) -> None:
        """Wait for the head. Raises InfiniteRLError where it does not come in time."""
        self.over, self.reason = threading.Event(), ""
        self._code = 1
        self._ray: Mapping[str, Any] | None = None
        self._heard = threading.Event()  # of Ray, or of the end
        deadline = time.monotonic() + wait_s
        while True:
            try:
                own, head = (ip_of(hosts.current), 0), (ip_of(hosts.head), port)
                self._connection = socket.create_connection(head, _SAY_S, source_address=own)
                self._keep_alive()
                self._bytes = b""
                self._said(_SAY_S)
                break
            except (OSError, ValueError, InfiniteRLError) as error:
                # It is not there yet, has no name yet, or is gone before it has spoken.
                if time.monotonic() > deadline:
                    message = f"the head {hosts.head} was not there within {wait_s:.0f} seconds"
                    raise InfiniteRLError(f"{message}: {error}") from None
                time.sleep(_POLL_S)
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()

    def ray(self) -> Mapping[str, Any] | None:
        """Where Ray is, once the head has started it; None where the run has ended before."""
        self._heard.wait()
        return None if self.over.is_set() else self._ray

    def ended(self, wait_s: float) -> int | None:
        """The run's exit code, once it has one; 1 where the head has gone without a word."""
        return self._code if self.over.wait(wait_s) else None

    def close(self) -> None:
        """Leave the meeting."""
        _close(self._connection)
        self._ear.join(_SAY_S)

    def _listen(self) -> None:
        """Hear what the head says, to its end."""
        try:
            while said := self._said(None):
                if isinstance(code := said.get("code"), int):
                    self._code, self.reason = code, str(said.get("reason", ""))
                    break
                if not all(isinstance(said.get(name), str) for name in ("address", "token")):
                    break
                self._ray = said
                self._heard.set()
        except (OSError, ValueError):
            self.reason = "it is gone without a word"
        self.over.set()
        self._heard.set()

    def _keep_alive(self) -> None:
        """Let a head that is gone without a word be noticed: within a minute, where it can be."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4)):
            if hasattr(socket, name):
                self._connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def _said(self, within_s: float | None) -> dict[str, Any]:
        """What the head says next, once it begins to.

        Raises:
            OSError: it does not begin, or not end, in time.
            ValueError: it says what no head would say, or no more.
        """
        while b"\n" not in self._bytes:
            self._connection.settimeout(_SAY_S if self._bytes else within_s)
            piece = self._connection.recv(_LONGEST)
            if not piece or len(self._bytes) > _LONGEST:
                raise ValueError("another program answers there")
            self._bytes += piece
        line, _, self._bytes = self._bytes.partition(b"\n")
        try:
            found = json.loads(line)
        except RecursionError:
            found = None
        if not isinstance(found, dict):
            raise ValueError("another program answers there")
        return found
