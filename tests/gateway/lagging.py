"""A fabric whose reads lag behind, as far as the contract allows."""

from __future__ import annotations

from cauce.fabric.memory import MemoryFabric, NoFaults, Store


class _NothingRevealed(NoFaults):
    def __init__(self, *, jobs_too: bool) -> None:
        self._jobs_too = jobs_too

    def reveal(self, where: str, count: int) -> int:
        return count if where == "jobs" and not self._jobs_too else 0


class SlowFabric(MemoryFabric):
    """Reads return records of this process with all before them, and those that existed at the last read barrier. With
    `jobs_too` the same holds for jobs that were created or deleted."""

    def __init__(self, store: Store, *, jobs_too: bool = False) -> None:
        super().__init__(store, _NothingRevealed(jobs_too=jobs_too))
