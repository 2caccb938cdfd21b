"""The socket, the token, and the server processes."""

from __future__ import annotations

import ipaddress
import json
import logging
import multiprocessing
import os
import resource
import secrets
import signal
import socket
import string
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any

from ..errors import InfiniteRLError, UsageError, import_extra
from ..workers.pool import default_count
from .config import ServeConfig, served_rewards

if TYPE_CHECKING:
    from starlette.applications import Starlette

logger = logging.getLogger(__name__)

TOKEN = "INFINITE_RL_SERVE_TOKEN"
_SETTINGS = "INFINITE_RL_SERVE_CONFIG"  # for the server processes, as JSON
_LEAST_TOKEN = 16  # characters
_SPARE_FILES = 200  # open files besides connections
_SEND_BYTES = 2**18  # that the system keeps of an answer
_LOOK_S, _HEALTH_S = 0.1, 10.0  # between two looks at /health, and for one
_LIBRARIES = ("starlette", "uvicorn", "httptools", "prometheus_client")


def serve(config: ServeConfig, on_ready: Callable[[str, str], None]) -> None:
    """Serve until SIGTERM or SIGINT, and end what is under way; uvicorn then repeats the signal.

    `on_ready` is called from another thread once requests are answered. It gets the URL, and the
    token if it was generated here, else "".

    Raises:
        UsageError: an extra is missing, a reward is unknown, the token cannot be used, or the
            address is open to others and no token was set.
        InfiniteRLError: the address cannot be listened on.
    """
    for library in _LIBRARIES:
        import_extra(library, "serve needs", "serve")
    served_rewards(config.rewards)
    given_token = _token_of(os.environ.get(TOKEN, ""))
    if not given_token and not _is_loopback(config.host):
        raise UsageError(
            f"{config.host} may be open to others: set a token in {TOKEN} "
            f"({_LEAST_TOKEN} or more characters), or serve on 127.0.0.1"
        )
    token = given_token or secrets.token_urlsafe(24)
    _raise_file_limit(config.connections)
    with listening(config.host, config.port) as listener:
        host, port = listener.getsockname()[:2]
        shown_host = f"[{host}]" if ":" in host else host
        url = f"http://{shown_host}:{port}"
        logger.info("the workers start; then %s answers", url)

        def say_when_ready() -> None:
            while not _is_ready(host, port):
                time.sleep(_LOOK_S)
            on_ready(url, "" if given_token else token)

        threading.Thread(target=say_when_ready, name="ready", daemon=True).start()
        _run(config, token, listener)


def app_of_environment() -> Starlette:
    """Create the application of one of several server processes, which ends with the first one."""
    from .app import create_app

    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    config = ServeConfig.of(json.loads(os.environ[_SETTINGS]))
    workers = max(1, (config.workers or default_count()) // config.processes)
    return create_app(config, os.environ[TOKEN], workers)


def _end_with_parent() -> None:
    """Stop this process when its parent is killed: it would keep the port, and answer for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _run(config: ServeConfig, token: str, listener: socket.socket) -> None:
    import uvicorn

    from .connections import KEEP_ALIVE_S, BoundedConnection

    options: dict[str, Any] = {
        "http": BoundedConnection,
        "lifespan": "on",
        "ws": "none",
        "log_config": None,
        # Warnings are of malformed requests: a client could fill the disk with them.
        "log_level": "error",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": KEEP_ALIVE_S,
        "timeout_graceful_shutdown": int(config.grace) + 1,
        "workers": config.processes,
    }
    if config.processes == 1:
        from .app import create_app

        uvicorn.Server(uvicorn.Config(create_app(config, token), **options)).run([listener])
        return
    with tempfile.TemporaryDirectory(prefix="infinite_rl_metrics_") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        os.environ[_SETTINGS], os.environ[TOKEN] = json.dumps(config.values()), token
        app = f"{__name__}:app_of_environment"
        uvicorn.run(app, factory=True, fd=listener.fileno(), **options)


def _is_ready(host: str, port: int) -> bool:
    """Whether /health says so: of any of the server processes."""
    connection = HTTPConnection(host, port, timeout=_HEALTH_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _token_of(text: str) -> str:
    """Return a token that was set. Raises UsageError if it is short or cannot be a header."""
    token = text.strip()
    if text and (len(token) < _LEAST_TOKEN or set(token) - set(string.printable[:94])):
        raise UsageError(
            f"{TOKEN} must have {_LEAST_TOKEN} or more letters, digits and signs, no blanks"
        )
    return token


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, which may stand for any address
        return False


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen on an address. Raises InfiniteRLError if it cannot be listened on."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server((address[0], port), family=family, backlog=2048)
        # Connections inherit it. asyncio sets it on its own sockets alone, and without it an
        # answer waits 40 ms for the client to acknowledge its head.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Else the system keeps megabytes for a client that takes no answer.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
    except (OSError, OverflowError) as error:
        # Without what `create_server` adds: the address once more.
        reason = (getattr(error, "strerror", "") or str(error)).partition(" (while")[0]
        raise InfiniteRLError(f"cannot listen on {host}:{port}: {reason}") from None
    with listener:
        yield listener


def _raise_file_limit(connections: int) -> None:
    """Let this process have a file for each connection. Raises UsageError if it may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            raise UsageError(
                f"{connections} connections need {needed} open files, and the limit is {hard}: "
                "set --connections, or raise the limit (ulimit -n)"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
