"""Bodies of requests: read as they come, never more than was allowed, and not for ever."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec
from starlette.requests import Request

from cauce.gateway.problems import HttpError, bad_request
from cauce.wire.http import JSON, RETRY_AFTER

JSON_BYTES = 1 << 20
SILENCE_S = 60.0
"""A body of which no byte came for so long is given up."""
ROOM_S = 10.0
"""How long a body waits for room before its sender is asked to come again."""

Decoded = TypeVar("Decoded")


async def read_body(request: Request, limit: int, code: str = "body-too-large", silence_s: float = SILENCE_S) -> bytes:
    """All of the body, of at most `limit` bytes. More than that is neither read nor kept."""
    announced = announced_bytes(request)
    if announced is not None and announced > limit:
        raise _too_large(code, limit)
    held: list[bytes] = []
    size = 0
    chunks = request.stream().__aiter__()
    while True:
        try:
            async with asyncio.timeout(silence_s):
                chunk = await chunks.__anext__()
        except StopAsyncIteration:
            return b"".join(held)
        except TimeoutError:
            raise HttpError(408, "timeout", f"no byte of the body came for {silence_s:g} s; send it again") from None
        size += len(chunk)
        if size > limit:
            raise _too_large(code, limit)
        held.append(chunk)


def announced_bytes(request: Request) -> int | None:
    """How long the body is said to be; None where nothing is said. The server has seen that it is a number."""
    told = request.headers.get("content-length")
    return int(told) if told is not None and told.isascii() and told.isdigit() else None


def _too_large(code: str, limit: int) -> HttpError:
    return HttpError(413, code, f"the body is longer than the {limit:,} bytes allowed here; send it in smaller parts")


async def read_json(request: Request, kind: type[Decoded]) -> Decoded:
    """The body as JSON of a shape: 400 where it is no JSON, 422 where it has another shape."""
    sent = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if sent != JSON:
        raise HttpError(415, "unsupported-format", f"the body is to be {JSON}, and its Content-Type says otherwise")
    data = await read_body(request, JSON_BYTES)
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as problem:
        raise HttpError(422, "bad-request", f"the body's JSON is not as it should be: {problem}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise bad_request(f"the body is no JSON: {problem}") from None
    except RecursionError:
        raise bad_request("the body's JSON is nested too deeply") from None


class Room:
    """How many bytes of bodies may be held at once, in all and for one owner. Used from one event loop.

    A body's room is taken before its first byte is read: bodies that are half there and wait for each other's room
    would wait for ever. Who comes first is served first, but an owner at its own limit holds nobody else up.
    """

    def __init__(self, total: int, owner: int) -> None:
        self._free = total
        self._owner = owner
        self._held: Counter[str] = Counter()
        self._waiting: deque[tuple[str, int, asyncio.Future[None]]] = deque()

    @property
    def held(self) -> int:
        return self._held.total()

    @asynccontextmanager
    async def of(self, owner: str, size: int, patience_s: float = ROOM_S) -> AsyncIterator[None]:
        await self._take(owner, size, patience_s)
        try:
            yield
        finally:
            self._give_back(owner, size)

    async def _take(self, owner: str, size: int, patience_s: float) -> None:
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (owner, size, granted)
        self._waiting.append(entry)
        self._grant()
        try:
            async with asyncio.timeout(patience_s):
                await asyncio.shield(granted)
        except BaseException as problem:
            if granted.done():
                self._give_back(owner, size)
            else:
                self._waiting.remove(entry)
                self._grant()
            if isinstance(problem, TimeoutError):
                raise HttpError(
                    429,
                    "slow-down",
                    "too many bytes are on their way into this gateway; send this part again in a moment",
                    {RETRY_AFTER: "1"},
                ) from None
            raise

    def _give_back(self, owner: str, size: int) -> None:
        self._free += size
        self._held[owner] -= size
        if not self._held[owner]:
            del self._held[owner]
        self._grant()

    def _grant(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        full = False
        for owner, size, granted in waiting:
            # One that is larger than an owner's share goes alone.
            of_owner = self._held.get(owner, 0)
            fits_owner = of_owner == 0 or of_owner + size <= self._owner
            if fits_owner and not full and size <= self._free:
                self._held[owner] += size
                self._free -= size
                granted.set_result(None)
                continue
            full = full or fits_owner
            self._waiting.append((owner, size, granted))
