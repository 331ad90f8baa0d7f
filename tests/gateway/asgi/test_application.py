"""Limits on open requests: slow bodies cannot occupy them all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from cauce.gateway.asgi import application
from cauce.gateway.asgi.application import Exchange, RequestLimiter
from cauce.gateway.asgi.problems import HttpError
from cauce.gateway.asgi.request_body import BodyBudget, BodyLimit
from cauce.gateway.settings import GatewaySettings

HUGE = 60 << 20


@pytest.fixture
def limiter(monkeypatch: pytest.MonkeyPatch) -> RequestLimiter:
    """Of two requests, where a body counts as slow at once."""
    monkeypatch.setattr(application, "SLOW_S", 0.0)
    return RequestLimiter(GatewaySettings(Path(), Path(), requests=2))


class Client:
    """A client whose bytes arrive when the test sends them."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[bytes] = asyncio.Queue()

    def exchange(self, limiter: RequestLimiter) -> Exchange:
        scope = {"type": "http", "method": "PUT", "path": "/", "query_string": b"",
                 "headers": [(b"content-length", str(HUGE).encode())]}  # fmt: skip
        exchange = Exchange(scope, self._receive, self._ignore, limiter)
        self.request = Request(scope, exchange.receive)
        return exchange

    async def _receive(self) -> dict[str, Any]:
        return {"type": "http.request", "body": await self.sent.get(), "more_body": True}

    async def _ignore(self, message: object) -> None:
        pass


@asynccontextmanager
async def receiving(
    limiter: RequestLimiter, budget: BodyBudget, owner: str, data: bytes
) -> AsyncIterator[asyncio.Task[bytes]]:
    """A request of which this much has arrived."""
    client = Client()
    exchange = client.exchange(limiter)
    with limiter.counting(exchange), budget.body(owner) as body:
        exchange.admit(owner)
        client.sent.put_nowait(data)
        reading = asyncio.create_task(exchange.read_body(client.request, BodyLimit(HUGE), body))
        while not reading.done() and (not body.held or not client.sent.empty()):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        yield reading
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(main)


def test_an_announced_body_holds_only_what_has_arrived(limiter: RequestLimiter) -> None:
    async def main() -> None:
        budget = BodyBudget(1000)
        async with receiving(limiter, budget, "a", b"x"), receiving(limiter, budget, "a", b"y"):
            assert budget.held == 2

    run(main())


def test_at_the_limit_the_slowest_body_of_the_busiest_owner_is_evicted(limiter: RequestLimiter) -> None:
    limiter = RequestLimiter(GatewaySettings(Path(), Path(), requests=3))

    async def main() -> None:
        budget = BodyBudget(1000)
        async with AsyncExitStack() as opened:
            others = [await opened.enter_async_context(receiving(limiter, budget, *each))
                      for each in (("a", b"x"), ("b", b"x" * 100), ("b", b"x" * 50))]  # fmt: skip
            exchange = Client().exchange(limiter)
            with limiter.counting(exchange):
                exchange.admit("c")
                with pytest.raises(HttpError, match="arrived more slowly") as problem:
                    await others[2]
            assert (problem.value.status, problem.value.code) == (429, "slow-down")
            assert not others[0].done()
            assert not others[1].done()

    run(main())


def test_at_the_limit_without_a_slow_body_a_request_gets_429(
    limiter: RequestLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "SLOW_BYTES_PER_S", 0)

    async def main() -> None:
        budget = BodyBudget(1000)
        async with receiving(limiter, budget, "a", b"x"), receiving(limiter, budget, "b", b"y"):
            with pytest.raises(HttpError) as problem, limiter.counting(Client().exchange(limiter)):
                pass
            assert problem.value.code == "too-many-requests"

    run(main())
