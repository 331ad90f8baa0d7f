"""Group-by: declared as `GroupBy`, planned as `Partial` on each batch and `Final` on the merged partials."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregates import ALL, Aggregate, are_added, final, merge, merge_rows, partial
from cauce.operators.aggregates.base import UNKNOWN
from cauce.operators.join import Build, join
from cauce.operators.late import Late
from cauce.plan.checks.keys import check_keys
from cauce.plan.nodes.base import Exprs, Mergeable, Merging, Node, Unary, Wanted, refuse_position
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Placement, Planner
from cauce.plan.nodes.join import Join
from cauce.plan.nodes.project import Pick, Select, WithColumns
from cauce.plan.schema import Schema, roots, type_name


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

    @property
    def read(self) -> list[str]:
        """The columns that the aggregates read."""
        return list(dict.fromkeys(name for each in self.aggregates.values() for name in each.columns))

    def rows(self, evaluation: Evaluation) -> Late:
        eager = _EagerAggregation.of(evaluation, self)
        child, step = (self.child, self._partial) if eager is None else (eager.source.left, eager.partial)
        return evaluation.merged(child, step, lambda frame: merge(frame, self.keys, self.aggregates, in_order=True))

    def _partial(self, rows: Late) -> pl.DataFrame:
        if not self.keys:
            rows = rows.beside(pl.DataFrame({ALL: np.zeros(rows.height, np.int8)}))
        return partial(
            rows.frame([*(self.keys or (ALL,)), *self.read]),
            self.keys,
            self.aggregates,
            nulls=self.nulls,
            may_repeat=self.may_repeat,
            numbers=[rows.numbers(key) for key in self.keys],
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

    def filtered(self, evaluation: Evaluation, predicates: Exprs) -> Late | None:
        # Only the groups that are left are ordered.
        states = evaluation.rows(self.child).everything()
        return Late(final(states, self.keys, self.aggregates, having=predicates))

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


Projections = Sequence[Select | WithColumns]


@dataclass(frozen=True)
class _EagerAggregation:
    """The partial aggregates of an inner join without its pairs.

    If groups are made by columns of the left side, and aggregates read columns of the right side alone, the rows of the
    right side are aggregated by the keys of the join first. Each row of the left side then meets one state instead of
    all rows of its key. Only states that are merged by adding integers are computed so: the result has the same bytes
    as that of all pairs. `of_left` computes the keys of the groups, `of_right` the columns that the aggregates read."""

    evaluation: Evaluation
    source: Join
    groups: Partial
    of_left: Projections
    of_right: Projections

    @staticmethod
    def of(evaluation: Evaluation, groups: Partial) -> _EagerAggregation | None:
        """None if the groups are not those of such a join, or if the join is not far larger than its sides."""
        projections, source = _above_source(groups.child)
        if not isinstance(source, Join) or source.how != "inner" or source.predicates:
            return None
        of_left, left = _only(projections, frozenset(groups.keys))
        of_right, right = _only(projections, frozenset(groups.read))
        if not left <= set(source.left.names) or not right <= set(source.right.names) - set(source.left.names):
            return None
        if not evaluation.expands(source) or source.in_blocks(evaluation):
            return None
        made = _EagerAggregation(evaluation, source, groups, of_left, of_right)
        states = made._states(made._right.clear())
        wide = any(isinstance(dtype, pl.Decimal) for dtype in states.dtypes[len(source.on) :])
        return made if not wide and are_added(states, groups.aggregates) else None

    def partial(self, rows: Late) -> pl.DataFrame:
        """The states of the groups for these rows of the left side."""
        states, on = self._states_for(rows), self.source.on
        # Columns of the left side may have the names of the states.
        own = [f"#{number}" for number in range(states.width - len(on))]
        renamed = pl.DataFrame(states.get_columns())
        renamed.columns = [*on, *own]
        joined = join(rows, Build(renamed, on, self.source.nulls_equal), "inner")
        found = joined.frame(own)
        found.columns = states.columns[len(on) :]
        keyed = self._keys_of(joined).hstack(found)
        return merge_rows(keyed, self.groups.keys, self.groups.aggregates, nulls=self.groups.nulls)

    def _keys_of(self, joined: Late) -> pl.DataFrame:
        if not self.groups.keys:
            return pl.DataFrame({ALL: pl.zeros(joined.height, pl.Int8, eager=True)})
        return self._projected(self.of_left, joined).frame(self.groups.keys)

    @property
    def _right(self) -> pl.DataFrame:
        return self.source.build(self.evaluation).frame

    @cached_property
    def _all_states(self) -> pl.DataFrame:
        return self._states(self._right)

    def _states_for(self, rows: Late) -> pl.DataFrame:
        """The states of the right side, without its rows that have no match: a projection may fail on these, and the
        join drops them."""
        found = Build(rows.frame(self.source.on), self.source.on, self.source.nulls_equal).matching(Late(self._right))
        return self._all_states if len(found) == self._right.height else self._states(self._right[found])

    def _states(self, right: pl.DataFrame) -> pl.DataFrame:
        """The states of rows of the right side, after the keys of the join, which have other names here."""
        keyed = right.select(self.source.on)
        keyed.columns = [f"#on{number}" for number in range(keyed.width)]
        if self.groups.read:
            keyed = keyed.hstack(self._projected(self.of_right, Late(right)).frame(self.groups.read))
        return partial(keyed, keyed.columns[: len(self.source.on)], self.groups.aggregates, nulls=True)

    def _projected(self, projections: Projections, rows: Late) -> Late:
        for each in projections:
            rows = each.apply(self.evaluation, rows)
        return rows


def _above_source(node: Node) -> tuple[list[Select | WithColumns], Node]:
    """The projections above a node of another kind, the last one first, and that node."""
    found: list[Select | WithColumns] = []
    while isinstance(node, Select | WithColumns | Pick):
        if not isinstance(node, Pick):
            found.append(node)
        node = node.child
    return found, node


def _only(projections: Projections, wanted: frozenset[str]) -> tuple[Projections, frozenset[str]]:
    """What the projections, of which the last one comes first, compute of these columns, the first one first; and the
    columns that it reads."""
    kept: list[Select | WithColumns] = []
    for each in projections:
        used = tuple(one for one in each.expressions if one.meta.output_name() in wanted)
        if used:
            kept.append(replace(each, expressions=used))
        wanted = (wanted - {one.meta.output_name() for one in used}) | roots(used)
    return kept[::-1], wanted
