"""A partition of a later stage: merges its input, and appends its output when the input is complete."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from cauce.job.topology import TaskSpec
from cauce.plan.evaluate import Received, answer, run_fold
from cauce.worker.edge_input import Intake
from cauce.worker.journal import JournalState
from cauce.worker.memory.spill import Spill
from cauce.worker.memory.splitting import InputSplitter
from cauce.worker.tasks.broadcast_sides import has_large_sides, park_large_sides, received_in_blocks
from cauce.worker.tasks.job_context import JobContext
from cauce.worker.tasks.outputs import FoldOutput, PageOutput
from cauce.worker.tasks.pieces import NotVisible
from cauce.worker.tasks.sorted_answer import send_at_once, send_sorted
from cauce.worker.tasks.split_fold import Progress, SplitFold, first_rule, is_splittable, own_edges
from cauce.worker.tasks.task import Step, Task

FOLD_SEQ = 0
"""Sequence number in the journal of a fold: all its work is one unit."""

_PROGRESS = -1
"""The key of the progress of a split fold in its snapshots. Others are the numbers of edges."""

_SNAPSHOT_BYTES = 768 << 20
"""The state of a larger fold is not stored: a record holds at most 1 GiB."""


class FoldTask(Task):
    """A partition of a later stage: merges its input, and appends its output when the input is complete.

    If the input exceeds its share of the memory, it is split into temporary files as it arrives. If the stage has no
    keys to split it by, it is only counted, and read again when it is complete."""

    sides_seq = FOLD_SEQ
    """A fold has one start for everything: merging its input is part of its work."""

    def __init__(self, context: JobContext, spec: TaskSpec) -> None:
        super().__init__(context, spec)
        self._progress: Progress | None = None
        self._split: _Split | None = None
        self._spill: Spill | None = None
        """Its last temporary files, which may be removed."""

    @property
    def _own(self) -> dict[int, Intake]:
        return {number: intake for number, intake in self.intakes.items() if intake.edge.spread != "broadcast"}

    def restore(self, state: JournalState) -> None:
        if state.snapshot is not None:
            dumped = msgspec.msgpack.decode(state.snapshot, type=dict[int, bytes])
            progress = dumped.pop(_PROGRESS, None)
            self._progress = None if progress is None else msgspec.msgpack.decode(progress, type=Progress)
            for number, each in dumped.items():
                self.intakes[number].restore(each)

    @property
    def held_bytes(self) -> int:
        return self.context.budget.account.held_by(self)

    @property
    def spilled_bytes(self) -> int:
        return self._spill.written_bytes if self._spill is not None else 0

    def park(self) -> None:
        """Drops the input that it holds, or writes it to its temporary files. If it is dropped, it is read again when
        it is complete."""
        if self._split is None:
            for intake in self._own.values():
                intake.park()
            return
        try:
            self._split.splitter.flush()
        except BaseException:
            # Another task may have called this, and is blamed for it. This one must not continue without these rows.
            self._stop_splitting()
            raise

    def release(self) -> None:
        self._stop_splitting()
        super().release()

    def abort(self) -> None:
        self._stop_splitting()
        super().abort()

    def sides_moved(self) -> None:
        park_large_sides(self)
        own = self._own
        budget = self.context.budget
        if self._split is None and self._is_too_large():
            self._start_splitting()
        held = (
            self._split.splitter.held_bytes
            if self._split is not None
            else sum(each.held_bytes for each in own.values())
        )
        budget.account.set_held(self, held)
        if self._split is not None:
            return
        read = sum(intake.read_bytes for intake in own.values())
        held = sum(intake.state_bytes() for intake in own.values()) if read >= self.context.limits.snapshot_bytes else 0
        if self.context.limits.snapshot_bytes <= read >= held and held < _SNAPSHOT_BYTES:
            self._snapshot()

    def _start_splitting(self) -> None:
        """Splits the input while it arrives, or only counts it if the stage has no keys."""
        if not is_splittable(self.context, self.spec.stage) or not self.spec.stage.sends:
            self.park()
            return
        rule = first_rule(self.context, self.spec.stage)
        edges = own_edges(self.context, self.spec.stage)
        self._spill = spill = self.context.budget.spill(self.spec)
        splitter = InputSplitter(spill, "r", edges, rule, self.context.budget.fold_bytes // 2)
        self._split = _Split(splitter, spill)
        for intake in self._own.values():
            intake.divert(splitter.sink(intake.edge))

    def _stop_splitting(self) -> None:
        """Removes the temporary files. The input is read again from its start."""
        if self._split is not None:
            self._split.spill.close()
            self._split = None
            for intake in self._own.values():
                intake.restart()

    def _snapshot(self) -> None:
        dumped = {number: intake.dump() for number, intake in self._own.items()}
        if self._progress is not None:
            dumped[_PROGRESS] = msgspec.msgpack.encode(self._progress)
        self.journal.snapshot(msgspec.msgpack.encode(dumped))
        self.progressed()

    def work(self, state: JournalState) -> Step:
        self.began(FOLD_SEQ, str(self.spec))
        for intake in self._own.values():
            intake.condense()
        too_large = self._is_too_large()
        parked = any(intake.parked for intake in self._own.values()) or has_large_sides(self)
        try:
            if self._split is not None or too_large or parked or self._progress is not None:
                self._work_in_parts(too_large=too_large)
            else:
                self._work_at_once()
        except NotVisible as problem:
            self.repeated_reads.failed(problem.log, self.context.job, problem.names)
            return Step.WAITING
        self.flush()
        self.context.budget.account.release(self)
        self.progressed()
        self.context.activity.leave()
        return Step.FINISHED

    def _is_too_large(self) -> bool:
        limit = self.context.budget.fold_bytes
        return bool(limit) and sum(intake.weight for intake in self._own.values()) > limit

    def _work_at_once(self) -> None:
        stage, topology = self.spec.stage, self.context.topology
        received = self.context.received(self.intakes)
        if stage.sends:
            output = FoldOutput(self)
            for edge, frames in run_fold(stage, received, topology.plan.partitions):
                output.add(edge, frames)
            output.end()
        if stage.result is not None:
            pages = PageOutput(self, topology.result_log(stage.result.query))
            pages.add(answer(stage.result, received))
            pages.end()

    def _work_in_parts(self, *, too_large: bool) -> None:
        """Computes the input in parts that fit into the memory. Reads it again unless it has been split."""
        self.park()
        self.context.budget.account.set_held(self, 0)
        split, self._split = self._split, None
        self._spill = spill = self.context.budget.spill(self.spec) if split is None else split.spill
        ranges = None if split is None else split.splitter.ranges()
        try:
            shared = self._shared(spill)
            if self.spec.stage.sends:
                SplitFold(self, spill, shared, self._save).run(ranges, too_large=too_large, progress=self._progress)
            if self.spec.stage.result is not None:
                self._send_answer(spill, shared, too_large=too_large)
        finally:
            spill.close()

    def _shared(self, spill: Spill) -> Received:
        """The broadcast inputs."""
        if has_large_sides(self):
            return received_in_blocks(self, spill)
        broadcast = {number: each for number, each in self.intakes.items() if each.edge.spread == "broadcast"}
        return self.context.received(broadcast)

    def _send_answer(self, spill: Spill, shared: Received, *, too_large: bool) -> None:
        stage = self.spec.stage
        assert stage.result is not None
        sent = self._progress.path[0] if self._progress is not None else 0
        output = PageOutput(self, self.context.topology.result_log(stage.result.query), sent)
        if too_large or not send_at_once(self, shared, output):
            send_sorted(self, spill, shared, output, self._save_pages)
        output.end()

    def _save_pages(self, pages: int) -> None:
        if self._progress is None or pages > self._progress.path[0]:
            self._save(Progress([pages], {}))

    def _save(self, progress: Progress) -> None:
        self._progress = progress
        self._snapshot()


@dataclass(frozen=True)
class _Split:
    """The input of a fold while it is split into temporary files."""

    splitter: InputSplitter
    spill: Spill
