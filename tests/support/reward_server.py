"""The server as users start it, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from infinite_rl.serve import RewardClient

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests/support"
TOKEN = "a token for tests, of signs".replace(" ", "-")
PROBE = "probe=probe_reward:ProbeReward"


@dataclass
class Server:
    process: subprocess.Popen[str]
    url: str
    token: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self, name: str = "", **options: Any) -> RewardClient:
        return RewardClient(self.url, self.token, name=name, **options)

    def http(self, **headers: str) -> httpx2.Client:
        """A plain client of HTTP, with the token."""
        headers = {"Authorization": f"Bearer {self.token}", **headers}
        # Without certificates, which take long to load.
        return httpx2.Client(base_url=self.url, headers=headers, timeout=60, verify=False)

    def health(self) -> dict[str, Any]:
        with self.http() as http:
            return dict(http.get("/health").json())

    def until(self, state: str, **wanted: Any) -> dict[str, Any]:
        """Wait for a state of /health, and for further values in it."""
        while True:
            with suppress(httpx2.TransportError):
                health = self.health()
                if health["status"] == state and health.items() >= wanted.items():
                    return health
            assert self.process.poll() is None, "the server has ended"
            threading.Event().wait(0.02)  # it has work to do meanwhile

    def metric(self, line: str) -> float:
        """The value of a metric by its name and labels; 0 if it was never counted."""
        with self.http() as http:
            text = http.get("/metrics").text
        values = [each.rpartition(" ") for each in text.splitlines() if each[0] != "#"]
        return sum(float(value) for name, _, value in values if name == line)

    def children(self) -> list[int]:
        return children(self.process.pid)

    def stop(self) -> int:
        """End it as a service manager does, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def children(pid: int) -> list[int]:
    """The running child processes of a process: proc(5), of each of its threads."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            found += map(int, (task / "children").read_text(encoding="ascii").split())
    return [each for each in found if "Z" not in state(each)]


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2][0]
    except OSError:
        return "Z"


def command(*flags: str) -> list[str]:
    return [sys.executable, "-m", "infinite_rl", "serve", "--port", "0", *flags]


def environment(token: str = TOKEN) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), str(SUPPORT)])
    return {**os.environ, "PYTHONPATH": path, "INFINITE_RL_SERVE_TOKEN": token}


@contextmanager
def serving(*flags: str, token: str = TOKEN) -> Iterator[Server]:
    """A server with these flags, that answers."""
    process = subprocess.Popen(
        command(*flags, "--json"), env=environment(token), stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout
            said = json.loads(process.stdout.readline())
            server = Server(process, said["url"], said["token"] or token)
            yield server
        finally:
            process.kill()
