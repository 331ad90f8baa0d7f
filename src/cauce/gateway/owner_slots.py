"""Limits concurrent heavy steps, in total and per owner. The steps of one owner never occupy all threads."""

from __future__ import annotations

import asyncio
from collections import Counter, deque

from cauce.gateway.validation.names import LOCAL


class OwnerSlots:
    """Used from one event loop. Slots are granted first come, first served, skipping owners that use their share.
    Clients without a token share one owner, so only the total limits them."""

    def __init__(self, total: int, share: int) -> None:
        self._total = total
        self._share = share
        self._used: Counter[str] = Counter()
        self._waiting: deque[tuple[str, asyncio.Future[None]]] = deque()

    async def acquire(self, owner: str) -> None:
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((owner, admitted))
        self._admit()
        try:
            await admitted
        except asyncio.CancelledError:
            if not admitted.cancelled():
                # Admitted and cancelled in the same iteration: nobody else would release the slot.
                self.release(owner)
            raise

    def release(self, owner: str) -> None:
        self._used[owner] -= 1
        if not self._used[owner]:
            del self._used[owner]
        self._admit()

    def _admit(self) -> None:
        left: deque[tuple[str, asyncio.Future[None]]] = deque()
        for owner, admitted in self._waiting:
            if admitted.cancelled():
                continue
            if self._used.total() < self._total and (owner == LOCAL or self._used[owner] < self._share):
                self._used[owner] += 1
                admitted.set_result(None)
            else:
                left.append((owner, admitted))
        self._waiting = left
