"""Joins on equal keys, with further conditions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregates.base import UNKNOWN
from cauce.operators.expansion import Expansion, batched, expanding_join, in_left_order, residual_join
from cauce.operators.join import Build, LookupJoin, join
from cauce.operators.late import Late
from cauce.operators.order import POSITION
from cauce.plan.checks.keys import check_conditions, check_keys
from cauce.plan.nodes.base import Beside, Expanding, Exprs, Node, Wanted, columns_of
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Placement, Planner
from cauce.plan.nodes.distinct import Distinct
from cauce.plan.nodes.inputs import Receive, Scan, received_by
from cauce.plan.nodes.project import Select
from cauce.plan.schema import Schema, in_short, roots, type_name

Strategy = Literal["broadcast", "partition"]


@dataclass(frozen=True, eq=False)
class Join(Beside, Expanding):
    """With the strategy "broadcast" every task receives the whole right side; with "partition" both sides are
    partitioned by key."""

    on: tuple[str, ...]
    how: LookupJoin
    strategy: Strategy
    predicates: Exprs = ()
    """Conditions on the columns of both sides: a pair that does not satisfy them is no match."""
    nulls_equal: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        if self.how in ("semi", "anti"):
            return self.left.names
        added = [name for name in self.right.names if name not in self.on]
        return (*self.left.names, *added)

    @cached_property
    def schema(self) -> Schema:
        left, right = self.left.schema, self.right.schema
        return left if self.how in ("semi", "anti") else {**right, **left}

    def check(self) -> None:
        left, right = self.left.schema, self.right.schema
        check_keys("join", left, self.on)
        for key in self.on:
            one, other = left[key], right[key]
            alike = one == other or UNKNOWN in (one, other) or (one.is_integer() and other.is_integer())
            if not alike:
                raise PlanError(
                    f"join on {key}: it is {type_name(one)} on the left and {type_name(other)} on the right; "
                    "give both sides the same kind, or cast one with with_columns"
                )
        check_conditions("join: where", {**right, **left}, self.predicates)

    @property
    def reads_parts(self) -> bool:
        return self.strategy == "broadcast" and self.left.reads_parts

    def prune(self, wanted: Wanted) -> Node:
        on, read = frozenset(self.on), roots(self.predicates)
        left = self.left.prune(((wanted | read) & (set(self.left.names) | {POSITION})) | on)
        return replace(self, left=left, right=self._pruned_right(wanted | read, on, read))

    def _pruned_right(self, wanted: Wanted, on: Wanted, read: Wanted) -> Node:
        if self.how in ("semi", "anti"):
            columns = (*self.on, *sorted((read & set(self.right.names)) - on))
            return Distinct(self.right.prune(frozenset(columns)), columns)
        right = self.right.prune((wanted & set(self.right.names)) | on)
        kept = tuple(name for name in self.right.names if name in wanted or name in on)
        # Not pruning explicit columns lets queries that join different ones share them.
        if kept == right.names or right.has_explicit_columns:
            return right
        return Select(right, tuple(pl.col(name) for name in kept))

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        left = self.left.with_partition_hint(self.on if self.strategy == "partition" else hint)
        return replace(self, left=left, right=self.right.with_partition_hint(self.on))

    def place(self, planner: Planner) -> PlacedNode:
        return self._place_partitioned(planner) if self.strategy == "partition" else self.place_by_broadcast(planner)

    def _place_partitioned(self, planner: Planner) -> PlacedNode:
        left, right = planner.place(self.left), planner.place(self.right)
        placement = Placement(f"join by {', '.join(self.on)}", self.key, planner.partitions)
        sides = [planner.send(side, "hash", self.on) for side in (left, right)]
        return PlacedNode(
            replace(self, left=sides[0], right=sides[1]), placement, self.on, max(left.level, right.level)
        )

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        return join(rows, self.build(evaluation), self.how)

    def build(self, evaluation: Evaluation) -> Build:
        """The right side, if it is not in blocks."""
        return evaluation.build(self.right, self.on, self.nulls_equal)

    def expansion(self, evaluation: Evaluation, rows: Late) -> Expansion | None:
        columns = columns_of(self.left, rows)
        return expanding_join(rows, columns, self.build(evaluation), self.how, evaluation.slice_cells)

    def streams(self, edges: Collection[int]) -> bool:
        found = [side.streams(edges) for side in self.inputs]
        return any(found)

    def expands(self, evaluation: Evaluation) -> bool:
        return bool(self.predicates) or self.in_blocks(evaluation) or super().expands(evaluation)

    def in_blocks(self, evaluation: Evaluation) -> bool:
        """Whether the right side is too large for the memory."""
        received = [node for node in received_by(self.right) if evaluation.streamed(node.edge) is not None]
        return bool(received) and self.right.streams([node.edge for node in received])

    def pieces(self, evaluation: Evaluation) -> Iterator[Late]:
        in_blocks = self.in_blocks(evaluation)
        if not self.predicates and not in_blocks:
            yield from super().pieces(evaluation)
            return
        for rows in self._left_pieces(evaluation) if in_blocks else evaluation.pieces(self.left):
            columns = columns_of(self.left, rows)
            builds = self._blocks(evaluation) if in_blocks else iter([self.build(evaluation)])
            found = residual_join(rows, columns, builds, self.how, self.predicates, evaluation.slice_cells)
            if evaluation.in_order:
                yield in_left_order(found, columns_of(self, rows))
            else:
                yield from found

    def _left_pieces(self, evaluation: Evaluation) -> Iterator[Late]:
        """Not too small: each of them reads all blocks of the right side."""
        pieces = evaluation.pieces(self.left)
        return batched(pieces, lambda rows: columns_of(self.left, rows), evaluation.slice_cells)

    def _blocks(self, evaluation: Evaluation) -> Iterator[Build]:
        for block in evaluation.pieces(self.right):
            yield Build(self.right.output(block), self.on, self.nulls_equal)

    def describe(self) -> str:
        further = "".join(f" and {in_short(each)}" for each in self.predicates)
        equal = " (nulls are equal)" if self.nulls_equal else ""
        return f"{self.how} join with {self.right.describe_side()} on {', '.join(self.on)}{equal}{further}"


@dataclass(frozen=True, eq=False)
class KeyFilter(Join):
    """A semi join that the planner adds, to drop rows early that a later join drops anyway. It keeps all rows if its
    keys take too much memory."""

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        return rows if self._is_skipped(evaluation) else super().apply(evaluation, rows)

    def rows(self, evaluation: Evaluation) -> Late:
        scan = self._first_filter_of(evaluation)
        if scan is not None:
            matching = self.build(evaluation).matching
            chosen = evaluation.scan_chosen(scan.used or frozenset(), frozenset(self.on), matching)
            if chosen is not None:
                return chosen
        return super().rows(evaluation)

    def identity(self, evaluation: Evaluation) -> tuple[str | int, ...]:
        scan = self._first_filter_of(evaluation)
        if scan is None:
            return super().identity(evaluation)
        # That of the scan would decode all columns.
        return (self.own, *sorted(scan.used or ()), evaluation.identity(self.right))

    def expands(self, evaluation: Evaluation) -> bool:
        return self.in_blocks(evaluation) or evaluation.expands(self.left)

    def _first_filter_of(self, evaluation: Evaluation) -> Scan | None:
        """The scan whose columns are decoded only for the rows that match."""
        scan = self.left
        if not evaluation.may_choose_rows or not isinstance(scan, Scan) or scan.position:
            return None
        return None if self._is_skipped(evaluation) or self.in_blocks(evaluation) else scan

    def expansion(self, evaluation: Evaluation, rows: Late) -> Expansion | None:
        return None

    def _is_skipped(self, evaluation: Evaluation) -> bool:
        return isinstance(self.right, Receive) and evaluation.is_dropped(self.right.edge)

    def describe(self) -> str:
        return f"{super().describe()} (a filter: skipped if its keys take too much memory)"
