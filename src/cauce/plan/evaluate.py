"""Computes what a stage sends, from a part of its table or from what it received. No I/O, no state of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import polars as pl

from cauce.operators.aggregate import ALL, final, merge, partial
from cauce.operators.join import Build, attach_scalars, join
from cauce.operators.late import Late, Rows, Source
from cauce.operators.order import POSITION, sort_rows
from cauce.operators.partition import split
from cauce.operators.project import explode, select
from cauce.operators.top_k import top_k
from cauce.plan import nodes
from cauce.plan.physical import Edge, Result, Stage


class Block(Source, Protocol):
    """A part of a table that has been read."""

    def usable(self, used: frozenset[str]) -> Rows | None:
        """Rows that take part for a query using these columns (None: all of them)."""

    @property
    def height(self) -> int: ...


class Received:
    """The complete inputs of a stage, shared by all its steps; join sides are prepared once."""

    def __init__(self, frames: Mapping[int, pl.DataFrame]) -> None:
        self.frames = frames
        self._builds: dict[tuple[int, tuple[str, ...]], Build] = {}

    def build(self, edge: int, on: tuple[str, ...]) -> Build:
        if (edge, on) not in self._builds:
            self._builds[edge, on] = Build(self.frames[edge], on)
        return self._builds[edge, on]


class Evaluator:
    """Evaluates the nodes of one stage for one part or partition; equal nodes are computed once.

    Two scans that use different columns give the same rows wherever no cell is unreadable: such scans, and
    what stands on them, count as equal here although their keys differ.
    """

    def __init__(self, received: Received, block: Block | None = None, first_position: int = 0) -> None:
        self._received = received
        self._block = block
        self._first_position = first_position
        self._done: dict[int, Late] = {}
        self._numbers: dict[tuple[str | int, ...], int] = {}
        self._number_of: dict[str, int] = {}

    def rows(self, node: nodes.Node) -> Late:
        number = self._identity(node)
        if number not in self._done:
            self._done[number] = self._compute(node)
        return self._done[number]

    def _identity(self, node: nodes.Node) -> int:
        if node.key not in self._number_of:
            if isinstance(node, nodes.Scan):
                assert self._block is not None
                what: tuple[str | int, ...] = ("scan", id(self._block.usable(node.used or frozenset())))
            else:
                # A top-k hands on all columns of its rows and breaks ties by them.
                columns = node.names if isinstance(node, nodes.TopK) else ()
                what = (node.own, *columns, *(self._identity(child) for child in node.inputs))
            self._number_of[node.key] = self._numbers.setdefault(what, len(self._numbers))
        return self._number_of[node.key]

    def frame(self, node: nodes.Node) -> pl.DataFrame:
        if isinstance(node, nodes.Partial):
            return self.rows(node).everything()
        return self.rows(node).frame(node.names)

    def _compute(self, node: nodes.Node) -> Late:
        match node:
            case nodes.Scan(used=used):
                return self._scan(used or frozenset())
            case nodes.Receive(edge):
                return Late(self._received.frames[edge])
            case nodes.Filter(child, predicates):
                return self.rows(child).filter(predicates)
            case nodes.WithColumns(child, expressions):
                return self.rows(child).with_columns(expressions)
            case nodes.Select(child, expressions, keep_position):
                return select(self.rows(child), expressions, keep_position)
            case nodes.Explode(child, column, carried):
                return explode(self.rows(child), column, carried or ())
            case nodes.Distinct(child, columns):
                return Late(self.rows(child).frame(columns).unique(maintain_order=True))
            case nodes.Pick(child, columns):
                return Late(self.rows(child).frame(columns))
            case nodes.Join(left, right, on, how):
                return join(self.rows(left), self._build(right, on), how)
            case nodes.Scalars(left, right):
                return attach_scalars(self.rows(left), self.frame(right))
            case nodes.Concat(first, second):
                columns = node.names
                sides = [self.rows(first).frame(columns), self.rows(second).frame(columns)]
                # Integers of different width, such as a count and a sum, become the wider type.
                return Late(pl.concat(sides, how="vertical_relaxed"))
            case _:
                return self._compute_wide(node)

    def _compute_wide(self, node: nodes.Node) -> Late:
        match node:
            case nodes.Partial(child, keys, aggregates):
                rows = self.rows(child)
                if not keys:
                    rows = rows.with_columns([pl.lit(0, dtype=pl.Int8).alias(ALL)])
                columns = [
                    *(keys or (ALL,)),
                    *(name for each in aggregates.values() for name in each.columns),
                ]
                return Late(partial(rows.frame(columns), keys, aggregates))
            case nodes.Final(child, keys, aggregates):
                return Late(final(self.rows(child).everything(), keys, aggregates))
            case nodes.TopK(child, k, by, per, ties):
                return Late(top_k(self._carried(child), k, by, per, ties))
            case nodes.Sort(child, by):
                return Late(sort_rows(self.frame(child), by))
        raise TypeError(f"{type(node).__name__} cannot be evaluated")

    def _carried(self, child: nodes.Node) -> pl.DataFrame:
        """All columns a child gives, its rows' places too where it has them."""
        rows = self.rows(child)
        position = [POSITION] if rows.has_position else []
        return rows.frame([*child.names, *position])

    def _scan(self, used: frozenset[str]) -> Late:
        assert self._block is not None
        rows = self._block.usable(used)
        height = self._block.height if rows is None else len(rows)
        return Late.of_source(self._block, rows, height, self._first_position)

    def _build(self, node: nodes.Node, on: tuple[str, ...]) -> Build:
        if isinstance(node, nodes.Receive):
            return self._received.build(node.edge, on)
        return Build(self.frame(node), on)


def outgoing(edge: Edge, frame: pl.DataFrame, partitions: int) -> list[pl.DataFrame]:
    """What an edge carries of a frame, one for each partition of its reader (one in all unless by hash)."""
    return split(frame, edge.keys, partitions) if edge.spread == "hash" else [frame]


def run_part(
    stage: Stage, received: Received, block: Block, first_position: int, partitions: int
) -> dict[int, list[pl.DataFrame]]:
    """A source stage on one part: for each edge, its frames by partition."""
    evaluator = Evaluator(received, block, first_position)
    return {edge.number: outgoing(edge, evaluator.frame(edge.node), partitions) for edge in stage.sends}


def run_fold(stage: Stage, received: Received, partitions: int) -> dict[int, list[pl.DataFrame]]:
    """Any other stage on one complete partition."""
    evaluator = Evaluator(received)
    return {edge.number: outgoing(edge, evaluator.frame(edge.node), partitions) for edge in stage.sends}


def answer(result: Result, received: Received) -> pl.DataFrame:
    """The rows of an answer, in order, in the types that the query declares."""
    frame = Evaluator(received).frame(result.node)
    return pl.DataFrame([output.shape(frame[name]).alias(name) for name, output in result.columns.items()])


def condense(edge: Edge, frame: pl.DataFrame) -> pl.DataFrame:
    """Less rows with the same meaning: merged partials, or the top k so far."""
    match edge.merge:
        case nodes.Final(_, keys, aggregates):
            return merge(frame, keys, aggregates)
        case nodes.TopK(_, k, by, per, ties):
            return top_k(frame, k, by, per, ties)
    return frame
