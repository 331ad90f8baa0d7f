"""The minimum rate of a body: it holds for each window of time, however often a byte arrives."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cauce.gateway.asgi.application import RequestLimiter
from cauce.gateway.asgi.problems import HttpError
from cauce.gateway.asgi.request_body import BodyLimit, Pace
from cauce.gateway.settings import GatewaySettings
from tests.gateway.asgi.test_application import HUGE, Client

PACE = Pace(window_s=0.2, bytes_per_s=1000)
WITHIN_S = 5.0


async def status_of(chunk: bytes, pause_s: float) -> int:
    """The status of the error that ends a body of such chunks; 0 if it still arrives after some time."""
    client = Client()
    limiter = RequestLimiter(GatewaySettings(Path(), Path()))
    exchange = client.exchange(limiter)

    async def trickle() -> None:
        while True:
            client.sent.put_nowait(chunk)
            await asyncio.sleep(pause_s)

    with limiter.counting(exchange):
        sending = asyncio.create_task(trickle())
        try:
            await asyncio.wait_for(exchange.read_body(client.request, BodyLimit(HUGE, PACE)), WITHIN_S)
        except HttpError as problem:
            return problem.status
        except TimeoutError:
            return 0
        finally:
            sending.cancel()
    raise AssertionError("the body has no end")


def test_a_body_below_the_minimum_rate_is_given_up() -> None:
    assert asyncio.run(status_of(b"x", 0.02)) == 408


def test_a_body_at_the_minimum_rate_is_received(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.gateway.asgi.test_body_pace.WITHIN_S", 1.0)
    assert asyncio.run(status_of(b"x" * 100, 0.02)) == 0
