"""Reads request bodies with limits on size, rate and memory. It never holds more than the allowed bytes.

The memory budget holds in total and per owner. Bytes are counted as they arrive, never in advance: a body that is
announced but does not arrive uses no budget. When the budget is exhausted, slow bodies are evicted.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.requests import Request

from cauce.api.http import JSON, RETRY_AFTER
from cauce.gateway.asgi.problems import HttpError, bad_request

JSON_BYTES = 1 << 20
Decoded = TypeVar("Decoded")
ACQUIRE_TIMEOUT_S = 10.0
"""How long a body waits for budget before it is rejected with 429."""
PRESSURE_S = 2.0
PRESSURE_BYTES = 128 << 10
"""While another body waits for budget, one that receives fewer bytes than this within PRESSURE_S may be evicted."""


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
    pace = pace or Pace()
    window = _Window(pace)
    received: list[bytes] = []
    size = 0
    chunks = request.stream().__aiter__()
    while True:
        try:
            async with asyncio.timeout_at(window.deadline) as timeout:
                if reservation is not None:
                    reservation.reading = timeout
                chunk = await chunks.__anext__()
        except StopAsyncIteration:
            return b"".join(received)
        except TimeoutError:
            raise _too_slow(pace, reservation) from None
        finally:
            if reservation is not None:
                reservation.reading = None
        size += len(chunk)
        if size > limit:
            raise _too_large(code, limit)
        if reservation is not None:
            await _acquire_budget(reservation, len(chunk), window)
        window.count(len(chunk))
        received.append(chunk)


async def _acquire_budget(reservation: BodyReservation, size: int, window: _Window) -> None:
    now = asyncio.get_running_loop().time
    before = now()
    await reservation.acquire(size)
    window.extend(now() - before)


def _too_slow(pace: Pace, reservation: BodyReservation | None) -> HttpError:
    if reservation is not None and reservation.evicted:
        return body_budget_exhausted()
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


class BodyReservation:
    """The budget that one incoming body holds, and its pending request for more."""

    def __init__(self, budget: BodyBudget, owner: str) -> None:
        self._budget = budget
        self.owner = owner
        self.held = 0
        self.wanted = 0
        self.granted: asyncio.Future[None] | None = None
        self.reading: asyncio.Timeout | None = None
        """The timeout of the current read from the client, if one is in progress."""
        self.evicted = False

    async def acquire(self, size: int, timeout_s: float = ACQUIRE_TIMEOUT_S) -> None:
        """Acquires budget for bytes that have arrived. Raises 429 on timeout."""
        if not self._budget.try_acquire(self, size):
            await self._budget.wait(self, size, timeout_s)

    def evict(self) -> None:
        self.evicted = True
        if self.reading is not None:
            self.reading.reschedule(asyncio.get_running_loop().time())

    def reject(self) -> None:
        if self.granted is not None and not self.granted.done():
            self.granted.set_exception(body_budget_exhausted())


class BodyBudget:
    """Used from one event loop. Grants in FIFO order, except that an owner at its own limit does not block others."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._reservations: dict[BodyReservation, None] = {}
        self._waiting: deque[BodyReservation] = deque()

    @property
    def held(self) -> int:
        return sum(each.held for each in self._reservations)

    @contextmanager
    def reserve(self, owner: str) -> Iterator[BodyReservation]:
        """A reservation for one body of an owner, released at the end of the block."""
        reservation = BodyReservation(self, owner)
        self._reservations[reservation] = None
        try:
            yield reservation
        finally:
            del self._reservations[reservation]
            self._grant()

    def try_acquire(self, reservation: BodyReservation, size: int) -> bool:
        if self._waiting or not self._fits(reservation, size):
            return False
        reservation.held += size
        return True

    async def wait(self, reservation: BodyReservation, size: int, timeout_s: float) -> None:
        reservation.wanted, reservation.granted = size, asyncio.get_running_loop().create_future()
        self._waiting.append(reservation)
        self._grant()
        try:
            async with asyncio.timeout(timeout_s):
                while not reservation.granted.done():
                    before = {each: each.held for each in self._reservations}
                    await asyncio.wait((reservation.granted,), timeout=PRESSURE_S)
                    self._evict_for(reservation, before)
            reservation.granted.result()
        except TimeoutError:
            raise body_budget_exhausted() from None
        finally:
            if reservation in self._waiting:
                self._waiting.remove(reservation)
            reservation.granted = None
            self._grant()

    def _fits(self, reservation: BodyReservation, size: int) -> bool:
        """An owner's only body may exceed the share, and the only body of all may exceed the budget: otherwise a larger
        body could never be received."""
        held = Counter[str]()
        for each in self._reservations:
            held[each.owner] += each.held
        if held.total() == reservation.held:
            return True
        if held.total() + size > self._total:
            return False
        return held[reservation.owner] == reservation.held or held[reservation.owner] + size <= self._share()

    def _share(self) -> int:
        """The limit per owner. It always leaves budget for one more owner."""
        return self._total // (1 + len({each.owner for each in self._reservations}))

    def _grant(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        full = False
        for reservation in waiting:
            assert reservation.granted is not None
            if reservation.granted.done():
                continue
            if not full and self._fits(reservation, reservation.wanted):
                reservation.held += reservation.wanted
                reservation.granted.set_result(None)
                continue
            full = full or self.held + reservation.wanted > self._total
            self._waiting.append(reservation)
        self._break_deadlock()

    def _break_deadlock(self) -> None:
        """Breaks a deadlock of partly received bodies that wait for each other: rejects the newest."""
        owners = {each.owner for each in self._waiting}
        groups = [[each for each in self._reservations if each.owner == owner] for owner in owners]
        for group in ([*self._reservations], *groups):
            holders = [each for each in group if each.held]
            if len(holders) > 1 and all(each.granted is not None and not each.granted.done() for each in holders):
                holders[-1].reject()

    def _evict_for(self, waiter: BodyReservation, before: dict[BodyReservation, int]) -> None:
        """Evicts the largest slow body of the waiter's owner or of an owner above its share."""
        if waiter.granted is None or waiter.granted.done():
            return
        share = self._share()
        held = Counter[str]()
        for each in self._reservations:
            held[each.owner] += each.held
        slow = [
            each
            for each in self._reservations
            if each.reading is not None
            and each.held - before.get(each, -PRESSURE_BYTES) < PRESSURE_BYTES
            and (each.owner == waiter.owner or held[each.owner] > share)
        ]
        if slow:
            max(slow, key=lambda each: each.held).evict()


def body_budget_exhausted() -> HttpError:
    return HttpError(
        429,
        "slow-down",
        "this gateway is receiving too many bytes at once; send this part again in a moment",
        {RETRY_AFTER: "1"},
    )
