"""Counts rows or non-null values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from cauce.operators.aggregates.base import Aggregate, Batch, Types
from cauce.scan.integers.numbering import Numbered, add_values, count_rows


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

    def by_number(self, frame: pl.DataFrame, numbered: Numbered, name: str) -> list[pl.Series] | None:
        return [counted(frame, self.column, numbered, name)]

    def adds(self, types: Types, name: str) -> bool:
        return True

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(name).sum()]

    def empty(self, types: Types, name: str) -> dict[str, pl.Expr]:
        return {name: pl.lit(0).cast(types[name])}

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Int64()


def counted(frame: pl.DataFrame, column: str | None, numbered: Numbered, name: str) -> pl.Series:
    """The number of rows of each group; with a column, of its non-null values."""
    values = None if column is None else frame.get_column(column)
    if values is None or not values.null_count():
        return pl.Series(name, count_rows(numbered))
    return pl.Series(name, add_values(numbered, values.is_not_null().cast(pl.Int64).to_numpy()))
