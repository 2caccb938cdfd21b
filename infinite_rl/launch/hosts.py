"""The hosts of a job: their names, and the rendezvous that tells each one how the run ends.

The names come from SM_HOSTS and SM_CURRENT_HOST, or from SageMaker's `resourceconfig.json`, else
there is this machine alone. The first host is the head. It listens, and each other host holds a
connection to it until the run ends. Over it the head sends Ray's address and token, and the exit
code with its reason; a connection that breaks shows that the head has died.

Ray alone does not do this: `ray start` has no channel for its token, for the exit code, or for a
failure before Ray is up, and its heartbeats report a dead head only after 13 to 62 seconds.
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
_SEND_S = 10.0  # within which the head must complete a line
_KEEP_ALIVE = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 4}  # seconds, and tries
_MAX_LINE = 1 << 16  # bytes
_MAX_REASON = 1024  # characters


@dataclass(frozen=True)
class Hosts:
    """The hosts of a job. `gpus` counts those of this one; None: Ray detects them."""

    names: tuple[str, ...]
    current: str
    gpus: int | None = None

    def __post_init__(self) -> None:
        if self.current not in self.names:
            raise UsageError(f"{self.current!r} is none of the job's hosts: {list(self.names)}")

    @classmethod
    def detect(cls, environment: Mapping[str, str], resources: Path) -> Hosts:
        """Read the environment, else SageMaker's file, else use this machine alone.

        Raises:
            UsageError: a value is malformed.
        """
        gpus = environment.get("SM_NUM_GPUS", "").strip()
        if gpus and not (gpus.isdecimal() and len(gpus) < 5):
            raise UsageError(f"SM_NUM_GPUS must be a number, not {gpus!r}")
        text, current = environment.get("SM_HOSTS"), environment.get("SM_CURRENT_HOST")
        where = "SM_HOSTS"
        if text is None and resources.is_file():
            where, values = str(resources), read_json(resources)
            text, current = json.dumps(values.get("hosts")), values.get("current_host")
        if text is None:
            text, current = '["127.0.0.1"]', "127.0.0.1"
        names: Any = None
        with suppress(ValueError, RecursionError):
            names = json.loads(text)
        valid = isinstance(names, list) and all(isinstance(each, str) and each for each in names)
        if not (valid and names and len(set(names)) == len(names)):
            example = '["algo-1"]'
            raise UsageError(f"{where} must be a list of names like {example}, not {text[:200]!r}")
        return cls(tuple(names), current or "", int(gpus) if gpus else None)

    @property
    def head(self) -> str:
        """The name of the host that starts Ray, and trains."""
        return self.names[0]

    @property
    def is_head(self) -> bool:
        """Whether this host is the head."""
        return self.current == self.head


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file, {} for other values. Raises UsageError if it is unreadable."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return value if isinstance(value, dict) else {}


def ip_of(host: str) -> str:
    """The address of a host. Raises InfiniteRLError if it has none."""
    try:
        return socket.gethostbyname(host)
    except (OSError, ValueError, TypeError) as error:  # the latter two for invalid names
        raise InfiniteRLError(f"the host {host} has no address: {error}") from None


def exit_code(error: InfiniteRLError) -> int:
    """The exit code of a host that ends by an error."""
    return 2 if isinstance(error, UsageError) else 1


class HostRendezvous:
    """The head's side: accepts the job's other hosts, and sends each of them all messages.

    Each message is a JSON object in one line: a greeting, Ray's address, the end. Late hosts get
    all of them. Connections from other addresses are closed: they must not see Ray's token. As a
    context manager it turns an error into the end of the run for all hosts, with the reason, and
    gives hosts that are not connected yet `late_s` to receive it.

    Raises:
        InfiniteRLError: the port cannot be opened.
    """

    def __init__(self, hosts: Hosts, port: int, late_s: float = 0.0) -> None:
        self._names, self._late_s = hosts.names, late_s
        self._sent = b"{}\n"
        self._workers: dict[str, socket.socket] = {}  # by address
        self._changed = threading.Condition()
        self._ended = threading.Event()
        ip = ip_of(hosts.current)
        try:
            self._server = socket.create_server((ip, port))
        except OSError as error:
            raise InfiniteRLError(f"the head cannot open {ip}:{port}: {error}") from None
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self) -> HostRendezvous:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, InfiniteRLError):
            self.end(exit_code(error), str(error), self._late_s)
        else:
            self.end(1)  # unless it has ended before

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to all hosts, now or when they connect."""
        line = json.dumps(message).encode() + b"\n"
        with self._changed:
            self._sent += line
            for worker in self._workers.values():
                with suppress(OSError):  # it has left
                    worker.sendall(line)

    def check(self) -> None:
        """Raise InfiniteRLError if a host has disconnected."""
        with self._changed:
            for address, worker in self._workers.items():
                with suppress(BlockingIOError):  # a live host sends nothing
                    if not worker.recv(1, socket.MSG_DONTWAIT):
                        raise InfiniteRLError(f"the host {address} has ended before the training")

    def end(self, code: int, reason: str = "", wait_s: float = 0.0) -> None:
        """Send the end of the run, and close; hosts that are not connected get `wait_s` to."""
        if self._ended.is_set():
            return
        with self._changed:
            self._changed.wait_for(lambda: len(self._workers) == len(self._names) - 1, wait_s)
        self.send({"code": code, "reason": reason[:_MAX_REASON]})
        self._ended.set()
        _close(self._server)
        self._thread.join(_SEND_S)  # the last host to connect gets its messages
        for worker in self._workers.values():
            worker.close()

    def _accept(self) -> None:
        while True:
            try:
                worker, (address, _) = self._server.accept()
            except OSError:
                if self._ended.wait(_POLL_S):
                    return
                continue  # for example too many open files at this moment
            if not self._is_host(address):
                worker.close()
                continue
            with suppress(OSError), self._changed:  # it has left at once, and will connect again
                worker.sendall(self._sent)
                self._workers[address] = worker
                self._changed.notify()

    def _is_host(self, address: str) -> bool:
        for name in self._names:
            with suppress(InfiniteRLError):  # names may resolve only after the head has started
                if ip_of(name) == address:
                    return True
        return False


