"""Cache of job read models for one gateway thread. A refresh reads each log from its last position."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

from cauce.api.jobs import ENDED, JobStatus
from cauce.datasets.registry import Registry
from cauce.errors import (
    CorruptRecord,
    DatasetMissing,
    FabricError,
    FabricFull,
    FabricLost,
    OtherVersion,
)
from cauce.fabric.contract import Fabric
from cauce.gateway.errors import JobDamaged, JobOver, Unavailable
from cauce.gateway.jobs.read_model import JobView
from cauce.gateway.jobs.statuses import Statuses
from cauce.gateway.jobs.tombstones import Tombstone, TombstoneStore
from cauce.gateway.validation.names import fabric_name, no_such_job, owner_and_job
from cauce.job.manifest import load_manifest

Tell = Callable[[str, JobStatus], None]
"""Listener for job events: created, completed (all tables), done, failed, cancelled, expired. Called by the gateway
that appended the record of the event."""

EndFound = Callable[[str], None]
"""Listener for a job, by its name on the fabric, whose logs imply an outcome that no gateway has recorded yet."""

_KEPT = 2_000


class Views:
    def __init__(
        self,
        fabric: Fabric,
        datasets: Registry,
        statuses: Statuses,
        tombstones: TombstoneStore,
        clock: Callable[[], float],
        end_found: EndFound,
    ) -> None:
        self._fabric = fabric
        self._datasets = datasets
        self._statuses = statuses
        self._tombstones = tombstones
        self._clock = clock
        self._end_found = end_found
        self._views: OrderedDict[str, JobView] = OrderedDict()

    def open(self, owner: str, job: str, *, consistent: bool = False) -> JobView:
        """Raises if the job does not exist or no longer exists; with `consistent` also if another gateway has just
        deleted it."""
        name = fabric_name(owner, job)
        data = self.manifest(name, consistent=consistent)
        if data is None:
            stone = self.stone(owner, job)
            raise JobOver(f"job {job} is {stone.state}: {stone.cause}; its data was deleted")
        view = self.view(name, data)
        if view is None:
            raise JobDamaged(f"job {job} cannot be read: {self._statuses.of_unreadable(owner, job, data).cause}")
        return view

    def check_plan(self, view: JobView, job: str) -> None:
        """Raises unless this process can build the job's plan, which it needs to accept parts."""
        problem = view.plan_problem()
        if problem is None:
            return
        self.refresh(view)
        if view.state in ENDED:
            raise JobOver(f"job {job} is {view.state}: it accepts no more parts")
        if isinstance(problem, DatasetMissing):
            raise Unavailable(f"job {job} is not available on this gateway: {problem}", retry_after=10)
        raise JobOver(f"job {job} cannot be run: {problem}")

    def manifest(self, name: str, *, consistent: bool = False) -> bytes | None:
        """The manifest of a job. None only after a read barrier: no gateway created it before this call. With
        `consistent` any answer follows a read barrier: no gateway deleted the job before this call."""
        data = None if consistent else self._fabric.manifest(name)
        if data is None:
            self._fabric.read_barrier()
            data = self._fabric.manifest(name)
        return data

    def stone(self, owner: str, job: str) -> Tombstone:
        stone = self._tombstones.find_consistent(owner, job, self._clock())
        if stone is None:
            raise no_such_job(job)
        return stone

    def view(self, name: str, data: bytes) -> JobView | None:
        """The read model of the job with this manifest; None if the manifest cannot be read."""
        view = self._views.get(name)
        if view is None or view.data != data:
            try:
                view = JobView(name, data, load_manifest(data, name), self._datasets)
            except (CorruptRecord, OtherVersion):
                return None
        self._views[name] = view
        self._views.move_to_end(name)
        while len(self._views) > _KEPT:
            self._views.popitem(last=False)
        return view

    def all(self) -> Iterator[JobView]:
        for name in self._fabric.jobs():
            view = self._of_name(name) if owner_and_job(name) is not None else None
            if view is not None:
                yield view

    def _of_name(self, name: str) -> JobView | None:
        """None also for a job whose manifest cannot be read."""
        try:
            data = self._fabric.manifest(name)
        except (FabricFull, FabricLost):
            raise
        except FabricError:
            return None
        return None if data is None else self.view(name, data)

    def forget(self, name: str) -> None:
        self._views.pop(name, None)

    def refresh(self, view: JobView, *, consistent: bool = False) -> None:
        """Reads new records, and writes nothing. `consistent`, or the first read of a job, starts with a read barrier.
        Raises CorruptRecord for a done job whose answers or reports are incomplete."""
        if view.settled:
            return
        try:
            self._refresh(view, consistent=consistent)
        except OtherVersion as problem:
            view.unreadable, view.settled = problem, True

    def _refresh(self, view: JobView, *, consistent: bool) -> None:
        if consistent or not view.barrier_passed:
            view.refresh_after_barrier(self._fabric)
        else:
            view.refresh(self._fabric)
        if view.end.outcomes.effective is not None and not view.complete:
            # The end may be visible before the records that precede it in other logs.
            view.refresh_after_barrier(self._fabric)
        if view.outcome is None:
            if view.unrecorded_outcome() is not None:
                self._end_found(view.name)
            return
        if view.state == "done" and not view.complete:
            self._check_lost(view)
        view.settled = view.complete or view.state != "done"

    def _check_lost(self, view: JobView) -> None:
        """Raises for a done job that misses records of its answers or reports, unless it is being removed."""
        if self._fabric.manifest(view.name) == view.data:
            raise CorruptRecord(f"job {view.name} is done, but records of its answers or reports are lost")
