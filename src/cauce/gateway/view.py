"""A job as its logs tell it: what was received, what was read, which answers are there, how it ended.

A pure function of the logs, kept with the positions up to which they have been read. Another process that reads the
same logs comes to the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import polars as pl

from cauce.errors import CauceError, CorruptRecord
from cauce.fabric.contract import Fabric, Position
from cauce.gateway.history import History
from cauce.gateway.model import AnswerStatus, State, TableStatus
from cauce.gateway.receipts import Receipts
from cauce.scan.tables import TableSpec
from cauce.wire.frames import load_frame
from cauce.wire.manifest import Manifest
from cauce.wire.records import CLIENT, Kind, Record
from cauce.worker.client import answer_names, report_names, waits_for
from cauce.worker.intake import InOrder, Names
from cauce.worker.loop import Ending
from cauce.worker.raw import load_report
from cauce.worker.stats import STATS_LOG
from cauce.worker.topology import JOB_LOG, Topology

_STATE_BYTES = 1 << 20
_FEW_BYTES = 1 << 16
"""To read at a time: some hundred reports, or one page of an answer. A record is found again among as many."""


@dataclass(frozen=True)
class Place:
    """Where a record can be read again: the position of those who wrote it, before it."""

    seq: int
    back: Position
    rows: int
    file: str = ""


class NumberedLog:
    """A log of numbered records: what has come, what is awaited, and where each record can be found again."""

    def __init__(self, log: str, names: Names) -> None:
        self.log = log
        self.names = names
        self._position: Position = {}

    def fresh(self, fabric: Fabric, job: str) -> Iterator[tuple[Record, Position]]:
        """Records that are new, each with the way back to it."""
        while not self.names.complete:
            before = self._position
            batch = fabric.read(job, self.log, before, _FEW_BYTES)
            if batch.position == before:
                return
            back = {key: before.get(key, 0) for key, at in batch.position.items() if at != before.get(key, 0)}
            self._position = batch.position
            for each in batch.records:
                if each.kind == Kind.END:
                    self.names.end(each)
                elif self.names.is_new(each):
                    yield each, back

    def fetch(self, fabric: Fabric, job: str, place: Place) -> Record:
        position: Position = {**self._position, **place.back}
        caught_up = False
        while True:
            batch = fabric.read(job, self.log, position, _FEW_BYTES)
            for each in batch.records:
                if each.kind == Kind.DATA and each.seq == place.seq:
                    return each
            if batch.position != position:
                position = batch.position
            elif not caught_up:
                # Others may have to be asked for what they have confirmed.
                fabric.catch_up(job, self.log)
                caught_up = True
            else:
                raise CorruptRecord(f"log {self.log} of job {job} has lost record {place.seq}: run the job again")


class AnswerLog(NumberedLog):
    """The pages of an answer, in their order as far as there is no gap."""

    def __init__(self, topology: Topology, query: str) -> None:
        super().__init__(topology.result_log(query), answer_names(topology, query))
        self.pages: list[Place] = []
        self.rows = 0
        self._order: InOrder[Place] = InOrder()

    def advance(self, fabric: Fabric, job: str) -> None:
        for each, back in self.fresh(fabric, job):
            place = Place(each.seq, back, load_frame(each.body).height)
            for ready in self._order.take(each.seq, place):
                self.pages.append(ready)
                self.rows += ready.rows

    def page(self, fabric: Fabric, job: str, number: int) -> pl.DataFrame:
        return load_frame(self.fetch(fabric, job, self.pages[number]).body)

    @property
    def status(self) -> AnswerStatus:
        return AnswerStatus(len(self.pages), self.rows, self.names.complete)


class ReportLog(NumberedLog):
    """What the parts of a table had in them. Rejects are read again when somebody asks for them."""

    def __init__(self, topology: Topology, table: TableSpec) -> None:
        super().__init__(topology.reports_log(table), report_names(topology, table))
        self.seqs: set[int] = set()
        self.rows = 0
        self.rejected = 0
        self.rejects: list[Place] = []
        """Of the parts that have some, in the order of the parts as far as there is no gap."""
        self._order: InOrder[Place] = InOrder()

    def advance(self, fabric: Fabric, job: str) -> list[int]:
        """The numbers of the parts that have been read since."""
        news: list[int] = []
        for each, back in self.fresh(fabric, job):
            report = load_report(each.body)
            news.append(each.seq)
            self.rows += report.rows
            self.rejected += report.rejected
            file = load_frame(report.rejects)["file"][0] if report.rejected else ""
            for ready in self._order.take(each.seq, Place(each.seq, back, report.rejected, file)):
                if ready.rows:
                    self.rejects.append(ready)
        self.seqs.update(news)
        return news

    def frame(self, fabric: Fabric, job: str, place: Place) -> pl.DataFrame:
        return load_frame(load_report(self.fetch(fabric, job, place).body).rejects)


@dataclass
class End:
    """How a job ended. Answers that were complete stay so: then what a late worker says against it is void. Of
    several notes the first counts."""

    said: list[Ending] = field(default_factory=list)
    causes: dict[int, str] = field(default_factory=dict)
    """Why the job failed, by the producer that recorded it: a task's number, or one that belongs to no task."""
    _position: Position = field(default_factory=dict)

    def advance(self, fabric: Fabric, job: str) -> None:
        batch = fabric.read(job, JOB_LOG, self._position, _STATE_BYTES)
        self._position = batch.position
        ends = [each for each in batch.records if each.kind == Kind.STATE]
        for each in ends:
            ending = msgspec.json.decode(each.body, type=Ending)
            self.said.append(ending)
            if ending.state == "failed":
                self.causes.setdefault(each.producer, ending.cause)

    def failed_tasks(self) -> set[int]:
        """Producers that recorded the cause for which the job failed; empty for a job that ended otherwise."""
        ending = self.ending
        if ending is None or ending.state != "failed":
            return set()
        return {producer for producer, cause in self.causes.items() if cause == ending.cause}

    @property
    def ending(self) -> Ending | None:
        """The end, with the time at which it was first noted (0.0: not yet)."""
        if not self.said:
            return None
        done = [each for each in self.said if each.state == "done"]
        chosen = done or self.said
        return min(chosen, key=lambda each: (not each.at, each.at, each.cause))


