"""Runs a stage on one part of its table or on its received inputs. Pure: no I/O and no state between calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import polars as pl

from cauce.operators.expansion import SLICE_CELLS
from cauce.operators.join import Build
from cauce.operators.late import Late, Rows, Source
from cauce.operators.partition import split
from cauce.plan.nodes import Node, Receive
from cauce.plan.nodes.base import columns_of
from cauce.plan.physical import Edge, Result, Stage
from cauce.process import progress

Step = Callable[[Late], pl.DataFrame]


class Block(Source, Protocol):
    """A part of a table, read into memory."""

    def usable(self, used: frozenset[str]) -> Rows | None:
        """Rows that a query using these columns reads: those without unreadable cells in them (None: all rows)."""

    def unreadable(self, used: frozenset[str]) -> frozenset[str]:
        """The given columns that have unreadable cells. Equal sets imply equal usable rows."""

    @property
    def height(self) -> int: ...

    def subset(self, rows: Rows) -> Block | None:
        """A block of only these rows, if decoding fewer rows takes less time."""


Stream = Callable[[], Iterator[pl.DataFrame]]
"""The rows of an edge in pieces, from the first one at each call."""


class Received:
    """The complete inputs of a stage, shared by all its steps; join build sides are prepared once. Those in `streams`
    are too large for the memory: each of their pieces holds all rows of its groups if the edge defines a merge. An
    optional input that was dropped is in neither."""

    def __init__(
        self,
        frames: Mapping[int, pl.DataFrame],
        streams: Mapping[int, Stream] | None = None,
        slice_cells: int = SLICE_CELLS,
    ) -> None:
        self.slice_cells = slice_cells
        """The maximum size of a slice of a join or an explode that is far larger than its input."""
        self.frames = frames
        self.streams = streams or {}
        self._builds: dict[tuple[int, tuple[str, ...], bool], Build] = {}

    def build(self, edge: int, on: tuple[str, ...], nulls_equal: bool = False) -> Build:
        key = (edge, on, nulls_equal)
        if key not in self._builds:
            self._builds[key] = Build(self.frames[edge], on, nulls_equal)
        return self._builds[key]


_WAITING_ROWS = 200_000
"""Rows of slices to buffer before a merge; at least as many as the merged result has."""


_MOST_CHOSEN = 0.5
"""The largest share of the rows of a part whose columns are decoded alone."""


class Evaluator:
    """Evaluates the nodes of one stage for one part or partition; equal nodes are computed once.

    Scans that use different columns return the same rows if no cell is unreadable. Such scans, and the nodes
    above them, count as equal here although their keys differ.

    A join that is far larger than its sides is computed in slices, together with the steps above it up to an
    aggregate or a top-k. These merge the result of each slice, so the full join is never in memory.
    """

    slice_cells = SLICE_CELLS

    def __init__(
        self,
        received: Received,
        block: Block | None = None,
        first_position: int = 0,
        *,
        in_order: bool = False,
        reports_rejects: bool = True,
    ) -> None:
        self.in_order = in_order
        self.may_choose_rows = block is not None and not reports_rejects
        self.slice_cells = min(self.slice_cells, received.slice_cells)
        self._received = received
        self._block = block
        self._first_position = first_position
        self._done: dict[int, Late] = {}
        self._numbers: dict[tuple[str | int, ...], int] = {}
        self._number_of: dict[str, int] = {}
        self._builds: dict[tuple[str, tuple[str, ...], bool], Build] = {}
        self._expanding: dict[str, bool] = {}
        self._gathered: dict[str, Late] = {}

    def rows(self, node: Node) -> Late:
        if self.expands(node):
            return self._gather(node)
        number = self.identity(node)
        if number not in self._done:
            self._done[number] = node.rows(self)
            progress.tick()
        return self._done[number]

    def identity(self, node: Node) -> int:
        if node.key not in self._number_of:
            self._number_of[node.key] = self._numbers.setdefault(node.identity(self), len(self._numbers))
        return self._number_of[node.key]

    def frame(self, node: Node) -> pl.DataFrame:
        return node.output(self.rows(node))

    # Slices.

    def expands(self, node: Node) -> bool:
        if node.key not in self._expanding:
            self._expanding[node.key] = node.expands(self)
        return self._expanding[node.key]

    def pieces(self, node: Node) -> Iterator[Late]:
        if not self.expands(node):
            yield self.rows(node)
            return
        for piece in node.pieces(self):
            progress.tick()
            yield piece

    def _gather(self, node: Node) -> Late:
        """All rows of an expanding node, for a step that needs them at once."""
        if node.key not in self._gathered:
            pieces = [(piece.frame(columns_of(node, piece)), piece.height) for piece in self.pieces(node)]
            height = sum(height for _, height in pieces)
            self._gathered[node.key] = Late(pl.concat([frame for frame, _ in pieces]), height=height)
        return self._gathered[node.key]

    def merged(self, child: Node, step: Step, merge: Callable[[pl.DataFrame], pl.DataFrame]) -> Late:
        state: list[pl.DataFrame] = []
        for rows in self.pieces(child):
            state.append(step(rows))
            if sum(frame.height for frame in state[1:]) > max(_WAITING_ROWS, state[0].height):
                state = [merge(pl.concat(state))]
        return Late(state[0] if len(state) == 1 else merge(pl.concat(state)))

    # Inputs.

    def scan(self, used: frozenset[str]) -> Late:
        assert self._block is not None
        rows = self._block.usable(used)
        height = self._block.height if rows is None else len(rows)
        return Late.of_source(self._block, rows, height, self._first_position)

    def scan_identity(self, used: frozenset[str]) -> tuple[str | int, ...]:
        assert self._block is not None
        return tuple(sorted(self._block.unreadable(used)))

    def scan_chosen(self, used: frozenset[str], keys: frozenset[str], choose: Callable[[Late], Rows]) -> Late | None:
        assert self._block is not None
        first = self._block.usable(keys)
        keyed = Late.of_source(self._block, first, self._block.height if first is None else len(first), 0)
        chosen = choose(keyed)
        if len(chosen) > keyed.height * _MOST_CHOSEN:
            return None
        part = self._block.subset(chosen if first is None else first[chosen])
        if part is None:
            return None
        rows = part.usable(used)
        return Late.of_source(part, rows, part.height if rows is None else len(rows), 0)

    def received(self, edge: int) -> pl.DataFrame:
        return self._received.frames[edge]

    def streamed(self, edge: int) -> Iterator[pl.DataFrame] | None:
        stream = self._received.streams.get(edge)
        return None if stream is None else stream()

    def is_dropped(self, edge: int) -> bool:
        return edge not in self._received.frames and edge not in self._received.streams

    def build(self, node: Node, on: tuple[str, ...], nulls_equal: bool = False) -> Build:
        if isinstance(node, Receive):
            return self._received.build(node.edge, on, nulls_equal)
        key = (node.key, on, nulls_equal)
        if key not in self._builds:
            self._builds[key] = Build(self.frame(node), on, nulls_equal)
        return self._builds[key]


def outgoing(edge: Edge, frame: pl.DataFrame, partitions: int) -> list[pl.DataFrame]:
    """Splits a frame into one per partition of the edge's reader (a single one unless the edge is hashed)."""
    return split(frame, edge.keys, partitions) if edge.spread == "hash" else [frame]


