"""The job service over a fabric: synchronous steps, no HTTP, no threads. Every exception is a ServiceError, or the
FabricError of a fabric that is unavailable or has no space.

All durable state is on the fabric; this module caches only read models and log positions. Every gateway on the same
fabric gives the same answers, and each may crash between two steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec

from cauce.api.jobs import ENDED, JobRequest, JobsBody, JobStatus
from cauce.api.names import LOCAL
from cauce.api.sql import SqlRequest
from cauce.datasets.registry import Registry
from cauce.errors import CauceError, CorruptRecord, FabricError, FabricFull, FabricLost
from cauce.fabric.contract import Fabric
from cauce.fabric.names import job_name, owner_and_job
from cauce.gateway.errors import NoSuchQuery, TooManyJobs
from cauce.gateway.jobs.catalogue import DatasetInfo, catalogue
from cauce.gateway.jobs.job_context import JobContext, SharedState
from cauce.gateway.jobs.job_end import JobEnds
from cauce.gateway.jobs.planning import Asked, asked, check_same, plan_named
from cauce.gateway.jobs.progress.bottleneck import bottleneck_of, lacks_worker
from cauce.gateway.jobs.progress.job_details import JobDetails
from cauce.gateway.jobs.progress.job_list import JobList, audience_of
from cauce.gateway.jobs.progress.plan_graph import GraphBody, graph_of, graph_without_plan
from cauce.gateway.jobs.read_model import EndFound, JobListener, JobView, Views
from cauce.gateway.jobs.results import Results
from cauce.gateway.jobs.statuses import Figures, Statuses, figures_of, sentence
from cauce.gateway.jobs.tombstones import Tombstone, TombstoneStore
from cauce.gateway.jobs.uploads import Uploads
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import Answer, RejectPage, ResultPage
from cauce.job.kept import KeptVersion
from cauce.job.manifest import Manifest
from cauce.runner.local_client import enqueue_tasks

JobStatuses = list[JobStatus]
FabricNames = list[str]
DatasetInfos = list[DatasetInfo]

_PLANS_KEPT = 2_000
_STATISTICS_S = 5.0
"""Between two reads of the statistics of all open jobs, for the metrics."""
_ALL_JOBS_SHARE = 10
"""The limit of all jobs, ended ones included, as a multiple of the limit of open jobs."""


class Jobs:
    """All jobs of all owners, as read by one thread of a gateway."""

    def __init__(
        self,
        fabric: Fabric,
        limits: ServiceLimits,
        clock: Callable[[], float] = time.time,
        *,
        datasets: Registry | None = None,
        notify: JobListener | None = None,
        end_found: EndFound | None = None,
        shared: SharedState | None = None,
    ) -> None:
        self._fabric = fabric
        self._limits = limits
        self._clock = clock
        self._statistics_due = 0.0
        self._datasets = datasets or Registry()
        self._statuses = Statuses(limits)
        self._notify = notify or (lambda event, status: None)
        shared = shared or SharedState()
        self._tombstones = TombstoneStore(fabric, shared.tombstones)
        self._views = Views(fabric, self._datasets, self._tombstones, clock, end_found or _ignore)
        context = JobContext(fabric, limits, clock, self._views, self._statuses, self._tombstones, shared, self._notify)
        self._ends = JobEnds(context)
        self._results = Results(context)
        self.details = JobDetails(context, self._results)
        self._listing = JobList(context)
        self._planned: dict[bytes, Manifest] = {}
        self.uploads = Uploads(context)

    # Creating a job.

    def create(self, owner: str, job: str, request: JobRequest) -> tuple[JobStatus, bool]:
        """Creates a job; True if it is new. Idempotent: the same request again returns the existing job."""
        return self.create_planned(owner, job, self._plan(request))

    def existing(self, owner: str, job: str, wanted: Asked) -> JobStatus | None:
        """The status of an existing job. Raises if it was created with a different request."""
        name = job_name(owner, job)
        data = self._views.manifest(name, consistent=True)
        if data is not None:
            view = self._views.view(name, data)
            if view is not None:
                check_same(job, asked(view.manifest), wanted)
            return self._listing.current(owner, job, data, consistent=True)
        tombstone = self._tombstones.find_consistent(owner, job, self._clock())
        return None if tombstone is None else self._ended_before(job, wanted, tombstone)

    def create_planned(
        self, owner: str, job: str, planned: Manifest, verify: Callable[[], None] = lambda: None
    ) -> tuple[JobStatus, bool]:
        """Creates a job with this manifest; True if it is new. If `verify` raises after the job was created, the job is
        deleted again, before any work on it."""
        name = job_name(owner, job)
        wanted = msgspec.structs.replace(planned, job=name, owner=owner, created=self._clock())
        standing = self._views.manifest(name, consistent=True)
        created = False
        if standing is None:
            tombstone = self._tombstones.find_consistent(owner, job, self._clock())
            if tombstone is not None:
                return self._ended_before(job, asked(wanted), tombstone), False
            self._check_limits(owner)
            ours = wanted.dump()
            standing = self._fabric.create_job(name, ours)
            created = standing == ours
            if created:
                self._verify(name, verify)
        view = self._views.view(name, standing)
        if view is None:
            return self._statuses.of_unreadable(owner, job, standing), False
        check_same(job, asked(view.manifest), asked(wanted))
        view.barrier_passed |= created
        try:
            self._views.refresh(view, consistent=not created)
        except CorruptRecord as problem:
            return self._statuses.of_damaged(owner, job, problem), False
        if view.state not in ENDED and view.plan_problem() is None:
            enqueue_tasks(self._fabric, name, view.topology)
        # Another gateway cancelled the job while we created it: the cancellation wins.
        tombstone = self._tombstones.find_consistent(owner, job, self._clock()) if created else None
        if tombstone is not None:
            self._fabric.delete_job(name)
            return self._statuses.of_tombstone(tombstone), False
        status = self._statuses.of_view(view)
        if created:
            self._notify("created", status)
        return status, created

    def _verify(self, name: str, verify: Callable[[], None]) -> None:
        try:
            verify()
        except CauceError:
            self._fabric.delete_job(name)
            raise

    def _plan(self, request: JobRequest) -> Manifest:
        """The manifest of the requested job. Plans are cached by request and dataset version."""
        key = msgspec.json.encode((request, self._datasets.stamp(request.dataset)))
        known = self._planned.get(key)
        if known is None:
            known = self._planned[key] = plan_named(request, self._datasets, self._limits).manifest(self._limits)
            if len(self._planned) > _PLANS_KEPT:
                self._planned.clear()
        return known

    def _ended_before(self, job: str, wanted: Asked, tombstone: Tombstone) -> JobStatus:
        check_same(
            job,
            Asked(
                tombstone.dataset,
                [] if tombstone.sql else tombstone.queries,
                tombstone.parameters,
                tombstone.on,
                tombstone.sql,
            ),
            wanted,
        )
        return self._statuses.of_tombstone(tombstone)

    def _check_limits(self, owner: str) -> None:
        limits = self._limits
        names = [name for name in self._fabric.jobs() if owner_and_job(name) is not None]
        if len(names) < min(limits.jobs, limits.jobs_per_owner, limits.kept_jobs_per_owner):
            return
        # Clients without a token share one owner: only the total limits them.
        if owner != LOCAL and sum(_owner_of(name) == owner for name in names) >= limits.kept_jobs_per_owner:
            raise TooManyJobs(
                f"you have {limits.kept_jobs_per_owner} jobs, ended ones included, which is the limit; remove jobs "
                "whose answers you no longer need",
                retry_after=60,
            )
        if len(names) >= limits.jobs * _ALL_JOBS_SHARE:
            raise TooManyJobs(
                "the service has reached its limit of stored jobs; remove some, or retry later", retry_after=60
            )
        owners = [_owner_of(view.name) for view in self._views.all() if self._open_after_refresh(view)]
        if len(owners) >= limits.jobs:
            raise TooManyJobs(f"the service has {limits.jobs} open jobs, its limit; retry later", retry_after=10)
        if owners.count(owner) >= limits.jobs_per_owner:
            raise TooManyJobs(
                f"you have {limits.jobs_per_owner} open jobs, which is the limit; wait for one to end or cancel one",
                retry_after=10,
            )

    def _open_after_refresh(self, view: JobView) -> bool:
        try:
            self._views.refresh(view)
        except (FabricFull, FabricLost):
            raise
        except FabricError:
            # An unreadable job counts with its last known state, so that it does not prevent new jobs.
            pass
        return view.state not in ENDED

    # Reading a job.

    def status(self, owner: str, job: str, *, consistent: bool = True) -> JobStatus:
        """The status of a job. A linearizable read: it is never older than what any gateway has shown before. Without
        `consistent`, for polls, it may lag behind other gateways."""
        return self._listing.status(owner, job, consistent=consistent)

    def list(self, owner: str, *, all_owners: bool = False) -> JobStatuses:
        """The newest jobs of an owner, oldest first, including jobs cancelled or expired during the last day. With
        `all_owners`, the operator gets those of all owners."""
        return self._listing.newest(audience_of(owner, all_owners=all_owners))

    def list_page(self, owner: str, cursor: str | None, limit: int, *, all_owners: bool = False) -> JobsBody:
        """All jobs of an owner, oldest first, a page at a time. With `all_owners`, as `list`."""
        return self._listing.page(audience_of(owner, all_owners=all_owners), cursor, limit)

    def result(self, owner: str, job: str, query: str, cursor: str | None, limit: int) -> ResultPage:
        return self._results.result(owner, job, query, cursor, limit)

    def answer(self, owner: str, job: str, query: str) -> Answer:
        """A complete answer, page by page as written. Raises TooEarly until it is complete."""
        return self._results.answer(owner, job, query)

    def rejects(self, owner: str, job: str, cursor: str | None, limit: int) -> RejectPage:
        """Rejects ordered by table and part, up to the first part that has not been read."""
        return self._results.rejects(owner, job, cursor, limit)

    def rejects_csv(self, owner: str, job: str) -> Iterator[str]:
        """All rejects in the format of rejects.csv, with header. Raises TooEarly until they are complete."""
        return self._results.rejects_csv(owner, job)

    def statements(self, owner: str, job: str) -> SqlRequest:
        """The SQL statements of a job, with the values of all parameters. Raises NoSuchQuery if it has none."""
        with self._results.reading(owner, job) as view:
            manifest = view.manifest
            if manifest.sql is None:
                raise NoSuchQuery(f"job {job} answers queries of dataset {manifest.dataset}; it has no SQL statements")
            on = "" if manifest.on is None else manifest.on.dataset
            return SqlRequest(manifest.sql.text, on, job, manifest.parameters)

    def why(self, owner: str, job: str) -> str:
        """One sentence: the input or stage that the job waits for, or how it ended."""
        status = self.status(owner, job)
        if status.state != "running":
            return sentence(status)
        with self._results.reading(owner, job, consistent=False) as view:
            view.history.advance(self._fabric, view.name)
            now = self._clock()
            return lacks_worker(view, job, now) or bottleneck_of(view, graph_of(view, now, job), job)

    def graph(self, owner: str, job: str) -> GraphBody:
        """The job's plan with its progress, and the sentence that `why` returns. May lag behind other gateways."""
        with self._results.reading(owner, job, consistent=False) as view:
            self._views.refresh(view)
            view.history.advance(self._fabric, view.name)
            status = self._statuses.of_view(view)
            problem = view.plan_problem()
            if problem is not None:
                why = (status.state == "running" and lacks_worker(view, job, self._clock())) or sentence(status)
                return graph_without_plan(view, self._clock(), job, why)
            graph = graph_of(view, self._clock(), job)
            why = sentence(status)
            if status.state == "running":
                why = lacks_worker(view, job, self._clock()) or bottleneck_of(view, graph, job)
            return msgspec.structs.replace(graph, why=why)

    def silence_s(self, owner: str, job: str) -> float:
        """Seconds since the last record of the client or of a worker in the job's logs."""
        view = self._views.open(owner, job)
        view.history.advance(self._fabric, view.name)
        extent = view.history.extent
        return max(self._clock() - max(view.active_at, extent[1] if extent is not None else 0.0), 0.0)

    def figures(self) -> Figures:
        """Metrics of all owners' jobs, from the last refresh of each, and the last statistics of open ones."""
        views = list(self._views.all())
        if self._clock() >= self._statistics_due:
            self._statistics_due = self._clock() + _STATISTICS_S
            for view in views:
                if view.state not in ENDED:
                    # The job may be deleted now, or damaged: others are counted nevertheless.
                    with suppress(CauceError):
                        view.history.advance(self._fabric, view.name)
        return figures_of(views)

    def datasets(self) -> DatasetInfos:
        return catalogue(self._datasets)

    # Jobs over kept datasets.

    def open_on(self, version: KeptVersion) -> FabricNames:
        """The open jobs that read a kept dataset, in any version. Sees every job created before this call."""
        self._fabric.read_barrier()
        return [
            (owner_and_job(view.name) or ("", view.name))[1]
            for view in self._views.all()
            if _reads(view, version) and self._open_after_refresh(view)
        ]

    def fail_on(self, version: KeptVersion, problem: CauceError) -> None:
        """Fails all open jobs that read a kept dataset."""
        for view in self._views.all():
            if _reads(view, version) and self._open_after_refresh(view):
                self._ends.fail(view, problem)

    # The end of a job. Only these methods write without a request of a client.

    def cancel(self, owner: str, job: str) -> JobStatus:
        """Cancels a job, or removes an ended one, and releases everything it holds. Idempotent."""
        name = job_name(owner, job)
        data = self._views.manifest(name, consistent=True)
        if data is None:
            return self._statuses.of_tombstone(self._views.tombstone(owner, job))
        before = self._listing.current(owner, job, data, consistent=True).state
        return self._ends.cancel(name, data, before)

    def record_end(self, name: str) -> None:
        """Records the outcome of one job (owner.job), if its logs imply one and no gateway has recorded it."""
        self._ends.record_end(name)

    def sweep(self) -> FabricNames:
        """Records the outcomes of jobs that are over, trims ended jobs, expires overdue ones and sums the stored bytes.
        Returns the names (owner.job) of expired jobs."""
        return self._ends.sweep()


def _ignore(name: str) -> None:
    """Without a background task, the next sweep records the outcome."""


def _owner_of(name: str) -> str:
    return (owner_and_job(name) or ("", ""))[0]


def _reads(view: JobView, version: KeptVersion) -> bool:
    on = view.manifest.on
    return on is not None and (on.store, on.incarnation) == (version.store, version.incarnation)
