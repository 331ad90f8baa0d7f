"""The account of the memory that the tasks of a worker hold between their steps.

Owned by the worker. Only one thread of a worker runs at a time, the loop or one step, so it needs no lock. Bookings are
sizes of content; `process/memory_limit.py` has the measured overhead.
"""

from __future__ import annotations

from typing import Protocol
from weakref import WeakKeyDictionary


class Holder(Protocol):
    """A task that holds input in memory and can read it again from its logs."""

    def park(self) -> None:
        """Drops the input that it holds. It is read again when it is complete."""


class MemoryAccount:
    """Counts the input bytes that each task holds. If folds hold more than `collected_bytes`, the largest is parked."""

    def __init__(self, collected_bytes: int = 0) -> None:
        """`collected_bytes` is 0 if there is no limit."""
        self._limit = collected_bytes
        self._held: WeakKeyDictionary[Holder, int] = WeakKeyDictionary()
        """Weak: a task that is dropped releases its memory, and its entry is removed."""
        self._broadcast: WeakKeyDictionary[object, int] = WeakKeyDictionary()
        self.parked = 0
        """How often a fold was parked."""

    def set_held(self, holder: Holder, size: int) -> None:
        """Sets the bytes that a task holds. Parks tasks, possibly this one, until the rest is within the limit."""
        self._held[holder] = size
        while self._limit and self.collected > self._limit:
            largest = max(self._held, key=lambda each: self._held[each])
            if not self._held[largest]:
                return
            self._held[largest] = 0
            self.parked += 1
            largest.park()

    def set_broadcast(self, holder: object, size: int) -> None:
        """Sets the bytes of a broadcast input, which all tasks of its job share."""
        self._broadcast[holder] = size

    def held_by(self, holder: Holder) -> int:
        return self._held.get(holder, 0)

    def release(self, holder: Holder) -> None:
        self._held.pop(holder, None)

    @property
    def collected(self) -> int:
        """Bytes of input that folds hold while they wait for the rest of it."""
        return sum(self._held.values())

    @property
    def broadcast(self) -> int:
        return sum(self._broadcast.values())

    @property
    def held(self) -> int:
        return self.collected + self.broadcast
