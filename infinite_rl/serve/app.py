"""The application: it checks the token, bounds the body, queues the jobs, and answers in time."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from anyio import fail_after
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..errors import InfiniteRLError, UsageError, shown
from ..workers.pool import default_count
from .config import MIB, ServeConfig, served_rewards
from .dispatcher import STOPPING, TOO_LATE, Dispatcher, QueueFull, Result, Ticket
from .metrics import CONTENT_TYPE, Metrics
from .protocols import PROTOCOLS, Context, NotJudged, Protocol, kind_of, number_in, parsed, score_of

_PIECE = 65536  # bytes of an answer that are sent at once: more would fill the server's memory
_STOP_EARLY_S = 1.0  # before the end of the grace, for the answers to be sent
_NAME = 100  # characters of a client's name


class Refusal(Exception):
    """A request that gets an error: its status, the reason, and further headers."""

    def __init__(self, status: int, reason: str, **headers: str) -> None:
        super().__init__(reason)
        self.status, self.headers = status, {k.replace("_", "-"): v for k, v in headers.items()}


def create_app(config: ServeConfig, token: str, workers: int | None = None) -> Starlette:
    """Create the application.

    Its lifespan starts the workers, and hands the service to `connections.py` as "service".

    Raises:
        UsageError: an unknown reward.
    """
    context = Context(config, served_rewards(config.rewards))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        service.start(workers or config.workers or default_count())
        yield {"service": service}
        await asyncio.to_thread(service.close)

    service = Service(context, token)
    routes = [
        Route("/health", service.health, methods=["GET"]),
        Route("/metrics", service.text_of_metrics, methods=["GET"]),
        *(
            Route(path, Endpoint(service, path, protocol), methods=["POST"])
            for path, protocol in PROTOCOLS.items()
        ),
    ]
    return Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _no_route}
    )


class Service:
    """What the requests of one process share."""

    dispatcher: Dispatcher

    def __init__(self, context: Context, token: str) -> None:
        self.context, self.config = context, context.config
        self.metrics = Metrics()
        self.bytes = 0  # of bodies and answers under way
        self._token = token.encode()
        self._tickets: set[Ticket] = set()

    def start(self, workers: int) -> None:
        """Start the workers."""
        config = self.config
        self.dispatcher = Dispatcher(
            workers,
            config.queue,
            self.context.warm_up,
            int(config.worker_mb * MIB),
            lambda reason: self.metrics.replaced.labels(reason).inc(),
        )

    def close(self) -> None:
        """End the workers."""
        self.dispatcher.close()

    def stop(self) -> None:
        """Announce the end: what has not ended when the grace is over is refused with 503."""
        if not self.dispatcher.is_stopping:
            left_s = max(0.0, self.config.grace - _STOP_EARLY_S)
            self.dispatcher.stop_at(time.monotonic() + left_s)
            asyncio.get_running_loop().call_later(left_s, self._end_all)

    def _end_all(self) -> None:
        for ticket in list(self._tickets):
            self.dispatcher.end(ticket, STOPPING)

    def authorize(self, request: Request) -> str:
        """Return the name of the client. Raises Refusal without the token.

        The token comes as `Authorization: Bearer TOKEN`, or as the password of a URL, whose user is
        the name then. Else the header X-Client is, or the address.
        """
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        name = request.headers.get("x-client", "")
        if scheme.lower() == "basic":
            try:
                pair = base64.b64decode(credentials).decode("latin-1")
            except ValueError:
                pair = ""
            user, _, credentials = pair.partition(":")
            name = name or user
        elif scheme.lower() != "bearer":
            credentials = ""
        if not hmac.compare_digest(credentials.strip().encode("latin-1", "replace"), self._token):
            reason = "the token is missing or wrong: Authorization: Bearer TOKEN"
            raise Refusal(401, reason, www_authenticate="Bearer", connection="close")
        return (name or (request.client.host if request.client else ""))[:_NAME]

    async def health(self, _: Request) -> Response:
        """Say whether requests are answered; without the token, for load balancers."""
        workers, state = self.dispatcher.alive, "ok"
        if self.dispatcher.is_stopping:
            state = "stopping"
        elif not workers:
            state = "starting"
        values = {"status": state, "workers": workers, "queue": self.dispatcher.open}
        return _json(200 if state == "ok" else 503, values)

    async def text_of_metrics(self, request: Request) -> Response:
        """Answer with the metrics."""
        try:
            self.authorize(request)
        except Refusal as refusal:
            return _refused(refusal)
        self.metrics.open.set(self.dispatcher.open)
        self.metrics.workers.set(self.dispatcher.alive)
        self.metrics.bytes.set(self.bytes)
        return Response(self.metrics.text(), headers={"content-type": CONTENT_TYPE})

    async def judge(
        self, client: str, jobs: list[Any], deadline: float, receive: Receive
    ) -> list[Result]:
        """Return the results of jobs. Raises Refusal if there is no room, or no time left."""
        if not jobs:
            return []
        if len(jobs) > self.dispatcher.largest:
            raise Refusal(413, f"a request may have {self.dispatcher.largest} completions at most")
        if not self.dispatcher.has_started:
            raise Refusal(503, "the workers are starting", retry_after="1")
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def on_done() -> None:
            loop.call_soon_threadsafe(done.set)

        ticket = self.dispatcher.submit(client, kind_of(jobs[0]), jobs, deadline, on_done)
        self._tickets.add(ticket)
        finished = loop.create_task(done.wait())
        disconnected = loop.create_task(_disconnected(receive))
        try:
            left_s = max(0.0, deadline - time.monotonic())
            await asyncio.wait(
                {finished, disconnected}, timeout=left_s, return_when="FIRST_COMPLETED"
            )
        finally:
            self._tickets.discard(ticket)
            finished.cancel()
            disconnected.cancel()
            self.dispatcher.end(ticket, TOO_LATE)  # no change if all have ended
        results = [result or Result(fault=TOO_LATE) for result in ticket.results]
        if any(result.fault == STOPPING for result in results):
            raise Refusal(503, STOPPING, retry_after="1")
        return results


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@dataclass
class _Lease:
    """The memory that a request takes of what all may have together."""

    service: Service
    bytes: int = 0

    def add(self, count: int) -> None:
        """Take more. Raises Refusal if there is none."""
        if self.service.bytes + count > self.service.config.bodies_mb * MIB:
            raise Refusal(429, "too many bytes are under way: try again in 1 s", retry_after="1")
        self.take(count)

    def take(self, count: int) -> None:
        """Take more without asking: an answer that is there already."""
        self.service.bytes += count
        self.bytes += count


class Endpoint:
    """The ASGI application of one route."""

    def __init__(self, service: Service, route: str, protocol: Protocol) -> None:
        self._service, self._route, self._protocol = service, route, protocol

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        metrics, lease, started = self._service.metrics, _Lease(self._service), time.monotonic()
        try:
            try:
                response = await self._respond(Request(scope, receive), lease, started)
            except Refusal as refusal:
                response = _refused(refusal)
            except ClientDisconnect:
                response = Response(status_code=499)  # nobody reads it
            metrics.requests.labels(self._route, str(response.status_code)).inc()
            metrics.seconds.labels(self._route).observe(time.monotonic() - started)
            with suppress(ClientDisconnect):
                await response(scope, receive, send)
        finally:
            self._service.bytes -= lease.bytes

    async def _respond(self, request: Request, lease: _Lease, started: float) -> Response:
        service, protocol = self._service, self._protocol
        client = service.authorize(request)
        data = await self._read(request, lease, started)
        try:
            body = parsed(data)
            del data
            protocol.check_keys(body)
            jobs = protocol.jobs(body, service.context)
            seconds = number_in(body, "deadline", service.config.deadline)
            if seconds <= 0:
                raise UsageError(f"'deadline' must be positive, not {seconds:g}")
            deadline = started + min(seconds, service.config.deadline)
            results = await service.judge(client, jobs, deadline, request.receive)
            for job, result in zip(jobs, results, strict=True):
                if "sample" in job:
                    score = score_of(job, result)
                    service.metrics.scores.labels(score["reward"], score["status"]).inc()
            answer = protocol.answer(jobs, results, service.context)
        except QueueFull as full:
            raise Refusal(429, str(full), retry_after=str(full.retry_after)) from None
        except NotJudged as fault:
            if not protocol.not_judged:
                return _json(422, {"error": str(fault), "status": "unscored"})
            answer = protocol.not_judged(str(fault))
        except InfiniteRLError as error:  # what the client has asked for
            raise Refusal(422, str(error)) from None
        response = _json(200, answer)
        lease.take(int(response.headers["content-length"]))
        return response

    async def _read(self, request: Request, lease: _Lease, started: float) -> bytearray:
        """Read the body, of which no more is kept than it may have."""
        config, data, count = self._service.config, bytearray(), 0
        most = int(config.body_mb * MIB)
        if request.headers.get("content-encoding", "identity") != "identity":
            raise Refusal(415, "a compressed body is not read", connection="close")
        try:
            with fail_after(started + config.deadline - time.monotonic()):
                async for piece in request.stream():
                    count += len(piece)
                    if count <= most:
                        lease.add(len(piece))
                        data += piece
                    elif count > 2 * most:  # enough for a client to come to read the answer
                        break
        except TimeoutError:
            reason = f"the body did not come within {config.deadline:g} s"
            raise Refusal(408, reason, connection="close") from None
        if count > most:
            reason = f"the body is longer than {config.body_mb:g} MiB: send smaller batches"
            raise Refusal(413, reason, connection="close")
        return data


async def _no_route(request: Request, error: Exception) -> Response:
    """Answer where no route or no method matches."""
    assert isinstance(error, HTTPException)
    allowed = (error.headers or {}).get("Allow", "")
    path = shown(request.url.path)
    reason = f"{path} takes {allowed}, not {request.method}" if allowed else f"no route {path}"
    return _json(error.status_code, {"error": reason}, error.headers)


def _refused(refusal: Refusal) -> Response:
    return _json(refusal.status, {"error": str(refusal)}, refusal.headers)


def _json(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with JSON in ASCII: half of a surrogate pair, which a model may write, is no UTF-8."""
    data = json.dumps(value).encode("ascii")
    headers = {"content-type": "application/json", **(headers or {})}
    if len(data) <= _PIECE:
        return Response(data, status, headers)
    headers["content-length"] = str(len(data))
    return StreamingResponse(_pieces(data), status, headers)


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), _PIECE):
        yield data[start : start + _PIECE]
        await asyncio.sleep(0)  # that a client has left is seen before the next piece is sent
