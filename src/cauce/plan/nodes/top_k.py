"""The first k rows in an order, of all rows or per key."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from cauce.operators.late import Late
from cauce.operators.order import SortKey
from cauce.operators.top_k import Ties, top_k
from cauce.plan.checks.keys import check_keys, check_order
from cauce.plan.nodes.base import Mergeable, Merging, Node, SameColumns, Wanted, columns_of, columns_with_position
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Placement, Planner, Spread


@dataclass(frozen=True, eq=False)
class TopK(SameColumns, Mergeable, Merging):
    """The first k rows, selected before and again after the shuffle."""

    k: int
    by: tuple[SortKey, ...]
    per: tuple[str, ...]
    ties: Ties
    nulls: bool = False
    """Whether null is a value of `per` like any other; otherwise rows with a null there are dropped."""

    def check(self) -> None:
        check_keys("top_k: per", self.child.schema, self.per)
        check_order(self.child.schema, self.by)

    @property
    def is_small(self) -> bool:
        return not self.per or self.child.is_small

    def prune(self, wanted: Wanted) -> Node:
        reads = frozenset(self.per).union(*(key.columns for key in self.by))
        return replace(self, child=self.child.prune(wanted | reads))

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        # The keys of a top-k may be few, and few rows remain to be shuffled: no hint for the steps below.
        return replace(self, child=self.child.with_partition_hint())

    def place(self, planner: Planner) -> PlacedNode:
        child = planner.place(self.child)
        local = replace(self, child=child.node)
        if planner.is_local(child, self.per):
            return replace(child, node=local)
        spread: Spread = "hash" if self.per else "gather"
        received = planner.send(replace(child, node=local), spread, self.per, columns_with_position(local), local)
        per = f" of each {', '.join(self.per)}" if self.per else ""
        placement = Placement(f"top {self.k}{per}", self.key, planner.partitions if self.per else 1)
        return PlacedNode(replace(self, child=received), placement, self.per, child.level)

    def rows(self, evaluation: Evaluation) -> Late:
        return evaluation.merged(
            self.child, lambda rows: self.condense(rows.frame(columns_of(self.child, rows))), self.condense
        )

    def identity(self, evaluation: Evaluation) -> tuple[str | int, ...]:
        # A top-k outputs all columns of its rows and breaks ties by them.
        return (*self.names, *super().identity(evaluation))

    @property
    def may_shrink(self) -> bool:
        # A better row may drop several rows that tie.
        return self.ties == "all"

    def condense(self, frame: pl.DataFrame) -> pl.DataFrame:
        return top_k(frame, self.k, self.by, self.per, self.ties, nulls=self.nulls)

    def describe_merge(self) -> str:
        return f", reduced to the first {self.k} on arrival"

    def describe(self) -> str:
        each = f" of each {', '.join(self.per)}" if self.per else ""
        ties = " with ties" if self.ties == "all" else ""
        return f"top {self.k}{each} by {', '.join(map(str, self.by)) or 'all columns'}{ties}"