def _close(connection: socket.socket) -> None:
    """Close a socket, and wake the thread that waits on it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


class WorkerHost:
    """Another host's side. `over` is set when the run has ended, or the head has died."""

    def __init__(self, hosts: Hosts, port: int, wait_s: float) -> None:
        """Connect to the head. Raises InfiniteRLError if it does not answer in time."""
        self.over, self.reason = threading.Event(), ""
        self._code = 1
        self._ray: Mapping[str, Any] | None = None
        self._ready = threading.Event()  # Ray is up, or the run has ended
        deadline = time.monotonic() + wait_s
        while True:
            try:
                source, head = (ip_of(hosts.current), 0), (ip_of(hosts.head), port)
                self._connection = socket.create_connection(head, _SEND_S, source_address=source)
                # Notice a head that vanished from the network within a minute, if the system can.
                self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                for name, value in _KEEP_ALIVE.items():
                    if hasattr(socket, name):
                        number = getattr(socket, name)
                        self._connection.setsockopt(socket.IPPROTO_TCP, number, value)
                self._lines = self._connection.makefile("rb")
                self._message(_SEND_S)
                break
            except (OSError, ValueError, InfiniteRLError) as error:
                # The head is not up yet, has no name yet, or has died before its greeting.
                if time.monotonic() > deadline:
                    message = f"the head {hosts.head} was not there within {wait_s:.0f} seconds"
                    raise InfiniteRLError(f"{message}: {error}") from None
                time.sleep(_POLL_S)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def ray(self) -> Mapping[str, Any] | None:
        """Wait for Ray's address and token; None if the run ends before."""
        self._ready.wait()
        return None if self.over.is_set() else self._ray

    def ended(self, wait_s: float) -> int | None:
        """The run's exit code if it has ended; 1 if the head has died."""
        return self._code if self.over.wait(wait_s) else None

    def close(self) -> None:
        """Disconnect."""
        _close(self._connection)
        self._thread.join(_SEND_S)

    def _listen(self) -> None:
        try:
            while message := self._message(None):
                if isinstance(code := message.get("code"), int):
                    self._code, self.reason = code, str(message.get("reason", ""))
                    break
                if not all(isinstance(message.get(name), str) for name in ("address", "token")):
                    break
                self._ray = message
                self._ready.set()
        except (OSError, ValueError):
            self.reason = "it has died"
        self.over.set()
        self._ready.set()

    def _message(self, within_s: float | None) -> dict[str, Any]:
        """The head's next message, whose first byte must come within that time.

        Raises:
            OSError: it does not come, or is not completed in time.
            ValueError: it is malformed, or the head has closed the connection.
        """
        self._connection.settimeout(within_s)
        self._lines.peek(1)
        self._connection.settimeout(_SEND_S)
        line, message = self._lines.readline(_MAX_LINE), None
        with suppress(RecursionError):
            message = json.loads(line) if line.endswith(b"\n") else None
        if not isinstance(message, dict):
            raise ValueError("another program answers there")
        return message
