"""Requests to a gateway in this process, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import Message, Scope

from cauce.gateway.http.app import Gateway
from cauce.gateway.settings import GatewaySettings
from cauce.process.telemetry.logs import start_logs


def scope_of(path: str, token: str, query: str = "") -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())],
    }


class Client:
    """Sends a body, if there is one. Receives a response, and calls `at_first_chunk` when its first bytes have
    arrived."""

    def __init__(self, at_first_chunk: Callable[[], None] = lambda: None, body: bytes | None = None) -> None:
        self._at_first_chunk = at_first_chunk
        self._body = body
        self.status = 0
        self.headers: dict[str, str] = {}
        self.received = b""
        self.complete = False

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await asyncio.Event().wait()
        raise AssertionError

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        first = not self.received
        self.received += message.get("body", b"")
        self.complete = not message.get("more_body", False)
        if first and self.received:
            self._at_first_chunk()


async def ask(settings: GatewaySettings, client: Client, scope: Scope) -> None:
    gateway = Gateway(settings, start_logs("test"))
    gateway._pool.start()
    try:
        await gateway.app()(scope, client.receive, client.send)
    finally:
        gateway._pool.stop(5)
