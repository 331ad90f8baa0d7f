"""The plan of a group-by: plain aggregates in one step, those of some rows or of distinct values in several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import polars as pl

from cauce.operators.aggregates import Aggregate, Aggregates, ByValue, Count, Filtered, OfDistinct
from cauce.operators.aggregates.by_value import TIMES, VALUE
from cauce.operators.order import desc
from cauce.plan import nodes
from cauce.plan.nodes import Node
from cauce.scan.integers.columns import is_fixed_width


@dataclass(frozen=True)
class Groups:
    """The rows of a node, grouped by keys. With `nulls`, null is a key like any other."""

    child: Node
    keys: tuple[str, ...]
    nulls: bool = False

    def aggregate(self, aggregates: Aggregates) -> Node:
        """One row per group: its keys and the named aggregates."""
        masked, plain = _without_filters(self.child, aggregates)
        return Groups(masked, self.keys, self.nulls)._aggregate(plain)

    def _aggregate(self, aggregates: Aggregates) -> Node:
        by_value = {name: each for name, each in aggregates.items() if isinstance(each, ByValue)}
        simple = {name: each for name, each in aggregates.items() if name not in by_value}
        base = nodes.GroupBy(self.child, self.keys, simple, self.nulls)
        if not by_value:
            return base
        # Without keys and plain aggregates the base would be one row without columns, which a frame cannot represent.
        sides: list[Node] = [base] if simple or self.keys else []
        for column in dict.fromkeys(each.column for each in by_value.values()):
            wanted = {name: each for name, each in by_value.items() if each.column == column}
            sides += self._of_values(column, wanted)
        joined = reduce(self._beside, sides)
        zeros = tuple(pl.col(name).fill_null(0) for name, each in by_value.items() if each.zero_if_none)
        filled = nodes.WithColumns(joined, zeros) if zeros else joined
        return nodes.Select(filled, tuple(pl.col(name) for name in (*self.keys, *aggregates)))

    def _of_values(self, column: str, wanted: Mapping[str, ByValue]) -> list[Node]:
        """Aggregates over distinct values: first counts each value, then aggregates the counts."""
        valued = nodes.WithColumns(self.child, (pl.col(column).alias(VALUE),))
        source = nodes.Filter(valued, (pl.col(VALUE).is_not_null(),)) if self.nulls else valued
        keys = (*self.keys, VALUE)
        by = keys if self._can_divide(wanted) else self.keys
        counted = nodes.GroupBy(source, keys, {TIMES: Count()}, self.nulls, by)
        top = nodes.TopK(counted, 1, (desc(TIMES),), self.keys, "all", self.nulls)
        sides: list[Node] = []
        for values, most_frequent in ((counted, False), (top, True)):
            made = {name: each.of_counts for name, each in wanted.items() if each.most_frequent == most_frequent}
            if made:
                sides.append(nodes.GroupBy(values, self.keys, made, self.nulls))
        return sides

    def _can_divide(self, wanted: Mapping[str, ByValue]) -> bool:
        """Whether the values of a key are divided among partitions, so that all workers count them. The most frequent
        ones are compared with all others of their key, and the second exchange is cheap only for short keys."""
        types = self.child.schema
        short = all(is_fixed_width(types[key]) for key in self.keys)
        return short and not any(each.most_frequent for each in wanted.values())

    def _beside(self, left: Node, right: Node) -> Node:
        if not self.keys:
            return nodes.Scalars(left, right)
        return nodes.Join(left, right, self.keys, "left", "partition", nulls_equal=self.nulls)


def _without_filters(child: Node, aggregates: Aggregates) -> tuple[Node, dict[str, Aggregate]]:
    """Replaces aggregates of some rows by aggregates of columns that are null in the other rows."""
    plain: dict[str, Aggregate] = {}
    masks: list[pl.Expr] = []
    for name, each in aggregates.items():
        of = each.of if isinstance(each, OfDistinct) else each
        if not isinstance(of, Filtered):
            plain[name] = each
            continue
        where = f"#where {name}"
        masked = {column: f"#where {name} {column}" for column in of.of.columns}
        masks += [pl.when(of.where).then(pl.col(column)).alias(new) for column, new in masked.items()]
        masks.append(pl.when(of.where).then(pl.lit(1, dtype=pl.Int8)).alias(where))
        over = of.of.over(masked, where)
        plain[name] = OfDistinct(masked[each.column], over) if isinstance(each, OfDistinct) else over
    return (nodes.WithColumns(child, tuple(masks)) if masks else child), plain
