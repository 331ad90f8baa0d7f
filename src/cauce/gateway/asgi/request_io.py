"""Wraps the ASGI channels of one request. An unread request body never blocks the response, and a client that does not
read its response runs into a timeout."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope, Send

from cauce.gateway.asgi.concurrency_limits import Permit

SMALL_BODY_BYTES = 64 << 10
"""An unread body up to this size is drained, so that the connection can be reused."""
DRAIN_S = 2.0
"""How long an unread body is drained: closing the connection earlier could discard the response."""
WRITE_TIMEOUT_S = 60.0
GUARDS = {b"cache-control": b"no-store", b"x-content-type-options": b"nosniff"}
"""Default headers of every response: no caching, no MIME sniffing."""


class Exchange:
    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        headers = Headers(scope=scope)
        self.started_at = time.monotonic()
        self.status = 0
        self.owner = ""
        self.permit: Permit
        self.route = "none"
        self.received_bytes = 0
        length = headers.get("content-length", "")
        self._content_length = int(length) if length.isascii() and length.isdigit() else None
        self._unread = "transfer-encoding" in headers or bool(self._content_length)
        self._skips_drain = "expect" in headers
        self._drains_at_end = False

    def skip_drain(self) -> None:
        """Do not wait for the rest of the body."""
        self._skips_drain = True

    def admit(self, owner: str) -> None:
        """Counts the request against its owner until the response is sent. Raises 429 at the limit."""
        self.permit.assign_owner(owner)
        self.owner = owner

    @property
    def started(self) -> bool:
        return self.status != 0

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self.received_bytes += len(message.get("body", b""))
            self._unread = self._unread and message.get("more_body", False)
        else:
            self._unread = False
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": _with_default_headers(message.get("headers", []))}
            await self._drain_small_body()
            if self._unread:
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
                self._drains_at_end = not self._skips_drain
            await self._write(message)
        elif self._drains_at_end and not message.get("more_body", False):
            await self._write({**message, "more_body": True})
            await self._drain(1 << 62, DRAIN_S)
            await self._write({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await self._write(message)

    async def _drain_small_body(self) -> None:
        if (
            self._unread
            and not self._skips_drain
            and self._content_length is not None
            and self._content_length <= SMALL_BODY_BYTES
        ):
            await self._drain(SMALL_BODY_BYTES, DRAIN_S)

    async def _drain(self, limit: int, within_s: float) -> None:
        before = self.received_bytes
        try:
            async with asyncio.timeout(within_s):
                while self._unread and self.received_bytes - before < limit:
                    await self.receive()
        except TimeoutError:
            pass

    async def _write(self, message: Message) -> None:
        try:
            async with asyncio.timeout(WRITE_TIMEOUT_S):
                await self._send(message)
        except TimeoutError:
            raise ClientDisconnect from None


def exchange_of(request: Request) -> Exchange:
    exchange = request.scope["cauce.exchange"]
    assert isinstance(exchange, Exchange)
    return exchange


def _with_default_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    present = list(headers)
    names = {name.lower() for name, _ in present}
    return [*present, *((name, value) for name, value in GUARDS.items() if name not in names)]
