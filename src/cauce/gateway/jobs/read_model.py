"""Read model of a job: parts received and read, answers, and how the job ended. A pure function of the job's logs,
cached by each thread of a gateway with the positions up to which they have been read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

import msgspec

from cauce.api.jobs import ENDED, JobStatus, State, TableStatus
from cauce.datasets.registry import Registry
from cauce.errors import (
    CauceError,
    Conflict,
    CorruptRecord,
    DatasetMissing,
    FabricError,
    FabricFull,
    FabricLost,
    JobGone,
    OtherVersion,
)
from cauce.fabric.contract import Fabric, Log
from cauce.fabric.names import job_name, owner_and_job
from cauce.fabric.records import CLIENT, Kind
from cauce.gateway.errors import JobDamaged, JobOver, NoSuchJob, Unavailable
from cauce.gateway.jobs.output_logs import AnswerLog, NumberedLog, ReportLog
from cauce.gateway.jobs.progress.history import History
from cauce.gateway.jobs.tombstones import Tombstone, TombstoneStore
from cauce.job.completion import Names
from cauce.job.job_log import MissingDataset
from cauce.job.kept import KeptVersion
from cauce.job.log_reader import LogReader
from cauce.job.manifest import Manifest, load_manifest
from cauce.job.outcome import Outcome, Outcomes
from cauce.job.receipts import FixedReceipts, Receipts
from cauce.job.topology import JOB_LOG, Topology
from cauce.runner.local_client import missing_input
from cauce.scan.tables import TableSpec
from cauce.worker.stats import STATS_LOG

JobListener = Callable[[str, JobStatus], None]
"""Listener for job events: created, completed (all tables), done, failed, cancelled, expired. Called by the gateway
that appended the record of the event."""

EndFound = Callable[[str], None]
"""Listener for a job, by its name on the fabric, whose logs imply an outcome that no gateway has recorded yet."""

_KEPT = 2_000


class End:
    """How a job ended, by its own log."""

    def __init__(self) -> None:
        self.outcomes = Outcomes()
        self.lacking = ""
        """The dataset of the job, if a worker skipped the job because it lacks the dataset."""
        self.needed_program = ""
        """The versions that planned the job, if a worker skipped the job because it has others."""
        self._reader = LogReader(JOB_LOG)

    def advance(self, fabric: Fabric, job: str) -> None:
        for each in self._reader.records(fabric, job):
            self.outcomes.add(each)
            if each.kind == Kind.DATASET_MISSING:
                missing = msgspec.json.decode(each.body, type=MissingDataset)
                self.needed_program = missing.program or self.needed_program
                self.lacking = self.lacking if missing.program else missing.dataset


class JobView:
    """The read model of a job. Answers and reports are read without its plan, so that an ended job stays readable with
    every version of its dataset, of Cauce and of Polars."""

    def __init__(self, name: str, data: bytes, manifest: Manifest, datasets: Registry) -> None:
        self.name = name
        self.data = data
        self.manifest = manifest
        self.end = End()
        self._datasets = datasets
        self._topology: Topology | None = None
        outline = manifest.outline
        self.tables = list(outline.tables)
        self.receipts = {table: _receipts(table, manifest.on) for table in self.tables}
        self.reports = {table: ReportLog(table, stored) for table, stored in outline.tables.items()}
        self.answers = {query: AnswerLog(query, stored) for query, stored in outline.answers.items()}
        self.unreadable: OtherVersion | None = None
        """Why this version cannot read the logs."""
        self.problem: CorruptRecord | Conflict | None = None
        """A corrupt or conflicting record: the job can no longer succeed."""
        self.settled = False
        self.barrier_passed = False
        """Whether a read barrier has completed. Before that, missing records may just not be visible yet."""
        self.trims = 0
        self.enqueued = False
        """Whether this process has enqueued its tasks, for a job over a kept dataset."""
        self.history = History()
        """Statistics of the workers, read on demand."""
        self._sides: dict[str, frozenset[str]] = {}
        self._read_bytes = dict.fromkeys(self.tables, 0)
        self._unmatched: dict[str, set[int]] = {table: set() for table in self.tables}

    @property
    def topology(self) -> Topology:
        """The plan of the job. Raises if this process cannot build it."""
        if self._topology is None:
            self._topology = Topology(self.manifest.plan(self._datasets), self.manifest.lanes, self.manifest.on)
        return self._topology

    def plan_problem(self) -> CauceError | None:
        """Why this process cannot build the plan of the job; None if it can."""
        try:
            _ = self.topology
        except CauceError as problem:
            return problem
        return None

    def spec(self, table: str) -> TableSpec:
        return next(spec for spec in self.topology.plan.tables if spec.name == table)

    def refresh(self, fabric: Fabric) -> None:
        """Reads new records of every log, and appends none. Cheap if nothing has changed. Raises CorruptRecord for a
        done job with a corrupt or conflicting record; an open job keeps it as its `problem`."""
        if self.settled:
            return
        self.end.advance(fabric, self.name)
        try:
            for table in self.tables:
                self.receipts[table].advance(fabric, self.name)
                self._match(table, self.reports[table].advance(fabric, self.name))
            for answer in self.answers.values():
                answer.advance(fabric, self.name)
        except (CorruptRecord, Conflict) as problem:
            if self.state == "done":
                raise CorruptRecord(str(problem)) from problem
            self.problem = problem

    def refresh_after_barrier(self, fabric: Fabric) -> None:
        """Refreshes after a read barrier: every record confirmed before this call is visible."""
        numbered = [log.log for log in (*self.reports.values(), *self.answers.values()) if not log.names.complete]
        fabric.read_barrier(self.name, JOB_LOG, *self._receipt_logs, *numbered)
        self.refresh(fabric)
        self.barrier_passed = True

    @property
    def _receipt_logs(self) -> list[Log]:
        return [] if self.manifest.on is not None else [each.log for each in self.receipts.values()]

    def record(self, fabric: Fabric, outcome: Outcome) -> bool:
        """Records how the job ended; false if the job was deleted."""
        try:
            fabric.append(self.name, JOB_LOG, [outcome.dump(CLIENT)])
        except JobGone:
            return False
        self.end.advance(fabric, self.name)
        return True

    @property
    def outcome(self) -> Outcome | None:
        """The outcome that a gateway has recorded with its time. Only this one is shown to clients: what the logs imply
        may change until it is recorded."""
        outcome = self.end.outcomes.effective
        return outcome if outcome is not None and outcome.at else None

    def unrecorded_outcome(self) -> Outcome | None:
        """The outcome that the logs imply and that no gateway has recorded yet."""
        if self.outcome is not None:
            return None
        if self.problem is not None and self.end.outcomes.effective is None:
            return Outcome("failed", str(self.problem), self.problem.code)
        return self.end.outcomes.with_answers(complete=self.complete)

    def failed_tasks(self) -> set[int]:
        return set() if self.outcome is None else self.end.outcomes.failed_tasks()

    def _match(self, table: str, news: list[int]) -> None:
        """Counts the bytes of parts that were read. A report may be visible before the receipt of its part."""
        unmatched, held = self._unmatched[table], self.receipts[table].held
        unmatched.update(news)
        for seq in [seq for seq in unmatched if seq in held]:
            self._read_bytes[table] += held[seq].bytes
            unmatched.remove(seq)

    @property
    def names(self) -> list[Names]:
        return [log.names for log in (*self.answers.values(), *self.reports.values())]

    @property
    def all_read(self) -> bool:
        """Whether all reports, and so all rejects, have been read."""
        return all(log.names.complete for log in self.reports.values())

    @property
    def complete(self) -> bool:
        """Whether all answers and all reports are complete."""
        return all(names.complete for names in self.names)

    def short_log(self) -> NumberedLog | None:
        """A log of answers or reports that a producer has closed with more records than were read from it."""
        logs = (*self.reports.values(), *self.answers.values())
        return next((log for log in logs if log.names.closed_and_short()), None)

    @property
    def state(self) -> State:
        if self.unreadable is not None:
            return "damaged"
        outcome = self.outcome
        if outcome is not None:
            return "done" if outcome.state == "done" else "cancelled" if outcome.state == "cancelled" else "failed"
        if all(each.complete is not None for each in self.receipts.values()):
            return "running"
        return "receiving" if any(each.last_at for each in self.receipts.values()) else "created"

    @property
    def started(self) -> bool:
        """Whether any worker has started on the job."""
        return self.history.extent is not None or any(log.seqs for log in self.reports.values())

    @property
    def active_at(self) -> float:
        """The time of the client's last action."""
        return max(self.manifest.created, *(each.last_at for each in self.receipts.values()))

    @property
    def open_tables(self) -> list[str]:
        return [table for table, receipts in self.receipts.items() if receipts.complete is None]

    def backlog_bytes(self) -> int:
        """Bytes received that workers could have read but have not. A table that depends on an incomplete table does
        not count: clients may send tables in any order. Kept data was not received by the job."""
        if self.manifest.on is not None:
            return 0
        still_open = set(self.open_tables)
        known = still_open and self.plan_problem() is None
        return sum(
            self.receipts[table].bytes - self._read_bytes[table]
            for table in self.tables
            if not (known and self._sides_of(table) & still_open)
        )

    @property
    def held_bytes(self) -> int:
        return 0 if self.manifest.on is not None else sum(each.bytes for each in self.receipts.values())

    def table_statuses(self) -> dict[str, TableStatus]:
        return {table: self._table_status(table) for table in self.tables}

    def _table_status(self, table: str) -> TableStatus:
        receipts, reports = self.receipts[table], self.reports[table]
        return TableStatus(
            receipts.count, receipts.bytes, receipts.complete, len(reports.seqs), reports.rows, reports.rejected
        )

    def kept_logs(self) -> list[Log]:
        """The logs that are needed after the job has ended."""
        own = (*self.reports.values(), *self.answers.values())
        return [JOB_LOG, STATS_LOG, *self._receipt_logs, *(each.log for each in own)]

    def missing_input(self) -> str:
        return missing_input(self.topology, self.names)

    def _sides_of(self, table: str) -> frozenset[str]:
        if table not in self._sides:
            self._sides[table] = self.topology.tables_before(self.spec(table))
        return self._sides[table]


