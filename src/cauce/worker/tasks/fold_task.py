"""A partition of a later stage: merges its input, and appends its output when the input is complete."""

from __future__ import annotations

import msgspec
import polars as pl

from cauce.fabric.names import Log
from cauce.fabric.records import Kind, record
from cauce.job.frames import frame_record
from cauce.plan.evaluate import answer, run_fold
from cauce.plan.physical import Edge
from cauce.process.progress import tick
from cauce.worker.journal import JournalState
from cauce.worker.tasks.task import Step, Task

FOLD_SEQ = 0
"""Sequence number in the journal of a fold: all its work is one unit."""


class FoldTask(Task):
    """A partition of a later stage: merges its input, and appends its output when the input is complete."""

    sides_seq = FOLD_SEQ
    """A fold has one start for everything: merging its input is part of its work."""

    def restore(self, state: JournalState) -> None:
        if state.snapshot is not None:
            for number, dumped in msgspec.msgpack.decode(state.snapshot, type=dict[int, bytes]).items():
                self.intakes[number].restore(dumped)

    def sides_moved(self) -> None:
        own = {number: intake for number, intake in self.intakes.items() if intake.edge.spread != "broadcast"}
        read = sum(intake.read_bytes for intake in own.values())
        if read < self.context.limits.snapshot_bytes or read < sum(intake.state_bytes() for intake in own.values()):
            return
        dumped = {number: intake.dump() for number, intake in own.items()}
        self.journal.snapshot(msgspec.msgpack.encode(dumped))
        self.progressed()

    def work(self, state: JournalState) -> Step:
        stage, topology = self.spec.stage, self.context.topology
        self.began(FOLD_SEQ, str(self.spec))
        received = self.context.received(self.intakes)
        sent = run_fold(stage, received, topology.plan.partitions)
        for edge in stage.sends:
            for partition, frame in enumerate(sent[edge.number]):
                self._send_all(edge, partition, frame)
        if stage.result is not None:
            self._send_pages(topology.result_log(stage.result.query), answer(stage.result, received))
        self.flush()
        self.progressed()
        self.context.activity.leave()
        return Step.FINISHED

    def _send_all(self, edge: Edge, partition: int, frame: pl.DataFrame) -> None:
        pieces = _pieces(frame, self.context.limits.record_rows)
        for seq, piece in enumerate(pieces):
            self.send(edge, partition, seq, piece)
        self.send_end(edge, partition, len(pieces))

    def _send_pages(self, log: Log, frame: pl.DataFrame) -> None:
        pages = _pieces(frame, self.context.limits.page_rows)
        for seq, page in enumerate(pages):
            self.emit(log, frame_record(self.spec.number, seq, page))
            tick()
        self.emit(log, record(Kind.END, self.spec.number, len(pages)))


def _pieces(frame: pl.DataFrame, rows: int) -> list[pl.DataFrame]:
    """Splits the frame, in order, into pieces of at most `rows` rows; at least one piece."""
    return [frame.slice(start, rows) for start in range(0, max(frame.height, 1), rows)]
