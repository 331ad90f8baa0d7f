"""The client of a local run: creates the job, appends its parts and reads its answers, in small steps like a worker.

Every record has an identity, so the client may crash at any point and start over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from cauce.errors import CorruptRecord, JobFailed, MemoryExceeded, WrongSplit
from cauce.fabric.contract import Fabric, Log
from cauce.fabric.records import CLIENT, Kind, Record, record
from cauce.job.completion import InOrder, Names
from cauce.job.frames import load_frame
from cauce.job.log_reader import LogReader
from cauce.job.manifest import Manifest, load_manifest
from cauce.job.outcome import Outcomes
from cauce.job.part_codec import dump_part, load_report
from cauce.job.topology import FOLDS, JOB_LOG, SOURCES, Topology
from cauce.scan.csv.guess import LineCounts
from cauce.scan.parts import Part, TableFile
from cauce.scan.reader import part_bytes_for, parts_of
from cauce.scan.tables import TableSpec
from cauce.worker.events import Event

_READ_BYTES = 16 << 20

Reorder = Callable[[Iterator[Part]], Iterable[Part]]


class Sink(Protocol):
    """Receives answers and rejects: the pages of a query in order, the rejects of a table in input order."""

    def page(self, query: str, frame: pl.DataFrame) -> None: ...

    def rejects(self, table: TableSpec, rows: int, frame: pl.DataFrame) -> None:
        """Called for each part of a table that has been scanned, with its number of rows and its rejects."""


@dataclass(frozen=True)
class TableInput:
    """What a run reads of a table: `shown` is its name in messages."""

    shown: str
    bytes: int


class Watch(Protocol):
    """Observes the progress of a run: parts cut and scanned, worker events, and what a stalled run waits for."""

    def cut(self, table: str, seq: int, part_bytes: int) -> None: ...

    def scanned(self, table: str, seq: int, rows: int) -> None: ...

    def event(self, event: Event, restarts: int) -> None: ...

    def still(self, missing_input: str) -> None: ...


def create(fabric: Fabric, manifest: Manifest, topology: Topology) -> None:
    """Registers a job and enqueues its tasks. Idempotent. Raises if an earlier process has left a manifest that cannot
    be read: no worker would run the job."""
    load_manifest(fabric.create_job(manifest.job, manifest.dump()), manifest.job)
    enqueue_tasks(fabric, manifest.job, topology)


def enqueue_tasks(fabric: Fabric, job: str, topology: Topology) -> None:
    for queue in (SOURCES, FOLDS):
        fabric.enqueue(job, queue, topology.queue(queue))


def answer_names(topology: Topology, query: str) -> Names:
    """Tracks the completeness of an answer."""
    return Names(f"the answer of {query}", topology.result_producers(query))


def report_names(topology: Topology, table: TableSpec) -> Names:
    """Tracks the completeness of the reports on a table."""
    return Names(f"table {table.name}", topology.reporters(table))


def missing_input(topology: Topology, names: Iterable[Names]) -> str:
    """One sentence: the missing input of the first of these that is not complete."""
    tasks = [str(task) for task in topology.tasks]
    return next((each.missing(tasks.__getitem__) for each in names if not each.complete), "nothing")


class Upload:
    """Appends the parts of every table to their lanes, and then the number of parts of each lane."""

    def __init__(
        self,
        fabric: Fabric,
        job: str,
        topology: Topology,
        files: Mapping[str, list[TableFile]],
        part_bytes: int | Mapping[str, int] | None = None,
        reorder: Reorder = lambda parts: parts,
        watch: Watch | None = None,
        guess: bool = False,
    ) -> None:
        """`part_bytes` is the size of parts, of all tables or by table; None: as many as usual for each lane."""
        self._watch = watch
        self._guess = guess
        self._fabric = fabric
        self._job = job
        self._topology = topology
        self._files = files
        self._part_bytes = part_bytes
        self._appends = self._append_all(reorder)

    def step(self) -> bool:
        """Appends one record. False when everything has been appended."""
        return next(self._appends, None) is not None

    def parts(self, table: TableSpec) -> Iterator[Part]:
        files = self._files[table.name]
        given = self._part_bytes
        size = given[table.name] if isinstance(given, Mapping) else given
        part_bytes = size or part_bytes_for(files, self._topology.lanes)
        return parts_of(files, table, part_bytes, self._guess)

    def _append_all(self, reorder: Reorder) -> Iterator[bool]:
        for table in self._topology.plan.tables:
            yield from self._append_parts(table, reorder(self.parts(table)))

    def _append_parts(self, table: TableSpec, parts: Iterable[Part]) -> Iterator[bool]:
        lanes = self._topology.lanes_of(table)
        appended: list[set[int]] = [set() for _ in range(lanes)]
        for part in parts:
            lane = part.seq % lanes
            self._fabric.append(self._job, self._topology.raw_log(table, lane), [dump_part(part)])
            appended[lane].add(part.seq)
            if self._watch is not None:
                self._watch.cut(table.name, part.seq, part.weight)
            yield True
        for lane, seqs in enumerate(appended):
            end = record(Kind.END, CLIENT, len(seqs))
            self._fabric.append(self._job, self._topology.raw_log(table, lane), [end])
            yield True


def check_logs(fabric: Fabric, job: str, topology: Topology) -> None:
    """Raises if the job was deleted, or if a log has lost records: it holds fewer than its producer has counted.

    To diagnose a stalled job. A producer appends its count last, but a reader may see it earlier; hence the barrier.
    """
    fabric.read_barrier()
    if fabric.manifest(job) is None:
        raise JobFailed(f"job {job} was deleted by another process; run the same command again")
    for log in topology.logs():
        names, ends = _identities_in(fabric, job, log)
        for producer, count in ends.items():
            held = sum(name[0] == producer for name in names)
            if held < count:
                raise CorruptRecord(
                    f"log {log} of job {job} holds {held} of the {count} records of producer {producer}: "
                    "its files were truncated or deleted by another process; restore them or run the job again"
                )


def _identities_in(fabric: Fabric, job: str, log: Log) -> tuple[set[tuple[int, int]], dict[int, int]]:
    """The identities of all data records of a log, and the count that each producer closed it with."""
    names: set[tuple[int, int]] = set()
    ends: dict[int, int] = {}
    reader = LogReader(log, _READ_BYTES)
    reader.read_barrier(fabric, job)
    for each in reader.records(fabric, job):
        if each.kind == Kind.DATA:
            names.add((each.producer, each.seq))
        elif each.kind == Kind.END:
            ends[each.producer] = each.seq
    return names, ends


class _OrderedReader:
    """Reads one log and delivers its records in the order of their numbers."""

    def __init__(self, log: Log, names: Names, out: Callable[[Record], None]) -> None:
        self.names = names
        self._reader = LogReader(log, _READ_BYTES)
        self._order: InOrder[Record] = InOrder()
        self._out = out

    def advance(self, fabric: Fabric, job: str) -> bool:
        return self._reader.read(fabric, job, self._add)

    def _add(self, records: Iterable[Record]) -> None:
        for each in self.names.fresh(records):
            for ready in self._order.take(each.seq, each):
                self._out(ready)


class Collect:
    """Reads answers and reports as they are appended, until all are complete or the job has failed."""

    def __init__(self, fabric: Fabric, job: str, topology: Topology, sink: Sink, watch: Watch | None = None) -> None:
        self._fabric = fabric
        self._job = job
        self._topology = topology
        self._sink = sink
        self._watch = watch
        self._job_log = LogReader(JOB_LOG, _READ_BYTES)
        self._outcomes = Outcomes()
        self._lines = LineCounts()
        self._readers = [
            _OrderedReader(topology.result_log(query), answer_names(topology, query), self._page(query))
            for query in topology.plan.results
        ]
        self._readers += [
            _OrderedReader(topology.reports_log(table), report_names(topology, table), self._report(table))
            for table in topology.plan.tables
        ]

    def step(self) -> bool:
        """Reads the next batches. False if there were no new records. Raises if the job has failed."""
        for each in self._job_log.records(self._fabric, self._job):
            self._outcomes.add(each)
        outcome = self._outcomes.effective
        if outcome is not None:
            raise (MemoryExceeded if outcome.code == MemoryExceeded.code else JobFailed)(outcome.cause)
        moved = [each.advance(self._fabric, self._job) for each in self._readers if not each.names.complete]
        return any(moved)

    @property
    def complete(self) -> bool:
        return all(each.names.complete for each in self._readers)

    def missing_input(self) -> str:
        return missing_input(self._topology, [each.names for each in self._readers])

    def _page(self, query: str) -> Callable[[Record], None]:
        return lambda page: self._sink.page(query, load_frame(page.body))

    def _report(self, table: TableSpec) -> Callable[[Record], None]:
        def take(entry: Record) -> None:
            report = load_report(entry.body)
            if not report.whole:
                raise WrongSplit(f"part {entry.seq} of table {table.name} does not end at a record boundary")
            self._sink.rejects(table, report.rows, report.frame(self._lines))
            if self._watch is not None:
                self._watch.scanned(table.name, entry.seq, report.rows)

        return take
