"""Rows for which every predicate is true."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cauce.operators.late import Late
from cauce.plan.checks.keys import check_conditions
from cauce.plan.nodes.base import Exprs, Narrow, Node, SameColumns, Wanted
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Planner
from cauce.plan.schema import in_short, roots


@dataclass(frozen=True, eq=False)
class Filter(SameColumns, Narrow):
    predicates: Exprs

    def check(self) -> None:
        check_conditions("filter", self.child.schema, self.predicates)

    @property
    def reads_parts(self) -> bool:
        return self.child.reads_parts

    def keeps(self, keys: tuple[str, ...]) -> bool:
        return True

    def prune(self, wanted: Wanted) -> Node:
        return replace(self, child=self.child.prune(wanted | roots(self.predicates)))

    def place(self, planner: Planner) -> PlacedNode:
        return self.place_with_input(planner)

    def rows(self, evaluation: Evaluation) -> Late:
        made = self.child.filtered(evaluation, self.predicates)
        return super().rows(evaluation) if made is None else made

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        return rows.filter(self.predicates)

    def describe(self) -> str:
        return f"filter {' and '.join(map(in_short, self.predicates))}"
