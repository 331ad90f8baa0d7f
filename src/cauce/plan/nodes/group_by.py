"""Group-by: declared as `GroupBy`, planned as `Partial` on each batch and `Final` on the merged partials."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregates import ALL, Aggregate, final, merge, partial
from cauce.operators.aggregates.base import UNKNOWN
from cauce.operators.late import Late
from cauce.plan.checks.keys import check_keys
from cauce.plan.nodes.base import Mergeable, Merging, Node, Unary, Wanted, refuse_position
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Placement, Planner
from cauce.plan.schema import Schema, type_name


@dataclass(frozen=True, eq=False)
class Grouping(Unary):
    """A step whose output has keys and aggregates. With `nulls`, null is a key like any other; otherwise rows with a
    null key are dropped."""

    keys: tuple[str, ...]
    aggregates: Mapping[str, Aggregate]
    nulls: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.keys, *self.aggregates)

    def _describe_groups(self) -> str:
        made = ", ".join(f"{name}={each}" for name, each in self.aggregates.items())
        by = f"by {', '.join(self.keys)}{' or null' if self.nulls else ''}" if self.keys else "of all"
        return f"{made} {by}".strip() if made else f"keys {by}"


@dataclass(frozen=True, eq=False)
class GroupBy(Grouping):
    """`partition_by` is the subset of `keys` by which groups are partitioned."""

    partition_by: tuple[str, ...] = ()

    @cached_property
    def schema(self) -> Schema:
        types = self.child.schema
        made = {name: each.dtype(types) for name, each in self.aggregates.items()}
        return {**{key: types[key] for key in self.keys}, **made}

    def check(self) -> None:
        types = self.child.schema
        check_keys("group_by", types, self.keys)
        for name, each in self.aggregates.items():
            for column in each.columns:
                dtype = types.get(column, UNKNOWN)
                if not each.accepts(dtype):
                    what, hint = each.needs
                    call = f'{name}=agg.{each.label}("{column}")'
                    raise PlanError(f"agg: {call} needs {what}, but {column} is {type_name(dtype)}; {hint}")

    @property
    def is_one_row(self) -> bool:
        return not self.keys

    @property
    def is_small(self) -> bool:
        return not self.keys or self.child.is_small

    @property
    def has_explicit_columns(self) -> bool:
        return True

    def prune(self, wanted: Wanted) -> Node:
        refuse_position(wanted, "a group-by")
        reads = frozenset(self.keys).union(*(each.columns for each in self.aggregates.values()))
        return replace(self, child=self.child.prune(reads))

    def with_partition_hint(self, hint: tuple[str, ...] = ()) -> Node:
        usable = hint if hint and set(hint) <= set(self.keys) else self.keys
        return replace(self, child=self.child.with_partition_hint(self.keys), partition_by=self.partition_by or usable)

    def place(self, planner: Planner) -> PlacedNode:
        child = planner.place(self.child)
        before = Partial(child.node, self.keys, self.aggregates, self.nulls)
        if planner.is_local(child, self.keys):
            return replace(child, node=Final(before, self.keys, self.aggregates, self.nulls))
        before = replace(before, may_repeat=True)
        received = planner.send(
            replace(child, node=before),
            "hash" if self.keys else "gather",
            self.partition_by,
            before.names,
            Final(before, self.keys, self.aggregates, self.nulls),
        )
        name = f"group by {', '.join(self.keys)}" if self.keys else "aggregate all"
        placement = Placement(name, self.key, planner.partitions if self.keys else 1)
        after = Final(received, self.keys, self.aggregates, self.nulls)
        return PlacedNode(after, placement, self.partition_by, child.level)


@dataclass(frozen=True, eq=False)
class Partial(Grouping, Merging):
    """Partial aggregation of one batch. Groups `may_repeat` if a merge follows. Only the planner creates it."""

    may_repeat: bool = False

    def rows(self, evaluation: Evaluation) -> Late:
        return evaluation.merged(
            self.child, self._partial, lambda frame: merge(frame, self.keys, self.aggregates, in_order=True)
        )

    def _partial(self, rows: Late) -> pl.DataFrame:
        if not self.keys:
            rows = rows.with_columns([pl.lit(0, dtype=pl.Int8).alias(ALL)])
        read = [name for each in self.aggregates.values() for name in each.columns]
        return partial(
            rows.frame([*(self.keys or (ALL,)), *read]),
            self.keys,
            self.aggregates,
            nulls=self.nulls,
            may_repeat=self.may_repeat,
        )

    def output(self, rows: Late) -> pl.DataFrame:
        # The columns of the states, which only the aggregates know.
        return rows.everything()

    def describe(self) -> str:
        return f"partial {self._describe_groups()}"


@dataclass(frozen=True, eq=False)
class Final(Grouping, Mergeable):
    """Final aggregate values, computed from merged partials. Only the planner creates it."""

    def rows(self, evaluation: Evaluation) -> Late:
        return self._final(evaluation.rows(self.child))

    def _final(self, states: Late) -> Late:
        return Late(final(states.everything(), self.keys, self.aggregates))

    def streams(self, edges: Collection[int]) -> bool:
        return self.child.streams(edges)

    def expands(self, evaluation: Evaluation) -> bool:
        return evaluation.expands(self.child)

    def pieces(self, evaluation: Evaluation) -> Iterator[Late]:
        # A piece of an edge with a merge holds all states of its groups.
        return map(self._final, evaluation.pieces(self.child))

    def condense(self, frame: pl.DataFrame) -> pl.DataFrame:
        return merge(frame, self.keys, self.aggregates)

    def describe_merge(self) -> str:
        return ", merged on arrival"

    def describe(self) -> str:
        return f"final {self._describe_groups()}"
