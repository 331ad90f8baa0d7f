"""Tasks: lanes of a table and partitions of a fold. They advance in small steps and may die between any two.

The order of things in a step is what makes that harmless: output is appended before the position moves, the
position moves before the lease is let go, and nothing is said that another holder would not say in the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.fabric.contract import Fabric, Position, Saying
from cauce.plan.evaluate import Received, answer, run_fold, run_part
from cauce.plan.physical import Edge
from cauce.scan.parts import Part
from cauce.wire.frames import frame_record
from cauce.wire.records import CLIENT, Kind, Record, record
from cauce.worker.intake import Intake, Names
from cauce.worker.journal import Journal, Past, give_up_if_lethal
from cauce.worker.raw import dump_report, load_part
from cauce.worker.topology import TaskSpec, Topology
from cauce.worker.work import Work


@dataclass(frozen=True)
class Limits:
    """`read_bytes` of a log are taken in one step. A fold snapshots after reading `snapshot_bytes`, or as much as
    its state holds if that is more: a restart reads at most that again. Work on one thing may end in the death of
    its worker fewer than `lethal_attempts` times. Without a `journal` a lane starts over after a death."""

    read_bytes: int = 8 << 20
    snapshot_bytes: int = 32 << 20
    page_rows: int = 10_000
    record_rows: int = 250_000
    lethal_attempts: int = 3
    journal: bool = True
    life: str | None = None
    """Of the crew that a worker belongs to; deaths in earlier lives are not counted."""


ROWS_PER_PART_BITS = 32
"""A row's position is its part's number and its place there."""

FOLD_SEQ = 0

_TOGETHER_BYTES = 16 << 20
"""What is said is gathered up to so much, and confirmed together."""

Buffer = Callable[[int], npt.NDArray[np.uint8]]


class Step(Enum):
    PROGRESS = "progress"
    WAITING = "waiting"
    FINISHED = "finished"


class JobContext:
    """What the tasks of one job share in a process: the plan, and the sides that go whole to everyone."""

    def __init__(self, fabric: Fabric, job: str, topology: Topology, buffer: Buffer, limits: Limits) -> None:
        self.fabric = fabric
        self.limits = limits
        self.job = job
        self.topology = topology
        self.buffer = buffer
        self._shared: dict[int, Intake] = {}
        self._received: dict[tuple[int, ...], Received] = {}

    def intake(self, edge: Edge, partition: int) -> Intake:
        """What arrives by an edge for a partition; one object for all tasks where it is the same for all."""
        if edge.spread != "broadcast":
            return self._new_intake(edge, partition)
        if edge.number not in self._shared:
            self._shared[edge.number] = self._new_intake(edge, 0)
        return self._shared[edge.number]

    def _new_intake(self, edge: Edge, partition: int) -> Intake:
        log = self.topology.edge_log(edge, partition)
        return Intake(edge, f"job {self.job}, {log}", self.topology.producers(edge))

    def received(self, intakes: dict[int, Intake]) -> Received:
        """Complete sides with their join tables, built once in a process where all tasks share them."""
        frames = {number: intake.frame() for number, intake in intakes.items()}
        if any(intake.edge.spread != "broadcast" for intake in intakes.values()):
            return Received(frames)
        return self._received.setdefault(tuple(sorted(intakes)), Received(frames))

    def advance(self, intake: Intake, partition: int) -> bool:
        """Reads on; false if nothing new was there."""
        log = self.topology.edge_log(intake.edge, partition)
        batch = self.fabric.read(self.job, log, intake.position, self.limits.read_bytes)
        moved = batch.position != intake.position
        intake.take(batch.records, batch.position)
        return moved

    def let_go(self) -> None:
        """The job is over: what its tasks have gathered is not needed any more."""
        self._shared.clear()
        self._received.clear()


class Task:
    """What both kinds of task have: sides to be complete first, a journal, and outputs named after their input."""

    def __init__(self, context: JobContext, spec: TaskSpec) -> None:
        self.context = context
        self.spec = spec
        limits = context.limits
        self.journal = Journal(context.fabric, context.job, spec.journal, spec.number, limits.journal, limits.life)
        edges = context.topology.plan.edges
        self.intakes = {number: context.intake(edges[number], spec.index) for number in spec.stage.receives}
        self.past: Past | None = None
        self.done = Work()
        self._unsaid: list[Saying] = []
        self._unsaid_bytes = 0

    def step(self) -> Step:
        if self.past is None:
            self.past = self.journal.past()
            if self.past is None:
                return Step.WAITING
            self.restore(self.past)
        open_sides = [intake for intake in self.intakes.values() if not intake.complete]
        if open_sides:
            # All of them, so that one that stands still does not hide what has come for the others.
            moved = [self.context.advance(intake, self.spec.index) for intake in open_sides]
            self.sides_moved()
            return Step.PROGRESS if any(moved) else Step.WAITING
        return self.work(self.past)

    @property
    def fresh(self) -> bool:
        """Whether another could take it up without reading anything again."""
        return all(not intake.position for intake in self.intakes.values() if intake.edge.spread != "broadcast")

    def waits_for(self) -> str | None:
        for intake in self.intakes.values():
            if not intake.complete:
                return intake.names.missing()
        return None

    def restore(self, past: Past) -> None:
        raise NotImplementedError

    def sides_moved(self) -> None:
        pass

    def work(self, past: Past) -> Step:
        raise NotImplementedError

    def send(self, edge: Edge, partition: int, seq: int, frame: pl.DataFrame) -> None:
        said = frame_record(self.spec.number, seq, frame)
        self.done.send(edge.number, frame.height, len(said.body))
        self.say(self.context.topology.edge_log(edge, partition), said)

    def send_end(self, edge: Edge, partition: int, count: int) -> None:
        self.say(self.context.topology.edge_log(edge, partition), record(Kind.END, self.spec.number, count))

    def say(self, log: str, said: Record) -> None:
        """It is in the log after `say_all`, and may be there before."""
        self._unsaid.append((log, [said]))
        self._unsaid_bytes += len(said.body)
        if self._unsaid_bytes > _TOGETHER_BYTES:
            self.say_all()

    def say_all(self) -> None:
        unsaid, self._unsaid, self._unsaid_bytes = self._unsaid, [], 0
        self.context.fabric.append_all(self.context.job, unsaid)


class SourceTask(Task):
    """A lane of a table: for each part, one record on every edge and partition, named after the part."""

    def __init__(self, context: JobContext, spec: TaskSpec) -> None:
        super().__init__(context, spec)
        assert spec.stage.table is not None
        self._table = spec.stage.table
        self._log = context.topology.raw_log(self._table, spec.index)
        self._names = Names(f"job {context.job}, {self._log}", [CLIENT])
        self._position: Position = {}
        self._ahead: list[tuple[Record, Position]] = []

    def restore(self, past: Past) -> None:
        """Goes on behind the last part done. What came before is known from the journal, and not read again."""
        self._position = past.position
        if past.count is not None:
            self._names.end(record(Kind.END, CLIENT, past.count))

    def work(self, past: Past) -> Step:
        if self._ahead:
            part, position = self._ahead.pop(0)
            if part.seq not in past.done:
                self._process(load_part(part), past, position)
            return Step.PROGRESS
        return self._finish_or_read(past)

    def _finish_or_read(self, past: Past) -> Step:
        batch = self.context.fabric.read(self.context.job, self._log, self._position, self.context.limits.read_bytes)
        if batch.position == self._position:
            return self._end(past) if self._complete(past) else Step.WAITING
        fresh = []
        for each in batch.records:
            if each.kind == Kind.END:
                self._names.end(each)
            elif self._names.is_new(each) and each.seq not in past.done:
                fresh.append(each)
        # Only behind the last record of a batch has everything before it been dealt with.
        before = self._position
        self._position = batch.position
        self._ahead = [(each, before) for each in fresh[:-1]] + [(each, batch.position) for each in fresh[-1:]]
        return Step.PROGRESS

    def _complete(self, past: Past) -> bool:
        return self._names.count_of(CLIENT) == len(past.done)

    def _process(self, part: Part, past: Past, position: Position) -> None:
        context, stage = self.context, self.spec.stage
        what = f"part {part.seq} of {self._table.name} ({part.file.name}, bytes {part.start} to {part.end})"
        give_up_if_lethal(past, part.seq, context.limits.lethal_attempts, what)
        self.journal.began(part.seq)
        block = part.read(self._table, stage.read_columns, context.buffer)
        received = context.received(self.intakes)
        partitions = context.topology.plan.partitions
        if stage.report_rejects is not None:
            rejects = block.rejects(stage.report_rejects)
            report = dump_report(self.spec.number, part, block, rejects)
            self.say(context.topology.reports_log(self._table), report)
            if not block.whole:
                # At once: a query may fail on what was cut wrongly, and the client is to learn the reason.
                self.say_all()
        sent = run_part(stage, received, block, part.seq << ROWS_PER_PART_BITS, partitions)
        for edge in stage.sends:
            for partition, frame in enumerate(sent[edge.number]):
                self.send(edge, partition, part.seq, self._shaped(edge, frame))
        self.say_all()
        self.journal.done(part.seq, position, self._names.count_of(CLIENT))
        past.done.add(part.seq)
        self.done.part(part.seq, block.height, part.end - part.start)

    def _shaped(self, edge: Edge, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows that are pages of an answer leave in the answer's types."""
        result = self.context.topology.streamed.get(edge.number)
        return frame if result is None else answer(result, Received({edge.number: frame}))

    def _end(self, past: Past) -> Step:
        count = len(past.done)
        if self.spec.stage.report_rejects is not None:
            self.say(self.context.topology.reports_log(self._table), record(Kind.END, self.spec.number, count))
        for edge in self.spec.stage.sends:
            for partition in range(self.context.topology.width(edge)):
                self.send_end(edge, partition, count)
        self.say_all()
        return Step.FINISHED

    def waits_for(self) -> str | None:
        return super().waits_for() or f"lane {self.spec.index} of table {self._table.name} waits for more parts"


