"""Rows after an offset, in a total order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cauce.operators.late import Late
from cauce.operators.order import SortKey, sort_rows
from cauce.plan.checks.keys import check_order
from cauce.plan.nodes.base import Node, SameColumns, Wanted, columns_of
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Placement, Planner


@dataclass(frozen=True, eq=False)
class Limit(SameColumns):
    """The rows from number `offset` on, at most `length` of them (None: all), in the order of `by` and then of the
    remaining columns. Computed in one task: its input should be a top-k."""

    by: tuple[SortKey, ...]
    offset: int
    length: int | None

    def check(self) -> None:
        check_order(self.child.schema, self.by)

    def prune(self, wanted: Wanted) -> Node:
        return replace(self, child=self.child.prune(wanted.union(*(key.columns for key in self.by))))

    def place(self, planner: Planner) -> PlacedNode:
        child = planner.place(self.child)
        if planner.is_local(child, ()):
            return replace(child, node=replace(self, child=child.node))
        placement = Placement(f"offset {self.offset}", self.key, 1)
        return PlacedNode(replace(self, child=planner.send(child, "gather")), placement, level=child.level)

    def rows(self, evaluation: Evaluation) -> Late:
        rows = evaluation.rows(self.child)
        ordered = sort_rows(rows.frame(columns_of(self.child, rows)), self.by)
        return Late(ordered.slice(self.offset, self.length))

    def identity(self, evaluation: Evaluation) -> tuple[str | int, ...]:
        # Ties are broken by all columns.
        return (*self.names, *super().identity(evaluation))

    def describe(self) -> str:
        count = "" if self.length is None else f"{self.length} rows "
        return f"{count}after {self.offset} by {', '.join(map(str, self.by)) or 'all columns'}"
