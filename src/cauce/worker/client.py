"""The client's side of a job on a fabric: creates it, says its parts, and reads its answers. Steps, like a worker.

Everything it says is named, so that it may die at any point and begin again from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import polars as pl

from cauce.errors import CorruptRecord, CutWrongly, JobFailed
from cauce.fabric.contract import Fabric, Position
from cauce.scan.guess import LineCounts
from cauce.scan.parts import Part, TableFile, part_bytes_for, parts_of
from cauce.scan.tables import TableSpec
from cauce.wire.frames import load_frame
from cauce.wire.manifest import Manifest
from cauce.wire.records import CLIENT, Kind, Record, record
from cauce.worker.events import Event
from cauce.worker.intake import InOrder, Names
from cauce.worker.loop import ending_of
from cauce.worker.raw import dump_part, load_report
from cauce.worker.topology import FOLDS, JOB_LOG, SOURCES, Topology

_READ_BYTES = 16 << 20

Reorder = Callable[[Iterator[Part]], Iterable[Part]]


class Sink(Protocol):
    """Where answers and rejects go. Pages of a query come in their order; rejects by table, in input order."""

    def page(self, query: str, frame: pl.DataFrame) -> None: ...

    def rejects(self, table: TableSpec, rows: int, frame: pl.DataFrame) -> None:
        """A part of a table has been read: its rows, and what of it was rejected."""


class Watch(Protocol):
    """Told how far a run is: parts that have been cut and read, what happened to workers, what is waited for."""

    def cut(self, table: str, seq: int, part_bytes: int) -> None: ...

    def scanned(self, table: str, seq: int, rows: int) -> None: ...

    def event(self, event: Event, restarts: int) -> None: ...

    def still(self, waits_for: str) -> None: ...


def create(fabric: Fabric, manifest: Manifest, topology: Topology) -> None:
    """Registers a job and offers its tasks. Doing it again changes nothing."""
    fabric.create_job(manifest.job, manifest.dump())
    offer_tasks(fabric, manifest.job, topology)


def offer_tasks(fabric: Fabric, job: str, topology: Topology) -> None:
    for queue in (SOURCES, FOLDS):
        fabric.offer(job, queue, topology.queue(queue))


def answer_names(topology: Topology, query: str) -> Names:
    """What an answer must have to be complete."""
    return Names(f"the answer of {query}", topology.result_producers(query))


def report_names(topology: Topology, table: TableSpec) -> Names:
    """What must have been said of a table that was read through."""
    return Names(f"table {table.name}", topology.reporters(table))


def waits_for(topology: Topology, names: Iterable[Names]) -> str:
    """What the first of these that is not complete waits for, in one sentence."""
    tasks = [str(task) for task in topology.tasks]
    return next((each.missing(tasks.__getitem__) for each in names if not each.complete), "nothing")


class Upload:
    """Says the parts of every table, each to its lane, and then how many there are."""

    def __init__(
        self,
        fabric: Fabric,
        job: str,
        topology: Topology,
        files: Mapping[str, list[TableFile]],
        part_bytes: int | None = None,
        reorder: Reorder = lambda parts: parts,
        watch: Watch | None = None,
        guess: bool = False,
    ) -> None:
        self._watch = watch
        self._guess = guess
        self._fabric = fabric
        self._job = job
        self._topology = topology
        self._files = files
        self._part_bytes = part_bytes
        self._sayings = self._say_all(reorder)

    def step(self) -> bool:
        """One append. False when everything has been said."""
        return next(self._sayings, None) is not None

    def parts(self, table: TableSpec) -> Iterator[Part]:
        files = self._files[table.name]
        part_bytes = self._part_bytes or part_bytes_for(files, self._topology.lanes)
        return parts_of(files, table, part_bytes, self._guess)

    def _say_all(self, reorder: Reorder) -> Iterator[bool]:
        for table in self._topology.plan.tables:
            yield from self._say(table, reorder(self.parts(table)))

    def _say(self, table: TableSpec, parts: Iterable[Part]) -> Iterator[bool]:
        lanes = self._topology.lanes_of(table)
        said: list[set[int]] = [set() for _ in range(lanes)]
        for part in parts:
            lane = part.seq % lanes
            self._fabric.append(self._job, self._topology.raw_log(table, lane), [dump_part(part)])
            said[lane].add(part.seq)
            if self._watch is not None:
                self._watch.cut(table.name, part.seq, part.weight)
            yield True
        for lane, seqs in enumerate(said):
            end = record(Kind.END, CLIENT, len(seqs))
            self._fabric.append(self._job, self._topology.raw_log(table, lane), [end])
            yield True


def check_logs(fabric: Fabric, job: str, topology: Topology) -> None:
    """Raises if the job is gone, or a log holds fewer messages than a producer of it has counted: what is missing
    will never come.

    For a job that stands still. A count is said after all that it counts, but need not be seen after it.
    """
    fabric.catch_up()
    if fabric.manifest(job) is None:
        raise JobFailed(f"job {job} is gone: somebody has removed it behind our back; run the same command again")
    for log in topology.logs():
        names, ends = _names_in(fabric, job, log)
        for producer, count in ends.items():
            held = sum(name[0] == producer for name in names)
            if held < count:
                raise CorruptRecord(
                    f"log {log} of job {job} holds {held} of the {count} messages of producer {producer}: "
                    "its files were cut or removed behind our back; restore them or run the job again"
                )


def _names_in(fabric: Fabric, job: str, log: str) -> tuple[set[tuple[int, int]], dict[int, int]]:
    """The names of all messages of a log, and how many each producer has counted."""
    names: set[tuple[int, int]] = set()
    ends: dict[int, int] = {}
    position: Position = {}
    fabric.catch_up(job, log)
    while True:
        batch = fabric.read(job, log, position, _READ_BYTES)
        if batch.position == position:
            return names, ends
        position = batch.position
        names |= {(each.producer, each.seq) for each in batch.records if each.kind == Kind.DATA}
        ends |= {each.producer: each.seq for each in batch.records if each.kind == Kind.END}


class _Reading:
    """One log whose records leave in the order of their numbers."""

    def __init__(self, log: str, names: Names, out: Callable[[Record], None]) -> None:
        self.log = log
        self.names = names
        self.position: Position = {}
        self._order: InOrder[Record] = InOrder()
        self._out = out

    def advance(self, fabric: Fabric, job: str) -> bool:
        batch = fabric.read(job, self.log, self.position, _READ_BYTES)
        moved = batch.position != self.position
        self.position = batch.position
        for each in batch.records:
            if each.kind == Kind.END:
                self.names.end(each)
            elif self.names.is_new(each):
                for ready in self._order.take(each.seq, each):
                    self._out(ready)
        return moved


class Collect:
    """Reads answers and reports as they appear, until all are there or the job has failed."""

    def __init__(self, fabric: Fabric, job: str, topology: Topology, sink: Sink, watch: Watch | None = None) -> None:
        self._fabric = fabric
        self._job = job
        self._topology = topology
        self._sink = sink
        self._watch = watch
        self._state: Position = {}
        self._lines = LineCounts()
        self._readings = [
            _Reading(topology.result_log(query), answer_names(topology, query), self._page(query))
            for query in topology.plan.results
        ]
        self._readings += [
            _Reading(topology.reports_log(table), report_names(topology, table), self._report(table))
            for table in topology.plan.tables
        ]

    def step(self) -> bool:
        """Reads on. False when nothing new was there. Raises if the job has failed."""
        batch = self._fabric.read(self._job, JOB_LOG, self._state, _READ_BYTES)
        self._state = batch.position
        ending = ending_of(list(batch.records))
        if ending is not None:
            raise JobFailed(ending.cause)
        moved = [each.advance(self._fabric, self._job) for each in self._readings if not each.names.complete]
        return any(moved)

    @property
    def complete(self) -> bool:
        return all(each.names.complete for each in self._readings)

    def waits_for(self) -> str:
        return waits_for(self._topology, [each.names for each in self._readings])

    def _page(self, query: str) -> Callable[[Record], None]:
        return lambda page: self._sink.page(query, load_frame(page.body))

    def _report(self, table: TableSpec) -> Callable[[Record], None]:
        def take(said: Record) -> None:
            report = load_report(said.body)
            if not report.whole:
                raise CutWrongly(f"part {said.seq} of table {table.name} does not end where a record ends")
            self._sink.rejects(table, report.rows, report.frame(self._lines))
            if self._watch is not None:
                self._watch.scanned(table.name, said.seq, report.rows)

        return take
