"""Memory budget for request bodies, in total and per owner. Bytes are counted as they arrive, never in advance.

A body that is announced but does not arrive uses no budget. When the budget is exhausted, slow bodies are evicted.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager

from cauce.api.http import RETRY_AFTER
from cauce.gateway.asgi.incoming_body import IncomingBody
from cauce.gateway.asgi.problems import HttpError

ACQUIRE_TIMEOUT_S = 10.0
"""How long a body waits for budget before it is rejected with 429."""
PRESSURE_S = 2.0
PRESSURE_BYTES = 128 << 10
"""While another body waits for budget, one that receives fewer bytes than this within PRESSURE_S may be evicted."""


class BodyReservation:
    """The budget that one incoming body holds, and its pending request for more."""

    def __init__(self, budget: BodyBudget, owner: str) -> None:
        self._budget = budget
        self.owner = owner
        self.held = 0
        self.wanted = 0
        self.granted: asyncio.Future[None] | None = None
        self.body: IncomingBody | None = None

    async def acquire(self, size: int, timeout_s: float = ACQUIRE_TIMEOUT_S) -> None:
        """Acquires budget for bytes that have arrived. Raises 429 on timeout."""
        if not self._budget.try_acquire(self, size):
            await self._budget.wait(self, size, timeout_s)

    @property
    def is_reading(self) -> bool:
        return self.body is not None and self.body.reading is not None

    def evict(self) -> None:
        if self.body is not None:
            self.body.evict()

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
            if each.is_reading
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
