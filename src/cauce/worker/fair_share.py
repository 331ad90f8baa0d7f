"""Divides the time of a worker fairly among job owners: many or heavy jobs of one owner do not delay those of others.

Implements start-time fair queueing. It uses neither tasks nor clocks, and only chooses the next owner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable


class FairShare:
    """The owner that has used least time is next. Idle time earns no credit."""

    def __init__(self) -> None:
        self._used: dict[str, float] = {}
        self._virtual_time = 0.0

    def next_of(self, owners: Iterable[str]) -> str:
        """Chooses among owners that have work; on a tie the first."""
        chosen = min(owners, key=self._start)
        self._virtual_time = self._start(chosen)
        return chosen

    def charge(self, owner: str, cost: float) -> None:
        """Adds to the used time. `cost` is in any unit, the same for all owners."""
        self._used[owner] = self._start(owner) + cost

    def keep_only(self, owners: Collection[str]) -> None:
        """Forgets all other owners: they have no jobs left."""
        for owner in [each for each in self._used if each not in owners]:
            del self._used[owner]

    def _start(self, owner: str) -> float:
        return max(self._used.get(owner, 0.0), self._virtual_time)
