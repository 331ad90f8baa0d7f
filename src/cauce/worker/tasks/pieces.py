"""Inputs of a stage that are read again from their logs, as a whole or in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from cauce.fabric.contract import Fabric, Log
from cauce.job.completion import Names
from cauce.job.frames import load_frame
from cauce.job.log_reader import LogReader
from cauce.plan.evaluate import Received
from cauce.plan.nodes import Node
from cauce.plan.nodes.base import Gathers
from cauce.plan.physical import Edge
from cauce.process.progress import tick
from cauce.worker.memory.ranges import EdgeRange, NamedFrame, Range
from cauce.worker.memory.ranked_state import ranked_state
from cauce.worker.memory.spill import Spill
from cauce.worker.memory.streams import row_stream, value_stream
from cauce.worker.tasks.job_context import JobContext


class NotVisible(Exception):
    """Records of a log that this task or an earlier holder has read are not visible to this process yet."""

    def __init__(self, log: Log, names: Names) -> None:
        super().__init__(str(log))
        self.log = log
        self.names = names


class NeedsAllRows(Exception):
    """A step needs all rows of an input at once."""

    def __init__(self, found: EdgeRange, step: str) -> None:
        super().__init__(step)
        self.found = found
        self.step = step


def read_again(context: JobContext, edge: Edge, partition: int) -> EdgeRange:
    """All records of an input, read from its log at each call. Reading raises NotVisible if some are missing."""

    def read() -> Iterator[NamedFrame]:
        log = context.topology.edge_log(edge, partition)
        names = Names(f"job {context.job}, {log}", context.topology.producers(edge))
        yield from _read_log(context.fabric, context.job, LogReader(log, context.limits.read_bytes), names)

    return EdgeRange(edge, read)


def _read_log(fabric: Fabric, job: str, reader: LogReader, names: Names) -> Iterator[NamedFrame]:
    """All records of a log, each once. Raises NotVisible at the end if some are missing."""
    reader.read_barrier(fabric, job)
    for batch in reader.batches(fabric, job):
        for record in names.fresh(batch.records):
            yield (record.seq, record.producer), load_frame(record.body)
        tick()
    if not names.complete:
        raise NotVisible(reader.log, names)


def with_shared(shared: Received, frames: Mapping[int, pl.DataFrame]) -> Received:
    """The given inputs besides the shared ones."""
    return Received({**shared.frames, **frames}, shared.streams, shared.slice_cells)


def in_pieces(spill: Spill, found: Range, shared: Received, name: str, share: int, roots: Sequence[Node]) -> Received:
    """Inputs of which those that weigh more than `share` come in pieces, besides the shared ones. Raises NeedsAllRows
    if a step needs all rows of such an input at once."""
    frames, streams, large = dict(shared.frames), dict(shared.streams), list[EdgeRange]()
    for each in found:
        frame = each.frame_within(share)
        if frame is None:
            frame = ranked_state(spill, each, f"{name}.{each.edge.number}q", share)
        if frame is None:
            large.append(each)
        else:
            frames[each.edge.number] = frame
    if large:
        _check_steps(roots, large, [*streams, *(each.edge.number for each in large)])
    for each in large:
        if each.edge.merge is None:
            streams[each.edge.number] = row_stream(spill, each, f"{name}.{each.edge.number}", share // 2)
            continue
        stream = value_stream(spill, each, f"{name}.{each.edge.number}", share)
        if stream is None:
            raise NeedsAllRows(each, each.edge.merge.describe())
        streams[each.edge.number] = stream
    return Received(frames, streams, shared.slice_cells)


def _check_steps(roots: Sequence[Node], large: Sequence[EdgeRange], numbers: Sequence[int]) -> None:
    try:
        for root in roots:
            root.streams(numbers)
    except Gathers as problem:
        raise NeedsAllRows(large[0], str(problem)) from None
