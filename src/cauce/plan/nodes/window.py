"""Columns of window functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregates.base import UNKNOWN
from cauce.operators.late import Late
from cauce.operators.order import SortKey
from cauce.operators.windows import Frame, WindowFunction, sorted_windows
from cauce.plan.checks.keys import check_keys, check_order
from cauce.plan.nodes.base import Node, Unary, Wanted, columns_of
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Placement, Planner, Spread
from cauce.plan.schema import Schema, type_name


@dataclass(frozen=True, eq=False)
class Window(Unary):
    """Rows are partitioned by a hash of the partition keys, in which null is a key like any other. `frame` is None for
    the default of SQL."""

    partition_by: tuple[str, ...]
    order_by: tuple[SortKey, ...]
    frame: Frame | None
    functions: Mapping[str, WindowFunction]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.child.names, *self.functions)))

    @cached_property
    def schema(self) -> Schema:
        types = self.child.schema
        return {**types, **{name: each.dtype(types) for name, each in self.functions.items()}}

    def check(self) -> None:
        types = self.child.schema
        check_keys("window: partition_by", types, self.partition_by)
        check_order(types, self.order_by)
        self._check_range(types)
        for name, each in self.functions.items():
            for column in each.columns:
                dtype = types.get(column, UNKNOWN)
                if not each.accepts(dtype):
                    raise PlanError(f"window: {name}={each} needs numbers, but {column} is {type_name(dtype)}")

    def _check_range(self, types: Schema) -> None:
        if self.frame is None or self.frame.unit != "range" or not (self.frame.start or self.frame.end):
            return
        key = self.order_by[0].what
        dtype = types[key] if isinstance(key, str) else UNKNOWN
        if not (dtype == UNKNOWN or dtype.is_numeric() or dtype.is_temporal()):
            raise PlanError(f"window: a range needs an order by numbers or times, but {key} is {type_name(dtype)}")

    @property
    def has_position(self) -> bool:
        return self.child.has_position

    def keeps(self, keys: tuple[str, ...]) -> bool:
        return not set(keys) & set(self.functions)

    def prune(self, wanted: Wanted) -> Node:
        kept = {name: each for name, each in self.functions.items() if name in wanted}
        below = wanted - set(self.functions)
        if not kept:
            return self.child.prune(below)
        reads = frozenset(self.partition_by).union(
            *(key.columns for key in self.order_by), *(each.columns for each in kept.values())
        )
        return replace(self, child=self.child.prune(below | reads), functions=kept)

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        return replace(self, child=self.child.with_partition_hint(self.partition_by))

    def place(self, planner: Planner) -> PlacedNode:
        child = planner.place(self.child)
        if planner.is_local(child, self.partition_by):
            return replace(child, node=replace(self, child=child.node))
        spread: Spread = "hash" if self.partition_by else "gather"
        received = planner.send(child, spread, self.partition_by)
        by = f" by {', '.join(self.partition_by)}" if self.partition_by else ""
        placement = Placement(f"window{by}", self.key, planner.partitions if self.partition_by else 1)
        return PlacedNode(replace(self, child=received), placement, self.partition_by, child.level)

    def rows(self, evaluation: Evaluation) -> Late:
        rows = evaluation.rows(self.child)
        frame = rows.frame(columns_of(self.child, rows))
        window = sorted_windows(frame, self.partition_by, self.order_by, self.frame)
        added = [each.values(window).alias(name) for name, each in self.functions.items()]
        return Late(pl.DataFrame([*window.rows.drop(self.functions, strict=False), *added]))

    def identity(self, evaluation: Evaluation) -> tuple[str | int, ...]:
        # Ties are broken by all columns.
        return (*self.names, *super().identity(evaluation))

    def describe(self) -> str:
        made = ", ".join(f"{name}={each}" for name, each in self.functions.items())
        by = f" of each {', '.join(self.partition_by)}" if self.partition_by else ""
        order = f" by {', '.join(map(str, self.order_by))}" if self.order_by else ""
        return f"window {made}{by}{order}"
