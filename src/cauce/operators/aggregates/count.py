"""Counts rows or non-null values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from cauce.operators.aggregates.base import Addend, Aggregate, Batch, RowValues, Types


@dataclass(frozen=True)
class Count(Aggregate):
    """The number of rows; with a column, the number of its non-null values."""

    column: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)

    @property
    def zero_if_none(self) -> bool:
        return True

    def over(self, names: Mapping[str, str], where: str) -> Aggregate:
        return Count(where if self.column is None else names[self.column])

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        counted = pl.len() if self.column is None else pl.col(self.column).count()
        return [counted.cast(pl.Int64).alias(name)]

    def of_row(self, types: Types, name: str) -> list[pl.Expr] | None:
        if self.column is None:
            return [pl.lit(1, dtype=pl.Int64).alias(name)]
        return [pl.col(self.column).is_not_null().cast(pl.Int64).alias(name)]

    def addends(self, rows: RowValues, name: str) -> dict[str, Addend] | None:
        return {name: counted(rows, self.column)}

    def adds(self, types: Types, name: str) -> bool:
        return True

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(name).sum()]

    def empty(self, types: Types, name: str) -> dict[str, pl.Expr]:
        return {name: pl.lit(0).cast(types[name])}

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Int64()


def counted(rows: RowValues, column: str | None) -> Addend:
    """The number of rows; with a column, of its non-null values."""
    filled = None if column is None else rows.filled(column)
    return Addend(pl.Int64(), filled, constant=1)
