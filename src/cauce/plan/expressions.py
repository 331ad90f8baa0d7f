"""Expressions that Polars lacks: exact division, rounding half to even, and sort keys."""

from __future__ import annotations

import polars as pl

from cauce.operators import exact, order
from cauce.plan.checks.arguments import checked, column_name, instance


@checked
def asc(what: str | order.Ratio, *, nulls_first: bool = False) -> order.SortKey:
    """Ascending order, as the name of the column alone; with `nulls_first`, nulls before all values.

    >>> orders.sort(asc("paid_at", nulls_first=True))
    """
    return _sort_key("asc", what, False, nulls_first)


@checked
def desc(what: str | order.Ratio, *, nulls_first: bool = False) -> order.SortKey:
    """Descending order: largest first. Nulls are last, unless `nulls_first`.

    >>> orders.top_k(10, by=desc("amount"))
    """
    return _sort_key("desc", what, True, nulls_first)


def _sort_key(function: str, what: str | order.Ratio, descending: bool, nulls_first: bool) -> order.SortKey:
    if not isinstance(what, order.Ratio):
        column_name(function, what)
    instance(f"{function}: nulls_first", nulls_first, bool, "True or False")
    return order.SortKey(what, descending, nulls_first)


@checked
def ratio(numerator: str, denominator: str) -> order.Ratio:
    """A sort key: the exact quotient of two columns. A rounded quotient could create ties.

    >>> rated.sort(desc(ratio("points", "votes")))
    """
    _check_pair("ratio", numerator, denominator)
    return order.ratio(numerator, denominator)


@checked
def divide(numerator: str, denominator: str) -> pl.Expr:
    """The quotient of two integer or decimal columns, rounded once to the nearest float64; null if the divisor is 0.

    >>> rated.with_columns(rating=divide("points", "votes"))
    """
    _check_pair("divide", numerator, denominator)
    return pl.struct(numerator, denominator).map_batches(_divide, return_dtype=pl.Float64)


@checked
def divide_half_even(numerator: str, denominator: str) -> pl.Expr:
    """The quotient of two integer columns, rounded half-even to an integer; null if the divisor is 0.

    >>> sold.with_columns(mean_cents=divide_half_even("cents", "sales"))
    """
    _check_pair("divide_half_even", numerator, denominator)
    return pl.struct(numerator, denominator).map_batches(_divide_half_even, return_dtype=exact.WHOLE)


def _check_pair(function: str, *columns: object) -> None:
    for each in columns:
        column_name(function, each)


def _divide(pair: pl.Series) -> pl.Series:
    return exact.divide(*pair.struct.unnest().get_columns())


def _divide_half_even(pair: pl.Series) -> pl.Series:
    return exact.divide_half_even(*pair.struct.unnest().get_columns())
