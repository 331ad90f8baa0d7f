"""The server's side of a connection, with bounds that uvicorn leaves open: the size of a request's head and the time
it may take. Whatever is wrong with a request at this level is told as a problem, and the connection ends."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from cauce.gateway.problems import body_of
from cauce.wire.http import PROBLEM

HEAD_BYTES = 64 << 10
URL_BYTES = 8 << 10
HEAD_S = 15.0
CONNECTIONS = 4096


class _Refused(Exception):
    """Raised within the parser, to stop it."""


class BoundedProtocol(HttpToolsProtocol):
    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_bytes = 0
        self._idle_bytes = 0
        self._refusal = (400, "bad-request", "this is no HTTP request that can be read")
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
            return
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._idle_bytes += len(data)
        super().data_received(data)
        if self._idle_bytes > HEAD_BYTES and not self.transport.is_closing():
            # Bytes that are neither body nor the end of a head: a header, trailer or chunk extension without an end.
            self._refusal = (431, "headers-too-large", f"headers may have {HEAD_BYTES:,} bytes together")
            self.send_400_response("")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0
        self._await_head()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > URL_BYTES:
            self._refuse(414, "uri-too-long", f"the address of a request may have {URL_BYTES:,} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > HEAD_BYTES:
            self._refuse(431, "headers-too-large", f"headers may have {HEAD_BYTES:,} bytes together")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._idle_bytes = 0
        self._head_came()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._idle_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._idle_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Called by uvicorn for whatever the parser does not take."""
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            # An answer is on its way: nothing may be written into the middle of it.
            self.transport.close()
            return
        status, code, detail = self._refusal
        body = body_of(status, code, detail)
        head = [STATUS_LINE[status], b"content-type: %s\r\n" % PROBLEM.encode()]
        head += [b"content-length: %d\r\n" % len(body), b"connection: close\r\n\r\n", body]
        self.transport.write(b"".join(head))
        self.transport.close()

    def _refuse(self, status: int, code: str, detail: str) -> None:
        self._refusal = (status, code, detail)
        raise _Refused

    def _await_head(self) -> None:
        self._head_came()
        self._head_timer = self.loop.call_later(HEAD_S, self._too_late)

    def _head_came(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_late(self) -> None:
        if not self.transport.is_closing():
            self._refusal = (408, "timeout", f"the head of the request did not come within {HEAD_S:g} s")
            self.send_400_response("")
