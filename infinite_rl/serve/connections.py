"""The deadlines of a connection: whatever a client does or leaves undone, it ends in time.

uvicorn bounds how long a connection may be idle. A client that sends the head of a request byte by
byte, or takes no answer, would keep its connection for ever; here each phase has an end.
"""

import asyncio
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .config import MIB

if TYPE_CHECKING:
    from .app import Service

KEEP_ALIVE_S = 30  # that an idle connection stays open between two requests
_HEAD_BYTES = 65536
_FRAMING = 8  # bytes that a byte of a body may take at most, in chunks of one


class BoundedConnection(HttpToolsProtocol):
    """A connection that is closed at the deadline of its phase: head, request or answer.

    Of more connections than there may be, the one that has waited longest for a head is closed.
    """

    _timer: asyncio.TimerHandle | None = None
    _received = 0  # bytes of this phase

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._service: Service = self.app_state["service"]
        self._idle: dict[BoundedConnection, None] = self.app_state.setdefault("idle", {})
        self._wait_for_head(0.0)
        if len(self.connections) > self._service.config.connections:
            longest = next(iter(self._idle))
            del self._idle[longest]
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        self._idle.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        body_bytes = 0 if self in self._idle else self._service.config.body_mb * MIB
        if self._received > _HEAD_BYTES + _FRAMING * body_bytes:
            self.transport.abort()

    def on_headers_complete(self) -> None:
        self._idle.pop(self, None)
        self._received = 0
        self._close_after_answer()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:
            self._wait_for_head(KEEP_ALIVE_S)
        else:  # the next request has come already
            self._close_after_answer()

    def pause_writing(self) -> None:
        """Give a client that does not take the answer a last term."""
        super().pause_writing()
        self._close_in(self._service.config.client_timeout)

    def shutdown(self) -> None:
        """End after the request under way."""
        self._service.stop()
        super().shutdown()

    def _wait_for_head(self, idle_s: float) -> None:
        self._received = 0
        self._idle.pop(self, None)
        self._idle[self] = None
        self._close_in(idle_s + self._service.config.client_timeout)

    def _close_after_answer(self) -> None:
        config = self._service.config
        self._close_in(config.deadline + 2 * config.client_timeout)

    def _close_in(self, seconds: float) -> None:
        self._cancel_timer()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
