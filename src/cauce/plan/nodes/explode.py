"""One row for each element of a list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregates.base import UNKNOWN
from cauce.operators.expansion import Expansion, expanding_explode
from cauce.operators.late import Late
from cauce.operators.order import POSITION
from cauce.operators.project import explode
from cauce.plan.nodes.base import Expanding, Node, Unary, Wanted, refuse_position
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Planner
from cauce.plan.schema import Schema, element_type, type_name


@dataclass(frozen=True, eq=False)
class Explode(Unary, Expanding):
    """`carried` are the other columns that a later step needs (None: not pruned yet)."""

    column: str
    carried: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        if self.carried is None:
            return self.child.names
        return tuple(name for name in self.child.names if name == self.column or name in self.carried)

    @cached_property
    def schema(self) -> Schema:
        return {**self.child.schema, self.column: element_type(self.child.schema[self.column])}

    def check(self) -> None:
        dtype = self.child.schema[self.column]
        if dtype != UNKNOWN and not isinstance(dtype, pl.List):
            raise PlanError(f"explode needs a list, but {self.column} is {type_name(dtype)}")

    @property
    def has_position(self) -> bool:
        return POSITION in (self.carried or ())

    @property
    def reads_parts(self) -> bool:
        return self.child.reads_parts

    def keeps(self, keys: tuple[str, ...]) -> bool:
        return self.column not in keys

    def prune(self, wanted: Wanted) -> Node:
        refuse_position(wanted, "an explode")
        carried = tuple(sorted(wanted - {self.column}))
        return replace(self, child=self.child.prune(wanted | {self.column}), carried=carried)

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        return replace(self, child=self.child.with_partition_hint())

    def place(self, planner: Planner) -> PlacedNode:
        return self.place_with_input(planner)

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        return explode(rows, self.column, self.carried or ())

    def expansion(self, evaluation: Evaluation, rows: Late) -> Expansion | None:
        return expanding_explode(rows, self.column, self.carried or (), evaluation.slice_cells)

    def describe(self) -> str:
        return f"explode {self.column}"
