"""A Ray cluster, connected to for as long as it is used."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ..errors import UsageError


@contextmanager
def connected(address: str | None, cpus: int = 0) -> Iterator[Any]:
    """Ray, connected to a cluster; what was started or connected for this is ended after it.

    A cluster that is started counts this machine's CPUs, or as many as `cpus` where that is more.

    Raises:
        UsageError: Ray is not installed, or no cluster answers at the address.
    """
    try:
        ray: Any = import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise UsageError("the engine ray needs Ray: pip install 'infinite-rl[ray]'") from None
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    own = {"include_dashboard": False, "num_cpus": max(cpus, os.cpu_count() or 1)}
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        _check_address(address)
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            **(own if address == "local" else {}),
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"no Ray cluster at {address}: {error}") from None
    try:
        _handle(handlers)  # Ray has put its own there, which exit at once
        yield ray
    finally:
        ray.shutdown()
        _handle(handlers)  # and now the default


def _handle(handlers: Mapping[signal.Signals, Any]) -> None:
    """Have signals handled as they were before Ray came."""
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _check_address(address: str) -> None:
    """Raise OSError where nothing answers at HOST:PORT; Ray itself would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
