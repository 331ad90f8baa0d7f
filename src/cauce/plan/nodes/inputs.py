"""Where rows come from: the parts of a table, an edge, or the query itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from cauce.operators.late import Late
from cauce.operators.order import POSITION
from cauce.plan.nodes.base import Node, Wanted
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Placement, Planner
from cauce.plan.schema import Schema
from cauce.scan.tables import TableSpec


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """Rows of a table, without those that have an unparsable cell in a `used` column (None: not pruned yet).
    `position`: whether a later step needs the rows' input positions."""

    table: TableSpec
    used: frozenset[str] | None = None
    position: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self.table.columns if self.used is None or name in self.used)

    @cached_property
    def schema(self) -> Schema:
        return {name: column.kind.dtype for name, column in self.table.columns.items()}

    @property
    def has_position(self) -> bool:
        return self.position

    @property
    def reads_parts(self) -> bool:
        return True

    @property
    def is_small(self) -> bool:
        return self.table.small

    def prune(self, wanted: Wanted) -> Node:
        return replace(self, used=wanted - {POSITION}, position=POSITION in wanted)

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        return self

    def place(self, planner: Planner) -> PlacedNode:
        return PlacedNode(self, Placement(f"scan {self.table.name}", self.table.name, 0, self.table))

    def rows(self, evaluation: Evaluation) -> Late:
        return evaluation.scan(self.used or frozenset())

    def identity(self, evaluation: Evaluation) -> tuple[str | int, ...]:
        return ("scan", *evaluation.scan_identity(self.used or frozenset()))


@dataclass(frozen=True, eq=False)
class Receive(Node):
    """The rows received over an edge. Only the planner creates it."""

    edge: int
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def has_position(self) -> bool:
        return POSITION in self.columns

    def rows(self, evaluation: Evaluation) -> Late:
        return Late(evaluation.received(self.edge))

    def streams(self, edges: Collection[int]) -> bool:
        return self.edge in edges

    def expands(self, evaluation: Evaluation) -> bool:
        return evaluation.streamed(self.edge) is not None

    def pieces(self, evaluation: Evaluation) -> Iterator[Late]:
        for frame in evaluation.streamed(self.edge) or ():
            yield Late(frame)

    def describe_side(self) -> str:
        return f"e{self.edge}"


@dataclass(frozen=True, eq=False)
class Values(Node):
    """Rows with at least one column, given by the query. They are computed once, by one task without input."""

    columns: tuple[tuple[str, pl.DataType], ...]
    tuples: tuple[tuple[Any, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    @cached_property
    def schema(self) -> Schema:
        return dict(self.columns)

    @property
    def is_one_row(self) -> bool:
        return len(self.tuples) == 1

    @property
    def is_small(self) -> bool:
        return True

    def prune(self, wanted: Wanted) -> Node:
        kept = [index for index, name in enumerate(self.names) if name in wanted] or [0]
        rows = tuple(tuple(row[index] for index in kept) for row in self.tuples)
        return replace(self, columns=tuple(self.columns[index] for index in kept), tuples=rows)

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        return self

    def place(self, planner: Planner) -> PlacedNode:
        return PlacedNode(self, Placement("values", self.key, 1))

    def rows(self, evaluation: Evaluation) -> Late:
        series = [
            pl.Series(name, [row[index] for row in self.tuples], dtype=dtype)
            for index, (name, dtype) in enumerate(self.columns)
        ]
        return Late(pl.DataFrame(series))

    def describe(self) -> str:
        return f"{len(self.tuples)} constant row{'s' * (len(self.tuples) != 1)}"


def received_by(node: Node) -> Iterator[Receive]:
    """The inputs from edges that a node reads."""
    if isinstance(node, Receive):
        yield node
    for child in node.inputs:
        yield from received_by(child)
