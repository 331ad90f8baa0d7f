"""The order in which the conditions of a filter are evaluated: each only on the rows that satisfy those before it."""

from __future__ import annotations

from collections.abc import Sequence

from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.tree import Call, Column, Constant, Expr, walk

_CHEAP = (*ops.COMPARISONS.values(), ops.AND, ops.OR, ops.NOT, ops.IS_NULL)


def cheapest_first(conditions: Sequence[Expr]) -> list[Expr]:
    """Comparisons of numbers and times come first: they cannot fail, and the texts of the rows that they drop are not
    built. Others keep their order, so that a condition still protects those after it from errors."""
    return sorted(conditions, key=lambda each: not _is_cheap(each))


def _is_cheap(condition: Expr) -> bool:
    return all(
        isinstance(each, Constant)
        or (isinstance(each, Call) and each.function in _CHEAP)
        or (isinstance(each, Column) and each.type.name != "VARCHAR" and each.type.element is None)
        for each in walk(condition)
    )
