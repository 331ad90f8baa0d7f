"""Receives request bodies within limits of size, rate and memory. The memory budget, in total and per owner, counts
bytes as they arrive, never in advance: a body that is announced but does not arrive uses none. When the budget is
exhausted, slow bodies are evicted."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cauce.api.http import RETRY_AFTER
from cauce.gateway.asgi.problems import HttpError

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


@dataclass(frozen=True)
class BodyLimit:
    """`code` is that of the error for a body of more than `most_bytes`."""

    most_bytes: int
    pace: Pace = Pace()
    code: str = "body-too-large"

    def check(self, size: int) -> None:
        """Raises 413 above the limit."""
        if size > self.most_bytes:
            message = f"the body exceeds the limit of {self.most_bytes:,} bytes; send it in smaller parts"
            raise HttpError(413, self.code, message)


class IncomingBody:
    """A body while it is received: how fast it arrives, the budget that it holds, and its pending request for more.
    Used from one event loop."""

    def __init__(self, owner: str = "", budget: BodyBudget | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        self._bytes = 0
        self._budget = budget
        self.owner = owner
        self.held = 0
        self.wanted = 0
        self.granted: asyncio.Future[None] | None = None
        self.reading: asyncio.Timeout | None = None
        """The timeout of the current read from the client, if one is in progress."""
        self.evicted = False

    @property
    def age_s(self) -> float:
        return self._loop.time() - self._since

    @property
    def bytes_per_s(self) -> float:
        """The average rate since the first read."""
        return self._bytes / max(self.age_s, 1e-3)

    @property
    def waits(self) -> bool:
        return self.granted is not None and not self.granted.done()

    async def receive(self, stream: AsyncIterable[bytes], limit: BodyLimit) -> list[bytes]:
        """Reads the whole body, in pieces: a large one is joined by the thread that uses it, not by the event loop.
        Raises 413 above the limit, 408 below its rate, 429 if it is evicted or if there is no budget for it."""
        chunks = aiter(stream)
        received: list[bytes] = []
        deadline, window_bytes = self._loop.time() + limit.pace.window_s, 0
        while True:
            try:
                async with asyncio.timeout_at(deadline) as self.reading:
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                return received
            except TimeoutError:
                raise self._too_slow(limit.pace) from None
            finally:
                self.reading = None
            self._bytes += len(chunk)
            limit.check(self._bytes)
            # The time in which the gateway does not read is not the client's.
            deadline += await self.acquire(len(chunk))
            window_bytes += len(chunk)
            if window_bytes >= limit.pace.window_bytes:
                deadline, window_bytes = self._loop.time() + limit.pace.window_s, 0
            received.append(chunk)

    async def acquire(self, size: int, timeout_s: float = ACQUIRE_TIMEOUT_S) -> float:
        """Acquires budget for bytes that have arrived; returns how long that took. Raises 429 on timeout."""
        before = self._loop.time()
        if self._budget is not None and not self._budget.try_acquire(self, size):
            await self._budget.wait(self, size, timeout_s)
        return self._loop.time() - before

    def evict(self) -> None:
        """Ends the current read with a TimeoutError, in favour of other requests."""
        self.evicted = True
        if self.reading is not None:
            self.reading.reschedule(self._loop.time())

    def reject(self) -> None:
        """Ends its wait for budget."""
        if self.waits and self.granted is not None:
            self.granted.set_exception(_no_budget())

    def _too_slow(self, pace: Pace) -> HttpError:
        if self.evicted:
            return _slow_down(
                "this gateway is busy, and the body arrived more slowly than others; send it again in a moment"
            )
        return HttpError(
            408,
            "timeout",
            f"fewer than {pace.window_bytes:,.0f} bytes of the body arrived within {pace.window_s:g} s; send it again",
        )


class BodyBudget:
    """Used from one event loop. Grants in FIFO order, except that an owner at its own limit does not block others."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._bodies: dict[IncomingBody, None] = {}
        self._waiting: deque[IncomingBody] = deque()

    @property
    def held(self) -> int:
        return self._held_by_owner().total()

    @contextmanager
    def body(self, owner: str) -> Iterator[IncomingBody]:
        """A body that holds budget until the end of the block."""
        body = IncomingBody(owner, self)
        self._bodies[body] = None
        try:
            yield body
        finally:
            del self._bodies[body]
            self._grant()

    def try_acquire(self, body: IncomingBody, size: int) -> bool:
        if self._waiting or not self._fits(body, size):
            return False
        body.held += size
        return True

    async def wait(self, body: IncomingBody, size: int, timeout_s: float) -> None:
        body.wanted, body.granted = size, asyncio.get_running_loop().create_future()
        self._waiting.append(body)
        self._grant()
        try:
            async with asyncio.timeout(timeout_s):
                while not body.granted.done():
                    before = {each: each.held for each in self._bodies}
                    await asyncio.wait((body.granted,), timeout=PRESSURE_S)
                    self._evict_for(body, before)
            body.granted.result()
        except TimeoutError:
            raise _no_budget() from None
        finally:
            if body in self._waiting:
                self._waiting.remove(body)
            body.granted = None
            self._grant()

    def _held_by_owner(self) -> Counter[str]:
        held = Counter[str]()
        for each in self._bodies:
            held[each.owner] += each.held
        return held

    def _fits(self, body: IncomingBody, size: int) -> bool:
        """An owner's only body may exceed the share, and the only body of all may exceed the budget: otherwise a larger
        body could never be received."""
        held = self._held_by_owner()
        if held.total() == body.held:
            return True
        if held.total() + size > self._total:
            return False
        return held[body.owner] == body.held or held[body.owner] + size <= self._share()

    def _share(self) -> int:
        """The limit per owner. It always leaves budget for one more owner."""
        return self._total // (1 + len({each.owner for each in self._bodies}))

    def _grant(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        full = False
        for body in waiting:
            if not body.waits or body.granted is None:
                continue
            if not full and self._fits(body, body.wanted):
                body.held += body.wanted
                body.granted.set_result(None)
                continue
            full = full or self.held + body.wanted > self._total
            self._waiting.append(body)
        self._break_deadlock()

    def _break_deadlock(self) -> None:
        """Breaks a deadlock of partly received bodies that wait for each other: rejects the newest."""
        owners = {each.owner for each in self._waiting}
        groups = [[each for each in self._bodies if each.owner == owner] for owner in owners]
        for group in ([*self._bodies], *groups):
            holders = [each for each in group if each.held]
            if len(holders) > 1 and all(each.waits for each in holders):
                holders[-1].reject()

    def _evict_for(self, waiter: IncomingBody, before: dict[IncomingBody, int]) -> None:
        """Evicts the largest slow body of the waiter's owner or of an owner above its share."""
        if not waiter.waits:
            return
        share, held = self._share(), self._held_by_owner()
        slow = [
            each
            for each in self._bodies
            if each.reading is not None
            and each.held - before.get(each, -PRESSURE_BYTES) < PRESSURE_BYTES
            and (each.owner == waiter.owner or held[each.owner] > share)
        ]
        if slow:
            max(slow, key=lambda each: each.held).evict()


def _no_budget() -> HttpError:
    return _slow_down("this gateway is receiving too many bytes at once; send this part again in a moment")


def _slow_down(message: str) -> HttpError:
    return HttpError(429, "slow-down", message, {RETRY_AFTER: "1"})
