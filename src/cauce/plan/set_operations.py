"""Set operations, composed of group-bys in which null is a value: the rows of each side are counted, then compared."""

from __future__ import annotations

from typing import Literal, assert_never

import polars as pl

from cauce.operators.aggregates import Count, Max
from cauce.plan import nodes
from cauce.plan.nodes import Node

Operation = Literal["union", "intersect", "difference"]

_LEFT, _RIGHT, _TIMES = "#left", "#right", "#times"
"""How often a row occurs on the left, on the right, and in the result."""


def set_operation(left: Node, right: Node, operation: Operation, distinct: bool) -> Node:
    """Two nodes with equal columns combined. Without `distinct`, rows are counted, as with SQL's ALL."""
    if operation == "union":
        both = nodes.Concat(_distinct(left), _distinct(right)) if distinct else nodes.Concat(left, right)
        return _distinct(both) if distinct else both
    counted = _counted_on_both(left, right)
    times = _times(operation)
    found = nodes.Filter(counted, (_wanted(operation) if distinct else times > 0,))
    columns = tuple(pl.col(name) for name in left.names)
    if distinct:
        return nodes.Select(found, columns)
    repeated = nodes.WithColumns(found, (pl.int_ranges(pl.lit(0, dtype=pl.Int64), times).alias(_TIMES),))
    return nodes.Select(nodes.Explode(repeated, _TIMES), columns)


def _distinct(node: Node) -> Node:
    return nodes.GroupBy(node, node.names, {}, nulls=True)


def _counted_on_both(left: Node, right: Node) -> Node:
    names = left.names
    both = nodes.Concat(_counted(left, _LEFT, _RIGHT), _counted(right, _RIGHT, _LEFT))
    return nodes.GroupBy(both, names, {_LEFT: Max(_LEFT), _RIGHT: Max(_RIGHT)}, nulls=True)


def _counted(side: Node, here: str, there: str) -> Node:
    groups = nodes.GroupBy(side, side.names, {here: Count()}, nulls=True)
    zero = pl.lit(0, dtype=pl.Int64).alias(there)
    kept = {here: pl.col(here), there: zero}
    return nodes.Select(groups, (*(pl.col(name) for name in side.names), kept[_LEFT], kept[_RIGHT]))


def _times(operation: Literal["intersect", "difference"]) -> pl.Expr:
    match operation:
        case "intersect":
            return pl.min_horizontal(_LEFT, _RIGHT)
        case "difference":
            return pl.col(_LEFT) - pl.col(_RIGHT)
        case unknown:
            assert_never(unknown)


def _wanted(operation: Literal["intersect", "difference"]) -> pl.Expr:
    """Whether a distinct row is in the result."""
    return (pl.col(_LEFT) > 0) & (pl.col(_RIGHT) > 0 if operation == "intersect" else pl.col(_RIGHT) == 0)
