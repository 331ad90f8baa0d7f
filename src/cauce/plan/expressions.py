"""Expressions that Polars does not have: exact division, rounding half to even, and what answers are ordered by."""

from __future__ import annotations

import polars as pl

from cauce.operators import order
from cauce.operators.exact import WHOLE, divide, divide_half_even
from cauce.plan.arguments import checked, column_name


@checked
def desc(what: str | order.Ratio) -> order.SortKey:
    """The other direction: largest first."""
    if not isinstance(what, order.Ratio):
        column_name("desc", what)
    return order.desc(what)


@checked
def ratio(numerator: str, denominator: str) -> order.Ratio:
    """Orders by the exact fraction of two columns, which a rounded quotient might tie."""
    _check_pair("ratio", numerator, denominator)
    return order.ratio(numerator, denominator)


@checked
def divided(numerator: str, denominator: str) -> pl.Expr:
    """The quotient of two exact columns, rounded once to the nearest float64."""
    _check_pair("divided", numerator, denominator)
    return pl.struct(numerator, denominator).map_batches(_divide, return_dtype=pl.Float64)


@checked
def divided_half_even(numerator: str, denominator: str) -> pl.Expr:
    """The whole number nearest to the quotient of two whole columns, ties to the even one."""
    _check_pair("divided_half_even", numerator, denominator)
    return pl.struct(numerator, denominator).map_batches(_divide_half_even, return_dtype=WHOLE)


def _check_pair(function: str, *columns: object) -> None:
    for each in columns:
        column_name(function, each)


def _divide(pair: pl.Series) -> pl.Series:
    return divide(*pair.struct.unnest().get_columns())


def _divide_half_even(pair: pl.Series) -> pl.Series:
    return divide_half_even(*pair.struct.unnest().get_columns())
