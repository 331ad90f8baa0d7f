"""The rows of two relations with equal columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from cauce.errors import PlanError
from cauce.operators.late import Late
from cauce.plan.nodes.base import Node, Wanted, refuse_position
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Placement, Planner
from cauce.plan.nodes.project import WithColumns
from cauce.plan.schema import Schema, common_type


@dataclass(frozen=True, eq=False)
class Concat(Node):
    """`columns` are those that a later step needs (None: not pruned yet). `partition_by` are the keys by which its
    rows are partitioned; without them, sides from different stages meet in one task."""

    first: Node
    second: Node
    columns: tuple[str, ...] | None = None
    partition_by: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.first.names if self.columns is None else self.columns

    @cached_property
    def schema(self) -> Schema:
        return {name: common_type(each, self.second.schema[name]) for name, each in self.first.schema.items()}

    def check(self) -> None:
        for name, dtype in self.first.schema.items():
            try:
                common_type(dtype, self.second.schema[name])
            except TypeError as problem:
                raise PlanError(f"concat: {name} is {problem}; give both the same type, with cast") from None

    def prune(self, wanted: Wanted) -> Node:
        refuse_position(wanted, "a concat")
        read = wanted | {*self.partition_by}
        first, second = self.first.prune(read), self.second.prune(read)
        if read:
            # A later step need not read the keys, but the rows are partitioned by them.
            columns = tuple(name for name in self.names if name in read)
            return replace(self, first=first, second=second, columns=columns)
        # Keep one column when rows are only counted: a frame without columns has no rows.
        one = pl.lit(1, dtype=pl.Int8).alias("#one")
        return Concat(WithColumns(first, (one,)), WithColumns(second, (one,)), ("#one",))

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        # A hint may name columns that a later step adds.
        keys = self.partition_by or (hint if set(hint) <= set(self.names) else ())
        first, second = self.first.with_partition_hint(keys), self.second.with_partition_hint(keys)
        return replace(self, first=first, second=second, partition_by=keys)

    def place(self, planner: Planner) -> PlacedNode:
        first, second = planner.place(self.first), planner.place(self.second)
        level = max(first.level, second.level)
        if first.placement == second.placement:
            return PlacedNode(replace(self, first=first.node, second=second.node), first.placement, level=level)
        keys = self.partition_by
        sides = [planner.send(side, "hash" if keys else "gather", keys) for side in (first, second)]
        placement = Placement("concat", self.key, planner.partitions if keys else 1)
        return PlacedNode(replace(self, first=sides[0], second=sides[1]), placement, keys, level)

    def rows(self, evaluation: Evaluation) -> Late:
        sides = [evaluation.rows(side).frame(self.names) for side in self.inputs]
        # Integers of different widths, such as a count and a sum, are cast to the wider type.
        return Late(pl.concat(sides, how="vertical_relaxed"))

    def expands(self, evaluation: Evaluation) -> bool:
        return any(evaluation.expands(side) for side in self.inputs)

    def streams(self, edges: Collection[int]) -> bool:
        found = [side.streams(edges) for side in self.inputs]
        return any(found)

    def pieces(self, evaluation: Evaluation) -> Iterator[Late]:
        sides = [(piece.frame(self.names) for piece in evaluation.pieces(side)) for side in self.inputs]
        firsts = [next(side) for side in sides]
        schema = pl.concat([first.clear() for first in firsts], how="vertical_relaxed").schema
        for first, others in zip(firsts, sides, strict=True):
            yield Late(first.cast(schema))
            yield from (Late(other.cast(schema)) for other in others)

    def describe(self) -> str:
        return f"concatenated with ({self.second.pipeline})"
