"""A fabric in this process alone: for small jobs, and for simulations, which make it fail in every way there is.

Deterministic: what happens is decided by the calls and by `faults`, never by time or threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cauce.fabric.contract import Batch, Position, Saying
from cauce.wire.records import Record


class Faults(Protocol):
    """What goes wrong, asked at each step. The methods may raise what a failing step would raise."""

    def before(self, step: str, where: str) -> None:
        """Called before anything of the step has happened."""

    def after(self, step: str, where: str) -> None:
        """Called when the step has happened and its caller does not know yet."""

    def torn(self, where: str, count: int) -> int:
        """How many of the records to be appended get into the log; if not all, `after` raises."""

    def reveal(self, where: str, count: int) -> int:
        """How many of the records that one writer has ahead a reader gets to see now."""

    def mix(self, where: str, records: list[Record]) -> list[Record]:
        """The records in an order in which they may arrive, some of them perhaps twice."""


class NoFaults:
    def before(self, step: str, where: str) -> None:
        pass

    def after(self, step: str, where: str) -> None:
        pass

    def torn(self, where: str, count: int) -> int:
        return count

    def reveal(self, where: str, count: int) -> int:
        return count

    def mix(self, where: str, records: list[Record]) -> list[Record]:
        return records


@dataclass
class _Job:
    manifest: bytes
    logs: dict[str, dict[str, list[Record]]] = field(default_factory=dict)
    """Of each log, the records of each writer."""
    queues: dict[str, list[str]] = field(default_factory=dict)
    holders: dict[tuple[str, str], object] = field(default_factory=dict)
    attempts: dict[tuple[str, str], int] = field(default_factory=dict)
    finished: set[tuple[str, str]] = field(default_factory=set)
    kept: frozenset[str] | None = None
    """The logs that are left, if it was trimmed."""

    def takes(self, log: str) -> bool:
        return self.kept is None or log in self.kept


class Store:
    """What outlives a process: shared by the fabrics of all simulated processes."""

    def __init__(self) -> None:
        self.jobs: dict[str, _Job] = {}
        self._writers = 0

    def new_writer(self) -> str:
        self._writers += 1
        return f"w{self._writers}"

    def release(self, holder: object) -> None:
        """The holder has died: what it held is free."""
        for job in self.jobs.values():
            for key in [key for key, by in job.holders.items() if by is holder]:
                del job.holders[key]


class MemoryLease:
    def __init__(self, fabric: MemoryFabric, job: str, key: tuple[str, str], attempt: int) -> None:
        self._fabric = fabric
        self._job = job
        self._key = key
        self._ended = False
        self.attempt = attempt

    @property
    def task(self) -> str:
        return self._key[1]

    @property
    def lost(self) -> bool:
        return not self._ended and not self._fabric._holds(self._job, self._key)

    def done(self) -> None:
        self._fabric._end_lease(self._job, self._key, finished=True)
        self._ended = True

    def give_back(self) -> None:
        self._fabric._end_lease(self._job, self._key, finished=False)
        self._ended = True


class MemoryFabric:
    """One process's view of a store. Each simulated process has its own, and its own faults."""

    def __init__(self, store: Store | None = None, faults: Faults | None = None) -> None:
        self._store = store or Store()
        self._faults = faults or NoFaults()
        self._writer = self._store.new_writer()

    def create_job(self, job: str, manifest: bytes) -> bytes:
        self._faults.before("create", job)
        held = self._store.jobs.setdefault(job, _Job(manifest))
        self._faults.after("create", job)
        return held.manifest

    def jobs(self) -> list[str]:
        return list(self._store.jobs)

    def manifest(self, job: str) -> bytes | None:
        held = self._store.jobs.get(job)
        return held.manifest if held else None

    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        where = f"{job}/{log}"
        self._faults.before("append", where)
        held = self._store.jobs.get(job)
        if held is not None and held.takes(log):
            kept = self._faults.torn(where, len(records))
            held.logs.setdefault(log, {}).setdefault(self._writer, []).extend(records[:kept])
        self._faults.after("append", where)

    def append_all(self, job: str, sayings: Sequence[Saying]) -> None:
        for log, records in sayings:
            self.append(job, log, records)

    def catch_up(self, job: str | None = None, *logs: str) -> None:
        """There is one store, and all look at it."""

    def read(self, job: str, log: str, position: Position, limit_bytes: int) -> Batch:
        where = f"{job}/{log}"
        self._faults.before("read", where)
        held = self._store.jobs.get(job)
        ahead: list[Record] = []
        reached = dict(position)
        size = 0
        for writer, records in (held.logs.get(log, {}) if held else {}).items():
            start = position.get(writer, 0)
            end = start + self._faults.reveal(where, len(records) - start)
            for each in records[start:end]:
                if ahead and size + len(each.body) > limit_bytes:
                    break
                ahead.append(each)
                size += len(each.body)
                reached[writer] = reached.get(writer, 0) + 1
        return Batch(self._faults.mix(where, ahead), reached)

    def offer(self, job: str, queue: str, tasks: Sequence[str]) -> None:
        self._faults.before("offer", f"{job}/{queue}")
        held = self._store.jobs.get(job)
        if held is not None and held.kept is None:
            offered = held.queues.setdefault(queue, [])
            offered.extend(task for task in tasks if task not in offered)
        self._faults.after("offer", f"{job}/{queue}")

    def take(self, job: str, queue: str) -> MemoryLease | None:
        self._faults.before("take", f"{job}/{queue}")
        held = self._store.jobs.get(job)
        for task in held.queues.get(queue, []) if held else []:
            key = (queue, task)
            assert held is not None
            if key in held.holders or key in held.finished:
                continue
            held.holders[key] = self
            held.attempts[key] = held.attempts.get(key, 0) + 1
            lease = MemoryLease(self, job, key, held.attempts[key])
            self._faults.after("take", f"{job}/{queue}/{task}")
            return lease
        return None

    def _holds(self, job: str, key: tuple[str, str]) -> bool:
        held = self._store.jobs.get(job)
        return held is not None and held.holders.get(key) is self

    def _end_lease(self, job: str, key: tuple[str, str], *, finished: bool) -> None:
        step = "done" if finished else "give back"
        self._faults.before(step, f"{job}/{key[1]}")
        held = self._store.jobs.get(job)
        if held is not None and held.holders.get(key) is self:
            del held.holders[key]
            if finished:
                held.finished.add(key)
        self._faults.after(step, f"{job}/{key[1]}")

    def trim(self, job: str, keep: Sequence[str]) -> None:
        self._faults.before("trim", job)
        held = self._store.jobs.get(job)
        if held is not None:
            held.kept = frozenset(keep)
            held.logs = {log: segments for log, segments in held.logs.items() if log in keep}
            held.queues, held.holders, held.attempts, held.finished = {}, {}, {}, set()
        self._faults.after("trim", job)

    def delete_job(self, job: str) -> None:
        self._faults.before("delete", job)
        self._store.jobs.pop(job, None)
        self._faults.after("delete", job)

    def close(self) -> None:
        self._store.release(self)
