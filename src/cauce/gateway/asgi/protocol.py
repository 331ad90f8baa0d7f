"""uvicorn's HTTP protocol with limits it lacks: size and arrival time of the request head, number of connections. An
invalid request gets a problem document, and its connection is closed.

Large bodies are received with few copies: in blocks of `BLOCK_BYTES` instead of 256 kB, and without collecting them in
a `bytearray`."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from cauce.api.http import PROBLEM
from cauce.gateway.asgi.application import GUARDS
from cauce.gateway.asgi.problems import body_of

HEAD_BYTES = 64 << 10
URL_BYTES = 8 << 10
HEAD_S = 15.0
MAX_CONNECTIONS = 4096
BLOCK_BYTES = 1 << 20
"""The most bytes that are read from a socket at once."""


class _Rejected(Exception):
    """Raised inside the parser to stop it."""


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
        self._rejection = (400, "bad-request", "the request is not valid HTTP")
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._evict_idle_connection()
        self._start_head_timer()

    def _evict_idle_connection(self) -> None:
        """Aborts an idle connection, or this one if none is idle: idle clients must not lock others out."""
        idle = (each for each in self.connections if each is not self and _is_idle(each))
        (next(idle, None) or self).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._idle_bytes += len(data)
        super().data_received(data)
        if self._idle_bytes > HEAD_BYTES and not self.transport.is_closing():
            # Neither a body nor a complete head: an endless header, trailer or chunk extension.
            self._rejection = (431, "headers-too-large", f"headers must be at most {HEAD_BYTES:,} bytes in total")
            self.send_400_response("")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0
        self._start_head_timer()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > URL_BYTES:
            self._reject(414, "uri-too-long", f"the request URL must be at most {URL_BYTES:,} bytes long")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > HEAD_BYTES:
            self._reject(431, "headers-too-large", f"headers must be at most {HEAD_BYTES:,} bytes in total")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._idle_bytes = 0
        self._cancel_head_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._idle_bytes = 0
        if not self.cycle.body:
            self.cycle.body = _Pieces()  # type: ignore[assignment]
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._idle_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Called by uvicorn when the parser rejects the request."""
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            # A response is in progress: writing another one would corrupt it.
            self.transport.close()
            return
        status, code, detail = self._rejection
        body = body_of(status, code, detail)
        head = [STATUS_LINE[status], b"content-type: %s\r\n" % PROBLEM.encode()]
        head += [b"%s: %s\r\n" % guard for guard in GUARDS.items()]
        head += [b"content-length: %d\r\n" % len(body), b"connection: close\r\n\r\n", body]
        self.transport.write(b"".join(head))
        self.transport.close()

    def _reject(self, status: int, code: str, detail: str) -> None:
        self._rejection = (status, code, detail)
        raise _Rejected

    def _start_head_timer(self) -> None:
        self._cancel_head_timer()
        self._head_timer = self.loop.call_later(HEAD_S, self._on_head_timeout)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_head_timeout(self) -> None:
        if not self.transport.is_closing():
            self._rejection = (408, "timeout", f"the head of the request did not arrive within {HEAD_S:g} s")
            self.send_400_response("")


class _Pieces:
    """The pieces of a body that have arrived since the last read, in place of uvicorn's `bytearray`. A single piece,
    which is the usual case, is not copied."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def __iadd__(self, piece: bytes) -> Self:
        self._pieces.append(piece)
        self._size += len(piece)
        return self

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return b"".join(self._pieces)


class Receiver(asyncio.BufferedProtocol):
    """Reads from the socket of a connection into one buffer for all connections of the process. The parser copies what
    it keeps before the next read."""

    _buffer = memoryview(bytearray(BLOCK_BYTES))

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._http = BoundedProtocol(config, server_state, app_state, _loop)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._http.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._http.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._http.data_received(self._buffer[:nbytes])  # type: ignore[arg-type]

    def eof_received(self) -> None:
        self._http.eof_received()

    def pause_writing(self) -> None:
        self._http.pause_writing()

    def resume_writing(self) -> None:
        self._http.resume_writing()


def _is_idle(connection: Any) -> bool:
    cycle = connection.cycle
    return not connection.transport.is_closing() and (cycle is None or cycle.response_complete)
