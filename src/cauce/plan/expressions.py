"""Expressions that Polars does not have: exact division, and rounding half to even."""

from __future__ import annotations

import polars as pl

from cauce.operators.exact import WHOLE, divide, divide_half_even


def divided(numerator: str, denominator: str) -> pl.Expr:
    """The quotient of two exact columns, rounded once to the nearest float64."""
    return pl.struct(numerator, denominator).map_batches(_divide, return_dtype=pl.Float64)


def divided_half_even(numerator: str, denominator: str) -> pl.Expr:
    """The whole number nearest to the quotient of two whole columns, ties to the even one."""
    return pl.struct(numerator, denominator).map_batches(_divide_half_even, return_dtype=WHOLE)


def _divide(pair: pl.Series) -> pl.Series:
    return divide(*pair.struct.unnest().get_columns())


def _divide_half_even(pair: pl.Series) -> pl.Series:
    return divide_half_even(*pair.struct.unnest().get_columns())