def _receipts(table: str, kept: KeptVersion | None) -> Receipts:
    return Receipts(table) if kept is None else FixedReceipts(table, kept.tables[table])


class Views:
    def __init__(
        self,
        fabric: Fabric,
        datasets: Registry,
        tombstones: TombstoneStore,
        clock: Callable[[], float],
        end_found: EndFound,
    ) -> None:
        self._fabric = fabric
        self._datasets = datasets
        self._tombstones = tombstones
        self._clock = clock
        self._end_found = end_found
        self._views: OrderedDict[str, JobView] = OrderedDict()

    def open(self, owner: str, job: str, *, consistent: bool = False) -> JobView:
        """Raises if the job does not exist or no longer exists; with `consistent` also if another gateway has just
        deleted it."""
        name = job_name(owner, job)
        data = self.manifest(name, consistent=consistent)
        if data is None:
            tombstone = self.tombstone(owner, job)
            raise JobOver(f"job {job} is {tombstone.state}: {tombstone.cause}; its data was deleted")
        view = self.view(name, data)
        if view is None:
            problem = manifest_problem(job, data)
            raise JobDamaged(f"job {job} cannot be read: {problem}; remove the job, or restore its files")
        return view

    def check_plan(self, view: JobView, job: str) -> None:
        """Raises unless this process can build the job's plan, which it needs to accept parts."""
        problem = view.plan_problem()
        if problem is None:
            return
        self.refresh(view)
        if view.state in ENDED:
            raise JobOver(f"job {job} is {view.state}: it accepts no more parts")
        if isinstance(problem, DatasetMissing) or not view.manifest.of_this_program:
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

    def tombstone(self, owner: str, job: str) -> Tombstone:
        tombstone = self._tombstones.find_consistent(owner, job, self._clock())
        if tombstone is None:
            raise NoSuchJob(f"there is no job {job}; create it first, or look at the list of jobs")
        return tombstone

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


def manifest_problem(job: str, data: bytes) -> CorruptRecord | OtherVersion | None:
    """Why the manifest of a job cannot be read; None if it can."""
    try:
        load_manifest(data, job)
    except (CorruptRecord, OtherVersion) as problem:
        return problem
    return None
