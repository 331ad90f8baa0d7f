"""A fabric whose reads lag behind, as far as the contract allows."""

from __future__ import annotations

from cauce.fabric.memory import MemoryFabric, NoFaults, Store


class _NothingRevealed(NoFaults):
    def reveal(self, where: str, count: int) -> int:
        return count if where == "jobs" else 0


class SlowFabric(MemoryFabric):
    """Reads return records of this process with all before them, and those that existed at the last read barrier."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, _NothingRevealed())