def run_part(
    stage: Stage, received: Received, block: Block, first_position: int, partitions: int
) -> dict[int, list[pl.DataFrame]]:
    """Runs a source stage on one part. Returns, for each edge, its frames by partition."""
    in_order = any(edge.spread == "ordered" for edge in stage.sends)
    reports = stage.report_rejects is not None
    evaluator = Evaluator(received, block, first_position, in_order=in_order, reports_rejects=reports)
    return {edge.number: outgoing(edge, evaluator.frame(edge.node), partitions) for edge in stage.sends}


def run_fold(stage: Stage, received: Received, partitions: int) -> Iterator[tuple[Edge, list[pl.DataFrame]]]:
    """Runs any other stage on one complete partition. Returns each edge with its frames by partition, several times if
    its rows are computed in pieces."""
    evaluator = Evaluator(received)
    # The pieces of a step that several edges read would be computed for each of them.
    alone = len(stage.sends) == 1 or bool(received.streams)
    for edge in stage.sends:
        if alone and evaluator.expands(edge.node):
            for rows in evaluator.pieces(edge.node):
                yield edge, outgoing(edge, edge.node.output(rows), partitions)
        else:
            yield edge, outgoing(edge, evaluator.frame(edge.node), partitions)


def answer(result: Result, received: Received) -> pl.DataFrame:
    """The rows of a query result, in order, with the declared types."""
    return shaped(result, Evaluator(received).frame(result.node))


def shaped(result: Result, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with the columns and types of an answer."""
    return pl.DataFrame([output.shape(frame[name]).alias(name) for name, output in result.columns.items()])


def condense(edge: Edge, frame: pl.DataFrame) -> pl.DataFrame:
    """Combines received rows into fewer equivalent ones, if the edge has a merge."""
    return frame if edge.merge is None else edge.merge.condense(frame)
