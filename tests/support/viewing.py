"""A viewer on loopback, for the time of a test."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from infinite_rl.view import Viewer, app

TOKEN = "token"


@contextmanager
def viewing(viewer: Viewer) -> Iterator[str]:
    """The address of the page, once all rows that are there are read."""
    config = uvicorn.Config(app(viewer, TOKEN), log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        with viewer:
            thread.start()
            try:
                until(lambda: server.started and not viewer.task)
                yield f"http://127.0.0.1:{port}/{TOKEN}/"
            finally:
                server.should_exit = True
                thread.join()


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for a condition that another thread brings about."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)
