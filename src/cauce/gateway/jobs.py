"""The service's jobs over a fabric: plain steps, no HTTP, no threads. Everything raised is a ServiceError.

Nothing is kept here that the fabric does not hold: what is remembered of a job is how far its logs have been read.
Any other gateway on the same fabric gives the same answers, and any of them may die between two steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import polars as pl

from cauce.datasets import BUILT_IN, load
from cauce.errors import CauceError, FabricError, FabricFull, UsageError
from cauce.fabric.contract import Fabric
from cauce.gateway.catalogue import DatasetsBody, catalogue, reason, stamp
from cauce.gateway.ends import Ends, Tombstone
from cauce.gateway.errors import (
    BadRequest,
    JobExistsOtherwise,
    JobOver,
    NoSuchQuery,
    TooEarly,
    TooManyJobs,
    Unavailable,
)
from cauce.gateway.figures import Figures, figures_of
from cauce.gateway.graph import GraphBody, graph_of
from cauce.gateway.hold_up import hold_up
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import (
    ENDED,
    Answer,
    Held,
    JobRequest,
    JobStatus,
    PartBody,
    PartsBody,
    RejectPage,
    ResultPage,
    State,
)
from cauce.gateway.names import fabric_name, owner_and_job
from cauce.gateway.pages import read_cursor, take
from cauce.gateway.statuses import Statuses, read_manifest, sentence
from cauce.gateway.uploads import Room, Uploads
from cauce.gateway.view import JobView, Place, ReportLog
from cauce.gateway.views import Tell, Views
from cauce.scan.block import REJECT_SCHEMA
from cauce.wire.formats import csv_text
from cauce.wire.manifest import Manifest
from cauce.worker.client import offer_tasks

JobStatuses = list[JobStatus]
FabricNames = list[str]

_PLANS_KEPT = 2_000
_ALL_JOBS_SHARE = 10
"""How many times as many jobs as may be open there may be with those that have ended."""


def register(files: Iterable[Path], *, lenient: bool = False) -> dict[str, str]:
    """The operator's own datasets: names that clients may use, and the files that declare them. If `lenient`, one that
    cannot be loaded goes by the name of its file, so that a gateway starts and lists it with its error."""
    found: dict[str, str] = {}
    for file in files:
        path = str(file.resolve())
        try:
            dataset = load(path)
            # Every query is planned once here, so that a mistake is found at the start and not in a client's job.
            dataset.plan()
            name = dataset.name
        except CauceError:
            if not lenient:
                raise
            name = file.name if file.stem in (*BUILT_IN, *found) else file.stem
        if name in BUILT_IN or name in found:
            raise UsageError(f"{file} declares a dataset {name}, and there is one of that name: give it another")
        found[name] = path
    return found


class Jobs:
    """All jobs of all owners, as far as one thread of a gateway sees them."""

    def __init__(
        self,
        fabric: Fabric,
        limits: ServiceLimits,
        clock: Callable[[], float] = time.time,
        *,
        datasets: Mapping[str, str] | None = None,
        tell: Tell | None = None,
        room: Room | None = None,
    ) -> None:
        self._fabric = fabric
        self._limits = limits
        self._clock = clock
        self._datasets = {**{name: name for name in BUILT_IN}, **(datasets or {})}
        self._statuses = Statuses(limits, {path: name for name, path in self._datasets.items()})
        self._tell = tell or (lambda event, status: None)
        self._ends = Ends(fabric)
        self._views = Views(fabric, self._statuses, self._ends, clock, self._tell)
        self._planned: dict[bytes, Manifest] = {}
        self._room = room or Room()
        self._uploads = Uploads(fabric, limits, self._views, self._statuses, self._room, clock, self._tell)

    # Creating a job.

    def create(self, owner: str, job: str, request: JobRequest) -> tuple[JobStatus, bool]:
        """True: created now. The same request again gives the job as it stands."""
        name = fabric_name(owner, job)
        wanted = self._plan(name, owner, request)
        with self._reaching():
            standing = self._views.manifest(name)
            created = False
            if standing is None:
                stone = self._ends.find_surely(owner, job, self._clock())
                if stone is not None:
                    return self._again(job, wanted, stone), False
                self._check_room(owner)
                ours = wanted.dump()
                standing = self._fabric.create_job(name, ours)
                created = standing == ours
            view = self._views.view(name, standing)
            if view is None:
                return self._statuses.of_unplanned(owner, job, standing), False
            self._check_same(job, self._asked(view.manifest), self._asked(wanted))
            view.caught_up |= created
            self._views.refresh(view)
            if view.state not in ENDED:
                offer_tasks(self._fabric, name, view.topology)
            # Cancelled by another gateway while we created it: the end stands.
            stone = self._ends.find_surely(owner, job, self._clock()) if created else None
            if stone is not None:
                self._fabric.delete_job(name)
                return self._statuses.of_stone(stone), False
            status = self._statuses.of_view(view)
        if created:
            self._tell("created", status)
        return status, created

    def _plan(self, name: str, owner: str, request: JobRequest) -> Manifest:
        """The manifest of the job that is asked for. Plans are made once for the same question."""
        asked = msgspec.json.encode((request, stamp(self._datasets.get(request.dataset, ""))))
        known = self._planned.get(asked)
        if known is None:
            known = self._planned[asked] = self._make_plan(request)
            if len(self._planned) > _PLANS_KEPT:
                self._planned.clear()
        return msgspec.structs.replace(known, job=name, owner=owner, created=self._clock())

    def _make_plan(self, request: JobRequest) -> Manifest:
        path = self._datasets.get(request.dataset)
        if path is None:
            raise BadRequest(f"there is no dataset {request.dataset[:80]!r}; there are {', '.join(self._datasets)}")
        lanes, partitions = self._limits.lanes, self._limits.partitions
        with self._usable(request.dataset):
            dataset = load(path)
        try:
            parameters = dataset.settle(request.parameters)
            dataset.choose(request.queries)
        except CauceError as problem:
            raise BadRequest(reason(problem)) from problem
        with self._usable(request.dataset):
            plan = dataset.plan(request.queries, parameters, partitions)
        return Manifest("", path, tuple(plan.results), parameters, partitions, lanes, plan.digest, lanes)

    @contextmanager
    def _usable(self, dataset: str) -> Iterator[None]:
        """The code of a dataset may raise anything: what it raises is the operator's to correct."""
        try:
            yield
        except Exception as problem:
            raise BadRequest(
                f"dataset {dataset} cannot be used: {reason(problem)}; the operator of this service has to correct it"
            ) from problem

    def _again(self, job: str, wanted: Manifest, stone: Tombstone) -> JobStatus:
        self._check_same(job, JobRequest(stone.dataset, stone.queries, stone.parameters), self._asked(wanted))
        return self._statuses.of_stone(stone)

    def _asked(self, manifest: Manifest) -> JobRequest:
        return JobRequest(self._statuses.dataset(manifest.dataset), list(manifest.queries), manifest.parameters)

    def _check_same(self, job: str, standing: JobRequest, wanted: JobRequest) -> None:
        """Raises, and names what differs, where a job id is used for another request than before."""
        if standing != wanted:
            raise JobExistsOtherwise(
                f"job {job} was created with {_difference(standing, wanted)}: use another id, or ask for the same"
            )

    def _check_room(self, owner: str) -> None:
        limits = self._limits
        names = [name for name in self._fabric.jobs() if owner_and_job(name) is not None]
        if len(names) < min(limits.jobs, limits.jobs_per_owner):
            return
        if len(names) >= limits.jobs * _ALL_JOBS_SHARE:
            raise TooManyJobs("the service keeps as many jobs as it may; cancel some, or try later", retry_after=60)
        owners = [_owner_of(view.name) for view in self._views.all() if self._open_after_refresh(view)]
        if len(owners) >= limits.jobs:
            raise TooManyJobs(f"{limits.jobs} jobs are open in all, and that is the most; try later", retry_after=10)
        if owners.count(owner) >= limits.jobs_per_owner:
            raise TooManyJobs(
                f"you have {limits.jobs_per_owner} open jobs, and that is the most; wait for one to end or cancel one",
                retry_after=10,
            )

    def _open_after_refresh(self, view: JobView) -> bool:
        self._views.refresh(view)
        return view.state not in ENDED

    # Parts.

    def put_part(self, owner: str, job: str, table: str, seq: int, part: PartBody) -> bool:
        """True: new. False: the same part was held already."""
        with self._reaching():
            return self._uploads.put_part(owner, job, table, seq, part)

    def held(self, owner: str, job: str, table: str) -> Held:
        with self._reaching():
            return self._uploads.held(owner, job, table)

    def parts(self, owner: str, job: str, table: str, first: int, limit: int) -> PartsBody:
        """The receipts of the parts that are held, in order; also of a job that has ended."""
        with self._reaching():
            return self._uploads.parts(owner, job, table, first, limit)

    def complete(self, owner: str, job: str, table: str, parts: int) -> bool:
        """True: completed now. False: it was complete, with the same number."""
        with self._reaching():
            return self._uploads.complete(owner, job, table, parts)

    # What is asked of a job.

    def status(self, owner: str, job: str) -> JobStatus:
        with self._reaching():
            name = fabric_name(owner, job)
            data = self._views.manifest(name)
            if data is None:
                return self._statuses.of_stone(self._views.stone(owner, job))
            return self._current(name, owner, job, data)

    def list(self, owner: str) -> JobStatuses:
        """Oldest first; cancelled and expired ones of the last day as well."""
        with self._reaching():
            stones = self._ends.all(self._clock())
            found = [self._statuses.of_stone(stone) for (whose, _), stone in stones.items() if whose == owner]
            for name in self._fabric.jobs():
                whose, job = owner_and_job(name) or ("", "")
                data = self._fabric.manifest(name) if whose == owner and (owner, job) not in stones else None
                if data is not None:
                    found.append(self._current(name, owner, job, data))
            return sorted(found, key=lambda status: status.created)

    def _current(self, name: str, owner: str, job: str, data: bytes) -> JobStatus:
        view = self._views.view(name, data)
        if view is None:
            return self._statuses.of_unplanned(owner, job, data)
        self._views.refresh(view)
        return self._statuses.of_view(view)

    def result(self, owner: str, job: str, query: str, cursor: str | None, limit: int) -> ResultPage:
        place = read_cursor(cursor, limit)
        with self._reaching():
            view = self._views.open(owner, job)
            answer = view.answers.get(query)
            if answer is None:
                raise NoSuchQuery(f"job {job} has no query {query[:80]!r}; it has {', '.join(view.answers)}")
            self._views.refresh(view)
            columns = view.topology.plan.results[query].columns
            rows = pl.DataFrame(schema={name: output.dtype for name, output in columns.items()})
            heights = [page.rows for page in answer.pages]
            taken, behind = take(heights, lambda number: answer.page(self._fabric, view.name, number), place, limit)
            complete = answer.names.complete
            at_end = (complete or view.state in ENDED) and behind.number >= len(heights)
            return ResultPage(pl.concat([rows, *taken]), None if at_end else str(behind), complete, sum(heights))

    def answer(self, owner: str, job: str, query: str) -> Answer:
        """A whole answer, page by page as it was written; TooEarly until it is complete."""
        with self._reaching():
            view = self._views.open(owner, job)
            answer = view.answers.get(query)
            if answer is None:
                raise NoSuchQuery(f"job {job} has no query {query[:80]!r}; it has {', '.join(view.answers)}")
            self._views.refresh(view)
            if not answer.names.complete:
                self._views.refresh(view, surely=True)
            if not answer.names.complete:
                raise self._too_early(view, job, f"the answer of {query}")

        def pages() -> Iterator[pl.DataFrame]:
            for number in range(len(answer.pages)):
                with self._reaching():
                    yield answer.page(self._fabric, view.name, number)

        return Answer(view.topology.plan.results[query].columns, pages())

    def rejects(self, owner: str, job: str, cursor: str | None, limit: int) -> RejectPage:
        """Rejects in the order of tables and parts, as far as it is known."""
        place = read_cursor(cursor, limit)
        with self._reaching():
            view = self._views.open(owner, job)
            self._views.refresh(view)
            places = list(_rejects_in_order(view))
            heights = [found.rows for _, found in places]

            def frame(number: int) -> pl.DataFrame:
                log, found = places[number]
                return log.frame(self._fabric, view.name, found)

            taken, behind = take(heights, frame, place, limit)
            complete = view.all_read
            at_end = (complete or view.state in ENDED) and behind.number >= len(places)
            rows = pl.concat([pl.DataFrame(schema=REJECT_SCHEMA), *taken])
            return RejectPage(rows, None if at_end else str(behind), complete, sum(heights))

    def rejects_csv(self, owner: str, job: str) -> Iterator[str]:
        """All rejects as `cauce run` writes them to rejects.csv (header included); TooEarly until they are complete."""
        with self._reaching():
            view = self._views.open(owner, job)
            self._views.refresh(view)
            if not view.all_read:
                self._views.refresh(view, surely=True)
            if not view.all_read:
                raise self._too_early(view, job, "the list of rejects")
        # Within a file they are in order already, whatever else was read in between.
        places = sorted(_rejects_in_order(view), key=lambda each: each[1].file)

        def texts() -> Iterator[str]:
            yield ",".join(REJECT_SCHEMA) + "\n"
            for log, place in places:
                with self._reaching():
                    yield csv_text(log.frame(self._fabric, view.name, place))

        return texts()

    def _too_early(self, view: JobView, job: str, what: str) -> TooEarly | JobOver:
        if view.state in ENDED:
            return JobOver(f"job {job} is {view.state}, and {what} will not be complete")
        return TooEarly(
            f"{what} of job {job} is not complete yet: ask again, or for the pages there are", retry_after=1
        )

    def why(self, owner: str, job: str) -> str:
        """What a job waits for, or how it ended, in one sentence."""
        status = self.status(owner, job)
        if status.state != "running":
            return sentence(status)
        with self._reaching():
            view = self._views.open(owner, job)
            view.history.advance(self._fabric, view.name)
            return hold_up(view, graph_of(view, self._clock(), job), job)

    def graph(self, owner: str, job: str) -> GraphBody:
        """The job's plan at work, with the sentence that `why` says of it."""
        with self._reaching():
            view = self._views.open(owner, job)
            self._views.refresh(view)
            view.history.advance(self._fabric, view.name)
            graph = graph_of(view, self._clock(), job)
            running = view.state == "running"
            said = hold_up(view, graph, job) if running else sentence(self._statuses.of_view(view))
            return msgspec.structs.replace(graph, why=said)

    def silence_s(self, owner: str, job: str) -> float:
        """For how long neither the client nor a worker has been heard of in the job's logs."""
        with self._reaching():
            view = self._views.open(owner, job)
            view.history.advance(self._fabric, view.name)
            extent = view.history.extent
            return max(self._clock() - max(view.active_at, extent[1] if extent is not None else 0.0), 0.0)

    def figures(self) -> Figures:
        """All owners' jobs in numbers, as they stood when they were last looked at."""
        with self._reaching():
            return figures_of(self._views.all())

    def datasets(self) -> DatasetsBody:
        return catalogue(self._datasets)

    # Ends.

    def cancel(self, owner: str, job: str) -> JobStatus:
        """Releases everything. Doing it again gives the same."""
        with self._reaching():
            name = fabric_name(owner, job)
            data = self._views.manifest(name)
            if data is None:
                return self._statuses.of_stone(self._views.stone(owner, job))
            before = self._current(name, owner, job, data).state
            cause = f"{before}, then removed by its client" if before in ENDED else "cancelled by its client"
            stone = self._bury(name, owner, job, data, "cancelled", cause)
            status = self._statuses.of_stone(stone)
        self._tell("cancelled", status)
        return status

    def sweep(self) -> FabricNames:
        """Expires what is overdue, releases what has ended and adds up what is held. Names (owner.job) of what has
        expired."""
        expired: FabricNames = []
        with self._reaching():
            now = self._clock()
            self._ends.sweep(now)
            stones = self._ends.all(now)
            for name in self._fabric.jobs():
                whose = owner_and_job(name)
                if whose is None:
                    continue
                if whose in stones:
                    # Its gateway died before it could, or somebody created it once more at that very moment.
                    self._fabric.delete_job(name)
                elif self._sweep_one(name, *whose):
                    expired.append(name)
            self._room.held_bytes = figures_of(self._views.all()).held_bytes
        return expired

    def _sweep_one(self, name: str, owner: str, job: str) -> bool:
        data = self._fabric.manifest(name)
        if data is None:
            return False
        view = self._views.view(name, data)
        if view is None:
            status = self._statuses.of_unplanned(owner, job, data)
        else:
            self._views.refresh(view)
            self._views.trim(view)
            status = self._statuses.of_view(view)
            if self._is_overdue(status):
                # Its client may have been heard by another gateway meanwhile.
                self._views.refresh(view, surely=True)
                status = self._statuses.of_view(view)
        if not self._is_overdue(status):
            return False
        if status.state in ENDED:
            cause = f"it was {status.state}, and its answers were kept for {self._limits.results_seconds:.0f} s"
        else:
            cause = f"no part of it came for {self._limits.receiving_seconds:.0f} s"
        stone = self._bury(name, owner, job, data, "expired", cause)
        self._tell("expired", self._statuses.of_stone(stone))
        return True

    def _is_overdue(self, status: JobStatus) -> bool:
        return status.expires is not None and self._clock() >= status.expires

    def _bury(self, name: str, owner: str, job: str, data: bytes, state: State, cause: str) -> Tombstone:
        """First it is said, then done: if we die in between, another gateway's sweep does the rest."""
        manifest = read_manifest(name, data)
        stone = Tombstone(
            job,
            owner,
            self._statuses.dataset(manifest.dataset),
            list(manifest.queries),
            manifest.parameters,
            state,
            cause,
            state,
            manifest.created,
            self._clock(),
        )
        self._ends.add(stone)
        self._fabric.delete_job(name)
        self._views.forget(name)
        return self._ends.find(owner, job, self._clock()) or stone

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """What the fabric could not do is said in the service's words."""
        try:
            yield
        except FabricFull as problem:
            raise Unavailable(f"the service has no room left: {problem}", retry_after=10) from problem
        except FabricError as problem:
            raise Unavailable(
                f"what the service keeps its jobs in did not answer: {problem}", retry_after=1
            ) from problem


def _difference(standing: JobRequest, wanted: JobRequest) -> str:
    """What of a request was different before, in words."""
    found: list[str] = []
    if standing.dataset != wanted.dataset:
        found.append(f"dataset {standing.dataset}, not {wanted.dataset}")
    elif standing.queries != wanted.queries:
        found.append(f"queries {', '.join(standing.queries)}, not {', '.join(wanted.queries)}")
    for name in sorted(standing.parameters.keys() | wanted.parameters.keys()):
        before, now = standing.parameters.get(name, "none"), wanted.parameters.get(name, "none")
        if before != now:
            found.append(f"parameter {name}={before}, not {name}={now}")
    return " and ".join(found)


def _owner_of(name: str) -> str:
    return (owner_and_job(name) or ("", ""))[0]


def _rejects_in_order(view: JobView) -> Iterator[tuple[ReportLog, Place]]:
    """By table and part. Those of a table come when all of the tables before it are there, so that a cursor holds."""
    for log in view.reports.values():
        for place in log.rejects:
            yield log, place
        if not log.names.complete:
            return
