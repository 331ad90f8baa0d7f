"""Every kind of join, composed of the four that the operators compute: inner, left, semi and anti."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, assert_never

import polars as pl

from cauce.plan import nodes
from cauce.plan.nodes import Node

How = Literal["inner", "left", "right", "full", "semi", "anti", "cross"]

_CROSS = "#cross"
"""The constant key of a join without keys."""


@dataclass(frozen=True)
class JoinOptions:
    """`strategy` is None if the sizes of the sides decide it; `predicates` are conditions on a pair of rows."""

    on: tuple[str, ...]
    how: How
    strategy: nodes.Strategy | None = None
    predicates: tuple[pl.Expr, ...] = ()
    nulls_equal: bool = False


def join(left: Node, right: Node, options: JoinOptions) -> Node:
    """The join of two nodes. Its columns are those of the left side, then those of the right side without the keys."""
    if not options.on:
        return _without_keys(left, right, options)
    match options.how:
        case "inner" | "cross":
            joined = _equi_join(left, right, "inner", replace(options, predicates=()))
            return nodes.Filter(joined, options.predicates) if options.predicates else joined
        case "left" | "semi" | "anti":
            return _equi_join(left, right, options.how, options)
        case "right":
            swapped = _equi_join(right, left, "left", options)
            return _select(swapped, _columns(left, right, options.on))
        case "full":
            return _full_join(left, right, options)
        case unknown:
            assert_never(unknown)


def _equi_join(left: Node, right: Node, how: Literal["inner", "left", "semi", "anti"], options: JoinOptions) -> Node:
    strategy = options.strategy or ("broadcast" if right.is_small else "partition")
    return nodes.Join(left, right, options.on, how, strategy, options.predicates, options.nulls_equal)


def _full_join(left: Node, right: Node, options: JoinOptions) -> Node:
    """A left join, followed by the rows of the right side without a match."""
    both = replace(options, strategy=options.strategy or "partition")
    unmatched = _equi_join(right, left, "anti", both)
    columns = _columns(left, right, options.on)
    missing = set(left.names) - set(options.on)
    nulls = tuple(pl.lit(None).alias(name) if name in missing else pl.col(name) for name in columns)
    keys = options.on if both.strategy == "partition" else ()
    return nodes.Concat(_equi_join(left, right, "left", both), nodes.Select(unmatched, nulls), partition_by=keys)


def _without_keys(left: Node, right: Node, options: JoinOptions) -> Node:
    """Joins every row with every row, by a constant key. The right side is broadcast, so it should be small."""
    one = (pl.lit(0, dtype=pl.Int8).alias(_CROSS),)
    sides = [nodes.WithColumns(side, one) for side in (left, right)]
    keyed = replace(options, on=(_CROSS,), strategy=options.strategy or "broadcast", nulls_equal=False)
    joined = join(sides[0], sides[1], keyed)
    return _select(joined, tuple(name for name in joined.names if name != _CROSS))


def _columns(left: Node, right: Node, on: tuple[str, ...]) -> tuple[str, ...]:
    return (*left.names, *(name for name in right.names if name not in on))


def _select(node: Node, columns: tuple[str, ...]) -> Node:
    return nodes.Select(node, tuple(pl.col(name) for name in columns))


def large_tables(sizes: Mapping[str, int], broadcast_bytes: int) -> tuple[str, ...]:
    """The tables that may be too large to be broadcast: a file may need half of the memory that its rows do."""
    return tuple(sorted(name for name, size in sizes.items() if broadcast_bytes and size * 2 > broadcast_bytes))


def partition_large_sides(node: Node, tables: Collection[str]) -> Node:
    """The same steps, but broadcast joins with all rows of one of these tables are partitioned by key. A side that is
    filtered or grouped stays as it was declared, since its size is unknown."""
    values = {field.name: getattr(node, field.name) for field in fields(node)}
    inputs = {name: partition_large_sides(value, tables) for name, value in values.items() if isinstance(value, Node)}
    if any(made is not values[name] for name, made in inputs.items()):
        node = replace(node, **inputs)
    if not isinstance(node, nodes.Join) or isinstance(node, nodes.KeyFilter) or node.strategy != "broadcast":
        return node
    return replace(node, strategy="partition") if _has_all_rows(node.right, tables) else node


def _has_all_rows(node: Node, tables: Collection[str]) -> bool:
    if isinstance(node, nodes.Scan):
        return node.table.name in tables
    return isinstance(node, nodes.Select | nodes.WithColumns) and _has_all_rows(node.child, tables)
