"""A fabric in the memory of one process, for tests and for simulations that inject faults.

Deterministic: behaviour depends only on the calls and on `faults`, never on time or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cauce.fabric.contract import Append, Batch, Position
from cauce.fabric.names import Log, check_name, is_service_log, job_gone
from cauce.fabric.records import Record


class Faults(Protocol):
    """Fault injection, called at each step. The methods may raise the error of a failing step."""

    def before(self, step: str, where: str) -> None:
        """Called before the step has any effect."""

    def after(self, step: str, where: str) -> None:
        """Called after the step took effect and before its caller gets the result."""

    def torn(self, where: str, count: int) -> int:
        """How many of `count` records are appended; if fewer than all, `after` must raise."""

    def reveal(self, where: str, count: int) -> int:
        """How many of `count` hidden records of one writer become visible to this process now, or of `count` hidden
        creations and deletions if `where` is "jobs"."""

    def mix(self, where: str, records: list[Record]) -> list[Record]:
        """The records in a possible delivery order, possibly with duplicates."""


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


@dataclass(eq=False)
class _Job:
    manifest: bytes
    logs: dict[Log, dict[str, list[Record]]] = field(default_factory=dict)
    """By log, the records of each writer."""
    queues: dict[str, list[str]] = field(default_factory=dict)
    holders: dict[tuple[str, str], object] = field(default_factory=dict)
    finished: set[tuple[str, str]] = field(default_factory=set)
    kept: frozenset[Log] | None = None
    """The remaining logs of a trimmed job."""

    def accepts(self, log: Log) -> bool:
        return self.kept is None or log in self.kept


class Store:
    """The durable state, shared by the fabrics of all simulated processes."""

    def __init__(self) -> None:
        self.jobs: dict[str, _Job] = {}
        self.changes: list[tuple[str, _Job | None]] = []
        """All creations and deletions (None) of jobs, in their order."""
        self._writers = 0

    def new_writer(self) -> str:
        self._writers += 1
        return f"w{self._writers}"

    def create(self, name: str, manifest: bytes) -> None:
        if name not in self.jobs:
            self.jobs[name] = _Job(manifest)
            self.changes.append((name, self.jobs[name]))

    def delete(self, name: str) -> None:
        if self.jobs.pop(name, None) is not None:
            self.changes.append((name, None))

    def release(self, holder: object) -> None:
        """Releases all leases of a holder that crashed."""
        for job in self.jobs.values():
            for key in [key for key, by in job.holders.items() if by is holder]:
                del job.holders[key]


class _View:
    """As much of a job as one fabric object can see: by log, the number of visible records of each writer."""

    def __init__(self, job: _Job) -> None:
        self.job = job
        self._visible: dict[Log, dict[str, int]] = {}

    def reveal_all(self, log: Log) -> None:
        self._visible[log] = {writer: len(records) for writer, records in self.job.logs.get(log, {}).items()}

    def visible(self, log: Log, reveal: Callable[[int], int]) -> dict[str, list[Record]]:
        """The visible records of each writer. `reveal` decides how many of the others become visible now."""
        counts = self._visible.setdefault(log, {})
        found: dict[str, list[Record]] = {}
        for writer, records in self.job.logs.get(log, {}).items():
            count = counts.get(writer, 0)
            if count < len(records):
                count = counts[writer] = count + reveal(len(records) - count)
            found[writer] = records[:count]
        return found


class MemoryLease:
    def __init__(self, fabric: MemoryFabric, job: str, key: tuple[str, str]) -> None:
        self._fabric = fabric
        self._job = job
        self._key = key
        self._ended = False

    @property
    def task(self) -> str:
        return self._key[1]

    @property
    def lost(self) -> bool:
        return not self._ended and not self._fabric._holds(self._job, self._key)

    def complete(self) -> None:
        self._fabric._end_lease(self._job, self._key, finished=True)
        self._ended = True

    def release(self) -> None:
        self._fabric._end_lease(self._job, self._key, finished=False)
        self._ended = True


class MemoryFabric:
    """One process's view of a store, exactly as weak as the contract allows. Each simulated process has its own, and
    its own faults, which decide when it sees the appends, creations and deletions of others."""

    def __init__(self, store: Store | None = None, faults: Faults | None = None) -> None:
        self._store = store or Store()
        self._faults = faults or NoFaults()
        self._writer = self._store.new_writer()
        self._known: dict[str, _View] = {}
        self._changes_seen = 0

    def create_job(self, job: str, manifest: bytes) -> bytes:
        check_name("job", job)
        self._faults.before("create", job)
        self._store.create(job, manifest)
        self._see_all_changes()
        self._faults.after("create", job)
        return self._known[job].job.manifest

    def jobs(self) -> list[str]:
        self._poll()
        return [name for name in self._known if not is_service_log(name)]

    def service_logs(self) -> list[str]:
        self._poll()
        return [name for name in self._known if is_service_log(name)]

    def manifest(self, job: str) -> bytes | None:
        self._poll()
        view = self._known.get(job)
        return view.job.manifest if view else None

    def _poll(self) -> None:
        """Sees as many of the creations and deletions by others as the faults allow."""
        hidden = len(self._store.changes) - self._changes_seen
        if hidden:
            self._see_changes(self._changes_seen + self._faults.reveal("jobs", hidden))

    def _see_all_changes(self) -> None:
        self._see_changes(len(self._store.changes))

    def _see_changes(self, end: int) -> None:
        for name, job in self._store.changes[self._changes_seen : end]:
            self._known.pop(name, None)
            if job is not None:
                self._known[name] = _View(job)
        self._changes_seen = end

    def _current(self, name: str) -> _View | None:
        """A linearizable lookup: None only if the job does not exist now."""
        view = self._known.get(name)
        if view is None or self._store.jobs.get(name) is not view.job:
            self._see_all_changes()
        return self._known.get(name)

    def append(self, job: str, log: Log, records: Sequence[Record]) -> None:
        where = f"{check_name('job', job)}/{log}"
        self._faults.before("append", where)
        view = self._current(job)
        if view is None:
            raise job_gone(job)
        if view.job.accepts(log):
            kept = self._faults.torn(where, len(records))
            written = view.job.logs.setdefault(log, {}).setdefault(self._writer, [])
            written.extend(each.whole() for each in records[:kept])
            view.reveal_all(log)
        self._faults.after("append", where)

    def append_all(self, job: str, appends: Sequence[Append]) -> None:
        for log, records in appends:
            self.append(job, log, records)

    def read_barrier(self, job: str | None = None, *logs: Log) -> None:
        if job is None:
            self._see_all_changes()
            return
        view = self._current(job)
        for log in logs if view is not None else ():
            assert view is not None
            view.reveal_all(log)

    def read(self, job: str, log: Log, position: Position, limit_bytes: int) -> Batch:
        where = f"{job}/{log}"
        self._faults.before("read", where)
        self._poll()
        view = self._known.get(job)
        if view is None or self._store.jobs.get(job) is not view.job:
            return Batch([], position)
        ahead: list[Record] = []
        reached = position.encode()
        size = 0
        for writer, records in view.visible(log, lambda count: self._faults.reveal(where, count)).items():
            for each in records[position.offset(writer) :]:
                if ahead and size + len(each.body) > limit_bytes:
                    break
                ahead.append(each)
                size += len(each.body)
                reached[writer] = reached.get(writer, 0) + 1
        return Batch(self._faults.mix(where, ahead), Position(reached))

    def enqueue(self, job: str, queue: str, tasks: Sequence[str]) -> None:
        check_name("queue", queue)
        for task in tasks:
            check_name("task", task)
        self._faults.before("enqueue", f"{job}/{queue}")
        held = self._store.jobs.get(job)
        if held is not None and held.kept is None:
            offered = held.queues.setdefault(queue, [])
            offered.extend(task for task in tasks if task not in offered)
        self._faults.after("enqueue", f"{job}/{queue}")

    def acquire(self, job: str, queue: str) -> MemoryLease | None:
        self._faults.before("acquire", f"{job}/{queue}")
        self._poll()
        held = self._store.jobs.get(job) if job in self._known else None
        for task in held.queues.get(queue, []) if held else []:
            key = (queue, task)
            assert held is not None
            if key in held.holders or key in held.finished:
                continue
            held.holders[key] = self
            lease = MemoryLease(self, job, key)
            self._faults.after("acquire", f"{job}/{queue}/{task}")
            return lease
        return None

    def _holds(self, job: str, key: tuple[str, str]) -> bool:
        held = self._store.jobs.get(job)
        return held is not None and held.holders.get(key) is self

    def _end_lease(self, job: str, key: tuple[str, str], *, finished: bool) -> None:
        step = "complete" if finished else "release"
        self._faults.before(step, f"{job}/{key[1]}")
        held = self._store.jobs.get(job)
        if held is not None and held.holders.get(key) is self:
            del held.holders[key]
            if finished:
                held.finished.add(key)
        self._faults.after(step, f"{job}/{key[1]}")

    def trim(self, job: str, keep: Sequence[Log]) -> None:
        self._faults.before("trim", job)
        held = self._store.jobs.get(job)
        if held is not None:
            held.kept = frozenset(keep)
            held.logs = {log: segments for log, segments in held.logs.items() if log in keep}
            held.queues, held.holders, held.finished = {}, {}, set()
        self._faults.after("trim", job)

    def scratch(self, job: str) -> None:
        return None

    def delete_job(self, job: str) -> None:
        self._faults.before("delete", job)
        self._store.delete(job)
        self._see_all_changes()
        self._faults.after("delete", job)

    def close(self) -> None:
        self._store.release(self)
