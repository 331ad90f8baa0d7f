"""The order of a query's result."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cauce.errors import PlanError
from cauce.operators.late import Late
from cauce.operators.order import SortKey, sort_rows
from cauce.plan.checks.keys import check_order
from cauce.plan.nodes.base import Node, SameColumns, Wanted
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Planner


@dataclass(frozen=True, eq=False)
class Sort(SameColumns):
    """Allowed only as the last step of a query: intermediate rows are unordered."""

    by: tuple[SortKey, ...]

    def check(self) -> None:
        check_order(self.child.schema, self.by)

    def prune(self, wanted: Wanted) -> Node:
        return replace(self, child=self.child.prune(wanted.union(*(key.columns for key in self.by))))

    def place(self, planner: Planner) -> PlacedNode:
        raise PlanError("sort may only be the last step of a query")

    def rows(self, evaluation: Evaluation) -> Late:
        return Late(sort_rows(evaluation.frame(self.child), self.by))

    def describe(self) -> str:
        return f"sort by {', '.join(map(str, self.by))}" if self.by else "sort"
