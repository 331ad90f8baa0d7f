"""Reads request bodies with limits on size, rate and memory. It never holds more than the allowed bytes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.requests import Request

from cauce.api.http import JSON, RETRY_AFTER
from cauce.gateway.asgi.body_limits import BodyReservation
from cauce.gateway.asgi.incoming_body import IncomingBody
from cauce.gateway.asgi.problems import HttpError, bad_request
from cauce.gateway.asgi.request_io import exchange_of

JSON_BYTES = 1 << 20
Decoded = TypeVar("Decoded")


@dataclass(frozen=True)
class Pace:
    """Minimum rate of a body: on average `bytes_per_s` over each `window_s` seconds."""

    window_s: float = 60.0
    bytes_per_s: int = 1000

    @property
    def window_bytes(self) -> float:
        return self.window_s * self.bytes_per_s


class _Window:
    """The deadline for the next `window_bytes` of a body."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._restart()

    def _restart(self) -> None:
        self.deadline = self._loop.time() + self._pace.window_s
        self._bytes = 0

    def count(self, size: int) -> None:
        self._bytes += size
        if self._bytes >= self._pace.window_bytes:
            self._restart()

    def extend(self, waited_s: float) -> None:
        """Moves the deadline by a time in which the gateway did not read."""
        self.deadline += waited_s


async def read_body(
    request: Request,
    limit: int,
    code: str = "body-too-large",
    pace: Pace | None = None,
    reservation: BodyReservation | None = None,
) -> bytes:
    """Reads the whole body. Raises 413 above `limit` bytes, 408 below the rate of `pace`."""
    length = content_length(request)
    if length is not None and length > limit:
        raise _too_large(code, limit)
    body = IncomingBody()
    if reservation is not None:
        reservation.body = body
    with exchange_of(request).permit.receiving(body):
        return await _received(request, body, limit, code, pace or Pace(), reservation)


async def _received(
    request: Request, body: IncomingBody, limit: int, code: str, pace: Pace, reservation: BodyReservation | None
) -> bytes:
    window = _Window(pace)
    received: list[bytes] = []
    size = 0
    chunks = request.stream().__aiter__()
    while True:
        try:
            async with asyncio.timeout_at(window.deadline) as body.reading:
                chunk = await chunks.__anext__()
        except StopAsyncIteration:
            return b"".join(received)
        except TimeoutError:
            raise _too_slow(pace, body) from None
        finally:
            body.reading = None
        size += len(chunk)
        if size > limit:
            raise _too_large(code, limit)
        body.count(len(chunk))
        if reservation is not None:
            await _acquire_budget(reservation, len(chunk), window)
        window.count(len(chunk))
        received.append(chunk)


async def _acquire_budget(reservation: BodyReservation, size: int, window: _Window) -> None:
    now = asyncio.get_running_loop().time
    before = now()
    await reservation.acquire(size)
    window.extend(now() - before)


def _too_slow(pace: Pace, body: IncomingBody) -> HttpError:
    if body.evicted:
        return HttpError(
            429,
            "slow-down",
            "this gateway is busy, and the body arrived more slowly than others; send it again in a moment",
            {RETRY_AFTER: "1"},
        )
    return HttpError(
        408,
        "timeout",
        f"fewer than {pace.window_bytes:,.0f} bytes of the body arrived within {pace.window_s:g} s; send it again",
    )


def content_length(request: Request) -> int | None:
    """The Content-Length; None if it is missing. The server has already validated it."""
    length = request.headers.get("content-length")
    return int(length) if length is not None and length.isascii() and length.isdigit() else None


def _too_large(code: str, limit: int) -> HttpError:
    return HttpError(413, code, f"the body exceeds the limit of {limit:,} bytes; send it in smaller parts")


async def read_json(request: Request, kind: type[Decoded]) -> Decoded:
    """Decodes a JSON body. Raises 400 if it is not valid JSON, 422 if it does not match the type."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        # CSRF: a page of another site cannot send this Content-Type without a preflight.
        raise HttpError(415, "unsupported-format", f"the body must be JSON: send the header Content-Type: {JSON}")
    data = await read_body(request, JSON_BYTES)
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as problem:
        raise HttpError(422, "bad-request", f"the JSON body does not match the schema: {problem}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise bad_request(f"the body is not valid JSON: {problem}") from None
    except RecursionError:
        raise bad_request("the JSON body is nested too deeply") from None
