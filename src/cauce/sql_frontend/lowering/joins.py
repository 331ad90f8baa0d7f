"""Lowers joins: equalities become keys, other conditions stay predicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import polars as pl

from cauce.plan.nodes import Strategy
from cauce.plan.relation import Relation
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.functions.table import Arguments, Function
from cauce.sql_frontend.planning.sizes import BROADCAST_ROWS
from cauce.sql_frontend.tree import Call, Column, Expr, Join, columns_of
from cauce.sql_frontend.types import BOOLEAN

ONE = "one:"
"""A column of rows that are only counted."""

Translate = Callable[[Expr], pl.Expr]


@dataclass(frozen=True)
class JoinSides:
    left: Relation
    right: Relation
    right_rows: int
    left_rows: int


@dataclass(frozen=True)
class _Keys:
    """Pairs of expressions that must be equal, and the other conditions."""

    pairs: tuple[tuple[Expr, Expr], ...]
    rest: tuple[Expr, ...]


def lower_join(step: Join, sides: JoinSides, translate: Translate, columns: tuple[str, ...]) -> Relation:
    """The given columns of a join."""
    if step.how == "right":
        swapped = Join(step.right, step.left, "left", step.conditions)
        return _lower(
            swapped, JoinSides(sides.right, sides.left, sides.left_rows, sides.right_rows), translate, columns
        )
    return _lower(step, sides, translate, columns)


def _lower(step: Join, sides: JoinSides, translate: Translate, columns: tuple[str, ...]) -> Relation:
    if ONE in sides.left.columns and ONE in sides.right.columns:
        sides = replace(sides, right=sides.right.select(**{f"{ONE}right": pl.col(ONE)}))
    if not step.conditions and step.how in ("inner", "left") and sides.right.node.is_one_row:
        return _chosen(sides.left.with_scalars(sides.right), columns)
    if not step.conditions and step.how == "inner":
        return _chosen(sides.left.join(sides.right, how="cross"), columns)
    keys = _keys_of(step)
    if not keys.pairs and keys.rest and step.how != "full":
        rest = [translate(each) for each in keys.rest]
        return _chosen(sides.left.join(sides.right, how=step.how, where=rest), columns)
    left, right, on = _with_keys(sides, keys, translate, own_names=step.how != "full")
    strategy: Strategy | None = "broadcast" if _is_small(step, sides) else "partition"
    later = step.how == "inner"
    rest = [translate(each) for each in keys.rest]
    joined = left.join(right, on=on, how=step.how, strategy=strategy, where=() if later else rest)
    if later and rest:
        joined = joined.filter(*rest)
    return _chosen(joined, columns, _equal_keys(keys, on) if later else {})


def _equal_keys(keys: _Keys, on: list[str]) -> dict[str, str]:
    """Columns of the right side that need not be sent, because a key of the left side has the same value."""
    read = {name for each in keys.rest for name in columns_of(each)}
    return {
        b.name: name
        for name, (a, b) in zip(on, keys.pairs, strict=False)
        if isinstance(b, Column) and a.type == b.type and b.name not in read
    }


def _is_small(step: Join, sides: JoinSides) -> bool:
    return step.how != "full" and sides.right_rows < BROADCAST_ROWS


def _chosen(relation: Relation, columns: tuple[str, ...], equal: Mapping[str, str] | None = None) -> Relation:
    """These columns, some of which are `equal` to others."""
    if not columns:
        return relation.select(**{ONE: pl.lit(1, dtype=pl.Int8)})
    same = equal or {}
    return relation.select(*(pl.col(same[name]).alias(name) if name in same else name for name in columns))


def _keys_of(step: Join) -> _Keys:
    left, right = set(step.left.columns), set(step.right.columns)
    pairs: list[tuple[Expr, Expr]] = []
    rest: list[Expr] = []
    for condition in step.conditions:
        found = _sides(condition, left, right)
        if found is None:
            rest.append(condition)
        elif _is_null_safe(condition):
            pairs += _null_safe(*found)
        else:
            pairs.append(found)
    return _Keys(tuple(pairs), tuple(rest))


def _sides(condition: Expr, left: set[str], right: set[str]) -> tuple[Expr, Expr] | None:
    equal = (ops.COMPARISONS["="], ops.COMPARISONS["is not distinct from"])
    if not isinstance(condition, Call) or condition.function not in equal:
        return None
    a, b = condition.arguments
    if a.type.is_float or a.type.element is not None:
        return None
    for one, other in ((a, b), (b, a)):
        if columns_of(one) and columns_of(one) <= left and columns_of(other) and columns_of(other) <= right:
            return one, other
    return None


def _is_null_safe(condition: Expr) -> bool:
    return isinstance(condition, Call) and condition.function is ops.COMPARISONS["is not distinct from"]


def _null_safe(left: Expr, right: Expr) -> list[tuple[Expr, Expr]]:
    """NULL equals NULL: one key for whether the value is NULL, and one for the value or a constant."""
    return [
        (ops.is_null(left), ops.is_null(right)),
        (Call(left.type, _FILLED, (left,)), Call(right.type, _FILLED, (right,))),
    ]


def _filled(args: Arguments) -> pl.Expr:
    kind = args.type
    if kind.name == "BOOLEAN":
        return args[0].fill_null(False)
    zero = pl.lit("" if kind.name == "VARCHAR" else 0).cast(kind.dtype)
    return args[0].fill_null(zero)


_FILLED = Function("filled", ("ANY",), BOOLEAN, _filled)


def _with_keys(
    sides: JoinSides, keys: _Keys, translate: Translate, own_names: bool
) -> tuple[Relation, Relation, list[str]]:
    """Both sides with the key columns under equal names: those of the left side, or new ones."""
    if not keys.pairs:
        one = {"on:": pl.lit(0, dtype=pl.Int8)}
        return sides.left.with_columns(**one), sides.right.with_columns(**one), ["on:"]
    left: dict[str, pl.Expr] = {}
    right: dict[str, pl.Expr] = {}
    on: list[str] = []
    for number, (a, b) in enumerate(keys.pairs):
        plain = own_names and isinstance(a, Column) and a.name not in on
        name = a.name if isinstance(a, Column) and plain else f"on:{number}"
        if not plain:
            left[name] = translate(a)
        right[name] = translate(b)
        on.append(name)
    made = sides.left.with_columns(**left) if left else sides.left
    return made, sides.right.with_columns(**right), on
