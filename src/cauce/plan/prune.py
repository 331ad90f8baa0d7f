"""Before planning: which columns of each scan a query uses, and where each group-by had best be computed.

A column is used where an expression, key, aggregate or output reads it, as the query is written: a select or an
aggregate counts as reading all it names, so that what a query declares, not what an optimiser finds it can
skip, decides which rows with unreadable cells take part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from cauce.errors import PlanError
from cauce.operators.order import POSITION
from cauce.plan import nodes

Wanted = frozenset[str]


def roots(expressions: Iterable[pl.Expr]) -> Wanted:
    return frozenset(name for each in expressions for name in each.meta.root_names())


def prune(node: nodes.Node, wanted: Wanted) -> nodes.Node:
    """The node with every scan told which of its columns are used above it."""
    match node:
        case nodes.Scan():
            return replace(node, used=wanted - {POSITION}, position=POSITION in wanted)
        case nodes.Filter(child, predicates):
            return replace(node, child=prune(child, wanted | roots(predicates)))
        case nodes.WithColumns(child, expressions):
            kept = tuple(each for each in expressions if each.meta.output_name() in wanted)
            if not kept:
                return prune(child, wanted)
            made = {each.meta.output_name() for each in kept}
            return nodes.WithColumns(prune(child, (wanted - made) | roots(kept)), kept)
        case nodes.Select(child, expressions):
            position = wanted & {POSITION}
            return nodes.Select(prune(child, roots(expressions) | position), expressions, bool(position))
        case nodes.Explode(child, column):
            _no_position(wanted, "an explode")
            carried = tuple(sorted(wanted - {column}))
            return nodes.Explode(prune(child, wanted | {column}), column, carried)
        case nodes.Join():
            return _prune_join(node, wanted)
        case nodes.Scalars(left, right):
            return nodes.Scalars(prune(left, wanted - set(right.names)), prune(right, frozenset(right.names)))
        case nodes.GroupBy(child, keys, aggregates, partition_by):
            _no_position(wanted, "a group-by")
            reads = frozenset(keys).union(*(each.columns for each in aggregates.values()))
            return nodes.GroupBy(prune(child, reads), keys, aggregates, partition_by)
        case nodes.TopK(child, _, by, per):
            reads = frozenset(per).union(*(key.columns for key in by))
            return replace(node, child=prune(child, wanted | reads))
        case nodes.Concat():
            _no_position(wanted, "a concat")
            return _prune_concat(node, wanted)
        case nodes.Sort(child, by):
            return replace(node, child=prune(child, wanted.union(*(key.columns for key in by))))
    raise PlanError(f"{type(node).__name__} cannot stand in a query")


def _prune_join(node: nodes.Join, wanted: Wanted) -> nodes.Node:
    on = frozenset(node.on)
    left = prune(node.left, (wanted & (set(node.left.names) | {POSITION})) | on)
    if node.how in ("semi", "anti"):
        right: nodes.Node = nodes.Distinct(prune(node.right, on), node.on)
    else:
        right = prune(node.right, (wanted & set(node.right.names)) | on)
        kept = tuple(name for name in node.right.names if name in wanted or name in on)
        # What a group-by gives was chosen; left whole, queries that join it for different columns share it.
        if kept != right.names and not isinstance(right, nodes.GroupBy):
            right = nodes.Select(right, tuple(pl.col(name) for name in kept))
    return replace(node, left=left, right=right)


def _prune_concat(node: nodes.Concat, wanted: Wanted) -> nodes.Node:
    first, second = prune(node.first, wanted), prune(node.second, wanted)
    if wanted:
        return nodes.Concat(first, second, tuple(name for name in node.names if name in wanted))
    # Rows that are only counted: a frame without columns would have no rows either.
    one = pl.lit(1, dtype=pl.Int8).alias("#one")
    return nodes.Concat(nodes.WithColumns(first, (one,)), nodes.WithColumns(second, (one,)), ("#one",))


def _no_position(wanted: Wanted, what: str) -> None:
    if POSITION in wanted:
        raise PlanError(f"rows have no place in the input after {what}: sort by columns instead")


def place_groups(node: nodes.Node, hint: tuple[str, ...] = ()) -> nodes.Node:
    """Group-bys that feed a coarser group-by are partitioned by its keys at once, so that no second shuffle is
    needed. Those that feed a top-k of each key are not: its keys may be few, and what is left to shuffle is little."""
    match node:
        case nodes.GroupBy(child, keys, _, partition_by):
            chosen = partition_by or (hint if hint and set(hint) <= set(keys) else keys)
            return replace(node, child=place_groups(child, keys), partition_by=chosen)
        case nodes.TopK(child):
            return replace(node, child=place_groups(child))
        case nodes.Filter(child):
            return replace(node, child=place_groups(child, hint))
        case nodes.WithColumns(child, expressions):
            made = {each.meta.output_name() for each in expressions}
            return replace(node, child=place_groups(child, () if made & set(hint) else hint))
        case nodes.Scalars(left, right):
            return replace(node, left=place_groups(left, hint), right=place_groups(right))
        case nodes.Join(left, right, on):
            return replace(
                node,
                left=place_groups(left, on if node.strategy == "partition" else hint),
                right=place_groups(right, on),
            )
        case nodes.Concat(first, second):
            return replace(node, first=place_groups(first), second=place_groups(second))
        case nodes.Select(child) | nodes.Distinct(child):
            return replace(node, child=place_groups(child, hint if _passes_plain(node, hint) else ()))
        case nodes.Explode(child) | nodes.Sort(child):
            return replace(node, child=place_groups(child))
    return node


def _passes_plain(node: nodes.Select | nodes.Distinct, names: tuple[str, ...]) -> bool:
    """Whether these columns come through as they are."""
    if isinstance(node, nodes.Distinct):
        return set(names) <= set(node.columns)
    return set(names) <= {each.meta.output_name() for each in node.expressions if each.meta.is_column()}
