"""The common part of all tasks: side inputs, the journal, and output whose identity derives from the input."""

from __future__ import annotations

from enum import Enum

import polars as pl

from cauce.fabric.contract import Append, Log
from cauce.fabric.records import Kind, Record, record
from cauce.job.frames import frame_record, rows_record
from cauce.job.topology import TaskSpec
from cauce.plan.physical import Edge
from cauce.process.progress import tick
from cauce.worker.counters import Work
from cauce.worker.journal import Journal, JournalState
from cauce.worker.tasks.job_context import JobContext
from cauce.worker.tasks.lost_records import RepeatedReads

SIDES_SEQ = 1 << 63
"""Sequence number in the journal of a lane for reading its side inputs. No part has this number."""

JOURNALED_SIDES_BYTES = 1 << 20
"""Smaller side inputs are read without a start in the journal: they crash no process, and most of them are small."""

IDLE_STEPS = 50
"""A task that had nothing to read for this many steps counts as idle: a crash is not attributed to it."""

_FLUSH_BYTES = 16 << 20
"""Pending records are appended and confirmed together once they exceed this size."""


class Step(Enum):
    PROGRESS = "progress"
    WAITING = "waiting"
    FINISHED = "finished"


class Task:
    """Base of both kinds of task: reads its side inputs to completion, keeps a journal, and derives the identity of its
    output from its input.

    It appends a start to the journal before anything that takes memory or time: restoring a snapshot, reading side
    inputs, and the work itself."""

    sides_seq = SIDES_SEQ
    """Sequence number in the journal for reading the side inputs."""

    def __init__(self, context: JobContext, spec: TaskSpec) -> None:
        self.context = context
        self.spec = spec
        limits = context.limits
        self.journal = Journal(context.fabric, context.job, spec.journal, spec.number, limits.journal, limits.run_id)
        edges = context.topology.plan.edges
        self.intakes = {number: context.intake(edges[number], spec.index) for number in spec.stage.receives}
        self.state: JournalState | None = None
        self.done = Work()
        self._pending: list[Append] = []
        self._pending_bytes = 0
        self._side_bytes = 0
        """Bytes of side inputs that this holder has read."""
        self.repeated_reads = RepeatedReads()
        self._idle_steps = 0
        """Consecutive steps without work."""
        self._started: tuple[int, str] | None = None
        """The last start: its sequence number and its name in messages."""
        self.is_suspect = False
        """Whether it may have caused an out-of-memory crash, and has made no progress since. Until then it runs alone,
        so that another crash is conclusive."""

    def step(self) -> Step:
        outcome = self._step()
        self._idle_steps = self._idle_steps + 1 if outcome is Step.WAITING else 0
        if self._idle_steps == IDLE_STEPS:
            self.journal.abort()
        return outcome

    def _step(self) -> Step:
        if self.state is None:
            state = self.journal.replay()
            if state is None:
                return Step.WAITING
            self.context.log.report(self.spec.number, state.open, state.snapshots)
            self.is_suspect = any(self.context.log.crashes.is_suspect(start.which) for _, start in state.open)
            if state.read_bytes:
                self.charge_side_bytes(state.read_bytes)
            self.restore(state)
            self.state = state
        open_sides = [intake for intake in self.intakes.values() if not intake.complete]
        if open_sides:
            # All of them, so that a stalled input does not block the others.
            moved = [self.context.advance(intake, self.charge_side_bytes) for intake in open_sides]
            self.sides_moved()
            return Step.PROGRESS if any(moved) else Step.WAITING
        return self.work(self.state)

    def charge_side_bytes(self, size: int) -> None:
        """Called before `size` more bytes of side inputs are processed."""
        self._side_bytes += size
        if self._side_bytes >= min(JOURNALED_SIDES_BYTES, self.context.limits.read_bytes):
            self.began(self.sides_seq, str(self.spec))

    def began(self, seq: int, what: str) -> None:
        if self.is_suspect:
            self.context.activity.wait_until_alone()
        self._started = seq, what
        shared = self.context.activity.enter(self.journal)
        if not self.journal.is_under_way(seq):
            self.journal.began(seq, what, self.context.log.scene(shared=shared))

    def suspend(self) -> None:
        """Called when its step is suspended while tasks of other owners run."""
        self.context.activity.suspend(self.journal)

    def resume(self) -> None:
        """Called before its step continues: a crash from now on is attributed to this task."""
        self.context.activity.resume(self.journal)
        if self._started is not None:
            self.began(*self._started)

    def progressed(self) -> None:
        """Called after durable progress: no crash can undo it."""
        self.is_suspect = False
        self.context.milestones += 1
        self.context.log.progressed(self.spec.number)

    def release(self) -> None:
        """Called before the lease is released: aborts the current start, so that it does not count as a crash."""
        self.journal.abort()

    def abort(self) -> None:
        """Called after the lease was lost: withdraws the crash that the next holder may have recorded."""
        start = self.journal.abort()
        if start is not None:
            self.context.log.survived(self.spec.number, start)

    @property
    def fresh(self) -> bool:
        """Whether another worker could take over without replaying any input."""
        return all(
            intake.reader.position.is_start for intake in self.intakes.values() if intake.edge.spread != "broadcast"
        )

    @property
    def held_bytes(self) -> int:
        """For display: the input that it holds in memory, without broadcast inputs."""
        return 0

    @property
    def spilled_bytes(self) -> int:
        """For display: what it has written to temporary files."""
        return 0

    def missing_input(self) -> str | None:
        for intake in self.intakes.values():
            if not intake.complete:
                return intake.names.missing()
        return None

    def restore(self, state: JournalState) -> None:
        raise NotImplementedError

    def sides_moved(self) -> None:
        pass

    def work(self, state: JournalState) -> Step:
        raise NotImplementedError

    def send(self, edge: Edge, partition: int, seq: int, frame: pl.DataFrame) -> None:
        # The pages of an answer are read by any later version.
        make = frame_record if edge.number in self.context.topology.streamed else rows_record
        output = make(self.spec.number, seq, frame)
        tick()
        self.done.send(edge.number, frame.height, len(output.body))
        self.emit(self.context.topology.edge_log(edge, partition), output)

    def send_end(self, edge: Edge, partition: int, count: int) -> None:
        self.emit(self.context.topology.edge_log(edge, partition), record(Kind.END, self.spec.number, count))

    def emit(self, log: Log, output: Record) -> None:
        """Queues a record. It is in the log after `flush`, and may be there before."""
        self._pending.append((log, [output]))
        self._pending_bytes += len(output.body)
        if self._pending_bytes > _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        self.context.fabric.append_all(self.context.job, pending)
        self.context.news += bool(pending)
