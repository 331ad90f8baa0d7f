"""Schedules the tasks of a worker: fair shares among owners, round robin among the tasks of one owner."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from typing import Generic, TypeVar

from cauce.worker.fair_share import FairShare

Entry = TypeVar("Entry")


class Turns(Generic[Entry]):
    """The entries of one round; each has one turn."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Entry]] = {}
        self._share = FairShare()

    def refill(self, entries: Iterable[tuple[str, Entry]], others: Collection[str] = ()) -> None:
        """Starts a round with these entries and their owners. Entries without a turn in the last round come first.
        `others` are owners without entries whose used time still counts."""
        fresh: dict[str, dict[int, Entry]] = {}
        for owner, entry in entries:
            fresh.setdefault(owner, {})[id(entry)] = entry
        self._share.keep_only({*fresh, *others})
        self._waiting = {owner: self._in_order(owner, of_owner) for owner, of_owner in fresh.items()}

    def _in_order(self, owner: str, entries: dict[int, Entry]) -> deque[Entry]:
        late = [entry for entry in self._waiting.get(owner, ()) if entries.pop(id(entry), None) is not None]
        return deque([*late, *entries.values()])

    def next(self) -> tuple[str, Entry] | None:
        """The next owner and entry; None if the round is over."""
        owners = [owner for owner, entries in self._waiting.items() if entries]
        if not owners:
            return None
        owner = self._share.next_of(owners)
        return owner, self._waiting[owner].popleft()

    def next_of(self, owners: Collection[str]) -> str:
        """The owner that has used the least time; on a tie the first."""
        return self._share.next_of(owners)

    def charge(self, owner: str, cost: float) -> None:
        """Adds the cost of a turn to the used time of its owner."""
        self._share.charge(owner, cost)
