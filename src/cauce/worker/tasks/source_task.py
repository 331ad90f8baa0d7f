"""A lane of a table: reads its parts one by one and evaluates the scan stage on each."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from cauce.errors import CorruptRecord
from cauce.fabric.contract import Position
from cauce.fabric.records import CLIENT, Kind, Record, record
from cauce.job.completion import Names
from cauce.job.log_reader import LogReader
from cauce.job.part_codec import dump_report, load_part
from cauce.job.topology import TaskSpec
from cauce.plan.evaluate import Received, answer, run_part
from cauce.plan.physical import Edge
from cauce.process.progress import tick
from cauce.scan.parts import Part
from cauce.worker.journal import JournalState
from cauce.worker.memory.spill import Spill
from cauce.worker.tasks.broadcast_sides import has_large_sides, park_large_sides, received_in_blocks
from cauce.worker.tasks.indexed_parts import IndexedParts
from cauce.worker.tasks.job_context import JobContext
from cauce.worker.tasks.pieces import NotVisible
from cauce.worker.tasks.task import Step, Task

ROWS_PER_PART_BITS = 32
"""The position of a row is the number of its part and its index in the part."""


class SourceTask(Task):
    """A lane of a table. For each part it sends one record, with the part's number, to every partition of its edges."""

    def __init__(self, context: JobContext, spec: TaskSpec) -> None:
        super().__init__(context, spec)
        assert spec.stage.table is not None
        self._table = spec.stage.table
        self._source = context.topology.source(context.job, self._table, spec.index)
        self._names = Names(f"job {context.job}, {self._source.log}", [CLIENT])
        if self._source.count is not None:
            self._names.end(record(Kind.END, CLIENT, self._source.count))
        self._parts = IndexedParts(context, spec)
        self._reader = LogReader(self._source.log, context.limits.read_bytes)
        self._ahead: list[tuple[Record, Position]] = []
        self._barrier_passed = False
        """Whether everything that was confirmed before the number of parts can be read."""
        self._spill: Spill | None = None
        self._in_blocks: Received | None = None
        """Its broadcast inputs, if they exceed the memory."""

    def sides_moved(self) -> None:
        park_large_sides(self)

    @property
    def spilled_bytes(self) -> int:
        return self._spill.written_bytes if self._spill is not None else 0

    def release(self) -> None:
        self._drop_blocks()
        super().release()

    def abort(self) -> None:
        self._drop_blocks()
        super().abort()

    def _drop_blocks(self) -> None:
        """Removes the temporary files."""
        self._in_blocks = None
        if self._spill is not None:
            self._spill.close()

    def _received(self) -> Received:
        """Its broadcast inputs. Raises NotVisible if they must be read again and are not visible yet."""
        if not has_large_sides(self):
            return self.context.received(self.intakes)
        if self._in_blocks is None:
            self.began(self.sides_seq, str(self.spec))
            self._spill = self.context.budget.spill(self.spec)
            self._in_blocks = received_in_blocks(self, self._spill)
        return self._in_blocks

    def restore(self, state: JournalState) -> None:
        """Resumes after the last completed part. Earlier parts are known from the journal and not read again."""
        self._reader.position = state.position
        if state.count is not None:
            self._names.end(record(Kind.END, CLIENT, state.count))

    def work(self, state: JournalState) -> Step:
        if self._ahead:
            try:
                self._received()
            except NotVisible as problem:
                self.repeated_reads.failed(problem.log, self.context.job, problem.names)
                return Step.WAITING
            self.repeated_reads.succeeded()
            part, position = self._ahead.pop(0)
            if part.seq not in state.done:
                self._process(load_part(part), state, position)
            return Step.PROGRESS
        return self._finish_or_read(state)

    def _finish_or_read(self, state: JournalState) -> Step:
        before, fresh = self._reader.position, list[Record]()
        if self._source.count is not None and self._complete(state):
            # The log of a kept dataset may go on with parts of later versions.
            return self._end(state)

        def process(records: Sequence[Record]) -> None:
            included = filter(self._source.includes, records)
            fresh.extend(each for each in self._names.fresh(included) if each.seq not in state.done)

        if not self._reader.read(self.context.fabric, self._source.job, process):
            return self._end(state) if self._complete(state) else self._wait(state)
        # Only after its last record has the whole batch been processed.
        after = self._reader.position
        self._ahead = [(each, before) for each in fresh[:-1]] + [(each, after) for each in fresh[-1:]]
        return Step.PROGRESS

    def _wait(self, state: JournalState) -> Step:
        if self._source.kept is not None:
            self._source.kept.check(self.context.fabric)
        elif self._names.count_of(CLIENT) is not None:
            self._check_kept(state)
        return Step.WAITING

    def _check_kept(self, state: JournalState) -> None:
        """The number of parts is appended when all of them are confirmed. So none is missing after a read barrier,
        unless the fabric has lost confirmed records. If the parts of an ended job were deleted, its outcome was
        recorded before, and that one counts."""
        if self._barrier_passed:
            count = self._names.count_of(CLIENT)
            raise CorruptRecord(
                f"log {self._source.log} of job {self.context.job} holds {len(state.done)} of the {count} parts that "
                "were stored in it: the others were lost, as in a power failure; run the job again"
            )
        self._reader.read_barrier(self.context.fabric, self._source.job)
        self._barrier_passed = True

    def _complete(self, state: JournalState) -> bool:
        return self._names.count_of(CLIENT) == len(state.done)

    def _process(self, part: Part, state: JournalState, position: Position) -> None:
        context, stage = self.context, self.spec.stage
        unit = "rows" if part.form == "parquet" else "bytes"
        what = f"part {part.seq} of {self._table.name} ({part.file.name}, {unit} {part.start} to {part.end})"
        self.began(part.seq, what)
        received = self._received()
        block, rows = self._parts.read(part, received)
        tick()
        partitions = context.topology.plan.partitions
        if stage.report_rejects is not None:
            rejects = block.rejects(stage.report_rejects)
            report = dump_report(self.spec.number, part, block, rejects)
            self.emit(context.topology.reports_log(self._table), report)
            if not block.whole:
                # Flush now: a query may fail on a part that was cut wrongly, and the client must learn the reason.
                self.flush()
        sent = run_part(stage, received, block, part.seq << ROWS_PER_PART_BITS, partitions)
        for edge in stage.sends:
            for partition, frame in enumerate(sent[edge.number]):
                self.send(edge, partition, part.seq, self._shaped(edge, frame))
        self.flush()
        self.journal.done(part.seq, position, self._names.count_of(CLIENT))
        state.done.add(part.seq)
        self.progressed()
        self.done.part(part.seq, rows, part.end - part.start)

    def _shaped(self, edge: Edge, frame: pl.DataFrame) -> pl.DataFrame:
        """Converts rows that are pages of an answer to the types of the answer."""
        result = self.context.topology.streamed.get(edge.number)
        return frame if result is None else answer(result, Received({edge.number: frame}))

    def _end(self, state: JournalState) -> Step:
        count = len(state.done)
        if self.spec.stage.report_rejects is not None:
            self.emit(self.context.topology.reports_log(self._table), record(Kind.END, self.spec.number, count))
        for edge in self.spec.stage.sends:
            for partition in range(self.context.topology.width(edge)):
                self.send_end(edge, partition, count)
        self.flush()
        self._drop_blocks()
        return Step.FINISHED

    def missing_input(self) -> str | None:
        return super().missing_input() or f"lane {self.spec.index} of table {self._table.name} waits for more parts"
