"""One request and its answer, as the server hands them over: sees to it that a body nobody read does not get in the
way of the answer, and that a client which does not read its answer is not waited for without end."""

from __future__ import annotations

import asyncio
import time

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

LITTLE_BYTES = 64 << 10
"""An unread body of this size is read to its end, so that the connection can be used again."""
LINGER_S = 2.0
"""How long what a client still sends is taken and thrown away: it must not be cut off before it sees our answer."""
WRITE_S = 60.0


class Exchange:
    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        headers = Headers(scope=scope)
        self.started_at = time.monotonic()
        self.status = 0
        self.owner = ""
        self.route = "none"
        self.received_bytes = 0
        told = headers.get("content-length", "")
        self._announced = int(told) if told.isascii() and told.isdigit() else None
        self._unread = "transfer-encoding" in headers or bool(self._announced)
        self._waits = "expect" in headers
        self._lingers = False

    def hurry(self) -> None:
        """There is no time left to wait for the rest of a body."""
        self._waits = True

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
            await self._make_way()
            if self._unread:
                message = {**message, "headers": [*message.get("headers", []), (b"connection", b"close")]}
                self._lingers = not self._waits
            await self._write(message)
        elif self._lingers and not message.get("more_body", False):
            await self._write({**message, "more_body": True})
            await self._drain(1 << 62, LINGER_S)
            await self._write({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await self._write(message)

    async def _make_way(self) -> None:
        if self._unread and not self._waits and self._announced is not None and self._announced <= LITTLE_BYTES:
            await self._drain(LITTLE_BYTES, LINGER_S)

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
            async with asyncio.timeout(WRITE_S):
                await self._send(message)
        except TimeoutError:
            raise ClientDisconnect from None
