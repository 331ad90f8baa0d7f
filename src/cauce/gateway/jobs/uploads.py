"""Uploads: validates parts, stores each exactly once, and completes tables. A stored part is never replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cauce.api.parts import Held, PartsBody
from cauce.fabric.contract import Fabric
from cauce.fabric.records import CLIENT, Kind, record
from cauce.gateway.errors import (
    CountDiffers,
    JobOver,
    NoSuchTable,
    ReadsKeptDataset,
    SlowDown,
    TableComplete,
    Unavailable,
)
from cauce.gateway.jobs.idleness import Idleness
from cauce.gateway.jobs.part_store import PartStore, PartTarget, Rules
from cauce.gateway.jobs.read_model import JobView
from cauce.gateway.jobs.read_model_cache import Tell, Views
from cauce.gateway.jobs.statuses import Statuses
from cauce.gateway.jobs.tombstones import Tombstone
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import PartBody
from cauce.job.receipts import Receipts, closing_of, completion_of


@dataclass
class SharedState:
    """State that all threads of a gateway share: the stored bytes of all open jobs as of the last sweep, the idle time
    of jobs, and tombstones that are pending because the fabric had no space."""

    held_bytes: int = 0
    idleness: Idleness = field(default_factory=Idleness)
    tombstones: dict[tuple[str, str], Tombstone] = field(default_factory=dict)


class Uploads:
    def __init__(
        self,
        fabric: Fabric,
        limits: ServiceLimits,
        views: Views,
        statuses: Statuses,
        shared: SharedState,
        clock: Callable[[], float],
        tell: Tell,
    ) -> None:
        self._fabric = fabric
        self._limits = limits
        self._views = views
        self._statuses = statuses
        self._shared = shared
        self._clock = clock
        self._tell = tell
        self._parts = PartStore(fabric, limits, clock)

    def put_part(self, owner: str, job: str, table: str, seq: int, part: PartBody) -> bool:
        """True: new. False: the same part was stored already. The part is on the fabric when this returns."""
        view = self._views.open(owner, job)
        receipts = self._table(view, job, table)
        self._views.check_plan(view, job)
        target = self._target(view, table, receipts)
        rules = Rules(lambda part: self._refuse(view, job, table, part), lambda size: self._check_backlog(view))
        new = self._parts.put(target, seq, part, rules)
        if seq not in receipts.held:
            # Appends to a trimmed job, or to one that is being deleted, are lost. `open` raises if it was deleted.
            self._views.open(owner, job)
            raise Unavailable(f"part {seq} of table {table} was not stored: send it again", retry_after=1)
        return new

    def _target(self, view: JobView, table: str, receipts: Receipts) -> PartTarget:
        spec, topology = view.spec(table), view.topology
        lanes = tuple(topology.raw_log(spec, lane) for lane in range(topology.lanes_of(spec)))
        return PartTarget(view.name, spec, topology.plan.used_columns(table), receipts, lanes)

    def _refuse(self, view: JobView, job: str, table: str, seq: int) -> None:
        closed_at = view.receipts[table].closed_at()
        if closed_at is not None and seq >= closed_at:
            raise TableComplete(f"table {table} was completed with {closed_at} parts: part {seq} is beyond its end")
        view.end.advance(self._fabric, view.name)
        outcome = view.end.outcomes.effective
        if outcome is not None:
            raise JobOver(f"job {job} is {outcome.state}: it accepts no more parts")

    def _check_backlog(self, view: JobView) -> None:
        for table in view.tables:
            view.receipts[table].advance(self._fabric, view.name)
        if view.backlog_bytes() >= self._limits.backlog_bytes:
            self._views.refresh(view)
            if view.backlog_bytes() >= self._limits.backlog_bytes:
                raise SlowDown(
                    f"{view.backlog_bytes()} bytes of this job are not read yet: retry when the workers have caught up",
                    retry_after=1,
                )
        if self._shared.held_bytes >= self._limits.held_bytes:
            raise SlowDown(
                "the service has reached its limit of stored bytes for all jobs: retry when some have ended",
                retry_after=5,
            )

    def held(self, owner: str, job: str, table: str) -> Held:
        view = self._views.open(owner, job, consistent=True)
        return self._parts.held(view.name, self._table(view, job, table))

    def parts(self, owner: str, job: str, table: str, first: int, limit: int) -> PartsBody:
        """The receipts of the stored parts from a number on; also for a job that has ended."""
        view = self._views.open(owner, job, consistent=first == 0)
        return self._parts.parts(view.name, self._table(view, job, table), first, limit)

    def complete(self, owner: str, job: str, table: str, parts: int) -> bool:
        """True: completed now. False: it was completed before with the same number."""
        view = self._views.open(owner, job)
        receipts = self._table(view, job, table)
        receipts.advance(self._fabric, view.name)
        if receipts.complete is not None:
            if receipts.complete != parts:
                raise CountDiffers(f"table {table} was completed with {receipts.complete} parts, not with {parts}")
            return False
        self._views.check_plan(view, job)
        if receipts.missing(parts):
            self._fabric.read_barrier(view.name, receipts.log)
            receipts.advance(self._fabric, view.name)
        self._check_count(receipts, table, parts)
        view.end.advance(self._fabric, view.name)
        outcome = view.end.outcomes.effective
        if outcome is not None:
            raise JobOver(f"job {job} is {outcome.state}: its tables can no longer be completed")
        if receipts.closed_at() is None:
            self._fabric.append(view.name, receipts.log, [closing_of(parts)])
            receipts.advance(self._fabric, view.name)
            self._check_count(receipts, table, parts)
        self._append_lane_ends(view, table, parts)
        self._fabric.append(view.name, receipts.log, [completion_of(parts, self._clock())])
        receipts.advance(self._fabric, view.name)
        if view.receipts[table].complete is None:
            self._views.open(owner, job)
            raise Unavailable(f"the completion of table {table} was not stored: complete it again", retry_after=1)
        if not view.open_tables:
            self._tell("completed", self._statuses.of_view(view))
        return True

    def _check_count(self, receipts: Receipts, table: str, parts: int) -> None:
        self._parts.check_count(receipts, table, parts)
        beyond = receipts.beyond(parts)
        if beyond is not None:
            raise CountDiffers(f"table {table} has a part {beyond}, so it has more than {parts} parts")
        closed_at = receipts.closed_at()
        if closed_at is not None and closed_at != parts:
            raise CountDiffers(f"table {table} is being completed with {closed_at} parts, not with {parts}")

    def _append_lane_ends(self, view: JobView, table: str, parts: int) -> None:
        spec = view.spec(table)
        lanes = view.topology.lanes_of(spec)
        for lane in range(lanes):
            end = record(Kind.END, CLIENT, len(range(lane, parts, lanes)))
            self._fabric.append(view.name, view.topology.raw_log(spec, lane), [end])

    def _table(self, view: JobView, job: str, table: str) -> Receipts:
        if view.manifest.on is not None:
            raise ReadsKeptDataset(
                f"job {job} reads the kept dataset {view.manifest.on.dataset}: it has no parts of its own; add parts "
                f"to the dataset, and start a new job"
            )
        receipts = view.receipts.get(table)
        if receipts is None:
            known = ", ".join(view.tables)
            raise NoSuchTable(f"the queries of job {job} do not use table {table[:80]!r}; expected one of {known}")
        return receipts
