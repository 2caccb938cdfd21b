"""moto's server on loopback, and a proxy before it that cuts or holds connections."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import pytest

SECRET = "a-secret-that-nobody-logs"


@contextmanager
def models_read_once() -> Iterator[None]:
    """Cache what each session of boto3 computes again, which takes most of a test's time."""
    session = pytest.importorskip("botocore.session")
    hooks = pytest.importorskip("botocore.hooks")
    accepts, alias = cache(hooks.accepts_kwargs), hooks.EventAliaser._alias_event_name
    aliases: dict[str, str] = {}

    def accepts_kwargs(handler: Any) -> Any:
        return accepts(getattr(handler, "__func__", handler))  # keeps no client alive

    def alias_of(self: Any, name: str) -> str:
        if name not in aliases:
            aliases[name] = alias(self, name)
        return aliases[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "create_loader", cache(session.create_loader))
        patch.setattr(hooks, "accepts_kwargs", accepts_kwargs)
        patch.setattr(hooks.EventAliaser, "_alias_event_name", alias_of)
        yield


@contextmanager
def serving(hook: Callable[[Any], Any] = lambda app: app) -> Iterator[str]:
    """The address of a server with its objects in memory; `hook` wraps its WSGI application."""
    pytest.importorskip("boto3")
    moto = pytest.importorskip("moto.server")
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    running._server.app = hook(running._server.app)
    host, port = running.get_host_and_port()
    try:
        with models_read_once():
            yield f"http://{host}:{port}"
    finally:
        running.stop()


def credentials(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """Point boto3 to that server, without retries."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@cache
def _client(endpoint: str) -> Any:
    import boto3.session

    return boto3.session.Session().client("s3", endpoint_url=endpoint)


@contextmanager
def bucket(name: str) -> Iterator[Any]:
    """A client, while there is a bucket of that name."""
    client = _client(os.environ["AWS_ENDPOINT_URL"])
    client.create_bucket(Bucket=name)
    try:
        yield client
    finally:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=name)
        for page in pages:
            if found := [{"Key": each["Key"]} for each in page.get("Contents", [])]:
                client.delete_objects(Bucket=name, Delete={"Objects": found})
        client.delete_bucket(Bucket=name)


class Proxy:
    """Forwards connections, and cuts them.

    Each connection is cut after `down` bytes from the server, or `up` bytes from the client; None:
    never. With `hold` it stays silent instead, and `held` is set. `passed` counts the bytes from
    the server.
    """

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.removeprefix("http://").partition(":")
        self._server = (host, int(port))
        self.down: int | None = None
        self.up: int | None = None
        self.hold, self.held, self.passed = False, threading.Event(), 0
        self._open: list[socket.socket] = []

    def __enter__(self) -> Proxy:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._open:
            each.close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._open += [client, server]
                for source, target, most in (
                    (client, server, self.up),
                    (server, client, self.down),
                ):
                    args = (source, target, most, source is server)
                    threading.Thread(target=self._forward, args=args, daemon=True).start()

    def _forward(
        self, source: socket.socket, target: socket.socket, most: int | None, down: bool
    ) -> None:
        with suppress(OSError):
            while most is None or most > 0:
                piece = source.recv(65536 if most is None else min(65536, most))
                if not piece:
                    break
                target.sendall(piece)
                most = None if most is None else most - len(piece)
                self.passed += len(piece) if down else 0
            if most == 0 and self.hold:
                self.held.set()
                return
        for each in (source, target) if most == 0 else ():
            with suppress(OSError):  # reset, not ended in good order
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


class answering:
    """A server on loopback that answers each request with `reply(request)`."""

    def __init__(self, reply: Callable[[bytes], bytes]) -> None:
        self._reply = reply
        self._listener = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> str:
        threading.Thread(target=self._serve, daemon=True).start()
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):  # the client may leave at any moment
                request = b""
                while b"\r\n\r\n" not in request and (piece := connection.recv(65536)):
                    request += piece
                connection.sendall(self._reply(request))
