"""A fold whose input exceeds its share of the memory: splits it by the hash of its keys into ranges, and computes one
after the other.

Which ranges are split depends only on the set of records read and on the job's `fold_bytes`. So every holder of the
task makes the same output, and a new one continues after the last range whose output is in the logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
import polars as pl

from cauce.errors import MemoryExceeded
from cauce.plan.evaluate import Received, run_fold
from cauce.plan.nodes import Node
from cauce.plan.physical import Edge, Stage
from cauce.process.progress import tick
from cauce.worker.memory.ranges import (
    HASHES,
    EdgeRange,
    Range,
    collect_all,
    grouped,
    hot_hash,
    is_one_hash,
    range_count,
    weight_of,
)
from cauce.worker.memory.spill import Spill
from cauce.worker.memory.splitting import Apart, ByHash, InputSplitter, Rule
from cauce.worker.tasks.job_context import JobContext
from cauce.worker.tasks.outputs import Counts, FoldOutput
from cauce.worker.tasks.pieces import NeedsAllRows, in_pieces, read_again, with_shared
from cauce.worker.tasks.task import Task

Path = tuple[int, ...]
"""The number of a group of ranges, which is that of its first range, after those of the groups that it is part of."""


class Progress(msgspec.Struct, frozen=True, array_like=True):
    """The output of all ranges up to `path` is in the logs; `sent` counts its records by edge and partition."""

    path: list[int]
    sent: Counts


def is_splittable(context: JobContext, stage: Stage) -> bool:
    """Whether its partitions can be split further by the same hash: rows with equal keys stay together."""
    edges = own_edges(context, stage)
    hashed = all(edge.spread == "hash" and edge.keys for edge in edges)
    return bool(edges) and hashed and stage.partitions > 1


def own_edges(context: JobContext, stage: Stage) -> list[Edge]:
    """The inputs of a stage besides the broadcast ones."""
    edges = [context.topology.plan.edges[number] for number in stage.receives]
    return [edge for edge in edges if edge.spread != "broadcast"]


def first_rule(context: JobContext, stage: Stage) -> ByHash:
    """The ranges of the whole input of a partition, whose size is not known while it arrives."""
    return ByHash(range_count(context.budget.fold_bytes), stage.partitions)


class SplitFold:
    """`shared` are the broadcast inputs. `save` stores the progress durably."""

    def __init__(self, task: Task, spill: Spill, shared: Received, save: Callable[[Progress], None]) -> None:
        self._task = task
        self._context = task.context
        self._stage = task.spec.stage
        self._spill = spill
        self._shared = shared
        self._save = save
        self._fold_bytes = task.context.budget.fold_bytes
        self._done: Path = ()
        self._output = FoldOutput(task)

    def run(self, ranges: Sequence[Range] | None, *, too_large: bool, progress: Progress | None) -> None:
        """`ranges` is the input if it was split as it arrived; else it is read again. `too_large`: whether it is known
        to exceed the share."""
        if progress is not None:
            self._done = tuple(progress.path)
            self._output = FoldOutput(self._task, progress.sent)
        if is_splittable(self._context, self._stage):
            self._run_ranges(ranges, too_large=too_large or progress is not None)
        else:
            self._compute_or_stream(whole_input(self._task), too_large=too_large)
        self._output.end()
        self._task.flush()

    def _run_ranges(self, ranges: Sequence[Range] | None, *, too_large: bool) -> None:
        if ranges is None:
            found = whole_input(self._task)
            frames = None if too_large else collect_all(found, self._fold_bytes)
            if frames is not None:
                self._compute(frames, ())
                return
            ranges = self._split(found, (), first_rule(self._context, self._stage))
        self._visit_groups(ranges, (), self._stage.partitions * len(ranges))

    def _visit_groups(self, ranges: Sequence[Range], path: Path, divisor: int) -> None:
        for numbers, group in grouped(ranges, self._fold_bytes, self._first(path)):
            self._visit(group, (*path, numbers[0]), divisor)
            self._remove(path, numbers)

    def _first(self, path: Path) -> int:
        """The first group within the ranges of a path that may not be done."""
        partly_done = path == self._done[: len(path)] and len(self._done) > len(path)
        return self._done[len(path)] if partly_done else 0

    def _visit(self, found: Range, path: Path, divisor: int) -> None:
        """Computes a group of ranges, or splits it if it is too large."""
        done = self._done[: len(path)]
        if path < done or path == self._done:
            return
        if path != done:
            if self._output.sent and all(each.is_empty for each in found):
                return
            frames = collect_all(found, self._fold_bytes)
            if frames is not None:
                self._compute(frames, path)
                return
        if is_one_hash(found):
            self._stream(found, path)
            return
        hot = hot_hash(found)
        count = range_count(self._fold_bytes, weight_of(found))
        if hot is not None:
            self._visit_groups(self._split(found, path, Apart(hot)), path, divisor)
        elif divisor * count <= HASHES:
            self._visit_groups(self._split(found, path, ByHash(count, divisor)), path, divisor * count)
        else:
            self._stream(found, path)

    def _split(self, found: Range, path: Path, rule: Rule) -> list[Range]:
        edges = [each.edge for each in found]
        splitter = InputSplitter(self._spill, _name(path), edges, rule, self._fold_bytes // 2, self._first(path))
        splitter.add_all(found)
        return splitter.ranges()

    def _remove(self, path: Path, numbers: Iterable[int]) -> None:
        for edge in own_edges(self._context, self._stage):
            for number in numbers:
                self._spill.remove(f"{_name(path)}-{number}.{edge.number}")

    def _compute(self, frames: dict[int, pl.DataFrame], path: Path) -> None:
        self._send(with_shared(self._shared, frames), path)

    def _compute_or_stream(self, found: Range, *, too_large: bool) -> None:
        frames = None if too_large else collect_all(found, self._fold_bytes)
        if frames is not None:
            self._compute(frames, ())
        else:
            self._stream(found, ())

    def _send(self, received: Received, path: Path) -> None:
        for edge, frames in run_fold(self._stage, received, self._context.topology.plan.partitions):
            self._output.add(edge, frames)
            tick()
        self._task.flush()
        if path:
            self._save(Progress(list(path), self._output.sent))

    def _stream(self, found: Range, path: Path) -> None:
        """Computes a range that no hash splits: large inputs are read in pieces, several times if necessary."""
        name = f"{_name(path)}s"
        received = received_in_pieces(self._task, self._spill, found, self._shared, name, self._stage.roots)
        self._send(received, path)


def whole_input(task: Task) -> list[EdgeRange]:
    """All records of the inputs that are not broadcast, read again from their logs."""
    edges = own_edges(task.context, task.spec.stage)
    return [read_again(task.context, edge, task.spec.index) for edge in edges]


def received_in_pieces(
    task: Task, spill: Spill, found: Range, shared: Received, name: str, roots: Sequence[Node]
) -> Received:
    """Inputs of which the large ones come in pieces. If a step needs all rows of such an input at once, they may take
    all memory of the worker; raises MemoryExceeded if that is not enough."""
    budget = task.context.budget
    try:
        return in_pieces(spill, found, shared, name, max(budget.fold_bytes // len(found), 1), roots)
    except NeedsAllRows as problem:
        frames = collect_all(found, budget.whole_bytes)
        if frames is None:
            raise _exceeded(task, problem.found, problem.step) from None
        return with_shared(shared, frames)


def _exceeded(task: Task, found: EdgeRange, step: str) -> MemoryExceeded:
    row = next((frame for _, frame in found.read() if frame.height), None)
    keys = found.edge.keys
    key = ", ".join(f"{name} = {row[name][0]!r}" for name in keys) if row is not None and keys else ""
    whose = f"the rows with {key}" if key else "its rows"
    size = task.context.budget.whole_bytes // 1_000_000
    return MemoryExceeded(
        f"{task.spec}: {whose} exceed the {size} MB that its input may take, and the step '{step}' needs them at once; "
        "give more with --memory, start fewer workers, or filter the rows before this step"
    )


def _name(path: Path) -> str:
    return "r" + "-".join(map(str, path))
