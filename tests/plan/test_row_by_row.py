"""Expressions run on batches of rows: those that read other rows are rejected."""

from __future__ import annotations

import polars as pl
import pytest

from cauce.errors import PlanError
from cauce.plan import Integer, Table, Text

sales = Table("sales", "sales.csv", {"kind": Text(), "amount": Integer()})
amount = pl.col("amount")


@pytest.mark.parametrize(
    "expression",
    [
        amount.max(),
        amount == amount.max(),
        amount - amount.mean(),
        amount.fill_null(amount.mean()),
        pl.when(amount == amount.max()).then(1).otherwise(2) == 1,
        amount.cum_sum() + 1,
        amount.sum().over("kind"),
        pl.len(),
        amount.rank(),
    ],
    ids=str,
)
def test_an_expression_that_reads_other_rows_is_rejected(expression: pl.Expr) -> None:
    with pytest.raises(PlanError, match="more than one row"):
        sales.with_columns(x=expression)
    with pytest.raises(PlanError, match="more than one row"):
        sales.select(x=expression)
    with pytest.raises(PlanError, match="more than one row"):
        sales.filter(expression.alias("x"))


@pytest.mark.parametrize(
    "expression",
    [
        amount + 1,
        pl.lit(3),
        pl.col("kind").str.split("||").list.len(),
        pl.col("kind").str.split(",").list.eval(pl.element().str.to_lowercase()).list.contains("a"),
        pl.when(amount > 1).then(pl.lit("x")).otherwise(pl.lit("y")),
        pl.coalesce(amount, pl.lit(0)),
        amount.map_batches(lambda values: values),
        amount.is_between(1, 3),
    ],
    ids=str,
)
def test_an_expression_on_one_row_is_accepted(expression: pl.Expr) -> None:
    assert "x" in sales.with_columns(x=expression).columns