class JobView:
    """All that a gateway knows of a job."""

    def __init__(self, name: str, data: bytes, manifest: Manifest) -> None:
        self.name = name
        self.data = data
        self.manifest = manifest
        self.end = End()
        self.topology = Topology(manifest.plan(), manifest.lanes)
        plan = self.topology.plan
        self.tables = {table.name: table for table in plan.tables}
        self.receipts = {table: Receipts(table) for table in self.tables}
        self.reports = {name: ReportLog(self.topology, table) for name, table in self.tables.items()}
        self.answers = {query: AnswerLog(self.topology, query) for query in plan.results}
        self.settled = False
        self.caught_up = False
        """Whether it was ever seen as it stood. Before that, what it lacks may only not have been read yet."""
        self.trims = 0
        self.history = History()
        """What workers said of their tasks, read on only when somebody looks."""
        self._waits_for = {name: self._sides_of(table) for name, table in self.tables.items()}
        self._read_bytes = dict.fromkeys(self.tables, 0)
        self._unmatched: dict[str, set[int]] = {table: set() for table in self.tables}

    def refresh(self, fabric: Fabric) -> None:
        """Reads on in every log. Costs little when nothing has changed, and nothing when the job is over."""
        if self.settled:
            return
        self.end.advance(fabric, self.name)
        try:
            for table in self.tables:
                self.receipts[table].advance(fabric, self.name)
                self._match(table, self.reports[table].advance(fabric, self.name))
            for answer in self.answers.values():
                answer.advance(fabric, self.name)
        except CauceError as problem:
            # Two contents under one name, or damage: the job cannot come to a good end any more.
            if isinstance(problem, CorruptRecord) or problem.code == "conflict":
                self.note(fabric, Ending("failed", str(problem), problem.code))
            else:
                raise

    def catch_up(self, fabric: Fabric) -> None:
        """All that had been said of it before this call is seen after it."""
        numbered = [log.log for log in (*self.reports.values(), *self.answers.values()) if not log.names.complete]
        fabric.catch_up(self.name, JOB_LOG, *(each.log for each in self.receipts.values()), *numbered)
        self.refresh(fabric)
        self.caught_up = True

    def note(self, fabric: Fabric, ending: Ending) -> None:
        fabric.append(self.name, JOB_LOG, [ending.dump(CLIENT)])
        self.end.advance(fabric, self.name)

    def _match(self, table: str, news: list[int]) -> None:
        """A part may be read before its receipt is there."""
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
        """Whether all reports are there, and so all rejects."""
        return all(log.names.complete for log in self.reports.values())

    @property
    def complete(self) -> bool:
        """Whether all answers are there, and all reports."""
        return all(names.complete for names in self.names)

    @property
    def state(self) -> State:
        ending = self.end.ending
        if ending is not None:
            return "done" if ending.state == "done" else "cancelled" if ending.state == "cancelled" else "failed"
        if all(each.complete is not None for each in self.receipts.values()):
            return "running"
        return "receiving" if any(each.last_at for each in self.receipts.values()) else "created"

    @property
    def active_at(self) -> float:
        """When the client was last heard of."""
        return max(self.manifest.created, *(each.last_at for each in self.receipts.values()))

    @property
    def open_tables(self) -> list[str]:
        return [table for table, receipts in self.receipts.items() if receipts.complete is None]

    def backlog_bytes(self) -> int:
        """What was received and could have been read, and was not yet. A table that waits for another one, which the
        client has yet to send, does not count: the order of tables is the client's to choose."""
        still_open = set(self.open_tables)
        return sum(
            self.receipts[table].bytes - self._read_bytes[table]
            for table in self.tables
            if not self._waits_for[table] & still_open
        )

    @property
    def held_bytes(self) -> int:
        return sum(each.bytes for each in self.receipts.values())

    def table_statuses(self) -> dict[str, TableStatus]:
        return {table: self._table_status(table) for table in self.tables}

    def _table_status(self, table: str) -> TableStatus:
        receipts, reports = self.receipts[table], self.reports[table]
        return TableStatus(
            len(receipts.held), receipts.bytes, receipts.complete, len(reports.seqs), reports.rows, reports.rejected
        )

    def kept_logs(self) -> list[str]:
        """What is still needed of a job that has ended."""
        received = [each.log for each in self.receipts.values()]
        return [JOB_LOG, STATS_LOG, *received, *(each.log for each in (*self.reports.values(), *self.answers.values()))]

    def waits_for(self) -> str:
        return waits_for(self.topology, self.names)

    def _sides_of(self, table: TableSpec) -> frozenset[str]:
        """The other tables that must be complete before this one is read."""
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
