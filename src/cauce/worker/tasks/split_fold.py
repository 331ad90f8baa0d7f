"""A fold whose input exceeds its share of the memory: splits it by the hash of its keys into ranges, and computes one
after the other.

Which ranges are split depends only on the set of records read and on the job's `fold_bytes`. So every holder of the
task makes the same output, and a new one continues after the last range whose output is in the logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import polars as pl

from cauce.errors import MemoryExceeded
from cauce.fabric.contract import Fabric
from cauce.job.completion import Names
from cauce.job.frames import load_frame
from cauce.job.log_reader import LogReader
from cauce.plan.evaluate import Received, run_fold
from cauce.plan.nodes import Node
from cauce.plan.nodes.base import Gathers
from cauce.plan.physical import Edge, Stage
from cauce.process.progress import tick
from cauce.worker.memory.ranges import (
    HASHES,
    RANGES,
    EdgeRange,
    NamedFrame,
    Range,
    Splitter,
    collect_all,
    is_one_hash,
    range_count,
)
from cauce.worker.memory.ranked_state import ranked_state
from cauce.worker.memory.spill import Spill
from cauce.worker.memory.streams import row_stream, value_stream
from cauce.worker.tasks.job_context import JobContext
from cauce.worker.tasks.outputs import Counts, FoldOutput
from cauce.worker.tasks.task import Task

Path = tuple[int, ...]
"""The numbers of a range, and of the ranges that it is part of."""


class NotVisible(Exception):
    """Records that an earlier holder has read are not visible to this process yet."""


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


class SplitFold:
    """`shared` are the broadcast inputs. `save` stores the progress durably."""

    def __init__(
        self, task: Task, spill: Spill, shared: dict[int, pl.DataFrame], save: Callable[[Progress], None]
    ) -> None:
        self._task = task
        self._context = task.context
        self._stage = task.spec.stage
        self._spill = spill
        self._shared = shared
        self._save = save
        self._fold_bytes = task.context.budget.fold_bytes
        self._done: Path = ()
        self._output = FoldOutput(task)

    def run(self, weights: Mapping[int, int], *, too_large: bool, progress: Progress | None) -> None:
        """`weights` are the sizes of all rows of each edge; `too_large` whether they are known to exceed the share."""
        if progress is not None:
            self._done = tuple(progress.path)
            self._output = FoldOutput(self._task, progress.sent)
        found = whole_input(self._task, weights)
        if is_splittable(self._context, self._stage):
            count = range_count(sum(weights.values()), self._fold_bytes)
            self._visit(found, (), self._stage.partitions, count, too_large=too_large)
        else:
            self._compute_or_stream(found, ())
        self._output.end()
        self._task.flush()

    def _visit(self, found: Range, path: Path, divisor: int, count: int, *, too_large: bool = False) -> None:
        """Computes a range, or splits it if it is too large."""
        if path and path <= self._done[: len(path)] and (path < self._done[: len(path)] or path == self._done):
            return
        partly_done = path == self._done[: len(path)] and len(self._done) > len(path)
        if not partly_done and not too_large:
            if path and self._output.sent and all(each.is_empty for each in found):
                return
            frames = collect_all(found, self._fold_bytes)
            if frames is not None:
                self._compute(frames, path)
                return
        if is_one_hash(found) or divisor * count > HASHES:
            self._stream(found, path)
            return
        first = self._done[len(path)] if partly_done else 0
        for number, part in enumerate(self._split(found, path, divisor, count, first)):
            if number >= first:
                self._visit(part, (*path, number), divisor * count, RANGES)
                self._remove(path, number)

    def _split(self, found: Range, path: Path, divisor: int, count: int, first: int) -> Iterator[Range]:
        name = _name(path)
        parts: list[list[EdgeRange]] = []
        for each in found:
            splitter = Splitter(self._spill, name, each.edge.keys, count, divisor, self._fold_bytes // 2, first)
            parts.append(splitter.split(each))
        return (list(part) for part in zip(*parts, strict=True))

    def _remove(self, path: Path, number: int) -> None:
        for edge in own_edges(self._context, self._stage):
            self._spill.remove(f"{_name(path)}-{number}.{edge.number}")

    def _compute(self, frames: dict[int, pl.DataFrame], path: Path) -> None:
        self._send(Received({**self._shared, **frames}, slice_cells=self._context.budget.slice_cells), path)

    def _compute_or_stream(self, found: Range, path: Path) -> None:
        frames = collect_all(found, self._fold_bytes)
        if frames is not None:
            self._compute(frames, path)
        else:
            self._stream(found, path)

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


def whole_input(task: Task, weights: Mapping[int, int]) -> list[EdgeRange]:
    """All records of the inputs that are not broadcast, read again from their logs."""

    def reading(edge: Edge) -> Callable[[], Iterator[NamedFrame]]:
        context = task.context
        log = context.topology.edge_log(edge, task.spec.index)

        def read() -> Iterator[NamedFrame]:
            names = Names(f"job {context.job}, {log}", context.topology.producers(edge))
            yield from read_log(context.fabric, context.job, LogReader(log, context.limits.read_bytes), names)

        return read

    edges = own_edges(task.context, task.spec.stage)
    return [EdgeRange(edge, reading(edge), weight=weights[edge.number]) for edge in edges]


def received_in_pieces(
    task: Task, spill: Spill, found: Range, shared: dict[int, pl.DataFrame], name: str, roots: Sequence[Node]
) -> Received:
    """Inputs of which the large ones come in pieces. If a step needs all rows of such an input at once, they may take
    all memory of the worker; raises MemoryExceeded if that is not enough."""
    try:
        return _in_pieces(task, spill, found, shared, name, roots)
    except _Whole as problem:
        frames = collect_all(found, task.context.budget.whole_bytes)
        if frames is None:
            raise _exceeded(task, problem.found, problem.step) from None
        return Received({**shared, **frames}, slice_cells=task.context.budget.slice_cells)


class _Whole(Exception):
    """A step needs all rows of an input at once."""

    def __init__(self, found: EdgeRange, step: str) -> None:
        super().__init__(step)
        self.found = found
        self.step = step


def _in_pieces(
    task: Task, spill: Spill, found: Range, shared: dict[int, pl.DataFrame], name: str, roots: Sequence[Node]
) -> Received:
    share = max(task.context.budget.fold_bytes // len(found), 1)
    frames, streamed = dict(shared), list[EdgeRange]()
    for each in found:
        collected = each.collect(share)
        frame = collected.frame() if collected else ranked_state(spill, each, f"{name}.{each.edge.number}q", share)
        if frame is None:
            streamed.append(each)
        else:
            frames[each.edge.number] = frame
    numbers = [each.edge.number for each in streamed]
    try:
        for root in roots:
            root.streams(numbers)
    except Gathers as problem:
        raise _Whole(streamed[0], str(problem)) from None
    streams = {}
    for each in streamed:
        if each.edge.merge is None:
            streams[each.edge.number] = row_stream(spill, each, f"{name}.{each.edge.number}", share // 2)
            continue
        stream = value_stream(spill, each, f"{name}.{each.edge.number}", share)
        if stream is None:
            raise _Whole(each, each.edge.merge.describe())
        streams[each.edge.number] = stream
    return Received(frames, streams, task.context.budget.slice_cells)


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


def read_log(fabric: Fabric, job: str, reader: LogReader, names: Names) -> Iterator[NamedFrame]:
    """All records of a log, each once. Raises NotVisible at the end if some are missing."""
    reader.read_barrier(fabric, job)
    for batch in reader.batches(fabric, job):
        for record in names.fresh(batch.records):
            yield (record.seq, record.producer), load_frame(record.body)
        tick()
    if not names.complete:
        raise NotVisible


def _name(path: Path) -> str:
    return "r" + "-".join(map(str, path))
