"""The distinct rows of one batch."""

from __future__ import annotations

from dataclasses import dataclass

from cauce.operators.integer_keys import distinct_rows
from cauce.operators.late import Late
from cauce.plan.nodes.base import Chosen, Merging
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Planner


@dataclass(frozen=True, eq=False)
class Distinct(Chosen, Merging):
    """Reduces the rows to send; duplicates across batches remain. Only the planner creates it."""

    def place(self, planner: Planner) -> PlacedNode:
        return self.place_with_input(planner)

    def rows(self, evaluation: Evaluation) -> Late:
        return evaluation.merged(self.child, lambda rows: distinct_rows(rows.frame(self.columns)), distinct_rows)

    def describe(self) -> str:
        return f"distinct {', '.join(self.columns)}"