class FoldTask(Task):
    """A partition of a later stage: merges what it reads, and says its outcome when all is there."""

    def restore(self, past: Past) -> None:
        if past.snapshot is not None:
            for number, dumped in msgspec.msgpack.decode(past.snapshot, type=dict[int, bytes]).items():
                self.intakes[number].restore(dumped)

    def sides_moved(self) -> None:
        own = {number: intake for number, intake in self.intakes.items() if intake.edge.spread != "broadcast"}
        read = sum(intake.read_bytes for intake in own.values())
        if read < self.context.limits.snapshot_bytes or read < sum(intake.state_bytes() for intake in own.values()):
            return
        dumped = {number: intake.dump() for number, intake in own.items()}
        self.journal.snapshot(msgspec.msgpack.encode(dumped))

    def work(self, past: Past) -> Step:
        stage, topology = self.spec.stage, self.context.topology
        give_up_if_lethal(past, FOLD_SEQ, self.context.limits.lethal_attempts, str(self.spec))
        self.journal.began(FOLD_SEQ)
        received = self.context.received(self.intakes)
        sent = run_fold(stage, received, topology.plan.partitions)
        for edge in stage.sends:
            for partition, frame in enumerate(sent[edge.number]):
                self._send_all(edge, partition, frame)
        if stage.result is not None:
            self._send_pages(topology.result_log(stage.result.query), answer(stage.result, received))
        self.say_all()
        return Step.FINISHED

    def _send_all(self, edge: Edge, partition: int, frame: pl.DataFrame) -> None:
        pieces = _pieces(frame, self.context.limits.record_rows)
        for seq, piece in enumerate(pieces):
            self.send(edge, partition, seq, piece)
        self.send_end(edge, partition, len(pieces))

    def _send_pages(self, log: str, frame: pl.DataFrame) -> None:
        pages = _pieces(frame, self.context.limits.page_rows)
        for seq, page in enumerate(pages):
            self.say(log, frame_record(self.spec.number, seq, page))
        self.say(log, record(Kind.END, self.spec.number, len(pages)))


def _pieces(frame: pl.DataFrame, rows: int) -> list[pl.DataFrame]:
    """The frame in order, in pieces of so many rows; one piece at least."""
    return [frame.slice(start, rows) for start in range(0, max(frame.height, 1), rows)]


def make_task(context: JobContext, spec: TaskSpec) -> Task:
    return SourceTask(context, spec) if spec.stage.table is not None else FoldTask(context, spec)
