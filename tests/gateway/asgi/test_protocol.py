"""Bodies over a real socket: complete and in order, on concurrent connections that share one buffer."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import random
import socket

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from cauce.gateway.asgi.protocol import BLOCK_BYTES, Receiver

SIZES = (0, 1, 100, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 17)


async def digest_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the digest of the body."""
    body, more = hashlib.sha256(), True
    while more:
        message = await receive()
        body.update(message["body"])
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body.hexdigest().encode()})


def put(port: int, bodies: list[bytes]) -> list[str]:
    """The answers to several requests over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    answers = []
    for body in bodies:
        connection.request("PUT", "/", body)
        answers.append(connection.getresponse().read().decode())
    connection.close()
    return answers


async def served(clients: list[list[bytes]], loop_kind: str) -> list[list[str]]:
    config = uvicorn.Config(digest_app, http=Receiver, loop=loop_kind, lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        serving = asyncio.create_task(server.serve([bound]))
        port = bound.getsockname()[1]
        try:
            return await asyncio.gather(*(asyncio.to_thread(put, port, bodies) for bodies in clients))
        finally:
            server.should_exit = True
            await serving


@pytest.mark.parametrize("loop_kind", ["asyncio", "uvloop"])
def test_bodies_of_concurrent_connections_arrive_complete(loop_kind: str) -> None:
    make = random.Random(1)
    clients = [[make.randbytes(size) for size in make.sample(SIZES, len(SIZES))] for _ in range(4)]
    expected = [[hashlib.sha256(body).hexdigest() for body in bodies] for bodies in clients]
    with asyncio.Runner(loop_factory=uvicorn.Config(digest_app, loop=loop_kind).get_loop_factory()) as runner:
        assert runner.run(served(clients, loop_kind)) == expected
