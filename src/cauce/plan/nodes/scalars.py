"""Every row extended by a single row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from cauce.operators.join import attach_scalars
from cauce.operators.late import Late
from cauce.plan.nodes.base import Beside, Narrow, Node, Wanted
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Planner
from cauce.plan.schema import Schema


@dataclass(frozen=True, eq=False)
class Scalars(Beside, Narrow):
    """Every row of `left` extended by the single row of `right`; if it is `optional` and missing, by nulls."""

    optional: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.left.names, *self.right.names)

    @cached_property
    def schema(self) -> Schema:
        return {**self.left.schema, **self.right.schema}

    @property
    def reads_parts(self) -> bool:
        return self.left.reads_parts

    @property
    def is_one_row(self) -> bool:
        return self.left.is_one_row and (self.optional or self.right.is_one_row)

    def prune(self, wanted: Wanted) -> Node:
        names = frozenset(self.right.names)
        return replace(self, left=self.left.prune(wanted - names), right=self.right.prune(names))

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        return replace(self, left=self.left.with_partition_hint(hint), right=self.right.with_partition_hint())

    def place(self, planner: Planner) -> PlacedNode:
        return self.place_by_broadcast(planner)

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        return attach_scalars(rows, evaluation.frame(self.right), optional=self.optional)

    def describe(self) -> str:
        return f"beside {self.right.describe_side()}"
