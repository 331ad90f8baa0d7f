"""Read model of a job: parts received and read, answers, and how the job ended.

A pure function of the job's logs, cached with the positions up to which they have been read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import polars as pl

from cauce.api.jobs import AnswerStatus, State, TableStatus
from cauce.datasets.registry import Registry
from cauce.errors import CauceError, Conflict, CorruptRecord, JobGone, OtherVersion
from cauce.fabric.contract import Fabric, Log, Position
from cauce.fabric.records import CLIENT, Kind, Record
from cauce.gateway.jobs.progress.history import History
from cauce.job.completion import InOrder, Names
from cauce.job.frames import load_frame
from cauce.job.job_log import MissingDataset
from cauce.job.kept import KeptVersion
from cauce.job.log_reader import LogReader
from cauce.job.manifest import Manifest, StoredAnswer, StoredLog
from cauce.job.outcome import Outcome, Outcomes
from cauce.job.part_codec import load_report
from cauce.job.receipts import FixedReceipts, Receipts
from cauce.job.topology import JOB_LOG, Topology
from cauce.runner.local_client import missing_input
from cauce.scan.tables import TableSpec
from cauce.worker.stats import STATS_LOG

_FEW_BYTES = 1 << 16
"""Bytes per read: some hundred reports, or one page of an answer. Fetching one record reads this much."""


@dataclass(frozen=True)
class RecordLocation:
    """Where a record can be read again: between two positions of a reader of its log."""

    seq: int
    before: Position
    after: Position
    rows: int
    file: str = ""


class NumberedLog:
    """A log of numbered records: which were received, which are missing, and where each can be read again."""

    def __init__(self, log: Log, names: Names) -> None:
        self.log = log
        self.names = names
        self._reader = LogReader(log, _FEW_BYTES)

    def fresh(self, fabric: Fabric, job: str) -> Iterator[tuple[Record, Position, Position]]:
        """Reads new records, without duplicates, each with the positions before and after its batch."""
        if self.names.complete:
            return
        before = self._reader.position
        for batch in self._reader.batches(fabric, job):
            for each in self.names.fresh(batch.records):
                yield each, before, batch.position
            before = batch.position

    def fetch(self, fabric: Fabric, job: str, place: RecordLocation) -> Record:
        reader = LogReader(self.log, _FEW_BYTES, self._reader.position.rewind(place.before, place.after))
        found = self._find(reader, fabric, job, place.seq)
        if found is None:
            # Records of other processes may not be visible yet.
            reader.read_barrier(fabric, job)
            found = self._find(reader, fabric, job, place.seq)
        if found is None:
            raise CorruptRecord(f"record {place.seq} of log {self.log} of job {job} is lost: run the job again")
        return found

    def _find(self, reader: LogReader, fabric: Fabric, job: str, seq: int) -> Record | None:
        records = reader.records(fabric, job)
        return next((each for each in records if each.kind == Kind.DATA and each.seq == seq), None)


class AnswerLog(NumberedLog):
    """The pages of an answer, in order, up to the first gap."""

    def __init__(self, query: str, stored: StoredAnswer) -> None:
        super().__init__(stored.log, Names(f"the answer of {query}", stored.producers))
        self.columns = stored.outputs()
        self.pages: list[RecordLocation] = []
        self.rows = 0
        self._order: InOrder[RecordLocation] = InOrder()

    def advance(self, fabric: Fabric, job: str) -> None:
        for each, before, after in self.fresh(fabric, job):
            place = RecordLocation(each.seq, before, after, load_frame(each.body).height)
            for ready in self._order.take(each.seq, place):
                self.pages.append(ready)
                self.rows += ready.rows

    def page(self, fabric: Fabric, job: str, number: int) -> pl.DataFrame:
        return load_frame(self.fetch(fabric, job, self.pages[number]).body)

    @property
    def status(self) -> AnswerStatus:
        return AnswerStatus(len(self.pages), self.rows, self.names.complete)


class ReportLog(NumberedLog):
    """The reports on the parts of a table. Rejects are re-read from the log on request."""

    def __init__(self, table: str, stored: StoredLog) -> None:
        super().__init__(stored.log, Names(f"table {table}", stored.producers))
        self.seqs: set[int] = set()
        self.rows = 0
        self.rejected = 0
        self.rejects: list[RecordLocation] = []
        """Locations of the parts with rejects, by part number up to the first gap."""
        self._order: InOrder[RecordLocation] = InOrder()

    def advance(self, fabric: Fabric, job: str) -> list[int]:
        """Reads new reports; returns the numbers of their parts."""
        news: list[int] = []
        for each, before, after in self.fresh(fabric, job):
            report = load_report(each.body)
            news.append(each.seq)
            self.rows += report.rows
            self.rejected += report.rejected
            file = load_frame(report.rejects)["file"][0] if report.rejected else ""
            place = RecordLocation(each.seq, before, after, report.rejected, file)
            for ready in self._order.take(each.seq, place):
                if ready.rows:
                    self.rejects.append(ready)
        self.seqs.update(news)
        return news

    def frame(self, fabric: Fabric, job: str, place: RecordLocation) -> pl.DataFrame:
        return load_frame(load_report(self.fetch(fabric, job, place).body).rejects)


class End:
    """How a job ended, by its own log."""

    def __init__(self) -> None:
        self.outcomes = Outcomes()
        self.lacking = ""
        """The dataset of the job, if a worker skipped the job because it lacks the dataset."""
        self._reader = LogReader(JOB_LOG)

    def advance(self, fabric: Fabric, job: str) -> None:
        for each in self._reader.records(fabric, job):
            self.outcomes.add(each)
            if each.kind == Kind.DATASET_MISSING:
                self.lacking = msgspec.json.decode(each.body, type=MissingDataset).dataset


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
            self._sides[table] = self._find_sides(self.spec(table))
        return self._sides[table]

    def _find_sides(self, table: TableSpec) -> frozenset[str]:
        """The other tables that must be complete before this one can be read."""
        senders = {edge.number: stage for stage in self.topology.plan.stages for edge in stage.sends}
        found: set[str] = set()
        first = [
            stage for stage in self.topology.plan.stages if stage.table is table and stage.report_rejects is not None
        ]
        seen: set[int] = set()
        ahead = [number for stage in first for number in stage.receives]
        while ahead:
            number = ahead.pop()
            if number in seen:
                continue
            seen.add(number)
            sender = senders[number]
            if sender.table is not None:
                found.add(sender.table.name)
            ahead += sender.receives
        return frozenset(found - {table.name})


def _receipts(table: str, kept: KeptVersion | None) -> Receipts:
    return Receipts(table) if kept is None else FixedReceipts(table, kept.tables[table])
